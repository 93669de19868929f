/* inflate_stream.h: a member of an archive, stored or raw deflate, read from front to back.
 *
 *     struct heft_stream_reader r;
 *     ok = heft_stream_open(&r, &stream, piece, err) &&
 *          heft_stream_take(&r, out, n, err) && … && heft_stream_end(&r, err);
 *     heft_stream_close(&r);
 *
 * Errors: HEFT_MALFORMED (invalid deflate data; more or fewer bytes than declared; bytes after the
 * end of the stream), HEFT_MISMATCH (CRC-32). They have no offset: the caller knows where the
 * member is. */
#ifndef HEFT_INFLATE_STREAM_H
#define HEFT_INFLATE_STREAM_H

#include "io/source.h"

/* A member: `packed` bytes at `off` of parent, which unpack to exactly `size` bytes. Inflating
 * stops at that size, so a deflate bomb costs no more than what its member declares. */
struct heft_stream {
    const struct heft_source *parent;
    uint64_t off, packed, size;
    uint32_t crc; /* CRC-32 of the unpacked bytes, compared if check_crc */
    bool check_crc;
    bool is_stored; /* not compressed: packed equals size */
};

struct heft_inflate;
struct heft_stream_reader {
    struct heft_stream of;
    uint64_t at, left; /* packed bytes: offset of the next one to be read, how many are left */
    struct heft_bytes waiting; /* packed bytes in memory that are not yet consumed */
    uint64_t made;             /* bytes handed out */
    uint32_t crc;              /* of these, if of.check_crc */
    bool is_done;              /* the deflate stream has ended */
    struct heft_inflate *z;    /* NULL if stored */
    uint8_t *piece;            /* made by the first refill */
    size_t room;               /* size of a piece in bytes */
};

/* Deflated members are read by pieces of at most `piece` bytes, stored ones as they are taken. A
 * reader that could not be opened may be closed. */
HEFT_CHECKED bool heft_stream_open(struct heft_stream_reader *r, const struct heft_stream *stream,
                                   size_t piece, struct heft_error *err);
void heft_stream_close(struct heft_stream_reader *r);
/* The next n bytes. */
HEFT_CHECKED bool heft_stream_take(struct heft_stream_reader *r, void *out, size_t n,
                                   struct heft_error *err);
/* The next bytes of a deflate stream, at most *n. Fewer where the stream ends (is_done), where its
 * packed bytes do, or where this fails: *n becomes how many there are. */
HEFT_CHECKED bool heft_stream_take_some(struct heft_stream_reader *r, uint8_t *out, size_t *n,
                                        struct heft_error *err);
/* Checks that all declared bytes were taken, that the stream ends here and nothing follows it, and
 * the CRC-32. */
HEFT_CHECKED bool heft_stream_end(struct heft_stream_reader *r, struct heft_error *err);
/* Declared bytes that have not been taken. */
static inline uint64_t heft_stream_left(const struct heft_stream_reader *r)
{
    return r->of.size - r->made;
}

/* Offset in the file of the next byte to be taken; HEFT_NO_OFFSET if the member is deflated. */
static inline uint64_t heft_stream_offset(const struct heft_stream_reader *r)
{
    return r->of.is_stored ? r->of.off + r->made : HEFT_NO_OFFSET;
}

/* For callers that read the packed bytes themselves, such as headers between deflate streams:
 * `waiting` has at least one byte, unless the range ends here. */
HEFT_CHECKED bool heft_stream_refill(struct heft_stream_reader *r, struct heft_error *err);
/* The next packed byte begins another deflate stream. */
void heft_stream_restart(struct heft_stream_reader *r);

/* Callback for consecutive pieces: [at, at+n) of the unpacked bytes. They are only valid if the
 * whole read succeeds. */
typedef bool heft_stream_take_fn(void *ctx, uint64_t at, const uint8_t *p, size_t n,
                                 struct heft_error *err);
/* Reads a whole member. Errors name the file; a range outside of the file or a size that its packed
 * bytes cannot have is HEFT_MALFORMED before anything is read. */
HEFT_CHECKED bool heft_stream_read(const struct heft_stream *stream, heft_stream_take_fn *take,
                                   void *ctx, struct heft_error *err);
/* The same without a callback. */
HEFT_CHECKED bool heft_stream_check(const struct heft_stream *stream, struct heft_error *err);
/* Whether range and sizes are possible, as heft_stream_read checks first. The error does not name
 * the file. */
HEFT_CHECKED bool heft_stream_check_range(const struct heft_stream *stream, struct heft_error *err);

#endif
