/* shaping_bench.h: a model over memory, from which rows are made, for tests of core/shaping.h. Include it
 * after cmocka.h. */
#ifndef SHAPING_BENCH_H
#define SHAPING_BENCH_H

#include "base/endian.h"
#include "core/reader.h"
#include "core/shaping.h"
#include "format/formats.h"

enum { BENCH_SIZE = 1 << 20 };

struct bench {
    struct heft_model model;
    struct heft_reader reader;
    struct heft_error err;
    uint8_t *data;
    uint32_t seed;
};

static inline uint32_t next_random(struct bench *b)
{
    b->seed = b->seed * 1664525u + 1013904223u;
    return b->seed >> 8;
}

static inline uint32_t below(struct bench *b, uint64_t n)
{
    return next_random(b) % (uint32_t)n;
}

static inline int set_up(void **state)
{
    static const struct heft_storage storages[] = {
        {.off = 0, .len = BENCH_SIZE, .packed = BENCH_SIZE},
        {.off = BENCH_SIZE / 4, .len = BENCH_SIZE / 2, .packed = BENCH_SIZE / 2},
    };
    struct bench *const b = calloc(1, sizeof *b);
    struct heft_source source = {0};
    uint32_t index;

    assert_non_null(b);
    b->seed = 5;
    b->data = malloc(BENCH_SIZE);
    assert_non_null(b->data);
    for (size_t i = 0; i + 4 <= BENCH_SIZE; i += 4)
        heft_put_le32(b->data + i, (uint32_t)i * 2654435761u);
    heft_model_init(&b->model, NULL, &heft_formats);
    heft_source_open_memory(&source, (struct heft_bytes){b->data, BENCH_SIZE}, "bench");
    assert_true(heft_model_add_file(&b->model, &source, "bench", &index, &b->err));
    for (size_t i = 0; i < HEFT_COUNT(storages); i++)
        assert_true(heft_model_add_storage(&b->model, &storages[i], &index, &b->err));
    assert_true(heft_reader_init(&b->reader, &b->model, false, &b->err));
    *state = b;
    return 0;
}

static inline int tear_down(void **state)
{
    struct bench *const b = *state;

    heft_reader_release(&b->reader);
    heft_model_release(&b->model);
    free(b->data);
    free(b);
    return 0;
}

static inline uint64_t *numbers(struct bench *b, const uint64_t *from, unsigned n)
{
    uint64_t *const p = heft_arena_u64(&b->model.mem, n + 1u, &b->err);

    assert_non_null(p);
    if (from)
        memcpy(p, from, n * sizeof *p);
    return p;
}

/* Compares an error, and clears it. */
static inline void expect_failure(struct heft_error *err, enum heft_code code, const char *text)
{
    assert_int_equal(err->code, code);
    if (!strstr(err->text, text))
        fail_msg("\"%s\" is not in \"%s\"", text, err->text);
    *err = (struct heft_error){0};
}

#endif
