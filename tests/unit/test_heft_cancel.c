/* test_heft_cancel.c: a callback of the public API that returns false stops the call: HEFT_CANCELLED. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "heft/heft.h"
#include "heft/tokens.h"

#define GOLDEN HEFT_TESTS "/golden/"

static int calls; /* of the callback that returns false */

static bool stop(void)
{
    calls++;
    return false;
}

static bool stop_bytes(void *ctx, const void *piece, size_t n)
{
    (void)ctx, (void)piece, (void)n;
    return stop();
}

static bool stop_text(void *ctx, const char *text, size_t n)
{
    (void)ctx, (void)text, (void)n;
    return stop();
}

static bool stop_progress(void *ctx, uint64_t done, uint64_t total)
{
    (void)ctx, (void)done, (void)total;
    return stop();
}

static bool stop_stats(void *ctx, const struct heft_tensor_stats *stats)
{
    (void)ctx, (void)stats;
    return stop();
}

static bool stop_digest(void *ctx, const struct heft_digest *digest)
{
    (void)ctx, (void)digest;
    return stop();
}

static bool stop_diff(void *ctx, const struct heft_diff_item *item)
{
    (void)ctx, (void)item;
    return stop();
}

static bool stop_pickle(void *ctx, const struct heft_trace_pickle *pickle)
{
    (void)ctx, (void)pickle;
    return stop();
}

static bool stop_step(void *ctx, const struct heft_trace_step *step)
{
    (void)ctx, (void)step;
    return stop();
}

static bool stop_entry(void *ctx, const struct heft_trace_entry *entry)
{
    (void)ctx, (void)entry;
    return stop();
}

static bool stop_tensor(void *ctx, const struct heft_trace_tensor *tensor)
{
    (void)ctx, (void)tensor;
    return stop();
}

static bool stop_index(void *ctx, const struct heft_index_entry *entry)
{
    (void)ctx, (void)entry;
    return stop();
}

static bool stop_word(void *ctx, const struct heft_word *word)
{
    (void)ctx, (void)word;
    return stop();
}

static bool stop_size(void *ctx, size_t item, uint64_t *bytes, struct heft_error *err)
{
    (void)ctx, (void)item, (void)bytes, (void)err;
    return stop();
}

/* ---- calls ------------------------------------------------------------------------------- */

static struct heft_checkpoint *c;
static const char torch_file[] = GOLDEN "torch/linear.pt";

static bool stream(struct heft_error *err)
{
    return heft_tensor_stream(c, 0, NULL, 0, stop_bytes, NULL, err);
}

static bool stream_as(struct heft_error *err)
{
    return heft_tensor_stream_as(c, 0, NULL, 0, HEFT_F16, stop_bytes, NULL, NULL, err);
}

static bool stats(struct heft_error *err)
{
    return heft_stats(c, NULL, stop_stats, NULL, err);
}

static bool stats_progress(struct heft_error *err)
{
    const struct heft_stats_options how = {.size = sizeof how, .progress = stop_progress};

    return heft_stats(c, &how, stop_stats, NULL, err);
}

static bool verify_progress(struct heft_error *err)
{
    const struct heft_verify_options how = {.size = sizeof how, .progress = stop_progress};

    return heft_verify(c, &how, NULL, NULL, err);
}

static bool digest_tensors(struct heft_error *err)
{
    return heft_digest_tensors(c, NULL, stop_digest, NULL, err);
}

static bool digest_files(struct heft_error *err)
{
    const struct heft_digest_options how = {.size = sizeof how, .progress = stop_progress};

    return heft_digest_files(c, &how, stop_digest, NULL, err);
}

static bool diff_progress(struct heft_error *err)
{
    const struct heft_diff_options how = {.size = sizeof how, .progress = stop_progress};
    struct heft_diff_result result = HEFT_INIT(struct heft_diff_result);

    return heft_diff(c, c, &how, NULL, &result, err);
}

static bool diff_items(struct heft_error *err)
{
    const struct heft_diff_visitor visitor = {.size = sizeof visitor, .tensor = stop_diff};
    struct heft_diff_result result = HEFT_INIT(struct heft_diff_result);
    struct heft_checkpoint *const other = heft_open(GOLDEN "torch/no_crc.pt", NULL, err);
    const bool ok = heft_diff(c, other, NULL, &visitor, &result, err);

    heft_close(other);
    return ok;
}

static bool trace(const struct heft_trace_watcher *watcher, struct heft_error *err)
{
    const struct heft_trace_options how = {.size = sizeof how, .state = true};
    struct heft_trace_total total = HEFT_INIT(struct heft_trace_total);

    return heft_trace(torch_file, &how, watcher, &total, err);
}

static bool trace_pickles(struct heft_error *err)
{
    return trace(&(struct heft_trace_watcher){.size = sizeof(struct heft_trace_watcher),
                                              .pickle = stop_pickle},
                 err);
}

static bool trace_steps(struct heft_error *err)
{
    return trace(
        &(struct heft_trace_watcher){.size = sizeof(struct heft_trace_watcher), .step = stop_step},
        err);
}

static bool trace_entries(struct heft_error *err)
{
    return trace(&(struct heft_trace_watcher){.size = sizeof(struct heft_trace_watcher),
                                              .entry = stop_entry},
                 err);
}

static bool trace_tensors(struct heft_error *err)
{
    return trace(&(struct heft_trace_watcher){.size = sizeof(struct heft_trace_watcher),
                                              .tensor = stop_tensor},
                 err);
}

static bool walk_index(struct heft_error *err)
{
    bool is_index;

    return heft_index_walk(GOLDEN "saved-model/v1", NULL, stop_index, NULL, &is_index, err);
}

static bool explain(struct heft_error *err)
{
    struct heft_vocab *const v = heft_vocab_open(GOLDEN "tokens/small", err);
    const bool ok = heft_explain_text(v, NULL, "a b", 3, stop_word, NULL, err);

    heft_vocab_close(v);
    return ok;
}

static bool decode(struct heft_error *err)
{
    static const uint32_t ids[] = {1, 2, 3};
    struct heft_vocab *const v = heft_vocab_open(GOLDEN "tokens/small", err);
    struct heft_decoder *const d = heft_decoder_new(v, err);
    const bool ok = heft_decoder_feed(d, ids, 3, stop_text, NULL, err) &&
                    heft_decoder_finish(d, stop_text, NULL, err);

    heft_decoder_free(d);
    heft_vocab_close(v);
    return ok;
}

/* Its error is the callback's, if that fills one. */
static bool split(struct heft_error *err)
{
    const struct heft_split_items items = {.size = sizeof items, .n = 1, .bytes = stop_size};

    return heft_split_with(&items, 1, "m{suffix}", err) != NULL;
}

static void calls_are_cancelled(void **state)
{
    static bool (*const list[])(struct heft_error *) = {
        stream,        stream_as,     stats,      stats_progress, verify_progress, digest_tensors,
        digest_files,  diff_progress, diff_items, trace_pickles,  trace_steps,     trace_entries,
        trace_tensors, walk_index,    explain,    decode,         split,
    };
    struct heft_error err = {0};

    (void)state;
    c = heft_open(torch_file, NULL, &err);
    assert_non_null(c);
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        calls = 0;
        err = (struct heft_error){0};
        assert_false(list[i](&err));
        assert_int_equal(err.code, HEFT_CANCELLED);
        assert_int_equal(calls, 1);
    }
    heft_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_are_cancelled),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
