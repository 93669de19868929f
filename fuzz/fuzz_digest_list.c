/* fuzz_digest_list.c: any bytes as a list of digests. Invariants: errors have an offset inside the
 * list; entries are in order, their names end with a NUL and are found; paths stay below the
 * directory of the list; a list of what was read, printed anew, reads as the same. */
#include <stdint.h>
#include <stdlib.h>

#include "expect.h"
#include "measure/digest_list.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool parse(struct heft_digest_list *list, const void *data, size_t n, char **copy,
                  struct heft_error *err)
{
    *copy = malloc(n + 1); /* exactly, so that sanitizers see every access beyond it */
    expect(*copy != NULL);
    if (n > 0)
        memcpy(*copy, data, n);
    *list = (struct heft_digest_list){0};
    return heft_digest_list_parse(list, *copy, n, err);
}

static void release(struct heft_digest_list *list, char *copy)
{
    heft_digest_list_release(list);
    free(copy);
}

static void check_path(struct heft_str path)
{
    expect(path.n > 0 && path.p[0] != '/' && strlen(path.p) == path.n);
    expect(strcmp(path.p, "..") != 0 && strncmp(path.p, "../", 3) != 0 &&
           strstr(path.p, "/../") == NULL);
    expect(path.n < 3 || strcmp(path.p + path.n - 3, "/..") != 0);
}

static void check_entry(const struct heft_digest_list *list, size_t i, size_t size)
{
    const struct heft_digest_entry *const e = &list->entries[i];

    expect(e->off < size && e->line > 0 && e->name.p[e->name.n] == '\0');
    expect(i == 0 || (e->off > e[-1].off && e->line > e[-1].line));
    expect(heft_digest_list_find(list, e->name, e->is_blob) == e);
    if (list->kind == HEFT_LIST_FILES)
        check_path(e->name);
    else
        expect(e->is_blob || e->dtype < HEFT_DTYPE_COUNT);
}

/* Prints an entry with every byte of its name escaped. */
static void print_entry(struct heft_buf *out, const struct heft_digest_list *list,
                        const struct heft_digest_entry *e)
{
    char hex[HEFT_SHA256_TEXT];

    heft_sha256_text(e->sha256, hex);
    heft_buf_printf(out, "\\%s  ", hex);
    for (size_t i = 0; i < e->name.n; i++)
        heft_buf_printf(out, "\\x%02x", (unsigned)(uint8_t)e->name.p[i]);
    if (list->kind == HEFT_LIST_TENSORS) {
        heft_buf_printf(out, "  %s  [",
                        e->is_blob ? "BLOB" : heft_dtype_name((enum heft_dtype)e->dtype));
        for (unsigned i = 0; i < e->rank; i++)
            heft_buf_printf(out, "%s%" PRIu64, i ? "," : "", e->shape[i]);
        heft_buf_char(out, ']');
    }
    heft_buf_char(out, '\n');
}

static void expect_same(const struct heft_digest_entry *a, const struct heft_digest_entry *b)
{
    expect(heft_str_eq(a->name, b->name) && a->is_blob == b->is_blob && a->dtype == b->dtype);
    expect(a->rank == b->rank && a->bytes == b->bytes);
    expect(memcmp(a->sha256, b->sha256, sizeof a->sha256) == 0);
    expect(a->rank == 0 || memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) == 0);
}

/* Four bytes for each of a name: lines near the limit are left out. */
static void read_again(const struct heft_digest_list *list)
{
    struct heft_buf text = {0};
    struct heft_digest_list again;
    struct heft_error err = {0};
    char *copy;

    for (size_t i = 0; i < list->n; i++)
        print_entry(&text, list, &list->entries[i]);
    expect(!text.failed);
    expect(parse(&again, text.p, text.n, &copy, &err));
    expect(again.n == list->n && again.kind == list->kind);
    for (size_t i = 0; i < list->n; i++)
        expect_same(&list->entries[i], &again.entries[i]);
    release(&again, copy);
    heft_buf_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct heft_digest_list list;
    struct heft_error err = {0};
    char *copy;
    const bool ok = parse(&list, data, size, &copy, &err);

    expect_outcome(ok, &err);
    expect(ok ? list.n > 0 : err.offset <= size);
    for (size_t i = 0; ok && i < list.n; i++)
        check_entry(&list, i, size);
    if (ok && size < 200000)
        read_again(&list);
    release(&list, copy);
    return 0;
}
