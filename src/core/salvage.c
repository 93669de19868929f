/* salvage.c: salvages what is intact in a checkpoint that is cut off or damaged.
 *
 * Readers report the losses that they notice. The others are found here, before validation:
 * storages that extend beyond the end of their file with the rows that need the missing bytes,
 * invalid rows, and duplicate names. Each becomes an unreadable tensor; the rest is validated as
 * usual. */
#include "core/model.h"

bool heft_model_forgives(const struct heft_model *model, const struct heft_error *found)
{
    return model->salvage && (found->code == HEFT_MALFORMED || found->code == HEFT_UNSUPPORTED ||
                              found->code == HEFT_MISMATCH || found->code == HEFT_UNSAFE);
}

const char *heft_model_reason(struct heft_model *model, const struct heft_error *found,
                              struct heft_error *err)
{
    if (found->offset == HEFT_NO_OFFSET)
        return heft_arena_text(&model->mem, heft_str_of(found->text), err);
    return heft_arena_printf(&model->mem, err, "%s, at offset 0x%" PRIx64, found->text,
                             found->offset);
}

bool heft_model_lose(struct heft_model *model, struct heft_str name, uint32_t source,
                     const struct heft_error *found, struct heft_error *err)
{
    const char *reason = heft_model_reason(model, found, err);

    return reason && heft_model_add_unreadable(model, name, source, found->offset, reason, err);
}

bool heft_model_damage(struct heft_model *model, uint32_t source, const char *what,
                       const struct heft_error *found, struct heft_error *err)
{
    if (!heft_model_note(model, HEFT_FINDING, source, found->offset, err, "%s: %s", what,
                         found->text))
        return false;
    model->notes[model->n_notes - 1].is_damage = true;
    return true;
}

void heft_model_expect(struct heft_model *model, uint32_t source, uint64_t bytes, bool at_least)
{
    struct heft_model_source *s = &model->sources[source];

    if (bytes <= s->source.size)
        return;
    s->expected = bytes;
    s->at_least = at_least;
}

/* ---- adapting rows and storages to the file's length ------------------------------------- */

struct sorter {
    struct heft_model *model;
    struct heft_error *err;
    uint64_t *wholes; /* for each storage that is cut off, the bytes it should have; else 0 */
    struct heft_strmap kept;
    size_t n; /* number of rows kept so far */
};

/* Shortens a storage to the bytes that exist, and drops its checksum, which covers the whole. A
 * deflated storage becomes empty: a part of its stream is useless. */
static void cut_storage(const struct sorter *s, size_t i)
{
    struct heft_storage *storage = &s->model->storages[i];
    struct heft_error found = {0};
    uint64_t size, have;

    if (heft_model_check_storage(s->model, storage, &found))
        return;
    size =
        storage->source < s->model->n_sources ? s->model->sources[storage->source].source.size : 0;
    have = storage->off < size && storage->coding == HEFT_CODING_RAW
               ? heft_min_u64(size - storage->off, storage->packed)
               : 0;
    s->wholes[i] = heft_max_u64(storage->len, 1);
    storage->off = have ? storage->off : 0;
    storage->packed = storage->len = have;
    storage->sum = HEFT_SUM_NONE;
}

/* Sets `found` to the reason why a row is lost: cut off, if its storage is, else the error of
 * validation. */
static void explain_loss(const struct sorter *s, const struct heft_row *row,
                         struct heft_error *found)
{
    for (uint32_t k = 0; k < heft_row_pieces(row); k++) {
        const uint32_t i = heft_row_storage(row, k);
        const struct heft_storage *storage;

        if (i >= s->model->n_storages || !s->wholes[i])
            continue;
        storage = &s->model->storages[i];
        heft_fail(found, HEFT_MALFORMED, storage->len ? storage->off : HEFT_NO_OFFSET,
                  "cut off: the file has %" PRIu64 " of the %" PRIu64 " bytes that it lies in",
                  storage->len, s->wholes[i]);
        return;
    }
}

static uint32_t source_of(const struct heft_model *model, const struct heft_row *row)
{
    return row->storage < model->n_storages &&
                   model->storages[row->storage].source < model->n_sources
               ? model->storages[row->storage].source
               : 0;
}

static bool sort_row(struct sorter *s, struct heft_row *row)
{
    struct heft_row copy = *row; /* validated again with all remaining rows */
    struct heft_error found = {0};
    uint32_t same = HEFT_MAP_NONE;

    if (!heft_model_check_row(s->model, row->parts ? row : &copy, &found)) {
        if (found.code == HEFT_NOMEM) {
            *s->err = found;
            return false;
        }
        explain_loss(s, row, &found);
        return heft_model_lose(s->model, row->name, source_of(s->model, row), &found, s->err);
    }
    if (!heft_strmap_add(&s->kept, row->name, (uint32_t)s->n, &same, s->err))
        return false;
    if (same == HEFT_MAP_NONE) {
        s->model->rows[s->n++] = *row;
        return true;
    }
    heft_fail(&found, HEFT_MALFORMED, s->model->storages[row->storage].off,
              "a second tensor of this name; the first one is kept");
    return heft_model_lose(s->model, row->name, source_of(s->model, row), &found, s->err);
}

/* Renumbers the blobs before row i: `behind` counts the rows that are kept. Blobs are in the
 * order of rows. */
static size_t place_blobs(const struct sorter *s, size_t i, size_t at)
{
    for (; at < s->model->n_blobs && s->model->blobs[at].behind <= i; at++)
        s->model->blobs[at].behind = s->n;
    return at;
}

/* Removes blobs that are cut off. */
static bool sort_blobs(const struct sorter *s)
{
    struct heft_model *model = s->model;
    size_t kept = 0;

    for (size_t i = 0; i < model->n_blobs; i++) {
        const struct heft_model_blob blob = model->blobs[i];
        const struct heft_storage *storage = &model->storages[blob.storage];
        struct heft_error found = {0};

        if (!s->wholes[blob.storage]) {
            model->blobs[kept++] = blob;
            continue;
        }
        heft_fail(&found, HEFT_MALFORMED, storage->len ? storage->off : HEFT_NO_OFFSET,
                  "cut off: the file has %" PRIu64 " of its %" PRIu64 " bytes", storage->len,
                  s->wholes[blob.storage]);
        if (!heft_model_lose(model, blob.name, storage->source, &found, s->err))
            return false;
    }
    model->n_blobs = kept;
    return true;
}

/* Removes ties whose kept tensor is lost. */
static bool sort_ties(const struct sorter *s)
{
    for (size_t i = 0; i < s->model->n_ties; i++) {
        const struct heft_pair tie = s->model->ties[i];
        struct heft_error found = {0};

        if (heft_strmap_get(&s->kept, tie.value) != HEFT_MAP_NONE)
            continue;
        heft_fail(&found, HEFT_MALFORMED, HEFT_NO_OFFSET, "tied to %.200s, which is lost",
                  tie.value.p);
        if (!heft_model_lose(s->model, tie.key, 0, &found, s->err))
            return false;
    }
    return true;
}

bool heft_model_drop_lost(struct heft_model *model, struct heft_error *err)
{
    const size_t n_rows = model->n_rows;
    size_t at = 0;
    struct sorter s = {.model = model, .err = err};
    bool ok = true;

    s.wholes = heft_calloc(model->n_storages + 1, sizeof *s.wholes, err);
    for (size_t i = 0; s.wholes && i < model->n_storages; i++)
        cut_storage(&s, i);
    for (size_t i = 0; s.wholes && ok && i < n_rows; i++) {
        at = place_blobs(&s, i, at);
        ok = sort_row(&s, &model->rows[i]);
    }
    place_blobs(&s, n_rows, at);
    ok = s.wholes && ok && sort_blobs(&s) && sort_ties(&s);
    if (ok)
        model->n_rows = s.n;
    heft_free(s.wholes);
    heft_strmap_release(&s.kept);
    return ok;
}
