/* job_request.c: what a caller asks for, as a request whose paths do not depend on the current directory:
 * parts run on other machines, from other directories. */
#include "base/require_arg.h"
#include "base/sized.h"
#include "format/formats.h"
#include "io/os.h"
#include "job/job_parts.h"

enum { MOST_PATH = 4096 };

static bool refuse(struct heft_error *err, const char *what)
{
    return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "%s; convert in one process", what);
}

static const char *absolute_path(struct heft_job *job, const char *path, struct heft_error *err)
{
    char here[MOST_PATH];

    if (*path == '/')
        return heft_arena_text(&job->mem, heft_str_of(path), err);
    if (!heft_os_here(here, sizeof here)) {
        heft_fail_errno(err, "the current directory has no path");
        return NULL;
    }
    return heft_arena_printf(&job->mem, err, "%s/%s", here, path);
}

/* A directory that exists is written with a slash: parts that find it and parts that do not must plan the
 * same. */
static const char *take_output(struct heft_job *job, const char *output, struct heft_error *err)
{
    const char *path = absolute_path(job, output, err);
    const size_t n = path ? strlen(path) : 0;

    if (!path || path[n - 1] == '/' || heft_path_kind(path) != HEFT_PATH_DIR)
        return path;
    return heft_arena_printf(&job->mem, err, "%s/", path);
}

static bool take_inputs(struct heft_job *job, const char *const *inputs, size_t n,
                        struct heft_error *err)
{
    struct heft_job_request *const r = &job->request;

    r->inputs = heft_calloc(n + 1, sizeof *r->inputs, err);
    for (size_t i = 0; r->inputs && i < n; i++) {
        if (!heft_require_arg(inputs[i] != NULL, "a path", err))
            return false;
        if (strcmp(inputs[i], "-") == 0)
            return refuse(err, "standard input cannot be read by several processes");
        r->inputs[i] = absolute_path(job, inputs[i], err);
        if (!r->inputs[i])
            return false;
        r->n_inputs++;
    }
    return r->inputs != NULL;
}

/* Whether the value of an option is a path, by its placeholder. */
static bool is_path(const struct heft_format_option *option)
{
    return option->value &&
           (strcmp(option->value, "MODEL") == 0 || strcmp(option->value, "BASE") == 0);
}

/* Copies the options, with absolute paths. */
static bool take_options(struct heft_job *job, const struct heft_option **list, size_t n,
                         struct heft_error *err)
{
    struct heft_option *const copy = heft_arena_zero(&job->mem, n + 1, sizeof *copy, err);
    const struct heft_formats *const formats = &heft_formats;

    if (!copy || !heft_require_options(*list, n, err))
        return false;
    for (size_t i = 0; i < n; i++) {
        const char *const name = (*list)[i].name;
        const struct heft_format_option *const o =
            name ? heft_format_option_any(formats, HEFT_OPTION_WRITES, name) : NULL;

        copy[i] = (*list)[i];
        if (o && copy[i].value && is_path(o)) {
            copy[i].value = absolute_path(job, copy[i].value, err);
            if (!copy[i].value)
                return false;
        }
    }
    *list = copy;
    return true;
}

static bool check_rules(const struct heft_job_request *r, struct heft_error *err)
{
    for (size_t i = 0; i < r->convert.n_rules; i++)
        if ((unsigned)r->convert.rules[i].kind > HEFT_RULE_SET || !r->convert.rules[i].left)
            return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                             "rule %zu has no text or no known kind", i);
    return true;
}

/* Copies the rules, with absolute paths of rules files; names of presets stay. */
static bool take_rules(struct heft_job *job, struct heft_error *err)
{
    struct heft_convert_options *const o = &job->request.convert;
    struct heft_rule *const copy = heft_arena_zero(&job->mem, o->n_rules + 1, sizeof *copy, err);

    for (size_t i = 0; copy && i < o->n_rules; i++) {
        const char *const left = o->rules[i].left;
        const bool is_path = strchr(left, '/') || heft_str_ends(heft_str_of(left), ".rules");

        copy[i] = o->rules[i];
        if (copy[i].kind == HEFT_RULE_FILE && is_path) {
            copy[i].left = absolute_path(job, left, err);
            if (!copy[i].left)
                return false;
        }
    }
    o->rules = copy;
    return copy != NULL;
}

static bool check_kinds(const struct heft_job_request *r, struct heft_error *err)
{
    if (r->open.salvage || r->convert.salvage)
        return refuse(err, "salvage reads all of the input to plan, in every part");
    if (r->open.n_inputs > 0)
        return refuse(err, "inputs of the program cannot be read by other processes");
    if (r->convert.n_ranges > 0)
        return refuse(err, "a slice of one tensor is not written in parts");
    return check_rules(r, err);
}

bool heft_job_request_take(struct heft_job *job, const char *const *inputs, size_t n,
                           const struct heft_open_options *open,
                           const struct heft_convert_options *convert, size_t parts,
                           struct heft_error *err)
{
    struct heft_job_request *const r = &job->request;

    if (!heft_require_arg(inputs && n > 0, "inputs", err) ||
        !HEFT_TAKE(heft_open_options, &r->open, open, err) ||
        !HEFT_TAKE(heft_limits, &r->limits, r->open.limits, err) ||
        !HEFT_TAKE(heft_convert_options, &r->convert, convert, err) ||
        !heft_require_arg(r->convert.output != NULL, "a name to write to", err))
        return false;
    if (parts == 0 || parts > HEFT_JOB_PARTS)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "%zu parts: expected 1 to %d", parts,
                         HEFT_JOB_PARTS);
    r->parts = parts;
    r->open.limits = &r->limits;
    r->open.standard_input = false;
    r->convert.progress = NULL;
    if (!*r->convert.output)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "the name of an output is empty");
    r->convert.output = take_output(job, r->convert.output, err);
    return r->convert.output && check_kinds(r, err) && take_rules(job, err) &&
           take_inputs(job, inputs, n, err) &&
           take_options(job, &r->convert.format_options, r->convert.n_format_options, err) &&
           heft_require_options(r->open.options, r->open.n_options, err);
}
