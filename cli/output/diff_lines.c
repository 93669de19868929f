/* diff_lines.c: lines of a comparison. */
#include "output/diff_lines.h"

#include "output/value.h"

#include <stdio.h>
#include <string.h>

enum { MAX_VALUE = 200 }; /* bytes of a value that are printed */

static void put_shape(struct out *out, const struct heft_diff_side *side)
{
    out_char(out, '[');
    for (unsigned i = 0; i < side->rank; i++) {
        if (i)
            out_char(out, ',');
        out_u64(out, side->shape[i]);
    }
    out_char(out, ']');
}

const char *diff_type(const struct heft_diff_item *item, const struct heft_diff_side *side)
{
    return item->blob ? item->blob : heft_dtype_name(side->dtype);
}

static void put_single(struct out *out, const struct heft_diff_item *item)
{
    const bool only_a = item->kind == HEFT_DIFF_ONLY_A;
    const struct heft_diff_side *const side = only_a ? &item->a : &item->b;

    out_text(out, only_a ? "- " : "+ ");
    (void)out_name(out, item->name, item->name_len);
    out_text(out, "  ");
    out_text(out, diff_type(item, side));
    out_text(out, "  ");
    put_shape(out, side);
    out_char(out, '\n');
}

static void begin_line(struct out *out, const struct heft_diff_item *item, const char *what)
{
    out_text(out, "~ ");
    (void)out_name(out, item->name, item->name_len);
    out_text(out, what);
}

static void put_number(struct out *out, const char *before, double number)
{
    char text[64];

    snprintf(text, sizeof text, "%s%.6g", before, number);
    out_text(out, text);
}

static void put_count(struct out *out, uint64_t n, const char *after)
{
    if (!n)
        return;
    out_text(out, ", ");
    out_u64(out, n);
    out_text(out, after);
}

static void put_values(struct out *out, const struct heft_diff_item *item)
{
    begin_line(out, item, " values  ");
    if (item->is_counted) {
        out_u64(out, item->differing);
        out_text(out, " of ");
        out_u64(out, item->elements);
        out_char(out, ' ');
    }
    out_text(out, "differ");
    if (item->has_figures) {
        const struct heft_diff_side at = {item->a.dtype, item->a.rank, item->max_abs_at};

        put_number(out, ", max abs ", item->max_abs);
        out_text(out, " at ");
        put_shape(out, &at);
        put_number(out, ", mean abs ", item->mean_abs);
    }
    put_count(out, item->nan_a, " NaN in A");
    put_count(out, item->nan_b, " NaN in B");
    put_count(out, item->inf_a, " Inf in A");
    put_count(out, item->inf_b, " Inf in B");
    out_char(out, '\n');
}

static void put_lines(struct out *out, const struct heft_diff_item *item)
{
    if (item->a.dtype != item->b.dtype) {
        begin_line(out, item, " dtype ");
        out_text(out, diff_type(item, &item->a));
        out_text(out, " → ");
        out_text(out, diff_type(item, &item->b));
        out_char(out, '\n');
    }
    if (item->shape_differs) {
        begin_line(out, item, " shape ");
        put_shape(out, &item->a);
        out_text(out, " → ");
        put_shape(out, &item->b);
        out_char(out, '\n');
    }
    if (item->values_differ)
        put_values(out, item);
}

void print_diff_item(struct out *out, const struct heft_diff_item *item)
{
    (item->kind == HEFT_DIFF_BOTH ? put_lines : put_single)(out, item);
}

static void put_value(struct out *out, const char *value, size_t n)
{
    (void)out_name(out, value, n > MAX_VALUE ? MAX_VALUE : n);
    out_text(out, n > MAX_VALUE ? "…" : "");
}

void print_diff_pair(struct out *out, const struct heft_diff_pair *pair)
{
    static const char *const signs[] = {"- metadata ", "+ metadata ", "~ metadata "};

    out_text(out, signs[pair->kind]);
    (void)out_name(out, pair->key, pair->key_len);
    out_text(out, " = ");
    if (pair->a)
        put_value(out, pair->a, pair->a_len);
    if (pair->a && pair->b)
        out_text(out, " → ");
    if (pair->b)
        put_value(out, pair->b, pair->b_len);
    out_char(out, '\n');
}

/* Prints a leaf as JSON, in short; of a container only that it is one. */
static void put_leaf(struct out *out, const struct heft_value *value)
{
    if (value->kind == HEFT_VALUE_STRING) {
        put_value(out, value->text, value->text_len);
    } else if (value->first_child) {
        out_text(out, "{…}");
    } else {
        (void)json_value(out, value); /* without children it needs no memory */
        out->separate = false;
    }
}

void print_diff_value(struct out *out, const struct heft_diff_value *value)
{
    static const char *const signs[] = {"- value ", "+ value ", "~ value "};

    out_text(out, signs[value->kind]);
    (void)out_name(out, value->path, value->path_len);
    out_text(out, " = ");
    if (value->a)
        put_leaf(out, value->a);
    if (value->a && value->b)
        out_text(out, " → ");
    if (value->b)
        put_leaf(out, value->b);
    out_char(out, '\n');
}

void print_diff_counts(struct out *out, const struct heft_diff_counts *counts)
{
    out_u64(out, counts->equal);
    out_text(out, " equal, ");
    out_u64(out, counts->differ);
    out_text(out, " differ, ");
    out_u64(out, counts->only_a);
    out_text(out, " only in A, ");
    out_u64(out, counts->only_b);
    out_text(out, " only in B\n");
}
