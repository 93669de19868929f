/* ptd_origin.h: the tensors that a .ptd was made from, found by the SHA-256 of their bytes. */
#ifndef HEFT_PTD_ORIGIN_H
#define HEFT_PTD_ORIGIN_H

#include "base/sha256.h"
#include "core/reader.h"
#include "format/executorch/ptd_write.h"

/* A tensor in one order of its dimensions. */
struct heft_ptd_origin {
    struct heft_str name; /* below the root of the conversion, if it has that */
    const struct heft_row *row;
    const uint8_t *order; /* dim_order of the hashed bytes; NULL: row-major */
    uint32_t next;        /* next one with the same digest, or HEFT_NONE */
    uint8_t digest[HEFT_SHA256_BYTES];
};

/* Zeroed: none are known. Release it also after a failure. */
struct heft_ptd_origins {
    struct heft_model model;
    struct heft_reader reader;
    struct heft_arena *mem; /* of orders and views */
    struct heft_ptd_origin *list;
    size_t n, cap;
    struct heft_strmap by_digest; /* digest → first origin */
    struct heft_strmap by_name;   /* name of a tensor → its row-major origin */
    bool is_open;
};

/* Opens and hashes the checkpoint at the path. `root`: dictionary of the tensors; NULL: all. */
HEFT_CHECKED bool heft_ptd_origins_open(struct heft_ptd_origins *origins,
                                        const struct heft_plan *plan, const char *path,
                                        struct heft_error *err);
void heft_ptd_origins_release(struct heft_ptd_origins *origins);
/* First origin with the digest, or HEFT_NONE. */
uint32_t heft_ptd_origins_find(const struct heft_ptd_origins *origins,
                               const uint8_t digest[HEFT_SHA256_BYTES]);

/* Whether the order leaves the elements where they are in row-major order. */
bool heft_ptd_keeps_order(const struct heft_row *row, const uint8_t *order);
/* A view of a row without parts whose row-major elements are those of `row` in the order. */
HEFT_CHECKED const struct heft_row *heft_ptd_permuted_row(const struct heft_row *row,
                                                          const uint8_t *order,
                                                          struct heft_arena *mem,
                                                          struct heft_error *err);

#endif
