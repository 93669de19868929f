/* scan_h5.c: the JSON in the attributes and strings of an HDF5 file: model_config, training_config and
 * whatever else Keras' readers take.
 *
 * The registry opens the file, so the HDF5 library reads it as it does for every verb. */
#include "format/scan_parts.h"

#include "core/registry.h"

static bool is_config(const struct heft_value *value)
{
    const struct heft_str key = {value->key, value->key_len};

    return heft_str_is(key, "model_config") || heft_str_is(key, "training_config");
}

/* Every text of the tree. Values hang in lists, so the walk needs no stack of its own but the way
 * down. */
static bool judge_texts(struct heft_scan *s, const struct heft_scan_place *place,
                        const struct heft_value *value, unsigned depth, struct heft_error *err)
{
    for (; value; value = value->next_sibling) {
        struct heft_scan_place inner = *place;
        struct heft_buf label = {0};
        bool ok = true, ignored;

        if (value->text && value->text_len > 1 && memchr("{[", value->text[0], 2)) {
            inner.record =
                heft_scan_label(&label, place, (struct heft_str){value->key, value->key_len}, err);
            inner.base = HEFT_NO_OFFSET;
            ok = inner.record &&
                 heft_scan_config(
                     s, &inner, (struct heft_bytes){(const uint8_t *)value->text, value->text_len},
                     &ignored, err);
        }
        heft_buf_release(&label);
        if (ok && value->kind == HEFT_VALUE_NULL && is_config(value))
            ok = heft_scan_tell(s, place, HEFT_NO_OFFSET, HEFT_UNKNOWN, "refused",
                                "a configuration of a type that heft does not read");
        if (!ok || (depth < 8 && !judge_texts(s, place, value->first_child, depth + 1, err)))
            return false;
    }
    return true;
}

bool heft_scan_is_h5(const struct heft_scan_place *place, bool *is_it, struct heft_error *err)
{
    return heft_registry_find("h5")->seek(place->src, is_it, err);
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
    heft_model_init(&model, NULL);
    model.limits = *s->limits;
    ok = heft_model_add_file(&model, &slice, s->path, &index, &why) &&
         heft_registry_open_source(&model, index, "h5", &why);
    if (ok)
        ok = judge_texts(s, place, model.values, 0, err);
    else if (why.code == HEFT_NOMEM || why.code == HEFT_IO)
        *err = why;
    else
        heft_scan_break_off(s, &why);
    heft_model_release(&model);
    return ok || (why.code != HEFT_OK && why.code != HEFT_NOMEM && why.code != HEFT_IO);
}
