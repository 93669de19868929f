/* heft_convert.c: the public API for conversions. The handle is core's struct heft_conversion. */
#include "base/require_arg.h"
#include "base/sized.h"
#include "api/checkpoint.h"
#include "api/rules_take.h"
#include "core/convert.h"
#include "io/sink.h"

static bool take_options(struct heft_convert_options *options,
                         const struct heft_convert_options *given, struct heft_error *err)
{
    if (!HEFT_TAKE(heft_convert_options, options, given, err))
        return false;
    if (!options->output)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "NULL, expected a name to write to");
    return heft_require_options(options->format_options, options->n_format_options, err);
}

/* Plans with complete options, whose rules are needed only until it returns. */
static struct heft_conversion *plan_conversion(struct heft_checkpoint *c,
                                               const struct heft_convert_options *options,
                                               struct heft_error *err)
{
    struct heft_conversion *const conversion = heft_calloc(1, sizeof *conversion, err);

    if (!conversion)
        return NULL;
    if (heft_conversion_plan(conversion, &c->model, options, err))
        return conversion;
    heft_convert_free(conversion);
    return NULL;
}

struct heft_conversion *heft_convert_plan(struct heft_checkpoint *c,
                                          const struct heft_convert_options *options,
                                          struct heft_error *err)
{
    if (!heft_require_arg(c, "a checkpoint", err))
        return NULL;
    struct heft_conversion *conversion;
    struct heft_convert_options o;
    struct heft_rule *rules;

    if (!take_options(&o, options, err) || !(rules = heft_rules_take(o.rules, o.n_rules, err)))
        return NULL;
    o.rules = rules;
    conversion = plan_conversion(c, &o, err);
    heft_free(rules);
    return conversion;
}

void heft_convert_summary(const struct heft_conversion *conversion, struct heft_planned *out)
{
    if (!(conversion && out))
        return;
    const struct heft_plan *plan = &conversion->plan;

    struct heft_planned planned = {
        .files = plan->n_files,
        .tensors = conversion->exports.n_items,
        .ops = plan->n_ops,
        .total_size = conversion->exports.total_size,
        .is_sharded = conversion->exports.n_shards > 1,
    };
    for (size_t i = 0; i < plan->n_files; i++)
        planned.bytes += plan->files[i].size;
    HEFT_FILL(heft_planned, out, &planned);
}

bool heft_convert_file(const struct heft_conversion *conversion, size_t index,
                       struct heft_file *out)
{
    if (!(conversion && out))
        return false;
    if (index >= conversion->plan.n_files)
        return false;
    HEFT_FILL(heft_file, out,
              &((struct heft_file){.path = conversion->plan.files[index].path,
                                   .bytes = conversion->plan.files[index].size}));
    return true;
}

/* Sources and rule of a tensor, if rules files made it. */
static void fill_origin(const struct heft_conversion *conversion, const struct heft_row *row,
                        struct heft_planned_tensor *out)
{
    const struct heft_ruled *const ruled = &conversion->ruled;
    size_t i;

    if (!conversion->unruled || row < ruled->ruling.rows ||
        row >= ruled->ruling.rows + ruled->ruling.n)
        return; /* a slice of one */
    i = (size_t)(row - ruled->ruling.rows);
    out->sources = ruled->texts + ruled->begins[i];
    out->n_sources = ruled->begins[i + 1] - ruled->begins[i];
    out->rule_file = ruled->ruling.from[i].file;
    out->rule_line = ruled->ruling.from[i].line;
    if (out->n_sources > 0)
        out->source_name = out->sources[0];
}

bool heft_convert_tensor(const struct heft_conversion *conversion, size_t index,
                         struct heft_planned_tensor *out)
{
    if (!(conversion && out))
        return false;
    const struct heft_export_item *item;
    struct heft_planned_tensor planned;

    if (index >= conversion->exports.n_items)
        return false;
    item = &conversion->exports.items[index];
    planned = (struct heft_planned_tensor){
        .name = item->name.p,
        .source_name = item->row->name.p,
        .file = item->shard,
        .dtype = (enum heft_dtype)item->as,
        .offset = heft_plan_offset(&conversion->plan, item),
        .bytes = item->bytes,
    };
    fill_origin(conversion, item->row, &planned);
    HEFT_FILL(heft_planned_tensor, out, &planned);
    return true;
}

size_t heft_convert_note_count(const struct heft_conversion *conversion)
{
    if (!conversion)
        return 0;
    return conversion->plan.n_notes;
}

const char *heft_convert_note(const struct heft_conversion *conversion, size_t index)
{
    if (!conversion)
        return NULL;
    return index < conversion->plan.n_notes ? conversion->plan.notes[index] : NULL;
}

bool heft_convert_lost_at(const struct heft_conversion *conversion, size_t index,
                          struct heft_unread *out)
{
    if (!(conversion && out))
        return false;
    if (index >= conversion->n_lost)
        return false;
    HEFT_FILL(heft_unread, out, &conversion->lost[index]);
    return true;
}

bool heft_convert_run(struct heft_conversion *conversion, uint64_t *overflowed,
                      struct heft_error *err)
{
    if (!heft_require_arg(conversion, "a conversion", err))
        return false;
    uint64_t ignored;

    return heft_conversion_run(conversion, overflowed ? overflowed : &ignored, err);
}

bool heft_convert_check(struct heft_conversion *conversion, struct heft_error *err)
{
    if (!heft_require_arg(conversion, "a conversion", err))
        return false;
    return heft_exec_compare(&conversion->plan, &conversion->exec, err) &&
           heft_conversion_reread(conversion, err);
}

void heft_convert_free(struct heft_conversion *conversion)
{
    if (!conversion)
        return;
    heft_conversion_release(conversion);
    heft_free(conversion);
}
