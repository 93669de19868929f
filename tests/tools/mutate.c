/* mutate.c: opens a file with each of many small damages.
 *
 * At each position the file is truncated, and its byte changed: all bits flipped, the lowest, or
 * the highest. Positions are every byte of a file up to 8 KiB; of a larger one the first and last 4
 * KiB, which contain headers, directories and pickles, and 256 positions between them.
 *
 * Heft must succeed or return an error, within a limit of time and memory. A crash ends the program
 * and leaves the damaged file. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "judge.h"

#define EDGE   4096
#define MIDDLE 256

static const unsigned char flips[] = {0xFF, 0x01, 0x80};

/* Far below the defaults: a small file needs no more. */
static const struct heft_limits small_limits = {
    .header = 1 << 20,
    .pickle = 1 << 20,
    .opcodes = 1 << 20,
    .nodes = 1 << 18,
    .entries = 1 << 16,
    .expansion = 1 << 16,
    .view = 16 << 20,
};

struct mutation {
    const struct mutate_options *options;
    unsigned char *bytes;
    size_t size;
    int fd;
    unsigned long counts[HEFT_USAGE + 1];
    unsigned long total;
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

    if (heft_scan(m->options->at, &small_limits, take_item, m, &complete, err) && complete)
        *err = (struct heft_error){0};
}

static void judge(struct mutation *m, const char *what, size_t place)
{
    struct judgement judgement = {.stage = "scan"};
    const double start = now();
    double seconds;

    if (m->options->scan)
        scan_file(m, &judgement.err);
    else
        judge_file(m->options->open ? m->options->open : m->options->at, &small_limits, NULL, NULL,
                   &judgement);
    seconds = now() - start;
    if (seconds > m->slowest)
        m->slowest = seconds;
    m->total++;
    m->counts[judgement.err.code]++;
    if (seconds > m->options->seconds) {
        printf("%s at 0x%zx: took %.2f s\n", what, place, seconds);
        m->failed = true;
    }
    if (judgement.err.code == HEFT_NOMEM) {
        printf("%s at 0x%zx: ran out of memory\n", what, place);
        m->failed = true;
    }
}

/* The i-th position in ascending order; SIZE_MAX after the last. */
static size_t place_at(const struct mutation *m, size_t i)
{
    if (m->size <= 2 * EDGE)
        return i < m->size ? i : SIZE_MAX;
    if (i < EDGE)
        return i;
    if (i < EDGE + MIDDLE)
        return EDGE + (m->size - 2 * EDGE) / MIDDLE * (i - EDGE);
    return i < 2 * EDGE + MIDDLE ? m->size - (2 * EDGE + MIDDLE - i) : SIZE_MAX;
}

static bool put_byte(const struct mutation *m, size_t place, unsigned char byte)
{
    return pwrite(m->fd, &byte, 1, (off_t)place) == 1;
}

static bool flip_all(struct mutation *m)
{
    size_t place;

    for (size_t i = 0; (place = place_at(m, i)) != SIZE_MAX && !m->failed;
         i += m->options->stride) {
        for (size_t k = 0; k < sizeof flips && !m->failed; k++) {
            if (!put_byte(m, place, m->bytes[place] ^ flips[k]))
                return false;
            judge(m, "flip", place);
        }
        if (!m->failed && !put_byte(m, place, m->bytes[place]))
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
    printf("%lu damaged files:", m->total);
    for (size_t code = 0; code <= HEFT_USAGE; code++) {
        if (m->counts[code])
            printf(" %lu %s,", m->counts[code], judge_code_name((enum heft_code)code));
    }
    printf(" slowest %.3f s\n", m->slowest);
}

bool mutate_file(const struct mutate_options *options)
{
    struct mutation m = {.options = options, .fd = -1};
    const bool worked = load(&m) && write_copy(&m) && flip_all(&m) && cut_all(&m);

    if (!worked)
        perror(options->source);
    if (m.fd >= 0)
        close(m.fd);
    if (worked && !m.failed)
        unlink(options->at);
    print_counts(&m);
    free(m.bytes);
    return worked && !m.failed;
}
