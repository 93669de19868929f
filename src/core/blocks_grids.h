/* blocks_grids.h: code books of the IQ types (blocks_iq.c). A row is 8 indexes of 2 bits, or 4 indexes of
 * 4 bits, from the low bits up, into the values of the code book. */
#ifndef HEFT_BLOCKS_GRIDS_H
#define HEFT_BLOCKS_GRIDS_H

#include "base/base.h"

extern const uint16_t heft_grid_2xxs[256]; /* 8 × 8 25 43 */
extern const uint16_t heft_grid_2xs[512];
extern const uint16_t heft_grid_2s[1024];
extern const uint16_t heft_grid_3xxs[256]; /* 4 × 4 12 20 28 36 44 52 62 */
extern const uint16_t heft_grid_3s[512];   /* 4 × 1 3 5 7 9 11 13 15 */
extern const uint16_t heft_grid_1[2048];   /* 8 × -1 0 1 */

#endif
