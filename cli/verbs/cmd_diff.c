/* cmd_diff.c: compares two checkpoints. Prints a line per difference as it is found, then the
 * counts; or JSON. */
#include "main/object_names.h"
#include "main/options.h"
#include "main/rules.h"
#include "main/rules_files.h"
#include "output/diff_lines.h"
#include "output/output.h"
#include "output/progress.h"
#include "output/report.h"
#include "output/value.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Names that JSON lists after the differences: each a length and the bytes. */
struct name_list {
    char *p;
    size_t n, cap;
};

/* JSON has one object for each, in this order; those of tensors are members of the document. */
enum section { TENSORS, METADATA, VALUES };

struct comparison {
    const struct options *options;
    struct out *out;
    struct heft_diff_result result;
    struct rule_report rules;
    bool json_began;
    enum section section; /* of JSON */
    bool no_memory;
    struct name_list only_a, only_b; /* JSON: of the section */
};

/* ---- counts ------------------------------------------------------------------------------ */

static void put_totals(const struct comparison *c)
{
    if (c->options->metadata) {
        out_text(c->out, "metadata: ");
        print_diff_counts(c->out, &c->result.metadata);
        out_text(c->out, "values: ");
        print_diff_counts(c->out, &c->result.values);
    }
    print_diff_counts(c->out, &c->result.tensors);
}

/* ---- JSON -------------------------------------------------------------------------------- */

static bool keep_name(struct name_list *list, const char *name, size_t n)
{
    const size_t more = sizeof n + n;
    char *p;

    if (more > list->cap - list->n) {
        const size_t cap = 2 * list->cap + more;

        p = realloc(list->p, cap);
        if (!p)
            return false;
        list->p = p;
        list->cap = cap;
    }
    memcpy(list->p + list->n, &n, sizeof n);
    memcpy(list->p + list->n + sizeof n, name, n);
    list->n += more;
    return true;
}

static void json_names(struct out *out, const char *key, struct name_list *list)
{
    size_t n;

    json_key(out, key);
    json_open(out, '[');
    for (size_t at = 0; at < list->n; at += sizeof n + n) {
        memcpy(&n, list->p + at, sizeof n);
        json_text(out, list->p + at + sizeof n, n);
    }
    json_close(out, ']');
    list->n = 0;
}

/* Ends the list of differences of a section, and adds its other members. */
static void end_section(struct comparison *c)
{
    const struct heft_diff_counts *const counts = c->section == TENSORS    ? &c->result.tensors
                                                  : c->section == METADATA ? &c->result.metadata
                                                                           : &c->result.values;

    json_close(c->out, ']');
    json_names(c->out, "only_a", &c->only_a);
    json_names(c->out, "only_b", &c->only_b);
    json_member_u64(c->out, "equal", counts->equal);
    if (c->section != TENSORS)
        json_close(c->out, '}');
}

static void begin_json(struct comparison *c)
{
    if (c->json_began)
        return;
    c->json_began = true;
    json_open(c->out, '{');
    json_member_u64(c->out, "heft", 1);
    json_key(c->out, "differ");
    json_open(c->out, '[');
}

/* Ends sections before this one, and begins it. */
static void enter_section(struct comparison *c, enum section section)
{
    static const char *const names[] = {NULL, "metadata", "values"};

    begin_json(c);
    while (c->section < section) {
        end_section(c);
        c->section++;
        json_key(c->out, names[c->section]);
        json_open(c->out, '{');
        json_key(c->out, "differ");
        json_open(c->out, '[');
    }
}

static void json_dims(struct out *out, unsigned rank, const uint64_t *dims)
{
    json_open(out, '[');
    for (unsigned i = 0; i < rank; i++)
        json_u64(out, dims[i]);
    json_close(out, ']');
}

static void json_two(struct out *out, const char *key, uint64_t a, uint64_t b)
{
    const uint64_t both[] = {a, b};

    json_key(out, key);
    json_dims(out, 2, both);
}

static void json_number_or_null(struct out *out, const char *key, bool is_set, double number)
{
    json_key(out, key);
    if (is_set)
        json_double(out, number);
    else
        json_null(out);
}

/* Members that are null if values were not compared, do not differ, or have no figures. */
static void json_figures(struct out *out, const struct heft_diff_item *item)
{
    json_key(out, "differing");
    if (item->values_differ && item->is_counted)
        json_u64(out, item->differing);
    else
        json_null(out);
    json_number_or_null(out, "max_abs", item->has_figures, item->max_abs);
    json_key(out, "max_abs_at");
    if (item->has_figures)
        json_dims(out, item->a.rank, item->max_abs_at);
    else
        json_null(out);
    json_number_or_null(out, "mean_abs", item->has_figures, item->mean_abs);
    if (item->values_differ) {
        json_two(out, "nan", item->nan_a, item->nan_b);
        json_two(out, "inf", item->inf_a, item->inf_b);
        json_member_u64(out, "elements", item->elements);
    } else {
        json_key(out, "nan");
        json_null(out);
    }
}

static void json_item(struct out *out, const struct heft_diff_item *item)
{
    const char *const a = diff_type(item, &item->a), *const b = diff_type(item, &item->b);

    json_line(out);
    json_open(out, '{');
    json_key(out, "name");
    json_text(out, item->name, item->name_len);
    json_key(out, "dtype");
    json_open(out, '[');
    json_text(out, a, strlen(a));
    json_text(out, b, strlen(b));
    json_close(out, ']');
    json_key(out, "shape");
    json_open(out, '[');
    json_dims(out, item->a.rank, item->a.shape);
    json_dims(out, item->b.rank, item->b.shape);
    json_close(out, ']');
    json_figures(out, item);
    json_close(out, '}');
}

static void json_pair(struct out *out, const struct heft_diff_pair *pair)
{
    json_line(out);
    json_open(out, '{');
    json_key(out, "key");
    json_text(out, pair->key, pair->key_len);
    json_key(out, "value");
    json_open(out, '[');
    json_text(out, pair->a, pair->a_len);
    json_text(out, pair->b, pair->b_len);
    json_close(out, ']');
    json_close(out, '}');
}

static void json_two_values(struct out *out, const struct heft_diff_value *value)
{
    json_line(out);
    json_open(out, '{');
    json_key(out, "path");
    json_text(out, value->path, value->path_len);
    json_key(out, "value");
    json_open(out, '[');
    (void)json_value(out, value->a);
    (void)json_value(out, value->b);
    json_close(out, ']');
    json_close(out, '}');
}

/* Closes the document. After an error it has only the differences found before, and "error". */
static void end_json(struct comparison *c, const struct heft_error *err)
{
    char line[1024];

    enter_section(c, c->options->metadata && !err ? VALUES : c->section);
    end_section(c);
    rules_json(c->out, &c->rules);
    if (err)
        json_member_text(c->out, "error", heft_error_format(err, line, sizeof line));
    json_close(c->out, '}');
    out_char(c->out, '\n');
}

/* ---- the comparison ---------------------------------------------------------------------- */

/* Keeps a name for the lists of JSON. */
static bool keep_single(struct comparison *c, enum heft_diff_kind kind, const char *name, size_t n)
{
    c->no_memory = !keep_name(kind == HEFT_DIFF_ONLY_A ? &c->only_a : &c->only_b, name, n);
    return !c->no_memory;
}

static bool each_tensor(void *ctx, const struct heft_diff_item *item)
{
    struct comparison *const c = ctx;

    if (!c->options->json) {
        print_diff_item(c->out, item);
        return true;
    }
    enter_section(c, TENSORS);
    if (item->kind != HEFT_DIFF_BOTH)
        return keep_single(c, item->kind, item->name, item->name_len);
    json_item(c->out, item);
    return true;
}

static bool each_pair(void *ctx, const struct heft_diff_pair *pair)
{
    struct comparison *const c = ctx;

    if (!c->options->json) {
        print_diff_pair(c->out, pair);
        return true;
    }
    enter_section(c, METADATA);
    if (pair->kind != HEFT_DIFF_BOTH)
        return keep_single(c, pair->kind, pair->key, pair->key_len);
    json_pair(c->out, pair);
    return true;
}

static bool each_value(void *ctx, const struct heft_diff_value *value)
{
    struct comparison *const c = ctx;

    if (!c->options->json) {
        print_diff_value(c->out, value);
        return true;
    }
    enter_section(c, VALUES);
    if (value->kind != HEFT_DIFF_BOTH)
        return keep_single(c, value->kind, value->path, value->path_len);
    json_two_values(c->out, value);
    return true;
}

/* Parses a tolerance; 0 if it is not given. */
static bool parse_tolerance(const char *name, const char *text, double *number,
                            struct heft_error *err)
{
    char *end = NULL;

    *number = text ? strtod(text, &end) : 0;
    return !text || (end != text && !*end && *number >= 0 && *number <= 1e308) ||
           usage_error(err, "--%s %s: expected a number that is not negative", name, text);
}

static struct heft_checkpoint *open_one(const struct options *options, size_t index,
                                        struct heft_error *err)
{
    struct options one = *options;

    one.inputs.items = &options->inputs.items[index];
    one.inputs.n = 1;
    one.io = index ? NULL : options->io; /* its note is printed once */
    /* rules files are for A */
    return index || rules_files_read(&one, err) ? open_inputs(&one, 0, err) : NULL;
}

static bool each_ignored(void *ctx, const struct heft_diff_item *item)
{
    (void)ctx;
    (void)item;
    return true;
}

/* Opens input `index`, which is open as `c`, with the names of objects. NULL if it has none. */
static struct heft_checkpoint *open_objects(const struct options *options, size_t index,
                                            const struct heft_checkpoint *c)
{
    struct options one = *options;

    one.inputs.items = &options->inputs.items[index];
    one.inputs.n = 1;
    one.io = NULL;
    return open_by_objects(&one, 0, c);
}

/* Number of names that both inputs have if those of objects are taken. */
static uint64_t count_common(const struct comparison *c, struct heft_checkpoint *a,
                             struct heft_checkpoint *b)
{
    const struct options *const o = c->options;
    const struct heft_diff_visitor visitor = {.size = sizeof visitor, .tensor = each_ignored};
    const struct heft_diff_options how = {.size = sizeof how,
                                          .structure = true,
                                          .root = o->root,
                                          .rules = o->rules,
                                          .n_rules = o->n_rules};
    struct heft_diff_result result = HEFT_INIT(struct heft_diff_result);
    struct heft_checkpoint *const x = open_objects(o, 0, a), *const y = open_objects(o, 1, b);
    struct heft_error ignored = {0};
    uint64_t n = 0;

    if ((x || y) && heft_diff(x ? x : a, y ? y : b, &how, &visitor, &result, &ignored))
        n = result.tensors.equal + result.tensors.differ;
    heft_close(x);
    heft_close(y);
    return n;
}

/* Notes names of objects if the inputs have no name in common. */
static void note_objects(const struct comparison *c, struct heft_checkpoint *a,
                         struct heft_checkpoint *b)
{
    const struct heft_diff_counts *const n = &c->result.tensors;
    const bool is_apart = n->equal == 0 && n->differ == 0;
    const bool is_numbered =
        is_apart && (numbers_variables(c->options, a) || numbers_variables(c->options, b));
    const uint64_t common = is_apart && !is_numbered ? count_common(c, a, b) : 0;

    if (is_numbered)
        report_note(c->options, "no name is in both; --names objects gives the variables of Keras' "
                                "files names in place of numbers");
    if (common)
        report_note(c->options, "no name is in both; with --names objects, %" PRIu64 " name%s",
                    common, common == 1 ? " is" : "s are");
}

static void report_result(const struct comparison *c)
{
    static const char text[] =
        "--root %s: %s has nothing below it, so that all of its tensors are compared";

    if (!c->result.has_root_a)
        report_note(c->options, text, c->options->root, "A");
    if (!c->result.has_root_b)
        report_note(c->options, text, c->options->root, "B");
    if (!(c->result.tensors.equal + c->result.tensors.differ + c->result.tensors.only_a +
          c->result.tensors.only_b))
        report_note(c->options, "there is no tensor to compare");
    if (c->result.cast_equal)
        report_note(c->options, "%" PRIu64 " of the equal tensors %s different dtypes",
                    c->result.cast_equal, c->result.cast_equal == 1 ? "has" : "have");
}

static bool compare(struct comparison *c, struct heft_checkpoint *a, struct heft_checkpoint *b,
                    struct heft_error *err)
{
    const struct options *const options = c->options;
    const struct heft_diff_visitor visitor = {sizeof visitor, each_tensor, each_pair, each_value,
                                              c};
    struct progress progress;
    struct heft_diff_options how = {
        .size = sizeof how,
        .structure = options->structure,
        .has_tolerance = options->atol || options->rtol,
        .metadata = options->metadata,
        .root = options->root,
        .rules = options->rules,
        .n_rules = options->n_rules,
        .uses = c->rules.uses,
        .threads = options_threads(options),
        .progress = progress_step,
        .progress_ctx = &progress,
    };
    bool fine;

    if (!parse_tolerance("atol", options->atol, &how.atol, err) ||
        !parse_tolerance("rtol", options->rtol, &how.rtol, err))
        return false;
    progress_begin(&progress, options, "diff");
    fine = heft_diff(a, b, &how, &visitor, &c->result, err);
    progress_end(&progress);
    return fine || (c->no_memory && no_memory(err, "the list of names"));
}

static bool is_equal(const struct heft_diff_counts *counts)
{
    return !counts->differ && !counts->only_a && !counts->only_b;
}

static int finish(struct comparison *c, struct heft_checkpoint *a, struct heft_checkpoint *b)
{
    struct heft_error err = {0};

    if (c->options->json)
        end_json(c, NULL);
    else
        put_totals(c);
    report_result(c);
    note_objects(c, a, b);
    report_lacks(c->options, a);
    report_lacks(c->options, b);
    if (!rules_note_idle(&c->rules, &err))
        return report_error(&err);
    return is_equal(&c->result.tensors) && is_equal(&c->result.metadata) &&
                   is_equal(&c->result.values)
               ? EXIT_SOUND
               : EXIT_NO;
}

/* Status 1 means a difference: a checksum that does not match is an error here. */
static int report_failure(struct comparison *c, const struct heft_error *err)
{
    if (c->json_began)
        end_json(c, err);
    (void)report_error(err);
    return EXIT_TROUBLE;
}

int cmd_diff(const struct options *options, struct out *out)
{
    struct comparison c = {
        .options = options, .out = out, .result = HEFT_INIT(struct heft_diff_result)};
    struct heft_error err = {0};
    struct heft_checkpoint *const a = open_one(options, 0, &err);
    struct heft_checkpoint *const b = a ? open_one(options, 1, &err) : NULL;
    const bool fine = b && rules_begin(&c.rules, options, &err) && compare(&c, a, b, &err);
    const int status = fine ? finish(&c, a, b) : report_failure(&c, &err);

    rules_release(&c.rules);
    free(c.only_a.p);
    free(c.only_b.p);
    heft_close(a);
    heft_close(b);
    return status;
}
