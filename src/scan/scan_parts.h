/* scan_parts.h: the inside of scan, shared by the scan*.c files only.
 *
 *   scan.c         the entry point, and which of the others looks at some bytes
 *   scan_place.c   what is reported of places, the budget, and places within places
 *   scan_pickle.c  pickles one behind the other, and the rest of a legacy torch stream
 *   scan_judge.c   one pickle that was run: its imports and calls
 *   scan_encoded.c its bytes that are pickled as text
 *   scan_names.c   how a name is judged
 *   scan_zip_open.c  which archives a zip is to its readers
 *   scan_zip.c     the records of an archive; scan_storages.c those that are storages of a pickle
 *   scan_broken.c  zips that do not open, as other readers may see them
 *   scan_npy.c     .npy
 *   scan_other.c   tar: its members; scan_tar_head.c: its headers
 *   scan_packed.c  compressed bytes
 *   scan_content.c kinds of files that are neither
 *   scan_graph.c   TensorFlow's graphs; scan_ops.c how their operations are judged; scan_saver.c savers
 *   scan_config.c  configurations (JSON); scan_keras.c what their objects stand for;
 *                  scan_expression.c Python in them; scan_config_report.c what is reported of them
 *   scan_yaml.c    configurations (YAML); scan_hydra.c the paths that they name
 *   scan_template.c  Jinja templates; scan_gguf.c those of GGUF files
 *   scan_h5.c      the configurations in HDF5 files
 *   scan_script.c  TorchScript
 *   scan_index.c   the files that an index names
 *
 * All look at places: bytes by position, which are (a slice of) the file, or unpacked from it into
 * memory. A place within a place is one deeper, down to HEFT_SCAN_DEPTH, which bounds recursion.
 * Whatever is read or unpacked is paid for from one budget, so the work is linear in the file
 * however often its parts claim the same bytes. */
#ifndef HEFT_SCAN_PARTS_H
#define HEFT_SCAN_PARTS_H

#include "base/map.h"
#include "core/model.h"
#include "scan/scan.h"
#include "wire/pickle.h"
#include "wire/zip.h"

#define HEFT_SCAN_DEPTH    3 /* file, record, what is in the record, what is in that */
#define HEFT_SCAN_DEEP     "packed within what is packed within others, not looked into"
#define HEFT_SCAN_UNPACKED ((uint64_t)32 << 20) /* bytes of one place that are held in memory */

struct heft_scan;
struct heft_scan_place;
/* Looks at a place, whatever it holds. False only for want of memory, and where reading fails. */
typedef bool heft_scan_look(struct heft_scan *s, const struct heft_scan_place *place,
                            struct heft_error *err);

struct heft_scan {
    const char *path;
    const struct heft_limits *limits;
    heft_scan_look *look; /* at a place within another; scan.c's */
    void (*each)(void *ctx, const struct heft_scan_item *item);
    void *ctx;
    bool complete;
    size_t items;
    size_t pickles;             /* that were judged */
    enum heft_danger worst;     /* of what was found since it was last set */
    uint64_t budget;            /* bytes that may still be looked at */
    uint64_t nodes;             /* values of pickles that may still be held */
    struct heft_error *err;     /* the first failure */
    struct heft_arena mem;      /* sentences, names of records */
    struct heft_scan_kind kind; /* of the file */
    struct heft_strmap keys;    /* records that are storages: ROOT/data/KEY */
};

/* Bytes to look at. */
struct heft_scan_place {
    const struct heft_source *src;
    struct heft_bytes bytes; /* all of src, where it is in memory; else empty */
    const char *record;      /* for reports; "" for the file itself */
    struct heft_str member;  /* the record's name in its own archive; empty where it is in none */
    uint64_t base; /* of src's first byte in the file; HEFT_NO_OFFSET where it is unpacked */
    unsigned depth;
    bool named;  /* its name says that it is a pickle: where it breaks off, that is told */
    bool quiet;  /* most likely numbers: a pickle that breaks off is none */
    bool script; /* of a TorchScript archive, whose own classes are no imports */
    bool packed; /* zlib streams, which two bytes tell, are looked for */
    struct heft_strmap *seen; /* names reported already; NULL: none */
};

/* Called with a pickle that ended with STOP, while its nodes are there. */
typedef bool heft_scan_visit(void *ctx, const struct heft_pickle *pickle, struct heft_error *err);

/* One pickle that is run. */
struct heft_scan_run {
    heft_scan_visit *visit; /* may be NULL */
    void *ctx;
    uint64_t length; /* up to where the next one begins */
    bool done;       /* it has one */
    bool real;       /* it is a pickle to whoever looks at it, and was judged */
    bool is_magic;   /* the first integer of a legacy torch stream */
};

/* ---- scan_place.c ---- */

/* Judging goes on after a failure; the first one is what the caller hears of. */
void heft_scan_break_off(struct heft_scan *s, const struct heft_error *why);
void heft_scan_report(struct heft_scan *s, struct heft_scan_item *item);
/* Reports what is no name: `what` is "trick" or "packed". False where there is no sentence: for
 * want of memory, which the maker of it has told. */
HEFT_CHECKED bool heft_scan_tell(struct heft_scan *s, const struct heft_scan_place *place,
                                 uint64_t position, enum heft_danger danger, const char *what,
                                 const char *sentence);
/* False where the budget is used up, which is told. */
bool heft_scan_pay(struct heft_scan *s, const struct heft_scan_place *place, uint64_t n);
uint64_t heft_scan_offset(const struct heft_scan_place *place, uint64_t position);
/* The name of what is within a place, in buf; of a long outer name the end is enough. NULL for want
 * of memory. */
HEFT_CHECKED const char *heft_scan_label(struct heft_buf *buf, const struct heft_scan_place *outer,
                                         struct heft_str name, struct heft_error *err);
/* The part of a name behind its last slash. */
struct heft_str heft_scan_last_part(struct heft_str name);
/* The last part of the record's name, or of the file's. */
struct heft_str heft_scan_name(const struct heft_scan *s, const struct heft_scan_place *place);
/* Looks at [off, off + n) of a place, as a place of that name and one deeper. */
HEFT_CHECKED bool heft_scan_within(struct heft_scan *s, const struct heft_scan_place *outer,
                                   uint64_t off, uint64_t n, const char *record,
                                   struct heft_error *err);
/* Looks at bytes in memory as a place. */
HEFT_CHECKED bool heft_scan_memory(struct heft_scan *s, const struct heft_scan_place *like,
                                   struct heft_bytes bytes, struct heft_error *err);
/* 80 02 … 80 05 */
static inline bool heft_scan_is_start(const uint8_t *p)
{
    return p[0] == 0x80 && p[1] >= 2 && p[1] <= 5;
}

/* ---- scan_pickle.c ---- */

/* Runs and judges the pickle at `at`. */
HEFT_CHECKED bool heft_scan_pickle(struct heft_scan *s, const struct heft_scan_place *place,
                                   uint64_t at, struct heft_scan_run *run, struct heft_error *err);
/* The pickles from `at` on, and what follows them. */
HEFT_CHECKED bool heft_scan_pickles(struct heft_scan *s, const struct heft_scan_place *place,
                                    uint64_t at, struct heft_error *err);

/* Bytes of an element of a storage or tensor class; 0 for other nodes, and where heft does not
 * know. */
uint32_t heft_scan_element_size(const struct heft_pickle *pickle, uint32_t type);

/* ---- scan_judge.c ---- */

/* Whether it names or calls anything. */
bool heft_scan_has_names(const struct heft_pickle *pickle);
/* Whether a pickle that breaks off had done anything until then: named what is dangerous, or called
 * what may be there, before an import that must fail. Two lines of a text, the first of which begins with c, are an import alone. */
bool heft_scan_acts(const struct heft_scan_place *place, const struct heft_pickle *pickle);
/* Reports the imports and calls of a pickle that begins at `at`. */
HEFT_CHECKED bool heft_scan_judge(struct heft_scan *s, const struct heft_scan_place *place,
                                  uint64_t at, const struct heft_pickle *pickle,
                                  struct heft_error *err);

/* ---- scan_content.c ---- */

/* scan_yaml.c: by the name's end, in any case. */
bool heft_scan_is_yaml(struct heft_str name);

HEFT_CHECKED bool heft_scan_yaml(struct heft_scan *s, const struct heft_scan_place *place,
                                 struct heft_bytes text, struct heft_error *err);
/* How a path that a configuration names is judged. It is paid for, as judging takes longer than reading:
 * false where the budget is used up, which is told. */
bool heft_scan_path(struct heft_scan *s, const struct heft_scan_place *place, struct heft_str path,
                    enum heft_danger *danger);
/* scan_hydra.c: the paths that _target_ and its kin name. */
HEFT_CHECKED bool heft_scan_targets(struct heft_scan *s, const struct heft_scan_place *place,
                                    struct heft_bytes text, struct heft_error *err);

/* scan_template.c: by the name's end. */
bool heft_scan_is_template(struct heft_str name);
/* Reports the worst thing in it that no chat needs. offset: in the place. */
void heft_scan_template(struct heft_scan *s, const struct heft_scan_place *place, uint64_t offset,
                        struct heft_bytes text);

/* scan_gguf.c: its chat templates. *templates: there are some. */
HEFT_CHECKED bool heft_scan_gguf(struct heft_scan *s, const struct heft_scan_place *place,
                                 bool *templates, struct heft_error *err);

/* Judges what is neither container nor pickle by its kind, which it finds out. */
HEFT_CHECKED bool heft_scan_content(struct heft_scan *s, const struct heft_scan_place *place,
                                    struct heft_bytes head, struct heft_error *err);
/* Whether a record that begins so, or has such a name, is of a kind that is judged. */
bool heft_scan_is_content(struct heft_str name, struct heft_bytes head);

/* ---- scan_graph.c, scan_config.c, scan_h5.c, scan_script.c ---- */

/* TensorFlow's graphs, and Keras' metadata. *found: it is one. */
HEFT_CHECKED bool heft_scan_graph(struct heft_scan *s, const struct heft_scan_place *place,
                                  struct heft_bytes head, bool *found, struct heft_error *err);
/* JSON: layers of Keras, references to code. */
struct heft_scan_json {
    bool is_json;   /* all of it reads as such */
    bool templates; /* it has Jinja templates, which are not judged */
};
/* Whether bytes begin as JSON, behind a byte-order mark and white space. */
bool heft_scan_begins_json(struct heft_bytes head);
HEFT_CHECKED bool heft_scan_config(struct heft_scan *s, const struct heft_scan_place *place,
                                   struct heft_bytes json, struct heft_scan_json *what,
                                   struct heft_error *err);
/* A record of a TorchScript archive: operations that reach beyond tensors. */
HEFT_CHECKED bool heft_scan_script(struct heft_scan *s, const struct heft_scan_place *place,
                                   struct heft_bytes bytes, struct heft_error *err);
/* An operation that a torch.export program calls: "torch.ops.aten.add.Tensor". */
HEFT_CHECKED bool heft_scan_target(struct heft_scan *s, const struct heft_scan_place *place,
                                   struct heft_str target, struct heft_error *err);
/* The JSON in the attributes and strings of an HDF5 file. */
HEFT_CHECKED bool heft_scan_h5(struct heft_scan *s, const struct heft_scan_place *place,
                               struct heft_error *err);
/* Whether it is such a file, also behind a user block. */
HEFT_CHECKED bool heft_scan_is_h5(const struct heft_scan_place *place, bool *is_it,
                                  struct heft_error *err);

/* ---- scan_encoded.c ---- */

/* Whether the node is a call of encode with a text. */
bool heft_scan_is_encoded(const struct heft_pickle *pickle, uint32_t node);
size_t heft_scan_text_length(const struct heft_pickle *pickle, uint32_t call);
/* Its bytes, in mem or in the pickle; empty where nobody can say. */
HEFT_CHECKED bool heft_scan_encode(const struct heft_pickle *pickle, uint32_t call,
                                   struct heft_arena *mem, struct heft_bytes *out,
                                   struct heft_error *err);

/* ---- containers ---- */

HEFT_CHECKED bool heft_scan_zip(struct heft_scan *s, const struct heft_scan_place *place,
                                struct heft_error *err);
bool heft_scan_is_named(struct heft_str name);
HEFT_CHECKED bool heft_scan_tell_record(struct heft_scan *s, const struct heft_scan_place *zip,
                                        const struct heft_zip_entry *entry, const char *sentence);
/* The records of an archive, and tricks with their names. */
HEFT_CHECKED bool heft_scan_entries(struct heft_scan *s, const struct heft_scan_place *place,
                                    const struct heft_zip *zip, struct heft_error *err);
/* Remembers which records are storages of this pickle: their bytes are numbers, not pickles. */
HEFT_CHECKED bool heft_scan_keep_storages(struct heft_scan *s, const struct heft_scan_place *place,
                                          const struct heft_pickle *pickle, struct heft_error *err);
/* Whether a record is one of them: numbers to torch, but an array to numpy.load, which asks for its
 * magic alone. */
HEFT_CHECKED bool heft_scan_is_storage(const struct heft_scan *s,
                                       const struct heft_scan_place *place,
                                       const struct heft_zip_entry *entry, bool *yes,
                                       struct heft_error *err);
/* A zip that the strict reader refuses, or that stands behind other bytes. */
HEFT_CHECKED bool heft_scan_broken_zip(struct heft_scan *s, const struct heft_scan_place *place,
                                       const struct heft_error *why, struct heft_error *err);
/* Archives one behind the other, each complete in itself, as torch.distributed.checkpoint writes
 * them: if the place is that, each is looked at, and nothing is hidden by any reader's choice. */
HEFT_CHECKED bool heft_scan_zip_row(struct heft_scan *s, const struct heft_scan_place *place,
                                    bool *is_row, struct heft_error *err);
/* Whether other bytes behind the archive hold another directory. */
HEFT_CHECKED bool heft_scan_second_zip(struct heft_scan *s, const struct heft_scan_place *place,
                                       bool *second, struct heft_error *err);
HEFT_CHECKED bool heft_scan_hidden_zip(struct heft_scan *s, const struct heft_scan_place *place,
                                       struct heft_error *err);
HEFT_CHECKED bool heft_scan_npy(struct heft_scan *s, const struct heft_scan_place *place,
                                struct heft_error *err);
/* Whether a file of that size which begins so is one array, and not of objects. */
bool heft_scan_is_numbers(struct heft_bytes head, uint64_t size);
bool heft_scan_is_tar(struct heft_bytes head);
/* A number of a tar's header; false where Python's tarfile finds none. */
HEFT_CHECKED bool heft_scan_tar_number(const uint8_t *p, size_t n, int64_t *out);
struct heft_scan_pax {
    struct heft_str path; /* in the bytes that were read */
    uint64_t size;
    bool has_path, has_size;
    bool sparse;
    bool odd; /* a record or size that readers read in other ways */
};
void heft_scan_read_pax(struct heft_bytes bytes, struct heft_scan_pax *pax);
HEFT_CHECKED bool heft_scan_tar(struct heft_scan *s, const struct heft_scan_place *place,
                                struct heft_error *err);
/* Whether the head is that of compressed bytes. */
bool heft_scan_is_packed(struct heft_bytes head);
/* The same; if so, what they hold is looked at. */
HEFT_CHECKED bool heft_scan_packed(struct heft_scan *s, const struct heft_scan_place *place,
                                   struct heft_bytes head, bool *is_packed, struct heft_error *err);

#endif
