/* h5_kept.c: keeps the layers of a Keras file that is converted to HDF5 again.
 *
 *     /inner         weight_names = [d1/kernel, d2/kernel]     a model that is a layer of a model
 *     row "d1/kernel"  ──►  layer "inner", weight "d1/kernel"  ──►  /inner/d1/kernel, listed there
 *
 * Names do not contain the model of a layer, and Keras' load_weights counts layers: the source's
 * layers are therefore kept. All or none: a file has one kind of names. */
#include "format/hdf5/h5_parts.h"

const char heft_h5_place_kind = 0;

/* Maps row names to attachments of places. */
static bool map_places(const struct heft_model *model, struct heft_strmap *map,
                       struct heft_error *err)
{
    for (uint32_t i = 0; i < model->n_attachments; i++)
        if (model->attachments[i].kind == &heft_h5_place_kind &&
            !heft_strmap_set(map, model->attachments[i].name, i, err))
            return false;
    return true;
}

/* Sets the path of a dataset, "inner/d1/kernel"; NUL-terminated, as libhdf5 needs it. */
static bool join_path(struct heft_arena *mem, struct heft_h5_place *place, struct heft_error *err)
{
    struct heft_buf buf = {0};

    heft_buf_str(&buf, place->layer);
    heft_buf_text(&buf, place->layer.n ? "/" : "");
    heft_buf_str(&buf, place->weight);
    return heft_buf_take(&buf, mem, &place->path, err);
}

/* *found: the item has the name by which its layer lists it. */
static bool find_place(const struct heft_export_list *exports, const struct heft_strmap *map,
                       size_t i, struct heft_h5_place *place, bool *found, struct heft_error *err)
{
    const struct heft_export_item *item = &exports->items[i];
    const uint32_t at = heft_strmap_get(map, item->row->name);

    *found = at != HEFT_MAP_NONE && heft_str_eq(item->name, item->row->name);
    if (!*found)
        return true;
    *place = *(const struct heft_h5_place *)exports->model->attachments[at].data;
    return join_path(exports->mem, place, err);
}

bool heft_h5_keep(const struct heft_export_list *exports, const struct heft_h5_place **kept,
                  bool *lost, struct heft_error *err)
{
    struct heft_strmap map = {0};
    const bool mapped = map_places(exports->model, &map, err);
    const size_t n = map.count ? exports->n_items : 0;
    struct heft_h5_place *places = heft_arena_zero(exports->mem, n, sizeof *places, err);
    bool ok = mapped && places, all = n > 0;

    for (size_t i = 0; ok && all && i < n; i++)
        ok = find_place(exports, &map, i, &places[i], &all, err);
    heft_strmap_release(&map);
    *kept = all ? places : NULL;
    *lost = n > 0 && !all;
    return ok;
}
