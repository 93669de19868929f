/* torch_archive.h: an archive of torch while it is read; for this folder and for readers of several
 * archives.
 *
 *    torch.c          the zip of torch.save: probe, open
 *    torch_script.c   the zip of torch.jit.save: its pickles, one by one
 *    torch_export.c   the zip of torch.export.save
 *    torch_zip.c      root and records
 *    torch_zip_pickle.c  pickles, and the records of their storages
 *    torch_records.c  small records, the map of all bytes, notes
 *    torch_salvage.c  the intact part of a truncated or damaged archive
 *    torch_verify.c   data descriptors */
#ifndef HEFT_TORCH_ARCHIVE_H
#define HEFT_TORCH_ARCHIVE_H

#include "format/torch/pickle/torch_parts.h"

enum heft_torch_mark {
    HEFT_TORCH_LOOSE,   /* not referred to so far */
    HEFT_TORCH_STORED,  /* a storage of the model, which claims its bytes */
    HEFT_TORCH_PARSED,  /* parsed by heft */
    HEFT_TORCH_CODE,    /* part of a program: known, never run */
    HEFT_TORCH_EXTRA,   /* a file that the user added */
    HEFT_TORCH_CLAIMED, /* read, and its bytes are claimed */
    HEFT_TORCH_OUTSIDE, /* outside the root: nothing can refer to it */
};

/* An archive; several pickles of it may be read one after the other. */
struct heft_torch_zip {
    struct heft_model *model;
    uint32_t source;
    struct heft_arena scratch;
    uint64_t held; /* bytes counted in model->reading */
    struct heft_zip zip;
    struct heft_str root;       /* "archive", without a slash */
    uint32_t *numbered;         /* zip.count items: K → the entry ROOT/data/K, or HEFT_NONE */
    struct heft_strmap records; /* all other entries of the root, by name below it */
    uint8_t *marks;             /* per entry: enum heft_torch_mark */
    uint32_t *stored;           /* per STORED entry: storage of the model */
    uint32_t
        *by_entry;  /* per entry: position in the storages of the current pickle, or HEFT_NONE */
    size_t n_taken; /* records that pickles refer to */
    struct heft_str folder;    /* directory of the current pickle's storages: "data/" */
    struct heft_str elsewhere; /* second directory to look in; may be empty */
    const char *code;          /* label of records marked CODE: "TorchScript code " */
    bool may_lack_data;        /* an empty record denotes a storage whose bytes were omitted */
    const struct heft_zip_entry *pkl; /* entry of data.pkl */
    uint64_t version;                 /* value in the record `version` */
    bool is_big;                      /* record `byteorder`: storages are big-endian */
    bool has_byteorder; /* has the record `byteorder`: written by torch 2.1 or later */
    uint64_t format;    /* .format_version; 0 if absent */
    uint64_t alignment; /* value of the record .storage_alignment, or torch's default */
};

/* ---- torch_zip.c ---- */

/* Reads the directory, finds the root (the directory of data.pkl) and classifies the entries. */
HEFT_CHECKED bool heft_torch_open_zip(struct heft_torch_zip *z, struct heft_model *model,
                                      uint32_t source, struct heft_error *err);
/* The same for archives without data.pkl: the root is the directory of the first record. */
HEFT_CHECKED bool heft_torch_open_root(struct heft_torch_zip *z, struct heft_model *model,
                                       uint32_t source, struct heft_error *err);
void heft_torch_release_zip(struct heft_torch_zip *z);
/* Names shared by many archives: the model keeps each name once. */
struct heft_torch_kept {
    struct heft_strmap map;
    struct heft_str *names; /* allocated in model->mem */
    size_t n, cap;
};
HEFT_CHECKED bool heft_torch_open_one(struct heft_torch_zip *z, struct heft_model *model,
                                      uint32_t source, struct heft_torch_kept *kept,
                                      struct heft_error *err);
void heft_torch_release_kept(struct heft_torch_kept *kept);
/* Entry of the root's record of that name ("data.pkl"), or HEFT_NONE. Not for data/0, data/1 …,
 * which are in `numbered`. */
uint32_t heft_torch_record(const struct heft_torch_zip *z, struct heft_str name);
/* Entry of the storage of that key, or HEFT_NONE. */
HEFT_CHECKED bool heft_torch_find_entry(const struct heft_torch_zip *z, struct heft_str key,
                                        uint32_t *entry, struct heft_error *err);
/* Makes a record a storage of the model; repeated calls return the same storage. */
HEFT_CHECKED bool heft_torch_store_record(struct heft_torch_zip *z, uint32_t entry,
                                          uint32_t *storage, struct heft_error *err);
/* "data/0" of "archive/data/0"; the whole name of an entry outside the root. */
struct heft_str heft_torch_inner_name(const struct heft_torch_zip *z,
                                      const struct heft_zip_entry *entry);
/* True for a TorchScript archive: it has constants.pkl. */
bool heft_torch_is_script(const struct heft_torch_zip *z);
/* Offset at which torch puts the payload of a record of `size` bytes that follows `end`, with a
 * name of n bytes. */
uint64_t heft_torch_computed_offset(const struct heft_torch_zip *z, uint64_t end, size_t n,
                                    uint64_t size);

/* ---- torch_zip_pickle.c ---- */

/* Reads the pickle of a record (rows and values) and claims its bytes. `what` is static:
 * "data.pkl". t->prefix may be set by the caller; t->values is the result. The caller releases t,
 * also on failure. */
HEFT_CHECKED bool heft_torch_read_record(struct heft_torch_zip *z, uint32_t entry, const char *what,
                                         struct heft_torch *t, struct heft_error *err);
/* Runs the pickle only, for callers that walk its nodes themselves. */
HEFT_CHECKED bool heft_torch_run_record(struct heft_torch_zip *z, uint32_t entry, const char *what,
                                        struct heft_torch *t, struct heft_error *err);

/* ---- torch_records.c ---- */

/* Parses and validates `version`, `byteorder` and the other small records. */
HEFT_CHECKED bool heft_torch_read_records(struct heft_torch_zip *z, struct heft_error *err);
/* To be called after all walks: handles records without a tensor, adds notes, and claims every byte
 * that is understood. */
HEFT_CHECKED bool heft_torch_claim_zip(struct heft_torch_zip *z, struct heft_error *err);

/* ---- torch_salvage.c: only if model->salvage is set ---- */

/* Salvage: true if a record that a pickle refers to with `bytes` bytes is complete, although it may
 * be truncated or missing from the directory; its entry is completed then. */
HEFT_CHECKED bool heft_torch_close_record(struct heft_torch_zip *z, struct heft_zip_entry *entry,
                                          uint64_t bytes, struct heft_error *err);
/* Reads a record with a pickle whatever its checksum; damage is noted. */
HEFT_CHECKED bool heft_torch_fetch_damaged(struct heft_torch_zip *z,
                                           const struct heft_zip_entry *entry, const char *what,
                                           uint64_t cap, struct heft_arena *arena,
                                           struct heft_bytes *out, struct heft_error *err);
/* To be called after a pickle was read: computes how long the file should be. */
HEFT_CHECKED bool heft_torch_measure(struct heft_torch_zip *z, struct heft_torch *t,
                                     struct heft_error *err);

/* ---- torch_script.c ---- */

/* torch_script.c: reads all pickles: rows, values, format and version of the model. */
HEFT_CHECKED bool heft_torch_read_script(struct heft_torch_zip *z, struct heft_error *err);

/* ---- torch_verify.c ---- */

struct heft_reporter;
/* heft_format.verify: compares the data descriptors. */
HEFT_CHECKED bool heft_torch_verify(const struct heft_model *model, uint32_t source,
                                    const struct heft_reporter *to, struct heft_error *err);

#endif
