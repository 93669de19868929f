/* locate.c: the names that make a folder a checkpoint. */
#include "core/locate.h"

#include "base/text.h"
#include "io/source.h"

static const char *const index_names[] = {"model.safetensors.index.json",
                                          "pytorch_model.bin.index.json", ".metadata",
                                          "tf_model.h5.index.json"};
static const char *const single_suffixes[] = {".safetensors", ".bin", ".pt",
                                              ".pth",         ".h5",  ".keras"};
/* Of these folders hold many. */
static const char *const later_suffixes[] = {".index", ".ckpt", ".meta"};

struct folder {
    const char *path;
    const char *const *names;
    size_t n;
};

/* The only name with that ending; NULL where there is none or several (*several). */
static const char *only_one(const struct folder *folder, const char *suffix, bool *several)
{
    const char *found = NULL;

    for (size_t i = 0; i < folder->n; i++) {
        if (!heft_str_ends(heft_str_of(folder->names[i]), suffix))
            continue;
        *several = found != NULL;
        if (found)
            return NULL;
        found = folder->names[i];
    }
    return found;
}

static const char *named(const struct folder *folder, const char *name)
{
    for (size_t i = 0; i < folder->n; i++)
        if (strcmp(folder->names[i], name) == 0)
            return folder->names[i];
    return NULL;
}

static const char *choose_index(const struct folder *folder, bool *several)
{
    const char *name = NULL;

    for (size_t k = 0; !name && k < HEFT_COUNT(index_names); k++)
        name = named(folder, index_names[k]);
    if (!name)
        name = only_one(folder, ".index.json", several);
    return name || *several ? name : only_one(folder, ".weights.json", several);
}

/* Why a folder without a checkpoint of ours has none. */
static bool refuse_folder(const struct folder *folder, bool several, struct heft_error *err)
{
    if (several)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "the folder holds several checkpoints; name one of them");
    if (heft_locate_is_interrupted(folder->names, folder->n))
        return heft_fail(
            err, HEFT_MALFORMED, HEFT_NO_OFFSET,
            "a sharded save to this folder was interrupted: its parts are in a folder "
            "\"…_temp…\", which TensorFlow merges at the end, and no .index names them");
    if (named(folder, "latest"))
        return heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
                         "the folder looks like DeepSpeed's (it has a file \"latest\"), which "
                         "heft does not put together; it reads the .pt files one by one");
    return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                     "the folder holds no checkpoint (no index, no .safetensors, .bin, .pt, "
                     ".pth, .ckpt, .h5 or .keras)");
}

static const char *choose(const struct folder *folder, const char *step, struct heft_arena *mem,
                          struct heft_error *err)
{
    bool several = false;
    const char *name;

    if (step)
        return heft_locate_step(folder->names, folder->n, step, err);
    name = heft_locate_document(folder->names, folder->n);
    if (!name)
        name = choose_index(folder, &several);
    for (size_t i = 0; !name && !several && i < HEFT_COUNT(single_suffixes); i++)
        name = only_one(folder, single_suffixes[i], &several);
    if (!name && !several)
        name = named(folder, "checkpoint"); /* TensorFlow's: it names the latest of many */
    for (size_t i = 0; !name && !several && i < HEFT_COUNT(later_suffixes); i++)
        name = only_one(folder, later_suffixes[i], &several);
    if (!name && !several)
        name = heft_locate_version(folder->path, folder->names, folder->n, mem, &several, err);
    if (!name && err->code == HEFT_OK)
        refuse_folder(folder, several, err);
    return name;
}

static const char *inside(const char *path, const char *step, struct heft_arena *mem,
                          struct heft_error *err)
{
    const size_t n = strlen(path);
    struct folder folder = {.path = path};
    const char *name;

    if (!heft_path_list(path, mem, &folder.names, &folder.n, err))
        return NULL;
    name = choose(&folder, step, mem, err);
    return name ? heft_arena_printf(mem, err, "%s%s%s", path, path[n - 1] == '/' ? "" : "/", name)
                : NULL;
}

/* The folder of a `checkpoint` file that was named itself. */
static const char *folder_of(const char *given, struct heft_arena *mem, struct heft_error *err)
{
    const size_t folder = heft_path_folder(given);

    if (strcmp(given + folder, "checkpoint") == 0)
        return heft_arena_printf(mem, err, "%.*s.", (int)folder, given);
    heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
              "a step is chosen in a folder of TensorFlow checkpoints, or by its checkpoint file");
    return NULL;
}

const char *heft_locate(const char *given, const char *step, struct heft_arena *mem,
                        struct heft_error *err)
{
    const enum heft_path_kind kind = heft_path_kind(given);

    if (kind == HEFT_PATH_DIR)
        return inside(given, step, mem, err);
    if (step) {
        const char *folder = folder_of(given, mem, err);

        return folder ? inside(folder, step, mem, err) : NULL;
    }
    return heft_locate_known(given, kind, mem, err);
}
