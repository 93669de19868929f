/* export_list.h: rows on their way out: selected, renamed, cast, freed of ties, assigned to shards. Pure:
 * rows → rows.
 *
 * An item is a row with the name and dtype that it will be written with. heft_export_load selects
 * and renames; heft_export_untie drops tied names nearly as huggingface_hub does; heft_export_split
 * assigns shards as it does. */
#ifndef HEFT_EXPORT_LIST_H
#define HEFT_EXPORT_LIST_H

#include "core/model.h"

struct heft_export_item {
    const struct heft_row *row;
    struct heft_str name; /* as written; NUL-terminated */
    struct heft_str from; /* in the source, below root: what rules match; NUL-terminated */
    uint64_t bytes;       /* as written */
    uint32_t number;      /* 1 … n_items, after split: the plan tells by it where an item is; 0 of
                             what is no item of an export list, as a piece that several look into */
    uint32_t shard;       /* 0 … n_shards-1, after split */
    uint8_t as;           /* dtype as written */
    bool is_apart;        /* it stands behind the source's rows: a tie that came back, a slice */
};

struct heft_tied {
    struct heft_str dropped, kept;
    bool is_recorded; /* in the metadata; else that has the user's own entry of this key */
};

struct heft_export_list {
    const struct heft_model *model;
    struct heft_arena *mem;
    /* In the source's order; after split: by shard, then in the hub's order. */
    struct heft_export_item *items;
    size_t n_items;
    struct heft_model_blob *blobs; /* selected and renamed, for targets that keep them */
    size_t n_blobs;
    /* Of the single file, or of the index: the source's, the user's, then dropped: kept. */
    struct heft_pair *metadata;
    size_t n_metadata, cap_metadata;
    struct heft_tied *tied; /* names that untying dropped, as written */
    size_t n_tied, cap_tied;
    struct heft_strmap keys; /* of metadata → its index */
    const size_t *begins;    /* after split: the first item of each shard, and the end */
    uint32_t n_shards;
    uint64_t (*weigh)(const struct heft_export_item *item); /* the format's, or NULL */
    /* Of the dictionary that is taken: whether it is an OrderedDict, and its _metadata or NULL. */
    bool is_ordered;
    const struct heft_value *modules;
    uint64_t total_size; /* the hub's metadata.total_size */
    bool untied;
    bool keeps_tree; /* the one file that is written has the nesting and the values of its source */
};

/* Select (--root, -g, -e), rename, cast, metadata; duplicates after renaming are HEFT_USAGE with
 * both names. An unreadable tensor among what is selected is an error that names it, unless
 * options->salvage. */
HEFT_CHECKED bool heft_export_load(struct heft_export_list *out, const struct heft_model *model,
                                   const struct heft_convert_options *options,
                                   struct heft_arena *mem, struct heft_error *err);
void heft_export_release(
    struct heft_export_list *exports); /* its arrays; the arena is the caller's */
/* export_untie.c: of the names of one view (same storage, offset, shape, strides, dtype, also as
 * written) all but one are dropped and recorded as dropped: kept in the metadata, unless the user
 * gave that key. The hub's choice stays, the first complete name of the storage, or the one that
 * --keep-tied matches. Where the hub refuses, and for every other view, names keep their own bytes. */
HEFT_CHECKED bool heft_export_untie(struct heft_export_list *exports,
                                    const struct heft_convert_options *options,
                                    struct heft_error *err);
/* The opposite: ties that the source's metadata records come back as items on one row, behind the
 * others. */
HEFT_CHECKED bool heft_export_retie(struct heft_export_list *exports,
                                    const struct heft_convert_options *options,
                                    struct heft_error *err);
/* export_blobs.c: the blobs that selection and renaming give. */
HEFT_CHECKED bool heft_export_take_blobs(struct heft_export_list *exports,
                                         const struct heft_convert_options *options,
                                         struct heft_error *err);
/* Whether a cast rule takes tensors of that dtype: a wildcard that asks for a float leaves integers and
 * bools alone, as torch's Module.to does. */
bool heft_export_cast_applies(enum heft_dtype from, enum heft_dtype to, const char *glob);
/* Sets what it is written as, and its bytes: the last rule that matches the name decides. */
HEFT_CHECKED bool heft_export_choose_dtype(struct heft_export_item *item, struct heft_str name,
                                           const struct heft_convert_options *options,
                                           struct heft_error *err);
/* Adds key: value; where the key is there already, leaves it and is_new false. */
HEFT_CHECKED bool heft_export_add_metadata(struct heft_export_list *exports,
                                           const struct heft_pair *pair, bool *is_new,
                                           struct heft_error *err);
/* Applies the rename rules to the names of the items from number `first` on. */
HEFT_CHECKED bool heft_export_rename(struct heft_export_list *exports, size_t first,
                                     const struct heft_convert_options *options,
                                     struct heft_error *err);
/* HEFT_USAGE where two items have one name. */
HEFT_CHECKED bool heft_export_check_names(const struct heft_export_list *exports,
                                          struct heft_error *err);
/* The hub's split (split.c) over the items; sorts items by shard. */
HEFT_CHECKED bool heft_export_split(struct heft_export_list *exports, uint64_t max_shard_size,
                                    struct heft_error *err);
/* The part of a exports that goes into one shard: a view on the items. */
struct heft_export_list heft_export_shard(const struct heft_export_list *exports, uint32_t shard);

#endif
