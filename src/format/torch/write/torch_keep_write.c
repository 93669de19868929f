/* torch_keep_write.c: writes a graph as a pickle, in the order in which CPython's pickler visits
 * objects. A value is written where it is first met and fetched from the memo afterwards, so
 * identity is preserved. The protocol is that of the source, at least 2.
 *
 *     tuple      items  \x85 \x86 \x87, or ( items t     in a cycle: popped and fetched from the memo
 *     list       ] memo  ( items e …                     [state b]
 *     dict       } memo  ( pairs u …                     [state b]
 *     CALL       callee args R, \x81, \x92 or o, memo    items, state b
 *     PERSID     ( "storage" class key location n t Q    keys number the storages of the new file
 *
 * Iterative, with a stack of the values being written. Each node is written once, except cycles
 * through tuples and calls, which CPython also writes twice; their number is limited. */
#include "format/torch/write/torch_keep.h"

#define MOST_AGAIN (UINT32_C(1) << 16) /* most values met again inside themselves */

struct level {
    uint32_t node;
    uint32_t step; /* progress in writing this value */
    struct heft_pickle_iter iter;
    uint32_t i, n; /* items written so far, and their number */
    const struct heft_keep_change *change;
    uint32_t at; /* position among all pairs, including excluded ones */
};

struct writer {
    struct heft_keep *k;
    struct heft_torch *t;
    struct heft_pickler p;
    uint32_t *memo; /* memo index of each node, or HEFT_NO_MEMO */
    uint8_t *open;  /* for each node: it is on the stack */
    struct level *levels;
    size_t n_levels, cap_levels;
    uint32_t n_again, n_turns;
    bool by_stack; /* names of globals are values on the stack (protocol 4) */
    struct heft_error *err;
};

static void keep_in_memo(struct writer *w, uint32_t node)
{
    w->memo[node] = heft_pickler_keep(&w->p);
}

/* ---- values without children -------------------------------------------------------------- */

/* Writes `shorter` with a one-byte length, or `longer` with four bytes. */
static void put_sized(struct writer *w, uint32_t node, int shorter, int longer)
{
    const struct heft_str text = heft_pickle_text(&w->t->pickle, node);

    if (shorter && text.n < 256) {
        heft_pickler_op(&w->p, shorter);
        heft_pickler_op(&w->p, (int)text.n);
    } else {
        heft_pickler_op(&w->p, longer);
        heft_pickler_le32(&w->p, (uint32_t)text.n);
    }
    heft_buf_str(&w->p.buf, text);
}

static void put_bytearray(struct writer *w, uint32_t node)
{
    const struct heft_str bytes = heft_pickle_text(&w->t->pickle, node);

    heft_pickler_op(&w->p, 0x96);
    heft_pickler_le32(&w->p, (uint32_t)bytes.n);
    heft_pickler_le32(&w->p, 0);
    heft_buf_str(&w->p.buf, bytes);
}

static void put_global(struct writer *w, uint32_t node)
{
    const struct heft_str module =
        heft_pickle_text(&w->t->pickle, heft_torch_node(w->t, node)->module);
    const struct heft_str name = heft_pickle_text(&w->t->pickle, node);

    if (w->by_stack) {
        heft_pickler_text(&w->p, module);
        heft_pickler_text(&w->p, name);
        heft_pickler_op(&w->p, 0x93);
    } else {
        heft_pickler_op(&w->p, 'c');
        heft_buf_str(&w->p.buf, module);
        heft_pickler_op(&w->p, '\n');
        heft_buf_str(&w->p.buf, name);
        heft_pickler_op(&w->p, '\n');
    }
    keep_in_memo(w, node);
}

/* Writes a value without children; false if it has any. */
static bool put_leaf(struct writer *w, uint32_t node)
{
    const struct heft_pickle_node *n = heft_torch_node(w->t, node);

    switch ((enum heft_pickle_kind)n->kind) {
    case HEFT_PICKLE_NONE:
        heft_pickler_op(&w->p, 'N');
        return true;
    case HEFT_PICKLE_BOOL:
        heft_pickler_op(&w->p, n->u.integer ? 0x88 : 0x89);
        return true;
    case HEFT_PICKLE_INT:
        heft_pickler_int(&w->p, n->u.integer);
        return true;
    case HEFT_PICKLE_BIGINT:
        put_sized(w, node, 0x8a, 0x8b);
        return true;
    case HEFT_PICKLE_FLOAT:
        heft_pickler_float(&w->p, n->u.number);
        return true;
    case HEFT_PICKLE_STR:
        put_sized(w, node, 0, 'X');
        break;
    case HEFT_PICKLE_PY2STR:
        put_sized(w, node, 'U', 'T');
        break;
    case HEFT_PICKLE_BYTES:
        put_sized(w, node, 'C', 'B');
        break;
    case HEFT_PICKLE_BYTEARRAY:
        put_bytearray(w, node);
        break;
    case HEFT_PICKLE_GLOBAL:
        put_global(w, node);
        return true;
    case HEFT_PICKLE_TUPLE:
        if (n->first != HEFT_PICKLE_NIL)
            return false;
        heft_pickler_op(&w->p, ')');
        return true;
    default:
        return false;
    }
    keep_in_memo(w, node);
    return true;
}

/* ---- storages ---------------------------------------------------------------------------- */

static void put_node_or(struct writer *w, uint32_t node, struct heft_str text, uint32_t *memo)
{
    if (node == HEFT_PICKLE_NIL || !heft_torch_is_text(w->t, node))
        heft_pickler_word(&w->p, text, memo);
    else if (w->memo[node] != HEFT_NO_MEMO)
        heft_pickler_again(&w->p, w->memo[node]);
    else
        (void)put_leaf(w, node);
}

/* Writes the class of a storage. torch does not load untyped storages from a stream; there the
 * class is that of a byte storage, which torch loads as untyped. */
static void put_class(struct writer *w, uint32_t node, const struct heft_torch_global *type)
{
    uint32_t own = HEFT_NO_MEMO;

    if (type->kind == HEFT_TORCH_UNTYPED && w->p.style == HEFT_TORCH_STREAM) {
        heft_pickler_class(&w->p, HEFT_U8);
    } else if (node != HEFT_PICKLE_NIL && heft_torch_is(w->t, node, HEFT_PICKLE_GLOBAL)) {
        if (w->memo[node] != HEFT_NO_MEMO)
            heft_pickler_again(&w->p, w->memo[node]);
        else
            put_global(w, node);
    } else if (type->kind == HEFT_TORCH_UNTYPED) {
        heft_pickler_callee(&w->p, HEFT_CALLEE_UNTYPED);
    } else if (type->dtype != HEFT_DTYPE_COUNT) {
        heft_pickler_class(&w->p, (enum heft_dtype)type->dtype);
    } else {
        heft_pickler_global(&w->p, "torch", type->name, &own);
    }
}

/* The storage that a node denotes. */
static bool storage_of(struct writer *w, uint32_t node, const struct heft_torch_storage **out)
{
    const struct heft_torch_nested *nested;
    uint32_t number;

    if (heft_torch_is(w->t, node, HEFT_PICKLE_PERSID)) {
        number = w->t->meanings[node];
    } else {
        if (!heft_torch_load_bytes(w->t, node, &nested, w->err))
            return false;
        number = nested->storage;
    }
    *out = &w->t->storages[number];
    return true;
}

/* The number of a piece: pieces are numbered when the pickle first refers to them. */
static uint32_t turn_of(struct writer *w, uint32_t piece)
{
    uint32_t *turn = &w->k->out->turn[piece];

    if (*turn == HEFT_NONE)
        *turn = w->n_turns++;
    return *turn;
}

/* Writes the storage id, with its own texts and class if the source has the same kind of id. */
static bool put_storage(struct writer *w, const struct heft_keep_view *view)
{
    const uint32_t piece = w->k->out->piece_of[view->item];
    const struct heft_torch_storage *storage;
    uint32_t id = HEFT_PICKLE_NIL;

    if (!storage_of(w, view->id, &storage))
        return false;
    if (heft_torch_is(w->t, view->id, HEFT_PICKLE_PERSID))
        id = heft_torch_node(w->t, view->id)->u.call.args;
    if (!heft_torch_is(w->t, id, HEFT_PICKLE_TUPLE) || heft_torch_count(w->t, id) < 5)
        id = HEFT_PICKLE_NIL;
    heft_pickler_op(&w->p, '(');
    put_node_or(w, heft_torch_item(w->t, id, 0), HEFT_STR("storage"),
                &w->p.words[HEFT_WORD_STORAGE]);
    put_class(w, heft_torch_item(w->t, id, 1), storage->type);
    heft_pickler_key(&w->p, turn_of(w, piece));
    put_node_or(w, heft_torch_item(w->t, id, 3), HEFT_STR("cpu"), &w->p.words[HEFT_WORD_CPU]);
    heft_pickler_unsigned(&w->p, heft_torch_bytes(&w->k->out->pieces[piece]) /
                                     heft_torch_element_bytes(storage->type));
    if (w->p.style == HEFT_TORCH_STREAM)
        heft_pickler_op(&w->p, 'N');
    heft_pickler_op(&w->p, 't');
    (void)heft_pickler_keep(&w->p);
    heft_pickler_op(&w->p, 'Q');
    return true;
}

static struct heft_str location_of(const struct heft_torch *t, uint32_t id)
{
    const uint32_t args = heft_torch_is(t, id, HEFT_PICKLE_PERSID)
                              ? heft_torch_node(t, id)->u.call.args
                              : HEFT_PICKLE_NIL;
    const uint32_t at = heft_torch_is(t, args, HEFT_PICKLE_TUPLE) && heft_torch_count(t, args) >= 5
                            ? heft_torch_item(t, args, 3)
                            : HEFT_PICKLE_NIL;

    return at != HEFT_PICKLE_NIL && heft_torch_is_text(t, at) ? heft_pickle_text(&t->pickle, at)
                                                              : HEFT_STR("cpu");
}

/* Writes a view that is not a copied call, at once. */
static bool put_view(struct writer *w, uint32_t node, const struct heft_keep_view *view)
{
    const struct heft_torch_out *out = w->k->out;

    if (view->how == HEFT_KEEP_BARE)
        return put_storage(w, view); /* persistent ids are never memoised */
    heft_pickler_tensor(&w->p, &out->items[view->item], turn_of(w, out->piece_of[view->item]),
                        out->piece_of[view->item], location_of(w->t, view->id),
                        view->requires_grad);
    w->memo[node] = w->p.n_memo - 1;
    return true;
}

/* ---- the stack of open values ------------------------------------------------------------ */

static const struct heft_keep_view *view_at(const struct writer *w, uint32_t node)
{
    const uint32_t found = heft_u32map_get(&w->k->view_of, node);

    return found == HEFT_MAP_NONE ? NULL : &w->k->views[found];
}

/* Writes a value that is met, or pushes it. */
static bool put_value(struct writer *w, uint32_t node)
{
    const struct heft_keep_view *view;
    struct level level = {.node = node};

    if (w->memo[node] != HEFT_NO_MEMO) {
        heft_pickler_again(&w->p, w->memo[node]);
        return true;
    }
    if (put_leaf(w, node))
        return true;
    view = view_at(w, node);
    if (view && view->how != HEFT_KEEP_COPIED)
        return put_view(w, node, view);
    if (w->open[node] && ++w->n_again > MOST_AGAIN)
        return heft_fail(w->err, HEFT_LIMIT, heft_torch_where(w->t, node),
                         "more than %u values contain themselves", MOST_AGAIN);
    if (!heft_grow(&w->levels, &w->cap_levels, w->n_levels, 1, sizeof level, w->err))
        return false;
    w->open[node] = 1;
    w->levels[w->n_levels++] = level;
    return true;
}

/* ---- items ------------------------------------------------------------------------------- */

static void begin_items(struct writer *w, struct level *l, bool pairs)
{
    l->iter = heft_pickle_items(&w->t->pickle, l->node);
    l->n = heft_torch_count(w->t, l->node);
    l->i = l->at = 0;
    l->change = pairs ? heft_keep_change_of(w->k, l->node) : NULL;
    if (pairs)
        l->n = l->change ? l->change->taken : l->n / 2;
}

/* Takes the key of the next kept pair; false at the end. */
static bool next_key(struct level *l, uint32_t *key)
{
    while (heft_pickle_next(&l->iter, key)) {
        uint32_t value;

        if (!l->change || l->change->what[l->at] != HEFT_LEAVE_PAIR)
            return true;
        l->at++;
        if (!heft_pickle_next(&l->iter, &value))
            return false;
    }
    return false;
}

/* Writes the next key or value; `last` was its other half. *done is set at the end. */
static bool step_pair(struct writer *w, struct level *l, enum heft_pickler_batch batch, bool *done)
{
    const bool is_value = l->step & 1;
    uint32_t node = HEFT_PICKLE_NIL;

    *done = false;
    l->step ^= 1;
    if (is_value) {
        const bool ok = heft_pickle_next(&l->iter, &node);

        l->at++;
        return ok && put_value(w, node);
    }
    if (l->i)
        heft_pickler_after_item(&w->p, l->i - 1, l->n, batch);
    if (!next_key(l, &node)) {
        l->step ^= 1;
        *done = true;
        return true;
    }
    heft_pickler_before_item(&w->p, l->i++, l->n, batch);
    if (!l->change || l->change->what[l->at] < HEFT_RENAME_PAIR)
        return put_value(w, node);
    heft_pickler_text(&w->p, w->k->keys[l->change->what[l->at] - HEFT_RENAME_PAIR]);
    return true;
}

static bool step_item(struct writer *w, struct level *l, enum heft_pickler_batch batch, bool *done)
{
    uint32_t node;

    *done = false;
    if (l->i)
        heft_pickler_after_item(&w->p, l->i - 1, l->n, batch);
    if (heft_pickle_next(&l->iter, &node)) {
        heft_pickler_before_item(&w->p, l->i++, l->n, batch);
        return put_value(w, node);
    }
    *done = true;
    return true;
}

/* ---- containers -------------------------------------------------------------------------- */

enum {
    BEGIN = 0,
    ITEMS = 2,
    STATE = 4,
    BUILD = 6,
    END = 8,
    CALLEE = 10,
    ARGS = 12,
    KWARGS = 14,
    CALLED = 16
}; /* even, because step_pair uses the lowest bit */

static void finish_level(struct writer *w, struct level *l)
{
    w->open[l->node] = 0;
    w->n_levels--;
}

/* Writes the state, then BUILD, then finishes. */
static bool step_state(struct writer *w, struct level *l)
{
    const uint32_t state = heft_torch_node(w->t, l->node)->state;

    if (l->step == STATE && state != HEFT_PICKLE_NIL) {
        l->step = BUILD;
        return put_value(w, state);
    }
    if (l->step == BUILD)
        heft_pickler_op(&w->p, 'b');
    finish_level(w, l);
    return true;
}

/* Lists, dicts and sets are memoised before their items. */
static bool step_container(struct writer *w, struct level *l, int code, bool pairs,
                           enum heft_pickler_batch batch)
{
    bool done, ok;

    if (l->step == BEGIN) {
        heft_pickler_op(&w->p, code);
        keep_in_memo(w, l->node);
        begin_items(w, l, pairs);
        l->step = ITEMS;
    }
    if ((l->step & ~1u) != ITEMS)
        return step_state(w, l);
    if (pairs && l->n == 0) {
        l->step = STATE;
        return true;
    }
    ok = pairs ? step_pair(w, l, batch, &done) : step_item(w, l, batch, &done);
    if (ok && done)
        w->levels[w->n_levels - 1].step = STATE;
    return ok;
}

/* The items of a set: ( … \x90, all at once. */
static bool step_set(struct writer *w, struct level *l)
{
    uint32_t node;

    if (l->step == BEGIN) {
        heft_pickler_op(&w->p, 0x8f);
        keep_in_memo(w, l->node);
        begin_items(w, l, false);
        l->step = ITEMS;
        if (l->n)
            heft_pickler_op(&w->p, '(');
    }
    if (l->step != ITEMS)
        return step_state(w, l);
    if (heft_pickle_next(&l->iter, &node))
        return put_value(w, node);
    if (l->n)
        heft_pickler_op(&w->p, 0x90);
    l->step = STATE;
    return true;
}

/* Handles a value that was memoised while its parts were written: pops the parts and fetches it. */
static void take_instead(struct writer *w, const struct level *l, bool has_mark)
{
    if (has_mark)
        heft_pickler_op(&w->p, '1');
    for (uint32_t i = 0; !has_mark && i < l->n; i++)
        heft_pickler_op(&w->p, '0');
    heft_pickler_again(&w->p, w->memo[l->node]);
}

/* Tuples and frozensets are memoised after their parts. */
static bool step_whole(struct writer *w, struct level *l, bool is_tuple)
{
    const bool has_mark = !is_tuple || l->n > 3;
    const struct heft_keep_view *view = is_tuple ? view_at(w, l->node) : NULL;
    uint32_t node;

    if (heft_pickle_next(&l->iter, &node)) {
        const uint32_t i = l->i++;

        if (view && i == 0)
            return put_storage(w, view);
        if (view && i == 1) {
            const struct heft_export_item *item = &w->k->out->items[view->item];

            heft_pickler_unsigned(
                &w->p,
                heft_torch_offset(&w->k->out->pieces[w->k->out->piece_of[view->item]], item));
            return true;
        }
        return put_value(w, node);
    }
    if (w->memo[l->node] != HEFT_NO_MEMO) {
        take_instead(w, l, has_mark);
    } else {
        heft_pickler_op(&w->p, !is_tuple ? 0x91 : l->n > 3 ? 't' : 0x84 + (int)l->n);
        keep_in_memo(w, l->node);
    }
    finish_level(w, l);
    return true;
}

static bool begin_whole(struct writer *w, struct level *l, bool is_tuple)
{
    begin_items(w, l, false);
    l->step = ITEMS;
    if (!is_tuple || l->n > 3)
        heft_pickler_op(&w->p, '(');
    return true;
}

/* ---- calls ------------------------------------------------------------------------------- */

/* True for ( class arguments … o, which protocols 0 and 1 use for instances. */
static bool is_old(const struct heft_pickle_node *n)
{
    return n->how == HEFT_PICKLE_INST || n->how == HEFT_PICKLE_OBJ;
}

static void put_call(struct writer *w, struct level *l)
{
    const struct heft_pickle_node *n = heft_torch_node(w->t, l->node);

    heft_pickler_op(&w->p, is_old(n)                      ? 'o'
                           : n->how == HEFT_PICKLE_REDUCE ? 'R'
                           : n->how == HEFT_PICKLE_NEWOBJ ? 0x81
                                                          : 0x92);
    if (w->memo[l->node] != HEFT_NO_MEMO) {
        heft_pickler_op(&w->p, '0');
        heft_pickler_again(&w->p, w->memo[l->node]);
        finish_level(w, l);
        return;
    }
    keep_in_memo(w, l->node);
    begin_items(w, l, n->pairs);
    l->step = ITEMS;
}

static bool step_arguments(struct writer *w, struct level *l)
{
    const struct heft_pickle_node *n = heft_torch_node(w->t, l->node);
    uint32_t node;

    if (!is_old(n)) {
        l->step = n->how == HEFT_PICKLE_NEWOBJ_EX ? KWARGS : CALLED;
        return put_value(w, n->u.call.args);
    }
    if (heft_pickle_next(&l->iter, &node))
        return put_value(w, node);
    l->step = CALLED;
    return true;
}

static bool step_call(struct writer *w, struct level *l)
{
    const struct heft_pickle_node *n = heft_torch_node(w->t, l->node);
    bool done, ok;

    switch (l->step & ~1u) {
    case BEGIN:
        if (is_old(n))
            heft_pickler_op(&w->p, '(');
        l->iter = heft_pickle_items(&w->t->pickle, n->u.call.args);
        l->step = ARGS;
        return put_value(w, n->u.call.callee);
    case ARGS:
        return step_arguments(w, l);
    case KWARGS:
        l->step = CALLED;
        return put_value(w, n->module);
    case CALLED:
        put_call(w, l);
        return true;
    case ITEMS:
        ok = l->n == 0  ? (done = true)
             : n->pairs ? step_pair(w, l, HEFT_BATCH_PAIRS, &done)
                        : step_item(w, l, HEFT_BATCH_ITEMS, &done);
        if (ok && done)
            w->levels[w->n_levels - 1].step = STATE;
        return ok;
    default:
        return step_state(w, l);
    }
}

/* ---- the whole pickle -------------------------------------------------------------------- */

static bool write_step(struct writer *w)
{
    struct level *l = &w->levels[w->n_levels - 1];
    const enum heft_pickle_kind kind = (enum heft_pickle_kind)heft_torch_node(w->t, l->node)->kind;

    switch (kind) {
    case HEFT_PICKLE_LIST:
        return step_container(w, l, ']', false, HEFT_BATCH_LIST);
    case HEFT_PICKLE_DICT:
        return step_container(w, l, '}', true, HEFT_BATCH_DICT);
    case HEFT_PICKLE_SET:
        return step_set(w, l);
    case HEFT_PICKLE_TUPLE:
    case HEFT_PICKLE_FROZENSET:
        return l->step == BEGIN ? begin_whole(w, l, kind == HEFT_PICKLE_TUPLE)
                                : step_whole(w, l, kind == HEFT_PICKLE_TUPLE);
    default:
        return step_call(w, l);
    }
}

static bool write_all(struct writer *w)
{
    const int protocol = w->t->pickle.protocol > 2 ? w->t->pickle.protocol : 2;

    w->by_stack = protocol >= 4;
    heft_pickler_op(&w->p, 0x80);
    heft_pickler_op(&w->p, protocol);
    if (!put_value(w, w->k->top))
        return false;
    while (w->n_levels)
        if (!write_step(w))
            return false;
    heft_pickler_op(&w->p, '.');
    return heft_buf_ok(&w->p.buf, w->err);
}

bool heft_keep_write(struct heft_keep *k, struct heft_torch *t, struct heft_error *err)
{
    const size_t n = t->pickle.count;
    struct writer w = {.k = k, .t = t, .err = err};
    bool ok = heft_pickler_init(&w.p, k->out, k->style, err);

    w.memo = ok ? heft_arena_alloc(&k->scratch, (n + 1) * sizeof *w.memo, err) : NULL;
    w.open = w.memo ? heft_arena_zero(&k->scratch, n + 1, 1, err) : NULL;
    ok = w.open != NULL;
    if (ok) {
        memset(w.memo, 0xff, n * sizeof *w.memo); /* every byte 0xff: HEFT_NO_MEMO */
        ok = write_all(&w);
    }
    if (ok) {
        k->out->pickle = w.p.buf;
        w.p.buf = (struct heft_buf){0};
    }
    heft_pickler_release(&w.p);
    heft_free(w.levels);
    return ok;
}
