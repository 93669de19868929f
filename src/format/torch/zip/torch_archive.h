/* torch_archive.h: an archive of torch while it is read, for the files of this folder and for those who
 * open archives in their own way.
 *
 *     torch.c          the zip of torch.save: probe, open
 *     torch_script.c   the zip of torch.jit.save: its pickles, one by one
 *     torch_export.c   the zip of torch.export.save
 *     torch_zip.c      its root and its records
 *     torch_zip_pickle.c  its pickles, and the records that are their storages
 *     torch_records.c  its small records, the map of its bytes, notes
 *     torch_salvage.c  what is whole of one that is cut off or damaged
 *     torch_verify.c   its data descriptors */
#ifndef HEFT_TORCH_ARCHIVE_H
#define HEFT_TORCH_ARCHIVE_H

#include "format/torch/pickle/torch_parts.h"

enum heft_torch_mark {
    HEFT_TORCH_LOOSE,   /* nothing has asked for the record */
    HEFT_TORCH_STORED,  /* it is a storage of the model, which claims its bytes */
    HEFT_TORCH_PARSED,  /* it has been read */
    HEFT_TORCH_CODE,    /* a program, and what belongs to it: known, never run */
    HEFT_TORCH_EXTRA,   /* a file that the user put into the archive */
    HEFT_TORCH_CLAIMED, /* it has been read, and its bytes are claimed */
    HEFT_TORCH_OUTSIDE, /* not in the root: nothing can ask for it */
};

/* An archive. Several pickles of it may be read one after the other. */
struct heft_torch_zip {
    struct heft_model *model;
    uint32_t source;
    struct heft_arena scratch;
    struct heft_zip zip;
    struct heft_str root; /* "archive", without the slash */
    uint32_t *numbered; /* K → the entry ROOT/data/K, HEFT_NONE where there is none; zip.count */
    struct heft_strmap records; /* all others of the root, by what follows it and its slash */
    uint8_t *marks;             /* an entry: enum heft_torch_mark */
    uint32_t *stored;           /* an entry that is STORED → storage of the model */
    uint32_t *by_entry;         /* an entry → storages of the pickle being read, or HEFT_NONE */
    size_t n_taken;             /* records that pickles asked for */
    struct heft_str folder;     /* where the storages of that pickle are: "data/" */
    struct heft_str elsewhere;  /* a second folder to look in; may be empty */
    const char *code;           /* what records marked CODE are: "TorchScript code " */
    bool may_lack_data;         /* an empty record stands for a storage whose bytes were left out */
    const struct heft_zip_entry *pkl; /* data.pkl */
    uint64_t version;                 /* what the record of that name says */
    bool is_big;                      /* byteorder: storages are big-endian */
    bool has_byteorder;               /* written by torch 2.1 or later */
    uint64_t format;                  /* .format_version; 0: has none */
    uint64_t alignment;               /* .storage_alignment, or torch's default */
};

/* ---- torch_zip.c ---- */

/* Opens the directory, finds the root (the folder of data.pkl) and sorts the entries. */
HEFT_CHECKED bool heft_torch_open_zip(struct heft_torch_zip *z, struct heft_model *model,
                                      uint32_t source, struct heft_error *err);
/* The same for archives that have no data.pkl: the root is the folder of the first record. */
HEFT_CHECKED bool heft_torch_open_root(struct heft_torch_zip *z, struct heft_model *model,
                                       uint32_t source, struct heft_error *err);
void heft_torch_release_zip(struct heft_torch_zip *z);
/* The same of one of many archives: the model keeps each name once, however many have it. */
struct heft_torch_kept {
    struct heft_strmap map;
    struct heft_str *names; /* in model->mem */
    size_t n, cap;
};
HEFT_CHECKED bool heft_torch_open_one(struct heft_torch_zip *z, struct heft_model *model,
                                      uint32_t source, struct heft_torch_kept *kept,
                                      struct heft_error *err);
void heft_torch_release_kept(struct heft_torch_kept *kept);
/* The entry of the root's record of that name ("data.pkl"), HEFT_NONE where there is none. Not for
 * data/0, data/1 …: those are `numbered`. */
uint32_t heft_torch_record(const struct heft_torch_zip *z, struct heft_str name);
/* The entry of the storage of that key, HEFT_NONE where there is none. */
HEFT_CHECKED bool heft_torch_find_entry(const struct heft_torch_zip *z, struct heft_str key,
                                        uint32_t *entry, struct heft_error *err);
/* A record that becomes a storage of the model, once. */
HEFT_CHECKED bool heft_torch_store_record(struct heft_torch_zip *z, uint32_t entry,
                                          uint32_t *storage, struct heft_error *err);
/* "data/0" of "archive/data/0"; the whole name of an entry outside of the root. */
struct heft_str heft_torch_inner_name(const struct heft_torch_zip *z,
                                      const struct heft_zip_entry *entry);
/* Whether the archive is one of TorchScript: has constants.pkl. */
bool heft_torch_is_script(const struct heft_torch_zip *z);
/* Where torch puts the payload of a record of `size` bytes that follows `end`, under a name of n
 * bytes. */
uint64_t heft_torch_computed_offset(const struct heft_torch_zip *z, uint64_t end, size_t n,
                                    uint64_t size);

/* ---- torch_zip_pickle.c ---- */

/* Reads the pickle of a record, its rows and values, and claims its bytes. `what` is static:
 * "data.pkl". t->prefix may be set before; t->values is its result. The caller releases t. */
HEFT_CHECKED bool heft_torch_read_record(struct heft_torch_zip *z, uint32_t entry, const char *what,
                                         struct heft_torch *t, struct heft_error *err);
/* The first half of it: runs the pickle, for callers that walk its nodes in their own way. */
HEFT_CHECKED bool heft_torch_run_record(struct heft_torch_zip *z, uint32_t entry, const char *what,
                                        struct heft_torch *t, struct heft_error *err);

/* ---- torch_records.c ---- */

/* `version`, `byteorder` and the like: parsed and checked. */
HEFT_CHECKED bool heft_torch_read_records(struct heft_torch_zip *z, struct heft_error *err);
/* After all walks: records without a tensor, notes, and a claim for every byte that is understood.
 */
HEFT_CHECKED bool heft_torch_claim_zip(struct heft_torch_zip *z, struct heft_error *err);

/* ---- torch_salvage.c: only where model->salvage is set ---- */

/* A record that a pickle asks for as `bytes` bytes, and that may be cut off or lost: true where it
 * is whole; its entry says so then. */
HEFT_CHECKED bool heft_torch_close_record(struct heft_torch_zip *z, struct heft_zip_entry *entry,
                                          uint64_t bytes, struct heft_error *err);
/* The bytes of a record that holds a pickle, whatever its checksum; damage is named. */
HEFT_CHECKED bool heft_torch_fetch_damaged(struct heft_torch_zip *z,
                                           const struct heft_zip_entry *entry, const char *what,
                                           uint64_t cap, struct heft_arena *arena,
                                           struct heft_bytes *out, struct heft_error *err);
/* After a pickle was read: how long the file should be. */
HEFT_CHECKED bool heft_torch_measure(struct heft_torch_zip *z, struct heft_torch *t,
                                     struct heft_error *err);

/* ---- torch_script.c ---- */

/* All of its pickles: rows, values, format and version of the model. */
HEFT_CHECKED bool heft_torch_read_script(struct heft_torch_zip *z, struct heft_error *err);

/* ---- torch_verify.c ---- */

struct heft_reporter;
/* Data descriptors: heft_format's verify. */
HEFT_CHECKED bool heft_torch_verify(const struct heft_model *model, uint32_t source,
                                    const struct heft_reporter *to, struct heft_error *err);

#endif
