/* train_tokenizer.c: a trained vocabulary as tokenizer.json. */
#include "base/text.h"
#include "tokens/train/train_out.h"

/* ---- added tokens ------------------------------------------------------------------------ */

static void put_added(struct heft_train_out *out)
{
    heft_buf_text(&out->buf, "  \"added_tokens\": [\n");
    for (size_t i = 0; i < out->n_specials; i++) {
        heft_buf_text(&out->buf, "    {\"id\": ");
        heft_buf_u64(&out->buf, out->cells->n_symbols + i);
        heft_buf_text(&out->buf, ", \"content\": ");
        heft_buf_json(&out->buf, heft_str_of(out->specials[i]), false);
        heft_buf_text(&out->buf, ", \"single_word\": false, \"lstrip\": false, \"rstrip\": false, "
                                 "\"normalized\": false, \"special\": true}");
        heft_buf_text(&out->buf, i + 1 < out->n_specials ? ",\n" : "\n");
    }
    heft_buf_text(&out->buf, "  ],\n");
}

/* ---- pre-tokenizers ---------------------------------------------------------------------- */

#define BYTE_LEVEL                                                                                 \
    "{\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"trim_offsets\": true, "              \
    "\"use_regex\": "

static const char *name_of(enum heft_pretokens_behavior behavior)
{
    static const char *const NAMES[] = {"Isolated", "Removed", "MergedWithPrevious",
                                        "MergedWithNext", "Contiguous"};

    return NAMES[behavior];
}

static void put_step(struct heft_buf *out, const struct heft_pretokens_step *step)
{
    heft_buf_text(out, "    {\"type\": \"Split\", \"pattern\": {");
    heft_buf_text(out, step->is_literal ? "\"String\": " : "\"Regex\": ");
    heft_buf_json(out, step->pattern, false);
    heft_buf_text(out, "}, \"behavior\": \"");
    heft_buf_text(out, name_of(step->behavior));
    heft_buf_text(out, step->invert ? "\", \"invert\": true},\n" : "\", \"invert\": false},\n");
}

static void put_pre_tokenizer(struct heft_buf *out, const struct heft_train_pattern *pattern)
{
    if (pattern->n_steps == 0) {
        heft_buf_text(out, "  \"pre_tokenizer\": " BYTE_LEVEL "true},\n");
        return;
    }
    heft_buf_text(out, "  \"pre_tokenizer\": {\"type\": \"Sequence\", \"pretokenizers\": [\n");
    for (size_t i = 0; i < pattern->n_steps; i++)
        put_step(out, &pattern->steps[i]);
    heft_buf_text(out, "    " BYTE_LEVEL "false}\n  ]},\n");
}

static void put_pipeline(struct heft_train_out *out)
{
    heft_buf_text(&out->buf, out->pattern->is_nfc ? "  \"normalizer\": {\"type\": \"NFC\"},\n"
                                                  : "  \"normalizer\": null,\n");
    put_pre_tokenizer(&out->buf, out->pattern);
    heft_buf_text(&out->buf,
                  "  \"post_processor\": {\"type\": \"ByteLevel\", \"add_prefix_space\": true, "
                  "\"trim_offsets\": false, \"use_regex\": true},\n"
                  "  \"decoder\": {\"type\": \"ByteLevel\", \"add_prefix_space\": true, "
                  "\"trim_offsets\": true, \"use_regex\": true},\n");
}

/* ---- the model --------------------------------------------------------------------------- */

static bool put_vocab(struct heft_train_out *out, struct heft_error *err)
{
    heft_buf_text(&out->buf, "  \"model\": {\n    \"type\": \"BPE\",\n    \"dropout\": null,\n"
                             "    \"unk_token\": null,\n    \"continuing_subword_prefix\": \"\",\n"
                             "    \"end_of_word_suffix\": \"\",\n    \"fuse_unk\": false,\n"
                             "    \"byte_fallback\": false,\n    \"ignore_merges\": false,\n"
                             "    \"vocab\": {\n");
    for (uint32_t i = 0; i < out->cells->n_symbols; i++) {
        heft_buf_text(&out->buf, "      ");
        heft_train_put_json(out, i, false);
        heft_buf_text(&out->buf, ": ");
        heft_buf_u64(&out->buf, i);
        heft_buf_text(&out->buf, ",\n");
        if (!heft_train_write_full(out, err))
            return false;
    }
    for (size_t i = 0; i < out->n_specials; i++) {
        heft_buf_text(&out->buf, "      ");
        heft_buf_json(&out->buf, heft_str_of(out->specials[i]), false);
        heft_buf_text(&out->buf, ": ");
        heft_buf_u64(&out->buf, out->cells->n_symbols + i);
        heft_buf_text(&out->buf, i + 1 < out->n_specials ? ",\n" : "");
    }
    heft_buf_text(&out->buf, "\n    },\n    \"merges\": [");
    return true;
}

static bool put_pairs(struct heft_train_out *out, struct heft_error *err)
{
    const struct heft_train_cells *c = out->cells;
    const uint32_t first = heft_train_first_merge(c);

    for (uint32_t i = first; i < c->n_symbols; i++) {
        heft_buf_text(&out->buf, i > first ? ",\n      [" : "\n      [");
        heft_train_put_json(out, c->symbols[i].left, false);
        heft_buf_text(&out->buf, ", ");
        heft_train_put_json(out, c->symbols[i].right, false);
        heft_buf_char(&out->buf, ']');
        if (!heft_train_write_full(out, err))
            return false;
    }
    heft_buf_text(&out->buf, c->n_symbols > first ? "\n    ]\n  }\n}\n" : "]\n  }\n}\n");
    return true;
}

bool heft_train_put_tokenizer(struct heft_train_out *out, struct heft_error *err)
{
    heft_buf_text(&out->buf, "{\n  \"version\": \"1.0\",\n  \"truncation\": null,\n"
                             "  \"padding\": null,\n");
    put_added(out);
    put_pipeline(out);
    return put_vocab(out, err) && put_pairs(out, err);
}
