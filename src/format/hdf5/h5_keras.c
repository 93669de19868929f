/* h5_keras.c: a model of Keras 3 (.keras): a zip archive with stored records.
 *
 *     metadata.json        Keras' version, the date        ──► value
 *     config.json          the layers: required by Keras    ──► value
 *     model.weights.h5     HDF5, read in place             ──► rows
 *     assets/…             vocabularies and the like       ──► blobs */
#include "base/checksum.h"
#include "base/text.h"
#include "format/hdf5/h5_parts.h"
#include "wire/zip.h"

#define WEIGHTS   "model.weights.h5"
#define CONFIG    "config.json"
#define TEXT_MOST ((uint64_t)16 << 20) /* limit for the bytes of config.json */
#define PIECE     ((size_t)1 << 20)

struct archive {
    struct heft_model *model;
    struct heft_zip zip;
    const struct heft_zip_entry *weights;
    struct heft_node *values;
    uint32_t source;
    struct heft_error *err;
};

static int probe(const struct heft_probe *sample)
{
    if (sample->head.n < 4 || memcmp(sample->head.p, "PK\3\4", 4) != 0)
        return 0;
    return heft_zip_lists(sample->tail, WEIGHTS) ? 95 : 0;
}

/* ---- records of the archive -------------------------------------------------------------- */

/* The weights may be intact: salvage continues without the record. */
static bool lose_value(struct archive *a, const struct heft_zip_entry *entry,
                       const struct heft_error *found)
{
    if (heft_model_forgives(a->model, found))
        return heft_model_damage(a->model, a->source, "left out", found, a->err) &&
               heft_model_claim_of(a->model, a->source, entry->data, entry->packed, "record ",
                                   entry->name, a->err);
    *a->err = *found;
    return false;
}

static bool add_value(struct archive *a, const struct heft_zip_entry *entry)
{
    struct heft_arena *mem = &a->model->mem;
    const struct heft_source source = a->model->sources[a->source].source;
    struct heft_error found = {0};
    struct heft_bytes text;

    if (!heft_zip_fetch(&source, entry, TEXT_MOST, true, mem, &text, &found))
        return lose_value(a, entry, &found);
    if (!a->values)
        a->values = heft_tree_dict(mem, NULL, HEFT_STR(""), a->err);
    return a->values &&
           heft_tree_text(mem, a->values, entry->name,
                          (struct heft_str){(const char *)text.p, text.n}, a->err) &&
           heft_model_claim_of(a->model, a->source, entry->data, entry->packed, "record ",
                               entry->name, a->err);
}

static bool add_blob(struct archive *a, const struct heft_zip_entry *entry)
{
    const struct heft_storage storage = {
        .off = entry->data,
        .packed = entry->packed,
        .len = entry->size,
        .label = entry->name,
        .source = a->source,
        .crc = entry->crc,
        .sum = entry->crc ? HEFT_SUM_CRC32 : HEFT_SUM_NONE,
        .coding = entry->method == HEFT_ZIP_DEFLATED ? HEFT_CODING_DEFLATE : HEFT_CODING_RAW,
    };
    uint32_t index;

    return heft_model_add_storage(a->model, &storage, &index, a->err) &&
           heft_model_add_blob(a->model, entry->name, index, "asset", a->err);
}

static bool add_record(struct archive *a, const struct heft_zip_entry *entry)
{
    if (!heft_model_claim_of(a->model, a->source, entry->header, entry->data - entry->header,
                             "local header of ", entry->name, a->err) ||
        !heft_model_claim_of(a->model, a->source, entry->data + entry->packed,
                             entry->end - entry->data - entry->packed, "descriptor of ",
                             entry->name, a->err))
        return false;
    if (entry == a->weights || entry->is_folder)
        return true;
    if (heft_str_ends(entry->name, ".json") && entry->size <= TEXT_MOST)
        return add_value(a, entry);
    return add_blob(a, entry);
}

static bool leave_tail(struct archive *a)
{
    const uint64_t n = a->zip.trailing;
    const uint64_t at = a->model->sources[a->source].source.size - n;

    return n == 0 ||
           (heft_model_claim(a->model, a->source, at, n, "bytes after the archive", a->err) &&
            heft_model_leave(a->model, a->source, at, a->err,
                             "%" PRIu64 " byte%s after the archive", n, n == 1 ? "" : "s"));
}

static bool add_records(struct archive *a)
{
    const struct heft_zip *zip = &a->zip;

    for (size_t i = 0; i < zip->count; i++)
        if (!add_record(a, &zip->entries[i]))
            return false;
    return heft_model_claim(a->model, a->source, zip->directory, zip->directory_size,
                            "zip central directory", a->err) &&
           heft_model_claim(a->model, a->source, zip->tail, zip->tail_size, "zip end records",
                            a->err) &&
           leave_tail(a);
}

/* A missing config.json is reported by verify only: the weights can be read without it. */
static bool need_config(struct archive *a)
{
    return heft_zip_find(&a->zip, HEFT_STR("config.json")) ||
           heft_model_note(a->model, HEFT_FINDING, a->source, a->zip.directory, a->err,
                           "record config.json is missing: Keras cannot load the model");
}

/* ---- weights and config ------------------------------------------------------------------ */

static bool find_weights(struct archive *a)
{
    const struct heft_source source = a->model->sources[a->source].source;
    const struct heft_zip_limits limits =
        heft_zip_limits_of(&a->model->limits, a->model->file_bytes);

    if (!heft_zip_open(&a->zip, &source, &limits, &a->model->mem, a->err))
        return false;
    a->weights = heft_zip_find(&a->zip, HEFT_STR(WEIGHTS));
    if (!a->weights)
        return heft_fail(a->err, HEFT_MALFORMED, a->zip.directory,
                         "no record " WEIGHTS ", which every .keras archive has");
    return a->weights->method == HEFT_ZIP_STORED ||
           heft_fail(a->err, HEFT_UNSUPPORTED, a->weights->header,
                     WEIGHTS " is deflated; Keras stores it: unpack the archive, then open it");
}

/* Joins the values of archive and weights in one tree, the archive's first. */
static void join_values(struct archive *a)
{
    const struct heft_value *inner = a->model->values;

    if (!a->values)
        return;
    if (inner && a->values->last)
        a->values->last->value.next_sibling = inner->first_child;
    a->model->values = &a->values->value;
}

/* Names of objects depend on it. If the config cannot be read, they are not used. */
static bool read_config(struct archive *a, struct heft_h5_config *out)
{
    const struct heft_zip_entry *const entry = heft_zip_find(&a->zip, HEFT_STR(CONFIG));
    const struct heft_source source = a->model->sources[a->source].source;
    struct heft_arena *mem = &a->model->mem;
    struct heft_error found = {0};
    struct heft_bytes text;

    if (!heft_h5_names_objects(a->model) || !entry || entry->size > TEXT_MOST ||
        (heft_zip_fetch(&source, entry, TEXT_MOST, true, mem, &text, &found) &&
         heft_h5_read_config(out, text, mem, &found)))
        return true;
    if (found.code == HEFT_NOMEM || found.code == HEFT_IO) {
        *a->err = found;
        return false;
    }
    heft_h5_release_config(out);
    *out = (struct heft_h5_config){0};
    return heft_model_tell(a->model, a->source, a->err, CONFIG " tells no classes of layers: %s",
                           found.text);
}

static bool open_weights(struct archive *a)
{
    struct heft_h5_config config = {0};
    const char *version;
    uint32_t slice;
    bool ok;

    if (!heft_model_add_slice(a->model, a->source, a->weights->data, a->weights->packed, &slice,
                              a->err))
        return false;
    ok = read_config(a, &config) && (heft_h5_open(a->model, slice, &config, a->err) ||
                                     heft_model_blame_slice(a->model, slice, a->err));
    heft_h5_release_config(&config);
    if (!ok)
        return false;
    version = a->model->version;
    a->model->format = "keras";
    a->model->version =
        heft_arena_printf(&a->model->mem, a->err, "zip with " WEIGHTS ", %s", version);
    return a->model->version != NULL;
}

static bool open_keras(struct heft_model *model, uint32_t source, struct heft_error *err)
{
    struct archive a = {.model = model, .source = source, .err = err};

    if (!find_weights(&a) || !open_weights(&a) || !add_records(&a) || !need_config(&a))
        return false;
    join_values(&a);
    return true;
}

/* ---- verifying --------------------------------------------------------------------------- */

static bool sum_record(const struct heft_source *source, const struct heft_zip_entry *entry,
                       uint32_t *sum, struct heft_error *err)
{
    uint8_t *piece = heft_alloc(PIECE, err);
    bool ok = piece != NULL;
    size_t now;

    *sum = 0;
    for (uint64_t at = 0; ok && at < entry->packed; at += now) {
        now = (size_t)heft_min_u64(PIECE, entry->packed - at);
        ok = heft_source_read(source, entry->data + at, piece, now, err);
        if (ok)
            *sum = heft_crc32(*sum, piece, now);
    }
    heft_free(piece);
    return ok;
}

static bool compare_sum(const struct heft_source *bytes, const struct heft_zip_entry *weights,
                        struct heft_error *err)
{
    uint32_t sum;

    if (!weights || !weights->crc)
        return true;
    if (!sum_record(bytes, weights, &sum, err))
        return false;
    return sum == weights->crc ||
           heft_fail(err, HEFT_MISMATCH, weights->data,
                     "the CRC-32 of " WEIGHTS " is %08" PRIx32 ", the archive says %08" PRIx32, sum,
                     weights->crc);
}

/* The checksum in the zip covers all weights together. */
static bool check_keras(const struct heft_model *model, uint32_t source, struct heft_error *err)
{
    const struct heft_source *bytes = &model->sources[source].source;
    const struct heft_zip_limits limits = heft_zip_limits_of(&model->limits, model->file_bytes);
    struct heft_arena mem = {0};
    struct heft_zip zip;
    const bool ok = heft_zip_open(&zip, bytes, &limits, &mem, err) &&
                    compare_sum(bytes, heft_zip_find(&zip, HEFT_STR(WEIGHTS)), err);

    heft_arena_release(&mem);
    return ok;
}

static bool verify_keras(const struct heft_model *model, uint32_t source,
                         const struct heft_reporter *to, struct heft_error *err)
{
    struct heft_error found = {0};

    if (!check_keras(model, source, &found)) {
        if (found.code != HEFT_MISMATCH) {
            *err = found;
            return false;
        }
        to->report(to->ctx, HEFT_FINDING, source, found.offset, found.text);
    }
    return heft_h5_verify(model, source, to, err);
}

static const char *const extensions[] = {NULL};

static const struct heft_file_name names[] = {
    {".keras", .rank = HEFT_FILE_WEIGHTS, .order = 7},
    {0},
};

static const struct heft_not_written not_written[] = {
    {"keras", "a .keras archive holds the model's configuration, which a checkpoint does not have; "
              "write the weights as h5, NAME.weights.h5 for Keras"},
    {0},
};

extern const struct heft_format heft_format_keras;
const struct heft_format heft_format_keras = {
    .name = "keras",
    .summary = "models of Keras 3 (.keras)",
    .has_path_names = true,
    .needs_file = true,
    .names = names,
    .not_written = not_written,
    .probe = probe,
    .open = open_keras,
    .verify = verify_keras,
    .check = check_keras,
    .options = heft_h5_options,
    .extensions = extensions,
};
