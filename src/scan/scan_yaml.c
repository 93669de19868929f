/* scan_yaml.c: YAML that creates Python objects. This is a search for spellings, not a parser of
 * YAML; a spelling that hides something is a finding, too.
 *
 *     !!python/object/apply:os.system ["…"]        an unsafe loader imports and calls
 *     !<tag:yaml.org,2002:python/…>                the same
 *     !!%70ython/…                                 the same: a tag is a URI
 *     %TAG !e! tag:yaml.org,2002:pyth              !e!on/… is then an abbreviation of it
 *     !apply:os.system  !new:module.Class          HyperPyYAML, the configurations of SpeechBrain
 *     ${eval:…}                                    a resolver that programs register with OmegaConf
 *
 * scan_hydra.c judges the values of _target_ and similar keys. */
#include "scan/scan_parts.h"

#include "base/text.h"

static bool ends_as(struct heft_str name, const char *end)
{
    const size_t n = strlen(end);

    for (size_t i = 0; i < n && n <= name.n; i++)
        if ((name.p[name.n - n + i] | 0x20) != (end[i] | 0x20))
            return false;
    return n <= name.n;
}

bool heft_scan_is_yaml(struct heft_str name)
{
    return ends_as(name, ".yaml") || ends_as(name, ".yml") || heft_str_is(name, "MLmodel");
}

static bool is_hex(uint8_t c)
{
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

static bool is_at(struct heft_bytes text, size_t at, const char *word)
{
    const size_t n = strlen(word);

    return heft_within(at, n, text.n) && memcmp(text.p + at, word, n) == 0;
}

/* ---- YAML tags --------------------------------------------------------------------------- */

/* True if a tag contains an escape. A tag extends from '!' to the next character that is not
 * allowed in a URI. */
static bool has_escaped_tag(struct heft_bytes text)
{
    bool in_tag = false;

    for (size_t i = 0; i < text.n; i++) {
        const uint8_t c = text.p[i];

        if (c == '!')
            in_tag = true;
        else if (c <= ' ' || c >= 0x7F || memchr("\"\\^`{|}", c, 7))
            in_tag = false;
        else if (in_tag && c == '%' && i + 2 < text.n && is_hex(text.p[i + 1]) &&
                 is_hex(text.p[i + 2]))
            return true;
    }
    return false;
}

/* True for python/tuple and other tags of plain values, which PyYAML's safer loaders also
 * create. */
static bool is_value_tag(struct heft_bytes text, size_t at)
{
    static const char *const values[] = {"tuple", "none", "bool",  "str",  "unicode", "bytes",
                                         "int",   "long", "float", "list", "dict",    "complex"};

    for (size_t i = 0; i < HEFT_COUNT(values); i++) {
        const size_t end = at + strlen(values[i]);

        if (is_at(text, at, values[i]) && (end == text.n || memchr(" \t\r\n,]}>", text.p[end], 8)))
            return true;
    }
    return false;
}

static bool has_python_tag(struct heft_bytes text)
{
    static const char *const begins[] = {"!!python/", "tag:yaml.org,2002:python/"};

    for (size_t i = 0; i < text.n; i++)
        for (size_t k = 0; (text.p[i] == '!' || text.p[i] == 't') && k < HEFT_COUNT(begins); k++)
            if (is_at(text, i, begins[k]) && !is_value_tag(text, i + strlen(begins[k])))
                return true;
    return false;
}

static const struct {
    const char *word, *sentence;
    enum heft_danger danger;
} words[] = {
    {"%TAG", "YAML that renames tags, not scanned", HEFT_UNKNOWN},
    {"!apply:", "HyperPyYAML imports and calls", HEFT_UNKNOWN},
    {"!new:", "HyperPyYAML imports and calls", HEFT_UNKNOWN},
    {"!name:", "HyperPyYAML imports", HEFT_UNKNOWN},
    {"!module:", "HyperPyYAML imports", HEFT_UNKNOWN},
    {"function_type: lambda", "Keras runs Python code of this file", HEFT_DANGER},
    {"${eval:", "OmegaConf evaluates an expression with a resolver of the program", HEFT_UNKNOWN},
};

/* Reports the first tag found. */
static bool scan_tags(struct heft_scan *s, const struct heft_scan_place *place,
                      struct heft_bytes text)
{
    if (has_python_tag(text))
        return heft_scan_report_text(s, place, HEFT_NO_OFFSET, HEFT_DANGER, "code",
                                     "YAML that creates Python objects");
    for (size_t i = 0; i < HEFT_COUNT(words); i++)
        if (heft_text_mentions(text, words[i].word))
            return heft_scan_report_text(s, place, HEFT_NO_OFFSET, words[i].danger, "code",
                                         words[i].sentence);
    return !has_escaped_tag(text) ||
           heft_scan_report_text(s, place, HEFT_NO_OFFSET, HEFT_DANGER, "code",
                                 "YAML with a tag written with escapes");
}

static bool is_wide(struct heft_bytes text)
{
    return text.n >= 2 &&
           (memcmp(text.p, "\xff\xfe", 2) == 0 || memcmp(text.p, "\xfe\xff", 2) == 0);
}

bool heft_scan_yaml(struct heft_scan *s, const struct heft_scan_place *place,
                    struct heft_bytes text, struct heft_error *err)
{
    if (is_wide(text))
        return heft_scan_report_text(s, place, HEFT_NO_OFFSET, HEFT_UNKNOWN, "refused",
                                     "YAML that is not UTF-8, not scanned");
    return scan_tags(s, place, text) && heft_scan_targets(s, place, text, err);
}
