/* danger.c: scans the pickles of a checkpoint, so that info and verify can warn of dangerous
 * calls. */
#include "output/danger.h"
#include "output/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct first {
    bool found, is_call;
    uint64_t offset;
    char text[256];
};

static const char *sentence_of(const char *what)
{
    if (!strcmp(what, "call"))
        return "executing this would call %s; see heft scan";
    if (!strcmp(what, "import"))
        return "executing this would import %s; see heft scan";
    if (!strcmp(what, "code"))
        return "this file contains code: %s; see heft scan";
    return NULL; /* tricks of the container, which verify itself reports */
}

/* A call is reported rather than the import before it. */
static void take_item(void *ctx, const struct heft_scan_item *item)
{
    struct first *const first = ctx;
    const bool is_call = !strcmp(item->what, "call");
    const char *const sentence = sentence_of(item->what);
    char name[160];

    if (item->danger != HEFT_DANGER || !sentence || first->is_call || (!is_call && first->found))
        return;
    first->found = true;
    first->is_call = is_call;
    first->offset = item->offset;
    report_escape(name, sizeof name, item->name, strlen(item->name));
    snprintf(first->text, sizeof first->text, sentence, name);
}

/* Formats that are pickles or may hold pickles. */
static bool may_execute(const char *format)
{
    return !strncmp(format, "torch", 5) || !strncmp(format, "pickle", 6) ||
           !strncmp(format, "np", 2) || !strcmp(format, "keras") || !strcmp(format, "hf-index");
}

/* Standard input and a FIFO, already read to their ends, cannot be scanned. */
static bool can_be_read_again(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 ? S_ISREG(st.st_mode) : errno != ENOENT;
}

bool each_danger(const struct heft_checkpoint *c,
                 void (*each)(void *ctx, const struct heft_finding *finding), void *ctx,
                 struct heft_error *err)
{
    struct heft_file file = HEFT_INIT(struct heft_file);

    for (size_t i = 0; may_execute(heft_format(c)) && heft_file_at(c, i, &file); i++) {
        struct heft_error why = {0}; /* of a damaged file: scan itself reports it */
        struct first first = {0};
        bool complete;

        if (!can_be_read_again(file.path))
            continue;
        (void)heft_scan(file.path, NULL, take_item, &first, &complete, &why);
        if (why.code == HEFT_IO || why.code == HEFT_NOMEM) {
            *err = why;
            return false;
        }
        if (first.found)
            each(ctx, &(struct heft_finding){sizeof(struct heft_finding), HEFT_NOTE, file.path,
                                             first.offset, first.text});
    }
    return true;
}

static void report_finding(void *ctx, const struct heft_finding *finding)
{
    const struct options *const options = ctx;

    if (finding->offset == HEFT_NO_OFFSET)
        report_note(options, "%s: %s", finding->file, finding->text);
    else
        report_note(options, "%s: offset 0x%" PRIx64 ": %s", finding->file, finding->offset,
                    finding->text);
}

bool report_danger(const struct options *options, const struct heft_checkpoint *c,
                   struct heft_error *err)
{
    return each_danger(c, report_finding, (void *)(uintptr_t)options, err);
}
