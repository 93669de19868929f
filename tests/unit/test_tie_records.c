/* test_tie_records.c: metadata records that name a tie, and records that may be one or not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "failures.h"
#include "base/mem.h"
#include "core/tie_records.h"
#include "format/formats.h"

/* Looks a name up in `ctx`, a NULL-terminated array of the file's tensors. */
static bool has_name(const void *ctx, struct heft_str name)
{
    for (const char *const *known = ctx; *known; known++)
        if (heft_str_is(name, *known))
            return true;
    return false;
}

static void add_text(char *text, const struct heft_pair *pairs, size_t n, const char *mark)
{
    for (size_t i = 0; i < n; i++) {
        strcat(text, *text ? " " : "");
        strcat(text, pairs[i].key.p);
        strcat(text, mark);
        strcat(text, pairs[i].value.p);
    }
}

/* metadata: key, value, …, NULL. want: "dropped=kept" for each tie, then "key?value" for each
 * doubtful record. */
static void expect(const char *const *tensors, const char *const *metadata, const char *want)
{
    const struct heft_tie_names names = {has_name, tensors};
    struct heft_model model;
    struct heft_error err = {0};
    char got[300] = "";

    heft_model_init(&model, NULL, &heft_formats);
    for (; *metadata; metadata += 2)
        assert_true(heft_model_add_metadata(
            &model,
            &(struct heft_pair){.key = heft_str_of(metadata[0]), .value = heft_str_of(metadata[1])},
            &err));
    assert_true(heft_ties_read(&model, 0, model.n_metadata, &names, &err));
    add_text(got, model.ties, model.n_ties, "=");
    add_text(got, model.doubts, model.n_doubts, "?");
    assert_string_equal(got, want);
    heft_model_release(&model);
}

#define TENSORS(...)  ((const char *const[]){__VA_ARGS__, NULL})
#define METADATA(...) ((const char *const[]){__VA_ARGS__, NULL})

static void parameters_of_one_kind_are_tied(void **state)
{
    (void)state;
    expect(TENSORS("embed.weight", "n.bias"),
           METADATA("lm_head.weight", "embed.weight", "epoch", "3", "embed.weight", "n.bias"),
           "lm_head.weight=embed.weight");
    /* shared_tensors_to_discard of huggingface_hub */
    expect(TENSORS("model.embed.weight"), METADATA("lm_head.weight", "model.embed.weight"),
           "lm_head.weight=model.embed.weight");
    expect(TENSORS("decoder.weight"), METADATA("encoder.weight", "decoder.weight"),
           "encoder.weight=decoder.weight");
}

static void other_metadata_is_not_a_tie(void **state)
{
    (void)state;
    expect(TENSORS("w", "b"), METADATA("monitor", "w"), "monitor?w");
    expect(TENSORS("w", "b"), METADATA("format", "pt", "monitor", "w"), "monitor?w");
    expect(TENSORS("a.w", "b"), METADATA("format", "pt", "target", "a.w"), "target?a.w");
    expect(TENSORS("a", "b"), METADATA("format", "pt", "target", "a", "epoch", "3"), "target?a");
    expect(TENSORS("a", "b"), METADATA("format", "a", "total_size", "b", "b", "a"), "");
}

static void names_of_merged_parameters_are_doubtful(void **state)
{
    (void)state;
    expect(TENSORS("qkv"), METADATA("format", "pt", "k", "qkv", "q", "qkv", "v", "qkv"),
           "k?qkv q?qkv v?qkv");
    expect(TENSORS("a.qkv.weight"),
           METADATA("format", "pt", "x", "y", "a.q.weight", "a.qkv.weight", "a.v.weight",
                    "a.qkv.weight", "head.weight", "a.qkv.weight"),
           "head.weight=a.qkv.weight a.q.weight?a.qkv.weight a.v.weight?a.qkv.weight");
}

static void files_written_by_the_hub_are_trusted(void **state)
{
    (void)state;
    expect(TENSORS("embed", "w"), METADATA("format", "pt", "head", "embed"), "head=embed");
    expect(TENSORS("embed", "w"), METADATA("total_size", "8", "head", "embed"), "head=embed");
    expect(TENSORS("embed", "w"), METADATA("head", "embed"), "head?embed");
}

static void listed_names_are_tied(void **state)
{
    (void)state;
    expect(TENSORS("w"), METADATA("a", "w", "b", "w", "heft.ties", "a"), "a=w b?w");
    expect(TENSORS("w"), METADATA("a", "w", "b", "w", "heft.ties", "a\nb\nc"), "a=w b=w");
    expect(TENSORS("a"), METADATA("format", "pt", "b", "a", "heft.ties", ""), "b?a");
    expect(TENSORS("a"), METADATA("heft.ties", "a"), "");
}

static void lack_of_memory_at_any_moment_is_an_error(void **state)
{
    const struct heft_tie_names names = {has_name, TENSORS("w")};

    (void)state;
    for (struct failures fail = {.most = 10000}; !fail.done;) {
        struct heft_model model;
        struct heft_error err = {0};

        heft_model_init(&model, NULL, &heft_formats);
        assert_true(heft_model_add_metadata(
            &model, &(struct heft_pair){.key = HEFT_STR("a"), .value = HEFT_STR("w")}, &err));
        assert_true(heft_model_add_metadata(
            &model, &(struct heft_pair){.key = HEFT_STR("heft.ties"), .value = HEFT_STR("a")},
            &err));
        FAIL_ALLOCATION(&fail, heft_ties_read(&model, 0, 2, &names, &err), &err);
        heft_model_release(&model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_of_one_kind_are_tied),
        cmocka_unit_test(other_metadata_is_not_a_tie),
        cmocka_unit_test(names_of_merged_parameters_are_doubtful),
        cmocka_unit_test(files_written_by_the_hub_are_trusted),
        cmocka_unit_test(listed_names_are_tied),
        cmocka_unit_test(lack_of_memory_at_any_moment_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
