/* tf_tensor.c: TensorProto.
 *
 *     dtype, shape, and the elements either as
 *     tensor_content     all elements as raw little-endian bytes, row-major; or as
 *     a typed field      one number per element; the last one is repeated for the rest
 *
 * Strings in tensor_content: their lengths as varints, then their bytes. */
#include "format/tensorflow/graph/tf_tensor.h"

#include "base/endian.h"
#include "format/tensorflow/bundle/tf_parts.h"

enum { TENSOR_DTYPE = 1, TENSOR_SHAPE, TENSOR_VERSION, TENSOR_CONTENT };
enum {
    FLOAT_VAL = 5,
    DOUBLE_VAL,
    INT_VAL,
    STRING_VAL,
    SCOMPLEX_VAL,
    INT64_VAL,
    BOOL_VAL,
    DCOMPLEX_VAL,
    HALF_VAL
};
enum { UINT32_VAL = 16, UINT64_VAL, FLOAT8_VAL };

/* The field with the values of a dtype; dtypes not listed use int_val. */
static uint32_t field_of(uint32_t dtype)
{
    static const uint8_t fields[] = {
        [1] = FLOAT_VAL,    [2] = DOUBLE_VAL,    [HEFT_TF_STRING] = STRING_VAL,
        [8] = SCOMPLEX_VAL, [9] = INT64_VAL,     [10] = BOOL_VAL,
        [14] = HALF_VAL,    [18] = DCOMPLEX_VAL, [19] = HALF_VAL,
        [22] = UINT32_VAL,  [23] = UINT64_VAL,   [24] = FLOAT8_VAL,
        [25] = FLOAT8_VAL,  [26] = FLOAT8_VAL,   [27] = FLOAT8_VAL,
        [28] = FLOAT8_VAL};

    return dtype < HEFT_COUNT(fields) && fields[dtype] ? fields[dtype] : INT_VAL;
}

bool heft_tf_tensor_head(struct heft_proto *p, struct heft_arena *mem, struct heft_tf_tensor *out)
{
    uint32_t number;
    bool ok = true;

    while (ok && (number = heft_proto_pull(p))) {
        if (number == TENSOR_DTYPE) {
            out->dtype = heft_tf_base_dtype(p->u64);
        } else if (number == TENSOR_SHAPE) {
            ok = heft_tf_shape_read(p, mem, &out->shape);
        } else if (number == TENSOR_CONTENT) {
            out->content = (struct heft_tf_range){p->off, p->len};
            out->bytes = p->u64;
            out->has_content = p->u64 > 0;
        } else {
            ok = heft_proto_pass(p);
        }
    }
    return ok && !p->failed;
}

bool heft_tf_tensor_read(const struct heft_proto_doc *doc, struct heft_tf_range at,
                         struct heft_arena *mem, struct heft_tf_tensor *out, struct heft_error *err)
{
    struct heft_proto p;
    bool ok;

    *out = (struct heft_tf_tensor){.at = at};
    ok = heft_proto_open(&p, doc, at.off, at.len, &heft_tf_tensor, err) &&
         heft_tf_tensor_head(&p, mem, out);
    heft_proto_close(&p);
    return ok;
}

bool heft_tf_tensor_count(const struct heft_tf_tensor *tensor, uint64_t where, uint64_t *count,
                          struct heft_error *err)
{
    bool is_empty = false;

    *count = 1;
    if (tensor->shape.unknown_rank)
        return heft_fail(err, HEFT_MALFORMED, where, "the tensor has unknown rank");
    for (uint32_t i = 0; i < tensor->shape.rank; i++) {
        const int64_t dim = tensor->shape.dims[i];

        if (dim < 0)
            return heft_fail(err, HEFT_MALFORMED, where,
                             "the tensor has the invalid dimension %" PRId64, dim);
        is_empty |= dim == 0;
        if (dim && (!heft_mul(*count, (uint64_t)dim, count) || *count > INT64_MAX))
            return heft_fail(err, HEFT_MALFORMED, where, "the tensor has more than 2^63 elements");
    }
    if (is_empty)
        *count = 0;
    return true;
}

/* ---- numbers ---- */

struct filler {
    uint8_t *out;
    size_t bytes, done; /* bytes in `out` */
    size_t each;        /* bytes per number; a complex element has two */
};

static void put_number(struct filler *f, uint64_t bits)
{
    uint8_t little[8];

    if (f->bytes - f->done < f->each)
        return;
    heft_put_le64(little, bits);
    memcpy(f->out + f->done, little, f->each);
    f->done += f->each;
}

/* float8_val: one byte per element. */
static bool put_bytes(struct filler *f, struct heft_proto *p)
{
    struct heft_arena scratch = {0};
    struct heft_str bytes = p->text;
    const bool ok = bytes.p || heft_proto_fetch(p, &scratch, p->doc->size, &bytes, p->err);

    f->done = 0; /* not repeated: the last occurrence counts */
    for (size_t i = 0; ok && i < bytes.n; i++)
        put_number(f, (uint8_t)bytes.p[i]);
    heft_arena_release(&scratch);
    return ok;
}

/* Repeats the last element to the end of the tensor; without any element the rest is zero. */
static void repeat_last(const struct filler *f, size_t element)
{
    size_t whole = f->done - f->done % element;

    memset(f->out + whole, 0, f->bytes - whole);
    for (; whole && whole < f->bytes; whole += element)
        memcpy(f->out + whole, f->out + whole - element, element);
}

bool heft_tf_tensor_fill(const struct heft_proto_doc *doc, const struct heft_tf_tensor *tensor,
                         size_t n, size_t each, uint8_t *out, struct heft_error *err)
{
    const uint32_t wanted = field_of(tensor->dtype);
    const bool is_complex = wanted == SCOMPLEX_VAL || wanted == DCOMPLEX_VAL;
    struct filler f = {.out = out, .bytes = n * each, .each = is_complex ? each / 2 : each};
    struct heft_proto p;
    uint32_t number;
    bool ok = heft_proto_open(&p, doc, tensor->at.off, tensor->at.len, &heft_tf_tensor, err);

    while (ok && (number = heft_proto_pull(&p))) {
        if (number != wanted)
            ok = heft_proto_pass(&p);
        else if (number == FLOAT8_VAL)
            ok = put_bytes(&f, &p);
        else
            put_number(&f, p.u64);
    }
    ok = ok && !p.failed;
    heft_proto_close(&p);
    if (ok && f.bytes)
        repeat_last(&f, each);
    return ok;
}

/* ---- strings ---- */

static bool split_content(const struct heft_proto_doc *doc, const struct heft_tf_tensor *tensor,
                          size_t n, struct heft_arena *mem, struct heft_str *out,
                          struct heft_error *err)
{
    uint8_t *const bytes = heft_arena_alloc(mem, (size_t)tensor->bytes + 1, err);
    struct heft_cur cur;
    uint64_t length, total = 0;

    if (!bytes || !heft_proto_copy(doc, tensor->content.off, tensor->content.len, bytes,
                                   (size_t)tensor->bytes, err))
        return false;
    cur = heft_cur_of((struct heft_bytes){bytes, (size_t)tensor->bytes}, tensor->content.off);
    for (size_t i = 0; i < n; i++) {
        if (!heft_proto_varint(&cur, &length, err))
            return false;
        if (!heft_add(total, length, &total) || total > tensor->bytes)
            return heft_fail(err, HEFT_MALFORMED, tensor->content.off,
                             "the string lengths exceed the content");
        out[i].n = (size_t)length;
    }
    if (total != heft_cur_left(&cur))
        return heft_fail(err, HEFT_MALFORMED, tensor->content.off,
                         "%zu strings need %" PRIu64 " bytes, %zu are present", n, total,
                         heft_cur_left(&cur));
    for (size_t i = 0; i < n; i++)
        out[i].p = (const char *)heft_cur_take(&cur, out[i].n).p;
    return true;
}

bool heft_tf_tensor_strings(const struct heft_proto_doc *doc, const struct heft_tf_tensor *tensor,
                            size_t n, struct heft_arena *mem, struct heft_str *out,
                            struct heft_error *err)
{
    struct heft_str last = {"", 0};
    struct heft_proto p;
    uint32_t number;
    size_t done = 0;
    bool ok;

    if (tensor->has_content)
        return split_content(doc, tensor, n, mem, out, err);
    ok = heft_proto_open(&p, doc, tensor->at.off, tensor->at.len, &heft_tf_tensor, err);
    while (ok && (number = heft_proto_pull(&p))) {
        if (number != STRING_VAL) {
            ok = heft_proto_pass(&p);
            continue;
        }
        if (done < n && (ok = heft_proto_fetch(&p, mem, doc->size, &last, err)))
            out[done++] = last;
    }
    ok = ok && !p.failed;
    heft_proto_close(&p);
    while (ok && done < n)
        out[done++] = last;
    return ok;
}
