/* fuzz_zip.c: any bytes as a zip. Invariants of one that opens: records do not overlap and lie
 * before the directory, their names are safe and unique. Every record is fetched, up to a limit,
 * and every descriptor checked. The same as a slow source, whose local headers are left unread: what
 * opens from memory opens; a payload at another place than its local header says cannot be read. */
#include <stdlib.h>

#include "expect.h"
#include "base/text.h"
#include "wire/zip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_entry(const struct heft_zip *zip, const struct heft_zip_entry *e)
{
    const struct heft_bytes name = {(const uint8_t *)e->name.p, e->name.n};

    expect(e->name.n > 0 && e->name.p[e->name.n] == 0);
    expect(heft_utf8_check(name) == name.n && !memchr(name.p, 0, name.n));
    expect(name.p[0] != '/' && !memchr(name.p, '\\', name.n));
    expect(e->header < e->data && e->data <= e->end && e->end <= zip->directory);
    expect(e->packed <= e->end - e->data);
    expect(e->method == HEFT_ZIP_STORED || e->method == HEFT_ZIP_DEFLATED);
    expect(e->method == HEFT_ZIP_DEFLATED || e->packed == e->size);
    expect(heft_zip_find(zip, e->name) == e);
}

static int by_header(const void *a, const void *b)
{
    const struct heft_zip_entry *x = a, *y = b;

    return (x->header > y->header) - (x->header < y->header);
}

static void read_entry(const struct heft_source *src, const struct heft_zip_entry *e,
                       struct heft_arena *arena)
{
    struct heft_error err = {0};
    struct heft_bytes bytes;
    uint64_t length = 0;

    if (heft_zip_fetch(src, e, 1 << 16, true, arena, &bytes, &err))
        expect(bytes.n == e->size && err.code == HEFT_OK);
    else
        expect(err.code != HEFT_OK && err.text[0] != 0);
    if (heft_zip_check_descriptor(src, e, &length, &err))
        expect(length <= 24);
}

static void check_zip(struct heft_zip *zip, const struct heft_source *src, struct heft_arena *arena)
{
    expect(zip->tail == zip->directory + zip->directory_size);
    expect(zip->tail + zip->tail_size + zip->trailing == src->size);
    for (size_t i = 0; i < zip->count; i++)
        check_entry(zip, &zip->entries[i]);
    for (size_t i = 0; i < zip->count && i < 20; i++)
        read_entry(src, &zip->entries[i], arena);
    if (zip->count)
        qsort(zip->entries, zip->count, sizeof *zip->entries, by_header);
    for (size_t i = 1; i < zip->count; i++)
        expect(zip->entries[i - 1].end <= zip->entries[i].header);
}

/* plain: the archive with all local headers read; NULL: it does not open. */
static void check_slow(struct heft_source src, const struct heft_zip *plain)
{
    const struct heft_zip_limits limits = {.may_leave_unread = true};
    struct heft_arena arena = {0};
    struct heft_error err = {0};
    struct heft_zip zip;
    uint8_t byte;
    bool opens;

    src.is_slow = true;
    opens = heft_zip_open(&zip, &src, &limits, &arena, &err) &&
            heft_zip_compare_later(&zip, &src, &arena, &err);
    expect(opens || !plain);
    for (size_t i = 0; plain && i < zip.count; i++)
        if (zip.entries[i].data != plain->entries[i].data)
            expect(!heft_source_read(&src, zip.entries[i].data, &byte, 1, &err));
    if (opens)
        check_zip(&zip, &src, &arena);
    heft_arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct heft_arena arena = {0};
    struct heft_error err = {0};
    struct heft_source src;
    struct heft_zip zip;

    heft_source_open_memory(&src, (struct heft_bytes){data, size}, "fuzz");
    if (heft_zip_open(&zip, &src, NULL, &arena, &err)) {
        expect(err.code == HEFT_OK);
        check_slow(src, &zip);
        check_zip(&zip, &src, &arena);
    } else {
        check_slow(src, NULL);
        expect(err.code != HEFT_OK && err.text[0] != 0);
        expect(err.offset <= size);
    }
    heft_source_close(&src);
    heft_arena_release(&arena);
    return 0;
}
