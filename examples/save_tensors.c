/* save_tensors.c: saves tensors of the program's own memory, and reads one back with a cast.
 *
 *     save_tensors model.safetensors
 *
 * The extension of the file chooses the format: .safetensors, .pth, .npz, .h5 and others. The layer
 * is stored transposed, as strides say; its bias is made while the file is written. */
#include <heft/heft.h>

#include <stdio.h>
#include <string.h>

enum { INPUTS = 3, OUTPUTS = 2 };

static int fail(const struct heft_error *err)
{
    char line[1024];

    fprintf(stderr, "%s\n", heft_error_format(err, line, sizeof line));
    return 2;
}

/* Bytes [offset, offset+n) of the bias: 0, 10, 20 … as F32. Called by several threads. */
static bool fill_bias(void *ctx, uint64_t offset, void *dst, size_t n, struct heft_error *err)
{
    float bias[OUTPUTS];

    (void)ctx, (void)err;
    for (size_t i = 0; i < OUTPUTS; i++)
        bias[i] = 10.0F * (float)i;
    memcpy(dst, (const char *)bias + offset, n);
    return true;
}

static bool save_layer(const char *path, struct heft_error *err)
{
    static const float weight[INPUTS][OUTPUTS] = {{1, 4}, {2, 5}, {3, 6}}; /* column by column */
    static const uint64_t shape[] = {OUTPUTS, INPUTS}, strides[] = {1, OUTPUTS};
    const struct heft_own_tensor tensors[] = {
        {.size = sizeof *tensors,
         .name = "layer.weight",
         .name_len = strlen("layer.weight"),
         .dtype = HEFT_F32,
         .rank = 2,
         .shape = shape,
         .strides = strides,
         .data = weight},
        {.size = sizeof *tensors,
         .name = "layer.bias",
         .name_len = strlen("layer.bias"),
         .dtype = HEFT_F32,
         .rank = 1,
         .shape = shape,
         .fill = fill_bias},
    };
    const struct heft_metadata metadata[] = {{"made_by", "save_tensors", 7, 12}};
    const struct heft_convert_options options = {.output = path, .overwrite = true};

    return heft_save(tensors, 2, metadata, 1, &options, err);
}

/* Prints a tensor, whatever its dtype is, if it can be cast to F64. */
static bool print_values(struct heft_checkpoint *c, const char *name, struct heft_error *err)
{
    const struct heft_read_options as_f64 = {.cast = true, .as = HEFT_F64, .native_order = true};
    double values[INPUTS * OUTPUTS];
    uint64_t n;
    size_t index;

    if (!heft_tensor_require(c, name, strlen(name), &index, err))
        return false;
    n = heft_tensor_elements(c, index);
    if (!heft_tensor_read_with(c, index, &as_f64, values, (size_t)n * sizeof *values, NULL, err))
        return false;
    printf("%s:", name);
    for (uint64_t i = 0; i < n; i++)
        printf(" %g", values[i]);
    printf("\n");
    return true;
}

int main(int argc, char **argv)
{
    struct heft_error err = {0};
    struct heft_checkpoint *c;
    bool ok;

    if (argc != 2) {
        fputs("usage: save_tensors FILE\n", stderr);
        return 2;
    }
    c = save_layer(argv[1], &err) ? heft_open(argv[1], NULL, &err) : NULL;
    ok = c && print_values(c, "layer.weight", &err) && print_values(c, "layer.bias", &err);
    heft_close(c);
    return ok ? 0 : fail(&err);
}
