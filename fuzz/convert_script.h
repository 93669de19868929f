/* convert_script.h: runs a script (script.h): writes its files to a temporary directory, opens them,
 * converts them, and verifies what was written.
 *
 * Invariants: those of expect_conversion.h. */
#ifndef CONVERT_SCRIPT_H
#define CONVERT_SCRIPT_H

#include <stdio.h>
#include <sys/stat.h>

#include "expect_conversion.h"
#include "quant/dequantizer.h"
#include "script.h"

/* A run of a script; `in` has its files, `out` the output. */
struct script_run {
    struct script *script;
    char *folder, *in, *out, *output, *into, *base;
    char *paths[SCRIPT_MOST];
    size_t n_paths;
    struct heft_model model;
};

/* A file whose place is taken by a directory, or whose directory is a file, is left out. */
static inline void script_write_file(const struct script_run *r, const struct script_file *file)
{
    char *const path = heft_scratch_path(r->in, file->name);
    FILE *out;

    for (char *slash = path + strlen(r->in) + 1; (slash = strchr(slash, '/')) != NULL;) {
        *slash = '\0';
        (void)mkdir(path, 0700);
        *slash++ = '/';
    }
    out = fopen(path, "wb");
    if (out) {
        expect(file->n == 0 || fwrite(file->data, 1, file->n, out) == file->n);
        expect(fclose(out) == 0);
    }
    free(path);
}

/* Path of an option's value in the directory. */
static inline char *script_place(const struct script_run *r, const struct heft_option *option)
{
    return heft_scratch_path(r->in, script_is_safe(option->value) ? option->value : "none");
}

/* Names the inputs, and replaces the values of options `into` and `base` by paths in the directory. */
static inline void script_name_paths(struct script_run *r)
{
    struct script *const s = r->script;

    for (size_t i = 0; i < s->n_opened; i++)
        r->paths[r->n_paths++] = heft_scratch_path(r->in, s->opened[i]);
    if (r->n_paths == 0)
        r->paths[r->n_paths++] = s->n_files == 1 ? heft_scratch_path(r->in, s->files[0].name)
                                                 : heft_scratch_path(r->in, "");
    for (size_t i = 0; i < s->n_target_options; i++) {
        struct heft_option *const option = &s->target_options[i];

        if (!option->value)
            continue;
        if (strcmp(option->name, "into") == 0 && !r->into)
            option->value = r->into = script_place(r, option);
        else if (strcmp(option->name, "base") == 0 && !r->base)
            option->value = r->base = script_place(r, option);
    }
}

static inline void script_begin(struct script_run *r, struct script *s)
{
    *r = (struct script_run){.script = s, .folder = heft_scratch_new()};
    r->in = heft_scratch_path(r->folder, "in");
    r->out = heft_scratch_path(r->folder, "out");
    r->output = heft_scratch_path(r->out, s->options.output);
    expect(mkdir(r->in, 0700) == 0 && mkdir(r->out, 0700) == 0);
    s->options.output = r->output;
    for (size_t i = 0; i < s->n_files; i++)
        script_write_file(r, &s->files[i]);
    script_name_paths(r);
}

static inline void script_end(struct script_run *r)
{
    for (size_t i = 0; i < r->n_paths; i++)
        free(r->paths[i]);
    free(r->into);
    free(r->base);
    free(r->output);
    free(r->out);
    free(r->in);
    heft_scratch_free(r->folder);
}

/* ---- running ----------------------------------------------------------------------------- */

static inline bool script_open(struct script_run *r, struct heft_error *err)
{
    const struct script *const s = r->script;
    struct heft_model *const m = &r->model;

    heft_model_init(m, open_limits(), &heft_formats);
    m->salvage = s->options.salvage;
    return heft_given_options_take(&m->options, &heft_formats, s->read_options, s->n_read_options,
                                   &m->mem, err) &&
           heft_registry_open(m, (const char *const *)r->paths, r->n_paths, NULL, err) &&
           heft_model_refuse_idle(m, err) && heft_model_validate(m, err) &&
           heft_dequantizer.open(m, err);
}

static inline void run_script(const uint8_t *data, size_t size)
{
    static struct script script;
    struct heft_error err = {0};
    struct script_run r;
    bool ok;

    if (size > 1 << 18 || !script_parse(&script, data, size))
        return;
    script_begin(&r, &script);
    ok = script_open(&r, &err);
    expect_outcome(ok, &err);
    if (ok) {
        expect_map_or_overlap(&r.model);
        expect_values(&r.model);
        /* the model's own findings are in its copy, too */
        expect_conversion(&r.model, &script.options, r.out, r.into != NULL);
    }
    heft_model_release(&r.model);
    script_end(&r);
}

#endif
