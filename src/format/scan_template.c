/* scan_template.c: Jinja templates, which tokenizers and processors have for chats.
 *
 * Not judged: a template is a program, and a sandboxed Jinja lets it compute texts only. What no chat
 * needs is told: attributes by which a template leaves a Jinja without sandbox for Python, and
 * spellings that hide them. */
#include "format/scan_parts.h"

#include "base/text.h"

static const struct {
    const char *word, *sentence;
    enum heft_danger danger;
} words[] = {
#define REACHES "Jinja template that reaches into Python"
#define HIDES   "Jinja template that computes or hides the names of attributes"
    {"__base", REACHES, HEFT_DANGER},
    {"__builtins__", REACHES, HEFT_DANGER},
    {"__class__", REACHES, HEFT_DANGER},
    {"__dict__", REACHES, HEFT_DANGER},
    {"__getattribute__", REACHES, HEFT_DANGER},
    {"__globals__", REACHES, HEFT_DANGER},
    {"__import__", REACHES, HEFT_DANGER},
    {"__init__", REACHES, HEFT_DANGER},
    {"__mro__", REACHES, HEFT_DANGER},
    {"__reduce", REACHES, HEFT_DANGER},
    {"__self__", REACHES, HEFT_DANGER},
    {"__subclasses__", REACHES, HEFT_DANGER},
    {"\\x5f", HIDES, HEFT_UNKNOWN},
    {"\\x5F", HIDES, HEFT_UNKNOWN},
    {"\\u005f", HIDES, HEFT_UNKNOWN},
    {"\\u005F", HIDES, HEFT_UNKNOWN},
    {"\\137", HIDES, HEFT_UNKNOWN},
    {"|attr(", HIDES, HEFT_UNKNOWN},
    {"| attr(", HIDES, HEFT_UNKNOWN},
};

bool heft_scan_is_template(struct heft_str name)
{
    return heft_str_ends(name, ".jinja") || heft_str_ends(name, ".jinja2") ||
           heft_str_ends(name, ".j2");
}

void heft_scan_template(struct heft_scan *s, const struct heft_scan_place *place, uint64_t offset,
                        struct heft_bytes text)
{
    struct heft_scan_item item = {.record = place->record,
                                  .offset = heft_scan_offset(place, offset),
                                  .position = HEFT_NO_OFFSET,
                                  .what = "code"};

    for (size_t i = 0; i < HEFT_COUNT(words) && !item.name; i++)
        if (heft_text_mentions(text, words[i].word)) {
            item.name = words[i].sentence;
            item.danger = words[i].danger;
        }
    if (item.name)
        heft_scan_report(s, &item);
}
