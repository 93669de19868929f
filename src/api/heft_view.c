/* heft_view.c: the public API for views: tensors mapped from their files.
 *
 * A file is mapped as a whole on first use, once for reading and once for copy-on-write views: to
 * open a file of 1 GB, list its 300 tensors and view them takes 0.17 ms, with a mapping for each
 * tensor 0.9 ms. Reading every page takes 0.136 s and 3130 page faults, with safetensors' safe_open
 * 0.139 s and as many faults (Linux 6.18, ext4): both map the file as a whole, aligned for pages of
 * 2 MiB. If the file is larger than a part of the address space (32 bits), or the system refuses,
 * the pages of each tensor or storage are mapped. */
#include "base/require_arg.h"
#include "base/sized.h"
#include "api/checkpoint.h"
#include "heft/heft.h"

#define MOST_WHOLE (SIZE_MAX / 16) /* bytes of a file that is mapped as a whole */

static bool map_whole(struct heft_checkpoint *c, bool writable, uint32_t source)
{
    const struct heft_source *s = &c->model.sources[source].source;
    struct heft_views *const views = &c->views[writable];
    struct heft_error ignored = {0};

    if (!views->files)
        views->files = heft_calloc(c->model.n_sources + 1, sizeof *views->files, &ignored);
    return views->files &&
           (views->files[source].data ||
            (s->size <= MOST_WHOLE && !s->is_called &&
             heft_source_map(s, 0, s->size, writable, &views->files[source], &ignored)));
}

/* Position of a view. */
struct place {
    uint32_t source;
    uint64_t at, bytes; /* byte range in the source */
    uint64_t before;    /* bytes in front of it that are mapped with it */
    size_t part;        /* index in heft_views.parts */
};

/* Copy-on-write views of one storage must share their pages, because tied tensors share their
 * elements: there the storage is mapped, and for reading only the row. */
static struct place find_place(const struct heft_model *model, size_t index, bool writable)
{
    const struct heft_row *const row = &model->rows[index];
    const struct heft_storage *const storage = &model->storages[row->storage];

    return (struct place){.source = storage->source,
                          .at = storage->off + row->offset,
                          .before = writable ? row->offset : 0,
                          .part = writable ? row->storage : index};
}

static size_t parts_of(const struct heft_model *model, bool writable)
{
    return writable ? model->n_storages : model->n_rows;
}

/* Maps the pages of a row or a storage. */
static bool map_part(struct heft_checkpoint *c, size_t index, bool writable,
                     const struct place *place, struct heft_error *err)
{
    const struct heft_source *s = &c->model.sources[place->source].source;
    const uint64_t bytes =
        writable ? c->model.storages[c->model.rows[index].storage].len : place->bytes;
    struct heft_views *const views = &c->views[writable];

    if (!views->parts)
        views->parts = heft_calloc(parts_of(&c->model, writable) + 1, sizeof *views->parts, err);
    return views->parts && (views->parts[place->part].data ||
                            heft_source_map(s, place->at - place->before, bytes, writable,
                                            &views->parts[place->part], err));
}

/* The caller holds the lock. */
static uint8_t *view_of(struct heft_checkpoint *c, size_t index, bool writable,
                        const struct place *place, struct heft_error *err)
{
    const struct heft_views *const views = &c->views[writable];

    if (map_whole(c, writable, place->source))
        return views->files[place->source].data + place->at;
    return map_part(c, index, writable, place, err) ? views->parts[place->part].data + place->before
                                                    : NULL;
}

static bool find_view(struct heft_checkpoint *c, size_t index, bool writable,
                      const struct place *place, struct heft_view *out, struct heft_error *err)
{
    uint8_t *found;

    heft_lock_take(c->lock);
    found = view_of(c, index, writable, place, err);
    heft_lock_drop(c->lock);
    if (found)
        *out = (struct heft_view){.data = found, .bytes = place->bytes};
    return found != NULL;
}

static bool check_layout(const struct heft_row *row, const struct heft_storage *storage,
                         bool strided, struct heft_error *err)
{
    const bool has_strides = row->stride && !strided;

    if (!row->parts && !has_strides && !row->flags && storage->coding == HEFT_CODING_RAW)
        return true;
    return heft_fail(err, HEFT_UNSUPPORTED, storage->off,
                     "is not stored contiguously in the file (%s); read it instead",
                     row->parts                           ? "in parts"
                     : storage->coding != HEFT_CODING_RAW ? "deflated"
                     : has_strides                        ? "strided"
                                                          : "byte order or sign");
}

static bool view_row(struct heft_checkpoint *c, size_t index,
                     const struct heft_view_options *options, struct heft_view *out,
                     struct heft_error *err)
{
    const struct heft_row *const row = &c->model.rows[index];
    const struct heft_storage *const storage = &c->model.storages[row->storage];
    struct place place = find_place(&c->model, index, options->writable);

    if (!check_layout(row, storage, options->strided, err))
        return false;
    if (storage->is_missing)
        return heft_reader_refuse_missing(&c->model, row->storage, err);
    if (row->bytes == 0) {
        out->data = (void *)(uintptr_t) "";
        return true;
    }
    return heft_row_extent(row, &place.bytes) &&
           heft_source_check_end(&c->model.sources[place.source].source, place.at, place.bytes,
                                 err) &&
           find_view(c, index, options->writable, &place, out, err);
}

bool heft_tensor_view(struct heft_checkpoint *c, size_t index,
                      const struct heft_view_options *options, struct heft_view *out,
                      struct heft_error *err)
{
    struct heft_view_options o;
    struct heft_view view = {0};
    const struct heft_row *row;

    if (!HEFT_TAKE(heft_view_options, &o, options, err) ||
        !heft_require_arg(c && out, "an argument", err))
        return false;
    row = heft_checkpoint_row(c, index, err);
    if (!row)
        return false;
    if (!view_row(c, index, &o, &view, err))
        return heft_error_about(err, "tensor", row->name);
    HEFT_FILL(heft_view, out, &view);
    return true;
}

bool heft_tensor_map(struct heft_checkpoint *c, size_t index, const void **data,
                     struct heft_error *err)
{
    struct heft_view view = {0};

    if (!heft_require_arg(c && data, "an argument", err) ||
        !heft_tensor_view(c, index, NULL, &view, err))
        return false;
    *data = view.data;
    return true;
}

static void drop_mappings(struct heft_mapping *mappings, size_t n)
{
    for (size_t i = 0; mappings && i < n; i++)
        heft_mapping_release(&mappings[i]);
    heft_free(mappings);
}

void heft_checkpoint_drop_views(struct heft_checkpoint *c)
{
    for (int kind = 0; kind < HEFT_VIEWS_KINDS; kind++) {
        drop_mappings(c->views[kind].files, c->model.n_sources);
        drop_mappings(c->views[kind].parts, parts_of(&c->model, kind == HEFT_VIEWS_WRITE));
    }
}
