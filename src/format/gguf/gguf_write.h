/* gguf_write.h: parts of the writer of GGUF: values from texts, the key-value pairs of an output, and
 * the division of tensors among files. */
#ifndef HEFT_GGUF_WRITE_H
#define HEFT_GGUF_WRITE_H

#include "core/plan.h"
#include "format/gguf/gguf_parts.h"

/* ---- gguf_value_text.c ------------------------------------------------------------------------- */

/* Type of a value; item: type of the items if it is an array. */
struct heft_gguf_value_type {
    uint32_t type, item;
};

/* Appends a value (its type, then its bytes as in version 3) that is written as "TYPE:VALUE", as TYPE[]:
 * and a JSON array, or without a type, which is then `usual`. *type: its type. HEFT_USAGE. */
HEFT_CHECKED bool heft_gguf_put_value(struct heft_buf *out, struct heft_str text,
                                      struct heft_gguf_value_type usual,
                                      struct heft_gguf_value_type *type, struct heft_error *err);

/* ---- gguf_write_pairs.c ------------------------------------------------------------------------ */

/* A pair of the output. */
struct heft_gguf_out_pair {
    struct heft_str key;
    const struct heft_gguf_file *file; /* copied from this file; NULL: `bytes` */
    const struct heft_gguf_pair *pair; /* … the pair */
    struct heft_str bytes;             /* the whole pair, in the plan's arena */
    struct heft_gguf_value_type type;
};

/* The pairs of an output, in its order; in the memory of the plan. */
struct heft_gguf_out_pairs {
    struct heft_gguf_out_pair *list;
    size_t n;
    uint32_t first;        /* index of a pair that comes before all others; HEFT_NONE: none */
    uint32_t alignment_at; /* index of general.alignment; HEFT_NONE: there is none */
    uint64_t alignment;
    struct heft_strmap keys; /* key → index; released by heft_gguf_out_pairs_release */
};

/* Collects the pairs of the source, without those that rules remove and without split.*; then those of the
 * user's rules. Notes keys that loaders need. */
HEFT_CHECKED bool heft_gguf_out_pairs_take(struct heft_gguf_out_pairs *out, struct heft_plan *plan,
                                           const struct heft_export_list *exports,
                                           struct heft_error *err);
void heft_gguf_out_pairs_release(struct heft_gguf_out_pairs *pairs);
/* Index of the k-th pair in the order of the output. */
size_t heft_gguf_out_pair_at(const struct heft_gguf_out_pairs *pairs, size_t k);
/* Appends a pair of a file in version 3, little-endian, whatever the file's own version and order. */
HEFT_CHECKED bool heft_gguf_put_pair(struct heft_buf *out, const struct heft_model *model,
                                     const struct heft_gguf_file *file,
                                     const struct heft_gguf_pair *pair, struct heft_error *err);

/* ---- gguf_write.c: the format's callbacks --------------------------------------------------------- */

bool heft_gguf_plan_set(struct heft_plan *plan, const char *output,
                        struct heft_export_list *exports, struct heft_error *err);
bool heft_gguf_supports_dtype(enum heft_dtype dtype);
extern const struct heft_format_option heft_gguf_options[];

#endif
