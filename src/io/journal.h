/* journal.h: progress of long work, in a file beside its output, so that another process can resume
 * it.
 *
 *     "heft journal 1\n\0"  16 bytes
 *     u32 n | u32 CRC-32C of the bytes | n bytes     a piece, and so on; bit 31 of n: the record
 *                                                    continues in the next piece
 *
 * When append returns, the record is on the disk. A record that was cut off while it was written
 * does not count, whichever of its pieces are complete, and is overwritten by the next one. A
 * process that has a journal open holds a lock on it. */
#ifndef HEFT_JOURNAL_H
#define HEFT_JOURNAL_H

#include "base/cursor.h"
#include "base/mem.h"

struct heft_journal;

/* Opens the journal at `path`; *out is NULL if there is none. With `make` it is created (HEFT_IO if
 * it exists already). HEFT_USAGE if another process has it open. */
HEFT_CHECKED bool heft_journal_open(const char *path, bool make, bool no_sync,
                                    struct heft_journal **out, struct heft_error *err);
/* Receives the pieces of complete records in order. Call once, before anything is appended. */
typedef bool heft_journal_fn(void *ctx, bool goes_on, struct heft_cur *piece,
                             struct heft_error *err);
HEFT_CHECKED bool heft_journal_read(struct heft_journal *j, heft_journal_fn *each, void *ctx,
                                    struct heft_error *err);
/* Writes a piece of a record that continues … */
HEFT_CHECKED bool heft_journal_begin(struct heft_journal *j, const struct heft_buf *piece,
                                     struct heft_error *err);
/* … and its last piece, or a record of one piece: the record counts from here on. */
HEFT_CHECKED bool heft_journal_append(struct heft_journal *j, const struct heft_buf *piece,
                                      struct heft_error *err);
/* Deletes the file if `remove`. */
void heft_journal_close(struct heft_journal *j, bool remove);

/* Numbers of a record, read by heft_cur_u64; texts are preceded by their length. */
void heft_journal_u64(struct heft_buf *record, uint64_t v);
void heft_journal_bytes(struct heft_buf *record, const void *p, size_t n);
HEFT_CHECKED static inline struct heft_bytes heft_journal_take(struct heft_cur *record)
{
    return heft_cur_take(record, heft_cur_u64(record));
}
/* False, with an error, if the record has more or fewer bytes than were read. */
HEFT_CHECKED bool heft_journal_ends(const struct heft_cur *record, struct heft_error *err);

#endif
