/* train_files.c: a vocabulary becomes files.
 *
 *     vocab.bpe        #version: 0.2 ⏎ Ġ t ⏎ …          the two parts of each merge
 *     encoder.json     {"!": 0, …, "<|endoftext|>": N}   as Python's json.dumps writes it
 *     tokenizer.json   the same for the tokenizers package
 *
 * subword-nmt's codes are the first of these alone, with characters for bytes. */
#include "base/text.h"
#include "io/sink.h"
#include "io/source.h"
#include "tokens/train.h"
#include "tokens/vocab.h"

#define BYTES 256

/* ---- tokens as characters of the alphabet ------------------------------------------------ */

struct spelling {
    char text[BYTES][2]; /* of each byte */
    uint8_t n[BYTES];
};

static void init_spelling(struct spelling *s)
{
    for (uint32_t c = 0; c < 0x144; c++) {
        const int byte = heft_alphabet_byte(c);

        if (byte < 0)
            continue;
        s->n[byte] = c < 0x80 ? 1 : 2;
        s->text[byte][0] = (char)(c < 0x80 ? c : 0xC0 | c >> 6);
        s->text[byte][1] = (char)(0x80 | (c & 0x3F));
    }
}

/* spelling NULL: as it is. */
static void put_symbol(struct heft_buf *out, const struct spelling *s,
                       const struct heft_train_symbol *symbol)
{
    if (!s)
        heft_buf_put(out, symbol->text, symbol->n);
    for (uint32_t i = 0; s && i < symbol->n; i++) {
        const uint8_t byte = (uint8_t)symbol->text[i];

        heft_buf_put(out, s->text[byte], s->n[byte]);
    }
}

static void put_json(struct heft_buf *out, const struct spelling *s,
                     const struct heft_train_symbol *symbol, bool ascii)
{
    char text[2 * HEFT_TRAIN_LONGEST];
    size_t n = 0;

    for (uint32_t i = 0; i < symbol->n; i++) {
        const uint8_t byte = (uint8_t)symbol->text[i];

        memcpy(text + n, s->text[byte], s->n[byte]);
        n += s->n[byte];
    }
    heft_buf_json(out, (struct heft_str){text, n}, ascii);
}

/* ---- the files --------------------------------------------------------------------------- */

static uint32_t first_merge(const struct heft_train_task *task)
{
    uint32_t i = 0;

    while (i < task->n_symbols && task->symbols[i].cells == 1)
        i++;
    return i;
}

static void put_merges(struct heft_buf *out, const struct spelling *s,
                       const struct heft_train_task *task)
{
    heft_buf_text(out, "#version: 0.2\n");
    for (uint32_t i = first_merge(task); i < task->n_symbols; i++) {
        put_symbol(out, s, &task->symbols[task->symbols[i].left]);
        heft_buf_char(out, ' ');
        put_symbol(out, s, &task->symbols[task->symbols[i].right]);
        heft_buf_char(out, '\n');
    }
}

static void put_ids(struct heft_buf *out, const struct spelling *s,
                    const struct heft_train_task *task)
{
    heft_buf_char(out, '{');
    for (uint32_t i = 0; i < task->n_symbols; i++) {
        put_json(out, s, &task->symbols[i], true);
        heft_buf_text(out, ": ");
        heft_buf_u64(out, i);
        heft_buf_text(out, ", ");
    }
    heft_buf_text(out, "\"" HEFT_END_OF_TEXT "\": ");
    heft_buf_u64(out, task->n_symbols);
    heft_buf_char(out, '}');
}

static void put_pipeline(struct heft_buf *out, uint32_t end)
{
    heft_buf_text(out, "{\n  \"version\": \"1.0\",\n  \"truncation\": null,\n  \"padding\": null,\n"
                       "  \"added_tokens\": [\n    {\"id\": ");
    heft_buf_u64(out, end);
    heft_buf_text(
        out, ", \"content\": \"" HEFT_END_OF_TEXT "\", \"single_word\": false, \"lstrip\": false, "
             "\"rstrip\": false, \"normalized\": false, \"special\": true}\n  ],\n"
             "  \"normalizer\": null,\n"
             "  \"pre_tokenizer\": {\"type\": \"ByteLevel\", \"add_prefix_space\": false, "
             "\"trim_offsets\": true, \"use_regex\": true},\n"
             "  \"post_processor\": {\"type\": \"ByteLevel\", \"add_prefix_space\": true, "
             "\"trim_offsets\": false, \"use_regex\": true},\n"
             "  \"decoder\": {\"type\": \"ByteLevel\", \"add_prefix_space\": true, "
             "\"trim_offsets\": true, \"use_regex\": true},\n");
}

static void put_model(struct heft_buf *out, const struct spelling *s,
                      const struct heft_train_task *task)
{
    const uint32_t first = first_merge(task);

    heft_buf_text(out, "  \"model\": {\n    \"type\": \"BPE\",\n    \"dropout\": null,\n"
                       "    \"unk_token\": null,\n    \"continuing_subword_prefix\": \"\",\n"
                       "    \"end_of_word_suffix\": \"\",\n    \"fuse_unk\": false,\n"
                       "    \"byte_fallback\": false,\n    \"ignore_merges\": false,\n"
                       "    \"vocab\": {\n");
    for (uint32_t i = 0; i < task->n_symbols; i++) {
        heft_buf_text(out, "      ");
        put_json(out, s, &task->symbols[i], false);
        heft_buf_text(out, ": ");
        heft_buf_u64(out, i);
        heft_buf_text(out, ",\n");
    }
    heft_buf_text(out, "      \"" HEFT_END_OF_TEXT "\": ");
    heft_buf_u64(out, task->n_symbols);
    heft_buf_text(out, "\n    },\n    \"merges\": [");
    for (uint32_t i = first; i < task->n_symbols; i++) {
        heft_buf_text(out, i > first ? ",\n      [" : "\n      [");
        put_json(out, s, &task->symbols[task->symbols[i].left], false);
        heft_buf_text(out, ", ");
        put_json(out, s, &task->symbols[task->symbols[i].right], false);
        heft_buf_char(out, ']');
    }
    heft_buf_text(out, task->n_symbols > first ? "\n    ]\n  }\n}\n" : "]\n  }\n}\n");
}

/* ---- writing ----------------------------------------------------------------------------- */

static bool write_file(struct heft_sink *sink, const char *path, struct heft_buf *text,
                       struct heft_error *err)
{
    uint32_t file;
    const bool ok = heft_buf_ok(text, err) && heft_sink_add(sink, path, text->n, &file, err) &&
                    heft_sink_write(sink, file, 0, text->p, text->n, err);

    heft_buf_release(text);
    *text = (struct heft_buf){0};
    return ok || heft_error_file(err, path);
}

static bool write_in(struct heft_sink *sink, const char *folder, const char *name,
                     struct heft_buf *text, struct heft_error *err)
{
    const size_t n = strlen(folder);
    struct heft_arena mem = {0};
    const char *const path =
        heft_arena_printf(&mem, err, "%s%s%s", folder, n && folder[n - 1] == '/' ? "" : "/", name);
    const bool ok = path && write_file(sink, path, text, err);

    heft_buf_release(text);
    *text = (struct heft_buf){0};
    heft_arena_release(&mem);
    return ok;
}

static bool write_folder(struct heft_sink *sink, const struct heft_train_task *task,
                         const char *folder, struct heft_error *err)
{
    struct heft_buf out = {0};
    struct spelling s = {0};

    init_spelling(&s);
    if (!heft_sink_folder(sink, folder, err))
        return heft_error_file(err, folder);
    put_merges(&out, &s, task);
    if (!write_in(sink, folder, "vocab.bpe", &out, err))
        return false;
    put_ids(&out, &s, task);
    if (!write_in(sink, folder, "encoder.json", &out, err))
        return false;
    put_pipeline(&out, task->n_symbols);
    put_model(&out, &s, task);
    return write_in(sink, folder, "tokenizer.json", &out, err);
}

bool heft_train_write(const struct heft_train_task *task, const char *output,
                      const struct heft_train_options *options, struct heft_error *err)
{
    const struct heft_sink_options how = {options->overwrite, options->no_sync};
    struct heft_sink *sink = heft_sink_new(&how, err);
    struct heft_buf out = {0};
    bool ok = sink != NULL;

    if (ok && options->style == HEFT_TRAIN_BYTES) {
        ok = write_folder(sink, task, output, err);
    } else if (ok) {
        put_merges(&out, NULL, task);
        ok = write_file(sink, output, &out, err);
    }
    ok = ok && heft_sink_commit(sink, err);
    heft_sink_free(sink);
    return ok;
}
