/* scan_config_report.c: reports findings in configurations and limits their number. */
#include "scan/scan_config.h"

#define MOST_REPORTED 10000 /* most findings of one configuration */

enum heft_danger heft_config_path(struct heft_config *c, struct heft_str path)
{
    enum heft_danger danger = HEFT_UNKNOWN;

    if (!c->full)
        c->full = !heft_scan_path(c->s, c->place, path, &danger);
    return danger;
}

static bool refuse_rest(struct heft_config *c)
{
    struct heft_error why = {0};

    c->full = true;
    heft_fail(&why, HEFT_LIMIT, heft_scan_offset(c->place, c->json.where),
              "more than %d findings in one configuration; the rest was not scanned",
              MOST_REPORTED);
    heft_scan_report_failure(c->s, &why);
    return true;
}

bool heft_config_report(struct heft_config *c, enum heft_danger danger, const char *sentence,
                        struct heft_str detail, struct heft_error *err)
{
    const int n = (int)heft_min_u64(detail.n, 200);
    struct heft_scan_item item = {.danger = danger,
                                  .record = c->place->record,
                                  .offset = heft_scan_offset(c->place, c->json.where),
                                  .position = HEFT_NO_OFFSET,
                                  .what = "code"};

    if (c->full)
        return true;
    if (c->reported++ == MOST_REPORTED)
        return refuse_rest(c);
    item.name =
        heft_arena_printf(&c->mem, err, "%s%s%.*s", sentence, n ? ": " : "", n, n ? detail.p : "");
    if (item.name)
        heft_scan_report(c->s, &item);
    return item.name != NULL;
}
