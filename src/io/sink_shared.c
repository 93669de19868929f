/* sink_shared.c: temporary files that the processes of a plan write together.
 *
 *     out/.a.ID.file-0     created by the process that comes first, opened by the others
 *     .out.ID.folder-0/a   the same in a directory that appears as a whole
 *
 * Every process reserves the size of a file before it writes: which one created it does not matter.
 * They stay until the commit renames them or the plan is abandoned. */
#include <errno.h>

#include "io/sink_parts.h"

const char *heft_sink_shared_name(struct heft_arena *mem, const char *path, const char *plan,
                                  const char *kind, uint64_t n, struct heft_error *err)
{
    struct heft_str folder, name;

    heft_sink_split(heft_str_of(path), &folder, &name);
    return heft_arena_printf(mem, err, "%.*s.%.*s.%s.%s-%" PRIu64, (int)folder.n, folder.p,
                             name.n < HEFT_SINK_STEM ? (int)name.n : HEFT_SINK_STEM, name.p, plan,
                             kind, n);
}

static bool is_there(const char *path)
{
    struct heft_os_stat st;

    return heft_os->stat_link(path, &st) == 0;
}

/* The name of file number n: files are added in the order of the plan. */
static const char *name_file(struct heft_sink *sink, const char *path, size_t n,
                             struct heft_error *err)
{
    return heft_sink_shared_name(&sink->arena, path, sink->options.plan, "file", n, err);
}

bool heft_sink_is_resumed(struct heft_sink *sink, const char *path)
{
    struct heft_error ignored = {0};
    const char *temp;

    if (!sink->options.is_resumed)
        return false;
    temp = name_file(sink, path, sink->n_files, &ignored);
    return temp && !is_there(temp) && is_there(path);
}

/* Refuses a symbolic link, through which another file would be written. */
static bool check_shared(const struct heft_sink *sink, const struct heft_sink_file *file,
                         struct heft_error *err)
{
    struct heft_os_stat st;

    if (heft_os->stat_link(file->temp, &st) != 0)
        heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                  "this temporary file is missing; run all parts again");
    else if (!st.is_file)
        heft_fail(err, HEFT_UNSAFE, HEFT_NO_OFFSET, "this temporary file is not a regular file");
    else if (sink->options.is_begun && st.size != file->size)
        heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                  "this temporary file has %" PRIu64 " bytes, the plan says %" PRIu64
                  "; run all parts again",
                  st.size, file->size);
    else
        return true;
    return heft_error_file(err, file->temp);
}

bool heft_sink_open_shared(struct heft_sink *sink, struct heft_sink_file *file, uint32_t mode,
                           struct heft_error *err)
{
    const size_t number = sink->n_files - 1;

    file->temp = file->in_whole ? heft_sink_now_at(sink, file->path, err)
                                : name_file(sink, file->path, number, err);
    if (!file->temp)
        return false;
    file->made = file->saved = true;
    if (sink->options.is_resumed && !file->in_whole && !is_there(file->temp)) {
        file->temp = file->path;
        file->renamed = true;
    }
    if (!sink->options.is_begun)
        file->fd = heft_os->create(file->temp, mode);
    if (file->fd < 0 && !sink->options.is_begun && errno != EEXIST)
        return heft_sink_fails(err, "cannot be created", file->path);
    if (!check_shared(sink, file, err))
        return false;
    if (file->fd < 0)
        file->fd = heft_os->open_write(file->temp);
    if (file->fd < 0)
        return heft_sink_fails(err, "temporary file cannot be opened", file->temp);
    sink->open_files++;
    return true;
}

static bool check_folder(const char *temp, struct heft_error *err)
{
    struct heft_os_stat st;

    if (heft_os->stat_link(temp, &st) != 0)
        heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                  "this temporary directory is missing; run all parts again");
    else if (!st.is_dir)
        heft_fail(err, HEFT_UNSAFE, HEFT_NO_OFFSET,
                  "something else has the name of the plan's temporary directory; delete it");
    else
        return true;
    return heft_error_file(err, temp);
}

bool heft_sink_make_shared(struct heft_sink *sink, const char *path, struct heft_error *err)
{
    const char *const temp =
        heft_sink_shared_name(&sink->arena, path, sink->options.plan, "folder", 0, err);

    if (!temp)
        return false;
    if (!sink->options.is_begun && heft_os->mkdir(temp) != 0 && errno != EEXIST)
        return heft_sink_fails(err, "directory cannot be created", path);
    if (!check_folder(temp, err))
        return false;
    sink->whole = path;
    sink->whole_temp = temp;
    return true;
}
