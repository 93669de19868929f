/* zero.c: checkpoints of DeepSpeed ZeRO, stages 0 to 3, merged as DeepSpeed's zero_to_fp32 does.
 *
 *     latest                              "global_step2": the directory of the newest checkpoint
 *     global_step2/mp_rank_00_model_states.pt                  shapes, buffers, 16-bit copies
 *     global_step2/zero_pp_rank_0_mp_rank_00_optim_states.pt   fp32 weights of rank 0, in flat vectors
 *     global_step2/zero_pp_rank_1_mp_rank_00_optim_states.pt   of rank 1
 *
 * Each file is one of torch.save: its rows and values are read by torch's own readers, and taken off the
 * model again. The rows of the result are boxes of those vectors. See doc/format/deepspeed.md. */
#include "format/torch/ranks/shard_pickles.h"
#include "format/torch/ranks/zero.h"
#include "format/torch/zip/torch_archive.h"

/* ---- which files are read ---------------------------------------------------------------- */

/* Stage of a checkpoint without optimizer files: that of ds_config, 0 if it has none. */
static uint64_t stage_of_config(const struct heft_zero_file *file)
{
    const struct heft_value *config = heft_zero_member(file->values, "ds_config");
    const struct heft_value *zero = heft_zero_member(config, "zero_optimization");
    uint64_t stage;

    return heft_zero_number(heft_zero_member(zero, "stage"), &stage) ? stage : 0;
}

/* Keys of kinds of parallelism whose parts cannot be joined by their positions. */
static bool refuse_kinds(struct heft_zero *z)
{
    static const char *const keys[] = {"ds_autoep_layers", "autoep_layers"};
    uint64_t ranks;

    for (size_t i = 0; i < HEFT_COUNT(keys); i++) {
        const struct heft_value *v = heft_zero_member(z->models->values, keys[i]);

        if (v && v->kind != HEFT_VALUE_NULL && v->first_child)
            return heft_fail(
                z->err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
                "the checkpoint has %s: parts of experts (AutoEP), which cannot be joined "
                "without rules",
                keys[i]);
    }
    if (heft_zero_number(heft_zero_member(z->models->values, "mp_world_size"), &ranks) && ranks > 1)
        return heft_fail(z->err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
                         "mp_world_size is %" PRIu64
                         ": the directory is a DeepSpeed checkpoint with "
                         "tensor parallelism, whose parts cannot be joined without rules",
                         ranks);
    return true;
}

/* Reads the model files that are needed: in stage 3 those of other ranks only have their parts of
 * frozen parameters, and copies of the buffers. */
static bool read_models(struct heft_zero *z, bool *is_universal)
{
    const struct heft_value *frozen;

    if (!heft_zero_read(z, z->models, z->models->name) || !refuse_kinds(z) ||
        !heft_zero_is_universal(z, is_universal))
        return false;
    frozen = heft_zero_member(z->models->values, "frozen_param_shapes");
    if (!frozen || !frozen->first_child)
        return z->n_models < 2 || z->stage != 3 ||
               heft_model_note(z->model, HEFT_NOTE, z->models->source, HEFT_NO_OFFSET, z->err,
                               "the model files of ranks after 0 (%u) have copies only, and are "
                               "not read",
                               z->n_models - 1);
    for (uint32_t i = 1; i < z->n_models; i++)
        if (!heft_zero_read(z, &z->models[i], z->models[i].name))
            return false;
    for (uint32_t i = 0; i < z->n_models; i++)
        if (z->models[i].rank != i)
            return heft_zero_refuse(z, &z->models[i],
                                    "%u files *_model_states.pt, but none of rank %u", z->n_models,
                                    i);
    return true;
}

static bool read_optims(struct heft_zero *z)
{
    const uint64_t stage = z->n_optims ? 0 : stage_of_config(z->models);

    if (stage > 0)
        return heft_zero_refuse(z, z->models,
                                "ds_config says stage %" PRIu64
                                ", but the directory has no *_optim_states.pt, which have the fp32 "
                                "weights; open %.100s itself for its 16-bit copies",
                                stage, z->models->name);
    for (uint32_t i = 0; i < z->n_optims; i++)
        if (!heft_zero_read(z, &z->optims[i], z->optims[i].name))
            return false;
    return heft_zero_read_stage(z);
}

/* In stage 3 there is a model file for each rank. */
static bool check_stage(struct heft_zero *z)
{
    const bool is_partitioned = heft_zero_judge(z->models->name).is_partitioned;

    if (is_partitioned != (z->stage == 3))
        return heft_zero_refuse(z, z->models,
                                "the optimizer files are of stage %u, which has no such "
                                "model file: files of two checkpoints",
                                z->stage);
    if (z->stage == 3 && z->n_models != z->n_optims)
        return heft_zero_refuse(z, z->models,
                                "%u files *_model_states.pt, and %u *_optim_states.pt", z->n_models,
                                z->n_optims);
    return true;
}

/* ---- merging ----------------------------------------------------------------------------- */

static bool merge_ranks(struct heft_zero *z)
{
    if (!read_optims(z) || !check_stage(z) || !heft_zero_read_params(z) ||
        !heft_zero_add_buffers(z))
        return false;
    if (z->stage == 0) /* module is whole; its parameters are named in param_shapes, too */
        return heft_zero_add_unnamed(z) && heft_zero_add_shared(z);
    return heft_zero_reserve_names(z) && heft_zero_reserve_params(z, &z->params) &&
           heft_zero_add_frozen(z) && heft_zero_add_unnamed(z) && heft_zero_add_params(z) &&
           heft_zero_add_shared(z) && heft_zero_add_optimizer(z);
}

static bool merge_universal(struct heft_zero *z)
{
    return heft_zero_read_params(z) && heft_zero_read_universal(z);
}

/* ---- what is kept beside the rows -------------------------------------------------------- */

/* Values of rank 0: of its model file, and of its optimizer file. */
static bool keep_values(struct heft_zero *z)
{
    const struct heft_zero_file *const files[] = {z->models, z->n_optims ? z->optims : NULL};

    for (size_t i = 0; i < HEFT_COUNT(files); i++)
        if (files[i] && files[i]->values &&
            !heft_model_add_tree(z->model, files[i]->source, files[i]->values, z->err))
            return false;
    z->model->has_tree = false;
    z->model->values = NULL;
    return true;
}

/* Marks storages that no row uses: 16-bit copies, moments that are left out. */
static bool mark_unused(struct heft_zero *z)
{
    struct heft_model *model = z->model;
    const size_t n = model->n_storages - z->first_storage;
    bool *used = heft_arena_zero(&z->scratch, n + 1, sizeof *used, z->err);

    if (!used)
        return false;
    for (size_t i = z->first_row; i < model->n_rows; i++)
        for (uint32_t k = 0; k < heft_row_pieces(&model->rows[i]); k++)
            if (heft_row_storage(&model->rows[i], k) >= z->first_storage)
                used[heft_row_storage(&model->rows[i], k) - z->first_storage] = true;
    for (size_t i = 0; i < n; i++)
        if (!used[i])
            model->storages[z->first_storage + i].is_other = true;
    return true;
}

static bool name_version(struct heft_zero *z, bool is_universal)
{
    const struct heft_value *v = heft_zero_member(z->models->values, "ds_version");
    const bool known = v && v->kind == HEFT_VALUE_STRING && v->text_len <= 40;
    struct heft_model *model = z->model;

    model->format = "deepspeed";
    model->version =
        is_universal
            ? heft_arena_printf(&model->mem, z->err, "DeepSpeed%s%s, universal", known ? " " : "",
                                known ? v->text : "")
            : heft_arena_printf(&model->mem, z->err, "DeepSpeed%s%s, ZeRO stage %u, %u rank%s",
                                known ? " " : "", known ? v->text : "", z->stage,
                                z->n_optims ? z->n_optims : 1, z->n_optims > 1 ? "s" : "");
    return model->version != NULL;
}

/* ---- open -------------------------------------------------------------------------------- */

static bool read_checkpoint(struct heft_zero *z)
{
    bool is_universal;

    if (!heft_zero_list(z))
        return false;
    z->stage = heft_zero_judge(z->models->name).is_partitioned ? 3 : 0;
    return read_models(z, &is_universal) && (is_universal ? merge_universal(z) : merge_ranks(z)) &&
           keep_values(z) && mark_unused(z) && name_version(z, is_universal);
}

static bool open_zero(struct heft_model *model, uint32_t source, struct heft_error *err)
{
    struct heft_zero z = {.model = model,
                          .source = source,
                          .first_row = model->n_rows,
                          .first_storage = model->n_storages,
                          .budget = 4 * heft_limit_tensors(&model->limits, model->file_bytes),
                          .wants_optimizer =
                              heft_given_options_get(&model->options, HEFT_ZERO_OPTIMIZER).is_given,
                          .err = err};
    const bool ok = read_checkpoint(&z);

    heft_zero_release_files(&z);
    heft_free(z.params.list);
    heft_free(z.frozen.list);
    heft_strmap_release(&z.named);
    heft_arena_release(&z.scratch);
    return ok;
}

static bool verify_entry(const struct heft_model *model, uint32_t source,
                         const struct heft_reporter *to, struct heft_error *err)
{
    uint8_t magic[4] = {0};
    const struct heft_source *file = &model->sources[source].source;

    if (file->size >= sizeof magic && !heft_source_read(file, 0, magic, sizeof magic, err))
        return false;
    return memcmp(magic, "PK\3\4", 4) != 0 || heft_torch_verify(model, source, to, err);
}

/* ---- parts alone ------------------------------------------------------------------------- */

/* What a file of torch is a part of; NULL if it is not DeepSpeed's. */
static const char *part_of(const struct heft_value *root)
{
    const struct heft_value *state = heft_zero_member(root, "optimizer_state_dict");

    if (heft_zero_member(state, "zero_stage"))
        return "the optimizer file of one rank";
    return heft_zero_member(root, "param_shapes") && heft_zero_member(root, "buffer_names") &&
                   heft_zero_member(root, "ds_version")
               ? "a model file, whose weights are copies or parts"
               : NULL;
}

/* Notes files of DeepSpeed that were opened by themselves. */
static bool note_parts(struct heft_model *model, struct heft_error *err)
{
    for (size_t i = 0; i < model->n_sources; i++)
        if (model->sources[i].format && model->sources[i].format->open == open_zero)
            return true; /* a whole checkpoint, which keeps the values of its files */
    for (size_t i = 0; i < model->n_trees; i++) {
        const char *what = part_of(model->trees[i].root);
        const char *text =
            what ? heft_arena_printf(&model->mem, err,
                                     "%.200s is a part of a DeepSpeed checkpoint (%s); open its "
                                     "directory for the whole",
                                     model->sources[model->trees[i].source].path, what)
                 : NULL;

        if (what && !text)
            return false;
        if (text)
            heft_model_announce(model, text);
    }
    return true;
}

/* What several files of torch have together, or one of them alone: DeepSpeed's, and sharded tensors. */
static bool join_files(struct heft_model *model, struct heft_error *err)
{
    return note_parts(model, err) && heft_shards_join(model, err);
}

static const struct heft_format_option options[] = {
    {.name = HEFT_ZERO_OPTIMIZER,
     .use = HEFT_OPTION_READS,
     .kind = HEFT_OPTION_FLAG,
     .elsewhere = HEFT_ELSEWHERE_NOTED,
     .help = "of a DeepSpeed checkpoint, read the optimizer's moments, too"},
    {0},
};

static const char *const synonyms[] = {"zero", NULL};

extern const struct heft_format heft_format_deepspeed;
const struct heft_format heft_format_deepspeed = {
    .name = "deepspeed",
    .summary = "DeepSpeed checkpoints: directories of ZeRO stages 0 to 3, or universal",
    .synonyms = synonyms,
    .locator = &heft_zero_locator,
    .open = open_zero,
    .join = join_files,
    .verify = verify_entry,
    .options = options,
};
