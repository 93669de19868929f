/* tf_into.c: a copy of a SavedModel with other weights (doc/format/tf-write.md).
 *
 *     MODEL/saved_model.pb, assets/ …       copied unchanged
 *     MODEL/fingerprint.pb                  left out: TensorFlow only logs its absence
 *     MODEL/variables/variables.*           a bundle with the same keys, written anew
 *
 * The expected tensors, dtypes and shapes come from the model's bundle and from what its graph
 * restores (tf_restore.h), which may disagree. All weights are checked before anything is written.
 * The object graph, strings and the save counter are kept. */
#include "base/text.h"
#include "format/tensorflow/bundle/tf_bundle.h"
#include "format/tensorflow/saved_model/tf_restore_uses.h"
#include "format/tensorflow/bundle/tf_twins.h"
#include "format/tensorflow/write/tf_write.h"
#include "wire/sstable_write.h"

#define COUNTER     "save_counter/.ATTRIBUTES/VARIABLE_VALUE"
#define BUNDLE      "/variables/variables"
#define SEED        "seed_generator_state"
#define NAMES_SHOWN 8

struct into {
    struct heft_tf_out *out;
    const char *folder; /* directory of the model, without a trailing slash */
    const char *graph;  /* its saved_model.pb or .pbtxt */
    struct heft_model old;
    struct heft_tf_names names;
    bool *is_given; /* for each row of the old bundle: an item replaces it */
    bool *is_twin;  /* … the item of its twin does */
    const struct heft_export_item **by_row; /* the item that replaces the row, or NULL */
    struct heft_error *err;
};

/* ---- lists of names for errors ----------------------------------------------------------- */

struct list {
    struct heft_buf names;
    size_t n;
};

static void add_name(struct list *list, struct heft_str name)
{
    if (list->n < NAMES_SHOWN) {
        heft_buf_text(&list->names, list->n ? ", " : "");
        heft_buf_str(&list->names, name);
    }
    list->n++;
}

/* Fails if the list is not empty, naming its items. */
static bool is_empty(struct list *list, const char *what, struct heft_error *err)
{
    const size_t n = list->n;
    bool ok = heft_buf_ok(&list->names, err);

    if (ok && n > NAMES_SHOWN)
        ok = heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "%s: %.*s and %zu more", what,
                       (int)heft_min_u64(list->names.n, 250), list->names.p, n - NAMES_SHOWN);
    else if (ok && n)
        ok = heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "%s: %.*s", what,
                       (int)heft_min_u64(list->names.n, 250), list->names.p);
    heft_buf_release(&list->names);
    return ok;
}

/* ---- matching the new weights ------------------------------------------------------------ */

static bool refuse_shape(const struct heft_export_item *item, const struct heft_row *old,
                         struct heft_error *err)
{
    struct heft_buf found = {0}, wanted = {0};

    heft_buf_indexes(&found, item->row->shape, item->row->rank);
    heft_buf_indexes(&wanted, old->shape, old->rank);
    if (heft_buf_ok(&found, err) && heft_buf_ok(&wanted, err)) {
        heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "has shape %.*s, the model expects %.*s",
                  (int)heft_min_u64(found.n, 100), found.p, (int)heft_min_u64(wanted.n, 100),
                  wanted.p);
        heft_error_about(err, "tensor", item->name);
    }
    heft_buf_release(&found);
    heft_buf_release(&wanted);
    return false;
}

/* Compares dtype and shape with what RestoreV2 and the assignments of the model require. */
static bool check_fit(const struct heft_export_item *item, const struct heft_row *old,
                      struct heft_error *err)
{
    const struct heft_row *row = item->row;

    if (item->as != old->dtype) {
        const char *wanted = heft_dtype_name((enum heft_dtype)old->dtype);

        heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                  "is %s, the model expects %s; cast '%s=%s' would do",
                  heft_dtype_name((enum heft_dtype)item->as), wanted, item->name.p, wanted);
        return heft_error_about(err, "tensor", item->name);
    }
    if (row->rank != old->rank ||
        (row->rank && memcmp(row->shape, old->shape, row->rank * sizeof *row->shape) != 0))
        return refuse_shape(item, old, err);
    return true;
}

static bool refuse_twice(struct into *in, const struct heft_export_item *item, struct heft_str key)
{
    heft_fail(in->err, HEFT_USAGE, HEFT_NO_OFFSET, "is a second tensor for %.*s",
              (int)heft_min_u64(key.n, 200), key.p);
    return heft_error_about(in->err, "tensor", item->name);
}

/* True if an item under a key below _all_variables yields to the variable itself: numbers below
 * _all_variables are ordered differently in each export. */
static bool gives_way(const struct into *in, uint32_t row)
{
    const uint32_t twin = in->names.twin[row];

    return twin != HEFT_NONE && heft_tf_is_copy(in->old.rows[row].name) && in->by_row[twin];
}

static void take_data(struct heft_export_item *item, const struct heft_export_item *from)
{
    item->row = from->row;
    item->bytes = from->bytes;
    item->as = from->as;
}

/* The first part of the items' names, if they have the same: the name of a Keras model. n is 0 if
 * they differ. */
static struct heft_str common_root(const struct heft_export_list *exports)
{
    const struct heft_str first = exports->n_items ? exports->items[0].name : HEFT_STR("");
    const char *const slash = first.n ? memchr(first.p, '/', first.n) : NULL;
    const size_t n = slash ? (size_t)(slash - first.p) : 0;

    for (size_t i = 0; i < exports->n_items; i++) {
        const struct heft_str name = exports->items[i].name;

        if (name.n <= n || name.p[n] != '/' || memcmp(name.p, first.p, n) != 0)
            return HEFT_STR("");
    }
    return (struct heft_str){first.p, n};
}

/* Notes that names were shortened; `one` is an item of them, and `row` what it means. */
static bool note_shortened(const struct into *in, size_t n, struct heft_str one, uint32_t row)
{
    const struct heft_str full = in->names.full[row];

    return heft_plan_note(
        in->out->plan,
        heft_arena_printf(in->out->plan->mem, in->err,
                          "%zu name%s taken without %s first parts: %.*s is the model's %.*s%s", n,
                          n == 1 ? " is" : "s are", n == 1 ? "its" : "their",
                          (int)heft_min_u64(one.n, 60), one.p, (int)heft_min_u64(full.n, 60),
                          full.p, n == 1 ? "" : ", …"),
        in->err);
}

/* The row of a name without its first parts: models around a layer may have other names in the
 * model, or none. A row that another item replaces is none. */
static uint32_t find_shortened(const struct into *in, struct heft_str name, bool has_root)
{
    uint32_t row = has_root ? heft_tf_names_find_inner(&in->names, name) : HEFT_NONE;

    if (row == HEFT_NONE)
        row = heft_tf_names_find_end(&in->names, name);
    return row == HEFT_NONE || in->by_row[row] ? HEFT_NONE : row;
}

/* Finds the row of each item; items without one go into `extra`. */
static bool find_rows(struct into *in, uint32_t *row, struct list *extra)
{
    const struct heft_export_list *exports = in->out->exports;
    const bool has_root = common_root(exports).n > 0;
    uint32_t first = 0;
    size_t shortened = 0;

    for (uint32_t i = 0; i < exports->n_items; i++) {
        row[i] = heft_tf_names_find(&in->names, exports->items[i].name);
        if (row[i] != HEFT_NONE)
            in->by_row[row[i]] = &exports->items[i];
    }
    for (uint32_t i = 0; i < exports->n_items; i++) {
        if (row[i] != HEFT_NONE)
            continue;
        row[i] = find_shortened(in, exports->items[i].name, has_root);
        if (row[i] == HEFT_NONE) {
            add_name(extra, exports->items[i].name);
            continue;
        }
        in->by_row[row[i]] = &exports->items[i];
        first = shortened++ ? first : i;
    }
    return shortened == 0 || note_shortened(in, shortened, exports->items[first].name, row[first]);
}

/* Fills both places of a variable that is stored twice but given once. */
static void fill_twins(struct into *in)
{
    for (uint32_t k = 0; k < in->old.n_rows; k++) { /* row numbers fit in 32 bits */
        const uint32_t twin = in->names.twin[k];

        if (twin == HEFT_NONE || !in->is_given[twin] || in->is_given[k] || in->is_twin[twin])
            continue;
        in->is_given[k] = in->is_twin[k] = true;
    }
}

/* True for rows that weights from elsewhere cannot provide: they keep the model's own. */
static bool keeps_value(const struct heft_row *row)
{
    return heft_dtype_varies((enum heft_dtype)row->dtype) || heft_str_is(row->name, COUNTER);
}

/* Describes unknown names, with two of the names that the model does know. */
static const char *describe_unknown(const struct into *in)
{
    struct heft_str known[2] = {HEFT_STR("none"), HEFT_STR("")};
    size_t n = 0;

    for (size_t i = 0; i < in->old.n_rows && n < HEFT_COUNT(known); i++)
        if (!keeps_value(&in->old.rows[i]) && !heft_tf_is_copy(in->old.rows[i].name))
            known[n++] = heft_tf_names_find(&in->names, in->names.full[i]) == i
                             ? in->names.full[i]
                             : in->old.rows[i].name; /* the full name means several */
    return heft_arena_printf(in->out->plan->mem, in->err,
                             "the model has no such variables (known: %.*s%s%.*s …; option names "
                             "objects shows such names, "
                             "also those of Keras' files)",
                             (int)heft_min_u64(known[0].n, 60), known[0].p, n > 1 ? ", " : "",
                             (int)heft_min_u64(known[1].n, 60), known[1].p);
}

/* Renames each item to its key in the model. */
static bool match_items(struct into *in)
{
    const struct heft_export_list *exports = in->out->exports;
    uint32_t *const row = heft_arena_zero(&in->old.mem, exports->n_items + 1, sizeof *row, in->err);
    const char *what = "";
    struct list extra = {0};
    bool ok = row != NULL;

    ok = ok && find_rows(in, row, &extra);
    for (uint32_t i = 0; ok && i < exports->n_items; i++) {
        struct heft_export_item *item = &exports->items[i];
        const uint32_t k = row[i];

        if (k == HEFT_NONE)
            continue;
        if (gives_way(in, k))
            take_data(item, in->by_row[in->names.twin[k]]);
        ok = check_fit(item, &in->old.rows[k], in->err) &&
             (!in->is_given[k] || refuse_twice(in, item, in->old.rows[k].name));
        in->is_given[k] = true;
        item->name = in->old.rows[k].name;
    }
    if (extra.n && !(what = describe_unknown(in)))
        ok = false;
    if (!is_empty(&extra, what, in->err))
        return false;
    if (ok)
        fill_twins(in);
    return ok;
}

/* ---- checking the graph ------------------------------------------------------------------ */

static bool fits_all(const struct into *in, const struct heft_tf_wants *wants)
{
    const struct heft_export_list *exports = in->out->exports;

    for (uint32_t i = 0; i < exports->n_items; i++) {
        const struct heft_export_item *item = &exports->items[i];

        if (!heft_tf_restore_fits(wants, item->name, (enum heft_dtype)item->as, item->row->rank,
                                  item->row->shape, in->err)) {
            in->err->code = HEFT_USAGE; /* the same code as for a mismatch with the old bundle */
            return false;
        }
    }
    return true;
}

/* Refuses a model with findings, or with missing files: the copy would be as damaged. */
static bool refuse_damage(const struct into *in, const struct heft_model *model)
{
    const size_t folder = strlen(in->folder);

    for (size_t i = 0; i < model->n_notes; i++) {
        const struct heft_note *note = &model->notes[i];
        const char *const path =
            note->source == HEFT_NONE ? in->graph : model->sources[note->source].path;

        if ((note->severity != HEFT_FINDING && !note->is_lack) ||
            (strlen(path) > folder && heft_tf_into_leaves(path + folder)))
            continue;
        heft_fail(in->err, HEFT_MALFORMED, note->offset,
                  "%s: the copy would also be damaged; repair the model first", note->text);
        return heft_error_file(in->err, path);
    }
    return true;
}

static bool open_model(const struct into *in, struct heft_model *model)
{
    const char *path = in->graph;

    return heft_registry_open(model, &path, 1, "saved-model", in->err) &&
           heft_model_validate(model, in->err) && refuse_damage(in, model);
}

/* Checks items, renamed to their keys, against the graph: a key may match the old bundle and not
 * the graph. */
static bool check_graph(struct into *in)
{
    struct heft_tf_wants wants = {0};
    struct heft_model model;
    bool ok;

    heft_model_init(&model, NULL, in->out->plan->model->formats);
    ok = open_model(in, &model);
    if (ok && !(heft_tf_restore_expect(&wants, &model, 0, in->err) && fits_all(in, &wants)))
        ok = heft_error_file(in->err, in->graph);
    heft_tf_wants_release(&wants);
    heft_model_release(&model);
    return ok;
}

/* ---- rows that keep their values --------------------------------------------------------- */

/* True for the state of a random generator, as of Dropout, which Keras does not save with weights. */
static bool is_seed(const struct into *in, size_t row)
{
    const struct heft_str name = in->names.full[row];

    return heft_str_is(name, SEED) || heft_str_ends(name, "/" SEED);
}

static bool note_seeds(const struct into *in, size_t seeds)
{
    const char *const verb = seeds == 1 ? "is" : "are";

    return seeds == 0 ||
           heft_plan_note(in->out->plan,
                          heft_arena_printf(in->out->plan->mem, in->err,
                                            "%zu state%s of random generators %s missing from the "
                                            "new weights: the model's %s kept",
                                            seeds, seeds == 1 ? "" : "s", verb, verb),
                          in->err);
}

static bool check_missing(struct into *in)
{
    const bool keeps = heft_plan_option(in->out->plan, HEFT_TF_KEEP_MISSING).is_given;
    struct list missing = {0};
    size_t seeds = 0;

    for (size_t i = 0; i < in->old.n_rows; i++) {
        if (in->is_given[i] || keeps_value(&in->old.rows[i]))
            continue;
        seeds += is_seed(in, i);
        if (!is_seed(in, i) && !keeps)
            add_name(&missing, in->old.rows[i].name);
    }
    return is_empty(&missing,
                    "missing from the new weights (option keep-missing keeps the model's)",
                    in->err) &&
           note_seeds(in, seeds);
}

static uint64_t *copy_numbers(struct into *in, const uint64_t *from, unsigned n)
{
    uint64_t *to = heft_arena_u64(in->out->plan->mem, n + 1u, in->err);

    if (to && n)
        memcpy(to, from, n * sizeof *to);
    return to;
}

static bool refuse_to_keep(const struct heft_row *row, const char *why, struct heft_error *err)
{
    heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET, "cannot be kept unchanged: %s", why);
    return heft_error_about(err, "tensor", row->name);
}

/* Adds a piece that is copied from a data file of the model, with its checksum. */
static bool keep_row(struct into *in, const struct heft_row *old)
{
    struct heft_arena *mem = in->out->plan->mem;
    const struct heft_storage *s = &in->old.storages[old->storage];
    struct heft_row *row = heft_arena_zero(mem, 1, sizeof *row, in->err);
    struct heft_tf_piece piece = {.of = HEFT_NONE, .crc = heft_crc_mask(s->crc), .has_crc = true};

    if (!row)
        return false;
    if (old->parts)
        return refuse_to_keep(old, "it is partitioned", in->err);
    if (old->flags || s->sum == HEFT_SUM_NONE)
        return refuse_to_keep(old, "the bundle is big-endian or lacks the checksum", in->err);
    row->shape = copy_numbers(in, old->shape, old->rank);
    row->rank = old->rank;
    row->dtype = old->dtype;
    piece.item.row = row;
    piece.item.as = old->dtype;
    piece.item.bytes = s->len;
    piece.item.name = (struct heft_str){heft_arena_text(mem, old->name, in->err), old->name.n};
    piece.file = heft_arena_text(mem, heft_str_of(in->old.sources[s->source].path), in->err);
    piece.from = s->off;
    return row->shape && piece.item.name.p && piece.file &&
           heft_tf_out_swap(in->out, &in->old, s, &piece, in->err) &&
           heft_tf_out_piece(in->out, &piece, in->err);
}

static bool keep_rest(struct into *in)
{
    for (size_t i = 0; i < in->old.n_rows; i++)
        if (!in->is_given[i] && !keep_row(in, &in->old.rows[i]))
            return false;
    return true;
}

/* ---- the old model and the plan ---------------------------------------------------------- */

static bool check_model(struct into *in)
{
    static const char *const names[] = {"saved_model.pb", "saved_model.pbtxt"};

    for (size_t i = 0; i < HEFT_COUNT(names); i++) {
        const char *path =
            heft_arena_printf(in->out->plan->mem, in->err, "%s/%s", in->folder, names[i]);

        if (!path)
            return false;
        if (heft_path_kind(path) == HEFT_PATH_FILE) {
            in->graph = path;
            return true;
        }
    }
    heft_fail(in->err, HEFT_USAGE, HEFT_NO_OFFSET,
              heft_path_kind(in->folder) == HEFT_PATH_FILE
                  ? "is a file: into takes the directory of a SavedModel; to replace the "
                    "weights of a .ptd, name the output NEW.ptd"
                  : "is not a SavedModel directory: saved_model.pb is missing");
    return heft_error_file(in->err, in->folder);
}

static bool open_old(struct into *in)
{
    const char *path =
        heft_arena_printf(in->out->plan->mem, in->err, "%s" BUNDLE ".index", in->folder);

    heft_model_init(&in->old, NULL, in->out->plan->model->formats);
    if (!path || !heft_registry_open(&in->old, &path, 1, "tf-bundle", in->err) ||
        !heft_model_validate(&in->old, in->err))
        return false;
    if (in->old.n_unreadable) {
        heft_fail(in->err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET, "%s", in->old.unreadable[0].reason);
        return heft_error_about(in->err, "tensor", in->old.unreadable[0].name);
    }
    in->is_given = heft_arena_zero(&in->old.mem, in->old.n_rows + 1, sizeof *in->is_given, in->err);
    in->is_twin = heft_arena_zero(&in->old.mem, in->old.n_rows + 1, sizeof *in->is_twin, in->err);
    in->by_row = heft_arena_zero(&in->old.mem, in->old.n_rows + 1, sizeof *in->by_row, in->err);
    return in->is_given && in->is_twin && in->by_row &&
           heft_tf_names_load(&in->names, &in->old, in->err);
}

/* Adds the second place of the item's variable. */
static bool add_twin(struct into *in, const struct heft_export_item *item)
{
    const uint32_t k = heft_model_row(&in->old, item->name);
    const uint32_t twin = k == HEFT_NONE ? HEFT_NONE : in->names.twin[k];
    struct heft_tf_piece piece = {.item = *item, .of = HEFT_NONE};

    if (twin == HEFT_NONE || !in->is_twin[twin])
        return true;
    piece.item.number = 0;
    piece.item.name.n = in->old.rows[twin].name.n;
    piece.item.name.p = heft_arena_text(in->out->plan->mem, in->old.rows[twin].name, in->err);
    return piece.item.name.p && heft_tf_out_piece(in->out, &piece, in->err);
}

static bool add_items(struct into *in)
{
    struct heft_tf_out *out = in->out;

    for (uint32_t i = 0; i < out->exports->n_items; i++) {
        struct heft_export_item *item = &out->exports->items[i];

        item->name.p =
            heft_arena_text(out->plan->mem, item->name, in->err); /* the key in the old model */
        if (!item->name.p || !heft_tf_out_item(out, i, in->err) || !add_twin(in, item))
            return false;
    }
    return true;
}

/* Records the offset of each tensor in the model's bundle, to keep its order. */
static void place_pieces(struct into *in)
{
    struct heft_tf_out *const out = in->out;

    for (size_t i = 0; i < out->n_pieces; i++) {
        const uint32_t k = heft_model_row(&in->old, out->pieces[i].item.name);
        const struct heft_storage *const s =
            k == HEFT_NONE ? NULL : &in->old.storages[heft_row_storage(&in->old.rows[k], 0)];

        out->pieces[i].old_off = s ? s->off : UINT64_MAX;
        out->pieces[i].old_source = s ? s->source : HEFT_NONE;
    }
}

bool heft_tf_into_pieces(struct heft_tf_out *out, struct heft_error *err)
{
    struct into in = {.out = out, .folder = out->into, .err = err};
    const bool ok = check_model(&in) && open_old(&in) && match_items(&in) && check_missing(&in) &&
                    check_graph(&in) && add_items(&in) && keep_rest(&in);

    if (ok)
        place_pieces(&in);
    heft_tf_names_release(&in.names);
    heft_model_release(&in.old);
    return ok;
}
