/* fuzz_join.c: untrusted parts of heft join. The input is one part, which is joined with itself:
 *
 *     byte 0   format; bit 3 and 4: width of ids in bin
 *     u16      bytes of the ids, little-endian
 *     u8       ds: bytes of the description
 *     …        the ids, the description, the index
 *
 * Invariants: joining fails with an error and leaves no file, or the output is a part that is joined
 * alone to the same bytes. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "expect.h"
#include "heft/tokens.h"
#include "scratch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct {
    const char *format, *name, *out, *again;
    const char *beside[2]; /* ends of names */
} kinds[] = {
    {"bin", "a.bin", "x.bin", "y.bin", {NULL, NULL}},
    {"npy", "a.npy", "x.npy", "y.npy", {NULL, NULL}},
    {"llmc", "a.bin", "x.bin", "y.bin", {NULL, NULL}},
    {"megatron", "a.bin", "x.bin", "y.bin", {".idx", NULL}},
    {"ids", "a.ids", "x.ids", "y.ids", {NULL, NULL}},
    {"ds", "a.ds", "x.ds", "y.ds", {".ds.index", ".ds.metadata"}},
};

static bool join(const char *folder, size_t kind, const char *from, size_t n, const char *to,
                 unsigned width, struct heft_error *err)
{
    char *const part = heft_scratch_path(folder, from), *const output =
                                                            heft_scratch_path(folder, to);
    const char *const parts[] = {part, part};
    const struct heft_join_options how = {
        .size = sizeof how, .format = kinds[kind].format, .width = width, .no_sync = true};
    struct heft_join_summary sum = HEFT_INIT(struct heft_join_summary);
    const bool ok = heft_join(parts, n, output, &how, &sum, err);

    expect_outcome(ok, err);
    expect(ok ? sum.parts == n : !heft_scratch_has(folder, to));
    free(output);
    free(part);
    return ok;
}

static void expect_equal(const char *folder, const char *a, const char *b)
{
    size_t n = 0, m = 0;
    char *const x = heft_scratch_read(folder, a, &n), *const y = heft_scratch_read(folder, b, &m);

    expect(x && y && n == m && memcmp(x, y, n) == 0);
    free(x);
    free(y);
}

static void expect_stable(const char *folder, size_t kind, unsigned width)
{
    struct heft_error err = {0};

    expect_success(join(folder, kind, kinds[kind].out, 1, kinds[kind].again, width, &err), &err);
    expect_equal(folder, kinds[kind].out, kinds[kind].again);
    for (size_t i = 0; i < 2 && kinds[kind].beside[i]; i++) {
        char a[32], b[32];

        (void)snprintf(a, sizeof a, "x%s", kinds[kind].beside[i]);
        (void)snprintf(b, sizeof b, "y%s", kinds[kind].beside[i]);
        expect_equal(folder, a, b);
    }
}

/* Writes the files of the part. */
static void write_part(const char *folder, size_t kind, const uint8_t *data, size_t size)
{
    const size_t n = heft_min_size((size_t)data[0] | (size_t)data[1] << 8, size - 3);
    const bool is_ds = kinds[kind].beside[1] != NULL;
    const size_t described = is_ds ? heft_min_size(data[2], size - 3 - n) : 0;

    data += 3;
    heft_scratch_write(folder, kinds[kind].name, data, n);
    if (is_ds)
        heft_scratch_write(folder, "a.ds.metadata", data + n, described);
    if (kinds[kind].beside[0])
        heft_scratch_write(folder, is_ds ? "a.ds.index" : "a.idx", data + n + described,
                           size - 3 - n - described);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const size_t kind = size ? (data[0] & 7) % HEFT_COUNT(kinds) : 0;
    const unsigned width = size ? (data[0] >> 3 & 3) * 2U : 0;
    struct heft_error err = {0};
    char *folder;

    if (size < 4 || size > 1 << 16)
        return 0;
    folder = heft_scratch_new();
    write_part(folder, kind, data + 1, size - 1);
    if (join(folder, kind, kinds[kind].name, 2, kinds[kind].out, width, &err))
        expect_stable(folder, kind, width);
    heft_scratch_free(folder);
    return 0;
}
