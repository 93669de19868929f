/* array_text.c: numpy's layout of arrays (_formatArray of its arrayprint), without recursion.
 *
 *     [[[ 0  1]          a row of the last dimension: its brackets, and words that wrap;
 *       [ 2  3]]         as many newlines between two items of a dimension as brackets close
 *
 *      ...               instead of the items in the middle
 *
 *      [[ 6  7]
 *       [ 8  9]]] */
#include "output/array_text.h"

#include "output/element_format.h"

enum { LINE_WIDTH = 75, MAX_RANK = 256 };

struct printer {
    struct out *out;
    const struct array *array;
    struct element_format format;
    char line[LINE_WIDTH + MAX_RANK + 2 * MAX_WORD]; /* indentation, words and separators */
    size_t used, indent, width;
    size_t
        begin; /* of the line in `line`: brackets stand in place of the first line's indentation */
    size_t next; /* element */
};

/* Appends a word and a space to the line. If the word is too long for it, the line is printed
 * without its spaces at the end, and the word begins another. */
static void put_word(struct printer *p, const char *word, size_t n, bool is_last)
{
    if (p->used + n > p->width && p->used > p->indent) {
        while (p->used && p->line[p->used - 1] == ' ')
            p->used--;
        out_bytes(p->out, p->line + p->begin, p->used - p->begin);
        out_char(p->out, '\n');
        p->used = p->indent;
        p->begin = 0;
    }
    memcpy(p->line + p->used, word, n);
    p->used += n;
    if (!is_last)
        p->line[p->used++] = ' ';
}

/* Prints the words of a row, without brackets. */
static void put_row(struct printer *p)
{
    const struct array *const a = p->array;
    const uint64_t n = a->shape[a->rank - 1];
    char word[MAX_WORD];

    p->used = p->begin = p->indent;
    for (uint64_t i = 0; i < n; i++) {
        const size_t letters = element_word(word, &p->format, &a->elements[p->next++]);

        if (i == ARRAY_EDGE && a->is_cut[a->rank - 1])
            put_word(p, "...", 3, false);
        put_word(p, word, letters, i + 1 == n);
    }
    out_bytes(p->out, p->line + p->begin, p->used - p->begin);
}

/* Prints what stands between two items of dimension `axis`: newlines and indentation. */
static void put_gap(struct printer *p, unsigned axis)
{
    out_fill(p->out, '\n', p->array->rank - 1 - axis);
    out_fill(p->out, ' ', axis + 1);
}

/* Advances to the next row; returns the dimension whose index grew, rank after the last row. */
static unsigned next_row(const struct array *a, uint64_t *index)
{
    for (unsigned axis = a->rank - 1; axis > 0; axis--) {
        if (++index[axis - 1] < a->shape[axis - 1])
            return axis - 1;
        index[axis - 1] = 0;
    }
    return a->rank;
}

static void put_rows(struct printer *p)
{
    const struct array *const a = p->array;
    uint64_t index[MAX_RANK] = {0};
    unsigned axis;

    out_fill(p->out, '[', a->rank);
    for (;;) {
        put_row(p);
        out_char(p->out, ']');
        axis = next_row(a, index);
        if (axis == a->rank)
            break;
        out_fill(p->out, ']', a->rank - 2 - axis);
        put_gap(p, axis);
        if (a->is_cut[axis] && index[axis] == ARRAY_EDGE) {
            out_text(p->out, "...");
            put_gap(p, axis);
        }
        out_fill(p->out, '[', a->rank - 1 - axis);
    }
    out_fill(p->out, ']', a->rank - 1);
}

void print_array(struct out *out, const struct array *a)
{
    struct printer p = {.out = out, .array = a, .indent = a->rank};
    char word[MAX_WORD];

    if (a->rank == 0) {
        out_bytes(out, word, scalar_word(word, a->type, a->elements));
        return;
    }
    if (a->n == 0) {
        out_text(out, "[]");
        return;
    }
    p.width = a->rank < LINE_WIDTH ? LINE_WIDTH - a->rank : 0;
    memset(p.line, ' ', p.indent);
    p.format = element_format_of(a->elements, a->n, a->type);
    put_rows(&p);
}
