/* train_files.c: writes a vocabulary.
 *
 *     vocab.bpe        #version: 0.2 ⏎ Ġ t ⏎ …          the two parts of each merge
 *     encoder.json     {"!": 0, …, "<|endoftext|>": N}   as Python's json.dumps writes it
 *     tokenizer.json   the same for the tokenizers package
 *
 * The codes of subword-nmt are the first of these alone, with characters instead of bytes. */
#include "base/text.h"
#include "io/sink.h"
#include "io/source.h"
#include "tokens/train/train.h"
#include "tokens/bpe/vocab.h"

#define BYTES 256
#define PIECE ((size_t)1 << 20) /* bytes a write */

/* ---- tokens as characters of the alphabet ------------------------------------------------ */

struct spelling {
    char text[BYTES][2]; /* indexed by byte */
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

/* ---- buffered writing -------------------------------------------------------------------- */

struct out {
    const struct heft_train_cells *cells;
    const struct spelling *spelling; /* NULL: texts are written unchanged */
    struct heft_sink *sink;
    struct heft_buf buf;
    uint32_t file;
    uint64_t at; /* offset of the buffer in the file */
};

static bool write_out(struct out *out, struct heft_error *err)
{
    if (!heft_buf_ok(&out->buf, err) ||
        !heft_sink_write(out->sink, out->file, out->at, out->buf.p, out->buf.n, err))
        return false;
    out->at += out->buf.n;
    out->buf.n = 0;
    return true;
}

static bool write_full(struct out *out, struct heft_error *err)
{
    return out->buf.n < PIECE || write_out(out, err);
}

static size_t spell_token(const struct out *out, uint32_t symbol, char *to)
{
    const size_t n = out->cells->symbols[symbol].n;
    char text[HEFT_TRAIN_LONGEST];
    size_t end = 0;

    if (!out->spelling) {
        heft_train_text(out->cells, symbol, to);
        return n;
    }
    heft_train_text(out->cells, symbol, text);
    for (size_t i = 0; i < n; i++) {
        const uint8_t byte = (uint8_t)text[i];

        memcpy(to + end, out->spelling->text[byte], out->spelling->n[byte]);
        end += out->spelling->n[byte];
    }
    return end;
}

static void put_symbol(struct out *out, uint32_t symbol)
{
    char text[2 * HEFT_TRAIN_LONGEST];

    heft_buf_put(&out->buf, text, spell_token(out, symbol, text));
}

static void put_json(struct out *out, uint32_t symbol, bool ascii)
{
    char text[2 * HEFT_TRAIN_LONGEST];

    heft_buf_json(&out->buf, (struct heft_str){text, spell_token(out, symbol, text)}, ascii);
}

/* ---- contents of the files --------------------------------------------------------------- */

static uint32_t first_merge(const struct heft_train_cells *cells)
{
    uint32_t i = 0;

    while (i < cells->n_symbols && cells->symbols[i].left == HEFT_TRAIN_LEAF)
        i++;
    return i;
}

static bool put_merges(struct out *out, struct heft_error *err)
{
    const struct heft_train_cells *c = out->cells;

    heft_buf_text(&out->buf, "#version: 0.2\n");
    for (uint32_t i = first_merge(c); i < c->n_symbols; i++) {
        put_symbol(out, c->symbols[i].left);
        heft_buf_char(&out->buf, ' ');
        put_symbol(out, c->symbols[i].right);
        heft_buf_char(&out->buf, '\n');
        if (!write_full(out, err))
            return false;
    }
    return true;
}

static bool put_ids(struct out *out, struct heft_error *err)
{
    heft_buf_char(&out->buf, '{');
    for (uint32_t i = 0; i < out->cells->n_symbols; i++) {
        put_json(out, i, true);
        heft_buf_text(&out->buf, ": ");
        heft_buf_u64(&out->buf, i);
        heft_buf_text(&out->buf, ", ");
        if (!write_full(out, err))
            return false;
    }
    heft_buf_text(&out->buf, "\"" HEFT_END_OF_TEXT "\": ");
    heft_buf_u64(&out->buf, out->cells->n_symbols);
    heft_buf_char(&out->buf, '}');
    return true;
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

static bool put_vocab(struct out *out, struct heft_error *err)
{
    heft_buf_text(&out->buf, "  \"model\": {\n    \"type\": \"BPE\",\n    \"dropout\": null,\n"
                             "    \"unk_token\": null,\n    \"continuing_subword_prefix\": \"\",\n"
                             "    \"end_of_word_suffix\": \"\",\n    \"fuse_unk\": false,\n"
                             "    \"byte_fallback\": false,\n    \"ignore_merges\": false,\n"
                             "    \"vocab\": {\n");
    for (uint32_t i = 0; i < out->cells->n_symbols; i++) {
        heft_buf_text(&out->buf, "      ");
        put_json(out, i, false);
        heft_buf_text(&out->buf, ": ");
        heft_buf_u64(&out->buf, i);
        heft_buf_text(&out->buf, ",\n");
        if (!write_full(out, err))
            return false;
    }
    heft_buf_text(&out->buf, "      \"" HEFT_END_OF_TEXT "\": ");
    heft_buf_u64(&out->buf, out->cells->n_symbols);
    heft_buf_text(&out->buf, "\n    },\n    \"merges\": [");
    return true;
}

static bool put_pairs(struct out *out, struct heft_error *err)
{
    const struct heft_train_cells *c = out->cells;
    const uint32_t first = first_merge(c);

    for (uint32_t i = first; i < c->n_symbols; i++) {
        heft_buf_text(&out->buf, i > first ? ",\n      [" : "\n      [");
        put_json(out, c->symbols[i].left, false);
        heft_buf_text(&out->buf, ", ");
        put_json(out, c->symbols[i].right, false);
        heft_buf_char(&out->buf, ']');
        if (!write_full(out, err))
            return false;
    }
    heft_buf_text(&out->buf, c->n_symbols > first ? "\n    ]\n  }\n}\n" : "]\n  }\n}\n");
    return true;
}

static bool put_tokenizer(struct out *out, struct heft_error *err)
{
    put_pipeline(&out->buf, out->cells->n_symbols);
    return put_vocab(out, err) && put_pairs(out, err);
}

/* ---- writing the files ------------------------------------------------------------------- */

typedef bool put_fn(struct out *out, struct heft_error *err);

static bool write_file(struct out *out, const char *path, put_fn *put, struct heft_error *err)
{
    out->at = 0;
    return (heft_sink_add_growing(out->sink, path, &out->file, err) && put(out, err) &&
            write_out(out, err)) ||
           heft_error_file(err, path);
}

static bool write_in(struct out *out, const char *folder, const char *name, put_fn *put,
                     struct heft_error *err)
{
    const size_t n = strlen(folder);
    struct heft_arena mem = {0};
    const char *const path =
        heft_arena_printf(&mem, err, "%s%s%s", folder, n && folder[n - 1] == '/' ? "" : "/", name);
    const bool ok = path && write_file(out, path, put, err);

    heft_arena_release(&mem);
    return ok;
}

static bool write_folder(struct out *out, const char *folder, struct heft_error *err)
{
    struct spelling s = {0};

    init_spelling(&s);
    out->spelling = &s;
    if (!heft_sink_folder(out->sink, folder, err))
        return heft_error_file(err, folder);
    return write_in(out, folder, "vocab.bpe", put_merges, err) &&
           write_in(out, folder, "encoder.json", put_ids, err) &&
           write_in(out, folder, "tokenizer.json", put_tokenizer, err);
}

bool heft_train_write(const struct heft_train_cells *cells, const char *output,
                      const struct heft_train_options *options, struct heft_error *err)
{
    const struct heft_sink_options how = {options->overwrite, options->no_sync};
    struct out out = {.cells = cells, .sink = heft_sink_new(&how, err)};
    bool ok = out.sink != NULL;

    if (ok)
        ok = options->style == HEFT_TRAIN_BYTES ? write_folder(&out, output, err)
                                                : write_file(&out, output, put_merges, err);
    ok = ok && heft_sink_commit(out.sink, err);
    heft_sink_free(out.sink);
    heft_buf_release(&out.buf);
    return ok;
}
