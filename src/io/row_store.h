/* row_store.h: an array of rows of equal width, larger than memory: one page is in memory, the
 * others are in a temporary file.
 *
 *     put  row r ─→ its page in memory ─→ a temporary file, when another page is needed
 *     get  row r ←─ its page in memory ←─ the temporary file
 *
 * No file is made if one page is enough. Rows that were never written are zeros. Made for access in
 * ascending order. Not thread-safe.
 *
 * A struct in which only `width` and `what` are set is empty; heft_row_store_release leaves it
 * so. */
#ifndef HEFT_ROW_STORE_H
#define HEFT_ROW_STORE_H

#include "base/error.h"

struct heft_row_store {
    size_t width;     /* bytes of a row, 1 to 4096 */
    const char *what; /* what the rows are, for errors */
    uint8_t *page;    /* NULL until the first put */
    uint64_t number;  /* number of the page in memory */
    int fd;           /* descriptor of the temporary file */
    bool has_file;
    bool is_new; /* dirty: the page differs from the file */
};

/* Writes n rows from `first` on. After a failure only release may be called. */
HEFT_CHECKED bool heft_row_store_put(struct heft_row_store *rows, uint64_t first, size_t n,
                                     const void *from, struct heft_error *err);
HEFT_CHECKED bool heft_row_store_get(struct heft_row_store *rows, uint64_t first, size_t n,
                                     void *to, struct heft_error *err);
void heft_row_store_release(struct heft_row_store *rows);

#endif
