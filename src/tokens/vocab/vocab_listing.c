/* vocab_listing.c: encoder.json → tokens and their ids.
 *
 *     {"!": 0, …, "Ġt": 256, …, "<|endoftext|>": 50256}
 *
 * vocab_usual.c reads the usual form; this is the general JSON reader. */
#include "base/text.h"
#include "tokens/vocab/vocab_parts.h"

static bool read_listing(struct heft_vocab_reading *r, struct heft_bytes text,
                         struct heft_listing *list)
{
    struct heft_json json;

    heft_json_begin(&json, text, 0, &r->v->mem, r->err);
    if (heft_json_next(&json) != HEFT_JSON_OBJECT)
        return r->err->code ? false
                            : heft_vocab_fail(r, 0, "expected a JSON object of tokens and ids");
    if (!heft_vocab_list(r, &json, list) || heft_json_next(&json) != HEFT_JSON_END)
        return false;
    return list->n > 0 || heft_vocab_fail(r, 0, "the object has no tokens");
}

bool heft_vocab_read_ids(struct heft_vocab_reading *r, struct heft_bytes text)
{
    struct heft_listing list = {0};
    bool ok;

    if (heft_vocab_usual_ids(r, text))
        return heft_vocab_place_bytes(r);
    ok = r->err->code == HEFT_OK && heft_vocab_check_text(r, text) && read_listing(r, text, &list);
    for (size_t i = 0; i < list.n; i++)
        list.items[i].is_special = heft_str_is(list.items[i].word, HEFT_END_OF_TEXT);
    ok = ok && heft_vocab_place(r, &list);
    heft_free(list.items);
    return ok;
}
