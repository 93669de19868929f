/* tf_saved_words.c: keys, dtypes and shapes as the trees of info hold them. A shape of unknown rank
 * is null, an unknown dimension -1. */
#include "base/text.h"
#include "format/tensorflow/bundle/tf_parts.h"
#include "format/tensorflow/saved_model/tf_saved.h"

#define KEY HEFT_STR

bool heft_tf_key(struct heft_arena *mem, struct heft_str raw, struct heft_str *out,
                 struct heft_error *err)
{
    struct heft_buf escaped = {0};

    *out = raw;
    if (heft_utf8_check((struct heft_bytes){(const uint8_t *)raw.p, raw.n}) == raw.n)
        return true;
    heft_buf_escaped(&escaped, raw);
    return heft_buf_take(&escaped, mem, out, err);
}

bool heft_tf_file_info_dtype(struct heft_arena *mem, struct heft_node *in, uint32_t dtype,
                             struct heft_error *err)
{
    const struct heft_tf_dtype *const known = heft_tf_dtype(dtype);
    const char *name = dtype ? "UNKNOWN" : "INVALID";

    if (known && known->dtype < HEFT_DTYPE_COUNT)
        name = heft_dtype_name(known->dtype);
    else if (known && strncmp(known->label, "DT_", 3) == 0)
        name = known->label + 3;
    return heft_tree_text(mem, in, KEY("dtype"), heft_str_of(name), err);
}

bool heft_tf_file_info_shape(struct heft_arena *mem, struct heft_node *in,
                             const struct heft_tf_shape *shape, struct heft_error *err)
{
    struct heft_node *list;
    bool ok;

    if (shape->unknown_rank)
        return heft_tree_null(mem, in, KEY("shape"), err);
    list = heft_tree_list(mem, in, KEY("shape"), err);
    ok = list != NULL;
    for (uint32_t i = 0; ok && i < shape->rank; i++)
        ok = heft_tree_number(mem, list, KEY(""), shape->dims[i], err);
    return ok;
}
