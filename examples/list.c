/* list.c: prints the tensors of a checkpoint, one per line.
 *
 *     list model.pth
 *
 * A minimal program: open, iterate, close, and print errors. */
#include <heft/heft.h>

#include <inttypes.h>
#include <stdio.h>

static void print_shape(const struct heft_tensor *t)
{
    putchar('[');
    for (unsigned d = 0; d < t->rank; d++)
        printf("%s%" PRIu64, d ? ", " : "", t->shape[d]);
    putchar(']');
}

int main(int argc, char **argv)
{
    struct heft_error err = {0};
    struct heft_checkpoint *c;
    struct heft_tensor t = HEFT_INIT(struct heft_tensor);
    char line[1024];

    if (argc != 2) {
        fputs("usage: list FILE\n", stderr);
        return 2;
    }
    c = heft_open(argv[1], NULL, &err);
    if (!c) {
        fprintf(stderr, "%s\n", heft_error_format(&err, line, sizeof line));
        return 2;
    }
    for (size_t i = 0; heft_tensor_at(c, i, &t); i++) {
        /* Names come from the file: a program for terminals should escape them. */
        printf("%-40s %-5s %12" PRIu64 "  ", t.name, heft_dtype_name(t.dtype), t.bytes);
        print_shape(&t);
        putchar('\n');
    }
    heft_close(c);
    return 0;
}
