/* note_ties.c: notes of a conversion about tied names: both names of each, up to TIES_SHOWN. */
#include "core/convert.h"

#define TIES_SHOWN 8

struct list {
    struct heft_buf text;
    size_t n;
};

static void add_tie(struct list *list, struct heft_str dropped, struct heft_str kept)
{
    if (list->n++ >= TIES_SHOWN)
        return;
    heft_buf_text(&list->text, list->n > 1 ? ", " : "");
    heft_buf_str(&list->text, dropped);
    heft_buf_text(&list->text, " = ");
    heft_buf_str(&list->text, kept);
}

/* Adds the note "2 tied names dropped: a = b, c = b", if the list is not empty. Releases the
 * list. */
static bool note_list(struct heft_conversion *c, struct list *list, const char *one,
                      const char *many, struct heft_error *err)
{
    struct heft_str text;

    if (list->n > TIES_SHOWN)
        heft_buf_printf(&list->text, " and %zu more", list->n - TIES_SHOWN);
    if (!heft_buf_take(&list->text, &c->mem, &text, err))
        return false;
    return list->n == 0 || heft_plan_note(&c->plan,
                                          heft_arena_printf(&c->mem, err, "%zu %s: %s", list->n,
                                                            list->n == 1 ? one : many, text.p),
                                          err);
}

static bool note_dropped(struct heft_conversion *c, bool is_recorded, struct heft_error *err)
{
    struct list list = {0};

    for (size_t i = 0; i < c->exports.n_tied; i++)
        if (c->exports.tied[i].is_recorded == is_recorded)
            add_tie(&list, c->exports.tied[i].dropped, c->exports.tied[i].kept);
    if (is_recorded)
        return note_list(c, &list, "tied name dropped and recorded in the metadata",
                         "tied names dropped and recorded in the metadata", err);
    return note_list(c, &list, "tied name dropped, its key in the metadata is taken",
                     "tied names dropped, their keys in the metadata are taken", err);
}

/* Notes ties that were restored from metadata. The record has no shape: the restored tensor has
 * that of the kept one. Rules files say themselves what becomes of ties. */
static bool note_returned(struct heft_conversion *c, struct heft_error *err)
{
    struct list list = {0};

    for (size_t i = 0; i < c->exports.n_items && !c->unruled; i++)
        if (c->exports.items[i].is_apart)
            add_tie(&list, c->exports.items[i].from, c->exports.items[i].row->name);
    return note_list(c, &list, "tied name comes back, as the metadata records it",
                     "tied names come back, as the metadata records them", err);
}

/* Notes entries that may record a tie; they are kept if the metadata is. */
static bool note_doubts(struct heft_conversion *c, struct heft_error *err)
{
    struct list list = {0};

    for (size_t i = 0; !c->format->no_ties && i < c->model->n_doubts; i++)
        add_tie(&list, c->model->doubts[i].key, c->model->doubts[i].value);
    return note_list(c, &list,
                     "entry of the metadata may record a dropped tensor, of a shape that is not "
                     "known; none is made of it",
                     "entries of the metadata may record dropped tensors, of shapes that are not "
                     "known; none are made of them",
                     err);
}

bool heft_conversion_note_ties(struct heft_conversion *c, struct heft_error *err)
{
    return note_dropped(c, true, err) && note_dropped(c, false, err) && note_returned(c, err) &&
           note_doubts(c, err);
}
