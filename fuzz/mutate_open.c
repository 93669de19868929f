/* mutate_open.c: mutates a checkpoint along its structure, so that the fuzzer gets past
 * directories, lengths and checksums.
 *
 *     zip          its records are extracted, one is changed, dropped, duplicated or renamed,
 *                  and a valid archive is built from them
 *     pickle       (in a zip, or the file itself) is split into opcodes: one is dropped, duplicated,
 *                  moved, or gets another argument
 *     other files  bytes are changed
 *
 * Every fourth mutation changes bytes, whatever the file. */
#include <stdint.h>
#include <stdlib.h>

#include "torch_zip.h"
#include "wire/pickle_machine.h"
#include "wire/zip.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

#define MOST_RECORDS 64
#define MOST_OPCODES 4096
#define MOST_PICKLE  65536

static uint32_t next(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* ---- pickles ----------------------------------------------------------------------------- */

struct token {
    size_t at, n;
};

static size_t line_length(const uint8_t *p, size_t n)
{
    const uint8_t *end = memchr(p, '\n', n);

    return end ? (size_t)(end - p) + 1 : n;
}

/* Bytes of an opcode's argument; more than n if it is truncated. */
static size_t argument_length(uint8_t arg, const uint8_t *p, size_t n)
{
    static const uint8_t fixed[] = {[HEFT_ARG_U8] = 1,  [HEFT_ARG_U16] = 2, [HEFT_ARG_U32] = 4,
                                    [HEFT_ARG_I32] = 4, [HEFT_ARG_U64] = 8, [HEFT_ARG_F64] = 8};

    switch (arg) {
    case HEFT_ARG_TEXT8:
        return n >= 1 ? 1 + (size_t)p[0] : 1;
    case HEFT_ARG_TEXT32:
    case HEFT_ARG_TEXT31:
        return n >= 4 ? 4 + (size_t)heft_le32(p) : 4;
    case HEFT_ARG_TEXT64:
        return n >= 8 ? 8 + (size_t)heft_le32(p) : 8;
    case HEFT_ARG_SHORT:
    case HEFT_ARG_LINE:
        return line_length(p, n);
    case HEFT_ARG_NAMES: {
        const size_t first = line_length(p, n);

        return first + line_length(p + first, n - first);
    }
    default:
        return arg < sizeof fixed ? fixed[arg] : 0;
    }
}

static size_t cut_pickle(const uint8_t *p, size_t n, struct token *tokens)
{
    size_t at = 0, count = 0;

    while (at < n && count < MOST_OPCODES && heft_pickle_ops[p[at]].name) {
        const size_t more = argument_length(heft_pickle_ops[p[at]].arg, p + at + 1, n - at - 1);

        if (more > n - at - 1)
            break;
        tokens[count++] = (struct token){at, 1 + more};
        at += 1 + more;
    }
    return count;
}

static void change_argument(uint8_t *p, const struct token *token, unsigned *seed)
{
    static const uint64_t numbers[] = {0,   1,     2,          3,          64,         255,
                                       256, 65535, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, UINT64_MAX};
    uint8_t raw[8];

    heft_put_le64(raw, numbers[next(seed) % HEFT_COUNT(numbers)]);
    if (token->n == 1)
        p[token->at] = (uint8_t)next(seed);
    else
        memcpy(p + token->at + 1, raw, heft_min_size(8, token->n - 1));
}

/* Appends the pickle with one change to `out`. */
static void change_pickle(struct heft_buf *out, struct heft_bytes in, unsigned *seed)
{
    static struct token tokens[MOST_OPCODES];
    static uint8_t copy[MOST_PICKLE];
    const size_t n = heft_min_size(in.n, sizeof copy), count = cut_pickle(in.p, n, tokens);
    const struct token *a, *b;

    memcpy(copy, in.p, n);
    if (count < 4) {
        heft_buf_put(out, copy, LLVMFuzzerMutate(copy, n, sizeof copy));
        return;
    }
    a = &tokens[next(seed) % count];
    b = &tokens[next(seed) % count];
    switch (next(seed) % 4) {
    case 0: /* drops a */
        heft_buf_put(out, copy, a->at);
        heft_buf_put(out, copy + a->at + a->n, n - a->at - a->n);
        break;
    case 1: /* duplicates a before b */
        heft_buf_put(out, copy, b->at);
        heft_buf_put(out, copy + a->at, a->n);
        heft_buf_put(out, copy + b->at, n - b->at);
        break;
    case 2:
        change_argument(copy, a, seed);
        heft_buf_put(out, copy, n);
        break;
    default: /* replaces a by b */
        heft_buf_put(out, copy, a->at);
        heft_buf_put(out, copy + b->at, b->n);
        heft_buf_put(out, copy + a->at + a->n, n - a->at - a->n);
        break;
    }
}

/* ---- zips -------------------------------------------------------------------------------- */

static bool is_pickle(const char *name)
{
    const size_t n = strlen(name);

    return n >= 4 && strcmp(name + n - 4, ".pkl") == 0;
}

static void change_record(struct torch_zip_record *r, struct heft_buf *room, unsigned *seed)
{
    static uint8_t copy[MOST_PICKLE];
    size_t n = heft_min_size(r->data.n, sizeof copy);

    if (is_pickle(r->name)) {
        change_pickle(room, r->data, seed);
    } else {
        memcpy(copy, r->data.p, n);
        n = LLVMFuzzerMutate(copy, n, sizeof copy);
        heft_buf_put(room, copy, n);
    }
    r->data = (struct heft_bytes){(const uint8_t *)room->p, room->n};
}

static size_t change_list(struct torch_zip_record *list, size_t n, struct heft_buf *room,
                          unsigned *seed)
{
    static const char *const names[] = {"a/data.pkl",  "a/constants.pkl", "a/byteorder",
                                        "a/version",   "a/data/0",        "a/data/1",
                                        "a/code/x.py", "a/constants/0",   ".data/version"};
    const size_t i = next(seed) % n, k = next(seed) % n;
    struct torch_zip_record kept = list[i];

    switch (next(seed) % 8) {
    case 0:
        list[i] = list[n - 1];
        return n - 1;
    case 1:
        list[i].name = names[next(seed) % HEFT_COUNT(names)];
        return n;
    case 2: /* payload of another record */
        list[i].data = list[k].data;
        return n;
    case 3:
        list[i] = list[k];
        list[k] = kept;
        return n;
    default:
        change_record(&list[i], room, seed);
        return n;
    }
}

/* Reads the records of a zip into `mem`. Returns their number; 0 if the input is not a zip or too
 * large. */
static size_t take_records(struct heft_bytes in, struct torch_zip_record *list,
                           struct heft_arena *mem)
{
    struct heft_error err = {0};
    struct heft_source source;
    struct heft_zip zip;

    heft_source_open_memory(&source, in, "input");
    if (!heft_zip_open(&zip, &source, NULL, mem, &err) || zip.count > MOST_RECORDS)
        return 0;
    for (size_t i = 0; i < zip.count; i++) {
        list[i] = (struct torch_zip_record){.name = zip.entries[i].name.p};
        if (!heft_zip_fetch(&source, &zip.entries[i], MOST_PICKLE, false, mem, &list[i].data, &err))
            return 0;
    }
    return zip.count;
}

static bool change_zip(struct heft_buf *out, struct heft_bytes in, unsigned *seed)
{
    struct torch_zip_record list[MOST_RECORDS];
    struct heft_arena mem = {0};
    struct heft_buf room = {0};
    size_t n = take_records(in, list, &mem);

    if (n) {
        n = change_list(list, n, &room, seed);
        torch_zip_records(out, list, n);
    }
    heft_buf_release(&room);
    heft_arena_release(&mem);
    return n > 0 && !out->failed;
}

/* ---- door -------------------------------------------------------------------------------- */

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    const struct heft_bytes in = {data, size};
    const bool is_zip = size > 4 && memcmp(data, "PK\3\4", 4) == 0;
    struct heft_buf out = {0};
    bool ok = false;

    if (next(&seed) % 4 != 0) {
        ok = is_zip && change_zip(&out, in, &seed);
        if (!is_zip && size > 1) {
            change_pickle(&out, in, &seed);
            ok = !out.failed;
        }
    }
    ok = ok && out.n > 0 && out.n <= max_size;
    if (ok) {
        size = out.n;
        memcpy(data, out.p, size);
    }
    heft_buf_release(&out);
    return ok ? size : LLVMFuzzerMutate(data, size, max_size);
}
