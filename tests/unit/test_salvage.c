/* test_salvage.c: salvage of golden files that are truncated at every length or have one bit
 * flipped at every position. Tensors that are kept have the original's bytes; those that are not
 * are listed; damage of the pickle itself is reported. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "failures.h"
#include "core/convert.h"
#include "format/formats.h"
#include "core/reader.h"
#include "wire/zip.h"

extern const struct heft_format heft_format_torch, heft_format_torch_legacy,
    heft_format_safetensors;

#define MOST_FILE 16384
#define MOST_ROW  4096

struct file {
    const char *path;
    const struct heft_format *format;
    uint8_t bytes[MOST_FILE];
    size_t n;
};

/* A file, complete or damaged, opened and planned to be converted. */
struct attempt {
    struct heft_model model;
    struct heft_conversion conversion;
    struct heft_reader reader;
    struct heft_error err;
    bool opened, planned;
};

static void load(struct file *f, const char *name)
{
    char path[512];
    FILE *file;

    snprintf(path, sizeof path, HEFT_TESTS "/golden/%s", name);
    f->path = name;
    f->format = strstr(name, ".safetensors")    ? &heft_format_safetensors
                : strstr(name, "torch-legacy/") ? &heft_format_torch_legacy
                                                : &heft_format_torch;
    file = fopen(path, "rb");
    assert_non_null(file);
    f->n = fread(f->bytes, 1, sizeof f->bytes, file);
    assert_in_range(f->n, 1, MOST_FILE - 1);
    fclose(file);
}

static void begin(struct attempt *a, const struct file *f, size_t n, bool salvage)
{
    const struct heft_convert_options how = {.size = sizeof how,
                                             .output = "never-written.safetensors",
                                             .threads = 1,
                                             .salvage = salvage};
    struct heft_source source;
    uint32_t index;

    *a = (struct attempt){0};
    heft_model_init(&a->model, NULL, &heft_formats);
    a->model.salvage = salvage;
    heft_source_open_memory(&source, (struct heft_bytes){f->bytes, n}, "file");
    a->opened = heft_model_add_file(&a->model, &source, "file", &index, &a->err) &&
                f->format->open(&a->model, index, &a->err) &&
                heft_model_validate(&a->model, &a->err) &&
                heft_reader_init(&a->reader, &a->model, false, &a->err);
    a->planned = a->opened && heft_conversion_plan(&a->conversion, &a->model, &how, &a->err);
}

static void end(struct attempt *a)
{
    heft_reader_release(&a->reader);
    heft_conversion_release(&a->conversion);
    heft_model_release(&a->model);
}

static bool is_damaged(const struct heft_model *model)
{
    for (size_t i = 0; i < model->n_notes; i++)
        if (model->notes[i].is_damage)
            return true;
    return false;
}

static bool has_same_bytes(struct attempt *a, const struct heft_row *x, struct attempt *b,
                           const struct heft_row *y)
{
    static uint8_t p[MOST_ROW], q[MOST_ROW];

    if (x->dtype != y->dtype || x->rank != y->rank || x->bytes != y->bytes || x->bytes > sizeof p ||
        (x->rank && memcmp(x->shape, y->shape, x->rank * sizeof *x->shape) != 0))
        return false;
    return heft_reader_row(&a->reader, x, 0, p, (size_t)x->bytes, &a->err) &&
           heft_reader_row(&b->reader, y, 0, q, (size_t)x->bytes, &b->err) &&
           memcmp(p, q, (size_t)x->bytes) == 0;
}

static bool is_accounted(const struct attempt *a, struct heft_str name)
{
    const struct heft_conversion *c = &a->conversion;

    for (size_t i = 0; i < c->exports.n_items; i++)
        if (heft_str_eq(c->exports.items[i].name, name))
            return true;
    for (size_t i = 0; i < c->n_lost; i++)
        if (strcmp(name.p, c->lost[i].name) == 0)
            return true;
    return heft_strmap_get(&c->exports.keys, name) != HEFT_MAP_NONE; /* dropped as a tie */
}

/* Asserts that every tensor kept has its original bytes. */
static void expect_kept(struct attempt *good, struct attempt *a, const char *what, size_t at)
{
    const struct heft_export_list *exports = &a->conversion.exports;

    if (!a->planned)
        fail_msg("%s at %zu: %s", what, at, a->err.text);
    for (size_t i = 0; i < exports->n_items; i++) {
        const uint32_t row = heft_model_row(&good->model, exports->items[i].row->name);

        if (row == HEFT_NONE ||
            !has_same_bytes(a, exports->items[i].row, good, &good->model.rows[row]))
            fail_msg("%s at %zu: %s has different bytes", what, at, exports->items[i].name.p);
    }
}

/* Asserts that, in addition, every other tensor is listed as lost or dropped. */
static void expect_truth(struct attempt *good, struct attempt *a, const char *what, size_t at)
{
    expect_kept(good, a, what, at);
    for (size_t i = 0; i < good->model.n_rows; i++)
        if (!is_accounted(a, good->model.rows[i].name))
            fail_msg("%s at %zu: %s is neither kept nor lost", what, at,
                     good->model.rows[i].name.p);
}

/* ---- cut off --------------------------------------------------------------------------------- */

/* Payloads of the records of a torch zip. */
struct parts {
    struct heft_arena mem;
    struct heft_zip zip;
    const struct heft_zip_entry *pickle, *byteorder;
};

static bool ends_with(const struct heft_zip_entry *e, const char *suffix)
{
    const size_t n = strlen(suffix);

    return e->name.n > n && strcmp(e->name.p + e->name.n - n, suffix) == 0;
}

static void find_parts(const struct file *f, struct parts *p)
{
    struct heft_error err = {0};
    struct heft_source src;

    *p = (struct parts){0};
    heft_source_open_memory(&src, (struct heft_bytes){f->bytes, f->n}, "file");
    assert_true(heft_zip_open(&p->zip, &src, NULL, &p->mem, &err));
    for (size_t i = 0; i < p->zip.count; i++) {
        if (ends_with(&p->zip.entries[i], "/data.pkl"))
            p->pickle = &p->zip.entries[i];
        if (ends_with(&p->zip.entries[i], "/byteorder"))
            p->byteorder = &p->zip.entries[i];
    }
    assert_non_null(p->pickle);
}

static bool is_in(const struct heft_zip_entry *e, size_t at)
{
    return e && at >= e->data && at < e->data + e->packed;
}

static void cut_everywhere(const char *name)
{
    static struct file f;
    struct attempt good, a;
    struct parts parts;
    size_t kept = 0, more = 0;

    load(&f, name);
    find_parts(&f, &parts);
    begin(&good, &f, f.n, false);
    assert_true(good.opened);
    for (size_t n = 0; n < f.n; n++) {
        begin(&a, &f, n, true);
        if (n >= parts.pickle->data + parts.pickle->packed) {
            expect_truth(&good, &a, name, n);
            assert_true(!is_damaged(&a.model) ||
                        (n >= parts.byteorder->data && n < parts.byteorder->end));
            if (a.conversion.exports.n_items < kept)
                fail_msg("%s: %zu bytes keep fewer tensors than one byte less", name, n);
            more += a.conversion.exports.n_items > kept;
            kept = a.conversion.exports.n_items;
        } else if (a.opened) { /* names may be missing; the damage must be reported */
            if (!is_damaged(&a.model))
                fail_msg("%s at %zu: the damage is not reported", name, n);
            expect_kept(&good, &a, name, n);
        }
        end(&a);
    }
    assert_true(more > 0);
    /* a file that cannot be converted without salvage has nothing to compare with */
    if (good.planned)
        assert_int_equal(kept, good.conversion.exports.n_items);
    end(&good);
    heft_arena_release(&parts.mem);
}

static void torch_files_cut_everywhere(void **state)
{
    static const char *const names[] = {
        "torch/linear.pt", "torch/torch_1_13.pt", "torch/zip64.pt",      "torch/deflated.pt",
        "torch/tied.pt",   "torch/no_crc.pt",     "torch/unreadable.pt", "torch/training.ckpt"};

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(names); i++)
        cut_everywhere(names[i]);
}

/* In torch's layout the total size is known exactly once the first storage has begun. */
static void the_missing_bytes_are_counted(void **state)
{
    static const char *const names[] = {"torch/linear.pt", "torch/torch_1_13.pt",
                                        "torch/training.ckpt", "torch/views.pt"};
    static struct file f;
    struct attempt a;

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(names); i++) {
        struct parts parts;
        uint64_t first = UINT64_MAX;

        load(&f, names[i]);
        find_parts(&f, &parts);
        for (size_t k = 0; k < parts.zip.count; k++)
            if (ends_with(&parts.zip.entries[k], "/data/0"))
                first = parts.zip.entries[k].data;
        for (size_t n = (size_t)first; n < f.n; n += 3) {
            begin(&a, &f, n, true);
            assert_int_equal(a.model.sources[0].expected, f.n);
            assert_false(a.model.sources[0].at_least);
            end(&a);
        }
        begin(&a, &f, (size_t)parts.pickle->data + 80, true);
        assert_true(!a.opened || a.model.sources[0].expected == 0 || a.model.sources[0].at_least);
        end(&a);
        heft_arena_release(&parts.mem);
    }
}

static void safetensors_cut_everywhere(void **state)
{
    static const char *const names[] = {"safetensors/dtypes.safetensors",
                                        "safetensors/names.safetensors",
                                        "safetensors/tied.safetensors"};
    static struct file f;
    struct attempt good, a;

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(names); i++) {
        load(&f, names[i]);
        begin(&good, &f, f.n, false);
        for (size_t n = 0; n < f.n; n++) {
            begin(&a, &f, n, true);
            assert_int_equal(a.opened, n >= 8 + f.bytes[0] + 256U * f.bytes[1]);
            if (a.opened) {
                expect_truth(&good, &a, names[i], n);
                assert_int_equal(a.model.sources[0].expected, f.n);
            }
            end(&a);
        }
        end(&good);
    }
}

/* ---- legacy streams -------------------------------------------------------------------------- */

/* Ranges of a legacy stream: the pickle of the storage keys, and each storage. */
#define MOST_STORAGES 32
struct stream {
    size_t keys, first, n;
    struct {
        uint64_t off, end;
    } storages[MOST_STORAGES];
};

static void find_stream(struct stream *s, const struct attempt *good)
{
    const struct heft_model *m = &good->model;

    *s = (struct stream){.n = m->n_storages};
    assert_in_range(m->n_storages, 1, MOST_STORAGES);
    for (size_t i = 0; i < m->n_claims; i++)
        if (strcmp(m->claims[i].of.p, "storage keys") == 0) {
            s->keys = (size_t)m->claims[i].off;
            s->first = s->keys + (size_t)m->claims[i].len;
        }
    for (size_t i = 0; i < m->n_storages; i++) {
        s->storages[i].off = m->storages[i].off;
        s->storages[i].end = m->storages[i].off + m->storages[i].len;
    }
    assert_true(s->keys > 0);
}

/* A row is kept if its storage, including the count before it, is complete; otherwise it is not. */
static void expect_whole_rows(const struct attempt *good, const struct attempt *a,
                              const struct stream *s, const char *name, size_t n)
{
    for (size_t i = 0; i < good->model.n_rows; i++) {
        const struct heft_row *row = &good->model.rows[i];

        if ((s->storages[row->storage].end <= n) !=
            (heft_model_row(&a->model, row->name) != HEFT_NONE))
            fail_msg("%s at %zu: %s is kept but incomplete, or lost but complete", name, n,
                     row->name.p);
    }
}

static void a_stream_cut_everywhere(const char *name)
{
    static struct file f;
    struct attempt good, a;
    struct stream s;

    load(&f, name);
    begin(&good, &f, f.n, false);
    assert_true(good.opened);
    find_stream(&s, &good);
    for (size_t n = 0; n < f.n; n++) {
        begin(&a, &f, n, true);
        if (n >= s.keys) {
            expect_truth(&good, &a, name, n);
            expect_whole_rows(&good, &a, &s, name, n);
            assert_false(is_damaged(&a.model));
            assert_int_equal(a.model.sources[0].at_least, n < s.first);
            assert_true(n < s.first ? a.model.sources[0].expected > n
                                    : a.model.sources[0].expected == f.n);
        } else if (a.opened) {
            assert_true(is_damaged(&a.model));
            assert_int_equal(a.model.n_rows, 0);
        }
        end(&a);
    }
    end(&good);
}

static void legacy_streams_cut_everywhere(void **state)
{
    static const char *const names[] = {"torch-legacy/python2.pt",   "torch-legacy/ties.pt",
                                        "torch-legacy/module.pt",    "torch-legacy/protocol2.pt",
                                        "torch-legacy/protocol5.pt", "torch-legacy/views.pt"};

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(names); i++)
        a_stream_cut_everywhere(names[i]);
}

/* One bit flipped in the key list or in a count: tensors that are kept have their original bytes. A
 * damaged key list of a complete file loses nothing, as torch's order is known; a damaged count
 * loses no storage but its own, unless the count reads zero. */
static void legacy_keys_and_counts_flipped(void **state)
{
    static const char *const names[] = {"torch-legacy/ties.pt", "torch-legacy/module.pt",
                                        "torch-legacy/protocol2.pt", "torch-legacy/python2.pt"};
    static struct file f;
    struct attempt good, a;
    struct stream s;
    size_t mended = 0;

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(names); i++) {
        load(&f, names[i]);
        begin(&good, &f, f.n, false);
        find_stream(&s, &good);
        for (size_t at = s.keys; at < s.storages[0].off; at++)
            for (unsigned bit = 0; bit < 8; bit++) {
                f.bytes[at] ^= (uint8_t)(1U << bit);
                begin(&a, &f, f.n, true);
                f.bytes[at] ^= (uint8_t)(1U << bit);
                expect_truth(&good, &a, names[i], at);
                if (at < s.first && a.model.n_rows == good.model.n_rows)
                    mended++;
                else if (at < s.first)
                    assert_true(a.conversion.n_lost > 0);
                else
                    assert_true(a.model.n_rows < good.model.n_rows);
                end(&a);
            }
        end(&good);
    }
    assert_true(mended > 1000);
}

/* Truncated file padded with zeros to its original size: no storage that extends into the zeros is
 * kept, but for the last one, which no later bytes can disprove. */
static void legacy_streams_padded_with_zeros(void **state)
{
    static struct file f;
    struct attempt good, a;
    struct stream s;

    (void)state;
    load(&f, "torch-legacy/dtypes.pt");
    begin(&good, &f, f.n, false);
    find_stream(&s, &good);
    for (size_t n = s.first; n <= s.storages[s.n - 1].off - 8; n++) {
        static struct file filled;

        filled = f;
        memset(filled.bytes + n, 0, f.n - n);
        begin(&a, &filled, f.n, true);
        for (size_t i = 0; i < good.model.n_rows; i++) {
            const struct heft_row *row = &good.model.rows[i];

            if (s.storages[row->storage].end > n && row->bytes &&
                heft_model_row(&a.model, row->name) != HEFT_NONE)
                fail_msg("zeros from %zu on: %s is kept", n, row->name.p);
        }
        end(&a);
    }
    end(&good);
}

/* ---- flipped --------------------------------------------------------------------------------- */

/* Returns false for bytes that no checksum protects: their payload may have any value. */
static bool is_vouched(const struct parts *p, size_t at)
{
    for (size_t i = 0; i < p->zip.count; i++)
        if (is_in(&p->zip.entries[i], at))
            return p->zip.entries[i].crc != 0;
    return true;
}

static void flip(struct attempt *good, struct file *f, const struct parts *parts, size_t at,
                 uint8_t bits)
{
    struct attempt a;

    f->bytes[at] ^= bits;
    begin(&a, f, f->n, true);
    f->bytes[at] ^= bits;
    /* names may be wrong; the damage must be reported */
    if (is_in(parts->pickle, at) && parts->pickle->crc)
        assert_true(!a.opened || is_damaged(&a.model));
    else if (is_in(parts->byteorder, at))
        assert_true(is_damaged(&a.model));
    else if (is_vouched(parts, at))
        expect_truth(good, &a, f->path, at);
    end(&a);
}

/* The byte is restored before rows are read; rows are read at the offsets that were found in the
 * damaged file. */
static void one_bit_flipped_everywhere(void **state)
{
    static const char *const names[] = {"torch/linear.pt", "torch/no_crc.pt", "torch/torch_1_13.pt",
                                        "torch/zip64.pt"};
    static struct file f;
    struct attempt good;

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(names); i++) {
        struct parts parts;

        load(&f, names[i]);
        find_parts(&f, &parts);
        begin(&good, &f, f.n, false);
        for (size_t at = 0; at < f.n; at++)
            flip(&good, &f, &parts, at, (uint8_t)(1U << at % 8));
        end(&good);
        heft_arena_release(&parts.mem);
    }
}

/* ---- whole, and without memory --------------------------------------------------------------- */

static void a_complete_file_loses_nothing(void **state)
{
    static struct file f;
    struct attempt good, a;

    (void)state;
    load(&f, "torch/training.ckpt");
    begin(&good, &f, f.n, false);
    begin(&a, &f, f.n, true);
    expect_truth(&good, &a, f.path, f.n);
    assert_int_equal(a.conversion.n_lost, 0);
    assert_int_equal(a.conversion.exports.n_items, good.conversion.exports.n_items);
    assert_int_equal(a.model.sources[0].expected, 0);
    assert_false(is_damaged(&a.model));
    end(&a);
    end(&good);
}

static void salvage_without_memory(const struct file *f, size_t n)
{
    for (struct failures fail = {.most = 10000}; !fail.done;) {
        struct attempt a;

        FAIL_ALLOCATION(&fail, (begin(&a, f, n, true), a.planned), &a.err);
        end(&a);
    }
}

static void every_failing_allocation_is_reported(void **state)
{
    static struct file f;

    (void)state;
    load(&f, "torch/linear.pt");
    f.bytes[900] ^= 1;               /* damages storage 0 */
    salvage_without_memory(&f, 960); /* truncates storage 1 */
    load(&f, "torch-legacy/python2.pt");
    salvage_without_memory(&f, 922); /* within its last storage */
    salvage_without_memory(&f, 800); /* within its object */
    f.bytes[0x371] ^= 1;             /* a wrong storage key */
    salvage_without_memory(&f, f.n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(torch_files_cut_everywhere),
        cmocka_unit_test(the_missing_bytes_are_counted),
        cmocka_unit_test(safetensors_cut_everywhere),
        cmocka_unit_test(legacy_streams_cut_everywhere),
        cmocka_unit_test(legacy_keys_and_counts_flipped),
        cmocka_unit_test(legacy_streams_padded_with_zeros),
        cmocka_unit_test(one_bit_flipped_everywhere),
        cmocka_unit_test(a_complete_file_loses_nothing),
        cmocka_unit_test(every_failing_allocation_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
