/* registry.h: the formats, and which one a file is. Content decides, strong magics first; a name
 * never does.
 *
 * Which formats there are, format/formats.c says; nothing here knows any of them. */
#ifndef HEFT_REGISTRY_H
#define HEFT_REGISTRY_H

#include "core/file_names.h"
#include "core/model.h"

#define HEFT_PROBE_HEAD 4096
#define HEFT_PROBE_TAIL 65557 /* where the end of a zip may be: its record, and a comment */

/* The first 4 KiB and the last 64 KiB of a file, or all of it where it is smaller (then tail ==
 * head region). */
struct heft_probe {
    struct heft_bytes head, tail;
    uint64_t size;
    const char *path;
};

struct heft_plan;
struct heft_export_list;
struct heft_export_item;

/* Whom a format tells what it finds while verifying. `text` is the listener's to copy. */
struct heft_reporter {
    void (*report)(void *ctx, enum heft_severity severity, uint32_t source, uint64_t offset,
                   const char *text);
    void *ctx;
};

/* A word for a format that cannot be written, by name or by extension, and what to do instead. The
 * last row's word is NULL. */
struct heft_not_written {
    const char *word, *instead;
};

struct heft_format {
    const char *name;
    const char *summary;
    const char *const *synonyms; /* what people ask for it by, too; NULL-terminated, or NULL */
    const struct heft_not_written *not_written;
    const struct heft_file_name *names; /* of its files, in folders; NULL: none */
    const struct heft_locator *locator; /* where names of a folder are not enough; NULL */
    int (*probe)(
        const struct heft_probe *probe); /* 0 no … 100 certain; NULL: never found by content */
    /* Reads on, in few places, where no format's probe said yes. NULL: its mark is in the head. */
    bool (*find_signature)(const struct heft_source *source, bool *is_it, struct heft_error *err);
    /* Appends sources[source]'s rows, values, claims to the model. NULL: cannot be read. */
    bool (*open)(struct heft_model *model, uint32_t source, struct heft_error *err);
    /* Of all inputs, once they are open and before they are settled: makes one of what belongs
     * together. NULL: nothing does. */
    bool (*join)(struct heft_model *model, struct heft_error *err);
    /* Reads of sources[source] what opening leaves alone, for verify. NULL: there is no such. */
    bool (*verify)(const struct heft_model *model, uint32_t source, const struct heft_reporter *to,
                   struct heft_error *err);
    /* Judges a stored checksum of sources[source] that covers more than one storage, of all weights
     * together. HEFT_MISMATCH: they are not what the file says. NULL: each storage has its own. */
    bool (*check)(const struct heft_model *model, uint32_t source, struct heft_error *err);
    /* Adds the claims of sources[source] to a copy of the model that only the map sees: where they
     * are too many to be kept, or cost reading. NULL: opening made them all. */
    bool (*annotate)(struct heft_model *view, uint32_t source, struct heft_error *err);
    /* Adds the ops of one output file that holds the rows of the export list. Pure: it changes the
     * plan, and neither model nor list. NULL: cannot be written. */
    bool (*plan)(struct heft_plan *plan, uint32_t file, const struct heft_export_list *exports,
                 struct heft_error *err);
    /* Instead of plan: names all output files, splits the exports among them and adds their ops, in
     * one go. `output` is what the user gave; sets plan->prefix and exports->n_shards. */
    bool (*plan_set)(struct heft_plan *plan, const char *output, struct heft_export_list *exports,
                     struct heft_error *err);
    /* Adds the ops of the index of a set of shards, whose paths are those of the plan's files. NULL: it is
     * no index. */
    bool (*plan_index)(struct heft_plan *plan, uint32_t file,
                       const struct heft_export_list *exports, struct heft_error *err);
    const char *index_suffix; /* of an index: what its name adds to "model.EXT"; ".index.json" */
    bool is_for_folders;      /* what a directory is written as where nothing is asked for */
    bool
        has_messages; /* what is decoded from its files stands in protobuf messages, not in pickles */
    bool has_block_sums;           /* its files are blocks with checksums, which opening compares */
    const char *const *extensions; /* of files it writes, NULL-terminated, without the dot; the
                                      first is the usual one */
    /* Where splits count otherwise than by storages: the bytes that an item counts, each for itself.
     * NULL: as huggingface_hub counts tensors of torch. */
    uint64_t (*weigh)(const struct heft_export_item *item);
    /* What a shard calls the tensor that the index calls so, where these differ; a part of it. */
    struct heft_str (*shard_name)(struct heft_str name);
    const char *pattern; /* of shards: "model{suffix}.safetensors"; NULL: cannot be sharded */
    bool one_tensor;     /* holds exactly one (npy, raw) */
    bool keeps_blobs;    /* holds blobs beside tensors */
    /* Options beside those of every target, ended by one without a name; NULL: none. What was given is in
     * the plan, entry by entry: heft_plan_option. */
    const struct heft_format_option *options;
    /* The option without which a source with values or metadata is refused, as there is no place for
     * them; NULL: they are left out with a note, or have a place. */
    const char *drop_option;
    bool keeps_tree;    /* what readers of its kind call has_tree: values and nesting stay */
    bool keeps_strides; /* dimensions may lie in another order than row-major */
    bool wide_extents;  /* of dimensions, up to 2^64-1; others have them signed */
    bool no_ties;       /* one name a storage: tied rows are dropped and recorded as the hub does */
    enum heft_sum sum;  /* of what its plans sum up for late ops; NONE: it has no such */
    bool (*supports_dtype)(
        enum heft_dtype dtype); /* which it can hold; NULL: all of fixed length */
};

/* What is known of formats that none of the list reads: sure marks, and what to do instead. */
struct heft_foreign {
    const struct heft_file_name *names; /* of rank FOREIGN */
    const struct heft_not_written *not_written;
    /* Whether the file is of such a format although a format of the list bids for it, unsure. */
    bool (*takes)(const struct heft_probe *probe);
    /* Why a file that no format takes is none of ours. Always false. */
    bool (*refuse)(const struct heft_probe *probe, struct heft_error *err);
    /* True, with *err filled, where the names in a folder are those of such a format. */
    bool (*refuse_folder)(const char *const *names, size_t n, struct heft_error *err);
};

/* The formats there are, those with strong magics first. */
struct heft_formats {
    const struct heft_format *const *list;
    size_t n;
    const struct heft_conventions *conventions; /* of folders; NULL: none */
    const struct heft_foreign *foreign;         /* NULL: nothing is known */
};

/* Whether conversions can be asked for it by name. */
static inline bool heft_format_writes(const struct heft_format *format)
{
    return format->plan_set || (format->plan && format->extensions[0]);
}

/* supports_dtype.c: whether tensors of that dtype can be written so. */
bool heft_registry_supports_dtype(const struct heft_format *format, enum heft_dtype dtype);
/* What else to cast them to, that can: integers to the smallest integers that have every value.
 * HEFT_DTYPE_COUNT where there is no such. */
enum heft_dtype heft_registry_instead(const struct heft_format *format, enum heft_dtype dtype);

const struct heft_format *heft_registry_find(const struct heft_formats *formats,
                                             const char *name); /* NULL where unknown */
const struct heft_format *
heft_registry_by_extension(const struct heft_formats *formats,
                           const char *path); /* a writer; NULL where unknown */
const struct heft_format *heft_registry_at(const struct heft_formats *formats,
                                           size_t index); /* NULL past the end */

/* ---- format_names.c ---- */

/* By its name or a synonym ("pth", "tensorflow"); NULL where unknown. */
const struct heft_format *heft_registry_named(const struct heft_formats *formats, const char *name);
/* Always false: the error lists the formats, or says what to do instead. */
bool heft_registry_refuse_reader(const struct heft_formats *formats, const char *name,
                                 struct heft_error *err);
bool heft_registry_refuse_writer(const struct heft_formats *formats, const char *name,
                                 struct heft_error *err);
bool heft_registry_refuse_extension(const struct heft_formats *formats, const char *path,
                                    struct heft_error *err);

/* Opens the inputs (files, a folder, an index; several shard files) into an empty model: locate,
 * probe, open. `format` (or NULL) overrides the probe. Does not settle. */
HEFT_CHECKED bool heft_registry_open(struct heft_model *model, const char *const *paths,
                                     size_t n_paths, const char *format, struct heft_error *err);
/* Each source's format->check: for whoever is to read whole tensors and verifies. HEFT_MISMATCH. */
HEFT_CHECKED bool heft_registry_check_sources(const struct heft_model *model,
                                              struct heft_error *err);
/* Probes and opens a source that the model has already. */
HEFT_CHECKED bool heft_registry_open_source(struct heft_model *model, uint32_t source,
                                            const char *format, struct heft_error *err);
/* Opens a file named inside another file: only a relative path inside the folder of
 * sources[source]; `..`, roots, drives, NUL are HEFT_UNSAFE. *index is the new source. */
HEFT_CHECKED bool heft_registry_open_sibling(struct heft_model *model, uint32_t source,
                                             struct heft_str relative, uint32_t *index,
                                             struct heft_error *err);
/* Whether a name in a file may be followed at all: HEFT_UNSAFE as above. */
HEFT_CHECKED bool heft_registry_check_relative(struct heft_str relative, struct heft_error *err);
/* The same for a file of raw parts that only its namer can read: adds it, opens no format. */
HEFT_CHECKED bool heft_registry_add_sibling(struct heft_model *model, uint32_t source,
                                            struct heft_str relative, uint32_t *index,
                                            struct heft_error *err);
/* Adds to *bytes those of the files beside sources[source] whose names end so: what limits may grow
 * with before such files are opened. What cannot be seen counts nothing. */
HEFT_CHECKED bool heft_registry_add_sibling_bytes(struct heft_model *model, uint32_t source,
                                                  const char *suffix, uint64_t *bytes,
                                                  struct heft_error *err);

#endif
