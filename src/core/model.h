/* model.h: the model of an opened checkpoint: sources, storages, rows, blobs, values, metadata,
 * claims, notes.
 *
 *     1. a format's open() appends through the functions below; all of it is untrusted
 *     2. heft_model_validate() checks everything once
 *     3. the model is read-only, may be shared by threads, and code relies on the validation
 *
 * A row is a tensor: a view of a storage (a byte range of a source) with a byte offset and strides
 * (NULL: row-major). Or it is stored in parts, n-d boxes that tile it, each a view of a storage.
 * Tied weights are two rows on one storage. All data is in the model's arena.
 *
 * A conversion may also have derived rows, which a recipe computes from several storages
 * (core/derive.h), and shaped rows, whose boxes tile another shape than that of the row
 * (core/shaping.h). An opened model has none. */
#ifndef HEFT_MODEL_H
#define HEFT_MODEL_H

#include "base/checksum.h"
#include "base/map.h"
#include "base/dtype.h"
#include "base/input_limits.h"
#include "core/given_options.h"
#include "heft/heft.h"
#include "io/files.h"

enum { HEFT_CODING_RAW = 0, HEFT_CODING_DEFLATE = 1 };
enum { HEFT_ROW_DIMS = UINT8_MAX }; /* largest rank of a row; limits.rank is usually lower */
/* Flags of rows and parts: how stored bytes become logical values. */
enum { HEFT_ROW_SWAP = 1, HEFT_ROW_CONJ = 2, HEFT_ROW_NEG = 4 };
/* Of a scaled dtype: the byte order of its scales is not known, so that it is copied and never cast. */
enum { HEFT_ROW_RAW = 8 };

struct heft_model;
struct heft_storage;

/* Verifies a storage whose checksum is not one of its raw bytes; reads it in order and in
 * bounded memory. HEFT_MISMATCH or HEFT_MALFORMED if it differs. */
typedef bool heft_storage_check_fn(const struct heft_model *model,
                                   const struct heft_storage *storage, struct heft_error *err);

/* Passes the strings of a HEFT_STRING storage to each(), in order; each() may stop by returning
 * false. Does not verify checksums. */
typedef bool heft_storage_strings_fn(const struct heft_model *model,
                                     const struct heft_storage *storage,
                                     bool (*each)(void *ctx, const char *text, size_t n), void *ctx,
                                     struct heft_error *err);

/* Properties that few storages have. */
struct heft_storage_more {
    const char *what; /* kind of bytes that never belong to a tensor: "extra file "; else NULL */
    heft_storage_check_fn *check; /* set if sum is HEFT_SUM_OWN; RAW storages only */
    /* set for HEFT_STRING if its strings can be separated; else NULL */
    heft_storage_strings_fn *strings;
    uint64_t count; /* number of elements, for both callbacks */
};

/* A range of a source that holds the bytes of tensors. 64 bytes long: there may be a million
 * storages, and listing them is bound by memory. */
struct heft_storage {
    uint64_t off;          /* byte offset in the source */
    uint64_t packed;       /* bytes in the source */
    uint64_t len;          /* bytes after inflating; equal to packed if RAW */
    struct heft_str label; /* name of its record, "data/0", for errors and claims; may be empty */
    const struct heft_storage_more *more; /* NULL if not needed; see heft_model_add_more */
    uint32_t source;
    uint32_t crc;   /* CRC of the unpacked bytes, if sum is a CRC */
    uint32_t front; /* bytes of a header before the data, in a deflated array */
    uint8_t coding;
    uint8_t sum;        /* enum heft_sum: kind of the stored checksum; CRC-32 or none if deflated */
    bool is_pooled : 1; /* shared by names whose bytes happen to be equal, which are not ties */
    bool is_within : 1; /* part of another storage, which has the segment in the map */
    bool is_other : 1;  /* known not to belong to a tensor: code, for example */
    /* its file is missing or ends before it: it can be listed but not read; RAW, without a
     * checksum */
    bool is_missing : 1;
};

/* A part of a row: an n-d box of the tensor, and the location of its elements. */
struct heft_part {
    uint64_t offset; /* as in struct heft_row */
    /* strides of the box, as in struct heft_row; NULL if the box is packed */
    const uint64_t *stride;
    const uint64_t *start; /* rank entries; the box is [start, start + extent) */
    const uint64_t *extent;
    /* set by validation, in row-major elements of the tensor: first element of the box; maximum
     * end of all parts up to this one */
    uint64_t first, reach;
    uint32_t storage;
    uint8_t flags; /* as in struct heft_row */
};
struct heft_parts {
    struct heft_part *list; /* sorted by `first` after validation */
    uint32_t n;
    /* NULL: the parts are boxes that tile the row. Else the row is derived: the recipe computes it
     * from the storages of the parts, of which only storage and offset are set */
    const struct heft_recipe *recipe;
    /* rank entries: the shape that the boxes tile. The row has the same units in the same row-major
     * order. Units are elements of a plain dtype, bytes of others. NULL: the row's shape; only shaped
     * rows have one of their own, also if it is the same */
    const uint64_t *shape;
    uint8_t rank;
};

struct heft_reader;
struct heft_row;
struct heft_recipe;
/* Computes elements [first, first+count) of a row, row-major. Thread-safe, deterministic, and takes at most
 * HEFT_RECIPE_MEMORY bytes, whatever the size of the row. */
typedef bool heft_recipe_make_fn(const struct heft_recipe *recipe, struct heft_reader *reader,
                                 const struct heft_row *row, uint64_t first, uint64_t count,
                                 uint8_t *out, struct heft_error *err);
/* How a derived row is computed. Its dtype is F32: values before the last rounding, which the cast of
 * the conversion makes. */
struct heft_recipe {
    heft_recipe_make_fn *make;
    /* The same, cast to `as`; adds to *overflowed the finite values beyond its range. NULL: make, then a
     * cast. For recipes whose pieces must be large. */
    bool (*make_as)(const struct heft_recipe *recipe, struct heft_reader *reader,
                    enum heft_dtype as, uint64_t first, uint64_t count, uint8_t *out,
                    uint64_t *overflowed, struct heft_error *err);
    /* Reads the values that decide whether the row can be computed at all (scales), so that a
     * salvaging conversion loses only this row; NULL: nothing to check */
    bool (*check)(const struct heft_recipe *recipe, struct heft_reader *reader,
                  const struct heft_row *row, struct heft_error *err);
    const void *ctx;      /* of the scheme that made the recipe */
    const char *identity; /* the scheme and every parameter that decides values, as text */
    uint64_t piece;       /* elements that one call computes best; 0: any number */
    /* the same row for other dtypes than `rounds`, to which an inner step of this one is rounded; NULL: this
     * one is for all. See heft_derived_as */
    const struct heft_row *otherwise;
    uint8_t rounds;
    uint8_t as; /* dtype to write unless a cast rule names another */
};
#define HEFT_RECIPE_MEMORY ((size_t)4 << 20)

struct heft_row {
    struct heft_str name;  /* NUL-terminated; after validation unique and UTF-8 */
    const uint64_t *shape; /* rank entries */
    /* rank entries, elements; NULL: row-major, which validation normalizes to */
    const uint64_t *stride;
    /* strides as stored, also if validation found them to be row-major (those of dimensions of
     * extent 1 are arbitrary); NULL: none */
    const uint64_t *original_strides;
    /* rank entries: dimensions from outermost to innermost, if the file stores them beside
     * strides; else NULL */
    const uint8_t *dim_order;
    uint64_t offset; /* byte offset of the first element in the storage */
    uint64_t bytes;  /* logical bytes; set by validation */
    /* NULL: not in parts. Else stride, offset and flags are those of the parts, and storage is
     * that of the first part */
    struct heft_parts *parts;
    uint32_t storage;
    uint32_t object; /* equal numbers mean the same Python object; 0: unknown */
    uint8_t dtype, rank, flags;
};

/* Storages of a row; k < heft_row_pieces. */
static inline uint32_t heft_row_pieces(const struct heft_row *row)
{
    return row->parts ? row->parts->n : 1;
}
static inline uint32_t heft_row_storage(const struct heft_row *row, uint32_t k)
{
    return row->parts ? row->parts->list[k].storage : row->storage;
}
static inline bool heft_row_is_derived(const struct heft_row *row)
{
    return row->parts && row->parts->recipe;
}
/* Whether reading a part of a row in parts may read all of it: larger pieces are better then. */
static inline bool heft_row_gathers(const struct heft_row *row)
{
    return row->parts && !(row->parts->recipe && row->parts->recipe->piece > 0);
}
/* Whether the row is an arrangement of stored elements that a conversion made. */
static inline bool heft_row_is_shaped(const struct heft_row *row)
{
    return row->parts && row->parts->shape;
}
/* Shape that the parts of a row tile, in units of heft_row_unit bytes. */
static inline unsigned heft_row_boxed_rank(const struct heft_row *row)
{
    return heft_row_is_shaped(row) ? row->parts->rank : row->rank;
}
static inline const uint64_t *heft_row_boxed_shape(const struct heft_row *row)
{
    return heft_row_is_shaped(row) ? row->parts->shape : row->shape;
}
static inline uint32_t heft_row_unit(const struct heft_row *row)
{
    const uint32_t bytes = heft_dtype_element_bytes((enum heft_dtype)row->dtype);

    return bytes ? bytes : 1;
}
static inline bool heft_row_uses(const struct heft_row *row, uint32_t storage)
{
    for (uint32_t k = 0; k < heft_row_pieces(row); k++)
        if (heft_row_storage(row, k) == storage)
            return true;
    return false;
}

struct heft_format;
struct heft_formats;
struct heft_node;

struct heft_model_source {
    struct heft_source source;
    /* last bytes of the file, read for probing; on the heap; only while it is opened */
    uint8_t *tail;
    size_t tail_n;
    const struct heft_format *format; /* format that read it; NULL for memory */
    const char *path;                 /* path that the user can open; for memory, its description */
    uint32_t number; /* number of the file as ls counts them; for memory, that of its origin */
    bool is_file;    /* a file, listed by ls; else bytes decoded from … */
    uint32_t origin; /* … [origin_off, origin_off + origin_len) of this source */
    uint64_t origin_off, origin_len;
    const void *kept;  /* data of its format, in the model's memory */
    uint64_t expected; /* salvage: bytes it should have, if more than it has; else 0 */
    bool at_least;     /* `expected` is a lower bound */
    bool pads;         /* unclaimed zeros are padding */
    /* the file is a placeholder of a missing file: what it is, and how to fetch that file; NULL:
     * it is the file itself */
    const char *absent;
    bool is_missing;  /* the file does not exist; the source is empty in its place */
    bool is_unpacked; /* unpacked by its format when it is read */
    /* the same bytes as the origin's: items added with this source get the origin's offsets */
    bool is_slice;
};

struct heft_claim {
    uint64_t off, len;
    const char *what;   /* description, such as "local header of " */
    struct heft_str of; /* printed after `what`: "archive/data/0"; may be empty */
    uint32_t source;
};

struct heft_pair {
    struct heft_str key, value; /* NUL-terminated */
    uint32_t source;            /* source of the entry */
    bool is_json; /* the value is JSON other than a string, such as a number in an index */
};

/* Values of one file; the root is a HEFT_VALUE_DICT. */
struct heft_model_tree {
    const struct heft_value *root;
    uint32_t source;
};

/* An entry that differs from that of an earlier file, which takes precedence. */
struct heft_differing {
    enum heft_differing_kind kind;
    uint32_t source;
    struct heft_str key; /* for values, the dotted path */
    const struct heft_value *value;
};

/* Named bytes that are not a tensor: backend data of a .ptd, an asset of a SavedModel. */
struct heft_model_blob {
    struct heft_str name; /* NUL-terminated; after validation UTF-8 and unique among blobs */
    const char *kind;     /* name for users: "blob", "asset"; static */
    uint32_t storage;     /* the whole storage is the blob; tensors may use it, too */
    size_t behind;        /* number of rows before it in the file's order */
};

/* Data that a format's reader keeps for the format's own writer; core does not look into it. */
struct heft_attachment {
    const void *kind;     /* address of a constant of the format: tells its attachments apart */
    struct heft_str name; /* of a row or a dictionary, as the format likes; in the model's memory */
    const void *data;     /* allocated in model->mem; may be NULL */
};

/* What the caller asks of the readers of one format, beyond rows and values; core does not look
 * into it. */
struct heft_open_request {
    const void *kind; /* address of a constant of the format; NULL: nothing is asked */
    const void *data; /* struct of the format; must exist while files are opened */
    const struct heft_files *files; /* what paths lead to; NULL: as the options say */
};

struct heft_note {
    enum heft_severity severity;
    uint32_t source; /* HEFT_NONE: not about a file */
    uint64_t offset;
    const char *text; /* the text, escaped for terminals */
    bool is_damage;   /* salvage: more than the named tensors may be lost */
    bool is_lack;     /* the files refer to missing tensors; conversions are refused */
    bool is_told;     /* also reported by conversions */
    bool is_left;     /* about bytes outside tensors that may have been meant for one */
};

/* A tensor that cannot be read, and the reason; reported, never dropped silently. */
struct heft_unreadable {
    struct heft_str name;
    const char *reason;
    uint64_t offset;
    uint32_t source;
    bool is_finding;   /* verify reports a finding, because the file is inconsistent; else a note */
    bool is_elsewhere; /* its data is in a file that is not an input, and is never opened */
};

/* Position of a row in a larger tensor that it is a part of; used until the inputs are joined. */
struct heft_model_box {
    size_t row;
    struct heft_str name;  /* name of the larger tensor */
    const uint64_t *start; /* first index of each dimension; in the model's memory */
    uint32_t source;
};

/* A tensor of which a file has only some parts, each a row of its own. Other files that are
 * opened together may have the rest. */
struct heft_partial {
    struct heft_str name;
    const uint64_t *shape;
    const struct heft_parts *parts;
    uint64_t held, elements; /* number of elements in the parts, and in the tensor */
    size_t first_row;        /* row of its first part */
    size_t unreadable;       /* index of its entry in `unreadable` */
    uint8_t rank, dtype;
};

/* Check of a storage with HEFT_SUM_OWN; NULL if its checksum is one of its raw bytes. */
static inline heft_storage_check_fn *heft_storage_check(const struct heft_storage *storage)
{
    return storage->more ? storage->more->check : NULL;
}
/* Callback for the strings of a storage; NULL if it has none that can be separated. */
static inline heft_storage_strings_fn *heft_storage_strings(const struct heft_storage *storage)
{
    return storage->more ? storage->more->strings : NULL;
}

#define HEFT_NONE UINT32_MAX

/* Numbers of entries in each array of the model, and what counts against a limit. One struct, so that
 * the additions of a reader that fails are undone by one assignment:
 *
 *     const struct heft_model_counts before = model->counts;
 *     if (!read(model)) model->counts = before;
 *
 * Sources are not undone: their files are open. */
#define HEFT_MODEL_COUNTS                                                                          \
    uint64_t name_bytes; /* bytes of names of rows and blobs, plus long shapes */                  \
    size_t n_rows, n_storages, n_claims, n_metadata, n_ties, n_doubts, n_notes, n_unreadable;      \
    size_t n_partial, n_boxes, n_trees, n_attachments, n_blobs, n_wanted;                          \
    uint32_t n_objects /* object numbers in use, see heft_row.object */

struct heft_model_counts {
    HEFT_MODEL_COUNTS;
};

struct heft_model {
    const struct heft_formats *formats; /* formats to detect; not NULL if anything is opened */
    const struct heft_files *files;     /* the files that its paths lead to */
    struct heft_arena mem;
    struct heft_limits limits; /* complete, except those of heft_limit_… */
    union {
        struct heft_model_counts counts;
        struct { /* the same members by name */
            HEFT_MODEL_COUNTS;
        };
    };
    uint64_t file_bytes; /* bytes of all files so far */
    uint64_t reading;    /* bytes that readers hold besides the model: heft_model_hold */
    const char *format;  /* name of the format in info --json: "torch", "safetensors" */
    const char *version; /* description for people, "zip, torch 2.1 to 2.6"; may be NULL */
    struct heft_model_source *sources;
    struct heft_row *rows;
    struct heft_storage *storages;
    struct heft_claim *claims;
    struct heft_pair *metadata; /* user metadata, in the order of the file */
    struct heft_pair *ties; /* recorded ties in safetensors metadata: dropped (key), kept (value) */
    /* tensors that a program takes from another file, without duplicates */
    struct heft_str *wanted;
    const char *wanted_from; /* kind of that file, for users: "a .ptd"; NULL if nothing is wanted */
    struct heft_pair *doubts; /* entries of the metadata that may be recorded ties */
    struct heft_note *notes;
    struct heft_unreadable *unreadable;
    struct heft_partial *partial;
    struct heft_model_box *boxes;
    size_t cap_boxes, cap_partial;
    struct heft_model_tree *trees;    /* values of the single files, before merging */
    struct heft_differing *differing; /* the first heft_model_listed_differing() of them */
    size_t cap_trees, n_differing, cap_differing;
    /* root, a HEFT_VALUE_DICT, or NULL: of the file being opened; after validation, of all files */
    const struct heft_value *values;
    /* further information about the files: a dict whose members are those of info --json
     * (core/tree.h), created by heft_model_file_info; NULL: none */
    struct heft_node *file_info;
    struct heft_open_request request; /* set before opening */
    /* writers add no metadata of their own, such as format=pt; only what a conversion asks for */
    bool metadata_is_exact;
    /* the file nests its tensors or has other objects than tensors, and a writer of its format can
     * preserve both (keeps_tree) */
    bool has_tree;
    struct heft_model_blob *blobs;
    struct heft_attachment *attachments;
    size_t n_sources;
    size_t cap_sources, cap_rows, cap_storages, cap_claims, cap_metadata, cap_ties, cap_doubts,
        cap_notes, cap_unreadable, cap_attachments, cap_blobs, cap_wanted;
    uint32_t n_files;
    struct heft_strmap names;      /* row name → index, after validation; empty if names_ascend */
    struct heft_strmap tie_names;  /* dropped name → index in ties, after validation */
    struct heft_strmap blob_names; /* blob name → index in blobs, after validation */
    bool inside_index;      /* shards of an index are being opened, none of which may be an index */
    bool has_deflated;      /* at least one storage is deflated */
    bool no_shared_storage; /* row i uses storage i, and no storage is shared */
    bool names_ascend;      /* rows are sorted by name, so that names is not needed */
    const char *
        *choices; /* notes that every verb reports: files chosen in input directories, parts */
    size_t n_choices, cap_choices;
    struct heft_given_options options; /* options of formats for reading; set before opening */
    const char *folder;                /* the input if it is one directory; else NULL */
    bool standard_input;               /* the input "-" means standard input; set before opening */
    bool
        number_names; /* several files may have the same names: number_names.c; set before validation */
    /* for each file its number in "NAME@K"; NULL: names are not numbered */
    const uint32_t *file_numbers;
    bool
        format_is_given; /* the caller named the format of the inputs, which are opened as they are */
    /* set before opening: readers continue after damage and report what is lost; see salvage.c
     * below */
    bool salvage;
};

/* formats: the table of formats (format/formats.h); must outlive the model. */
void heft_model_init(struct heft_model *model, const struct heft_limits *limits,
                     const struct heft_formats *formats);
void heft_model_release(struct heft_model *model);

/* Adds a file. Takes ownership of the source, also on failure; it is closed with the model.
 * `path` is copied and becomes its label. */
HEFT_CHECKED bool heft_model_add_file(struct heft_model *model, struct heft_source *source,
                                      const char *path, uint32_t *index, struct heft_error *err);
/* Adds bytes in model->mem that were decoded from [off, off+len) of `origin`. `what` is copied. */
HEFT_CHECKED bool heft_model_add_memory(struct heft_model *model, struct heft_bytes bytes,
                                        const char *what, uint32_t origin, uint64_t off,
                                        uint64_t len, uint32_t *index, struct heft_error *err);
/* Adds a source that is unpacked from `origin` on demand. Takes ownership of it, also on
 * failure. */
HEFT_CHECKED bool heft_model_add_unpacked(struct heft_model *model, struct heft_source *source,
                                          uint32_t origin, uint32_t *index, struct heft_error *err);
/* Adds the bytes [off, off+len) of the file `origin` as a source, for readers that expect a file
 * to start at 0. Storages, claims and notes that are added with it belong to the file, with
 * translated offsets. */
HEFT_CHECKED bool heft_model_add_slice(struct heft_model *model, uint32_t origin, uint64_t off,
                                       uint64_t len, uint32_t *index, struct heft_error *err);
/* Translates the offset of an error in a slice to the file, and adds the file's name. Always
 * returns false. */
bool heft_model_blame_slice(const struct heft_model *model, uint32_t index, struct heft_error *err);
/* Last bytes of a file; valid until the next call. */
struct heft_bytes heft_model_tail(const struct heft_model *model, uint32_t index);
void heft_model_drop_tail(struct heft_model *model, uint32_t index);
/* Removes a slice that is no longer needed, if it is the last source. */
void heft_model_drop_slice(struct heft_model *model, uint32_t index);
/* Reserves space for more storages and rows. */
HEFT_CHECKED bool heft_model_reserve(struct heft_model *model, size_t storages, size_t rows,
                                     struct heft_error *err);
/* Reserves bytes for names and shapes. */
HEFT_CHECKED bool heft_model_reserve_texts(struct heft_model *model, size_t bytes,
                                           struct heft_error *err);
HEFT_CHECKED bool heft_model_reserve_claims(struct heft_model *model, size_t claims,
                                            struct heft_error *err);
HEFT_CHECKED bool heft_model_add_storage(struct heft_model *model,
                                         const struct heft_storage *storage, uint32_t *index,
                                         struct heft_error *err);
/* Copies `more` to the model's memory and sets storage->more; call it before adding the storage. */
HEFT_CHECKED bool heft_model_add_more(struct heft_model *model, struct heft_storage *storage,
                                      const struct heft_storage_more *more, struct heft_error *err);
/* Adds a row. name, shape and stride must be in model->mem or static. */
HEFT_CHECKED bool heft_model_add_row(struct heft_model *model, const struct heft_row *row,
                                     struct heft_error *err);
/* Claims a byte range that is understood and not a storage: "zip central directory". `what` is
 * static or in model->mem. */
HEFT_CHECKED bool heft_model_claim(struct heft_model *model, uint32_t source, uint64_t off,
                                   uint64_t len, const char *what, struct heft_error *err);
/* Claims the range of a named part. `of` must be in model->mem; it is escaped when printed. */
HEFT_CHECKED bool heft_model_claim_of(struct heft_model *model, uint32_t source, uint64_t off,
                                      uint64_t len, const char *what, struct heft_str of,
                                      struct heft_error *err);
HEFT_CHECKED bool heft_model_add_metadata(struct heft_model *model, const struct heft_pair *pair,
                                          struct heft_error *err);
/* Root of model->file_info, created on first use. */
HEFT_CHECKED struct heft_node *heft_model_file_info(struct heft_model *model,
                                                    struct heft_error *err);
/* Adds a recorded tie: the key is another name of the tensor `value`. */
HEFT_CHECKED bool heft_model_add_tie(struct heft_model *model, const struct heft_pair *tie,
                                     struct heft_error *err);
/* Adds a tensor that the file needs from another file. The name is copied; `from` is static, see
 * wanted_from. */
HEFT_CHECKED bool heft_model_add_wanted(struct heft_model *model, struct heft_str name,
                                        const char *from, struct heft_error *err);
/* Adds an entry of the metadata that may be a recorded tie. */
HEFT_CHECKED bool heft_model_add_doubt(struct heft_model *model, const struct heft_pair *tie,
                                       struct heft_error *err);
HEFT_CHECKED bool heft_model_note(struct heft_model *model, enum heft_severity severity,
                                  uint32_t source, uint64_t offset, struct heft_error *err,
                                  const char *format, ...) HEFT_PRINTF(6, 7);
/* Adds a note that conversions report, too. */
HEFT_CHECKED bool heft_model_tell(struct heft_model *model, uint32_t source, struct heft_error *err,
                                  const char *format, ...) HEFT_PRINTF(4, 5);
/* Adds a note that every verb reports, such as that a file is a part of a checkpoint. `text` is static or
 * in the model's memory. Of many such notes only the first 64 are kept. */
void heft_model_announce(struct heft_model *model, const char *text);
/* Notes missing data that the files refer to: reported by all verbs, refused by conversions.
 * Severity FINDING if verify has no other finding for it. */
HEFT_CHECKED bool heft_model_lack(struct heft_model *model, enum heft_severity severity,
                                  uint32_t source, struct heft_error *err, const char *format, ...)
    HEFT_PRINTF(5, 6);
/* Adds a finding about bytes that may have been meant for a tensor; reported by all verbs. */
HEFT_CHECKED bool heft_model_leave(struct heft_model *model, uint32_t source, uint64_t offset,
                                   struct heft_error *err, const char *format, ...)
    HEFT_PRINTF(5, 6);
HEFT_CHECKED bool heft_model_add_unreadable(struct heft_model *model, struct heft_str name,
                                            uint32_t source, uint64_t offset, const char *reason,
                                            struct heft_error *err);
/* Keeps `data` for the format's writer. The name must be in the model's memory. */
HEFT_CHECKED bool heft_model_attach(struct heft_model *model, struct heft_attachment attachment,
                                    struct heft_error *err);
/* The first attachment of that kind and name, or NULL. Linear: for single lookups. */
const struct heft_attachment *heft_model_attached(const struct heft_model *model, const void *kind,
                                                  struct heft_str name);

/* ---- model_memory.c ---- */

/* Sets the bytes that a reader holds besides the model to `now`; *held is what it held before. */
static inline void heft_model_hold(struct heft_model *model, uint64_t *held, uint64_t now)
{
    model->reading = model->reading - *held + now;
    *held = now;
}
/* Bytes of the model without what readers hold. */
uint64_t heft_model_bytes(const struct heft_model *model);
/* Bytes that the model and its readers may still take; at least 1. */
uint64_t heft_model_room(const struct heft_model *model);
/* Budget of an operation on the opened model: the model's limit, of which the model has taken its
 * bytes. */
struct heft_budget heft_model_budget(const struct heft_model *model);
/* HEFT_LIMIT if they take more than they may. */
HEFT_CHECKED bool heft_model_fits(const struct heft_model *model, struct heft_error *err);

/* ---- blobs.c ---- */

/* Adds a blob: a whole storage. `name` must be in model->mem, `kind` is static. Names count like
 * those of tensors against the limits. */
HEFT_CHECKED bool heft_model_add_blob(struct heft_model *model, struct heft_str name,
                                      uint32_t storage, const char *kind, struct heft_error *err);
/* Counts a name and a shape of that rank against the limit. HEFT_LIMIT if it is exceeded. */
HEFT_CHECKED bool heft_model_weigh_name(struct heft_model *model, struct heft_str name,
                                        unsigned rank, struct heft_error *err);
/* A step of validation: names of blobs are UTF-8 and unique, their storages exist. */
HEFT_CHECKED bool heft_model_validate_blobs(struct heft_model *model, struct heft_error *err);
/* Index of the blob of that name, or HEFT_NONE. After validation. */
uint32_t heft_model_blob(const struct heft_model *model, struct heft_str name);

/* ---- salvage.c: for readers of files that are cut off or damaged ----
 *
 * A reader that meets an error calls heft_model_forgives; if that is true, it reports what is lost and
 * continues. It may add rows and storages that extend beyond the end of the file: validation turns these
 * into unreadable tensors. */

/* Whether a reader may continue after an error: salvage is set, and the file is at fault. */
bool heft_model_forgives(const struct heft_model *model, const struct heft_error *found);
/* Text of an error as the reason of a loss, in the model's memory: "text, at offset 0x1a2b". */
HEFT_CHECKED const char *heft_model_reason(struct heft_model *model, const struct heft_error *found,
                                           struct heft_error *err);
/* Reports a tensor as lost by an error. */
HEFT_CHECKED bool heft_model_lose(struct heft_model *model, struct heft_str name, uint32_t source,
                                  const struct heft_error *found, struct heft_error *err);
/* Reports that an error may have lost more than the named tensors, for example by damage to
 * names. */
HEFT_CHECKED bool heft_model_damage(struct heft_model *model, uint32_t source, const char *what,
                                    const struct heft_error *found, struct heft_error *err);
/* Records how many bytes (or, if at_least, at least how many) a source should have according to
 * its contents. */
void heft_model_expect(struct heft_model *model, uint32_t source, uint64_t bytes, bool at_least);
/* First step of validation when salvaging: invalid rows become unreadable tensors. */
HEFT_CHECKED bool heft_model_drop_lost(struct heft_model *model, struct heft_error *err);

/* ---- merge_files.c: combining metadata and values of several files ---- */

/* Adds the values of a file. */
HEFT_CHECKED bool heft_model_add_tree(struct heft_model *model, uint32_t source,
                                      const struct heft_value *root, struct heft_error *err);
/* A step of validation: merges metadata, recorded ties and values of all files, so that each key
 * is there once. */
HEFT_CHECKED bool heft_model_merge(struct heft_model *model, struct heft_error *err);
/* Number of entries in the list `differing`; the others are only counted in n_differing. */
size_t heft_model_listed_differing(const struct heft_model *model);

/* ---- number_names.c ---- */

/* A step of validation, if model->number_names is set and several files have tensors: each name gets
 * "@K". */
HEFT_CHECKED bool heft_model_number_names(struct heft_model *model, struct heft_error *err);
/* Number of the file that has the row; 0 if names are not numbered. */
uint32_t heft_model_file_number(const struct heft_model *model, const struct heft_row *row);

HEFT_CHECKED bool heft_model_validate(struct heft_model *model, struct heft_error *err);
/* Validates one row, or one storage. */
HEFT_CHECKED bool heft_model_check_row(struct heft_model *model, struct heft_row *row,
                                       struct heft_error *err);
HEFT_CHECKED bool heft_model_check_storage(const struct heft_model *model,
                                           const struct heft_storage *storage,
                                           struct heft_error *err);
/* Validates that a row with its shape, dtype, offset and strides lies inside its storage. Sets
 * `bytes`; sets row-major strides to NULL. */
HEFT_CHECKED bool heft_model_check_geometry(const struct heft_model *model, struct heft_row *row,
                                            struct heft_error *err);
/* Index of the row of that name, also by a tied name; HEFT_NONE if there is none. After
 * validation. */
uint32_t heft_model_find(const struct heft_model *model, struct heft_str name);
/* The same without tied names. */
uint32_t heft_model_row(const struct heft_model *model, struct heft_str name);

/* Value at a dotted path below `from`, or NULL. Keys may contain dots: the longest matching key
 * is followed. */
const struct heft_value *heft_value_below(const struct heft_value *from, const char *path);

/* Bytes of a row after a cast. HEFT_USAGE, naming the tensor, if a block of the target would cross
 * its rows; HEFT_LIMIT if they are 2^64 or more. */
HEFT_CHECKED bool heft_row_size_as(const struct heft_row *row, enum heft_dtype as, uint64_t *bytes,
                                   struct heft_error *err);
/* Bytes of a row-major tensor. False if they are 2^64 or more, or if the elements do not fill
 * whole blocks: all elements together, for a dtype of HEFT_KIND_SCALED those of the innermost
 * dimension. */
HEFT_CHECKED bool heft_row_size(enum heft_dtype dtype, unsigned rank, const uint64_t *shape,
                                uint64_t *bytes);
/* The same for a row; HEFT_MALFORMED at offset `at` gives the reason. */
HEFT_CHECKED bool heft_row_check_size(const struct heft_row *row, uint64_t *bytes, uint64_t at,
                                      struct heft_error *err);
/* HEFT_UNSUPPORTED if the row's elements cannot be decoded, because of HEFT_ROW_RAW; names the tensor. */
HEFT_CHECKED bool heft_row_check_decodes(const struct heft_row *row, struct heft_error *err);
/* Bytes of a row from its first element to the end of its last one, of a plain dtype if it has
 * strides. False if they are 2^64 or more. After heft_row_check_size. */
HEFT_CHECKED bool heft_row_extent(const struct heft_row *row, uint64_t *extent);

/* Makes the map of all files, in `arena`: claims and storages sorted by source and offset, with
 * the unclaimed gaps between them. HEFT_MALFORMED if claims overlap. */
HEFT_CHECKED bool heft_model_map(const struct heft_model *model, struct heft_arena *arena,
                                 const struct heft_segment **segments, size_t *count,
                                 struct heft_error *err);

#endif
