/* families.c: the table of families. A pattern is spelled as its publisher spells it, since files
 * are compared with it. */
#include "tokens/vocab/families.h"

#include "base/text.h"
#include "tokens/bpe/vocab_text.h"
#include "tokens/vocab/vocab_parts.h"

#define CASED  "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define BEFORE "[^\\r\\n\\p{L}\\p{N}]?" /* one character in front of letters */
#define BLANK  "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

/* tiktoken's gpt2, r50k_base, p50k_base; Whisper */
#define R50K                                                                                       \
    "'(?:[sdmt]|ll|ve|re)| ?\\p{L}++| ?\\p{N}++| ?[^\\s\\p{L}\\p{N}]++|\\s++$|\\s+(?!\\S)|\\s"
/* tiktoken's cl100k_base */
#define GPT4                                                                                       \
    "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}++|\\p{N}{1,3}+| "                         \
    "?[^\\s\\p{L}\\p{N}]++[\\r\\n]*+|\\s++$|\\s*[\\r\\n]|\\s+(?!\\S)|\\s"
/* GPT-4's as tokenizer.json files spell it, and with other numbers of digits */
#define LLAMA3(digits) CASED "|" BEFORE "\\p{L}+|" digits "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" BLANK
#define NANOCHAT                                                                                   \
    "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}{1,2}| "                           \
    "?[^\\s\\p{L}\\p{N}]++[\\r\\n]*|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+"
#define QWEN35 CASED "|" BEFORE "[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|" BLANK

/* Words whose capitals come first, in two alternatives: with small letters, or of capitals alone */
#define UPPER "\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}"
#define LOWER "\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}"
#define WORDS(upper, lower, after)                                                                 \
    BEFORE "[" upper "]*[" lower "]+" after "|" BEFORE "[" upper "]+[" lower "]*" after
#define O200K  WORDS(UPPER, LOWER, CASED "?") "|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" BLANK
#define TEKKEN WORDS(UPPER, LOWER, "") "|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" BLANK
#define NO_HAN "&&[^\\p{Han}]"
#define KIMI                                                                                       \
    "[\\p{Han}]+|" WORDS(UPPER NO_HAN, LOWER NO_HAN,                                               \
                         CASED "?") "|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" BLANK

/* The files contain CR and LF themselves. */
#define DEEPSEEK                                                                                   \
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?"             \
    "[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"
#define BLOOM " ?[^(\\s|[.,!?\u2026\u3002\uFF0C\u3001\u0964\u06D4\u060C])]+"

#define STEP(pattern, engine)                                                                      \
    {                                                                                              \
        {pattern, sizeof(pattern) - 1}, false, HEFT_ENGINE_##engine, HEFT_BEHAVIOR_ISOLATED, false \
    }
#define STEPS(name, ...) static const struct heft_pretokens_step name[] = {__VA_ARGS__}

STEPS(GPT2_STEPS, STEP(HEFT_GPT2_PATTERN, TOKENIZERS));
STEPS(R50K_STEPS, STEP(R50K, TIKTOKEN));
STEPS(STARCODER_STEPS, STEP(HEFT_DIGITS_PATTERN, TOKENIZERS), STEP(HEFT_GPT2_PATTERN, TOKENIZERS));
STEPS(GPT4_STEPS, STEP(GPT4, TIKTOKEN));
STEPS(LLAMA3_STEPS, STEP(LLAMA3("\\p{N}{1,3}"), TIKTOKEN));
STEPS(QWEN2_STEPS, STEP(LLAMA3("\\p{N}"), TOKENIZERS));
STEPS(QWEN35_STEPS, STEP(QWEN35, TOKENIZERS));
STEPS(NANOCHAT_STEPS, STEP(NANOCHAT, TIKTOKEN));
STEPS(O200K_STEPS, STEP(O200K, TIKTOKEN));
STEPS(TEKKEN_STEPS, STEP(TEKKEN, TIKTOKEN));
STEPS(KIMI_STEPS, STEP(KIMI, TIKTOKEN));
STEPS(DEEPSEEK_STEPS, STEP("\\p{N}{1,3}", TOKENIZERS),
      STEP("[\u4E00-\u9FA5\u3040-\u309F\u30A0-\u30FF]+", TOKENIZERS), STEP(DEEPSEEK, TOKENIZERS));
STEPS(DEEPSEEK_CODER_STEPS, STEP("[\r\n]", TOKENIZERS), STEP("\\s?\\p{L}+", TOKENIZERS),
      STEP("\\s?\\p{P}+", TOKENIZERS),
      STEP("[\u4E00-\u9FA5\u0800-\u4E00\uAC00-\uD7FF]+", TOKENIZERS),
      STEP(HEFT_DIGITS_PATTERN, TOKENIZERS));
STEPS(BLOOM_STEPS, STEP(BLOOM, TOKENIZERS));

#define OF(steps) steps, HEFT_COUNT(steps)
static const struct heft_family FAMILIES[] = {
    {"gpt2", "gpt-2 roberta codegen", OF(GPT2_STEPS), true, false, true, true},
    {"r50k", "r50k_base p50k p50k_base p50k_edit whisper", OF(R50K_STEPS), true, false, false,
     true},
    {"gpt-neox", "pythia", OF(GPT2_STEPS), true, true, true, true},
    {"starcoder", "smollm", OF(STARCODER_STEPS), false, false, true, false},
    {"command-r", "", OF(STARCODER_STEPS), false, true, true, false},
    {"gpt4", "gpt-4 cl100k cl100k_base", OF(GPT4_STEPS), false, false, false, true},
    {"llama3", "llama3.0 llama3.1 llama-bpe glm4 phi4", OF(LLAMA3_STEPS), false, false, true, true},
    {"qwen2", "qwen qwen2.5 qwen3", OF(QWEN2_STEPS), false, true, true, true},
    {"qwen35", "qwen3.5", OF(QWEN35_STEPS), false, true, true, true},
    {"nanochat", "", OF(NANOCHAT_STEPS), false, false, true, true},
    {"o200k", "gpt-4o o200k_base o200k_harmony gpt-oss llama4", OF(O200K_STEPS), false, false, true,
     true},
    {"tekken", "", OF(TEKKEN_STEPS), false, false, true, true},
    {"kimi", "kimi-k2", OF(KIMI_STEPS), false, false, true, true},
    {"deepseek", "deepseek3 deepseek-v3", OF(DEEPSEEK_STEPS), false, false, true, false},
    {"deepseek-coder", "", OF(DEEPSEEK_CODER_STEPS), false, false, true, false},
    {"bloom", "", OF(BLOOM_STEPS), false, false, true, false},
};

/* ---- looking up -------------------------------------------------------------------------- */

static bool is_listed(const char *names, const char *name)
{
    const size_t n = strlen(name);

    for (const char *p = names; n && *p; p += *p == ' ') {
        const size_t length = strcspn(p, " ");

        if (length == n && memcmp(p, name, n) == 0)
            return true;
        p += length;
    }
    return false;
}

const struct heft_family *heft_family_named(const char *name)
{
    for (size_t i = 0; i < HEFT_COUNT(FAMILIES); i++)
        if (strcmp(FAMILIES[i].name, name) == 0 || is_listed(FAMILIES[i].aliases, name))
            return &FAMILIES[i];
    return NULL;
}

/* Removed with `invert` keeps the matches alone. A pattern that matches everywhere leaves nothing
 * else, as if isolated. */
static bool is_isolated(const struct heft_pretokens_step *step, bool is_total)
{
    return (step->behavior == HEFT_BEHAVIOR_ISOLATED && !step->invert) ||
           (step->behavior == HEFT_BEHAVIOR_REMOVED && step->invert && is_total);
}

static bool has_step(const struct heft_family *family, size_t i,
                     const struct heft_pretokens_step *step)
{
    return heft_str_eq(family->steps[i].pattern, step->pattern) && !step->is_literal &&
           (family->is_either || family->steps[i].engine == step->engine) &&
           is_isolated(step, family->is_total);
}

const struct heft_family *heft_family_of(const struct heft_pretokens_step *steps, size_t n,
                                         bool is_nfc)
{
    for (size_t i = 0; i < HEFT_COUNT(FAMILIES); i++) {
        bool is_equal = FAMILIES[i].n_steps == n && FAMILIES[i].is_nfc == is_nfc;

        for (size_t k = 0; is_equal && k < n; k++)
            is_equal = has_step(&FAMILIES[i], k, &steps[k]);
        if (is_equal)
            return &FAMILIES[i];
    }
    return NULL;
}

void heft_family_list(struct heft_buf *out)
{
    for (size_t i = 0; i < HEFT_COUNT(FAMILIES); i++)
        heft_buf_printf(out, "%s%s", i ? ", " : "", FAMILIES[i].name);
}

bool heft_family_check(const char *pattern, struct heft_error *err)
{
    struct heft_buf names = {0};

    if (heft_family_named(pattern))
        return true;
    if (heft_vocab_is_regex(pattern))
        return heft_utf8_check((struct heft_bytes){(const uint8_t *)pattern, strlen(pattern)}) ==
                   strlen(pattern) ||
               heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "option pattern: not valid UTF-8");
    heft_family_list(&names);
    if (heft_buf_ok(&names, err))
        heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                  "option pattern %.40s: expected a regular expression or one of %.*s", pattern,
                  (int)names.n, names.p);
    heft_buf_release(&names);
    return false;
}

bool heft_family_check_total(struct heft_str pattern, struct heft_error *err)
{
    struct heft_splitter *const splitter =
        heft_splitter_compile(pattern, HEFT_ENGINE_TIKTOKEN, NULL, err);
    uint32_t stranger;
    bool ok;

    if (!splitter)
        return heft_vocab_fail_in_pattern(err);
    ok = heft_splitter_is_total(splitter, &stranger) ||
         heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
                   "the split pattern matches no U+%04" PRIX32
                   ", which tiktoken drops: add an alternative that does, as |. at its end",
                   stranger);
    heft_splitter_free(splitter);
    return ok;
}
