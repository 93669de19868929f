/* cmd_get.c: prints or writes one tensor, a slice of it, a blob or a value, by name. */
#include "output/differing.h"
#include "output/edge_items.h"
#include "main/options.h"
#include "main/hints.h"
#include "main/object_names.h"
#include "output/output.h"
#include "output/progress.h"
#include "output/python_repr.h"
#include "output/report.h"
#include "output/strings.h"
#include "output/saved_model.h"
#include "main/target.h"
#include "output/value.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_RANK = 64 }; /* at most this many dimensions, as in the library */

struct request {
    const struct options *options;
    struct out *out;
    struct heft_checkpoint *c;
    size_t index;
    struct heft_range ranges[MAX_RANK];
    size_t n_ranges;
};

static bool has_suffix(const char *text, const char *suffix)
{
    const size_t n = strlen(text), m = strlen(suffix);
    return n >= m && !strcmp(text + n - m, suffix);
}

static bool to_stdout(const struct options *options)
{
    return options->output && !strcmp(options->output, "-");
}

/* ---- tensors -------------------------------------------------------------------------------- */

/* Escapes a name to a glob that matches only this name. NULL if memory runs out. */
static char *exact_glob(const struct heft_tensor *t)
{
    char *const glob = malloc(2 * t->name_len + 1);
    size_t n = 0;
    for (size_t i = 0; glob && i < t->name_len; i++) {
        if (strchr("*?[]\\!", t->name[i]))
            glob[n++] = '\\';
        glob[n++] = t->name[i];
    }
    if (glob)
        glob[n] = '\0';
    return glob;
}

/* The cast of a written tensor: block types have no other form in a .npy than their values. NULL: as
 * stored. */
static const char *cast_of(const struct request *r, const struct heft_tensor *t)
{
    const struct options *const o = r->options;
    const bool is_block = heft_dtype_block_elements(t->dtype) > 1;

    if (o->cast || !is_block || !has_suffix(o->output, ".npy"))
        return o->cast;
    report_note(o, "%s is of %s: its values are written as F32", t->name,
                heft_dtype_name(t->dtype));
    return heft_dtype_name(HEFT_F32);
}

static bool write_tensor(struct request *r, struct heft_error *err)
{
    const struct options *const o = r->options;
    struct heft_tensor t = HEFT_INIT(struct heft_tensor);
    char *const glob = heft_tensor_at(r->c, r->index, &t) ? exact_glob(&t) : NULL;
    const char *const cast = glob ? cast_of(r, &t) : NULL;
    struct heft_rule rules[] = {{.size = sizeof *rules, .kind = HEFT_RULE_GLOB},
                                {.size = sizeof *rules, .kind = HEFT_RULE_CAST, .right = cast}};
    struct progress progress;
    struct heft_conversion *conversion;
    size_t planned;
    bool fine;
    const struct heft_convert_options how = {
        .size = sizeof how,
        .output = o->output,
        .to = has_suffix(o->output, ".npy") ? "npy" : "raw",
        .rules = rules,
        .n_rules = cast ? 2 : 1,
        .ranges = r->ranges,
        .n_ranges = r->n_ranges,
        .threads = options_threads(o),
        .overwrite = o->overwrite,
        .no_sync = o->no_sync,
        .no_verify = o->no_verify,
        .progress = progress_step,
        .progress_ctx = &progress,
    };

    rules[0].left = rules[1].left = glob;
    if (!glob)
        return no_memory(err, "the name");
    progress_begin(&progress, o, "get");
    conversion = heft_convert_plan(r->c, &how, err);
    planned = conversion ? heft_convert_note_count(conversion) : 0;
    progress_catch();
    fine = conversion && heft_convert_run(conversion, NULL, err);
    progress_end(&progress);
    for (size_t i = planned; fine && i < heft_convert_note_count(conversion); i++)
        report_note(o, "%s", heft_convert_note(conversion, i));
    if (!fine)
        hint_get(err);
    heft_convert_free(conversion);
    free(glob);
    return fine;
}

/* Ends the pieces when the output fails; the error is reported when the output is closed. */
static bool is_cut_short(const struct heft_error *err)
{
    return err->code == HEFT_CANCELLED;
}

static bool each_piece(void *ctx, const void *piece, size_t n)
{
    struct out *const out = ctx;
    out_bytes(out, piece, n);
    return out->error == 0 && !progress_interrupted();
}

static bool parse_cast(const struct options *o, enum heft_dtype *as, struct heft_error *err)
{
    return heft_dtype_named(o->cast, as) || usage_error(err, "--cast %s: unknown dtype", o->cast);
}

static void report_overflow(const struct options *o, uint64_t n, const enum heft_dtype *as)
{
    if (n && as)
        report_note(o, "%" PRIu64 " finite value%s out of range for %s", n,
                    n == 1 ? " is" : "s are", heft_dtype_name(*as));
}

static bool stream_cast(struct request *r, struct heft_error *err)
{
    const struct options *const o = r->options;
    uint64_t beyond = 0;
    enum heft_dtype as;
    if (!parse_cast(o, &as, err))
        return false;
    if (!heft_tensor_stream_as(r->c, r->index, r->ranges, r->n_ranges, as, each_piece, r->out,
                               &beyond, err))
        return is_cut_short(err);
    report_overflow(o, beyond, &as);
    return true;
}

static bool stream_tensor(struct request *r, struct heft_error *err)
{
    const struct options *const o = r->options;
    if (r->out->terminal)
        return usage_error(err,
                           "%s is a tensor: refusing to write its bytes to a terminal; use -o FILE",
                           o->inputs.items[o->inputs.n - 1]);
    if (!o->no_verify && !o->slice && !heft_tensor_check(r->c, r->index, err))
        return false;
    if (o->cast)
        return stream_cast(r, err);
    return heft_tensor_stream(r->c, r->index, r->ranges, r->n_ranges, each_piece, r->out, err) ||
           is_cut_short(err);
}

/* ---- tensors for people -------------------------------------------------------------------- */

/* Prints the elements as numpy does. Stored checksums are compared if the whole tensor is read. */
static bool print_elements(struct request *r, const struct edge_request *edges,
                           struct edge_items *items, struct heft_error *err)
{
    const struct options *const o = r->options;

    if (!edge_items_plan(items, edges, err))
        return false;
    if (!o->no_verify && !o->slice && items->is_whole && !heft_tensor_check(r->c, r->index, err))
        return false;
    if (!edge_items_read(items, edges, err))
        return false;
    print_array(r->out, &items->array);
    out_char(r->out, '\n');
    report_overflow(o, items->overflowed, edges->cast);
    return true;
}

static bool print_tensor(struct request *r, struct heft_error *err)
{
    struct edge_items items = {.elements = NULL};
    struct edge_request edges = {r->c, r->index, r->ranges, r->n_ranges, NULL};
    enum heft_dtype as;
    bool fine;

    if (r->options->cast && !parse_cast(r->options, &as, err))
        return false;
    edges.cast = r->options->cast ? &as : NULL;
    fine = print_elements(r, &edges, &items, err);
    edge_items_release(&items);
    return fine;
}

/* ---- tensors of strings --------------------------------------------------------------------- */

static bool is_text(const struct request *r)
{
    struct heft_tensor t = HEFT_INIT(struct heft_tensor);
    return heft_tensor_at(r->c, r->index, &t) && t.dtype == HEFT_STRING;
}

static bool put_strings(struct request *r, struct out *out, struct heft_error *err)
{
    if (!r->options->no_verify && !heft_tensor_check(r->c, r->index, err))
        return false;
    return json_strings(out, r->c, r->index, err);
}

/* Prints a tensor of strings as JSON unless -o names a file. */
static bool get_strings(struct request *r, struct heft_error *err)
{
    struct target target;
    if (r->options->slice)
        return usage_error(err, "--slice cannot be applied to strings");
    if (!r->options->output || to_stdout(r->options))
        return put_strings(r, r->out, err);
    return target_open(&target, r->options, err) &&
           target_close(&target, put_strings(r, &target.out, err), err);
}

/* Notes that the values of NVFP4 lack the factor of the whole tensor, which is a tensor of its own. */
static void note_factor(const struct request *r)
{
    static const char ending[] = ".weight";
    struct heft_tensor t = HEFT_INIT(struct heft_tensor);
    char scale[4096];
    size_t index;

    if (!heft_tensor_at(r->c, r->index, &t) || t.dtype != HEFT_NVFP4 ||
        !has_suffix(t.name, ending) || t.name_len >= sizeof scale)
        return;
    snprintf(scale, sizeof scale, "%.*s.scale", (int)(t.name_len - (sizeof ending - 1)), t.name);
    if (heft_tensor_find(r->c, scale, strlen(scale), &index))
        report_note(r->options, "%s is not multiplied by %s; convert --dequantize does it", t.name,
                    scale);
}

static bool get_tensor(struct request *r, struct heft_error *err)
{
    const struct options *const o = r->options;
    const char *const name = o->inputs.items[o->inputs.n - 1];

    note_factor(r);
    if (is_text(r) && !o->cast && (o->json || !o->output))
        return get_strings(r, err);
    if (o->json)
        return usage_error(err, "--json is for values; %s is a tensor", name);
    if (o->slice && !heft_slice_parse(r->c, r->index, o->slice, r->ranges, &r->n_ranges, err))
        return false;
    if (!o->output)
        return print_tensor(r, err);
    return to_stdout(o) ? stream_tensor(r, err) : write_tensor(r, err);
}

/* ---- values --------------------------------------------------------------------------------- */

static bool put_value(struct request *r, const struct heft_value *value, struct out *out,
                      struct heft_error *err)
{
    const bool to_file = r->options->output != NULL;
    const bool raw = (value->kind == HEFT_VALUE_STRING || value->kind == HEFT_VALUE_BYTES ||
                      (value->kind == HEFT_VALUE_OPAQUE && value->text)) &&
                     !r->options->json && !out->terminal;
    if (raw) {
        out_bytes(out, value->text, value->text_len);
        return true;
    }
    if (!(to_file || r->options->json ? json_value(out, value) : out_python_value(out, value)))
        return no_memory(err, "the value");
    out_char(out, '\n');
    return true;
}

static bool write_value(struct request *r, const struct heft_value *value, struct heft_error *err)
{
    struct target target;

    return target_open(&target, r->options, err) &&
           target_close(&target, put_value(r, value, &target.out, err), err);
}

/* Prints or writes a value. */
static bool give_value(struct request *r, const struct heft_value *value, struct heft_error *err)
{
    const struct options *const o = r->options;

    return o->output && !to_stdout(o) ? write_value(r, value, err)
                                      : put_value(r, value, r->out, err);
}

/* The item of that number, "31"; NULL if there is none. */
static const struct heft_value *find_item(const struct heft_value *list, const char *number)
{
    const struct heft_value *v = list->first_child;

    while (v && strcmp(v->key, number) != 0)
        v = v->next_sibling;
    return v;
}

/* Gives a long list, or the item of that number. */
static bool give_items(struct request *r, const struct heft_value *list, const char *number,
                       struct heft_error *err)
{
    struct heft_items *const items = heft_items_new(r->c, list, err);
    const struct heft_value *const whole = heft_items_value(items);
    const struct heft_value *const value = whole && number ? find_item(whole, number) : whole;
    const bool fine = items && (value ? give_value(r, value, err)
                                      : usage_error(err, "the list has no item %s", number));

    heft_items_free(items);
    return fine;
}

static bool get_value(struct request *r, const char *path, const struct heft_value *value,
                      struct heft_error *err)
{
    const struct options *const o = r->options;
    if (o->slice || o->cast)
        return usage_error(err, "--%s is for tensors; %s is a value", o->slice ? "slice" : "cast",
                           o->inputs.items[o->inputs.n - 1]);
    report_differing(o, r->c, path);
    return give_items(r, value, NULL, err);
}

/* A long list of which `name` is an item: "tokenizer.ggml.tokens.31". Sets *number to a part of the
 * name; NULL if it is none. */
static const struct heft_value *find_list_of(const struct request *r, char *name,
                                             const char **number)
{
    char *const dot = strrchr(name, '.');
    const struct heft_value *list;

    if (!dot || !dot[1] || dot[1 + strspn(dot + 1, "0123456789")])
        return NULL;
    *dot = '\0';
    list = heft_value_find(r->c, name);
    *dot = '.';
    *number = dot + 1;
    return list && list->more ? list : NULL;
}

/* ---- blobs ---------------------------------------------------------------------------------- */

static bool put_blob(struct request *r, struct out *out, struct heft_error *err)
{
    if (!r->options->no_verify && !heft_blob_check(r->c, r->index, err))
        return false;
    return heft_blob_stream(r->c, r->index, each_piece, out, err) || is_cut_short(err);
}

static bool write_blob(struct request *r, struct heft_error *err)
{
    struct target target;

    return target_open(&target, r->options, err) &&
           target_close(&target, put_blob(r, &target.out, err), err);
}

static bool get_blob(struct request *r, struct heft_error *err)
{
    const struct options *const o = r->options;
    const char *const name = o->inputs.items[o->inputs.n - 1];
    if (o->json || o->slice || o->cast)
        return usage_error(err, "--%s cannot be applied to a blob, and %s is one",
                           o->json    ? "json"
                           : o->slice ? "slice"
                                      : "cast",
                           name);
    if (!o->output || (to_stdout(o) && r->out->terminal))
        return usage_error(err, "%s is a blob: no output; give -o FILE or -o -", name);
    return to_stdout(o) ? put_blob(r, r->out, err) : write_blob(r, err);
}

/* ---- finding what a name means -------------------------------------------------------------- */

static bool fail_with(struct heft_error *err, const struct heft_error *why)
{
    *err = *why;
    return false;
}

/* `why`: there is no tensor of that name, either. The name may be that of an object, or similar to
 * one. */
static bool unknown_name(const struct request *r, const char *name, const struct heft_error *why,
                         struct heft_error *err)
{
    static const char similar[] = "; did you mean ";
    struct heft_checkpoint *const objects =
        why->code == HEFT_USAGE ? open_by_objects(r->options, 1, r->c) : NULL;
    struct heft_error other = {0};
    bool found;
    size_t index;

    if (!objects && why->code == HEFT_USAGE && numbers_variables(r->options, r->c))
        return usage_error(
            err, "%.900s (variables have numbers here, and names with --names objects)", why->text);
    if (!objects)
        return fail_with(err, why);
    found = heft_tensor_require(objects, name, strlen(name), &index, &other);
    heft_close(objects);
    if (found)
        return usage_error(
            err,
            "there is no tensor with the key %s, but one whose object has that name; use "
            "--names objects",
            name);
    if (strstr(why->text, similar) || !strstr(other.text, similar))
        return fail_with(err, why);
    return usage_error(err, "%.900s (names of objects: --names objects)", other.text);
}

static bool get_named(struct request *r, struct heft_error *err)
{
    const struct options *const o = r->options;
    const char *const given = o->inputs.items[o->inputs.n - 1];
    const size_t room = (o->root ? strlen(o->root) : 0) + strlen(given) + 2;
    char *const name = malloc(room);
    const struct heft_value *value, *list;
    struct heft_error why = {0};
    const char *number;
    bool fine;

    if (!name)
        return no_memory(err, "the name");
    snprintf(name, room, "%s%s%s", o->root ? o->root : "", o->root ? "." : "", given);
    if (is_signature(r->c, name)) {
        fine = get_signature(r->out, r->c, name, o, err);
        free(name);
        return fine;
    }
    value = heft_value_find(r->c, name);
    if (heft_tensor_require(r->c, name, strlen(name), &r->index, &why))
        fine = get_tensor(r, err);
    else if (why.code ==
             HEFT_UNSUPPORTED) /* unreadable; values may have its name, such as scales */
        fine = fail_with(err, &why);
    else if (heft_blob_find(r->c, name, strlen(name), &r->index))
        fine = get_blob(r, err);
    else if (value)
        fine = get_value(r, name, value, err);
    else if (!o->slice && !o->cast && (list = find_list_of(r, name, &number)) != NULL)
        fine = give_items(r, list, number, err);
    else
        fine = unknown_name(r, name, &why, err);
    free(name);
    return fine;
}

/* Detects swapped arguments: "get NAME FILE" instead of "get FILE NAME". */
static void hint_order(const struct options *options, struct heft_error *err)
{
    const char *const *const items = options->inputs.items;
    if (options->inputs.n == 2 && access(items[0], F_OK) != 0 && access(items[1], F_OK) == 0)
        usage_error(err, "there is no file %s; the name comes last: heft get %s %s", items[0],
                    items[1], items[0]);
}

int cmd_get(const struct options *options, struct out *out)
{
    struct heft_error err = {0};
    struct request request = {.options = options, .out = out};
    bool fine;

    request.c = open_inputs(options, 1, &err);
    if (!request.c)
        hint_order(options, &err);
    fine = request.c && get_named(&request, &err);
    if (fine) {
        report_lacks(options, request.c);
        report_left(options, request.c);
    }
    heft_close(request.c);
    return fine ? EXIT_SOUND : report_error(&err);
}
