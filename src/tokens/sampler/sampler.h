/* sampler.h: internal interface of the sampler: arrays of ids in files.
 *
 *     sampler_file.c   .npz, .npy, .bin → arrays
 *     sampler.c        windows of them; public API */
#ifndef HEFT_SAMPLER_H
#define HEFT_SAMPLER_H

#include "heft/tokens.h"
#include "io/source.h"
#include "tokens/sampler/mt19937.h"

/* Array of ids. Its bytes are in the file itself or, if it was compressed, in the spool. */
struct heft_id_array {
    struct heft_mapping map;
    uint64_t spooled; /* offset in the spool */
    bool in_spool, is_signed;
    uint8_t width;   /* bytes of an id: 1, 2, 4, 8 */
    uint64_t n, off; /* number of ids; offset of the first one in bytes */
};

struct heft_sampler {
    struct heft_id_array *arrays;
    uint64_t *begins; /* index of each array's first id among all ids, and at the end their total */
    size_t n, cap;
    struct heft_spool spool;
    bool has_spool;
    struct heft_mt19937 random;
};

/* Appends the arrays of a file. width: of ids in a raw stream, which does not state it. */
HEFT_CHECKED bool heft_sampler_add(struct heft_sampler *s, const char *path, unsigned width,
                                   struct heft_error *err);
/* The same for a source. A source in memory must outlive the sampler. */
HEFT_CHECKED bool heft_sampler_add_source(struct heft_sampler *s, const struct heft_source *source,
                                          unsigned width, struct heft_error *err);
/* Reads ids [at, at+n) of an array; the range must be valid. */
HEFT_CHECKED bool heft_id_array_read(const struct heft_sampler *s, const struct heft_id_array *a,
                                     uint64_t at, size_t n, uint32_t *ids, struct heft_error *err);

#endif
