/* h5_config.c: layers in config.json of a .keras archive: the class of each layer, by the layer's
 * name, and which of its variables it does without.
 *
 *     {"module": "keras.layers", "class_name": "SpectralNormalization", "config": {"name": "sn",
 *      "layer": {"module": "keras.layers", "class_name": "Dense", "config": {"name": "dense",
 *                "use_bias": false, …}, …}, …}, "registered_name": null, …}
 *
 * Objects of this form may be anywhere in the document, at any depth. Classes of other modules are
 * the user's own, whatever their names. A name used by two classes is ambiguous, and its class
 * unknown. */
#include "base/text.h"
#include "format/hdf5/h5_parts.h"
#include "wire/json.h"

enum key { OTHER, CLASS_NAME, MODULE, CONFIG, NAME, FIRST_SETTING };

/* Settings, and the value with which a layer does without a variable. */
static const struct {
    const char *key;
    enum heft_json_token value;
    uint8_t without;
} settings[] = {
    {"use_bias", HEFT_JSON_FALSE, HEFT_H5_BIAS},
    {"bias_axes", HEFT_JSON_NULL, HEFT_H5_BIAS},
    {"scale", HEFT_JSON_FALSE, HEFT_H5_SCALE},
    {"center", HEFT_JSON_FALSE, HEFT_H5_CENTER},
    {"rms_scaling", HEFT_JSON_TRUE, HEFT_H5_CENTER},
    {"tie_weights", HEFT_JSON_TRUE, HEFT_H5_REVERSE},
};

/* An open object or array. */
struct frame {
    struct heft_str class_name, module;
    struct heft_str name; /* from the object `config`; passed to the object around it */
    uint8_t without;      /* … as is this */
    uint8_t key;          /* key of the next value */
    bool has_input;       /* an InputLayer is in its list */
};

struct reading {
    struct heft_h5_config *out;
    struct heft_json json;
    struct heft_arena *mem;
    struct frame *frames;
    size_t n, cap;
    struct heft_error *err;
};

static uint8_t key_of(struct heft_str text)
{
    static const char *const names[] = {
        [CLASS_NAME] = "class_name", [MODULE] = "module", [CONFIG] = "config", [NAME] = "name"};

    for (size_t i = CLASS_NAME; i < HEFT_COUNT(names); i++)
        if (heft_str_is(text, names[i]))
            return (uint8_t)i;
    for (size_t i = 0; i < HEFT_COUNT(settings); i++)
        if (heft_str_is(text, settings[i].key))
            return (uint8_t)(FIRST_SETTING + i);
    return OTHER;
}

size_t heft_h5_plain(struct heft_str name, char *out, size_t room)
{
    size_t n = 0;

    for (size_t i = 0; i < name.n; i++) {
        const char c = name.p[i];

        if (c == '_')
            continue;
        if (n == room)
            return 0;
        out[n++] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
    return n;
}

/* ---- classes of layers ------------------------------------------------------------------- */

static bool is_keras(struct heft_str module)
{
    return heft_str_is(module, "keras") || heft_str_is(module, "keras.layers") ||
           heft_str_starts(module, HEFT_STR("keras.src."));
}

static bool take_class(const struct reading *r, const struct frame *f, struct heft_str *out)
{
    char *text = heft_arena_alloc(r->mem, f->class_name.n + 1, r->err);

    if (!text)
        return false;
    out->p = text;
    out->n = heft_h5_plain(f->class_name, text, f->class_name.n);
    return true;
}

static bool are_same(const struct heft_h5_class *a, const struct heft_h5_class *b)
{
    return a->is_known && b->is_known && heft_str_eq(a->name, b->name) &&
           a->without == b->without && a->has_input == b->has_input;
}

static bool add_class(struct reading *r, struct heft_str title, const struct heft_h5_class *layer)
{
    struct heft_h5_config *const out = r->out;
    uint32_t found;

    if (!heft_strmap_add(&out->titles, title, (uint32_t)out->n, &found, r->err))
        return false;
    if (found != HEFT_MAP_NONE) {
        out->list[found].is_known = are_same(&out->list[found], layer);
        return true;
    }
    if (!heft_grow(&out->list, &out->cap, out->n, 1, sizeof *out->list, r->err))
        return false;
    out->list[out->n++] = *layer;
    return true;
}

/* Handles the end of an object: if it describes a layer, adds the layer's class. */
static bool end_object(struct reading *r, const struct frame *f)
{
    struct heft_h5_class layer = {
        .without = f->without, .has_input = f->has_input, .is_known = is_keras(f->module)};
    uint32_t found;

    if (r->n && r->frames[r->n - 1].key == CONFIG) {
        struct frame *const around = &r->frames[r->n - 1];

        around->name = f->name;
        around->without = f->without;
        around->has_input = f->has_input;
    }
    if (!f->class_name.p || !f->class_name.n)
        return true;
    if (layer.is_known && heft_str_is(f->class_name, "InputLayer") && r->n >= 2)
        r->frames[r->n - 2].has_input = true; /* frame around the list of layers */
    return take_class(r, f, &layer.name) &&
           (layer.is_known || heft_strmap_add(&r->out->foreign, layer.name, 0, &found, r->err)) &&
           (!f->name.n || add_class(r, f->name, &layer));
}

/* ---- parsing the document ---------------------------------------------------------------- */

static bool begin_frame(struct reading *r)
{
    if (!heft_grow(&r->frames, &r->cap, r->n, 1, sizeof *r->frames, r->err))
        return false;
    r->frames[r->n++] = (struct frame){.key = OTHER};
    return true;
}

static void take_value(struct reading *r, enum heft_json_token token)
{
    struct frame *const f = &r->frames[r->n - 1];
    struct heft_str *const texts[] = {
        [CLASS_NAME] = &f->class_name, [MODULE] = &f->module, [NAME] = &f->name};

    if (f->key >= FIRST_SETTING) {
        if (token == settings[f->key - FIRST_SETTING].value)
            f->without |= settings[f->key - FIRST_SETTING].without;
    } else if (token == HEFT_JSON_STRING && f->key != OTHER && f->key != CONFIG) {
        *texts[f->key] = r->json.text;
    }
}

static bool read_document(struct reading *r)
{
    for (;;) {
        const enum heft_json_token token = heft_json_next(&r->json);

        switch (token) {
        case HEFT_JSON_ERROR:
            return false;
        case HEFT_JSON_END:
            return true;
        case HEFT_JSON_OBJECT:
        case HEFT_JSON_ARRAY:
            if (!begin_frame(r))
                return false;
            break;
        case HEFT_JSON_OBJECT_END:
        case HEFT_JSON_ARRAY_END: {
            const struct frame done = r->frames[--r->n];

            if (token == HEFT_JSON_OBJECT_END && !end_object(r, &done))
                return false;
            break;
        }
        case HEFT_JSON_KEY:
            r->frames[r->n - 1].key = key_of(r->json.text);
            break;
        default:
            if (r->n)
                take_value(r, token);
        }
    }
}

bool heft_h5_read_config(struct heft_h5_config *out, struct heft_bytes text, struct heft_arena *mem,
                         struct heft_error *err)
{
    struct reading r = {.out = out, .mem = mem, .err = err};
    bool ok;

    if (heft_utf8_check(text) != text.n)
        return heft_fail(err, HEFT_MALFORMED, heft_utf8_check(text), "is not UTF-8");
    heft_json_begin(&r.json, text, 0, mem, err);
    heft_json_wholly_as_python(&r.json);
    ok = read_document(&r);
    heft_free(r.frames);
    return ok;
}

const struct heft_h5_class *heft_h5_find_class(const struct heft_h5_config *config,
                                               struct heft_str title)
{
    const uint32_t at = heft_strmap_get(&config->titles, title);

    return at == HEFT_MAP_NONE ? NULL : &config->list[at];
}

void heft_h5_release_config(struct heft_h5_config *config)
{
    heft_strmap_release(&config->titles);
    heft_strmap_release(&config->foreign);
    heft_free(config->list);
}
