/* vocab_files.c: the reader for a path, or for bytes in memory.
 *
 *     directory   vocab.bpe [+ encoder.json], else tokenizer.json, else merges.txt [+ vocab.json],
 *                 else tekken.json, else tokenizer.pkl, else tiktoken.model or tokenizer.model
 *     file        one of such a pair with the other beside it: the pair
 *                 {…}          tokenizer.json or tekken.json
 *                 80 04 …      a pickled tiktoken.core.Encoding
 *                 IQ== 0       ranks (.tiktoken)
 *                 otherwise    a list of merges
 *
 * Other files that transformers writes beside them are read for their settings (vocab_config.c). */
#include "io/pages.h"
#include "io/source.h"
#include "tokens/input/lookalikes.h"
#include "tokens/vocab/vocab_beside.h"

#define MOST_FILE (UINT64_C(64) << 20) /* published ones have at most 32 MiB */
#define KEPT      ((size_t)8 << 20)    /* memory of a file that is reused for the next one */

static const struct {
    const char *text, *ids;
} KNOWN[] = {{"vocab.bpe", "encoder.json"}, {"tokenizer.json", NULL}, {"merges.txt", "vocab.json"},
             {"tekken.json", NULL},         {"tokenizer.pkl", NULL},  {"tiktoken.model", NULL},
             {"tokenizer.model", NULL}};

#define ADDED  "added_tokens.json"
#define CONFIG "tokenizer_config.json"
#define MAP    "special_tokens_map.json"

static bool ends_in(const char *path, const char *extension)
{
    const size_t n = strlen(path), m = strlen(extension);

    return n >= m && strcmp(path + n - m, extension) == 0;
}

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

/* Judges the split pattern of a list of merges. An unknown list without ids does not even determine
 * the ids. */
static bool judge_merges(struct heft_vocab_reading *r, bool has_ids)
{
    const struct heft_vocab_known *known =
        r->form == HEFT_FORM_MERGES ? heft_vocab_known_merges(r->v) : NULL;

    if (r->form == HEFT_FORM_MERGES && !has_ids && !known && !(r->how && r->how->pattern))
        return heft_fail(r->err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
                         "a list of merges without vocab.json beside it has no ids (option pattern "
                         "gpt2 assigns those of GPT-2)");
    return heft_vocab_judge(r, r->form, known);
}

static bool read_merges(struct heft_vocab_reading *r, struct heft_bytes text, bool has_ids)
{
    const struct heft_str lines = {(const char *)text.p, text.n};

    if (!(has_ids && heft_vocab_usual_merges(r, text)) &&
        !(r->err->code == HEFT_OK && heft_vocab_check_text(r, text) &&
          heft_vocab_read_merges(r, lines, has_ids)))
        return false;
    return (!has_ids || heft_vocab_check_end(r, lines)) && heft_vocab_validate_listed(r) &&
           judge_merges(r, has_ids);
}

static bool check_stranger(struct heft_vocab_reading *r, struct heft_bytes text)
{
    const char *stranger = heft_stranger(text);

    return !stranger ||
           heft_fail(r->err, HEFT_UNSUPPORTED, 0,
                     "%s; expected tokenizer.json, a .tiktoken file or a list of merges", stranger);
}

static bool read_text(struct heft_vocab_reading *r, struct heft_bytes text, bool has_ids)
{
    if (!has_ids && is_json(text))
        return heft_vocab_check_text(r, text) && heft_vocab_read_json(r, text);
    if (!has_ids && heft_vocab_is_pickle(text))
        return heft_vocab_read_pickle(r, text);
    if (!has_ids && heft_vocab_is_ranks(text))
        return heft_vocab_check_text(r, text) && heft_vocab_read_ranks(r, text);
    return check_stranger(r, text) && read_merges(r, text, has_ids);
}

bool heft_vocab_parse(struct heft_vocab *v, struct heft_bytes text, struct heft_bytes ids,
                      const struct heft_vocab_options *how, struct heft_error *err)
{
    struct heft_vocab_reading r = {.v = v, .how = how, .err = err, .least_special = HEFT_NO_TOKEN};
    bool ok;

    v->end = HEFT_NO_TOKEN;
    turn_alphabet(&r);
    ok = (!ids.p || heft_vocab_read_ids(&r, ids)) && read_text(&r, text, ids.p != NULL);
    heft_vocab_ids_release(&r.ids);
    heft_strmap_release(&r.added);
    heft_strmap_release(&r.foreign);
    return ok;
}

/* ---- finding and reading files ----------------------------------------------------------- */

static bool fetch_file(const char *path, struct heft_arena *mem, struct heft_bytes *out,
                       struct heft_error *err)
{
    struct heft_source source;
    bool ok;

    if (!heft_source_open_file(&source, path, err))
        return false;
    ok = source.size <= MOST_FILE ||
         heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET, "a vocabulary of more than 64 MiB");
    ok = ok && heft_pages_reserve(mem, (size_t)source.size, err) &&
         heft_source_fetch(&source, 0, source.size, mem, out, err);
    heft_source_close(&source);
    return ok || heft_error_file(err, path);
}

/* Reads one file after the other, so that errors name the right one. */
static bool read_files(struct heft_vocab_reading *r, const char *path, const char *ids_path)
{
    struct heft_arena mem = {0};
    struct heft_bytes text, ids;
    bool ok = true;

    if (ids_path) {
        ok = fetch_file(ids_path, &mem, &ids, r->err) &&
             (heft_vocab_read_ids(r, ids) || heft_error_file(r->err, ids_path)) &&
             (!r->beside || heft_beside_place(r, r->beside));
        if (mem.total > KEPT)
            heft_arena_release(&mem);
    }
    ok = ok && fetch_file(path, &mem, &text, r->err) &&
         (read_text(r, text, ids_path != NULL) || heft_error_file(r->err, path));
    heft_arena_release(&mem);
    if (ok && r->v->refusal.code)
        heft_error_file(&r->v->refusal, path);
    return ok;
}

static const char *in_folder(struct heft_vocab_reading *r, struct heft_arena *mem,
                             struct heft_str folder, const char *name)
{
    const char *slash = folder.n == 0 || folder.p[folder.n - 1] == '/' ? "" : "/";

    return heft_arena_printf(mem, r->err, "%.*s%s%s", (int)folder.n, folder.p, slash, name);
}

/* Reads a file of transformers beside a vocabulary, if it exists. */
static bool read_beside(struct heft_vocab_reading *r, const char *path, bool is_pair)
{
    struct heft_arena mem = {0};
    struct heft_bytes text;
    bool ok;

    if (!path || heft_path_kind(path) != HEFT_PATH_FILE)
        return path != NULL;
    ok = fetch_file(path, &mem, &text, r->err) &&
         ((ends_in(path, ADDED) ? heft_vocab_read_added(r, text)
                                : heft_vocab_read_config(r, text, is_pair)) ||
          heft_error_file(r->err, path));
    heft_arena_release(&mem);
    return ok;
}

/* A class with other tokens than heft knows: added_tokens.json is not read. */
static void refuse_added(struct heft_vocab_reading *r, const char *added, const char *text)
{
    if (r->v->refusal.code != HEFT_OK || heft_path_kind(added) != HEFT_PATH_FILE)
        return;
    heft_fail(&r->v->refusal, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
              "added_tokens.json beside it may change the ids of texts: use a tokenizer.json (ids "
              "can be decoded)");
    heft_error_file(&r->v->refusal, text);
}

/* Reads the files of transformers beside tokenizer.json, or beside merges and ids. */
static bool read_company(struct heft_vocab_reading *r, struct heft_arena *mem,
                         struct heft_str folder, const char *text, bool is_pair)
{
    const char *const added = in_folder(r, mem, folder, ADDED);
    const char *const config = in_folder(r, mem, folder, CONFIG);

    if (!added || !config)
        return false;
    if ((!is_pair && !read_beside(r, added, false)) || !read_beside(r, config, is_pair))
        return false;
    if (r->v->refusal.code)
        heft_error_file(&r->v->refusal, config);
    else if (is_pair && r->beside->is_other)
        refuse_added(r, added, text);
    else if (is_pair)
        r->v->refusal = r->beside->refusal;
    return true;
}

typedef bool beside_fn(struct heft_vocab_reading *r, struct heft_beside *beside,
                       struct heft_bytes text);

/* Reads a file of added tokens, if it exists. */
static bool read_tokens(struct heft_vocab_reading *r, struct heft_arena *names,
                        struct heft_str folder, const char *name, beside_fn *read,
                        const char **path)
{
    struct heft_arena mem = {0};
    struct heft_bytes text;
    bool ok;

    *path = in_folder(r, names, folder, name);
    if (!*path || heft_path_kind(*path) != HEFT_PATH_FILE)
        return *path != NULL;
    ok = fetch_file(*path, &mem, &text, r->err) &&
         (read(r, r->beside, text) || heft_error_file(r->err, *path));
    heft_arena_release(&mem);
    return ok;
}

/* Reads merges and ids of transformers, and the added tokens beside them, which get their ids between
 * the two. */
static bool read_with_tokens(struct heft_vocab_reading *r, struct heft_arena *mem,
                             struct heft_str folder, const char *text, const char *ids)
{
    struct heft_beside beside = {0};
    const char *config, *map, *added;
    bool ok;

    r->beside = &beside;
    ok = read_tokens(r, mem, folder, CONFIG, heft_beside_read_config, &config) &&
         read_tokens(r, mem, folder, MAP, heft_beside_read_map, &map) &&
         read_tokens(r, mem, folder, ADDED, heft_beside_read_added, &added) &&
         read_files(r, text, ids);
    if (ok && beside.refusal.code)
        heft_error_file(&beside.refusal, beside.has_decoder ? config : added);
    if (!ok && r->err->file[0] == '\0')
        heft_error_file(r->err, beside.has_decoder ? config : added);
    ok = ok && read_company(r, mem, folder, text, true);
    heft_beside_release(&beside);
    r->beside = NULL;
    return ok;
}

/* Reads merges and ids: the original's files, or those of transformers. */
static bool read_pair(struct heft_vocab_reading *r, struct heft_arena *mem, struct heft_str folder,
                      const char *text, const char *ids)
{
    r->form = ends_in(text, ".bpe") ? HEFT_FORM_ORIGINAL : HEFT_FORM_MERGES;
    if (r->form == HEFT_FORM_MERGES && ids)
        return read_with_tokens(r, mem, folder, text, ids);
    return read_files(r, text, ids) && (r->form == HEFT_FORM_ORIGINAL || !ends_in(text, ".json") ||
                                        read_company(r, mem, folder, text, false));
}

/* Reads the i-th known pair in a directory; *is_there: it exists. */
static bool read_known(struct heft_vocab_reading *r, struct heft_arena *mem, struct heft_str folder,
                       size_t i, bool *is_there)
{
    const char *text = in_folder(r, mem, folder, KNOWN[i].text);
    const char *ids = KNOWN[i].ids ? in_folder(r, mem, folder, KNOWN[i].ids) : NULL;

    if (!text || (KNOWN[i].ids && !ids))
        return false;
    *is_there = heft_path_kind(text) == HEFT_PATH_FILE;
    return !*is_there || read_pair(r, mem, folder, text,
                                   ids && heft_path_kind(ids) == HEFT_PATH_FILE ? ids : NULL);
}

static bool read_folder(struct heft_vocab_reading *r, struct heft_arena *mem, const char *folder)
{
    bool is_there = false;

    for (size_t i = 0; i < HEFT_COUNT(KNOWN); i++) {
        if (!read_known(r, mem, heft_str_of(folder), i, &is_there))
            return false;
        if (is_there)
            return true;
    }
    heft_fail(r->err, HEFT_USAGE, HEFT_NO_OFFSET,
              "the directory has no vocabulary (vocab.bpe and encoder.json, tokenizer.json, "
              "merges.txt and vocab.json, tekken.json, tokenizer.pkl, or tokenizer.model)");
    return heft_error_file(r->err, folder);
}

/* Reads a file. One of a pair means the pair: alone it lacks the ids or the merges. */
static bool read_file(struct heft_vocab_reading *r, struct heft_arena *mem, const char *path)
{
    const size_t n = heft_path_folder(path);
    const struct heft_str folder = {path, n};
    bool is_there = false;

    for (size_t i = 0; i < HEFT_COUNT(KNOWN); i++)
        if (KNOWN[i].ids &&
            (strcmp(path + n, KNOWN[i].text) == 0 || strcmp(path + n, KNOWN[i].ids) == 0)) {
            if (!read_known(r, mem, folder, i, &is_there))
                return false;
            break;
        }
    if (is_there)
        return true;
    r->form = ends_in(path, ".bpe") ? HEFT_FORM_ORIGINAL : HEFT_FORM_MERGES;
    return read_files(r, path, NULL);
}

bool heft_vocab_read(struct heft_vocab *v, const char *path, const struct heft_vocab_options *how,
                     struct heft_error *err)
{
    struct heft_vocab_reading r = {.v = v, .how = how, .err = err, .least_special = HEFT_NO_TOKEN};
    struct heft_arena names = {0};
    bool ok;

    v->end = HEFT_NO_TOKEN;
    turn_alphabet(&r);
    ok = heft_path_kind(path) == HEFT_PATH_DIR ? read_folder(&r, &names, path)
                                               : read_file(&r, &names, path);
    heft_arena_release(&names);
    heft_vocab_ids_release(&r.ids);
    heft_strmap_release(&r.added);
    heft_strmap_release(&r.foreign);
    return ok;
}
