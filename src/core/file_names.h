/* file_names.h: what formats know of files by their names, for inputs that are folders, prefixes or
 * steps. It is data of the formats: locate.c chooses by it, and knows no name itself. */
#ifndef HEFT_FILE_NAMES_H
#define HEFT_FILE_NAMES_H

#include "base/mem.h"
#include "io/source.h"

struct heft_folder {
    const char *path;
    const char *const *names; /* sorted by bytes */
    size_t n;
};

/* Which files of a folder come first. The well-known stems are before all of these. */
enum heft_file_rank {
    HEFT_FILE_MANIFEST = 5000,  /* speaks for all files of the folder */
    HEFT_FILE_LATEST = 6000,    /* says which of several checkpoints is the latest */
    HEFT_FILE_INDEX = 7000,     /* names other files */
    HEFT_FILE_WEIGHTS = 8000,   /* a model by itself */
    HEFT_FILE_DATA = 8500,      /* lies beside models for other reasons, too */
    HEFT_FILE_PREFIX = 9000,    /* of one checkpoint among several; the others are not told of */
    HEFT_FILE_GRAPH = 9100,     /* leads to such a checkpoint */
    HEFT_FILE_TEXT = 9300,      /* a graph as text */
    HEFT_FILE_FOREIGN = 9500,   /* of a format that heft does not read */
    HEFT_FILE_COMPANION = 9900, /* what training writes beside a model, and what is no model */
};

enum heft_name_kind {
    HEFT_NAME_EXTENSION, /* may follow a shard's number and a variant: "m-00001-of-00002.bin" */
    HEFT_NAME_ENDING,    /* the name ends so, and nothing else is looked at */
    HEFT_NAME_WHOLE
};

/* A row of a format's table of names; the last one's text is NULL. */
struct heft_file_name {
    const char *text;
    uint16_t rank;   /* enum heft_file_rank */
    uint8_t order;   /* among WEIGHTS of one well-known stem: the lowest is opened; at most 20 */
    uint8_t kind;    /* enum heft_name_kind */
    bool is_form;    /* one model may lie there in several such files: the lowest order is opened */
    bool is_of_step; /* its checkpoint can be chosen by a step */
};

/* How a format finds its files where names of a folder are not enough. Each may be NULL. Texts are
 * static, the caller's or in `mem`. */
struct heft_locator {
    /* The file that a path means: `given` where it is a file, or where nothing is known of it. NULL:
     * an error. */
    const char *(*follow_path)(const char *given, enum heft_path_kind kind, struct heft_arena *mem,
                               struct heft_error *err);
    /* The file that a folder is opened by, whatever else lies there; NULL: none. */
    const char *(*find_document)(const char *const *names, size_t n);
    /* The file that a folder without candidates is opened by, relative to it, and a note for people
     * or NULL. NULL: none, or an error. */
    const char *(*find_below)(const struct heft_folder *folder, struct heft_arena *mem,
                              const char **note, struct heft_error *err);
    /* The file of a folder that is of that step; NULL: an error. */
    const char *(*find_step)(const char *const *names, size_t n, const char *step,
                             struct heft_error *err);
    /* The folder in which a file that was named chooses a step; NULL: an error. */
    const char *(*find_step_folder)(const char *given, struct heft_arena *mem,
                                    struct heft_error *err);
    /* The checkpoint of a file whose name goes on from `base`, which is not there; empty: none. */
    struct heft_str (*related_to)(const char *name, const char *base);
    /* Takes off a name what makes it an index, "m.bin.index.json" → "m.bin". Sets *variant where it
     * names one, changes nothing else where it is no index. */
    bool (*cut_index)(struct heft_str *name, bool *variant);
    /* Always false but where the folder is none that can be opened: *err says why. */
    bool (*refuse_folder)(const struct heft_folder *folder, struct heft_error *err);
};

/* Names that belong to no single format: in folders, of values and of metadata. */
struct heft_conventions {
    const char *const *stems;      /* the best known one first; NULL-terminated */
    const char *const *companions; /* globs; NULL-terminated */
    const char *expected;          /* "an index.json, … or .pkl": what a folder should hold */
    /* Values that every state dict brings, and that are no user's: versions of modules. */
    const char *bookkeeping_value;
    /* Keys of metadata that every target states anew; NULL-terminated. */
    const char *const *bookkeeping_metadata;
    /* Whether a tensor that is renamed so is transposed where the new name comes from; and how to say
     * it. A square one loads there without an error. */
    bool (*is_transposed)(struct heft_str from, struct heft_str to, unsigned rank);
    const char *transposed;
    /* Enters the folder that stands for this one, as a cache's snapshot does: replaces *folder.
     * Nothing where it stands for itself. */
    bool (*enter)(struct heft_folder *folder, struct heft_arena *mem, struct heft_error *err);
    /* True, with *err filled, where several files of the folder are no choice, but parts that cannot
     * be put together. */
    bool (*refuse_parts)(const struct heft_folder *folder, struct heft_error *err);
};

/* Appends a name to a list in an error or a note; beyond the first few they are only counted. */
void heft_list_name(struct heft_buf *text, size_t number, struct heft_str name);
void heft_list_end(struct heft_buf *text, size_t count);
/* "BEFORE a, b; AFTER": HEFT_USAGE. Releases the list. Always returns false. */
bool heft_list_refuse(struct heft_buf *names, const char *before, const char *after,
                      struct heft_error *err);
HEFT_CHECKED bool heft_folder_list(struct heft_folder *folder, const char *path,
                                   struct heft_arena *mem, struct heft_error *err);
/* "FOLDER/NAME" */
HEFT_CHECKED const char *heft_folder_join(const struct heft_folder *folder, const char *name,
                                          struct heft_arena *mem, struct heft_error *err);
bool heft_folder_has(const struct heft_folder *folder, const char *name);

#endif
