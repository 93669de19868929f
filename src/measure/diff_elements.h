/* diff_elements.h: compares elements of two tensors, bit for bit or with tolerances.
 *
 * Figures are computed in F64, to which every real dtype but the integers of 64 bits widens exactly;
 * differences of those are computed as integers and rounded once. The difference of complex elements
 * is the magnitude of a - b. Dtypes without a numeric value (packed bits) have no figures. */
#ifndef HEFT_DIFF_ELEMENTS_H
#define HEFT_DIFF_ELEMENTS_H

#include "base/dtype.h"

struct heft_diff_rule {
    bool has_tolerance; /* false: bit for bit, for equal dtypes */
    double atol, rtol;
};

/* A zeroed struct is that of equal elements. */
struct heft_diff_figures {
    uint64_t differing;
    uint64_t excluded;       /* differing elements that are NaN or infinite on a side */
    uint64_t nan[2], inf[2]; /* differing elements of a and of b */
    double sum, max;         /* of |a - b| over all other elements; max if has_max */
    uint64_t max_at;         /* index of the first element with the maximum */
    bool has_max;            /* false: no element that is finite on both sides differs */
};

/* Whether the elements of two dtypes can be compared as numbers. */
bool heft_diff_is_comparable(enum heft_dtype a, enum heft_dtype b);
/* Whether differing elements of the dtype have figures; else only `differing` is counted. */
bool heft_diff_has_figures(enum heft_dtype dtype);
/* Compares n elements, whole blocks of both dtypes. first: index of the first one. Adds to *out;
 * the sum depends on how the calls divide the elements. */
void heft_diff_elements(const struct heft_diff_rule *rule, enum heft_dtype a, enum heft_dtype b,
                        const uint8_t *p, const uint8_t *q, size_t n, uint64_t first,
                        struct heft_diff_figures *out);
/* Appends the figures of the elements that follow. */
void heft_diff_figures_add(struct heft_diff_figures *total, const struct heft_diff_figures *next);

#endif
