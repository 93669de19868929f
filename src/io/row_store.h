/* row_store.h: rows of one width by their number, as many as the disk holds, in the memory of one page.
 *
 *     put  row r ─→ its page in memory ─→ a temporary file, when another page is wanted
 *     get  row r ←─ its page in memory ←─ from there
 *
 * What fits into one page needs no file. Rows that were never put are zeros. Made for those who go
 * through the numbers in order. One thread at a time.
 *
 * Life: a struct of which only `width` and `what` are set is empty; heft_row_store_release leaves it so. */
#ifndef HEFT_ROW_STORE_H
#define HEFT_ROW_STORE_H

#include "base/error.h"

struct heft_row_store {
    size_t width;     /* bytes of a row: 1 to 4096 */
    const char *what; /* they are, in errors */
    uint8_t *page;    /* NULL: none was put yet */
    uint64_t number;  /* of the page */
    int fd;           /* temporary */
    bool has_file;
    bool is_new; /* the page is not in the file as it is */
};

/* n rows from `first` on. After a failure only release is left. */
HEFT_CHECKED bool heft_row_store_put(struct heft_row_store *rows, uint64_t first, size_t n,
                                     const void *from, struct heft_error *err);
HEFT_CHECKED bool heft_row_store_get(struct heft_row_store *rows, uint64_t first, size_t n,
                                     void *to, struct heft_error *err);
void heft_row_store_release(struct heft_row_store *rows);

#endif
