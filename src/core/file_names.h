/* file_names.h: file names of formats, for inputs that are directories, or prefixes. The names are
 * data of the formats; locate.c chooses files by them and knows no name itself. */
#ifndef HEFT_FILE_NAMES_H
#define HEFT_FILE_NAMES_H

#include "base/mem.h"
#include "io/files.h"

struct heft_folder {
    const struct heft_files *files;
    const char *path;
    const char *const *names; /* sorted bytewise */
    size_t n;
};

/* Rank of a file among the files of a directory; the lowest is opened. Well-known stems have
 * lower ranks than these. */
enum heft_file_rank {
    HEFT_FILE_MANIFEST = 5000,  /* describes all files of the directory */
    HEFT_FILE_LATEST = 6000,    /* names the latest of several checkpoints */
    HEFT_FILE_INDEX = 7000,     /* names other files */
    HEFT_FILE_WEIGHTS = 8000,   /* a model by itself */
    HEFT_FILE_DATA = 8500,      /* may lie beside a model for other reasons */
    HEFT_FILE_PREFIX = 9000,    /* one of several checkpoints; the others are not mentioned */
    HEFT_FILE_GRAPH = 9100,     /* leads to such a checkpoint */
    HEFT_FILE_TEXT = 9300,      /* a graph as text */
    HEFT_FILE_FOREIGN = 9500,   /* a file of a format that heft does not read */
    HEFT_FILE_COMPANION = 9900, /* written by a training run beside the model; not a model */
};

enum heft_name_kind {
    /* extension; the stem may end in a shard number and a variant: "m-00001-of-00002.bin" */
    HEFT_NAME_EXTENSION,
    HEFT_NAME_ENDING, /* suffix of the whole name */
    HEFT_NAME_WHOLE
};

/* A row of a format's table of file names; the text of the last row is NULL. */
struct heft_file_name {
    const char *text;
    uint16_t rank; /* enum heft_file_rank */
    /* rank among WEIGHTS with one well-known stem, at most 20: the lowest is opened */
    uint8_t order;
    uint8_t kind;       /* enum heft_name_kind */
    bool is_form;       /* one of several forms of the same model: the lowest order is opened */
    bool is_selectable; /* belongs to a checkpoint that the locator's selector can select */
};

/* Files of a directory that belong together, although no file lists them. */
struct heft_file_set {
    const char *const *names; /* relative to the directory, in the order of opening */
    size_t n;                 /* 0: there is no such set */
    const char *note;         /* for the user; NULL: none */
    /* the only name leads to the other files: it is opened as the locator's format, not by its content */
    bool is_entry;
    bool is_numbered; /* the files have the same names, which get the number of the file */
};

/* Callbacks by which a format finds its files if the table of names is not enough. Each may be
 * NULL. Returned texts are static, the caller's, or in `mem`. */
struct heft_locator {
    /* File to open for a path; `given` itself if the format does not know the path. NULL: an
     * error. */
    const char *(*follow_path)(const struct heft_files *files, const char *given,
                               struct heft_arena *mem, struct heft_error *err);
    /* File that identifies a directory of this format, whatever else is in it; NULL: none. */
    const char *(*find_document)(const char *const *names, size_t n);
    /* Set of files in a directory without a well-known checkpoint. False on an error. */
    bool (*find_set)(const struct heft_folder *folder, struct heft_arena *mem,
                     struct heft_file_set *out, struct heft_error *err);
    /* What else a directory contains, of which a well-known checkpoint is opened: a note for the
     * user. NULL: nothing, or an error. */
    const char *(*find_beside)(const struct heft_folder *folder, struct heft_arena *mem,
                               struct heft_error *err);
    /* File to open, relative to a directory without candidates, and a note for the user or NULL.
     * Returns NULL if there is none, or on an error. */
    const char *(*find_below)(const struct heft_folder *folder, struct heft_arena *mem,
                              const char **note, struct heft_error *err);
    /* Option of reading, a text, that selects one of the checkpoints in a directory, such as
     * their step; NULL: none. */
    const char *selector;
    /* With a selector. File of a directory that its value selects; NULL: an error. */
    const char *(*find_selected)(const char *const *names, size_t n, const char *value,
                                 struct heft_error *err);
    /* With a selector. Directory of a file that was given in its place; NULL: an error. */
    const char *(*find_selected_folder)(const char *given, struct heft_arena *mem,
                                        struct heft_error *err);
    /* Checkpoint that a file belongs to, if its name extends `base`, which does not exist;
     * empty: none. */
    struct heft_str (*related_to)(const char *name, const char *base);
    /* Removes the ending of an index from a name: "m.bin.index.json" → "m.bin". Sets *variant if
     * the ending has a variant. False, and the name is unchanged, if it is not an index. */
    bool (*cut_index)(struct heft_str *name, bool *variant);
    /* True, with *err filled, if the directory is of this format but cannot be opened. */
    bool (*refuse_folder)(const struct heft_folder *folder, struct heft_error *err);
};

/* Naming conventions that do not belong to one format: of files in directories, of values and of
 * metadata. */
struct heft_conventions {
    const char *const *stems; /* stems of well-known names, best known first; NULL-terminated */
    /* globs of files that training writes beside a model; NULL-terminated */
    const char *const *companions;
    const char *expected; /* text for errors: "an index.json, … or .pkl" */
    /* Name of values that every state dict has and that are not the user's: versions of modules. */
    const char *bookkeeping_value;
    /* Keys of metadata that every target writes anew; NULL-terminated. */
    const char *const *bookkeeping_metadata;
    /* Whether the framework of the new name stores a renamed tensor transposed (a square one
     * would load there without an error), and the note about it. */
    bool (*is_transposed)(struct heft_str from, struct heft_str to, unsigned rank);
    const char *transposed;
    /* Replaces *folder by the directory that it stands for, as a cache's snapshot. Does nothing
     * for other directories. */
    bool (*enter)(struct heft_folder *folder, struct heft_arena *mem, struct heft_error *err);
};

/* Appends a name to a list for an error or note; after the first few, names are only counted. */
void heft_list_name(struct heft_buf *text, size_t number, struct heft_str name);
void heft_list_end(struct heft_buf *text, size_t count);
/* HEFT_USAGE with the text "BEFORE a, b; AFTER". Releases the list. Always returns false. */
bool heft_list_refuse(struct heft_buf *names, const char *before, const char *after,
                      struct heft_error *err);
/* Lists the directory at a path in folder->files. */
HEFT_CHECKED bool heft_folder_list(struct heft_folder *folder, const char *path,
                                   struct heft_arena *mem, struct heft_error *err);
/* Path of a file in the directory: "FOLDER/NAME". */
HEFT_CHECKED const char *heft_folder_join(const struct heft_folder *folder, const char *name,
                                          struct heft_arena *mem, struct heft_error *err);
bool heft_folder_has(const struct heft_folder *folder, const char *name);

#endif
