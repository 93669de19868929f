/* journal.h: how far a long piece of work has come, in a file beside its output, so that another
 * process may go on with it.
 *
 *     "heft journal 1\n\0"  16 bytes
 *     u32 n | u32 CRC-32C of the bytes | n bytes     a piece, and so on; bit 31 of n: the record goes
 *                                                    on in the next one
 *
 * A record that append has returned from is on the disk. One that was cut off while it was written
 * does not count, whatever pieces of it are there, and is written over by the next. Whoever has a
 * journal open holds a lock on it. */
#ifndef HEFT_JOURNAL_H
#define HEFT_JOURNAL_H

#include "base/cursor.h"
#include "base/mem.h"

struct heft_journal;

/* The journal at `path`, NULL in *out where there is none; made where `make` says so (HEFT_IO where
 * one is there already). HEFT_USAGE where another process has it. */
HEFT_CHECKED bool heft_journal_open(const char *path, bool make, bool no_sync,
                                    struct heft_journal **out, struct heft_error *err);
/* The pieces of whole records in their order. Once, before anything is added. */
typedef bool heft_journal_fn(void *ctx, bool goes_on, struct heft_cur *piece,
                             struct heft_error *err);
HEFT_CHECKED bool heft_journal_read(struct heft_journal *j, heft_journal_fn *each, void *ctx,
                                    struct heft_error *err);
/* A piece of a record that goes on … */
HEFT_CHECKED bool heft_journal_begin(struct heft_journal *j, const struct heft_buf *piece,
                                     struct heft_error *err);
/* … its last one, or a record in one piece: from here on it counts. */
HEFT_CHECKED bool heft_journal_append(struct heft_journal *j, const struct heft_buf *piece,
                                      struct heft_error *err);
/* Takes the file away where `remove` says so. */
void heft_journal_close(struct heft_journal *j, bool remove);

/* Numbers of a record, read by heft_cur_u64; texts with their length in front. */
void heft_journal_u64(struct heft_buf *record, uint64_t v);
void heft_journal_bytes(struct heft_buf *record, const void *p, size_t n);
HEFT_CHECKED static inline struct heft_bytes heft_journal_take(struct heft_cur *record)
{
    return heft_cur_take(record, heft_cur_u64(record));
}
/* False, and an error, where a record has less or more than was read. */
HEFT_CHECKED bool heft_journal_ends(const struct heft_cur *record, struct heft_error *err);

#endif
