/* vocab_usual.c: encoder.json as everyone writes it, without the general reader:
 *
 *     {"!": 0, "\"": 1, …, "\u0120t": 256, …, "<|endoftext|>": 50256}
 *
 * one object, words of the alphabet alone, escapes that JSON needs, ids of up to seven digits. What
 * is anything else is left to the general reader, which says what is wrong if something is. */
#include "tokens/vocab_parts.h"

struct walk {
    const struct heft_vocab_reading *r;
    const uint8_t *begin, *p, *end;
    char *to; /* bytes of words */
};

static void skip_blanks(struct walk *w)
{
    while (w->p < w->end && (*w->p == ' ' || *w->p == '\n' || *w->p == '\r' || *w->p == '\t'))
        w->p++;
}

/* Past `c` and blanks on both sides. */
static bool take(struct walk *w, char c)
{
    skip_blanks(w);
    if (w->p == w->end || *w->p != (uint8_t)c)
        return false;
    w->p++;
    skip_blanks(w);
    return true;
}

/* The character of an escape whose backslash was taken; of the alphabet, or one that is not. */
static uint32_t escaped(struct walk *w)
{
    uint32_t c = 0;

    if (w->p < w->end && (*w->p == '"' || *w->p == '\\' || *w->p == '/'))
        return *w->p++;
    if (w->end - w->p < 5 || *w->p != 'u')
        return HEFT_ALPHABET_ROOM;
    for (int i = 1; i < 5; i++) {
        const uint32_t digit = w->p[i], letter = (digit | 0x20) - 'a';

        if (digit - '0' > 9 && letter > 5)
            return HEFT_ALPHABET_ROOM;
        c = c << 4 | (digit - '0' <= 9 ? digit - '0' : letter + 10);
    }
    w->p += 5;
    return c;
}

/* A string, of at least one character. */
static bool take_word(struct walk *w, struct heft_str *word)
{
    const uint8_t *const first = w->p;
    char *to = w->to;

    if (w->p == w->end || *w->p++ != '"')
        return false;
    while (w->p < w->end && *w->p != '"') {
        uint32_t c = *w->p++;

        if (c == '\\')
            c = escaped(w);
        else if (c >= 0xC2 && c <= 0xC5 && w->p < w->end) /* the text was checked: one tail */
            c = (c & 0x1F) << 6 | (*w->p++ & 0x3F);
        if (c >= HEFT_ALPHABET_ROOM || w->r->bytes[c] < 0)
            return false;
        *to++ = (char)w->r->bytes[c];
    }
    *word = (struct heft_str){w->to, (size_t)(to - w->to)};
    w->to = to;
    return word->n > 0 && w->p < w->end && w->p++ - first <= HEFT_LONGEST;
}

static bool take_id(struct walk *w, uint32_t *id)
{
    const uint8_t *const first = w->p;

    for (*id = 0; w->p < w->end && *w->p - (uint32_t)'0' <= 9 && w->p - first < 7; w->p++)
        *id = *id * 10 + (*w->p - (uint32_t)'0');
    return w->p > first && (*first != '0' || w->p - first == 1) && *id < HEFT_MOST_IDS;
}

static bool take_item(struct walk *w, struct heft_listed *item)
{
    item->where = (uint64_t)(w->p - w->begin);
    return take_word(w, &item->word) && take(w, ':') && take_id(w, &item->id);
}

bool heft_vocab_list_usual(struct heft_vocab_reading *r, struct heft_bytes text,
                           struct heft_listing *list)
{
    struct walk w = {.r = r, .begin = text.p, .p = text.p, .end = text.p + text.n};
    struct heft_listed item = {.is_bytes = true};

    w.to = heft_arena_alloc(&r->v->mem, text.n, r->err);
    if (!w.to || !take(&w, '{'))
        return false;
    do
        if (!take_item(&w, &item) || !heft_vocab_add(r, list, &item))
            return false;
    while (take(&w, ','));
    return take(&w, '}') && w.p == w.end;
}
