/* scan_hydra.c: names in YAML that a program calls.
 *
 *     _target_: torch.optim.Adam      Hydra, and programs like it, import the path and call it
 *     target: ldm.models.Model        the same in latent diffusion and NeMo
 *     class_path: mylib.Model         the same in Lightning
 *     loader_module: mylib.loader     MLflow imports it, also from the model's directory
 *
 * This is a search, not a parser of YAML. A key is found by its spelling: plain, in quotes, or
 * in double quotes with escapes. Reported as not scanned: a key that is an anchor or a "? key",
 * and a value that is an alias, an interpolation or a block, comes after a comment, or has
 * escapes. Only _target_ has no other uses: paths of the other keys are reported only if they
 * are dangers. */
#include "scan/scan_parts.h"

#include "base/hex.h"
#include "base/text.h"
#include "scan/scan_names.h"

#define MOST_REPORTED 10000 /* paths reported for one file */
#define NEAR          64    /* bytes searched around a key; an anchor or tag is shorter */
#define PRICE         256   /* cost of judging a path, in bytes of the budget */

static const struct {
    const char *name, *sentence;
    const char *usual; /* prefix of paths not reported; NULL if only dangers are reported */
} keys[] = {
    {"_target_", "Hydra calls", "$"}, /* no path begins with "$" */
    {"target", "a program may call", NULL},
    {"class_path", "a program may call", NULL},
    {"loader_module", "MLflow imports", "mlflow."},
};
#define TARGET 0

bool heft_scan_path(struct heft_scan *s, const struct heft_scan_place *place, struct heft_str path,
                    enum heft_danger *danger)
{
    if (!heft_scan_pay(s, place, PRICE))
        return false;
    *danger = heft_scan_path_danger(path);
    return true;
}

struct targets {
    struct heft_scan *s;
    const struct heft_scan_place *place;
    struct heft_bytes text;
    struct heft_arena mem;
    struct heft_strmap reported;
    bool unpaid; /* the budget is used up */
    struct heft_error *err;
};

static bool is_word(uint8_t c)
{
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '_';
}

static bool is_blank(uint8_t c)
{
    return c == ' ' || c == '\t';
}

static bool is_at(const struct targets *t, size_t at, const char *word)
{
    const size_t n = strlen(word);

    return heft_within(at, n, t->text.n) && memcmp(t->text.p + at, word, n) == 0;
}

/* ---- reporting --------------------------------------------------------------------------- */

/* Reports a path, once a file. */
static bool report_path(struct targets *t, size_t at, enum heft_danger danger, const char *sentence,
                        struct heft_str path)
{
    const int n = (int)heft_min_u64(path.n, 200);
    struct heft_scan_item item = {.danger = danger,
                                  .record = t->place->record,
                                  .offset = heft_scan_offset(t->place, at),
                                  .position = HEFT_NO_OFFSET,
                                  .what = "code"};
    uint32_t found;

    item.name =
        heft_arena_printf(&t->mem, t->err, "%s%s%.*s", sentence, n ? ": " : "", n, n ? path.p : "");
    if (!item.name || !heft_strmap_add(&t->reported, heft_str_of(item.name), 1, &found, t->err))
        return false;
    if (found == HEFT_MAP_NONE)
        heft_scan_report(t->s, &item);
    return true;
}

/* ---- judging values ---------------------------------------------------------------------- */

static size_t skip_white(const struct targets *t, size_t at)
{
    while (at < t->text.n && memchr(" \t\r\n", t->text.p[at], 4))
        at++;
    return at;
}

/* Skips anchors and tags before a value. */
static size_t skip_properties(const struct targets *t, size_t at)
{
    const size_t end = (size_t)heft_min_u64(t->text.n, at + NEAR);

    while (at < end && (t->text.p[at] == '&' || t->text.p[at] == '!')) {
        while (at < end && t->text.p[at] > ' ')
            at++;
        at = skip_white(t, at);
    }
    return at;
}

static bool is_quote(const struct targets *t, size_t at)
{
    return at < t->text.n && (t->text.p[at] == '"' || t->text.p[at] == '\'');
}

/* Judges the value at `at`, after the colon. */
static bool judge_value(struct targets *t, size_t at, size_t key)
{
    struct heft_str path;
    enum heft_danger danger;
    size_t end;

    at = skip_properties(t, skip_white(t, at));
    at += is_quote(t, at);
    for (end = at; end < t->text.n && (is_word(t->text.p[end]) || t->text.p[end] == '.');)
        end++;
    path = (struct heft_str){(const char *)t->text.p + at, end - at};
    if (key == TARGET && end < t->text.n && memchr("*|>$\\&!#", t->text.p[end], 8))
        return report_path(t, at, HEFT_UNKNOWN,
                           "Hydra calls a target with an unusual spelling, not scanned",
                           HEFT_STR(""));
    if (path.n == 0)
        return true;
    t->unpaid = !heft_scan_path(t->s, t->place, path, &danger);
    if (t->unpaid || (danger != HEFT_DANGER &&
                      (!keys[key].usual || heft_str_starts(path, heft_str_of(keys[key].usual)))))
        return true;
    return report_path(t, at, danger, keys[key].sentence, path);
}

/* ---- finding keys ------------------------------------------------------------------------ */

/* Returns the position after a quote, blanks and the colon of a key; 0 if the word is not a key. */
static size_t after_colon(const struct targets *t, size_t at)
{
    at += is_quote(t, at);
    while (at < t->text.n && is_blank(t->text.p[at]))
        at++;
    return at < t->text.n && t->text.p[at] == ':' ? at + 1 : 0;
}

/* True if a word without a colon is a key: after "? ", with an anchor, whose alias may be a key,
 * or with a tag. */
static bool is_key_elsewhere(const struct targets *t, size_t at)
{
    const size_t begin = at > NEAR ? at - NEAR : 0;

    if (at > begin && is_quote(t, at - 1))
        at--;
    while (at > begin && t->text.p[at - 1] <= ' ')
        at--;
    while (at > begin && t->text.p[at - 1] > ' ' && t->text.p[at - 1] != '?')
        at--;
    return at < t->text.n &&
           (memchr("&!", t->text.p[at], 2) || (at > 0 && t->text.p[at - 1] == '?'));
}

static bool judge_key(struct targets *t, size_t at, size_t end, size_t key)
{
    const size_t value = after_colon(t, end);

    if (value)
        return judge_value(t, value, key);
    return key != TARGET || !is_key_elsewhere(t, at) ||
           report_path(t, at, HEFT_UNKNOWN, "a key _target_ in an unusual place, not scanned",
                       HEFT_STR(""));
}

/* Skips an escaped line break and the blanks at the start of the next line. */
static size_t skip_hidden_break(const struct targets *t, size_t at)
{
    while (is_at(t, at, "\\\n") || is_at(t, at, "\\\r"))
        at = skip_white(t, at + 1);
    return at;
}

/* True if the double-quoted string at `at` is _target_ with escapes in it; *end is then the
 * position of the closing quote. */
static bool is_escaped_key(const struct targets *t, size_t at, size_t *end)
{
    const char *const key = keys[TARGET].name;
    size_t from = at + 1;

    for (size_t i = 0; key[i]; i++) {
        from = skip_hidden_break(t, from);
        const uint8_t escape =
            from + 1 < t->text.n && t->text.p[from] == '\\' ? t->text.p[from + 1] : 0;
        const size_t digits = escape == 'x' ? 2 : escape == 'u' ? 4 : escape == 'U' ? 8 : 0;
        uint32_t point = 0;

        if (!heft_within(from, digits ? 2 + digits : 1, t->text.n))
            return false;
        for (size_t k = 0; k < digits; k++)
            point = point << 4 | heft_hex_digit(t->text.p[from + 2 + k]);
        if ((digits ? point : t->text.p[from]) != (uint8_t)key[i])
            return false;
        from += digits ? 2 + digits : 1;
    }
    *end = skip_hidden_break(t, from);
    return *end < t->text.n && t->text.p[*end] == '"';
}

static bool judge_here(struct targets *t, size_t at)
{
    size_t end;

    if (t->text.p[at] == '"' && is_escaped_key(t, at, &end))
        return judge_key(t, at + 1, end, TARGET);
    if (at > 0 && is_word(t->text.p[at - 1]))
        return true;
    for (size_t i = 0; i < HEFT_COUNT(keys); i++)
        if (is_at(t, at, keys[i].name))
            return judge_key(t, at, at + strlen(keys[i].name), i);
    return true;
}

bool heft_scan_targets(struct heft_scan *s, const struct heft_scan_place *place,
                       struct heft_bytes text, struct heft_error *err)
{
    struct targets t = {.s = s, .place = place, .text = text, .err = err};
    bool ok = true;

    for (size_t i = 0; ok && !t.unpaid && i < text.n && t.reported.count < MOST_REPORTED; i++)
        ok = !memchr("\"_tcl", text.p[i], 5) || judge_here(&t, i);
    if (ok && t.reported.count == MOST_REPORTED)
        ok = heft_scan_report_text(s, place, HEFT_NO_OFFSET, HEFT_UNKNOWN, "refused",
                                   "more than 10000 targets; the rest was not scanned");
    heft_strmap_release(&t.reported);
    heft_arena_release(&t.mem);
    return ok;
}
