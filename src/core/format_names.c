/* format_names.c: formats by name, as people call them, and by the extension of a file to write.
 * Names of other tools and of other formats are refused with what is possible instead. */
#include "base/text.h"
#include "core/registry.h"

static const struct {
    const char *said, *name;
} synonyms[] = {
    {"pt", "torch"},       {"pth", "torch"},
    {"bin", "torch"},      {"ckpt", "torch"},
    {"pytorch", "torch"},  {"legacy", "torch-legacy"},
    {"st", "safetensors"}, {"safetensor", "safetensors"},
    {"tensorflow", "tf"},  {"bundle", "tf"},
    {"hdf5", "h5"},        {"executorch", "ptd"},
    {"numpy", "npz"},
};

/* What is asked for, and cannot be written: by name or by extension. */
static const struct {
    const char *said, *instead;
} not_written[] = {
    {"gguf", "GGUF needs the model's tokenizer and hyper-parameters; write safetensors, "
             "and convert that with llama.cpp's convert_hf_to_gguf.py"},
    {"onnx", "ONNX holds a graph, which a checkpoint does not have; write the weights as "
             "safetensors"},
    {"tflite", "TFLite holds a graph, which a checkpoint does not have; write the weights as tf"},
    {"keras", "a .keras archive holds the model's configuration, which a checkpoint does not have; "
              "write the weights as h5, NAME.weights.h5 for Keras"},
    {"pb", "a graph or a SavedModel is not made of weights alone; option into writes a copy of "
           "a SavedModel with them"},
    {"saved-model", "a SavedModel is not made of weights alone; option into writes a copy of "
                    "one with them"},
    {"pte", "a program is not made of weights alone; write the weights as ptd"},
    {"pkl", "plain pickles are only read; write torch, which torch.load reads"},
    {"pickle", "plain pickles are only read; write torch, which torch.load reads"},
    {"tar", "archives of torch before 0.1.10 are only read; write torch, today's form, "
            "or torch-legacy, the one before 1.6"},
    {"msgpack", "Flax msgpack is not written; write safetensors, which Flax reads, too"},
    {"mlmodel", "Core ML holds a graph, which a checkpoint does not have; write the weights as "
                "safetensors"},
};

static bool same_word(const char *a, const char *b)
{
    for (; *a && *b; a++, b++)
        if ((*a | 0x20) != (*b | 0x20))
            return false;
    return *a == *b;
}

const struct heft_format *heft_registry_named(const struct heft_formats *formats, const char *name)
{
    const struct heft_format *format = heft_registry_find(formats, name);

    for (size_t i = 0; !format && i < HEFT_COUNT(synonyms); i++)
        if (same_word(synonyms[i].said, name))
            format = heft_registry_find(formats, synonyms[i].name);
    return format;
}

static const char *instead_of(const char *word)
{
    for (size_t i = 0; i < HEFT_COUNT(not_written); i++)
        if (same_word(not_written[i].said, word))
            return not_written[i].instead;
    return NULL;
}

/* "torch, safetensors, …" */
static void list_formats(const struct heft_formats *formats, char *text, size_t room, bool writes)
{
    const struct heft_format *format;
    size_t used = 0;

    for (size_t i = 0; (format = heft_registry_at(formats, i)); i++) {
        const size_t n = strlen(format->name);

        if (!(writes ? heft_format_writes(format) : format->open != NULL) || used + n + 3 > room)
            continue;
        if (used) {
            memcpy(text + used, ", ", 2);
            used += 2;
        }
        memcpy(text + used, format->name, n);
        used += n;
    }
    text[used] = '\0';
}

bool heft_registry_refuse_reader(const struct heft_formats *formats, const char *name,
                                 struct heft_error *err)
{
    char names[400];

    list_formats(formats, names, sizeof names, false);
    return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                     "no format \"%s\" can be read; expected one of %s", name, names);
}

bool heft_registry_refuse_writer(const struct heft_formats *formats, const char *name,
                                 struct heft_error *err)
{
    const char *const instead = instead_of(name);
    char names[400];

    if (instead)
        return heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET, "%s cannot be written: %s", name,
                         instead);
    list_formats(formats, names, sizeof names, true);
    return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                     "no format \"%s\" can be written; expected one of %s", name, names);
}

bool heft_registry_refuse_extension(const struct heft_formats *formats, const char *path,
                                    struct heft_error *err)
{
    const char *const dot = strrchr(path + heft_path_folder(path), '.');
    const char *const instead = dot ? instead_of(dot + 1) : NULL;
    char names[400];

    if (instead)
        return heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET, "%s: .%s cannot be written: %s",
                         path, dot + 1, instead);
    list_formats(formats, names, sizeof names, true);
    return heft_fail(
        err, HEFT_USAGE, HEFT_NO_OFFSET,
        "%s: its extension names no format that can be written; name one with option to: %s", path,
        names);
}
