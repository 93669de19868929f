/* diff_strings.c: compares strings that two files encode in their own ways. The reader passes them one
 * by one, so the sides cannot be read in step: the digests of the groups of one side are kept. */
#include "measure/diff_strings.h"

#include "base/endian.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "core/reader.h"

enum { MOST_GROUPS = 65536 };

struct digest {
    uint8_t bytes[HEFT_SHA256_BYTES];
};

struct comparison {
    struct digest *digests; /* of the groups of the first side */
    uint64_t each;          /* strings in a group */
    struct heft_sha256 sha; /* of the current group */
    uint64_t strings;       /* passed so far */
    bool is_second;
    struct heft_diff_strings *out;
};

static void end_group(struct comparison *c)
{
    struct digest *const kept = &c->digests[(c->strings - 1) / c->each];
    struct digest now;

    heft_sha256_end(&c->sha, now.bytes);
    heft_sha256_init(&c->sha);
    if (!c->is_second)
        *kept = now;
    else
        c->out->differing += memcmp(kept->bytes, now.bytes, sizeof now.bytes) != 0;
}

static bool add_string(void *ctx, const char *text, size_t n)
{
    struct comparison *const c = ctx;
    uint8_t length[8];

    heft_put_le64(length, n);
    heft_sha256_put(&c->sha, length, sizeof length);
    heft_sha256_put(&c->sha, text, n);
    if (++c->strings % c->each == 0)
        end_group(c);
    return true;
}

static bool read_side(struct comparison *c, const struct heft_model *model,
                      const struct heft_row *row, struct heft_error *err)
{
    const struct heft_storage *const storage = &model->storages[row->storage];

    c->strings = 0;
    heft_sha256_init(&c->sha);
    if (storage->is_missing)
        heft_reader_refuse_missing(model, row->storage, err);
    else if (heft_storage_strings(storage)(model, storage, add_string, c, err)) {
        if (c->strings % c->each != 0)
            end_group(c);
        return true;
    }
    heft_error_file(err, model->sources[storage->source].path);
    return heft_error_about(err, "tensor", row->name);
}

bool heft_diff_compare_strings(const struct heft_model *model_a, const struct heft_row *a,
                               const struct heft_model *model_b, const struct heft_row *b,
                               struct heft_diff_strings *out, struct heft_error *err)
{
    const uint64_t n = model_a->storages[a->storage].more->count;
    struct comparison c = {.each = n / MOST_GROUPS + 1, .out = out};
    bool ok;

    *out = (struct heft_diff_strings){0};
    c.digests = heft_calloc((size_t)(n / c.each) + 1, sizeof *c.digests, err);
    ok = c.digests && read_side(&c, model_a, a, err);
    c.is_second = true;
    ok = ok && read_side(&c, model_b, b, err);
    heft_free(c.digests);
    out->differ = out->differing > 0;
    out->is_counted = c.each == 1;
    if (!out->is_counted)
        out->differing = 0;
    return ok;
}
