/* salvage_report.c: conversion of a salvaged checkpoint: lost tensors are named and left out. */
#include "core/convert.h"
#include "core/select.h"

#define PIECE ((size_t)1 << 20)

bool heft_conversion_lose(struct heft_conversion *c, const char *name, const char *reason,
                          struct heft_error *err)
{
    if (!heft_grow(&c->lost, &c->cap_lost, c->n_lost, 1, sizeof *c->lost, err))
        return false;
    c->lost[c->n_lost++] = (struct heft_unread){.name = name, .reason = reason};
    return true;
}

bool heft_conversion_lose_unreadable(struct heft_conversion *c,
                                     const struct heft_convert_options *options,
                                     struct heft_error *err)
{
    struct heft_selector *selector =
        heft_selector_new(options->root, options->rules, options->n_rules, err);
    bool ok = selector != NULL;

    for (size_t i = 0; ok && i < c->model->n_unreadable; i++) {
        const struct heft_unreadable *lost = &c->model->unreadable[i];

        ok = !heft_selector_takes(selector, lost->name) ||
             heft_conversion_lose(c, lost->name.p, lost->reason, err);
    }
    heft_selector_free(selector);
    return ok;
}

/* ---- damaged checksums ------------------------------------------------------------------- */

struct check {
    struct heft_conversion *c;
    bool *wanted;         /* flag for each storage: used by an exported tensor */
    const char **reasons; /* for each storage, why its tensors are lost; NULL: intact */
};

static bool note_bad(void *ctx, uint32_t storage, const struct heft_error *why,
                     struct heft_error *err)
{
    const struct check *check = ctx;

    check->reasons[storage] =
        why->offset == HEFT_NO_OFFSET
            ? heft_arena_printf(&check->c->mem, err, "damaged: %s", why->text)
            : heft_arena_printf(&check->c->mem, err, "damaged: %s, at offset 0x%" PRIx64, why->text,
                                why->offset);
    return check->reasons[storage] != NULL;
}

/* Verifies an unpacked storage by reading it: the library that unpacks it has checks of its own. */
static bool try_unpacked(struct check *check, uint32_t storage, struct heft_error *err)
{
    const struct heft_model *const model = check->c->model;
    const struct heft_storage *const s = &model->storages[storage];
    struct heft_error found = {0};
    uint8_t *const piece = heft_alloc(PIECE, err);
    bool ok = piece != NULL;

    for (uint64_t at = 0; ok && at < s->len && found.code == HEFT_OK; at += PIECE)
        if (!heft_source_read(&model->sources[s->source].source, s->off + at, piece,
                              (size_t)heft_min_u64(PIECE, s->len - at), &found))
            ok = heft_model_forgives(model, &found);
    heft_free(piece);
    if (ok && found.code != HEFT_OK)
        return note_bad(check, storage, &found, err);
    if (!ok && found.code != HEFT_OK)
        *err = found;
    return ok;
}

static bool try_all_unpacked(struct check *check, struct heft_error *err)
{
    const struct heft_model *const model = check->c->model;

    for (uint32_t i = 0; i < model->n_storages; i++) /* n_storages fits 32 bits */
        if (check->wanted[i] && model->sources[model->storages[i].source].is_unpacked &&
            !try_unpacked(check, i, err))
            return false;
    return true;
}

static const char *reason_of(const struct check *check, const struct heft_row *row)
{
    for (uint32_t k = 0; k < heft_row_pieces(row); k++)
        if (row->bytes && check->reasons[heft_row_storage(row, k)])
            return check->reasons[heft_row_storage(row, k)];
    return NULL;
}

static bool take_out(const struct check *check, struct heft_error *err)
{
    struct heft_export_list *exports = &check->c->exports;
    size_t kept = 0;

    for (size_t i = 0; i < exports->n_items; i++) {
        const struct heft_export_item item = exports->items[i];
        const char *reason = reason_of(check, item.row);

        if (!reason)
            exports->items[kept++] = item;
        else if (!heft_conversion_lose(check->c, item.row->name.p, reason, err))
            return false;
    }
    exports->n_items = kept;
    return true;
}

/* Checks checksums that cover several tensors. A mismatch does not tell which one is damaged, so
 * all are kept, and the file is reported. */
static bool suspect_sources(struct heft_conversion *c, struct heft_error *err)
{
    struct heft_error found = {0};
    const char *file, *reason;

    if (heft_registry_check_sources(c->model, &found))
        return true;
    if (found.code != HEFT_MISMATCH) {
        *err = found;
        return false;
    }
    file = heft_arena_text(&c->mem, heft_str_of(found.file), err);
    reason = heft_arena_printf(&c->mem, err, "any of its tensors may be damaged: %s", found.text);
    return file && reason && heft_conversion_lose(c, file, reason, err);
}

bool heft_conversion_lose_damaged(struct heft_conversion *c, struct heft_error *err)
{
    const size_t n = c->model->n_storages + 1;
    struct heft_exec_options how = c->exec;
    struct check check = {.c = c};
    bool ok;

    if (how.no_verify)
        return true;
    if (!suspect_sources(c, err))
        return false;
    check.wanted = heft_calloc(n, sizeof *check.wanted, err);
    check.reasons = check.wanted ? heft_calloc(n, sizeof *check.reasons, err) : NULL;
    for (size_t i = 0; check.reasons && i < c->exports.n_items; i++)
        for (uint32_t k = 0; k < heft_row_pieces(c->exports.items[i].row); k++)
            check.wanted[heft_row_storage(c->exports.items[i].row, k)] = true;
    how.wanted = check.wanted;
    ok = check.reasons && heft_exec_verify(c->model, NULL, &how, note_bad, &check, err) &&
         try_all_unpacked(&check, err) && take_out(&check, err);
    heft_free(check.wanted);
    heft_free((void *)check.reasons);
    return ok;
}
