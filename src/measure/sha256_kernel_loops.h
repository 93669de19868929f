/* sha256_kernel_loops.h: the loops over blocks, the same for the SHA instructions of every processor.
 *
 * The file that includes this one has defined:
 *
 *     SHA, INLINE                attributes of functions
 *     words, struct lane         a vector of words; the state of a message, in s0 and s1
 *     load_state, store_state    between struct lane and the words A … H
 *     add_state                  adds the state before the block
 *     begin_block, hash_quad     before the rounds of a block; rounds 4g … 4g+3 */

#include "base/processor.h"

/* Calls DO(0) … DO(15): a loop would not be unrolled. */
#define EACH_QUAD(DO)                                                                              \
    DO(0);                                                                                         \
    DO(1);                                                                                         \
    DO(2);                                                                                         \
    DO(3);                                                                                         \
    DO(4);                                                                                         \
    DO(5);                                                                                         \
    DO(6);                                                                                         \
    DO(7);                                                                                         \
    DO(8);                                                                                         \
    DO(9);                                                                                         \
    DO(10);                                                                                        \
    DO(11);                                                                                        \
    DO(12);                                                                                        \
    DO(13);                                                                                        \
    DO(14);                                                                                        \
    DO(15)
#define QUAD_OF_ONE(g) hash_quad(&l, p, g)
#define QUAD_OF_TWO(g)                                                                             \
    hash_quad(&l, p, g);                                                                           \
    hash_quad(&k, q, g)

SHA static void hash_one(uint32_t state[8], const uint8_t *p, size_t blocks)
{
    struct lane l;

    load_state(&l, state);
    for (; blocks > 0; blocks--, p += 64) {
        const words s0 = l.s0, s1 = l.s1;

        begin_block(&l, p);
        EACH_QUAD(QUAD_OF_ONE);
        add_state(&l, s0, s1);
    }
    store_state(&l, state);
}

SHA static void hash_two(uint32_t a[8], const uint8_t *p, uint32_t b[8], const uint8_t *q,
                         size_t blocks)
{
    struct lane l, k;

    load_state(&l, a);
    load_state(&k, b);
    for (; blocks > 0; blocks--, p += 64, q += 64) {
        const words l0 = l.s0, l1 = l.s1, k0 = k.s0, k1 = k.s1;

        begin_block(&l, p);
        begin_block(&k, q);
        EACH_QUAD(QUAD_OF_TWO);
        add_state(&l, l0, l1);
        add_state(&k, k0, k1);
    }
    store_state(&l, a);
    store_state(&k, b);
}

const struct heft_sha256_kernels *heft_sha256_kernels(void)
{
    static const struct heft_sha256_kernels kernels = {hash_one, hash_two};

    return heft_processor_has(HEFT_HAS_SHA) ? &kernels : NULL;
}
