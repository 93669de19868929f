/* pickle_lenient.c: for lenient runs: forms that CPython's unpicklers accept and no pickler writes.
 *
 *     opcode       _pickle.Unpickler (C)                  pickle.Unpickler in Python
 *     INT, LONG    strtol, int(…, 0), up to a NUL         int(…, 0): " 1", "1_0", "+1", "0b1"
 *     FLOAT        strtod without blanks, up to a NUL     float(…): " 1", "1_0", "1e400"
 *     PUT, GET     int(…, 10) up to a NUL                 int(…): of any size
 *     last line    an error without its \n                the last byte is taken for the \n
 *
 * CPython 3.14 reads INT and LONG to base 10, so that "08" is valid there. A lenient run accepts
 * what any of these accepts; the value only matters for memo indexes. */
#include "wire/pickle_machine.h"

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

static bool is_blank(uint8_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_digit_of(uint8_t c, unsigned base)
{
    if (base == 16)
        return is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
    return c >= '0' && c < '0' + base;
}

/* The text up to the first NUL, without blanks around it. */
static struct heft_bytes trim_line(struct heft_bytes line)
{
    const uint8_t *nul = line.n ? memchr(line.p, 0, line.n) : NULL;

    if (nul)
        line.n = (size_t)(nul - line.p);
    while (line.n && is_blank(line.p[0]))
        line = (struct heft_bytes){line.p + 1, line.n - 1};
    while (line.n && is_blank(line.p[line.n - 1]))
        line.n--;
    return line;
}

/* Digits with single underscores between them. */
static bool are_digits(struct heft_bytes text, unsigned base)
{
    bool was_digit = false;

    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '_' ? !was_digit : !is_digit_of(text.p[i], base))
            return false;
        was_digit = text.p[i] != '_';
    }
    return was_digit;
}

static struct heft_bytes take_sign(struct heft_bytes text, bool *negative)
{
    *negative = text.n && text.p[0] == '-';
    if (text.n && (text.p[0] == '-' || text.p[0] == '+'))
        return (struct heft_bytes){text.p + 1, text.n - 1};
    return text;
}

static unsigned take_base(struct heft_bytes *text)
{
    const uint8_t letter = text->n > 2 && text->p[0] == '0' ? text->p[1] | 0x20 : 0;
    const unsigned base = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 10;

    if (base == 10)
        return base;
    *text = (struct heft_bytes){text->p + 2, text->n - 2};
    if (text->p[0] == '_')
        *text = (struct heft_bytes){text->p + 1, text->n - 1};
    return base;
}

/* The text without underscores and leading zeros, after the prefix `before`. */
static bool strip_digits(struct heft_pickle_machine *m, const char *before, struct heft_bytes text,
                         struct heft_bytes *line)
{
    uint8_t *out = heft_arena_alloc(m->arena, strlen(before) + text.n + 1, m->err);
    size_t n = strlen(before), i = 0;

    if (!out)
        return false;
    memcpy(out, before, n);
    while (i + 1 < text.n && (text.p[i] == '0' || text.p[i] == '_'))
        i++;
    for (; i < text.n; i++)
        if (text.p[i] != '_')
            out[n++] = text.p[i];
    *line = (struct heft_bytes){out, n};
    return true;
}

bool heft_pickle_lenient_integer(struct heft_pickle_machine *m, struct heft_bytes *line)
{
    static const char *const befores[] = {"", "-", "0x", "-0x"};
    const struct heft_bytes zero = {(const uint8_t *)"0", 1};
    const bool is_nul =
        line->n && line->p[0] == 0 && m->p[m->op_at] == 'I'; /* strtol reads no digits: 0 */
    bool negative;
    struct heft_bytes text = take_sign(trim_line(*line), &negative);
    const unsigned base = take_base(&text);

    if (is_nul || ((base == 8 || base == 2) && are_digits(text, base)))
        return strip_digits(m, "", zero, line);
    return are_digits(text, base) &&
           strip_digits(m, befores[(base == 16) * 2 + negative], text, line);
}

/* Underscores between digits are removed; the rest is validated as in a strict run. */
bool heft_pickle_lenient_float(struct heft_pickle_machine *m, struct heft_bytes *line)
{
    const struct heft_bytes text = trim_line(*line);
    uint8_t *out = heft_arena_alloc(m->arena, text.n + 1, m->err);
    size_t n = 0;

    if (!out)
        return false;
    for (size_t i = 0; i < text.n; i++) {
        const bool between =
            i > 0 && i + 1 < text.n && is_digit(text.p[i - 1]) && is_digit(text.p[i + 1]);

        if (text.p[i] != '_' || !between)
            out[n++] = text.p[i];
    }
    *line = (struct heft_bytes){out, n};
    return true;
}

bool heft_pickle_lenient_index(struct heft_pickle_machine *m, struct heft_bytes *line)
{
    bool negative;
    const struct heft_bytes text = take_sign(trim_line(*line), &negative);

    return are_digits(text, 10) && strip_digits(m, "", text, line) &&
           (!negative || (line->n == 1 && line->p[0] == '0'));
}

/* ---- the memo beyond 32 bits ----------------------------------------------------------------- */

bool heft_pickle_put_large(struct heft_pickle_machine *m, struct heft_bytes index)
{
    const struct heft_str key = {(const char *)index.p, index.n};

    if (!heft_pickle_need(m, 1))
        return false;
    if (heft_pickle_memo_count(m) >= m->limits.nodes / 4) /* an entry takes more memory than a
                                                             node */
        return heft_pickle_fail(m, HEFT_LIMIT, "more than %" PRIu64 " memo entries beyond 2^32",
                                m->limits.nodes / 4);
    return heft_strmap_set(&m->large, key, heft_pickle_top(m, 0), m->err);
}

bool heft_pickle_get_large(struct heft_pickle_machine *m, struct heft_bytes index)
{
    const uint32_t node =
        heft_strmap_get(&m->large, (struct heft_str){(const char *)index.p, index.n});

    if (node == HEFT_MAP_NONE)
        return heft_pickle_fail(m, HEFT_MALFORMED, "this memo entry was never put");
    return heft_pickle_push(m, node);
}

/* ---- lines, names, states -------------------------------------------------------------------- */

bool heft_pickle_last_line(struct heft_pickle_machine *m, struct heft_bytes *line)
{
    const size_t left = m->n - m->at;

    *line = (struct heft_bytes){m->p + m->at, left ? left - 1 : 0};
    m->at = m->n;
    return true;
}

bool heft_pickle_is_nameless(struct heft_bytes module, struct heft_bytes name, uint8_t *why)
{
    *why = HEFT_PICKLE_LONG;
    return module.n > HEFT_PICKLE_NAME || name.n > HEFT_PICKLE_NAME;
}

bool heft_pickle_new_nameless(struct heft_pickle_machine *m, unsigned why)
{
    struct heft_pickle_node *node = heft_pickle_new(m, HEFT_PICKLE_GLOBAL);

    if (node)
        node->how = (uint8_t)why;
    return node != NULL;
}

#define STATES 1 /* value of `how` in a LIST that combines states */

bool heft_pickle_add_state(struct heft_pickle_machine *m, uint32_t node, uint32_t state)
{
    const uint32_t before = m->nodes[node].state;
    uint32_t states;

    if (heft_pickle_kind(m, before) == HEFT_PICKLE_LIST && m->nodes[before].how == STATES)
        return heft_pickle_add(m, before, &state, 1);
    if (!heft_pickle_make(m, HEFT_PICKLE_LIST, &states))
        return false;
    m->nodes[states].how = STATES;
    m->nodes[node].state = states;
    return heft_pickle_add(m, states, &before, 1) && heft_pickle_add(m, states, &state, 1);
}
