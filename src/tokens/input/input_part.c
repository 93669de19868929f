/* input_part.c: part k of N of a list of inputs.
 *
 *     bytes of all inputs   |a.txt    |b.jsonl                              |c.txt     |
 *     equal ranges          |          k=1       |           2        |         3      |
 *     part 1                |a.txt    |b.jsonl, lines │                                 a line or a file
 *     part 2                                     │ more lines           │              belongs where
 *     part 3                                                 the rest   |c.txt     |   it begins
 *
 * Cuts are the same in all parts, so that each line is in one of them. */
#include "base/unpack.h"
#include "tokens/input/input_bytes.h"
#include "tokens/input/input_list.h"

#define READ                                                                                       \
    ((size_t)64 << 10) /* bytes of a file that are searched for the end of a line at a time */

struct cutting {
    struct heft_input_list *from, *to;
    struct heft_input_part *part;
    uint64_t low, high; /* range of bytes of all inputs */
    uint64_t at;        /* bytes of the inputs before */
    bool is_last;       /* part N, which has what begins at the end */
};

/* Bytes before range k of n; the product does not overflow. */
static uint64_t bytes_before(uint64_t total, uint64_t k, uint64_t n)
{
    return total / n * k + total % n * k / n;
}

/* Finds the first line that begins at `at` or later in an uncompressed file; its size if none does. */
static bool find_line(struct heft_input_bytes *in, uint64_t at, uint8_t *buffer, uint64_t *line,
                      struct heft_error *err)
{
    size_t n = 1;

    *line = at;
    if (at == 0 || at >= in->size)
        return true;
    if (!heft_input_seek(in, at - 1, err))
        return false;
    for (uint64_t done = at - 1; n > 0; done += n) {
        const uint8_t *end;

        if (!heft_input_read(in, buffer, READ, &n, err))
            return false;
        end = n > 0 ? memchr(buffer, '\n', n) : NULL;
        if (end) {
            *line = done + (uint64_t)(end - buffer) + 1;
            return true;
        }
        *line = done + n;
    }
    return true;
}

/* Finds the lines of a file where the range begins and ends, unless the file is compressed:
 * *is_whole. */
static bool find_lines(const struct cutting *c, const struct heft_input_item *item, uint64_t *begin,
                       uint64_t *end, bool *is_whole, struct heft_error *err)
{
    uint8_t *buffer = heft_alloc(READ, err);
    struct heft_input_bytes in = {.fd = -1};
    const bool is_open =
        buffer && heft_input_open(&in, item->path, (struct heft_input_asked){0}, err);
    bool ok = is_open;

    *is_whole = is_open && in.unpack;
    if (is_open && !*is_whole)
        ok = find_line(&in, c->low > c->at ? c->low - c->at : 0, buffer, begin, err) &&
             find_line(&in, heft_min_u64(c->high - c->at, item->bytes), buffer, end, err);
    if (is_open)
        heft_input_close(&in);
    heft_free(buffer);
    return ok;
}

static bool begins_inside(const struct cutting *c)
{
    return c->at >= c->low && (c->at < c->high || c->is_last);
}

/* Adds lines [begin, end) of a file to the part. */
static bool put_lines(struct cutting *c, struct heft_input_item item, uint64_t begin, uint64_t end,
                      struct heft_error *err)
{
    if (begin >= end)
        return true;
    if (heft_input_list_count(c->to) == 0)
        c->part->begin = begin;
    c->part->end = end < item.bytes ? end : UINT64_MAX;
    item.bytes = end - begin;
    return heft_input_list_put(c->to, &item, err);
}

static bool take_item(struct cutting *c, const struct heft_input_item *item, struct heft_error *err)
{
    const uint64_t after = c->at + item->bytes;
    const bool is_outside = after <= c->low || c->at >= c->high;
    const bool is_inside = c->at >= c->low && after <= c->high;
    uint64_t begin = 0, end = 0;
    bool is_whole = true;

    if (c->part->has_lines && item->bytes > 0 && is_outside)
        return true;
    if (c->part->has_lines && !is_inside && !is_outside) {
        if (!find_lines(c, item, &begin, &end, &is_whole, err))
            return false;
        if (!is_whole)
            return put_lines(c, *item, begin, end, err);
    }
    c->part->end = begins_inside(c) ? UINT64_MAX : c->part->end;
    return !begins_inside(c) || heft_input_list_put(c->to, item, err);
}

static bool take_items(struct cutting *c, struct heft_error *err)
{
    const size_t n = heft_input_list_count(c->from);
    struct heft_buf path = {0};
    bool ok = true;

    for (size_t i = 0; ok && i < n; i++) {
        struct heft_input_item item;

        ok = heft_input_list_get(c->from, i, &path, &item, err) && take_item(c, &item, err);
        c->at += ok ? item.bytes : 0;
    }
    heft_buf_release(&path);
    return ok;
}

bool heft_input_list_cut(struct heft_input_list **list, struct heft_input_part *part,
                         struct heft_error *err)
{
    const uint64_t total = heft_input_list_bytes(*list);
    struct cutting c = {.from = *list,
                        .to = heft_input_list_new(err),
                        .part = part,
                        .low = bytes_before(total, part->index - 1, part->count),
                        .high = bytes_before(total, part->index, part->count),
                        .is_last = part->index == part->count};

    part->begin = 0;
    part->end = UINT64_MAX;
    if (!c.to || !take_items(&c, err)) {
        heft_input_list_free(c.to);
        return false;
    }
    heft_input_list_free(*list);
    *list = c.to;
    return true;
}
