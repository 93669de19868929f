/* sampler.h: the inside of the sampler: arrays of ids in files.
 *
 *     sampler_file.c   .npz, .npy, .bin → arrays
 *     sampler.c        windows of them; the public door */
#ifndef HEFT_SAMPLER_H
#define HEFT_SAMPLER_H

#include "heft/tokens.h"
#include "io/source.h"
#include "tokens/sampler/mt19937.h"

/* One of the two holds its bytes: a file's own, or what was inflated. */
struct heft_id_array {
    struct heft_mapping map;
    uint64_t spooled; /* where in the spool */
    bool in_spool, is_signed;
    uint8_t width;   /* bytes of an id: 1, 2, 4, 8 */
    uint64_t n, off; /* ids; bytes before the first one */
};

struct heft_sampler {
    struct heft_id_array *arrays;
    uint64_t *begins; /* of each array among all ids, and one more: their total */
    size_t n, cap;
    struct heft_spool spool;
    bool has_spool;
    struct heft_mt19937 random;
};

/* Appends the arrays of a file. width: of ids in a stream that does not say it. */
HEFT_CHECKED bool heft_sampler_add(struct heft_sampler *s, const char *path, unsigned width,
                                   struct heft_error *err);
/* The same for a source, which must outlive the sampler where it is memory. */
HEFT_CHECKED bool heft_sampler_add_source(struct heft_sampler *s, const struct heft_source *source,
                                          unsigned width, struct heft_error *err);
/* Ids [at, at+n) of an array, which the caller keeps within it. */
HEFT_CHECKED bool heft_id_array_read(const struct heft_sampler *s, const struct heft_id_array *a,
                                     uint64_t at, size_t n, uint32_t *ids, struct heft_error *err);

#endif
