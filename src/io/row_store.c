/* row_store.c: one page of rows in memory, the others in a temporary file.
 *
 *     file   page 0 │ page 1 │ …      each of PAGE bytes, with whole rows from its begin */
#include "io/row_store.h"

#include "base/mem.h"
#include "io/os.h"
#include "io/whole.h"

#define PAGE ((size_t)64 << 10)

static bool write_page(struct heft_row_store *rows, struct heft_error *err)
{
    if (!rows->is_new)
        return true;
    if (!rows->has_file) {
        rows->fd = heft_temp_open(rows->what, err);
        rows->has_file = rows->fd >= 0;
    }
    rows->is_new = false;
    return rows->has_file &&
           heft_temp_write(rows->fd, rows->page, PAGE, rows->number * PAGE, rows->what, err);
}

/* Reads zeros beyond the end of the file, and if there is no file. */
static bool read_page(struct heft_row_store *rows, uint64_t number, struct heft_error *err)
{
    size_t got = 0;

    rows->number = number;
    if (rows->has_file &&
        !heft_temp_read(rows->fd, rows->page, PAGE, number * PAGE, &got, rows->what, err))
        return false;
    memset(rows->page + got, 0, PAGE - got);
    return true;
}

/* Loads the page of row `first` and returns the row's address; *n is cut to the rows on this page.
 * NULL on failure. */
static uint8_t *find_rows(struct heft_row_store *rows, uint64_t first, size_t *n,
                          struct heft_error *err)
{
    const uint64_t each = PAGE / rows->width, number = first / each, row = first % each;
    bool ok = true;

    if (!rows->page) {
        rows->page = heft_alloc(PAGE, err);
        ok = rows->page && read_page(rows, number, err);
    } else if (number != rows->number) {
        ok = write_page(rows, err) && read_page(rows, number, err);
    }
    *n = (size_t)heft_min_u64(*n, each - row);
    return ok ? rows->page + row * rows->width : NULL;
}

bool heft_row_store_put(struct heft_row_store *rows, uint64_t first, size_t n, const void *from,
                        struct heft_error *err)
{
    const uint8_t *p = from;

    for (size_t done = 0, some; done < n; done += some) {
        uint8_t *to;

        some = n - done;
        to = find_rows(rows, first + done, &some, err);
        if (!to)
            return false;
        memcpy(to, p + done * rows->width, some * rows->width);
        rows->is_new = true;
    }
    return true;
}

bool heft_row_store_get(struct heft_row_store *rows, uint64_t first, size_t n, void *to,
                        struct heft_error *err)
{
    uint8_t *p = to;

    for (size_t done = 0, some; done < n; done += some) {
        const uint8_t *from;

        some = n - done;
        from = find_rows(rows, first + done, &some, err);
        if (!from)
            return false;
        memcpy(p + done * rows->width, from, some * rows->width);
    }
    return true;
}

void heft_row_store_release(struct heft_row_store *rows)
{
    if (rows->has_file)
        (void)heft_os->close(rows->fd);
    heft_free(rows->page);
    *rows = (struct heft_row_store){.width = rows->width, .what = rows->what};
}
