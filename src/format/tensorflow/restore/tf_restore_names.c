/* tf_restore_names.c: the inputs of a restore op: names, and slices of them.
 *
 *     tensor_names       TensorProto of strings: "w", "w", "b"
 *     shape_and_slices   the same: "7 3 0,4:0,3", "7 3 4,3:0,3", ""
 *
 * A tensor with fewer values than elements repeats the last one; without values all are empty. */
#include "format/tensorflow/restore/tf_restore.h"

enum { TENSOR_DTYPE = 1, TENSOR_SHAPE = 2, TENSOR_CONTENT = 4, TENSOR_STRING = 8 };
enum { DT_STRING = 7 };
#define MOST_CONTENT (UINT64_C(64) << 20)

/* ---- string tensors ---- */

struct strings {
    struct heft_proto *p;
    struct heft_arena *mem;
    struct heft_tf_strings *out;
    uint32_t most;
    uint64_t values; /* count in string_val */
    struct heft_str content;
    uint64_t content_at;
    struct heft_tf_shape shape;
    size_t cap;
    bool is_other;
};

static bool keep_string(struct strings *s)
{
    struct heft_tf_strings *const out = s->out;
    struct heft_str *list;

    if (s->values++ >= s->most)
        return true;
    if (out->n == s->cap) {
        list = heft_arena_widen(s->mem, out->list, s->cap * sizeof *list,
                                (s->cap ? 2 * s->cap : 4) * sizeof *list, s->p->err);
        if (!list)
            return false;
        out->list = list;
        s->cap = s->cap ? 2 * s->cap : 4;
    }
    return heft_tf_text(s->p, s->mem, &out->list[out->n++]);
}

static bool read_field(struct strings *s, uint32_t number)
{
    switch (number) {
    case TENSOR_DTYPE:
        s->is_other = s->p->u64 != DT_STRING;
        return true;
    case TENSOR_SHAPE:
        return heft_tf_shape_read(s->p, s->mem, &s->shape);
    case TENSOR_CONTENT:
        s->content_at = s->p->off;
        return heft_proto_fetch(s->p, s->mem, MOST_CONTENT, &s->content, s->p->err);
    case TENSOR_STRING:
        return keep_string(s);
    default:
        return heft_proto_pass(s->p);
    }
}

static bool count_elements(struct strings *s)
{
    uint64_t n = 1;

    for (uint32_t i = 0; i < s->shape.rank; i++)
        if (s->shape.dims[i] < 0 || !heft_mul(n, (uint64_t)s->shape.dims[i], &n))
            return heft_fail(s->p->err, HEFT_MALFORMED, s->p->off,
                             "the tensor of names has an unknown or too large shape");
    s->out->count = n;
    return true;
}

/* Splits tensor_content: all lengths, then all bytes. */
static bool split_content(struct strings *s)
{
    struct heft_cur lengths = heft_cur_of(
        (struct heft_bytes){(const uint8_t *)s->content.p, s->content.n}, s->content_at);
    struct heft_cur bytes = lengths;
    const uint32_t n = (uint32_t)heft_min_u64(s->out->count, s->most);
    uint64_t length = 0;

    if (s->out->count > s->content.n)
        return heft_fail(s->p->err, HEFT_MALFORMED, s->content_at,
                         "the tensor has %" PRIu64 " names but only %zu bytes", s->out->count,
                         s->content.n);
    for (uint64_t i = 0; i < s->out->count; i++)
        if (!heft_proto_varint(&bytes, &length, s->p->err))
            return false;
    s->out->list = heft_arena_zero(s->mem, n ? n : 1, sizeof *s->out->list, s->p->err);
    if (!s->out->list)
        return false;
    for (s->out->n = 0; s->out->n < n; s->out->n++) {
        struct heft_bytes text;
        char *kept;

        if (!heft_proto_varint(&lengths, &length, s->p->err))
            return false;
        text = heft_cur_take(&bytes, length);
        if (!heft_cur_ok(&bytes))
            return heft_fail(s->p->err, HEFT_MALFORMED, s->content_at,
                             "a name needs %" PRIu64 " bytes, fewer are present", length);
        kept = heft_arena_text(s->mem, (struct heft_str){(const char *)text.p, text.n}, s->p->err);
        if (!kept)
            return false;
        s->out->list[s->out->n] = (struct heft_str){kept, text.n};
    }
    return true;
}

/* Repeats the last value up to the number of elements. */
static bool repeat_last(struct strings *s)
{
    const uint32_t n = (uint32_t)heft_min_u64(s->out->count, s->most);
    const uint32_t have = s->out->n;
    struct heft_str *list = s->out->list;

    if (have >= n) {
        s->out->n = n;
        return true;
    }
    list = heft_arena_widen(s->mem, list, s->cap * sizeof *list, n * sizeof *list, s->p->err);
    if (!list)
        return false;
    for (uint32_t i = have; i < n; i++)
        list[i] = have ? list[have - 1] : HEFT_STR("");
    s->out->list = list;
    s->out->n = n;
    return true;
}

bool heft_tf_strings_read(const struct heft_proto_doc *doc, struct heft_tf_range at, uint32_t most,
                          struct heft_arena *mem, struct heft_tf_strings *out,
                          struct heft_error *err)
{
    struct heft_proto p;
    struct strings s = {.p = &p, .mem = mem, .out = out, .most = most};
    bool ok = heft_proto_open(&p, doc, at.off, at.len, &heft_tf_tensor, err);
    uint32_t number;

    *out = (struct heft_tf_strings){0};
    while (ok && (number = heft_proto_pull(&p)))
        ok = read_field(&s, number);
    ok = ok && !p.failed && count_elements(&s);
    if (ok && s.is_other)
        ok = heft_fail(err, HEFT_MALFORMED, at.off, "the names are not strings");
    ok = ok && (s.content.n ? split_content(&s) : repeat_last(&s));
    heft_proto_close(&p);
    return ok;
}

/* ---- shape_and_slices ---- */

static bool take_number(struct heft_str *text, uint64_t *out)
{
    uint64_t n = 0;
    size_t i = 0;

    for (; i < text->n && text->p[i] >= '0' && text->p[i] <= '9'; i++) {
        if (n > (uint64_t)INT64_MAX / 10 - 1)
            return false;
        n = n * 10 + (uint64_t)(text->p[i] - '0');
    }
    text->p += i;
    text->n -= i;
    *out = n;
    return i > 0;
}

static bool take_char(struct heft_str *text, char c)
{
    if (text->n == 0 || *text->p != c)
        return false;
    text->p++;
    text->n--;
    return true;
}

/* Parses "-" or "start,length". */
static bool take_extent(struct heft_str *text, uint64_t dim, uint64_t *start, uint64_t *extent)
{
    if (take_char(text, '-')) {
        *start = 0;
        *extent = dim;
        return true;
    }
    return take_number(text, start) && take_char(text, ',') && take_number(text, extent) &&
           *extent > 0;
}

static bool is_slice_next(struct heft_str text)
{
    size_t i = 0;

    while (i < text.n && text.p[i] >= '0' && text.p[i] <= '9')
        i++;
    return i < text.n && text.p[i] != ' ';
}

bool heft_tf_spec_parse(struct heft_str spec, struct heft_tf_spec *out, const char **why)
{
    struct heft_str text = spec;

    *why = "is not a shape and slice such as \"4 3 0,2:-\"";
    for (out->rank = 0; !is_slice_next(text); out->rank++)
        if (out->rank == HEFT_SLICE_RANK || !take_number(&text, &out->shape[out->rank]) ||
            !take_char(&text, ' '))
            return false;
    for (unsigned i = 0; i < out->rank; i++)
        if (!take_extent(&text, out->shape[i], &out->start[i], &out->extent[i]) ||
            (i + 1 < out->rank && !take_char(&text, ':')))
            return false;
    if (text.n || out->rank == 0)
        return false;
    *why = "has a slice that exceeds its shape";
    for (unsigned i = 0; i < out->rank; i++)
        if (!heft_within(out->start[i], out->extent[i], out->shape[i]))
            return false;
    return true;
}
