/* Files that a program provides (heft/inputs.h) behave as those of the disk: every file and directory
 * of tests/golden and tests/reject is opened both ways, and everything that the library tells about it
 * is compared: contents, data, findings, map, traces, and errors with code, offset and text. */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/checksum.h"
#include "base/mem.h"
#include "provided.h"

enum {
    MOST_DATA = 1 << 20,
    CALLS = 5 /* of functions that take the inputs over, in tell_all */
};

/* One way to open a path. */
struct way {
    const struct heft_input *inputs; /* NULL: the disk */
    size_t n_inputs;
    const char *path;
    const char *prefix; /* directory of the path, with its slash, which is removed from texts */
    struct heft_buf text;
};

/* Which of its limits, of time or of memory, stops libhdf5 first depends on the machine's load. */
static void hide_limit(char *line)
{
    static const char *const limits[] = {"libhdf5 needs more than its memory limit",
                                         "libhdf5 does not finish reading this file"};

    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        char *const found = strstr(line, limits[i]);

        if (found)
            memcpy(found, "a limit", sizeof "a limit");
    }
}

static void tell(struct way *w, const char *format, ...) HEFT_PRINTF(2, 3);
static void tell(struct way *w, const char *format, ...)
{
    char line[4096], *found;
    const size_t n = strlen(w->prefix);
    va_list args;

    va_start(args, format);
    (void)vsnprintf(line, sizeof line, format, args);
    va_end(args);
    while (n && (found = strstr(line, w->prefix)))
        memmove(found, found + n, strlen(found + n) + 1);
    hide_limit(line);
    heft_buf_text(&w->text, line);
    heft_buf_char(&w->text, '\n');
}

/* The file of an error is cut at its begin if its path is long: only its end is compared. */
static void tell_error(struct way *w, const char *verb, const struct heft_error *err)
{
    const char *const slash = strrchr(err->file, '/');

    tell(w, "%s: %d %s %" PRIu64 " %s", verb, (int)err->code, slash ? slash + 1 : err->file,
         err->offset, err->text);
}

/* ---- contents ---------------------------------------------------------------------------- */

static void tell_finding(void *ctx, const struct heft_finding *f)
{
    tell(ctx, "finding %d %s %" PRIu64 " %s", (int)f->severity, f->file ? f->file : "", f->offset,
         f->text);
}

static void tell_data(struct way *w, struct heft_checkpoint *c, size_t i, size_t bytes)
{
    struct heft_error err = {0};
    uint8_t *const data = malloc(bytes + 1);
    const void *view;

    assert_non_null(data);
    if (heft_tensor_read(c, i, data, bytes, &err)) {
        tell(w, "data %08" PRIx32, heft_crc32(0, data, bytes));
        if (heft_tensor_map(c, i, &view, &err))
            assert_memory_equal(view, data, bytes);
    } else {
        tell_error(w, "read", &err);
    }
    free(data);
}

static void tell_tensors(struct way *w, struct heft_checkpoint *c)
{
    struct heft_tensor t = HEFT_INIT(struct heft_tensor);

    for (size_t i = 0; heft_tensor_at(c, i, &t); i++) {
        tell(w, "tensor %s %s %u %" PRIu64 " %zu %" PRIu64 " %d %" PRIu64 " %" PRId64 " %d%d%d%d",
             t.name, heft_dtype_name(t.dtype), t.rank, t.bytes, t.file, t.offset, (int)t.stored,
             t.stored_bytes, t.storage, t.big_endian, t.conjugated, t.negated, t.missing);
        for (unsigned k = 0; k < t.rank; k++)
            tell(w, "%" PRIu64 " %" PRIu64, t.shape[k], t.strides ? t.strides[k] : 0);
        if (t.bytes < MOST_DATA)
            tell_data(w, c, i, (size_t)t.bytes);
    }
}

static void tell_values(struct way *w, const struct heft_value *v, unsigned depth)
{
    for (; v && depth < 20; v = v->next_sibling) {
        tell(w, "%u %s: %d %s %s", depth, v->key, (int)v->kind, v->type_name ? v->type_name : "",
             v->text ? v->text : "");
        tell_values(w, v->first_child, depth + 1);
    }
}

static void tell_rest(struct way *w, struct heft_checkpoint *c)
{
    struct heft_metadata m;
    struct heft_file file = HEFT_INIT(struct heft_file);
    struct heft_blob blob = HEFT_INIT(struct heft_blob);
    struct heft_unread unread = HEFT_INIT(struct heft_unread);

    tell(w, "format %s %s", heft_format(c), heft_format_version(c));
    for (size_t i = 0; heft_file_at(c, i, &file); i++)
        tell(w, "file %s %" PRIu64, file.path, file.bytes);
    for (size_t i = 0; heft_metadata_at(c, i, &m); i++)
        tell(w, "metadata %s %s", m.key, m.value);
    for (size_t i = 0; heft_tie_at(c, i, &m); i++)
        tell(w, "tie %s %s", m.key, m.value);
    for (size_t i = 0; heft_blob_at(c, i, &blob); i++)
        tell(w, "blob %s %" PRIu64 " %" PRIu64, blob.name, blob.offset, blob.bytes);
    for (size_t i = 0; heft_unread_at(c, i, &unread); i++)
        tell(w, "unread %s %s", unread.name, unread.reason);
    for (size_t i = 0; heft_choice_at(c, i); i++)
        tell(w, "choice %s", heft_choice_at(c, i));
    tell_values(w, heft_values(c), 0);
    tell_values(w, heft_file_info(c), 0);
}

static void tell_map(struct way *w, struct heft_checkpoint *c)
{
    struct heft_error err = {0};
    struct heft_map *const map = heft_map_new(c, &err);
    struct heft_segment s = HEFT_INIT(struct heft_segment);

    if (!map)
        tell_error(w, "map", &err);
    for (size_t i = 0; map && heft_map_at(map, i, &s); i++)
        tell(w, "segment %zu %" PRIu64 " %" PRIu64 " %s", s.file, s.offset, s.bytes, s.what);
    heft_map_free(map);
}

static void tell_checkpoint(struct way *w, bool salvage)
{
    const struct heft_open_options options = {
        .size = sizeof options, .salvage = salvage, .inputs = w->inputs, .n_inputs = w->n_inputs};
    struct heft_error err = {0};
    struct heft_checkpoint *const c = heft_open(w->path, &options, &err);

    if (!c) {
        tell_error(w, "open", &err);
        return;
    }
    tell_tensors(w, c);
    tell_rest(w, c);
    tell_map(w, c);
    if (!heft_verify(c, NULL, tell_finding, w, &err))
        tell_error(w, "verify", &err);
    heft_close(c);
}

/* ---- functions that take a path ---------------------------------------------------------- */

static void tell_item(void *ctx, const struct heft_scan_item *item)
{
    tell(ctx, "item %d %s %s %" PRIu64 " %s %s", (int)item->danger, item->file, item->record,
         item->offset, item->what, item->name);
}

static void tell_result(void *ctx, const struct heft_scan_result *result)
{
    tell(ctx, "result %s %s %d", result->file, result->kind, (int)result->worst);
}

static bool tell_entry(void *ctx, const struct heft_index_entry *entry)
{
    tell(ctx, "entry %" PRIu64 " %s", entry->offset, entry->text);
    return true;
}

static void tell_paths(struct way *w)
{
    const struct heft_open_options options = {
        .size = sizeof options, .inputs = w->inputs, .n_inputs = w->n_inputs};
    const struct heft_trace_options trace = {
        .size = sizeof trace, .inputs = w->inputs, .n_inputs = w->n_inputs};
    const struct heft_scan_visitor scan = {
        .size = sizeof scan, .item = tell_item, .result = tell_result, .ctx = w};
    const struct heft_trace_watcher watcher = HEFT_INIT(struct heft_trace_watcher);
    struct heft_trace_total total = HEFT_INIT(struct heft_trace_total);
    struct heft_error err = {0};
    bool is_index;

    if (!heft_scan_tree(w->path, &options, &scan, &err))
        tell_error(w, "scan", &err);
    err = (struct heft_error){0};
    if (!heft_trace(w->path, &trace, &watcher, &total, &err))
        tell_error(w, "trace", &err);
    tell(w, "%" PRIu64 " %" PRIu64 " %" PRIu64, total.pickles, total.opcodes, total.tensors);
    err = (struct heft_error){0};
    if (!heft_index_walk(w->path, &options, tell_entry, w, &is_index, &err))
        tell_error(w, "walk", &err);
}

/* ---- both ways --------------------------------------------------------------------------- */

static void tell_all(struct way *w)
{
    tell_checkpoint(w, false);
    tell_checkpoint(w, true);
    tell_paths(w);
    assert_false(w->text.failed);
    heft_buf_char(&w->text, '\0');
}

/* The first line that differs. */
static void show_difference(const char *path, const char *a, const char *b)
{
    while (*a && *b) {
        const size_t n = strcspn(a, "\n"), m = strcspn(b, "\n");

        if (n != m || memcmp(a, b, n) != 0)
            break;
        a += n + (a[n] != '\0');
        b += m + (b[m] != '\0');
    }
    fail_msg("%s\ndisk:   %.*s\ninputs: %.*s", path, (int)strcspn(a, "\n"), a,
             (int)strcspn(b, "\n"), b);
}

static void compare_path(struct provided *p, const enum provided_kind *kinds, const char *folder,
                         const char *name)
{
    struct heft_buf path = {0}, prefix = {0};
    struct way disk = {0};

    heft_buf_printf(&path, "%s/%s%c", folder, name, '\0');
    heft_buf_printf(&prefix, "%s/%c", folder, '\0');
    disk.path = path.p;
    disk.prefix = prefix.p;
    tell_all(&disk);
    for (; kinds[0] != PROVIDED_NONE; kinds++) {
        struct way way = {
            .inputs = provided_inputs(p, kinds[0]), .n_inputs = p->n, .path = name, .prefix = ""};

        tell_all(&way);
        assert_int_equal(atomic_load(&p->closed), CALLS * p->n);
        if (strcmp(way.text.p, disk.text.p) != 0)
            show_difference(path.p, disk.text.p, way.text.p);
        heft_buf_release(&way.text);
    }
    heft_buf_release(&disk.text);
    heft_buf_release(&path);
    heft_buf_release(&prefix);
}

/* Links cannot be provided: the directories that contain one differ. */
static bool has_link(const char *name)
{
    return strcmp(name, "path-device") == 0 || strcmp(name, "path-link") == 0;
}

static bool is_plain(const char *folder, const char *name)
{
    struct heft_buf path = {0};
    struct stat st;
    bool is;

    heft_buf_printf(&path, "%s/%s%c", folder, name, '\0');
    is = lstat(path.p, &st) == 0 && !S_ISLNK(st.st_mode);
    heft_buf_release(&path);
    return is && !has_link(name) && name[0] != '.' && strstr(name, ".py") == NULL &&
           strcmp(name, "expected") != 0;
}

static void compare_folder(const char *folder, const enum provided_kind *kinds)
{
    struct provided *const p = provided_new(folder);
    DIR *const dir = opendir(folder);

    assert_non_null(dir);
    for (const struct dirent *e; (e = readdir(dir));)
        if (is_plain(folder, e->d_name))
            compare_path(p, kinds, folder, e->d_name);
    closedir(dir);
    provided_free(p);
}

static void compare_below(const char *folder, const enum provided_kind *kinds)
{
    DIR *const dir = opendir(folder);

    assert_non_null(dir);
    for (const struct dirent *e; (e = readdir(dir));) {
        struct heft_buf path = {0};

        if (e->d_name[0] == '.' || strcmp(e->d_name, "tokens") == 0 ||
            strcmp(e->d_name, "vocab") == 0)
            continue;
        heft_buf_printf(&path, "%s/%s%c", folder, e->d_name, '\0');
        compare_folder(path.p, kinds);
        heft_buf_release(&path);
    }
    closedir(dir);
}

static void golden_files_are_the_same(void **state)
{
    (void)state;
    compare_below(HEFT_TESTS "/golden",
                  (const enum provided_kind[]){PROVIDED_READ, PROVIDED_SLOW, PROVIDED_NONE});
}

static void rejected_files_are_the_same(void **state)
{
    (void)state;
    compare_below(HEFT_TESTS "/reject",
                  (const enum provided_kind[]){PROVIDED_MEMORY, PROVIDED_NONE});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_files_are_the_same),
        cmocka_unit_test(rejected_files_are_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
