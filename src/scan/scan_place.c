/* scan_place.c: reports findings of a place, pays for work from the budget, and opens places
 * within places.  s->look (scan.c) scans a place; it calls the files that call this one. */
#include "scan/scan_parts.h"

#define LONGEST_OUTER 256 /* bytes that are kept of the outer place's name */

void heft_scan_report(struct heft_scan *s, struct heft_scan_item *item)
{
    item->file = s->path;
    s->items++;
    if (item->danger > s->worst)
        s->worst = item->danger;
    s->each(s->ctx, item);
}

void heft_scan_report_failure(struct heft_scan *s, const struct heft_error *why)
{
    struct heft_scan_item item = {.danger = HEFT_UNKNOWN,
                                  .record = "",
                                  .offset = why->offset,
                                  .position = HEFT_NO_OFFSET,
                                  .what = "refused",
                                  .name = why->text};

    if (s->complete)
        *s->err = *why;
    s->complete = false;
    heft_scan_report(s, &item);
}

uint64_t heft_scan_offset(const struct heft_scan_place *place, uint64_t position)
{
    return place->base == HEFT_NO_OFFSET || position == HEFT_NO_OFFSET ? HEFT_NO_OFFSET
                                                                       : place->base + position;
}

void heft_scan_report_refused(struct heft_scan *s, const struct heft_scan_place *place,
                              const struct heft_error *why)
{
    struct heft_error moved = *why;

    moved.offset = heft_scan_offset(place, why->offset);
    heft_scan_report_failure(s, &moved);
}

bool heft_scan_report_text(struct heft_scan *s, const struct heft_scan_place *place,
                           uint64_t position, enum heft_danger danger, const char *what,
                           const char *sentence)
{
    struct heft_scan_item item = {.danger = danger,
                                  .record = place->record,
                                  .offset = heft_scan_offset(place, position),
                                  .position = position,
                                  .what = what,
                                  .name = sentence};

    if (sentence)
        heft_scan_report(s, &item);
    return sentence != NULL;
}

bool heft_scan_pay(struct heft_scan *s, const struct heft_scan_place *place, uint64_t n)
{
    struct heft_error why = {0};

    if (n <= s->budget) {
        s->budget -= n;
        return true;
    }
    heft_fail(
        &why, HEFT_LIMIT, heft_scan_offset(place, 0),
        "the parts of this file have much more bytes than the file; the rest was not scanned");
    heft_scan_report_failure(s, &why);
    return false;
}

const char *heft_scan_label(struct heft_buf *buf, const struct heft_scan_place *outer,
                            struct heft_str name, struct heft_error *err)
{
    const size_t n = strlen(outer->record);

    buf->n = 0;
    heft_buf_text(buf, outer->record + (n > LONGEST_OUTER ? n - LONGEST_OUTER : 0));
    if (n)
        heft_buf_char(buf, ':');
    heft_buf_str(buf, name);
    heft_buf_char(buf, 0);
    return heft_buf_ok(buf, err) ? buf->p : NULL;
}

struct heft_str heft_scan_last_part(struct heft_str name)
{
    size_t begin = name.n;

    while (begin > 0 && name.p[begin - 1] != '/')
        begin--;
    return (struct heft_str){name.p + begin, name.n - begin};
}

struct heft_str heft_scan_name(const struct heft_scan *s, const struct heft_scan_place *place)
{
    const struct heft_str whole = heft_str_of(*place->record ? place->record : s->path);
    size_t begin = whole.n;

    while (begin > 0 && whole.p[begin - 1] != '/' && whole.p[begin - 1] != ':')
        begin--;
    return (struct heft_str){whole.p + begin, whole.n - begin};
}

bool heft_scan_memory(struct heft_scan *s, const struct heft_scan_place *like,
                      struct heft_bytes bytes, struct heft_error *err)
{
    struct heft_scan_place place = *like;
    struct heft_source src;
    bool ok;

    heft_source_open_memory(&src, bytes, s->path);
    place.src = &src;
    place.bytes = bytes;
    ok = s->look(s, &place, err);
    heft_source_close(&src);
    return ok;
}

bool heft_scan_within(struct heft_scan *s, const struct heft_scan_place *outer, uint64_t off,
                      uint64_t n, const char *record, struct heft_error *err)
{
    struct heft_scan_place place = *outer;
    struct heft_source src;
    bool ok;

    place.record = record;
    place.base = heft_scan_offset(outer, off);
    place.depth++;
    if (outer->bytes.p) /* the caller has checked the range */
        return heft_scan_memory(s, &place, (struct heft_bytes){outer->bytes.p + off, (size_t)n},
                                err);
    if (!heft_source_open_slice(&src, outer->src, off, n, s->path, err))
        return false;
    place.src = &src;
    ok = s->look(s, &place, err);
    heft_source_close(&src);
    return ok;
}
