/* tie_records.c: recognizes the entries of metadata that record tied names.
 *
 *     {"format": "pt", "lm_head.weight": "embed.weight"}      dropped: kept
 *
 * A record has a key that names no tensor and a value that names one. It is a tie if
 *
 *   1. the entry heft.ties lists its key, or
 *   2. both names are paths with the same last component ("weight"); except members of one module
 *      ("attn.q.weight: attn.qkv.weight") if a dropped name sorts before the kept one: the hub keeps the
 *      first complete name, so the dropped one did not cover the storage, or
 *   3. the file has no other metadata, in all records the kept name sorts before the dropped one, as the
 *      hub writes them, and the names of each record are both paths or both not. */
#include "core/tie_records.h"

bool heft_tie_is_reserved(struct heft_str key)
{
    static const char *const reserved[] = {"format", "total_size", "total_parameters",
                                           HEFT_TIES_KEY};

    for (size_t i = 0; i < HEFT_COUNT(reserved); i++)
        if (heft_str_is(key, reserved[i]))
            return true;
    return false;
}

bool heft_metadata_is_bookkeeping(const struct heft_model *model, struct heft_str key)
{
    return heft_tie_is_reserved(key) || heft_strmap_get(&model->tie_names, key) != HEFT_MAP_NONE;
}

/* ---- ties that names suggest ---------------------------------------------------------------- */

/* Splits a name at its last dot; false if it has none. */
static bool cut_last(struct heft_str name, struct heft_str *front, struct heft_str *last)
{
    size_t at = name.n;

    while (at > 0 && name.p[at - 1] != '.')
        at--;
    if (at == 0)
        return false;
    *front = (struct heft_str){name.p, at - 1};
    *last = (struct heft_str){name.p + at, name.n - at};
    return true;
}

/* Whether both names are parameters of one kind: "lm_head.weight" and "embed.weight". *siblings:
 * their modules have the same parent module. */
static bool are_alike(const struct heft_pair *record, bool *siblings)
{
    struct heft_str a, b, leaf_a, leaf_b, of_a = {0}, of_b = {0}, ignored;

    if (!cut_last(record->key, &a, &leaf_a) || !cut_last(record->value, &b, &leaf_b) ||
        !heft_str_eq(leaf_a, leaf_b))
        return false;
    *siblings =
        cut_last(a, &of_a, &ignored) == cut_last(b, &of_b, &ignored) && heft_str_eq(of_a, of_b);
    return true;
}

static bool is_in_order(const struct heft_pair *record)
{
    return heft_str_cmp(record->value, record->key) < 0;
}

static bool is_path(struct heft_str name)
{
    return memchr(name.p, '.', name.n) != NULL;
}

/* Whether the hub would write this record by default: it keeps the name that sorts first. */
static bool is_usual(const struct heft_pair *record)
{
    return is_in_order(record) && is_path(record->key) == is_path(record->value);
}

bool heft_tie_is_plain(struct heft_str dropped, struct heft_str kept, bool has_others)
{
    const struct heft_pair record = {.key = dropped, .value = kept};
    bool siblings;

    return (!has_others && is_usual(&record)) || (are_alike(&record, &siblings) && !siblings);
}

/* ---- ties that a file records --------------------------------------------------------------- */

struct judge {
    struct heft_model *model;
    const struct heft_tie_names *names;
    size_t first, end;
    struct heft_strmap listed; /* names listed by heft.ties */
    /* kept names that did not cover their storage for some dropped name */
    struct heft_strmap views;
    bool is_marked, is_hubs; /* whether rule 1 and rule 3 apply */
};

static bool is_record(const struct judge *j, const struct heft_pair *pair)
{
    return !heft_tie_is_reserved(pair->key) && j->names->has(j->names->ctx, pair->value) &&
           !j->names->has(j->names->ctx, pair->key);
}

static bool list_names(struct judge *j, struct heft_str lines, struct heft_error *err)
{
    uint32_t found;

    j->is_marked = true;
    while (lines.n > 0) {
        const char *end = memchr(lines.p, '\n', lines.n);
        const size_t n = end ? (size_t)(end - lines.p) : lines.n;

        if (!heft_strmap_add(&j->listed, (struct heft_str){lines.p, n}, 0, &found, err))
            return false;
        lines.p += n + (end != NULL);
        lines.n -= n + (end != NULL);
    }
    return true;
}

/* Collects what one entry implies for the others. */
static bool survey_pair(struct judge *j, const struct heft_pair *pair, struct heft_error *err)
{
    bool siblings;
    uint32_t found;

    if (heft_str_is(pair->key, HEFT_TIES_KEY))
        return list_names(j, pair->value, err);
    if (heft_tie_is_reserved(pair->key))
        return true;
    if (!is_record(j, pair) || !is_usual(pair))
        j->is_hubs = false;
    if (is_record(j, pair) && !is_in_order(pair) && are_alike(pair, &siblings) && siblings)
        return heft_strmap_add(&j->views, pair->value, 0, &found, err);
    return true;
}

static bool is_tie(const struct judge *j, const struct heft_pair *pair)
{
    bool siblings;

    if (heft_strmap_get(&j->listed, pair->key) != HEFT_MAP_NONE)
        return true;
    if (j->is_hubs && !j->is_marked)
        return true;
    return are_alike(pair, &siblings) &&
           !(siblings && heft_strmap_get(&j->views, pair->value) != HEFT_MAP_NONE);
}

static bool judge_all(struct judge *j, struct heft_error *err)
{
    struct heft_model *model = j->model;

    for (size_t i = j->first; i < j->end; i++)
        if (!survey_pair(j, &model->metadata[i], err))
            return false;
    for (size_t i = j->first; i < j->end; i++) {
        const struct heft_pair pair = model->metadata[i];

        if (is_record(j, &pair) &&
            !(is_tie(j, &pair) ? heft_model_add_tie : heft_model_add_doubt)(model, &pair, err))
            return false;
    }
    return true;
}

/* Whether the file has the mark of the hub: format=pt in a file, total_size in an index. */
static bool has_mark_of_hub(const struct judge *j)
{
    for (size_t i = j->first; i < j->end; i++)
        if (heft_str_is(j->model->metadata[i].key, "total_size") ||
            (heft_str_is(j->model->metadata[i].key, "format") &&
             heft_str_is(j->model->metadata[i].value, "pt")))
            return true;
    return false;
}

bool heft_ties_read(struct heft_model *model, size_t first, size_t end,
                    const struct heft_tie_names *names, struct heft_error *err)
{
    struct judge j = {.model = model, .names = names, .first = first, .end = end};
    bool ok;

    j.is_hubs = has_mark_of_hub(&j);
    ok = judge_all(&j, err);
    heft_strmap_release(&j.listed);
    heft_strmap_release(&j.views);
    return ok;
}
