/* cmd_convert.c: converts any readable format to any writable one; --dry-run prints the plan. */
#include "main/options.h"
#include "main/hints.h"
#include "output/output.h"
#include "output/progress.h"
#include "output/report.h"
#include "output/losses.h"
#include "main/rules.h"
#include "main/rules_files.h"
#include "verbs/converting.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *base_name(const char *path)
{
    const char *const slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* ---- printing the plan ---------------------------------------------------------------------- */

enum { SOURCES_SHOWN = 4 };

/* The names of the sources, and with rules files the rule. */
static void put_origin(struct out *out, const struct heft_planned_tensor *t)
{
    if (strcmp(t->name, t->source_name) != 0 || t->n_sources > 1) {
        out_text(out, "  from ");
        (void)out_name(out, t->source_name, strlen(t->source_name));
    }
    for (size_t i = 1; i < t->n_sources && i < SOURCES_SHOWN; i++) {
        out_text(out, ", ");
        (void)out_name(out, t->sources[i], strlen(t->sources[i]));
    }
    if (t->n_sources > SOURCES_SHOWN) {
        out_text(out, " and ");
        out_u64(out, t->n_sources - SOURCES_SHOWN);
        out_text(out, " more");
    }
    if (t->rule_file) {
        out_text(out, "  by ");
        (void)out_name(out, t->rule_file, strlen(t->rule_file));
        out_char(out, ':');
        out_u64(out, t->rule_line);
    }
}

static void plan_text(struct out *out, const struct heft_conversion *conversion,
                      const struct rule_report *rules)
{
    struct heft_planned_tensor t = HEFT_INIT(struct heft_planned_tensor);
    struct heft_file file = HEFT_INIT(struct heft_file);
    size_t k = 0;

    for (size_t f = 0; heft_convert_file(conversion, f, &file); f++) {
        (void)out_name(out, file.path, strlen(file.path));
        out_text(out, "  ");
        out_u64(out, file.bytes);
        out_text(out, " bytes\n");
        for (; heft_convert_tensor(conversion, k, &t) && t.file == f; k++) {
            out_text(out, "  ");
            out_hex(out, t.offset, hex_digits(file.bytes));
            out_text(out, "  ");
            out_u64_in(out, t.bytes, u64_digits(file.bytes));
            out_text(out, "  ");
            out_text(out, heft_dtype_name(t.dtype));
            out_text(out, "  ");
            (void)out_name(out, t.name, strlen(t.name));
            put_origin(out, &t);
            out_char(out, '\n');
        }
    }
    rules_text(out, rules);
}

/* Writes filename_to_tensors; the tensors are ordered by file. */
static void json_by_file(struct out *out, const struct heft_conversion *conversion)
{
    struct heft_planned_tensor t = HEFT_INIT(struct heft_planned_tensor);
    struct heft_file file = HEFT_INIT(struct heft_file);
    size_t open = SIZE_MAX;

    json_key(out, "filename_to_tensors");
    json_open(out, '{');
    for (size_t k = 0; heft_convert_tensor(conversion, k, &t); k++) {
        if (t.file != open && heft_convert_file(conversion, t.file, &file)) {
            if (open != SIZE_MAX)
                json_close(out, ']');
            json_key(out, base_name(file.path));
            json_open(out, '[');
            open = t.file;
        }
        json_text(out, t.name, strlen(t.name));
    }
    if (open != SIZE_MAX)
        json_close(out, ']');
    json_close(out, '}');
}

static void json_by_tensor(struct out *out, const struct heft_conversion *conversion)
{
    struct heft_planned_tensor t = HEFT_INIT(struct heft_planned_tensor);
    struct heft_file file = HEFT_INIT(struct heft_file);

    json_key(out, "tensor_to_filename");
    json_open(out, '{');
    for (size_t k = 0; heft_convert_tensor(conversion, k, &t); k++)
        if (heft_convert_file(conversion, t.file, &file)) {
            json_key(out, t.name);
            json_text(out, base_name(file.path), strlen(base_name(file.path)));
        }
    json_close(out, '}');
}

/* Writes tensor_to_sources, with rules files: their names, and the rule. */
static void json_origins(struct out *out, const struct heft_conversion *conversion)
{
    struct heft_planned_tensor t = HEFT_INIT(struct heft_planned_tensor);

    json_key(out, "tensor_to_sources");
    json_open(out, '{');
    for (size_t k = 0; heft_convert_tensor(conversion, k, &t); k++) {
        json_key(out, t.name);
        json_open(out, '{');
        json_key(out, "sources");
        json_open(out, '[');
        for (size_t i = 0; i < t.n_sources; i++)
            json_text(out, t.sources[i], strlen(t.sources[i]));
        json_close(out, ']');
        if (t.rule_file) {
            json_member_text(out, "file", t.rule_file);
            json_member_u64(out, "line", t.rule_line);
        }
        json_close(out, '}');
    }
    json_close(out, '}');
}

static void plan_json(struct out *out, const struct heft_conversion *conversion,
                      const struct rule_report *rules)
{
    struct heft_planned planned = HEFT_INIT(struct heft_planned);
    heft_convert_summary(conversion, &planned);
    json_open(out, '{');
    json_member_u64(out, "heft", 1);
    json_member_bool(out, "is_sharded", planned.is_sharded);
    json_key(out, "metadata");
    json_open(out, '{');
    json_member_u64(out, "total_size", planned.total_size);
    json_close(out, '}');
    json_by_file(out, conversion);
    json_by_tensor(out, conversion);
    if (rules_files_given(rules->options))
        json_origins(out, conversion);
    rules_json(out, rules);
    json_close(out, '}');
    out_char(out, '\n');
}

/* ---- running the conversion ----------------------------------------------------------------- */

static void print_json(const struct options *options, struct out *out,
                       const struct heft_checkpoint *c, const struct heft_conversion *conversion,
                       const struct progress *progress, const struct rule_report *rules,
                       bool written)
{
    struct heft_planned planned = HEFT_INIT(struct heft_planned);
    struct heft_file file = HEFT_INIT(struct heft_file);
    heft_convert_summary(conversion, &planned);
    json_open(out, '{');
    json_member_u64(out, "heft", 1);
    json_key(out, "files");
    json_open(out, '[');
    for (size_t i = 0; written && heft_convert_file(conversion, i, &file); i++)
        json_text(out, file.path, strlen(file.path));
    json_close(out, ']');
    json_member_u64(out, "tensors", planned.tensors);
    json_member_u64(out, "bytes", written ? planned.bytes : 0);
    json_key(out, "seconds");
    json_seconds(out, progress_seconds(progress));
    json_member_u64(out, "peak_rss", peak_memory());
    rules_json(out, rules);
    if (options->salvage)
        salvage_json(out, c, conversion);
    json_close(out, '}');
    out_char(out, '\n');
}

/* Whether --salvage recovered nothing: then no file is written. */
static bool is_empty(const struct heft_checkpoint *c, const struct heft_conversion *conversion)
{
    struct heft_planned planned = HEFT_INIT(struct heft_planned);
    struct heft_unread lost = HEFT_INIT(struct heft_unread);
    struct heft_finding damage = HEFT_INIT(struct heft_finding);
    uint64_t expected;
    bool missing = false, at_least;
    heft_convert_summary(conversion, &planned);
    for (size_t i = 0; i < heft_file_count(c); i++)
        missing = missing || heft_missing_at(c, i, &expected, &at_least);
    return planned.tensors == 0 &&
           (missing || heft_convert_lost_at(conversion, 0, &lost) || heft_damage_at(c, 0, &damage));
}

static bool write_files(const struct options *options, struct heft_conversion *conversion,
                        struct progress *progress, struct heft_error *err)
{
    const size_t planned = heft_convert_note_count(conversion);
    bool fine;

    progress_catch();
    fine = heft_convert_run(conversion, NULL, err);
    progress_end(progress);
    convert_report_notes(options, conversion, planned);
    progress->what = "verify";
    fine = fine && convert_verify(options, conversion, err);
    progress_end(progress);
    return fine;
}

static bool run_conversion(const struct options *options, struct out *out,
                           struct heft_checkpoint *c, struct heft_conversion *conversion,
                           struct progress *progress, const struct rule_report *rules,
                           struct heft_error *err)
{
    const bool written = options->allow_empty || !is_empty(c, conversion);
    if (written && !write_files(options, conversion, progress, err))
        return false;
    if (!written)
        fprintf(stderr, "heft: nothing could be salvaged; no file is written\n");
    if (options->json)
        print_json(options, out, c, conversion, progress, rules, written);
    else if (written)
        convert_print_files(out, conversion);
    return true;
}

/* Converts; sets *status to EXIT_NO if something is lost. */
static bool convert_inputs(const struct options *options, struct out *out,
                           struct heft_checkpoint *c, struct progress *progress, int *status,
                           struct heft_error *err)
{
    const struct heft_convert_options how = convert_options(options, progress);
    struct heft_conversion *conversion;
    struct rule_report rules;
    bool fine = rules_count(&rules, options, c, err);

    progress->what = options->salvage ? "check" : "convert";
    conversion = fine ? heft_convert_plan(c, &how, err) : NULL;
    progress_end(progress);
    progress->what = "convert";
    if (!conversion) {
        rules_release(&rules);
        return false;
    }
    convert_report_notes(options, conversion, 0);
    if (options->salvage && salvage_report(c, conversion))
        *status = EXIT_NO;
    if (options->dry_run)
        (options->json ? plan_json : plan_text)(out, conversion, &rules);
    else
        fine = run_conversion(options, out, c, conversion, progress, &rules, err);
    rules_release(&rules);
    heft_convert_free(conversion);
    return fine;
}

int cmd_convert(const struct options *given, struct out *out)
{
    struct options shared = *given;
    const struct options *const options = &shared;
    struct heft_error err = {0};
    struct heft_checkpoint *c = NULL;
    struct progress progress;
    int status = EXIT_SOUND;
    bool fine;

    convert_share_options(&shared);
    progress_begin(&progress, options, "convert");
    fine = convert_check_output(options, "convert", &err) && rules_files_read(&shared, &err);
    c = fine ? open_inputs(options, 0, &err) : NULL;
    fine = c && convert_inputs(options, out, c, &progress, &status, &err);
    heft_close(c);
    hint_convert(&err);
    return fine ? status : report_error(&err);
}
