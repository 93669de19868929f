/* zip_record.h: one record of a zip archive, decoded, with what is wrong with it.
 *
 * Nothing fails here. Three readers decide what a fault means: zip.c and zip_local.c refuse the
 * archive, zip_salvage.c keeps the records that are whole, scan/scan_broken.c reports what other
 * readers would do. */
#ifndef HEFT_ZIP_RECORD_H
#define HEFT_ZIP_RECORD_H

#include "wire/zip.h"

#include "base/endian.h"
#include "base/map.h"

/* Flag bits. HEFT_ZIP_SEALED: the payload is encrypted or a patch, and cannot be read. */
#define HEFT_ZIP_DESCRIPTOR 0x0008U
#define HEFT_ZIP_UTF8       0x0800U
#define HEFT_ZIP_SEALED     0x2061U /* encrypted 0, patch 5, strong encryption 6, masked 13 */

#define HEFT_ZIP_SIG_LOCAL   UINT32_C(0x04034B50)
#define HEFT_ZIP_SIG_CENTRAL UINT32_C(0x02014B50)
#define HEFT_ZIP_SIG_DATA    UINT32_C(0x08074B50)
#define HEFT_ZIP_LOCAL_HEAD  30
#define HEFT_ZIP_CENTRAL     46
#define HEFT_ZIP_END         22
#define HEFT_ZIP_END64       56
#define HEFT_ZIP_LOCATOR     20
#define HEFT_ZIP_REACH                                                                             \
    (HEFT_ZIP_END + 65535)     /* bytes before the end where an end record may begin */
#define HEFT_ZIP_LONGEST 65535 /* longest name or extra field: lengths have 16 bits */
#define HEFT_ZIP_MANY    UINT32_C(0xFFFFFFFF)

/* Faults of a record by itself, in the order in which they are reported. */
enum {
    HEFT_ZIP_NAMELESS = 1 << 0,
    HEFT_ZIP_NUL = 1 << 1, /* the name contains a NUL */
    HEFT_ZIP_BACKSLASH = 1 << 2,
    HEFT_ZIP_ABSOLUTE = 1 << 3,
    HEFT_ZIP_PARENT = 1 << 4,   /* a step of the name is ".." */
    HEFT_ZIP_NOT_UTF8 = 1 << 5, /* the name */
    HEFT_ZIP_EXTRA = 1 << 6,    /* extra fields do not fit together */
    HEFT_ZIP_NARROW =
        1 << 7,             /* the zip64 field lacks a number that its 32-bit field leaves to it */
    HEFT_ZIP_DISK = 1 << 8, /* in another part of a split archive */
    HEFT_ZIP_ENCRYPTED = 1 << 9, /* a flag of HEFT_ZIP_SEALED */
    HEFT_ZIP_METHOD = 1 << 10,   /* neither stored nor deflated */
    HEFT_ZIP_SIZES = 1 << 11,    /* stored, but packed and size differ */
    HEFT_ZIP_LINK = 1 << 12,     /* symbolic link */
    HEFT_ZIP_FULL = 1 << 13      /* folder with bytes */
};

struct heft_zip_record {
    struct heft_str name; /* points into the header, without the NUL */
    struct heft_bytes
        extra;             /* points into the header; for a local header only its length is known */
    uint64_t header;       /* offset of the local header */
    uint64_t data;         /* offset of the payload, from a local header */
    uint64_t packed, size; /* bytes of the payload in the file, and unpacked */
    uint32_t crc, disk;    /* CRC-32 of the unpacked bytes; disk of a central entry */
    uint16_t flags, method;
    bool is_plain; /* the name has neither faults nor capitals; false is not certain */
    unsigned faults;
};

/* The central entry that `left` begins with, which then begins after it. */
enum heft_zip_taken { HEFT_ZIP_TAKEN, HEFT_ZIP_OTHER /* signature */, HEFT_ZIP_CUT };
enum heft_zip_taken heft_zip_take_central(struct heft_bytes *left, struct heft_zip_record *out);
/* The local header at `at`, of whose bytes at least 30 are at p; its name may not be in memory, and
 * has no faults yet. */
struct heft_zip_record heft_zip_local(const uint8_t *p, uint64_t at);
/* Sizes from the zip64 field of a local header, which has both. */
void heft_zip_local_widen(struct heft_zip_record *local, struct heft_bytes field);
unsigned heft_zip_name_faults(struct heft_str name);
/* Finds the zip64 field (id 1) among extra fields. `field` is empty if there is none. False if the
 * fields do not fit together. */
HEFT_CHECKED bool heft_zip_find_zip64(struct heft_bytes extra, struct heft_bytes *field);
/* CRC-32 and sizes from a descriptor of 12, 16, 20 or 24 bytes: with 64-bit sizes from 20 on, with
 * signature if a multiple of 8. False if it lacks that. */
HEFT_CHECKED bool heft_zip_read_descriptor(const uint8_t *p, unsigned form,
                                           struct heft_zip_entry *entry);

/* The faults that count, if labels say that names are no paths. */
static inline unsigned heft_zip_faults(const struct heft_zip_record *r, bool labels)
{
    const unsigned of_paths = HEFT_ZIP_BACKSLASH | HEFT_ZIP_ABSOLUTE | HEFT_ZIP_PARENT;

    if (!labels)
        return r->faults;
    return r->faults & ~(r->flags & HEFT_ZIP_UTF8 ? of_paths : of_paths | HEFT_ZIP_NOT_UTF8);
}

static inline bool heft_zip_is_folder(struct heft_str name)
{
    return name.n > 0 && name.p[name.n - 1] == '/';
}

/* The entry of a record, with its name copied to `name`. */
static inline struct heft_zip_entry heft_zip_entry_of(const struct heft_zip_record *r,
                                                      const char *name)
{
    return (struct heft_zip_entry){.name = {name, r->name.n},
                                   .header = r->header,
                                   .data = r->data,
                                   .packed = r->packed,
                                   .size = r->size,
                                   .crc = r->crc,
                                   .method = r->method,
                                   .is_folder = heft_zip_is_folder(r->name)};
}

/* Numbers in the end record and in the zip64 end record. */
struct heft_zip_end {
    uint64_t at;    /* end record */
    uint64_t tail;  /* first of the end records */
    uint64_t after; /* end of the comment */
    uint64_t entries, size, directory;
    uint64_t here; /* entries on this disk */
    bool zip64;
};

/* The next signature of an end record at or after bytes.p + *at, with the record's 22 bytes after
 * it. */
bool heft_zip_next_end(struct heft_bytes bytes, size_t *at);
/* The end record at `at`, of 22 bytes at p; and the numbers of a zip64 end record, of 56 bytes. */
struct heft_zip_end heft_zip_read_end(const uint8_t *p, uint64_t at);
void heft_zip_end_widen(struct heft_zip_end *end, const uint8_t *p, uint64_t at);

/* zip_names.c. Names so far, by which duplicates are found: also those that differ only in ASCII
 * case, unless is_exact. */
struct heft_zip_names {
    /* on the heap: names in lower case, where that changes them, one after the other */
    char *folded;
    size_t folded_n;
    uint32_t *numbered;      /* on the heap: "archive/data/7" is in entry numbered[7] … */
    size_t entries;          /* … for numbers below this … */
    struct heft_str prefix;  /* … and names that begin so: the first one that ends in a number */
    struct heft_strmap seen; /* names that `prefix` does not cover */
    bool is_exact;
};
/* For at most that many entries, whose names have at most `letters` bytes in all. */
HEFT_CHECKED bool heft_zip_names_init(struct heft_zip_names *names, size_t letters, size_t entries,
                                      bool is_exact, struct heft_error *err);
/* *found: the entry that has this name already, else HEFT_MAP_NONE; then the name, whose bytes must
 * stay, is that of entry `index`. */
HEFT_CHECKED bool heft_zip_names_add(struct heft_zip_names *names, struct heft_str name,
                                     bool is_plain, uint32_t index, uint32_t *found,
                                     struct heft_error *err);
void heft_zip_names_release(struct heft_zip_names *names);

#endif
