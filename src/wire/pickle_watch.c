/* pickle_watch.c: runs a pickle with a callback for every step (pickle_watch.h). */
#include "wire/pickle_watch.h"

#include "wire/pickle_machine.h"

/* Form of each kind of argument, and the size of its length prefix. */
static const struct {
    uint8_t form, prefix;
} FORMS[] = {
    [HEFT_ARG_NONE] = {HEFT_FORM_BARE, 0},   [HEFT_ARG_U8] = {HEFT_FORM_NUMBER, 0},
    [HEFT_ARG_U16] = {HEFT_FORM_NUMBER, 0},  [HEFT_ARG_U32] = {HEFT_FORM_NUMBER, 0},
    [HEFT_ARG_I32] = {HEFT_FORM_NUMBER, 0},  [HEFT_ARG_U64] = {HEFT_FORM_NUMBER, 0},
    [HEFT_ARG_F64] = {HEFT_FORM_NUMBER, 0},  [HEFT_ARG_TEXT8] = {HEFT_FORM_TEXT, 1},
    [HEFT_ARG_TEXT32] = {HEFT_FORM_TEXT, 4}, [HEFT_ARG_TEXT31] = {HEFT_FORM_TEXT, 4},
    [HEFT_ARG_TEXT64] = {HEFT_FORM_TEXT, 8}, [HEFT_ARG_SHORT] = {HEFT_FORM_LINE, 0},
    [HEFT_ARG_LINE] = {HEFT_FORM_LINE, 0},   [HEFT_ARG_NAMES] = {HEFT_FORM_LINES, 0},
};

uint32_t heft_pickle_memo_at(const struct heft_pickle_step *step, uint32_t index)
{
    const struct heft_pickle_machine *m = step->machine;

    return index < m->n_memo ? m->memo[index] : heft_u32map_get(&m->sparse, index);
}

/* Records the state of the machine before an opcode. */
static void look_before(const struct heft_pickle_machine *m, struct heft_pickle_step *step)
{
    step->was_depth = m->depth;
    step->was_marks = m->n_marks;
    step->was_fence = m->fence;
}

static void look_after(const struct heft_pickle_machine *m, struct heft_pickle_step *step)
{
    step->name = m->op->name;
    step->byte = m->p[m->op_at];
    step->form = FORMS[m->op->arg].form;
    step->prefix = FORMS[m->op->arg].prefix;
    step->at = m->op_at;
    step->raw = (struct heft_bytes){m->p + m->op_at + 1, m->at - m->op_at - 1};
    step->number = m->number;
    step->text = m->text;
    step->second = m->second;
    step->stack = m->stack;
    step->depth = m->depth;
    step->marks = m->marks;
    step->n_marks = m->n_marks;
    step->memo_count = m->n_memo + m->sparse.count;
}

static bool run_watched(struct heft_pickle_machine *m, struct heft_pickle *out,
                        struct heft_pickle_watcher *watcher)
{
    struct heft_pickle_step step = {.pickle = out, .machine = m};

    while (!m->stopped && !watcher->stopped) {
        look_before(m, &step);
        if (!heft_pickle_step_once(m, &out->opcodes))
            return false;
        look_after(m, &step);
        heft_pickle_hand_over(m, out);
        watcher->stopped = !watcher->step(watcher->ctx, &step);
    }
    return true;
}

bool heft_pickle_watch(struct heft_pickle *out, struct heft_bytes data, uint64_t base,
                       const struct heft_pickle_limits *limits, struct heft_pickle_watcher *watcher,
                       struct heft_arena *arena, struct heft_error *err)
{
    struct heft_pickle_machine m;
    const bool done =
        heft_pickle_begin(&m, out, data, base, limits, arena, err) && run_watched(&m, out, watcher);

    heft_pickle_end(&m, out);
    return done;
}
