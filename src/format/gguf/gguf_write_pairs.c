/* gguf_write_pairs.c: the key-value pairs of an output: those of the source in their order, a changed one
 * at its place, then new ones. Pairs that are not changed are copied byte for byte. */
#include "base/endian.h"
#include "core/export_list.h"
#include "format/gguf/gguf_write.h"

#define ARCHITECTURE      "general.architecture"
#define ALIGNMENT         "general.alignment"
#define VERSION           "general.quantization_version"
#define FILE_TYPE         "general.file_type"
#define VERSION_OF_BLOCKS "2" /* the layouts of blocks since 2023 */
#define SPLIT             "split."
#define KEY_BYTES         40    /* of a pair in its hash table */
#define KEY_MOST          65535 /* bytes of a key, by the specification */

struct taking {
    struct heft_gguf_out_pairs *out;
    struct heft_plan *plan;
    const struct heft_export_list *exports;
    bool has_source;    /* at least one source is a GGUF */
    bool has_file_type; /* … and has general.file_type */
};

/* Types of keys that loaders demand, used if the user names none. */
static struct heft_gguf_value_type usual_type(struct heft_str key)
{
    const bool is_u32 =
        heft_str_is(key, ALIGNMENT) || heft_str_is(key, VERSION) || heft_str_is(key, FILE_TYPE);

    return (struct heft_gguf_value_type){is_u32 ? HEFT_GGUF_U32 : HEFT_GGUF_STRING, 0};
}

static bool is_split_key(struct heft_str key)
{
    return heft_str_is(key, "split.no") || heft_str_is(key, "split.count") ||
           heft_str_is(key, "split.tensors.count");
}

/* ---- the list ---------------------------------------------------------------------------------- */

/* Most pairs that the output can have. */
static bool reserve_pairs(struct taking *t, struct heft_error *err)
{
    const struct heft_model *const model = t->exports->model;
    size_t n = t->exports->n_metadata + t->plan->request.n_rules + 2;

    for (size_t i = 0; i < model->n_attachments; i++)
        if (model->attachments[i].kind == &heft_gguf_kind)
            n += ((const struct heft_gguf_file *)model->attachments[i].data)->n_pairs;
    if (!heft_budget_allows(t->plan->mem->budget, n * (sizeof *t->out->list + KEY_BYTES), err))
        return false;
    t->out->list = heft_arena_zero(t->plan->mem, n, sizeof *t->out->list, err);
    return t->out->list && heft_strmap_reserve(&t->out->keys, n, err);
}

/* Adds a pair, or puts it in the place of the one with its key. */
static bool set_pair(struct taking *t, const struct heft_gguf_out_pair *pair,
                     struct heft_error *err)
{
    struct heft_gguf_out_pairs *const out = t->out;
    uint32_t at = heft_strmap_get(&out->keys, pair->key);

    if (at == HEFT_MAP_NONE) {
        at = (uint32_t)out->n;
        if (!heft_strmap_set(&out->keys, pair->key, at, err))
            return false;
        out->n++;
        if (heft_str_is(pair->key, ARCHITECTURE) && !pair->pair)
            out->first = at;
        if (heft_str_is(pair->key, ALIGNMENT))
            out->alignment_at = at;
    }
    out->list[at] = *pair;
    return true;
}

size_t heft_gguf_out_pair_at(const struct heft_gguf_out_pairs *pairs, size_t k)
{
    if (pairs->first == HEFT_NONE || k > pairs->first)
        return k;
    return k == 0 ? pairs->first : k - 1;
}

/* ---- pairs of the source ----------------------------------------------------------------------- */

/* The first file decides the alignment. */
static bool takes_pair(const struct taking *t, bool is_first, struct heft_str key)
{
    const struct heft_plan_request *const request = &t->plan->request;

    return !is_split_key(key) && (is_first || !heft_str_is(key, ALIGNMENT)) &&
           heft_strmap_get(&t->out->keys, key) == HEFT_MAP_NONE &&
           !heft_export_removes_metadata(request->rules, request->n_rules, key);
}

static bool take_file(struct taking *t, const struct heft_gguf_file *file, struct heft_error *err)
{
    const bool is_first = !t->has_source;

    t->has_source = true;
    for (size_t i = 0; i < file->n_pairs; i++) {
        const struct heft_gguf_pair *const pair = &file->pairs[i];
        const struct heft_gguf_out_pair own = {
            pair->key, file, pair, {0}, {pair->type, pair->item_type}};

        if (takes_pair(t, is_first, pair->key) && !set_pair(t, &own, err))
            return false;
    }
    if (t->out->alignment_at != HEFT_NONE && is_first)
        t->out->alignment = file->alignment;
    return true;
}

/* Whether a file has the metadata of its set: those come first, whatever the order of opening. */
static bool leads_set(const struct heft_gguf_file *file)
{
    return file->split_count < 2 || file->split_no == 0;
}

static bool take_some(struct taking *t, bool leading, struct heft_error *err)
{
    const struct heft_model *const model = t->exports->model;

    for (size_t i = 0; i < model->n_attachments; i++)
        if (model->attachments[i].kind == &heft_gguf_kind &&
            leads_set(model->attachments[i].data) == leading &&
            !take_file(t, model->attachments[i].data, err))
            return false;
    return true;
}

static bool take_files(struct taking *t, struct heft_error *err)
{
    if (!take_some(t, true, err) || !take_some(t, false, err))
        return false;
    t->has_file_type =
        t->has_source && heft_strmap_get(&t->out->keys, HEFT_STR(FILE_TYPE)) != HEFT_MAP_NONE;
    return true;
}

/* ---- pairs of other formats and of the user -------------------------------------------------------- */

/* Sets a pair to a value in text. */
static bool set_text(struct taking *t, struct heft_str key, struct heft_str text,
                     struct heft_gguf_value_type usual, struct heft_error *err)
{
    struct heft_buf buf = {.budget = t->plan->mem->budget};
    struct heft_gguf_out_pair pair = {.key = key};
    uint8_t n[8];
    bool ok;

    heft_put_le64(n, key.n);
    heft_buf_put(&buf, n, sizeof n);
    heft_buf_str(&buf, key);
    ok = (heft_gguf_put_value(&buf, text, usual, &pair.type, err) && heft_buf_ok(&buf, err)) ||
         heft_error_about(err, "metadata", key);
    ok = ok && heft_buf_take(&buf, t->plan->mem, &pair.bytes, err);
    heft_buf_release(&buf);
    if (!ok)
        return false;
    pair.key = (struct heft_str){pair.bytes.p + sizeof n, key.n};
    return set_pair(t, &pair, err);
}

static bool is_given(const struct taking *t, struct heft_str key)
{
    const struct heft_plan_request *const request = &t->plan->request;

    for (size_t i = 0; i < request->n_rules; i++)
        if (request->rules[i].kind == HEFT_RULE_METADATA &&
            heft_str_is(key, request->rules[i].left))
            return true;
    return false;
}

/* Keys that cannot be set. */
static bool check_key(struct heft_str key, struct heft_error *err)
{
    if (key.n == 0)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "a key of GGUF must not be empty");
    if (key.n > KEY_MOST)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "a key has %zu bytes, the limit in GGUF is %d", key.n, KEY_MOST);
    if (heft_str_starts(key, HEFT_STR(SPLIT)))
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "metadata %.*s: keys that begin with " SPLIT
                         " are those of a set of files, "
                         "which option max_shard_size writes",
                         (int)heft_min_size(key.n, 200), key.p);
    return true;
}

/* Metadata of other formats is text. */
static bool take_texts(struct taking *t, struct heft_error *err)
{
    const struct heft_gguf_value_type text = {HEFT_GGUF_STRING, 0};

    for (size_t i = 0; i < t->exports->n_metadata; i++) {
        const struct heft_pair *const pair = &t->exports->metadata[i];
        struct heft_buf value = {.budget = t->plan->mem->budget};
        bool ok;

        if (is_given(t, pair->key) || heft_strmap_get(&t->out->keys, pair->key) != HEFT_MAP_NONE)
            continue;
        heft_buf_text(&value, "str:");
        heft_buf_str(&value, pair->value);
        ok = check_key(pair->key, err) && heft_buf_ok(&value, err) &&
             set_text(t, pair->key, (struct heft_str){value.p, value.n}, text, err);
        heft_buf_release(&value);
        if (!ok)
            return false;
    }
    return true;
}

/* The alignment, unless it is that of the source: the last four bytes of the pair. */
static bool check_alignment(struct taking *t, struct heft_error *err)
{
    const struct heft_gguf_out_pairs *const out = t->out;
    const struct heft_gguf_out_pair *const pair =
        out->alignment_at != HEFT_NONE ? &out->list[out->alignment_at] : NULL;
    uint32_t v;

    if (!pair || pair->file)
        return true;
    if (pair->type.type != HEFT_GGUF_U32)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "metadata " ALIGNMENT " is %s, loaders expect u32",
                         heft_gguf_types[pair->type.type].name);
    v = heft_le32((const uint8_t *)pair->bytes.p + pair->bytes.n - 4);
    t->out->alignment = v;
    return (v > 0 && (v & (v - 1)) == 0) ||
           heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                     "metadata " ALIGNMENT " is %" PRIu32 ", expected a power of two", v);
}

static bool take_rules(struct taking *t, struct heft_error *err)
{
    const struct heft_plan_request *const request = &t->plan->request;

    for (size_t i = 0; i < request->n_rules; i++) {
        const struct heft_rule *const rule = &request->rules[i];
        const struct heft_str key = heft_str_of(rule->left);
        struct heft_gguf_value_type usual = usual_type(key);
        uint32_t at;

        if (rule->kind != HEFT_RULE_METADATA)
            continue;
        at = heft_strmap_get(&t->out->keys, key);
        if (at != HEFT_MAP_NONE)
            usual = t->out->list[at].type;
        if (!check_key(key, err) || !set_text(t, key, heft_str_of(rule->right), usual, err))
            return false;
    }
    return true;
}

/* ---- keys that loaders need -------------------------------------------------------------------------- */

static bool quantizes(const struct heft_export_item *item)
{
    return item->as != item->row->dtype && heft_dtype_is_scaled((enum heft_dtype)item->as);
}

/* Adds general.quantization_version if the conversion quantizes. */
static bool add_version(struct taking *t, struct heft_error *err)
{
    const struct heft_str key = HEFT_STR(VERSION);
    bool any = false;

    for (size_t i = 0; i < t->exports->n_items && !any; i++)
        any = quantizes(&t->exports->items[i]);
    return !any || heft_strmap_get(&t->out->keys, key) != HEFT_MAP_NONE ||
           set_text(t, key, HEFT_STR(VERSION_OF_BLOCKS), usual_type(key), err);
}

/* Notes that casts make general.file_type of the source wrong. */
static bool note_file_type(struct taking *t, struct heft_error *err)
{
    bool casts = false;

    for (size_t i = 0; i < t->exports->n_items && !casts; i++)
        casts = t->exports->items[i].as != t->exports->items[i].row->dtype;
    return !casts || !t->has_file_type || is_given(t, HEFT_STR(FILE_TYPE)) ||
           heft_plan_note(t->plan,
                          FILE_TYPE " is kept, although tensors are cast; option metadata "
                                    "replaces it",
                          err);
}

/* Whether a file of GGUF has another value for a key of the output than the one that is taken. */
static bool is_lost(const struct taking *t, const struct heft_differing *differing)
{
    return differing->kind == HEFT_DIFFERING_VALUE && !is_split_key(differing->key) &&
           heft_gguf_file_at(t->exports->model, differing->source) &&
           heft_strmap_get(&t->out->keys, differing->key) != HEFT_MAP_NONE &&
           !is_given(t, differing->key);
}

/* Notes that several files differ in a value. */
static bool note_differing(struct taking *t, struct heft_error *err)
{
    const struct heft_model *const model = t->exports->model;
    const struct heft_differing *first = NULL;
    size_t n = 0;

    for (size_t i = 0; i < heft_model_listed_differing(model); i++)
        if (is_lost(t, &model->differing[i])) {
            first = first ? first : &model->differing[i];
            n++;
        }
    return !first ||
           heft_plan_note(t->plan,
                          heft_arena_printf(t->plan->mem, err,
                                            "the files differ in metadata, the first one's is "
                                            "taken: %.*s%s",
                                            (int)heft_min_size(first->key.n, 200), first->key.p,
                                            n > 1 ? " and others" : ""),
                          err);
}

/* A source without an architecture (an imatrix, a part by itself) may be copied. */
static bool check_architecture(struct taking *t, struct heft_error *err)
{
    const struct heft_str key = HEFT_STR(ARCHITECTURE);
    const struct heft_plan_request *const request = &t->plan->request;
    const uint32_t at = heft_strmap_get(&t->out->keys, key);

    if (at != HEFT_MAP_NONE && t->out->list[at].type.type != HEFT_GGUF_STRING &&
        !t->out->list[at].file)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "metadata " ARCHITECTURE " is %s, loaders expect str",
                         heft_gguf_types[t->out->list[at].type.type].name);
    if (at != HEFT_MAP_NONE)
        return true;
    if (t->has_source && !heft_export_removes_metadata(request->rules, request->n_rules, key))
        return heft_plan_note(t->plan,
                              "the source has no " ARCHITECTURE ", nor has the output: no loader "
                              "of models opens it",
                              err);
    return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                     "no loader opens a GGUF without " ARCHITECTURE
                     "; option metadata " ARCHITECTURE "=llama gives it");
}

bool heft_gguf_out_pairs_take(struct heft_gguf_out_pairs *out, struct heft_plan *plan,
                              const struct heft_export_list *exports, struct heft_error *err)
{
    struct taking t = {.out = out, .plan = plan, .exports = exports};

    *out = (struct heft_gguf_out_pairs){
        .first = HEFT_NONE, .alignment_at = HEFT_NONE, .alignment = HEFT_GGUF_ALIGNMENT};
    return reserve_pairs(&t, err) && take_files(&t, err) && take_texts(&t, err) &&
           take_rules(&t, err) && check_alignment(&t, err) && add_version(&t, err) &&
           check_architecture(&t, err) && note_file_type(&t, err) && note_differing(&t, err);
}

void heft_gguf_out_pairs_release(struct heft_gguf_out_pairs *pairs)
{
    heft_strmap_release(&pairs->keys);
}
