/* fuzz_encode_npz.c: .npz files as inputs of encode: their arrays are copied, or read as ids. An
 * input with the signature of a zip is the file; any other is the text of an array header, an end of
 * line and the data, which are completed to an archive of two equal arrays with valid checksums.
 *
 *     byte 0   format of the output; its bits 3 and 4: width of ids; bit 5: a text file follows
 *     byte 1…  the input
 *
 * Invariants: encoding fails with an error and leaves no file, or the output has the number of
 * tokens that is reported and can be read. */
#include <stdint.h>
#include <stdio.h>

#include "base/checksum.h"
#include "core/exec.h"
#include "heft/tokens.h"
#include "open_format.h"
#include "scratch.h"
#include "torch_zip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const formats[] = {"npz", "bin", "npy", "llmc", "megatron", "ids", "npz", NULL};

static struct heft_vocab *vocab(void)
{
    static struct heft_vocab *v;
    static const char merges[] = "#version: 0.2\nH e\nl l\n";
    struct heft_error err = {0};
    char *folder, *path;

    if (v)
        return v;
    folder = heft_scratch_new();
    heft_scratch_write(folder, "vocab.bpe", merges, sizeof merges - 1);
    path = heft_scratch_path(folder, "vocab.bpe");
    v = heft_vocab_open(path, &err);
    expect(v != NULL);
    free(path);
    heft_scratch_free(folder);
    return v;
}

/* Builds an archive around the text of a header and the data of an array. */
static void archive_of(struct heft_buf *out, const uint8_t *data, size_t size)
{
    const uint8_t *const newline = size ? memchr(data, '\n', size) : NULL;
    const size_t n = newline ? (size_t)(newline - data) + 1 : size;
    struct heft_buf array = {0};
    struct torch_zip_record records[] = {{.name = "arr_0.npy"}, {.name = "arr_1.npy"}};

    heft_buf_put(&array, "\x93NUMPY\1", 8);
    torch_zip_u16(&array, (uint16_t)n);
    heft_buf_put(&array, data, n & 0xFFFF);
    heft_buf_put(&array, data + n, size - n);
    for (size_t i = 0; i < HEFT_COUNT(records); i++) {
        records[i].data = (struct heft_bytes){(const uint8_t *)array.p, array.n};
        records[i].crc = array.n ? heft_crc32(0, array.p, array.n) : 0;
    }
    torch_zip_records(out, records, HEFT_COUNT(records));
    heft_buf_release(&array);
}

static bool expect_no_bad(void *ctx, uint32_t storage, const struct heft_error *why,
                          struct heft_error *err)
{
    (void)ctx, (void)storage, (void)err;
    expect_success(false, why);
    return false;
}

static void expect_arrays(const char *path)
{
    const struct heft_exec_options how = {.threads = 1};
    struct heft_error err = {0};
    struct heft_model model;

    heft_model_init(&model, NULL, &heft_formats);
    expect_success(heft_registry_open(&model, &path, 1, "npz", &err) &&
                       heft_model_validate(&model, &err) &&
                       heft_exec_verify(&model, NULL, &how, expect_no_bad, NULL, &err),
                   &err);
    read_rows(&model);
    heft_model_release(&model);
}

/* Streams and arrays of ids: the sampler reads all formats but ids and npz of other arrays. */
static void expect_ids(const char *path, unsigned width, uint64_t tokens)
{
    const struct heft_sampler_options how = {.size = sizeof how, .width = width};
    struct heft_error err = {0};
    struct heft_sampler *const s = heft_sampler_open(&path, 1, &how, &err);

    expect_success(s != NULL, &err);
    expect(heft_sampler_total(s) == tokens);
    heft_sampler_close(s);
}

static void expect_output(const struct heft_encoding *e, const char *format)
{
    const char *const path = heft_encode_output(e, 0);
    struct heft_encode_summary sum = HEFT_INIT(struct heft_encode_summary);

    heft_encode_summarize(e, &sum);
    if (!format)
        return;
    expect(path != NULL);
    if (strcmp(format, "npz") == 0)
        expect_arrays(path);
    else if (strcmp(format, "ids") != 0 && sum.tokens > 0)
        expect_ids(path, heft_encode_width(e), sum.tokens);
}

static void encode(const char *folder, uint8_t how)
{
    const char *const format = formats[how % 8];
    char *const paths[] = {heft_scratch_path(folder, "in.npz"),
                           heft_scratch_path(folder, "in.txt")};
    char *const output = heft_scratch_path(folder, "x");
    const struct heft_encode_options options = {.size = sizeof options,
                                                .output = format ? output : NULL,
                                                .format = format,
                                                .width = how >> 3 & 3 ? (how >> 3 & 1) * 2 + 2U : 0,
                                                .no_sync = true,
                                                .threads = 1};
    struct heft_error err = {0};
    struct heft_encoding *const e =
        heft_encode_plan(vocab(), (const char *const *)paths, how & 0x20 ? 2 : 1, &options, &err);
    const bool ok = e && heft_encode_run(e, &err);

    expect_outcome(ok, &err);
    if (ok)
        expect_output(e, format);
    heft_encode_free(e);
    free(output);
    free(paths[0]);
    free(paths[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct heft_buf zip = {0};
    char *folder;

    if (size < 3 || size > 1 << 16)
        return 0;
    folder = heft_scratch_new();
    if (data[1] == 'P' && data[2] == 'K')
        heft_buf_put(&zip, data + 1, size - 1);
    else
        archive_of(&zip, data + 1, size - 1);
    heft_scratch_write(folder, "in.npz", zip.p, zip.n);
    heft_scratch_write(folder, "in.txt", "Hello world", 11);
    encode(folder, data[0]);
    heft_scratch_free(folder);
    heft_buf_release(&zip);
    return 0;
}
