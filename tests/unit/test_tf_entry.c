/* test_tf_entry.c: the quick reader of index entries against the general one: what it takes, it reads
 * alike, and what it does not take is told by the other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "format/tensorflow/bundle/tf_parts.h"

#define ROUNDS 200000

struct bytes {
    uint8_t p[256];
    size_t n;
};

static uint64_t next(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

static void put_varint(struct bytes *b, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        b->p[b->n++] = (uint8_t)(v | 0x80);
    b->p[b->n++] = (uint8_t)v;
}

static void put_field(struct bytes *b, uint8_t tag, uint64_t v)
{
    b->p[b->n++] = tag;
    put_varint(b, v);
}

/* A number of any length, short ones most. */
static uint64_t any_number(uint64_t *state)
{
    const uint64_t wide = next(state) << 33 ^ next(state);

    return wide >> next(state) % 64;
}

static void put_shape(struct bytes *b, uint64_t *state)
{
    struct bytes shape = {.n = 0}, dim;

    for (uint64_t left = next(state) % 5; left > 0; left--) {
        dim.n = 0;
        if (next(state) % 8)
            put_field(&dim, 0x08, next(state) % 16 ? next(state) % 300 : any_number(state));
        put_field(&shape, 0x12, dim.n);
        memcpy(shape.p + shape.n, dim.p, dim.n);
        shape.n += dim.n;
    }
    put_field(b, 0x12, shape.n);
    memcpy(b->p + b->n, shape.p, shape.n);
    b->n += shape.n;
}

static void put_entry(struct bytes *b, uint64_t *state)
{
    b->n = 0;
    if (next(state) % 8)
        put_field(b, 0x08, next(state) % 24);
    if (next(state) % 8)
        put_shape(b, state);
    for (uint8_t tag = 0x18; tag <= 0x28; tag += 8)
        if (next(state) % 2)
            put_field(b, tag, any_number(state));
    if (next(state) % 8) {
        b->p[b->n++] = 0x35;
        for (int i = 0; i < 4; i++)
            b->p[b->n++] = (uint8_t)next(state);
    }
}

/* A field that nobody knows, in front: the general reader is the only one that takes it. */
static struct bytes longer(const struct bytes *b)
{
    struct bytes out = {.n = 0};

    put_field(&out, 0x78, 1);
    memcpy(out.p + out.n, b->p, b->n);
    out.n += b->n;
    return out;
}

static void assert_same(const struct heft_tf_entry *a, const struct heft_tf_entry *b)
{
    assert_int_equal(a->number, b->number);
    assert_int_equal(a->elements, b->elements);
    assert_int_equal(a->offset, b->offset);
    assert_int_equal(a->size, b->size);
    assert_int_equal(a->shard, b->shard);
    assert_int_equal(a->crc, b->crc);
    assert_int_equal(a->n_slices, b->n_slices);
    assert_int_equal(a->rank, b->rank);
    assert_memory_equal(a->shape, b->shape, a->rank * sizeof *a->shape);
}

/* Both readers on the same entry; true where the quick one took it. */
static bool compare(const struct bytes *b, struct heft_arena *mem)
{
    const struct bytes general = longer(b);
    struct heft_error err = {0}, other = {0};
    uint64_t dims[HEFT_TF_QUICK_RANK], left = 100;
    const struct heft_tf_room room = {mem, mem, &left};
    struct heft_tf_entry quick, whole, slow;
    const bool taken = heft_tf_entry_quick((struct heft_bytes){b->p, b->n}, dims, &quick);
    const bool ok =
        heft_tf_entry_read((struct heft_bytes){general.p, general.n}, 0, &room, &slow, &other);

    assert_int_equal(heft_tf_entry_read((struct heft_bytes){b->p, b->n}, 0, &room, &whole, &err),
                     ok);
    if (ok)
        assert_same(&whole, &slow);
    else
        assert_int_equal(err.code, other.code);
    return taken;
}

static void both_readers_agree(void **state)
{
    struct heft_arena mem = {0};
    struct bytes entry;
    uint64_t seed = 1;
    unsigned taken = 0;

    (void)state;
    for (unsigned i = 0; i < ROUNDS; i++) {
        put_entry(&entry, &seed);
        if (i % 3 == 0 && entry.n > 0) /* damaged */
            entry.p[next(&seed) % entry.n] = (uint8_t)next(&seed);
        if (i % 7 == 0 && entry.n > 0) /* cut off */
            entry.n = next(&seed) % entry.n;
        taken += compare(&entry, &mem);
        if (i % 1000 == 0)
            heft_arena_release(&mem);
    }
    heft_arena_release(&mem);
    assert_true(taken > ROUNDS / 4 && taken < ROUNDS - ROUNDS / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_readers_agree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
