/* quant_config.c: finds and reads the configuration of a quantized model.
 *
 *     config.json            {"quantization_config": {"quant_method": …}, "torch_dtype": …}   Hugging Face
 *                            {"quantization": {"bits": 4, "group_size": 64}, …}               MLX
 *     hf_quant_config.json   {"quantization": {"quant_algo": "NVFP4", …}, …}                  modelopt
 *     quantize_config.json   {"bits": 4, "group_size": 128, …}                                AutoGPTQ
 *     quant_config.json      {"w_bit": 4, "q_group_size": 128, …}                             AutoAWQ
 *
 * The files are read when a model is opened whose rows may be quantized, from the directory of its first
 * file: later nothing else may be opened. */
#include "quant/quant.h"

#include "base/text.h"

#define MOST_BYTES ((uint64_t)1 << 20)
#define MOST_DEPTH 100 /* levels */

static const char config_kind; /* its address is the kind of the attachment */
static const struct heft_quant_config no_config = {.dtype = HEFT_DTYPE_COUNT};

struct reading {
    struct heft_model *model;
    struct heft_quant_config *config;
    struct heft_error *err;
};

/* ---- reading the files ------------------------------------------------------------------------- */

static const char *path_beside(const struct reading *r, const char *name)
{
    const char *const first = r->model->sources[0].path;

    return heft_arena_printf(&r->model->mem, r->err, "%.*s%s", (int)heft_path_folder(first), first,
                             name);
}

/* Remembers why a file that is there is of no use. False if memory ran out. */
static bool note_failure(struct reading *r, const char *path, const struct heft_error *found)
{
    if (found->code == HEFT_NOMEM) {
        *r->err = *found;
        return false;
    }
    if (!r->config->failed)
        r->config->failed =
            found->offset == HEFT_NO_OFFSET
                ? heft_arena_printf(&r->model->mem, r->err, "%s: %s", path, found->text)
                : heft_arena_printf(&r->model->mem, r->err, "%s: offset 0x%" PRIx64 ": %s", path,
                                    found->offset, found->text);
    return r->config->failed != NULL;
}

static const struct heft_quant_node *
parse_source(struct reading *r, const struct heft_source *source, struct heft_error *found)
{
    struct heft_bytes text;

    if (source->size > MOST_BYTES) {
        heft_fail(found, HEFT_LIMIT, HEFT_NO_OFFSET,
                  "%" PRIu64 " bytes, a configuration may have %" PRIu64, source->size, MOST_BYTES);
        return NULL;
    }
    return heft_source_fetch(source, 0, source->size, &r->model->mem, &text, found)
               ? heft_quant_parse(text, MOST_DEPTH, &r->model->mem, found)
               : NULL;
}

/* Reads a file beside the first one: *root is NULL if it is not there or of no use. */
static bool read_beside(struct reading *r, const char *name, const char **path,
                        const struct heft_quant_node **root)
{
    struct heft_error found = {0};
    struct heft_source source;

    *root = NULL;
    *path = path_beside(r, name);
    if (!*path)
        return false;
    if (heft_files_kind(r->model->files, *path) != HEFT_PATH_FILE)
        return true;
    if (!heft_files_open(r->model->files, &source, *path, &found))
        return note_failure(r, *path, &found);
    *root = parse_source(r, &source, &found);
    heft_source_close(&source);
    return *root || note_failure(r, *path, &found);
}

/* ---- what they say ----------------------------------------------------------------------------- */

static bool is_true(const struct heft_quant_node *node)
{
    return node && node->kind == HEFT_QUANT_BOOL && node->integer;
}

static struct heft_str method_of(const struct heft_quant_config *config)
{
    const struct heft_quant_node *const q = config->quantization;
    const struct heft_quant_node *const named = heft_quant_get(q, "quant_method");

    if (named)
        return heft_quant_text(named);
    if (is_true(heft_quant_get(q, "load_in_4bit")) || is_true(heft_quant_get(q, "load_in_8bit")))
        return HEFT_STR("bitsandbytes");
    if (config->is_mlx || (heft_quant_get(q, "group_size") && heft_quant_get(q, "mode")))
        return HEFT_STR("mlx");
    return (struct heft_str){0};
}

static void read_dtype(struct heft_quant_config *config, const struct heft_quant_node *dict)
{
    const char *const keys[] = {"dtype", "torch_dtype"};

    for (size_t i = 0; i < HEFT_COUNT(keys) && config->dtype == HEFT_DTYPE_COUNT; i++) {
        const struct heft_str text = heft_quant_text(heft_quant_get(dict, keys[i]));
        enum heft_dtype dtype;

        if (text.n && heft_dtype_named(text.p, &dtype) &&
            (dtype == HEFT_BF16 || dtype == HEFT_F16 || dtype == HEFT_F32))
            config->dtype = dtype;
    }
}

static void read_main(struct heft_quant_config *config, const struct heft_quant_node *root,
                      const char *path)
{
    const struct heft_quant_node *const inner = heft_quant_get(root, "text_config");
    const struct heft_quant_node *const mlx = heft_quant_get(root, "quantization");

    config->root = root;
    config->quantization = heft_quant_get(root, "quantization_config");
    if (!config->quantization)
        config->quantization = heft_quant_get(inner, "quantization_config");
    if (!config->quantization)
        config->quantization = heft_quant_get(root, "compression_config");
    if (mlx && mlx->kind == HEFT_QUANT_DICT &&
        !heft_quant_get(config->quantization, "quant_method")) {
        config->quantization = mlx;
        config->is_mlx = true;
    }
    if (config->quantization)
        config->path = path;
    read_dtype(config, root);
    read_dtype(config, inner);
    config->method = method_of(config);
}

/* A file that is about nothing but the quantization. `key`: the member with the parameters, or NULL. */
struct other_file {
    const char *name, *key, *method;
};
static const struct other_file other_files[] = {
    {"hf_quant_config.json", "quantization", "modelopt"},
    {"quantize_config.json", NULL, "gptq"},
    {"quant_config.json", NULL, "awq"},
};

static bool read_others(struct reading *r)
{
    struct heft_quant_config *const config = r->config;

    for (size_t i = 0; !config->quantization && i < HEFT_COUNT(other_files); i++) {
        const struct other_file *const file = &other_files[i];
        const struct heft_quant_node *root, *found;
        const char *path;

        if (!read_beside(r, file->name, &path, &root))
            return false;
        found = file->key ? heft_quant_get(root, file->key) : root;
        if (!found || found->kind != HEFT_QUANT_DICT)
            continue;
        config->quantization = found;
        config->path = path;
        config->method = method_of(config);
        if (config->method.n == 0)
            config->method = heft_str_of(file->method);
    }
    return true;
}

static bool may_be_quantized(const struct heft_model *model)
{
    for (size_t i = 0; i < model->n_rows; i++)
        switch ((enum heft_dtype)model->rows[i].dtype) {
        case HEFT_U8:
        case HEFT_I8:
        case HEFT_I32:
        case HEFT_U32:
        case HEFT_F8_E4M3:
        case HEFT_F8_E5M2:
        case HEFT_F8_E8M0:
            return true;
        default:
            break;
        }
    return false;
}

bool heft_quant_config_open(struct heft_model *model, struct heft_error *err)
{
    struct reading r = {.model = model, .err = err};
    const struct heft_quant_node *root;
    const char *path;

    if (!may_be_quantized(model) || model->n_sources == 0 || !model->sources[0].is_file)
        return true;
    r.config = heft_arena_zero(&model->mem, 1, sizeof *r.config, err);
    if (!r.config)
        return false;
    *r.config = no_config;
    r.config->was_read = true;
    if (!read_beside(&r, "config.json", &path, &root))
        return false;
    read_main(r.config, root, path);
    return read_others(&r) &&
           heft_model_attach(model,
                             (struct heft_attachment){.kind = &config_kind, .data = r.config}, err);
}

const struct heft_quant_config *heft_quant_config_of(const struct heft_model *model)
{
    const struct heft_attachment *const found =
        heft_model_attached(model, &config_kind, (struct heft_str){0});

    return found ? found->data : &no_config;
}

/* ---- parameters -------------------------------------------------------------------------------- */

bool heft_quant_config_refuse(const struct heft_quant_config *config,
                              const struct heft_quant_node *node, enum heft_code code,
                              struct heft_error *err, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    heft_fail_args(err, code, node ? node->where : HEFT_NO_OFFSET, format, args);
    va_end(args);
    return config->path ? heft_error_file(err, config->path) : false;
}

static bool take_integer(const struct heft_quant_config *config, const struct heft_quant_node *node,
                         const char *key, uint64_t least, uint64_t most, uint64_t *out,
                         struct heft_error *err)
{
    *out = 0;
    if (node->kind == HEFT_QUANT_NUMBER && node->is_integer && node->integer >= 0 &&
        (uint64_t)node->integer >= least && (uint64_t)node->integer <= most) {
        *out = (uint64_t)node->integer;
        return true;
    }
    return heft_quant_config_refuse(config, node, HEFT_MALFORMED, err,
                                    "%s is %.40s: expected an integer from %" PRIu64 " to %" PRIu64,
                                    key, node->text.p ? node->text.p : "no number", least, most);
}

static const struct heft_quant_node *member_of(const struct heft_quant_config *config,
                                               const struct heft_quant_node *node, const char *key)
{
    const struct heft_quant_node *const member =
        heft_quant_get(node ? node : config->quantization, key);

    return member && member->kind != HEFT_QUANT_NULL ? member : NULL;
}

bool heft_quant_integer(const struct heft_quant_config *config, const struct heft_quant_node *node,
                        const char *key, uint64_t least, uint64_t most, uint64_t *out, bool *is_set,
                        struct heft_error *err)
{
    const struct heft_quant_node *const member = member_of(config, node, key);

    *is_set = member != NULL;
    *out = 0;
    return !member || take_integer(config, member, key, least, most, out, err);
}

bool heft_quant_pair(const struct heft_quant_config *config, const struct heft_quant_node *node,
                     const char *key, uint64_t out[2], bool *is_set, struct heft_error *err)
{
    const struct heft_quant_node *const member = member_of(config, node, key);
    const struct heft_quant_node *const first = member ? member->child : NULL;

    *is_set = member != NULL;
    out[0] = out[1] = 0;
    if (!member)
        return true;
    if (member->kind != HEFT_QUANT_LIST || !first || !first->next || first->next->next)
        return heft_quant_config_refuse(config, member, HEFT_MALFORMED, err,
                                        "%s: expected a list of two integers", key);
    return take_integer(config, first, key, 1, (uint64_t)1 << 31, &out[0], err) &&
           take_integer(config, first->next, key, 1, (uint64_t)1 << 31, &out[1], err);
}
