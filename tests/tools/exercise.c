/* exercise.c: see exercise.h. */
#include "exercise.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <heft/tokens.h>

/* Limit of tensor bytes of verbs that read data or write it: a file may describe far more data than it
 * contains. */
#define MOST_DATA (256u << 10)
#define MOST_IDS  4096

/* Reads every byte of a result, so that a sanitizer detects invalid memory. */
static void touch(const void *data, size_t n)
{
    const volatile unsigned char *at = data;

    for (size_t i = 0; i < n; i++)
        (void)at[i];
}

static void touch_text(const char *text)
{
    if (text)
        touch(text, strlen(text) + 1);
}

static void __attribute__((format(printf, 2, 3)))
break_promise(struct exercise *e, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    if (!e->broken[0])
        (void)vsnprintf(e->broken, sizeof e->broken, format, args);
    va_end(args);
}

/* Reads a text with a length, which a NUL must follow; it may be NULL. */
static void touch_counted(struct exercise *e, const char *what, const char *text, size_t n)
{
    if (!text)
        return;
    touch(text, n + 1);
    if (text[n] != '\0')
        break_promise(e, "no NUL follows the text of a %s", what);
}

/* Checks an error, and clears it for the next function. */
static void expect_error(struct exercise *e, const char *verb, struct heft_error *err)
{
    if (err->code == HEFT_OK || !err->text[0])
        break_promise(e, "%s failed without an error", verb);
    e->no_memory |= err->code == HEFT_NOMEM;
    touch_text(err->file);
    *err = (struct heft_error){0};
}

/* ---- contents ---------------------------------------------------------------------------- */

static void list_parts(struct heft_checkpoint *c, size_t tensor, unsigned rank)
{
    struct heft_tensor_part part = HEFT_INIT(struct heft_tensor_part);

    for (size_t i = 0; heft_tensor_part_at(c, tensor, i, &part); i++) {
        touch(part.start, rank * sizeof *part.start);
        touch(part.extent, rank * sizeof *part.extent);
        if (part.strides)
            touch(part.strides, rank * sizeof *part.strides);
    }
}

static void list(struct exercise *e, struct heft_checkpoint *c)
{
    struct heft_tensor t = HEFT_INIT(struct heft_tensor);
    struct heft_blob blob = HEFT_INIT(struct heft_blob);
    struct heft_unread unread = HEFT_INIT(struct heft_unread);
    size_t found;

    for (size_t i = 0; heft_tensor_at(c, i, &t); i++) {
        touch_counted(e, "tensor", t.name, t.name_len);
        touch(t.shape, t.rank * sizeof *t.shape);
        if (t.strides)
            touch(t.strides, t.rank * sizeof *t.strides);
        list_parts(c, i, t.rank);
        if (!heft_tensor_find(c, t.name, t.name_len, &found))
            break_promise(e, "tensor %zu of the list is not found by its name", i);
    }
    for (size_t i = 0; heft_blob_at(c, i, &blob); i++)
        touch_counted(e, "blob", blob.name, blob.name_len);
    for (size_t i = 0; heft_unread_at(c, i, &unread); i++) {
        touch_text(unread.name);
        touch_text(unread.reason);
    }
}

/* Walks a tree of values without recursion: values of equal depth are linked, and a child follows its
 * parent on the stack. */
static void walk_values(struct exercise *e, const struct heft_value *root)
{
    static const struct heft_value *stack[1 << 16];
    size_t n = 0;

    if (root)
        stack[n++] = root;
    while (n) {
        const struct heft_value *v = stack[--n];

        touch_counted(e, "value", v->key, v->key_len);
        touch_text(v->type_name);
        touch_counted(e, "value", v->text, v->text_len);
        if (n + 2 > sizeof stack / sizeof *stack) {
            break_promise(e, "the tree of values is not finite");
            return;
        }
        if (v->next_sibling)
            stack[n++] = v->next_sibling;
        if (v->first_child)
            stack[n++] = v->first_child;
    }
}

static void describe(struct exercise *e, struct heft_checkpoint *c)
{
    struct heft_error err = {0};
    struct heft_metadata pair;
    struct heft_difference difference = HEFT_INIT(struct heft_difference);
    struct heft_finding finding = HEFT_INIT(struct heft_finding);
    uint64_t stored, used;

    touch_text(heft_format(c));
    touch_text(heft_format_version(c));
    for (size_t i = 0; heft_metadata_at(c, i, &pair); i++)
        touch_counted(e, "pair", pair.value, pair.value_len);
    for (size_t i = 0; heft_tie_at(c, i, &pair); i++)
        touch_counted(e, "pair", pair.key, pair.key_len);
    for (size_t i = 0; heft_difference_at(c, i, &difference); i++)
        touch_counted(e, "difference", difference.key, difference.key_len);
    for (size_t i = 0; heft_lack_at(c, i, &finding) || heft_left_at(c, i, &finding) ||
                       heft_damage_at(c, i, &finding);
         i++)
        touch_text(finding.text);
    walk_values(e, heft_values(c));
    walk_values(e, heft_file_info(c));
    if (!heft_storage_use(c, &stored, &used, &err))
        expect_error(e, "heft_storage_use", &err);
    else if (used > stored)
        break_promise(e, "more bytes are used than stored");
}

/* The segments of each file are in order, without holes. */
static void explain(struct exercise *e, struct heft_checkpoint *c)
{
    struct heft_error err = {0};
    struct heft_map *map = heft_map_new(c, &err);
    struct heft_segment s = HEFT_INIT(struct heft_segment);
    struct heft_segment last = HEFT_INIT(struct heft_segment);

    if (!map) {
        expect_error(e, "heft_map_new", &err);
        return;
    }
    for (size_t i = 0; heft_map_at(map, i, &s); i++) {
        const bool same = i > 0 && s.file == last.file;
        const uint64_t end = same ? last.offset + last.bytes : 0;

        touch_text(s.what);
        if (!s.overlaps && s.offset != end)
            break_promise(e, "the map has a hole before 0x%llx", (unsigned long long)s.offset);
        if (!same || s.offset + s.bytes > end)
            last = s;
    }
    heft_map_free(map);
}

static void show_modules(struct exercise *e, struct heft_checkpoint *c)
{
    struct heft_error err = {0};
    struct heft_modules *modules = heft_modules_new(c, NULL, NULL, 0, &err);
    struct heft_module module = HEFT_INIT(struct heft_module);

    if (!modules) {
        expect_error(e, "heft_modules_new", &err);
        return;
    }
    for (size_t i = 0; heft_modules_at(modules, i, &module); i++) {
        touch_counted(e, "module", module.name, module.name_len);
        touch_counted(e, "module", module.last, module.last_len);
    }
    heft_modules_free(modules);
}

static void trace_restore(struct exercise *e, struct heft_checkpoint *c)
{
    struct heft_error err = {0};
    struct heft_restore *r = heft_restore_new(c, NULL, &err);
    struct heft_restore_step step = HEFT_INIT(struct heft_restore_step);
    struct heft_restore_target target = HEFT_INIT(struct heft_restore_target);
    struct heft_restore_piece piece = HEFT_INIT(struct heft_restore_piece);
    struct heft_finding finding = HEFT_INIT(struct heft_finding);

    if (!r) {
        expect_error(e, "heft_restore_new", &err);
        return;
    }
    for (size_t i = 0; heft_restore_step_at(r, i, &step); i++) {
        touch_text(step.text);
        touch_text(step.key);
    }
    for (size_t i = 0; heft_restore_target_at(r, i, &target); i++) {
        touch_text(target.variable);
        for (size_t k = 0; heft_restore_piece_at(r, i, k, &piece); k++)
            touch(&piece, sizeof piece);
    }
    for (size_t i = 0; heft_restore_finding_at(r, i, &finding); i++)
        touch_text(finding.text);
    heft_restore_free(r);
}

/* ---- data -------------------------------------------------------------------------------- */

static bool take_stats(void *ctx, const struct heft_tensor_stats *stats)
{
    struct exercise *e = ctx;

    if (stats->kind != HEFT_STATS_NONE &&
        stats->nan + stats->inf + stats->finite != stats->elements)
        break_promise(e, "stats of tensor %zu do not count every element", stats->tensor);
    return true;
}

static bool take_digest(void *ctx, const struct heft_digest *digest)
{
    struct exercise *e = ctx;

    touch_counted(e, "digest", digest->name, digest->name_len);
    return true;
}

static void ignore_finding(void *ctx, const struct heft_finding *finding)
{
    (void)ctx;
    touch_text(finding->text);
}

static void digest(struct exercise *e, struct heft_checkpoint *c)
{
    const struct heft_digest_options options = {
        .size = sizeof options, .threads = 1, .blobs = true};
    struct heft_error err = {0};

    if (!heft_digest_tensors(c, &options, take_digest, e, &err))
        expect_error(e, "heft_digest_tensors", &err);
    if (!heft_digest_files(c, &options, take_digest, e, &err))
        expect_error(e, "heft_digest_files", &err);
}

static void compare(struct exercise *e, struct heft_checkpoint *c)
{
    const struct heft_diff_options options = {
        .size = sizeof options, .threads = 1, .metadata = true, .has_tolerance = e->turn % 2 != 0};
    const struct heft_diff_visitor visitor = HEFT_INIT(struct heft_diff_visitor);
    struct heft_diff_result result = HEFT_INIT(struct heft_diff_result);
    struct heft_error err = {0};

    if (e->other && !heft_diff(c, e->other, &options, &visitor, &result, &err))
        expect_error(e, "heft_diff", &err);
    if (!heft_diff(c, c, &options, &visitor, &result, &err))
        expect_error(e, "heft_diff", &err);
    else if (result.tensors.differ + result.tensors.only_a + result.tensors.only_b +
                 result.metadata.differ + result.values.differ !=
             0)
        break_promise(e, "the file differs from itself");
}

static bool is_small(struct heft_checkpoint *c)
{
    uint64_t bytes = 0;
    struct heft_tensor t = HEFT_INIT(struct heft_tensor);

    for (size_t i = 0; heft_tensor_at(c, i, &t) && bytes <= MOST_DATA; i++)
        bytes = t.bytes > MOST_DATA ? UINT64_MAX : bytes + t.bytes;
    return bytes <= MOST_DATA;
}

static void read_data(struct exercise *e, struct heft_checkpoint *c)
{
    const struct heft_verify_options verify = {.size = sizeof verify, .threads = 1};
    const struct heft_stats_options stats = {.size = sizeof stats, .threads = 1};
    struct heft_error err = {0};

    if (!heft_verify(c, &verify, ignore_finding, e, &err))
        expect_error(e, "heft_verify", &err);
    if (!is_small(c))
        return;
    if (!heft_stats(c, &stats, take_stats, e, &err))
        expect_error(e, "heft_stats", &err);
    digest(e, c);
    compare(e, c);
}

/* ---- conversions ------------------------------------------------------------------------- */

/* Turn 0, 1, … goes through the formats that heft writes. */
static bool choose_format(size_t turn, struct heft_format_info *out)
{
    size_t written = 0;

    for (size_t i = 0; heft_format_at(i, out); i++)
        written += out->writes;
    for (size_t i = 0, at = turn % written; heft_format_at(i, out); i++) {
        if (out->writes && at-- == 0)
            return true;
    }
    return false;
}

static void delete_outputs(struct exercise *e, const struct heft_conversion *plan,
                           const char *output)
{
    struct heft_file file = HEFT_INIT(struct heft_file);

    for (size_t i = 0; heft_convert_file(plan, i, &file); i++)
        (void)unlink(file.path);
    (void)rmdir(output);
    if (rmdir(e->folder) != 0 || mkdir(e->folder, 0700) != 0)
        break_promise(e, "the conversion to %s left a file in %s", output, e->folder);
}

/* `reads`: heft can open the output, and so compare it with the source. */
static void write_outputs(struct exercise *e, struct heft_conversion *plan, bool reads)
{
    struct heft_error err = {0};
    uint64_t overflowed;

    if (!heft_convert_run(plan, &overflowed, &err))
        expect_error(e, "heft_convert_run", &err);
    else if (reads && !heft_convert_check(plan, &err))
        break_promise(e, "the output differs from the source: %.300s", err.text);
}

static void list_plan(const struct heft_conversion *plan)
{
    struct heft_planned_tensor t = HEFT_INIT(struct heft_planned_tensor);
    struct heft_unread lost = HEFT_INIT(struct heft_unread);

    for (size_t i = 0; heft_convert_tensor(plan, i, &t); i++) {
        touch_text(t.name);
        touch_text(t.source_name);
    }
    for (size_t i = 0; i < heft_convert_note_count(plan); i++)
        touch_text(heft_convert_note(plan, i));
    for (size_t i = 0; heft_convert_lost_at(plan, i, &lost); i++)
        touch_text(lost.reason);
}

/* Converts to one format, every third time to shards, with its notes. */
static void convert(struct exercise *e, struct heft_checkpoint *c, bool salvage)
{
    const struct heft_rule named = {sizeof named, HEFT_RULE_METADATA, "general.architecture", "x"};
    struct heft_format_info format = HEFT_INIT(struct heft_format_info);
    struct heft_error err = {0};
    struct heft_planned planned = HEFT_INIT(struct heft_planned);
    struct heft_conversion *plan;
    char output[4096];

    if (!choose_format(e->turn, &format))
        return;
    (void)snprintf(output, sizeof output, "%s/out", e->folder);
    plan = heft_convert_plan(
        c,
        &(struct heft_convert_options){.size = sizeof(struct heft_convert_options),
                                       .output = output,
                                       .to = format.name,
                                       .rules = &named,
                                       .n_rules = strcmp(format.name, "gguf") == 0,
                                       .allow_empty = true,
                                       .sharded = e->turn % 3 == 0,
                                       .max_shard_size = 64,
                                       .no_sync = true,
                                       .salvage = salvage,
                                       .threads = 1},
        &err);
    if (!plan) {
        expect_error(e, "heft_convert_plan", &err);
        return;
    }
    list_plan(plan);
    heft_convert_summary(plan, &planned);
    if (planned.bytes <= MOST_DATA && planned.files <= 64) {
        write_outputs(e, plan, format.reads);
        delete_outputs(e, plan, output);
    }
    heft_convert_free(plan);
}

/* ---- functions that take a path ---------------------------------------------------------- */

static void take_item(void *ctx, const struct heft_scan_item *item)
{
    if (!item->what || !*item->what || !item->name || !*item->name || !item->file || !item->record)
        break_promise(ctx, "a finding of scan has no name");
}

static void take_result(void *ctx, const struct heft_scan_result *result)
{
    if (result->complete == (result->trouble != NULL))
        break_promise(ctx, "a file that scan did not complete has no error");
    touch_text(result->kind);
}

static bool take_step(void *ctx, const struct heft_trace_step *step)
{
    struct exercise *e = ctx;

    touch(step->argument, step->argument_bytes);
    touch_counted(e, "step", step->value, step->value_len);
    touch_counted(e, "step", step->effect, step->effect_len);
    return true;
}

static bool take_entry(void *ctx, const struct heft_trace_entry *entry)
{
    struct exercise *e = ctx;

    touch_counted(e, "state", entry->text, entry->text_len);
    return true;
}

static bool take_index_entry(void *ctx, const struct heft_index_entry *entry)
{
    struct exercise *e = ctx;

    touch_counted(e, "index entry", entry->key, entry->key_len);
    touch(entry->value, entry->value_len);
    touch_text(entry->text);
    return true;
}

static void read_path(struct exercise *e)
{
    const struct heft_scan_visitor scan = {
        .size = sizeof scan, .item = take_item, .result = take_result, .ctx = e};
    const struct heft_trace_options trace = {
        .size = sizeof trace, .limits = e->limits, .state = e->turn % 64 == 0};
    const struct heft_trace_watcher watcher = {
        .size = sizeof watcher, .step = take_step, .entry = take_entry, .ctx = e};
    const struct heft_open_options walk = {.size = sizeof walk, .limits = e->limits};
    struct heft_trace_total total = HEFT_INIT(struct heft_trace_total);
    struct heft_error err = {0};
    bool is_index;

    if (!heft_scan_tree(e->path, &walk, &scan, &err))
        expect_error(e, "heft_scan_tree", &err);
    if (!heft_trace(e->path, &trace, &watcher, &total, &err))
        expect_error(e, "heft_trace", &err);
    if (!heft_index_walk(e->path, &walk, take_index_entry, e, &is_index, &err))
        expect_error(e, "heft_index_walk", &err);
}

static void salvage(struct exercise *e)
{
    const struct heft_open_options options = {
        .size = sizeof options, .limits = e->limits, .salvage = true};
    struct heft_error err = {0};
    struct heft_checkpoint *c = heft_open(e->path, &options, &err);
    uint64_t expected;
    bool at_least;

    if (!c) {
        expect_error(e, "heft_open for salvage", &err);
        return;
    }
    for (size_t i = 0; i < heft_file_count(c); i++)
        (void)heft_missing_at(c, i, &expected, &at_least);
    list(e, c);
    describe(e, c);
    explain(e, c);
    if (is_small(c))
        convert(e, c, true);
    heft_close(c);
}

void exercise_file(struct exercise *e)
{
    const struct heft_open_options options = {.size = sizeof options, .limits = e->limits};
    struct heft_error err = {0};
    struct heft_checkpoint *c = heft_open(e->path, &options, &err);

    e->opens = c != NULL;
    read_path(e);
    salvage(e);
    if (!c) {
        expect_error(e, "heft_open", &err);
        return;
    }
    list(e, c);
    describe(e, c);
    explain(e, c);
    show_modules(e, c);
    trace_restore(e, c);
    read_data(e, c);
    if (is_small(c))
        convert(e, c, false);
    heft_close(c);
}

/* ---- tokens ------------------------------------------------------------------------------ */

static bool take_word(void *ctx, const struct heft_word *word)
{
    struct exercise *e = ctx;

    touch_counted(e, "word", word->text, word->n);
    return true;
}

static void encode_and_decode(struct exercise *e, struct heft_vocab *v,
                              struct heft_encoder *encoder)
{
    static const char text[] = "Hello, world! \xc3\xa4\xf0\x9f\x98\x80 don't 12345\n\n\t x";
    static uint32_t ids[MOST_IDS];
    static char out[MOST_IDS * 16];
    struct heft_error err = {0};
    size_t n, bytes;

    if (!heft_encode(encoder, text, sizeof text - 1, ids, MOST_IDS, &n, &err)) {
        expect_error(e, "heft_encode", &err);
        return;
    }
    for (size_t i = 0; i < n && i < MOST_IDS; i++)
        if (ids[i] >= heft_vocab_size(v))
            break_promise(e, "id %u is not in the vocabulary", (unsigned)ids[i]);
    if (n <= MOST_IDS && !heft_decode(v, ids, n, out, sizeof out, &bytes, &err))
        expect_error(e, "heft_decode", &err);
    if (!heft_explain_text(v, NULL, text, sizeof text - 1, take_word, e, &err))
        expect_error(e, "heft_explain_text", &err);
}

/* A vocabulary that states no pattern may refuse to encode, and decodes. */
void exercise_vocab(struct exercise *e)
{
    const struct heft_vocab_options how = {.size = sizeof how,
                                           .pattern = e->turn % 2 ? "qwen2" : NULL};
    struct heft_error err = {0};
    struct heft_vocab *v = heft_vocab_open_with(e->path, &how, &err);
    struct heft_encoder *encoder = v ? heft_encoder_new(v, NULL, &err) : NULL;
    size_t n;

    e->opens = encoder || (v && err.code == HEFT_UNSUPPORTED);
    for (uint32_t id = 0; v && id < heft_vocab_size(v); id++) {
        const uint8_t *token = heft_vocab_token(v, id, &n);
        if (token)
            touch(token, n);
    }
    if (encoder)
        encode_and_decode(e, v, encoder);
    else
        expect_error(e, "heft_vocab_open", &err);
    heft_encoder_free(encoder);
    heft_vocab_close(v);
}

void exercise_ids(struct exercise *e)
{
    const struct heft_sampler_options options = {.size = sizeof options, .seed = (uint32_t)e->turn};
    static uint32_t ids[8];
    struct heft_error err = {0};
    struct heft_sampler *s = heft_sampler_open(&e->path, 1, &options, &err);
    bool more = s != NULL;

    e->opens = more;
    for (int i = 0; i < 4 && more; i++) {
        more = heft_sampler_next(s, sizeof ids / sizeof *ids, ids, NULL, &err);
        if (more)
            touch(ids, sizeof ids);
    }
    if (!more)
        expect_error(e, "heft_sampler", &err);
    heft_sampler_close(s);
}
