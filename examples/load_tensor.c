/* load_tensor.c: reads one tensor into memory and prints statistics of its values.
 *
 *     load_tensor model.pth layer.weight
 *
 * heft_tensor_read returns row-major little-endian values whatever the layout in the file:
 * transposed, strided, big-endian or deflated. heft_tensor_map avoids the copy if the values are
 * stored row-major, little-endian and uncompressed. */
#include <heft/heft.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const struct heft_error *err)
{
    char line[1024];

    fprintf(stderr, "%s\n", heft_error_format(err, line, sizeof line));
    return 2;
}

static void print_summary(const char *name, const float *values, size_t n)
{
    float least = values[0], greatest = values[0];
    double sum = 0;

    for (size_t i = 0; i < n; i++) {
        least = values[i] < least ? values[i] : least;
        greatest = values[i] > greatest ? values[i] : greatest;
        sum += (double)values[i];
    }
    printf("%s: %zu numbers from %g to %g, mean %g\n", name, n, (double)least, (double)greatest,
           sum / (double)n);
}

static int load(struct heft_checkpoint *c, const char *name)
{
    struct heft_error err = {0};
    struct heft_tensor t = HEFT_INIT(struct heft_tensor);
    size_t index;
    void *data;

    if (!heft_tensor_find(c, name, strlen(name), &index)) {
        fprintf(stderr, "no tensor %s\n", name);
        return 1;
    }
    heft_tensor_at(c, index, &t);
    if (t.dtype != HEFT_F32 || t.bytes == 0) {
        fprintf(stderr, "%s is %s, this example reads F32\n", name, heft_dtype_name(t.dtype));
        return 1;
    }
    data = malloc((size_t)t.bytes);
    if (!data) {
        fputs("not enough memory\n", stderr);
        return 2;
    }
    if (!heft_tensor_read(c, index, data, (size_t)t.bytes, &err)) {
        free(data);
        return fail(&err);
    }
    print_summary(name, data, (size_t)t.bytes / sizeof(float));
    free(data);
    return 0;
}

int main(int argc, char **argv)
{
    struct heft_error err = {0};
    struct heft_checkpoint *c;
    int status;

    if (argc != 3) {
        fputs("usage: load_tensor FILE NAME\n", stderr);
        return 2;
    }
    c = heft_open(argv[1], NULL, &err);
    if (!c)
        return fail(&err);
    status = load(c, argv[2]);
    heft_close(c);
    return status;
}
