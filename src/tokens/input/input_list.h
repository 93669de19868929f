/* input_list.h: arguments of a command line → the files they mean, in the order of Python's os.walk
 * and glob.glob.
 *
 *     a file                that file, whatever its name
 *     a directory           its files, then its subdirectories; links to directories are not followed
 *     -                     standard input
 *     otherwise             a pattern: * ? [a-z] [!a]; hidden names only if the pattern begins with a dot
 *
 * The list is on the disk (io/row_store.h), except for the first thousands of entries. */
#ifndef HEFT_INPUT_LIST_H
#define HEFT_INPUT_LIST_H

#include "base/mem.h"

struct heft_input_item {
    const char *path;
    uint32_t word;   /* index of the argument */
    uint64_t bytes;  /* 0 if unknown */
    int64_t changed; /* time of the last modification */
};

struct heft_input_how {
    bool sort;        /* by name within each argument */
    bool allow_empty; /* an argument that matches nothing is no error */
};

/* Part k of N, from 1: the files, or lines of JSON lines, that begin in the k-th of N equal ranges of
 * the bytes of all inputs. Only the first and the last file of a part can be cut. */
struct heft_input_part {
    uint64_t index, count; /* k and N; N = 0: all */
    bool has_lines;        /* uncompressed files are cut at ends of lines */
    uint64_t begin;        /* result: offset of the part's first line in its first file */
    uint64_t end; /* result: where the part ends in its last file; UINT64_MAX: at the file's end */
};

struct heft_input_list;
HEFT_CHECKED struct heft_input_list *heft_input_list_new(struct heft_error *err);
HEFT_CHECKED bool heft_input_list_add(struct heft_input_list *list, const char *word,
                                      uint32_t number, const struct heft_input_how *how,
                                      struct heft_error *err);
/* Appends a file as it is. */
HEFT_CHECKED bool heft_input_list_put(struct heft_input_list *list,
                                      const struct heft_input_item *item, struct heft_error *err);
/* Replaces the list by that of a part (input_part.c). Sizes are those of the ranges. */
HEFT_CHECKED bool heft_input_list_cut(struct heft_input_list **list, struct heft_input_part *part,
                                      struct heft_error *err);
size_t heft_input_list_count(const struct heft_input_list *list);
uint64_t heft_input_list_bytes(const struct heft_input_list *list);
/* Whether some input cannot be read twice. */
bool heft_input_list_streams(const struct heft_input_list *list);
/* Returns the i-th file. Its path is in *path, a buffer of the caller. Thread-safe once all
 * arguments are added. */
HEFT_CHECKED bool heft_input_list_get(struct heft_input_list *list, size_t i, struct heft_buf *path,
                                      struct heft_input_item *item, struct heft_error *err);
/* Returns the path of the i-th file, valid until the next call; NULL past the last, or if it cannot
 * be read back. */
const char *heft_input_list_path(struct heft_input_list *list, size_t i);
void heft_input_list_free(struct heft_input_list *list);

#endif
