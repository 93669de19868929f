/* left_out.c: what a conversion leaves out because it is no tensor: values, blobs, metadata. Most
 * formats leave it with a note; one without any place for it is not to lose it in silence. */
#include "core/convert.h"

#define NAMES_SHOWN 8

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

/* The names as text; the list is used up. */
static bool take_names(struct left_out *left, struct heft_arena *mem, const char **out,
                       struct heft_error *err)
{
    struct heft_str text;

    if (left->n > NAMES_SHOWN)
        heft_buf_printf(&left->names, " and %u more", left->n - NAMES_SHOWN);
    if (!heft_buf_take(&left->names, mem, &text, err))
        return false;
    *out = text.p;
    return true;
}

/* "left out, not tensors: epoch, args"; nothing where there are none. */
static bool note_names(struct heft_conversion *c, struct left_out *left, const char *what,
                       struct heft_error *err)
{
    const char *names;

    return take_names(left, &c->mem, &names, err) &&
           (left->n == 0 ||
            heft_conversion_note(c, heft_arena_printf(&c->mem, err, "%s: %s", what, names), err));
}

/* Bookkeeping that every state dict brings: module versions, alone in dicts or not. */
static bool is_bookkeeping(const struct heft_value *value)
{
    const struct heft_value *child = value->first_child;

    return strcmp(value->key, "_metadata") == 0 ||
           (value->kind == HEFT_VALUE_DICT && child && !child->next_sibling &&
            strcmp(child->key, "_metadata") == 0);
}

static bool refuse(struct heft_conversion *c, struct left_out *left, struct heft_error *err)
{
    const char *names;

    if (!take_names(left, &c->mem, &names, err))
        return false;
    return heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
                     "%s has no place for what is no tensor: %s; --drop-metadata leaves it out",
                     c->format->name, names);
}

/* What every target states anew, and this one does not state at all. */
static bool note_bookkeeping(struct heft_conversion *c, const struct heft_value *from,
                             struct heft_error *err)
{
    static const char *const keys[] = {"format", "total_size"};
    struct left_out left = {0};
    bool has_versions = false;

    for (size_t i = 0; i < c->model->n_metadata; i++)
        for (size_t k = 0; k < HEFT_COUNT(keys); k++)
            if (heft_str_is(c->model->metadata[i].key, keys[k]))
                leave_out(&left, c->model->metadata[i].key);
    for (const struct heft_value *v = from ? from->first_child : NULL; v; v = v->next_sibling)
        has_versions = has_versions || is_bookkeeping(v);
    if (has_versions)
        leave_out(&left, HEFT_STR("_metadata"));
    return note_names(c, &left, "left out, bookkeeping", err);
}

/* A program refuses weights that lie in another order than its own. */
static bool note_orders(struct heft_conversion *c, struct heft_error *err)
{
    struct left_out left = {0};

    for (size_t i = 0; !c->format->keeps_strides && i < c->cargo.n_items; i++)
        if (c->cargo.items[i].row->order)
            leave_out(&left, c->cargo.items[i].name);
    return note_names(c, &left, "made row-major, dim_order is lost (torch would keep it)", err);
}

/* Bytes that may have been meant for tensors. */
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
        if (!heft_conversion_note(c,
                                  heft_arena_printf(&c->mem, err, "%s: offset 0x%" PRIx64 ": %s",
                                                    path, note->offset, note->text),
                                  err))
            return false;
    }
    return true;
}

/* What the reader says of the tensors it hands out; a copy of the same format needs none of it. */
static bool note_told(struct heft_conversion *c, struct heft_error *err)
{
    for (size_t i = 0; i < c->model->n_notes && !c->format->plan_set; i++)
        if (c->model->notes[i].is_told && !heft_conversion_note(c, c->model->notes[i].text, err))
            return false;
    return true;
}

static bool is_kernel(const struct heft_item *item)
{
    return (heft_str_ends(item->from, "/kernel") || heft_str_ends(item->from, ".kernel")) &&
           heft_str_ends(item->name, "weight") && item->row->rank > 1;
}

/* A square kernel of TensorFlow loads into torch's Linear without an error, and is transposed. */
static bool note_kernels(struct heft_conversion *c, struct heft_error *err)
{
    struct left_out left = {0};

    for (size_t i = 0; i < c->cargo.n_items; i++)
        if (is_kernel(&c->cargo.items[i]))
            leave_out(&left, c->cargo.items[i].name);
    return note_names(c, &left,
                      "renamed, not transposed: kernels of TensorFlow are [in, out], weights of "
                      "torch [out, in]",
                      err);
}

bool heft_conversion_leave_values(struct heft_conversion *c,
                                  const struct heft_convert_options *options,
                                  struct heft_error *err)
{
    const char *root = options->root ? options->root : "";
    const struct heft_value *from = heft_value_below(c->model->values, root);
    const bool refuses = c->format->refuses_values;
    struct left_out left = {0};

    for (const struct heft_value *v = from ? from->first_child : NULL; v; v = v->next_sibling)
        if (!is_bookkeeping(v))
            leave_out(&left, (struct heft_str){v->key, v->key_len});
    for (size_t i = 0; refuses && i < c->cargo.n_metadata; i++)
        leave_out(&left, c->cargo.metadata[i].key);
    if (refuses && left.n && !options->drop_metadata)
        return refuse(c, &left, err);
    for (size_t i = 0; !c->format->keeps_blobs && i < c->cargo.n_blobs; i++)
        leave_out(&left, c->cargo.blobs[i].name);
    return note_told(c, err) && note_kernels(c, err) && note_left(c, options->strict, err) &&
           note_names(c, &left, "left out, not tensors", err) &&
           (!refuses || note_bookkeeping(c, from, err)) && note_orders(c, err);
}

bool heft_plan_leave_metadata(struct heft_plan *plan, const struct heft_cargo *cargo,
                              const char *what, struct heft_error *err)
{
    struct left_out left = {0};
    const char *names;

    if (cargo->n_metadata == 0 || cargo->n_shards > 1)
        return true;
    for (size_t i = 0; i < cargo->n_metadata; i++)
        leave_out(&left, cargo->metadata[i].key);
    return take_names(&left, plan->mem, &names, err) &&
           heft_plan_note(
               plan,
               heft_arena_printf(plan->mem, err, "left out, %s have no metadata: %s", what, names),
               err);
}
