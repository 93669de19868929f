/* flatbuf.h: FlatBuffers. Reading: every table, vector and string is validated before it is
 * returned. Writing: back to front, byte for byte as the reference builder does.
 *
 *     u32 root ──► table: i32 to its vtable (before or after it), then fields
 *                  vtable: u16 own bytes, u16 the table's bytes, then a u16 for each field: its
 *                          position in the table, 0 if absent
 *     reference    u32, forward from itself ──► table │ vector: u32 count, elements
 *                                              string: u32 length, bytes, NUL
 *
 * Positions are file offsets. A container may have inserted a header into the buffer: alignment
 * counts from `origin`, and no reference may point below `low`. */
#ifndef HEFT_FLATBUF_H
#define HEFT_FLATBUF_H

#include "base/mem.h"

/* ---- reading ------------------------------------------------------------------------------- */

#define HEFT_FLAT_MAX 0x7fffffffu /* bytes from the begin of the file to the buffer's end */

enum heft_flat_kind {
    HEFT_FLAT_TABLE,
    HEFT_FLAT_VTABLE,
    HEFT_FLAT_VECTOR,
    HEFT_FLAT_STRING,
    HEFT_FLAT_FIELD /* a field of a table that was reported before */
};

/* Callback for everything that was validated; shared objects are reported once for each
 * reference. */
struct heft_flat_watch {
    bool (*saw)(void *ctx, enum heft_flat_kind kind, uint64_t at, uint64_t len, const char *what,
                struct heft_error *err);
    void *ctx;
};

struct heft_flat {
    const uint8_t *p; /* byte 0 of the file */
    uint64_t end;     /* at most HEFT_FLAT_MAX */
    uint64_t low, origin;
    /* number of references in vectors that may still be followed: sharing multiplies them */
    uint64_t budget;
    const struct heft_flat_watch *watch; /* reports byte ranges as they are read; may be NULL */
};

struct heft_flat_table {
    uint64_t at, vtable;
    uint16_t slots, size; /* bytes of the vtable and of the table */
    const char *what;
};
struct heft_flat_vector {
    uint64_t at; /* position of the first element */
    uint32_t count;
};

/* Uses the bytes [0, end) of a file. */
void heft_flat_init(struct heft_flat *flat, struct heft_bytes bytes, uint64_t low, uint64_t origin);
HEFT_CHECKED bool heft_flat_root(const struct heft_flat *flat, const char *what,
                                 struct heft_flat_table *out, struct heft_error *err);
HEFT_CHECKED bool heft_flat_table(const struct heft_flat *flat, uint64_t at, const char *what,
                                  struct heft_flat_table *out, struct heft_error *err);
/* True if a field is present; its value is not read. */
bool heft_flat_has(const struct heft_flat *flat, const struct heft_flat_table *table, unsigned id);
/* A scalar field; 0 if absent. */
HEFT_CHECKED bool heft_flat_u8(const struct heft_flat *flat, const struct heft_flat_table *table,
                               unsigned id, uint8_t *out, struct heft_error *err);
HEFT_CHECKED bool heft_flat_u32(const struct heft_flat *flat, const struct heft_flat_table *table,
                                unsigned id, uint32_t *out, struct heft_error *err);
HEFT_CHECKED bool heft_flat_u64(const struct heft_flat *flat, const struct heft_flat_table *table,
                                unsigned id, uint64_t *out, struct heft_error *err);
/* Target of a reference field; 0 if absent. */
HEFT_CHECKED bool heft_flat_ref(const struct heft_flat *flat, const struct heft_flat_table *table,
                                unsigned id, uint64_t *at, struct heft_error *err);
/* A vector of elements of `each` bytes. */
HEFT_CHECKED bool heft_flat_vector(const struct heft_flat *flat, uint64_t at, unsigned each,
                                   const char *what, struct heft_flat_vector *out,
                                   struct heft_error *err);
/* A vector of references, all of which will be followed. */
HEFT_CHECKED bool heft_flat_refs(struct heft_flat *flat, uint64_t at, const char *what,
                                 struct heft_flat_vector *out, struct heft_error *err);
/* Target of the i-th reference. */
HEFT_CHECKED bool heft_flat_element(const struct heft_flat *flat,
                                    const struct heft_flat_vector *vector, uint32_t i, uint64_t *at,
                                    struct heft_error *err);
/* A string of at most `most` bytes: a view of the buffer, followed by a NUL. */
HEFT_CHECKED bool heft_flat_string(const struct heft_flat *flat, uint64_t at, uint64_t most,
                                   const char *what, struct heft_str *out, struct heft_error *err);

/* ---- writing -------------------------------------------------------------------------------
 *
 * Objects are built before the objects that refer to them, and lie after them: the buffer grows
 * towards its begin. A reference is the distance in bytes from the end to its object; 0 refers to
 * nothing. In a table add the widest fields first, and fields of equal width in descending order of
 * their ids, as the reference compiler does; zeros are omitted. Errors are sticky and reported by
 * heft_flat_finish. */

#define HEFT_FLAT_FIELDS  8 /* fields of a table */
#define HEFT_FLAT_VTABLES 32

struct heft_flat_out {
    uint8_t *p; /* `cap` bytes, of which the last n are written */
    size_t cap, n, align;
    bool failed, too_large, exceeds; /* the last two: why it failed */
    struct heft_budget *budget;      /* budget of its bytes; NULL: none */
    size_t start;                    /* start of the table being built */
    size_t fields[HEFT_FLAT_FIELDS];
    size_t vtables[HEFT_FLAT_VTABLES]; /* vtables that tables may share */
    unsigned n_vtables;
};

uint32_t heft_flat_put_string(struct heft_flat_out *out, struct heft_str text);
/* Elements of `each` bytes (1, 4 or 8), little-endian. */
uint32_t heft_flat_put_vector(struct heft_flat_out *out, const uint64_t *items, size_t n,
                              unsigned each);
uint32_t heft_flat_put_refs(struct heft_flat_out *out, const uint32_t *refs, size_t n);
void heft_flat_begin(struct heft_flat_out *out);
/* A field of `each` bytes (1, 2, 4 or 8). */
void heft_flat_add(struct heft_flat_out *out, unsigned id, uint64_t value, unsigned each);
void heft_flat_add_ref(struct heft_flat_out *out, unsigned id, uint32_t ref);
uint32_t heft_flat_end(struct heft_flat_out *out);
/* Returns the buffer, which `out` owns. HEFT_NOMEM, or HEFT_LIMIT at 2 GiB. */
HEFT_CHECKED bool heft_flat_finish(struct heft_flat_out *out, uint32_t root, const char id[4],
                                   struct heft_bytes *bytes, struct heft_error *err);
void heft_flat_release(struct heft_flat_out *out);

#endif
