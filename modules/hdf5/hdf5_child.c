/* hdf5_child.c: the process that runs libhdf5 on untrusted files. libhdf5 has crashed, looped and
 * run out of memory on files with a single wrong byte; here this only ends a process without access
 * to anything, and heft reports that the file is damaged.
 *
 *     heft ── fork ──► child   a copy of the memory, the open file, and no other descriptor of the
 *      │                │      program; a single thread; limits on memory and processor time;
 *      │                │      no output, no core dump; seccomp and Landlock: no files, no
 *      │                │      processes, no sockets, no signals to others
 *      └──── socket ────┘      WALK, READ ──►   ◄── DATASET …, VALUE …, NOTE …, DONE or FAILED */
#include "hdf5_parts.h"

#include <sys/resource.h>
#include <unistd.h>

#define METADATA_READS 64 /* multiple of a file's size that a walk may read */
#define METADATA_FREE  ((uint64_t)1 << 20)
/* Processor time: of a walk in total, and one second more for every 16 MiB of the file. */
#define WALK_SECONDS 8
#define WALK_SHARE   ((uint64_t)16 << 20)
#define MOST_SECONDS 1000000 /* largest limit that can be set */
#define STEPS                                                                                      \
    20 /* share of that time for one call of libhdf5, which follows some cycles for ever */
#define BYTE_NANOS 20 /* … and this much for each byte that it handles */
#define READ_PIECE ((size_t)1 << 20)
/* A fixed amount of work, and its time on a processor of normal speed. */
#define WORK       ((uint32_t)40000)
#define WORK_NANOS ((uint64_t)150000)
#define MOST_SLOW  200

/* ---- limits of time and memory ----------------------------------------------------------- */

static uint64_t walk_seconds; /* as set by the caller, for a processor of normal speed */
static uint64_t slow;         /* how many times slower this processor or emulator is; 0: unknown */

static uint64_t time_work(uint8_t *table)
{
    const uint64_t begin = hdf5_thread_nanos();
    uint32_t x = 1;

    for (uint32_t i = 0; i < WORK; i++) {
        x = (uint32_t)(x * UINT64_C(1664525) + 1013904223);
        table[x >> 20] = (uint8_t)(table[x >> 20] + x);
    }
    return hdf5_thread_nanos() - begin;
}

/* Time limits count work: valgrind takes thirty times as long for it, an emulator ten times. Measured
 * once, in half a millisecond: every child has a copy of the result. */
void hdf5_measure(void)
{
    static uint8_t table[4096];
    uint64_t least = UINT64_MAX;

    if (slow)
        return;
    for (int i = 0; i < 3; i++) {
        const uint64_t nanos = time_work(table);

        least = nanos < least ? nanos : least;
    }
    slow = least < WORK_NANOS ? 1 : least > MOST_SLOW * WORK_NANOS ? MOST_SLOW : least / WORK_NANOS;
}

static uint64_t clip_seconds(uint64_t asked)
{
    return asked == 0 ? WALK_SECONDS : asked < MOST_SECONDS ? asked : MOST_SECONDS;
}

/* Ends the process if one step takes longer. */
void hdf5_step(uint64_t bytes)
{
    const uint64_t micros = walk_seconds * (1000000 / STEPS) +
                            (bytes < HDF5_STEP_MOST ? bytes : HDF5_STEP_MOST) / 1000 * BYTE_NANOS;

    hdf5_process_timer(micros * slow);
}

/* ---- opening the file -------------------------------------------------------------------- */

static uint64_t read_budget(uint64_t size)
{
    return size < UINT64_MAX / (2 * METADATA_READS) ? size * METADATA_READS + METADATA_FREE
                                                    : UINT64_MAX / 2;
}

bool hdf5_open(struct hdf5_file *file, const struct heft_h5_input *input, struct heft_error *err)
{
    hid_t access;
    bool ok;

    file->input = *input;
    file->budget = read_budget(input->size);
    file->config = (struct hdf5_config){.input = &file->input,
                                        .failed = &file->failed,
                                        .budget = &file->budget,
                                        .is_open = &file->is_open};
    access = hdf5_access(&file->config);
    if (access < 0)
        return hdf5_blame(file, err, "a file driver cannot be made");
    file->id = H5Fopen("heft", H5F_ACC_RDONLY, access);
    ok = file->id >= 0 || hdf5_blame(file, err, "the file cannot be opened");
    (void)H5Pclose(access); /* which clears libhdf5's error stack */
    return ok;
}

/* ---- reporting to the parent ------------------------------------------------------------- */

static struct heft_h5_text text_of(const char *text)
{
    return (struct heft_h5_text){text ? text : "", text ? strlen(text) : 0};
}

static bool check_sent(const struct hdf5_pipe *pipe, struct heft_error *err)
{
    return !pipe->failed || hdf5_fail(err, HEFT_IO, "nobody listens");
}

static bool on_dataset(void *ctx, const struct heft_h5_dataset *d, struct heft_error *err)
{
    struct hdf5_pipe *pipe = ctx;

    hdf5_put_u64(pipe, HDF5_DATASET);
    hdf5_put_text(pipe, d->path);
    hdf5_put_text(pipe, text_of(d->why));
    hdf5_put_u64(pipe, d->is_elsewhere);
    hdf5_put_u64(pipe, d->address);
    hdf5_put_u64(pipe, (uint64_t)d->dtype);
    hdf5_put_u64(pipe, d->is_big);
    hdf5_put_u64(pipe, d->rank);
    hdf5_put(pipe, d->shape, d->rank * sizeof *d->shape);
    hdf5_put_u64(pipe, d->bytes);
    hdf5_put_u64(pipe, d->offset);
    hdf5_put_u64(pipe, d->work);
    return check_sent(pipe, err);
}

static bool on_value(void *ctx, struct heft_h5_text path, struct heft_h5_text name,
                     const struct heft_h5_value *value, struct heft_error *err)
{
    struct hdf5_pipe *pipe = ctx;

    hdf5_put_u64(pipe, HDF5_VALUE);
    hdf5_put_text(pipe, path);
    hdf5_put_text(pipe, name);
    hdf5_put_u64(pipe, (uint64_t)value->kind);
    hdf5_put_u64(pipe, value->is_list);
    hdf5_put_u64(pipe, value->kind == HEFT_H5_NOTHING ? 0 : value->n);
    if (value->kind == HEFT_H5_INTS || value->kind == HEFT_H5_BOOLS)
        hdf5_put(pipe, value->as.ints, value->n * sizeof *value->as.ints);
    if (value->kind == HEFT_H5_FLOATS)
        hdf5_put(pipe, value->as.floats, value->n * sizeof *value->as.floats);
    for (size_t i = 0; value->kind == HEFT_H5_TEXTS && i < value->n; i++)
        hdf5_put_text(pipe, value->as.texts[i]);
    return check_sent(pipe, err);
}

static bool on_note(void *ctx, struct heft_h5_text path, const char *text, struct heft_error *err)
{
    struct hdf5_pipe *pipe = ctx;

    hdf5_put_u64(pipe, HDF5_NOTE);
    hdf5_put_text(pipe, path);
    hdf5_put_text(pipe, text_of(text));
    return check_sent(pipe, err);
}

/* ---- answering requests ------------------------------------------------------------------ */

static void send_result(struct hdf5_pipe *pipe, bool ok, const struct heft_error *err)
{
    if (ok)
        hdf5_put_u64(pipe, HDF5_DONE);
    else
        hdf5_put_error(pipe, err);
}

static void serve_walk(struct hdf5_file *file, struct hdf5_pipe *in, struct hdf5_pipe *out)
{
    struct heft_h5_visitor visitor = {
        .ctx = out, .dataset = on_dataset, .value = on_value, .note = on_note};
    struct heft_error err = {0};
    bool ok;

    hdf5_limit(RLIMIT_CPU, (walk_seconds + file->input.size / WALK_SHARE) * slow);
    hdf5_step(0);
    ok = hdf5_take_u64(in, UINT64_MAX, &visitor.links) &&
         hdf5_take_u64(in, UINT64_MAX, &visitor.path) &&
         hdf5_take_u64(in, UINT64_MAX, &visitor.text_bytes) && hdf5_walk(file, &visitor, &err);
    send_result(out, ok, &err);
}

/* Sends piece by piece: an error may follow some of them. */
static void serve_read(struct hdf5_file *file, struct hdf5_pipe *in, struct hdf5_pipe *out)
{
    uint64_t address = 0, off = 0, n = 0;
    struct heft_error err = {0};
    bool ok = hdf5_take_u64(in, UINT64_MAX, &address) && hdf5_take_u64(in, UINT64_MAX, &off) &&
              hdf5_take_u64(in, UINT64_MAX, &n);
    uint8_t *piece = ok ? hdf5_alloc(1, READ_PIECE, &err) : NULL;

    hdf5_limit(RLIMIT_CPU, RLIM_INFINITY);
    file->budget = UINT64_MAX; /* the budget is for walking only: data is limited by the request */
    ok = piece != NULL;
    while (ok && n > 0) {
        const size_t now = n < READ_PIECE ? (size_t)n : READ_PIECE;

        ok = hdf5_read(file, address, off, piece, now, &err);
        send_result(out, ok, &err);
        if (ok)
            hdf5_put(out, piece, now);
        off += now;
        n -= now;
    }
    if (!piece)
        send_result(out, false, &err);
    free(piece);
}

static void serve_requests(struct hdf5_file *file, struct hdf5_pipe *in, struct hdf5_pipe *out)
{
    uint64_t word;

    while (hdf5_flush(out) && hdf5_take_u64(in, HDF5_READ, &word)) {
        if (word == HDF5_WALK)
            serve_walk(file, in, out);
        else
            serve_read(file, in, out);
    }
}

void hdf5_serve(const struct hdf5_process *process, int socket, const struct heft_h5_input *input,
                uint64_t space)
{
    static struct hdf5_pipe in, out;
    struct hdf5_file file = {.id = -1};
    struct heft_error err = {0};
    struct hdf5_entry entry;
    bool ok;

    in = (struct hdf5_pipe){.socket = socket};
    out = (struct hdf5_pipe){.socket = socket};
    hdf5_process_enter(process, socket, input->fd);
    walk_seconds = clip_seconds(input->seconds);
    if (space == 0)
        space = hdf5_process_space();
    hdf5_process_confine(space ? space + HDF5_MEMORY : 0);
    ok = hdf5_enter(&entry, &err);
    hdf5_step(0); /* from here on the file is parsed */
    ok = ok && hdf5_open(&file, input, &err);
    send_result(&out, ok, &err);
    if (ok)
        serve_requests(&file, &in, &out);
    (void)hdf5_flush(&out);
    _exit(0); /* libhdf5's state ends with the process: closing it might never return */
}
