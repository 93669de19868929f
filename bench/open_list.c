/* open_list: measures the time libheft takes to open a checkpoint and walk its tensors, in a
 * running process.
 *
 *     open_list FILE < lines
 *
 * For each line on stdin it opens FILE, reads every tensor's name, dtype and shape, closes it, and
 * prints "NANOSECONDS TENSORS BYTES", where BYTES is the peak of memory beyond that before the first
 * round. So its rounds can alternate with those of another program. */
#include <heft/heft.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Peak of resident memory in bytes; 0 if the kernel does not report it. Not ru_maxrss, which includes
 * the memory of the parent process. */
static int64_t peak(void)
{
    FILE *status = fopen("/proc/self/status", "r");
    int64_t kilobytes = 0;
    char line[256];

    while (status && kilobytes == 0 && fgets(line, sizeof line, status))
        if (strncmp(line, "VmHWM:", 6) == 0)
            kilobytes = strtoll(line + 6, NULL, 10);
    if (status)
        fclose(status);
    return kilobytes * 1024;
}

/* A value that depends on all fields, so that the compiler cannot remove the reads. */
static uint64_t walk(const struct heft_checkpoint *c)
{
    uint64_t sum = 0;
    struct heft_tensor t = HEFT_INIT(struct heft_tensor);

    for (size_t i = 0; heft_tensor_at(c, i, &t); i++) {
        sum += (unsigned char)t.name[0] + (uint64_t)t.dtype;
        for (unsigned d = 0; d < t.rank; d++)
            sum += t.shape[d];
    }
    return sum;
}

int main(int argc, char **argv)
{
    const int64_t before = peak();
    struct heft_error err = {0};
    volatile uint64_t sink = 0;
    char line[64];

    while (argc == 2 && fgets(line, sizeof line, stdin)) {
        const int64_t start = now();
        struct heft_checkpoint *c = heft_open(argv[1], NULL, &err);
        size_t tensors;
        int64_t elapsed;

        if (!c) {
            fprintf(stderr, "%s\n", heft_error_format(&err, (char[1024]){0}, 1024));
            return 2;
        }
        tensors = heft_tensor_count(c);
        sink += walk(c);
        heft_close(c);
        elapsed = now() - start;
        printf("%" PRId64 " %zu %" PRId64 "\n", elapsed, tensors, peak() - before);
        fflush(stdout);
    }
    return argc == 2 ? 0 : 2;
}
