/* exercise.h: runs on one file what the verbs of the command do, through the public API. */
#ifndef HEFT_EXERCISE_H
#define HEFT_EXERCISE_H

#include <heft/heft.h>

struct exercise {
    const char *path;
    const struct heft_limits *limits;
    struct heft_checkpoint *other; /* diff compares the file with it; may be NULL */
    const char *folder;            /* existing directory for outputs of conversions */
    size_t turn;                   /* selects the target format of the conversion, and options */
    /* Results: */
    bool opens;       /* the file can be opened */
    bool no_memory;   /* an allocation failed */
    char broken[600]; /* a promise of heft.h that was not kept, for people; "" if none */
};

/* Lists, describes, explains, compares, digests, converts … the file, and opens it for salvage. Errors
 * are expected. Checked: every error has a code and a text, the map of the bytes has no holes, a file
 * is equal to itself, and a conversion that succeeds passes heft_convert_check and leaves no other
 * file. */
void exercise_file(struct exercise *e);

/* The same for vocabularies, and for files of ids. */
void exercise_vocab(struct exercise *e);
void exercise_ids(struct exercise *e);

#endif
