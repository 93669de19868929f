/* gguf_names.c: names of the files of a split set: "PREFIX-00001-of-00003.gguf". Numbers have five
 * digits, as they have at most 65535 in files. */
#include "format/gguf/gguf_parts.h"

enum { DIGITS = 5 };

/* Takes the five digits at the end of *s. */
static bool cut_number(struct heft_str *s, uint32_t *out)
{
    if (s->n < DIGITS)
        return false;
    *out = 0;
    for (size_t i = s->n - DIGITS; i < s->n; i++) {
        if (s->p[i] < '0' || s->p[i] > '9')
            return false;
        *out = *out * 10 + (uint32_t)(s->p[i] - '0');
    }
    s->n -= DIGITS;
    return true;
}

static bool cut_text(struct heft_str *s, const char *text)
{
    if (!heft_str_ends(*s, text))
        return false;
    s->n -= strlen(text);
    return true;
}

bool heft_gguf_split_parse(struct heft_str name, struct heft_str *prefix, uint32_t *number,
                           uint32_t *count)
{
    if (!cut_text(&name, ".gguf") || !cut_number(&name, count) || !cut_text(&name, "-of-") ||
        !cut_number(&name, number) || !cut_text(&name, "-") || *number == 0 || *number > *count)
        return false;
    *prefix = name;
    return true;
}

const char *heft_gguf_split_name(struct heft_arena *mem, struct heft_str prefix, uint32_t number,
                                 uint32_t count, struct heft_error *err)
{
    return heft_arena_printf(mem, err, "%.*s-%05" PRIu32 "-of-%05" PRIu32 ".gguf", (int)prefix.n,
                             prefix.p, number, count);
}
