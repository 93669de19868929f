/* torch_legacy_write.c: plans the stream format of torch.save before 1.6, still written with
 * _use_new_zipfile_serialization=False.
 *
 *     80 02 8a 0a 6c fc … 2e     pickle: the magic number
 *     80 02 4d e9 03 2e          pickle: protocol version 1001
 *     80 02 7d …                 pickle: byte order and type sizes of the system
 *     80 02 …                    pickle: the state dict
 *     80 02 5d …                 pickle: keys of the storages, sorted as text
 *     i64 count, elements        for each storage, in that order
 *
 * torch uses the address of a storage as its key; here keys count from 0. */
#include "base/endian.h"
#include "core/registry.h"
#include "format/torch/write/torch_write.h"

#define BATCH 1000 /* items per APPENDS, as CPython's pickler writes lists */

/* The first three pickles: magic number, version, and {"protocol_version": 1001, "little_endian":
 * True, "type_sizes": {"short": 2, "int": 4, "long": 4}}. */
static const char preamble[] = "\x80\x02\x8a\x0al\xfc\x9c\x46\xf9 j\xa8P\x19."
                               "\x80\x02M\xe9\x03."
                               "\x80\x02}q\x00("
                               "X\x10\x00\x00\x00protocol_versionq\x01M\xe9\x03"
                               "X\x0d\x00\x00\x00little_endianq\x02\x88"
                               "X\x0a\x00\x00\x00type_sizesq\x03}q\x04("
                               "X\x05\x00\x00\x00shortq\x05K\x02"
                               "X\x03\x00\x00\x00intq\x06K\x04"
                               "X\x04\x00\x00\x00longq\x07K\x04uu.";

/* The successor of `at` among the numbers below n, sorted as text: 0, 1, 10, 11, … 2, 20. */
static uint32_t next_as_text(uint32_t at, uint32_t n)
{
    if (at == 0)
        return 1;
    if (at * UINT64_C(10) < n)
        return at * 10;
    while (at % 10 == 9 || at + 1 >= n)
        at /= 10;
    return at + 1;
}

static void put_memo(struct heft_buf *buf, uint32_t at)
{
    uint8_t bytes[5] = {'q', (uint8_t)at};

    if (at >= 256) {
        bytes[0] = 'r';
        heft_put_le32(bytes + 1, at);
    }
    heft_buf_put(buf, bytes, at < 256 ? 2 : 5);
}

/* Writes a list of texts, each new to the memo. */
static void put_keys(struct heft_buf *buf, uint32_t n)
{
    heft_buf_text(buf, "\x80\x02]");
    put_memo(buf, 0);
    for (uint32_t i = 0, key = 0; i < n; i++, key = next_as_text(key, n)) {
        uint8_t length[4] = {1};

        for (uint32_t left = key; left >= 10; left /= 10)
            length[0]++;
        if (i % BATCH == 0 && n > 1)
            heft_buf_char(buf, '(');
        heft_buf_char(buf, 'X');
        heft_buf_put(buf, length, sizeof length);
        heft_buf_u64(buf, key);
        put_memo(buf, i + 1);
        if (n == 1)
            heft_buf_char(buf, 'a');
        else if (i % BATCH == BATCH - 1 || i + 1 == n)
            heft_buf_char(buf, 'e');
    }
    heft_buf_char(buf, '.');
}

static bool add_storages(struct heft_torch_out *out, struct heft_error *err)
{
    const uint32_t n = (uint32_t)out->n_pieces;

    for (uint32_t i = 0, key = 0; i < n; i++, key = next_as_text(key, n)) {
        struct heft_torch_piece *piece = &out->pieces[key];
        uint8_t *count = heft_arena_alloc(out->plan->mem, 8, err);

        if (!count)
            return false;
        heft_put_le64(count, heft_torch_piece_count(piece));
        if (!heft_plan_put(out->plan, out->file, (struct heft_str){(char *)count, 8}, err) ||
            !heft_torch_out_put(out, piece, err))
            return false;
    }
    return true;
}

static bool add_pickles(struct heft_torch_out *out, struct heft_error *err)
{
    struct heft_buf buf = {.budget = out->plan->mem->budget};
    bool ok;

    heft_buf_put(&buf, preamble, sizeof preamble - 1);
    ok = heft_torch_flush(out, &buf, err) && heft_torch_write_pickle(out, HEFT_TORCH_STREAM, err);
    if (ok)
        put_keys(&buf, (uint32_t)out->n_pieces);
    ok = ok && heft_torch_flush(out, &buf, err);
    heft_buf_release(&buf);
    return ok;
}

bool heft_torch_legacy_plan(struct heft_plan *plan, uint32_t file,
                            const struct heft_export_list *exports, struct heft_error *err)
{
    struct heft_torch_out out;
    const bool ok = heft_torch_out_init(&out, plan, file, exports, HEFT_TORCH_STREAM, err) &&
                    add_pickles(&out, err) && add_storages(&out, err);

    if (ok)
        heft_torch_out_place(&out);
    heft_torch_out_release(&out);
    return ok;
}

/* False for dtypes that torch can write to streams but not load from them. */
bool heft_torch_legacy_supports_dtype(enum heft_dtype dtype)
{
    static const enum heft_dtype later[] = {
        HEFT_U16,         HEFT_U32, HEFT_U64,         HEFT_F8_E4M3, HEFT_F8_E5M2,
        HEFT_F8_E4M3FNUZ, HEFT_C32, HEFT_F8_E5M2FNUZ, HEFT_F8_E8M0, HEFT_F4};

    for (size_t i = 0; i < HEFT_COUNT(later); i++)
        if (dtype == later[i])
            return false;
    return heft_torch_supports_dtype(dtype);
}
