/* torch_write_pickle.c: the pickle of a state dict, as torch.save has CPython write it, protocol 2.
 *
 *     80 02                                PROTO 2
 *     c collections\nOrderedDict\n ) R     the dictionary; or } for a plain one
 *     ( X "weight" … T                     a thousand names and tensors at a time
 *     u
 *     } X "_metadata" … s b                module versions, an attribute of the dictionary
 *     .
 *
 *     T  c torch._utils\n_rebuild_tensor_v2\n
 *        ( ( "storage" c torch\nFloatStorage\n "0" "cpu" K 6 t Q    which storage
 *          K 0  K 3 K 2 \x86  K 2 K 1 \x86                          offset, size, stride
 *          \x89  ) R                                                no gradient, no hooks
 *        t R
 *
 * Whatever CPython may meet again it puts into its memo (q), and takes from there (h) when it meets
 * the same object. Equal bytes need the same objects: torch's words are one each; a storage's key is
 * one of its own (in a stream one for each tensor); names and module paths are objects of their own,
 * but for the empty string and those of one Latin-1 character, which CPython has once; what modules
 * leave in _metadata are words of their code, one object each; a tensor is the object that it was. */
#include "base/endian.h"
#include "format/torch_write.h"

#define BATCH   1000
#define FLUSH   (1u << 20) /* bytes that are added to the plan at once */
#define LATIN   256        /* single characters … */
#define EMPTY   LATIN      /* … and the empty string */
#define NO_MEMO HEFT_NONE

enum word { STORAGE, CPU, N_WORDS };
enum callee { ORDERED, REBUILD_V2, REBUILD_V3, UNTYPED, N_CALLEES };

static const struct {
    const char *module, *name;
} callees[N_CALLEES] = {
    [ORDERED] = {"collections", "OrderedDict"},
    [REBUILD_V2] = {"torch._utils", "_rebuild_tensor_v2"},
    [REBUILD_V3] = {"torch._utils", "_rebuild_tensor_v3"},
    [UNTYPED] = {"torch.storage", "UntypedStorage"},
};

/* What torch calls a dtype, or the class of its storages. Dtypes that came after the typed storages
 * have no class: their storages are bytes, and the tensor says what they are. */
static const struct {
    const char *storage, *dtype;
} names[HEFT_DTYPE_COUNT] = {
    [HEFT_BOOL] = {"BoolStorage", NULL},
    [HEFT_U8] = {"ByteStorage", NULL},
    [HEFT_I8] = {"CharStorage", NULL},
    [HEFT_I16] = {"ShortStorage", NULL},
    [HEFT_I32] = {"IntStorage", NULL},
    [HEFT_I64] = {"LongStorage", NULL},
    [HEFT_F16] = {"HalfStorage", NULL},
    [HEFT_BF16] = {"BFloat16Storage", NULL},
    [HEFT_F32] = {"FloatStorage", NULL},
    [HEFT_F64] = {"DoubleStorage", NULL},
    [HEFT_C64] = {"ComplexFloatStorage", NULL},
    [HEFT_C128] = {"ComplexDoubleStorage", NULL},
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

bool heft_torch_holds(enum heft_dtype dtype)
{
    return names[dtype].storage || names[dtype].dtype;
}

struct pickler {
    const struct heft_torch_out *out;
    struct heft_buf buf; /* what has not yet been added to the plan */
    enum heft_torch_style style;
    uint32_t n_memo;
    /* Where each of these is in the memo, or NO_MEMO. */
    uint32_t callees[N_CALLEES], words[N_WORDS], dtypes[HEFT_DTYPE_COUNT], latin[LATIN + 1];
    uint32_t *keys;             /* of the pieces */
    struct heft_u32map objects; /* tensors that may come again */
    struct heft_strmap shared;  /* words of the module's own code, as "version" */
};

/* ---- words of the pickle ----------------------------------------------------------------- */

static void op(struct pickler *p, char code)
{
    heft_buf_char(&p->buf, code);
}

static void number32(struct pickler *p, uint32_t v)
{
    uint8_t bytes[4];

    heft_put_le32(bytes, v);
    heft_buf_put(&p->buf, bytes, sizeof bytes);
}

/* q or r: the top of the stack goes into the memo. */
static uint32_t put_memo(struct pickler *p)
{
    const uint32_t at = p->n_memo++;

    if (at < 256) {
        op(p, 'q');
        op(p, (char)at);
    } else {
        op(p, 'r');
        number32(p, at);
    }
    return at;
}

static void get_memo(struct pickler *p, uint32_t at)
{
    if (at < 256) {
        op(p, 'h');
        op(p, (char)at);
    } else {
        op(p, 'j');
        number32(p, at);
    }
}

/* The fewest bytes of two's complement. */
static void put_long(struct pickler *p, uint64_t bits, bool negative)
{
    const uint64_t sign = negative ? UINT64_MAX : 0;
    uint8_t bytes[9], n = 9;

    heft_put_le64(bytes, bits);
    bytes[8] = (uint8_t)sign;
    while (n > 1 && bytes[n - 1] == (uint8_t)sign && (bytes[n - 2] ^ (uint8_t)sign) < 0x80)
        n--;
    op(p, (char)0x8a);
    op(p, (char)n);
    heft_buf_put(&p->buf, bytes, n);
}

static void put_int(struct pickler *p, uint64_t v)
{
    if (v <= 0xff) {
        op(p, 'K');
        op(p, (char)v);
    } else if (v <= 0xffff) {
        op(p, 'M');
        op(p, (char)(v & 0xff));
        op(p, (char)(v >> 8));
    } else if (v <= INT32_MAX) {
        op(p, 'J');
        number32(p, (uint32_t)v);
    } else {
        put_long(p, v, false);
    }
}

static void put_signed(struct pickler *p, int64_t v)
{
    if (v >= 0) {
        put_int(p, (uint64_t)v);
    } else if (v >= INT32_MIN) {
        op(p, 'J');
        number32(p, (uint32_t)v);
    } else {
        put_long(p, (uint64_t)v, true);
    }
}

/* The place in `latin` of a text that there is only one of, or NULL. */
static uint32_t *only_one(struct pickler *p, struct heft_str text)
{
    const uint8_t *s = (const uint8_t *)text.p;

    if (text.n == 0)
        return &p->latin[EMPTY];
    if (text.n == 1 && s[0] < 0x80)
        return &p->latin[s[0]];
    if (text.n == 2 && (s[0] == 0xc2 || s[0] == 0xc3))
        return &p->latin[(uint32_t)(s[0] & 3) << 6 | (s[1] & 0x3f)];
    return NULL;
}

/* A text; `memo` is where the same object stands, or NO_MEMO, and gets where it stands now. */
static void put_object(struct pickler *p, struct heft_str text, uint32_t *memo)
{
    if (*memo != NO_MEMO) {
        get_memo(p, *memo);
        return;
    }
    op(p, 'X');
    number32(p, (uint32_t)text.n);
    heft_buf_str(&p->buf, text);
    *memo = put_memo(p);
}

static void put_text(struct pickler *p, struct heft_str text)
{
    uint32_t *const one = only_one(p, text);
    uint32_t own = NO_MEMO;

    put_object(p, text, one ? one : &own);
}

static void put_global(struct pickler *p, const char *module, const char *name, uint32_t *memo)
{
    if (*memo != NO_MEMO) {
        get_memo(p, *memo);
        return;
    }
    heft_buf_printf(&p->buf, "c%s\n%s\n", module, name);
    *memo = put_memo(p);
}

static void put_callee(struct pickler *p, enum callee callee)
{
    put_global(p, callees[callee].module, callees[callee].name, &p->callees[callee]);
}

static void put_ordered_dict(struct pickler *p)
{
    put_callee(p, ORDERED);
    heft_buf_text(&p->buf, ")R");
    (void)put_memo(p);
}

/* ---- dictionaries in batches ------------------------------------------------------------- */

/* CPython writes a thousand items between ( and u, and one item that is left alone with s. A plain
 * dict it asks for its size, another mapping only for the next item: so a plain one is alone only
 * as a whole, and of an exact thousand it begins one batch more. */
static bool is_alone(size_t i, size_t n, bool ordered)
{
    return ordered ? i % BATCH == 0 && n - i == 1 : n == 1;
}

static void before_item(struct pickler *p, size_t i, size_t n, bool ordered)
{
    if (i % BATCH == 0 && !is_alone(i, n, ordered))
        op(p, '(');
}

static void after_item(struct pickler *p, size_t i, size_t n, bool ordered)
{
    if (is_alone(i, n, ordered))
        op(p, 's');
    else if (i % BATCH == BATCH - 1 || i + 1 == n)
        op(p, 'u');
    if (!ordered && i + 1 == n && n % BATCH == 0)
        heft_buf_text(&p->buf, "(u");
}

/* ---- a tensor ---------------------------------------------------------------------------- */

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

static void put_key(struct pickler *p, uint32_t piece)
{
    char room[HEFT_TORCH_NAME];
    uint32_t own = NO_MEMO;

    put_object(p, heft_torch_key_name("", piece, room),
               p->style == HEFT_TORCH_ZIP ? &p->keys[piece] : &own);
}

static void put_storage(struct pickler *p, uint32_t number)
{
    const struct heft_torch_piece *piece = &p->out->pieces[number];

    op(p, '(');
    put_object(p, HEFT_STR("storage"), &p->words[STORAGE]);
    if (names[piece->as].storage)
        put_global(p, "torch", names[piece->as].storage, &p->dtypes[piece->as]);
    else
        put_callee(p, UNTYPED);
    put_key(p, number);
    put_object(p, HEFT_STR("cpu"), &p->words[CPU]);
    put_int(p, heft_torch_piece_count(piece));
    if (p->style == HEFT_TORCH_STREAM)
        op(p, 'N');
    op(p, 't');
    (void)put_memo(p);
    op(p, 'Q');
}

static void put_tuple(struct pickler *p, const uint64_t *numbers, unsigned n)
{
    if (n == 0) {
        op(p, ')');
        return;
    }
    if (n > 3)
        op(p, '(');
    for (unsigned i = 0; i < n; i++)
        put_int(p, numbers[i]);
    op(p, n > 3 ? 't' : (char)(0x84 + n));
    (void)put_memo(p);
}

/* As torch makes them: a dimension without elements counts as one of 1. */
static void put_row_major(struct pickler *p, const struct heft_row *row)
{
    uint64_t stride[UINT8_MAX], step = 1;

    for (unsigned i = row->rank; i-- > 0;) {
        stride[i] = step;
        step *= heft_max_u64(row->shape[i], 1);
    }
    put_tuple(p, stride, row->rank);
}

/* Of F4, torch counts bytes, two elements each. */
static void put_dims(struct pickler *p, const struct heft_item *item)
{
    uint64_t shape[UINT8_MAX];
    struct heft_row row = *item->row;

    if (item->as == HEFT_F4) {
        memcpy(shape, row.shape, row.rank * sizeof *shape);
        shape[row.rank - 1] /= 2; /* even: heft_torch_out_init has looked */
        row.shape = shape;
    }
    put_tuple(p, row.shape, row.rank);
    if (row.given || row.stride)
        put_tuple(p, row.given ? row.given : row.stride, row.rank);
    else
        put_row_major(p, &row);
}

static void put_tensor(struct pickler *p, size_t i)
{
    const struct heft_item *item = &p->out->cargo->items[i];
    const uint32_t piece = p->out->piece_of[i];
    const char *dtype = names[item->as].dtype;

    put_callee(p, dtype ? REBUILD_V3 : REBUILD_V2);
    op(p, '(');
    put_storage(p, piece);
    put_int(p, heft_torch_offset(&p->out->pieces[piece], item));
    put_dims(p, item);
    op(p, (char)0x89);
    put_ordered_dict(p);
    if (dtype)
        put_global(p, "torch", dtype, &p->dtypes[item->as]);
    op(p, 't');
    (void)put_memo(p);
    op(p, 'R');
    (void)put_memo(p);
}

/* The number of the object that the item is, 0 where it can be met but once. What is cast is a new
 * object each time. */
static uint32_t object_of(const struct pickler *p, size_t i)
{
    const struct heft_item *item = &p->out->cargo->items[i];

    if (p->out->pieces[p->out->piece_of[i]].items == 1 || item->as != item->row->dtype)
        return 0;
    return item->row->object;
}

static bool put_item(struct pickler *p, size_t i, struct heft_error *err)
{
    const uint32_t object = object_of(p, i);
    const uint32_t memo = object ? heft_u32map_get(&p->objects, object) : HEFT_MAP_NONE;

    put_text(p, p->out->cargo->items[i].name);
    if (memo != HEFT_MAP_NONE) {
        get_memo(p, memo);
        return true;
    }
    put_tensor(p, i);
    return !object || heft_u32map_set(&p->objects, object, p->n_memo - 1, err);
}

/* ---- module versions --------------------------------------------------------------------- */

static size_t count_children(const struct heft_value *value)
{
    size_t n = 0;

    for (const struct heft_value *v = value->first_child; v; v = v->next_sibling)
        n++;
    return n;
}

static struct heft_str key_of(const struct heft_value *value)
{
    return (struct heft_str){value->key, value->key_len};
}

/* A key or value that is a word of the code that made the dict: one object, however often it stands. */
static bool put_code_word(struct pickler *p, struct heft_str word, struct heft_error *err)
{
    uint32_t memo = heft_strmap_get(&p->shared, word);

    if (only_one(p, word)) {
        put_text(p, word);
        return true;
    }
    put_object(p, word, &memo);
    return heft_strmap_set(&p->shared, word, memo, err);
}

/* Numbers and texts: what bookkeeping is made of. */
static bool is_plain(const struct heft_value *value)
{
    return value->kind <= HEFT_VALUE_STRING && value->kind != HEFT_VALUE_BIGINT;
}

bool heft_torch_modules_fit(const struct heft_value *modules)
{
    for (const struct heft_value *m = modules->first_child; m; m = m->next_sibling) {
        if (m->kind != HEFT_VALUE_DICT || m->type_name)
            return false;
        for (const struct heft_value *v = m->first_child; v; v = v->next_sibling)
            if (!is_plain(v))
                return false;
    }
    return modules->kind == HEFT_VALUE_DICT;
}

static void put_float(struct pickler *p, double number)
{
    uint64_t bits;

    memcpy(&bits, &number, sizeof bits);
    op(p, 'G');
    for (int shift = 56; shift >= 0; shift -= 8)
        op(p, (char)(bits >> shift & 0xff));
}

static bool put_plain(struct pickler *p, const struct heft_value *value, struct heft_error *err)
{
    switch (value->kind) {
    case HEFT_VALUE_STRING:
        return put_code_word(p, (struct heft_str){value->text, value->text_len}, err);
    case HEFT_VALUE_BOOL:
        op(p, (char)(value->as.boolean ? 0x88 : 0x89));
        break;
    case HEFT_VALUE_INT:
        put_signed(p, value->as.integer);
        break;
    case HEFT_VALUE_FLOAT:
        put_float(p, value->as.number);
        break;
    default:
        op(p, 'N');
        break;
    }
    return true;
}

static bool put_module(struct pickler *p, const struct heft_value *module, struct heft_error *err)
{
    const size_t n = count_children(module);
    size_t i = 0;

    op(p, '}');
    (void)put_memo(p);
    for (const struct heft_value *v = module->first_child; v; v = v->next_sibling, i++) {
        before_item(p, i, n, false);
        if (!put_code_word(p, key_of(v), err) || !put_plain(p, v, err))
            return false;
        after_item(p, i, n, false);
    }
    return true;
}

/* {"_metadata": OrderedDict of module → {"version": 1}} as the dictionary's attributes. */
static bool put_modules(struct pickler *p, const struct heft_value *modules, struct heft_error *err)
{
    const size_t n = count_children(modules);
    size_t i = 0;

    op(p, '}');
    (void)put_memo(p);
    put_text(p, HEFT_STR("_metadata"));
    put_ordered_dict(p);
    for (const struct heft_value *v = modules->first_child; v; v = v->next_sibling, i++) {
        before_item(p, i, n, true);
        put_text(p, key_of(v));
        if (!put_module(p, v, err))
            return false;
        after_item(p, i, n, true);
    }
    heft_buf_text(&p->buf, "sb");
    return true;
}

bool heft_torch_flush(const struct heft_torch_out *out, struct heft_buf *buf,
                      struct heft_error *err)
{
    struct heft_str bytes;

    return heft_buf_ok(buf, err) && heft_buf_take(buf, out->plan->mem, &bytes, err) &&
           heft_plan_put(out->plan, out->file, bytes, err);
}

/* ---- the whole --------------------------------------------------------------------------- */

static bool put_all(struct pickler *p, struct heft_error *err)
{
    const struct heft_cargo *cargo = p->out->cargo;
    const size_t n = cargo->n_items;
    const bool ordered = cargo->is_ordered && cargo->n_shards == 1; /* a shard is a plain dict */

    heft_buf_put(&p->buf, "\x80\x02", 2);
    if (ordered) {
        put_ordered_dict(p);
    } else {
        op(p, '}');
        (void)put_memo(p);
    }
    for (size_t i = 0; i < n; i++) {
        before_item(p, i, n, ordered);
        if (!put_item(p, i, err))
            return false;
        after_item(p, i, n, ordered);
        if (p->buf.n >= FLUSH && !heft_torch_flush(p->out, &p->buf, err))
            return false;
    }
    if (p->out->modules && !put_modules(p, p->out->modules, err))
        return false;
    op(p, '.');
    return heft_torch_flush(p->out, &p->buf, err);
}

bool heft_torch_write_pickle(const struct heft_torch_out *out, enum heft_torch_style style,
                             struct heft_error *err)
{
    struct pickler p = {.out = out, .style = style};
    const size_t n = (out->n_pieces + 1) * sizeof *p.keys;
    bool ok;

    p.keys = heft_alloc(n, err);
    if (!p.keys)
        return false;
    memset(p.keys, 0xff, n); /* NO_MEMO */
    memset(p.callees, 0xff, sizeof p.callees);
    memset(p.words, 0xff, sizeof p.words);
    memset(p.dtypes, 0xff, sizeof p.dtypes);
    memset(p.latin, 0xff, sizeof p.latin);
    ok = put_all(&p, err);
    heft_strmap_release(&p.shared);
    heft_u32map_release(&p.objects);
    heft_buf_release(&p.buf);
    heft_free(p.keys);
    return ok;
}
