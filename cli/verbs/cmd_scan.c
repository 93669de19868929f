/* cmd_scan.c: reports what loading files would execute: imports and calls of pickles, and other
 * code. */
#include "main/options.h"
#include "output/output.h"
#include "output/report.h"
#include "output/scan_report.h"

#include <fnmatch.h>
#include <string.h>

struct findings {
    const struct options *options;
    struct scan_report report;
    enum heft_danger worst; /* worst class of the current file, after --allow */
    uint64_t bad;           /* items that cause exit status 1 */
};

static enum heft_danger classify_item(const struct options *options,
                                      const struct heft_scan_item *item)
{
    for (size_t i = 0; i < options->allow.n; i++) {
        const char *const glob = options->allow.items[i];
        if (!strcmp(glob, item->name) ||
            (item->danger == HEFT_UNKNOWN && fnmatch(glob, item->name, 0) == 0))
            return HEFT_ALLOWED;
    }
    return item->danger;
}

static void each_item(void *ctx, const struct heft_scan_item *item)
{
    struct findings *const f = ctx;
    const enum heft_danger danger = classify_item(f->options, item);
    const bool relaxed = f->options->fail_on && !strcmp(f->options->fail_on, "danger");

    if (danger > f->worst)
        f->worst = danger;
    f->bad += danger == HEFT_DANGER || (danger == HEFT_UNKNOWN && !relaxed);
    scan_report_item(&f->report, item, danger);
}

static void each_result(void *ctx, const struct heft_scan_result *result)
{
    struct findings *const f = ctx;

    scan_report_file(&f->report, result, f->worst);
    f->worst = HEFT_ALLOWED;
}

static bool is_index(const char *path)
{
    static const char end[] = ".index.json";
    const size_t n = strlen(path);

    return n >= sizeof end && !strcmp(path + n - (sizeof end - 1), end);
}

/* Exit status of one input: 1 if something was found, 2 only if nothing could be scanned. */
static int scan_input(struct findings *f, const char *path)
{
    const struct heft_scan_visitor visitor = {sizeof visitor, each_item, each_result, f};
    const uint64_t bad = f->bad;
    struct heft_error err = {0};

    if (!heft_scan_tree(path, NULL, &visitor, &err)) {
        f->report.broken = true;
        return report_error(&err);
    }
    if (is_index(path))
        report_note(f->options,
                    "%s: only the files that it names are scanned; give the directory to scan all "
                    "files beside them",
                    path);
    return f->bad > bad ? EXIT_NO : EXIT_SOUND;
}

int cmd_scan(const struct options *options, struct out *out)
{
    struct findings findings = {.options = options};
    bool trouble = false, no = false;

    scan_report_begin(&findings.report, options, out);
    for (size_t i = 0; i < options->inputs.n; i++) {
        const int status = scan_input(&findings, options->inputs.items[i]);
        trouble |= status == EXIT_TROUBLE;
        no |= status == EXIT_NO;
    }
    scan_report_end(&findings.report);
    if (findings.report.no_memory && trouble)
        return EXIT_TROUBLE; /* an error is reported already */
    if (findings.report.no_memory) {
        struct heft_error err;
        no_memory(&err, "the list of files");
        return report_error(&err);
    }
    return no ? EXIT_NO : trouble ? EXIT_TROUBLE : EXIT_SOUND;
}
