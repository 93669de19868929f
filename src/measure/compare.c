/* compare.c: see compare.h. */
#include "measure/compare.h"

void heft_comparison_report(const struct heft_comparison *c, enum heft_severity severity,
                            const char *file, uint64_t offset, const char *format, ...)
{
    struct heft_error text = {0}; /* escapes names, and has room for a line */
    struct heft_finding finding = {sizeof finding, severity, file, offset, text.text};
    va_list args;

    va_start(args, format);
    heft_fail_args(&text, HEFT_OK, offset, format, args);
    va_end(args);
    c->each(c->ctx, &finding);
}

bool heft_comparison_forgive(const struct heft_comparison *c, const struct heft_error *why,
                             struct heft_error *err)
{
    if (why->code != HEFT_MALFORMED && why->code != HEFT_MISMATCH) {
        *err = *why;
        return false;
    }
    heft_comparison_report(c, HEFT_FINDING, why->file[0] ? why->file : NULL, why->offset,
                           "%s; it was not compared", why->text);
    return true;
}

bool heft_compare(struct heft_comparison *c, struct heft_error *err)
{
    const struct heft_hasher *const hasher = c->how.hasher;

    if (hasher->why_slow.code != HEFT_OK)
        heft_comparison_report(c, HEFT_NOTE, NULL, HEFT_NO_OFFSET,
                               "SHA-256 is computed more slowly than possible: %s",
                               hasher->why_slow.text);
    switch (c->list->kind) {
    case HEFT_LIST_TENSORS:
        return heft_compare_tensors(c, err);
    case HEFT_LIST_FILES:
        return heft_compare_files(c, err);
    case HEFT_LIST_HUB:
        return heft_compare_hub(c, err);
    }
    return false;
}
