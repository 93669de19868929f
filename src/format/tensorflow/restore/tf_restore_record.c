/* tf_restore_record.c: records steps, findings and texts while a restore op is followed. Their
 * memory is limited. */
#include "format/tensorflow/restore/tf_restore.h"

#include <stdarg.h>

/* Memory limit. A variable of a real model takes at least 1.5 KB of its file, and less here. With
 * the index of the graph this stays below 160 MiB, or twice the size of a file above 64 MiB. */
#define MOST_BASE  (UINT64_C(16) << 20)
#define MOST_SMALL (UINT64_C(64) << 20)

static uint64_t most_of(const struct heft_tf_restore *r)
{
    const struct heft_proto_doc *const doc = &r->saved->doc;
    const uint64_t large = heft_max_u64(doc->size, MOST_SMALL);
    const uint64_t all = 2 * MOST_BASE + (doc->is_text ? large : 2 * large);
    const uint64_t index = heft_tf_graph_taken(r->graph);

    return heft_min_u64(MOST_BASE + doc->size, all > index ? all - index : 0);
}

bool heft_tf_restore_weigh(const struct heft_tf_restore *r, uint64_t where)
{
    const uint64_t most = most_of(r);
    const uint64_t arrays = r->cap_steps * sizeof *r->steps + r->cap_reads * sizeof *r->reads +
                            r->cap_targets * sizeof *r->targets +
                            r->cap_findings * sizeof *r->findings;

    if (r->mem.total + arrays <= most)
        return true;
    return heft_fail(r->err, HEFT_LIMIT, where,
                     "tracing the restore needs more than %" PRIu64
                     " MiB, the limit for a file of this size",
                     most >> 20);
}

bool heft_tf_restore_step(struct heft_tf_restore *r, const struct heft_tf_step *step)
{
    if (!heft_grow(&r->steps, &r->cap_steps, r->n_steps, 1, sizeof *step, r->err))
        return false;
    r->steps[r->n_steps++] = *step;
    return true;
}

/* Formats a text for people, escaped and cut to a length that no real name reaches. */
static const char *format_text(struct heft_tf_restore *r, const char *format, va_list args)
{
    struct heft_error text = {0};
    struct heft_buf safe = {0};
    struct heft_str out;

    heft_fail_args(&text, HEFT_OK, HEFT_NO_OFFSET, format, args);
    heft_buf_text(&safe, text.text);
    return heft_buf_take(&safe, &r->mem, &out, r->err) ? out.p : NULL;
}

const char *heft_tf_restore_text(struct heft_tf_restore *r, const char *format, ...)
{
    const char *text;
    va_list args;

    va_start(args, format);
    text = format_text(r, format, args);
    va_end(args);
    return text;
}

bool heft_tf_restore_find(struct heft_tf_restore *r, enum heft_severity severity, uint64_t where,
                          const char *format, ...)
{
    struct heft_tf_finding finding = {.severity = severity, .source = r->source, .where = where};
    va_list args;

    va_start(args, format);
    finding.text = format_text(r, format, args);
    va_end(args);
    if (!finding.text || !heft_tf_restore_weigh(r, where) ||
        !heft_grow(&r->findings, &r->cap_findings, r->n_findings, 1, sizeof finding, r->err))
        return false;
    r->findings[r->n_findings++] = finding;
    return true;
}
