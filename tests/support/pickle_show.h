/* pickle_show.h: for tests: runs a pickle from a heap block of its exact size, and prints the graph
 * in one line, like Python's repr:
 *
 *    module.name        a global              f(1, 2)           a REDUCE
 *    f.new(1)           NEWOBJ, NEWOBJ_EX     f()[1, 2]{k: v}   items and pairs of an object
 *    x!state            BUILD                 pid(id)           a persistent id
 *    p'raw' b'ff'       Python 2 string, bytes in hexadecimal */
#ifndef HEFT_PICKLE_SHOW_H
#define HEFT_PICKLE_SHOW_H

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "wire/pickle.h"

struct run {
    struct heft_pickle pickle;
    struct heft_arena arena;
    struct heft_error err;
    uint8_t *copy;
    bool done;
};

static inline void run_pickle_at(struct run *run, const void *bytes, size_t n, uint64_t base,
                                 const struct heft_pickle_limits *limits)
{
    *run = (struct run){0};
    run->copy = malloc(n ? n : 1); /* exact size, so that a sanitizer detects reads beyond it */
    if (!run->copy)
        abort();
    if (n)
        memcpy(run->copy, bytes, n);
    run->done = heft_pickle_run(&run->pickle, (struct heft_bytes){run->copy, n}, base, limits,
                                &run->arena, &run->err);
}

static inline void run_pickle(struct run *run, const void *bytes, size_t n)
{
    run_pickle_at(run, bytes, n, 0, NULL);
}

static inline void end_run(struct run *run)
{
    heft_arena_release(&run->arena);
    free(run->copy);
}

static inline void show_node(struct heft_buf *out, const struct heft_pickle *p, uint32_t number,
                             int depth);

static inline void show_hex(struct heft_buf *out, struct heft_str s)
{
    for (size_t i = 0; i < s.n; i++)
        heft_buf_printf(out, "%02x", (unsigned)(uint8_t)s.p[i]);
}

static inline void show_items(struct heft_buf *out, const struct heft_pickle *p, uint32_t number,
                              bool pairs, int depth)
{
    struct heft_pickle_iter iter = heft_pickle_items(p, number);
    uint32_t item, i = 0;

    while (heft_pickle_next(&iter, &item)) {
        if (i)
            heft_buf_text(out, pairs && i % 2 ? ": " : ", ");
        show_node(out, p, item, depth + 1);
        i++;
    }
}

static inline void show_call(struct heft_buf *out, const struct heft_pickle *p, uint32_t number,
                             int depth)
{
    static const char *const how[] = {"", ".new", ".newex", ".inst", ".obj"};
    const struct heft_pickle_node *node = heft_pickle_at(p, number);

    show_node(out, p, node->u.call.callee, depth + 1);
    heft_buf_text(out, how[node->how]);
    show_node(out, p, node->u.call.args, depth + 1);
    if (node->module != HEFT_PICKLE_NIL)
        show_node(out, p, node->module, depth + 1);
    if (node->first != HEFT_PICKLE_NIL) {
        heft_buf_text(out, node->pairs ? "{" : "[");
        show_items(out, p, number, node->pairs, depth);
        heft_buf_text(out, node->pairs ? "}" : "]");
    }
}

static inline void show_scalar(struct heft_buf *out, const struct heft_pickle *p, uint32_t number)
{
    const struct heft_pickle_node *node = heft_pickle_at(p, number);

    switch (node->kind) {
    case HEFT_PICKLE_NONE:
        heft_buf_text(out, "None");
        break;
    case HEFT_PICKLE_BOOL:
        heft_buf_text(out, node->u.integer ? "True" : "False");
        break;
    case HEFT_PICKLE_INT:
        heft_buf_printf(out, "%lld", (long long)node->u.integer);
        break;
    case HEFT_PICKLE_FLOAT:
        heft_buf_printf(out, "%.17g", node->u.number);
        break;
    case HEFT_PICKLE_BIGINT:
        heft_buf_text(out, "big:");
        show_hex(out, heft_pickle_text(p, number));
        break;
    case HEFT_PICKLE_STR:
    case HEFT_PICKLE_PY2STR:
        heft_buf_text(out, node->kind == HEFT_PICKLE_STR ? "'" : "p'");
        heft_buf_str(out, heft_pickle_text(p, number));
        heft_buf_text(out, "'");
        break;
    default:
        heft_buf_text(out, node->kind == HEFT_PICKLE_BYTES ? "b'" : "bytearray'");
        show_hex(out, heft_pickle_text(p, number));
        heft_buf_text(out, "'");
    }
}

static inline void show_node(struct heft_buf *out, const struct heft_pickle *p, uint32_t number,
                             int depth)
{
    static const char *const open[] = {[HEFT_PICKLE_TUPLE] = "(",
                                       [HEFT_PICKLE_LIST] = "[",
                                       [HEFT_PICKLE_DICT] = "{",
                                       [HEFT_PICKLE_SET] = "set{",
                                       [HEFT_PICKLE_FROZENSET] = "frozenset{"};
    const struct heft_pickle_node *node = heft_pickle_at(p, number);

    if (depth > 20) {
        heft_buf_text(out, "...");
        return;
    }
    if (node->kind < HEFT_PICKLE_TUPLE) {
        show_scalar(out, p, number);
    } else if (node->kind == HEFT_PICKLE_GLOBAL) {
        heft_buf_str(out, heft_pickle_text(p, node->module));
        heft_buf_text(out, ".");
        heft_buf_str(out, heft_pickle_text(p, number));
    } else if (node->kind == HEFT_PICKLE_CALL) {
        show_call(out, p, number, depth);
    } else if (node->kind == HEFT_PICKLE_PERSID) {
        heft_buf_text(out, "pid(");
        show_node(out, p, node->u.call.args, depth + 1);
        heft_buf_text(out, ")");
    } else {
        heft_buf_text(out, open[node->kind]);
        show_items(out, p, number, node->kind == HEFT_PICKLE_DICT, depth);
        heft_buf_text(out, node->kind == HEFT_PICKLE_TUPLE  ? ")"
                           : node->kind == HEFT_PICKLE_LIST ? "]"
                                                            : "}");
    }
    if (node->state != HEFT_PICKLE_NIL) {
        heft_buf_text(out, "!");
        show_node(out, p, node->state, depth + 1);
    }
}

/* Writes the root as text, NUL-terminated; release it with heft_buf_release. */
static inline void show_root(struct heft_buf *out, const struct run *run)
{
    *out = (struct heft_buf){0};
    if (run->done)
        show_node(out, &run->pickle, run->pickle.root, 0);
    else
        heft_buf_printf(out, "error %d at %llu: %s", (int)run->err.code,
                        (unsigned long long)run->err.offset, run->err.text);
    heft_buf_put(out, "", 1);
}

#endif
