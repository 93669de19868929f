/* gguf_about.c: what info says about a GGUF besides its pairs: version, byte order, alignment, and the
 * names behind the numbers of its quantization. */
#include "format/gguf/gguf_read.h"

struct about {
    struct heft_model *model;
    const struct heft_value *values; /* of the file; NULL if it has none */
    struct heft_node *node;
    struct heft_error *err;
};

static const struct heft_value *value_of(const struct about *a, const char *key)
{
    for (const struct heft_value *v = a->values ? a->values->first_child : NULL; v;
         v = v->next_sibling)
        if (strcmp(v->key, key) == 0)
            return v;
    return NULL;
}

static bool add_text(struct about *a, const char *name, struct heft_str text)
{
    return heft_tree_text(&a->model->mem, a->node, heft_str_of(name), text, a->err);
}

static bool add_number(struct about *a, const char *name, uint64_t number)
{
    return heft_tree_unsigned(&a->model->mem, a->node, heft_str_of(name), number, a->err);
}

static bool add_architecture(struct about *a)
{
    const struct heft_value *const v = value_of(a, "general.architecture");

    return !v || v->kind != HEFT_VALUE_STRING ||
           add_text(a, "architecture", (struct heft_str){v->text, v->text_len});
}

/* A hint of the writer, by which no tensor is read. */
static bool add_file_type(struct about *a)
{
    const struct heft_value *const v = value_of(a, "general.file_type");
    const char *name;

    if (!v || v->kind != HEFT_VALUE_INT || v->as.integer < 0)
        return true;
    name = heft_gguf_file_type((uint64_t)v->as.integer);
    return name ? add_text(a, "file_type", heft_str_of(name))
                : add_number(a, "file_type", (uint64_t)v->as.integer);
}

static bool add_quantization_version(struct about *a)
{
    const struct heft_value *const v = value_of(a, "general.quantization_version");

    return !v || v->kind != HEFT_VALUE_INT || v->as.integer < 0 ||
           add_number(a, "quantization_version", (uint64_t)v->as.integer);
}

bool heft_gguf_describe(struct heft_model *model, const struct heft_gguf_file *file,
                        struct heft_error *err)
{
    struct heft_node *const root = heft_model_file_info(model, err);
    struct about a = {.model = model, .err = err};

    for (size_t i = 0; i < model->n_trees; i++)
        if (model->trees[i].source == file->source)
            a.values = model->trees[i].root;
    a.node = root ? heft_tree_dict(&model->mem, root, HEFT_STR("gguf"), err) : NULL;
    if (!model->version)
        model->version = heft_arena_printf(&model->mem, err, "version %" PRIu32 "%s", file->version,
                                           file->is_big_endian ? ", big-endian" : "");
    return a.node && model->version && add_number(&a, "version", file->version) &&
           add_text(&a, "byte_order", file->is_big_endian ? HEFT_STR("big") : HEFT_STR("little")) &&
           add_number(&a, "alignment", file->alignment) && add_architecture(&a) &&
           add_file_type(&a) && add_quantization_version(&a);
}
