/* test_families.c: families of split patterns: looked up by name, and recognised in the files of
 * tests/golden/tokens/families. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "tokens/vocab/families.h"
#include "tokens/vocab/vocab_open.h"

#define FAMILIES HEFT_TESTS "/golden/tokens/families/"

static void test_names(void **unused)
{
    static const char *const aliases[][2] = {
        {"gpt2", "gpt2"},        {"gpt-2", "gpt2"},           {"cl100k_base", "gpt4"},
        {"o200k_base", "o200k"}, {"whisper", "r50k"},         {"qwen3.5", "qwen35"},
        {"pythia", "gpt-neox"},  {"deepseek-v3", "deepseek"}, {"llama-bpe", "llama3"},
    };

    (void)unused;
    for (size_t i = 0; i < HEFT_COUNT(aliases); i++) {
        const struct heft_family *family = heft_family_named(aliases[i][0]);

        assert_non_null(family);
        assert_string_equal(family->name, aliases[i][1]);
    }
    assert_null(heft_family_named(""));
    assert_null(heft_family_named("cl100"));
    assert_null(heft_family_named("cl100k cl100k_base"));
    assert_null(heft_family_named("GPT2"));
}

static void test_list(void **unused)
{
    struct heft_buf names = {0};
    size_t n = 1;

    (void)unused;
    heft_family_list(&names);
    heft_buf_char(&names, 0);
    for (const char *p = names.p; (p = strstr(p, ", ")); p += 2)
        n++;
    assert_int_equal(n, 16);
    assert_ptr_equal(strstr(names.p, "gpt2, r50k, gpt-neox, "), names.p);
    heft_buf_release(&names);
}

/* A pattern is recognised by its text, under the rules of the program that reads it. */
static void test_steps(void **unused)
{
    const struct heft_family *const gpt4 = heft_family_named("gpt4");
    const struct heft_family *const llama3 = heft_family_named("llama3");
    struct heft_pretokens_step step = llama3->steps[0];

    (void)unused;
    assert_ptr_equal(heft_family_of(&step, 1, false), llama3);
    assert_null(heft_family_of(&step, 1, true));
    step.engine = HEFT_ENGINE_TOKENIZERS;
    assert_ptr_equal(heft_family_of(&step, 1, false), llama3);
    step.behavior = HEFT_BEHAVIOR_REMOVED;
    assert_null(heft_family_of(&step, 1, false));
    step.invert = true; /* the matches alone are kept, and the pattern matches everywhere */
    assert_ptr_equal(heft_family_of(&step, 1, false), llama3);
    step.behavior = HEFT_BEHAVIOR_ISOLATED;
    assert_null(heft_family_of(&step, 1, false));
    step = llama3->steps[0];
    step.is_literal = true;
    assert_null(heft_family_of(&step, 1, false));
    step = gpt4->steps[0];
    assert_ptr_equal(heft_family_of(&step, 1, false), gpt4);
    step.engine = HEFT_ENGINE_TOKENIZERS; /* {1,3}+ and $ mean something else there */
    assert_null(heft_family_of(&step, 1, false));
    step.pattern.n--;
    assert_null(heft_family_of(&step, 1, false));
    step = heft_family_named("bloom")->steps[0];
    step.behavior = HEFT_BEHAVIOR_REMOVED, step.invert = true;
    assert_null(heft_family_of(&step, 1, false));
}

/* ---- the files of tests/golden ----------------------------------------------------------- */

struct sample {
    const char *file, *pattern, *family; /* family NULL: refused, with `refusal` */
    size_t n_steps;
    bool is_nfc;
    size_t n_added, n_ordinary; /* added tokens, and those of them that are not special */
    const char *refusal;
};

static struct heft_vocab *open_sample(const char *file, const char *pattern)
{
    const struct heft_vocab_options how = {.size = sizeof how, .pattern = pattern};
    struct heft_error err = {0};
    struct heft_vocab *v;
    char path[512];

    snprintf(path, sizeof path, "%s%s", FAMILIES, file);
    v = heft_vocab_open_with(path, &how, &err);
    if (!v)
        fail_msg("%s: %s", file, err.text);
    return v;
}

static const struct sample SAMPLES[] = {
    {"gpt2.tokenizer.json", NULL, "gpt2", 0, false, 1, 0, NULL},
    {"roberta.tokenizer.json", NULL, "gpt2", 0, false, 5, 0, NULL},
    {"gpt-neox.tokenizer.json", NULL, "gpt-neox", 0, true, 9, 7, NULL},
    {"codegen.tokenizer.json", NULL, "gpt2", 0, false, 7, 6, NULL},
    {"starcoder2.tokenizer.json", NULL, "starcoder", 2, false, 2, 0, NULL},
    {"command-r.tokenizer.json", NULL, "command-r", 2, true, 2, 0, NULL},
    {"bloom.tokenizer.json", NULL, "bloom", 1, false, 4, 0, NULL},
    {"phi4.tokenizer.json", NULL, "llama3", 1, false, 1, 0, NULL},
    {"llama3.tokenizer.json", NULL, "llama3", 1, false, 2, 0, NULL},
    {"qwen2.tokenizer.json", NULL, "qwen2", 1, true, 4, 1, NULL},
    {"qwen35.tokenizer.json", NULL, "qwen35", 1, true, 2, 0, NULL},
    {"o200k.tokenizer.json", NULL, "o200k", 1, false, 3, 0, NULL},
    {"tekken.tokenizer.json", NULL, "tekken", 1, false, 4, 0, NULL},
    {"deepseek3.tokenizer.json", NULL, "deepseek", 3, false, 3, 1, NULL},
    {"deepseek-coder.tokenizer.json", NULL, "deepseek-coder", 5, false, 1, 0, NULL},
    {"nanochat.tokenizer.json", NULL, "nanochat", 1, false, 2, 0, NULL},
    {"tekken.json", NULL, "tekken", 1, false, 20, 0, NULL},
    {"nanochat.pkl", NULL, "nanochat", 1, false, 2, 0, NULL},
    {"gpt4.tiktoken", "gpt4", "gpt4", 1, false, 0, 0, NULL},
    {"llama3-model.tiktoken", "llama3", "llama3", 1, false, 0, 0, NULL},
    {"o200k-ranks.tiktoken", "o200k", "o200k", 1, false, 0, 0, NULL},
    {"kimi.tiktoken", "kimi", "kimi", 1, false, 0, 0, NULL},
    {"gpt2-ranks.tiktoken", "r50k", "r50k", 0, false, 0, 0, NULL},
    {"gpt2-ranks.tiktoken", "\\s?\\S+|\\s+", "regular expression", 1, false, 0, 0, NULL},
    {"gpt2-folder", "gpt2", "gpt2", 0, false, 0, 0, NULL},
    {"qwen2-folder", "qwen2", "qwen2", 1, true, 0, 0, NULL},
    {"kimi.tiktoken", NULL, NULL, 0, false, 0, 0, "no split pattern in the file"},
    {"qwen2-folder", NULL, NULL, 0, false, 0, 0, "no split pattern in the file"},
    {"falcon.tokenizer.json", NULL, NULL, 0, false, 2, 0,
     "pre_tokenizer.pretokenizers.0.type \"Punctuation\""},
    {"aps.tokenizer.json", NULL, NULL, 0, false, 1, 0, "pre_tokenizer.add_prefix_space true"},
};

static void expect_sample(const struct heft_vocab *v, const struct sample *s)
{
    size_t n_ordinary = 0;

    for (size_t i = 0; i < v->n_added; i++)
        n_ordinary += !v->added[i].is_special;
    if (!s->family) {
        if (!strstr(v->refusal.text, s->refusal))
            fail_msg("%s: %s", s->file, v->refusal.text);
        assert_int_equal(v->n_steps, 0);
    } else if (strcmp(v->family, s->family) != 0 || v->n_steps != s->n_steps ||
               v->is_nfc != s->is_nfc) {
        fail_msg("%s: family %s, %zu steps, nfc %d", s->file, v->family, v->n_steps, v->is_nfc);
    }
    if (v->n_added < s->n_added || n_ordinary != s->n_ordinary)
        fail_msg("%s: %zu added tokens, %zu not special", s->file, v->n_added, n_ordinary);
    assert_string_equal(v->unicode, "16.0");
}

static void test_samples(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < HEFT_COUNT(SAMPLES); i++) {
        struct heft_vocab *const v = open_sample(SAMPLES[i].file, SAMPLES[i].pattern);

        expect_sample(v, &SAMPLES[i]);
        if (heft_vocab_doubt(v))
            fail_msg("%s: %s", SAMPLES[i].file, heft_vocab_doubt(v));
        heft_vocab_close(v);
    }
}

static const struct heft_added_token *added_of(const struct heft_vocab *v, const char *text)
{
    for (size_t i = 0; i < v->n_added; i++)
        if (heft_str_is(v->added[i].text, text))
            return &v->added[i];
    fail_msg("no added token %s", text);
    return NULL;
}

/* The settings of added tokens. */
static void test_added(void **unused)
{
    struct heft_vocab *v = open_sample("roberta.tokenizer.json", NULL);
    const struct heft_added_token *t = added_of(v, "<mask>");

    (void)unused;
    assert_true(t->is_special && t->is_normalized && t->strips_left && !t->strips_right);
    assert_int_equal(t->id, v->n_ids - 1);
    t = added_of(v, "<pad>");
    assert_true(t->is_special && !t->is_normalized && !t->strips_left && t->id == 1);
    heft_vocab_close(v);
    v = open_sample("phi4.tokenizer.json", NULL);
    t = added_of(v, "<|endoftext|>");
    assert_true(t->is_special && t->strips_left && t->strips_right && !t->is_single_word);
    assert_int_equal(heft_vocab_end(v), t->id);
    heft_vocab_close(v);
    v = open_sample("gpt-neox.tokenizer.json", NULL);
    t = added_of(v, "   ");
    assert_true(!t->is_special && t->is_normalized);
    heft_vocab_close(v);
    v = open_sample("qwen2.tokenizer.json", NULL);
    t = added_of(v, "<tool_call>");
    assert_true(!t->is_special && !t->is_normalized);
    heft_vocab_close(v);
}

/* Special tokens come before the ranks in a tekken.json, and after them in a pickle. */
static void test_special_ids(void **unused)
{
    struct heft_vocab *v = open_sample("tekken.json", NULL);
    size_t n = 0;

    (void)unused;
    assert_int_equal(heft_vocab_size(v), 870);
    assert_int_equal(heft_vocab_special_count(v), 20);
    assert_int_equal(added_of(v, "[IMG]")->id, 10);
    assert_int_equal(added_of(v, "[TOOL_CONTENT]")->id, 19);
    assert_memory_equal(heft_vocab_token(v, 20 + 'A', &n), "A", 1);
    heft_vocab_close(v);
    v = open_sample("nanochat.pkl", NULL);
    assert_int_equal(added_of(v, "<|bos|>")->id, heft_vocab_size(v) - 2);
    assert_int_equal(heft_vocab_special_count(v), 2);
    heft_vocab_close(v);
}

/* A file that states its pattern is not read with another one. */
static void test_stated_twice(void **unused)
{
    struct heft_vocab *v = open_sample("llama3.tokenizer.json", "gpt4");

    (void)unused;
    assert_string_equal(v->family, "llama3");
    assert_non_null(strstr(heft_vocab_doubt(v), "states its own pattern"));
    heft_vocab_close(v);
    v = open_sample("llama3.tokenizer.json", "llama-bpe");
    assert_null(heft_vocab_doubt(v));
    heft_vocab_close(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),        cmocka_unit_test(test_list),
        cmocka_unit_test(test_steps),        cmocka_unit_test(test_samples),
        cmocka_unit_test(test_added),        cmocka_unit_test(test_special_ids),
        cmocka_unit_test(test_stated_twice),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
