/* gguf_values.c: the values of key-value pairs as trees. An array of more than MOST items is a long
 * list: the tree has its first items, and the others are read when they are asked for. */
#include "core/long_list.h"
#include "format/gguf/gguf_read.h"

enum { MOST = 64, SHOWN = 8 };

struct maker {
    const struct heft_model *model;
    struct heft_arena *mem;
    struct heft_gguf_cursor *cursor;
    struct heft_node *in;
    uint64_t *nodes; /* values that may still be added */
    uint32_t source;
    bool is_whole; /* long lists, too */
};

static bool count_node(struct maker *m, struct heft_error *err)
{
    if (*m->nodes == 0)
        return heft_fail(err, HEFT_LIMIT, m->cursor->at,
                         "more than %" PRIu64 " values: limits.nodes",
                         heft_limit_nodes(&m->model->limits, m->model->file_bytes));
    --*m->nodes;
    return true;
}

static bool add_string(struct maker *m, struct heft_str key, struct heft_error *err)
{
    struct heft_buf text = {0};
    uint64_t length;
    bool ok = heft_gguf_take_length(m->cursor, &length, "string", err);

    if (ok && length > 0) {
        if (heft_buf_room(&text, (size_t)length)) {
            ok = heft_gguf_copy(m->cursor, text.p, (size_t)length, "string", err);
            text.n = (size_t)length;
        } else {
            ok = heft_buf_ok(&text, err);
        }
    }
    ok = ok &&
         heft_tree_text(m->mem, m->in, key, (struct heft_str){text.n ? text.p : "", text.n}, err);
    heft_buf_release(&text);
    return ok;
}

/* Reads the two's complement number in the lowest `bytes` of `bits`. */
static int64_t signed_of(uint64_t bits, unsigned bytes)
{
    int64_t out;

    if (bytes < 8 && bits >> (8 * bytes - 1))
        bits |= UINT64_MAX << (8 * bytes);
    memcpy(&out, &bits, sizeof out);
    return out;
}

static double real_of(uint64_t bits, uint32_t type)
{
    const uint32_t narrow = (uint32_t)bits;
    float single;
    double number;

    if (type == HEFT_GGUF_F64) {
        memcpy(&number, &bits, sizeof number);
        return number;
    }
    memcpy(&single, &narrow, sizeof single);
    return (double)single;
}

static bool add_scalar(struct maker *m, struct heft_str key, uint32_t type, struct heft_error *err)
{
    const unsigned bytes = heft_gguf_types[type].bytes;
    const uint8_t *p;
    uint64_t bits;

    if (!count_node(m, err))
        return false;
    if (type == HEFT_GGUF_STRING)
        return add_string(m, key, err);
    p = heft_gguf_take(m->cursor, bytes, "value", err);
    if (!p)
        return false;
    bits = heft_gguf_bits(p, bytes, m->cursor->is_big_endian);
    switch (type) {
    case HEFT_GGUF_BOOL:
        return heft_tree_bool(m->mem, m->in, key, bits != 0, err);
    case HEFT_GGUF_F32:
    case HEFT_GGUF_F64:
        return heft_tree_real(m->mem, m->in, key, real_of(bits, type), err);
    case HEFT_GGUF_I8:
    case HEFT_GGUF_I16:
    case HEFT_GGUF_I32:
    case HEFT_GGUF_I64:
        return heft_tree_number(m->mem, m->in, key, signed_of(bits, bytes), err);
    default:
        return heft_tree_unsigned(m->mem, m->in, key, bits, err);
    }
}

/* ---- arrays ----------------------------------------------------------------------------------- */

static heft_long_list_fn read_whole;

/* A list that is being filled. */
struct level {
    struct heft_node *list;
    uint32_t type;
    uint64_t left; /* items that are still to be added … */
    uint64_t rest; /* … and those after them, which are skipped */
};

/* Adds the list of an array whose type and count were read. */
static bool begin_list(struct maker *m, struct heft_str key, uint32_t type, uint64_t count,
                       struct level *out, struct heft_error *err)
{
    const bool is_long = count > MOST && !m->is_whole;
    struct heft_long_list *const list =
        count_node(m, err) ? heft_long_list_add(m->mem, m->in, key, err) : NULL;

    if (!list)
        return false;
    *out = (struct level){.list = &list->node, .type = type, .left = is_long ? SHOWN : count};
    out->rest = count - out->left;
    list->read = read_whole;
    list->source = m->source;
    list->type = type;
    list->at = m->cursor->at;
    list->count = count;
    list->node.value.more = out->rest;
    return true;
}

/* Skips items of a long list. If it is the outermost one, its end is known. */
static bool skip_rest(struct maker *m, struct level *level, bool is_last, struct heft_error *err)
{
    for (; level->rest > 0 && !is_last; level->rest--)
        if (!heft_gguf_skip_value(m->cursor, level->type, NULL, err))
            return false;
    return true;
}

/* Fills lists, the innermost first; the stack has a level for each array that is open. */
static bool fill_lists(struct maker *m, struct level *stack, struct heft_error *err)
{
    unsigned depth = 1;

    while (depth > 0) {
        struct level *const level = &stack[depth - 1];
        uint32_t type;
        uint64_t count;

        m->in = level->list;
        if (level->left == 0) {
            if (!skip_rest(m, level, depth == 1, err))
                return false;
            depth--;
            continue;
        }
        level->left--;
        if (level->type != HEFT_GGUF_ARRAY) {
            if (!add_scalar(m, HEFT_STR(""), level->type, err))
                return false;
        } else if (depth == HEFT_GGUF_DEPTH) {
            return heft_fail(err, HEFT_LIMIT, m->cursor->at,
                             "arrays are nested deeper than %d levels", HEFT_GGUF_DEPTH);
        } else if (!heft_gguf_take_array(m->cursor, &type, &count, err) ||
                   !begin_list(m, HEFT_STR(""), type, count, &stack[depth], err)) {
            return false;
        } else {
            depth++;
        }
    }
    return true;
}

static bool add_array(struct maker *m, struct heft_str key, struct heft_error *err)
{
    struct level stack[HEFT_GGUF_DEPTH];
    uint64_t count;
    uint32_t type;

    return heft_gguf_take_array(m->cursor, &type, &count, err) &&
           begin_list(m, key, type, count, &stack[0], err) && fill_lists(m, stack, err);
}

bool heft_gguf_add_value(struct heft_gguf_reader *r, struct heft_str key, uint32_t type,
                         struct heft_error *err)
{
    struct maker m = {.model = r->model,
                      .mem = &r->model->mem,
                      .cursor = &r->cursor,
                      .in = r->values,
                      .nodes = &r->nodes,
                      .source = r->file->source};

    return type == HEFT_GGUF_ARRAY ? add_array(&m, key, err) : add_scalar(&m, key, type, err);
}

/* ---- whole lists ------------------------------------------------------------------------------ */

static bool make_whole(struct maker *m, const struct heft_long_list *list,
                       const struct heft_value **out, struct heft_error *err)
{
    struct level stack[HEFT_GGUF_DEPTH];
    const struct heft_str key = {list->node.value.key, list->node.value.key_len};

    m->in = heft_tree_dict(m->mem, NULL, HEFT_STR(""), err);
    if (!m->in || !begin_list(m, key, list->type, list->count, &stack[0], err))
        return false;
    *out = &stack[0].list->value;
    return fill_lists(m, stack, err);
}

static bool read_whole(const struct heft_model *model, const struct heft_long_list *list,
                       struct heft_arena *mem, const struct heft_value **out,
                       struct heft_error *err)
{
    const struct heft_gguf_file *const file = heft_gguf_file_at(model, list->source);
    uint64_t nodes = heft_limit_nodes(&model->limits, model->file_bytes);
    uint8_t *const window = heft_alloc(HEFT_GGUF_WINDOW, err);
    struct heft_gguf_cursor cursor;
    struct maker m = {.model = model,
                      .mem = mem,
                      .cursor = &cursor,
                      .nodes = &nodes,
                      .source = list->source,
                      .is_whole = true};
    bool ok;

    if (!window)
        return false;
    heft_gguf_cursor_init(&cursor, &model->sources[list->source].source, window, list->at,
                          file->version, file->is_big_endian);
    ok = make_whole(&m, list, out, err) || heft_error_file(err, model->sources[list->source].path);
    heft_free(window);
    return ok;
}
