/* file_subjects.h: files that are compared with the digests that a list or their names state. */
#ifndef HEFT_FILE_SUBJECTS_H
#define HEFT_FILE_SUBJECTS_H

#include "measure/compare.h"
#include "measure/file_walk.h"

struct heft_file_subject {
    const char *path;
    const struct heft_source *source;      /* of the checkpoint; NULL: the path is opened */
    struct heft_source opened;             /* … while a lane hashes it; else closed */
    uint64_t size;                         /* bytes */
    const struct heft_digest_entry *entry; /* the line that has the digest; NULL: the file's name */
    struct heft_file_id id;
    bool is_git; /* the digest is the 20 bytes of git's name of the contents: the SHA-1 of "blob
                    SIZE", a NUL and the contents */
    uint8_t digest[HEFT_SHA256_BYTES];
};

struct heft_file_subjects {
    struct heft_file_subject *list;
    size_t n, cap;
};

HEFT_CHECKED bool heft_file_subjects_add(struct heft_file_subjects *subjects,
                                         const struct heft_file_subject *subject,
                                         struct heft_error *err);
/* Hashes the files and reports those that differ, in order. */
HEFT_CHECKED bool heft_file_subjects_compare(struct heft_file_subjects *subjects,
                                             struct heft_comparison *c, struct heft_error *err);
void heft_file_subjects_release(struct heft_file_subjects *subjects);

/* The files of the checkpoint that are on the disk, by identity. Empty if no checkpoint is open. */
struct heft_known_files {
    struct heft_file_id *ids;               /* of each file */
    const struct heft_model_source **files; /* … and its source */
    size_t n;
    struct heft_strmap numbers; /* heft_file_id_key → index */
};
HEFT_CHECKED bool heft_known_files_init(struct heft_known_files *known,
                                        const struct heft_comparison *c, struct heft_error *err);
/* Index of the file; HEFT_MAP_NONE if it is none of the checkpoint. */
uint32_t heft_known_file(const struct heft_known_files *known, const struct heft_file_id *id);
void heft_known_files_release(struct heft_known_files *known);

#endif
