/* gpt2.c: GPT-2 on libheft: reads a checkpoint of any format and continues a text, token by token.
 *
 *     gpt2 MODEL COUNT ID…             prints COUNT further ids
 *     gpt2 MODEL 0 ID…                 prints the logits that follow the last id
 *
 * MODEL has the names of Hugging Face's GPT2LMHeadModel. Whatever it is stored in (.pth,
 * .safetensors, shards, .npz, .h5; F32, F16, BF16), heft_tensor_read_with returns floats. Ids come
 * from `heft encode` and go to `heft decode`. Nothing here is fast: it shows how to load. */
#include <heft/heft.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_LAYERS 64

/* The parts of a layer, with the extents of their weights in widths; 0: a vector. */
enum { NORM_1, QKV, PROJ, NORM_2, UP, DOWN, PARTS };
static const struct {
    const char *name;
    size_t rows, columns;
} parts[PARTS] = {{"ln_1", 1, 0}, {"attn.c_attn", 1, 3}, {"attn.c_proj", 1, 1},
                  {"ln_2", 1, 0}, {"mlp.c_fc", 1, 4},    {"mlp.c_proj", 4, 1}};

struct part {
    float *weight, *bias;
    size_t rows, columns; /* of the weight */
};

struct layer {
    struct part part[PARTS];
    float *keys, *values; /* [context, width]: those of the tokens so far */
};

struct gpt2 {
    struct heft_checkpoint *file;
    const char *prefix; /* of all names */
    size_t vocab, context, width, heads, n_layers;
    float *tokens, *positions; /* [vocab, width], [context, width] */
    struct part norm;
    struct layer layers[MOST_LAYERS];
    float *state, *normed, *mixed, *wide; /* [width], three times; [4 · width] */
    float *scores, *logits;               /* [context], [vocab] */
};

static void die(const char *what)
{
    fprintf(stderr, "gpt2: %s\n", what);
    exit(2);
}

static void die_of(const struct heft_error *err)
{
    char line[1024];

    fprintf(stderr, "%s\n", heft_error_format(err, line, sizeof line));
    exit(2);
}

static float *numbers(size_t n)
{
    float *p = calloc(n ? n : 1, sizeof *p);

    if (!p)
        die("not enough memory");
    return p;
}

/* ---- loading ----------------------------------------------------------------------------- */

static bool find(const struct gpt2 *m, const char *name, size_t *index)
{
    char full[256];

    return heft_tensor_find(m->file, full,
                            (size_t)snprintf(full, sizeof full, "%s%s", m->prefix, name), index);
}

/* A tensor as floats. It must have rows × columns elements; columns 0: it is a vector. */
static float *load(const struct gpt2 *m, const char *name, size_t rows, size_t columns)
{
    const size_t n = rows * (columns ? columns : 1);
    struct heft_read_options how = HEFT_INIT(struct heft_read_options);
    struct heft_tensor t = HEFT_INIT(struct heft_tensor);
    struct heft_error err = {0};
    float *p = numbers(n);
    size_t index;

    if (!find(m, name, &index) || !heft_tensor_at(m->file, index, &t))
        die(name);
    if (t.rank != (columns ? 2u : 1u) || t.shape[0] != rows || (columns && t.shape[1] != columns))
        die("a tensor has another shape than GPT-2's");
    how.cast = true;
    how.as = HEFT_F32;
    how.native_order = true;
    if (!heft_tensor_read_with(m->file, index, &how, p, n * sizeof *p, NULL, &err))
        die_of(&err);
    return p;
}

static struct part load_part(const struct gpt2 *m, const char *name, size_t rows, size_t columns)
{
    char weight[64], bias[64];

    snprintf(weight, sizeof weight, "%s.weight", name);
    snprintf(bias, sizeof bias, "%s.bias", name);
    return (struct part){load(m, weight, rows, columns), load(m, bias, columns ? columns : rows, 0),
                         rows, columns};
}

static void load_layer(struct gpt2 *m, size_t index, struct layer *l)
{
    char name[64];

    for (size_t i = 0; i < PARTS; i++) {
        snprintf(name, sizeof name, "h.%zu.%s", index, parts[i].name);
        l->part[i] = load_part(m, name, parts[i].rows * m->width, parts[i].columns * m->width);
    }
    l->keys = numbers(m->context * m->width);
    l->values = numbers(m->context * m->width);
}

/* Finds the sizes of the model. Shapes give all but the number of heads, which is config.n_head if
 * the checkpoint has that value; else heads have 64 numbers, as in all published models. */
static void measure(struct gpt2 *m)
{
    static const char *const prefixes[] = {"transformer.", "", "model.transformer."};
    const struct heft_value *heads = heft_value_find(m->file, "config.n_head");
    struct heft_tensor t = HEFT_INIT(struct heft_tensor);
    size_t index, i = 0;

    do
        m->prefix = prefixes[i];
    while (!find(m, "wte.weight", &index) && ++i < sizeof prefixes / sizeof *prefixes);
    if (!find(m, "wte.weight", &index) || !heft_tensor_at(m->file, index, &t) || t.rank != 2)
        die("no tensor wte.weight: not a GPT-2");
    m->vocab = (size_t)t.shape[0];
    m->width = (size_t)t.shape[1];
    m->heads = heads && heads->kind == HEFT_VALUE_INT ? (size_t)heads->as.integer : m->width / 64;
    if (!find(m, "wpe.weight", &index) || !heft_tensor_at(m->file, index, &t) || t.rank != 2)
        die("no tensor wpe.weight: not a GPT-2");
    m->context = (size_t)t.shape[0];
    if (m->heads == 0 || m->width % m->heads != 0)
        die("the number of heads does not divide the width");
}

static void load_model(struct gpt2 *m, const char *path)
{
    struct heft_error err = {0};
    char next[64] = "h.0.ln_1.weight";
    size_t index;

    m->file = heft_open(path, NULL, &err);
    if (!m->file)
        die_of(&err);
    measure(m);
    m->tokens = load(m, "wte.weight", m->vocab, m->width);
    m->positions = load(m, "wpe.weight", m->context, m->width);
    m->norm = load_part(m, "ln_f", m->width, 0);
    while (m->n_layers < MOST_LAYERS && find(m, next, &index)) {
        load_layer(m, m->n_layers, &m->layers[m->n_layers]);
        snprintf(next, sizeof next, "h.%zu.ln_1.weight", ++m->n_layers);
    }
    heft_close(m->file);
    m->state = numbers(m->width);
    m->normed = numbers(m->width);
    m->wide = numbers(4 * m->width);
    m->mixed = numbers(m->width);
    m->scores = numbers(m->context);
    m->logits = numbers(m->vocab);
}

/* ---- running ----------------------------------------------------------------------------- */

/* out[columns] = x[rows] · weight[rows, columns] + bias[columns] */
static void linear(float *out, const float *x, const struct part *p)
{
    memcpy(out, p->bias, p->columns * sizeof *out);
    for (size_t i = 0; i < p->rows; i++)
        for (size_t j = 0; j < p->columns; j++)
            out[j] += x[i] * p->weight[i * p->columns + j];
}

static float dot(const float *a, const float *b, size_t n)
{
    float sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static void normalise(float *out, const float *x, const struct part *p)
{
    float mean = 0, variance = 0;

    for (size_t i = 0; i < p->rows; i++)
        mean += x[i] / (float)p->rows;
    for (size_t i = 0; i < p->rows; i++)
        variance += (x[i] - mean) * (x[i] - mean) / (float)p->rows;
    for (size_t i = 0; i < p->rows; i++)
        out[i] = (x[i] - mean) / sqrtf(variance + 1e-5f) * p->weight[i] + p->bias[i];
}

static void add(float *out, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] += x[i];
}

/* One head, whose numbers begin at `first`: the mean of the values so far, weighted by the softmax
 * of the similarity of their keys to the query in m->wide. */
static void attend(struct gpt2 *m, const struct layer *l, size_t first, size_t at)
{
    const size_t d = m->width / m->heads;
    float sum = 0, highest = -INFINITY;

    for (size_t t = 0; t <= at; t++) {
        m->scores[t] = dot(m->wide + first, l->keys + t * m->width + first, d) / sqrtf((float)d);
        highest = fmaxf(highest, m->scores[t]);
    }
    for (size_t t = 0; t <= at; t++)
        sum += m->scores[t] = expf(m->scores[t] - highest);
    for (size_t i = 0; i < d; i++) {
        m->mixed[first + i] = 0;
        for (size_t t = 0; t <= at; t++)
            m->mixed[first + i] += m->scores[t] / sum * l->values[t * m->width + first + i];
    }
}

static float gelu(float x)
{
    return 0.5f * x * (1 + tanhf(0.79788456f * (x + 0.044715f * x * x * x)));
}

static void run_layer(struct gpt2 *m, const struct layer *l, size_t at)
{
    const size_t width = m->width;

    normalise(m->normed, m->state, &l->part[NORM_1]);
    linear(m->wide, m->normed, &l->part[QKV]);
    memcpy(l->keys + at * width, m->wide + width, width * sizeof(float));
    memcpy(l->values + at * width, m->wide + 2 * width, width * sizeof(float));
    for (size_t first = 0; first < width; first += width / m->heads)
        attend(m, l, first, at);
    linear(m->normed, m->mixed, &l->part[PROJ]);
    add(m->state, m->normed, width);

    normalise(m->normed, m->state, &l->part[NORM_2]);
    linear(m->wide, m->normed, &l->part[UP]);
    for (size_t i = 0; i < 4 * width; i++)
        m->wide[i] = gelu(m->wide[i]);
    linear(m->normed, m->wide, &l->part[DOWN]);
    add(m->state, m->normed, width);
}

/* Computes the logits that follow the token at that position. */
static void step(struct gpt2 *m, size_t token, size_t at)
{
    if (token >= m->vocab || at >= m->context)
        die("an id is not in the vocabulary, or the text is too long");
    for (size_t i = 0; i < m->width; i++)
        m->state[i] = m->tokens[token * m->width + i] + m->positions[at * m->width + i];
    for (size_t i = 0; i < m->n_layers; i++)
        run_layer(m, &m->layers[i], at);
    normalise(m->normed, m->state, &m->norm);
    for (size_t v = 0; v < m->vocab; v++)
        m->logits[v] = dot(m->normed, m->tokens + v * m->width, m->width);
}

static size_t likeliest(const struct gpt2 *m)
{
    size_t best = 0;

    for (size_t v = 1; v < m->vocab; v++)
        best = m->logits[v] > m->logits[best] ? v : best;
    return best;
}

int main(int argc, char **argv)
{
    static struct gpt2 m;
    size_t at = 0, count;

    if (argc < 4)
        die("usage: gpt2 MODEL COUNT ID…");
    load_model(&m, argv[1]);
    count = strtoul(argv[2], NULL, 10);
    for (int i = 3; i < argc; i++)
        step(&m, strtoul(argv[i], NULL, 10), at++);
    for (size_t v = 0; count == 0 && v < m.vocab; v++)
        printf("%.9g\n", (double)m.logits[v]);
    for (; count > 0; count--) {
        const size_t next = likeliest(&m);

        printf("%zu\n", next);
        if (count > 1)
            step(&m, next, at++);
    }
    return 0;
}
