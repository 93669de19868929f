/* pickle.c: the loop of the pickle machine.
 *
 *     pickle = { opcode [argument] } '.'
 *
 * An opcode is one byte; the form of its argument depends on the opcode alone (table in
 * pickle_ops.c). The loop takes the argument, checks that it is complete, applies the frame rule,
 * and calls the handler. Handlers create nodes; none can call anything that a pickle names.
 *
 * A frame (protocol 4) only declares that so many bytes follow, and has no other effect. A frame
 * that reaches beyond the end, a frame inside a frame, and an opcode that crosses the end of a
 * frame are errors: readers disagree about them, so that a file could have two meanings. */
#include "wire/pickle_machine.h"

#include "base/endian.h"

#include <stdarg.h>
#include <stdio.h>

static const struct heft_pickle_limits defaults = {.opcodes = 50000000,
                                                   .nodes = 20000000,
                                                   .bytes = UINT64_MAX,
                                                   .marks = 1000000,
                                                   .text = 64 << 20};

bool heft_pickle_fail(struct heft_pickle_machine *m, enum heft_code code, const char *format, ...)
{
    const bool placed = m->base != HEFT_NO_OFFSET;
    char text[256];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return heft_fail(m->err, code, placed ? m->base + m->op_at : HEFT_NO_OFFSET, "%s%s%s%zu: %s",
                     m->op ? m->op->name : "opcode", " at ", placed ? "" : "pickle position ",
                     m->op_at, text);
}

/* ---- arguments ------------------------------------------------------------------------------- */

static bool short_of(struct heft_pickle_machine *m, uint64_t need)
{
    return heft_pickle_fail(m, HEFT_MALFORMED,
                            "needs %" PRIu64 " more byte%s, the pickle has %zu left", need,
                            need == 1 ? "" : "s", m->n - m->at);
}

/* Takes the next `bytes` bytes as a little-endian number. */
static inline bool take_number(struct heft_pickle_machine *m, unsigned bytes)
{
    const uint8_t *p = m->p + m->at;

    if (HEFT_UNLIKELY(m->n - m->at < bytes))
        return short_of(m, bytes);
    m->at += bytes;
    if (bytes == 1)
        m->number = p[0];
    else if (bytes == 2)
        m->number = heft_le16(p);
    else if (bytes == 4)
        m->number = heft_le32(p);
    else
        m->number = heft_le64(p);
    return true;
}

/* Takes m->number bytes of text. */
static inline bool take_text(struct heft_pickle_machine *m)
{
    if (HEFT_UNLIKELY(m->number > m->n - m->at))
        return short_of(m, m->number);
    if (HEFT_UNLIKELY(m->number > m->limits.text))
        return heft_pickle_fail(m, HEFT_LIMIT, "%" PRIu64 " bytes, the limit is %" PRIu64,
                                m->number, m->limits.text);
    m->text = (struct heft_bytes){m->p + m->at, (size_t)m->number};
    m->at += m->text.n;
    return true;
}

static bool take_line(struct heft_pickle_machine *m, uint64_t most, struct heft_bytes *line)
{
    const uint8_t *p = m->p + m->at;
    const size_t left = m->n - m->at;
    const size_t reach = most < left ? (size_t)most + 1 : left;
    const uint8_t *end = reach ? memchr(p, '\n', reach) : NULL;

    if (!end && reach < left)
        return heft_pickle_fail(m, HEFT_LIMIT, "a line of more than %" PRIu64 " bytes", most);
    if (!end)
        return heft_pickle_fail(m, HEFT_MALFORMED, "the pickle ends inside a line");
    *line = (struct heft_bytes){p, (size_t)(end - p)};
    m->at += line->n + 1;
    return true;
}

static bool take_signed(struct heft_pickle_machine *m)
{
    if (!take_number(m, 4))
        return false;
    if (m->number > INT32_MAX)
        m->number |= UINT64_C(0xFFFFFFFF00000000);
    return true;
}

static bool take_text31(struct heft_pickle_machine *m)
{
    if (!take_number(m, 4))
        return false;
    if (m->number > INT32_MAX)
        return heft_pickle_fail(m, HEFT_MALFORMED, "negative length %" PRId64,
                                (int64_t)m->number - (INT64_C(1) << 32));
    return take_text(m);
}

static bool take_f64(struct heft_pickle_machine *m)
{
    if (!take_number(m, 8))
        return false;
    m->number = heft_be64(m->p + m->at - 8);
    return true;
}

/* pickle.Unpickler also imports a name that is cut off by the end of the file. */
static bool take_name(struct heft_pickle_machine *m, struct heft_bytes *line)
{
    if (m->limits.at_end && (m->at == m->n || !memchr(m->p + m->at, '\n', m->n - m->at)))
        return heft_pickle_last_line(m, line);
    return take_line(m, m->limits.lenient ? m->limits.text : HEFT_PICKLE_NAME, line);
}

static bool take_argument(struct heft_pickle_machine *m, enum heft_pickle_arg arg)
{
    switch (arg) {
    case HEFT_ARG_NONE:
        return true;
    case HEFT_ARG_U8:
        return take_number(m, 1);
    case HEFT_ARG_U16:
        return take_number(m, 2);
    case HEFT_ARG_U32:
        return take_number(m, 4);
    case HEFT_ARG_U64:
        return take_number(m, 8);
    case HEFT_ARG_I32:
        return take_signed(m);
    case HEFT_ARG_F64:
        return take_f64(m);
    case HEFT_ARG_TEXT8:
        return take_number(m, 1) && take_text(m);
    case HEFT_ARG_TEXT32:
        return take_number(m, 4) && take_text(m);
    case HEFT_ARG_TEXT64:
        return take_number(m, 8) && take_text(m);
    case HEFT_ARG_TEXT31:
        return take_text31(m);
    case HEFT_ARG_SHORT:
        return take_line(m, m->limits.lenient ? m->limits.text : HEFT_PICKLE_LINE, &m->text);
    case HEFT_ARG_LINE:
        return take_line(m, m->limits.text, &m->text);
    case HEFT_ARG_NAMES:
        return take_name(m, &m->text) && take_name(m, &m->second);
    }
    return false;
}

/* ---- the loop -------------------------------------------------------------------------------- */

static bool no_opcode(struct heft_pickle_machine *m)
{
    const uint8_t byte = m->p[m->op_at];

    m->op = NULL;
    return heft_pickle_fail(m, HEFT_MALFORMED, "byte 0x%02x is not an opcode", byte);
}

static bool no_stop(struct heft_pickle_machine *m)
{
    m->op = NULL;
    m->op_at = m->n;
    return heft_pickle_fail(m, HEFT_MALFORMED,
                            m->n ? "the pickle ends without STOP" : "the pickle is empty");
}

bool heft_pickle_bend(struct heft_pickle_machine *m)
{
    if (!m->limits.lenient)
        return false;
    if (m->bent == HEFT_PICKLE_NIL)
        m->bent = (uint32_t)m->op_at;
    m->frame_end = SIZE_MAX;
    return true;
}

static bool run_opcode(struct heft_pickle_machine *m)
{
    m->op_at = m->at;
    m->op = &heft_pickle_ops[m->p[m->at++]];
    if (HEFT_UNLIKELY(!m->op->name))
        return no_opcode(m);
    if (HEFT_UNLIKELY(m->op_at >= m->frame_end))
        m->frame_end = SIZE_MAX;
    if (!take_argument(m, (enum heft_pickle_arg)m->op->arg))
        return false;
    if (HEFT_UNLIKELY(m->at > m->frame_end) && !heft_pickle_bend(m))
        return heft_pickle_fail(m, HEFT_MALFORMED, "reaches to %zu, its frame ends at %zu", m->at,
                                m->frame_end);
    return m->op->run(m);
}

bool heft_pickle_step_once(struct heft_pickle_machine *m, uint64_t *opcodes)
{
    if (m->at == m->n)
        return no_stop(m);
    if (HEFT_UNLIKELY(*opcodes >= m->limits.opcodes)) {
        m->op = &heft_pickle_ops[m->p[m->at]];
        m->op = m->op->name ? m->op : NULL;
        m->op_at = m->at;
        return heft_pickle_fail(m, HEFT_LIMIT, "more than %" PRIu64 " opcodes", m->limits.opcodes);
    }
    ++*opcodes;
    return run_opcode(m);
}

bool heft_pickle_loop(struct heft_pickle_machine *m, uint64_t *opcodes)
{
    while (!m->stopped)
        if (!heft_pickle_step_once(m, opcodes))
            return false;
    return true;
}

static void set_limits(struct heft_pickle_machine *m, const struct heft_pickle_limits *limits)
{
    const struct heft_pickle_limits l = limits ? *limits : defaults;

    m->limits.opcodes = l.opcodes ? l.opcodes : defaults.opcodes;
    m->limits.nodes = heft_min_u64(l.nodes ? l.nodes : defaults.nodes, HEFT_PICKLE_NIL - 1);
    m->limits.bytes = l.bytes ? l.bytes : defaults.bytes;
    m->limits.marks = l.marks ? l.marks : defaults.marks;
    m->limits.bare = l.bare;
    m->limits.text = heft_min_u64(l.text ? l.text : defaults.text, INT32_MAX);
    m->limits.lenient = l.lenient;
    m->limits.at_end = l.lenient && l.at_end;
}

void heft_pickle_hand_over(const struct heft_pickle_machine *m, struct heft_pickle *out)
{
    out->nodes = out->made = m->nodes;
    out->count = (uint32_t)m->n_nodes; /* below limits.nodes */
    out->items = m->items;
    out->root = m->root;
    out->memo_count = (uint32_t)heft_min_u64(heft_pickle_memo_count(m), UINT32_MAX);
    out->length = m->at;
    out->next = m->stopped ? m->next : m->at;
    out->protocol = m->protocol;
    out->bent = m->bent;
    out->left_over = m->stopped ? (uint32_t)(m->depth - 1) : 0; /* fits 32 bits: at most data.n */
}

bool heft_pickle_begin(struct heft_pickle_machine *m, struct heft_pickle *out,
                       struct heft_bytes data, uint64_t base,
                       const struct heft_pickle_limits *limits, struct heft_arena *arena,
                       struct heft_error *err)
{
    *m = (struct heft_pickle_machine){.p = data.p,
                                      .n = data.n,
                                      .frame_end = SIZE_MAX,
                                      .root = HEFT_PICKLE_NIL,
                                      .bent = HEFT_PICKLE_NIL,
                                      .base = base,
                                      .arena = arena,
                                      .err = err};
    *out = (struct heft_pickle){.root = HEFT_PICKLE_NIL, .bent = HEFT_PICKLE_NIL, .data = data};
    set_limits(m, limits);
    if (data.n >= UINT32_MAX) /* positions are stored in 32 bits */
        return heft_fail(err, HEFT_LIMIT, base, "a pickle of %zu bytes, the limit is 4 GiB",
                         data.n);
    return heft_pickle_reserve(m);
}

void heft_pickle_end(struct heft_pickle_machine *m, struct heft_pickle *out)
{
    heft_pickle_trim(m);
    heft_pickle_hand_over(m, out);
    heft_free(m->stack);
    heft_free(m->marks);
    heft_free(m->memo);
    heft_u32map_release(&m->sparse);
    heft_strmap_release(&m->large);
}

bool heft_pickle_run(struct heft_pickle *out, struct heft_bytes data, uint64_t base,
                     const struct heft_pickle_limits *limits, struct heft_arena *arena,
                     struct heft_error *err)
{
    struct heft_pickle_machine m;
    const bool done = heft_pickle_begin(&m, out, data, base, limits, arena, err) &&
                      heft_pickle_loop(&m, &out->opcodes);

    heft_pickle_end(&m, out);
    return done;
}

const char *heft_pickle_opcode_name(uint8_t byte)
{
    return heft_pickle_ops[byte].name;
}
