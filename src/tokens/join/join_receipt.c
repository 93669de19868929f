/* join_receipt.c: receipts of parts (tokens/output/part_receipt.h). Files of one run must be all its parts,
 * in order, unchanged since they were written; files without receipts are joined as they are. */
#include "base/checksum.h"
#include "io/os.h"
#include "tokens/join/join.h"

#include <errno.h>

/* ---- reading -------------------------------------------------------------------------------- */

static bool parse(struct heft_join_part *part, const struct heft_source *file,
                  struct heft_error *err)
{
    uint8_t text[HEFT_PART_BYTES];

    if (file->size > sizeof text)
        return heft_fail(err, HEFT_LIMIT, sizeof text, "a receipt of more than %zu bytes",
                         sizeof text);
    return heft_source_read(file, 0, text, (size_t)file->size, err) &&
           heft_part_receipt_parse(&part->receipt, (struct heft_bytes){text, (size_t)file->size},
                                   err);
}

bool heft_join_read_receipt(struct heft_join_part *part, struct heft_error *err)
{
    struct heft_source file = {0};
    struct heft_os_stat st;
    struct heft_buf path = {0};
    bool ok;

    heft_buf_printf(&path, "%s%s", part->path, HEFT_PART_RECEIPT);
    heft_buf_char(&path, '\0');
    ok = heft_buf_ok(&path, err);
    part->has_receipt = ok && (heft_os->stat_path(path.p, &st) == 0 || !heft_os_is_missing(errno));
    if (part->has_receipt)
        ok = (heft_source_open_file(&file, path.p, err) && parse(part, &file, err)) ||
             heft_error_file(err, path.p);
    heft_source_close(&file);
    heft_buf_release(&path);
    return ok;
}

/* ---- one receipt beside another ------------------------------------------------------------- */

/* What differs between the runs of two parts; NULL: nothing. */
static const char *difference(const struct heft_part_receipt *a, const struct heft_part_receipt *b)
{
    if (a->count != b->count)
        return "another number of parts";
    if (a->vocabulary != b->vocabulary)
        return "another vocabulary";
    if (a->options != b->options)
        return "other options, or another version of heft";
    if (a->inputs != b->inputs || a->bytes != b->bytes || a->inputs_mark != b->inputs_mark)
        return "other inputs, or inputs that have changed since";
    return NULL;
}

static bool check_run(const struct heft_join *j, const struct heft_join_part *part,
                      struct heft_error *err)
{
    const char *differs = difference(&j->run, &part->receipt);

    return !differs ||
           heft_fail(
               err, HEFT_MISMATCH, HEFT_NO_OFFSET,
               "of another run than %s: %s; encode all parts with the same inputs and options",
               j->parts[0], differs);
}

static bool check_place(const struct heft_join_part *part, size_t i, struct heft_error *err)
{
    const struct heft_part_receipt *r = &part->receipt;

    if (i >= r->count)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "given in addition to all %" PRIu64 " parts of the run", r->count);
    return r->index == i + 1 ||
           heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                     "part %" PRIu64 " of %" PRIu64 "; expected part %zu: give the parts in order",
                     r->index, r->count, i + 1);
}

bool heft_join_check_receipt(struct heft_join *j, const struct heft_join_part *part, size_t i,
                             struct heft_error *err)
{
    if (i == 0) {
        j->has_receipts = part->has_receipt;
        j->run = part->receipt;
    }
    if (part->has_receipt != j->has_receipts)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "has %s receipt (%s%s), unlike %s: join the parts of one run, or files "
                         "without receipts",
                         part->has_receipt ? "a" : "no", part->path, HEFT_PART_RECEIPT,
                         j->parts[0]);
    return !part->has_receipt || (check_run(j, part, err) && check_place(part, i, err));
}

bool heft_join_check_count(const struct heft_join *j, struct heft_error *err)
{
    return !j->has_receipts || j->run.count == j->n ||
           heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                     "%zu of the %" PRIu64 " parts of a run: part %zu is missing", j->n,
                     j->run.count, j->n + 1);
}

/* ---- a receipt beside its files ------------------------------------------------------------- */

static bool fail_changed(const char *what, uint64_t found, uint64_t expected,
                         struct heft_error *err)
{
    return heft_fail(err, HEFT_MISMATCH, HEFT_NO_OFFSET,
                     "%s %" PRIu64 ", its receipt says %" PRIu64
                     ": changed since it was written; encode the part again",
                     what, found, expected);
}

bool heft_join_check_file(const struct heft_join_part *part, unsigned file, uint64_t bytes,
                          uint32_t crc32c, struct heft_error *err)
{
    const struct heft_part_receipt *r = &part->receipt;

    if (file >= r->n_files)
        return heft_fail(err, HEFT_MISMATCH, HEFT_NO_OFFSET, "its receipt does not name it");
    if (bytes != r->files[file].bytes)
        return fail_changed("bytes:", bytes, r->files[file].bytes, err);
    return crc32c == r->files[file].crc32c ||
           heft_fail(err, HEFT_MISMATCH, HEFT_NO_OFFSET,
                     "CRC-32C is %08" PRIx32 ", its receipt says %08" PRIx32
                     ": changed since it was written; encode the part again",
                     crc32c, r->files[file].crc32c);
}

bool heft_join_sum(struct heft_join *j, const struct heft_source *file, uint64_t end,
                   uint32_t *crc32c, struct heft_error *err)
{
    for (uint64_t at = 0; at < end; at += HEFT_JOIN_TABLE) {
        const size_t n = (size_t)heft_min_u64(HEFT_JOIN_TABLE, end - at);

        if (!heft_source_read(file, at, j->buffer, n, err))
            return false;
        *crc32c = heft_crc32c(*crc32c, j->buffer, n);
    }
    return true;
}

/* Length of the end of the ids' name that an index replaces. */
static size_t replaced(const struct heft_join *j)
{
    return j->format->is_renamed ? 4 : 0;
}

bool heft_join_check_beside(struct heft_join *j, struct heft_join_part *part,
                            struct heft_error *err)
{
    for (unsigned i = 0; i < HEFT_COUNT(j->format->index) && j->format->index[i]; i++) {
        uint32_t crc32c = 0;

        if (!heft_join_open_beside(part, part->path, replaced(j), j->format->index[i], err))
            return false;
        if (!heft_join_sum(j, &part->index, part->index.size, &crc32c, err) ||
            !heft_join_check_file(part, i + 1, part->index.size, crc32c, err))
            return heft_error_file(err, part->index_path.p);
    }
    return true;
}
