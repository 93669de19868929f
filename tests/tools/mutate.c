/* mutate.c: opens a file with each of many small damages.
 *
 * At each length the file is truncated, and at each position its byte is changed. Normally these are
 * every byte of a file up to 8 KiB, and of a larger one the first and last 4 KiB, which contain
 * headers, directories and pickles, and 256 positions between them; a byte is changed in three ways:
 * all bits flipped, the lowest, or the highest. The complete run has every length, every byte that is
 * not the data of a tensor (of which it has one in 64), and flips each bit and all bits.
 *
 * Heft must succeed or return an error, within a limit of time and memory. A crash ends the program
 * and leaves the damaged file. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "exercise.h"
#include "judge.h"

#define EDGE      4096
#define MIDDLE    256
#define DATA_STEP 64 /* a complete run changes one byte of tensor data in so many */

/* The first FEW are those of a normal run. */
static const unsigned char flips[] = {0xFF, 0x01, 0x80, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40};
#define FEW 3

/* Far below the defaults: a small file needs no more. */
static const struct heft_limits small_limits = {
    .size = sizeof small_limits,
    .header = 1 << 20,
    .pickle = 1 << 20,
    .opcodes = 1 << 20,
    .nodes = 1 << 18,
    .entries = 1 << 16,
    .expansion = 1 << 16,
    .view = 16 << 20,
};
static const struct heft_open_options small_options = {.size = sizeof small_options,
                                                       .limits = &small_limits};

struct mutation {
    const struct mutate_options *options;
    unsigned char *bytes;
    size_t size;
    int fd;
    unsigned char *is_data;         /* for each byte, 1 if it is the data of a tensor */
    struct heft_checkpoint *intact; /* the undamaged file; NULL if it is no checkpoint */
    unsigned long counts[HEFT_CANCELLED + 1];
    unsigned long flipped, cut, exercised;
    size_t data; /* bytes of is_data */
    double slowest;
    bool failed;
};

static double seconds_of(const struct timeval *t)
{
    return (double)t->tv_sec + (double)t->tv_usec * 1e-6;
}

/* Processor time, including that of child processes that have ended: independent of the machine's
 * load. The caller's timeout ends processes that wait forever. */
static double now(void)
{
    struct rusage ended;
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    getrusage(RUSAGE_CHILDREN, &ended);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9 + seconds_of(&ended.ru_utime) +
           seconds_of(&ended.ru_stime);
}

/* Each item of scan must be complete. */
static void take_item(void *ctx, const struct heft_scan_item *item)
{
    struct mutation *m = ctx;

    if (item->what && *item->what && item->name && *item->name && item->file && item->record)
        return;
    printf("a finding without a name\n");
    m->failed = true;
}

static void scan_file(struct mutation *m, struct heft_error *err)
{
    bool complete;

    if (heft_scan(m->options->at, &small_options, take_item, m, &complete, err) && complete)
        *err = (struct heft_error){0};
}

static const char *opened_path(const struct mutation *m)
{
    return m->options->open ? m->options->open : m->options->at;
}

/* Runs the functions of all verbs. */
static bool exercise(struct mutation *m, size_t turn)
{
    struct exercise e = {.path = opened_path(m),
                         .limits = &small_limits,
                         .other = m->intact,
                         .folder = m->options->folder,
                         .turn = turn};

    if (m->options->kind == MUTATE_VOCAB)
        exercise_vocab(&e);
    else if (m->options->kind == MUTATE_IDS)
        exercise_ids(&e);
    else
        exercise_file(&e);
    m->exercised++;
    if (e.broken[0] || e.no_memory) {
        printf("%s\n", e.broken[0] ? e.broken : "ran out of memory");
        m->failed = true;
    }
    return e.opens;
}

static bool is_checkpoint(const struct mutation *m)
{
    return m->options->kind == MUTATE_CHECKPOINT;
}

static void judge_once(struct mutation *m, struct judgement *out)
{
    const unsigned long total = m->flipped + m->cut;

    if (m->options->kind == MUTATE_SCAN)
        scan_file(m, &out->err);
    else if (is_checkpoint(m))
        judge_file(opened_path(m), &small_limits, NULL, NULL, out);
    else
        out->err.code = exercise(m, total) ? HEFT_OK : HEFT_MALFORMED;
    if (m->options->verbs && total % m->options->verbs == 0 && m->options->folder)
        (void)exercise(m, total / m->options->verbs);
}

static void judge(struct mutation *m, const char *what, size_t place)
{
    struct judgement judgement = {.stage = "scan"};
    const double start = now();
    double seconds;

    judge_once(m, &judgement);
    seconds = now() - start;
    if (seconds > m->slowest)
        m->slowest = seconds;
    m->counts[judgement.err.code]++;
    if (seconds > m->options->seconds) {
        printf("took %.2f s\n", seconds);
        m->failed = true;
    }
    if (judgement.err.code == HEFT_NOMEM) {
        printf("ran out of memory\n");
        m->failed = true;
    }
    if (m->failed)
        printf("%s at 0x%zx\n", what, place);
}

/* ---- which bytes are data ---------------------------------------------------------------- */

static void mark_data(struct mutation *m, uint64_t offset, uint64_t n)
{
    if (offset > m->size || n > m->size - offset)
        return;
    memset(m->is_data + offset, 1, (size_t)n);
}

/* Index of the damaged file in the checkpoint; SIZE_MAX if it is not one of its files. */
static size_t find_damaged(const struct mutation *m, struct heft_checkpoint *c)
{
    struct stat damaged, other;
    struct heft_file file = HEFT_INIT(struct heft_file);

    if (fstat(m->fd, &damaged) != 0)
        return SIZE_MAX;
    for (size_t i = 0; heft_file_at(c, i, &file); i++)
        if (stat(file.path, &other) == 0 && other.st_ino == damaged.st_ino &&
            other.st_dev == damaged.st_dev)
            return i;
    return SIZE_MAX;
}

/* Only data that is stored as such: deflated or encoded data has a structure that is parsed, and so
 * have strings. */
static bool is_plain(enum heft_dtype dtype, enum heft_stored stored, const uint64_t *strides)
{
    return stored == HEFT_STORED_PLAIN && !strides && dtype != HEFT_STRING && dtype != HEFT_VARIANT;
}

/* `c` is the copy that will be damaged. */
static void find_data(struct mutation *m, struct heft_checkpoint *c)
{
    const size_t damaged = find_damaged(m, c);
    struct heft_tensor_part part = HEFT_INIT(struct heft_tensor_part);
    struct heft_tensor t = HEFT_INIT(struct heft_tensor);

    for (size_t i = 0; heft_tensor_at(c, i, &t); i++) {
        const size_t parts = heft_tensor_part_count(c, i);

        if (!parts && t.file == damaged && is_plain(t.dtype, t.stored, t.strides))
            mark_data(m, t.offset, t.bytes);
        for (size_t k = 0; k < parts && heft_tensor_part_at(c, i, k, &part); k++)
            if (part.file == damaged && is_plain(t.dtype, part.stored, part.strides))
                mark_data(m, part.offset, part.bytes);
    }
    for (size_t i = 0; i < m->size; i++)
        m->data += m->is_data[i];
}

static struct heft_checkpoint *open_checkpoint(const char *path)
{
    const struct heft_open_options options = {.size = sizeof options, .limits = &small_limits};
    struct heft_error err = {0};
    struct heft_checkpoint *c = heft_open(path, &options, &err);
    char line[1024];

    if (!c)
        fprintf(stderr, "the undamaged file: %s\n", heft_error_format(&err, line, sizeof line));
    return c;
}

/* Opens the undamaged file, and its copy before it is damaged. One that heft cannot open would prove
 * nothing. */
static bool open_intact(struct mutation *m)
{
    struct heft_checkpoint *copy;

    m->is_data = calloc(m->size, 1);
    if (!m->is_data)
        return false;
    if (m->options->kind == MUTATE_SCAN)
        return true;
    if (!is_checkpoint(m))
        return exercise(m, 0);
    copy = open_checkpoint(opened_path(m));
    m->intact = open_checkpoint(m->options->intact ? m->options->intact : m->options->source);
    if (copy)
        find_data(m, copy);
    heft_close(copy);
    return copy && m->intact;
}

/* ---- damages ----------------------------------------------------------------------------- */

/* The i-th position in ascending order; SIZE_MAX after the last. */
static size_t place_at(const struct mutation *m, size_t i)
{
    if (m->options->every || m->size <= 2 * EDGE)
        return i < m->size ? i : SIZE_MAX;
    if (i < EDGE)
        return i;
    if (i < EDGE + MIDDLE)
        return EDGE + (m->size - 2 * EDGE) / MIDDLE * (i - EDGE);
    return i < 2 * EDGE + MIDDLE ? m->size - (2 * EDGE + MIDDLE - i) : SIZE_MAX;
}

/* A normal run also changes data, a complete one a sample of it. */
static bool is_changed(const struct mutation *m, size_t place)
{
    return !m->options->every || !m->is_data[place] || place % DATA_STEP == 0;
}

static bool put_byte(const struct mutation *m, size_t place, unsigned char byte)
{
    return pwrite(m->fd, &byte, 1, (off_t)place) == 1;
}

static bool flip_byte(struct mutation *m, size_t place)
{
    const size_t n = m->options->every ? sizeof flips : FEW;

    for (size_t k = 0; k < n && !m->failed; k++) {
        if (!put_byte(m, place, m->bytes[place] ^ flips[k]))
            return false;
        judge(m, "flip", place);
        m->flipped++;
    }
    return m->failed || put_byte(m, place, m->bytes[place]);
}

static bool flip_all(struct mutation *m)
{
    size_t place;

    for (size_t i = 0; (place = place_at(m, i)) != SIZE_MAX && !m->failed;
         i += m->options->stride) {
        if (is_changed(m, place) && !flip_byte(m, place))
            return false;
    }
    return true;
}

/* Truncates from the longest to the shortest length, so that each step only shortens the file. */
static bool cut_all(struct mutation *m)
{
    size_t count = 0;

    while (place_at(m, count) != SIZE_MAX)
        count += m->options->stride;
    while (count > 0 && !m->failed) {
        count -= m->options->stride;
        if (ftruncate(m->fd, (off_t)place_at(m, count)) != 0)
            return false;
        judge(m, "cut", place_at(m, count));
        m->cut++;
    }
    return true;
}

static bool load(struct mutation *m)
{
    FILE *file = fopen(m->options->source, "rb");
    long size = -1;
    bool ok = false;

    if (file && fseek(file, 0, SEEK_END) == 0)
        size = ftell(file);
    if (size > 0) {
        rewind(file);
        m->size = (size_t)size;
        m->bytes = malloc(m->size);
        ok = m->bytes && fread(m->bytes, 1, m->size, file) == m->size;
    }
    if (file)
        fclose(file);
    return ok;
}

static bool write_copy(struct mutation *m)
{
    size_t done = 0;

    m->fd = open(m->options->at, O_RDWR | O_CREAT | O_TRUNC, 0600);
    while (m->fd >= 0 && done < m->size) {
        const ssize_t n = pwrite(m->fd, m->bytes + done, m->size - done, (off_t)done);
        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return m->fd >= 0;
}

static void print_counts(const struct mutation *m)
{
    printf("%lu damaged files of %zu bytes, %zu of them data: %lu changes, %lu truncations, %lu "
           "with all "
           "verbs:",
           m->flipped + m->cut, m->size, m->data, m->flipped, m->cut, m->exercised);
    for (size_t code = 0; code <= HEFT_USAGE; code++) {
        if (m->counts[code])
            printf(" %lu %s,", m->counts[code], judge_code_name((enum heft_code)code));
    }
    printf(" slowest %.3f s\n", m->slowest);
}

bool mutate_file(const struct mutate_options *options)
{
    struct mutation m = {.options = options, .fd = -1};
    const bool worked =
        load(&m) && write_copy(&m) && open_intact(&m) && flip_all(&m) && cut_all(&m);

    if (!worked)
        perror(options->source);
    if (m.fd >= 0)
        close(m.fd);
    if (worked && !m.failed)
        unlink(options->at);
    print_counts(&m);
    heft_close(m.intact);
    free(m.is_data);
    free(m.bytes);
    return worked && !m.failed;
}
