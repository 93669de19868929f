/* zip_parts.h: shared by zip_end.c (end records), zip.c (directory), zip_names.c, zip_local.c
 * (local headers, payloads) and zip_salvage.c (damaged archives). */
#ifndef HEFT_ZIP_PARTS_H
#define HEFT_ZIP_PARTS_H

#include "wire/zip_record.h"

/* The last bytes of the file, in memory while the archive is being opened: the end records, and
 * often the whole directory. */
struct heft_zip_tail {
    const struct heft_source *src;
    const uint8_t *bytes;
    uint8_t *read; /* the same on the heap, freed by the opener; NULL: provided by the caller */
    size_t n;
    uint64_t at; /* file offset of bytes[0] */
};

/* zip_end.c. Reads the tail, unless it is among the `known` last bytes, and finds the only valid
 * end record. */
HEFT_CHECKED bool heft_zip_find_end(struct heft_zip_tail *tail, const struct heft_source *src,
                                    struct heft_bytes known, struct heft_zip_end *end,
                                    struct heft_error *err);
/* n bytes at off: from the tail if it contains them, else read into `room`. NULL on failure. */
HEFT_CHECKED const uint8_t *heft_zip_bytes(const struct heft_zip_tail *tail, uint64_t off, size_t n,
                                           uint8_t *room, struct heft_error *err);

/* An entry whose local header is to be read, in the order of the file. */
struct heft_zip_place {
    uint64_t header;
    uint32_t index;
    uint16_t flags;
};

/* zip_local.c. Checks all local headers, payload ranges and overlaps, and sets data and end of
 * every entry. Sorts `places`, which has zip->count of them. Mending: an entry whose local header
 * is damaged goes through heft_zip_mend instead of being an error. */
HEFT_CHECKED bool heft_zip_locals(struct heft_zip *zip, const struct heft_source *src,
                                  struct heft_zip_place *places, bool mending,
                                  struct heft_error *err);
/* Reads and checks the local header of one record; sets data and end of the entry. */
HEFT_CHECKED bool heft_zip_check_local(const struct heft_source *src, struct heft_zip_entry *entry,
                                       const struct heft_zip_entry *next, unsigned flags,
                                       uint64_t limit, struct heft_error *err);
/* zip_unread.c. Sets data and end of an entry whose payload is known to begin at a multiple of 64
 * without its local header; false if it must be read. */
bool heft_zip_find_payload(struct heft_zip_entry *entry, unsigned flags, uint64_t limit);
/* True if the descriptor of `length` bytes at p matches the directory. */
bool heft_zip_is_descriptor(const uint8_t *p, unsigned length, const struct heft_zip_entry *entry);

/* zip_salvage.c. An entry of an intact directory: `has_header` if its local header is valid (data
 * and end are set). If the header is damaged, finds the payload by the data after it, or sets
 * entry->fault. `limit` is the begin of the next record. */
HEFT_CHECKED bool heft_zip_mend(const struct heft_source *src, struct heft_zip_entry *entry,
                                bool has_header, unsigned flags, uint64_t limit,
                                struct heft_error *err);

/* zip.c. Opens an archive by its central directory, without salvage. */
HEFT_CHECKED bool heft_zip_read(struct heft_zip *out, const struct heft_source *src,
                                struct heft_bytes tail, const struct heft_zip_limits *limits,
                                bool mending, struct heft_arena *arena, struct heft_arena *names,
                                struct heft_error *err);
/* A copy of the limits in which zeros are replaced by the defaults. */
struct heft_zip_limits heft_zip_complete(const struct heft_zip_limits *limits);
/* zip_names.c. Converts a label to UTF-8: afterwards the name's length differs from the record's.
 * Subtracts its bytes from *room, which begins with HEFT_ZIP_FOREIGN. */
#define HEFT_ZIP_FOREIGN                                                                           \
    (8 << 20) /* initial *room in bytes; UTF-8 can take three times as many as a label */
HEFT_CHECKED bool heft_zip_decode(struct heft_zip_entry *entry, unsigned flags, uint64_t *room,
                                  struct heft_arena *arena, struct heft_error *err);

/* Length of a name to print with "%.*s" in an error message: long names are cut. */
static inline int heft_zip_shown(struct heft_str name)
{
    return name.n < 120 ? (int)name.n : 120;
}

#endif
