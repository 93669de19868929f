/* input_list.h: the words of a command line → the files they mean, in the order in which Python's
 * os.walk and glob.glob give them.
 *
 *     a file                that file, whatever its name
 *     a folder              what is in it, then its sub-folders; links to folders are not followed
 *     -                     standard input
 *     anything else         a pattern: * ? [a-z] [!a]; names with a dot in front only for patterns
 *                           with one
 *
 * The list lies on the disk (io/row_store.h), but for its first thousands. */
#ifndef HEFT_INPUT_LIST_H
#define HEFT_INPUT_LIST_H

#include "base/mem.h"

struct heft_input_item {
    const char *path;
    uint32_t word;   /* which of the words it is of */
    uint64_t bytes;  /* 0 where that is not known */
    int64_t changed; /* when it was written last */
};

struct heft_input_how {
    bool sort;        /* by name within each word */
    bool allow_empty; /* a word that matches nothing is no error */
};

struct heft_input_list;
HEFT_CHECKED struct heft_input_list *heft_input_list_new(struct heft_error *err);
HEFT_CHECKED bool heft_input_list_add(struct heft_input_list *list, const char *word,
                                      uint32_t number, const struct heft_input_how *how,
                                      struct heft_error *err);
size_t heft_input_list_count(const struct heft_input_list *list);
uint64_t heft_input_list_bytes(const struct heft_input_list *list);
/* Not all can be read twice. */
bool heft_input_list_streams(const struct heft_input_list *list);
/* The i-th; its path is in *path, the caller's, until that is used again. From any thread once all
 * words are added. */
HEFT_CHECKED bool heft_input_list_get(struct heft_input_list *list, size_t i, struct heft_buf *path,
                                      struct heft_input_item *item, struct heft_error *err);
/* Its path alone, until the next is asked for; NULL past the last, or where it cannot be read back. */
const char *heft_input_list_path(struct heft_input_list *list, size_t i);
void heft_input_list_free(struct heft_input_list *list);

#endif
