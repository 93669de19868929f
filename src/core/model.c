/* model.c: appends to a model, and looks up its rows and values. */
#include "core/model.h"
#include "core/tree.h"

#include <stdarg.h>
#include <stdio.h>

#include "io/pages.h"

#define NAME_SHARE   32         /* limit of name bytes: this many for each possible tensor … */
#define FREE_NAMES   (1u << 20) /* … plus this many for few tensors with long names */
#define CHECK_MEMORY 1024       /* rows and pairs of metadata between two checks of the memory */
#define USUAL_RANK   4          /* each further dimension counts as 8 bytes of a name */

void heft_model_init(struct heft_model *model, const struct heft_limits *limits,
                     const struct heft_formats *formats)
{
    *model = (struct heft_model){
        .limits = heft_limits_complete(limits), .formats = formats, .files = &heft_disk};
}

void heft_model_release(struct heft_model *model)
{
    for (size_t i = 0; i < model->n_sources; i++)
        heft_source_close(&model->sources[i].source);
    heft_free(model->sources);
    heft_free(model->rows);
    heft_free(model->storages);
    heft_free(model->claims);
    heft_free(model->metadata);
    heft_free(model->trees);
    heft_free(model->differing);
    heft_free(model->ties);
    heft_free(model->doubts);
    heft_free(model->wanted);
    heft_free(model->notes);
    heft_free(model->unreadable);
    heft_free(model->partial);
    heft_free(model->boxes);
    heft_free(model->blobs);
    heft_free(model->attachments);
    heft_strmap_release(&model->names);
    heft_strmap_release(&model->tie_names);
    heft_strmap_release(&model->blob_names);
    heft_arena_release(&model->mem);
    *model = (struct heft_model){0};
}

/* ---- adding files, storages, rows and notes ---------------------------------------------- */

static struct heft_model_source *new_source(struct heft_model *model, const char *path,
                                            uint32_t *index, struct heft_error *err)
{
    const char *copy = heft_arena_text(&model->mem, heft_str_of(path), err);

    if (!copy || !heft_grow(&model->sources, &model->cap_sources, model->n_sources, 1,
                            sizeof *model->sources, err))
        return NULL;
    *index = (uint32_t)model->n_sources;
    model->sources[model->n_sources] = (struct heft_model_source){.path = copy};
    return &model->sources[model->n_sources++];
}

/* Translates a source and an offset in a slice to the file of the slice. */
static inline void translate_slice(const struct heft_model *model, uint32_t *source, uint64_t *off)
{
    const struct heft_model_source *const s =
        *source < model->n_sources ? &model->sources[*source] : NULL;

    if (!s || !s->is_slice)
        return;
    *source = s->origin;
    if (*off != HEFT_NO_OFFSET && !heft_add(*off, s->origin_off, off))
        *off = HEFT_NO_OFFSET; /* outside the file; validation refuses it */
}

bool heft_model_add_file(struct heft_model *model, struct heft_source *source, const char *path,
                         uint32_t *index, struct heft_error *err)
{
    struct heft_model_source *slot = new_source(model, path, index, err);

    if (!slot) {
        heft_source_close(source);
        return false;
    }
    slot->source = *source;
    slot->source.label = slot->path;
    if (!heft_add(model->file_bytes, slot->source.size, &model->file_bytes))
        model->file_bytes = UINT64_MAX; /* saturated: sizes of sparse files can add up to 2^64 */
    slot->is_file = true;
    slot->number = model->n_files++;
    *source = (struct heft_source){0};
    return true;
}

bool heft_model_add_memory(struct heft_model *model, struct heft_bytes bytes, const char *what,
                           uint32_t origin, uint64_t off, uint64_t len, uint32_t *index,
                           struct heft_error *err)
{
    struct heft_model_source *slot = new_source(model, what, index, err);

    if (!slot)
        return false;
    translate_slice(model, &origin, &off);
    heft_source_open_memory(&slot->source, bytes, slot->path);
    slot->origin = origin;
    slot->origin_off = off;
    slot->origin_len = len;
    slot->number = model->sources[origin].number;
    return true;
}

bool heft_model_add_unpacked(struct heft_model *model, struct heft_source *source, uint32_t origin,
                             uint32_t *index, struct heft_error *err)
{
    const uint64_t size = model->sources[origin].source.size;
    struct heft_model_source *slot = new_source(model, model->sources[origin].path, index, err);
    uint64_t off = 0;

    if (!slot) {
        heft_source_close(source);
        return false;
    }
    translate_slice(model, &origin, &off);
    slot->source = *source;
    slot->source.label = slot->path;
    slot->origin = origin;
    slot->origin_off = off;
    slot->origin_len = size;
    slot->number = model->sources[origin].number;
    slot->is_unpacked = true;
    *source = (struct heft_source){0};
    return true;
}

bool heft_model_add_slice(struct heft_model *model, uint32_t origin, uint64_t off, uint64_t len,
                          uint32_t *index, struct heft_error *err)
{
    /* A copy, because the array of sources may be reallocated. The descriptor belongs to the
     * file. */
    struct heft_source *parent = heft_arena_alloc(&model->mem, sizeof *parent, err);
    struct heft_source slice;
    struct heft_model_source *slot;

    if (!parent)
        return false;
    *parent = model->sources[origin].source;
    if (!heft_source_open_slice(&slice, parent, off, len, "", err) ||
        !(slot = new_source(model, model->sources[origin].path, index, err)))
        return false;
    slot->source = slice;
    slot->number = model->sources[origin].number;
    slot->is_slice = true;
    slot->origin = origin;
    slot->origin_off = off;
    slot->origin_len = len;
    return true;
}

bool heft_model_blame_slice(const struct heft_model *model, uint32_t index, struct heft_error *err)
{
    const struct heft_model_source *const slice = &model->sources[index];

    /* Errors of system calls already have the offset in the file. */
    if (err->code != HEFT_IO && err->offset != HEFT_NO_OFFSET)
        err->offset += slice->origin_off;
    return heft_error_file(err, model->sources[slice->origin].path);
}

struct heft_bytes heft_model_tail(const struct heft_model *model, uint32_t index)
{
    return (struct heft_bytes){model->sources[index].tail, model->sources[index].tail_n};
}

void heft_model_drop_tail(struct heft_model *model, uint32_t index)
{
    struct heft_model_source *const file = &model->sources[index];

    heft_free(file->tail);
    file->tail = NULL;
    file->tail_n = 0;
}

void heft_model_drop_slice(struct heft_model *model, uint32_t index)
{
    if (index + 1 == model->n_sources && model->sources[index].is_slice)
        model->n_sources--;
}

bool heft_model_reserve(struct heft_model *model, size_t storages, size_t rows,
                        struct heft_error *err)
{
    if (!heft_grow(&model->storages, &model->cap_storages, model->n_storages, storages,
                   sizeof *model->storages, err) ||
        !heft_grow(&model->rows, &model->cap_rows, model->n_rows, rows, sizeof *model->rows, err))
        return false;
    heft_pages_large(model->storages, model->cap_storages * sizeof *model->storages);
    heft_pages_large(model->rows, model->cap_rows * sizeof *model->rows);
    return true;
}

bool heft_model_reserve_texts(struct heft_model *model, size_t bytes, struct heft_error *err)
{
    void *const room = heft_arena_reserve(&model->mem, bytes, err);

    if (!room)
        return false;
    heft_pages_large(room, bytes);
    return true;
}

bool heft_model_reserve_claims(struct heft_model *model, size_t claims, struct heft_error *err)
{
    if (!heft_grow(&model->claims, &model->cap_claims, model->n_claims, claims,
                   sizeof *model->claims, err))
        return false;
    heft_pages_large(model->claims, model->cap_claims * sizeof *model->claims);
    return true;
}

bool heft_model_add_storage(struct heft_model *model, const struct heft_storage *storage,
                            uint32_t *index, struct heft_error *err)
{
    struct heft_storage *added;

    if (!heft_grow(&model->storages, &model->cap_storages, model->n_storages, 1,
                   sizeof *model->storages, err))
        return false;
    *index = (uint32_t)model->n_storages++;
    added = &model->storages[*index];
    *added = *storage;
    translate_slice(model, &added->source, &added->off);
    model->has_deflated |= storage->coding == HEFT_CODING_DEFLATE;
    return true;
}

bool heft_model_add_more(struct heft_model *model, struct heft_storage *storage,
                         const struct heft_storage_more *more, struct heft_error *err)
{
    struct heft_storage_more *const copy = heft_arena_alloc(&model->mem, sizeof *copy, err);

    if (!copy)
        return false;
    *copy = *more;
    storage->more = copy;
    return true;
}

/* Counts name and shape against the limit. A conversion keeps each of them two or three times. */
static inline bool weigh_name(struct heft_model *model, struct heft_str name, unsigned rank,
                              uint64_t tensors, struct heft_error *err)
{
    uint64_t most;

    if (!heft_mul(tensors, NAME_SHARE, &most) || !heft_add(most, FREE_NAMES, &most))
        most = UINT64_MAX;
    model->name_bytes += name.n; /* cannot overflow: the names are in memory */
    model->name_bytes += rank > USUAL_RANK ? 8u * (rank - USUAL_RANK) : 0;
    return model->name_bytes <= most ||
           heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET,
                     "tensors with more than %" PRIu64 " bytes of names and long shapes in %" PRIu64
                     " bytes: limits.tensors",
                     most, model->file_bytes);
}

bool heft_model_weigh_name(struct heft_model *model, struct heft_str name, unsigned rank,
                           struct heft_error *err)
{
    return weigh_name(model, name, rank, heft_limit_tensors(&model->limits, model->file_bytes),
                      err);
}

bool heft_model_add_row(struct heft_model *model, const struct heft_row *row,
                        struct heft_error *err)
{
    const uint64_t most = heft_limit_tensors(&model->limits, model->file_bytes);

    if (model->n_rows >= most)
        return heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET,
                         "more than %" PRIu64 " tensors in %" PRIu64 " bytes: limits.tensors", most,
                         model->file_bytes);
    if (!weigh_name(model, row->name, row->rank, most, err) ||
        !heft_grow(&model->rows, &model->cap_rows, model->n_rows, 1, sizeof *model->rows, err))
        return false;
    model->rows[model->n_rows++] = *row;
    return model->n_rows % CHECK_MEMORY != 0 || heft_model_fits(model, err);
}

bool heft_model_claim_of(struct heft_model *model, uint32_t source, uint64_t off, uint64_t len,
                         const char *what, struct heft_str of, struct heft_error *err)
{
    if (!heft_grow(&model->claims, &model->cap_claims, model->n_claims, 1, sizeof *model->claims,
                   err))
        return false;
    translate_slice(model, &source, &off);
    model->claims[model->n_claims++] = (struct heft_claim){off, len, what, of, source};
    return true;
}

bool heft_model_claim(struct heft_model *model, uint32_t source, uint64_t off, uint64_t len,
                      const char *what, struct heft_error *err)
{
    return heft_model_claim_of(model, source, off, len, what, (struct heft_str){"", 0}, err);
}

/* Adds a pair; its texts are copied. */
static bool add_pair(struct heft_model *model, struct heft_pair **pairs, size_t *n, size_t *cap,
                     const struct heft_pair *pair, struct heft_error *err)
{
    const char *k = heft_arena_text(&model->mem, pair->key, err);
    const char *v = k ? heft_arena_text(&model->mem, pair->value, err) : NULL;

    if (!v || !heft_grow(pairs, cap, *n, 1, sizeof **pairs, err))
        return false;
    (*pairs)[(*n)++] =
        (struct heft_pair){{k, pair->key.n}, {v, pair->value.n}, pair->source, pair->is_json};
    return true;
}

bool heft_model_add_metadata(struct heft_model *model, const struct heft_pair *pair,
                             struct heft_error *err)
{
    return add_pair(model, &model->metadata, &model->n_metadata, &model->cap_metadata, pair, err) &&
           (model->n_metadata % CHECK_MEMORY != 0 || heft_model_fits(model, err));
}

struct heft_node *heft_model_file_info(struct heft_model *model, struct heft_error *err)
{
    if (!model->file_info)
        model->file_info = heft_tree_dict(&model->mem, NULL, HEFT_STR(""), err);
    return model->file_info;
}

bool heft_model_add_tie(struct heft_model *model, const struct heft_pair *tie,
                        struct heft_error *err)
{
    return add_pair(model, &model->ties, &model->n_ties, &model->cap_ties, tie, err);
}

bool heft_model_add_wanted(struct heft_model *model, struct heft_str name, const char *from,
                           struct heft_error *err)
{
    const char *copy = heft_arena_text(&model->mem, name, err);

    if (!copy || !heft_grow(&model->wanted, &model->cap_wanted, model->n_wanted, 1,
                            sizeof *model->wanted, err))
        return false;
    model->wanted_from = from;
    model->wanted[model->n_wanted++] = (struct heft_str){copy, name.n};
    return true;
}

bool heft_model_add_doubt(struct heft_model *model, const struct heft_pair *tie,
                          struct heft_error *err)
{
    return add_pair(model, &model->doubts, &model->n_doubts, &model->cap_doubts, tie, err);
}

/* Adds a note with the formatted text. */
static bool add_note(struct heft_model *model, struct heft_note note, const char *format,
                     va_list args, struct heft_error *err)
{
    struct heft_error text = {0};
    char line[1024];

    vsnprintf(line, sizeof line, format, args);
    heft_fail(&text, HEFT_OK, note.offset, "%s", line); /* escapes control characters */
    note.text = heft_arena_text(&model->mem, heft_str_of(text.text), err);
    if (!note.text ||
        !heft_grow(&model->notes, &model->cap_notes, model->n_notes, 1, sizeof *model->notes, err))
        return false;
    translate_slice(model, &note.source, &note.offset);
    model->notes[model->n_notes++] = note;
    return true;
}

bool heft_model_note(struct heft_model *model, enum heft_severity severity, uint32_t source,
                     uint64_t offset, struct heft_error *err, const char *format, ...)
{
    const struct heft_note note = {.severity = severity, .source = source, .offset = offset};
    va_list args;
    bool ok;

    va_start(args, format);
    ok = add_note(model, note, format, args, err);
    va_end(args);
    return ok;
}

bool heft_model_leave(struct heft_model *model, uint32_t source, uint64_t offset,
                      struct heft_error *err, const char *format, ...)
{
    const struct heft_note note = {
        .severity = HEFT_FINDING, .source = source, .offset = offset, .is_left = true};
    va_list args;
    bool ok;

    va_start(args, format);
    ok = add_note(model, note, format, args, err);
    va_end(args);
    return ok;
}

bool heft_model_tell(struct heft_model *model, uint32_t source, struct heft_error *err,
                     const char *format, ...)
{
    const struct heft_note note = {
        .severity = HEFT_NOTE, .source = source, .offset = HEFT_NO_OFFSET, .is_told = true};
    va_list args;
    bool ok;

    va_start(args, format);
    ok = add_note(model, note, format, args, err);
    va_end(args);
    return ok;
}

void heft_model_announce(struct heft_model *model, const char *text)
{
    if (model->n_choices < model->cap_choices)
        model->choices[model->n_choices++] = text;
}

bool heft_model_lack(struct heft_model *model, enum heft_severity severity, uint32_t source,
                     struct heft_error *err, const char *format, ...)
{
    const struct heft_note note = {.severity = severity,
                                   .source = source,
                                   .offset = HEFT_NO_OFFSET,
                                   .is_lack = true,
                                   .is_damage = model->salvage};
    va_list args;
    bool ok;

    va_start(args, format);
    ok = add_note(model, note, format, args, err);
    va_end(args);
    return ok;
}

/* Copies a reason. Consecutive tensors that are lost for the same reason share one copy. */
static const char *keep_reason(struct heft_model *model, const char *reason, struct heft_error *err)
{
    const char *last =
        model->n_unreadable ? model->unreadable[model->n_unreadable - 1].reason : NULL;

    return last && strcmp(last, reason) == 0
               ? last
               : heft_arena_text(&model->mem, heft_str_of(reason), err);
}

bool heft_model_add_unreadable(struct heft_model *model, struct heft_str name, uint32_t source,
                               uint64_t offset, const char *reason, struct heft_error *err)
{
    const uint64_t most = heft_limit_tensors(&model->limits, model->file_bytes);
    const char *n, *why;

    if (model->n_unreadable >= most)
        return heft_fail(err, HEFT_LIMIT, offset,
                         "more than %" PRIu64 " tensors that cannot be read: limits.tensors", most);
    n = heft_arena_text(&model->mem, name, err);
    why = n ? keep_reason(model, reason, err) : NULL;

    if (!why || !heft_grow(&model->unreadable, &model->cap_unreadable, model->n_unreadable, 1,
                           sizeof *model->unreadable, err))
        return false;
    translate_slice(model, &source, &offset);
    model->unreadable[model->n_unreadable++] = (struct heft_unreadable){
        .name = {n, name.n}, .reason = why, .offset = offset, .source = source};
    return true;
}

bool heft_model_attach(struct heft_model *model, struct heft_attachment attachment,
                       struct heft_error *err)
{
    if (!heft_grow(&model->attachments, &model->cap_attachments, model->n_attachments, 1,
                   sizeof *model->attachments, err))
        return false;
    model->attachments[model->n_attachments++] = attachment;
    return true;
}

const struct heft_attachment *heft_model_attached(const struct heft_model *model, const void *kind,
                                                  struct heft_str name)
{
    for (size_t i = 0; i < model->n_attachments; i++)
        if (model->attachments[i].kind == kind && heft_str_eq(model->attachments[i].name, name))
            return &model->attachments[i];
    return NULL;
}

/* ---- finding rows ------------------------------------------------------------------------ */

static uint32_t search_row(const struct heft_model *model, struct heft_str name)
{
    size_t begin = 0, end = model->n_rows;

    while (begin < end) {
        const size_t mid = begin + (end - begin) / 2;
        const int order = heft_str_cmp(model->rows[mid].name, name);

        if (order == 0)
            return (uint32_t)mid;
        if (order < 0)
            begin = mid + 1;
        else
            end = mid;
    }
    return HEFT_NONE;
}

uint32_t heft_model_row(const struct heft_model *model, struct heft_str name)
{
    return model->names_ascend ? search_row(model, name) : heft_strmap_get(&model->names, name);
}

uint32_t heft_model_find(const struct heft_model *model, struct heft_str name)
{
    const uint32_t found = heft_model_row(model, name);
    uint32_t tie;

    if (found != HEFT_NONE)
        return found;
    tie = heft_strmap_get(&model->tie_names, name);
    return tie == HEFT_MAP_NONE ? HEFT_NONE : heft_model_row(model, model->ties[tie].value);
}

/* ---- finding values ----------------------------------------------------------------------- */

/* Child with the longest key that is a prefix of the path (keys may contain dots). */
static const struct heft_value *find_longest_key(const struct heft_value *from, const char **path)
{
    const struct heft_value *best = NULL;

    for (const struct heft_value *v = from->first_child; v; v = v->next_sibling) {
        const char after = strncmp(*path, v->key, v->key_len) == 0 ? (*path)[v->key_len] : 'x';

        if ((after == '\0' || after == '.') && (!best || v->key_len > best->key_len))
            best = v;
    }
    if (best)
        *path += best->key_len + ((*path)[best->key_len] == '.');
    return best;
}

const struct heft_value *heft_value_below(const struct heft_value *from, const char *path)
{
    while (from && *path)
        from = find_longest_key(from, &path);
    return from;
}
