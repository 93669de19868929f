/* gguf_transcode.c: copies a key-value pair of any version and byte order as one of version 3,
 * little-endian. The reader has checked the pair. */
#include "base/endian.h"
#include "format/gguf/gguf_write.h"

struct level {
    uint32_t type;
    uint64_t left; /* values that follow */
};

struct transcoding {
    struct heft_buf *out;
    struct heft_gguf_cursor from;
    struct level levels[HEFT_GGUF_DEPTH + 1];
    unsigned n_levels;
};

static void put_le(struct heft_buf *out, uint64_t v, unsigned bytes)
{
    uint8_t le[8];

    heft_put_le64(le, v);
    heft_buf_put(out, le, bytes);
}

/* Numbers of one type, as many as fit in the window. */
static bool put_numbers(struct transcoding *t, struct level *level, struct heft_error *err)
{
    const unsigned bytes = heft_gguf_types[level->type].bytes;
    const size_t n = heft_min_size(HEFT_GGUF_WINDOW / bytes, level->left);
    const uint8_t *const p = heft_gguf_take(&t->from, n * bytes, "a value", err);

    for (size_t i = 0; p && i < n; i++)
        put_le(t->out, heft_gguf_bits(p + i * bytes, bytes, t->from.is_big_endian), bytes);
    level->left -= n;
    return p != NULL;
}

static bool put_bytes(struct transcoding *t, uint64_t n, struct heft_error *err)
{
    while (n > 0 && !t->out->failed) {
        const size_t piece = heft_min_size(HEFT_GGUF_WINDOW, n);
        const uint8_t *const p = heft_gguf_take(&t->from, piece, "a string", err);

        if (!p)
            return false;
        heft_buf_put(t->out, p, piece);
        n -= piece;
    }
    return true;
}

static bool put_string(struct transcoding *t, struct level *level, struct heft_error *err)
{
    uint64_t n;

    if (!heft_gguf_take_size(&t->from, &n, "a string", err))
        return false;
    level->left--;
    put_le(t->out, n, 8);
    return put_bytes(t, n, err);
}

static bool begin_array(struct transcoding *t, struct level *level, struct heft_error *err)
{
    struct level items;

    level->left--;
    if (!heft_gguf_take_u32(&t->from, &items.type, "an array", err) ||
        !heft_gguf_take_size(&t->from, &items.left, "an array", err))
        return false;
    if (t->n_levels > HEFT_GGUF_DEPTH || items.type >= HEFT_GGUF_TYPES)
        return heft_fail(err, HEFT_MALFORMED, t->from.at, "the file changed while it was read");
    put_le(t->out, items.type, 4);
    put_le(t->out, items.left, 8);
    t->levels[t->n_levels++] = items;
    return true;
}

static bool put_values(struct transcoding *t, struct heft_error *err)
{
    bool ok = true;

    while (ok && t->n_levels > 0 && !t->out->failed) {
        struct level *const top = &t->levels[t->n_levels - 1];

        if (top->left == 0)
            t->n_levels--;
        else if (top->type == HEFT_GGUF_ARRAY)
            ok = begin_array(t, top, err);
        else if (top->type == HEFT_GGUF_STRING)
            ok = put_string(t, top, err);
        else
            ok = put_numbers(t, top, err);
    }
    return ok;
}

bool heft_gguf_put_pair(struct heft_buf *out, const struct heft_model *model,
                        const struct heft_gguf_file *file, const struct heft_gguf_pair *pair,
                        struct heft_error *err)
{
    struct transcoding t = {.out = out, .levels = {{pair->type, 1}}, .n_levels = 1};
    uint8_t *const window = heft_alloc(HEFT_GGUF_WINDOW, err);
    bool ok = window != NULL;

    if (ok) {
        heft_gguf_cursor_init(&t.from, &model->sources[file->source].source, window, pair->value,
                              file->version, file->is_big_endian);
        put_le(out, pair->key.n, 8);
        heft_buf_str(out, pair->key);
        put_le(out, pair->type, 4);
        ok = (put_values(&t, err) || heft_error_file(err, model->sources[file->source].path)) &&
             heft_buf_ok(out, err);
    }
    heft_free(window);
    return ok;
}
