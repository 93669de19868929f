/* rules_names.c: names with placeholders, as templates:
 *
 *     {L}     a number, or a word of the set L if there is one     {L:3}   a number of at least 3 digits
 *     {p*}    any text                                             {{ }}   braces
 *
 * Which placeholders are words is known when all sets are read: until then each is a number or any text. */
#include "rules/rules_parts.h"

struct naming {
    struct heft_rules_reader *reader;
    struct heft_remap *mapping;
    struct heft_template *out;
    struct heft_piece *pieces;
    struct heft_buf text; /* text since the last placeholder */
    uint32_t line;
    uint32_t n_slots, n_any;
};

static bool refuse_name(const struct naming *n, const char *problem)
{
    return heft_rules_refuse(n->reader->rules, n->line, n->reader->err, "the name %.*s %s",
                             heft_rules_shown(n->out->text), n->out->text.p, problem);
}

static bool add_piece(struct naming *n, const struct heft_piece *piece)
{
    struct heft_piece *more =
        heft_reader_room(n->reader->mem, n->pieces, n->out->n_pieces, sizeof *more, n->reader->err);

    if (!more)
        return false;
    more[n->out->n_pieces++] = *piece;
    n->pieces = more;
    n->out->pieces = more;
    return true;
}

/* Makes the text since the last placeholder a piece. */
static bool flush_text(struct naming *n)
{
    struct heft_piece piece = {0};

    if (n->text.n == 0)
        return heft_buf_ok(&n->text, n->reader->err);
    return heft_buf_take(&n->text, n->reader->mem, &piece.text, n->reader->err) &&
           add_piece(n, &piece);
}

/* ---- placeholders -------------------------------------------------------------------------------------- */

/* Index of a placeholder of the mapping, which is added if it is new. */
static bool slot_index(struct heft_rules_reader *r, struct heft_remap *mapping,
                       struct heft_str name, uint8_t kind, uint32_t line, uint32_t *index)
{
    struct heft_slot *slots = (struct heft_slot *)(uintptr_t)mapping->slots; /* the reader's */

    for (*index = 0; *index < mapping->n_slots; ++*index)
        if (heft_str_is(name, slots[*index].name)) {
            if (slots[*index].kind == kind)
                return true;
            return heft_rules_refuse(r->rules, line, r->err,
                                     "found {%s} and {%s*} in one rule, expected one of them",
                                     slots[*index].name, slots[*index].name);
        }
    if (mapping->n_slots == HEFT_RULES_SLOTS)
        return heft_rules_refuse(r->rules, line, r->err,
                                 "found one more placeholder, expected at most %u in a rule",
                                 (unsigned)HEFT_RULES_SLOTS);
    slots = heft_reader_room(r->mem, slots, mapping->n_slots, sizeof *slots, r->err);
    if (!slots)
        return false;
    mapping->slots = slots;
    slots += mapping->n_slots;
    *slots = (struct heft_slot){.kind = kind, .variable = HEFT_RULES_NONE};
    slots->name = heft_arena_text(r->mem, name, r->err);
    mapping->n_slots++;
    return slots->name != NULL;
}

/* Reads what follows the identifier within braces: nothing, '*', or ':' and a number. */
static bool take_form(const struct naming *n, struct heft_str form, uint8_t *kind, uint8_t *digits)
{
    uint64_t width = 0;
    size_t at = 1;

    *kind = HEFT_SLOT_NUMBER;
    *digits = 0;
    if (form.n == 0)
        return true;
    if (heft_str_is(form, "*")) {
        *kind = HEFT_SLOT_ANY;
        return true;
    }
    for (; at < form.n && at < 4 && form.p[at] >= '0' && form.p[at] <= '9'; at++)
        width = width * 10 + (uint64_t)(form.p[at] - '0');
    if (form.p[0] != ':' || at < form.n || width == 0 || width > HEFT_RULES_DIGITS)
        return refuse_name(n, "has a placeholder that is none of {name}, {name*}, and {name:3} for "
                              "numbers of 3 digits (1 to 18)");
    *digits = (uint8_t)width;
    return true;
}

static bool check_slot(const struct naming *n, struct heft_str name, uint8_t kind)
{
    if (name.n == 0)
        return refuse_name(n, "has a placeholder without a name, expected one such as {L} or {p*}; "
                              "{{ and }} are braces");
    if (n->out->n_pieces && n->pieces[n->out->n_pieces - 1].is_slot)
        return refuse_name(n, "has two placeholders side by side, expected text between them");
    if (n->n_slots == HEFT_RULES_SLOTS)
        return refuse_name(n, "has more than 32 placeholders");
    if (kind == HEFT_SLOT_ANY && n->n_any)
        return refuse_name(n, "has two placeholders with *, expected at most one");
    return true;
}

/* Reads a placeholder; `inside` is the text between its braces. */
static bool take_slot(struct naming *n, struct heft_str inside, uint8_t side)
{
    const struct heft_str name = {inside.p, heft_identifier_length(inside)};
    const struct heft_str form = {inside.p + name.n, inside.n - name.n};
    struct heft_piece piece = {.is_slot = true, .side = side};
    uint8_t kind;

    if (!flush_text(n) || !take_form(n, form, &kind, &piece.digits) || !check_slot(n, name, kind) ||
        !slot_index(n->reader, n->mapping, name, kind, n->line, &piece.slot))
        return false;
    n->n_slots++;
    n->n_any += kind == HEFT_SLOT_ANY;
    return add_piece(n, &piece);
}

/* ---- names ----------------------------------------------------------------------------------------------- */

static bool take_pieces(struct naming *n, struct heft_str text, uint8_t side)
{
    for (size_t i = 0; i < text.n; i++) {
        const char c = text.p[i];
        const char *end;

        if (c != '{' && c != '}') {
            heft_buf_char(&n->text, c);
            continue;
        }
        if (i + 1 < text.n && text.p[i + 1] == c) {
            heft_buf_char(&n->text, c);
            i++;
            continue;
        }
        if (c == '}')
            return refuse_name(n, "has a } without {, expected }} for a brace");
        end = memchr(text.p + i, '}', text.n - i);
        if (!end)
            return refuse_name(n, "has a { without }, expected {{ for a brace");
        if (!take_slot(n, (struct heft_str){text.p + i + 1, (size_t)(end - text.p) - i - 1}, side))
            return false;
        i = (size_t)(end - text.p);
    }
    return flush_text(n);
}

/* Text at the ends of the name, by which most names are told apart. */
static void set_ends(struct heft_template *name)
{
    const struct heft_piece *const first = name->pieces;
    const struct heft_piece *const last = name->n_pieces ? &first[name->n_pieces - 1] : first;

    name->prefix = HEFT_STR("");
    name->suffix = HEFT_STR("");
    if (name->n_pieces && !first->is_slot)
        name->prefix = first->text;
    if (name->n_pieces && !last->is_slot)
        name->suffix = last->text;
}

bool heft_name_parse(struct heft_rules_reader *r, struct heft_remap *mapping, struct heft_str text,
                     uint32_t line, uint8_t side, struct heft_template *out)
{
    struct naming n = {.reader = r, .mapping = mapping, .out = out, .line = line};
    bool ok;

    *out = (struct heft_template){0};
    out->text.p = heft_arena_text(r->mem, text, r->err);
    out->text.n = text.n;
    if (!out->text.p)
        return false;
    n.text.budget = r->mem->budget;
    ok = take_pieces(&n, out->text, side);
    heft_buf_release(&n.text);
    set_ends(out);
    return ok;
}

bool heft_name_file_slot(struct heft_rules_reader *r, struct heft_remap *mapping,
                         const struct heft_rules_token *token, uint32_t *slot)
{
    const struct heft_str text = token->text;
    const struct heft_str inside = {text.p + 2, text.n - 2}; /* the token begins with @{ */
    const struct heft_str name = {inside.p, heft_identifier_length(inside)};

    if (name.n == 0 || name.n + 1 != inside.n || inside.p[name.n] != '}')
        return heft_rules_refuse(r->rules, token->line, r->err,
                                 "found %.*s, expected a number of the file such as @{s}",
                                 heft_rules_shown(text), text.p);
    return slot_index(r, mapping, name, HEFT_SLOT_NUMBER, token->line, slot);
}
