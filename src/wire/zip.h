/* zip.h: the directory of a zip or zip64 archive, as byte ranges.
 *
 * Everything is validated here, once: the central directory against its end records, every local
 * header against its central entry (magic, name, method, flags), payloads inside the file and
 * outside the directory, no two records overlapping, names unique also after ASCII case folding,
 * nothing encrypted, methods 0 and 8 only. Linear in the directory, apart from a sort. Borrows
 * nothing: names are in the arena. */
#ifndef HEFT_ZIP_H
#define HEFT_ZIP_H

#include "base/input_limits.h"
#include "io/inflate_stream.h"

enum heft_zip_method { HEFT_ZIP_STORED = 0, HEFT_ZIP_DEFLATED = 8 };
/* State of entries from heft_zip_salvage; heft_zip_open only returns sound ones. */
enum heft_zip_fault {
    HEFT_ZIP_SOUND = 0,
    HEFT_ZIP_MENDED,   /* the local header is damaged, but descriptor or checksum confirm the
                        payload */
    HEFT_ZIP_DOUBTFUL, /* directory and descriptor differ, and the checksum matches neither */
    HEFT_ZIP_OPEN,     /* the end of the payload is unknown: [data, data+packed) is the rest of the
                      file, and size is the same */
    HEFT_ZIP_LOST      /* the local header is damaged, and the payload was not found: packed is 0 */
};

struct heft_zip_entry {
    /* valid UTF-8, no NUL, not absolute, no `..`, no backslash (but see limits.labels);
     * NUL-terminated */
    struct heft_str name;
    uint64_t header; /* offset of the local header */
    uint64_t data;   /* offset of the payload, from the local header's own lengths */
    uint64_t packed; /* bytes of the payload in the file */
    uint64_t size;   /* bytes when decompressed; equal to packed if stored */
    uint64_t end;    /* end of the payload, and of its descriptor if it has one */
    uint32_t crc;    /* CRC-32 of the decompressed bytes; 0 with size > 0: not computed */
    uint16_t method;
    bool is_folder : 1; /* name ends in '/' */
    bool has_first : 1; /* `first` was read with the local header */
    unsigned fault : 6; /* enum heft_zip_fault */
    uint8_t first;      /* first byte of a stored payload */
};

struct heft_zip_unread {
    uint64_t limit;       /* begin of the next record or of the directory */
    uint32_t index, next; /* of its entry and of the next one; the last has no next: count */
    uint16_t flags;       /* in the directory */
};

struct heft_zip {
    struct heft_zip_entry *entries; /* in the order of the directory */
    size_t count;
    uint64_t directory, directory_size; /* the central directory */
    uint64_t tail; /* begin of the end records (= directory + directory_size) */
    uint64_t tail_size;
    uint64_t trailing; /* bytes after the end record and its comment (torch tolerates up to
                          65557): reported */
    bool zip64;
    /* Records whose local headers were not read (limits.may_leave_unread), in the order of the file:
     * their payloads are where the directory puts them. */
    struct heft_zip_unread *unread;
    size_t n_unread;
    bool walked; /* from heft_zip_salvage, without the directory: it and its tail are empty, and
                    begin at the end of the last record found */
};

/* Zero means the default. */
struct heft_zip_limits {
    uint64_t entries;   /* largest number, which bounds memory: 1 million */
    uint64_t directory; /* bytes of the central directory: 256 MiB */
    uint64_t ratio;     /* inflated : packed, against deflate bombs: 1100 */
    /* bytes of all deflated entries together: 64 times the file, at least 4 GiB */
    uint64_t unpacked;
    bool labels; /* names are not paths and are case-sensitive: any text without NUL, each
                     unique; code page 437 unless flagged as UTF-8 */
    /* Local headers of a slow source are left unread where payloads can be found without them. The
     * caller must use heft_zip_compare_later. */
    bool may_leave_unread;
};
/* For an archive in an input of that many bytes. */
struct heft_zip_limits heft_zip_limits_of(const struct heft_limits *limits, uint64_t file_bytes);

HEFT_CHECKED bool heft_zip_open(struct heft_zip *out, const struct heft_source *src,
                                const struct heft_zip_limits *limits, struct heft_arena *arena,
                                struct heft_error *err);
/* The same with names in an arena of their own, for callers that keep them longer; and with the
 * last bytes of the source, for callers that have them: the rest of the 65557 bytes in which an
 * archive must end is read. */
HEFT_CHECKED bool heft_zip_open_apart(struct heft_zip *out, const struct heft_source *src,
                                      struct heft_bytes tail, const struct heft_zip_limits *limits,
                                      struct heft_arena *arena, struct heft_arena *names,
                                      struct heft_error *err);
/* zip_unread.c. Replaces the source of an archive by one that compares the local header of a record
 * that was left unread when the first of its payload is read: then HEFT_MALFORMED as from
 * heft_zip_open, or HEFT_UNSUPPORTED if the payload lies elsewhere. Nothing changes if none was left.
 * Entries are copied; names must exist as long as the source. The source below is closed with it. */
HEFT_CHECKED bool heft_zip_compare_later(const struct heft_zip *zip, struct heft_source *src,
                                         struct heft_arena *arena, struct heft_error *err);
/* Opens an archive that may be truncated or damaged. If the directory is intact, payloads with
 * damaged local headers are found by the data after them. Otherwise walks from one local header to
 * the next, from the begin of the file to the first place where none follows: only the last record
 * of such a walk may be OPEN. Linear in the file. *why is what is wrong with the directory (code
 * HEFT_OK if nothing), also if nothing was found and the call fails with it. */
HEFT_CHECKED bool heft_zip_salvage(struct heft_zip *out, const struct heft_source *src,
                                   const struct heft_zip_limits *limits, struct heft_arena *arena,
                                   struct heft_error *why, struct heft_error *err);
/* True if `part`, bytes of an archive, has a directory entry whose name ends in `suffix`. */
bool heft_zip_lists(struct heft_bytes part, const char *suffix);
/* The entry with exactly that name, or NULL. Linear: callers that look up many use a
 * heft_strmap. */
const struct heft_zip_entry *heft_zip_find(const struct heft_zip *zip, struct heft_str name);
/* The record's payload. Its CRC-32 is compared unless it is 0 (not computed). */
struct heft_stream heft_zip_stream(const struct heft_source *src,
                                   const struct heft_zip_entry *entry);
/* A whole record in memory, decompressed, at most `cap` bytes (HEFT_LIMIT). The CRC is compared
 * unless it is 0 or check is false. */
HEFT_CHECKED bool heft_zip_fetch(const struct heft_source *src, const struct heft_zip_entry *entry,
                                 uint64_t cap, bool check, struct heft_arena *arena,
                                 struct heft_bytes *out, struct heft_error *err);
/* The first bytes of a record, decompressed: up to *n, which is set to their number. Fewer if the
 * record ends before, or its deflate stream is damaged. */
HEFT_CHECKED bool heft_zip_peek(const struct heft_source *src, const struct heft_zip_entry *entry,
                                uint8_t *out, size_t *n, struct heft_error *err);
/* Reads the data descriptor after a payload and compares it with the directory: with or without
 * signature, with 32- or 64-bit sizes. *length is its actual size (0 if there is none).
 * HEFT_MALFORMED if no form matches. Opening does not do this, because it would read after every
 * payload. */
HEFT_CHECKED bool heft_zip_check_descriptor(const struct heft_source *src,
                                            const struct heft_zip_entry *entry, uint64_t *length,
                                            struct heft_error *err);
/* The same for all records of an archive; reports each mismatch. */
HEFT_CHECKED bool
heft_zip_check_descriptors(const struct heft_source *src, const struct heft_zip_limits *limits,
                           void (*tell)(void *ctx, uint64_t offset, const char *text), void *ctx,
                           struct heft_error *err);

#endif
