/* pattern_class.c: classes of split patterns: [a-z\p{N}], [^…], classes in classes, and
 * intersections with &&, whose sides are all items between two of them. */
#include "tokens/split/pattern_text.h"
#include "tokens/split/syntax_tree.h"

/* A class being read. */
struct open_class {
    struct heft_code_ranges part,
        before;                /* items since the last &&; intersection of those before */
    bool has_before, is_empty; /* is_empty: no item since the last && */
    size_t offset;             /* of its bracket */
};

/* Adds the other case of the ASCII letters of first … last; also U+017F, which folds to s, and
 * U+212A, which folds to k. */
static bool add_other_case(struct heft_code_ranges *set, uint32_t first, uint32_t last,
                           struct heft_error *err)
{
    for (uint32_t c = first; c <= last && c < 0x80; c++) {
        const uint32_t lower = c | 0x20;
        const uint32_t more = lower == 's' ? 0x17F : lower == 'k' ? 0x212A : c;

        if (lower >= 'a' && lower <= 'z' &&
            (!heft_code_ranges_add(set, c ^ 0x20, c ^ 0x20, err) ||
             !heft_code_ranges_add(set, more, more, err)))
            return false;
    }
    return true;
}

bool heft_pattern_add(struct heft_pattern_text *in, struct heft_code_ranges *set, uint32_t first,
                      uint32_t last, size_t offset)
{
    if (in->ignores_case && last >= 0x80)
        return heft_pattern_unsupported(in, offset, "a character beyond ASCII in (?i…)");
    return heft_code_ranges_add(set, first, last, in->err) &&
           (!in->ignores_case || add_other_case(set, first, last, in->err));
}

/* Reads the character that ends a range, after the hyphen. */
static bool read_range_end(struct heft_pattern_text *in, size_t offset, uint32_t *last)
{
    struct heft_code_ranges unused = {0};
    bool is_char = true, ok = true;

    if (heft_pattern_at_end(in) || heft_pattern_sees(in, "[-") || heft_pattern_starts(in, "&&"))
        return heft_pattern_unsupported(in, offset, "a range without a character at its end");
    if (heft_pattern_peek(in, 0) == '\\')
        ok = heft_pattern_escape(in, &unused, &is_char, last);
    else
        *last = heft_pattern_char(in);
    heft_code_ranges_release(&unused);
    return ok && (is_char ||
                  heft_pattern_unsupported(in, offset, "a range without a character at its end"));
}

/* Whether a hyphen follows that is not the last character of the class. */
static bool has_hyphen(const struct heft_pattern_text *in)
{
    return heft_pattern_peek(in, 0) == '-' && heft_pattern_peek(in, 1) != ']';
}

/* Adds a character, or the range that begins with it. */
static bool finish_range(struct heft_pattern_text *in, struct open_class *open, uint32_t first,
                         size_t offset)
{
    uint32_t last = first;

    if (first == '-' && in->text.p[offset] == '-') { /* a hyphen at the begin, or after a range */
        if (heft_pattern_peek(in, 0) == '-')
            return heft_pattern_unsupported(in, offset, "-- in a class");
    } else if (has_hyphen(in)) {
        in->at++;
        if (!read_range_end(in, offset, &last))
            return false;
    }
    if (last < first)
        return heft_pattern_malformed(in, offset, "has a range whose end is before its begin");
    return heft_pattern_add(in, &open->part, first, last, offset);
}

/* An escape in a class. */
static bool read_class_escape(struct heft_pattern_text *in, struct open_class *open)
{
    const size_t offset = in->at;
    uint32_t c = 0;
    bool is_char;

    if (!heft_pattern_escape(in, &open->part, &is_char, &c))
        return false;
    if (is_char)
        return finish_range(in, open, c, offset);
    if (in->ignores_case && !strchr("sSdD", in->text.p[offset + 1]))
        return heft_pattern_unsupported(in, offset, "\\p{…} in (?i…)");
    return !has_hyphen(in) ||
           heft_pattern_unsupported(in, offset, "a range without a character at its begin");
}

static bool read_class_item(struct heft_pattern_text *in, struct open_class *open, unsigned depth)
{
    const size_t offset = in->at;

    open->is_empty = false;
    if (heft_pattern_starts(in, "[:"))
        return heft_pattern_unsupported(in, offset, "a class of POSIX [:…:]");
    if (heft_pattern_peek(in, 0) == '[')
        return heft_pattern_class(in, &open->part, depth + 1);
    if (heft_pattern_peek(in, 0) == '\\')
        return read_class_escape(in, open);
    if (heft_pattern_starts(in, "~~"))
        return heft_pattern_unsupported(in, offset, "~~ in a class");
    return finish_range(in, open, heft_pattern_char(in), offset);
}

/* Ends a side of &&: intersects it with the sides before. */
static bool end_side(struct heft_pattern_text *in, struct open_class *open)
{
    if (open->is_empty)
        return heft_pattern_unsupported(in, in->at, "&& with an empty side");
    if (open->has_before && !heft_code_ranges_intersect(&open->part, &open->before, in->err))
        return false;
    heft_code_ranges_release(&open->before);
    open->before = open->part;
    open->part = (struct heft_code_ranges){0};
    open->has_before = true;
    open->is_empty = true;
    return true;
}

static bool read_class_items(struct heft_pattern_text *in, struct open_class *open, unsigned depth)
{
    do {
        if (heft_pattern_at_end(in))
            return heft_pattern_malformed(in, open->offset,
                                          "has a class without a closing bracket");
        if (heft_pattern_starts(in, "&&")) {
            if (!end_side(in, open))
                return false;
            in->at += 2;
        } else if (!read_class_item(in, open, depth))
            return false;
    } while (heft_pattern_peek(in, 0) != ']');
    if (!end_side(in, open))
        return false;
    in->at++;
    return true;
}

bool heft_pattern_class(struct heft_pattern_text *in, struct heft_code_ranges *set, unsigned depth)
{
    struct open_class open = {.offset = in->at++, .is_empty = true};
    bool is_negated, ok;

    if (depth > HEFT_SYNTAX_DEPTH)
        return heft_fail(in->err, HEFT_LIMIT, open.offset,
                         "split pattern has more than %d groups and classes within each other",
                         HEFT_SYNTAX_DEPTH);
    is_negated = heft_pattern_skip(in, "^");
    ok = read_class_items(in, &open, depth) &&
         (!is_negated || heft_code_ranges_negate(&open.before, in->err)) &&
         heft_code_ranges_unite(set, &open.before, in->err);
    heft_code_ranges_release(&open.part);
    heft_code_ranges_release(&open.before);
    return ok;
}
