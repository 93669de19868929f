/* vocab_known.c: published vocabularies, recognised by the SHA-256 of their rank lines, with their
 * split patterns and special tokens (of Llama: those of llama-models 0.3):
 *
 *     IQ== 0        tokens in base64 and their ids, in the order of the ids, each line with its \n;
 *     Ig== 1        without the empty token that Whisper's file has
 *
 * For tiktoken's files this equals the output of sha256sum. For a list of merges the rank lines are
 * generated: the bytes in GPT-2's order, then the tokens that the merges make. */
#include <stdio.h>

#include "base/sha256.h"
#include "base/text.h"
#include "measure/sha256_kernels.h"
#include "tokens/vocab/vocab_parts.h"

/* n special tokens with ids from `id` on. # in their text is a number, counted up from `first`. */
struct special {
    uint32_t id;
    const char *text;
    uint32_t first, n;
    bool is_plain; /* not special: always found in texts */
};

static const struct special CL100K[] = {
    {100257, "<|endoftext|>", 0, 1, false},   {100258, "<|fim_prefix|>", 0, 1, false},
    {100259, "<|fim_middle|>", 0, 1, false},  {100260, "<|fim_suffix|>", 0, 1, false},
    {100276, "<|endofprompt|>", 0, 1, false}, {0, NULL, 0, 0, false}};
static const struct special O200K[] = {{199999, "<|endoftext|>", 0, 1, false},
                                       {200018, "<|endofprompt|>", 0, 1, false},
                                       {0, NULL, 0, 0, false}};
/* Ids from 151646 on have other names in Qwen 1 than in Qwen 2. */
static const struct special QWEN[] = {{151643, "<|endoftext|>", 0, 1, false},
                                      {151644, "<|im_start|>", 0, 1, false},
                                      {151645, "<|im_end|>", 0, 1, false},
                                      {0, NULL, 0, 0, false}};
static const struct special LLAMA3[] = {{128000, "<|begin_of_text|>", 0, 1, false},
                                        {128001, "<|end_of_text|>", 0, 1, false},
                                        {128002, "<|reserved_special_token_#|>", 0, 2, false},
                                        {128004, "<|finetune_right_pad_id|>", 0, 1, false},
                                        {128005, "<|step_id|>", 0, 1, false},
                                        {128006, "<|start_header_id|>", 0, 1, false},
                                        {128007, "<|end_header_id|>", 0, 1, false},
                                        {128008, "<|eom_id|>", 0, 1, false},
                                        {128009, "<|eot_id|>", 0, 1, false},
                                        {128010, "<|python_tag|>", 0, 1, false},
                                        {128011, "<|image|>", 0, 1, false},
                                        {128012, "<|reserved_special_token_#|>", 2, 244, false},
                                        {0, NULL, 0, 0, false}};
static const struct special LLAMA4[] = {
    {200000, "<|begin_of_text|>", 0, 1, false},
    {200001, "<|end_of_text|>", 0, 1, false},
    {200002, "<|fim_prefix|>", 0, 1, false},
    {200003, "<|fim_middle|>", 0, 1, false},
    {200004, "<|fim_suffix|>", 0, 1, false},
    {200005, "<|header_start|>", 0, 1, false},
    {200006, "<|header_end|>", 0, 1, false},
    {200007, "<|eom|>", 0, 1, false},
    {200008, "<|eot|>", 0, 1, false},
    {200009, "<|step|>", 0, 1, false},
    {200010, "<|text_post_train_reserved_special_token_#|>", 0, 6, false},
    {200016, "<|python_start|>", 0, 1, false},
    {200017, "<|python_end|>", 0, 1, false},
    {200018, "<|finetune_right_pad|>", 0, 1, false},
    {200019, "<|text_post_train_reserved_special_token_#|>", 8, 61, false},
    {200080, "<|image_start|>", 0, 1, false},
    {200081, "<|image_end|>", 0, 1, false},
    {200082, "<|vision_reserved_special_token_#|>", 0, 2, false},
    {200084, "<|tile_x_separator|>", 0, 1, false},
    {200085, "<|tile_y_separator|>", 0, 1, false},
    {200086, "<|vision_reserved_special_token_#|>", 2, 4, false},
    {200090, "<|image|>", 0, 1, false},
    {200091, "<|vision_reserved_special_token_6|>", 0, 1, false},
    {200092, "<|patch|>", 0, 1, false},
    {200093, "<|vision_reserved_special_token_#|>", 7, 1041, false},
    {201134, "<|reasoning_reserved_special_token_#|>", 0, 8, false},
    {201142, "<|reasoning_thinking_start|>", 0, 1, false},
    {201143, "<|reasoning_thinking_end|>", 0, 1, false},
    {201144, "<|reserved_special_token_#|>", 0, 904, false},
    {0, NULL, 0, 0, false}};
/* The other ids up to 163837 have other names in K3 than in K2. */
static const struct special KIMI[] = {{163584, "[BOS]", 0, 1, false},
                                      {163585, "[EOS]", 0, 1, false},
                                      {163838, "[UNK]", 0, 1, false},
                                      {163839, "[PAD]", 0, 1, false},
                                      {0, NULL, 0, 0, false}};

/* Vocabularies with the ranks of another one: only the option pattern tells them. */
static const struct special HARMONY[] = {
    {199998, "<|startoftext|>", 0, 1, false},
    {199999, "<|endoftext|>", 0, 1, false},
    {200000, "<|reserved_#|>", 200000, 2, false},
    {200002, "<|return|>", 0, 1, false},
    {200003, "<|constrain|>", 0, 1, false},
    {200004, "<|reserved_200004|>", 0, 1, false},
    {200005, "<|channel|>", 0, 1, false},
    {200006, "<|start|>", 0, 1, false},
    {200007, "<|end|>", 0, 1, false},
    {200008, "<|message|>", 0, 1, false},
    {200009, "<|reserved_#|>", 200009, 3, false},
    {200012, "<|call|>", 0, 1, false},
    {200013, "<|reserved_#|>", 200013, 1075, false},
    {200018, "<|endofprompt|>", 0, 1, false}, /* the second name of <|reserved_200018|> */
    {0, NULL, 0, 0, false}};
/* Llama 3 as first published, and 3.1 and later as tokenizer.json files have it */
static const struct special LLAMA30[] = {{128000, "<|begin_of_text|>", 0, 1, false},
                                         {128001, "<|end_of_text|>", 0, 1, false},
                                         {128002, "<|reserved_special_token_#|>", 0, 4, false},
                                         {128006, "<|start_header_id|>", 0, 1, false},
                                         {128007, "<|end_header_id|>", 0, 1, false},
                                         {128008, "<|reserved_special_token_4|>", 0, 1, false},
                                         {128009, "<|eot_id|>", 0, 1, false},
                                         {128010, "<|reserved_special_token_#|>", 5, 246, false},
                                         {0, NULL, 0, 0, false}};
static const struct special LLAMA31[] = {{128000, "<|begin_of_text|>", 0, 1, false},
                                         {128001, "<|end_of_text|>", 0, 1, false},
                                         {128002, "<|reserved_special_token_#|>", 0, 2, false},
                                         {128004, "<|finetune_right_pad_id|>", 0, 1, false},
                                         {128005, "<|reserved_special_token_2|>", 0, 1, false},
                                         {128006, "<|start_header_id|>", 0, 1, false},
                                         {128007, "<|end_header_id|>", 0, 1, false},
                                         {128008, "<|eom_id|>", 0, 1, false},
                                         {128009, "<|eot_id|>", 0, 1, false},
                                         {128010, "<|python_tag|>", 0, 1, false},
                                         {128011, "<|reserved_special_token_#|>", 3, 245, false},
                                         {0, NULL, 0, 0, false}};
/* Qwen 2.5 and 3, by the tokenizer_config.json of their publisher */
#define QWEN_NAMED                                                                                 \
    {151643, "<|endoftext|>", 0, 1, false}, {151644, "<|im_start|>", 0, 1, false},                 \
        {151645, "<|im_end|>", 0, 1, false}, {151646, "<|object_ref_start|>", 0, 1, false},        \
        {151647, "<|object_ref_end|>", 0, 1, false}, {151648, "<|box_start|>", 0, 1, false},       \
        {151649, "<|box_end|>", 0, 1, false}, {151650, "<|quad_start|>", 0, 1, false},             \
        {151651, "<|quad_end|>", 0, 1, false}, {151652, "<|vision_start|>", 0, 1, false},          \
        {151653, "<|vision_end|>", 0, 1, false}, {151654, "<|vision_pad|>", 0, 1, false},          \
        {151655, "<|image_pad|>", 0, 1, false}, {151656, "<|video_pad|>", 0, 1, false},            \
        {151657, "<tool_call>", 0, 1, true}, {151658, "</tool_call>", 0, 1, true},                 \
        {151659, "<|fim_prefix|>", 0, 1, true}, {151660, "<|fim_middle|>", 0, 1, true},            \
        {151661, "<|fim_suffix|>", 0, 1, true}, {151662, "<|fim_pad|>", 0, 1, true},               \
        {151663, "<|repo_name|>", 0, 1, true},                                                     \
    {                                                                                              \
        151664, "<|file_sep|>", 0, 1, true                                                         \
    }
static const struct special QWEN25[] = {QWEN_NAMED, {0, NULL, 0, 0, false}};
static const struct special QWEN3[] = {QWEN_NAMED,
                                       {151665, "<tool_response>", 0, 1, true},
                                       {151666, "</tool_response>", 0, 1, true},
                                       {151667, "<think>", 0, 1, true},
                                       {151668, "</think>", 0, 1, true},
                                       {0, NULL, 0, 0, false}};
static const struct variant {
    const char *name;
    const struct special *of; /* special tokens of the published vocabulary with these ranks */
    const struct special *specials;
    const char *all; /* names of all variants of these ranks */
} VARIANTS[] = {
    {"o200k_harmony", O200K, HARMONY, "o200k_harmony"},
    {"gpt-oss", O200K, HARMONY, "o200k_harmony"},
    {"llama3.0", LLAMA3, LLAMA30, "llama3.0, llama3.1"},
    {"llama3.1", LLAMA3, LLAMA31, "llama3.0, llama3.1"},
    {"qwen2.5", QWEN, QWEN25, "qwen2.5, qwen3"},
    {"qwen3", QWEN, QWEN3, "qwen2.5, qwen3"},
};

static const struct known {
    struct heft_vocab_known known;
    uint32_t count; /* of tokens that are not empty: only then the digest is computed */
    const char *digest;
    const struct special *specials;
} KNOWN[] = {
    /* GPT-2 */
    {{"r50k", true, NULL, true},
     50256,
     "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930",
     NULL},
    /* p50k_base */
    {{"r50k", true, NULL, true},
     50280,
     "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069",
     NULL},
    /* Whisper's multilingual */
    {{"r50k", true, NULL, false},
     50256,
     "316413f0a5497a8219e48697be7faac30a90c0756680c24114266233fba152af",
     NULL},
    /* cl100k_base. Llama 3's spelling of its pattern differs in white space at the ends of texts and
     * before newlines, where no token of it goes across: the ids are the same. */
    {{"gpt4", false, "llama3", true},
     100256,
     "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
     CL100K},
    /* o200k_base */
    {{"o200k", false, NULL, true},
     199998,
     "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
     O200K},
    /* Qwen 1, with the ranks of Qwen 2 and 3 */
    {{"qwen2", false, NULL, true},
     151643,
     "b2b1b8dfb5cc5f024bafc373121c6aba3f66f9a5a0269e243470a1de16a33186",
     QWEN},
    /* Llama 3 */
    {{"llama3", false, NULL, false},
     128000,
     "82e9d31979e92ab929cd544440f129d9ecd797b69e327f80f17e1c50d5551b55",
     LLAMA3},
    /* Llama 4 */
    {{"o200k", false, NULL, true},
     200000,
     "d0bdbaf59b0762c8c807617e2d8ea51420eb1b1de266df2495be755c8e0ed6ed",
     LLAMA4},
    /* Kimi K2 and K3 */
    {{"kimi", false, NULL, false},
     163584,
     "b6c497a7469b33ced9c38afb1ad6e47f03f5e5dc05f15930799210ec050c5103",
     KIMI},
};

/* Rank lines on their way to the hash, which takes many bytes at a time faster. */
struct lines {
    struct heft_sha256 sha;
    uint8_t text[4096];
    size_t n;
    bool has_longer; /* a token is longer than those of published vocabularies */
};

/* Hashes whole blocks with the instructions of the processor, if it has them. Returns the number of
 * bytes. */
static size_t hash_blocks(struct heft_sha256 *sha, const uint8_t *text, size_t n)
{
    const struct heft_sha256_kernels *const kernels = heft_sha256_kernels();
    const size_t blocks = n / 64, used = 64 * blocks;

    if (kernels)
        kernels->one(sha->state, text, blocks);
    else
        heft_sha256_put(sha, text, used);
    sha->n += kernels ? used : 0;
    return used;
}

static void flush_blocks(struct lines *lines)
{
    const size_t used = hash_blocks(&lines->sha, lines->text, lines->n);

    lines->n -= used;
    memmove(lines->text, lines->text + used, lines->n);
}

static void put_base64(struct lines *lines, struct heft_str token)
{
    char group[4];

    for (size_t i = 0; i < token.n; i += 3) {
        heft_base64_group((const uint8_t *)token.p + i, heft_min_size(token.n - i, 3), group);
        memcpy(lines->text + lines->n, group, sizeof group);
        lines->n += sizeof group;
    }
}

static void put_line(struct lines *lines, struct heft_str token, uint32_t rank)
{
    char number[12];
    size_t at = sizeof number;

    lines->has_longer |= token.n > HEFT_LONGEST_RANKED;
    if (token.n == 0 || lines->has_longer)
        return;
    if (token.n / 3 * 4 + 20 > sizeof lines->text - lines->n)
        flush_blocks(lines);
    put_base64(lines, token);
    number[--at] = '\n';
    do
        number[--at] = (char)('0' + rank % 10);
    while ((rank /= 10) > 0);
    number[--at] = ' ';
    memcpy(lines->text + lines->n, number + at, sizeof number - at);
    lines->n += sizeof number - at;
}

static bool has_count(size_t count)
{
    for (size_t i = 0; i < HEFT_COUNT(KNOWN); i++)
        if (KNOWN[i].count == count)
            return true;
    return false;
}

static const struct heft_vocab_known *find_digest(struct heft_sha256 *sha)
{
    uint8_t digest[HEFT_SHA256_BYTES];
    char text[2 * HEFT_SHA256_BYTES + 1];

    heft_sha256_end(sha, digest);
    for (size_t i = 0; i < HEFT_SHA256_BYTES; i++)
        snprintf(text + 2 * i, 3, "%02x", digest[i]);
    for (size_t i = 0; i < HEFT_COUNT(KNOWN); i++)
        if (strcmp(text, KNOWN[i].digest) == 0)
            return &KNOWN[i].known;
    return NULL;
}

static const struct heft_vocab_known *find_known(struct lines *lines)
{
    flush_blocks(lines);
    heft_sha256_put(&lines->sha, lines->text, lines->n);
    return lines->has_longer ? NULL : find_digest(&lines->sha);
}

const struct heft_vocab_known *heft_vocab_known_lines(struct heft_str text, size_t count)
{
    struct heft_sha256 sha;
    size_t used;

    if (!has_count(count))
        return NULL;
    heft_sha256_init(&sha);
    used = hash_blocks(&sha, (const uint8_t *)text.p, text.n);
    heft_sha256_put(&sha, text.p + used, text.n - used);
    return find_digest(&sha);
}

const struct heft_vocab_known *heft_vocab_known_merges(const struct heft_vocab *v)
{
    struct lines lines;
    uint8_t order[256];

    if (!has_count(256 + v->n_merges))
        return NULL;
    lines.n = 0;
    lines.has_longer = false;
    heft_sha256_init(&lines.sha);
    heft_alphabet_order(order);
    for (uint32_t i = 0; i < 256; i++)
        put_line(&lines, (struct heft_str){(const char *)&order[i], 1}, i);
    for (uint32_t i = 0; i < v->n_merges; i++)
        put_line(&lines, v->tokens[v->merges[i].id], 256 + i);
    return find_known(&lines);
}

const struct heft_vocab_known *heft_vocab_known_ranks(const struct heft_vocab *v)
{
    struct lines lines;
    uint32_t count = 0;

    for (uint32_t id = 0; id < v->n_ids; id++)
        count += v->tokens[id].n > 0;
    if (!has_count(count))
        return NULL;
    lines.n = 0;
    lines.has_longer = false;
    heft_sha256_init(&lines.sha);
    for (uint32_t id = 0; id < v->n_ids; id++)
        if (v->tokens[id].p)
            put_line(&lines, v->tokens[id], id);
    return find_known(&lines);
}

static const struct special *specials_of(const struct heft_vocab_known *vocabulary)
{
    for (size_t i = 0; i < HEFT_COUNT(KNOWN); i++)
        if (&KNOWN[i].known == vocabulary)
            return KNOWN[i].specials;
    return NULL;
}

/* Text of the i-th token of a series; NULL if out of memory. */
static const char *special_text(struct heft_vocab_reading *r, const struct special *s, uint32_t i)
{
    const char *const number = strchr(s->text, '#');

    return number ? heft_arena_printf(&r->v->mem, r->err, "%.*s%" PRIu32 "%s",
                                      (int)(number - s->text), s->text, s->first + i, number + 1)
                  : s->text;
}

bool heft_vocab_name_special(struct heft_vocab_reading *r, struct heft_str text, uint32_t id)
{
    struct heft_vocab *const v = r->v;
    const struct heft_added_token token = {.text = text, .id = id, .is_special = true};

    v->tokens[id] = text;
    v->n_ids = id < v->n_ids ? v->n_ids : id + 1;
    if (heft_str_is(text, HEFT_END_OF_TEXT))
        v->end = id;
    return heft_vocab_add_special(v, text, id, r->err) && heft_vocab_add_token(v, &token, r->err);
}

/* The same for an added token that is not special. */
static bool name_plain(struct heft_vocab_reading *r, struct heft_str text, uint32_t id)
{
    const struct heft_added_token token = {.text = text, .id = id};

    r->v->tokens[id] = text;
    r->v->n_ids = id < r->v->n_ids ? r->v->n_ids : id + 1;
    return heft_vocab_add_token(r->v, &token, r->err);
}

/* The special tokens that the caller names by the option pattern, else those of the ranks' publisher. */
static const struct special *choose_specials(struct heft_vocab_reading *r,
                                             const struct heft_vocab_known *known)
{
    const struct special *const specials = specials_of(known);
    const char *const stated = r->how && r->how->pattern ? r->how->pattern : "";

    for (size_t i = 0; specials && i < HEFT_COUNT(VARIANTS); i++) {
        if (VARIANTS[i].of != specials)
            continue;
        if (strcmp(VARIANTS[i].name, stated) == 0)
            return VARIANTS[i].specials;
        r->v->variants = VARIANTS[i].all;
    }
    return specials;
}

bool heft_vocab_place_special(struct heft_vocab_reading *r, const struct heft_vocab_known *known)
{
    for (const struct special *s = choose_specials(r, known); s && s->text; s++)
        for (uint32_t i = 0; i < s->n; i++) {
            const char *const text = special_text(r, s, i);

            if (!text || !(s->is_plain ? name_plain : heft_vocab_name_special)(r, heft_str_of(text),
                                                                               s->id + i))
                return false;
        }
    return true;
}
