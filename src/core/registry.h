/* registry.h: the interface of a format, and detection of a file's format by its content, strong
 * signatures first; its name does not matter.
 *
 * The table of formats is in format/formats.c; nothing here depends on a single format. */
#ifndef HEFT_REGISTRY_H
#define HEFT_REGISTRY_H

#include "core/file_names.h"
#include "core/model.h"

#define HEFT_PROBE_HEAD 4096
#define HEFT_PROBE_TAIL                                                                            \
    65557 /* bytes in which the end record of a zip lies: the record and the longest comment */

/* The first 4 KiB and the last 64 KiB of a file. If the file is smaller, head and tail overlap. */
struct heft_probe {
    struct heft_bytes head, tail;
    uint64_t size;
    const char *path;
};

struct heft_dequantizer;
struct heft_ruler;
struct heft_plan;
struct heft_export_list;
struct heft_export_item;

/* Callback for findings of a format's verify(). The callee must copy `text`. */
struct heft_reporter {
    void (*report)(void *ctx, enum heft_severity severity, uint32_t source, uint64_t offset,
                   const char *text);
    void *ctx;
};

/* A name or extension of a format that cannot be written, and what to do instead. The last row's
 * word is NULL. */
struct heft_not_written {
    const char *word, *instead;
};

struct heft_format {
    const char *name;
    const char *summary;
    const char *const *synonyms; /* other names that users give it; NULL-terminated, or NULL */
    const struct heft_not_written *not_written;
    /* names of its files, for finding them in directories; NULL: none */
    const struct heft_file_name *names;
    /* callbacks for finding files if names are not enough; or NULL */
    const struct heft_locator *locator;
    int (*probe)(
        const struct heft_probe
            *probe); /* score from 0 (no) to 100 (certain); NULL: never detected by content */
    /* Looks for a signature outside head and tail, with few reads; called if no probe accepts
     * the file. NULL: the probe is enough. */
    bool (*find_signature)(const struct heft_source *source, bool *is_it, struct heft_error *err);
    /* Appends rows, values and claims of sources[source] to the model. NULL: the format cannot
     * be read. */
    bool (*open)(struct heft_model *model, uint32_t source, struct heft_error *err);
    /* Joins tensors that several inputs hold parts of; called after all inputs are opened and
     * before validation. NULL: not needed. */
    bool (*join)(struct heft_model *model, struct heft_error *err);
    /* Verifies what opening sources[source] does not read. NULL: nothing. */
    bool (*verify)(const struct heft_model *model, uint32_t source, const struct heft_reporter *to,
                   struct heft_error *err);
    /* Compares a stored checksum of sources[source] that covers several storages. HEFT_MISMATCH
     * if it differs. NULL: there is none. */
    bool (*check)(const struct heft_model *model, uint32_t source, struct heft_error *err);
    /* Adds claims of sources[source] to a copy of the model, only for the map: claims that are
     * too many to keep, or that need further reads. NULL: opening adds all claims. */
    bool (*annotate)(struct heft_model *view, uint32_t source, struct heft_error *err);
    /* Adds the ops of one output file with the rows of the export list. Changes only the plan.
     * NULL: the format cannot be written. */
    bool (*plan)(struct heft_plan *plan, uint32_t file, const struct heft_export_list *exports,
                 struct heft_error *err);
    /* Alternative to plan for formats that name their files themselves: names all output files,
     * divides the exports among them, and adds their ops. `output`: the path that the user gave.
     * Sets plan->prefix and exports->n_shards. */
    bool (*plan_set)(struct heft_plan *plan, const char *output, struct heft_export_list *exports,
                     struct heft_error *err);
    /* Adds the ops of the index of a set of shards; the shards are the files of the plan so far.
     * NULL: the format is not an index. */
    bool (*plan_index)(struct heft_plan *plan, uint32_t file,
                       const struct heft_export_list *exports, struct heft_error *err);
    /* for an index: suffix of its name after "model.EXT", ".index.json" */
    const char *index_suffix;
    bool is_for_folders; /* default format of an output that is a directory */
    /* decoded parts of its files come from protobuf messages, not from pickles */
    bool has_messages;
    /* names of its tensors are paths, "dense/kernel"; those of other formats are joined by dots */
    bool has_path_names;
    bool has_block_sums; /* its files consist of blocks with checksums, which opening compares */
    /* extensions of files it writes, without the dot, NULL-terminated; the first is the default */
    const char *const *extensions;
    /* Bytes that an item counts when exports are split into shards; each item counts for itself.
     * NULL: by storages, as huggingface_hub counts torch tensors. */
    uint64_t (*weigh)(const struct heft_export_item *item);
    /* Name in the shard of a tensor named so in the index; a substring of it. NULL: the same. */
    struct heft_str (*shard_name)(struct heft_str name);
    /* pattern of shard names, "model{suffix}.safetensors"; NULL: cannot be sharded */
    const char *pattern;
    bool one_tensor;  /* stores exactly one tensor (npy, raw) */
    bool needs_file;  /* read in another process: not through callbacks of the program */
    bool keeps_blobs; /* stores blobs beside tensors */
    /* Options beside those that every input or target has; the last row has no name. NULL: none. The
     * user's values: for reading in the model (heft_given_options_get), for writing in the plan, in the
     * same order (heft_plan_option). */
    const struct heft_format_option *options;
    /* The option without which a source with values or metadata is refused, as there is no place for
     * them; NULL: they are left out with a note, or have a place. */
    const char *drop_option;
    /* can preserve the values and nesting of a source of its kind (model->has_tree) */
    bool keeps_tree;
    /* the values of its files are metadata, which its writer keeps if the source is of this format */
    bool keeps_values;
    /* its plan_set stores values of any source, and notes those that it leaves out itself */
    bool places_values;
    bool keeps_strides; /* stores strides other than row-major */
    bool wide_extents;  /* extents up to 2^64-1; other formats store them as signed integers */
    /* stores one name for each storage: tied names are dropped and recorded as the hub does */
    bool no_ties;
    enum heft_sum sum; /* kind of the sums that its plans need for late ops; NONE: none */
    bool (*supports_dtype)(
        enum heft_dtype
            dtype); /* whether it can store the dtype; NULL: all but varying and scaled dtypes */
};

/* Knowledge of formats that heft does not read: certain signatures, and what to do instead. */
struct heft_foreign {
    const struct heft_file_name *names; /* their file names, of rank FOREIGN */
    const struct heft_not_written *not_written;
    /* Whether a file is of such a format although a known format's probe accepts it with a low
     * score. */
    bool (*takes)(const struct heft_probe *probe);
    /* Explains why a file that no format accepts cannot be read. Always returns false. */
    bool (*refuse)(const struct heft_probe *probe, struct heft_error *err);
    /* True, with *err filled, if the names in a directory are those of such a format. */
    bool (*refuse_folder)(const char *const *names, size_t n, struct heft_error *err);
};

/* The table of formats; those with strong signatures first. */
struct heft_formats {
    const struct heft_format *const *list;
    size_t n;
    const struct heft_conventions *conventions; /* naming conventions of directories; NULL: none */
    const struct heft_foreign *foreign;         /* formats that heft only recognises; may be NULL */
    const struct heft_dequantizer *dequantizer; /* core/derive.h; may be NULL */
    const struct heft_ruler *ruler;             /* core/ruling.h; may be NULL */
};

/* Whether the format can be written. */
static inline bool heft_format_writes(const struct heft_format *format)
{
    return format->plan_set || (format->plan && format->extensions[0]);
}

/* supports_dtype.c: whether the format can store the dtype. */
bool heft_registry_supports_dtype(const struct heft_format *format, enum heft_dtype dtype);
/* The dtype to cast to if the format cannot store `dtype`; for integers the smallest that
 * represents every value. HEFT_DTYPE_COUNT if there is none. */
enum heft_dtype heft_registry_instead(const struct heft_format *format, enum heft_dtype dtype);

const struct heft_format *heft_registry_find(const struct heft_formats *formats,
                                             const char *name); /* NULL if unknown */
const struct heft_format *
heft_registry_by_extension(const struct heft_formats *formats,
                           const char *path); /* a format that can be written; NULL if unknown */
const struct heft_format *heft_registry_at(const struct heft_formats *formats,
                                           size_t index); /* NULL past the end */

/* ---- format_names.c ---- */

/* Finds a format by its name or a synonym ("pth", "tensorflow"); NULL if unknown. */
const struct heft_format *heft_registry_named(const struct heft_formats *formats, const char *name);
/* HEFT_USAGE or HEFT_UNSUPPORTED: lists the formats, or says what to do instead. Always returns
 * false. */
bool heft_registry_refuse_reader(const struct heft_formats *formats, const char *name,
                                 struct heft_error *err);
bool heft_registry_refuse_writer(const struct heft_formats *formats, const char *name,
                                 struct heft_error *err);
bool heft_registry_refuse_extension(const struct heft_formats *formats, const char *path,
                                    struct heft_error *err);

/* Opens the inputs (files, a directory, an index, several shards) into an empty model: locates
 * the files, detects their format, reads them. `format` replaces the detection unless it is
 * NULL. Does not validate. */
HEFT_CHECKED bool heft_registry_open(struct heft_model *model, const char *const *paths,
                                     size_t n_paths, const char *format, struct heft_error *err);
/* Runs format->check of every source, for callers that verify what they read. HEFT_MISMATCH. */
HEFT_CHECKED bool heft_registry_check_sources(const struct heft_model *model,
                                              struct heft_error *err);
/* Detects the format of a source of the model and opens it. */
HEFT_CHECKED bool heft_registry_open_source(struct heft_model *model, uint32_t source,
                                            const char *format, struct heft_error *err);
/* Opens a file that is named inside sources[source]. The name must be a relative path inside the
 * directory of that source: `..`, roots, drives and NUL are HEFT_UNSAFE. *index: the new source. */
HEFT_CHECKED bool heft_registry_open_sibling(struct heft_model *model, uint32_t source,
                                             struct heft_str relative, uint32_t *index,
                                             struct heft_error *err);
/* Checks a file name found in a file: HEFT_UNSAFE as above. */
HEFT_CHECKED bool heft_registry_check_relative(struct heft_str relative, struct heft_error *err);
/* As heft_registry_open_sibling for a file that only the format naming it can read: adds the
 * source without detecting a format. */
HEFT_CHECKED bool heft_registry_add_sibling(struct heft_model *model, uint32_t source,
                                            struct heft_str relative, uint32_t *index,
                                            struct heft_error *err);
/* Adds to *bytes the sizes of the files beside sources[source] whose names end with `suffix`, so
 * that limits can account for them before they are opened. Unreadable files count 0. */
HEFT_CHECKED bool heft_registry_add_sibling_bytes(struct heft_model *model, uint32_t source,
                                                  const char *suffix, uint64_t *bytes,
                                                  struct heft_error *err);

#endif
