/* torch_pickle.c: a plain pickle file: pickle.dump of a state dict, of NumPy arrays, or of
 * anything.
 *
 *     [80 protocol] opcode … '.'
 *
 * It has no persistent ids: the bytes of storages (torch_nested.c) and of NumPy arrays are in the
 * pickle. Objects of unknown classes are values. Pickles have no magic number, so a file is one if
 * its first pickle runs to its STOP. */
#include "core/registry.h"
#include "format/torch/pickle/torch_parts.h"

/* ---- probe ------------------------------------------------------------------------------- */

static int probe_pickle(const struct heft_probe *sample)
{
    switch (heft_torch_peek(sample->head, sample->size)) {
    case HEFT_TORCH_WHOLE_PICKLE:
        return 20;
    case HEFT_TORCH_PERHAPS_PICKLE:
        return 10;
    case HEFT_TORCH_UNJUDGED:
        return 1; /* undecided until opened */
    default:
        return 0;
    }
}

/* ---- persistent ids ---------------------------------------------------------------------- */

static bool refuse_persid(struct heft_torch *t, uint32_t id, struct heft_error *err)
{
    const uint32_t args = heft_torch_node(t, id)->u.call.args;
    const uint32_t named = heft_torch_is_text(t, args) ? args : heft_torch_item(t, args, 0);
    struct heft_str name = HEFT_STR("of no text");

    if (heft_torch_is_text(t, named))
        name = heft_pickle_text(&t->pickle, named);
    return heft_fail(
        err, HEFT_UNSUPPORTED, heft_torch_where(t, id),
        "persistent id %.*s: a plain pickle has none, and its target is not in the file",
        (int)heft_min_u64(name.n, 100), name.p);
}

static const struct heft_torch_container container = {.storage = refuse_persid};

/* ---- open -------------------------------------------------------------------------------- */

/* True for joblib files, which put the bytes of arrays between the opcodes, after an object that
 * announces them. */
static bool is_joblib(const struct heft_pickle *pickle)
{
    for (uint32_t i = 0; i < pickle->count; i++)
        if (pickle->nodes[i].kind == HEFT_PICKLE_GLOBAL &&
            heft_str_is(heft_pickle_text(pickle, i), "NumpyArrayWrapper"))
            return true;
    return false;
}

static bool read_object(const struct heft_torch_stream *in, struct heft_torch *t,
                        struct heft_error *err)
{
    if (heft_torch_stream_object(in, 0, t, err))
        return true;
    if (err->code == HEFT_MALFORMED && is_joblib(&t->pickle))
        return heft_fail(
            err, HEFT_UNSUPPORTED, err->offset,
            "this is a joblib file: array bytes between the opcodes are not supported");
    return false;
}

static bool name_version(struct heft_torch *t, struct heft_error *err)
{
    struct heft_model *model = t->model;

    model->format = "pickle";
    model->version =
        heft_arena_printf(&model->mem, err, "plain, %s%s", heft_torch_protocol(&t->pickle),
                          heft_torch_is_python2(&t->pickle) ? ", Python 2" : "");
    return model->version != NULL;
}

static bool open_pickle(struct heft_model *model, uint32_t source, struct heft_error *err)
{
    const struct heft_torch_stream in = heft_torch_file_stream(model, source);
    struct heft_torch t = {.container = &container,
                           .what = "object",
                           .is_object = true,
                           .budget = model->limits.expansion};
    const bool ok = read_object(&in, &t, err) && name_version(&t, err) &&
                    heft_torch_walk(&t, err) && heft_torch_claim_pickle(&t, err) &&
                    heft_torch_stream_end(&in, t.pickle.length, "the pickle's STOP", err);

    if (ok)
        model->values = t.values;
    heft_torch_release(&t);
    return ok;
}

#define NOT_WRITTEN "plain pickles can only be read; write torch, which torch.load reads"

static const struct heft_file_name names[] = {
    {".pkl", .rank = HEFT_FILE_DATA},
    {".pickle", .rank = HEFT_FILE_DATA},
    {0},
};

static const struct heft_not_written not_written[] = {
    {"pkl", NOT_WRITTEN},
    {"pickle", NOT_WRITTEN},
    {0},
};

const struct heft_format heft_format_pickle = {
    .name = "pickle",
    .summary = "plain pickles (pickle.dump of a state dict, of arrays, of anything)",
    .names = names,
    .not_written = not_written,
    .probe = probe_pickle,
    .open = open_pickle,
};
