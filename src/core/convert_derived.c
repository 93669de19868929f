/* convert_derived.c: conversions that dequantize: the derived model, and the files beside it.
 *
 *     MODEL/  model-0000N-of-M.safetensors, index  ──►  OUT/  new shards and index
 *             config.json                          ──►        without its quantization
 *             tokenizer.json, …                    ──►        copied
 *             hf_quant_config.json, …                         left out */
#include "core/convert.h"
#include "core/derive.h"
#include "core/locate_parts.h"
#include "core/reader.h"

#define MOST_CONFIG ((uint64_t)1 << 20) /* bytes of a file that is rewritten */

/* ---- the derived model --------------------------------------------------------------------- */

static bool has_block_types(const struct heft_model *model)
{
    for (size_t i = 0; i < model->n_rows; i++)
        if (heft_dtype_is_scaled((enum heft_dtype)model->rows[i].dtype))
            return true;
    return false;
}

static bool lose_weight(void *ctx, struct heft_str name, const struct heft_error *why,
                        struct heft_error *err)
{
    struct heft_conversion *const c = ctx;
    const char *const reason = heft_arena_text(&c->mem, heft_str_of(why->text), err);

    return reason && heft_conversion_lose(c, name.p, reason, err);
}

static bool derive_rows(struct heft_conversion *c, const struct heft_convert_options *options,
                        struct heft_error *err)
{
    const struct heft_dequantizer *const d = c->model->formats->dequantizer;
    const struct heft_derive_request request = {
        .model = c->model,
        .mem = &c->mem,
        .as = c->dequantized,
        .lose = options->salvage ? lose_weight : NULL,
        .ctx = c,
        .gptq_zero = options->gptq_zero,
    };
    struct heft_derived_rows rows = {0};

    if (!d->derive(&request, &rows, err))
        return false;
    for (size_t i = 0; i < rows.n_notes; i++)
        if (!heft_plan_note(&c->plan, rows.notes[i], err))
            return false;
    c->dequantized = rows.as;
    if (!heft_derived_model(&c->derived, c->model, &rows, &c->mem, err))
        return false;
    c->model = &c->derived;
    c->plan.model = c->model;
    return true;
}

/* Whether a block type has a scale of its own in another tensor: NVFP4. */
static bool has_factors(const struct heft_model *model)
{
    const struct heft_dequantizer *const d = model->formats->dequantizer;

    for (size_t i = 0; d && i < model->n_rows; i++)
        if (model->rows[i].dtype == HEFT_NVFP4 && d->scale_of(model, &model->rows[i]).n > 0)
            return true;
    return false;
}

bool heft_conversion_derive(struct heft_conversion *c, const struct heft_convert_options *options,
                            struct heft_error *err)
{
    if (options->gptq_zero && strcmp(options->gptq_zero, "wrap") != 0 &&
        strcmp(options->gptq_zero, "carry") != 0)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "option gptq_zero: '%.40s': expected wrap or carry", options->gptq_zero);
    if (!options->dequantize)
        return true;
    if (!heft_derive_named(options->dequantize, &c->dequantized, err))
        return false;
    if (has_block_types(c->model) && !has_factors(c->model)) /* each is cast: heft_derived_dtype */
        return true;
    return c->model->formats->dequantizer
               ? derive_rows(c, options, err)
               : heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET, "no quantization is known");
}

static bool is_small_float(enum heft_dtype dtype)
{
    return heft_dtype_info(dtype)->kind == HEFT_KIND_FLOAT && heft_dtype_block_bytes(dtype) == 1;
}

/* Dtypes whose tensors may have their scales in other tensors. */
static bool may_have_scales(enum heft_dtype dtype)
{
    return is_small_float(dtype) || dtype == HEFT_NVFP4;
}

/* Name of the scales of an item, or of one of the rows that it is made of by rules. */
static struct heft_str scale_of(const struct heft_conversion *c,
                                const struct heft_export_item *item)
{
    const struct heft_dequantizer *const d = c->model->formats->dequantizer;
    struct heft_str scale = {0};

    if (!c->unruled)
        return d->scale_of(c->model, item->row);
    for (size_t k = 0; scale.n == 0; k++) {
        const struct heft_row *const source = heft_ruled_source(&c->ruled, item->row, k);

        if (!source)
            break;
        scale = d->scale_of(c->unruled, source);
    }
    return scale;
}

bool heft_conversion_refuse_scaled(const struct heft_conversion *c,
                                   const struct heft_convert_options *options,
                                   struct heft_error *err)
{
    const struct heft_dequantizer *const d = c->model->formats->dequantizer;

    for (size_t i = 0; d && !options->ignore_scales && i < c->exports.n_items; i++) {
        const struct heft_export_item *const item = &c->exports.items[i];
        struct heft_str scale;

        if (item->as == item->row->dtype || !may_have_scales((enum heft_dtype)item->row->dtype))
            continue;
        scale = scale_of(c, item);
        if (scale.n == 0)
            continue;
        heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                  "has the scales %.200s, which a cast leaves out; use option dequantize, or "
                  "option ignore_scales",
                  scale.p);
        return heft_error_about(err, "tensor", item->row->name);
    }
    return true;
}

/* Whether the values of a derived row can be computed: *found has the reason if not. */
static bool check_item(struct heft_reader *reader, const struct heft_export_item *item,
                       struct heft_error *found)
{
    const struct heft_recipe *const recipe =
        heft_row_is_derived(item->row) ? item->row->parts->recipe : NULL;

    return !recipe || !recipe->check || item->row->bytes == 0 ||
           recipe->check(recipe, reader, item->row, found);
}

bool heft_conversion_lose_scales(struct heft_conversion *c, struct heft_error *err)
{
    struct heft_reader reader = {0};
    size_t kept = 0;
    bool ok = heft_reader_init(&reader, c->model, false, err);

    for (size_t i = 0; ok && i < c->exports.n_items; i++) {
        const struct heft_export_item item = c->exports.items[i];
        struct heft_error found = {0};

        if (check_item(&reader, &item, &found))
            c->exports.items[kept++] = item;
        else if (heft_model_forgives(c->model, &found))
            ok = lose_weight(c, item.row->name, &found, err);
        else {
            *err = found;
            ok = false;
        }
    }
    if (ok)
        c->exports.n_items = kept;
    heft_reader_release(&reader);
    return ok;
}

/* ---- other files of the model directory ---------------------------------------------------- */

struct others {
    struct heft_conversion *c;
    struct heft_strmap taken;   /* names of the sources, and of the outputs so far */
    struct heft_strmap weights; /* names of other checkpoints of the directory */
    struct heft_candidates candidates;
    struct heft_buf left; /* names of those that are left out */
    size_t n_left;
    enum heft_dtype as; /* dtype of the weights in the output */
    struct heft_error *err;
};

static struct heft_str name_of(const char *path)
{
    return heft_str_of(path + heft_path_folder(path));
}

static bool list_taken(struct others *o)
{
    const struct heft_model *const model = o->c->model;
    bool ok = true;

    for (size_t i = 0; ok && i < model->n_sources; i++)
        if (model->sources[i].is_file)
            ok = heft_strmap_set(&o->taken, name_of(model->sources[i].path), 0, o->err);
    for (size_t i = 0; ok && i < o->c->plan.n_files; i++)
        ok = heft_strmap_set(&o->taken, name_of(o->c->plan.files[i].path), 0, o->err);
    return ok;
}

/* Finds the other checkpoints of the directory: alternatives to the weights, such as pytorch_model.bin, which
 * are quantized, too, or the original ones. */
static bool list_weights(struct others *o, const char *const *names, size_t n)
{
    const struct heft_folder folder = {&heft_disk, o->c->model->folder, names, n};
    bool ok = heft_folder_judge(o->c->model->formats, &folder, &o->c->mem, &o->candidates, o->err);

    for (size_t i = 0; ok && i < o->candidates.n; i++)
        if (o->candidates.list[i].rule->rank <= HEFT_FILE_WEIGHTS)
            ok = heft_strmap_set(&o->weights, heft_str_of(o->candidates.list[i].name), 0, o->err);
    return ok;
}

static bool is_weights(const struct others *o, const char *name)
{
    uint32_t number;

    if (heft_strmap_get(&o->weights, heft_str_of(name)) != HEFT_MAP_NONE)
        return true;
    for (size_t i = 0; i < o->candidates.n; i++)
        if (o->candidates.list[i].files > 0 &&
            heft_candidate_has(o->c->model->formats, &o->candidates.list[i], name, &number))
            return true;
    return false;
}

static bool join_path(struct others *o, const char *folder, const char *name, const char **out)
{
    const size_t n = strlen(folder);

    *out = heft_arena_printf(&o->c->mem, o->err, "%s%s%s", folder,
                             n && folder[n - 1] != '/' ? "/" : "", name);
    return *out != NULL;
}

/* Text of config.json in the output; n is 0 if the file is copied. */
static bool rewrite_text(struct others *o, const char *name, const struct heft_source *source,
                         struct heft_str *text, bool *skip)
{
    const struct heft_dequantizer *const d = o->c->model->formats->dequantizer;
    struct heft_bytes bytes = {0};

    *text = (struct heft_str){0};
    *skip = false;
    if (!d || !d->rewrite)
        return true;
    if (source->size <= MOST_CONFIG &&
        !heft_source_fetch(source, 0, source->size, &o->c->mem, &bytes, o->err))
        return false;
    return d->rewrite(o->c->model, name, bytes, o->as, &o->c->mem, text, skip, o->err);
}

static bool plan_source(struct others *o, const char *name, const char *from,
                        const struct heft_source *source)
{
    struct heft_plan *const plan = &o->c->plan;
    struct heft_str text;
    const char *path;
    uint32_t file;
    bool skip;

    if (!rewrite_text(o, name, source, &text, &skip))
        return heft_error_file(o->err, from);
    if (skip)
        return true;
    if (!join_path(o, o->c->folder, name, &path) ||
        !heft_plan_file_begin(plan, path, &file, o->err))
        return false;
    plan->files[file].is_other = true;
    return text.n ? heft_plan_put(plan, file, text, o->err)
                  : heft_plan_copy_file(plan, file, from, 0, source->size, o->err);
}

static bool plan_other(struct others *o, const char *name)
{
    struct heft_source source = {0};
    const char *from;
    bool ok;

    if (heft_strmap_get(&o->taken, heft_str_of(name)) != HEFT_MAP_NONE)
        return true;
    if (!join_path(o, o->c->model->folder, name, &from))
        return false;
    if (heft_path_kind(from) != HEFT_PATH_FILE || is_weights(o, name)) {
        heft_list_name(&o->left, o->n_left++, heft_str_of(name));
        return true;
    }
    if (!heft_source_open_file(&source, from, o->err))
        return heft_error_file(o->err, from);
    ok = plan_source(o, name, from, &source);
    heft_source_close(&source);
    return ok;
}

/* Dtype of the first weight that is dequantized, as it is written. */
static enum heft_dtype written_dtype(const struct heft_conversion *c)
{
    for (size_t i = 0; i < c->exports.n_items; i++)
        if (heft_row_is_derived(c->exports.items[i].row))
            return (enum heft_dtype)c->exports.items[i].as;
    return c->dequantized;
}

static bool note_left(struct others *o)
{
    struct heft_str names;

    if (o->n_left == 0)
        return true;
    heft_list_end(&o->left, o->n_left);
    return heft_buf_take(&o->left, &o->c->mem, &names, o->err) &&
           heft_plan_note(&o->c->plan,
                          heft_arena_printf(&o->c->mem, o->err,
                                            "not copied, other weights or directories: %s",
                                            names.p),
                          o->err);
}

bool heft_conversion_plan_others(struct heft_conversion *c, struct heft_error *err)
{
    struct others o = {.c = c, .err = err, .as = written_dtype(c)};
    const char *const *names;
    size_t n = 0;
    bool ok;

    if (c->model != &c->derived || !c->model->folder || c->model->files != &heft_disk ||
        c->format->plan_set)
        return true;
    ok = heft_path_list(c->model->folder, &c->mem, &names, &n, err) && list_taken(&o) &&
         list_weights(&o, names, n);
    for (size_t i = 0; ok && i < n; i++)
        ok = plan_other(&o, names[i]);
    ok = ok && note_left(&o);
    heft_strmap_release(&o.taken);
    heft_strmap_release(&o.weights);
    heft_buf_release(&o.left);
    return ok;
}
