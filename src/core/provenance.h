/* provenance.h: which part of a pickle made each row, for walks that explain a file. Kept only where
 * model->provenance is set before opening: the torch readers then fill it as they go. */
#ifndef HEFT_PROVENANCE_H
#define HEFT_PROVENANCE_H

#include "base/mem.h"

struct heft_model;

/* A persistent id that rows look into: ("storage", type, key, location, elements). */
struct heft_provenance_storage {
    const char *type; /* "FloatStorage" */
    struct heft_str key, location;
    int64_t elements;
    uint32_t storage; /* of the model */
};

struct heft_provenance_row {
    uint64_t pickle_at; /* where its pickle, or the record that holds it, begins in the file */
    uint32_t row;       /* of the model */
    uint32_t storage;   /* of the provenance; HEFT_NONE: it has no persistent id */
    uint32_t key_at;    /* position of the opcode that made its key; HEFT_NONE: it has none */
    uint32_t made_at;   /* position of the opcode that made it */
};

struct heft_provenance {
    struct heft_provenance_storage *storages;
    struct heft_provenance_row *rows;
    size_t n_storages, cap_storages, n_rows, cap_rows;
};

/* Texts are in the model's arena; this frees the rest. */
void heft_provenance_release(struct heft_provenance *provenance);

#endif
