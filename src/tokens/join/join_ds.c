/* join_ds.c: datatrove's .ds, its ends of documents and its description (tokens/output/token_ds.h). */
#include "base/endian.h"
#include "tokens/join/join.h"
#include "tokens/output/token_ds.h"

#define LONGEST 65536 /* most bytes of a description */

/* ---- the description ------------------------------------------------------------------------ */

static bool take_line(struct heft_str *text, struct heft_str *line)
{
    const char *end = text->n ? memchr(text->p, '\n', text->n) : NULL;

    if (!end)
        return false;
    *line = (struct heft_str){text->p, (size_t)(end - text->p)};
    text->n -= line->n + 1;
    text->p = end + 1;
    return true;
}

static bool take_number(struct heft_str text, uint64_t *number)
{
    *number = 0;
    for (size_t i = 0; i < text.n; i++) {
        const unsigned digit = (unsigned char)text.p[i] - (unsigned)'0';

        if (digit > 9 || !heft_mul(*number, 10, number) || !heft_add(*number, digit, number))
            return false;
    }
    return text.n > 0;
}

/* Parses NAME|2, newline, the number of ids, newline. */
static bool parse_description(struct heft_str text, struct heft_str *name, unsigned *width,
                              uint64_t *tokens)
{
    struct heft_str count = {0};

    if (!take_line(&text, name) || !take_line(&text, &count) || name->n < 2 ||
        name->p[name->n - 2] != '|')
        return false;
    *width = name->p[name->n - 1] == '2' ? 2 : name->p[name->n - 1] == '4' ? 4 : 0;
    name->n -= 2;
    return *width > 0 && take_number(count, tokens);
}

/* All parts must be of one tokenizer; the survey of the first one keeps its name. */
static bool check_name(struct heft_join *j, struct heft_str name, struct heft_error *err)
{
    if (!j->is_surveyed && j->name.n == 0) {
        heft_buf_str(&j->name, name);
        heft_buf_char(&j->name, '\0');
        return heft_buf_ok(&j->name, err);
    }
    return heft_str_eq(name, (struct heft_str){j->name.p, j->name.n - 1}) ||
           heft_fail(err, HEFT_MISMATCH, 0, "the tokenizer %.*s; that of the first part is %s",
                     (int)heft_min_u64(name.n, 100), name.p, j->name.p);
}

static bool read_description(struct heft_join *j, struct heft_join_part *part,
                             struct heft_error *err)
{
    struct heft_arena mem = {0};
    struct heft_bytes text = {0};
    struct heft_str name = {0};
    bool ok;

    if (part->index.size > LONGEST)
        return heft_fail(err, HEFT_LIMIT, LONGEST, "a description of more than 64 KiB");
    ok = heft_source_fetch(&part->index, 0, part->index.size, &mem, &text, err) &&
         (parse_description((struct heft_str){(const char *)text.p, text.n}, &name,
                            &part->type.width, &part->sums.tokens) ||
          heft_fail(err, HEFT_MALFORMED, 0, "expected NAME|2 or NAME|4, and a number of tokens")) &&
         check_name(j, name, err);
    heft_arena_release(&mem);
    return ok;
}

/* ---- parts ---------------------------------------------------------------------------------- */

static bool check_sizes(const struct heft_join_part *part, struct heft_error *err)
{
    uint64_t bytes;

    if (!heft_mul(part->sums.tokens, part->type.width, &bytes) || bytes != part->ids.size)
        return heft_fail(err, HEFT_MALFORMED, HEFT_NO_OFFSET,
                         "%" PRIu64 " bytes; its description says %" PRIu64 " ids of %u bytes",
                         part->ids.size, part->sums.tokens, part->type.width);
    if (part->index.size % 8 == 0)
        return true;
    heft_fail(err, HEFT_MALFORMED, part->index.size, "its size is not a multiple of 8");
    return heft_error_file(err, part->index_path.p);
}

static bool read_ds(struct heft_join *j, struct heft_join_part *part, struct heft_error *err)
{
    if (!heft_join_open_beside(part, part->path, 0, ".metadata", err))
        return false;
    if (!read_description(j, part, err))
        return heft_error_file(err, part->index_path.p);
    if (!heft_join_open_beside(part, part->path, 0, ".index", err) || !check_sizes(part, err))
        return false;
    part->size = part->sums.bytes = part->ids.size;
    part->sums.documents = part->index.size / 8;
    return true;
}

/* Checks that ends ascend, and adds the ids of the parts before. */
static bool shift_ends(const struct heft_join *j, const struct heft_join_part *part, uint8_t *rows,
                       uint64_t at, size_t n, uint64_t *last, struct heft_error *err)
{
    for (size_t i = 0; i < n; i += 8) {
        const uint64_t end = heft_le64(rows + i);

        if (end < *last || end > part->sums.tokens)
            return heft_fail(err, HEFT_MALFORMED, at + i,
                             "a document ends at %" PRIu64 " of %" PRIu64
                             " ids, the one before at %" PRIu64,
                             end, part->sums.tokens, *last);
        *last = end;
        heft_put_le64(rows + i, end + j->done.tokens);
    }
    return true;
}

static bool copy_ends(struct heft_join *j, struct heft_join_part *part, struct heft_error *err)
{
    uint64_t last = 0;

    for (uint64_t at = 0; at < part->index.size; at += HEFT_JOIN_TABLE) {
        const size_t n = (size_t)heft_min_u64(HEFT_JOIN_TABLE, part->index.size - at);

        if (!heft_source_read(&part->index, at, j->buffer, n, err))
            return false;
        if (!shift_ends(j, part, j->buffer, at, n, &last, err))
            return heft_error_file(err, part->index_path.p);
        if (!heft_sink_write(j->sink, j->beside, j->done.documents * 8 + at, j->buffer, n, err))
            return false;
    }
    if (last == part->sums.tokens)
        return true;
    heft_fail(err, HEFT_MALFORMED, HEFT_NO_OFFSET,
              "its documents end at %" PRIu64 " of %" PRIu64 " ids", last, part->sums.tokens);
    return heft_error_file(err, part->index_path.p);
}

static bool end_ds(struct heft_join *j, struct heft_error *err)
{
    struct heft_buf text = {0};
    bool ok;

    heft_ds_metadata(&text, j->name.p, j->type.width, j->all.tokens);
    ok = heft_buf_ok(&text, err) && heft_sink_write(j->sink, j->beside + 1, 0, text.p, text.n, err);
    heft_buf_release(&text);
    return ok;
}

const struct heft_join_format heft_join_ds = {.name = "ds",
                                              .read = read_ds,
                                              .copy = copy_ends,
                                              .end = end_ds,
                                              .index = {".index", ".metadata"}};
