/* trail.c: see trail.h. */
#include "core/trail.h"

void heft_trail_release(struct heft_trail *trail)
{
    heft_free(trail->storages);
    heft_free(trail->rows);
    *trail = (struct heft_trail){0};
}
