/* gguf_parts.h: shared by the reader and the writer of GGUF: value types, types of tensors, the
 * key-value pairs of a file as they were read, and the names of the files of a split set. */
#ifndef HEFT_GGUF_PARTS_H
#define HEFT_GGUF_PARTS_H

#include "core/registry.h"

#define HEFT_GGUF_ALIGNMENT  32 /* unless general.alignment says otherwise */
#define HEFT_GGUF_RANK       4  /* dimensions of a tensor in ggml */
#define HEFT_GGUF_NAME       63 /* bytes of a tensor's name that ggml can read */
#define HEFT_GGUF_DEPTH      4  /* of arrays in arrays */
#define HEFT_GGUF_SPLIT_MOST 65535

/* ---- gguf_types.c: value types and types of tensors ------------------------------------------- */

/* Types of values, by their numbers in files. */
enum heft_gguf_type {
    HEFT_GGUF_U8,
    HEFT_GGUF_I8,
    HEFT_GGUF_U16,
    HEFT_GGUF_I16,
    HEFT_GGUF_U32,
    HEFT_GGUF_I32,
    HEFT_GGUF_F32,
    HEFT_GGUF_BOOL,
    HEFT_GGUF_STRING,
    HEFT_GGUF_ARRAY,
    HEFT_GGUF_U64,
    HEFT_GGUF_I64,
    HEFT_GGUF_F64,
    HEFT_GGUF_TYPES
};

struct heft_gguf_type_info {
    const char *name; /* "u8", "str", "array" */
    uint8_t bytes;    /* 0: varying */
};
extern const struct heft_gguf_type_info heft_gguf_types[HEFT_GGUF_TYPES];

/* Dtype of a number of enum ggml_type; false if it is removed or unknown. */
bool heft_gguf_dtype(uint32_t id, enum heft_dtype *dtype);
/* The reverse; false if GGUF has no such type. */
bool heft_gguf_type_id(enum heft_dtype dtype, uint32_t *id);
/* Name of a type that was removed from GGUF ("Q4_0_4_4"); NULL if it is no such number. */
const char *heft_gguf_removed(uint32_t id);
/* Name of a value of general.file_type ("Q4_K_M"); NULL if unknown. */
const char *heft_gguf_file_type(uint64_t id);

/* ---- gguf_file.c: an opened file ------------------------------------------------------------- */

/* A key-value pair:
 *
 *     at                                          value                             value + bytes
 *     | length of key | key | type u32            | for an array: item type u32, count |
 *
 * Lengths and counts are u64, in version 1 u32. In a little-endian file of version 2 or 3 the range
 * [at, value + bytes) is what a writer of version 3 writes for the same pair. */
struct heft_gguf_pair {
    struct heft_str key; /* any bytes; followed by a NUL; in the model's memory */
    uint32_t type;       /* enum heft_gguf_type */
    uint32_t item_type;  /* of an array */
    uint64_t count;      /* items of an array */
    uint64_t at;         /* offset in the source */
    uint64_t value;      /* offset of the value, after its type */
    uint64_t bytes;      /* of the value, for an array with item type and count */
};

/* A file, in the model's memory; model->sources[source].kept and the attachment of kind
 * heft_gguf_kind whose name is the path of the source. */
struct heft_gguf_file {
    uint32_t source;
    uint32_t version;
    bool is_big_endian;
    uint64_t alignment;
    struct heft_gguf_pair *pairs; /* in the order of the file */
    size_t n_pairs;
    uint64_t infos;     /* offset of the first tensor info */
    uint64_t infos_end; /* end of the last one */
    uint64_t data;      /* first byte of the data: infos_end, aligned */
    uint64_t n_tensors; /* in the header, also those of unknown types */
    /* split.no, split.count, split.tensors.count; count 0: not a part of a split set */
    uint32_t split_no, split_count;
    int64_t split_tensors;
};

/* Kind of the attachments (struct heft_attachment), one for each file, in the order of opening; the
 * data is a struct heft_gguf_file. */
extern const char heft_gguf_kind;
/* The file read as sources[source]; NULL if that is not a GGUF. */
const struct heft_gguf_file *heft_gguf_file_at(const struct heft_model *model, uint32_t source);
/* The pair of that key; NULL if there is none. Linear. */
const struct heft_gguf_pair *heft_gguf_find(const struct heft_gguf_file *file, const char *key);

/* ---- gguf_cursor.c: reads numbers and strings in a file's version and byte order --------------- */

enum { HEFT_GGUF_WINDOW = 64 << 10 };

/* Position in a source, with a window of it in memory. For one thread. */
struct heft_gguf_cursor {
    const struct heft_source *source;
    uint8_t *window; /* HEFT_GGUF_WINDOW bytes: [from, from + held) of the source */
    uint64_t from;
    size_t held;
    uint64_t at; /* next byte to read */
    uint32_t version;
    bool is_big_endian;
};
/* Begins to read at `at`; `window` belongs to the caller. */
void heft_gguf_cursor_init(struct heft_gguf_cursor *cursor, const struct heft_source *source,
                           uint8_t *window, uint64_t at, uint32_t version, bool is_big_endian);
/* The next n bytes, n <= HEFT_GGUF_WINDOW, in memory until the next call; NULL: an error.
 * HEFT_MALFORMED beyond the end of the source, with `what` as the subject. */
const uint8_t *heft_gguf_take(struct heft_gguf_cursor *cursor, size_t n, const char *what,
                              struct heft_error *err);
/* Skips n bytes without reading them. */
HEFT_CHECKED bool heft_gguf_skip(struct heft_gguf_cursor *cursor, uint64_t n, const char *what,
                                 struct heft_error *err);
HEFT_CHECKED bool heft_gguf_take_u32(struct heft_gguf_cursor *cursor, uint32_t *out,
                                     const char *what, struct heft_error *err);
HEFT_CHECKED bool heft_gguf_take_u64(struct heft_gguf_cursor *cursor, uint64_t *out,
                                     const char *what, struct heft_error *err);
/* A length or a count: u64, in version 1 u32. */
HEFT_CHECKED bool heft_gguf_take_size(struct heft_gguf_cursor *cursor, uint64_t *out,
                                      const char *what, struct heft_error *err);
/* Copies the next n bytes; any n. */
HEFT_CHECKED bool heft_gguf_copy(struct heft_gguf_cursor *cursor, void *out, size_t n,
                                 const char *what, struct heft_error *err);
/* A number of a type with 1 to 8 bytes: its bits, without the sign extended. */
uint64_t heft_gguf_bits(const uint8_t *p, unsigned bytes, bool is_big_endian);

/* ---- gguf_names.c: names of split files -------------------------------------------------------- */

/* "PREFIX-00001-of-00003.gguf": sets *prefix (a part of `name`, "PREFIX"), *number (from 1) and
 * *count; false for other names. The name may be a path. */
bool heft_gguf_split_parse(struct heft_str name, struct heft_str *prefix, uint32_t *number,
                           uint32_t *count);
/* The name of part `number`, from 1. */
HEFT_CHECKED const char *heft_gguf_split_name(struct heft_arena *mem, struct heft_str prefix,
                                              uint32_t number, uint32_t count,
                                              struct heft_error *err);

#endif
