/* text_stages.c: builds the stages before the pre-tokens, from last to first. */
#include "tokens/bpe/text_stages.h"

static bool add_search(struct heft_added_stage **stage, const struct heft_added_search *search,
                       struct heft_text_sink *next, struct heft_error *err)
{
    if (!search)
        return true;
    *stage = heft_added_stage_new(search, *next, err);
    if (*stage)
        *next = heft_added_stage_sink(*stage);
    return *stage != NULL;
}

static bool add_nfc(struct heft_text_stages *s, struct heft_text_sink *next, struct heft_error *err)
{
    s->nfc = heft_nfc_stage_new(*next, err);
    if (s->nfc)
        *next = heft_nfc_stage_sink(s->nfc);
    return s->nfc != NULL;
}

bool heft_text_stages_init(struct heft_text_stages *s, const struct heft_vocab *v, bool special,
                           struct heft_text_sink next, struct heft_error *err)
{
    if (!v->is_nfc && !heft_vocab_added(v, special, false) && !heft_vocab_added(v, special, true))
        return true;
    if (!add_search(&s->normalized, heft_vocab_added(v, special, true), &next, err) ||
        (v->is_nfc && !add_nfc(s, &next, err)) ||
        !add_search(&s->raw, heft_vocab_added(v, special, false), &next, err))
        return false;
    s->first = next;
    return true;
}

void heft_text_stages_release(struct heft_text_stages *s)
{
    heft_added_stage_free(s->raw);
    heft_nfc_stage_free(s->nfc);
    heft_added_stage_free(s->normalized);
}

void heft_text_stages_reset(struct heft_text_stages *s)
{
    if (s->raw)
        heft_added_stage_reset(s->raw);
    if (s->nfc)
        heft_nfc_stage_reset(s->nfc);
    if (s->normalized)
        heft_added_stage_reset(s->normalized);
}
