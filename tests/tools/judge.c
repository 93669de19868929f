/* judge.c: see judge.h. */
#include "judge.h"

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
    struct heft_tensor t;

    for (size_t i = 0; heft_tensor_at(c, i, &t) && reading.left > 0; i++) {
        if (t.missing) /* reported by heft_verify */
            continue;
        if (!heft_tensor_stream(c, i, NULL, 0, take_piece, &reading, err) && reading.left > 0)
            return false;
    }
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
    const struct heft_open_options open_options = {.limits = limits};
    const struct heft_verify_options verify_options = {.threads = 1};
    struct heft_checkpoint *c;

    *out = (struct judgement){.stage = "open"};
    c = heft_open(path, &open_options, &out->err);
    if (!c)
        return;
    out->tensors = heft_tensor_count(c);
    out->stage = "read";
    if (read_tensors(c, &out->err)) {
        out->stage = "verify";
        if (heft_verify(c, &verify_options, each ? each : ignore_finding, ctx, &out->err))
            out->stage = "ok";
    }
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
