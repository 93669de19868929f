/* stats.h: statistics of tensors. heft.h includes it.
 *
 *     static bool print(void *ctx, const struct heft_tensor_stats *s)
 *     {
 *         struct heft_tensor t = HEFT_INIT(struct heft_tensor);
 *
 *         if (heft_tensor_at(ctx, s->tensor, &t) && s->nan > 0)
 *             printf("%s has %" PRIu64 " NaN\n", t.name, s->nan);
 *         return true;
 *     }
 *     …
 *     ok = heft_stats(c, NULL, print, c, &err);
 *
 * Figures are those of the finite elements: NaN and infinities are only counted. Every element is
 * converted to F64, which is exact except for integers of 64 bits beyond 2^53; a complex number
 * counts by its magnitude. The additions have a fixed order, so that the results have the same bits
 * for any number of threads, on every machine, and for every layout in the file (strides, parts,
 * compression, byte order), in the default rounding mode. mean and std agree with those of NumPy in
 * float64 to about 13 digits. */
#ifndef HEFT_STATS_H
#define HEFT_STATS_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct heft_checkpoint;

enum heft_stats_kind {
    HEFT_STATS_NONE,    /* not a number: strings, packed numbers, blocks with scales */
    HEFT_STATS_FLOAT,   /* floats, and magnitudes of complex numbers */
    HEFT_STATS_SIGNED,  /* integers: exact_min and exact_max are also set, as `i` … */
    HEFT_STATS_UNSIGNED /* … or as `u`; also for booleans, whose values are 0 and 1 */
};
union heft_stats_integer {
    int64_t i;
    uint64_t u;
};
struct heft_tensor_stats {
    size_t tensor; /* index of heft_tensor_at */
    enum heft_stats_kind kind;
    uint64_t elements; /* product of the shape */
    /* The other members are 0 if kind is HEFT_STATS_NONE. */
    uint64_t zeros;  /* elements that are 0 or -0; complex numbers of magnitude 0 */
    uint64_t nan;    /* elements that are NaN; complex numbers with a NaN part */
    uint64_t inf;    /* infinite elements; other complex numbers of infinite magnitude */
    uint64_t finite; /* all other elements; if 0, the members below are 0 */
    double min, max; /* never -0 */
    double mean;
    double std;     /* of the population; infinite if the squares exceed the range of F64 */
    double abs_max; /* largest magnitude */
    union heft_stats_integer exact_min, exact_max;
    uint64_t exact_abs_max;
};

struct heft_stats_options {
    size_t size; /* HEFT_INIT */
    /* Flag for each tensor, as heft_select fills them; NULL: all tensors. */
    const bool *selected;
    unsigned threads; /* 0: one per core, at most 4 */
    /* Progress in bytes. Called from any thread, but not concurrently, neither with itself nor with
     * each(); returning false stops (HEFT_CANCELLED). */
    bool (*progress)(void *ctx, uint64_t done, uint64_t total);
    void *progress_ctx;
};
/* Calls each() for every selected tensor, in order. It is called from any thread, but not
 * concurrently; returning false stops (HEFT_CANCELLED). Reads all selected data once, in bounded
 * memory. options may be NULL. Stored checksums are not compared, except those of deflated data:
 * heft_verify. HEFT_IO, HEFT_MALFORMED (deflated data), HEFT_MISMATCH. */
HEFT_API bool heft_stats(struct heft_checkpoint *c, const struct heft_stats_options *options,
                         bool (*each)(void *ctx, const struct heft_tensor_stats *stats), void *ctx,
                         struct heft_error *err);

#ifdef __cplusplus
}
#endif
#endif
