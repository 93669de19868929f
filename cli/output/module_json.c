/* module_json.c: the tree of modules as JSON: a module in a module for each component of a name.
 *
 *     {"name":"layers","count":1,"parameters":9,"bytes":36,"dtypes":["F32"],"tensors":[],
 *      "children":[{"name":"0","last":"3","count":4,…,"tensors":[{"name":"weight",…}],"children":[]}]}
 *
 * Modules at the deepest level of --depth lack the lists. */
#include "output/module_lines.h"

#include "output/dims.h"

#include <string.h>

struct writer {
    struct out *out;
    const struct module_view *view;
};

static void put_figures(struct out *out, const struct heft_module *m)
{
    json_member_u64(out, "parameters", m->parameters);
    json_member_u64(out, "bytes", m->bytes);
}

static void put_dtypes(struct out *out, const uint64_t *dtypes)
{
    json_key(out, "dtypes");
    json_open(out, '[');
    for (int i = 0; i < HEFT_DTYPE_COUNT; i++)
        if (dtypes[i / 64] >> i % 64 & 1) {
            const char *const name = heft_dtype_name((enum heft_dtype)i);
            json_text(out, name, strlen(name));
        }
    json_close(out, ']');
}

/* Writes the name of a component: the first one of a folded node also has the last name. */
static void put_name(struct out *out, const struct heft_module *m, size_t begin, size_t end)
{
    json_key(out, "name");
    json_text(out, m->name + begin, end - begin);
    if (begin == 0 && m->count > 1) {
        json_key(out, "last");
        json_text(out, m->last, module_prefix(m->last, m->last_len, m->separator, 1));
        if (m->step > 1)
            json_member_u64(out, "step", m->step);
    }
    json_member_u64(out, "count", begin == 0 ? m->count : 1);
}

static void put_tensor(struct writer *w, const struct heft_module *m, size_t begin)
{
    struct out *const out = w->out;
    const char *dtype;
    struct heft_tensor t = HEFT_INIT(struct heft_tensor);

    if (!heft_tensor_at(w->view->c, m->tensor, &t))
        return;
    dtype = heft_dtype_name(t.dtype);
    json_line(out);
    json_open(out, '{');
    put_name(out, m, begin, m->name_len);
    json_key(out, "dtype");
    json_text(out, dtype, strlen(dtype));
    json_dims(out, "shape", t.shape, t.rank);
    put_figures(out, m);
    if (m->is_tied)
        json_member_bool(out, "tied", true);
    json_close(out, '}');
}

static bool is_own_tensor(const struct heft_module *m)
{
    return m->tensor != HEFT_NO_MODULE && !memchr(m->name, m->separator, m->name_len);
}

/* Writes the list of the tensors that are members of a node, and opens that of its modules. */
static void open_lists(struct writer *w, const struct heft_module *m)
{
    struct heft_module child = HEFT_INIT(struct heft_module);

    json_key(w->out, "tensors");
    json_open(w->out, '[');
    for (size_t at = m->first_child; heft_modules_at(w->view->modules, at, &child); at = child.next)
        if (is_own_tensor(&child))
            put_tensor(w, &child, 0);
    json_close(w->out, ']');
    json_key(w->out, "children");
    json_open(w->out, '[');
}

static void close_lists(struct writer *w)
{
    json_close(w->out, ']');
    json_close(w->out, '}');
}

/* Opens a module for each component of a node's name, at most `most` of them, without the lists of
 * the last one. Returns their number. Of a tensor the last component is none. */
static uint64_t open_modules(struct writer *w, const struct heft_module *m, uint64_t most)
{
    struct out *const out = w->out;
    const uint64_t all = module_parts(m) - (m->tensor != HEFT_NO_MODULE);
    const uint64_t n = all < most ? all : most;
    size_t begin = 0;

    for (uint64_t i = 0; i < n; i++) {
        const size_t end =
            begin + module_prefix(m->name + begin, m->name_len - begin, m->separator, 1);

        if (i) {
            json_key(out, "tensors");
            json_open(out, '[');
            json_close(out, ']');
            json_key(out, "children");
            json_open(out, '[');
        }
        json_line(out);
        json_open(out, '{');
        put_name(out, m, begin, end);
        put_figures(out, m);
        put_dtypes(out, m->dtypes);
        begin = end + 1;
    }
    return n;
}

/* Closes the modules of a node whose last one has lists, or not. */
static void close_modules(struct writer *w, uint64_t n, bool has_lists)
{
    for (uint64_t i = 0; i < n; i++) {
        if (i == 0 && !has_lists)
            json_close(w->out, '}');
        else
            close_lists(w);
    }
}

/* Writes a tensor below modules that have no other member. */
static void put_deep_tensor(struct writer *w, const struct heft_module *m, uint64_t before)
{
    const uint64_t parts = module_parts(m);
    const uint64_t n = open_modules(w, m, w->view->depth - before);
    const bool has_lists = before + parts <= w->view->depth;
    size_t begin = m->name_len;

    if (has_lists) {
        while (begin && m->name[begin - 1] != m->separator)
            begin--;
        json_key(w->out, "tensors");
        json_open(w->out, '[');
        put_tensor(w, m, begin);
        json_close(w->out, ']');
        json_key(w->out, "children");
        json_open(w->out, '[');
    }
    close_modules(w, n, has_lists);
}

/* Writes a node: false if it is a module that was opened, whose members follow. */
static bool is_written(struct writer *w, const struct heft_module *m, uint64_t before)
{
    const uint64_t end = before + module_parts(m);

    if (is_own_tensor(m))
        return true; /* in the list of the module above */
    if (m->tensor != HEFT_NO_MODULE) {
        put_deep_tensor(w, m, before);
        return true;
    }
    if (end < w->view->depth) {
        (void)open_modules(w, m, w->view->depth);
        open_lists(w, m);
        return false;
    }
    close_modules(w, open_modules(w, m, w->view->depth - before), false);
    return true;
}

void json_modules(struct out *out, const struct module_view *view)
{
    struct writer w = {out, view};
    struct heft_module m = HEFT_INIT(struct heft_module);
    uint64_t before = 0;

    (void)heft_modules_at(view->modules, 0, &m);
    put_name(out, &m, 0, 0);
    put_figures(out, &m);
    put_dtypes(out, m.dtypes);
    open_lists(&w, &m);
    for (size_t at = m.first_child; heft_modules_at(view->modules, at, &m);) {
        if (!is_written(&w, &m, before) && m.first_child != HEFT_NO_MODULE) {
            before += module_parts(&m);
            at = m.first_child;
            continue;
        }
        while (m.next == HEFT_NO_MODULE && m.parent != HEFT_NO_MODULE) {
            (void)heft_modules_at(view->modules, m.parent, &m);
            if (m.parent == HEFT_NO_MODULE)
                break;
            before -= module_parts(&m);
            close_modules(&w, module_parts(&m), true);
        }
        at = m.next;
    }
    json_close(out, ']');
}
