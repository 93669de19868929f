/* torch_dcp.h: the contents of a .metadata file of torch.distributed.checkpoint; private to dcp/. */
#ifndef HEFT_TORCH_DCP_H
#define HEFT_TORCH_DCP_H

#include "core/model.h"

/* A name of the state dict: a chunked tensor or an object. */
struct heft_dcp_entry {
    struct heft_str name;    /* NUL-terminated, in model->mem */
    uint64_t at;             /* file offset of the name in .metadata */
    const uint64_t *shape;   /* shape of a tensor; NULL for other entries */
    struct heft_part *parts; /* chunks of a tensor: start and extent; their storage is HEFT_NONE */
    uint32_t n_parts;
    uint8_t dtype; /* HEFT_DTYPE_COUNT if heft has no such dtype */
    uint8_t rank;
    bool is_tensor;
};

/* A byte range of a file that holds a chunk or an object. */
struct heft_dcp_item {
    struct heft_str file; /* a plain file name, at most 255 bytes */
    uint64_t off, len;
    uint64_t at;    /* file offset of the item in .metadata */
    uint32_t entry; /* HEFT_NONE if no entry has its name */
    uint32_t part;  /* chunk of a tensor */
};

struct heft_dcp {
    struct heft_dcp_entry *entries;
    struct heft_dcp_item *items;
    uint32_t n_entries, n_items;
    struct heft_str version; /* "1.0.0"; may be empty */
    int protocol;
    size_t length; /* length of the pickle in bytes */
};

/* Input of heft_dcp_read. */
struct heft_dcp_input {
    struct heft_bytes data;
    uint64_t bytes; /* bytes of all files, by which limits grow */
    struct heft_model *model;
    uint32_t source;          /* source of the metadata, for notes */
    struct heft_arena *graph; /* memory of the nodes; may be released afterwards, like the data */
    /* memory of entries and items; what the model keeps is in model->mem */
    struct heft_arena *scratch;
};

/* True if a chunk has no elements. */
bool heft_dcp_is_empty(const struct heft_part *chunk, unsigned rank);
/* Interprets the pickle. */
HEFT_CHECKED bool heft_dcp_read(struct heft_dcp *out, const struct heft_dcp_input *in,
                                struct heft_error *err);

#endif
