/* diff.h: compares two checkpoints, of any formats and in any number of files. heft.h includes it.
 *
 *     static bool print(void *ctx, const struct heft_diff_item *item)
 *     {
 *         printf("%s: %" PRIu64 " of %" PRIu64 " differ\n", item->name, item->differing,
 *                item->elements);
 *         return true;
 *     }
 *
 *     struct heft_diff_visitor visitor = {.size = sizeof visitor, .tensor = print};
 *     struct heft_diff_result result = HEFT_INIT(struct heft_diff_result);
 *
 *     if (heft_diff(a, b, NULL, &visitor, &result, &err))
 *         printf("%" PRIu64 " equal\n", result.tensors.equal);
 *
 * Tensors are matched by their names, tied tensors by each of their names (also recorded ties, see
 * heft_tie_at), blobs by theirs. Layout does not matter: strides, byte order, compression, parts.
 *
 * Equal. Without tolerances two tensors are equal if their dtypes, shapes and all bits are: NaN
 * payloads and the sign of zero count. With tolerances, dtypes may differ: each element must be close
 * as in numpy.allclose with equal_nan, |a - b| <= atol + rtol * |b|, where NaN equals NaN, and an
 * infinity one of the same sign. Elements are widened to F64 without loss; the difference of integers
 * of 64 bits is computed exactly and then rounded. BOOL is 0 or 1; the difference of complex numbers
 * is the magnitude of a - b. Dtypes without a numeric value (packed bits), strings and blobs are
 * compared by their bytes, with tolerances, too.
 *
 * Figures. max_abs and mean_abs are the maximum and the mean of |a - b| over all elements. An element
 * that differs and is NaN or infinite on either side is left out of both; it is counted in nan or inf.
 * An element that does not differ counts as 0 in the mean if it is not finite. The figures have the
 * same bits for any number of threads.
 *
 * Memory besides the checkpoints: 256 KiB for each thread, at most 60 MiB if a tensor is strided or in
 * parts; 100 bytes for each name. */
#ifndef HEFT_DIFF_H
#define HEFT_DIFF_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct heft_checkpoint;
struct heft_rule;
struct heft_rule_use;

struct heft_diff_options {
    size_t size;        /* HEFT_INIT */
    bool structure;     /* compare names, dtypes and shapes only; reads no data */
    bool has_tolerance; /* use atol and rtol; false: compare bits */
    double atol, rtol;  /* finite, not negative; 0: exact values */
    /* Also compare metadata, without recorded ties and keys about the files ("format", "total_size"),
     * and values that are not tensors, below the root. Rules do not apply to them. */
    bool metadata;
    /* Sub-dictionary to compare, whose path is removed from the names. Applied to each checkpoint
     * that has it: the other one may be the sub-dictionary itself. */
    const char *root;
    /* Globs and regexes select names, HEFT_RULE_RENAME renames tensors of `a`, as in conversions.
     * Rules files (HEFT_RULE_FILE, HEFT_RULE_SET) are applied to `a` after that, as heft_rules_view does.
     * Globs and regexes judge the names as compared, after both. Other kinds are ignored. */
    const struct heft_rule *rules;
    size_t n_rules;
    /* Array of n_rules entries, each with its size, or NULL. heft_diff sets `matches`: names of both checkpoints that a
     * glob or regex matches, and names of `a` that a rename rule matches. Set before the first call
     * of the visitor. */
    struct heft_rule_use *uses;
    unsigned threads; /* 0: one per core, at most 4 */
    /* Progress in bytes of both checkpoints. Called from any thread, but not concurrently; returning
     * false stops (HEFT_CANCELLED). */
    bool (*progress)(void *ctx, uint64_t done, uint64_t total);
    void *progress_ctx;
};

enum heft_diff_kind { HEFT_DIFF_ONLY_A, HEFT_DIFF_ONLY_B, HEFT_DIFF_BOTH };

/* A tensor, or a blob: then dtype is HEFT_U8, and the shape is its size in bytes. */
struct heft_diff_side {
    enum heft_dtype dtype;
    unsigned rank;
    const uint64_t *shape; /* rank extents */
};

/* A name on one side only, or with a difference. Valid during the call of the visitor. */
struct heft_diff_item {
    enum heft_diff_kind kind;
    const char *name; /* as compared: without root, renamed; UTF-8, NUL-terminated */
    size_t name_len;
    const char *blob; /* NULL for a tensor; kind of the blob, for people: "blob", "asset" */
    struct heft_diff_side a, b; /* zeroed if the name is not on that side */
    /* For HEFT_DIFF_BOTH. Values are not compared if the shapes differ, or if the dtypes differ and
     * cannot be compared, or there is no tolerance. With a tolerance, different dtypes alone are no
     * difference. */
    bool dtype_differs, shape_differs, values_differ;
    /* If values_differ: */
    uint64_t elements; /* in each tensor; bytes of a blob */
    bool
        is_counted; /* false: `differing` is 0 and unknown (dtype HEFT_VARIANT, very many strings) */
    uint64_t differing; /* elements that differ */
    bool has_figures; /* the three next members are set: a differing element has a finite |a - b| */
    double max_abs, mean_abs;
    const uint64_t
        *max_abs_at;       /* index of the first element with max_abs, one number a dimension */
    uint64_t nan_a, nan_b; /* differing elements that are NaN */
    uint64_t inf_a, inf_b; /* … that are infinite */
};

/* A key of the metadata that is on one side only, or has different values. Valid during the call. */
struct heft_diff_pair {
    enum heft_diff_kind kind;
    const char *key;
    size_t key_len;
    const char *a, *b; /* values; NULL if the key is not on that side */
    size_t a_len, b_len;
};

/* A value, or a subtree of values, that is on one side only or differs: another type, or another
 * value. Valid during the call; a and b until the checkpoints are closed. */
struct heft_diff_value {
    enum heft_diff_kind kind;
    const char *path; /* dotted, below the root: "optimizer.param_groups.0.lr" */
    size_t path_len;
    const struct heft_value *a, *b; /* NULL if it is not on that side */
};

/* Callbacks, each of which may be NULL. Called from any thread, one at a time; returning false stops
 * (HEFT_CANCELLED). Order: names of `a` in its order, then names only in `b`, metadata, values. */
struct heft_diff_visitor {
    size_t size; /* HEFT_INIT */
    bool (*tensor)(void *ctx, const struct heft_diff_item *item);
    bool (*metadata)(void *ctx, const struct heft_diff_pair *pair);
    bool (*value)(void *ctx, const struct heft_diff_value *value);
    void *ctx;
};

struct heft_diff_counts {
    uint64_t equal, differ, only_a, only_b;
};
struct heft_diff_result {
    size_t size;                      /* HEFT_INIT */
    struct heft_diff_counts tensors;  /* and blobs, by name */
    struct heft_diff_counts metadata; /* zero unless it was compared, as are values */
    struct heft_diff_counts values;   /* equal: values without children */
    uint64_t cast_equal;              /* tensors counted as equal whose dtypes differ */
    bool has_root_a, has_root_b;      /* root was applied; true if it is NULL */
};

/* Compares a and b, which may be the same handle. options may be NULL. Returns true if the comparison
 * was completed, whatever it found. HEFT_USAGE for an invalid rule or tolerance, if neither checkpoint
 * has the root, or if renaming gives two tensors one name; HEFT_UNSUPPORTED for a selected tensor that
 * cannot be read (heft_unread_at); HEFT_IO, HEFT_MALFORMED if reading fails; HEFT_LIMIT for very many
 * values. Stored checksums of
 * uncompressed data are not compared: heft_verify. */
HEFT_API bool heft_diff(struct heft_checkpoint *a, struct heft_checkpoint *b,
                        const struct heft_diff_options *options,
                        const struct heft_diff_visitor *visitor, struct heft_diff_result *result,
                        struct heft_error *err);

#ifdef __cplusplus
}
#endif
#endif
