/* test_encode_resume.c: encoding that is killed before its N-th system call, or whose N-th call
 * fails, for every N: a resumed run writes the bytes of an undisturbed run. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/checksum.h"
#include "fault_os.h"
#include "io/journal.h"
#include "io/os.h"
#include "scratch.h"

#include <heft/tokens.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define MOST 4000
#define TEXT ((size_t)3 << 17) /* more than one job, so that a run can be resumed */

struct trial {
    struct heft_vocab *v;
    char *folder, *input, *output;
    const char *format, *jsonl_key, *lengths;
    uint64_t shard_tokens, combine;
    bool syncs; /* fsync takes most of the time */
    struct heft_encode_summary sum;
    uint64_t first; /* first progress reported */
};

static bool note_first(void *ctx, uint64_t done, uint64_t total)
{
    struct trial *t = ctx;

    assert_true(total == 0 || done <= total); /* 0: stat failed */
    if (t->first == UINT64_MAX)
        t->first = done;
    return true;
}

static bool encode_once(struct trial *t, bool resume, struct heft_error *err)
{
    const char *inputs[] = {t->input};
    const struct heft_encode_options how = {
        .size = sizeof how,
        .output = t->output,
        .format = t->format,
        .jsonl_key = t->jsonl_key,
        .combine = t->combine,
        .threads = 1,
        .shard_tokens = t->shard_tokens,
        .resume = resume,
        .checkpoint = 1,
        .eot = t->lengths ? HEFT_EOT_ID : HEFT_EOT_DEFAULT,
        .lengths = t->lengths,
        .no_sync = !t->syncs,
        .progress = note_first,
        .progress_ctx = t,
    };
    struct heft_encoding *e = heft_encode_plan(t->v, inputs, 1, &how, err);
    bool ok;

    t->first = UINT64_MAX; /* not called if no text is left to be read */
    ok = e && heft_encode_run(e, err);
    if (ok) {
        heft_encode_summarize(e, &t->sum);
        assert_true(t->first == UINT64_MAX || t->first == t->sum.resumed);
    }
    heft_encode_free(e);
    return ok;
}

/* ---- files of a directory -------------------------------------------------------------------- */

struct listing {
    const struct trial *t;
    uint64_t sum;    /* checksum of names and contents, independent of their order */
    unsigned hidden; /* number of names that begin with a dot */
    bool deletes;
};

static uint64_t hash_file(const char *path, const char *name)
{
    static uint8_t some[1 << 16];
    uint32_t crc = heft_crc32c(0, name, strlen(name));
    FILE *file = fopen(path, "rb");
    size_t n;

    assert_non_null(file);
    while ((n = fread(some, 1, sizeof some, file)) > 0)
        crc = heft_crc32c(crc, some, n);
    fclose(file);
    return crc;
}

static bool look_at(void *ctx, const char *name)
{
    struct listing *l = ctx;
    char *path;

    if (name[0] == 'i' || name[0] == 'v') /* inputs and vocabulary */
        return true;
    path = heft_scratch_path(l->t->folder, name);
    l->hidden += name[0] == '.';
    l->sum += hash_file(path, name);
    if (l->deletes)
        assert_int_equal(unlink(path), 0);
    free(path);
    return true;
}

static struct listing list(const struct trial *t, bool deletes)
{
    struct listing l = {.t = t, .deletes = deletes};

    assert_int_equal(heft_os->list_dir(t->folder, look_at, &l), 0);
    return l;
}

/* ---- trials --------------------------------------------------------------------------------- */

/* Runs encode_once in a child that is killed before its n-th call; returns true if it was killed.
 */
static bool run_killed(struct trial *t, uint64_t n)
{
    struct heft_error err = {0};
    const pid_t child = fork();
    int status;

    assert_true(child >= 0);
    if (child == 0) {
        heft_fault_os_install(n, HEFT_FAULT_KILL);
        _exit(!encode_once(t, true, &err));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return WIFSIGNALED(status);
}

static void go_on(struct trial *t, uint64_t expected, uint64_t n)
{
    struct heft_error err = {0};
    struct listing l = list(t, false);

    if (l.hidden == 0 && l.sum == expected) /* killed after the last step */
        return;
    if (!encode_once(t, true, &err))
        fail_msg("%s: call %d: %s %s", t->format, (int)n, err.file, err.text);
    l = list(t, false);
    if (l.hidden > 0 || l.sum != expected)
        fail_msg("%s: call %d: different bytes, or %d hidden files", t->format, (int)n,
                 (int)l.hidden);
}

static uint64_t try_kills(struct trial *t, uint64_t expected)
{
    uint64_t n, resumed = 0;

    for (n = 1; n < MOST && run_killed(t, n); n++) {
        t->sum.resumed = 0;
        go_on(t, expected, n);
        resumed += t->sum.resumed;
        (void)list(t, true);
    }
    assert_true(n > 20 && n < MOST);
    (void)list(t, true);
    return resumed;
}

/* A failure with `resume` can be resumed; a failure without it leaves no files. */
static void try_failures(struct trial *t, uint64_t expected, bool resume)
{
    struct heft_error err;
    bool hit = true, ok;
    uint64_t n;

    for (n = 1; n < MOST && hit; n++) {
        bool is_unlink;

        err = (struct heft_error){0};
        heft_fault_os_install(n, ENOSPC);
        ok = encode_once(t, resume, &err);
        hit = heft_fault_os_hit();
        is_unlink = strcmp(heft_fault_os_name(), "unlink") == 0;
        assert_int_equal(heft_fault_os_open(), 0);
        heft_fault_os_remove();
        if (!ok && resume)
            go_on(t, expected, n);
        if (!resume && !is_unlink && list(t, false).sum != (ok ? expected : 0))
            fail_msg("%s: call %d: files remain", t->format, (int)n);
        (void)list(t, true);
    }
    assert_true(n > 20 && n < MOST);
}

static void try_format(struct trial *t, const char *format, uint64_t shard_tokens)
{
    struct heft_error err = {0};
    uint64_t expected;

    t->format = format;
    t->shard_tokens = shard_tokens;
    assert_true(encode_once(t, false, &err));
    expected = list(t, true).sum;
    assert_true(try_kills(t, expected) > 0);
    t->syncs = strcmp(format, "npz") == 0;
    try_failures(t, expected, true);
    t->syncs = false;
    if (shard_tokens == 0)
        try_failures(t, expected, false);
}

static struct trial begin(void)
{
    static const char vocab[] = "#version: 0.2\nH e\nl l\n";
    struct trial t = {.folder = heft_scratch_new(), .combine = 50000};
    char *const merges = heft_scratch_path(t.folder, "vocab.bpe");
    char *const text = malloc(TEXT);
    struct heft_error err = {0};
    uint32_t seed = 1;

    assert_non_null(text);
    for (size_t i = 0; i < TEXT; i++) {
        seed = seed * 1664525u + 1013904223u;
        text[i] = "Hello, world\r\n 17"[i % 7 ? i % 17 : seed >> 24 & 15];
    }
    heft_scratch_write(t.folder, "vocab.bpe", vocab, sizeof vocab - 1);
    heft_scratch_write(t.folder, "in", text, TEXT);
    t.v = heft_vocab_open(merges, &err);
    assert_non_null(t.v);
    t.input = heft_scratch_path(t.folder, "in");
    t.output = heft_scratch_path(t.folder, "out.x");
    free(text);
    free(merges);
    return t;
}

static void end(struct trial *t)
{
    heft_vocab_close(t->v);
    free(t->input);
    free(t->output);
    heft_scratch_free(t->folder);
}

static void test_npz(void **state)
{
    struct trial t = begin();

    (void)state;
    try_format(&t, "npz", 0);
    end(&t);
}

static void test_bin(void **state)
{
    struct trial t = begin();

    (void)state;
    try_format(&t, "bin", 400000);
    end(&t);
}

static void test_megatron(void **state)
{
    struct trial t = begin();

    (void)state;
    try_format(&t, "megatron", 0);
    end(&t);
}

/* A line longer than a job, of characters of two and three bytes: a job may end inside the line,
 * but not inside a character. */
static void test_lines(void **state)
{
    struct trial t = begin();
    struct heft_error err = {0};
    char *const text = malloc(TEXT + 16);
    size_t n = 7;

    (void)state;
    assert_non_null(text);
    memcpy(text, "{\"t\":\"x", 7);
    while (n < TEXT) {
        memcpy(text + n, "\xC3\xA9 \xE4\xB8\xAD\xC3\xA9", 8);
        n += 8;
    }
    memcpy(text + n, "\"}\n", 3);
    heft_scratch_write(t.folder, "in", text, n + 3);
    free(text);
    t.jsonl_key = "t";
    t.format = "bin";
    assert_true(encode_once(&t, false, &err));
    assert_true(try_kills(&t, list(&t, true).sum) > 0);
    end(&t);
}

/* Writes lines of `width` bytes, each with a text of one token, up to `size` bytes. */
static void write_lines(const struct trial *t, size_t width, size_t size)
{
    char *const text = malloc(size);

    assert_non_null(text);
    memset(text, ' ', size);
    for (size_t at = 0; at + width <= size; at += width) {
        memcpy(text + at, "{\"t\":\"x\"}", 9);
        text[at + width - 1] = '\n';
    }
    heft_scratch_write(t->folder, "in", text, size);
    free(text);
}

/* More arrays, and more sequences, than fit into the page of memory for their directory. */
static void test_many(void **state)
{
    struct trial t = begin();
    struct heft_error err = {0};

    (void)state;
    t.jsonl_key = "t";
    t.combine = 1;
    write_lines(&t, 100, TEXT);
    t.format = "npz";
    assert_true(encode_once(&t, false, &err));
    assert_true(try_kills(&t, list(&t, true).sum) > 0);
    write_lines(&t, 10, TEXT);
    t.format = "megatron";
    assert_true(encode_once(&t, false, &err));
    assert_true(try_kills(&t, list(&t, true).sum) > 0);
    end(&t);
}

/* Shards so short that each of three journal records has another open file than the one before. */
static void test_short_files(void **state)
{
    struct trial t = begin();
    struct heft_error err = {0};

    (void)state;
    t.jsonl_key = "t";
    t.combine = 1;
    t.shard_tokens = 200;
    t.format = "npz";
    write_lines(&t, 1000, (size_t)1 << 20);
    assert_true(encode_once(&t, false, &err));
    assert_true(try_kills(&t, list(&t, true).sum) > 0);
    end(&t);
}

/* Ends of documents: more than fit into their buffer, and documents that continue in the next
 * shard. */
static void test_lengths(void **state)
{
    struct trial t = begin();
    struct heft_error err = {0};
    char *const lengths = heft_scratch_path(t.folder, "out.x.index");

    (void)state;
    t.lengths = lengths;
    t.jsonl_key = "t";
    t.format = "bin";
    write_lines(&t, 10, TEXT);
    assert_true(encode_once(&t, false, &err));
    assert_true(try_kills(&t, list(&t, true).sum) > 0);
    t.format = "llmc";
    t.shard_tokens = 29999; /* documents have two tokens */
    assert_true(encode_once(&t, false, &err));
    assert_true(try_kills(&t, list(&t, true).sum) > 0);
    free(lengths);
    end(&t);
}

/* ---- a journal ------------------------------------------------------------------------------ */

static bool count_record(void *ctx, bool goes_on, struct heft_cur *piece, struct heft_error *err)
{
    uint64_t *sum = ctx;

    *sum = *sum * 10 + heft_cur_u64(piece) + (goes_on ? 5 : 0);
    return heft_journal_ends(piece, err);
}

/* Appends a record in `pieces` pieces. */
static void append(struct heft_journal *j, uint64_t v, unsigned pieces)
{
    struct heft_error err = {0};
    struct heft_buf record = {0};

    heft_journal_u64(&record, v);
    while (--pieces > 0)
        assert_true(heft_journal_begin(j, &record, &err));
    assert_true(heft_journal_append(j, &record, &err));
    heft_buf_release(&record);
}

/* A journal truncated at every length: complete records are read, and new ones are appended after
 * them. */
static void test_journal(void **state)
{
    char *const folder = heft_scratch_new(), *const path = heft_scratch_path(folder, "journal");
    struct heft_error err = {0};
    struct heft_journal *j, *again;
    uint64_t size = 16 + 5 * 16;

    (void)state;
    for (uint64_t n = size; n-- > 0;) {
        uint64_t sum = 0;

        assert_true(heft_journal_open(path, true, true, &j, &err));
        for (unsigned v = 1; v <= 3; v++)
            append(j, v, v == 2 ? 3 : 1);
        assert_false(heft_journal_open(path, false, true, &again, &err));
        assert_int_equal(err.code, HEFT_USAGE);
        heft_journal_close(j, false);
        assert_int_equal(truncate(path, (off_t)n), 0);
        assert_true(heft_journal_open(path, false, true, &j, &err) && j);
        assert_true(heft_journal_read(j, count_record, &sum, &err));
        assert_int_equal(sum, n >= 80 ? 1772 : n >= 32 ? 1 : 0);
        if (n >= 16)
            append(j, 4, 2);
        heft_journal_close(j, false);
        assert_true(heft_journal_open(path, false, true, &j, &err) && j);
        sum = 0;
        assert_true(heft_journal_read(j, count_record, &sum, &err));
        assert_int_equal(sum, n >= 80 ? 177294 : n >= 32 ? 194 : n >= 16 ? 94 : 0);
        heft_journal_close(j, true);
    }
    assert_true(heft_journal_open(path, false, true, &j, &err) && !j);
    free(path);
    heft_scratch_free(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_journal),     cmocka_unit_test(test_npz),
        cmocka_unit_test(test_bin),         cmocka_unit_test(test_megatron),
        cmocka_unit_test(test_lines),       cmocka_unit_test(test_many),
        cmocka_unit_test(test_short_files), cmocka_unit_test(test_lengths),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
