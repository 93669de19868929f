/* report.c: errors, notes and opening of inputs for all verbs. */
#include "output/report.h"
#include "main/hints.h"
#include "main/sandbox.h"
#include "output/output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int report_error(const struct heft_error *err)
{
    struct heft_error said = *err;
    char line[1024];
    hint_options(said.text, sizeof said.text, err->text);
    fprintf(stderr, "%s\n", heft_error_format(&said, line, sizeof line));
    sandbox_explain(err);
    return err->code == HEFT_MISMATCH ? EXIT_NO : EXIT_TROUBLE;
}

void report_note(const struct options *options, const char *format, ...)
{
    char said[1024], text[1024], safe[2048];
    va_list args;
    if (options->quiet)
        return;
    va_start(args, format);
    vsnprintf(said, sizeof said, format, args);
    va_end(args);
    hint_options(text, sizeof text, said);
    fprintf(stderr, "heft: note: %s\n", report_escape(safe, sizeof safe, text, strlen(text)));
}

void report_unread(const struct options *options, const struct heft_checkpoint *c)
{
    struct heft_unread unread = HEFT_INIT(struct heft_unread);
    for (size_t i = 0; heft_unread_at(c, i, &unread); i++)
        report_note(options, "%s cannot be read: %s", unread.name, unread.reason);
}

void report_lacks(const struct options *options, const struct heft_checkpoint *c)
{
    struct heft_finding lack = HEFT_INIT(struct heft_finding);
    for (size_t i = 0; heft_lack_at(c, i, &lack); i++)
        report_note(options, "%s: %s", lack.file ? lack.file : "", lack.text);
}

void report_left(const struct options *options, const struct heft_checkpoint *c)
{
    struct heft_finding left = HEFT_INIT(struct heft_finding);
    for (size_t i = 0; heft_left_at(c, i, &left); i++)
        report_note(options, "%s: offset 0x%" PRIx64 ": %s", left.file, left.offset, left.text);
}

bool usage_error(struct heft_error *err, const char *format, ...)
{
    char text[sizeof err->text];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    *err = (struct heft_error){.code = HEFT_USAGE, .offset = HEFT_NO_OFFSET};
    report_escape(err->text, sizeof err->text, text, strlen(text));
    return false;
}

bool no_memory(struct heft_error *err, const char *what)
{
    usage_error(err, "no memory for %s", what);
    err->code = HEFT_NOMEM;
    return false;
}

bool system_error(struct heft_error *err, const char *path, const char *what)
{
    const int number = errno;
    usage_error(err, "%s: %s", what, strerror(number));
    err->code = HEFT_IO;
    err->system_error = number;
    report_escape(err->file, sizeof err->file, path, strlen(path));
    return false;
}

char *report_escape(char *text, size_t room, const char *name, size_t n)
{
    size_t used = 0;
    while (n) {
        char shown[8];
        size_t size;
        const int32_t code = utf8_next(name, n, &size);
        const size_t bytes = name_escape(shown, name, code, size);
        if (used + bytes + 1 > room)
            break;
        memcpy(text + used, shown, bytes);
        used += bytes;
        name += size;
        n -= size;
    }
    text[used] = '\0';
    return text;
}

static bool is_among(const struct heft_option *options, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(options[i].name, name) == 0)
            return true;
    return false;
}

bool is_read_option(const struct options *options, const char *name)
{
    return is_among(options->read_options, options->n_read_options, name);
}

/* Notes options of reading without effect, which are an error with --strict. Notes of the conversion are
 * about those that are options of a target, too. */
static bool note_idle(const struct options *options, const struct heft_checkpoint *c,
                      struct heft_error *err)
{
    static const char text[] = "--%s has no effect: %s does not take it";
    const char *name;
    for (size_t i = 0; (name = heft_idle_option_at(c, i)) != NULL; i++) {
        if (is_among(options->format_options, options->n_format_options, name))
            continue;
        if (options->strict)
            return usage_error(err, text, name, heft_format(c));
        report_note(options, text, name, heft_format(c));
    }
    return true;
}

struct heft_open_options open_options(const struct options *options, struct heft_limits *limits)
{
    *limits = (struct heft_limits){.size = sizeof *limits, .unpacked = options->max_unpacked};
    if (options->io && strcmp(options->io, "mmap") == 0)
        report_note(options, "--io mmap has no effect: files are read by pread");
    return (struct heft_open_options){
        .size = sizeof(struct heft_open_options),
        .format = options->from,
        .limits = limits,
        .salvage = options->salvage,
        .options = options->read_options,
        .n_options = options->n_read_options,
        .standard_input = true,
        .number_names = options->number_names,
    };
}

bool report_opened(const struct options *options, const struct heft_checkpoint *c,
                   struct heft_error *err)
{
    for (size_t i = 0; heft_choice_at(c, i); i++)
        report_note(options, "%s", heft_choice_at(c, i));
    return note_idle(options, c, err);
}

struct heft_checkpoint *open_inputs(const struct options *options, size_t leave,
                                    struct heft_error *err)
{
    struct heft_limits limits;
    const struct heft_open_options how = open_options(options, &limits);
    const size_t n = options->inputs.n - leave;
    struct heft_checkpoint *c;

    c = n == 1 ? heft_open(options->inputs.items[0], &how, err)
               : heft_open_many(options->inputs.items, n, &how, err);
    sandbox_opened();
    if (c && !report_opened(options, c, err)) {
        heft_close(c);
        return NULL;
    }
    return c;
}
