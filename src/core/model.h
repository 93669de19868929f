/* model.h: what an opened checkpoint is: sources, storages, rows, blobs, values, metadata, claims,
 * notes.
 *
 *     format's open() appends through the functions below             hostile: checks return errors
 *     heft_model_validate() checks every row once                       the customs house
 *     after it the model is read-only, may be shared by threads, and code may assert that rows are
 * true
 *
 * A row is a tensor. It looks into a storage, a range of bytes of a source, at a byte offset and
 * with strides (NULL = row-major); or it lies in parts, boxes that tile it, each of which looks into
 * a storage in the same way. Tied weights are two rows on one storage. Everything lives in the
 * model's arena. */
#ifndef HEFT_MODEL_H
#define HEFT_MODEL_H

#include "base/checksum.h"
#include "base/map.h"
#include "base/dtype.h"
#include "heft/heft.h"
#include "io/source.h"

enum { HEFT_CODING_RAW = 0, HEFT_CODING_DEFLATE = 1 };
enum { HEFT_ROW_DIMS = UINT8_MAX }; /* the most that a rank can say; limits.rank is usually less */
enum { HEFT_ROW_SWAP = 1, HEFT_ROW_CONJ = 2, HEFT_ROW_NEG = 4 }; /* stored bytes → logical value */

struct heft_model;
struct heft_storage;

/* Reads the storage, in order and in bounded memory, and judges it by a checksum that is not simply
 * of its bytes. HEFT_MISMATCH, HEFT_MALFORMED: it is not what the file says. */
typedef bool heft_storage_check_fn(const struct heft_model *model,
                                   const struct heft_storage *storage, struct heft_error *err);

/* Hands out the strings of a storage of HEFT_STRING, in order; each() may end it by returning false.
 * Judges no checksum. */
typedef bool heft_storage_strings_fn(const struct heft_model *model,
                                     const struct heft_storage *storage,
                                     bool (*each)(void *ctx, const char *text, size_t n), void *ctx,
                                     struct heft_error *err);

/* What few storages have. */
struct heft_storage_more {
    const char *what;             /* "extra file ": bytes that are never a tensor's; else NULL */
    heft_storage_check_fn *check; /* where sum is HEFT_SUM_OWN; RAW only */
    heft_storage_strings_fn *strings; /* of strings, where they can be told apart; else NULL */
    uint64_t count;                   /* for both: elements that lie here */
};

/* 64 bytes: there may be a million, and most of the time of listing them goes to memory. */
struct heft_storage {
    uint64_t off;          /* in its source */
    uint64_t packed;       /* bytes there */
    uint64_t len;          /* bytes when unpacked; equal to packed where RAW */
    struct heft_str label; /* "data/0": the record it is, for errors and claims; may be empty */
    const struct heft_storage_more *more; /* NULL: nothing; see heft_model_add_more */
    uint32_t source;
    uint32_t crc;   /* of the unpacked bytes, where sum is a CRC */
    uint32_t front; /* bytes in front of the data that are a header (of a deflated array) */
    uint8_t coding;
    uint8_t sum;         /* enum heft_sum: what the file stores; deflated: CRC-32 or none */
    bool is_pooled : 1;  /* names may share it because their bytes happen to be equal: no tie */
    bool is_within : 1;  /* a part of another storage, which has its line in the map */
    bool is_other : 1;   /* a record that is known to be no tensor's: code, say */
    bool is_missing : 1; /* its file is not there, or ends before it: it may be listed, reading it
                            is an error; RAW, without a checksum */
};

/* A part of a row: the box of the tensor that it fills, and where the elements of that box are. */
struct heft_part {
    uint64_t offset;        /* as a row's */
    const uint64_t *stride; /* as a row's, of the box: NULL where that is packed by itself */
    const uint64_t *start;  /* rank numbers: the box is [start, start + extent) */
    const uint64_t *extent;
    uint64_t first, reach; /* by settle, in elements of the tensor in row-major order: where the
                              box begins; where the last of all parts up to this one ends */
    uint32_t storage;
    uint8_t flags; /* as a row's */
};
struct heft_parts {
    struct heft_part *list; /* by `first`, after settle */
    uint32_t n;
};

struct heft_row {
    struct heft_str name;   /* NUL-terminated; UTF-8 and unique after settle */
    const uint64_t *shape;  /* rank numbers */
    const uint64_t *stride; /* rank numbers, in elements; NULL: row-major. Settle makes it NULL
                               where it is so */
    const uint64_t
        *original_strides; /* the file's own strides, also where settle takes them for row-major
                                 (of dimensions of extent 1 they may be anything); NULL: none */
    const uint8_t
        *dim_order;  /* rank numbers: which dimension is stored outermost, which next, …, where
                                 the file says so beside its strides; else NULL */
    uint64_t offset; /* bytes from the storage's begin to the first element */
    uint64_t bytes;  /* logical bytes: set by settle */
    struct heft_parts *parts; /* NULL: the row is whole. Else stride, offset and flags are the
                                 parts', and storage is the first one's */
    uint32_t storage;
    uint32_t object; /* rows of one number are one object of Python, 0: not known to be */
    uint8_t dtype, rank, flags;
};

/* The storages of a row, k < heft_row_pieces. */
static inline uint32_t heft_row_pieces(const struct heft_row *row)
{
    return row->parts ? row->parts->n : 1;
}
static inline uint32_t heft_row_storage(const struct heft_row *row, uint32_t k)
{
    return row->parts ? row->parts->list[k].storage : row->storage;
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
struct heft_tree_taker;

struct heft_model_source {
    struct heft_source source;
    uint8_t *tail; /* its last bytes, only while it is opened: probing has read them. On the heap */
    size_t tail_n;
    const struct heft_format *format; /* that read it; NULL: of memory */
    const char *path;                 /* as the user can open it; memory: what to call it */
    uint32_t number; /* of the file among the files, as ls counts them; of memory: its origin's */
    bool is_file;    /* a file of its own, listed by ls; else bytes decoded from one: */
    uint32_t origin; /* … from [origin_off, +origin_len) of this source */
    uint64_t origin_off, origin_len;
    const void *kept;  /* in the model's memory: what its format wants to find again */
    uint64_t expected; /* salvaging: bytes it should have, where that is more than it has; else 0 */
    bool at_least;     /* … and maybe more */
    bool pads;         /* zeros that nothing claims are padding */
    const char *
        absent; /* it only stands for a file that is not here: what it is, and how to fetch that; NULL:
                           it is the file itself */
    bool is_unpacked; /* what its format unpacks from there when it is read */
    bool is_slice; /* those very bytes: what is added with this source gets the origin's offsets */
};

struct heft_claim {
    uint64_t off, len;
    const char *what;   /* "local header of " */
    struct heft_str of; /* "archive/data/0", printed behind it; may be empty */
    uint32_t source;
};

struct heft_pair {
    struct heft_str key, value; /* NUL-terminated */
    uint32_t source;            /* that says so */
    bool is_json;               /* the value is JSON that is no string: a number in an index */
};

/* The values of one file, a HEFT_VALUE_DICT. */
struct heft_model_tree {
    const struct heft_value *root;
    uint32_t source;
};

/* What a file says otherwise than an earlier one, whose word is taken. */
struct heft_differing {
    enum heft_differing_kind kind;
    uint32_t source;
    struct heft_str key; /* of values: the dotted path */
    const struct heft_value *value;
};

/* Bytes with a name that are no tensor: what a .ptd holds for a backend, an asset of a SavedModel. */
struct heft_model_blob {
    struct heft_str name; /* NUL-terminated; UTF-8 and unique among blobs after settle */
    const char *kind;     /* what people call it: "blob", "asset"; static */
    uint32_t storage;     /* all of it; a tensor may lie there, too */
    size_t behind;        /* rows that come before it in the file's own order */
};

/* Where a file keeps a tensor whose name does not say so: in a layer of Keras, which may be a model
 * with tensors of many layers in it. All texts live in the model's memory. */
struct heft_model_layer {
    struct heft_str name; /* of the row */
    struct heft_str layer, weight;
    bool is_listed; /* the layer is one of the model's list; else beside it */
};

struct heft_note {
    enum heft_severity severity;
    uint32_t source; /* HEFT_NONE: about no file */
    uint64_t offset;
    const char *text; /* escaped */
    bool is_damage;   /* salvaging: more may be lost by it than the tensors that are named */
    bool is_lack;     /* the files refer to tensors that are not there: no source of a conversion */
    bool is_told;     /* conversions tell of it, too */
    bool is_left;     /* of bytes that are no tensor's, and might have been meant for one */
};

/* A tensor that cannot be read, and why: never dropped in silence. */
struct heft_unreadable {
    struct heft_str name;
    const char *reason;
    uint64_t offset;
    uint32_t source;
    bool is_finding; /* for verify: the file contradicts itself; else a note */
};

/* Where a row lies in a larger tensor, of which it is a part: until the inputs are joined. */
struct heft_model_box {
    size_t row;
    struct heft_str name;  /* of the tensor, while they are joined */
    const uint64_t *start; /* elements, one a dimension; in the model's memory */
    uint32_t source;
};

/* A tensor of which a file has only some parts, each of them a row of its own. Files that are opened
 * together may have the others. */
struct heft_partial {
    struct heft_str name;
    const uint64_t *shape;
    const struct heft_parts *parts;
    uint64_t held, elements; /* of the parts; of the tensor */
    size_t first_row;        /* of its parts */
    size_t unreadable;       /* that it cannot be read */
    uint8_t rank, dtype;
};

/* NULL where its checksum is simply of its bytes. */
static inline heft_storage_check_fn *heft_storage_check(const struct heft_storage *storage)
{
    return storage->more ? storage->more->check : NULL;
}
/* NULL where it holds no strings, or none that can be told apart. */
static inline heft_storage_strings_fn *heft_storage_strings(const struct heft_storage *storage)
{
    return storage->more ? storage->more->strings : NULL;
}

#define HEFT_NONE UINT32_MAX

/* How many entries a reader has appended, array by array, and what counts against a limit. One
 * struct, so that a reader whose file fails in its middle goes back by one assignment:
 *
 *     const struct heft_model_counts before = model->counts;
 *     if (!read(model)) model->counts = before;
 *
 * Sources stay: their files are open. */
#define HEFT_MODEL_COUNTS                                                                          \
    uint64_t name_bytes; /* of all rows and blobs, with what long shapes take */                   \
    size_t n_rows, n_storages, n_claims, n_metadata, n_ties, n_doubts, n_notes, n_unreadable;      \
    size_t n_partial, n_boxes, n_trees, n_layers, n_ordered, n_blobs, n_wanted;                    \
    uint32_t n_objects /* numbers of objects that are taken, see heft_row.object */

struct heft_model_counts {
    HEFT_MODEL_COUNTS;
};

struct heft_model {
    const struct heft_formats
        *formats; /* that opening may find; not NULL where anything is opened */
    struct heft_arena mem;
    struct heft_limits limits; /* complete, but for those of heft_limit_… */
    union {
        struct heft_model_counts counts;
        struct { /* the same by their names */
            HEFT_MODEL_COUNTS;
        };
    };
    uint64_t file_bytes; /* of all files so far */
    const char *format;  /* "torch", "safetensors": what info --json calls it */
    const char *version; /* "zip, torch 2.1 to 2.6": free text for info; may be NULL */
    struct heft_model_source *sources;
    struct heft_row *rows;
    struct heft_storage *storages;
    struct heft_claim *claims;
    struct heft_pair *metadata; /* user metadata, in the file's order */
    struct heft_pair
        *ties; /* safetensors metadata that records dropped (key) → kept (value) names */
    struct heft_str
        *wanted; /* tensors that a program takes from another file, the first time each */
    const char
        *wanted_from; /* what that file is, for people: "a .ptd"; NULL where nothing is wanted */
    struct heft_pair
        *doubts; /* metadata that looks like such a record, and may mean another thing */
    struct heft_note *notes;
    struct heft_unreadable *unreadable;
    struct heft_partial *partial;
    struct heft_model_box *boxes;
    size_t cap_boxes, cap_partial;
    struct heft_model_tree *trees;    /* values of the files, before they are merged */
    struct heft_differing *differing; /* the first of them, see heft_model_listed_differing */
    size_t cap_trees, n_differing, cap_differing;
    const struct heft_value
        *values;                   /* root, a HEFT_VALUE_DICT; or NULL. While a file is opened, its
                                  own; after settle, of all files */
    struct heft_node *file_info;   /* what the files say of themselves beside all this: a dict whose
                                  members are members of info --json (core/tree.h). heft_model_file_info
                                  makes it; NULL: nothing */
    struct heft_tree_taker *taker; /* set before opening, by the writer that wants the graph of the
                                      object's pickle (format/torch/pickle/torch_walk.h); NULL: nobody asks */
    bool has_tree; /* the object is more than a flat dictionary of tensors, and a writer of its kind
                      can have it again */
    struct heft_provenance
        *provenance; /* to be filled while opening; NULL: nobody asks (core/provenance.h) */
    struct heft_model_blob *blobs;
    struct heft_model_layer *layers;
    size_t cap_layers;
    struct heft_str *ordered; /* paths of dictionaries with tensors that are OrderedDicts */
    size_t n_sources;
    size_t cap_sources, cap_rows, cap_storages, cap_claims, cap_metadata, cap_ties, cap_doubts,
        cap_notes, cap_unreadable, cap_ordered, cap_blobs, cap_wanted;
    uint32_t n_files;
    struct heft_strmap names;      /* row name → index, after settle; empty where names_ascend */
    struct heft_strmap tie_names;  /* dropped name → index of ties, after settle */
    struct heft_strmap blob_names; /* → index of blobs, after settle */
    bool inside_index;      /* hf_index: shards are being opened, none of which may be an index */
    bool has_deflated;      /* a storage is */
    bool no_shared_storage; /* no two rows share a storage: row i has storage i */
    bool names_ascend;    /* rows come by name, as writers that sort put them: no table is needed */
    const char **choices; /* what was chosen of inputs that are folders, for people */
    size_t n_choices;
    const char *step;    /* set before opening: which checkpoint of a folder; NULL: the latest */
    bool object_names;   /* set before opening: rows are called as the object graph has them */
    bool constants;      /* set before opening: constants of graphs are rows, too */
    bool standard_input; /* set before opening: an input "-" is standard input */
    bool salvage; /* set before opening: readers go on where they can tell what is whole, and name
                     what is lost: see below */
};

/* The limits that a caller gave, NULL for none, with the defaults of those it left at 0. */
struct heft_limits heft_limits_complete(const struct heft_limits *limits);
/* `formats` are what opening may find (format/formats.h); they live as long. */
void heft_model_init(struct heft_model *model, const struct heft_limits *limits,
                     const struct heft_formats *formats);
void heft_model_release(struct heft_model *model);

/* The limits that grow with the files: how many tensors, values of a pickle, records of a zip. */
uint64_t heft_limit_tensors(const struct heft_limits *limits, uint64_t file_bytes);
uint64_t heft_limit_nodes(const struct heft_limits *limits, uint64_t file_bytes);
uint64_t heft_limit_entries(const struct heft_limits *limits, uint64_t file_bytes);

/* A file: takes over the source, also on failure (closes it with the model). path is copied, and is
 * its label. */
HEFT_CHECKED bool heft_model_add_file(struct heft_model *model, struct heft_source *source,
                                      const char *path, uint32_t *index, struct heft_error *err);
/* Bytes in model->mem that were decoded from [off, off+len) of `origin`. `what` is copied. */
HEFT_CHECKED bool heft_model_add_memory(struct heft_model *model, struct heft_bytes bytes,
                                        const char *what, uint32_t origin, uint64_t off,
                                        uint64_t len, uint32_t *index, struct heft_error *err);
/* Bytes that a reader of its own makes from those of `origin` when they are asked for. Takes over
 * the source, also on failure. */
HEFT_CHECKED bool heft_model_add_unpacked(struct heft_model *model, struct heft_source *source,
                                          uint32_t origin, uint32_t *index, struct heft_error *err);
/* The bytes [off, off+len) of the file `origin` as a source, for a reader that begins at 0. What is
 * then added with it (storages, claims, notes, …) is added to the file, offsets translated. */
HEFT_CHECKED bool heft_model_add_slice(struct heft_model *model, uint32_t origin, uint64_t off,
                                       uint64_t len, uint32_t *index, struct heft_error *err);
/* Gives an error that was found in a slice the offset in the file, and the file's name. Always
 * returns false. */
bool heft_model_blame_slice(const struct heft_model *model, uint32_t index, struct heft_error *err);
/* A file's last bytes, for a reader that wants them; they live until the next call. */
struct heft_bytes heft_model_tail(const struct heft_model *model, uint32_t index);
void heft_model_drop_tail(struct heft_model *model, uint32_t index);
/* Forgets a slice that nothing needs any more, where it is the newest source. */
void heft_model_drop_slice(struct heft_model *model, uint32_t index);
/* Room for so many more storages and rows, for readers that know how many may come. */
HEFT_CHECKED bool heft_model_reserve(struct heft_model *model, size_t storages, size_t rows,
                                     struct heft_error *err);
/* Bytes of names and shapes. */
HEFT_CHECKED bool heft_model_reserve_texts(struct heft_model *model, size_t bytes,
                                           struct heft_error *err);
HEFT_CHECKED bool heft_model_reserve_claims(struct heft_model *model, size_t claims,
                                            struct heft_error *err);
HEFT_CHECKED bool heft_model_add_storage(struct heft_model *model,
                                         const struct heft_storage *storage, uint32_t *index,
                                         struct heft_error *err);
/* Puts a copy of `more` into the model's memory, and the storage, still to be added, has it. */
HEFT_CHECKED bool heft_model_add_more(struct heft_model *model, struct heft_storage *storage,
                                      const struct heft_storage_more *more, struct heft_error *err);
/* name, shape and stride must live in model->mem (or be static). */
HEFT_CHECKED bool heft_model_add_row(struct heft_model *model, const struct heft_row *row,
                                     struct heft_error *err);
/* "zip central directory". Storages are claimed by themselves; claim what else is understood.
 * `what` static or in mem. */
HEFT_CHECKED bool heft_model_claim(struct heft_model *model, uint32_t source, uint64_t off,
                                   uint64_t len, const char *what, struct heft_error *err);
/* The same of a named part: `of` must live in model->mem, and is escaped where it is printed. */
HEFT_CHECKED bool heft_model_claim_of(struct heft_model *model, uint32_t source, uint64_t off,
                                      uint64_t len, const char *what, struct heft_str of,
                                      struct heft_error *err);
HEFT_CHECKED bool heft_model_add_metadata(struct heft_model *model, const struct heft_pair *pair,
                                          struct heft_error *err);
/* The root of `about`, made on first use. */
HEFT_CHECKED struct heft_node *heft_model_file_info(struct heft_model *model,
                                                    struct heft_error *err);
/* A tie that metadata records: `dropped` is another name of the tensor `kept`. */
HEFT_CHECKED bool heft_model_add_tie(struct heft_model *model, const struct heft_pair *tie,
                                     struct heft_error *err);
/* A tensor that is not in this file and belongs to what it holds. The name is copied; `from` is static,
 * see wanted_from. */
HEFT_CHECKED bool heft_model_add_wanted(struct heft_model *model, struct heft_str name,
                                        const char *from, struct heft_error *err);
/* Metadata that may record such a tie. */
HEFT_CHECKED bool heft_model_add_doubt(struct heft_model *model, const struct heft_pair *tie,
                                       struct heft_error *err);
HEFT_CHECKED bool heft_model_note(struct heft_model *model, enum heft_severity severity,
                                  uint32_t source, uint64_t offset, struct heft_error *err,
                                  const char *format, ...) HEFT_PRINTF(6, 7);
/* A note that conversions tell of, too. */
HEFT_CHECKED bool heft_model_tell(struct heft_model *model, uint32_t source, struct heft_error *err,
                                  const char *format, ...) HEFT_PRINTF(4, 5);
/* What the files refer to and do not hold: all verbs tell of it, conversions refuse it. FINDING: no
 * other finding of verify says so. */
HEFT_CHECKED bool heft_model_lack(struct heft_model *model, enum heft_severity severity,
                                  uint32_t source, struct heft_error *err, const char *format, ...)
    HEFT_PRINTF(5, 6);
/* A finding of bytes that may have been meant for a tensor: all verbs tell of it. */
HEFT_CHECKED bool heft_model_leave(struct heft_model *model, uint32_t source, uint64_t offset,
                                   struct heft_error *err, const char *format, ...)
    HEFT_PRINTF(5, 6);
HEFT_CHECKED bool heft_model_add_unreadable(struct heft_model *model, struct heft_str name,
                                            uint32_t source, uint64_t offset, const char *reason,
                                            struct heft_error *err);
/* The dictionary at a path ("": the root) is a collections.OrderedDict: it can have attributes, and
 * writers of pickles make one again. */
HEFT_CHECKED bool heft_model_add_ordered(struct heft_model *model, struct heft_str path,
                                         struct heft_error *err);
HEFT_CHECKED bool heft_model_add_layer(struct heft_model *model,
                                       const struct heft_model_layer *layer,
                                       struct heft_error *err);
bool heft_model_is_ordered(const struct heft_model *model, struct heft_str path);

/* ---- blobs.c ---- */

/* A blob is all of a storage. name must live in model->mem, `kind` is static. Counts as a tensor
 * does where names are limited. */
HEFT_CHECKED bool heft_model_add_blob(struct heft_model *model, struct heft_str name,
                                      uint32_t storage, const char *kind, struct heft_error *err);
/* Whether names of tensors and blobs stay within bounds with this one and a shape of that rank. */
HEFT_CHECKED bool heft_model_weigh_name(struct heft_model *model, struct heft_str name,
                                        unsigned rank, struct heft_error *err);
/* For settling: names are UTF-8 and unique, storages are there. */
HEFT_CHECKED bool heft_model_validate_blobs(struct heft_model *model, struct heft_error *err);
/* The blob of that name, or HEFT_NONE. After settle. */
uint32_t heft_model_blob(const struct heft_model *model, struct heft_str name);

/* ---- salvage.c: for readers of files that are cut off or damaged ----
 *
 * A reader that finds something wrong asks heft_model_forgives, and if so names what is lost and
 * goes on. It may leave rows and storages that reach beyond the end of the file: settling sorts
 * them out. What is not lost is as it always is. */

/* Whether to go on after that error: salvage is set, and the file is at fault. */
bool heft_model_forgives(const struct heft_model *model, const struct heft_error *found);
/* "text, at offset 0x1a2b" in the model's memory: an error as the reason of a loss. */
HEFT_CHECKED const char *heft_model_reason(struct heft_model *model, const struct heft_error *found,
                                           struct heft_error *err);
/* A tensor is lost by that error. */
HEFT_CHECKED bool heft_model_lose(struct heft_model *model, struct heft_str name, uint32_t source,
                                  const struct heft_error *found, struct heft_error *err);
/* More may be lost by that error than is named, as by damage to the names themselves. */
HEFT_CHECKED bool heft_model_damage(struct heft_model *model, uint32_t source, const char *what,
                                    const struct heft_error *found, struct heft_error *err);
/* The source should have so many bytes (or more), by what is in it. */
void heft_model_expect(struct heft_model *model, uint32_t source, uint64_t bytes, bool at_least);
/* The first step of settling: rows that cannot be true become unreadable. */
HEFT_CHECKED bool heft_model_drop_lost(struct heft_model *model, struct heft_error *err);

/* ---- merge_files.c: several files say one thing ---- */

/* The values that the reader of a file found. */
HEFT_CHECKED bool heft_model_add_tree(struct heft_model *model, uint32_t source,
                                      const struct heft_value *root, struct heft_error *err);
/* A step of settling: each key of metadata, recorded ties and values once. */
HEFT_CHECKED bool heft_model_merge(struct heft_model *model, struct heft_error *err);
/* How many of n_differing are in the list. */
size_t heft_model_listed_differing(const struct heft_model *model);

HEFT_CHECKED bool heft_model_validate(struct heft_model *model, struct heft_error *err);
/* Whether a row, or a storage, is what settling asks for. */
HEFT_CHECKED bool heft_model_check_row(struct heft_model *model, struct heft_row *row,
                                       struct heft_error *err);
HEFT_CHECKED bool heft_model_check_storage(const struct heft_model *model,
                                           const struct heft_storage *storage,
                                           struct heft_error *err);
/* Whether a row of that shape, dtype, offset and strides lies inside its storage. Sets bytes; makes
 * strides NULL where they are row-major. For settling. */
HEFT_CHECKED bool heft_model_check_geometry(const struct heft_model *model, struct heft_row *row,
                                            struct heft_error *err);
/* The row of that name, also by a dropped tied name; HEFT_NONE where there is none. After settle.
 */
uint32_t heft_model_find(const struct heft_model *model, struct heft_str name);
/* The same by rows' own names only. */
uint32_t heft_model_row(const struct heft_model *model, struct heft_str name);

/* The value at a dotted path below `from`, or NULL. Keys may hold dots: the longest key that fits
 * is followed. */
const struct heft_value *heft_value_below(const struct heft_value *from, const char *path);

/* Bytes of a row-major tensor of that dtype and shape. False where they are 2^64 or more, and where the
 * elements do not fill whole blocks: all of them together, those of the innermost dimension for a
 * dtype of HEFT_KIND_SCALED. */
HEFT_CHECKED bool heft_row_size(enum heft_dtype dtype, unsigned rank, const uint64_t *shape,
                                uint64_t *bytes);
/* The same for a row, with HEFT_MALFORMED at offset `at` that says which of these it was. */
HEFT_CHECKED bool heft_row_check_size(const struct heft_row *row, uint64_t *bytes, uint64_t at,
                                      struct heft_error *err);

/* The map of every file: claims and storages by (source, offset), gaps between them marked
 * unclaimed. Overlapping claims are HEFT_MALFORMED. In `arena`. */
HEFT_CHECKED bool heft_model_map(const struct heft_model *model, struct heft_arena *arena,
                                 const struct heft_segment **segments, size_t *count,
                                 struct heft_error *err);

#endif
