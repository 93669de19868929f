/* ptd_digest.c: named data whose key is the SHA-256 of its bytes, as exporters make keys for
 * delegates. These are the only checksums in such files.
 *
 *     "99dded3d16b4…4817" (64 digits)   ──► bytes with another digest: a note: weights may have been
 *                                           changed on purpose under the key that a program uses
 *
 * Data of different keys do not overlap, so that the bytes to be hashed are limited by the file's
 * size. */
#include "format/executorch/ptd_digest.h"

#define PIECE  ((size_t)1 << 20)
#define DIGITS (2 * HEFT_SHA256_BYTES)

/* Value of a lower-case hexadecimal digit, or 16. */
static unsigned digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0');
    return c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10 : 16;
}

bool heft_ptd_parse_digest(struct heft_str key, uint8_t digest[HEFT_SHA256_BYTES])
{
    if (key.n != DIGITS)
        return false;
    for (size_t i = 0; i < HEFT_SHA256_BYTES; i++) {
        const unsigned high = digit_value(key.p[2 * i]), low = digit_value(key.p[2 * i + 1]);

        if (high > 15 || low > 15)
            return false;
        digest[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

bool heft_ptd_hash_row(struct heft_reader *reader, const struct heft_row *row,
                       uint8_t digest[HEFT_SHA256_BYTES], struct heft_error *err)
{
    const size_t block = heft_dtype_block_bytes((enum heft_dtype)row->dtype);
    const size_t most = PIECE - PIECE % block;
    uint8_t *const piece = heft_alloc(PIECE, err);
    struct heft_sha256 sha;
    bool ok = piece != NULL;
    size_t now;

    heft_sha256_init(&sha);
    for (uint64_t at = 0; ok && at < row->bytes; at += now) {
        now = (size_t)heft_min_u64(most, row->bytes - at);
        ok = heft_reader_row(reader, row, at, piece, now, err);
        if (ok)
            heft_sha256_put(&sha, piece, now);
    }
    heft_sha256_end(&sha, digest);
    heft_free(piece);
    return ok;
}

static bool hash_storage(const struct heft_source *file, const struct heft_storage *storage,
                         uint8_t *piece, uint8_t digest[HEFT_SHA256_BYTES], struct heft_error *err)
{
    struct heft_sha256 sha;
    size_t now;

    heft_sha256_init(&sha);
    for (uint64_t at = 0; at < storage->len; at += now) {
        now = (size_t)heft_min_u64(PIECE, storage->len - at);
        if (!heft_source_read(file, storage->off + at, piece, now, err))
            return false;
        heft_sha256_put(&sha, piece, now);
    }
    heft_sha256_end(&sha, digest);
    return true;
}

static void report_mismatch(const struct heft_reporter *to, uint32_t source, uint64_t offset,
                            struct heft_str key)
{
    struct heft_error text = {0};

    heft_fail(&text, HEFT_OK, HEFT_NO_OFFSET,
              "SHA-256 mismatch of key %.*s: its bytes are not those of the export", (int)key.n,
              key.p);
    to->report(to->ctx, HEFT_NOTE, source, offset, text.text);
}

bool heft_ptd_check_keys(const struct heft_model *model, uint32_t source,
                         const struct heft_reporter *to, struct heft_error *err)
{
    const struct heft_source *const file = &model->sources[source].source;
    uint8_t digest[HEFT_SHA256_BYTES], wanted[HEFT_SHA256_BYTES], *piece = heft_alloc(PIECE, err);
    uint64_t left = file->size;
    bool ok = piece != NULL;

    for (size_t i = 0; ok && i < model->n_blobs; i++) {
        const struct heft_model_blob *const blob = &model->blobs[i];
        const struct heft_storage *const storage = &model->storages[blob->storage];

        if (storage->source != source || storage->is_missing ||
            !heft_ptd_parse_digest(blob->name, wanted))
            continue;
        if (storage->len > left) {
            to->report(to->ctx, HEFT_FINDING, source, storage->off,
                       "blobs whose keys are digests have more bytes than the file: at least one "
                       "key is wrong");
            break;
        }
        left -= storage->len;
        ok = hash_storage(file, storage, piece, digest, err);
        if (ok && memcmp(digest, wanted, sizeof digest) != 0)
            report_mismatch(to, source, storage->off, blob->name);
    }
    heft_free(piece);
    return ok;
}
