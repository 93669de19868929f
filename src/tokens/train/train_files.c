/* train_files.c: writes a vocabulary.
 *
 *     vocab.bpe        #version: 0.2 ⏎ Ġ t ⏎ …          the two parts of each merge
 *     encoder.json     {"!": 0, …, "<|endoftext|>": N}   as Python's json.dumps writes it
 *     vocab.tiktoken   IQ== 0 ⏎ …                        tokens in base64 and their ids
 *     tokenizer.json   for the tokenizers package (train_tokenizer.c)
 *
 * The first two are GPT-2's format, which says that texts are split by its pattern: they are written
 * only for it.
 * The codes of subword-nmt are the first of these alone, with characters instead of bytes. */
#include "base/text.h"
#include "io/source.h"
#include "tokens/train/train_out.h"
#include "tokens/bpe/vocab.h"

#define BYTES 256
#define PIECE ((size_t)1 << 20) /* bytes a write */

/* ---- tokens as characters of the alphabet ------------------------------------------------ */

static void init_spelling(struct heft_train_spelling *s)
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

static bool write_out(struct heft_train_out *out, struct heft_error *err)
{
    if (!heft_buf_ok(&out->buf, err) ||
        !heft_sink_write(out->sink, out->file, out->at, out->buf.p, out->buf.n, err))
        return false;
    out->at += out->buf.n;
    out->buf.n = 0;
    return true;
}

bool heft_train_write_full(struct heft_train_out *out, struct heft_error *err)
{
    return out->buf.n < PIECE || write_out(out, err);
}

static size_t spell_token(const struct heft_train_out *out, uint32_t symbol, char *to)
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

static void put_symbol(struct heft_train_out *out, uint32_t symbol)
{
    char text[2 * HEFT_TRAIN_LONGEST];

    heft_buf_put(&out->buf, text, spell_token(out, symbol, text));
}

void heft_train_put_json(struct heft_train_out *out, uint32_t symbol, bool ascii)
{
    char text[2 * HEFT_TRAIN_LONGEST];

    heft_buf_json(&out->buf, (struct heft_str){text, spell_token(out, symbol, text)}, ascii);
}

/* ---- contents of the files --------------------------------------------------------------- */

uint32_t heft_train_first_merge(const struct heft_train_cells *cells)
{
    uint32_t i = 0;

    while (i < cells->n_symbols && cells->symbols[i].left == HEFT_TRAIN_LEAF)
        i++;
    return i;
}

static bool put_merges(struct heft_train_out *out, struct heft_error *err)
{
    const struct heft_train_cells *c = out->cells;

    heft_buf_text(&out->buf, "#version: 0.2\n");
    for (uint32_t i = heft_train_first_merge(c); i < c->n_symbols; i++) {
        put_symbol(out, c->symbols[i].left);
        heft_buf_char(&out->buf, ' ');
        put_symbol(out, c->symbols[i].right);
        heft_buf_char(&out->buf, '\n');
        if (!heft_train_write_full(out, err))
            return false;
    }
    return true;
}

static bool put_ids(struct heft_train_out *out, struct heft_error *err)
{
    heft_buf_char(&out->buf, '{');
    for (uint32_t i = 0; i < out->cells->n_symbols; i++) {
        heft_train_put_json(out, i, true);
        heft_buf_text(&out->buf, ": ");
        heft_buf_u64(&out->buf, i);
        heft_buf_text(&out->buf, ", ");
        if (!heft_train_write_full(out, err))
            return false;
    }
    for (size_t i = 0; i < out->n_specials; i++) {
        heft_buf_json(&out->buf, heft_str_of(out->specials[i]), true);
        heft_buf_text(&out->buf, ": ");
        heft_buf_u64(&out->buf, out->cells->n_symbols + i);
        heft_buf_text(&out->buf, i + 1 < out->n_specials ? ", " : "");
    }
    heft_buf_char(&out->buf, '}');
    return true;
}

static void put_base64(struct heft_buf *out, const uint8_t *p, size_t n)
{
    char group[4];

    for (size_t i = 0; i < n; i += 3) {
        heft_base64_group(p + i, heft_min_size(n - i, 3), group);
        heft_buf_put(out, group, sizeof group);
    }
}

static bool put_ranks(struct heft_train_out *out, struct heft_error *err)
{
    char text[HEFT_TRAIN_LONGEST];

    for (uint32_t i = 0; i < out->cells->n_symbols; i++) {
        heft_train_text(out->cells, i, text);
        put_base64(&out->buf, (const uint8_t *)text, out->cells->symbols[i].n);
        heft_buf_char(&out->buf, ' ');
        heft_buf_u64(&out->buf, i);
        heft_buf_char(&out->buf, '\n');
        if (!heft_train_write_full(out, err))
            return false;
    }
    return true;
}

/* ---- writing the files ------------------------------------------------------------------- */

typedef bool put_fn(struct heft_train_out *out, struct heft_error *err);

static bool write_file(struct heft_train_out *out, const char *path, put_fn *put,
                       struct heft_error *err)
{
    out->at = 0;
    return (heft_sink_add_growing(out->sink, path, &out->file, err) && put(out, err) &&
            write_out(out, err)) ||
           heft_error_file(err, path);
}

static bool write_in(struct heft_train_out *out, const char *folder, const char *name, put_fn *put,
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

static bool write_folder(struct heft_train_out *out, const char *folder, struct heft_error *err)
{
    struct heft_train_spelling s = {0};

    init_spelling(&s);
    out->spelling = &s;
    if (!heft_sink_folder(out->sink, folder, err))
        return heft_error_file(err, folder);
    return (out->pattern->n_steps > 0 || (write_in(out, folder, "vocab.bpe", put_merges, err) &&
                                          write_in(out, folder, "encoder.json", put_ids, err))) &&
           write_in(out, folder, "vocab.tiktoken", put_ranks, err) &&
           write_in(out, folder, "tokenizer.json", heft_train_put_tokenizer, err);
}

bool heft_train_write(const struct heft_train_cells *cells, const char *output,
                      const struct heft_train_options *options,
                      const struct heft_train_pattern *pattern, struct heft_error *err)
{
    const struct heft_sink_options how = {.overwrite = options->overwrite,
                                          .no_sync = options->no_sync};
    struct heft_train_out out = {.cells = cells,
                                 .pattern = pattern,
                                 .specials = options->specials,
                                 .n_specials = options->n_specials,
                                 .sink = heft_sink_new(&how, err)};
    bool ok = out.sink != NULL;

    if (ok)
        ok = options->style == HEFT_TRAIN_BYTES ? write_folder(&out, output, err)
                                                : write_file(&out, output, put_merges, err);
    ok = ok && heft_sink_commit(out.sink, err);
    heft_sink_free(out.sink);
    heft_buf_release(&out.buf);
    return ok;
}
