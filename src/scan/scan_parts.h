/* scan_parts.h: internals of scan, shared by the scan*.c files only.
 *
 *   scan.c         entry point; decides which of the other files scans a place
 *   scan_place.c   findings of places, the budget, and places within places
 *   scan_pickle.c  consecutive pickles, and the rest of a legacy torch stream
 *   scan_judge.c   imports and calls of one pickle
 *   scan_encoded.c bytes that are pickled as text
 *   scan_names.c   classification of names; scan_data.c names that only build data
 *   scan_zip_open.c  decides which archives a zip is to its readers
 *   scan_zip.c     the records of an archive; scan_storages.c those that are storages of a pickle
 *   scan_broken.c  zips that heft refuses, as other readers may see them
 *   scan_npy.c     .npy
 *   scan_other.c   tar: its members; scan_tar_head.c: its headers
 *   scan_packed.c  compressed bytes
 *   scan_content.c all other kinds of files
 *   scan_graph.c   TensorFlow graphs; scan_ops.c classification of operations; scan_saver.c savers
 *   scan_config.c  configurations (JSON); scan_keras.c meaning of their objects;
 *                  scan_expression.c Python expressions; scan_config_report.c findings
 *   scan_yaml.c    configurations (YAML); scan_hydra.c paths that programs call
 *   scan_template.c  Jinja templates; scan_gguf.c those of GGUF files
 *   scan_h5.c      attributes of HDF5 files
 *   scan_script.c  operations of TorchScript
 *   scan_index.c   files named by an index
 *
 * All of them scan places: ranges of bytes, either of the file or unpacked from it into memory.
 * A place within a place is one deeper, down to HEFT_SCAN_DEPTH, which bounds the recursion. All
 * bytes that are read or unpacked are paid for from one budget, so the work is linear in the
 * size of the file, even if many of its parts refer to the same bytes. */
#ifndef HEFT_SCAN_PARTS_H
#define HEFT_SCAN_PARTS_H

#include "base/map.h"
#include "core/model.h"
#include "scan/scan.h"
#include "wire/pickle.h"
#include "wire/zip.h"

#define HEFT_SCAN_DEPTH    3 /* file, record, content of the record, content of that */
#define HEFT_SCAN_DEEP     "packed more than three levels deep, not scanned"
#define HEFT_SCAN_UNPACKED ((uint64_t)32 << 20) /* most bytes of one place in memory */

struct heft_scan;
struct heft_scan_place;
/* Scans a place of any kind. Returns false only if memory or reading fails. */
typedef bool heft_scan_look(struct heft_scan *s, const struct heft_scan_place *place,
                            struct heft_error *err);

struct heft_scan {
    const char *path;
    const struct heft_limits *limits;
    heft_scan_look *look; /* scan_place of scan.c, for places within others */
    void (*each)(void *ctx, const struct heft_scan_item *item);
    void *ctx;
    bool complete;
    size_t items;
    size_t pickles;             /* pickles judged so far */
    enum heft_danger worst;     /* worst finding since it was last reset */
    uint64_t budget;            /* bytes that may still be read or unpacked */
    uint64_t nodes;             /* budget left for values of pickles */
    struct heft_error *err;     /* receives the first failure */
    struct heft_arena mem;      /* owns sentences and names of records */
    struct heft_scan_kind kind; /* kind of the file */
    struct heft_strmap keys;    /* names of records that are storages: ROOT/data/KEY */
};

/* A range of bytes to scan. */
struct heft_scan_place {
    const struct heft_source *src;
    struct heft_bytes bytes; /* all bytes of src if it is in memory; else empty */
    const char *record;      /* name in findings; "" for the file itself */
    struct heft_str member;  /* name of the record in its own archive; empty outside of archives */
    uint64_t base;           /* offset of the first byte in the file; HEFT_NO_OFFSET if unpacked */
    unsigned depth;
    bool named;               /* the name says that it is a pickle: report it if it is malformed */
    bool quiet;               /* most likely numbers: malformed bytes are not a pickle */
    bool script;              /* in a TorchScript archive, whose own classes are not imports */
    bool packed;              /* also search for zlib data, whose magic has only two bytes */
    struct heft_strmap *seen; /* names already reported; NULL if none */
};

/* Callback for a pickle that ended with STOP. Its nodes are only valid during the call. */
typedef bool heft_scan_visit(void *ctx, const struct heft_pickle *pickle, struct heft_error *err);

/* A run of one pickle. */
struct heft_scan_run {
    heft_scan_visit *visit; /* callback; may be NULL */
    void *ctx;
    uint64_t length; /* bytes up to the start of the next pickle */
    bool done;       /* it ended with STOP */
    bool real;       /* it counts as a pickle and was judged */
    bool is_magic;   /* its value is the magic number of a legacy torch stream */
};

/* ---- scan_place.c ---- */

/* Reports a failure as a finding; scanning continues. heft_scan_source returns the first
 * failure. */
void heft_scan_report_failure(struct heft_scan *s, const struct heft_error *why);
/* The same for a failure of a reader of this place, whose offset is in place->src. */
void heft_scan_report_refused(struct heft_scan *s, const struct heft_scan_place *place,
                              const struct heft_error *why);
void heft_scan_report(struct heft_scan *s, struct heft_scan_item *item);
/* Reports a sentence as a finding; `what` is "trick", "packed" … Returns false if sentence is
 * NULL: its maker ran out of memory and has set the error. */
HEFT_CHECKED bool heft_scan_report_text(struct heft_scan *s, const struct heft_scan_place *place,
                                        uint64_t position, enum heft_danger danger,
                                        const char *what, const char *sentence);
/* Takes n bytes from the budget. Returns false if it does not suffice, and reports that. */
bool heft_scan_pay(struct heft_scan *s, const struct heft_scan_place *place, uint64_t n);
uint64_t heft_scan_offset(const struct heft_scan_place *place, uint64_t position);
/* Returns the name of a place within `outer`, stored in buf; of a long outer name only the end
 * is kept. NULL if memory runs out. */
HEFT_CHECKED const char *heft_scan_label(struct heft_buf *buf, const struct heft_scan_place *outer,
                                         struct heft_str name, struct heft_error *err);
/* Returns the part of a name after its last slash. */
struct heft_str heft_scan_last_part(struct heft_str name);
/* Returns the last part of the record's name; of the file's name if there is no record. */
struct heft_str heft_scan_name(const struct heft_scan *s, const struct heft_scan_place *place);
/* Scans [off, off + n) of a place as a place of the given name, one deeper. */
HEFT_CHECKED bool heft_scan_within(struct heft_scan *s, const struct heft_scan_place *outer,
                                   uint64_t off, uint64_t n, const char *record,
                                   struct heft_error *err);
/* Scans bytes in memory as a place; all other properties are those of `like`. */
HEFT_CHECKED bool heft_scan_memory(struct heft_scan *s, const struct heft_scan_place *like,
                                   struct heft_bytes bytes, struct heft_error *err);
/* True for PROTO with protocols 2 to 5: 80 02 … 80 05. */
static inline bool heft_scan_is_start(const uint8_t *p)
{
    return p[0] == 0x80 && p[1] >= 2 && p[1] <= 5;
}

/* ---- scan_pickle.c ---- */

/* Runs the pickle at `at` and judges it. */
HEFT_CHECKED bool heft_scan_pickle(struct heft_scan *s, const struct heft_scan_place *place,
                                   uint64_t at, struct heft_scan_run *run, struct heft_error *err);
/* Runs and judges all consecutive pickles from `at` on, and scans the bytes after them. */
HEFT_CHECKED bool heft_scan_pickles(struct heft_scan *s, const struct heft_scan_place *place,
                                    uint64_t at, struct heft_error *err);

/* Returns the bytes of an element of a storage or tensor class; 0 for other nodes and unknown
 * classes. */
uint32_t heft_scan_element_size(const struct heft_pickle *pickle, uint32_t type);

/* ---- scan_judge.c ---- */

/* True if the pickle imports or calls anything. */
bool heft_scan_has_names(const struct heft_pickle *pickle);
/* True if a malformed pickle has done anything before its error: imported a danger, or called
 * something, before an import that must fail. Two lines of a text whose first begins with c are
 * only an import. */
bool heft_scan_acts(const struct heft_scan_place *place, const struct heft_pickle *pickle);
/* Reports the imports and calls of the pickle that begins at `at`. */
HEFT_CHECKED bool heft_scan_judge(struct heft_scan *s, const struct heft_scan_place *place,
                                  uint64_t at, const struct heft_pickle *pickle,
                                  struct heft_error *err);

/* ---- scan_content.c ---- */

/* scan_yaml.c: true for the name of a YAML file, in upper or lower case. */
bool heft_scan_is_yaml(struct heft_str name);

HEFT_CHECKED bool heft_scan_yaml(struct heft_scan *s, const struct heft_scan_place *place,
                                 struct heft_bytes text, struct heft_error *err);
/* Judges a path named by a configuration. Judging takes longer than reading, so it costs budget:
 * returns false if the budget does not suffice, and reports that. */
bool heft_scan_path(struct heft_scan *s, const struct heft_scan_place *place, struct heft_str path,
                    enum heft_danger *danger);
/* scan_hydra.c: judges the paths of _target_ and similar keys. */
HEFT_CHECKED bool heft_scan_targets(struct heft_scan *s, const struct heft_scan_place *place,
                                    struct heft_bytes text, struct heft_error *err);

/* scan_template.c: true for the name of a template. */
bool heft_scan_is_template(struct heft_str name);
/* Reports the worst finding in a template. offset: its first byte in the place. */
void heft_scan_template(struct heft_scan *s, const struct heft_scan_place *place, uint64_t offset,
                        struct heft_bytes text);

/* scan_gguf.c: scans chat templates of a GGUF file. *templates: it has some. */
HEFT_CHECKED bool heft_scan_gguf(struct heft_scan *s, const struct heft_scan_place *place,
                                 bool *templates, struct heft_error *err);

/* Finds the kind of a place that is neither a container nor a pickle, and judges it. */
HEFT_CHECKED bool heft_scan_content(struct heft_scan *s, const struct heft_scan_place *place,
                                    struct heft_bytes head, struct heft_error *err);
/* True if a record with this name and these first bytes is of a kind that scan judges. */
bool heft_scan_is_content(struct heft_str name, struct heft_bytes head);

/* ---- scan_graph.c, scan_config.c, scan_h5.c, scan_script.c ---- */

/* Scans a graph of TensorFlow, or metadata of Keras. *found: it is one. */
HEFT_CHECKED bool heft_scan_graph(struct heft_scan *s, const struct heft_scan_place *place,
                                  struct heft_bytes head, bool *found, struct heft_error *err);
/* Result of scanning JSON: layers of Keras, references to code. */
struct heft_scan_json {
    bool is_json;   /* all of it is well-formed */
    bool templates; /* the configuration has Jinja templates, which are not judged */
};
/* True if bytes begin as JSON, after a byte-order mark and white space. */
bool heft_scan_begins_json(struct heft_bytes head);
HEFT_CHECKED bool heft_scan_config(struct heft_scan *s, const struct heft_scan_place *place,
                                   struct heft_bytes json, struct heft_scan_json *what,
                                   struct heft_error *err);
/* Scans a record of a TorchScript archive for operations that do more than compute tensors. */
HEFT_CHECKED bool heft_scan_script(struct heft_scan *s, const struct heft_scan_place *place,
                                   struct heft_bytes bytes, struct heft_error *err);
/* Judges an operation that a torch.export program calls: "torch.ops.aten.add.Tensor". */
HEFT_CHECKED bool heft_scan_target(struct heft_scan *s, const struct heft_scan_place *place,
                                   struct heft_str target, struct heft_error *err);
/* Scans the JSON in attributes and strings of an HDF5 file. */
HEFT_CHECKED bool heft_scan_h5(struct heft_scan *s, const struct heft_scan_place *place,
                               struct heft_error *err);
/* Sets *is_it if the place is an HDF5 file, also after a user block. */
HEFT_CHECKED bool heft_scan_is_h5(const struct heft_scan_place *place, bool *is_it,
                                  struct heft_error *err);

/* ---- scan_encoded.c ---- */

/* True if the node is a call of _codecs.encode with a text. */
bool heft_scan_is_encoded(const struct heft_pickle *pickle, uint32_t node);
size_t heft_scan_text_length(const struct heft_pickle *pickle, uint32_t call);
/* Sets *out to its bytes, in mem or in the pickle; empty if they are not known. */
HEFT_CHECKED bool heft_scan_encode(const struct heft_pickle *pickle, uint32_t call,
                                   struct heft_arena *mem, struct heft_bytes *out,
                                   struct heft_error *err);

/* ---- containers ---- */

HEFT_CHECKED bool heft_scan_zip(struct heft_scan *s, const struct heft_scan_place *place,
                                struct heft_error *err);
bool heft_scan_is_named(struct heft_str name);
HEFT_CHECKED bool heft_scan_report_trick(struct heft_scan *s, const struct heft_scan_place *zip,
                                         const struct heft_zip_entry *entry, const char *sentence);
/* Scans the records of an archive, and reports tricks with their names. */
HEFT_CHECKED bool heft_scan_entries(struct heft_scan *s, const struct heft_scan_place *place,
                                    const struct heft_zip *zip, struct heft_error *err);
/* Remembers the records that are storages of this pickle: their bytes are numbers, not pickles. */
HEFT_CHECKED bool heft_scan_keep_storages(struct heft_scan *s, const struct heft_scan_place *place,
                                          const struct heft_pickle *pickle, struct heft_error *err);
/* Sets *yes if a record is such a storage. A record that begins like .npy is not: numpy.load
 * would read it as an array. */
HEFT_CHECKED bool heft_scan_is_storage(const struct heft_scan *s,
                                       const struct heft_scan_place *place,
                                       const struct heft_zip_entry *entry, bool *yes,
                                       struct heft_error *err);
/* Scans a zip that the strict reader refuses, or that comes after other bytes. */
HEFT_CHECKED bool heft_scan_broken_zip(struct heft_scan *s, const struct heft_scan_place *place,
                                       const struct heft_error *why, struct heft_error *err);
/* Scans a file of consecutive complete archives, as torch.distributed.checkpoint writes them.
 * *is_row: the place is one; then every reader sees the same archives. */
HEFT_CHECKED bool heft_scan_zip_row(struct heft_scan *s, const struct heft_scan_place *place,
                                    bool *is_row, struct heft_error *err);
/* Sets *second if the bytes after the archive contain another directory. */
HEFT_CHECKED bool heft_scan_second_zip(struct heft_scan *s, const struct heft_scan_place *place,
                                       bool *second, struct heft_error *err);
HEFT_CHECKED bool heft_scan_hidden_zip(struct heft_scan *s, const struct heft_scan_place *place,
                                       struct heft_error *err);
HEFT_CHECKED bool heft_scan_npy(struct heft_scan *s, const struct heft_scan_place *place,
                                struct heft_error *err);
/* True if a file of that size and with these first bytes is a single array without objects. */
bool heft_scan_is_numbers(struct heft_bytes head, uint64_t size);
bool heft_scan_is_tar(struct heft_bytes head);
/* Decodes a number of a tar header; false if Python's tarfile would not accept it, or it has more than 64 bits. */
HEFT_CHECKED bool heft_scan_tar_number(const uint8_t *p, size_t n, int64_t *out);
struct heft_scan_pax {
    struct heft_str path; /* points into the decoded bytes */
    uint64_t size;
    bool has_path, has_size;
    bool sparse;
    bool odd; /* a record or size that readers interpret differently */
};
void heft_scan_read_pax(struct heft_bytes bytes, struct heft_scan_pax *pax);
HEFT_CHECKED bool heft_scan_tar(struct heft_scan *s, const struct heft_scan_place *place,
                                struct heft_error *err);
/* True if these are the first bytes of compressed data. */
bool heft_scan_is_packed(struct heft_bytes head);
/* Sets *is_packed if the place is compressed, and scans the unpacked bytes. */
HEFT_CHECKED bool heft_scan_packed(struct heft_scan *s, const struct heft_scan_place *place,
                                   struct heft_bytes head, bool *is_packed, struct heft_error *err);

#endif
