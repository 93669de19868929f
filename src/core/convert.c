/* convert.c: plans a conversion: chooses format and file names, loads the exports, makes the
 * plan. Planning writes nothing. */
#include "core/convert.h"

#include "base/text.h"
#include "core/derive.h"
#include "core/equal_rows.h"
#include "core/locate_parts.h"
#include "core/reader.h"

#define DEFAULT_SHARD 5000000000u /* huggingface_hub's default, "5GB" */
#define SUFFIX        "{suffix}"
#define NAMES_SHOWN   8 /* names in a note */
#define SHARD_DIGITS  "-00000-of-00000"

/* ---- choosing format and file names ------------------------------------------------------ */

static const char *base_name(const char *path)
{
    return path + heft_path_folder(path);
}

static bool names_folder(const struct heft_formats *formats,
                         const struct heft_convert_options *options)
{
    const size_t n = strlen(options->output);

    if (n && options->output[n - 1] == '/')
        return true;
    if (heft_path_kind(options->output) == HEFT_PATH_DIR)
        return true;
    return options->sharded && !heft_registry_by_extension(formats, options->output);
}

/* Default format of an output that is a directory; NULL if no format declares itself the default. */
static const char *folder_format(const struct heft_formats *formats)
{
    for (size_t i = 0; i < formats->n; i++)
        if (formats->list[i]->is_for_folders)
            return formats->list[i]->name;
    return NULL;
}

/* The format of the index of a set of shards. */
static const struct heft_format *index_format(const struct heft_formats *formats)
{
    for (size_t i = 0; i < formats->n; i++)
        if (formats->list[i]->plan_index)
            return formats->list[i];
    return NULL;
}

static bool choose_format(struct heft_conversion *c, const struct heft_convert_options *options,
                          bool in_folder, struct heft_error *err)
{
    const struct heft_formats *const formats = c->plan.model->formats;
    const struct heft_format *implied = heft_format_options_imply(
        formats, options->output, options->format_options, options->n_format_options);
    const char *usual = implied ? implied->name : in_folder ? folder_format(formats) : NULL;
    const char *asked = options->to ? options->to : usual;

    c->format = asked ? heft_registry_named(formats, asked)
                      : heft_registry_by_extension(formats, options->output);
    if (!c->format && !asked)
        return heft_registry_refuse_extension(formats, options->output, err);
    if (!c->format || !heft_format_writes(c->format))
        return heft_registry_refuse_writer(formats, asked, err);
    c->plan.sum = c->format->sum;
    return true;
}

/* Splits a shard pattern: "model{suffix}.safetensors" → "model", ".safetensors". */
static bool split_pattern(struct heft_conversion *c, const char *pattern, struct heft_error *err)
{
    const char *mark = strstr(pattern, SUFFIX);
    const size_t mark_len = sizeof SUFFIX - 1;
    struct heft_str before;

    if (!mark || strstr(mark + mark_len, SUFFIX))
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "the filename pattern \"%s\" must hold {suffix} once", pattern);
    before = (struct heft_str){pattern, (size_t)(mark - pattern)};
    c->prefix = heft_arena_text(&c->mem, before, err);
    c->suffix = heft_arena_text(&c->mem, heft_str_of(mark + mark_len), err);
    if (!c->prefix || !c->suffix)
        return false;
    if (strpbrk(c->prefix, "{}/") || strpbrk(c->suffix, "{}/"))
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "the filename pattern \"%s\" has a brace or slash outside {suffix}",
                         pattern);
    return true;
}

/* Names the index of a variant as transformers and diffusers look for it:
 * "model.safetensors.index.fp16.json" for "model.fp16.safetensors". With a pattern of the
 * user's, the index is named as the hub does. */
static bool name_variant_index(struct heft_conversion *c, struct heft_str stem, const char *dot,
                               struct heft_error *err)
{
    const struct heft_format *const index = index_format(c->plan.model->formats);
    const char *suffix, *last;
    struct heft_str variant;

    if (!index || !heft_stem_variant(c->plan.model->formats, &stem, &variant))
        return true;
    suffix = index->index_suffix;
    last = strrchr(suffix, '.');
    c->index_name =
        heft_arena_printf(&c->mem, err, "%.*s%s%.*s.%.*s%s", (int)stem.n, stem.p, dot,
                          (int)(last - suffix), suffix, (int)variant.n, variant.p, last);
    return c->index_name != NULL;
}

/* Shard pattern of a single path: "out/model.safetensors" gives directory "out" and pattern
 * "model{suffix}.safetensors". */
static const char *pattern_of_file(struct heft_conversion *c, const char *path,
                                   struct heft_error *err)
{
    const char *name = base_name(path);
    const char *dot = strrchr(name, '.');
    const struct heft_str folder = {path, (size_t)(name - path)};

    c->folder = folder.n ? heft_arena_text(&c->mem, folder, err) : "";
    if (!c->folder || !dot ||
        !name_variant_index(c, (struct heft_str){name, (size_t)(dot - name)}, dot, err))
        return NULL;
    return heft_arena_printf(&c->mem, err, "%.*s" SUFFIX "%s", (int)(dot - name), name, dot);
}

static bool choose_names(struct heft_conversion *c, const struct heft_convert_options *options,
                         bool in_folder, struct heft_error *err)
{
    const char *pattern = options->filename_pattern;

    if (c->format->plan_set && !pattern)
        return true;
    if (c->format->plan_set)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "a filename pattern is not for %s, which names its files itself",
                         c->format->name);
    if (!in_folder && pattern)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "a filename pattern needs an output directory, not the file %s",
                         options->output);
    if (!in_folder && !options->sharded)
        return true;
    if (!c->format->pattern)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "%s cannot be written as shards%s",
                         c->format->name, in_folder ? "; name a file" : "");
    if (in_folder) {
        c->folder = heft_arena_text(&c->mem, heft_str_of(options->output), err);
        if (!c->folder)
            return false;
    } else if (!(pattern = pattern_of_file(c, options->output, err))) {
        return false;
    }
    return split_pattern(c, pattern ? pattern : c->format->pattern, err);
}

static const char *in_folder(struct heft_conversion *c, const char *name, struct heft_error *err)
{
    const size_t n = strlen(c->folder);

    return heft_arena_printf(&c->mem, err, "%s%s%s", c->folder,
                             n && c->folder[n - 1] != '/' ? "/" : "", name);
}

static const char *shard_name(struct heft_conversion *c, uint32_t shard, struct heft_error *err)
{
    if (c->exports.n_shards == 1)
        return heft_arena_printf(&c->mem, err, "%s%s", c->prefix, c->suffix);
    return heft_arena_printf(&c->mem, err, "%s-%05" PRIu32 "-of-%05" PRIu32 "%s", c->prefix,
                             shard + 1, c->exports.n_shards, c->suffix);
}

/* ---- loading the export list --------------------------------------------------------------- */

/* Whether the bytes of an empty tensor overflow before its extent of 0 is reached: readers multiply
 * extents from left to right. */
static bool overflows(const struct heft_export_item *item, uint64_t most)
{
    const struct heft_row *const row = item->row;
    uint64_t n = heft_dtype_block_bytes((enum heft_dtype)item->as);

    for (unsigned d = 0; d < row->rank; d++)
        if (!heft_mul(n, row->shape[d], &n) || n > most)
            return true;
    return false;
}

static bool refuse_overflow(const struct heft_conversion *c, struct heft_error *err)
{
    const uint64_t most = c->format->wide_extents ? UINT64_MAX / 8 : INT64_MAX;

    for (size_t i = 0; i < c->exports.n_items; i++) {
        const struct heft_export_item *const item = &c->exports.items[i];

        if (item->bytes > 0 || heft_dtype_varies((enum heft_dtype)item->as) ||
            !overflows(item, most))
            continue;
        heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
                  "an empty tensor whose other extents have 2^63 bytes or more, %s has none",
                  c->format->name);
        return heft_error_about(err, "tensor", item->name);
    }
    return true;
}

/* Refuses extents of 2^63 and more, which an empty tensor may have, if the format stores them as
 * signed integers. */
static bool refuse_extents(const struct heft_conversion *c, struct heft_error *err)
{
    if (!refuse_overflow(c, err))
        return false;
    for (size_t i = 0; i < c->exports.n_items && !c->format->wide_extents; i++) {
        const struct heft_row *row = c->exports.items[i].row;

        for (unsigned d = 0; d < row->rank; d++)
            if (row->shape[d] > INT64_MAX) {
                heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
                          "dimension %u is %" PRIu64 ", %s has them below 2^63", d, row->shape[d],
                          c->format->name);
                return heft_error_about(err, "tensor", c->exports.items[i].name);
            }
    }
    return true;
}

/* Whether casting all floats to `to` makes every tensor writable without narrowing a wider one.
 * *n: number of tensors whose dtype the format lacks. */
static bool serves_all(const struct heft_conversion *c, enum heft_dtype to, size_t *n)
{
    *n = 0;
    for (size_t i = 0; i < c->exports.n_items; i++) {
        const enum heft_dtype as = (enum heft_dtype)c->exports.items[i].as;
        const bool is_float = heft_dtype_info(as)->kind == HEFT_KIND_FLOAT;

        if (!heft_registry_supports_dtype(c->format, as)) {
            ++*n;
            if (heft_registry_instead(c->format, as) != to)
                return false;
        }
        if (is_float && heft_dtype_is_wider(as, to))
            return false;
    }
    return heft_dtype_info(to)->kind == HEFT_KIND_FLOAT && *n > 1;
}

static bool offer_cast(const struct heft_conversion *c, const struct heft_export_item *item,
                       enum heft_dtype to, struct heft_error *err)
{
    const enum heft_dtype as = (enum heft_dtype)item->as;
    const char *const has_not = heft_dtype_name(as);
    const char *const also =
        heft_dtype_is_scaled(as) ? ": option dequantize writes values instead" : "";
    size_t n;

    if (serves_all(c, to, &n))
        return heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
                         "%s has no %s, and %zu more tensor%s like it%s; cast '*=%s' would do",
                         c->format->name, has_not, n - 1, n == 2 ? " is" : "s are", also,
                         heft_dtype_name(to));
    return heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET, "%s has no %s%s; cast '%s=%s' would do",
                     c->format->name, has_not, also, item->from.p, heft_dtype_name(to));
}

static bool refuse_dtypes(const struct heft_conversion *c, struct heft_error *err)
{
    for (size_t i = 0; i < c->exports.n_items; i++) {
        const struct heft_export_item *item = &c->exports.items[i];
        const enum heft_dtype as = (enum heft_dtype)item->as;
        enum heft_dtype to;

        if (heft_registry_supports_dtype(c->format, as))
            continue;
        to = heft_registry_instead(c->format, as);
        if (to == HEFT_DTYPE_COUNT)
            heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
                      "%s has no %s, nor anything that it could be cast to", c->format->name,
                      heft_dtype_name(as));
        else
            offer_cast(c, item, to, err);
        return heft_error_about(err, "tensor", item->name);
    }
    return true;
}

static const char *varying_kind(size_t n, size_t n_variants)
{
    if (n_variants == 0)
        return "strings";
    return n_variants == n ? "variants" : "strings or variants";
}

/* Leaves out tensors of varying-length elements, with a note, if the target cannot store them.
 * If there are no other tensors, they are refused like any dtype. */
static bool leave_varying(struct heft_conversion *c, bool strict, struct heft_error *err)
{
    struct heft_export_list *const exports = &c->exports;
    struct heft_buf text = {0};
    struct heft_str out;
    size_t kept = 0, n = 0, n_variants = 0;

    for (size_t i = 0; i < exports->n_items && !strict; i++) {
        const struct heft_export_item item = exports->items[i];

        if (!heft_dtype_varies((enum heft_dtype)item.as) ||
            heft_registry_supports_dtype(c->format, (enum heft_dtype)item.as)) {
            exports->items[kept++] = item;
            continue;
        }
        if (n < NAMES_SHOWN)
            heft_buf_printf(&text, "%s%s", n ? ", " : "", item.name.p);
        n_variants += item.as == HEFT_VARIANT;
        n++;
    }
    if (strict || n == 0 || n == exports->n_items) {
        heft_buf_release(&text);
        return true;
    }
    exports->n_items = kept;
    if (n > NAMES_SHOWN)
        heft_buf_printf(&text, " and %zu more", n - NAMES_SHOWN);
    return heft_buf_take(&text, &c->mem, &out, err) &&
           heft_plan_note(&c->plan,
                          heft_arena_printf(&c->mem, err, "left out, %s has no %s: %s",
                                            c->format->name, varying_kind(n, n_variants), out.p),
                          err);
}

static bool slice_one(struct heft_conversion *c, const struct heft_convert_options *options,
                      struct heft_error *err)
{
    struct heft_export_item *item = c->exports.items;

    if (!options->n_ranges)
        return true;
    if (c->exports.n_items != 1)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "a slice is of one tensor, %zu are taken",
                         c->exports.n_items);
    if (!heft_row_slice_as(item->row, options->ranges, options->n_ranges, (enum heft_dtype)item->as,
                           &c->mem, &c->slice, err))
        return heft_error_about(err, "tensor", item->name);
    item->row = &c->slice;
    item->is_apart = true;
    return heft_row_size_as(&c->slice, (enum heft_dtype)item->as, &item->bytes, err);
}

/* Loads the exports and restores recorded ties. A format of a single tensor gets restored ties
 * only if there is no other tensor. */
static bool load_tensors(struct heft_conversion *c, const struct heft_convert_options *options,
                         bool has_rules, struct heft_error *err)
{
    if (options->salvage && !heft_conversion_lose_unreadable(c, options, err))
        return false;
    return heft_export_load(&c->exports, c->model, options, &c->mem, err) &&
           (!options->salvage ||
            (heft_conversion_lose_damaged(c, err) && heft_conversion_lose_scales(c, err))) &&
           ((c->format->one_tensor && c->exports.n_items > 0 && !has_rules) ||
            heft_export_retie(&c->exports, options, err));
}

/* With rules files, casts match the names that these give. */
static bool take_tensors(struct heft_conversion *c, const struct heft_convert_options *options,
                         struct heft_error *err)
{
    const bool has_rules = heft_ruling_is_asked(options->rules, options->n_rules);
    struct heft_convert_options first = *options;

    if (has_rules)
        first.rules = heft_ruling_without_casts(options->rules, &first.n_rules, &c->mem, err);
    return (!has_rules || first.rules) && load_tensors(c, &first, has_rules, err) &&
           heft_conversion_rule(c, options, err) && heft_conversion_refuse_scaled(c, options, err);
}

/* Whether the conversion preserves nesting and values: one file to one file of the same kind.
 * Shards are flat, as their index is. */
static bool keeps_tree(struct heft_conversion *c, const struct heft_convert_options *options)
{
    c->exports.keeps_tree = c->format->keeps_tree && c->model->has_tree && c->model->n_files == 1 &&
                            c->exports.n_shards == 1 && !options->salvage && !options->n_ranges;
    return c->exports.keeps_tree;
}

static bool load_exports(struct heft_conversion *c, const struct heft_convert_options *options,
                         struct heft_error *err)
{
    const uint64_t limit = c->format->plan_set ? UINT64_MAX
                           : options->sharded  ? options->max_shard_size
                           : c->prefix         ? DEFAULT_SHARD
                                               : UINT64_MAX;
    size_t all;

    if (!take_tensors(c, options, err) || !leave_varying(c, options->strict, err))
        return false;
    all = c->exports.n_items;
    c->exports.weigh = c->format->weigh;
    if (!heft_conversion_refuse_nothing(c, options, err))
        return false;
    if (c->format->one_tensor && all != 1)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "%s holds one tensor, %zu are taken",
                         c->format->name, all);
    return (!c->format->no_ties || heft_export_untie(&c->exports, options, err)) &&
           heft_conversion_note_ties(c, err) && slice_one(c, options, err) &&
           refuse_extents(c, err) && heft_export_split(&c->exports, limit, err) &&
           (keeps_tree(c, options) || refuse_dtypes(c, err));
}

/* ---- planning the files ------------------------------------------------------------------ */

/* Refuses names of shards that are not UTF-8: the index is JSON, and could not name the files. */
static bool check_shard_names(const struct heft_conversion *c, struct heft_error *err)
{
    const char *const parts[] = {c->prefix, c->suffix};

    for (size_t i = 0; i < HEFT_COUNT(parts); i++) {
        const struct heft_bytes text = {(const uint8_t *)parts[i], strlen(parts[i])};

        if (heft_utf8_check(text) != text.n)
            return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                             "the names of the shards are not UTF-8, and an index cannot hold "
                             "them; name the output or the filename pattern in UTF-8");
    }
    return true;
}

static bool plan_index(struct heft_conversion *c, struct heft_error *err)
{
    const struct heft_format *index = index_format(c->plan.model->formats);
    const char *name, *path;
    uint32_t file;

    if (!index)
        return heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
                         "no format is known that is an index of shards");
    if (!check_shard_names(c, err))
        return false;
    name = c->index_name ? c->index_name
                         : heft_arena_printf(&c->mem, err, "%s%s%s", c->prefix, c->suffix,
                                             index->index_suffix);
    path = name ? in_folder(c, name, err) : NULL;
    if (!path || !heft_plan_file_begin(&c->plan, path, &file, err))
        return false;
    c->plan.files[file].is_index = true;
    return index->plan_index(&c->plan, file, &c->exports, err);
}

/* Sets directory and prefix from the names that the format chose; a single file has none. */
static bool name_set(struct heft_conversion *c, struct heft_error *err)
{
    const char *path = c->plan.prefix, *name = path ? base_name(path) : NULL;

    c->prefix = name;
    if (!path)
        return true;
    c->folder = heft_arena_text(&c->mem, (struct heft_str){path, (size_t)(name - path)}, err);
    return c->folder != NULL;
}

static bool plan_files(struct heft_conversion *c, const char *output, struct heft_error *err)
{
    if (c->format->plan_set)
        return c->format->plan_set(&c->plan, output, &c->exports, err) && name_set(c, err);
    for (uint32_t shard = 0; shard < c->exports.n_shards; shard++) {
        const struct heft_export_list part = heft_export_shard(&c->exports, shard);
        const char *name = c->prefix ? shard_name(c, shard, err) : NULL;
        const char *path = !c->prefix ? output : name ? in_folder(c, name, err) : NULL;
        uint32_t file;

        if (!path || !heft_plan_file_begin(&c->plan, path, &file, err) ||
            !c->format->plan(&c->plan, file, &part, err))
            return false;
    }
    return c->exports.n_shards == 1 || plan_index(c, err);
}

/* Refuses a source with missing tensors, unless a single tensor is selected by name. */
static bool refuse_lacks(const struct heft_conversion *c, struct heft_error *err)
{
    for (size_t i = 0; i < c->model->n_notes && !c->model->salvage && !c->format->one_tensor; i++) {
        const struct heft_note *note = &c->model->notes[i];

        if (!note->is_lack)
            continue;
        heft_fail(err, HEFT_MALFORMED, note->offset, "%s%s", note->text,
                  c->model->n_rows ? "; option salvage takes what is there" : "");
        return heft_error_file(err, c->model->sources[note->source].path);
    }
    return true;
}

bool heft_conversion_plan(struct heft_conversion *c, const struct heft_model *model,
                          const struct heft_convert_options *options, struct heft_error *err)
{
    const bool in_folder = names_folder(model->formats, options);

    *c = (struct heft_conversion){.model = model, .budget = heft_model_budget(model)};
    c->mem.budget = &c->budget;
    c->plan = (struct heft_plan){.model = model,
                                 .request = {.root = options->root,
                                             .rules = options->rules,
                                             .n_rules = options->n_rules,
                                             .max_shard_size = options->max_shard_size,
                                             .is_sharded = options->sharded,
                                             .is_strict = options->strict},
                                 .mem = &c->mem};
    c->exec = (struct heft_exec_options){
        .threads = options->threads,
        .overwrite = options->overwrite,
        .no_sync = options->no_sync,
        .no_verify = options->no_verify,
        .progress = options->progress,
        .progress_ctx = options->progress_ctx,
    };
    if (!heft_conversion_derive(c, options, err) || !choose_format(c, options, in_folder, err) ||
        !refuse_lacks(c, err) || !heft_conversion_take_options(c, options, err) ||
        !choose_names(c, options, in_folder, err) || !load_exports(c, options, err) ||
        !heft_conversion_leave_values(c, options, err) ||
        !heft_plan_expect_items(&c->plan, c->exports.n_items, err) ||
        !plan_files(c, options->output, err) ||
        (options->dequantize && in_folder && !heft_conversion_plan_others(c, err)))
        return false;
    c->exec.folder = c->folder && *c->folder ? c->folder : NULL;
    c->plan.request = (struct heft_plan_request){0}; /* belongs to the caller */
    return heft_plan_check(&c->plan, err);
}

/* ---- running the plan -------------------------------------------------------------------- */

/* Whether "-00001-of-00003" is at p, with five digits each, as in the hub's rule for stale
 * files. */
static bool is_shard_number(const char *p)
{
    const char *form = SHARD_DIGITS;

    for (; *form; form++, p++)
        if (*form == '0' ? *p < '0' || *p > '9' : *p != *form)
            return false;
    return true;
}

/* Whether a file belongs to the set: prefix (-ddddd-of-ddddd)? suffix (.index.json)?, the hub's
 * rule since 2.0. */
static bool belongs_to_set(const struct heft_conversion *c, const char *name)
{
    const size_t prefix = strlen(c->prefix), suffix = c->suffix ? strlen(c->suffix) : 0;
    const struct heft_format *const index = index_format(c->model->formats);

    if (c->index_name && strcmp(name, c->index_name) == 0)
        return true;
    if (strncmp(name, c->prefix, prefix) != 0)
        return false;
    name += prefix;
    if (c->plan.in_set)
        return c->plan.in_set(heft_str_of(name));
    if (is_shard_number(name))
        name += sizeof SHARD_DIGITS - 1;
    if (strncmp(name, c->suffix, suffix) != 0)
        return false;
    name += suffix;
    return *name == '\0' || (index && strcmp(name, index->index_suffix) == 0);
}

static bool is_output(const struct heft_strmap *outputs, const char *path)
{
    return heft_strmap_get(outputs, heft_str_of(path)) != HEFT_MAP_NONE;
}

/* Finds files of an earlier set with this pattern: an error without option overwrite, else
 * deleted after the run. */
static bool find_stale(struct heft_conversion *c, const struct heft_strmap *outputs,
                       struct heft_error *err)
{
    const char *folder = *c->folder ? c->folder : ".";
    const char *const *names;
    const char **stale;
    size_t n;
    bool is_folder;

    if (!heft_path_is_folder(folder, &is_folder, err))
        return false;
    if (!is_folder)
        return true;
    if (!heft_path_list(folder, &c->mem, &names, &n, err))
        return false;
    stale = heft_arena_zero(&c->mem, n + 1, sizeof *stale, err);
    for (size_t i = 0; stale && i < n; i++) {
        const char *path = belongs_to_set(c, names[i]) ? in_folder(c, names[i], err) : NULL;

        if (!belongs_to_set(c, names[i]))
            continue;
        if (!path)
            return false;
        if (!c->exec.overwrite && !(c->exec.is_resumed && is_output(outputs, path))) {
            heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                      "belongs to an existing checkpoint; option overwrite replaces it");
            return heft_error_file(err, path);
        }
        if (!is_output(outputs, path))
            stale[c->exec.n_retire++] = path;
    }
    c->exec.retire = stale;
    return stale != NULL;
}

static bool look_for_stale(struct heft_conversion *c, struct heft_error *err)
{
    struct heft_strmap outputs = {0};
    bool ok = true;

    c->exec.n_retire = 0;
    if (!c->prefix || c->plan.whole)
        return true;
    for (uint32_t i = 0; ok && i < c->plan.n_files; i++)
        ok = heft_strmap_set(&outputs, heft_str_of(c->plan.files[i].path), i, err);
    ok = ok && find_stale(c, &outputs, err);
    heft_strmap_release(&outputs);
    return ok;
}

bool heft_conversion_run(struct heft_conversion *c, uint64_t *overflowed, struct heft_error *err)
{
    return heft_conversion_check_sources(c, err) && look_for_stale(c, err) &&
           heft_conversion_count_losses(c, err) &&
           heft_exec_run(&c->plan, &c->exec, overflowed, err) && heft_conversion_note_casts(c, err);
}

bool heft_conversion_check_sources(const struct heft_conversion *c, struct heft_error *err)
{
    return (c->exec.no_verify || c->model->salvage || heft_registry_check_sources(c->model, err)) &&
           heft_equal_rows_check(c->model, c->equals, c->n_equals, err);
}

/* Refuses an existing file that the sink would refuse. */
static bool refuse_existing(const struct heft_conversion *c, const char *path,
                            struct heft_error *err)
{
    if (c->exec.overwrite || heft_path_kind(path) == HEFT_PATH_NONE)
        return true;
    heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "exists; option overwrite replaces it");
    return heft_error_file(err, path);
}

bool heft_conversion_check_targets(struct heft_conversion *c, struct heft_error *err)
{
    if (!look_for_stale(c, err))
        return false;
    for (size_t i = 0; i < c->plan.n_files; i++)
        if (!refuse_existing(c, c->plan.files[i].path, err))
            return false;
    return true;
}

bool heft_conversion_commit(struct heft_conversion *c, const struct heft_exec_receipts *receipts,
                            uint64_t *overflowed, struct heft_error *err)
{
    return look_for_stale(c, err) && heft_conversion_count_losses(c, err) &&
           heft_exec_commit(&c->plan, &c->exec, receipts, overflowed, err) &&
           heft_conversion_note_casts(c, err);
}

void heft_conversion_release(struct heft_conversion *c)
{
    heft_export_release(&c->exports);
    heft_plan_release(&c->plan);
    heft_ruled_release(&c->ruled);
    heft_derived_model_release(&c->derived);
    heft_free(c->lost);
    heft_arena_release(&c->mem);
    *c = (struct heft_conversion){0};
}
