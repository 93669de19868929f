/* dims.h: shapes and strides as text: [2,3]. */
#ifndef CLI_DIMS_H
#define CLI_DIMS_H

#include "output/output.h"

/* Upper bound on the bytes that put_dims writes. */
static inline size_t dims_room(unsigned rank)
{
    return 2 + 21 * (size_t)rank;
}
/* Writes at `to`, which has OUT_SLACK bytes to spare; returns the end. */
char *put_dims(char *to, const uint64_t *dims, unsigned rank);
void out_dims(struct out *out, const uint64_t *dims, unsigned rank);
/* Number of columns. */
size_t dims_width(const uint64_t *dims, unsigned rank);
/* Writes a member of the open object. */
void json_dims(struct out *out, const char *key, const uint64_t *dims, unsigned rank);

#endif
