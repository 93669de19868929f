/* excluded_values.c: values, blobs and metadata that a conversion leaves out because the target
 * cannot store them. Most formats do so with a note; formats without any place for them refuse,
 * unless the user allows it. */
#include "core/convert.h"
#include "core/select.h"
#include "core/tie_records.h"

#define NAMES_SHOWN  8
#define MOST_COUNTED 10000 /* values: limits the time for looking up long paths */

struct left_out {
    struct heft_buf names;
    unsigned n;
};

static void leave_out(struct left_out *left, struct heft_str name)
{
    if (left->n < NAMES_SHOWN) {
        heft_buf_text(&left->names, left->n ? ", " : "");
        heft_buf_str(&left->names, name);
    }
    left->n++;
}

/* Text of the list of names. Releases the list. */
static bool take_names(struct left_out *left, struct heft_arena *mem, const char **out,
                       struct heft_error *err)
{
    struct heft_str text;

    if (left->n > MOST_COUNTED)
        heft_buf_text(&left->names, " and many more");
    else if (left->n > NAMES_SHOWN)
        heft_buf_printf(&left->names, " and %u more", left->n - NAMES_SHOWN);
    if (!heft_buf_take(&left->names, mem, &text, err))
        return false;
    *out = text.p;
    return true;
}

/* Adds the note "left out, not tensors: epoch, args", if the list is not empty. */
static bool note_names(struct heft_conversion *c, struct left_out *left, const char *what,
                       struct heft_error *err)
{
    const char *names;

    if (!what && left->n > 0) { /* no memory for it */
        heft_buf_release(&left->names);
        return false;
    }
    return take_names(left, &c->mem, &names, err) &&
           (left->n == 0 ||
            heft_plan_note(&c->plan, heft_arena_printf(&c->mem, err, "%s: %s", what, names), err));
}

static const struct heft_conventions *conventions_of(const struct heft_model *model)
{
    static const struct heft_conventions none;
    const struct heft_formats *const formats = model->formats;

    return formats && formats->conventions ? formats->conventions : &none;
}

static bool has_key(const struct heft_value *value, const char *key)
{
    return key && strcmp(value->key, key) == 0;
}

/* Whether a value is bookkeeping of every state dict, or a dict of nothing else. `key`: key of
 * such values. */
static bool is_bookkeeping(const struct heft_value *value, const char *key)
{
    const struct heft_value *child = value->first_child;

    return has_key(value, key) ||
           (value->kind == HEFT_VALUE_DICT && child && !child->next_sibling && has_key(child, key));
}

/* ---- excluding values ----------------------------------------------------------------------- */

/* Level of the walk: the next child to visit, and the length of the parent's path. */
struct level {
    const struct heft_value *next;
    size_t path_n;
};

struct walk {
    struct left_out *left;
    const char *bookkeeping;    /* key of values that are left out without a note; NULL: none */
    struct heft_strmap holders; /* paths of rows and of all their ancestors */
    struct heft_buf path;
    struct level *levels;
    size_t n_levels, cap_levels;
};

/* Adds the ancestors of a name: all prefixes that end before a dot, longest first. If one is
 * known, so are all shorter ones. */
static bool add_holders(struct walk *w, struct heft_str name, struct heft_error *err)
{
    uint32_t found = HEFT_MAP_NONE;

    while (name.n > 0 && found == HEFT_MAP_NONE) {
        if (!heft_strmap_add(&w->holders, name, 0, &found, err))
            return false;
        while (name.n > 0 && name.p[name.n - 1] != '.')
            name.n--;
        name.n -= name.n > 0;
    }
    return true;
}

static bool find_holders(struct walk *w, const struct heft_model *model, const char *root,
                         struct heft_error *err)
{
    struct heft_str below;

    for (size_t i = 0; i < model->n_rows; i++)
        if (heft_name_below(model->rows[i].name, root, &below) && !add_holders(w, below, err))
            return false;
    return true;
}

/* Visits a value: descends if it has tensors below it, else leaves out the whole value. */
static bool visit_value(struct walk *w, const struct heft_value *value, struct heft_error *err)
{
    const size_t path_n = w->path.n;
    struct heft_str path;

    if (value->kind == HEFT_VALUE_TENSOR || has_key(value, w->bookkeeping))
        return true;
    heft_buf_text(&w->path, path_n ? "." : "");
    heft_buf_str(&w->path, (struct heft_str){value->key, value->key_len});
    if (!heft_buf_ok(&w->path, err))
        return false;
    path = (struct heft_str){w->path.n ? w->path.p : "", w->path.n};
    if (heft_strmap_get(&w->holders, path) != HEFT_MAP_NONE) {
        if (!value->first_child) { /* an object with nothing but tensors */
            w->path.n = path_n;
            return true;
        }
        if (!heft_grow(&w->levels, &w->cap_levels, w->n_levels, 1, sizeof *w->levels, err))
            return false;
        w->levels[w->n_levels++] = (struct level){value->first_child, w->path.n};
        return true;
    }
    if (!is_bookkeeping(value, w->bookkeeping))
        leave_out(w->left, path);
    w->path.n = path_n;
    return true;
}

static bool visit_all(struct walk *w, const struct heft_value *from, struct heft_error *err)
{
    if (!heft_grow(&w->levels, &w->cap_levels, 0, 1, sizeof *w->levels, err))
        return false;
    w->levels[w->n_levels++] = (struct level){from->first_child, 0};
    while (w->n_levels > 0 && w->left->n <= MOST_COUNTED) {
        struct level *level = &w->levels[w->n_levels - 1];
        const struct heft_value *value = level->next;

        w->path.n = level->path_n;
        if (!value) {
            w->n_levels--;
            continue;
        }
        level->next = value->next_sibling;
        if (!visit_value(w, value, err))
            return false;
    }
    return true;
}

/* Collects the values that are left out: values beside tensors one by one, other subtrees as a
 * whole. */
static bool leave_values(const struct heft_model *model, const char *root,
                         const struct heft_value *from, struct left_out *left,
                         struct heft_error *err)
{
    struct walk w = {.left = left, .bookkeeping = conventions_of(model)->bookkeeping_value};
    const bool ok = !from->first_child ||
                    (find_holders(&w, model, *root ? root : NULL, err) && visit_all(&w, from, err));

    heft_strmap_release(&w.holders);
    heft_buf_release(&w.path);
    heft_free(w.levels);
    return ok;
}

/* ---- notes ---------------------------------------------------------------------------------- */

static bool refuse_values(struct heft_conversion *c, struct left_out *left, struct heft_error *err)
{
    const char *names;

    if (!take_names(left, &c->mem, &names, err))
        return false;
    return heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
                     "%s cannot store what is not a tensor: %s; option %s leaves it out",
                     c->format->name, names, c->format->drop_option);
}

/* Values that the target does not keep: those of all files, or only those of files in other formats. */
static bool leave_all_values(const struct heft_conversion *c, const char *root,
                             const struct heft_value *from, struct left_out *left,
                             struct heft_error *err)
{
    const struct heft_model *const model = c->model;

    if (c->format->places_values)
        return true;
    if (!c->format->keeps_values)
        return !from || leave_values(model, root, from, left, err);
    for (size_t i = 0; i < model->n_trees; i++) {
        const struct heft_model_tree *const tree = &model->trees[i];
        const struct heft_value *const below = heft_value_below(tree->root, root);

        if (below && model->sources[tree->source].format != c->format &&
            !leave_values(model, root, below, left, err))
            return false;
    }
    return true;
}

/* Notes bookkeeping that targets write anew, if this target does not write it. */
static bool note_bookkeeping(struct heft_conversion *c, const struct heft_value *from,
                             struct heft_error *err)
{
    const struct heft_conventions *const known = conventions_of(c->model);
    const char *const *keys = known->bookkeeping_metadata;
    struct left_out left = {0};
    bool has_versions = false;

    for (size_t i = 0; i < c->model->n_metadata; i++)
        for (size_t k = 0; keys && keys[k]; k++)
            if (heft_str_is(c->model->metadata[i].key, keys[k]))
                leave_out(&left, c->model->metadata[i].key);
    for (const struct heft_value *v = from ? from->first_child : NULL; v; v = v->next_sibling)
        has_versions = has_versions || is_bookkeeping(v, known->bookkeeping_value);
    if (has_versions)
        leave_out(&left, heft_str_of(known->bookkeeping_value));
    return note_names(c, &left, "left out, bookkeeping", err);
}

static bool is_given(const struct heft_convert_options *options, struct heft_str key)
{
    for (size_t i = 0; i < options->n_rules; i++)
        if (options->rules[i].kind == HEFT_RULE_METADATA &&
            heft_str_is(key, options->rules[i].left))
            return true;
    return false;
}

/* Notes that metadata differs between files; that of the first one is used. */
static bool note_differing(struct heft_conversion *c, const struct heft_convert_options *options,
                           struct heft_error *err)
{
    const struct heft_model *model = c->model;
    struct left_out left = {0};

    for (size_t i = 0; i < heft_model_listed_differing(model); i++)
        if (model->differing[i].kind == HEFT_DIFFERING_METADATA &&
            !heft_tie_is_reserved(model->differing[i].key) &&
            !is_given(options, model->differing[i].key))
            leave_out(&left, model->differing[i].key);
    return note_names(c, &left, "the files differ in metadata, the first one's is taken", err);
}

/* The first format that has dimensions in another order than row-major, to be named; NULL: none. */
static const char *keeper_of_strides(const struct heft_formats *formats)
{
    for (size_t i = 0; formats && i < formats->n; i++)
        if (formats->list[i]->keeps_strides && heft_format_writes(formats->list[i]))
            return formats->list[i]->name;
    return NULL;
}

/* Notes tensors whose dim_order is lost; a program may refuse weights in another order than its
 * own. */
static bool note_orders(struct heft_conversion *c, struct heft_error *err)
{
    const char *const keeper = keeper_of_strides(c->model->formats);
    struct left_out left = {0};
    const char *what;

    for (size_t i = 0; !c->format->keeps_strides && i < c->exports.n_items; i++)
        if (c->exports.items[i].row->dim_order)
            leave_out(&left, c->exports.items[i].name);
    if (left.n == 0)
        return true;
    what = heft_arena_printf(&c->mem, err, "made row-major, dim_order is lost%s%s%s",
                             keeper ? " (" : "", keeper ? keeper : "",
                             keeper ? " would keep it)" : "");
    return note_names(c, &left, what, err);
}

/* Notes tensors that a program takes from another file that is not among the inputs. */
static bool note_wanted(struct heft_conversion *c, bool strict, struct heft_error *err)
{
    struct left_out left = {0};
    const char *names;

    for (size_t i = 0; i < c->model->n_wanted; i++)
        if (heft_model_find(c->model, c->model->wanted[i]) == HEFT_NONE)
            leave_out(&left, c->model->wanted[i]);
    if (left.n == 0)
        return true;
    if (!strict)
        return note_names(c, &left,
                          heft_arena_printf(&c->mem, err,
                                            "not converted, the program takes them from %s",
                                            c->model->wanted_from),
                          err);
    return take_names(&left, &c->mem, &names, err) &&
           heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
                     "the program takes tensors from %s, which must be given, too: %s",
                     c->model->wanted_from, names);
}

/* Notes bytes that may have been meant for tensors; an error if strict. */
static bool note_left(struct heft_conversion *c, bool strict, struct heft_error *err)
{
    for (size_t i = 0; i < c->model->n_notes; i++) {
        const struct heft_note *note = &c->model->notes[i];
        const char *path;

        if (!note->is_left)
            continue;
        path = c->model->sources[note->source].path;
        if (strict) {
            heft_fail(err, HEFT_UNSUPPORTED, note->offset, "%s", note->text);
            return heft_error_file(err, path);
        }
        if (!heft_plan_note(&c->plan,
                            heft_arena_printf(&c->mem, err, "%s: offset 0x%" PRIx64 ": %s", path,
                                              note->offset, note->text),
                            err))
            return false;
    }
    return true;
}

/* Repeats the reader's notes about tensors; not needed if the output has the same format. */
static bool note_told(struct heft_conversion *c, struct heft_error *err)
{
    for (size_t i = 0; i < c->model->n_notes && !c->format->plan_set; i++)
        if (c->model->notes[i].is_told && !heft_plan_note(&c->plan, c->model->notes[i].text, err))
            return false;
    return true;
}

/* Tensors that are renamed to what a reader of the new name takes as transposed. */
static bool note_transposed(struct heft_conversion *c, struct heft_error *err)
{
    const struct heft_conventions *const known = conventions_of(c->model);
    struct left_out left = {0};

    for (size_t i = 0; known->is_transposed && i < c->exports.n_items; i++) {
        const struct heft_export_item *item = &c->exports.items[i];

        if (known->is_transposed(item->from, item->name, item->row->rank))
            leave_out(&left, item->name);
    }
    return note_names(c, &left, known->transposed, err);
}

static bool may_drop(const struct heft_conversion *c)
{
    const struct heft_format_option *const option =
        heft_format_option_named(c->format, HEFT_OPTION_WRITES, c->format->drop_option);

    return option && heft_plan_option(&c->plan, (unsigned)(option - c->format->options)).is_given;
}

bool heft_conversion_leave_values(struct heft_conversion *c,
                                  const struct heft_convert_options *options,
                                  struct heft_error *err)
{
    const char *root = options->root ? options->root : "";
    const struct heft_value *from = heft_value_below(c->model->values, root);
    const bool refuses = c->format->drop_option != NULL;
    struct left_out left = {0};

    if (!c->exports.keeps_tree && !leave_all_values(c, root, from, &left, err)) {
        heft_buf_release(&left.names);
        return false;
    }
    for (size_t i = 0; refuses && i < c->exports.n_metadata; i++)
        leave_out(&left, c->exports.metadata[i].key);
    if (refuses && left.n && !may_drop(c))
        return refuse_values(c, &left, err);
    for (size_t i = 0; !c->format->keeps_blobs && i < c->exports.n_blobs; i++)
        leave_out(&left, c->exports.blobs[i].name);
    return note_told(c, err) && note_differing(c, options, err) && note_transposed(c, err) &&
           note_left(c, options->strict, err) && note_wanted(c, options->strict, err) &&
           note_names(c, &left, "left out, not tensors", err) &&
           (!refuses || note_bookkeeping(c, from, err)) && note_orders(c, err);
}

bool heft_plan_leave_metadata(struct heft_plan *plan, const struct heft_export_list *exports,
                              const char *what, struct heft_error *err)
{
    struct left_out left = {0};
    const char *names;

    if (exports->n_metadata == 0 || exports->n_shards > 1)
        return true;
    for (size_t i = 0; i < exports->n_metadata; i++)
        leave_out(&left, exports->metadata[i].key);
    return take_names(&left, plan->mem, &names, err) &&
           heft_plan_note(
               plan,
               heft_arena_printf(plan->mem, err, "left out, %s have no metadata: %s", what, names),
               err);
}
