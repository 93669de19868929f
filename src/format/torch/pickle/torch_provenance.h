/* torch_provenance.h: the part of a pickle that each row comes from, for programs that explain a
 * file. Recorded by the torch readers if it is asked for: struct heft_torch_request in
 * torch_parts.h. */
#ifndef HEFT_TORCH_PROVENANCE_H
#define HEFT_TORCH_PROVENANCE_H

#include "base/mem.h"

/* A persistent id that rows refer to: ("storage", type, key, location, elements). */
struct heft_provenance_storage {
    const char *type; /* class of the storage: "FloatStorage" */
    struct heft_str key, location;
    int64_t elements;
    uint32_t storage; /* index in the model */
};

struct heft_provenance_row {
    /* byte offset of its pickle, or of the record with the pickle, in the file */
    uint64_t pickle_at;
    uint32_t row;     /* index in the model */
    uint32_t storage; /* index in the provenance's storages; HEFT_NONE: no persistent id */
    uint32_t key_at;  /* position of the opcode that pushed its key; HEFT_NONE: no key */
    uint32_t made_at; /* position of the opcode that built it */
};

struct heft_provenance {
    struct heft_provenance_storage *storages;
    struct heft_provenance_row *rows;
    size_t n_storages, cap_storages, n_rows, cap_rows;
};

/* Bytes of the arrays. */
static inline uint64_t heft_provenance_bytes(const struct heft_provenance *provenance)
{
    return provenance->n_storages * sizeof *provenance->storages +
           provenance->n_rows * sizeof *provenance->rows;
}
/* Frees the arrays; texts belong to the model's arena. */
void heft_provenance_release(struct heft_provenance *provenance);

#endif
