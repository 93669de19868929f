/* input_list.h: the words of a command line → the files they mean, in the order in which Python's
 * os.walk and glob.glob give them.
 *
 *     a file                that file, whatever its name
 *     a folder              what is in it, then its sub-folders; links to folders are not followed
 *     -                     standard input
 *     anything else         a pattern: * ? [a-z] [!a]; names with a dot in front only for patterns
 *                           with one */
#ifndef HEFT_INPUT_LIST_H
#define HEFT_INPUT_LIST_H

#include "base/mem.h"

struct heft_input_item {
    const char *path;
    uint32_t word;   /* which of the words it is of */
    uint64_t bytes;  /* 0 where that is not known */
    int64_t changed; /* when it was written last */
};

struct heft_input_list {
    struct heft_arena mem;
    struct heft_input_item *items;
    size_t n, cap;
    uint64_t bytes;
    bool has_streams; /* not all can be read twice */
};

struct heft_input_how {
    bool sort;        /* by name within each word */
    bool allow_empty; /* a word that matches nothing is no error */
};

HEFT_CHECKED bool heft_input_list_add(struct heft_input_list *list, const char *word,
                                      uint32_t number, const struct heft_input_how *how,
                                      struct heft_error *err);
void heft_input_list_release(struct heft_input_list *list);

/* One name against one part of a pattern, as Python's fnmatch; at most pattern × name steps. */
bool heft_name_matches(const char *pattern, size_t n, const char *name);

#endif
