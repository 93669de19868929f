/* vocab_pipeline.c: normalizer, pre_tokenizer, post_processor and decoder of a tokenizer.json.
 *
 *     {"type": "Sequence", "pretokenizers": [
 *         {"type": "Split", "pattern": {"Regex": "\\p{N}{1,3}"}, "behavior": "Isolated",
 *          "invert": false},
 *         {"type": "ByteLevel", "add_prefix_space": false, "use_regex": false}]}
 *
 * Each component is an object with a type; sequences of them may be nested. ByteLevel turns the text
 * to characters of GPT-2's alphabet, and must be the last pre-tokenizer. */
#include "tokens/vocab/vocab_json.h"

#include <stdio.h>

#include "tokens/vocab/families.h"

#define DEEPEST 8 /* levels of sequences in each other; published files have one */

/* ---- a component ------------------------------------------------------------------------- */

enum field {
    TYPE,
    ADD_PREFIX_SPACE,
    TRIM_OFFSETS,
    USE_REGEX,
    BEHAVIOR,
    INVERT,
    INDIVIDUAL_DIGITS,
    PATTERN,
    CHILDREN,
    FIELDS
};
static const char *const NAMES[] = {
    "type",     "add_prefix_space", "trim_offsets",      "use_regex",
    "behavior", "invert",           "individual_digits", "pattern"};

struct component {
    const struct stage *stage;
    char type[40];          /* "": none */
    uint64_t where[FIELDS]; /* offset of the value */
    unsigned seen, is_true; /* sets of fields */
    struct heft_str pattern;
    bool is_literal;
    enum heft_pretokens_behavior behavior;
    unsigned depth;
};

/* One of the four members of the document. */
struct stage {
    const char *children; /* name of the list in a sequence */
    bool is_fatal;        /* a component of another type affects decoding, too */
    bool (*settle)(struct heft_vocab_document *d, const struct component *c);
};

static bool has(const struct component *c, enum field field)
{
    return c->seen >> field & 1;
}

static bool is_true(const struct component *c, enum field field)
{
    return c->is_true >> field & 1;
}

/* Refuses the component for "PATH.NAME VALUE". */
static bool refuse_field(struct heft_vocab_document *d, const struct component *c, enum field field,
                         const char *value)
{
    char what[sizeof d->path + 100];

    snprintf(what, sizeof what, "%s.%s%s is not supported", d->path, NAMES[field], value);
    return heft_document_refuse(d, c->where[field], what, c->stage->is_fatal);
}

static bool refuse_type(struct heft_vocab_document *d, const struct component *c, const char *why)
{
    char value[64];

    snprintf(value, sizeof value, " \"%s\"%s", c->type, why);
    return refuse_field(d, c, TYPE, value);
}

static bool refuse_missing(struct heft_vocab_document *d, const struct component *c,
                           unsigned fields)
{
    char what[sizeof d->path + 40];
    enum field field = TYPE;

    while (!(fields >> field & 1))
        field++;
    snprintf(what, sizeof what, "no %s.%s", d->path,
             field == CHILDREN ? c->stage->children : NAMES[field]);
    return heft_document_refuse(d, HEFT_NO_OFFSET, what, c->stage->is_fatal);
}

/* Compares the fields of a component with those of its type. */
static bool check_fields(struct heft_vocab_document *d, const struct component *c, unsigned needed,
                         unsigned allowed)
{
    const unsigned others = c->seen & ~(needed | allowed | 1U << TYPE);
    enum field field = TYPE;

    if (needed & ~c->seen)
        return refuse_missing(d, c, needed & ~c->seen);
    if (others == 0)
        return true;
    while (!(others >> field & 1))
        field++;
    return field == CHILDREN ? refuse_type(d, c, " with components of its own")
                             : refuse_field(d, c, field, "");
}

/* ---- reading the fields ------------------------------------------------------------------ */

static bool read_component(struct heft_vocab_document *d, const struct stage *stage,
                           unsigned depth);

/* {"Regex": "…"} or {"String": "…"} */
static bool read_pattern(struct heft_vocab_document *d, enum heft_json_token token,
                         struct component *c)
{
    if (token != HEFT_JSON_OBJECT)
        return heft_document_refuse_value(d, token, false);
    while ((token = heft_json_next(&d->json)) == HEFT_JSON_KEY) {
        const size_t at = heft_document_enter(d, d->json.text);
        const bool is_regex = heft_str_is(d->json.text, "Regex");
        const bool is_known = is_regex || heft_str_is(d->json.text, "String");

        token = heft_json_next(&d->json);
        if (!is_known || token != HEFT_JSON_STRING || d->json.text.n == 0 || c->pattern.p) {
            if (!heft_document_refuse_value(d, token, false))
                return false;
        } else {
            c->is_literal = !is_regex;
            c->pattern.n = d->json.text.n;
            c->pattern.p = heft_arena_text(&d->r->v->mem, d->json.text, d->r->err);
            if (!c->pattern.p)
                return false;
        }
        heft_document_leave(d, at);
    }
    return token == HEFT_JSON_OBJECT_END &&
           (c->pattern.p ||
            heft_document_refuse(d, d->json.where, "a Split without a pattern", false));
}

static bool read_behavior(struct heft_vocab_document *d, enum heft_json_token token,
                          struct component *c)
{
    static const char *const BEHAVIORS[] = {"Isolated", "Removed", "MergedWithPrevious",
                                            "MergedWithNext", "Contiguous"};

    for (size_t i = 0; token == HEFT_JSON_STRING && i < HEFT_COUNT(BEHAVIORS); i++)
        if (heft_str_is(d->json.text, BEHAVIORS[i])) {
            c->behavior = (enum heft_pretokens_behavior)i;
            return true;
        }
    return heft_document_refuse_value(d, token, false);
}

static bool read_type(struct heft_vocab_document *d, enum heft_json_token token,
                      struct component *c)
{
    if (token != HEFT_JSON_STRING)
        return heft_document_refuse_value(d, token, c->stage->is_fatal);
    snprintf(c->type, sizeof c->type, "%.*s", (int)heft_min_size(d->json.text.n, 38),
             d->json.text.p);
    return true;
}

static bool read_children(struct heft_vocab_document *d, enum heft_json_token token,
                          struct component *c)
{
    size_t i = 0;

    if (token != HEFT_JSON_ARRAY || c->depth == DEEPEST)
        return heft_document_refuse_value(d, token, c->stage->is_fatal);
    while ((token = heft_json_next(&d->json)) != HEFT_JSON_ARRAY_END) {
        const size_t at = heft_document_enter_index(d, i++);
        const bool ok = token == HEFT_JSON_OBJECT
                            ? read_component(d, c->stage, c->depth + 1)
                            : heft_document_refuse_value(d, token, c->stage->is_fatal);

        if (!ok)
            return false;
        heft_document_leave(d, at);
    }
    return true;
}

static bool read_field(struct heft_vocab_document *d, enum heft_json_token token,
                       struct component *c, enum field field)
{
    bool value;

    switch (field) {
    case TYPE:
        return read_type(d, token, c);
    case BEHAVIOR:
        return read_behavior(d, token, c);
    case PATTERN:
        return read_pattern(d, token, c);
    case CHILDREN:
        return read_children(d, token, c);
    default:
        if (!heft_document_bool(d, token, &value))
            return false;
        c->is_true |= value ? 1U << field : 0;
        return true;
    }
}

static enum field field_named(const struct component *c, struct heft_str name)
{
    enum field field = TYPE;

    if (heft_str_is(name, c->stage->children))
        return CHILDREN;
    while (field < CHILDREN && !heft_str_is(name, NAMES[field]))
        field++;
    return field < CHILDREN ? field : FIELDS;
}

static bool read_member(struct heft_vocab_document *d, struct component *c)
{
    const uint64_t where = d->json.where;
    const enum field field = field_named(c, d->json.text);
    const size_t at = heft_document_enter(d, d->json.text);
    const enum heft_json_token token = heft_json_next(&d->json);
    bool ok;

    if (token == HEFT_JSON_ERROR)
        return false;
    if (field == FIELDS) {
        ok = heft_document_refuse_value(d, token, false);
    } else {
        if (has(c, field))
            return heft_fail(d->r->err, HEFT_MALFORMED, where, "duplicate key %s", d->path);
        c->seen |= 1U << field;
        c->where[field] = d->json.where;
        ok = read_field(d, token, c, field);
    }
    heft_document_leave(d, at);
    return ok;
}

/* Reads a component after its opening brace. */
static bool read_component(struct heft_vocab_document *d, const struct stage *stage, unsigned depth)
{
    struct component c = {.stage = stage, .depth = depth};
    enum heft_json_token token;

    while ((token = heft_json_next(&d->json)) == HEFT_JSON_KEY)
        if (!read_member(d, &c))
            return false;
    if (token != HEFT_JSON_OBJECT_END)
        return false;
    if (!c.type[0])
        return refuse_missing(d, &c, 1U << TYPE);
    if (strcmp(c.type, "Sequence") == 0)
        return check_fields(d, &c, 1U << CHILDREN, 0);
    return stage->settle(d, &c);
}

static bool read_stage(struct heft_vocab_document *d, enum heft_json_token token,
                       const struct stage *stage)
{
    return token == HEFT_JSON_OBJECT ? read_component(d, stage, 0)
                                     : heft_document_refuse_value(d, token, stage->is_fatal);
}

/* ---- normalizer -------------------------------------------------------------------------- */

static bool settle_normalizer(struct heft_vocab_document *d, const struct component *c)
{
    if (strcmp(c->type, "NFC") != 0)
        return refuse_type(d, c, "");
    d->is_nfc = true;
    return check_fields(d, c, 0, 0);
}

bool heft_document_normalizer(struct heft_vocab_document *d, enum heft_json_token token)
{
    static const struct stage NORMALIZER = {"normalizers", false, settle_normalizer};

    return token == HEFT_JSON_NULL || read_stage(d, token, &NORMALIZER);
}

/* ---- pre_tokenizer ----------------------------------------------------------------------- */

static bool add_step(struct heft_vocab_document *d, struct heft_str pattern, bool is_literal,
                     enum heft_pretokens_behavior behavior, bool invert)
{
    if (d->n_steps == HEFT_PRETOKENS_STEPS)
        return heft_fail(d->r->err, HEFT_LIMIT, d->json.where, "pre_tokenizer: more than %d steps",
                         HEFT_PRETOKENS_STEPS);
    d->steps[d->n_steps++] =
        (struct heft_pretokens_step){pattern, is_literal, HEFT_ENGINE_TOKENIZERS, behavior, invert};
    return true;
}

static bool settle_byte_level(struct heft_vocab_document *d, const struct component *c)
{
    if (!check_fields(d, c, 1U << ADD_PREFIX_SPACE, 1U << TRIM_OFFSETS | 1U << USE_REGEX))
        return false;
    d->has_bytes = d->has_byte_level = true;
    if (is_true(c, ADD_PREFIX_SPACE))
        return refuse_field(d, c, ADD_PREFIX_SPACE, " true");
    if (!has(c, USE_REGEX) || is_true(c, USE_REGEX))
        return add_step(d, HEFT_STR(HEFT_GPT2_PATTERN), false, HEFT_BEHAVIOR_ISOLATED, false);
    return d->n_steps > 0 || refuse_field(d, c, USE_REGEX, " false without another pre-tokenizer");
}

static bool settle_split(struct heft_vocab_document *d, const struct component *c)
{
    return check_fields(d, c, 1U << PATTERN | 1U << BEHAVIOR | 1U << INVERT, 0) &&
           add_step(d, c->pattern, c->is_literal, c->behavior, is_true(c, INVERT));
}

static bool settle_digits(struct heft_vocab_document *d, const struct component *c)
{
    return check_fields(d, c, 1U << INDIVIDUAL_DIGITS, 0) &&
           add_step(d, HEFT_STR(HEFT_DIGITS_PATTERN), false,
                    is_true(c, INDIVIDUAL_DIGITS) ? HEFT_BEHAVIOR_ISOLATED
                                                  : HEFT_BEHAVIOR_CONTIGUOUS,
                    false);
}

static bool settle_pre_tokenizer(struct heft_vocab_document *d, const struct component *c)
{
    static const struct {
        const char *type;
        bool (*settle)(struct heft_vocab_document *d, const struct component *c);
    } TYPES[] = {
        {"ByteLevel", settle_byte_level}, {"Split", settle_split}, {"Digits", settle_digits}};

    for (size_t i = 0; i < HEFT_COUNT(TYPES); i++)
        if (strcmp(c->type, TYPES[i].type) == 0)
            return d->has_byte_level ? refuse_type(d, c, " after ByteLevel")
                                     : TYPES[i].settle(d, c);
    return refuse_type(d, c, "");
}

bool heft_document_pre_tokenizer(struct heft_vocab_document *d, enum heft_json_token token)
{
    static const struct stage PRE_TOKENIZER = {"pretokenizers", false, settle_pre_tokenizer};

    return read_stage(d, token, &PRE_TOKENIZER);
}

/* ---- post_processor, decoder ------------------------------------------------------------- */

/* A post-processor puts tokens around a text, and never changes those of the text. */
static bool judge_post(struct heft_vocab_document *d, enum heft_json_token token)
{
    static const char *const TYPES[] = {"RobertaProcessing", "BertProcessing",
                                        "TemplateProcessing"};
    const struct heft_str type = d->json.text;

    if (token == HEFT_JSON_STRING &&
        (heft_str_is(type, "ByteLevel") || heft_str_is(type, "Sequence")))
        return true;
    for (size_t i = 0; token == HEFT_JSON_STRING && i < HEFT_COUNT(TYPES); i++)
        if (heft_str_is(type, TYPES[i])) {
            d->r->v->remarks[HEFT_REMARK_POST] =
                "post_processor is not followed: no tokens are put before or after texts";
            return true;
        }
    return heft_document_refuse_value(d, token, false);
}

static bool read_post(struct heft_vocab_document *d, enum heft_json_token token, unsigned depth);

static bool read_posts(struct heft_vocab_document *d, unsigned depth)
{
    enum heft_json_token token;
    size_t i = 0;

    while ((token = heft_json_next(&d->json)) != HEFT_JSON_ARRAY_END) {
        const size_t at = heft_document_enter_index(d, i++);

        if (!read_post(d, token, depth))
            return false;
        heft_document_leave(d, at);
    }
    return true;
}

static bool read_post(struct heft_vocab_document *d, enum heft_json_token token, unsigned depth)
{
    if (token != HEFT_JSON_OBJECT || depth > DEEPEST)
        return heft_document_refuse_value(d, token, false);
    while ((token = heft_json_next(&d->json)) == HEFT_JSON_KEY) {
        const struct heft_str name = d->json.text;
        const size_t at = heft_document_enter(d, name);
        bool ok;

        token = heft_json_next(&d->json);
        if (heft_str_is(name, "type"))
            ok = judge_post(d, token);
        else if (heft_str_is(name, "processors") && token == HEFT_JSON_ARRAY)
            ok = read_posts(d, depth + 1);
        else
            ok = heft_document_pass(d, token);
        if (!ok)
            return false;
        heft_document_leave(d, at);
    }
    return token == HEFT_JSON_OBJECT_END;
}

bool heft_document_post_processor(struct heft_vocab_document *d, enum heft_json_token token)
{
    return token == HEFT_JSON_NULL || read_post(d, token, 0);
}

static bool settle_decoder(struct heft_vocab_document *d, const struct component *c)
{
    if (strcmp(c->type, "ByteLevel") != 0)
        return refuse_type(d, c, "");
    d->has_bytes = d->has_decoder = true;
    return true;
}

bool heft_document_decoder(struct heft_vocab_document *d, enum heft_json_token token)
{
    static const struct stage DECODER = {"decoders", true, settle_decoder};

    return token == HEFT_JSON_NULL || read_stage(d, token, &DECODER);
}

/* ---- the whole --------------------------------------------------------------------------- */

bool heft_document_settle_pipeline(struct heft_vocab_document *d)
{
    struct heft_vocab *const v = d->r->v;

    if (!d->has_decoder)
        v->remarks[HEFT_REMARK_DECODER] =
            "decoder null is not followed: ids are decoded as bytes, not as words";
    if (!d->has_byte_level &&
        !heft_document_refuse(d, HEFT_NO_OFFSET, "no pre_tokenizer ByteLevel", false))
        return false;
    if (!d->has_bytes)
        return heft_document_refuse(d, HEFT_NO_OFFSET,
                                    "neither pre_tokenizer nor decoder ByteLevel", true);
    if (v->refusal.code == HEFT_OK &&
        !heft_vocab_take_steps(d->r, "tokenizer.json", d->steps, d->n_steps, d->is_nfc))
        return false;
    heft_vocab_ignore_stated(d->r);
    return true;
}
