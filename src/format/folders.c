/* folders.c: file and folder names that several formats share: name stems of Hugging Face's
 * libraries, training files beside a model, the cache of huggingface_hub. */
#include "format/folders.h"

#include "base/text.h"

enum { LONGEST_REF = 200 }; /* bytes of refs/main */

/* Name stems in the order in which transformers, diffusers and peft look for them. */
static const char *const stems[] = {"model",
                                    "pytorch_model",
                                    "diffusion_pytorch_model",
                                    "adapter_model",
                                    "consolidated",
                                    "tf_model",
                                    NULL};

/* Files beside a model that are not the model: optimizer states, tokenizers, logs. */
static const char *const companions[] = {
    "training_args.*",
    "optimizer*",
    "scheduler*",
    "lr_scheduler*",
    "scaler*",
    "rng_state*",
    "random_states*",
    "sampler*",
    "*optim_states.pt",
    "common.pt", /* beside .metadata, with which it is read */
    "meta.pt",
    "custom_checkpoint_*",
    "trainer_state*",
    "keras_metadata.pb",
    "fingerprint.pb",
    "graph.pbtxt",
    "tokenizer*",
    "vocab*",
    "preprocessor*",
    "tfhub_module.pb",
    "*label_map.pbtxt",
    "*_[0-9][0-9][0-9][0-9][0-9].weights.h5", /* shards that Keras's NAME.weights.json lists */
    NULL,
};

/* ---- cache of huggingface_hub ------------------------------------------------------------ */

/* True for a folder models--ORG--NAME, which contains blobs, refs and snapshots. */
static bool is_cache(const struct heft_folder *folder)
{
    return heft_folder_has(folder, "snapshots") &&
           (heft_folder_has(folder, "refs") || heft_folder_has(folder, "blobs"));
}

/* The commit name in refs/main, or NULL if the file is absent or has no valid name. */
static const char *read_ref(const struct heft_folder *cache, struct heft_arena *mem,
                            struct heft_error *err)
{
    const char *path = heft_folder_join(cache, "refs/main", mem, err);
    struct heft_error ignored = {0};
    struct heft_source file;
    struct heft_bytes text;
    size_t n = 0;

    if (!path || !heft_files_open(cache->files, &file, path, &ignored))
        return NULL;
    if (file.size <= LONGEST_REF && heft_source_fetch(&file, 0, file.size, mem, &text, &ignored))
        while (n < text.n && text.p[n] > ' ' && text.p[n] != '/' && text.p[n] != '.')
            n++;
    heft_source_close(&file);
    return n ? heft_arena_text(mem, (struct heft_str){(const char *)text.p, n}, err) : NULL;
}

static bool refuse_snapshots(const struct heft_folder *snapshots, struct heft_error *err)
{
    struct heft_buf names = {0};

    if (snapshots->n == 0)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "this directory of Hugging Face's cache contains no snapshot");
    for (size_t i = 0; i < snapshots->n; i++)
        heft_list_name(&names, i, heft_str_of(snapshots->names[i]));
    heft_list_end(&names, snapshots->n);
    return heft_list_refuse(&names,
                            "this is a directory of Hugging Face's cache; snapshots/ contains",
                            "name one of them", err);
}

/* Replaces a cache folder by one of its snapshots: the one that refs/main names, or the only one. */
static bool enter_snapshot(struct heft_folder *folder, struct heft_arena *mem,
                           struct heft_error *err)
{
    const char *path, *name;
    struct heft_folder snapshots = {.files = folder->files};

    if (!is_cache(folder))
        return true;
    path = heft_folder_join(folder, "snapshots", mem, err);
    name = read_ref(folder, mem, err);
    if (!path || err->code == HEFT_NOMEM || !heft_folder_list(&snapshots, path, mem, err))
        return false;
    if (!name && snapshots.n == 1)
        name = snapshots.names[0];
    if (!name || !heft_folder_has(&snapshots, name))
        return refuse_snapshots(&snapshots, err);
    path = heft_folder_join(&snapshots, name, mem, err);
    return path && heft_folder_list(folder, path, mem, err);
}

/* ---- conventions of values and metadata -------------------------------------------------- */

static const char *const bookkeeping[] = {"format", "total_size", NULL};

/* A kernel of TensorFlow that becomes a weight of torch. */
static bool is_transposed(struct heft_str from, struct heft_str to, unsigned rank)
{
    return (heft_str_ends(from, "/kernel") || heft_str_ends(from, ".kernel")) &&
           heft_str_ends(to, "weight") && rank > 1;
}

const struct heft_conventions heft_conventions = {
    .bookkeeping_value = "_metadata", /* versions of modules, in state dicts of torch */
    .bookkeeping_metadata = bookkeeping,
    .is_transposed = is_transposed,
    .transposed = "renamed, not transposed: kernels of TensorFlow are [in, out], weights of "
                  "torch [out, in]; a rules file, as bert-tf, transposes them",
    .stems = stems,
    .companions = companions,
    .expected = "an index.json, .metadata, a saved_model.pb, a TensorFlow checkpoint, or a file "
                ".safetensors, .gguf, .bin, .pth, .pt, .ckpt, .h5, .keras, .npz, .npy, .ptd, .pte, "
                ".pt2, .pb or .pkl",
    .enter = enter_snapshot,
};
