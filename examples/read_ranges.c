/* read_ranges.c: lists a checkpoint that is read by a callback, as from a server.
 *
 *     read_ranges model.pth
 *
 * The callback stands for a request such as "GET model.pth, Range: bytes=0-65535", and prints it.
 * With is_slow heft joins small reads: a list of tensors takes a few requests. */
#define _POSIX_C_SOURCE 200809L
#include <heft/heft.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Called from any thread: pread needs no lock. All n bytes, or false. */
static bool read_range(void *ctx, uint64_t offset, void *dst, size_t n, struct heft_error *err)
{
    const int *const fd = ctx;

    printf("bytes=%llu-%llu\n", (unsigned long long)offset, (unsigned long long)offset + n - 1);
    for (size_t done = 0; done < n;) {
        const ssize_t got = pread(*fd, (char *)dst + done, n - done, (off_t)(offset + done));

        if (got <= 0) {
            snprintf(err->text, sizeof err->text, "%s", got ? strerror(errno) : "the file ended");
            return false; /* heft adds the file and the offset */
        }
        done += (size_t)got;
    }
    return true;
}

static void close_file(void *ctx)
{
    close(*(int *)ctx);
}

int main(int argc, char **argv)
{
    struct heft_error err = {0};
    struct heft_input in = {
        .size = sizeof in, .read = read_range, .close = close_file, .is_slow = true};
    struct heft_checkpoint *c;
    struct heft_tensor t = HEFT_INIT(struct heft_tensor);
    struct stat st;
    char line[1024];
    int fd;

    if (argc != 2 || (fd = open(argv[1], O_RDONLY | O_CLOEXEC)) < 0 || fstat(fd, &st) != 0) {
        fputs("usage: read_ranges FILE\n", stderr);
        return 2;
    }
    in.name = argv[1];
    in.bytes = (uint64_t)st.st_size;
    in.ctx = &fd;
    c = heft_open_inputs(&in, 1, NULL, &err); /* calls close_file, also if it fails */
    if (!c) {
        fprintf(stderr, "%s\n", heft_error_format(&err, line, sizeof line));
        return 2;
    }
    for (size_t i = 0; heft_tensor_at(c, i, &t); i++)
        printf("%s %s\n", t.name, heft_dtype_name(t.dtype));
    heft_close(c);
    return 0;
}
