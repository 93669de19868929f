/* heft_view.c: the public API for views: tensors mapped from their files.
 *
 * A file is mapped as a whole on first use, so that a thousand tensors need one mapping. If it is
 * larger than a part of the address space (32 bits), or the system refuses, the pages of each
 * tensor are mapped. */
#include "base/require_arg.h"
#include "api/checkpoint.h"
#include "heft/heft.h"

#define MOST_WHOLE (SIZE_MAX / 16) /* bytes of a file that is mapped as a whole */

static bool map_whole(struct heft_checkpoint *c, uint32_t source)
{
    const struct heft_source *s = &c->model.sources[source].source;
    struct heft_error ignored = {0};

    if (!c->maps)
        c->maps = heft_calloc(c->model.n_sources + 1, sizeof *c->maps, &ignored);
    return c->maps &&
           (c->maps[source].data || (s->size <= MOST_WHOLE && !s->is_called &&
                                     heft_source_map(s, 0, s->size, &c->maps[source], &ignored)));
}

/* The caller holds the lock. `at` is an offset in the source. */
static const uint8_t *view_of(struct heft_checkpoint *c, size_t index, uint32_t source, uint64_t at,
                              struct heft_error *err)
{
    const struct heft_source *s = &c->model.sources[source].source;

    if (map_whole(c, source))
        return c->maps[source].data + at;
    if (!c->row_maps)
        c->row_maps = heft_calloc(c->model.n_rows + 1, sizeof *c->row_maps, err);
    if (!c->row_maps ||
        (!c->row_maps[index].data &&
         !heft_source_map(s, at, c->model.rows[index].bytes, &c->row_maps[index], err)))
        return NULL;
    return c->row_maps[index].data;
}

static bool find_view(struct heft_checkpoint *c, size_t index, uint32_t source, uint64_t at,
                      const void **data, struct heft_error *err)
{
    const uint8_t *found;

    heft_lock_take(c->lock);
    found = view_of(c, index, source, at, err);
    heft_lock_drop(c->lock);
    if (found)
        *data = found;
    return found != NULL;
}

bool heft_tensor_map(struct heft_checkpoint *c, size_t index, const void **data,
                     struct heft_error *err)
{
    if (!heft_require_arg(c && data, "an argument", err))
        return false;
    const struct heft_row *row = heft_checkpoint_row(c, index, err);
    const struct heft_storage *storage;
    uint64_t at;

    if (!row)
        return false;
    storage = &c->model.storages[row->storage];
    if (row->parts || row->stride || row->flags || storage->coding != HEFT_CODING_RAW) {
        heft_fail(err, HEFT_UNSUPPORTED, storage->off,
                  "is not stored contiguously in the file (%s); read it instead",
                  row->parts                           ? "in parts"
                  : storage->coding != HEFT_CODING_RAW ? "deflated"
                  : row->stride                        ? "strided"
                                                       : "byte order or sign");
        return heft_error_about(err, "tensor", row->name);
    }
    if (storage->is_missing) {
        heft_reader_refuse_missing(&c->model, row->storage, err);
        return heft_error_about(err, "tensor", row->name);
    }
    if (row->bytes == 0) {
        *data = "";
        return true;
    }
    at = storage->off + row->offset;
    return (heft_source_check_end(&c->model.sources[storage->source].source, at, row->bytes, err) &&
            find_view(c, index, storage->source, at, data, err)) ||
           heft_error_about(err, "tensor", row->name);
}
