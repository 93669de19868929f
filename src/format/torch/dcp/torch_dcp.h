/* torch_dcp.h: what the .metadata of a torch.distributed.checkpoint folder says; shared by the
 * torch_dcp*.c files only. */
#ifndef HEFT_TORCH_DCP_H
#define HEFT_TORCH_DCP_H

#include "core/model.h"

/* A name of the state dict: a tensor in chunks, or an object. */
struct heft_dcp_entry {
    struct heft_str name;    /* in model->mem, NUL-terminated */
    uint64_t at;             /* where the metadata names it */
    const uint64_t *shape;   /* of a tensor */
    struct heft_part *parts; /* its chunks: start and extent; storage is HEFT_NONE */
    uint32_t n_parts;
    uint8_t dtype; /* HEFT_DTYPE_COUNT: none of ours */
    uint8_t rank;
    bool is_tensor;
};

/* Bytes of a file that hold a chunk, or an object. */
struct heft_dcp_item {
    struct heft_str file; /* a plain name, at most 255 bytes */
    uint64_t off, len;
    uint64_t at;    /* where the metadata says so */
    uint32_t entry; /* HEFT_NONE: of no name that there is */
    uint32_t part;  /* of a tensor */
};

struct heft_dcp {
    struct heft_dcp_entry *entries;
    struct heft_dcp_item *items;
    uint32_t n_entries, n_items;
    struct heft_str version; /* "1.0.0"; may be empty */
    int protocol;
    size_t length; /* bytes of the pickle */
};

/* What is read, and where it goes. */
struct heft_dcp_input {
    struct heft_bytes data;
    uint64_t bytes; /* of all files: limits grow with them */
    struct heft_model *model;
    uint32_t source;            /* for notes */
    struct heft_arena *graph;   /* nodes: may go afterwards, as may the data */
    struct heft_arena *scratch; /* entries and items; what the model keeps is in model->mem */
};

/* Whether a chunk has no elements. */
bool heft_dcp_is_empty(const struct heft_part *chunk, unsigned rank);
/* Interprets the pickle. */
HEFT_CHECKED bool heft_dcp_read(struct heft_dcp *out, const struct heft_dcp_input *in,
                                struct heft_error *err);

#endif
