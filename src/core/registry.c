/* registry.c: detects the format of a file and opens it. The table of formats is passed in by
 * the caller. */
#include "core/registry.h"

#include "base/text.h"
#include "core/locate.h"

enum { MOST_ANNOUNCED = 64 };
#define SURE 95 /* score out of 100 from which no other format is probed */

const struct heft_format *heft_registry_at(const struct heft_formats *formats, size_t index)
{
    return index < formats->n ? formats->list[index] : NULL;
}

const struct heft_format *heft_registry_find(const struct heft_formats *formats, const char *name)
{
    for (size_t i = 0; i < formats->n; i++)
        if (strcmp(formats->list[i]->name, name) == 0)
            return formats->list[i];
    return NULL;
}

const struct heft_format *heft_registry_by_extension(const struct heft_formats *formats,
                                                     const char *path)
{
    const char *dot = strrchr(path + heft_path_folder(path), '.');

    for (size_t i = 0; dot && i < formats->n; i++)
        for (const char *const *e = formats->list[i]->extensions; e && *e; e++)
            if (heft_format_writes(formats->list[i]) && strcmp(*e, dot + 1) == 0)
                return formats->list[i];
    return NULL;
}

/* ---- choosing the format of a file ------------------------------------------------------- */

/* Reads head and tail of a file. The tail is on the heap and belongs to the model. */
static bool read_probe(struct heft_model_source *file, uint8_t *head, struct heft_probe *out,
                       struct heft_error *err)
{
    const struct heft_source source = file->source;
    const size_t head_n = (size_t)heft_min_u64(source.size, HEFT_PROBE_HEAD);
    const size_t tail_n = (size_t)heft_min_u64(source.size, HEFT_PROBE_TAIL);

    file->tail = heft_alloc(tail_n, err);
    if (!file->tail)
        return false;
    file->tail_n = tail_n;
    *out = (struct heft_probe){.head = {head, head_n},
                               .tail = {file->tail, tail_n},
                               .size = source.size,
                               .path = source.label};
    return heft_source_read(&source, 0, head, head_n, err) &&
           heft_source_read(&source, source.size - tail_n, file->tail, tail_n, err);
}

/* Asks formats whose signature is not in the head. *best stays NULL if none accepts. */
static bool find_signature(const struct heft_formats *formats, const struct heft_source *source,
                           const struct heft_format **best, struct heft_error *err)
{
    bool is_it = false;

    for (size_t i = 0; i < formats->n && !is_it; i++) {
        if (formats->list[i]->find_signature &&
            !formats->list[i]->find_signature(source, &is_it, err))
            return false;
        *best = is_it ? formats->list[i] : NULL;
    }
    return true;
}

static bool refuse_content(const struct heft_formats *formats, const struct heft_probe *sample,
                           struct heft_error *err)
{
    return formats->foreign
               ? formats->foreign->refuse(sample, err)
               : heft_fail(err, HEFT_MALFORMED, 0, "no format that heft knows begins so");
}

static const struct heft_format *probe(const struct heft_formats *formats,
                                       struct heft_model_source *file, struct heft_error *err)
{
    const struct heft_format *best = NULL;
    uint8_t head[HEFT_PROBE_HEAD];
    struct heft_probe sample;
    int score = 0;

    if (file->source.size == 0) {
        heft_fail(err, HEFT_MALFORMED, 0, "the file is empty");
        return NULL;
    }
    if (read_probe(file, head, &sample, err)) {
        for (size_t i = 0; i < formats->n && score < SURE; i++) {
            const int bid = formats->list[i]->probe ? formats->list[i]->probe(&sample) : 0;

            if (bid > score) {
                score = bid;
                best = formats->list[i];
            }
        }
        if (score < SURE && formats->foreign && formats->foreign->takes(&sample))
            best = NULL;
        if (!best && find_signature(formats, &file->source, &best, err) && !best)
            refuse_content(formats, &sample, err);
    }
    return best;
}

static bool open_as(struct heft_model *model, uint32_t index, const struct heft_format *format,
                    struct heft_error *err)
{
    const bool ok = format && format->open(model, index, err);
    const struct heft_value *values = model->values;

    model->values =
        NULL; /* also values of a file that failed, which must not be taken for the next one's */
    if (!ok)
        return heft_error_file(err, model->sources[index].path);
    model->sources[index].format = format;
    return !values || heft_model_add_tree(model, index, values, err);
}

/* Replaces a source that only this process can read by a copy, for formats that need it. */
static bool copy_called(struct heft_model *model, uint32_t index, const struct heft_format *format,
                        struct heft_error *err)
{
    struct heft_source *const source = &model->sources[index].source;
    struct heft_source copy;

    if (!format || !format->needs_file || !source->is_called)
        return true;
    if (!heft_source_open_copy(&copy, source, err))
        return false;
    heft_source_close(source);
    *source = copy;
    return true;
}

bool heft_registry_open_source(struct heft_model *model, uint32_t index, const char *format,
                               struct heft_error *err)
{
    const struct heft_format *found = format ? heft_registry_named(model->formats, format) : NULL;
    bool ok;

    if (format && (!found || !found->open))
        return heft_registry_refuse_reader(model->formats, format, err);
    if (!format)
        found = probe(model->formats, &model->sources[index], err);
    ok = copy_called(model, index, found, err) && open_as(model, index, found, err);
    heft_model_drop_tail(model, index);
    return ok;
}

static bool open_path(struct heft_model *model, const char *path, const char *format,
                      struct heft_error *err)
{
    struct heft_source source;
    uint32_t index;

    return heft_files_open(model->files, &source, path, err) &&
           heft_model_add_file(model, &source, path, &index, err) &&
           heft_registry_open_source(model, index, format, err);
}

static bool open_stdin(struct heft_model *model, const char *format, struct heft_error *err)
{
    static const char label[] = "standard input";
    const struct heft_locator *const selector =
        heft_locate_selector(model->formats, &model->options);
    struct heft_source source;
    uint32_t index;

    if (selector)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "option %s selects a file of a directory; standard input is not one",
                         selector->selector);
    return heft_source_open_stdin(&source, label, err) &&
           heft_model_add_file(model, &source, label, &index, err) &&
           heft_registry_open_source(model, index, format, err);
}

/* ---- files that a file refers to --------------------------------------------------------- */

static bool has_dotdot(struct heft_str path)
{
    size_t begin = 0;

    for (size_t i = 0; i <= path.n; i++) {
        if (i < path.n && path.p[i] != '/' && path.p[i] != '\\')
            continue;
        if (i - begin == 2 && path.p[begin] == '.' && path.p[begin + 1] == '.')
            return true;
        begin = i + 1;
    }
    return false;
}

/* Whether a path in an index is relative and stays inside the directory, also by Windows rules:
 * an index must mean the same on every system. */
static bool is_safe_relative(struct heft_str path)
{
    if (path.n == 0 || memchr(path.p, '\0', path.n) || path.p[0] == '/' || path.p[0] == '\\')
        return false;
    if (path.n >= 2 && path.p[1] == ':')
        return false;
    return !has_dotdot(path);
}

static const char *join_folder(struct heft_model *model, const char *beside, struct heft_str name,
                               struct heft_error *err)
{
    struct heft_buf path = {0};
    struct heft_str out;

    heft_buf_put(&path, beside, heft_path_folder(beside));
    heft_buf_str(&path, name);
    return heft_buf_take(&path, &model->mem, &out, err) ? out.p : NULL;
}

bool heft_registry_check_relative(struct heft_str relative, struct heft_error *err)
{
    return is_safe_relative(relative) ||
           heft_fail(
               err, HEFT_UNSAFE, HEFT_NO_OFFSET,
               "names the file \"%.*s\"; only relative paths inside the directory are followed",
               (int)heft_min_u64(relative.n, 200), relative.p);
}

/* Path of a file named in a file; NULL, with *err filled, if it must not be followed. */
static const char *sibling_path(struct heft_model *model, uint32_t source, struct heft_str relative,
                                struct heft_error *err)
{
    const char *beside = model->sources[source].path, *path;
    bool inside;

    if (!heft_registry_check_relative(relative, err) ||
        !(path = join_folder(model, beside, relative, err)) ||
        !heft_files_inside(model->files, path, heft_path_folder(beside), &inside, err))
        return NULL;
    if (inside)
        return path;
    heft_fail(err, HEFT_UNSAFE, HEFT_NO_OFFSET,
              "refers to the file \"%.*s\": a symbolic link in its path leads out of the directory "
              "and is not followed",
              (int)heft_min_u64(relative.n, 200), relative.p);
    return NULL;
}

bool heft_registry_open_sibling(struct heft_model *model, uint32_t source, struct heft_str relative,
                                uint32_t *index, struct heft_error *err)
{
    const char *path = sibling_path(model, source, relative, err);

    *index = (uint32_t)model->n_sources;
    return path && open_path(model, path, NULL, err);
}

bool heft_registry_add_sibling(struct heft_model *model, uint32_t source, struct heft_str relative,
                               uint32_t *index, struct heft_error *err)
{
    const char *path = sibling_path(model, source, relative, err);
    struct heft_source file;

    return path && heft_files_open(model->files, &file, path, err) &&
           heft_model_add_file(model, &file, path, index, err);
}

/* Whether a failure only means that the file cannot be seen. Running out of memory is an error. */
static bool is_unseen(const struct heft_error *found, struct heft_error *err)
{
    if (found->code != HEFT_NOMEM)
        return true;
    *err = *found;
    return false;
}

static bool add_file_bytes(struct heft_model *model, uint32_t source, const char *name,
                           uint64_t *bytes, struct heft_error *err)
{
    struct heft_error found = {0};
    struct heft_source file;
    const char *path = sibling_path(model, source, heft_str_of(name), &found);

    if (!path || !heft_files_open(model->files, &file, path, &found))
        return is_unseen(&found, err);
    if (!heft_add(*bytes, file.size, bytes))
        *bytes = UINT64_MAX; /* saturated: sizes of sparse files can add up to 2^64 */
    heft_source_close(&file);
    return true;
}

bool heft_registry_add_sibling_bytes(struct heft_model *model, uint32_t source, const char *suffix,
                                     uint64_t *bytes, struct heft_error *err)
{
    const char *folder = join_folder(model, model->sources[source].path, HEFT_STR("."), err);
    struct heft_error found = {0};
    const char *const *names;
    size_t n;

    if (!folder)
        return false;
    if (!heft_files_list(model->files, folder, &model->mem, &names, &n, &found))
        return is_unseen(&found, err);
    for (size_t i = 0; i < n; i++)
        if (heft_str_ends(heft_str_of(names[i]), suffix) &&
            !add_file_bytes(model, source, names[i], bytes, err))
            return false;
    return true;
}

/* ---- opening inputs ---------------------------------------------------------------------- */

static bool join_formats(struct heft_model *model, struct heft_error *err)
{
    const struct heft_formats *const formats = model->formats;

    for (size_t i = 0; i < formats->n; i++)
        if (formats->list[i]->join && !formats->list[i]->join(model, err))
            return false;
    return true;
}

static bool open_located(struct heft_model *model, const struct heft_located *located,
                         const char *format, struct heft_error *err)
{
    for (size_t i = 0; i < located->n; i++)
        if (!open_path(model, located->paths[i], format ? format : located->format, err))
            return false;
    model->number_names = model->number_names || located->is_numbered;
    if (located->note)
        heft_model_announce(model, located->note);
    return true;
}

static bool open_input(struct heft_model *model, const char *given, const char *format,
                       struct heft_error *err)
{
    struct heft_located located;

    if (model->standard_input && strcmp(given, "-") == 0)
        return open_stdin(model, format, err);
    return (heft_locate(model->formats, model->files, given, &model->options, &model->mem, &located,
                        err) &&
            open_located(model, &located, format, err)) ||
           heft_error_file(err, given);
}

bool heft_registry_open(struct heft_model *model, const char *const *paths, size_t n_paths,
                        const char *format, struct heft_error *err)
{
    heft_error_begin(err); /* locators and joins test err->code */
    if (n_paths == 0)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "no input was named");
    model->format_is_given = format != NULL;
    model->cap_choices = n_paths + MOST_ANNOUNCED;
    model->choices = heft_arena_zero(&model->mem, model->cap_choices, sizeof *model->choices, err);
    if (!model->choices)
        return false;
    for (size_t i = 0; i < n_paths; i++)
        if (!open_input(model, paths[i], format, err))
            return false;
    if (n_paths == 1 && heft_files_kind(model->files, paths[0]) == HEFT_PATH_DIR &&
        !(model->folder = heft_arena_text(&model->mem, heft_str_of(paths[0]), err)))
        return false;
    return join_formats(model, err) && heft_model_refuse_idle(model, err);
}

bool heft_registry_check_sources(const struct heft_model *model, struct heft_error *err)
{
    for (uint32_t i = 0; i < model->n_sources; i++) { /* n_sources fits 32 bits */
        const struct heft_format *const format = model->sources[i].format;

        if (format && format->check && !format->check(model, i, err))
            return heft_error_file(err, model->sources[i].path);
    }
    return true;
}
