/* locate.c: the names that make a folder a checkpoint. */
#include "core/locate.h"

#include "base/text.h"
#include "io/source.h"

static const char *const index_names[] = {"model.safetensors.index.json",
                                          "pytorch_model.bin.index.json", ".metadata"};
static const char *const single_suffixes[] = {".safetensors", ".bin", ".pt", ".pth", ".ckpt"};

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

static const char *choose_index(const struct folder *folder, bool *several)
{
    for (size_t k = 0; k < HEFT_COUNT(index_names); k++)
        for (size_t i = 0; i < folder->n; i++)
            if (strcmp(folder->names[i], index_names[k]) == 0)
                return folder->names[i];
    return only_one(folder, ".index.json", several);
}

/* Why a folder without a checkpoint of ours has none. */
static bool refuse_folder(const struct folder *folder, bool several, struct heft_error *err)
{
    if (several)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "the folder holds several checkpoints; name one of them");
    for (size_t i = 0; i < folder->n; i++)
        if (strcmp(folder->names[i], "latest") == 0)
            return heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
                             "the folder looks like DeepSpeed's (it has a file \"latest\"), which "
                             "heft does not put together; it reads the .pt files one by one");
    return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                     "the folder holds no checkpoint (no index, no .safetensors, .bin, .pt, "
                     ".pth or .ckpt)");
}

static const char *choose(const struct folder *folder, struct heft_error *err)
{
    bool several = false;
    const char *name = choose_index(folder, &several);

    for (size_t i = 0; !name && !several && i < HEFT_COUNT(single_suffixes); i++)
        name = only_one(folder, single_suffixes[i], &several);
    if (!name)
        refuse_folder(folder, several, err);
    return name;
}

static const char *inside(const char *path, struct heft_arena *mem, struct heft_error *err)
{
    const size_t n = strlen(path);
    struct folder folder = {.path = path};
    const char *name;

    if (!heft_path_list(path, mem, &folder.names, &folder.n, err))
        return NULL;
    name = choose(&folder, err);
    return name ? heft_arena_printf(mem, err, "%s%s%s", path, path[n - 1] == '/' ? "" : "/", name)
                : NULL;
}

const char *heft_locate(const char *given, struct heft_arena *mem, struct heft_error *err)
{
    return heft_path_kind(given) == HEFT_PATH_DIR ? inside(given, mem, err) : given;
}
