/* provenance.c: see torch_provenance.h. */
#include "format/torch/pickle/torch_provenance.h"

void heft_provenance_release(struct heft_provenance *provenance)
{
    heft_free(provenance->storages);
    heft_free(provenance->rows);
    *provenance = (struct heft_provenance){0};
}
