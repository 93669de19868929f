/* fuzz_resume.c: damaged state of an interrupted `encode --resume`: its journal and its unfinished
 * output. Each kind of output is encoded once to the end and once by a process that is killed within
 * the text; an input damages what that process left, and the run is resumed.
 *
 *     byte 0    kind of output, modulo their number; its top bit: checksums of the journal are
 *               computed again after the damage
 *     5 bytes   for each damage: file (even: the journal), u16 position, how, value
 *
 * Invariants: a run that resumes from a damaged journal fails with an error or gives the output of
 * an uninterrupted run, unless the checksums were computed again; after a failure a new run gives
 * this output; other files in the directory stay as they are. */
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/checksum.h"
#include "base/endian.h"
#include "base/mem.h"
#include "expect.h"
#include "fault_os.h"
#include "heft/tokens.h"
#include "io/os.h"
#include "scratch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TEXT  ((size_t)3 << 17) /* more than one job, so that a run can be resumed */
#define MOST  16                /* files of a run */
#define MAGIC 16                /* bytes before the pieces of a journal */
#define PIECE 8                 /* bytes before the contents of a piece */

struct saved {
    char name[64];
    char *bytes;
    size_t n;
};

struct saved_set {
    struct saved list[MOST];
    size_t n;
};

struct kind {
    const char *format;
    uint64_t shard_tokens;
    double val_fraction;
    bool has_lengths;
    struct saved_set left, done; /* what an interrupted and an uninterrupted run leave */
};

static struct kind kinds[] = {
    {.format = "bin"},
    {.format = "bin", .shard_tokens = 90000, .val_fraction = 0.2, .has_lengths = true},
    {.format = "npz"},
    {.format = "npy", .has_lengths = true},
    {.format = "megatron"},
    {.format = "llmc", .shard_tokens = 100000},
    {.format = "ids"},
};

static struct {
    struct heft_vocab *v;
    char *folder, *input, *output, *lengths;
    uint64_t resumed; /* bytes of the input that the last run did not read again */
} set;

/* ---- files of the directory ---------------------------------------------------------------- */

static bool is_output(const char *name)
{
    return strncmp(name, "out", 3) == 0 || strncmp(name, ".out", 4) == 0;
}

static bool save_file(void *ctx, const char *name)
{
    struct saved_set *const set_of = ctx;
    struct saved *const s = &set_of->list[set_of->n];

    if (!is_output(name))
        return true;
    expect(set_of->n < MOST && strlen(name) < sizeof s->name);
    memcpy(s->name, name, strlen(name) + 1);
    s->bytes = heft_scratch_read(set.folder, name, &s->n);
    expect(s->bytes != NULL);
    set_of->n++;
    return true;
}

static bool delete_file(void *ctx, const char *name)
{
    char *const path = heft_scratch_path(set.folder, name);

    (void)ctx;
    expect(!is_output(name) || unlink(path) == 0);
    free(path);
    return true;
}

static void save_files(struct saved_set *s)
{
    s->n = 0;
    expect(heft_os->list_dir(set.folder, save_file, s) == 0);
}

static void delete_files(void)
{
    expect(heft_os->list_dir(set.folder, delete_file, NULL) == 0);
}

static void release_files(struct saved_set *s)
{
    for (size_t i = 0; i < s->n; i++)
        free(s->list[i].bytes);
    s->n = 0;
}

static void expect_bytes(const char *name, const char *bytes, size_t n)
{
    size_t found_n = 0;
    char *const found = heft_scratch_read(set.folder, name, &found_n);

    expect(found && found_n == n && memcmp(found, bytes, n) == 0);
    free(found);
}

static void expect_done(const struct kind *kind)
{
    struct saved_set now;

    save_files(&now);
    expect(now.n == kind->done.n);
    release_files(&now);
    for (size_t i = 0; i < kind->done.n; i++)
        expect_bytes(kind->done.list[i].name, kind->done.list[i].bytes, kind->done.list[i].n);
}

/* ---- encoding -------------------------------------------------------------------------------- */

static bool encode(const struct kind *kind, bool resume, struct heft_error *err)
{
    const char *const inputs[] = {set.input};
    const struct heft_encode_options how = {
        .size = sizeof how,
        .output = set.output,
        .format = kind->format,
        .combine = 50000,
        .threads = 1,
        .shard_tokens = kind->shard_tokens,
        .val_fraction = kind->val_fraction,
        .resume = resume,
        .overwrite = true,
        .checkpoint = 1,
        .no_sync = true,
        .eot = kind->has_lengths ? HEFT_EOT_ID : HEFT_EOT_DEFAULT,
        .lengths = kind->has_lengths ? set.lengths : NULL,
    };
    struct heft_encoding *const e = heft_encode_plan(set.v, inputs, 1, &how, err);
    const bool ok = e && heft_encode_run(e, err);
    struct heft_encode_summary sum = HEFT_INIT(struct heft_encode_summary);

    if (ok)
        heft_encode_summarize(e, &sum);
    set.resumed = sum.resumed;
    heft_encode_free(e);
    expect_outcome(ok, err);
    return ok;
}

/* Number of system calls of a whole run, which is saved. */
static uint64_t complete_run(struct kind *kind)
{
    struct heft_error err = {0};
    uint64_t calls;

    heft_fault_os_install(0, 0);
    expect_success(encode(kind, true, &err), &err);
    calls = heft_fault_os_count();
    heft_fault_os_remove();
    save_files(&kind->done);
    delete_files();
    return calls;
}

/* Saves what a process leaves that is killed before its n-th system call. */
static void kill_run(struct kind *kind, uint64_t n)
{
    struct heft_error err = {0};
    const pid_t child = fork();
    int status;

    if (child == 0) {
        heft_fault_os_install(n, HEFT_FAULT_KILL);
        (void)encode(kind, true, &err);
        _exit(0);
    }
    expect(child > 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status));
    release_files(&kind->left);
    save_files(&kind->left);
}

/* Kills runs earlier and earlier until one is found that is resumed within its input. */
static void interrupt_run(struct kind *kind)
{
    struct heft_error err = {0};

    set.resumed = 0;
    for (uint64_t n = complete_run(kind); set.resumed == 0 || set.resumed == TEXT; n -= 3) {
        expect(n > 3);
        kill_run(kind, n);
        expect_success(encode(kind, true, &err), &err);
        delete_files();
    }
}

static void write_inputs(void)
{
    static const char vocab[] = "#version: 0.2\nH e\nl l\n";
    static char text[TEXT];
    uint32_t seed = 1;

    for (size_t i = 0; i < TEXT; i++) {
        seed = seed * 1664525u + 1013904223u;
        text[i] = "Hello, world\r\n 17"[i % 7 ? i % 17 : seed >> 24 & 15];
    }
    heft_scratch_write(set.folder, "vocab.bpe", vocab, sizeof vocab - 1);
    heft_scratch_write(set.folder, "in", text, TEXT);
    heft_scratch_write(set.folder, "victim", "victim", 6);
}

static void delete_folder(void)
{
    heft_vocab_close(set.v);
    free(set.input);
    free(set.output);
    free(set.lengths);
    heft_scratch_free(set.folder);
}

static void set_up(void)
{
    struct heft_error err = {0};
    char *merges;

    set.folder = heft_scratch_new();
    write_inputs();
    merges = heft_scratch_path(set.folder, "vocab.bpe");
    set.v = heft_vocab_open(merges, &err);
    free(merges);
    expect(set.v != NULL);
    set.input = heft_scratch_path(set.folder, "in");
    set.output = heft_scratch_path(set.folder, "out.x");
    set.lengths = heft_scratch_path(set.folder, "out.x.index");
    (void)atexit(delete_folder);
}

/* ---- damage ---------------------------------------------------------------------------------- */

static bool is_journal(const struct saved *s)
{
    return strstr(s->name, "-journal") != NULL;
}

static void put_number(struct saved *s, size_t at, uint8_t value)
{
    static const uint64_t numbers[] = {0,          1,         2,          255,
                                       256,        65535,     65536,      0x7FFFFFFF,
                                       0xFFFFFFFF, INT64_MAX, UINT64_MAX, UINT64_MAX - 7};

    if (s->n - at >= 8)
        heft_put_le64((uint8_t *)s->bytes + at,
                      value < 128 ? value : numbers[value % HEFT_COUNT(numbers)]);
}

/* A copy has room for 8 more bytes. */
static void damage_bytes(struct saved *s, size_t at, uint8_t how, uint8_t value)
{
    switch (how % 6) {
    case 0:
        s->bytes[at] = (char)(s->bytes[at] ^ (value | !value));
        break;
    case 1:
        put_number(s, at, value);
        break;
    case 2:
        s->n = at;
        break;
    case 3: /* removes bytes */
        s->n -= heft_min_size(s->n - at, value % 16);
        memmove(s->bytes + at, s->bytes + at + value % 16, s->n - at);
        break;
    case 4: /* repeats the end */
        memcpy(s->bytes + s->n, s->bytes + (s->n > 8 ? s->n - 8 : 0), heft_min_size(s->n, 8));
        s->n += heft_min_size(s->n, 8);
        break;
    default:
        s->bytes[at] = (char)value;
    }
}

static void sum_journal(struct saved *s)
{
    uint8_t *const p = (uint8_t *)s->bytes;

    for (size_t at = MAGIC; at <= s->n && s->n - at >= PIECE;) {
        const size_t n = heft_le32(p + at) & 0x7FFFFFFF;

        if (n > s->n - at - PIECE)
            return;
        heft_put_le32(p + at + 4, heft_crc32c(0, p + at + PIECE, n));
        at += PIECE + n;
    }
}

/* Damages one file, and writes it. Returns whether the file is the journal or was not damaged. */
static bool write_damaged(const struct saved *left, size_t number, const uint8_t *data, size_t size,
                          bool sums)
{
    struct saved s = *left;
    bool is_whole = true;

    s.bytes = malloc(left->n + size * 8 + 8);
    expect(s.bytes != NULL);
    memcpy(s.bytes, left->bytes, left->n);
    for (; size >= 5; data += 5, size -= 5) {
        const bool mine =
            is_journal(left) ? data[0] % 2 == 0 : data[0] % 2 && data[0] / 2 % 4 == number;

        if (!mine || s.n == 0)
            continue;
        damage_bytes(&s, heft_le16(data + 1) * (is_journal(left) ? 1U : 61U) % s.n, data[3],
                     data[4]);
        is_whole = is_journal(left);
    }
    if (sums && is_journal(left))
        sum_journal(&s);
    heft_scratch_write(set.folder, s.name, s.bytes, s.n);
    free(s.bytes);
    return is_whole;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct heft_error err = {0}, again = {0};
    struct kind *kind;
    bool is_sound;
    size_t number = 0;

    if (size < 1 || size > 256)
        return 0;
    if (!set.v)
        set_up();
    kind = &kinds[data[0] % 128 % HEFT_COUNT(kinds)];
    if (kind->done.n == 0)
        interrupt_run(kind);
    is_sound = !(data[0] & 0x80);
    for (size_t i = 0; i < kind->left.n; i++) {
        const struct saved *const left = &kind->left.list[i];

        if (!write_damaged(left, number, data + 1, size - 1, data[0] & 0x80))
            is_sound = false;
        number += !is_journal(left);
    }
    if (!encode(kind, true, &err))
        expect_success(encode(kind, false, &again), &again);
    expect(size > 1 || set.resumed > 0); /* without damage */
    if (is_sound || err.code != HEFT_OK)
        expect_done(kind);
    expect_bytes("victim", "victim", 6);
    delete_files();
    return 0;
}
