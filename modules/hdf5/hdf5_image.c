/* hdf5_image.c: a new file's metadata in memory: pages where something was written, and of these only
 * the lines that are not zero.
 *
 *     file    [page]      [page][page]          [page] size      elsewhere zeros
 *     page    [ line 0 ][ line 1 ][ line 2 ] … [ line 255 ]
 *     kept    which 1 0 1 … 0,  lines [ line 0 ][ line 2 ] …
 *
 * Two thirds of what libhdf5 writes for many small groups are zeros. The page that is written to is
 * whole until another one is. */
#include "hdf5_parts.h"

#define FIRST_SLOTS 64
#define LINE        16 /* bytes */
#define LINES       (HDF5_PAGE / LINE)

/* ---- pages ------------------------------------------------------------------------------- */

static size_t slot_of(const struct heft_h5_image *image, uint64_t number)
{
    size_t at = (size_t)(number * 0x9E3779B97F4A7C15u >> 20) & (image->n_slots - 1);

    while (image->pages[at] && image->pages[at]->number != number)
        at = (at + 1) & (image->n_slots - 1);
    return at;
}

static bool widen(struct heft_h5_image *image)
{
    const struct heft_h5_image old = *image;
    const size_t wanted = old.n_slots ? old.n_slots * 2 : FIRST_SLOTS;
    struct hdf5_page **pages = calloc(wanted, sizeof *pages);

    if (!pages)
        return false;
    image->pages = pages;
    image->n_slots = wanted;
    for (size_t i = 0; i < old.n_slots; i++)
        if (old.pages[i])
            pages[slot_of(image, old.pages[i]->number)] = old.pages[i];
    free(old.pages);
    return true;
}

/* The page of that number, made where it is missing. */
static struct hdf5_page *page_of(struct heft_h5_image *image, uint64_t number)
{
    struct hdf5_page **slot;

    if (image->n_pages * 2 >= image->n_slots && !widen(image))
        return NULL;
    slot = &image->pages[slot_of(image, number)];
    if (!*slot && (*slot = calloc(1, sizeof **slot))) {
        (*slot)->number = number;
        image->n_pages++;
    }
    return *slot;
}

/* ---- lines ------------------------------------------------------------------------------- */

static void unpack(const struct hdf5_page *page, uint8_t *bytes)
{
    const uint8_t *line = page->lines;

    memset(bytes, 0, HDF5_PAGE);
    for (size_t i = 0; i < LINES; i++)
        if (page->which[i / 64] >> i % 64 & 1) {
            memcpy(bytes + i * LINE, line, LINE);
            line += LINE;
        }
}

static bool pack(struct hdf5_page *page, const uint8_t *bytes)
{
    static const uint8_t zeros[LINE];
    uint8_t kept[HDF5_PAGE];
    uint8_t *lines;
    size_t n = 0;

    memset(page->which, 0, sizeof page->which);
    for (size_t i = 0; i < LINES; i++)
        if (memcmp(bytes + i * LINE, zeros, LINE) != 0) {
            page->which[i / 64] |= (uint64_t)1 << i % 64;
            memcpy(kept + n, bytes + i * LINE, LINE);
            n += LINE;
        }
    lines = realloc(page->lines, n ? n : 1);
    if (!lines)
        return false;
    memcpy(lines, kept, n);
    page->lines = lines;
    return true;
}

bool hdf5_image_close(struct heft_h5_image *image)
{
    struct hdf5_page *const page = image->open;

    image->open = NULL;
    return !page || pack(page, image->bytes);
}

static bool open_page(struct heft_h5_image *image, uint64_t number)
{
    struct hdf5_page *page;

    if (image->open && image->open->number == number)
        return true;
    page = hdf5_image_close(image) ? page_of(image, number) : NULL;
    if (!page)
        return false;
    unpack(page, image->bytes);
    image->open = page;
    return true;
}

/* ---- bytes ------------------------------------------------------------------------------- */

static size_t piece(uint64_t off, size_t n)
{
    const size_t left = HDF5_PAGE - (size_t)(off % HDF5_PAGE);

    return n < left ? n : left;
}

bool hdf5_image_write(struct heft_h5_image *image, uint64_t off, const void *src, size_t n)
{
    const uint8_t *p = src;

    while (n > 0) {
        const size_t now = piece(off, n);

        if (!open_page(image, off / HDF5_PAGE))
            return false;
        memcpy(image->bytes + off % HDF5_PAGE, p, now);
        p += now;
        off += now;
        n -= now;
    }
    return true;
}

void hdf5_image_copy(const struct heft_h5_image *image, uint64_t off, void *dst, size_t n)
{
    uint8_t bytes[HDF5_PAGE];
    uint8_t *p = dst;

    while (n > 0) {
        const size_t now = piece(off, n);
        const struct hdf5_page *page =
            image->n_slots ? image->pages[slot_of(image, off / HDF5_PAGE)] : NULL;

        if (page)
            unpack(page, bytes);
        if (page)
            memcpy(p, bytes + off % HDF5_PAGE, now);
        else
            memset(p, 0, now);
        p += now;
        off += now;
        n -= now;
    }
}

static void free_page(struct hdf5_page *page)
{
    if (page)
        free(page->lines);
    free(page);
}

void hdf5_image_free(struct heft_h5_image *image)
{
    if (!image)
        return;
    for (size_t i = 0; i < image->n_slots; i++)
        free_page(image->pages[i]);
    free(image->pages);
    free(image);
}
