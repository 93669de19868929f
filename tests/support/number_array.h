/* number_array.h: a row-major array of numbers, and the plain form of changes of its shape: the reference
 * for core/shaping.h. Include it after cmocka.h. */
#ifndef NUMBER_ARRAY_H
#define NUMBER_ARRAY_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { DIMS = 12 };

struct array {
    unsigned rank;
    uint64_t shape[DIMS];
    uint64_t n;
    uint32_t *v;
};

static inline uint64_t product(const uint64_t *shape, unsigned rank)
{
    uint64_t n = 1;

    for (unsigned d = 0; d < rank; d++)
        n *= shape[d];
    return n;
}

static inline void array_new(struct array *a, const uint64_t *shape, unsigned rank)
{
    uint64_t copy[DIMS];

    assert_true(rank <= DIMS);
    memcpy(copy, shape, rank * sizeof *copy);
    a->rank = rank;
    memcpy(a->shape, copy, rank * sizeof *copy);
    a->n = product(copy, rank);
    a->v = malloc((size_t)(a->n + 1) * sizeof *a->v);
    assert_non_null(a->v);
}

static inline void array_free(struct array *a)
{
    free(a->v);
    *a = (struct array){0};
}

/* Indexes of element i. */
static inline void index_of(const struct array *a, uint64_t i, uint64_t *at)
{
    for (unsigned d = a->rank; d > 0; d--) {
        at[d - 1] = i % a->shape[d - 1];
        i /= a->shape[d - 1];
    }
}

static inline uint32_t *element(const struct array *a, const uint64_t *at)
{
    uint64_t i = 0;

    for (unsigned d = 0; d < a->rank; d++)
        i = i * a->shape[d] + at[d];
    return &a->v[i];
}

static inline void array_permute(struct array *a, const uint64_t *order)
{
    uint64_t shape[DIMS], at[DIMS], from[DIMS];
    struct array out;

    for (unsigned d = 0; d < a->rank; d++)
        shape[d] = a->shape[order[d]];
    array_new(&out, shape, a->rank);
    for (uint64_t i = 0; i < out.n; i++) {
        index_of(&out, i, at);
        for (unsigned d = 0; d < a->rank; d++)
            from[order[d]] = at[d];
        out.v[i] = *element(a, from);
    }
    array_free(a);
    *a = out;
}

static inline void array_reshape(struct array *a, const uint64_t *shape, unsigned rank)
{
    assert_int_equal(product(shape, rank), a->n);
    a->rank = rank;
    memcpy(a->shape, shape, rank * sizeof *shape);
}

static inline void array_slice(const struct array *a, unsigned dim, uint64_t begin, uint64_t end,
                               struct array *out)
{
    uint64_t shape[DIMS], at[DIMS];

    memcpy(shape, a->shape, sizeof shape);
    shape[dim] = end - begin;
    array_new(out, shape, a->rank);
    for (uint64_t i = 0; i < out->n; i++) {
        index_of(out, i, at);
        at[dim] += begin;
        out->v[i] = *element(a, at);
    }
}

static inline void array_cat(const struct array *list, size_t n, unsigned dim, struct array *out)
{
    uint64_t shape[DIMS], at[DIMS], before = 0;

    memcpy(shape, list[0].shape, sizeof shape);
    for (size_t k = 1; k < n; k++)
        shape[dim] += list[k].shape[dim];
    array_new(out, shape, list[0].rank);
    for (size_t k = 0; k < n; k++) {
        for (uint64_t i = 0; i < list[k].n; i++) {
            index_of(&list[k], i, at);
            at[dim] += before;
            *element(out, at) = list[k].v[i];
        }
        before += list[k].shape[dim];
    }
}

#endif
