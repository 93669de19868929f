/* rows.h: the tensors that a verb shows: all in file order, or selected and sorted. */
#ifndef CLI_ROWS_H
#define CLI_ROWS_H

#include "main/options.h"
#include "output/output.h"
#include "main/rules.h"

struct rows_path {
    const char *text; /* owned by the checkpoint */
    size_t n, width;
    bool plain; /* printed unescaped */
};

struct rows {
    const struct heft_checkpoint *c;
    uint32_t *order; /* indexes of the tensors shown; NULL: all, in file order */
    size_t n;
    size_t cut;              /* bytes of --root and its dot, cut from names */
    struct rows_path *paths; /* one per file */
    struct rule_report rules;
};

/* Applies -g, -e, --root and --sort. A zeroed struct may be released. */
bool rows_select(struct rows *rows, const struct heft_checkpoint *c, const struct options *options,
                 struct heft_error *err);
void rows_release(struct rows *rows);
/* Bytes that --root cuts from a name, with the dot or slash after it, which the option may
 * include. */
size_t rows_root_length(const char *root);
/* The k-th tensor shown, its name without --root. False past the end. */
static inline bool rows_at(const struct rows *rows, size_t k, struct heft_tensor *t)
{
    if (k >= rows->n || !heft_tensor_at(rows->c, rows->order ? rows->order[k] : k, t))
        return false;
    if (rows->cut && rows->cut <= t->name_len) {
        t->name += rows->cut;
        t->name_len -= rows->cut;
    }
    return true;
}
/* Number of parts that the tensor is stored in (0: whole), and one of the parts. */
static inline size_t rows_parts(const struct rows *rows, size_t k)
{
    return heft_tensor_part_count(rows->c, rows->order ? rows->order[k] : k);
}
bool rows_part_at(const struct rows *rows, size_t k, size_t part, struct heft_tensor_part *out);

static inline size_t rows_path_width(const struct rows *rows, size_t file)
{
    return rows->paths[file].width;
}
/* Prints the path of a file; returns its width in columns. */
size_t rows_put_path(struct out *out, const struct rows *rows, size_t file);

/* Writes the members of a blob's object: name, kind, bytes, file, offset. */
void json_blob(struct out *out, const struct heft_blob *blob);

/* Writes "files":[…] into the open object. */
void json_files(struct out *out, const struct heft_checkpoint *c);
/* Writes the pairs of heft_metadata_at or heft_tie_at as the object `key`. */
typedef bool pair_at_fn(const struct heft_checkpoint *c, size_t index, struct heft_metadata *out);
void json_pairs(struct out *out, const char *key, const struct heft_checkpoint *c, pair_at_fn *at);

#endif
