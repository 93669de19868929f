/* gguf_read.h: the parts of the reader: gguf.c (opens), gguf_pairs.c (key-value pairs), gguf_values.c
 * (their values), gguf_infos.c (tensor infos), gguf_split.c (sets of files), gguf_verify.c (the map of
 * all bytes, and findings). */
#ifndef HEFT_GGUF_READ_H
#define HEFT_GGUF_READ_H

#include "core/tree.h"
#include "format/gguf/gguf_parts.h"

#define HEFT_GGUF_KEY_RANK                                                                         \
    64 /* dimensions up to which a file is called unsupported, not malformed */

/* A file that is being read. */
struct heft_gguf_reader {
    struct heft_model *model;
    struct heft_gguf_file *file;
    struct heft_gguf_cursor cursor;
    uint8_t *window;
    uint64_t n_pairs; /* in the header */
    struct heft_node *values;
    uint64_t nodes; /* values that may still be added */
    struct heft_strmap keys;
    uint64_t odd_at[2]; /* keys: first one that is empty, and that has a NUL; 0: none */
};

/* ---- gguf_pairs.c ---- */

/* Reads the pairs; sets the alignment and the numbers of a split set. */
HEFT_CHECKED bool heft_gguf_read_pairs(struct heft_gguf_reader *reader, struct heft_error *err);
/* Moves behind a value of that type, and checks its sizes. Sets item_type and count of *pair, if it
 * is an array and `pair` is not NULL. */
HEFT_CHECKED bool heft_gguf_skip_value(struct heft_gguf_cursor *cursor, uint32_t type,
                                       struct heft_gguf_pair *pair, struct heft_error *err);
/* Reads the type and the count of an array, and checks them against the rest of the file. */
HEFT_CHECKED bool heft_gguf_take_array(struct heft_gguf_cursor *cursor, uint32_t *type,
                                       uint64_t *count, struct heft_error *err);
/* Reads the length of a string, and checks it against the rest of the file. */
HEFT_CHECKED bool heft_gguf_take_length(struct heft_gguf_cursor *cursor, uint64_t *length,
                                        const char *what, struct heft_error *err);

/* ---- gguf_values.c ---- */

/* Adds the value at the cursor, which was checked by heft_gguf_skip_value, to `in`. Of a long array
 * only the first items. */
HEFT_CHECKED bool heft_gguf_add_value(struct heft_gguf_reader *reader, struct heft_str key,
                                      uint32_t type, struct heft_error *err);

/* ---- gguf_infos.c ---- */

struct heft_gguf_info {
    struct heft_str name; /* in the caller's buffer, until the next one is read */
    uint64_t at;          /* offset in the file */
    unsigned n_dims;
    uint64_t shape[HEFT_GGUF_RANK]; /* outermost first: the reverse of the file's order */
    uint32_t type;
    uint64_t offset; /* in the data */
};
/* Reads the info at the cursor. The errors name the tensor. */
HEFT_CHECKED bool heft_gguf_take_info(struct heft_gguf_cursor *cursor, struct heft_buf *name,
                                      uint64_t longest, struct heft_gguf_info *info,
                                      struct heft_error *err);
/* Whether a name is valid UTF-8 without NUL. */
bool heft_gguf_is_plain(struct heft_str name);
/* Name for the model: a copy if it is plain, else escaped. */
HEFT_CHECKED bool heft_gguf_show_name(struct heft_str name, struct heft_arena *mem,
                                      struct heft_str *out, struct heft_error *err);
/* Bytes of the tensor; false if its type is unknown or they are not a whole number. */
bool heft_gguf_info_bytes(const struct heft_gguf_info *info, uint64_t *bytes);
/* Reads all infos and adds rows; sets file->infos_end and file->data. */
HEFT_CHECKED bool heft_gguf_read_infos(struct heft_gguf_reader *reader, struct heft_error *err);

/* ---- gguf_split.c ---- */

/* Opens the other files of split sets, and puts their tensors into order. */
HEFT_CHECKED bool heft_gguf_join(struct heft_model *model, struct heft_error *err);

/* ---- gguf_about.c ---- */

/* Describes the model for info, by the file with its metadata: version, architecture, quantization. */
HEFT_CHECKED bool heft_gguf_describe(struct heft_model *model, const struct heft_gguf_file *file,
                                     struct heft_error *err);

/* ---- gguf.c ---- */
HEFT_CHECKED bool heft_gguf_open(struct heft_model *model, uint32_t source, struct heft_error *err);

/* ---- gguf_verify.c ---- */
HEFT_CHECKED bool heft_gguf_annotate(struct heft_model *view, uint32_t source,
                                     struct heft_error *err);
HEFT_CHECKED bool heft_gguf_verify(const struct heft_model *model, uint32_t source,
                                   const struct heft_reporter *to, struct heft_error *err);

#endif
