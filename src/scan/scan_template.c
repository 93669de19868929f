/* scan_template.c: Jinja templates, which tokenizers and processors use for chats.
 *
 * Scan cannot judge them: a template is a program, which can only compute texts if Jinja runs in
 * its sandbox. Reported are things that no chat needs: attributes by which a template escapes to
 * Python from a Jinja without sandbox, and spellings that hide such attributes. */
#include "scan/scan_parts.h"

#define REACHES "Jinja template that accesses internals of Python"
#define HIDES   "Jinja template that computes or hides the names of attributes"

static bool is_letter(uint8_t c)
{
    return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

static bool begins_with(struct heft_bytes text, const char *word)
{
    const size_t n = strlen(word);

    return n <= text.n && memcmp(text.p, word, n) == 0;
}

static struct heft_bytes bytes_after(struct heft_bytes text, size_t n)
{
    return (struct heft_bytes){text.p + n, text.n - n};
}

/* Judges the text after two underscores. */
static enum heft_danger judge_dunder(struct heft_bytes text)
{
    static const char *const names[] = {"base",         "builtins", "class",  "dict",
                                        "getattribute", "globals",  "import", "init",
                                        "mro",          "reduce",   "self",   "subclasses"};

    if (!text.n || !is_letter(*text.p))
        return HEFT_ALLOWED;
    for (size_t i = 0; i < HEFT_COUNT(names); i++)
        if (begins_with(text, names[i]))
            return HEFT_DANGER;
    return HEFT_UNKNOWN;
}

/* Judges the text after a backslash: the character code of an underscore. */
static enum heft_danger judge_escape(struct heft_bytes text)
{
    static const char *const escapes[] = {"x5f", "x5F", "u005f", "u005F", "137", "N{"};

    for (size_t i = 0; i < HEFT_COUNT(escapes); i++)
        if (begins_with(text, escapes[i]))
            return HEFT_UNKNOWN;
    return HEFT_ALLOWED;
}

/* Judges the text after a vertical bar: the filter that gets the name of an attribute as a
 * string. */
static enum heft_danger judge_filter(struct heft_bytes text)
{
    while (text.n && *text.p == ' ')
        text = bytes_after(text, 1);
    return begins_with(text, "attr(") || begins_with(text, "attr ") ? HEFT_UNKNOWN : HEFT_ALLOWED;
}

static enum heft_danger judge_at(struct heft_bytes text)
{
    if (text.p[0] == '_' && begins_with(text, "__"))
        return judge_dunder(bytes_after(text, 2));
    if (text.p[0] == '\\')
        return judge_escape(bytes_after(text, 1));
    return text.p[0] == '|' ? judge_filter(bytes_after(text, 1)) : HEFT_ALLOWED;
}

bool heft_scan_is_template(struct heft_str name)
{
    return heft_str_ends(name, ".jinja") || heft_str_ends(name, ".jinja2") ||
           heft_str_ends(name, ".j2");
}

void heft_scan_template(struct heft_scan *s, const struct heft_scan_place *place, uint64_t offset,
                        struct heft_bytes text)
{
    struct heft_scan_item item = {.danger = HEFT_ALLOWED,
                                  .record = place->record,
                                  .offset = heft_scan_offset(place, offset),
                                  .position = HEFT_NO_OFFSET,
                                  .what = "code"};

    for (size_t i = 0; i < text.n && item.danger != HEFT_DANGER; i++) {
        const enum heft_danger danger = judge_at(bytes_after(text, i));

        item.danger = danger > item.danger ? danger : item.danger;
    }
    item.name = item.danger == HEFT_DANGER ? REACHES : HIDES;
    if (item.danger != HEFT_ALLOWED)
        heft_scan_report(s, &item);
}
