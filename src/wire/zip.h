/* zip.h: the directory of a zip or zip64 archive, as byte ranges.
 *
 * Everything is checked here, once: the central directory against its end records, every local
 * header against its central entry (magic, name, method, flags), payloads inside the file and
 * outside the directory, no two records overlapping, names unique also after ASCII case folding,
 * nothing encrypted, methods 0 and 8 only. Linear in the directory, apart from a sort. Borrows
 * nothing: names are in the arena. */
#ifndef HEFT_ZIP_H
#define HEFT_ZIP_H

#include "io/inflate_stream.h"

enum heft_zip_method { HEFT_ZIP_STORED = 0, HEFT_ZIP_DEFLATED = 8 };
/* Of entries that heft_zip_salvage gives; heft_zip_open knows only sound ones. */
enum heft_zip_fault {
    HEFT_ZIP_SOUND = 0,
    HEFT_ZIP_MENDED, /* the local header is damaged, but descriptor or checksum prove the payload */
    HEFT_ZIP_DOUBTFUL, /* directory and descriptor differ, and the checksum is neither's */
    HEFT_ZIP_OPEN, /* nothing says where the payload ends: [data, data+packed) is what the file has
                      from there on, and size is as much */
    HEFT_ZIP_LOST  /* the local header is damaged, and the payload was not found: packed is 0 */
};

struct heft_zip_entry {
    struct heft_str
        name; /* valid UTF-8, no NUL, not absolute, no `..`, no backslash (but see limits.labels);
                 NUL-terminated */
    uint64_t header; /* offset of the local header */
    uint64_t data;   /* offset of the payload, from the local header's own lengths */
    uint64_t packed; /* bytes of the payload in the file */
    uint64_t size;   /* bytes when unpacked; equal to packed where stored */
    uint64_t end;    /* end of the payload and of its descriptor, where it has one */
    uint32_t crc;    /* CRC-32 of the unpacked bytes; 0 with size > 0: not computed */
    uint16_t method;
    bool is_folder; /* name ends in '/' */
    uint8_t fault;  /* enum heft_zip_fault */
};

struct heft_zip {
    struct heft_zip_entry *entries; /* in the order of the directory */
    size_t count;
    uint64_t directory, directory_size; /* the central directory */
    uint64_t tail; /* where the end records begin (= directory + directory_size) */
    uint64_t tail_size;
    uint64_t trailing; /* bytes after the end record and its comment (torch tolerates up to 65557):
                          reported */
    bool zip64;
    bool walked; /* by heft_zip_salvage, without the directory: it and its tail are empty, and begin
                    where the last record that was found ends */
};

/* Zero means the default. */
struct heft_zip_limits {
    uint64_t entries;   /* against a directory that makes us allocate: 1 million */
    uint64_t directory; /* bytes of the central directory: 256 MiB */
    uint64_t ratio;     /* inflated : packed, against deflate bombs: 1100 */
    uint64_t
        unpacked; /* bytes that deflated entries have in all: 64 times the file, at least 4 GiB */
    bool labels;  /* names are no paths and have no case: any text without NUL, each but once; where
                    they are not flagged as UTF-8, of code page 437 */
};

HEFT_CHECKED bool heft_zip_open(struct heft_zip *out, const struct heft_source *src,
                                const struct heft_zip_limits *limits, struct heft_arena *arena,
                                struct heft_error *err);
/* The same with the names in an arena of their own, for callers that keep them longer; and with the
 * last bytes of the source, for those that have them: what is missing of the 65557 in which an archive
 * must end is read. */
HEFT_CHECKED bool heft_zip_open_apart(struct heft_zip *out, const struct heft_source *src,
                                      struct heft_bytes tail, const struct heft_zip_limits *limits,
                                      struct heft_arena *arena, struct heft_arena *names,
                                      struct heft_error *err);
/* Opens an archive that may be cut off or damaged. By its directory, where that is whole: then
 * payloads whose local headers are not are found by what follows them. Else by walking from one
 * local header to the next, from the beginning of the file to the first place where none follows:
 * only the last record of such a walk may be OPEN. Linear in the file. What is wrong with the
 * directory is in *why (its code is HEFT_OK where nothing is), also where nothing could be found and
 * the call fails with it. */
HEFT_CHECKED bool heft_zip_salvage(struct heft_zip *out, const struct heft_source *src,
                                   const struct heft_zip_limits *limits, struct heft_arena *arena,
                                   struct heft_error *why, struct heft_error *err);
/* Whether `part`, bytes of an archive, has an entry of the directory whose name ends so. */
bool heft_zip_lists(struct heft_bytes part, const char *suffix);
/* The entry of exactly that name, or NULL. Linear: callers that look up many keep a heft_strmap. */
const struct heft_zip_entry *heft_zip_find(const struct heft_zip *zip, struct heft_str name);
/* The record's payload. Its CRC-32 is compared unless it is 0, not computed. */
struct heft_stream heft_zip_stream(const struct heft_source *src,
                                   const struct heft_zip_entry *entry);
/* A whole record in memory, inflated if need be, at most `cap` bytes (HEFT_LIMIT), CRC checked
 * unless it is 0 or check is false. */
HEFT_CHECKED bool heft_zip_fetch(const struct heft_source *src, const struct heft_zip_entry *entry,
                                 uint64_t cap, bool check, struct heft_arena *arena,
                                 struct heft_bytes *out, struct heft_error *err);
/* The first bytes of a record, unpacked: up to *n of them, which becomes how many there are. Fewer
 * than were asked for where the record ends, or where its deflate stream breaks. */
HEFT_CHECKED bool heft_zip_peek(const struct heft_source *src, const struct heft_zip_entry *entry,
                                uint8_t *out, size_t *n, struct heft_error *err);
/* Reads the data descriptor behind a payload and compares it with the directory: with or without
 * signature, with 32- or 64-bit sizes. *length is what it really takes (0 where there is none).
 * HEFT_MALFORMED where none of the forms agrees. Opening leaves this out: it would read behind
 * every payload. */
HEFT_CHECKED bool heft_zip_check_descriptor(const struct heft_source *src,
                                            const struct heft_zip_entry *entry, uint64_t *length,
                                            struct heft_error *err);
/* The same of all records of an archive; tells of each that does not agree. */
HEFT_CHECKED bool
heft_zip_check_descriptors(const struct heft_source *src, const struct heft_zip_limits *limits,
                           void (*tell)(void *ctx, uint64_t offset, const char *text), void *ctx,
                           struct heft_error *err);

#endif
