/* token_sets.c: stale shards: files with names of the series being written that belong to an
 * earlier run.
 *
 *     x_000000.bin  x_000001.bin  │  x_000002.bin
 *     of this run                 │  of an earlier one; a reader of x_*.bin would take it, too
 *
 * Without `overwrite` they are refused before any work is done; with it they are deleted at the
 * commit. */
#include "tokens/output/token_out_parts.h"

static bool is_stale(const struct heft_token_out *out, const char *name)
{
    const int tracks = out->how.val_fraction > 0 ? 2 : 1;
    uint64_t number;

    for (int i = 0; i < tracks; i++)
        if (heft_token_out_number(out, &out->tracks[i], heft_str_of(name), &number))
            return number >= out->tracks[i].files;
    return false;
}

static bool handle_stale(struct heft_token_out *out, struct heft_arena *mem, const char *name,
                         struct heft_error *err)
{
    const char *path = heft_arena_printf(mem, err, "%.*s%s", (int)heft_path_folder(out->how.path),
                                         out->how.path, name);

    if (!path || out->how.sink.overwrite)
        return path && heft_sink_retire(out->sink, path, err);
    heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
              "belongs to an existing series of files; option overwrite replaces it");
    return heft_error_file(err, path);
}

bool heft_token_out_stale(struct heft_token_out *out, struct heft_error *err)
{
    const int n_folder = (int)heft_path_folder(out->how.path);
    struct heft_arena mem = {0};
    const char *folder =
        n_folder ? heft_arena_printf(&mem, err, "%.*s", n_folder, out->how.path) : ".";
    const char *const *names;
    size_t n = 0;
    bool is_folder = false;
    bool ok =
        folder && (out->how.shard_tokens == 0 || heft_path_is_folder(folder, &is_folder, err));

    if (ok && is_folder)
        ok = heft_path_list(folder, &mem, &names, &n, err);
    for (size_t i = 0; ok && i < n; i++)
        ok = !is_stale(out, names[i]) || handle_stale(out, &mem, names[i], err);
    heft_arena_release(&mem);
    return ok;
}
