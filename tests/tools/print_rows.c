/* print_rows.c: see judge.h. */
#include <inttypes.h>
#include <stdio.h>

#include "judge.h"

struct digest {
    uint64_t state; /* FNV-1a */
};

static bool take_piece(void *ctx, const void *piece, size_t n)
{
    struct digest *digest = ctx;
    const unsigned char *bytes = piece;

    for (size_t i = 0; i < n; i++)
        digest->state = (digest->state ^ bytes[i]) * 0x100000001b3;
    return true;
}

static void print_name(const struct heft_tensor *tensor)
{
    for (size_t i = 0; i < tensor->name_len; i++)
        printf("%02x", (unsigned)(unsigned char)tensor->name[i]);
}

static bool print_row(struct heft_checkpoint *c, size_t index, struct heft_error *err)
{
    struct digest digest = {0xcbf29ce484222325};
    struct heft_tensor tensor = HEFT_INIT(struct heft_tensor);

    if (!heft_tensor_at(c, index, &tensor) ||
        !heft_tensor_stream(c, index, NULL, 0, take_piece, &digest, err))
        return false;
    print_name(&tensor);
    printf("\t%s\t", heft_dtype_name(tensor.dtype));
    for (unsigned i = 0; i < tensor.rank; i++)
        printf("%s%" PRIu64, i ? "," : "", tensor.shape[i]);
    printf("\t%" PRIu64 "\t%016" PRIx64 "\t%" PRId64 "\n", tensor.bytes, digest.state,
           tensor.storage);
    return true;
}

bool print_rows(const char *path)
{
    struct heft_error err = {0};
    struct heft_checkpoint *c = heft_open(path, NULL, &err);
    char line[1024];
    bool ok = c != NULL;

    for (size_t i = 0; ok && i < heft_tensor_count(c); i++)
        ok = print_row(c, i, &err);
    if (!ok)
        fprintf(stderr, "heft-open: %s\n", heft_error_format(&err, line, sizeof line));
    heft_close(c);
    return ok;
}
