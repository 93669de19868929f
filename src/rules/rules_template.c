/* rules_template.c: matches names against templates, and makes names from them.
 *
 * Text and numbers match in one way; {p*} and words may in several, which are tried with backtracking: {p*} as long
 * as possible first, of words the longest. A name is as long as the model says, so that a search that goes on
 * remembers which (placeholder, position) failed: then the time is bounded by their number. That is only true where
 * no later placeholder has been bound before; a search that still takes too long is refused. */
#include "rules/rules_parts.h"

enum {
    MOST_PIECES = 2 * HEFT_RULES_SLOTS + 1,
    FEW_STEPS = 4096,      /* steps without memory */
    MOST_STEPS = 32 << 20, /* about a second */
    NUMBER_DIGITS = 19     /* of 2^63 - 1 */
};

struct matching {
    const struct heft_template *name;
    const struct heft_slot *slots;
    struct heft_str text;
    struct heft_slot_value *values;
    uint32_t bound;             /* slots with a value: bit i for slot i */
    size_t at[MOST_PIECES + 1]; /* where each piece begins */
    size_t choice[MOST_PIECES]; /* number of the next choice of each piece */
    bool binds[MOST_PIECES];    /* the piece has given its slot the value */
    bool is_free[MOST_PIECES];  /* no slot from this piece on is bound before it */
    uint8_t *failed;            /* bit for piece * (text.n + 1) + position; NULL: not needed yet */
    uint64_t steps;             /* choices that were looked at */
};

/* ---- one piece -------------------------------------------------------------------------------------------- */

static bool match_text(const struct matching *m, struct heft_str part, size_t at)
{
    return heft_str_starts((struct heft_str){m->text.p + at, m->text.n - at}, part);
}

/* A number as heft_template_make writes it. */
static bool match_number(const struct matching *m, const struct heft_piece *piece, size_t at,
                         uint64_t *value, size_t *end)
{
    uint64_t number = 0;
    size_t n = 0;

    for (; at + n < m->text.n && m->text.p[at + n] >= '0' && m->text.p[at + n] <= '9'; n++) {
        if (n == NUMBER_DIGITS)
            return false;
        number = number * 10 + (uint64_t)(m->text.p[at + n] - '0');
    }
    if (n == 0 || n < piece->digits || number >= HEFT_RULES_END)
        return false;
    if (n > 1 && n > piece->digits && m->text.p[at] == '0')
        return false;
    *value = number;
    *end = at + n;
    return true;
}

/* The next word that fits, from choice *k on: longest first. */
static bool match_word(struct matching *m, const struct heft_piece *piece, size_t at, size_t *k,
                       uint64_t *value, size_t *end)
{
    const struct heft_word_set *const set = m->slots[piece->slot].words;

    for (; *k < set->n; ++*k, m->steps++) {
        const uint32_t word = set->longest[piece->side][*k];

        if (match_text(m, set->spelling[piece->side][word], at)) {
            *value = word;
            *end = at + set->spelling[piece->side][word].n;
            ++*k;
            return true;
        }
    }
    return false;
}

/* The next end of {p*}, from choice *k on: longest first, and only where the text behind it fits. */
static bool match_any(struct matching *m, uint32_t i, size_t at, size_t *k, size_t *end)
{
    const bool is_last = i + 1 == m->name->n_pieces;
    const struct heft_str next = is_last ? HEFT_STR("") : m->name->pieces[i + 1].text;

    for (; *k <= m->text.n - at && (!is_last || *k == 0); ++*k, m->steps++) {
        *end = m->text.n - *k;
        if (match_text(m, next, *end)) {
            ++*k;
            return true;
        }
    }
    return false;
}

static bool is_value(const struct matching *m, uint8_t kind, uint32_t slot, uint64_t number,
                     struct heft_str text)
{
    return kind == HEFT_SLOT_ANY ? heft_str_eq(m->values[slot].text, text)
                                 : m->values[slot].number == number;
}

/* Tries the next choice of piece i; on success at[i + 1] is set. */
static bool next_choice(struct matching *m, uint32_t i)
{
    const struct heft_piece *const piece = &m->name->pieces[i];
    const size_t at = m->at[i];
    const uint32_t bit = piece->is_slot ? UINT32_C(1) << piece->slot : 0;

    if (m->binds[i])
        m->bound &= ~bit;
    m->binds[i] = false;
    for (;;) {
        const uint8_t kind = piece->is_slot ? m->slots[piece->slot].kind : 0;
        uint64_t number = 0;
        size_t end = at;
        bool ok;

        m->steps++;
        if (piece->is_slot && kind == HEFT_SLOT_WORD)
            ok = match_word(m, piece, at, &m->choice[i], &number, &end);
        else if (piece->is_slot && kind == HEFT_SLOT_ANY)
            ok = match_any(m, i, at, &m->choice[i], &end);
        else if (m->choice[i]++ > 0)
            ok = false;
        else if (piece->is_slot)
            ok = match_number(m, piece, at, &number, &end);
        else if ((ok = match_text(m, piece->text, at)))
            end = at + piece->text.n;
        if (!ok)
            return false;
        m->at[i + 1] = end;
        if (!piece->is_slot)
            return true;
        if (m->bound & bit) {
            if (is_value(m, kind, piece->slot, number, (struct heft_str){m->text.p + at, end - at}))
                return true;
            continue;
        }
        m->values[piece->slot].number = number;
        m->values[piece->slot].text = (struct heft_str){m->text.p + at, end - at};
        m->bound |= bit;
        m->binds[i] = true;
        return true;
    }
}

/* ---- the search --------------------------------------------------------------------------------------------- */

/* Bit of a piece at a position. */
static uint64_t memory_bit(const struct matching *m, uint32_t i, size_t at)
{
    return (uint64_t)i * (m->text.n + 1) + at;
}

static bool is_failed(const struct matching *m, uint32_t i, size_t at)
{
    const uint64_t bit = memory_bit(m, i, at);

    return m->failed && m->is_free[i] && m->failed[bit / 8] >> bit % 8 & 1;
}

static void remember_failure(struct matching *m, uint32_t i)
{
    const uint64_t bit = memory_bit(m, i, m->at[i]);

    if (m->failed && m->is_free[i])
        m->failed[bit / 8] |= (uint8_t)(1u << bit % 8);
}

/* Which pieces do not depend on what is before them. */
static void find_free(struct matching *m)
{
    for (uint32_t i = 0; i < m->name->n_pieces; i++) {
        uint32_t before = 0, after = 0;

        for (uint32_t k = 0; k < m->name->n_pieces; k++)
            if (m->name->pieces[k].is_slot && k < i)
                before |= UINT32_C(1) << m->name->pieces[k].slot;
            else if (m->name->pieces[k].is_slot)
                after |= UINT32_C(1) << m->name->pieces[k].slot;
        m->is_free[i] = !(before & after);
    }
}

/* Memory of a search that goes on; an end to one that takes too long. */
static bool bound_search(struct matching *m, struct heft_error *err)
{
    uint64_t bits;
    size_t bytes;

    if (m->steps > MOST_STEPS)
        return heft_fail(
            err, HEFT_LIMIT, HEFT_NO_OFFSET,
            "the name %.*s takes too long to compare with %.*s; words that begin alike "
            "have too many ways",
            heft_rules_shown(m->text), m->text.p, heft_rules_shown(m->name->text), m->name->text.p);
    if (m->failed || m->steps <= FEW_STEPS)
        return true;
    bits = memory_bit(m, m->name->n_pieces, 0);
    if (!heft_size(bits / 8 + 1, &bytes))
        return true;
    find_free(m);
    m->failed = heft_calloc(bytes, 1, err);
    return m->failed != NULL;
}

/* Whether piece i, at its begin, need not be tried. */
static bool is_hopeless(const struct matching *m, uint32_t i)
{
    return i == m->name->n_pieces ? m->at[i] != m->text.n : is_failed(m, i, m->at[i]);
}

static bool search_match(struct matching *m, bool *matches, struct heft_error *err)
{
    const uint32_t n = m->name->n_pieces;
    uint32_t i = 0;

    m->at[0] = 0;
    m->choice[0] = 0;
    while (i < n) {
        if (!bound_search(m, err))
            return false;
        if (!next_choice(m, i)) {
            remember_failure(m, i);
            if (i == 0)
                return true;
            i--;
        } else if (!is_hopeless(m, i + 1)) {
            i++;
            if (i < n)
                m->choice[i] = 0;
        }
    }
    *matches = m->at[n] == m->text.n; /* only an empty template comes here with another end */
    return true;
}

/* The search proper, whose state is large. */
static bool search_name(const struct heft_template *name, const struct heft_slot *slots,
                        struct heft_str text, struct heft_slot_value *values, bool *matches,
                        struct heft_error *err)
{
    struct matching m;
    bool ok;

    m.name = name;
    m.slots = slots;
    m.text = text;
    m.values = values;
    m.bound = 0;
    m.failed = NULL;
    m.steps = 0;
    memset(m.binds, 0, name->n_pieces * sizeof *m.binds);
    ok = search_match(&m, matches, err);
    heft_free(m.failed);
    return ok;
}

bool heft_template_match(const struct heft_template *name, const struct heft_slot *slots,
                         struct heft_str text, struct heft_slot_value *values, bool *matches,
                         struct heft_error *err)
{
    *matches = false;
    if (!heft_str_starts(text, name->prefix) || text.n < name->suffix.n ||
        !heft_str_eq((struct heft_str){text.p + (text.n - name->suffix.n), name->suffix.n},
                     name->suffix))
        return true;
    return search_name(name, slots, text, values, matches, err);
}

/* ---- making names ------------------------------------------------------------------------------------------- */

static void put_number(struct heft_buf *out, uint64_t number, uint8_t digits)
{
    uint64_t power = 1;

    for (uint8_t i = 1; i < digits; i++)
        power *= 10; /* at most 10^17 */
    for (; power > 1 && number < power; power /= 10)
        heft_buf_char(out, '0');
    heft_buf_u64(out, number);
}

static void put_value(struct heft_buf *out, const struct heft_piece *piece,
                      const struct heft_slot *slot, const struct heft_slot_value *value)
{
    if (slot->kind == HEFT_SLOT_NUMBER)
        put_number(out, value->number, piece->digits);
    else if (slot->kind == HEFT_SLOT_ANY)
        heft_buf_str(out, value->text);
    else
        heft_buf_str(out, slot->words->spelling[piece->side][value->number]);
}

bool heft_template_make(const struct heft_template *name, const struct heft_slot *slots,
                        const struct heft_slot_value *values, struct heft_arena *mem,
                        struct heft_str *out, struct heft_error *err)
{
    struct heft_buf text = {0};

    for (uint32_t i = 0; i < name->n_pieces; i++) {
        const struct heft_piece *const piece = &name->pieces[i];

        if (piece->is_slot)
            put_value(&text, piece, &slots[piece->slot], &values[piece->slot]);
        else
            heft_buf_str(&text, piece->text);
    }
    return heft_buf_take(&text, mem, out, err);
}
