/* sized_program.c: a program that passes every struct of the public API that begins with its size.
 *
 *     sized_program WORK TEXT VOCABULARY FILE…      prints what the structs contain
 *
 * tests/suites/header.py compiles it for this library and runs it with a library whose structs have
 * grown, and the reverse: the output must be the same. Behind each struct that the library fills are
 * bytes that it must not change. With -DTAIL, which needs grown headers, a member is set that the
 * library does not know: every function must refuse it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <heft/heft.h>
#include <heft/tokens.h>

#ifdef TAIL
#define MADE(type, name, ...) struct type name = {.size = sizeof name, .grown = 1, __VA_ARGS__}
#else
#define MADE(type, name, ...) struct type name = {.size = sizeof name, __VA_ARGS__}
#endif
#define NEXT 64
/* A struct to be filled, with bytes behind it. */
#define ROOM(type, name)                                                                           \
    struct {                                                                                       \
        struct type s;                                                                             \
        unsigned char next[NEXT];                                                                  \
    } name = {.s = HEFT_INIT(struct type)};                                                        \
    memset(name.next, 0xA5, sizeof name.next)
#define CHECK(name) check_next(__LINE__, name.next, name.s.size == sizeof name.s)

static int failures;

static void check_next(int line, const unsigned char *next, bool has_size)
{
    for (int i = 0; i < NEXT; i++)
        if (next[i] != 0xA5 || !has_size) {
            printf("line %d: bytes behind a struct, or its size, were changed\n", line);
            failures++;
            return;
        }
}

/* True if the call worked. With -DTAIL it must be refused. */
static bool worked(const char *what, bool ok, struct heft_error *err)
{
#ifdef TAIL
    if (ok || err->code != HEFT_USAGE || !strstr(err->text, "newer libheft")) {
        printf("%s was not refused: %s\n", what, err->text);
        failures++;
    }
    *err = (struct heft_error){0};
    return false;
#else
    if (!ok)
        printf("%s: %d %s\n", what, (int)err->code, err->text);
    *err = (struct heft_error){0};
    return ok;
#endif
}

/* ---- contents ---------------------------------------------------------------------------- */

static void show_finding(const char *what, const struct heft_finding *f)
{
    printf("%s %d %" PRIu64 " %s\n", what, (int)f->severity, f->offset, f->text);
}

static void show_tensors(struct heft_checkpoint *c)
{
    ROOM(heft_tensor, t);
    ROOM(heft_tensor_part, part);
    ROOM(heft_file, file);

    for (size_t i = 0; heft_file_at(c, i, &file.s); i++)
        printf("file %s %" PRIu64 "\n", strrchr(file.s.path, '/'), file.s.bytes);
    for (size_t i = 0; heft_tensor_at(c, i, &t.s); i++) {
        printf("%s %s %u %" PRIu64 " %zu %" PRIu64 " %d %" PRIu64 " %" PRId64 " %d%d%d%d\n",
               t.s.name, heft_dtype_name(t.s.dtype), t.s.rank, t.s.bytes, t.s.file, t.s.offset,
               (int)t.s.stored, t.s.stored_bytes, t.s.storage, t.s.big_endian, t.s.conjugated,
               t.s.negated, t.s.missing);
        for (size_t k = 0; heft_tensor_part_at(c, i, k, &part.s); k++)
            printf("  part %" PRIu64 " %" PRIu64 " %zu %" PRIu64 "\n", part.s.start[0],
                   part.s.bytes, part.s.file, part.s.offset);
    }
    CHECK(file);
    CHECK(t);
    CHECK(part);
}

static void show_others(struct heft_checkpoint *c)
{
    ROOM(heft_unread, unread);
    ROOM(heft_blob, blob);
    ROOM(heft_difference, difference);
    ROOM(heft_finding, finding);

    for (size_t i = 0; heft_unread_at(c, i, &unread.s); i++)
        printf("unread %s: %s\n", unread.s.name, unread.s.reason);
    for (size_t i = 0; heft_blob_at(c, i, &blob.s); i++)
        printf("blob %s %s %" PRIu64 "\n", blob.s.name, blob.s.kind, blob.s.stored_bytes);
    for (size_t i = 0; heft_difference_at(c, i, &difference.s); i++)
        printf("difference %d %s %zu\n", (int)difference.s.kind, difference.s.key,
               difference.s.file);
    for (size_t i = 0; heft_damage_at(c, i, &finding.s); i++)
        show_finding("damage", &finding.s);
    for (size_t i = 0; heft_lack_at(c, i, &finding.s); i++)
        show_finding("lack", &finding.s);
    for (size_t i = 0; heft_left_at(c, i, &finding.s); i++)
        show_finding("left", &finding.s);
    CHECK(unread);
    CHECK(blob);
    CHECK(difference);
    CHECK(finding);
}

static void show_map(struct heft_checkpoint *c, struct heft_error *err)
{
    struct heft_map *const map = heft_map_new(c, err);
    struct heft_modules *const modules = heft_modules_new(c, NULL, NULL, 0, err);
    ROOM(heft_segment, segment);
    ROOM(heft_module, module);
    ROOM(heft_modules_sum, sum);

    for (size_t i = 0; heft_map_at(map, i, &segment.s); i++)
        printf("%zu %" PRIu64 " %" PRIu64 " %s\n", segment.s.file, segment.s.offset,
               segment.s.bytes, segment.s.what);
    for (size_t i = 0; heft_modules_at(modules, i, &module.s); i++)
        printf("%s %" PRIu64 " %" PRIu64 " %zu\n", module.s.name, module.s.count, module.s.bytes,
               module.s.next);
    heft_modules_tied(modules, &sum.s);
    printf("tied %" PRIu64 " %" PRIu64 "\n", sum.s.tensors, sum.s.bytes);
    heft_map_free(map);
    heft_modules_free(modules);
    CHECK(segment);
    CHECK(module);
    CHECK(sum);
}

static void show_restore(struct heft_checkpoint *c, struct heft_error *err)
{
    MADE(heft_restore_options, how, .tags = NULL);
    struct heft_restore *const r = heft_restore_new(c, &how, err);
    ROOM(heft_restore_step, step);
    ROOM(heft_restore_target, target);
    ROOM(heft_restore_piece, piece);
    ROOM(heft_finding, finding);

    if (!worked("heft_restore_new", r != NULL, err))
        return;
    for (size_t i = 0; heft_restore_step_at(r, i, &step.s); i++)
        printf("step %d %u %s %s %" PRIu64 " %zu\n", (int)step.s.kind, step.s.depth, step.s.node,
               step.s.text, step.s.takers, step.s.target);
    for (size_t i = 0; heft_restore_target_at(r, i, &target.s); i++) {
        printf("target %s %s %u %zu\n", target.s.variable, target.s.dtype, target.s.rank,
               target.s.pieces);
        for (size_t k = 0; heft_restore_piece_at(r, i, k, &piece.s); k++)
            printf("  piece %" PRIu64 " %" PRIu64 " %" PRIu32 "\n", piece.s.offset, piece.s.bytes,
                   piece.s.crc);
    }
    for (size_t i = 0; heft_restore_finding_at(r, i, &finding.s); i++)
        show_finding("restore", &finding.s);
    heft_restore_free(r);
    CHECK(step);
    CHECK(target);
    CHECK(piece);
    CHECK(finding);
}

/* ---- data -------------------------------------------------------------------------------- */

static void take_finding(void *ctx, const struct heft_finding *finding)
{
    show_finding(ctx, finding);
}

static bool take_stats(void *ctx, const struct heft_tensor_stats *stats)
{
    (void)ctx;
    printf("stats %zu %" PRIu64 " %g\n", stats->tensor, stats->finite, stats->max);
    return true;
}

static bool take_digest(void *ctx, const struct heft_digest *digest)
{
    fprintf(ctx, "%02x%02x %s\n", digest->sha256[0], digest->sha256[1], digest->name);
    return true;
}

static bool take_item(void *ctx, const struct heft_diff_item *item)
{
    (void)ctx;
    printf("diff %d %s %" PRIu64 "\n", (int)item->kind, item->name, item->differing);
    return true;
}

static void show_data(struct heft_checkpoint *c, struct heft_checkpoint *other,
                      struct heft_error *err)
{
    ROOM(heft_verified, verified);
    ROOM(heft_diff_result, result);
    MADE(heft_verify_options, verify, .threads = 1, .verified = &verified.s);
    MADE(heft_stats_options, stats, .threads = 1);
    MADE(heft_digest_options, digest, .blobs = true);
    MADE(heft_diff_options, diff, .metadata = true);
    MADE(heft_diff_visitor, visitor, .tensor = take_item);
    struct heft_diff_options plain = HEFT_INIT(struct heft_diff_options);

    if (worked("heft_verify", heft_verify(c, &verify, take_finding, "verify", err), err))
        printf("verified %" PRIu64 " %" PRIu64 "\n", verified.s.checksums, verified.s.bytes);
    (void)worked("heft_stats", heft_stats(c, &stats, take_stats, NULL, err), err);
    (void)worked("heft_digest_tensors", heft_digest_tensors(c, &digest, take_digest, stdout, err),
                 err);
    (void)worked("heft_digest_files", heft_digest_files(c, &digest, take_digest, stdout, err), err);
    if (worked("heft_diff", heft_diff(c, other, &diff, NULL, &result.s, err), err))
        printf("equal %" PRIu64 " %d\n", result.s.tensors.equal, result.s.has_root_b);
    (void)worked("heft_diff", heft_diff(c, other, &plain, &visitor, &result.s, err), err);
    CHECK(verified);
    CHECK(result);
}

/* Counts the names that two rules match, in an array with bytes behind it. */
static void count_matches(struct heft_checkpoint *c, struct heft_error *err)
{
    MADE(heft_rule, all, .kind = HEFT_RULE_GLOB, .left = "*");
    MADE(heft_rule, some, .kind = HEFT_RULE_REGEX, .left = "w");
    const struct heft_rule rules[] = {all, some};
    struct {
        struct heft_rule_use s[2];
        unsigned char next[NEXT];
    } uses = {.s = {HEFT_INIT(struct heft_rule_use), HEFT_INIT(struct heft_rule_use)}};

    memset(uses.next, 0xA5, sizeof uses.next);
    if (worked("heft_rule_matches", heft_rule_matches(c, NULL, rules, 2, uses.s, err), err))
        printf("rules of %s\n", heft_format(c));
    for (int i = 0; i < 2; i++)
        printf("rule %s %" PRIu64 " %" PRIu64 "\n", rules[i].left, uses.s[i].matches,
               uses.s[i].left_alone);
    check_next(__LINE__, uses.next,
               uses.s[0].size == sizeof *uses.s && uses.s[1].size == sizeof *uses.s);
}

/* Opens two files in memory. */
static void open_inputs(struct heft_error *err)
{
    static const char file[] = "\x38\0\0\0\0\0\0\0"
                               "{\"w\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}"
                               "   x";
    MADE(heft_input, first, .name = "a.safetensors", .bytes = sizeof file - 1, .data = file);
    MADE(heft_input, other, .name = "b", .bytes = 1, .data = "b");
    const struct heft_input inputs[] = {first, other};
    const struct heft_open_options how = {.size = sizeof how, .inputs = inputs, .n_inputs = 2};
    struct heft_checkpoint *const c = heft_open("a.safetensors", &how, err);

    if (worked("heft_input", c != NULL, err))
        printf("inputs %zu\n", heft_tensor_count(c));
    heft_close(c);
}

/* Makes a checkpoint of two tensors in memory. */
static void own_tensors(struct heft_error *err)
{
    static const uint64_t shape[] = {3};
    static const unsigned char bytes[] = {1, 2, 3};
    MADE(heft_own_tensor, first, .name = "a", .name_len = 1, .dtype = HEFT_U8, .rank = 1,
         .shape = shape, .data = bytes);
    MADE(heft_own_tensor, other, .name = "b", .name_len = 1, .dtype = HEFT_I8, .data = bytes + 2);
    const struct heft_own_tensor list[] = {first, other};
    struct heft_checkpoint *const c = heft_from_tensors(list, 2, NULL, 0, err);
    unsigned char read = 0;

    if (worked("heft_from_tensors", c && heft_tensor_read(c, 1, &read, 1, err), err))
        printf("own %zu %d\n", heft_tensor_count(c), read);
    heft_close(c);
}

static bool refuse_digest(void *ctx, const struct heft_digest *digest)
{
    static const char digits[] = "0123456789abcdef";

    for (int i = 0; i < HEFT_DIGEST_BYTES; i++)
        fprintf(ctx, "%c%c", digits[digest->sha256[i] >> 4], digits[digest->sha256[i] & 15]);
    fprintf(ctx, "  %s\n", strrchr(digest->name, '/') + 1);
    return true;
}

/* Writes a list of digests beside a copy of the file's name, and compares it. */
static void compare_list(struct heft_checkpoint *c, const char *file, const char *work,
                         struct heft_error *err)
{
    char path[4096];
    ROOM(heft_compared, compared);
    MADE(heft_compare_options, how, .compared = &compared.s);
    MADE(heft_open_options, reading, .n_inputs = 0);
    struct heft_digest_list *list;
    FILE *out;

    (void)snprintf(path, sizeof path, "%s/SHA256SUMS", work);
    out = fopen(path, "w");
    if (!out || !heft_digest_files(c, NULL, refuse_digest, out, err) || fclose(out) != 0) {
        printf("%s: %s\n", path, err->text);
        failures++;
        return;
    }
    list = heft_digest_list_open(path, &reading, err);
    (void)worked("heft_digest_list_open", list != NULL, err);
    heft_digest_list_close(list);
    list = heft_digest_list_open(path, NULL, err);
    if (worked("heft_compare_digests",
               heft_compare_digests(c, &file, 1, list, &how, take_finding, "compare", err), err))
        printf("compared %" PRIu64 " %" PRIu64 "\n", compared.s.digests, compared.s.bytes);
    heft_digest_list_close(list);
    CHECK(compared);
}

static void convert(struct heft_checkpoint *c, const char *work, struct heft_error *err)
{
    char path[4096];
    MADE(heft_convert_options, how, .output = path, .overwrite = true, .no_sync = true,
         .allow_empty = true);
    MADE(heft_output_options, writing, .no_sync = true);
    struct heft_conversion *conversion;
    struct heft_output *output;
    ROOM(heft_planned, planned);
    ROOM(heft_planned_tensor, tensor);
    ROOM(heft_file, file);
    ROOM(heft_unread, lost);

    (void)snprintf(path, sizeof path, "%s/out.npz", work);
    conversion = heft_convert_plan(c, &how, err);
    (void)worked("heft_convert_plan", conversion != NULL, err);
    heft_convert_summary(conversion, &planned.s);
    printf("planned %zu %zu %" PRIu64 " %d\n", planned.s.files, planned.s.tensors, planned.s.bytes,
           planned.s.is_sharded);
    for (size_t i = 0; heft_convert_tensor(conversion, i, &tensor.s); i++)
        printf("to %s %d %" PRIu64 "\n", tensor.s.name, (int)tensor.s.dtype, tensor.s.bytes);
    for (size_t i = 0; heft_convert_file(conversion, i, &file.s); i++)
        printf("to %s %" PRIu64 "\n", strrchr(file.s.path, '/'), file.s.bytes);
    for (size_t i = 0; heft_convert_lost_at(conversion, i, &lost.s); i++)
        printf("lost %s\n", lost.s.name);
    heft_convert_free(conversion);
    output = heft_output_new(path, &writing, err);
    (void)worked("heft_output_new", output != NULL, err);
    heft_output_free(output);
    CHECK(planned);
    CHECK(tensor);
    CHECK(file);
    CHECK(lost);
}

/* ---- paths ------------------------------------------------------------------------------- */

static void take_scan_item(void *ctx, const struct heft_scan_item *item)
{
    (void)ctx;
    printf("scan %d %s\n", (int)item->danger, item->name);
}

static void take_scan_result(void *ctx, const struct heft_scan_result *result)
{
    (void)ctx;
    printf("scanned %s %d\n", result->kind, (int)result->worst);
}

static bool take_step(void *ctx, const struct heft_trace_step *step)
{
    (void)ctx;
    printf("%s %s\n", step->name, step->effect);
    return true;
}

static bool take_trace_tensor(void *ctx, const struct heft_trace_tensor *tensor)
{
    (void)ctx;
    printf("traced %s %" PRIu64 " %s\n", tensor->tensor->name, tensor->made_position, tensor->id);
    return true;
}

static bool take_entry(void *ctx, const struct heft_index_entry *entry)
{
    (void)ctx;
    printf("entry %s\n", entry->text);
    return true;
}

static void read_path(const char *path, struct heft_error *err)
{
    MADE(heft_limits, limits, .tensors = 100000);
    struct heft_open_options limited = {.limits = &limits};
    MADE(heft_trace_options, trace, .state = false);
    MADE(heft_trace_watcher, watcher, .step = take_step, .tensor = take_trace_tensor);
    MADE(heft_scan_visitor, visitor, .item = take_scan_item, .result = take_scan_result);
    MADE(heft_open_options, open, .salvage = false);
    struct heft_trace_watcher steps = {.size = sizeof steps, .step = take_step};
    struct heft_scan_visitor scanning = {
        .size = sizeof scanning, .item = take_scan_item, .result = take_scan_result};
    ROOM(heft_trace_total, total);
    bool complete;

    (void)worked("heft_scan_tree", heft_scan_tree(path, NULL, &visitor, err), err);
    (void)worked("heft_scan_tree", heft_scan_tree(path, &limited, &scanning, err), err);
    (void)worked("heft_scan", heft_scan(path, &limited, take_scan_item, NULL, &complete, err), err);
    if (worked("heft_trace", heft_trace(path, NULL, &watcher, &total.s, err), err))
        printf("total %" PRIu64 " %" PRIu64 "\n", total.s.opcodes, total.s.metastack);
    (void)worked("heft_trace", heft_trace(path, &trace, &steps, &total.s, err), err);
    (void)worked("heft_index_walk", heft_index_walk(path, &open, take_entry, NULL, &complete, err),
                 err);
    CHECK(total);
}

static void read_checkpoint(const char *path, const char *work, struct heft_error *err)
{
    MADE(heft_limits, limits, .tensors = 100000);
    struct heft_open_options how = {.size = sizeof how, .salvage = true, .limits = &limits};
    MADE(heft_open_options, grown, .salvage = true);
    struct heft_checkpoint *c = heft_open(path, &how, err);

    (void)worked("heft_open", c != NULL, err);
    heft_close(c);
    c = heft_open(path, &grown, err);
    (void)worked("heft_open", c != NULL, err);
    heft_close(c);
    c = heft_open(
        path,
        &(struct heft_open_options){.size = sizeof(struct heft_open_options), .salvage = true},
        err);
    if (!c) {
        printf("%s: %s\n", path, err->text);
        failures++;
        return;
    }
    show_tensors(c);
    show_others(c);
    show_map(c, err);
    show_restore(c, err);
    show_data(c, c, err);
    count_matches(c, err);
    open_inputs(err);
    own_tensors(err);
    compare_list(c, path, work, err);
    convert(c, work, err);
    heft_close(c);
}

/* ---- formats, shards, tokens ------------------------------------------------------------- */

static void show_formats(void)
{
    ROOM(heft_format_info, info);
    ROOM(heft_format_option, option);

    for (size_t i = 0; heft_format_at(i, &info.s); i++) {
        printf("format %s %d%d\n", info.s.name, info.s.reads, info.s.writes);
        for (size_t k = 0; heft_format_option_at(info.s.name, k, &option.s); k++)
            printf("option %s %" PRIu64 " %s\n", option.s.name, option.s.most, option.s.help);
    }
    CHECK(info);
    CHECK(option);
}

static bool size_of(void *ctx, size_t item, uint64_t *bytes, struct heft_error *err)
{
    (void)ctx;
    (void)err;
    *bytes = 10 * (item + 1);
    return true;
}

static void split(struct heft_error *err)
{
    MADE(heft_split_items, items, .n = 4, .bytes = size_of);
    struct heft_split_plan *const plan = heft_split_with(&items, 50, "m{suffix}.x", err);
    ROOM(heft_split_file, file);

    if (!worked("heft_split_with", plan != NULL, err))
        return;
    for (size_t i = 0; heft_split_file_at(plan, i, &file.s); i++)
        printf("shard %s %zu\n", file.s.name, file.s.n);
    heft_split_free(plan);
    CHECK(file);
}

static bool take_text(void *ctx, const char *text, size_t n)
{
    (void)ctx;
    printf("text %.*s\n", (int)n, text);
    return true;
}

static void train(const char *text, const char *work, struct heft_error *err)
{
    char path[4096];
    MADE(heft_train_options, how, .vocab_size = 260, .threads = 1, .overwrite = true);
    ROOM(heft_train_report, report);

    (void)snprintf(path, sizeof path, "%s/vocab", work);
    if (worked("heft_train", heft_train(&text, 1, path, &how, &report.s, err), err))
        printf("trained %" PRIu64 " %" PRIu32 "\n", report.s.words, report.s.ids);
    CHECK(report);
}

/* Encodes a text with the vocabulary at `path`, and decodes it. */
static void encode(const char *path, const char *text, const char *work, struct heft_error *err)
{
    char output[4096];
    const char *const outputs = output;
    MADE(heft_vocab_options, reading, .normalize = NULL);
    MADE(heft_encoder_options, encoding, .special = false);
    MADE(heft_encode_options, how, .output = output, .threads = 1, .overwrite = true);
    MADE(heft_decode_options, decoding, .width = 2);
    MADE(heft_sampler_options, sampling, .width = 2);
    struct heft_vocab *v = heft_vocab_open_with(path, &reading, err);
    struct heft_encoder *e;
    struct heft_encoding *files;
    struct heft_sampler *s;
    ROOM(heft_encode_summary, sum);
    ROOM(heft_special_token, special);

    (void)worked("heft_vocab_open_with", v != NULL, err);
    heft_vocab_close(v);
    v = heft_vocab_open(path, err);
    for (size_t i = 0; heft_vocab_special_at(v, i, &special.s); i++)
        printf("special %s %" PRIu32 "\n", special.s.text, special.s.id);
    e = heft_encoder_new(v, &encoding, err);
    (void)worked("heft_encoder_new", e != NULL, err);
    heft_encoder_free(e);
    (void)snprintf(output, sizeof output, "%s/out.bin", work);
    files = heft_encode_plan(v, &text, 1, &how, err);
    if (worked("heft_encode_plan", files && heft_encode_run(files, err), err)) {
        heft_encode_summarize(files, &sum.s);
        printf("encoded %" PRIu64 " %" PRIu64 "\n", sum.s.tokens, sum.s.val_tokens);
    }
    heft_encode_free(files);
    (void)worked("heft_decode_files_with",
                 heft_decode_files_with(v, &outputs, 1, &decoding, take_text, NULL, err), err);
    s = heft_sampler_open(&outputs, 1, &sampling, err);
    if (worked("heft_sampler_open", s != NULL, err))
        printf("ids %" PRIu64 "\n", heft_sampler_total(s));
    heft_sampler_close(s);
    heft_vocab_close(v);
    CHECK(sum);
    CHECK(special);
}

int main(int argc, char **argv)
{
    struct heft_error err = {0};
    MADE(heft_host, host, .no_processes = true);

    (void)worked("heft_host_set", heft_host_set(&host, &err), &err);
    show_formats();
    split(&err);
    train(argv[2], argv[1], &err);
    encode(argv[3], argv[2], argv[1], &err);
    for (int i = 4; i < argc; i++) {
        read_checkpoint(argv[i], argv[1], &err);
        read_path(argv[i], &err);
    }
    return failures > 0;
}
