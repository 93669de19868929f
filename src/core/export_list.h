/* export_list.h: the list of tensors to write: selected, renamed, cast, untied, assigned to shards.
 * It reads no tensor data.
 *
 * An item is a row with the name and dtype as written. heft_export_load selects and renames,
 * heft_export_untie drops tied names nearly as huggingface_hub does, heft_export_split assigns
 * shards as it does. */
#ifndef HEFT_EXPORT_LIST_H
#define HEFT_EXPORT_LIST_H

#include "core/model.h"

struct heft_export_item {
    const struct heft_row *row;
    struct heft_str name; /* name as written; NUL-terminated */
    /* name in the source, below the root, which rules match; NUL-terminated */
    struct heft_str from;
    uint64_t bytes; /* bytes as written */
    /* 1 … n_items after split, by which the plan records offsets; 0 if it is not in the list, as
     * a range that several items share */
    uint32_t number;
    uint32_t shard; /* 0 … n_shards - 1; set by heft_export_split */
    uint8_t as;     /* dtype as written */
    bool is_apart;  /* comes after the rows of the source: a restored tie, a slice */
    bool is_keyed;  /* the format has replaced its name */
    bool is_blob;   /* written as bytes without dtype and shape: a blob of that name */
};

struct heft_tied {
    struct heft_str dropped, kept;
    bool is_recorded; /* recorded in the metadata; false if the user's own entry has this key */
};

struct heft_export_list {
    const struct heft_model *model;
    struct heft_arena *mem; /* its budget also counts the arrays outside it */
    /* In the source's order; after split: by shard, then in the hub's order. */
    struct heft_export_item *items;
    size_t n_items;
    struct heft_model_blob *blobs; /* selected and renamed, for targets that store them */
    size_t n_blobs;
    /* Metadata of the single file or of the index: the source's, the user's, then recorded ties
     * (dropped: kept). */
    struct heft_pair *metadata;
    size_t n_metadata, cap_metadata;
    struct heft_tied *tied; /* dropped tied names, as written */
    size_t n_tied, cap_tied;
    struct heft_strmap keys; /* key of metadata → index */
    /* after split: index of the first item of each shard; n_shards + 1 entries */
    const size_t *begins;
    uint32_t n_shards;
    uint64_t (*weigh)(const struct heft_export_item *item); /* format->weigh, or NULL */
    uint64_t total_size; /* metadata.total_size of Hugging Face's index */
    bool untied;
    bool keeps_tree; /* the single output file preserves the nesting and the values of the source */
};

/* Selects, renames and casts tensors, and collects metadata. HEFT_USAGE with both names if two
 * tensors get one name. A selected tensor that cannot be read is an error, unless
 * options->salvage. */
HEFT_CHECKED bool heft_export_load(struct heft_export_list *out, const struct heft_model *model,
                                   const struct heft_convert_options *options,
                                   struct heft_arena *mem, struct heft_error *err);
void heft_export_release(
    struct heft_export_list *exports); /* frees the arrays; the arena belongs to the caller */
/* export_untie.c: drops all but one of the names of a view (equal storage, offset, shape,
 * strides, dtype, and dtype as written), and records "dropped: kept" in the metadata unless the
 * user gave that key. Keeps the name that a keep-tied rule matches, else the hub's choice, the
 * first complete name of the storage. Names of other views, and those of a storage that the hub
 * refuses, are written with their own bytes. */
HEFT_CHECKED bool heft_export_untie(struct heft_export_list *exports,
                                    const struct heft_convert_options *options,
                                    struct heft_error *err);
/* export_ties.c: the opposite. Restores ties that the source's metadata records as items that
 * share a row, after the others. */
HEFT_CHECKED bool heft_export_retie(struct heft_export_list *exports,
                                    const struct heft_convert_options *options,
                                    struct heft_error *err);
/* export_blobs.c: selects and renames blobs. */
HEFT_CHECKED bool heft_export_take_blobs(struct heft_export_list *exports,
                                         const struct heft_convert_options *options,
                                         struct heft_error *err);
/* Whether a cast rule applies to a tensor of that dtype and rank: a glob with wildcards that casts to a
 * float or to a block type skips integers and bools, as torch's Module.to does; one that quantizes
 * skips floats of fewer than 2 dimensions, which llama.cpp keeps as they are. */
bool heft_export_cast_applies(const struct heft_row *row, enum heft_dtype to, const char *glob);
/* Sets `as` and `bytes` of an item by the last cast rule that matches the name. */
HEFT_CHECKED bool heft_export_choose_dtype(struct heft_export_item *item, struct heft_str name,
                                           const struct heft_convert_options *options,
                                           struct heft_error *err);
/* Whether a rule leaves out the source's metadata of that key. */
bool heft_export_removes_metadata(const struct heft_rule *rules, size_t n_rules,
                                  struct heft_str key);
/* Adds an entry to the metadata. If the key exists, keeps the old entry and sets *is_new to
 * false. */
HEFT_CHECKED bool heft_export_add_metadata(struct heft_export_list *exports,
                                           const struct heft_pair *pair, bool *is_new,
                                           struct heft_error *err);
/* Applies the rename rules to the names of items[first] and later. */
HEFT_CHECKED bool heft_export_rename(struct heft_export_list *exports, size_t first,
                                     const struct heft_convert_options *options,
                                     struct heft_error *err);
/* HEFT_USAGE if two items have the same name. */
HEFT_CHECKED bool heft_export_check_names(const struct heft_export_list *exports,
                                          struct heft_error *err);
/* Splits the items into shards (split.c), and sorts them by shard. */
HEFT_CHECKED bool heft_export_split(struct heft_export_list *exports, uint64_t max_shard_size,
                                    struct heft_error *err);
/* View of the items of one shard. */
struct heft_export_list heft_export_shard(const struct heft_export_list *exports, uint32_t shard);

#endif
