/* h5_order.c: restores the order in which Keras assigns the weights of a layer, if the source has
 * lost it: safetensors and TensorFlow sort names, and load_weights would silently read
 *
 *     beta, gamma, moving_mean, …    as    gamma, beta, moving_mean, …
 *
 * Only lists that are sorted and consist of names used by Keras' own layers are changed: any other
 * order is assumed to be intended. */
#include <limits.h>
#include <stdlib.h>

#include "format/hdf5/h5_parts.h"

#define OTHER UINT_MAX

/* Weights of each kind of layer, in its order; a name occurs at one position only. */
static const char *const weights[] = {
    "kernel",
    "depthwise_kernel",
    "pointwise_kernel",
    "recurrent_kernel",
    "embeddings",
    "reverse_embeddings",
    "gamma",
    "beta",
    "bias",
    "moving_mean",
    "moving_variance",
    "moving_stddev",
    "renorm_mean",
    "renorm_stddev",
    "mean",
    "variance",
    "count",
    "scale",
    "concat_score_weight",
    "alpha",
};

/* Inner layers of MultiHeadAttention and Bidirectional; a name follows those of the latter. */
static const char *const parts[] = {"query",    "key",      "value", "attention_output",
                                    "forward_", "backward_"};

static unsigned weight_place(struct heft_str name)
{
    if (heft_str_ends(name, ":0"))
        name.n -= 2;
    for (unsigned i = 0; i < HEFT_COUNT(weights); i++)
        if (heft_str_is(name, weights[i]))
            return i;
    return OTHER;
}

static unsigned part_place(struct heft_str name)
{
    for (unsigned i = 0; i < HEFT_COUNT(parts); i++) {
        const struct heft_str part = heft_str_of(parts[i]);

        if (heft_str_ends(part, "_") ? heft_str_starts(name, part) : heft_str_eq(name, part))
            return i;
    }
    return OTHER;
}

/* Takes the part up to the next slash, which is skipped; the rest if there is none. */
static struct heft_str next_component(struct heft_str *path)
{
    struct heft_str one = {path->p, 0};

    while (one.n < path->n && path->p[one.n] != '/')
        one.n++;
    path->p += one.n + (one.n < path->n);
    path->n -= one.n + (one.n < path->n);
    return one;
}

static int by_place(const void *left, const void *right)
{
    const struct heft_h5_text *l = left, *r = right;
    struct heft_str a = {l->p, l->n}, b = {r->p, r->n};
    int order = 0;

    while (order == 0 && (a.n || b.n)) {
        const struct heft_str one = next_component(&a), two = next_component(&b);
        const unsigned place_a = a.n ? part_place(one) : weight_place(one);
        const unsigned place_b = b.n ? part_place(two) : weight_place(two);

        if (!a.n != !b.n) /* weights of the layer itself precede those of its inner layers */
            return a.n ? 1 : -1;
        order =
            place_a != place_b ? (place_a > place_b) - (place_a < place_b) : heft_str_cmp(one, two);
    }
    return order;
}

static bool is_known(const struct heft_h5_text *name)
{
    struct heft_str path = {name->p, name->n}, last = path;

    while (path.n)
        last = next_component(&path);
    return weight_place(last) != OTHER;
}

void heft_h5_order(struct heft_h5_text *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!is_known(&names[i]) ||
            (i && heft_str_cmp((struct heft_str){names[i - 1].p, names[i - 1].n},
                               (struct heft_str){names[i].p, names[i].n}) > 0))
            return;
    if (n > 1)
        qsort(names, n, sizeof *names, by_place);
}
