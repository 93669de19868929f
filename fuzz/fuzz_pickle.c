/* fuzz_pickle.c: the pickle machine on any bytes. Invariants of the graph, also after an error:
 * every index names a node, counts equal those of the segments, texts lie in readable memory, and a
 * failure has a code, an offset inside the pickle and a text. */

#include "expect.h"
#include "wire/pickle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool names_node(const struct heft_pickle *p, uint32_t number)
{
    return number == HEFT_PICKLE_NIL || number < p->count;
}

static void check_items(const struct heft_pickle *p, uint32_t number)
{
    const uint32_t count = heft_pickle_count(p, number);
    struct heft_pickle_iter iter = heft_pickle_items(p, number);
    uint32_t item, last = HEFT_PICKLE_NIL, n = 0;

    for (; heft_pickle_next(&iter, &item); n++) {
        expect(item < p->count);
        last = item;
    }
    expect(n == count);
    expect(heft_pickle_item(p, number, count) == HEFT_PICKLE_NIL);
    if (count)
        expect(heft_pickle_item(p, number, count - 1) == last);
}

static void check_text(const struct heft_pickle *p, uint32_t number)
{
    const struct heft_str text = heft_pickle_text(p, number);
    volatile char sink = 0;

    for (size_t i = 0; i < text.n; i++)
        sink = (char)(sink ^ text.p[i]);
}

static void check_node(const struct heft_pickle *p, uint32_t number)
{
    const struct heft_pickle_node *node = heft_pickle_at(p, number);

    expect(node->kind <= HEFT_PICKLE_PERSID);
    expect(node->at < p->data.n);
    expect(names_node(p, node->state) && names_node(p, node->module));
    if (node->kind >= HEFT_PICKLE_BIGINT && node->kind <= HEFT_PICKLE_BYTEARRAY &&
        node->kind != HEFT_PICKLE_FLOAT)
        check_text(p, number);
    if (node->kind == HEFT_PICKLE_GLOBAL) {
        check_text(p, number);
        expect(node->module < p->count);
        check_text(p, node->module);
    }
    if (node->kind == HEFT_PICKLE_CALL) {
        expect(node->u.call.callee < p->count && node->u.call.args < p->count);
        expect(heft_pickle_at(p, node->u.call.args)->kind == HEFT_PICKLE_TUPLE);
    }
    if (node->kind == HEFT_PICKLE_PERSID)
        expect(node->u.call.args < p->count);
    if (node->kind == HEFT_PICKLE_DICT || node->pairs)
        expect(heft_pickle_count(p, number) % 2 == 0);
    check_items(p, number);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct heft_pickle_limits limits = {.text = 1 << 16, .marks = 1000, .nodes = 1 << 18};
    struct heft_arena arena = {0};
    struct heft_error err = {0};
    struct heft_pickle p;

    if (heft_pickle_run(&p, (struct heft_bytes){data, size}, 0, &limits, &arena, &err)) {
        expect(err.code == HEFT_OK);
        expect(p.root < p.count && p.length <= size);
    } else {
        expect(err.code != HEFT_OK && err.text[0] != 0);
        expect(err.offset <= size);
    }
    /* memory is linear in the input, plus a fixed part */
    expect(arena.total <= (1 << 20) + 400 * size);
    for (uint32_t i = 0; i < p.count; i++)
        check_node(&p, i);
    heft_arena_release(&arena);
    return 0;
}
