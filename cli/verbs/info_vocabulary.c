/* info_vocabulary.c: prints what a vocabulary says about texts: info of a tokenizer.json, a .tiktoken
 * and the like. */
#include "main/vocabulary.h"
#include "output/output.h"
#include "output/report.h"
#include "verbs/info_vocabulary.h"

#include <string.h>

enum { LABEL_WIDTH = 14, MOST_NAMED = 12, MOST_PATTERN = 200 };

static void put_label(struct out *out, const char *text)
{
    out_text(out, text);
    out_fill(out, ' ', LABEL_WIDTH - strlen(text));
}

static void put_line(struct out *out, const char *label, const char *text)
{
    put_label(out, label);
    out_name(out, text, strlen(text));
    out_char(out, '\n');
}

static void put_number(struct out *out, const char *label, uint64_t number)
{
    put_label(out, label);
    out_grouped(out, number);
    out_char(out, '\n');
}

static void put_patterns(struct out *out, const struct heft_vocab *v, bool all)
{
    const char *text;
    size_t n;

    for (size_t i = 0; (text = heft_vocab_pattern(v, i, &n)) != NULL; i++) {
        const bool is_cut = !all && n > MOST_PATTERN;

        put_label(out, i ? "" : "pattern");
        out_name(out, text, is_cut ? MOST_PATTERN : n);
        out_text(out, is_cut ? " … (--all)\n" : "\n");
    }
}

static void put_specials(struct out *out, const struct heft_vocab *v, bool all)
{
    const size_t n = heft_vocab_special_count(v), most = all || n <= MOST_NAMED ? n : MOST_NAMED;
    struct heft_special_token token = {.size = sizeof token};

    for (size_t i = 0; i < most && heft_vocab_special_at(v, i, &token); i++) {
        put_label(out, i ? "" : "special");
        out_u64(out, token.id);
        out_char(out, ' ');
        out_name(out, token.text, token.n);
        out_char(out, '\n');
    }
    if (most < n) {
        put_label(out, "");
        out_text(out, "… ");
        out_grouped(out, n - most);
        out_text(out, " more (--all)\n");
    }
}

static void show_text(struct out *out, const struct heft_vocab *v,
                      const struct heft_vocab_info *info, bool all)
{
    put_label(out, "vocabulary");
    out_text(out, info->family ? info->family : "split pattern unknown");
    out_char(out, '\n');
    put_number(out, "ids", info->ids);
    put_number(out, "merges", info->merges);
    put_number(out, "longest", info->longest);
    if (info->normalizer)
        put_line(out, "normalizer", info->normalizer);
    if (info->unicode)
        put_line(out, "unicode", info->unicode);
    put_patterns(out, v, all);
    if (info->added)
        put_number(out, "added", info->added);
    put_specials(out, v, all);
    if (info->variants) {
        put_label(out, "");
        out_text(out, "of these ranks; --pattern names others: ");
        out_text(out, info->variants);
        out_char(out, '\n');
    }
    if (info->refusal)
        put_line(out, "texts", info->refusal);
}

static void put_text_or_null(struct out *out, const char *key, const char *text)
{
    json_key(out, key);
    if (text)
        json_text(out, text, strlen(text));
    else
        json_null(out);
}

static void show_json(struct out *out, const struct heft_vocab *v,
                      const struct heft_vocab_info *info)
{
    struct heft_special_token token = {.size = sizeof token};
    const char *text;
    size_t n;

    json_open(out, '{');
    json_member_u64(out, "heft", 1);
    json_member_text(out, "format", "vocabulary");
    put_text_or_null(out, "family", info->family);
    put_text_or_null(out, "normalizer", info->normalizer);
    put_text_or_null(out, "unicode", info->unicode);
    put_text_or_null(out, "refusal", info->refusal);
    json_member_u64(out, "ids", info->ids);
    json_member_u64(out, "merges", info->merges);
    json_member_u64(out, "longest", info->longest);
    json_member_u64(out, "added", info->added);
    if (info->variants)
        json_member_text(out, "variants", info->variants);
    json_key(out, "patterns");
    json_open(out, '[');
    for (size_t i = 0; (text = heft_vocab_pattern(v, i, &n)) != NULL; i++)
        json_text(out, text, n);
    json_close(out, ']');
    json_key(out, "specials");
    json_open(out, '{');
    for (size_t i = 0; heft_vocab_special_at(v, i, &token); i++) {
        json_key_n(out, token.text, token.n);
        json_u64(out, token.id);
    }
    json_close(out, '}');
    json_close(out, '}');
    out_char(out, '\n');
}

bool info_vocabulary(const struct options *options, struct out *out, const char *path)
{
    struct heft_vocab_info info = {.size = sizeof info};
    struct heft_error unused = {0};
    struct heft_vocab *const v = heft_vocab_open(path, &unused);

    if (!v)
        return false;
    heft_vocab_describe(v, &info);
    if (options->json)
        show_json(out, v, &info);
    else
        show_text(out, v, &info, options->all);
    heft_vocab_close(v);
    return true;
}
