/* safetensors_shares.c: writes what HuggingFaceStorageWriter of torch.distributed.checkpoint saves with
 * save_distributed=True: the shares of each rank as files of their own.
 *
 *     shard-RRRRR-model-KKKKK-of-NNNNN.safetensors      R: rank + 1, K: file of the model, 1 … N
 *         __metadata__   DCP_SHARDING_INFO  {"w": {"saved_offsets": [3, 0]}}    in the order of the model
 *                        DCP_VERSION        1.0
 *                        format             pt
 *
 * Which share a rank has is decided in core/shares.c; a rank without a share of file K has no file K.
 * torch writes the three strings in random order, everything else is equal byte for byte. */
#include "base/text.h"
#include "core/shares.h"
#include "format/safetensors/safetensors_parts.h"

enum { DIGITS = 5, MOST_NUMBERS = 99999 };

struct out {
    struct heft_plan *plan;
    struct heft_export_list *exports;
    struct heft_shares shares;
    const char *folder;
    size_t *order;  /* items by file of the model … */
    size_t *begins; /* … of which this one is the first of each file; n_numbers + 1 entries */
    uint32_t n_numbers;
    struct heft_export_item *items; /* shares of one file */
    size_t *from;                   /* for each: its item in the exports */
    struct heft_share_box *boxes;
    size_t n;
    struct heft_arena scratch;
};

/* ---- one file ---------------------------------------------------------------------------------- */

/* Whether an op refers to the row, which must then exist as long as the plan. */
static bool needs_row(const struct out *o, const struct heft_export_item *item)
{
    const struct heft_row *const row = item->row;

    return row->parts || row->stride || row->flags || item->as != row->dtype ||
           o->plan->model->storages[row->storage].coding != HEFT_CODING_RAW;
}

/* Adds what a rank has of an item to the file. */
static bool take_share(struct out *o, size_t i, uint32_t rank, struct heft_arena *rows,
                       struct heft_error *err)
{
    struct heft_export_item *const item = &o->items[o->n];
    struct heft_share_box *const box = &o->boxes[o->n];

    if (!heft_shares_box(&o->shares, i, rank, box))
        return true;
    if (!heft_shares_item(&o->shares, i, box, rows, item, err))
        return false;
    if (needs_row(o, item) && !heft_shares_item(&o->shares, i, box, o->plan->mem, item, err))
        return false;
    if (!box->is_whole && box->start > 0)
        item->number = 0; /* the offset of the item is that of its first share */
    o->from[o->n++] = i;
    return true;
}

/* Writes {"w": {"saved_offsets": [3, 0]}, …} as json.dumps does. */
static void put_info(const struct out *o, struct heft_buf *buf)
{
    heft_buf_char(buf, '{');
    for (size_t i = 0; i < o->n; i++) {
        const struct heft_export_item *const item = &o->items[i];
        const struct heft_share_box *const box = &o->boxes[i];

        heft_buf_text(buf, i ? ", " : "");
        heft_buf_json(buf, item->name, true);
        heft_buf_text(buf, ": {\"" SHARD_OFFSETS "\": [");
        for (unsigned d = 0; d < item->row->rank; d++) {
            heft_buf_text(buf, d ? ", " : "");
            heft_buf_u64(buf, !box->is_whole && d == box->dim ? box->start : 0);
        }
        heft_buf_text(buf, "]}");
    }
    heft_buf_char(buf, '}');
}

static bool put_metadata(const struct out *o, struct heft_buf *buf, struct heft_error *err)
{
    struct heft_buf info = {.budget = o->plan->mem->budget};
    bool ok;

    put_info(o, &info);
    ok = heft_buf_ok(&info, err);
    heft_buf_text(buf, "\"" METADATA "\":{\"" SHARD_INFO "\":");
    if (ok)
        heft_buf_json(buf, (struct heft_str){info.p, info.n}, false);
    heft_buf_text(buf, ",\"" SHARD_VERSION "\":\"1.0\",\"format\":\"pt\"},");
    heft_buf_release(&info);
    return ok && heft_buf_ok(buf, err);
}

static bool begin_file(struct out *o, uint32_t rank, uint32_t number, uint32_t *file,
                       struct heft_error *err)
{
    const char *const path = heft_arena_printf(
        &o->scratch, err,
        "%s" SHARD_PREFIX "%0*" PRIu32 "-model-%0*" PRIu32 "-of-%0*" PRIu32 SHARD_ENDING, o->folder,
        DIGITS, rank + 1, DIGITS, number + 1, DIGITS, o->n_numbers);

    return path && heft_plan_file_begin(o->plan, path, file, err);
}

/* Records the file of each item that has its first share here. */
static void place_items(struct out *o, uint32_t file)
{
    for (size_t i = 0; i < o->n; i++)
        if (o->items[i].number)
            o->exports->items[o->from[i]].shard = file;
}

static bool plan_file(struct out *o, uint32_t rank, uint32_t number, struct heft_error *err)
{
    struct heft_arena rows = {.budget = o->plan->mem->budget};
    struct heft_export_list list = *o->exports;
    struct heft_buf metadata = {.budget = o->plan->mem->budget};
    uint32_t file;
    bool ok = true;

    o->n = 0;
    for (size_t i = o->begins[number]; ok && i < o->begins[number + 1]; i++)
        ok = take_share(o, o->order[i], rank, &rows, err);
    list.items = o->items;
    list.n_items = o->n;
    list.mem = &rows;
    if (ok && o->n > 0)
        ok = begin_file(o, rank, number, &file, err) && put_metadata(o, &metadata, err) &&
             heft_safetensors_plan_with(o->plan, file, &list,
                                        (struct heft_str){metadata.p, metadata.n}, err);
    if (ok && o->n > 0)
        place_items(o, file);
    heft_buf_release(&metadata);
    heft_arena_release(&rows);
    return ok;
}

/* ---- all files --------------------------------------------------------------------------------- */

/* Files of an earlier save. */
static bool in_set(struct heft_str rest)
{
    static const char form[] = SHARD_PREFIX "00000-model-00000-of-00000" SHARD_ENDING;

    for (size_t i = 0; i < rest.n && i < sizeof form - 1; i++)
        if (form[i] == '0' ? rest.p[i] < '0' || rest.p[i] > '9' : rest.p[i] != form[i])
            return false;
    return rest.n == sizeof form - 1;
}

/* Refuses a directory with other safetensors files: torch would read them as parts of the save. */
static bool refuse_others(const struct out *o, struct heft_error *err)
{
    const char *const *names;
    size_t n = 0;

    if (o->plan->whole)
        return true;
    if (!heft_path_list(o->folder, o->plan->mem, &names, &n, err))
        return false;
    for (size_t i = 0; i < n; i++) {
        const struct heft_str name = heft_str_of(names[i]);

        if (!heft_str_ends(name, SHARD_ENDING) || in_set(name))
            continue;
        heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                  "is not a shard, but torch reads every " SHARD_ENDING
                  " file of the directory as a part of the save; name another directory");
        return heft_error_file(err,
                               heft_arena_printf(o->plan->mem, err, "%s%s", o->folder, names[i]));
    }
    return true;
}

static bool list_numbers(struct out *o, const uint32_t *numbers, struct heft_error *err)
{
    o->begins = heft_arena_zero(&o->scratch, o->n_numbers + 1ull, sizeof *o->begins, err);
    for (size_t i = 0; o->begins && i < o->exports->n_items; i++)
        o->begins[numbers[o->order[i]] + 1] = i + 1;
    return o->begins &&
           (o->n_numbers <= MOST_NUMBERS ||
            heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET,
                      "%" PRIu32 " files of the model, whose numbers have %d digits; give a larger "
                      "option max_shard_size",
                      o->n_numbers, DIGITS));
}

/* Divides the model into files as the hub does; each name counts by itself. The order of the items is kept,
 * because the choice of ranks depends on it. */
static bool number_items(struct out *o, struct heft_error *err)
{
    const struct heft_plan_request *const request = &o->plan->request;
    const size_t n = o->exports->n_items;
    uint64_t *const sizes = heft_arena_u64(&o->scratch, n + 1, err);
    uint64_t *const storages = sizes ? heft_arena_u64(&o->scratch, n + 1, err) : NULL;
    uint32_t *const numbers =
        storages ? heft_arena_zero(&o->scratch, n + 1, sizeof *numbers, err) : NULL;
    uint64_t total;

    o->order = numbers ? heft_arena_zero(&o->scratch, n + 1, sizeof *o->order, err) : NULL;
    for (size_t i = 0; o->order && i < n; i++) {
        sizes[i] = o->exports->items[i].bytes;
        storages[i] = UINT64_MAX;
    }
    return o->order &&
           heft_split(n, sizes, storages,
                      request->is_sharded ? request->max_shard_size : UINT64_MAX, numbers, o->order,
                      &o->n_numbers, &total, err) &&
           list_numbers(o, numbers, err);
}

static bool begin_out(struct out *o, struct heft_error *err)
{
    const size_t n = o->exports->n_items + 1;

    o->scratch.budget = o->plan->mem->budget;
    o->items = heft_arena_zero(&o->scratch, n, sizeof *o->items, err);
    o->from = heft_arena_zero(&o->scratch, n, sizeof *o->from, err);
    o->boxes = heft_arena_zero(&o->scratch, n, sizeof *o->boxes, err);
    return o->items && o->from && o->boxes;
}

static bool plan_files(struct out *o, struct heft_error *err)
{
    for (uint32_t rank = 0; rank < o->shares.n_ranks; rank++)
        for (uint32_t number = 0; number < o->n_numbers; number++)
            if (!plan_file(o, rank, number, err))
                return false;
    return o->plan->n_files > 0 ||
           heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "a save without tensors would have no file");
}

static bool plan_set(struct heft_plan *plan, const char *output, struct heft_export_list *exports,
                     struct heft_error *err)
{
    struct out o = {.plan = plan, .exports = exports};
    const bool ok = heft_plan_leave_metadata(plan, exports, "shards of a distributed save", err) &&
                    heft_shares_place(plan, output, &o.folder, err) && refuse_others(&o, err) &&
                    heft_shares_init(&o.shares, plan, exports, err) && begin_out(&o, err) &&
                    number_items(&o, err) && plan_files(&o, err);

    plan->in_set = in_set;
    exports->n_shards = plan->n_files ? (uint32_t)plan->n_files : 1;
    heft_arena_release(&o.scratch);
    return ok;
}

/* Each name is stored with its own bytes. */
static uint64_t weigh_item(const struct heft_export_item *item)
{
    return item->bytes;
}

static const char *const extensions[] = {NULL};
static const char *const synonyms[] = {"hf-dcp", NULL};
static const struct heft_format_option options[HEFT_SHARES_OPTIONS + 1] = {HEFT_SHARES_OPTION_ROWS};

extern const struct heft_format heft_format_dcp_hf;
const struct heft_format heft_format_dcp_hf = {
    .name = "dcp-hf",
    .summary = "shards of torch's HuggingFaceStorageWriter (directory; written only)",
    .synonyms = synonyms,
    .plan_set = plan_set,
    .extensions = extensions,
    .weigh = weigh_item,
    .options = options,
    .supports_dtype = heft_safetensors_supports_dtype,
};
