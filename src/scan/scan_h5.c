/* scan_h5.c: attributes and strings of an HDF5 file: JSON (model_config, training_config and all
 * others that readers of Keras use), and pickles, which PyTables stores there. The file is
 * opened by the registry, so the HDF5 library reads it as for every other verb. */
#include "format/formats.h"
#include "scan/scan_parts.h"

#include "core/registry.h"

static bool is_config(const struct heft_value *value)
{
    const struct heft_str key = {value->key, value->key_len};

    return heft_str_is(key, "model_config") || heft_str_is(key, "training_config");
}

/* Scans an attribute as a pickle: PyTables, and pandas' read_hdf with it, unpickles attributes
 * that look like one. */
static bool judge_attribute(struct heft_scan *s, const struct heft_scan_place *place,
                            const struct heft_value *value, struct heft_error *err)
{
    const struct heft_bytes bytes = {(const uint8_t *)value->text, value->text_len};
    struct heft_scan_place inner = *place;
    struct heft_scan_json ignored;

    inner.base = HEFT_NO_OFFSET;
    if (heft_scan_begins_json(bytes))
        return heft_scan_config(s, &inner, bytes, &ignored, err);
    if (!heft_scan_pay(s, place, bytes.n))
        return true;
    inner.quiet = bytes.p[0] != 0x80; /* without PROTO, any text may look like a pickle */
    inner.bytes = bytes;
    inner.depth++;
    return heft_scan_memory(s, &inner, bytes, err);
}

/* True for an array whose elements have varying length. PyTables unpickles each of them; heft
 * reads none. */
static bool is_pickled(const struct heft_value *value)
{
    return heft_str_is((struct heft_str){value->key, value->key_len}, "PSEUDOATOM") &&
           value->text && strcmp(value->text, "object") == 0;
}

/* Judges every string of the tree, down to eight levels. Siblings are linked lists, so only
 * nesting takes stack. */
static bool judge_texts(struct heft_scan *s, const struct heft_scan_place *place,
                        const struct heft_value *value, unsigned depth, struct heft_error *err)
{
    for (; value; value = value->next_sibling) {
        struct heft_scan_place inner = *place;
        struct heft_buf label = {0};
        bool ok = true;

        if (value->text && value->text_len > 1) {
            inner.record =
                heft_scan_label(&label, place, (struct heft_str){value->key, value->key_len}, err);
            ok = inner.record && judge_attribute(s, &inner, value, err);
        }
        heft_buf_release(&label);
        if (ok && value->kind == HEFT_VALUE_NULL && is_config(value))
            ok = heft_scan_report_text(s, place, HEFT_NO_OFFSET, HEFT_UNKNOWN, "refused",
                                       "a configuration of a type that heft cannot read");
        if (ok && is_pickled(value))
            ok = heft_scan_report_text(s, place, HEFT_NO_OFFSET, HEFT_UNKNOWN, "packed",
                                       "pickles in an array of PyTables, not scanned");
        if (!ok || (depth < 8 && !judge_texts(s, place, value->first_child, depth + 1, err)))
            return false;
    }
    return true;
}

/* Reports links and data in other files: Keras and h5py read them, whatever they are. */
static bool report_other_files(struct heft_scan *s, const struct heft_scan_place *place,
                               const struct heft_model *model, struct heft_error *err)
{
    for (size_t i = 0; i < model->n_unreadable; i++) {
        const struct heft_unreadable *lost = &model->unreadable[i];
        const char *sentence;

        if (!lost->is_elsewhere)
            continue;
        sentence =
            heft_arena_printf(&s->mem, err, "%.*s reads another file, whose path is in this one",
                              (int)heft_min_u64(lost->name.n, 200), lost->name.p);
        if (!heft_scan_report_text(s, place, HEFT_NO_OFFSET, HEFT_UNKNOWN, "code", sentence))
            return false;
    }
    return true;
}

bool heft_scan_is_h5(const struct heft_scan_place *place, bool *is_it, struct heft_error *err)
{
    return heft_registry_find(&heft_formats, "h5")->find_signature(place->src, is_it, err);
}

bool heft_scan_h5(struct heft_scan *s, const struct heft_scan_place *place, struct heft_error *err)
{
    struct heft_model model;
    struct heft_source slice;
    struct heft_error why = {0};
    uint32_t index;
    bool ok;

    if (!heft_source_open_slice(&slice, place->src, 0, place->src->size, s->path, err))
        return false;
    heft_model_init(&model, NULL, &heft_formats);
    model.limits = *s->limits;
    ok = heft_model_add_file(&model, &slice, s->path, &index, &why) &&
         heft_registry_open_source(&model, index, "h5", &why) && heft_model_merge(&model, &why);
    if (ok)
        ok = judge_texts(s, place, model.values, 0, err) &&
             report_other_files(s, place, &model, err);
    else if (why.code == HEFT_NOMEM || why.code == HEFT_IO)
        *err = why;
    else
        heft_scan_report_refused(s, place, &why);
    heft_model_release(&model);
    return ok || (why.code != HEFT_OK && why.code != HEFT_NOMEM && why.code != HEFT_IO);
}
