/* numpy_texts.c: arrays of texts, as values: lists of lists, according to their shapes.
 *
 *     <U5   elements of 5 UTF-32 characters, padded with NULs
 *     |S5   elements of 5 bytes, padded with NULs
 *
 * They are read when the file is opened, and their size is limited: larger arrays are reported and
 * not read. */
#include "format/numpy/numpy_parts.h"

#include "base/endian.h"
#include "base/text.h"
#include "core/tree.h"

enum { MOST_BYTES = 32 << 20 }; /* bytes of all such arrays of a file */

struct texts {
    struct heft_model *model;
    const struct heft_npy *npy;
    const uint8_t *p;
    struct heft_node *lists[HEFT_NPY_RANK + 1]; /* the open lists, beginning with the dict */
    uint64_t index[HEFT_NPY_RANK];
    uint64_t step[HEFT_NPY_RANK]; /* elements per step of each dimension */
    struct heft_str key;
    struct heft_buf text;
    bool is_text; /* all elements are valid Unicode */
    struct heft_error *err;
};

/* ---- decoding elements ----------------------------------------------------------------------- */

static uint32_t character_at(const uint8_t *p, bool is_big)
{
    return is_big ? (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3]
                  : heft_le32(p);
}

static bool put_character(struct heft_buf *buf, uint32_t c)
{
    char bytes[4];

    if (c > 0x10FFFF || (c >= 0xD800 && c < 0xE000))
        return false;
    if (c < 0x80)
        heft_buf_char(buf, (char)c);
    else
        heft_buf_put(buf, bytes, heft_utf8_put(bytes, c));
    return true;
}

/* Takes the element's text without the padding. */
static bool take_element(struct texts *t, uint64_t number)
{
    const unsigned width = t->npy->type.kind == HEFT_NPY_TEXTS ? 4 : 1;
    const uint8_t *p = t->p + number * t->npy->type.each;
    uint64_t n = t->npy->type.each / width;

    t->text.n = 0;
    if (width == 1) {
        while (n > 0 && p[n - 1] == 0)
            n--;
        heft_buf_put(&t->text, p, (size_t)n);
        return heft_buf_ok(&t->text, t->err);
    }
    while (n > 0 && character_at(p + 4 * (n - 1), false) == 0)
        n--;
    for (uint64_t i = 0; i < n; i++)
        t->is_text =
            put_character(&t->text, character_at(p + 4 * i, t->npy->type.is_big)) && t->is_text;
    return heft_buf_ok(&t->text, t->err);
}

/* ---- building the nested lists --------------------------------------------------------------- */

static bool add_text(struct texts *t)
{
    uint64_t number = 0;

    for (unsigned i = 0; i < t->npy->rank; i++)
        number += t->index[i] * t->step[i];
    return take_element(t, number) &&
           heft_tree_text(&t->model->mem, t->lists[t->npy->rank], t->key,
                          (struct heft_str){t->text.p ? t->text.p : "", t->text.n}, t->err);
}

/* Opens lists for the dimensions from `from` on. */
static bool open_lists(struct texts *t, unsigned from)
{
    for (unsigned i = from; i < t->npy->rank; i++) {
        t->lists[i + 1] = heft_tree_list(&t->model->mem, t->lists[i], t->key, t->err);
        if (!t->lists[i + 1])
            return false;
    }
    return true;
}

/* Advances to the next index in row-major order; *from is the first dimension that needs a new
 * list. */
static bool advance_index(struct texts *t, unsigned *from)
{
    unsigned i = t->npy->rank;

    while (i > 0 && ++t->index[i - 1] == t->npy->shape[i - 1])
        t->index[--i] = 0;
    *from = i;
    return i > 0;
}

static bool add_texts(struct texts *t)
{
    unsigned from = 0;

    if (t->npy->count == 0)
        return heft_tree_list(&t->model->mem, t->lists[0], t->key, t->err) != NULL;
    do {
        if (!open_lists(t, from) || !add_text(t))
            return false;
    } while (t->is_text && advance_index(t, &from));
    return true;
}

static void set_steps(struct texts *t)
{
    const unsigned rank = t->npy->rank;
    uint64_t step = 1;

    for (unsigned i = 0; i < rank; i++) {
        const unsigned d = t->npy->is_fortran ? i : rank - 1 - i;

        t->step[d] = step;
        step *= t->npy->shape[d];
    }
}

/* Number of texts and of the lists above them, at most `most` + 1. */
static uint64_t nodes_of(const struct heft_npy *npy, uint64_t most)
{
    uint64_t all = 1, level = 1;

    for (unsigned i = 0; i < npy->rank && npy->count; i++) {
        level *= npy->shape[i]; /* no overflow: at most npy->count */
        all = heft_min_u64(all + heft_min_u64(level, most), most + 1);
    }
    return all;
}

/* ---- values of a model ----------------------------------------------------------------------- */

void heft_numpy_give_texts(struct heft_model *model, const struct heft_numpy_texts *all)
{
    if (all->root && all->root->last)
        model->values = &all->root->value;
}

/* Removes the nodes that were added to the root since. */
static void drop_since(struct heft_node *root, const struct heft_node *before)
{
    *root = *before;
    if (root->last)
        root->last->value.next_sibling = NULL;
}

bool heft_numpy_add_texts(struct heft_model *model, const struct heft_numpy_array *array,
                          struct heft_numpy_texts *all, const char **why, struct heft_error *err)
{
    const uint64_t most = heft_numpy_most_nodes(model), bytes = array->storage.len;
    const uint64_t nodes = nodes_of(&array->npy, most);
    struct texts t = {
        .model = model, .npy = &array->npy, .key = array->name, .is_text = true, .err = err};
    struct heft_arena mem = {0};
    struct heft_node before;
    struct heft_bytes data;
    bool ok;

    if (nodes > most - all->nodes || bytes > MOST_BYTES - all->bytes) {
        *why = "texts beyond what is read into memory: 200000 of them, 32 MiB";
        return true;
    }
    all->nodes += nodes;
    all->bytes += bytes;
    if (!all->root && !(all->root = heft_tree_dict(&model->mem, NULL, HEFT_STR(""), err)))
        return false;
    before = *all->root;
    t.lists[0] = all->root;
    set_steps(&t);
    ok = heft_numpy_fetch(model, array, &mem, &data, err);
    t.p = data.p;
    ok = ok && add_texts(&t);
    if (ok && !t.is_text) {
        *why = "texts that are not valid Unicode";
        drop_since(all->root, &before);
    }
    heft_buf_release(&t.text);
    heft_arena_release(&mem);
    return ok;
}
