/* vocab_files.c: what lies at a path, or in memory, and which of the readers takes it.
 *
 *     folder   vocab.bpe [+ encoder.json], else tokenizer.json, else merges.txt [+ vocab.json]
 *     file     {…}          tokenizer.json
 *              IQ== 0       ranks (.tiktoken)
 *              others       a list of merges */
#include "io/pages.h"
#include "io/source.h"
#include "tokens/vocab_parts.h"

#define MOST_FILE (UINT64_C(32) << 20) /* real ones have 11 MiB */
#define KEPT      ((size_t)8 << 20)    /* of a file whose memory the next one goes on with */

static const struct {
    const char *text, *ids;
} KNOWN[] = {{"vocab.bpe", "encoder.json"}, {"tokenizer.json", NULL}, {"merges.txt", "vocab.json"}};

static void turn_alphabet(struct heft_vocab_reading *r)
{
    for (uint32_t c = 0; c < HEFT_ALPHABET_ROOM; c++)
        r->bytes[c] = (int16_t)heft_alphabet_byte(c);
}

static bool is_json(struct heft_bytes text)
{
    size_t i = 0;

    while (i < text.n && strchr(" \t\r\n", text.p[i]) && text.p[i])
        i++;
    return i < text.n && text.p[i] == '{';
}

static bool settle(struct heft_vocab_reading *r, struct heft_str lines)
{
    if (heft_vocab_settle(r))
        return true;
    if (r->err->code == HEFT_MALFORMED)
        r->err->offset = heft_vocab_merge_at(lines, r->v->n_merges);
    return false;
}

static bool read_merges(struct heft_vocab_reading *r, struct heft_bytes text, bool has_ids)
{
    const struct heft_str lines = {(const char *)text.p, text.n};

    if (!(has_ids && heft_vocab_usual_merges(r, text)) &&
        !(r->err->code == HEFT_OK && heft_vocab_check_text(r, text) &&
          heft_vocab_read_merges(r, lines, has_ids)))
        return false;
    return (!has_ids || heft_vocab_check_end(r, lines)) && settle(r, lines);
}

static bool read_text(struct heft_vocab_reading *r, struct heft_bytes text, bool has_ids)
{
    if (!has_ids && is_json(text))
        return heft_vocab_check_text(r, text) && heft_vocab_read_json(r, text);
    if (!has_ids && heft_vocab_is_ranks(text))
        return heft_vocab_check_text(r, text) && heft_vocab_read_ranks(r, text) &&
               heft_vocab_check_words(r->v, r->err);
    return read_merges(r, text, has_ids) && heft_vocab_check_words(r->v, r->err);
}

bool heft_vocab_parse(struct heft_vocab *v, struct heft_bytes text, struct heft_bytes ids,
                      struct heft_error *err)
{
    struct heft_vocab_reading r = {.v = v, .err = err, .least_special = HEFT_NO_TOKEN};
    bool ok;

    v->end = HEFT_NO_TOKEN;
    turn_alphabet(&r);
    ok = (!ids.p || heft_vocab_read_ids(&r, ids)) && read_text(&r, text, ids.p != NULL);
    heft_vocab_ids_release(&r.ids);
    return ok;
}

/* ---- files ------------------------------------------------------------------------------- */

static bool fetch(const char *path, struct heft_arena *mem, struct heft_bytes *out,
                  struct heft_error *err)
{
    struct heft_source source;
    bool ok;

    if (!heft_source_open_file(&source, path, err))
        return false;
    ok = source.size <= MOST_FILE ||
         heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET, "a vocabulary of more than 32 MiB");
    ok = ok && heft_pages_reserve(mem, (size_t)source.size, err) &&
         heft_source_fetch(&source, 0, source.size, mem, out, err);
    heft_source_close(&source);
    return ok || heft_error_file(err, path);
}

/* One file after the other, so that an error knows its file. */
static bool read_files(struct heft_vocab_reading *r, const char *path, const char *ids_path)
{
    struct heft_arena mem = {0};
    struct heft_bytes text, ids;
    bool ok = true;

    if (ids_path) {
        ok = fetch(ids_path, &mem, &ids, r->err) &&
             (heft_vocab_read_ids(r, ids) || heft_error_file(r->err, ids_path));
        if (mem.total > KEPT)
            heft_arena_release(&mem);
    }
    ok = ok && fetch(path, &mem, &text, r->err) &&
         (read_text(r, text, ids_path != NULL) || heft_error_file(r->err, path));
    heft_arena_release(&mem);
    return ok;
}

static bool read_known(struct heft_vocab_reading *r, const char *folder, struct heft_arena *mem)
{
    const size_t n = strlen(folder);
    const char *slash = n && folder[n - 1] == '/' ? "" : "/";

    for (size_t i = 0; i < HEFT_COUNT(KNOWN); i++) {
        const char *text = heft_arena_printf(mem, r->err, "%s%s%s", folder, slash, KNOWN[i].text);
        const char *ids =
            KNOWN[i].ids ? heft_arena_printf(mem, r->err, "%s%s%s", folder, slash, KNOWN[i].ids)
                         : NULL;

        if (!text || (KNOWN[i].ids && !ids))
            return false;
        if (heft_path_kind(text) == HEFT_PATH_FILE)
            return read_files(r, text, ids && heft_path_kind(ids) == HEFT_PATH_FILE ? ids : NULL);
    }
    heft_fail(r->err, HEFT_USAGE, HEFT_NO_OFFSET,
              "the folder holds no vocabulary (vocab.bpe and encoder.json, tokenizer.json, or "
              "merges.txt and vocab.json)");
    return heft_error_file(r->err, folder);
}

static bool read_folder(struct heft_vocab_reading *r, const char *folder)
{
    struct heft_arena names = {0};
    const bool ok = read_known(r, folder, &names);

    heft_arena_release(&names);
    return ok;
}

bool heft_vocab_read(struct heft_vocab *v, const char *path, struct heft_error *err)
{
    struct heft_vocab_reading r = {.v = v, .err = err, .least_special = HEFT_NO_TOKEN};
    bool ok;

    v->end = HEFT_NO_TOKEN;
    turn_alphabet(&r);
    ok = heft_path_kind(path) == HEFT_PATH_DIR ? read_folder(&r, path) : read_files(&r, path, NULL);
    heft_vocab_ids_release(&r.ids);
    return ok;
}
