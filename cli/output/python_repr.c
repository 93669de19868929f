/* python_repr.c: values of checkpoints as Python prints them.
 *
 *     {'lr': 0.001, 'betas': (0.9, 0.999), 'amp': True}
 *     argparse.Namespace with its members          Namespace(lr=0.001, resume=None)
 *     an object of a class that heft never imports  mypackage.Config(hidden=4)
 *
 * A stack on the heap replaces recursion: the depth is that of an untrusted file. */
#include "output/python_repr.h"

#include "output/element_format.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- texts ------------------------------------------------------------------------------- */

/* Characters that str.isprintable() rejects: controls, formats, separators other than the space,
 * surrogates, private use. Unassigned ones differ from release to release and are printed. */
static const struct {
    int32_t first, last;
} unprintable[] = {
    {0x00, 0x1f},       {0x7f, 0xa0},       {0xad, 0xad},        {0x600, 0x605},
    {0x61c, 0x61c},     {0x6dd, 0x6dd},     {0x70f, 0x70f},      {0x890, 0x891},
    {0x8e2, 0x8e2},     {0x1680, 0x1680},   {0x180e, 0x180e},    {0x2000, 0x200f},
    {0x2028, 0x202f},   {0x205f, 0x2064},   {0x2066, 0x206f},    {0x3000, 0x3000},
    {0xd800, 0xf8ff},   {0xfeff, 0xfeff},   {0xfff9, 0xfffb},    {0x110bd, 0x110bd},
    {0x110cd, 0x110cd}, {0x13430, 0x13438}, {0x1bca0, 0x1bca3},  {0x1d173, 0x1d17a},
    {0xe0001, 0xe0001}, {0xe0020, 0xe007f}, {0xf0000, 0x10ffff},
};

static bool is_printable(int32_t code)
{
    size_t i = 0;

    while (i < sizeof unprintable / sizeof *unprintable && unprintable[i].last < code)
        i++;
    return i == sizeof unprintable / sizeof *unprintable || code < unprintable[i].first;
}

/* Writes \n, \t, \r, \xff, \uffff or \U0001ffff. */
static void out_escape(struct out *out, int32_t code)
{
    static const char named[] = "\nn\tt\rr";
    char text[16];

    for (size_t i = 0; named[i]; i += 2)
        if (code == named[i]) {
            out_char(out, '\\');
            out_char(out, named[i + 1]);
            return;
        }
    snprintf(text, sizeof text,
             code > 0xffff ? "\\U%08" PRIx32
             : code > 0xff ? "\\u%04" PRIx32
                           : "\\x%02" PRIx32,
             (uint32_t)code);
    out_text(out, text);
}

/* Both texts and bytes are in quotes of the kind that they do not contain. */
static char quote_for(const char *text, size_t n)
{
    return n && memchr(text, '\'', n) && !memchr(text, '"', n) ? '"' : '\'';
}

static void out_quoted_char(struct out *out, int32_t code, char quote, const char *text, size_t n)
{
    if (code == quote || code == '\\')
        out_char(out, '\\');
    if (code >= 0 && is_printable(code))
        out_bytes(out, text, n);
    else
        out_escape(out, code < 0 ? (unsigned char)*text : code);
}

void out_python_text(struct out *out, const char *text, size_t n)
{
    const char quote = quote_for(text, n);
    size_t size;

    out_char(out, quote);
    for (size_t at = 0; at < n; at += size) {
        const int32_t code = utf8_next(text + at, n - at, &size);
        out_quoted_char(out, code, quote, text + at, size);
    }
    out_char(out, quote);
}

static void out_python_bytes(struct out *out, const char *bytes, size_t n)
{
    const char quote = quote_for(bytes, n);

    out_char(out, 'b');
    out_char(out, quote);
    for (size_t i = 0; i < n; i++) {
        const unsigned char byte = (unsigned char)bytes[i];
        out_quoted_char(out, byte < 0x80 ? byte : -1, quote, bytes + i, 1);
    }
    out_char(out, quote);
}

/* ---- numbers ----------------------------------------------------------------------------- */

void out_python_float(struct out *out, double number)
{
    static const struct element_type type = {ELEMENT_FLOAT, FLOAT_64, 8};
    char word[MAX_WORD];

    out_bytes(out, word, scalar_word(word, type, &(struct element){.as.f = number}));
}

static void out_python_integer(struct out *out, int64_t number)
{
    if (number < 0)
        out_char(out, '-');
    out_u64(out, number < 0 ? 0 - (uint64_t)number : (uint64_t)number);
}

/* Python refuses to convert integers of more than 4300 digits to decimals, too. */
enum { BIG_HEX = 3571, BIG_LIMBS = 480, LIMB = 1000000000 };

static void out_decimal(struct out *out, const char *hex, size_t n)
{
    uint32_t limbs[BIG_LIMBS] = {0};
    size_t used = 1;
    char text[16];

    for (size_t i = 0; i < n; i++) {
        const char *const digits = "0123456789abcdef";
        const char *const digit = strchr(digits, hex[i]);
        uint64_t carry = digit ? (uint64_t)(digit - digits) : 0;

        for (size_t k = 0; k < used; k++) {
            carry += (uint64_t)limbs[k] * 16;
            limbs[k] = (uint32_t)(carry % LIMB);
            carry /= LIMB;
        }
        if (carry)
            limbs[used++] = (uint32_t)carry;
    }
    for (size_t k = used; k > 0; k--) {
        snprintf(text, sizeof text, k == used ? "%" PRIu32 : "%09" PRIu32, limbs[k - 1]);
        out_text(out, text);
    }
}

/* The text is [-]0x…, in lower case. */
static void out_big_integer(struct out *out, const struct heft_value *v)
{
    const size_t sign = v->text_len && v->text[0] == '-', prefix = sign + 2;

    if (v->text_len < prefix || v->text_len - prefix > BIG_HEX) {
        (void)out_name(out, v->text, v->text_len);
        return;
    }
    out_text(out, sign ? "-" : "");
    out_decimal(out, v->text + prefix, v->text_len - prefix);
}

/* ---- values ------------------------------------------------------------------------------ */

static const char *class_name(const struct heft_value *v)
{
    if (!v->type_name)
        return "";
    return strcmp(v->type_name, "argparse.Namespace") ? v->type_name : "Namespace";
}

static void out_tagged(struct out *out, const char *before, const char *text, size_t n,
                       const char *after)
{
    out_text(out, before);
    (void)out_name(out, text, n);
    out_text(out, after);
}

static bool is_container(const struct heft_value *v)
{
    return v->kind == HEFT_VALUE_LIST || v->kind == HEFT_VALUE_TUPLE || v->kind == HEFT_VALUE_SET ||
           v->kind == HEFT_VALUE_DICT || v->kind == HEFT_VALUE_OPAQUE;
}

static void out_python_scalar(struct out *out, const struct heft_value *v)
{
    switch (v->kind) {
    case HEFT_VALUE_BOOL:
        out_text(out, v->as.boolean ? "True" : "False");
        return;
    case HEFT_VALUE_INT:
        out_python_integer(out, v->as.integer);
        return;
    case HEFT_VALUE_BIGINT:
        out_big_integer(out, v);
        return;
    case HEFT_VALUE_FLOAT:
        out_python_float(out, v->as.number);
        return;
    case HEFT_VALUE_STRING:
        out_python_text(out, v->text, v->text_len);
        return;
    case HEFT_VALUE_BYTES:
        out_python_bytes(out, v->text, v->text_len);
        return;
    case HEFT_VALUE_TENSOR:
        out_tagged(out, "<tensor ", v->text, v->text_len, ">");
        return;
    case HEFT_VALUE_GLOBAL:
        out_tagged(out, "<class '", class_name(v), strlen(class_name(v)), "'>");
        return;
    default:
        out_text(out, "None");
    }
}

/* complex(1, 2) of the pickle is the value (1+2j). */
static bool out_complex(struct out *out, const struct heft_value *v)
{
    static const struct element_type type = {ELEMENT_COMPLEX, FLOAT_64, 16};
    const struct heft_value *const args = v->first_child;
    const struct heft_value *const real = args ? args->first_child : NULL;
    const struct heft_value *const imaginary = real ? real->next_sibling : NULL;
    char word[MAX_WORD];

    if (strcmp(class_name(v), "builtins.complex") != 0 || !imaginary || imaginary->next_sibling ||
        args->next_sibling || real->kind != HEFT_VALUE_FLOAT || imaginary->kind != HEFT_VALUE_FLOAT)
        return false;
    out_bytes(
        out, word,
        scalar_word(word, type,
                    &(struct element){.as.f = real->as.number, .imaginary = imaginary->as.number}));
    return true;
}

struct level {
    const struct heft_value *next;
    const char *close;
    bool has_keys, is_call, is_tuple;
    size_t n; /* members begun */
};

struct walk {
    struct level *levels;
    size_t n, cap;
};

/* Whether the members have keys of their own, and not the indexes 0, 1, 2 … */
static bool has_keys(const struct heft_value *v)
{
    const struct heft_value *const first = v->first_child;

    return v->kind == HEFT_VALUE_DICT || (v->kind == HEFT_VALUE_OPAQUE && first &&
                                          !(first->key_len == 1 && first->key[0] == '0'));
}

static struct level level_of(const struct heft_value *v)
{
    const bool is_call = v->type_name || v->kind == HEFT_VALUE_OPAQUE;
    struct level level = {.next = v->first_child, .has_keys = has_keys(v), .is_call = is_call};

    level.is_tuple = !is_call && v->kind == HEFT_VALUE_TUPLE;
    level.close = is_call || level.is_tuple                      ? ")"
                  : v->kind == HEFT_VALUE_LIST                   ? "]"
                  : v->kind == HEFT_VALUE_SET && !v->first_child ? ")"
                                                                 : "}";
    return level;
}

static bool open_value(struct out *out, struct walk *walk, const struct heft_value *v)
{
    const struct level level = level_of(v);

    if (walk->n == walk->cap) {
        const size_t cap = walk->cap ? walk->cap * 2 : 32;
        struct level *const levels = realloc(walk->levels, cap * sizeof *levels);
        if (!levels)
            return false;
        walk->levels = levels;
        walk->cap = cap;
    }
    walk->levels[walk->n++] = level;
    if (level.is_call)
        (void)out_name(out, class_name(v), strlen(class_name(v)));
    else if (v->kind == HEFT_VALUE_SET && !v->first_child)
        out_text(out, "set");
    out_char(out, *level.close == ')' ? '(' : *level.close == ']' ? '[' : '{');
    if (v->kind == HEFT_VALUE_OPAQUE && v->text)
        out_python_bytes(out, v->text, v->text_len);
    return true;
}

/* Prints a value without members, or opens it. */
static bool begin_value(struct out *out, struct walk *walk, const struct heft_value *v)
{
    if (v->kind == HEFT_VALUE_OPAQUE && out_complex(out, v))
        return true;
    if (is_container(v))
        return open_value(out, walk, v);
    out_python_scalar(out, v);
    return true;
}

static void begin_member(struct out *out, const struct level *level, const struct heft_value *m)
{
    out_text(out, level->n > 1 ? ", " : "");
    if (!level->has_keys)
        return;
    if (level->is_call) {
        (void)out_name(out, m->key, m->key_len);
        out_char(out, '=');
    } else {
        out_python_text(out, m->key, m->key_len);
        out_text(out, ": ");
    }
}

bool out_python_value(struct out *out, const struct heft_value *value)
{
    struct walk walk = {.n = 0};
    bool fine = begin_value(out, &walk, value);

    while (fine && walk.n) {
        struct level *const level = &walk.levels[walk.n - 1];
        const struct heft_value *const m = level->next;

        if (!m) {
            out_text(out, level->is_tuple && level->n == 1 ? "," : "");
            out_text(out, level->close);
            walk.n--;
            continue;
        }
        level->next = m->next_sibling;
        level->n++;
        begin_member(out, level, m);
        fine = begin_value(out, &walk, m);
    }
    free(walk.levels);
    return fine;
}
