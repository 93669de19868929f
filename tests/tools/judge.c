/* judge.c: see judge.h. */
#include "judge.h"

#include <stdlib.h>
#include <string.h>

/* Bytes that may still be read. Touches every byte, so that a sanitizer detects invalid memory. */
struct reading {
    uint64_t left;
    unsigned char sum;
};

static bool take_piece(void *ctx, const void *piece, size_t n)
{
    struct reading *reading = ctx;
    const unsigned char *bytes = piece;

    for (size_t i = 0; i < n; i++)
        reading->sum ^= bytes[i];
    reading->left = n < reading->left ? reading->left - n : 0;
    return reading->left > 0;
}

static bool read_tensors(struct heft_checkpoint *c, struct heft_error *err)
{
    struct reading reading = {.left = JUDGE_READ_CAP};
    struct heft_tensor t = HEFT_INIT(struct heft_tensor);

    for (size_t i = 0; heft_tensor_at(c, i, &t) && reading.left > 0; i++) {
        if (t.missing) /* reported by heft_verify */
            continue;
        if (!heft_tensor_stream(c, i, NULL, 0, take_piece, &reading, err) && reading.left > 0)
            return false;
    }
    return true;
}

/* Stops after as many bytes as are read of a file. */
static bool may_go_on(void *ctx, uint64_t done, uint64_t total)
{
    (void)ctx;
    (void)total;
    return done < JUDGE_READ_CAP;
}

static bool take_stats(void *ctx, const struct heft_tensor_stats *stats)
{
    size_t *const n = ctx;

    *n += stats->kind == HEFT_STATS_NONE ||
          stats->nan + stats->inf + stats->finite == stats->elements;
    return true;
}

/* Missing tensors are reported by heft_verify. */
static bool *choose_present(const struct heft_checkpoint *c, size_t tensors, size_t *n)
{
    bool *const selected = calloc(tensors + 1, sizeof *selected);
    struct heft_tensor t = HEFT_INIT(struct heft_tensor);

    *n = 0;
    for (size_t i = 0; selected && i < tensors && heft_tensor_at(c, i, &t); i++) {
        selected[i] = !t.missing;
        *n += selected[i];
    }
    return selected;
}

/* All tensors have statistics, and each element is counted once. */
static bool take_all_stats(struct heft_checkpoint *c, size_t tensors, struct heft_error *err)
{
    size_t expected, n = 0;
    bool *const selected = choose_present(c, tensors, &expected);
    const struct heft_stats_options options = {
        .size = sizeof options, .selected = selected, .threads = 1, .progress = may_go_on};
    bool ok;

    if (!selected)
        abort();
    ok = heft_stats(c, &options, take_stats, &n, err);
    free(selected);
    if (ok && n != expected)
        abort(); /* a tensor without statistics, or with wrong counts */
    if (ok || err->code != HEFT_CANCELLED)
        return ok;
    *err = (struct heft_error){0};
    return true;
}

static void ignore_finding(void *ctx, const struct heft_finding *finding)
{
    (void)ctx;
    (void)finding;
}

void judge_file(const char *path, const struct heft_limits *limits,
                void (*each)(void *ctx, const struct heft_finding *finding), void *ctx,
                struct judgement *out)
{
    const struct heft_open_options open_options = {.size = sizeof open_options, .limits = limits};
    const struct heft_verify_options verify_options = {.size = sizeof verify_options, .threads = 1};
    struct heft_checkpoint *c;

    *out = (struct judgement){.stage = "open"};
    c = heft_open(path, &open_options, &out->err);
    if (!c)
        return;
    out->tensors = heft_tensor_count(c);
    out->stage = "read";
    if (read_tensors(c, &out->err)) {
        out->stage = "stats";
        if (take_all_stats(c, out->tensors, &out->err))
            out->stage = "verify";
    }
    if (strcmp(out->stage, "verify") == 0 &&
        heft_verify(c, &verify_options, each ? each : ignore_finding, ctx, &out->err))
        out->stage = "ok";
    heft_close(c);
}

const char *judge_code_name(enum heft_code code)
{
    static const char *const names[] = {
        [HEFT_OK] = "ok",
        [HEFT_NOMEM] = "nomem",
        [HEFT_IO] = "io",
        [HEFT_MALFORMED] = "malformed",
        [HEFT_UNSUPPORTED] = "unsupported",
        [HEFT_LIMIT] = "limit",
        [HEFT_UNSAFE] = "unsafe",
        [HEFT_MISMATCH] = "mismatch",
        [HEFT_USAGE] = "usage",
    };

    return (size_t)code < sizeof names / sizeof names[0] ? names[code] : "?";
}
