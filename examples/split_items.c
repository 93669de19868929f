/* split_items.c: splits the tensors of a checkpoint into shards as huggingface_hub does.
 *
 *     split_items model.pth 5GB
 *
 * Callbacks return the size of an item and the storage that it shares: here those of tensors, but
 * items may be anything. */
#include <heft/heft.h>

#include <stdio.h>

static bool size_of(void *ctx, size_t item, uint64_t *bytes, struct heft_error *err)
{
    struct heft_tensor t = HEFT_INIT(struct heft_tensor);

    (void)err;
    if (heft_tensor_at(ctx, item, &t))
        *bytes = t.bytes;
    return true;
}

static uint64_t storage_of(void *ctx, size_t item)
{
    struct heft_tensor t = HEFT_INIT(struct heft_tensor);

    return heft_tensor_at(ctx, item, &t) && t.storage >= 0 ? (uint64_t)t.storage : UINT64_MAX;
}

static void print_files(const struct heft_split_plan *plan, struct heft_checkpoint *c)
{
    struct heft_split_file file = HEFT_INIT(struct heft_split_file);
    struct heft_tensor t = HEFT_INIT(struct heft_tensor);

    for (size_t f = 0; heft_split_file_at(plan, f, &file); f++)
        for (size_t i = 0; i < file.n; i++)
            if (heft_tensor_at(c, file.items[i], &t))
                printf("%s  %s\n", file.name, t.name);
}

int main(int argc, char **argv)
{
    struct heft_split_items items = {.size = sizeof items, .bytes = size_of, .storage = storage_of};
    struct heft_split_plan *plan = NULL;
    struct heft_checkpoint *c = NULL;
    struct heft_error err = {0};
    uint64_t limit;
    char line[1024];

    if (argc != 3) {
        fputs("usage: split_items FILE SIZE\n", stderr);
        return 2;
    }
    if (heft_parse_bytes(argv[2], &limit, &err))
        c = heft_open(argv[1], NULL, &err);
    if (c) {
        items.n = heft_tensor_count(c);
        items.ctx = c;
        plan = heft_split_with(&items, limit, "model{suffix}.safetensors", &err);
    }
    if (plan)
        print_files(plan, c);
    else
        fprintf(stderr, "%s\n", heft_error_format(&err, line, sizeof line));
    heft_split_free(plan);
    heft_close(c);
    return plan ? 0 : 2;
}
