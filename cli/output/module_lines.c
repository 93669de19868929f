/* module_lines.c: the tree of modules for people.
 *
 *     embed.weight                      6   24 B  F32  [3,2]
 *     layers.0 … layers.3  (4 ×)        9   36 B  F32          figures of one of the four
 *       weight                          6   24 B  F32  [2,3]
 *       bias                            3   12 B  F32  [3]
 *     5 tensors, 42 parameters, 168 B
 *
 * Two passes over the nodes: widths, then lines. A module whose members are all folded into one
 * line is printed in that line ("layers" above). */
#include "output/module_lines.h"

#include "output/dims.h"

#include <string.h>

enum { MAX_LABEL = 64, MAX_DTYPES = 4 };

struct widths {
    size_t label, parameters, bytes, dtypes;
};

uint64_t module_parts(const struct heft_module *m)
{
    const char *at = m->name, *const end = m->name + m->name_len;
    uint64_t n = 1;

    while (at < end && (at = memchr(at, m->separator, (size_t)(end - at))) != NULL) {
        at++;
        n++;
    }
    return n;
}

size_t module_prefix(const char *name, size_t len, char separator, uint64_t n)
{
    for (size_t i = 0; i < len; i++)
        if (name[i] == separator && --n == 0)
            return i;
    return len;
}

/* ---- walking ----------------------------------------------------------------------------- */

/* A line: a node, and the module above it if that is printed in the same line. */
struct line {
    const struct module_view *view;
    struct heft_module m, above;
    bool is_joined;
    uint64_t before; /* components above the line */
    uint64_t level;  /* indentation */
    uint64_t shown;  /* components of m's name that are shown */
};

/* Whether a module is printed in the line of its only member. */
static bool is_joined(const struct module_view *view, const struct heft_module *m, uint64_t end)
{
    struct heft_module child = HEFT_INIT(struct heft_module);

    return m->tensor == HEFT_NO_MODULE && m->count == 1 && m->parent != HEFT_NO_MODULE &&
           end < view->depth && heft_modules_at(view->modules, m->first_child, &child) &&
           child.next == HEFT_NO_MODULE;
}

typedef void line_fn(void *ctx, const struct line *line);

/* Calls each() for every line. */
static void each_line(const struct module_view *view, line_fn *each, void *ctx)
{
    struct line line = {
        .view = view, .m = HEFT_INIT(struct heft_module), .above = HEFT_INIT(struct heft_module)};
    struct heft_module m = HEFT_INIT(struct heft_module);
    uint64_t end;

    (void)heft_modules_at(view->modules, 0, &m);
    (void)heft_modules_at(view->modules, m.first_child, &line.m);
    if (m.first_child == HEFT_NO_MODULE)
        return;
    for (;;) {
        const uint64_t parts = module_parts(&line.m);

        end = line.before + parts;
        if (!is_joined(view, &line.m, end)) {
            line.shown = end > view->depth ? view->depth - line.before : parts;
            (void)heft_modules_at(view->modules, line.m.parent, &line.above);
            line.is_joined = is_joined(view, &line.above, line.before);
            each(ctx, &line);
            line.level++;
        }
        if (line.m.first_child != HEFT_NO_MODULE && end < view->depth) {
            line.before = end;
            (void)heft_modules_at(view->modules, line.m.first_child, &line.m);
            continue;
        }
        line.level -= !is_joined(view, &line.m, end);
        while (line.m.next == HEFT_NO_MODULE) {
            (void)heft_modules_at(view->modules, line.m.parent, &line.m);
            if (line.m.parent == HEFT_NO_MODULE)
                return;
            line.level -= !is_joined(view, &line.m, line.before);
            line.before -= module_parts(&line.m);
        }
        (void)heft_modules_at(view->modules, line.m.next, &line.m);
    }
}

/* ---- labels ------------------------------------------------------------------------------ */

/* Prints a name, or only measures it. */
static size_t put_part(struct out *out, const char *text, size_t n)
{
    return out ? out_name(out, text, n) : name_width(text, n);
}

static size_t put_literal(struct out *out, const char *text, size_t columns)
{
    if (out)
        out_text(out, text);
    return columns;
}

static size_t put_number(struct out *out, uint64_t number)
{
    if (out)
        out_u64(out, number);
    return u64_digits(number);
}

static bool is_number(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (text[i] < '0' || text[i] > '9')
            return false;
    return n > 0;
}

/* Prints the last component of a module's name and a separator: an index is printed behind it. */
static size_t put_owner(struct out *out, const struct heft_module *m)
{
    size_t begin = m->name_len;

    if (m->parent == HEFT_NO_MODULE)
        return 0;
    while (begin && m->name[begin - 1] != m->separator)
        begin--;
    return put_part(out, m->name + begin, m->name_len - begin) + put_part(out, &m->separator, 1);
}

static bool is_index(const char *name, size_t len, char separator)
{
    return is_number(name, module_prefix(name, len, separator, 1));
}

/* Prints the name of the module that is joined with the line, and a separator. */
static size_t put_joined(struct out *out, const struct line *line)
{
    const struct heft_module *const m = &line->above;
    struct heft_module owner = HEFT_INIT(struct heft_module);
    size_t width = 0;

    if (is_index(m->name, m->name_len, m->separator) &&
        heft_modules_at(line->view->modules, m->parent, &owner))
        width = put_owner(out, &owner);
    return width + put_part(out, m->name, m->name_len) + put_part(out, &m->separator, 1);
}

/* Prints the shown part of a name; behind its owner if it begins with an index. */
static size_t put_member(struct out *out, const struct line *line, const char *name, size_t len,
                         bool is_owned)
{
    const char separator = line->m.separator;
    size_t width = 0;

    if (!is_owned && is_index(name, len, separator))
        width = put_owner(out, &line->above);
    len = module_prefix(name, len, separator, line->shown);
    return width + (len ? put_part(out, name, len) : put_literal(out, "\"\"", 2));
}

static size_t put_label(struct out *out, const struct line *line)
{
    const struct heft_module *const m = &line->m;
    size_t width = line->is_joined ? put_joined(out, line) : 0;

    width += put_member(out, line, m->name, m->name_len, line->is_joined);
    if (m->count == 1)
        return width;
    width += put_literal(out, " … ", 3);
    width += put_member(out, line, m->last, m->last_len, false);
    width += put_literal(out, "  (", 3) + put_number(out, m->count) + put_literal(out, " ×", 2);
    if (m->step > 1)
        width += put_literal(out, ", step ", 7) + put_number(out, m->step);
    return width + put_literal(out, ")", 1);
}

/* ---- columns ----------------------------------------------------------------------------- */

/* 1 234 567 */
static size_t grouped_width(uint64_t number)
{
    const size_t n = u64_digits(number);
    return n + (n - 1) / 3;
}

static size_t size_width(uint64_t bytes)
{
    char text[32];
    return strlen(format_size(text, sizeof text, bytes));
}

/* Prints the dtypes of a node, at most MAX_DTYPES, or only measures them. */
static size_t put_dtypes(struct out *out, const uint64_t *dtypes)
{
    size_t width = 0, n = 0;

    for (int i = 0; i < HEFT_DTYPE_COUNT; i++) {
        const char *const name = n == MAX_DTYPES ? "…" : heft_dtype_name((enum heft_dtype)i);

        if (!(dtypes[i / 64] >> i % 64 & 1))
            continue;
        width += put_literal(out, n ? " " : "", n > 0);
        width += put_literal(out, name, n == MAX_DTYPES ? 1 : strlen(name));
        if (n++ == MAX_DTYPES)
            break;
    }
    return width;
}

static size_t max_size(size_t a, size_t b)
{
    return a > b ? a : b;
}

static void measure_line(void *ctx, const struct line *line)
{
    struct widths *const w = ctx;

    w->label = max_size(w->label, (size_t)(2 * line->level) + put_label(NULL, line));
    w->parameters = max_size(w->parameters, grouped_width(line->m.parameters));
    w->bytes = max_size(w->bytes, size_width(line->m.bytes));
    w->dtypes = max_size(w->dtypes, put_dtypes(NULL, line->m.dtypes));
}

/* Whether the whole name is shown, so that a tensor's shape belongs to the line. */
static bool is_complete(const struct line *line)
{
    return line->shown == module_parts(&line->m);
}

static void put_tensor(struct out *out, const struct line *line)
{
    struct heft_tensor t = HEFT_INIT(struct heft_tensor);

    if (!is_complete(line) || !heft_tensor_at(line->view->c, line->m.tensor, &t))
        return;
    out_text(out, "  ");
    out_dims(out, t.shape, t.rank);
    if (line->m.is_tied) {
        out_text(out, "  tied, storage ");
        out_u64(out, (uint64_t)t.storage);
    }
}

struct printer {
    struct out *out;
    struct widths w;
};

static void print_line(void *ctx, const struct line *line)
{
    const struct printer *const p = ctx;
    struct out *const out = p->out;
    const struct heft_module *const m = &line->m;
    size_t used = (size_t)(2 * line->level), width;

    out_fill(out, ' ', used);
    used += put_label(out, line);
    out_fill(out, ' ', used < p->w.label ? p->w.label - used : 0);
    out_fill(out, ' ', 2 + p->w.parameters - grouped_width(m->parameters));
    out_grouped(out, m->parameters);
    out_fill(out, ' ', 2 + p->w.bytes - size_width(m->bytes));
    out_size(out, m->bytes);
    out_text(out, "  ");
    width = put_dtypes(out, m->dtypes);
    if (m->tensor != HEFT_NO_MODULE && is_complete(line)) {
        out_fill(out, ' ', p->w.dtypes - width);
        put_tensor(out, line);
    }
    out_char(out, '\n');
}

static void put_count(struct out *out, uint64_t n, const char *one)
{
    out_grouped(out, n);
    out_char(out, ' ');
    out_text(out, one);
    out_text(out, n == 1 ? "" : "s");
}

static void print_totals(struct out *out, const struct module_view *view)
{
    struct heft_modules_sum tied = HEFT_INIT(struct heft_modules_sum);
    struct heft_module root = HEFT_INIT(struct heft_module);

    (void)heft_modules_at(view->modules, 0, &root);
    heft_modules_tied(view->modules, &tied);
    put_count(out, root.tensors, "tensor");
    out_text(out, ", ");
    put_count(out, root.parameters, "parameter");
    out_text(out, ", ");
    out_size(out, root.bytes);
    if (tied.tensors) {
        out_text(out, "; not counted again: ");
        put_count(out, tied.tensors, "tied tensor");
        out_text(out, ", ");
        put_count(out, tied.parameters, "parameter");
        out_text(out, ", ");
        out_size(out, tied.bytes);
    }
    out_char(out, '\n');
}

void print_modules(struct out *out, const struct module_view *view)
{
    struct printer p = {.out = out};

    each_line(view, measure_line, &p.w);
    p.w.label = p.w.label > MAX_LABEL ? MAX_LABEL : p.w.label;
    each_line(view, print_line, &p);
    print_totals(out, view);
}
