/* torch_pickler.c: values as CPython's pickler writes them with protocol 2: numbers, texts,
 * globals, memo, batches of items, and tensors as torch._utils rebuilds them. */
#include "format/torch/write/torch_pickler.h"

#include "base/endian.h"

#define BATCH 1000

static const struct {
    const char *module, *name;
} callees[HEFT_CALLEES] = {
    [HEFT_CALLEE_ORDERED] = {"collections", "OrderedDict"},
    [HEFT_CALLEE_REBUILD_V2] = {"torch._utils", "_rebuild_tensor_v2"},
    [HEFT_CALLEE_REBUILD_V3] = {"torch._utils", "_rebuild_tensor_v3"},
    [HEFT_CALLEE_UNTYPED] = {"torch.storage", "UntypedStorage"},
};

/* torch's names of a dtype and of its storage class. Dtypes newer than typed storages have no
 * class: their storages are untyped, and the tensor states the dtype. */
static const struct {
    const char *storage, *dtype;
} names[HEFT_DTYPE_COUNT] = {
    [HEFT_BOOL] = {"BoolStorage", "bool"},
    [HEFT_U8] = {"ByteStorage", "uint8"},
    [HEFT_I8] = {"CharStorage", "int8"},
    [HEFT_I16] = {"ShortStorage", "int16"},
    [HEFT_I32] = {"IntStorage", "int32"},
    [HEFT_I64] = {"LongStorage", "int64"},
    [HEFT_F16] = {"HalfStorage", "float16"},
    [HEFT_BF16] = {"BFloat16Storage", "bfloat16"},
    [HEFT_F32] = {"FloatStorage", "float32"},
    [HEFT_F64] = {"DoubleStorage", "float64"},
    [HEFT_C64] = {"ComplexFloatStorage", "complex64"},
    [HEFT_C128] = {"ComplexDoubleStorage", "complex128"},
    [HEFT_U16] = {NULL, "uint16"},
    [HEFT_U32] = {NULL, "uint32"},
    [HEFT_U64] = {NULL, "uint64"},
    [HEFT_C32] = {NULL, "complex32"},
    [HEFT_F8_E4M3] = {NULL, "float8_e4m3fn"},
    [HEFT_F8_E5M2] = {NULL, "float8_e5m2"},
    [HEFT_F8_E4M3FNUZ] = {NULL, "float8_e4m3fnuz"},
    [HEFT_F8_E5M2FNUZ] = {NULL, "float8_e5m2fnuz"},
    [HEFT_F8_E8M0] = {NULL, "float8_e8m0fnu"},
    [HEFT_F4] = {NULL, "float4_e2m1fn_x2"},
};

bool heft_torch_supports_dtype(enum heft_dtype dtype)
{
    return names[dtype].dtype != NULL;
}

/* ---- numbers, texts, globals, memo ------------------------------------------------------- */

void heft_pickler_le32(struct heft_pickler *p, uint32_t v)
{
    uint8_t bytes[4];

    heft_put_le32(bytes, v);
    heft_buf_put(&p->buf, bytes, sizeof bytes);
}

/* Memoises the top of the stack: q or r. */
uint32_t heft_pickler_keep(struct heft_pickler *p)
{
    const uint32_t at = p->n_memo++;

    if (at < 256) {
        heft_pickler_op(p, 'q');
        heft_pickler_op(p, (char)at);
    } else {
        heft_pickler_op(p, 'r');
        heft_pickler_le32(p, at);
    }
    return at;
}

void heft_pickler_again(struct heft_pickler *p, uint32_t at)
{
    if (at < 256) {
        heft_pickler_op(p, 'h');
        heft_pickler_op(p, (char)at);
    } else {
        heft_pickler_op(p, 'j');
        heft_pickler_le32(p, at);
    }
}

/* Writes the shortest two's complement. */
static void put_long(struct heft_pickler *p, uint64_t bits, bool negative)
{
    const uint64_t sign = negative ? UINT64_MAX : 0;
    uint8_t bytes[9], n = 9;

    heft_put_le64(bytes, bits);
    bytes[8] = (uint8_t)sign;
    while (n > 1 && bytes[n - 1] == (uint8_t)sign && (bytes[n - 2] ^ (uint8_t)sign) < 0x80)
        n--;
    heft_pickler_op(p, (char)0x8a);
    heft_pickler_op(p, (char)n);
    heft_buf_put(&p->buf, bytes, n);
}

void heft_pickler_unsigned(struct heft_pickler *p, uint64_t v)
{
    if (v <= 0xff) {
        heft_pickler_op(p, 'K');
        heft_pickler_op(p, (char)v);
    } else if (v <= 0xffff) {
        heft_pickler_op(p, 'M');
        heft_pickler_op(p, (char)(v & 0xff));
        heft_pickler_op(p, (char)(v >> 8));
    } else if (v <= INT32_MAX) {
        heft_pickler_op(p, 'J');
        heft_pickler_le32(p, (uint32_t)v);
    } else {
        put_long(p, v, false);
    }
}

void heft_pickler_int(struct heft_pickler *p, int64_t v)
{
    if (v >= 0) {
        heft_pickler_unsigned(p, (uint64_t)v);
    } else if (v >= INT32_MIN) {
        heft_pickler_op(p, 'J');
        heft_pickler_le32(p, (uint32_t)v);
    } else {
        put_long(p, (uint64_t)v, true);
    }
}

/* The memo slot of a text that CPython interns (empty, or one Latin-1 character), or NULL. */
uint32_t *heft_pickler_only_one(struct heft_pickler *p, struct heft_str text)
{
    const uint8_t *s = (const uint8_t *)text.p;

    if (text.n == 0)
        return &p->latin[HEFT_PICKLER_LATIN];
    if (text.n == 1 && s[0] < 0x80)
        return &p->latin[s[0]];
    if (text.n == 2 && (s[0] == 0xc2 || s[0] == 0xc3))
        return &p->latin[(uint32_t)(s[0] & 3) << 6 | (s[1] & 0x3f)];
    return NULL;
}

/* Writes a text. *memo is the memo index of the same object, or HEFT_NO_MEMO; it receives the
 * index. */
void heft_pickler_word(struct heft_pickler *p, struct heft_str text, uint32_t *memo)
{
    if (*memo != HEFT_NO_MEMO) {
        heft_pickler_again(p, *memo);
        return;
    }
    heft_pickler_op(p, 'X');
    heft_pickler_le32(p, (uint32_t)text.n);
    heft_buf_str(&p->buf, text);
    *memo = heft_pickler_keep(p);
}

void heft_pickler_text(struct heft_pickler *p, struct heft_str text)
{
    uint32_t *const one = heft_pickler_only_one(p, text);
    uint32_t own = HEFT_NO_MEMO;

    heft_pickler_word(p, text, one ? one : &own);
}

void heft_pickler_global(struct heft_pickler *p, const char *module, const char *name,
                         uint32_t *memo)
{
    if (*memo != HEFT_NO_MEMO) {
        heft_pickler_again(p, *memo);
        return;
    }
    heft_buf_printf(&p->buf, "c%s\n%s\n", module, name);
    *memo = heft_pickler_keep(p);
}

void heft_pickler_callee(struct heft_pickler *p, enum heft_pickler_callee callee)
{
    heft_pickler_global(p, callees[callee].module, callees[callee].name, &p->callees[callee]);
}

void heft_pickler_ordered_dict(struct heft_pickler *p)
{
    heft_pickler_callee(p, HEFT_CALLEE_ORDERED);
    heft_buf_text(&p->buf, ")R");
    (void)heft_pickler_keep(p);
}

/* ---- batches of items --------------------------------------------------------------------- */

static bool is_alone(size_t i, size_t n, enum heft_pickler_batch batch)
{
    const bool sized = batch == HEFT_BATCH_DICT || batch == HEFT_BATCH_LIST;

    return sized ? n == 1 : i % BATCH == 0 && n - i == 1;
}

void heft_pickler_before_item(struct heft_pickler *p, size_t i, size_t n,
                              enum heft_pickler_batch batch)
{
    if (i % BATCH == 0 && !is_alone(i, n, batch))
        heft_pickler_op(p, '(');
}

void heft_pickler_after_item(struct heft_pickler *p, size_t i, size_t n,
                             enum heft_pickler_batch batch)
{
    const bool pairs = batch == HEFT_BATCH_DICT || batch == HEFT_BATCH_PAIRS;

    if (is_alone(i, n, batch))
        heft_pickler_op(p, pairs ? 's' : 'a');
    else if (i % BATCH == BATCH - 1 || i + 1 == n)
        heft_pickler_op(p, pairs ? 'u' : 'e');
    if (batch == HEFT_BATCH_DICT && i + 1 == n && n % BATCH == 0)
        heft_buf_text(&p->buf, "(u");
}

/* ---- storages and tensors ----------------------------------------------------------------- */

void heft_pickler_float(struct heft_pickler *p, double number)
{
    uint64_t bits;

    memcpy(&bits, &number, sizeof bits);
    heft_pickler_op(p, 'G');
    for (int shift = 56; shift >= 0; shift -= 8)
        heft_pickler_op(p, (char)(bits >> shift & 0xff));
}

void heft_pickler_scalar(struct heft_pickler *p, const struct heft_value *value)
{
    if (value->kind == HEFT_VALUE_BOOL)
        heft_pickler_op(p, (char)(value->as.boolean ? 0x88 : 0x89));
    else if (value->kind == HEFT_VALUE_INT)
        heft_pickler_int(p, value->as.integer);
    else if (value->kind == HEFT_VALUE_FLOAT)
        heft_pickler_float(p, value->as.number);
    else
        heft_pickler_op(p, 'N');
}

uint64_t heft_torch_piece_count(const struct heft_torch_piece *piece)
{
    return names[piece->as].storage ? heft_torch_elements(piece) : heft_torch_bytes(piece);
}

struct heft_str heft_torch_key_name(const char *before, uint64_t number, char *room)
{
    const size_t n = strlen(before);
    char *p = room + HEFT_TORCH_NAME;

    do
        *--p = (char)('0' + number % 10);
    while (number /= 10);
    p -= n;
    memcpy(p, before, n);
    return (struct heft_str){p, (size_t)(room + HEFT_TORCH_NAME - p)};
}

void heft_pickler_key(struct heft_pickler *p, uint32_t piece)
{
    char room[HEFT_TORCH_NAME];
    uint32_t own = HEFT_NO_MEMO;

    heft_pickler_word(p, heft_torch_key_name("", piece, room),
                      p->style == HEFT_TORCH_ZIP ? &p->keys[piece] : &own);
}

void heft_pickler_class(struct heft_pickler *p, enum heft_dtype dtype)
{
    if (names[dtype].storage)
        heft_pickler_global(p, "torch", names[dtype].storage, &p->dtypes[dtype]);
    else
        heft_pickler_callee(p, HEFT_CALLEE_UNTYPED);
}

static void put_storage(struct heft_pickler *p, uint32_t key, uint32_t number,
                        struct heft_str location)
{
    const struct heft_torch_piece *piece = &p->out->pieces[number];
    uint32_t own = HEFT_NO_MEMO;

    heft_pickler_op(p, '(');
    heft_pickler_word(p, HEFT_STR("storage"), &p->words[HEFT_WORD_STORAGE]);
    heft_pickler_class(p, (enum heft_dtype)piece->as);
    heft_pickler_key(p, key);
    heft_pickler_word(p, location, heft_str_is(location, "cpu") ? &p->words[HEFT_WORD_CPU] : &own);
    heft_pickler_unsigned(p, heft_torch_piece_count(piece));
    if (p->style == HEFT_TORCH_STREAM)
        heft_pickler_op(p, 'N');
    heft_pickler_op(p, 't');
    (void)heft_pickler_keep(p);
    heft_pickler_op(p, 'Q');
}

static void put_tuple(struct heft_pickler *p, const uint64_t *numbers, unsigned n)
{
    if (n == 0) {
        heft_pickler_op(p, ')');
        return;
    }
    if (n > 3)
        heft_pickler_op(p, '(');
    for (unsigned i = 0; i < n; i++)
        heft_pickler_unsigned(p, numbers[i]);
    heft_pickler_op(p, n > 3 ? 't' : (int)(0x84 + n));
    (void)heft_pickler_keep(p);
}

/* Row-major strides as torch computes them: an extent of 0 counts as 1. */
static void put_row_major(struct heft_pickler *p, const struct heft_row *row)
{
    uint64_t stride[UINT8_MAX], step = 1;

    for (unsigned i = row->rank; i > 0; i--) {
        stride[i - 1] = step;
        step *= heft_max_u64(row->shape[i - 1], 1);
    }
    put_tuple(p, stride, row->rank);
}

/* Extents; for F4 torch counts bytes of two elements. */
static void put_dims(struct heft_pickler *p, const struct heft_export_item *item)
{
    uint64_t shape[UINT8_MAX];
    struct heft_row row = *item->row;

    if (item->as == HEFT_F4) {
        memcpy(shape, row.shape, row.rank * sizeof *shape);
        shape[row.rank - 1] /= 2; /* even: checked by heft_torch_out_init */
        row.shape = shape;
    }
    put_tuple(p, row.shape, row.rank);
    if (row.original_strides || row.stride)
        put_tuple(p, row.original_strides ? row.original_strides : row.stride, row.rank);
    else
        put_row_major(p, &row);
}

/* An untyped storage has no class of its own, so that the memo index is that of one name. */
void heft_pickler_dtype(struct heft_pickler *p, enum heft_dtype dtype)
{
    heft_pickler_global(p, "torch", names[dtype].dtype, &p->dtypes[dtype]);
}

void heft_pickler_tensor(struct heft_pickler *p, const struct heft_export_item *item, uint32_t key,
                         uint32_t piece, struct heft_str location, bool requires_grad)
{
    const char *dtype = names[item->as].storage ? NULL : names[item->as].dtype;

    heft_pickler_callee(p, dtype ? HEFT_CALLEE_REBUILD_V3 : HEFT_CALLEE_REBUILD_V2);
    heft_pickler_op(p, '(');
    put_storage(p, key, piece, location);
    heft_pickler_unsigned(p, heft_torch_offset(&p->out->pieces[piece], item));
    put_dims(p, item);
    heft_pickler_op(p, requires_grad ? 0x88 : 0x89);
    heft_pickler_ordered_dict(p);
    if (dtype)
        heft_pickler_dtype(p, (enum heft_dtype)item->as);
    heft_pickler_op(p, 't');
    (void)heft_pickler_keep(p);
    heft_pickler_op(p, 'R');
    (void)heft_pickler_keep(p);
}

/* ---- setup and release -------------------------------------------------------------------- */

bool heft_pickler_init(struct heft_pickler *p, const struct heft_torch_out *out,
                       enum heft_torch_style style, struct heft_error *err)
{
    const size_t n = (out->n_pieces + 1) * sizeof *p->keys;

    *p = (struct heft_pickler){.out = out, .style = style};
    if (heft_budget_allows(out->scratch.budget, n, err))
        p->keys = heft_alloc(n, err);
    if (!p->keys)
        return false;
    memset(p->keys, 0xff, n); /* every byte 0xff: HEFT_NO_MEMO */
    memset(p->callees, 0xff, sizeof p->callees);
    memset(p->words, 0xff, sizeof p->words);
    memset(p->dtypes, 0xff, sizeof p->dtypes);
    memset(p->latin, 0xff, sizeof p->latin);
    return true;
}

void heft_pickler_release(struct heft_pickler *p)
{
    heft_strmap_release(&p->shared);
    heft_u32map_release(&p->objects);
    heft_buf_release(&p->buf);
    heft_free(p->keys);
}
