/* gguf_file.c: looks up the files of GGUF among those of a model, and their key-value pairs. */
#include "format/gguf/gguf_parts.h"

const char heft_gguf_kind = 0;

const struct heft_gguf_file *heft_gguf_file_at(const struct heft_model *model, uint32_t source)
{
    for (size_t i = 0; i < model->n_attachments; i++) {
        const struct heft_attachment *const a = &model->attachments[i];
        const struct heft_gguf_file *const file = a->data;

        if (a->kind == &heft_gguf_kind && file->source == source)
            return file;
    }
    return NULL;
}

const struct heft_gguf_pair *heft_gguf_find(const struct heft_gguf_file *file, const char *key)
{
    for (size_t i = 0; i < file->n_pairs; i++)
        if (heft_str_is(file->pairs[i].key, key))
            return &file->pairs[i];
    return NULL;
}
