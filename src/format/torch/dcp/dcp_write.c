/* dcp_write.c: plans a directory of torch.distributed.checkpoint:
 *
 *     __R_K.distcp    what rank R stores: archives back to back, objects first (all of them in rank 0), then
 *                     the shares in the order of the state dict. K counts its files, which option
 *                     max_shard_size limits
 *     .metadata       last, so that the directory is not a checkpoint before all others are in place
 *
 * A rank that stores nothing has no file. Empty shares are left out, but for tensors without elements:
 * each tensor has a chunk. */
#include "format/torch/dcp/dcp_write.h"

#include "base/text.h"
#include "format/torch/write/torch_write.h"

#define ENDING   ".distcp"
#define METADATA ".metadata"

/* The file of a rank that archives are added to. */
struct open_file {
    uint32_t rank, number;
    uint32_t file; /* HEFT_NONE: not begun */
};

/* ---- archives ---------------------------------------------------------------------------------- */

/* "__R_K.distcp" */
struct heft_str heft_dcp_file_name(uint32_t rank, uint32_t number, char room[HEFT_DCP_NAME])
{
    const uint64_t numbers[] = {number, rank};
    char *p = room + HEFT_DCP_NAME - sizeof ENDING;

    memcpy(p, ENDING, sizeof ENDING);
    for (size_t i = 0; i < HEFT_COUNT(numbers); i++) {
        uint64_t left = numbers[i];

        do
            *--p = (char)('0' + left % 10);
        while (left /= 10);
        *--p = '_';
    }
    *--p = '_';
    return (struct heft_str){p, (size_t)(room + HEFT_DCP_NAME - 1 - p)};
}

static bool begin_file(struct heft_dcp_out *out, struct open_file *f, struct heft_error *err)
{
    char room[HEFT_DCP_NAME];
    const char *const path = heft_arena_printf(out->plan->mem, err, "%s%s", out->folder,
                                               heft_dcp_file_name(f->rank, f->number, room).p);

    return path && heft_plan_file_begin(out->plan, path, &f->file, err);
}

/* Makes room for an archive of about that many bytes: begins the first file, or the next one. */
static bool turn_file(struct heft_dcp_out *out, struct open_file *f, uint64_t bytes,
                      struct heft_error *err)
{
    const struct heft_plan_request *const request = &out->plan->request;
    const uint64_t most = request->is_sharded ? request->max_shard_size : UINT64_MAX;
    const uint64_t size = f->file == HEFT_NONE ? 0 : out->plan->files[f->file].size;

    if (f->file != HEFT_NONE && (size == 0 || (size <= most && bytes <= most - size)))
        return true;
    f->number += f->file != HEFT_NONE;
    return begin_file(out, f, err);
}

static bool add_place(struct heft_dcp_out *out, const struct open_file *f, uint64_t off,
                      uint32_t what, bool is_object, struct heft_error *err)
{
    if (!heft_grow(&out->places, &out->cap_places, out->n_places, 1, sizeof *out->places, err))
        return false;
    out->places[out->n_places++] =
        (struct heft_dcp_place){.off = off,
                                .len = out->plan->files[f->file].size - off,
                                .what = what,
                                .rank = f->rank,
                                .number = f->number,
                                .is_object = is_object};
    return true;
}

static bool put_objects(struct heft_dcp_out *out, struct open_file *f, struct heft_error *err)
{
    for (size_t i = 0; i < out->objects.n; i++) {
        const struct heft_dcp_object *const object = &out->objects.list[i];
        uint64_t off;

        if (!turn_file(out, f, object->pickle.n, err))
            return false;
        off = out->plan->files[f->file].size;
        if (!heft_dcp_put_object(&out->forms, f->file, object->name, object->pickle, err) ||
            !add_place(out, f, off, (uint32_t)i, true, err))
            return false;
    }
    return true;
}

/* Whether an op refers to the row, which must then exist as long as the plan. */
static bool needs_row(const struct heft_dcp_out *out, const struct heft_export_item *item)
{
    const struct heft_row *const row = item->row;

    return row->parts || row->stride || row->flags || item->as != row->dtype ||
           out->plan->model->storages[row->storage].coding != HEFT_CODING_RAW;
}

static bool put_share(struct heft_dcp_out *out, struct open_file *f, uint32_t i,
                      const struct heft_share_box *box, struct heft_arena *rows,
                      struct heft_error *err)
{
    struct heft_export_item item;
    uint64_t off;

    if (!heft_shares_item(&out->shares, i, box, rows, &item, err) ||
        (needs_row(out, &item) &&
         !heft_shares_item(&out->shares, i, box, out->plan->mem, &item, err)) ||
        !turn_file(out, f, item.bytes, err))
        return false;
    off = out->plan->files[f->file].size;
    if (!box->is_whole && box->start > 0)
        item.number = 0; /* the offset of the item is that of its first share */
    else
        out->exports->items[i].shard = f->file;
    return heft_dcp_put_chunk(&out->forms, f->file, &item, err) &&
           add_place(out, f, off, i, false, err);
}

static bool put_rank(struct heft_dcp_out *out, uint32_t rank, struct heft_error *err)
{
    struct open_file f = {.rank = rank, .file = HEFT_NONE};
    struct heft_arena rows = {.budget = out->plan->mem->budget};
    struct heft_share_box box;
    bool ok = rank > 0 || put_objects(out, &f, err);

    for (uint32_t i = 0; ok && i < out->exports->n_items; i++)
        if (heft_shares_box(&out->shares, i, rank, &box) &&
            !heft_dcp_leaves_out(&out->exports->items[i], &box))
            ok = put_share(out, &f, i, &box, &rows, err);
    heft_arena_release(&rows);
    return ok;
}

/* ---- the directory ----------------------------------------------------------------------------- */

static bool skip_digits(struct heft_str *s)
{
    size_t n = 0;

    while (n < s->n && s->p[n] >= '0' && s->p[n] <= '9')
        n++;
    *s = (struct heft_str){s->p + n, s->n - n};
    return n > 0;
}

static bool skip_text(struct heft_str *s, const char *text)
{
    const size_t n = strlen(text);

    if (s->n < n || memcmp(s->p, text, n) != 0)
        return false;
    *s = (struct heft_str){s->p + n, s->n - n};
    return true;
}

/* Files of an earlier save: .metadata, __R_K.distcp, __R.metadata. */
static bool in_set(struct heft_str rest)
{
    if (heft_str_is(rest, METADATA))
        return true;
    if (!skip_text(&rest, "__") || !skip_digits(&rest))
        return false;
    return heft_str_is(rest, METADATA) ||
           (skip_text(&rest, "_") && skip_digits(&rest) && heft_str_is(rest, ENDING));
}

/* DCP has no ties: each name is stored. */
static bool note_ties(struct heft_plan *plan, const struct heft_export_list *exports,
                      struct heft_error *err)
{
    struct heft_strmap seen = {0};
    struct heft_buf names = {0};
    struct heft_str text;
    size_t n = 0;
    bool ok = true;

    for (size_t i = 0; ok && i < exports->n_items; i++) {
        const struct heft_row *const row = exports->items[i].row;
        const uint64_t place[] = {row->storage, row->offset, row->bytes, row->dtype};
        const struct heft_str bytes = {(const char *)place, sizeof place};
        struct heft_str key = {NULL, bytes.n};
        uint32_t found = HEFT_MAP_NONE;

        if (row->bytes == 0 || row->parts || exports->model->storages[row->storage].is_pooled)
            continue;
        key.p = heft_arena_text(plan->mem, bytes, err);
        ok = key.p && heft_strmap_add(&seen, key, (uint32_t)i, &found, err);
        if (ok && found != HEFT_MAP_NONE)
            heft_list_name(&names, n++, exports->items[i].name);
    }
    heft_list_end(&names, n);
    ok = heft_buf_take(&names, plan->mem, &text, err) && ok;
    heft_strmap_release(&seen);
    return ok && (n == 0 || heft_plan_note(plan,
                                           heft_arena_printf(plan->mem, err,
                                                             "ties are not kept, each name is "
                                                             "stored: %s",
                                                             text.p),
                                           err));
}

static bool plan_files(struct heft_dcp_out *out, struct heft_error *err)
{
    for (uint32_t rank = 0; rank < out->shares.n_ranks; rank++)
        if (!put_rank(out, rank, err))
            return false;
    return heft_dcp_write_metadata(out, err);
}

bool heft_dcp_plan_set(struct heft_plan *plan, const char *output, struct heft_export_list *exports,
                       struct heft_error *err)
{
    struct heft_dcp_out out = {.plan = plan, .exports = exports, .forms = {.plan = plan}};
    const bool ok = heft_plan_leave_metadata(plan, exports, "distributed checkpoints", err) &&
                    heft_shares_place(plan, output, &out.folder, err) &&
                    heft_shares_init(&out.shares, plan, exports, err) &&
                    heft_dcp_list_objects(&out.objects, plan, exports, err) &&
                    heft_dcp_find_paths(&out.paths, plan, exports, &out.objects, err) &&
                    note_ties(plan, exports, err) && plan_files(&out, err);

    plan->in_set = in_set;
    exports->n_shards = plan->n_files ? (uint32_t)plan->n_files : 1;
    heft_dcp_forms_release(&out.forms);
    heft_free(out.places);
    return ok;
}

uint64_t heft_dcp_weigh(const struct heft_export_item *item)
{
    return item->bytes;
}

const struct heft_format_option heft_dcp_options[HEFT_SHARES_OPTIONS + 1] = {
    HEFT_SHARES_OPTION_ROWS};
