/* torch_trace_state.c: the state of the machine after a step: stack, metastack, memo.
 *
 *    stack         m2 torch._utils._rebuild_tensor_v2      a memoised value: its memo index,
 *    metastack[0]  m0 dict of 0                            and a summary
 *    memo          m0 = {}                                 in full; memoised values within it
 *                  m1 = "tok_embeddings.weight"            are shown by their index */
#include "format/torch/trace/torch_trace.h"

#define ENDS 8 /* entries shown at each end of a long part, unless all were requested */

bool heft_trace_remember(struct heft_tracer *tr)
{
    const struct heft_pickle_step *s = tr->step;
    const uint32_t index = (uint32_t)s->number; /* a memo opcode has 32 bits */
    uint32_t node;

    if (s->byte != 'q' && s->byte != 'r' && s->byte != 'p' && s->byte != 0x94)
        return true;
    node = heft_pickle_memo_at(s, index);
    if (s->memo_count > tr->n_memo) {
        if (!heft_grow(&tr->memo, &tr->cap_memo, tr->n_memo, 1, sizeof *tr->memo, tr->err))
            return false;
        tr->memo[tr->n_memo++] = index;
    }
    return heft_u32map_set(&tr->by_node, node, index, tr->err);
}

/* ---- entries ----------------------------------------------------------------------------- */

static bool emit_entry(struct heft_tracer *tr, struct heft_trace_entry *entry)
{
    if (tr->is_stopped)
        return true;
    if (tr->entries == 0)
        return heft_fail(tr->err, HEFT_LIMIT,
                         tr->base == HEFT_NO_OFFSET ? HEFT_NO_OFFSET : tr->base + tr->step->at,
                         "the states shown have more than %d entries: choose a smaller range",
                         HEFT_TRACE_ENTRIES);
    tr->entries--;
    entry->text = heft_trace_end(&tr->effect);
    entry->text_len = tr->effect.n;
    tr->is_stopped = tr->watcher->entry && !tr->watcher->entry(tr->watcher->ctx, entry);
    return true;
}

static void put_index(struct heft_tracer *tr, uint32_t index)
{
    heft_trace_word(&tr->effect, "m");
    heft_trace_u64(&tr->effect, index);
    heft_trace_word(&tr->effect, " ");
}

static void put_stack_entry(struct heft_tracer *tr, uint32_t node)
{
    const uint32_t index = heft_trace_memo_of(tr, node);

    if (index == HEFT_MAP_NONE) {
        heft_trace_value(tr, &tr->effect, node);
        return;
    }
    put_index(tr, index);
    heft_trace_brief(tr, &tr->effect, node);
}

static void put_in_memo(struct heft_tracer *tr, uint32_t index)
{
    put_index(tr, index);
    heft_trace_word(&tr->effect, "= ");
    heft_trace_value(tr, &tr->effect, heft_pickle_memo_at(tr->step, index));
}

/* Shows a part of `count` entries: nodes for a stack, memo indexes for the memo. */
static bool show_part(struct heft_tracer *tr, enum heft_trace_part part, uint64_t level,
                      const uint32_t *numbers, size_t count, bool whole)
{
    struct heft_trace_entry entry = {.part = part, .level = level, .count = count};
    bool ok = true;

    tr->effect.n = 0;
    if (count == 0)
        return emit_entry(tr, &entry);
    for (size_t i = 0; ok && i < count && !tr->is_stopped; i++) {
        tr->effect.n = 0;
        entry.index = i;
        entry.left_out = 0;
        if (!whole && i == ENDS && count > 2 * ENDS + 1) {
            entry.left_out = count - (size_t)2 * ENDS;
            i = count - ENDS - 1;
        } else if (part == HEFT_TRACE_MEMO) {
            entry.index = numbers[i];
            put_in_memo(tr, numbers[i]);
        } else {
            put_stack_entry(tr, numbers[i]);
        }
        ok = emit_entry(tr, &entry);
    }
    return ok;
}

/* Shows the stacks set aside by marks; the middle of a deep metastack is one entry. */
static bool show_metastack(struct heft_tracer *tr, bool whole)
{
    const struct heft_pickle_step *s = tr->step;
    struct heft_trace_entry none = {.part = HEFT_TRACE_METASTACK};
    bool ok = true;

    tr->effect.n = 0;
    if (s->n_marks == 0)
        return emit_entry(tr, &none);
    for (size_t i = 0; ok && i < s->n_marks && !tr->is_stopped; i++) {
        const size_t from = i ? s->marks[i - 1] : 0;

        if (!whole && i == ENDS && s->n_marks > 2 * ENDS + 1) {
            none.level = i;
            none.left_out = s->n_marks - (size_t)2 * ENDS;
            i = s->n_marks - ENDS - 1;
            tr->effect.n = 0;
            ok = emit_entry(tr, &none);
            continue;
        }
        ok = show_part(tr, HEFT_TRACE_METASTACK, i, s->stack + from, s->marks[i] - from, whole);
    }
    return ok;
}

bool heft_trace_state(struct heft_tracer *tr, bool whole)
{
    const struct heft_pickle_step *s = tr->step;
    const size_t fence = s->n_marks ? s->marks[s->n_marks - 1] : 0;
    bool ok;

    tr->by_place = true;
    ok = show_part(tr, HEFT_TRACE_STACK, 0, s->stack + fence, s->depth - fence, whole) &&
         show_metastack(tr, whole) &&
         show_part(tr, HEFT_TRACE_MEMO, 0, tr->memo, tr->n_memo, whole);
    tr->by_place = false;
    return ok;
}
