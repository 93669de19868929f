/* torch_parts.h: the inside of the torch reader, shared by the torch*.c files only.
 *
 *   torch.c          probe, open: finds the archive's root and its pickle
 *   torch_records.c  the small records, the map of bytes, notes
 *   torch_rebuild.c  persistent ids → storages; _rebuild_… calls → rows
 *   torch_numpy.c    numpy arrays → rows, numpy scalars → values
 *   torch_value.c    leaves → values, dictionary keys → text
 *   torch_tree.c     the walk of the pickle's graph
 *   torch_globals.c  the table of names
 *
 * All of them work on one struct heft_torch, which lives while a file is being opened. What the
 * model keeps is copied into model->mem; the pickle, its nodes and these tables are in `scratch`
 * and go when the file is open. */
#ifndef HEFT_TORCH_PARTS_H
#define HEFT_TORCH_PARTS_H

#include "core/model.h"
#include "format/torch_globals.h"
#include "wire/pickle.h"
#include "wire/zip.h"

enum heft_torch_mark {
    HEFT_TORCH_LOOSE,   /* nothing has asked for the record */
    HEFT_TORCH_STORED,  /* it is a storage of the model, which claims its bytes */
    HEFT_TORCH_PARSED,  /* it has been read */
    HEFT_TORCH_OUTSIDE, /* not in the root: nothing can ask for it */
};

/* One record data/KEY and what the pickle says of it. */
struct heft_torch_storage {
    struct heft_str key;
    const struct heft_torch_global *type; /* STORAGE or UNTYPED */
    uint64_t bytes;                       /* elements times their size */
    int64_t elements;
    uint32_t storage; /* in the model; HEFT_NONE: there is no data (meta device) */
    bool used;        /* by a row */
};

/* Bytes of a numpy array that stand verbatim in a stored data.pkl. */
struct heft_torch_span {
    uint64_t off, len;
};

struct heft_torch {
    struct heft_model *model;
    uint32_t source;
    struct heft_arena scratch;
    struct heft_arena graph; /* the pickle and its nodes: goes first, it is the largest */
    struct heft_zip zip;
    struct heft_str root; /* "archive", without the slash */
    uint32_t *numbered; /* K → the entry ROOT/data/K, HEFT_NONE where there is none; zip.count */
    struct heft_strmap records;       /* all others of the root, by what follows it and its slash */
    uint8_t *entry_marks;             /* an entry: enum heft_torch_mark */
    const struct heft_zip_entry *pkl; /* data.pkl */
    uint64_t base;                    /* its first byte in the file; HEFT_NO_OFFSET if deflated */
    struct heft_pickle pickle;
    uint32_t *meanings; /* a node: of a GLOBAL, the number of its entry; of a PERSID, storages */
    bool is_big;        /* byteorder: storages are big-endian */
    bool has_byteorder; /* written by torch 2.1 or later */
    uint64_t format;    /* .format_version; 0: has none */
    uint64_t alignment; /* .storage_alignment, or torch's default */

    struct heft_torch_storage *storages;
    size_t n_storages, cap_storages;
    uint32_t *by_entry;      /* an entry → storages, HEFT_NONE where it is none */
    struct heft_strmap keys; /* of storages that have no record → storages */
    struct heft_torch_span *spans;
    size_t n_spans, cap_spans;
    struct heft_u32map raw; /* node of raw bytes → storage in the model */
    struct heft_str *texts; /* long texts that were copied or decoded into the model */
    size_t n_texts, cap_texts;
    struct heft_u32map by_text;  /* node of a text or a global → texts */
    struct heft_u32map by_bytes; /* node of a text that stands for bytes → texts */
    uint64_t budget;             /* values that may still be made: limits.expansion */
};

static inline const struct heft_pickle_node *heft_torch_node(const struct heft_torch *t,
                                                             uint32_t node)
{
    return &t->pickle.nodes[node];
}
static inline bool heft_torch_is(const struct heft_torch *t, uint32_t node,
                                 enum heft_pickle_kind kind)
{
    return node != HEFT_PICKLE_NIL && t->pickle.nodes[node].kind == kind;
}
/* Text of either Python. */
static inline bool heft_torch_is_text(const struct heft_torch *t, uint32_t node)
{
    return heft_torch_is(t, node, HEFT_PICKLE_STR) || heft_torch_is(t, node, HEFT_PICKLE_PY2STR);
}
/* Where a node was made, in the file. */
static inline uint64_t heft_torch_where(const struct heft_torch *t, uint32_t node)
{
    return t->base == HEFT_NO_OFFSET ? HEFT_NO_OFFSET : t->base + t->pickle.nodes[node].at;
}
/* The i-th item of a tuple (or of any container), NIL where there is none. */
static inline uint32_t heft_torch_item(const struct heft_torch *t, uint32_t node, uint32_t index)
{
    return node == HEFT_PICKLE_NIL ? HEFT_PICKLE_NIL : heft_pickle_item(&t->pickle, node, index);
}
/* The items of a tuple, one behind the other. */
static inline const uint32_t *heft_torch_items(const struct heft_torch *t, uint32_t tuple)
{
    return t->pickle.items + t->pickle.nodes[tuple].first + HEFT_PICKLE_SEGMENT;
}
static inline uint32_t heft_torch_count(const struct heft_torch *t, uint32_t node)
{
    return node == HEFT_PICKLE_NIL ? 0 : t->pickle.nodes[node].count;
}

/* ---- torch_records.c ---- */

/* Sorts the entries by where they are: outside of the root, numbered storages, others. */
HEFT_CHECKED bool heft_torch_map_records(struct heft_torch *t, struct heft_error *err);
/* `version`, `byteorder` and the like: parsed and checked. */
HEFT_CHECKED bool heft_torch_read_records(struct heft_torch *t, struct heft_error *err);
/* The entry of the storage's record data/KEY, HEFT_NONE where there is none. `name` is room. */
HEFT_CHECKED bool heft_torch_find_record(const struct heft_torch *t, struct heft_str key,
                                         struct heft_buf *name, uint32_t *entry,
                                         struct heft_error *err);
/* A record that becomes a storage of the model. */
HEFT_CHECKED bool heft_torch_store_record(struct heft_torch *t, uint32_t entry, uint32_t *storage,
                                          struct heft_error *err);
/* After the walk: records without a tensor, notes, and a claim for every byte that is understood.
 */
HEFT_CHECKED bool heft_torch_claim_all(struct heft_torch *t, struct heft_error *err);

/* ---- torch_rebuild.c ---- */

/* The entry of a GLOBAL node; NULL for unknown names and other nodes. */
const struct heft_torch_global *heft_torch_global_of(const struct heft_torch *t, uint32_t node);
/* The kind of a CALL's callee: UNKNOWN also where it is no global. */
enum heft_torch_kind heft_torch_callee(const struct heft_torch *t, uint32_t call);
/* Looks up every global, and makes every persistent id a storage, checked against its record. */
HEFT_CHECKED bool heft_torch_add_storages(struct heft_torch *t, struct heft_error *err);

enum heft_torch_found {
    HEFT_TORCH_OTHER, /* not a tensor */
    HEFT_TORCH_ROW,   /* a row, all but its name */
    HEFT_TORCH_UNREAD /* a tensor that cannot be read: reason */
};
struct heft_torch_made {
    enum heft_torch_found found;
    struct heft_row row;
    const char *reason; /* in model->mem, or static */
};
/* What tensor a node is, if it is one: a _rebuild_… call, a bare storage, a numpy array. */
HEFT_CHECKED bool heft_torch_tensor(struct heft_torch *t, uint32_t node,
                                    struct heft_torch_made *out, struct heft_error *err);

/* ---- torch_numpy.c ---- */

/* For CALLs of numpy's _reconstruct and _frombuffer. */
HEFT_CHECKED bool heft_torch_array(struct heft_torch *t, uint32_t node, struct heft_torch_made *out,
                                   struct heft_error *err);
/* For CALLs of numpy's scalar: fills kind and content. *known is false for types that have no
 * value of ours. */
HEFT_CHECKED bool heft_torch_scalar(struct heft_torch *t, uint32_t node, struct heft_value *out,
                                    bool *known, struct heft_error *err);

/* ---- torch_value.c ---- */

/* Fills a value from a node that has no children: numbers, texts, names, devices, paths … *is_leaf
 * is false for all others. */
HEFT_CHECKED bool heft_torch_leaf(struct heft_torch *t, uint32_t node, struct heft_value *out,
                                  bool *is_leaf, struct heft_error *err);
/* Appends a dictionary key as Python's str would show it. `ordinal` tells apart objects that have
 * no text of their own. Lists, dicts and sets are no keys. */
HEFT_CHECKED bool heft_torch_key(struct heft_torch *t, uint32_t node, size_t ordinal,
                                 struct heft_buf *out, struct heft_error *err);
/* "module.name" of a GLOBAL or of the class of a CALL, in model->mem. */
HEFT_CHECKED const char *heft_torch_type_name(struct heft_torch *t, uint32_t node,
                                              struct heft_error *err);
/* Replaces lone surrogates, in place, by U+FFFD. */
void heft_torch_mend(char *text, size_t n);
/* The bytes that a node stands for: BYTES, BYTEARRAY, a string of Python 2, _codecs.encode or
 * bytearray over one. *found is false where it stands for none. `verbatim` is where they stand in
 * the pickle, or SIZE_MAX where they had to be decoded (into model->mem). */
struct heft_torch_bytes {
    struct heft_bytes bytes;
    uint32_t node; /* that holds them: sharing is by this */
    size_t verbatim;
};
HEFT_CHECKED bool heft_torch_bytes_of(struct heft_torch *t, uint32_t node, bool *found,
                                      struct heft_torch_bytes *out, struct heft_error *err);

/* ---- torch_tree.c ---- */

/* Rows and values from the graph's root. */
HEFT_CHECKED bool heft_torch_walk(struct heft_torch *t, struct heft_error *err);

#endif
