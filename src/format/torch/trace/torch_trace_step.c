/* torch_trace_step.c: describes the argument and the effect of an opcode.
 *
 *     PROTO        02 → 2                   protocol 2
 *     BINUNICODE   15 00 00 00 → 21         push "tok_embeddings.weight"
 *     BINPUT       01 → 1                   memo[1] = "tok_embeddings.weight"
 *     MARK                                  mark: 3 values go to the metastack, depth 1
 *     TUPLE                                 pop 5 items above the mark → ("storage", …); 3 values
 *                                           back from the metastack, depth 0
 *
 * Stack and metastack are those of Python's unpickler: the stack holds the values above the newest
 * mark, the metastack the stacks that marks set aside. */
#include "base/endian.h"
#include "base/text.h"
#include "format/torch/trace/torch_trace.h"

#define MOST_LINE 80 /* bytes shown of a line argument */

static struct heft_trace_text *effect_of(struct heft_tracer *tr)
{
    return &tr->effect;
}

static void say_word(struct heft_tracer *tr, const char *word)
{
    heft_trace_word(effect_of(tr), word);
}

static void say_value(struct heft_tracer *tr, uint32_t node)
{
    heft_trace_value(tr, effect_of(tr), node);
}

static void say_count(struct heft_tracer *tr, uint64_t number, const char *what)
{
    heft_trace_count(effect_of(tr), number, what);
}

/* The value `below` positions under the top of the stack. */
static uint32_t top_node(const struct heft_tracer *tr, size_t below)
{
    return tr->step->stack[tr->step->depth - 1 - below];
}

static const struct heft_pickle_node *node_of(const struct heft_tracer *tr, uint32_t node)
{
    return heft_pickle_at(tr->step->pickle, node);
}

/* ---- values, marks, memo ----------------------------------------------------------------- */

static bool say_push(struct heft_tracer *tr)
{
    say_word(tr, "push ");
    say_value(tr, top_node(tr, 0));
    return true;
}

static bool say_dup(struct heft_tracer *tr)
{
    say_word(tr, "push the top again: ");
    say_value(tr, top_node(tr, 0));
    return true;
}

static bool say_mark(struct heft_tracer *tr)
{
    const struct heft_pickle_step *s = tr->step;

    say_word(tr, "mark: ");
    say_count(tr, s->was_depth - s->was_fence, "value");
    say_word(tr, s->was_depth - s->was_fence == 1 ? " goes" : " go");
    say_word(tr, " to the metastack, depth ");
    heft_trace_u64(effect_of(tr), s->n_marks);
    return true;
}

/* Describes what returns from the metastack when a mark is closed. */
static void say_back(struct heft_tracer *tr, size_t pushed)
{
    const struct heft_pickle_step *s = tr->step;
    const size_t fence = s->n_marks ? s->marks[s->n_marks - 1] : 0;

    say_word(tr, "; ");
    say_count(tr, s->depth - pushed - fence, "value");
    say_word(tr, " back from the metastack, depth ");
    heft_trace_u64(effect_of(tr), s->n_marks);
}

/* The items above the mark that the step closed. */
static size_t items_above_mark(const struct heft_tracer *tr)
{
    return tr->step->was_depth - tr->step->was_fence;
}

static bool say_pop(struct heft_tracer *tr)
{
    const struct heft_pickle_step *s = tr->step;

    if (s->n_marks < s->was_marks) {
        say_word(tr, "pop the mark");
        say_back(tr, 0);
        return true;
    }
    say_word(tr, "pop ");
    say_value(tr, s->stack[s->depth]);
    return true;
}

static bool say_pop_mark(struct heft_tracer *tr)
{
    say_word(tr, "pop ");
    say_count(tr, items_above_mark(tr), "item");
    say_word(tr, " above the mark");
    say_back(tr, 0);
    return true;
}

static bool say_put(struct heft_tracer *tr)
{
    say_word(tr, "memo[");
    heft_trace_u64(effect_of(tr), tr->step->number);
    say_word(tr, "] = ");
    say_value(tr, top_node(tr, 0));
    return true;
}

static bool say_get(struct heft_tracer *tr)
{
    say_word(tr, "push memo[");
    heft_trace_u64(effect_of(tr), tr->step->number);
    say_word(tr, "]: ");
    say_value(tr, top_node(tr, 0));
    return true;
}

/* ---- containers -------------------------------------------------------------------------- */

/* TUPLE, LIST, DICT, FROZENSET */
static bool say_gather(struct heft_tracer *tr)
{
    say_word(tr, "pop ");
    say_count(tr, items_above_mark(tr), "item");
    say_word(tr, " above the mark → ");
    say_value(tr, top_node(tr, 0));
    say_back(tr, 1);
    return true;
}

static bool say_tuple(struct heft_tracer *tr)
{
    say_word(tr, "pop ");
    say_count(tr, heft_pickle_count(tr->step->pickle, top_node(tr, 0)), "item");
    say_word(tr, " → ");
    say_value(tr, top_node(tr, 0));
    return true;
}

static void say_target(struct heft_tracer *tr)
{
    say_word(tr, " into the top, now ");
    heft_trace_brief(tr, effect_of(tr), top_node(tr, 0));
}

/* APPEND, APPENDS, ADDITEMS: the popped items are still stored past the end of the stack. */
static void say_added(struct heft_tracer *tr, size_t n)
{
    enum { SHOWN = 2 };
    const struct heft_pickle_step *s = tr->step;

    for (size_t i = 0; i < n && i < SHOWN; i++) {
        say_word(tr, i ? ", " : "");
        say_value(tr, s->stack[s->depth + i]);
    }
    if (n > SHOWN)
        say_word(tr, ", …");
}

static void say_pairs(struct heft_tracer *tr, size_t n)
{
    const struct heft_pickle_step *s = tr->step;

    if (n < 2)
        return;
    say_value(tr, s->stack[s->depth]);
    say_word(tr, ": ");
    say_value(tr, s->stack[s->depth + 1]);
    if (n > 2)
        say_word(tr, ", …");
}

static bool say_append(struct heft_tracer *tr)
{
    say_word(tr, "pop 1 item: ");
    say_added(tr, 1);
    say_target(tr);
    return true;
}

static bool say_setitem(struct heft_tracer *tr)
{
    say_word(tr, "pop 2 items: ");
    say_pairs(tr, 2);
    say_target(tr);
    return true;
}

static bool say_appends(struct heft_tracer *tr)
{
    say_word(tr, "pop ");
    say_count(tr, items_above_mark(tr), "item");
    say_word(tr, " above the mark: ");
    say_added(tr, items_above_mark(tr));
    say_target(tr);
    say_back(tr, 0);
    return true;
}

static bool say_setitems(struct heft_tracer *tr)
{
    say_word(tr, "pop ");
    say_count(tr, items_above_mark(tr), "item");
    say_word(tr, " above the mark: ");
    say_pairs(tr, items_above_mark(tr));
    say_target(tr);
    say_back(tr, 0);
    return true;
}

static bool say_build(struct heft_tracer *tr)
{
    say_word(tr, "pop the state ");
    say_value(tr, tr->step->stack[tr->step->depth]);
    say_word(tr, ", set on ");
    heft_trace_brief(tr, effect_of(tr), top_node(tr, 0));
    return true;
}

/* ---- calls ------------------------------------------------------------------------------- */

/* Describes callable, arguments and result; nothing is called. */
static bool say_call(struct heft_tracer *tr)
{
    const struct heft_pickle_node *call = node_of(tr, top_node(tr, 0));

    say_word(tr, "callable ");
    say_value(tr, call->u.call.callee);
    say_word(tr, ", arguments ");
    say_value(tr, call->u.call.args);
    if (call->module != HEFT_PICKLE_NIL) {
        say_word(tr, ", keywords ");
        say_value(tr, call->module);
    }
    say_word(tr, " → ");
    say_value(tr, top_node(tr, 0));
    if (tr->step->n_marks < tr->step->was_marks)
        say_back(tr, 1);
    return true;
}

/* Appends ", record archive/data/0, bytes 34304 to 262178304 of the file". */
static bool say_place(struct heft_tracer *tr, struct heft_str key)
{
    const struct heft_trace_place *place = NULL;
    uint32_t number;

    tr->name.n = 0;
    heft_buf_str(&tr->name, tr->folder);
    heft_buf_str(&tr->name, key);
    if (!heft_buf_ok(&tr->name, tr->err))
        return false;
    number = heft_strmap_get(&tr->names, (struct heft_str){tr->name.p, tr->name.n});
    if (number != HEFT_MAP_NONE)
        place = &tr->places[number];
    if (tr->is_zip) {
        say_word(tr, place ? ", record " : ", the archive has no record ");
        heft_trace_escaped(effect_of(tr), (struct heft_str){tr->name.p, tr->name.n}, 200, 0);
    }
    if (!place)
        return true;
    say_word(tr, place->is_deflated ? ", deflated in bytes " : ", bytes ");
    heft_trace_u64(effect_of(tr), place->off);
    say_word(tr, " to ");
    heft_trace_u64(effect_of(tr), place->off + place->packed); /* no overflow: within the file */
    say_word(tr, " of the file");
    return true;
}

/* The key in a storage id: ("storage", class, key, location, elements …), or the key alone in
 * torch's first releases. False for other ids. */
static bool key_of(const struct heft_tracer *tr, uint32_t id, struct heft_str *key)
{
    const struct heft_pickle *p = tr->step->pickle;
    uint32_t node = id;

    if (node_of(tr, id)->kind == HEFT_PICKLE_TUPLE)
        node = heft_pickle_item(p, id, 2);
    if (node == HEFT_PICKLE_NIL || (node_of(tr, node)->kind != HEFT_PICKLE_STR &&
                                    node_of(tr, node)->kind != HEFT_PICKLE_PY2STR))
        return false;
    *key = heft_pickle_text(p, node);
    return key->n <= 1024; /* longer than any record name */
}

static void say_field(struct heft_tracer *tr, const char *name, uint32_t id, uint32_t index)
{
    const uint32_t field = heft_pickle_item(tr->step->pickle, id, index);

    say_word(tr, name);
    if (field != HEFT_PICKLE_NIL)
        heft_trace_brief(tr, effect_of(tr), field);
}

static bool say_persid(struct heft_tracer *tr)
{
    const uint32_t id = node_of(tr, top_node(tr, 0))->u.call.args;
    struct heft_str key;

    say_word(tr, "pop the id ");
    say_value(tr, id);
    say_word(tr, " → ");
    say_value(tr, top_node(tr, 0));
    if (node_of(tr, id)->kind == HEFT_PICKLE_TUPLE &&
        heft_pickle_count(tr->step->pickle, id) >= 5) {
        say_field(tr, ": class ", id, 1);
        say_field(tr, ", key ", id, 2);
        say_field(tr, ", on ", id, 3);
        say_field(tr, ", elements ", id, 4);
    }
    return !key_of(tr, id, &key) || say_place(tr, key);
}

/* ---- protocol, frames, STOP -------------------------------------------------------------- */

static bool say_proto(struct heft_tracer *tr)
{
    say_word(tr, "protocol ");
    heft_trace_u64(effect_of(tr), tr->step->number);
    return true;
}

static bool say_frame(struct heft_tracer *tr)
{
    say_word(tr, "a frame of ");
    say_count(tr, tr->step->number, "byte");
    say_word(tr, ", up to position ");
    heft_trace_u64(effect_of(tr),
                   tr->step->at + 9 + tr->step->number); /* no overflow: within the pickle */
    return true;
}

static bool say_readonly(struct heft_tracer *tr)
{
    say_word(tr, "the top is read-only");
    return true;
}

static bool say_stop(struct heft_tracer *tr)
{
    say_word(tr, "the end; the result is ");
    say_value(tr, top_node(tr, 0));
    return true;
}

/* All others push their value. NEXT_BUFFER and EXT1 … never succeed. */
static bool (*const EFFECTS[256])(struct heft_tracer *tr) = {
    [0x80] = say_proto,   [0x95] = say_frame,   ['.'] = say_stop,      ['('] = say_mark,
    ['0'] = say_pop,      ['1'] = say_pop_mark, ['2'] = say_dup,       ['q'] = say_put,
    ['r'] = say_put,      ['p'] = say_put,      [0x94] = say_put,      ['h'] = say_get,
    ['j'] = say_get,      ['g'] = say_get,      [0x98] = say_readonly, [0x85] = say_tuple,
    [0x86] = say_tuple,   [0x87] = say_tuple,   ['t'] = say_gather,    ['l'] = say_gather,
    ['d'] = say_gather,   [0x91] = say_gather,  ['a'] = say_append,    ['e'] = say_appends,
    [0x90] = say_appends, ['s'] = say_setitem,  ['u'] = say_setitems,  ['R'] = say_call,
    [0x81] = say_call,    [0x92] = say_call,    ['i'] = say_call,      ['o'] = say_call,
    ['b'] = say_build,    ['Q'] = say_persid,   ['P'] = say_persid,
};

/* ---- the argument ------------------------------------------------------------------------ */

static void put_number(struct heft_tracer *tr)
{
    const struct heft_pickle_step *s = tr->step;
    double number;

    if (s->byte == 'G') {
        memcpy(&number, &s->number, sizeof number);
        heft_trace_float(&tr->value, number);
    } else if (s->number > INT64_MAX &&
               s->byte !=
                   0x95) { /* FRAME is the only unsigned argument that can exceed INT64_MAX */
        heft_trace_word(&tr->value, "-");
        heft_trace_u64(&tr->value, ~s->number + 1);
    } else {
        heft_trace_u64(&tr->value, s->number);
    }
}

static void put_line(struct heft_trace_text *text, struct heft_bytes line)
{
    heft_trace_escaped(text, (struct heft_str){(const char *)line.p, line.n}, MOST_LINE, 0);
    if (line.n > MOST_LINE)
        heft_trace_word(text, "…");
}

static void put_argument(struct heft_tracer *tr)
{
    const struct heft_pickle_step *s = tr->step;

    if (s->form == HEFT_FORM_NUMBER) {
        put_number(tr);
    } else if (s->form == HEFT_FORM_TEXT) {
        heft_trace_u64(&tr->value, s->text.n);
    } else if (s->form != HEFT_FORM_BARE) {
        put_line(&tr->value, s->text);
        if (s->form == HEFT_FORM_LINES) {
            heft_trace_word(&tr->value, " ");
            put_line(&tr->value, s->second);
        }
    }
}

bool heft_trace_explain(struct heft_tracer *tr)
{
    bool (*const effect)(struct heft_tracer *) = EFFECTS[tr->step->byte];

    tr->value.n = tr->effect.n = 0;
    put_argument(tr);
    return (effect ? effect : say_push)(tr);
}
