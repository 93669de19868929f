/* value.c: prints trees of values; walks them with an explicit stack. */
#include "output/value.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct frame {
    const struct heft_value *node, *next; /* next: the next child to print */
    size_t index;                         /* index of `next` */
    size_t mark;                          /* for each_blob: length of the path so far */
};

struct stack {
    struct frame *frames;
    size_t n, cap;
};

static bool push_node(struct stack *stack, const struct heft_value *node, size_t mark)
{
    if (stack->n == stack->cap) {
        const size_t cap = stack->cap ? stack->cap * 2 : 32;
        struct frame *const frames = realloc(stack->frames, cap * sizeof *frames);
        if (!frames)
            return false;
        stack->frames = frames;
        stack->cap = cap;
    }
    stack->frames[stack->n++] = (struct frame){node, node->first_child, 0, mark};
    return true;
}

/* Whether the children are elements of a sequence (keys 0, 1, 2 …), judged by the first one. */
static bool is_sequence(const struct heft_value *value)
{
    const struct heft_value *const child = value->first_child;
    return value->kind == HEFT_VALUE_LIST || value->kind == HEFT_VALUE_TUPLE ||
           value->kind == HEFT_VALUE_SET ||
           (value->kind == HEFT_VALUE_OPAQUE &&
            (!child || (child->key_len == 1 && child->key[0] == '0')));
}

static bool is_container(const struct heft_value *value)
{
    return value->kind == HEFT_VALUE_DICT || value->kind == HEFT_VALUE_OPAQUE || is_sequence(value);
}

/* Name of the class; without "builtins." if it is one of Python's own. */
static const char *short_name(const struct heft_value *value)
{
    static const char own[] = "builtins.";
    const char *const name = value->type_name ? value->type_name : "?";
    return strncmp(name, own, sizeof own - 1) ? name : name + sizeof own - 1;
}

static const char *type_name(const struct heft_value *value)
{
    return value->type_name ? value->type_name : "?";
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static void json_tagged(struct out *out, const char *tag, const char *text, size_t n)
{
    json_open(out, '{');
    json_key(out, tag);
    json_text(out, text, n);
    json_close(out, '}');
}

static void json_scalar(struct out *out, const struct heft_value *value)
{
    switch (value->kind) {
    case HEFT_VALUE_BOOL:
        json_bool(out, value->as.boolean);
        return;
    case HEFT_VALUE_INT:
        json_i64(out, value->as.integer);
        return;
    case HEFT_VALUE_FLOAT:
        json_double(out, value->as.number);
        return;
    case HEFT_VALUE_BIGINT:
    case HEFT_VALUE_STRING:
        json_text(out, value->text, value->text_len);
        return;
    case HEFT_VALUE_BYTES:
        json_open(out, '{');
        json_member_u64(out, "bytes", value->text_len);
        json_close(out, '}');
        return;
    case HEFT_VALUE_TENSOR:
        json_tagged(out, "tensor", value->text, value->text_len);
        return;
    case HEFT_VALUE_GLOBAL:
        json_tagged(out, "global", type_name(value), strlen(type_name(value)));
        return;
    default:
        json_null(out);
    }
}

static void json_enter(struct out *out, const struct heft_value *value)
{
    if (value->kind == HEFT_VALUE_OPAQUE) {
        json_open(out, '{');
        json_member_text(out, "class", type_name(value));
        if (value->text)
            json_member_u64(out, "bytes", value->text_len);
        json_key(out, "args");
    }
    if (value->more) {
        uint64_t first = 0;

        for (const struct heft_value *v = value->first_child; v; v = v->next_sibling)
            first++;
        json_open(out, '{');
        json_member_u64(out, "items", first + value->more);
        json_key(out, "first");
    }
    json_open(out, is_sequence(value) ? '[' : '{');
}

static void json_leave(struct out *out, const struct heft_value *value)
{
    json_close(out, is_sequence(value) ? ']' : '}');
    if (value->kind == HEFT_VALUE_OPAQUE || value->more)
        json_close(out, '}');
}

/* Writes a scalar, or opens a container and pushes it on the stack. */
static bool json_start(struct out *out, struct stack *stack, const struct heft_value *value)
{
    if (!is_container(value)) {
        json_scalar(out, value);
        return true;
    }
    json_enter(out, value);
    return push_node(stack, value, 0);
}

bool json_value(struct out *out, const struct heft_value *value)
{
    struct stack stack = {0};
    bool fine = json_start(out, &stack, value);

    while (fine && stack.n) {
        struct frame *const frame = &stack.frames[stack.n - 1];
        const struct heft_value *const child = frame->next;
        if (!child) {
            json_leave(out, frame->node);
            stack.n--;
            continue;
        }
        frame->next = child->next_sibling;
        if (!is_sequence(frame->node))
            json_key_n(out, child->key, child->key_len);
        fine = json_start(out, &stack, child);
    }
    free(stack.frames);
    return fine;
}

/* ---- text for people ------------------------------------------------------------------------- */

/* Limits of the output for people, unless --all: the rest is "…" and a count. */
enum { MAX_TEXT = 72, MAX_INLINE = 8, MAX_CHILDREN = 16, MAX_LEVELS = 6, MAX_LINES = 120 };
/* Bounds on indentation and paths: a file may nest to any depth, and output must stay linear in the
 * number of values. */
enum { MAX_INDENT = 40, MAX_BLOB_PATH = 1024 };
/* Most members and characters of a record that is printed on one line. */
enum { RECORD_MEMBERS = 6, RECORD_LETTERS = 160 };

struct tree {
    struct out *out;
    struct stack stack;
    size_t indent, lines;
    bool all;
};

static void put_string(struct tree *tree, const char *text, size_t n)
{
    struct out *const out = tree->out;
    size_t shown = 0, columns = 0;
    while (shown < n && (tree->all || columns < MAX_TEXT)) {
        size_t size;
        (void)utf8_next(text + shown, n - shown, &size);
        shown += size;
        columns++;
    }
    out_char(out, '"');
    (void)out_name(out, text, shown);
    out_char(out, '"');
    if (shown < n) {
        out_text(out, "… (");
        out_u64(out, n);
        out_text(out, " bytes)");
    }
}

static void put_scalar(struct tree *tree, const struct heft_value *value)
{
    struct out *const out = tree->out;
    switch (value->kind) {
    case HEFT_VALUE_STRING:
        put_string(tree, value->text, value->text_len);
        return;
    case HEFT_VALUE_BYTES:
        out_char(out, '<');
        out_u64(out, value->text_len);
        out_text(out, value->text_len == 1 ? " byte>" : " bytes>");
        return;
    case HEFT_VALUE_TENSOR:
        out_text(out, "tensor ");
        (void)out_name(out, value->text, value->text_len);
        return;
    case HEFT_VALUE_BIGINT:
        (void)out_name(out, value->text, value->text_len);
        return;
    case HEFT_VALUE_GLOBAL:
        (void)out_name(out, type_name(value), strlen(type_name(value)));
        return;
    case HEFT_VALUE_FLOAT:
        if (isnan(value->as.number) || isinf(value->as.number)) {
            out_text(out, isnan(value->as.number) ? "NaN"
                          : value->as.number < 0  ? "-Infinity"
                                                  : "Infinity");
            return;
        }
        break;
    default:
        break;
    }
    out->separate = false;
    json_scalar(out, value);
}

static void put_key(struct out *out, const struct heft_value *value)
{
    if (value->key_len)
        (void)out_name(out, value->key, value->key_len);
    else
        out_text(out, "\"\"");
}

/* Whether a value is printed on one line: a sequence whose first elements are scalars. */
static bool fits_line(const struct heft_value *value, bool all)
{
    const struct heft_value *child = value->first_child;
    if (!is_sequence(value) && child)
        return false;
    for (size_t i = 0; child && (all || i < MAX_INLINE); i++, child = child->next_sibling)
        if (is_container(child) && child->first_child)
            return false;
    return true;
}

static void put_type(struct out *out, const struct heft_value *value)
{
    if (value->kind == HEFT_VALUE_OPAQUE || value->type_name)
        (void)out_name(out, short_name(value), strlen(short_name(value)));
    if (value->kind == HEFT_VALUE_OPAQUE && value->text) {
        out_text(out, " <");
        out_u64(out, value->text_len);
        out_text(out, " bytes>");
    }
}

static const char *brackets_of(const struct heft_value *value)
{
    switch (value->kind) {
    case HEFT_VALUE_LIST:
        return "[]";
    case HEFT_VALUE_TUPLE:
    case HEFT_VALUE_OPAQUE:
        return "()";
    default:
        return "{}";
    }
}

/* Prints how many children follow from `child` on, with those of a long list that are not in the tree. */
static void put_more(struct out *out, const struct heft_value *child, uint64_t left)
{
    for (; child; child = child->next_sibling)
        left++;
    out_text(out, "… ");
    out_u64(out, left);
    out_text(out, " more");
}

/* Prints a value on one line. Children that are containers are empty, or come late in a list that
 * begins with scalars. */
static void put_line(struct tree *tree, const struct heft_value *value)
{
    struct out *const out = tree->out;
    const struct heft_value *child = value->first_child;
    put_type(out, value);
    if (value->kind == HEFT_VALUE_OPAQUE && value->text && !child)
        return;
    out_char(out, brackets_of(value)[0]);
    for (size_t i = 0; child; i++, child = child->next_sibling) {
        if (i)
            out_text(out, ", ");
        if (!tree->all && i >= MAX_INLINE && child->next_sibling) {
            put_more(out, child, value->more);
            break;
        }
        if (!is_container(child)) {
            put_scalar(tree, child);
        } else {
            put_type(out, child);
            out_char(out, brackets_of(child)[0]);
            if (child->first_child)
                out_text(out, "…");
            out_char(out, brackets_of(child)[1]);
        }
        if (value->more && !child->next_sibling) {
            out_text(out, ", ");
            put_more(out, NULL, value->more);
        }
    }
    out_char(out, brackets_of(value)[1]);
}

/* Whether a value is a record, printed like the row of a table: an element of a list with few
 * members, all scalars or short lists of scalars. */
static bool is_record(const struct tree *tree, const struct heft_value *value)
{
    size_t members = 0, letters = 0;
    if (tree->all || value->kind != HEFT_VALUE_DICT || value->type_name || !value->first_child ||
        !is_sequence(tree->stack.frames[tree->stack.n - 1].node))
        return false;
    for (const struct heft_value *v = value->first_child; v; v = v->next_sibling) {
        letters += v->key_len + v->text_len;
        if (++members > RECORD_MEMBERS || letters > RECORD_LETTERS ||
            (is_container(v) && (!is_sequence(v) || !fits_line(v, false))))
            return false;
    }
    return true;
}

static void put_record(struct tree *tree, const struct heft_value *value)
{
    struct out *const out = tree->out;
    for (const struct heft_value *v = value->first_child; v; v = v->next_sibling) {
        out_text(out, v == value->first_child ? "{" : ", ");
        put_key(out, v);
        out_text(out, ": ");
        if (is_container(v))
            put_line(tree, v);
        else
            put_scalar(tree, v);
    }
    out_char(out, '}');
}

static void new_line(struct tree *tree)
{
    const size_t depth = tree->stack.n - 1;
    tree->lines++;
    out_fill(tree->out, ' ', tree->indent + 2 * (depth < MAX_INDENT ? depth : MAX_INDENT));
}

/* The key `_metadata` of a state dict: versions of modules, which every state dict has. */
static bool is_bookkeeping(const struct heft_value *value)
{
    return strcmp(value->key, "_metadata") == 0;
}

/* Whether the children are printed on lines of their own. */
static bool opens_lines(const struct tree *tree, const struct heft_value *value)
{
    return is_container(value) && !fits_line(value, tree->all) && !is_record(tree, value) &&
           (tree->all || (tree->stack.n < MAX_LEVELS && !is_bookkeeping(value)));
}

static bool put_child(struct tree *tree, const struct heft_value *child)
{
    struct out *const out = tree->out;
    new_line(tree);
    put_key(out, child);
    out_text(out, opens_lines(tree, child) && !child->type_name ? ":" : ": ");
    if (!is_container(child)) {
        put_scalar(tree, child);
    } else if (opens_lines(tree, child)) {
        put_type(out, child);
        out_char(out, '\n');
        return push_node(&tree->stack, child, 0);
    } else if (fits_line(child, tree->all)) {
        put_line(tree, child);
    } else if (is_record(tree, child)) {
        put_record(tree, child);
    } else {
        put_type(out, child);
        out_char(out, brackets_of(child)[0]);
        out_text(out, "…");
        out_char(out, brackets_of(child)[1]);
    }
    out_char(out, '\n');
    return true;
}

bool print_values(struct out *out, const struct heft_value *root, size_t indent, bool all)
{
    struct tree tree = {.out = out, .indent = indent, .all = all};
    bool fine = push_node(&tree.stack, root, 0);

    while (fine && tree.stack.n) {
        struct frame *const frame = &tree.stack.frames[tree.stack.n - 1];
        const struct heft_value *const child = frame->next;
        if (!child) {
            if (frame->node->more) {
                new_line(&tree);
                put_more(out, NULL, frame->node->more);
                out_char(out, '\n');
            }
            tree.stack.n--;
        } else if (!all && child->next_sibling &&
                   (frame->index >= MAX_CHILDREN || tree.lines >= MAX_LINES)) {
            new_line(&tree);
            put_more(out, child, frame->node->more);
            out_char(out, '\n');
            tree.stack.n--;
        } else {
            frame->next = child->next_sibling;
            frame->index++;
            fine = put_child(&tree, child);
        }
    }
    free(tree.stack.frames);
    return fine;
}

/* ---- values that are bytes ------------------------------------------------------------------- */

struct path {
    char *text;
    size_t n, cap;
};

static bool path_add(struct path *path, const char *key, size_t n)
{
    if (path->cap - path->n < n + 2) {
        const size_t cap = path->cap * 2 + n + 64;
        char *const text = realloc(path->text, cap);
        if (!text)
            return false;
        path->text = text;
        path->cap = cap;
    }
    if (path->n)
        path->text[path->n++] = '.';
    memcpy(path->text + path->n, key, n);
    path->n += n;
    return true;
}

bool each_blob(const struct heft_value *root,
               void (*each)(void *ctx, const char *path, size_t path_len, uint64_t bytes),
               void *ctx)
{
    struct stack stack = {0};
    struct path path = {0};
    bool fine = push_node(&stack, root, 0);

    while (fine && stack.n) {
        struct frame *const frame = &stack.frames[stack.n - 1];
        const struct heft_value *const child = frame->next;
        const size_t mark = frame->mark;
        path.n = mark;
        if (!child) {
            stack.n--;
            continue;
        }
        frame->next = child->next_sibling;
        if (child->kind != HEFT_VALUE_BYTES && !is_container(child))
            continue;
        fine = path_add(&path, child->key, child->key_len);
        if (fine && child->text)
            each(ctx, path.text, path.n < MAX_BLOB_PATH ? path.n : MAX_BLOB_PATH, child->text_len);
        if (fine && child->first_child)
            fine = push_node(&stack, child, path.n);
    }
    free(stack.frames);
    free(path.text);
    return fine;
}

const struct heft_value *value_member(const struct heft_value *of, const char *key)
{
    const struct heft_value *v = of ? of->first_child : NULL;
    while (v && strcmp(v->key, key) != 0)
        v = v->next_sibling;
    return v;
}
