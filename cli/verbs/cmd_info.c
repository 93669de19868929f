/* cmd_info.c: prints a summary of a checkpoint. */
#include "output/danger.h"
#include "output/differing.h"
#include "main/options.h"
#include "output/html_page.h"
#include "output/json_rows.h"
#include "output/output.h"
#include "output/quantized.h"
#include "output/report.h"
#include "output/rows.h"
#include "output/saved_model.h"
#include "output/value.h"
#include "verbs/info_vocabulary.h"

#include <stdlib.h>
#include <string.h>

/* Most files, ties and unreadable tensors that are listed, unless --all. */
enum { MAX_NAMED = 12, MAX_VALUE = 200, MAX_BELOW = 16, LABEL_WIDTH = 14 };

struct tally {
    uint64_t tensors, parameters, bytes;
};

/* A tensor that shares its storage with others. */
struct view {
    uint64_t storage, bytes, stored;
};

/* Tensors below one top-level key: in a training checkpoint the model, the optimizer … */
struct group {
    const char *key; /* component of a tensor's name */
    size_t key_len;
    struct tally tally;
};

struct summary {
    struct tally total, dtypes[HEFT_DTYPE_COUNT];
    struct group groups[MAX_BELOW];
    size_t n_groups; /* MAX_BELOW + 1: too many to list */
    uint64_t shared_storages, shared_tensors, saved;
    uint64_t storage_bytes, used_bytes; /* bytes of the whole checkpoint */
    struct view *views;                 /* views of tensors that share their storage */
    size_t n_views;
    struct heft_quantized quantized;
};

static uint64_t count_elements(const struct heft_tensor *t)
{
    uint64_t n = 1;
    for (unsigned i = 0; i < t->rank; i++)
        if (!t->shape[i])
            return 0;
    for (unsigned i = 0; i < t->rank; i++)
        n = t->shape[i] > UINT64_MAX / n ? UINT64_MAX : n * t->shape[i];
    return n;
}

static uint64_t add_saturated(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* Group of a tensor; NULL if there are too many groups. */
static struct tally *find_group(struct summary *s, const char *name)
{
    const size_t n = strcspn(name, ".");
    if (s->n_groups > MAX_BELOW)
        return NULL;
    for (size_t i = s->n_groups; i > 0; i--) { /* tensors of a group are consecutive */
        struct group *const group = &s->groups[i - 1];

        if (group->key_len == n && memcmp(group->key, name, n) == 0)
            return &group->tally;
    }
    if (s->n_groups++ == MAX_BELOW)
        return NULL;
    s->groups[s->n_groups - 1] = (struct group){name, n, {0, 0, 0}};
    return &s->groups[s->n_groups - 1].tally;
}

static void count_row(struct summary *s, const struct heft_tensor *t)
{
    struct tally *const of_all[] = {&s->total, &s->dtypes[t->dtype], find_group(s, t->name)};
    const uint64_t n = count_elements(t);
    for (size_t i = 0; i < 3 && of_all[i]; i++) {
        of_all[i]->tensors++;
        of_all[i]->parameters = add_saturated(of_all[i]->parameters, n);
        of_all[i]->bytes = add_saturated(of_all[i]->bytes, t->bytes);
    }
    if (t->storage >= 0)
        s->views[s->n_views++] = (struct view){(uint64_t)t->storage, t->bytes, t->stored_bytes};
}

static int by_storage(const void *a, const void *b)
{
    const struct view *const x = a, *const y = b;
    return (x->storage > y->storage) - (x->storage < y->storage);
}

/* Views of one storage: their total size if each were written separately. */
static void count_storage(struct summary *s, const struct view *views, size_t n)
{
    uint64_t apart = 0;
    for (size_t i = 0; i < n; i++)
        apart = add_saturated(apart, views[i].bytes);
    s->shared_storages++;
    s->shared_tensors += n;
    if (apart > views[0].stored)
        s->saved = add_saturated(s->saved, apart - views[0].stored);
}

static bool summarize_tensors(struct summary *s, const struct rows *rows, struct heft_error *err)
{
    struct heft_tensor t = HEFT_INIT(struct heft_tensor);
    size_t shared = 0;
    for (size_t k = 0; rows_at(rows, k, &t); k++)
        shared += t.storage >= 0;
    s->views = calloc(shared + 1, sizeof *s->views);
    if (!s->views)
        return no_memory(err, "the shared storages");
    for (size_t k = 0; rows_at(rows, k, &t); k++)
        count_row(s, &t);
    qsort(s->views, s->n_views, sizeof *s->views, by_storage);
    for (size_t i = 0, next; i < s->n_views; i = next) {
        for (next = i + 1; next < s->n_views && s->views[next].storage == s->views[i].storage;)
            next++;
        count_storage(s, s->views + i, next - i);
    }
    return true;
}

/* Bits per weight, in hundredths, rounded. False if nothing suggests quantized weights: neither the format
 * nor a block type. */
static bool find_bits(const struct heft_checkpoint *c, const struct summary *s,
                      uint64_t *hundredths)
{
    bool is_quantized = strcmp(heft_format(c), "gguf") == 0;

    for (int i = 0; i < HEFT_DTYPE_COUNT; i++)
        is_quantized |= s->dtypes[i].tensors && heft_dtype_block_elements((enum heft_dtype)i) > 4;
    if (!is_quantized || !s->total.parameters || s->total.bytes > UINT64_MAX / 1600)
        return false;
    *hundredths = (800 * s->total.bytes + s->total.parameters / 2) / s->total.parameters;
    return true;
}

static void put_bits(struct out *out, uint64_t hundredths)
{
    out_u64(out, hundredths / 100);
    out_char(out, '.');
    out_u64(out, hundredths / 10 % 10);
    out_u64(out, hundredths % 10);
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static void json_tally(struct out *out, const struct tally *tally)
{
    json_member_u64(out, "tensors", tally->tensors);
    json_member_u64(out, "parameters", tally->parameters);
    json_member_u64(out, "bytes", tally->bytes);
}

static void json_dtypes(struct out *out, const struct summary *s)
{
    json_key(out, "dtypes");
    json_open(out, '{');
    for (int i = 0; i < HEFT_DTYPE_COUNT; i++) {
        if (!s->dtypes[i].tensors)
            continue;
        json_key(out, heft_dtype_name((enum heft_dtype)i));
        json_open(out, '{');
        json_tally(out, &s->dtypes[i]);
        json_close(out, '}');
    }
    json_close(out, '}');
}

static void json_shared(struct out *out, const struct summary *s)
{
    json_key(out, "shared");
    json_open(out, '{');
    json_member_u64(out, "storages", s->shared_storages);
    json_member_u64(out, "tensors", s->shared_tensors);
    json_member_u64(out, "saved", s->saved);
    json_close(out, '}');
    json_member_u64(out, "storage_bytes", s->storage_bytes);
    json_member_u64(out, "used_bytes", s->used_bytes);
    json_member_u64(out, "wasted", s->storage_bytes - s->used_bytes);
}

static void json_unread(struct out *out, const struct heft_checkpoint *c)
{
    struct heft_unread unread = HEFT_INIT(struct heft_unread);
    json_key(out, "unreadable");
    json_open(out, '[');
    for (size_t i = 0; heft_unread_at(c, i, &unread); i++) {
        json_open(out, '{');
        json_member_text(out, "name", unread.name);
        json_member_text(out, "reason", unread.reason);
        json_close(out, '}');
    }
    json_close(out, ']');
}

/* Prints nothing if there are none. */
static void json_blobs(struct out *out, const struct heft_checkpoint *c)
{
    struct heft_blob blob = HEFT_INIT(struct heft_blob);
    if (!heft_blob_count(c))
        return;
    json_key(out, "blobs");
    json_open(out, '[');
    for (size_t i = 0; heft_blob_at(c, i, &blob); i++) {
        json_open(out, '{');
        json_blob(out, &blob);
        json_close(out, '}');
    }
    json_close(out, ']');
}

/* Writes what the files refer to but do not contain; the member is absent if there is nothing. */
static void json_lacks(struct out *out, const struct heft_checkpoint *c)
{
    struct heft_finding lack = HEFT_INIT(struct heft_finding);
    if (!heft_lack_at(c, 0, &lack))
        return;
    json_key(out, "missing");
    json_open(out, '[');
    for (size_t i = 0; heft_lack_at(c, i, &lack); i++)
        json_text(out, lack.text, strlen(lack.text));
    json_close(out, ']');
}

static bool info_json(struct out *out, const struct heft_checkpoint *c, const struct summary *s,
                      const struct rule_report *rules)
{
    const struct heft_value *const values = heft_values(c);
    const struct heft_value *const about = heft_file_info(c);
    uint64_t bits;
    bool fine = true;

    json_open(out, '{');
    json_member_u64(out, "heft", 1);
    json_member_text(out, "format", heft_format(c));
    json_member_text(out, "version", heft_format_version(c));
    json_files(out, c);
    json_tally(out, &s->total);
    json_dtypes(out, s);
    if (find_bits(c, s, &bits)) {
        json_key(out, "bits_per_weight");
        put_bits(out, bits);
        out->separate = true;
    }
    json_shared(out, s);
    json_pairs(out, "ties", c, heft_tie_at);
    json_pairs(out, "metadata", c, heft_metadata_at);
    json_key(out, "values");
    if (values) {
        fine = json_value(out, values);
    } else {
        json_open(out, '{');
        json_close(out, '}');
    }
    fine = fine && json_differing(out, c);
    json_blobs(out, c);
    json_unread(out, c);
    json_lacks(out, c);
    quantized_json(out, &s->quantized);
    rules_json(out, rules);
    for (const struct heft_value *v = about ? about->first_child : NULL; v && fine;
         v = v->next_sibling) {
        json_key(out, v->key);
        fine = json_value(out, v);
    }
    json_close(out, '}');
    out_char(out, '\n');
    return fine;
}

/* Writes the data of the page: that of `info --json`, `ls --json` and `explain --json`. */
static bool page_json(struct out *out, const struct rows *rows, const struct summary *s,
                      const struct heft_map *map)
{
    bool fine;

    json_open(out, '{');
    json_key(out, "info");
    fine = info_json(out, rows->c, s, &rows->rules);
    json_tensors(out, rows);
    json_segments(out, map);
    json_close(out, '}');
    return fine;
}

static bool write_page(const struct options *options, struct heft_checkpoint *c,
                       const struct rows *rows, const struct summary *s, struct heft_error *err)
{
    struct heft_map *const map = heft_map_new(c, err);
    struct html_page page;
    bool fine = map && html_page_open(&page, options, err);

    if (fine)
        fine = html_page_close(
            &page, page_json(html_page_out(&page), rows, s, map) || no_memory(err, "the values"),
            err);
    heft_map_free(map);
    return fine;
}

/* ---- text for people ------------------------------------------------------------------------- */

static void put_label(struct out *out, const char *text)
{
    out_text(out, text);
    out_fill(out, ' ', LABEL_WIDTH - strlen(text));
}

static void put_count(struct out *out, uint64_t n, const char *one)
{
    out_grouped(out, n);
    out_char(out, ' ');
    out_text(out, one);
    out_text(out, n == 1 ? "" : "s");
}

static void print_bytes(struct out *out, uint64_t bytes)
{
    put_count(out, bytes, "byte");
    if (bytes >= 1024) {
        out_text(out, " (");
        out_size(out, bytes);
        out_char(out, ')');
    }
}

/* Prints "… 12 more" if a list is truncated. */
static bool put_more_line(struct out *out, size_t shown, size_t n, bool all)
{
    if (all || shown < MAX_NAMED || n <= MAX_NAMED + 1)
        return false;
    put_label(out, "");
    out_text(out, "… ");
    out_u64(out, n - shown);
    out_text(out, " more\n");
    return true;
}

static void print_files(struct out *out, const struct heft_checkpoint *c, bool all)
{
    const size_t n = heft_file_count(c);
    struct heft_file file = HEFT_INIT(struct heft_file);
    for (size_t i = 0; !put_more_line(out, i, n, all) && heft_file_at(c, i, &file); i++) {
        put_label(out, i ? "" : n == 1 ? "file" : "files");
        (void)out_name(out, file.path, strlen(file.path));
        out_text(out, "  ");
        out_size(out, file.bytes);
        out_char(out, '\n');
    }
}

static void print_tally(struct out *out, const struct tally *tally)
{
    put_count(out, tally->tensors, "tensor");
    out_text(out, ", ");
    put_count(out, tally->parameters, "parameter");
    out_text(out, ", ");
    out_size(out, tally->bytes);
    out_char(out, '\n');
}

/* Prints one line per top-level key if there are values beside the tensors, as in a training
 * checkpoint. */
static void print_groups(struct out *out, const struct summary *s)
{
    if (s->n_groups < 2 || s->n_groups > MAX_BELOW)
        return;
    for (size_t i = 0; i < s->n_groups; i++) {
        put_label(out, i ? "" : "below");
        (void)out_name(out, s->groups[i].key, s->groups[i].key_len);
        out_text(out, "  ");
        print_tally(out, &s->groups[i].tally);
    }
}

static void print_dtypes(struct out *out, const struct summary *s)
{
    bool first = true;
    for (int i = 0; i < HEFT_DTYPE_COUNT; i++) {
        const struct tally *const tally = &s->dtypes[i];
        if (!tally->tensors)
            continue;
        put_label(out, first ? "dtypes" : "");
        out_text(out, heft_dtype_name((enum heft_dtype)i));
        out_text(out, "  ");
        print_tally(out, tally);
        first = false;
    }
}

static void print_totals(struct out *out, const struct heft_checkpoint *c, const struct summary *s)
{
    const char *const version = heft_format_version(c);
    uint64_t bits;
    put_label(out, "format");
    out_text(out, heft_format(c));
    if (version && *version) {
        out_text(out, " (");
        (void)out_name(out, version, strlen(version));
        out_char(out, ')');
    }
    out_char(out, '\n');
    put_label(out, "tensors");
    out_grouped(out, s->total.tensors);
    out_char(out, '\n');
    put_label(out, "parameters");
    out_grouped(out, s->total.parameters);
    out_char(out, '\n');
    put_label(out, "size");
    print_bytes(out, s->total.bytes);
    out_char(out, '\n');
    if (find_bits(c, s, &bits)) {
        put_label(out, "bits/weight");
        put_bits(out, bits);
        out_char(out, '\n');
    }
}

static void print_sharing(struct out *out, const struct summary *s)
{
    if (s->shared_storages) {
        put_label(out, "shared");
        put_count(out, s->shared_tensors, "tensor");
        out_text(out, " on ");
        put_count(out, s->shared_storages, "storage");
        if (s->saved) {
            out_text(out, ", ");
            print_bytes(out, s->saved);
            out_text(out, " saved");
        }
        out_char(out, '\n');
    }
}

/* Prints how much of the storages no tensor uses; not known if there are unreadable tensors. */
static void print_use(struct out *out, const struct heft_checkpoint *c, const struct summary *s)
{
    const uint64_t unused = s->storage_bytes - s->used_bytes;
    const uint64_t percent = unused > UINT64_MAX / 100 ? unused / (s->storage_bytes / 100)
                             : s->storage_bytes        ? unused * 100 / s->storage_bytes
                                                       : 0;
    if (!unused || heft_unread_count(c))
        return;
    put_label(out, "storages");
    out_size(out, s->storage_bytes);
    out_text(out, ", of which tensors use ");
    out_size(out, s->used_bytes);
    out_text(out, " (");
    if (percent) {
        out_u64(out, percent);
        out_char(out, '%');
    } else {
        out_size(out, unused);
    }
    out_text(out, " unused: convert writes only what is used)\n");
}

typedef bool pair_fn(const struct heft_checkpoint *c, size_t index, struct heft_metadata *out);

/* Prints metadata or recorded ties. */
static void print_pairs(struct out *out, const struct heft_checkpoint *c, const char *name,
                        pair_fn *at, size_t n, bool all)
{
    struct heft_metadata pair;
    for (size_t i = 0; !put_more_line(out, i, n, all) && at(c, i, &pair); i++) {
        const bool whole = all || pair.value_len <= MAX_VALUE;
        put_label(out, i ? "" : name);
        (void)out_name(out, pair.key, pair.key_len);
        out_text(out, " = ");
        (void)out_name(out, pair.value, whole ? pair.value_len : MAX_VALUE);
        out_text(out, whole ? "\n" : "…\n");
    }
}

static void print_unread(struct out *out, const struct heft_checkpoint *c, bool all)
{
    const size_t n = heft_unread_count(c);
    struct heft_unread unread = HEFT_INIT(struct heft_unread);
    for (size_t i = 0; !put_more_line(out, i, n, all) && heft_unread_at(c, i, &unread); i++) {
        put_label(out, i ? "" : "unreadable");
        (void)out_name(out, unread.name, strlen(unread.name));
        out_text(out, ": ");
        (void)out_name(out, unread.reason, strlen(unread.reason));
        out_char(out, '\n');
    }
}

static void print_blobs(struct out *out, const struct heft_checkpoint *c, bool all)
{
    const size_t n = heft_blob_count(c);
    struct heft_blob blob = HEFT_INIT(struct heft_blob);
    for (size_t i = 0; !put_more_line(out, i, n, all) && heft_blob_at(c, i, &blob); i++) {
        put_label(out, i ? "" : "blobs");
        (void)out_name(out, blob.name, blob.name_len);
        out_text(out, "  ");
        out_size(out, blob.bytes);
        out_char(out, '\n');
    }
}

/* Prints the file info; in the format of TensorFlow's saved_model_cli if as_tool. */
static bool print_file_info(struct out *out, const struct heft_value *about, bool as_tool, bool all)
{
    if (as_tool)
        return saved_model_show(out, about);
    signatures_print(out, about);
    return print_values(out, about, 0, all);
}

/* Whether there are values other than module versions, which every state dict has. */
static bool has_values(const struct heft_value *values)
{
    const struct heft_value *v = values ? values->first_child : NULL;
    while (v && strcmp(v->key, "_metadata") == 0)
        v = v->next_sibling;
    return v != NULL;
}

/* Prints how many variables a TensorFlow checkpoint stores twice: both copies count as parameters. */
static void print_twice(struct out *out, const struct heft_value *about)
{
    const struct heft_value *const objects = about ? value_member(about, "objects") : NULL;
    const struct heft_value *const n = objects ? value_member(objects, "stored_twice") : NULL;

    if (!n || n->kind != HEFT_VALUE_INT)
        return;
    put_label(out, "twice");
    put_count(out, (uint64_t)n->as.integer, "variable");
    out_text(out, n->as.integer == 1 ? " is" : " are");
    out_text(out, " stored twice, as Keras' export does; --names objects takes each once\n");
}

static bool info_text(struct out *out, const struct heft_checkpoint *c, const struct summary *s,
                      bool all)
{
    const struct heft_value *const values = heft_values(c);
    const struct heft_value *const about = heft_file_info(c);
    print_files(out, c, all);
    print_totals(out, c, s);
    print_dtypes(out, s);
    quantized_text(out, &s->quantized);
    if (has_values(values))
        print_groups(out, s);
    print_sharing(out, s);
    print_twice(out, about);
    print_use(out, c, s);
    print_pairs(out, c, "ties", heft_tie_at, heft_tie_count(c), all);
    print_pairs(out, c, "metadata", heft_metadata_at, heft_metadata_count(c), all);
    print_differing(out, c, "differing", LABEL_WIDTH, all);
    print_blobs(out, c, all);
    print_unread(out, c, all);
    if (about && !print_file_info(out, about, all && !strcmp(heft_format(c), "saved-model"), all))
        return false;
    if (!values || !values->first_child)
        return true;
    out_text(out, "values\n");
    return print_values(out, values, 2, all);
}

static bool show_info(const struct options *options, struct out *out, struct heft_checkpoint *c,
                      const struct rows *rows, const struct summary *s, struct heft_error *err)
{
    if (options->html)
        return write_page(options, c, rows, s, err);
    return (options->json ? info_json(out, c, s, &rows->rules)
                          : info_text(out, c, s, options->all)) ||
           no_memory(err, "the values");
}

static bool check_html(const struct options *options, struct heft_error *err)
{
    if (options->html && (options->json || options->all))
        return usage_error(err, "info: --html cannot be combined with --json or --all");
    if (options->html && strcmp(options->html, "-") == 0)
        return usage_error(err, "info: --html needs the name of a file");
    if (options->html)
        return true;
    return (!options->overwrite && !options->no_sync) ||
           usage_error(err, "info: -f and --no-sync need --html");
}

/* Whether the input, which is no checkpoint, may be a vocabulary. */
static bool is_vocabulary(const struct options *options, const struct heft_error *err)
{
    return (err->code == HEFT_UNSUPPORTED || err->code == HEFT_MALFORMED ||
            err->code == HEFT_USAGE) &&
           options->inputs.n == 1 && !options->html && strcmp(options->inputs.items[0], "-") != 0;
}

int cmd_info(const struct options *options, struct out *out)
{
    struct heft_error err = {0};
    struct rows rows = {0};
    struct summary summary = {.quantized = HEFT_INIT(struct heft_quantized)};
    struct heft_checkpoint *const c =
        check_html(options, &err) ? open_inputs(options, 0, &err) : NULL;
    bool fine = c && rows_select(&rows, c, options, &err) &&
                summarize_tensors(&summary, &rows, &err) &&
                heft_quantization(c, &summary.quantized, &err) &&
                heft_storage_use(c, &summary.storage_bytes, &summary.used_bytes, &err) &&
                show_info(options, out, c, &rows, &summary, &err);

    if (fine) {
        report_lacks(options, c);
        report_left(options, c);
        fine = report_danger(options, c, &err);
    } else if (!c && is_vocabulary(options, &err))
        fine = info_vocabulary(options, out, options->inputs.items[0]);
    free(summary.views);
    rows_release(&rows);
    heft_close(c);
    return fine ? EXIT_SOUND : report_error(&err);
}
