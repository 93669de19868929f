/* test_encode_front.c: input files that grow, shrink or are deleted while they are read. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fault_os.h"
#include "scratch.h"

#include <heft/tokens.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define TEXT ((size_t)3 << 20) /* read in three pieces */

struct change {
    char *path;
    enum { GROWS, SHRINKS, VANISHES } kind;
    bool done;
};

/* Changes the inputs after the first piece of the first file was read. */
static bool change_once(void *ctx, uint64_t done, uint64_t total)
{
    struct change *c = ctx;
    FILE *file;

    (void)total;
    if (c->done || done == 0)
        return true;
    c->done = true;
    if (c->kind == VANISHES)
        assert_int_equal(unlink(c->path), 0);
    if (c->kind == SHRINKS)
        assert_int_equal(truncate(c->path, 1 << 20), 0);
    if (c->kind != GROWS)
        return true;
    file = fopen(c->path, "ab");
    assert_non_null(file);
    assert_int_equal(fwrite("more", 1, 4, file), 4);
    assert_int_equal(fclose(file), 0);
    return true;
}

struct scene {
    char *folder, *a, *b, *output;
    struct heft_vocab *v;
};

static struct scene begin(void)
{
    static const char vocab[] = "#version: 0.2\nH e\nl l\n";
    struct scene s = {.folder = heft_scratch_new()};
    char *const merges = heft_scratch_path(s.folder, "vocab.bpe"), *const text = malloc(TEXT);
    struct heft_error err = {0};

    assert_non_null(text);
    for (size_t i = 0; i < TEXT; i++)
        text[i] = "Hello, world\n 17"[i % 16];
    heft_scratch_write(s.folder, "vocab.bpe", vocab, sizeof vocab - 1);
    heft_scratch_write(s.folder, "a", text, TEXT);
    heft_scratch_write(s.folder, "b", text, 100);
    s.v = heft_vocab_open(merges, &err);
    assert_non_null(s.v);
    s.a = heft_scratch_path(s.folder, "a");
    s.b = heft_scratch_path(s.folder, "b");
    s.output = heft_scratch_path(s.folder, "out.bin");
    free(text);
    free(merges);
    return s;
}

static void end(struct scene *s)
{
    heft_vocab_close(s->v);
    free(s->a);
    free(s->b);
    free(s->output);
    heft_scratch_free(s->folder);
}

static bool encode(const struct scene *s, struct change *change, struct heft_error *err)
{
    const char *inputs[] = {s->a, s->b};
    const struct heft_encode_options how = {.size = sizeof how,
                                            .output = s->output,
                                            .eot = HEFT_EOT_NONE,
                                            .threads = 1,
                                            .no_sync = true,
                                            .progress = change ? change_once : NULL,
                                            .progress_ctx = change};
    struct heft_encoding *e = heft_encode_plan(s->v, inputs, 2, &how, err);
    const bool ok = e && heft_encode_run(e, err);

    heft_encode_free(e);
    return ok;
}

/* Text appended to a file after it was opened is not encoded. */
static void test_growing(void **state)
{
    struct scene s = begin();
    struct change change = {s.a, GROWS, false};
    struct heft_error err = {0};
    size_t n, m;
    char *before, *after;

    (void)state;
    assert_true(encode(&s, NULL, &err));
    before = heft_scratch_read(s.folder, "out.bin", &n);
    assert_int_equal(unlink(s.output), 0);
    assert_true(encode(&s, &change, &err) && change.done);
    after = heft_scratch_read(s.folder, "out.bin", &m);
    assert_true(n == m && n > 0);
    assert_memory_equal(before, after, n);
    free(before);
    free(after);
    end(&s);
}

/* A file that shrinks is an error with its name and offset; no output is written. */
static void test_shrinking(void **state)
{
    struct scene s = begin();
    struct change change = {s.a, SHRINKS, false};
    struct heft_error err = {0};

    (void)state;
    assert_false(encode(&s, &change, &err));
    assert_int_equal(err.code, HEFT_IO);
    assert_non_null(strstr(err.text, "file ended at"));
    assert_string_equal(err.file, s.a);
    assert_int_equal(heft_scratch_count(s.folder), 3);
    end(&s);
}

static void test_vanishing(void **state)
{
    struct scene s = begin();
    struct change change = {s.b, VANISHES, false};
    struct heft_error err = {0};

    (void)state;
    assert_false(encode(&s, &change, &err));
    assert_int_equal(err.code, HEFT_IO);
    assert_string_equal(err.file, s.b);
    assert_int_equal(heft_scratch_count(s.folder), 2);
    end(&s);
}

/* A directory or file that cannot be read is an error, never skipped. */
static void test_closed_folder(void **state)
{
    struct scene s = begin();
    const struct heft_encode_options how = {
        .size = sizeof how, .output = s.output, .no_sync = true};
    const char *inputs[] = {s.folder};
    bool hit = false;

    (void)state;
    for (uint64_t i = 1; !hit; i++) {
        struct heft_error err = {0};

        heft_fault_os_install(i, EACCES);
        heft_encode_free(heft_encode_plan(s.v, inputs, 1, &how, &err));
        assert_true(heft_fault_os_hit());
        hit = strcmp(heft_fault_os_name(), "list_dir") == 0;
        heft_fault_os_remove();
        if (hit) {
            assert_int_equal(err.code, HEFT_IO);
            assert_non_null(strstr(err.text, "directory cannot be read"));
            assert_string_equal(err.file, s.folder);
        }
    }
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_growing),
        cmocka_unit_test(test_shrinking),
        cmocka_unit_test(test_vanishing),
        cmocka_unit_test(test_closed_folder),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
