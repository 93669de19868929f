/* scan_keras.c: imports and calls that an object of a configuration stands for.
 *
 *     Keras 2   {"class_name": C, "config": {…}}                      C: "Dense", "Package>Name"
 *     Keras 3   {"module": M, "class_name": C, "config": …, "registered_name": R}
 *               functions: M "builtins", C "function", config the name
 *
 * Older releases import any M and call the object that C names in it (CVE-2025-1550). Newer ones
 * accept only keras and its sister packages, but these also have functions that load, save or
 * fetch. */
#include "scan/scan_config.h"

#include "scan/scan_names.h"

static bool is_word(const struct heft_config_text *text, const char *word)
{
    return text->is_set && heft_str_is(heft_config_str(text), word);
}

/* ---- modules that Keras imports ---------------------------------------------------------- */

/* Packages that contain layers. The name must end there or continue with a dot. */
static const char *const packages[] = {
    "keras",
    "keras_hub",
    "keras_nlp",
    "keras_cv",
    "tf_keras",
    "tensorflow.keras",
    "tensorflow.python.keras",
};

static bool is_keras_module(struct heft_str module)
{
    for (size_t i = 0; i < HEFT_COUNT(packages); i++) {
        const struct heft_str package = heft_str_of(packages[i]);

        if (heft_str_starts(module, package) &&
            (module.n == package.n || module.p[package.n] == '.'))
            return true;
    }
    return false;
}

/* Names that Keras exports but no model needs: functions that load, save, fetch, or change how
 * Keras loads. */
static const char *const unfit[] = {
    "audio_dataset_from_directory",
    "clear_session",
    "deserialize_keras_object",
    "enable_unsafe_deserialization",
    "get_file",
    "image_dataset_from_directory",
    "load_img",
    "load_model",
    "load_weights",
    "model_from_json",
    "register_keras_serializable",
    "save_img",
    "save_model",
    "save_weights",
    "serialize_keras_object",
    "text_dataset_from_directory",
};

static bool is_unfit(struct heft_str name)
{
    for (size_t i = 0; i < HEFT_COUNT(unfit); i++)
        if (heft_str_is(name, unfit[i]))
            return true;
    return false;
}

/* True for types of Python and NumPy that configurations hold as values. */
static bool is_value(struct heft_str module, struct heft_str name)
{
    static const char *const values[] = {"function", "slice", "set",  "tuple",
                                         "dict",     "list",  "bytes"};

    for (size_t i = 0; heft_str_is(module, "builtins") && i < HEFT_COUNT(values); i++)
        if (heft_str_is(name, values[i]))
            return true;
    return false;
}

static bool judge_module(struct heft_config *c, const struct heft_config_frame *f,
                         struct heft_error *err)
{
    const bool is_function = is_word(&f->class_name, "function") && f->config.is_set;
    const struct heft_str module = heft_config_str(&f->module);
    const struct heft_str name = heft_config_str(is_function ? &f->config : &f->class_name);
    const char *const text =
        heft_arena_printf(&c->mem, err, "%.*s.%.*s", (int)module.n, module.p, (int)name.n, name.p);
    const struct heft_str path = heft_str_of(text ? text : "");

    if (!text)
        return false;
    if (is_keras_module(module))
        return (!is_unfit(name) && heft_config_path(c, path) != HEFT_DANGER) ||
               heft_config_report(c, HEFT_DANGER, "Keras calls a function that no layer needs",
                                  path, err);
    if (heft_scan_danger(module, name) == HEFT_DANGER)
        return heft_config_report(c, HEFT_DANGER, "Keras imports and calls", path, err);
    if (is_value(module, heft_config_str(&f->class_name)))
        return true;
    return heft_config_report(c, HEFT_UNKNOWN, "Keras needs the class or function", path, err);
}

/* ---- classes that Keras creates ---------------------------------------------------------- */

/* True for a name in TensorFlow's Python interface, which is what a TFOpLambda calls. */
static bool is_plain_op(struct heft_str function)
{
    static const char *const parts[] = {"io.",           "raw_ops.",   "data.",  "saved_model.",
                                        "train.",        "summary.",   "py_",    "numpy_function",
                                        "load_",         "debugging.", "print",  "compat.",
                                        "distribute.",   "profiler.",  "tpu.",   "lookup.",
                                        "__internal__.", "config.",    "keras.", "queue."};

    for (size_t i = 0; i < HEFT_COUNT(parts); i++)
        if (heft_str_starts(function, heft_str_of(parts[i])) &&
            !heft_str_starts(function, HEFT_STR("compat.v1.transpose")))
            return false;
    return true;
}

static const struct {
    const char *name, *sentence;
    enum heft_danger danger;
} classes[] = {
    {"__lambda__", "Keras runs Python code of this file", HEFT_DANGER},
    {"Lambda", "Keras layer that calls a Python function", HEFT_UNKNOWN},
    {"TorchModuleWrapper", "Keras layer that unpickles a torch module", HEFT_UNKNOWN},
    {"TFSMLayer", "Keras layer that loads a SavedModel from a path", HEFT_UNKNOWN},
    {"JaxLayer", "Keras layer that calls a Python function", HEFT_UNKNOWN},
    {"FlaxLayer", "Keras layer that calls a Python object", HEFT_UNKNOWN},
};

static bool judge_class(struct heft_config *c, const struct heft_config_frame *f,
                        struct heft_error *err)
{
    const struct heft_str name = heft_config_str(&f->class_name);
    const struct heft_str registered = heft_config_str(&f->registered);

    for (size_t i = 0; i < HEFT_COUNT(classes); i++)
        if (heft_str_is(name, classes[i].name))
            return heft_config_report(c, classes[i].danger, classes[i].sentence, name, err);
    if (memchr(name.p, '>', name.n))
        return heft_config_report(c, HEFT_UNKNOWN, "Keras needs the registered class", name, err);
    if (f->registered.is_set && memchr(registered.p, '>', registered.n))
        return heft_config_report(c, HEFT_UNKNOWN, "Keras needs the registered class", registered,
                                  err);
    return true;
}

bool heft_config_judge(struct heft_config *c, const struct heft_config_frame *f,
                       struct heft_error *err)
{
    const struct heft_str function = heft_config_str(&f->function);

    if (is_word(&f->function_type, "lambda") &&
        !heft_config_report(c, HEFT_DANGER, "Keras runs Python code of this file",
                            HEFT_STR("lambda"), err))
        return false;
    if (f->has_idx && f->has_path && f->type.is_set &&
        !heft_str_starts(heft_config_str(&f->type), HEFT_STR("sentence_transformers.")) &&
        !heft_config_report(c, HEFT_UNKNOWN, "sentence-transformers imports",
                            heft_config_str(&f->type), err))
        return false;
    if (is_word(&f->class_name, "TFOpLambda") && f->function.is_set && !is_plain_op(function) &&
        !heft_config_report(c, HEFT_UNKNOWN, "Keras calls the TensorFlow function", function, err))
        return false;
    if (!f->class_name.is_set || !f->has_config)
        return true;
    if (f->vocabulary.is_set && f->vocabulary.n &&
        !heft_config_report(c, HEFT_UNKNOWN, "Keras layer that reads a file of words",
                            heft_config_str(&f->vocabulary), err))
        return false;
    return judge_class(c, f, err) && (!f->module.is_set || judge_module(c, f, err));
}

/* ---- classes in diffusers' model_index.json ---------------------------------------------- */

/* Libraries of components, and modules of diffusers' own pipelines, which occur in the same
 * position. */
static const char *const libraries[] = {
    "diffusers",
    "transformers",
    "stable_diffusion",
    "stable_diffusion_xl",
    "paint_by_example",
    "latent_diffusion",
    "kandinsky",
    "kandinsky2_2",
    "kandinsky3",
    "deepfloyd_if",
    "audioldm2",
    "wuerstchen",
    "shap_e",
    "unidiffuser",
    "versatile_diffusion",
    "onnxruntime",
    "flax",
    "flux",
    "ltx",
    "cosmos",
    "deprecated",
};

bool heft_config_pair(struct heft_config *c, struct heft_config_frame *f, struct heft_str text,
                      struct heft_error *err)
{
    if (f->strings++ == 0) {
        f->first.n = (uint16_t)heft_min_u64(text.n, sizeof f->first.bytes);
        memcpy(f->first.bytes, text.p, f->first.n);
        return true;
    }
    if (!c->is_index || c->n_frames != 2 || f->strings != 2)
        return true;
    if (is_word(&f->key, "_class_name"))
        return heft_config_report(c, HEFT_UNKNOWN, "a pipeline in Python, _class_name",
                                  heft_config_str(&f->first), err);
    for (size_t i = 0; i < HEFT_COUNT(libraries); i++)
        if (heft_str_is(heft_config_str(&f->first), libraries[i]))
            return true;
    return heft_config_report(c, HEFT_UNKNOWN, "diffusers imports", heft_config_str(&f->first),
                              err);
}
