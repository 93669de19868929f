/* token_rejects.c: the list of rejected JSON lines, which is JSON lines, too.
 *
 *     {"file":"a.jsonl","line":2,"reason":"null; expected a string"}
 *
 * Its bytes wait in a row store until all ids are written. Then the list becomes the last file of
 * the output's sink: either both get their names or none. Records of the journal have no list: it
 * is of one run, and may be in another directory. */
#include "base/text.h"
#include "tokens/output/token_out_parts.h"

#define PIECE ((size_t)64 << 10)

bool heft_token_out_check_rejects(const struct heft_token_out *out, struct heft_error *err)
{
    struct heft_sink *trial;
    uint32_t file;
    bool ok;

    if (!out->how.rejects)
        return true;
    trial = heft_sink_new(&out->how.sink, err);
    ok = trial && heft_sink_add_growing(trial, out->how.rejects, &file, err);
    heft_sink_free(trial);
    return ok;
}

bool heft_token_out_reject(struct heft_token_out *out, const char *file, uint64_t line,
                           const char *reason, struct heft_error *err)
{
    struct heft_token_rejects *list = &out->rejects;
    struct heft_buf text = {0};
    bool ok;

    if (!out->how.rejects)
        return true;
    heft_buf_printf(&text, "{\"file\":");
    heft_buf_json(&text, heft_str_of(file), false);
    heft_buf_printf(&text, ",\"line\":%" PRIu64 ",\"reason\":", line);
    heft_buf_json(&text, heft_str_of(reason), false);
    heft_buf_printf(&text, "}\n");
    ok = heft_buf_ok(&text, err) && heft_row_store_put(&list->bytes, list->n, text.n, text.p, err);
    list->n += text.n;
    heft_buf_release(&text);
    return ok;
}

static bool copy_list(struct heft_token_out *out, uint8_t *piece, struct heft_error *err)
{
    struct heft_token_rejects *list = &out->rejects;

    for (uint64_t at = 0; at < list->n; at += PIECE) {
        const size_t n = (size_t)heft_min_u64(PIECE, list->n - at);

        if (!heft_row_store_get(&list->bytes, at, n, piece, err) ||
            !heft_sink_write(out->sink, list->file, at, piece, n, err))
            return false;
    }
    return true;
}

bool heft_token_out_add_rejects(struct heft_token_out *out, struct heft_error *err)
{
    uint8_t *piece;
    bool ok;

    if (!out->how.rejects)
        return true;
    piece = heft_alloc(PIECE, err);
    ok = piece && heft_sink_add_growing(out->sink, out->how.rejects, &out->rejects.file, err);
    out->rejects.is_added = ok;
    ok = ok && copy_list(out, piece, err);
    heft_free(piece);
    return ok;
}
