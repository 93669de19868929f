/* save_tool.c: saves tensors in memory, as a program that embeds libheft does, for tests that compare the
 * result with what the reference libraries write.
 *
 *     heft-save SPEC DATA OUT [OPTION=VALUE…]
 *
 * DATA contains the memory. SPEC has lines of words; names and texts are in hexadecimal ("-" if empty):
 *
 *     tensor NAME DTYPE SHAPE STRIDES OFFSET HOW STORAGE     SHAPE "2,3" or "-", STRIDES in elements or
 *     metadata KEY VALUE                                     "-", OFFSET in DATA, HOW "data" or "fill"
 *
 * OPTION is that of a format, or `to`. */
#include <heft/heft.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 4000, RANK = 64, OPTIONS = 8 };

struct tool {
    struct heft_own_tensor tensors[MOST];
    struct heft_metadata metadata[MOST];
    size_t n_tensors, n_metadata;
    unsigned char *data;
};

static void *must_alloc(size_t n)
{
    void *const p = calloc(1, n + 1);

    if (!p)
        exit(3);
    return p;
}

static unsigned char *must_read(const char *path)
{
    FILE *const file = fopen(path, "rb");
    unsigned char *bytes;
    long size;

    if (!file || fseek(file, 0, SEEK_END) != 0 || (size = ftell(file)) < 0)
        exit(3);
    rewind(file);
    bytes = must_alloc((size_t)size);
    if (fread(bytes, 1, (size_t)size, file) != (size_t)size)
        exit(3);
    fclose(file);
    return bytes;
}

static char *decode_hex(const char *hex, size_t *n)
{
    char *text;
    unsigned byte;

    *n = strcmp(hex, "-") == 0 ? 0 : strlen(hex) / 2;
    text = must_alloc(*n);
    for (size_t i = 0; i < *n; i++)
        if (sscanf(hex + 2 * i, "%2x", &byte) == 1)
            text[i] = (char)byte;
    return text;
}

static uint64_t *decode_numbers(const char *text, unsigned *n)
{
    uint64_t *const numbers = must_alloc(RANK * sizeof *numbers);
    char *end;

    *n = 0;
    for (const char *p = text; *p && *p != '-' && *n < RANK; p = *end ? end + 1 : end)
        numbers[(*n)++] = strtoull(p, &end, 10);
    return numbers;
}

static bool fill_memory(void *ctx, uint64_t offset, void *dst, size_t n, struct heft_error *err)
{
    (void)err;
    memcpy(dst, (unsigned char *)ctx + offset, n);
    return true;
}

static void add_tensor(struct tool *tool, char *const *words)
{
    struct heft_own_tensor *const t = &tool->tensors[tool->n_tensors++];
    unsigned char *const first = tool->data + strtoull(words[5], NULL, 10);
    unsigned n_strides;
    uint64_t *strides;

    *t = (struct heft_own_tensor){.size = sizeof *t};
    t->name = decode_hex(words[1], &t->name_len);
    if (!heft_dtype_parse(words[2], &t->dtype))
        exit(3);
    t->shape = decode_numbers(words[3], &t->rank);
    strides = decode_numbers(words[4], &n_strides);
    t->strides = n_strides ? strides : NULL;
    if (strcmp(words[6], "fill") == 0) {
        t->fill = fill_memory;
        t->ctx = first;
    } else {
        t->data = first;
    }
    t->storage = strtoull(words[7], NULL, 10);
}

static void add_line(struct tool *tool, char *line)
{
    char *words[8] = {NULL};
    size_t n = 0;

    for (char *word = strtok(line, " \n"); word && n < 8; word = strtok(NULL, " \n"))
        words[n++] = word;
    if (n == 8 && tool->n_tensors < MOST) {
        add_tensor(tool, words);
    } else if (n == 3 && tool->n_metadata < MOST) {
        struct heft_metadata *const m = &tool->metadata[tool->n_metadata++];

        m->key = decode_hex(words[1], &m->key_len);
        m->value = decode_hex(words[2], &m->value_len);
    } else if (n > 0) {
        exit(3);
    }
}

static void read_spec(struct tool *tool, const char *path)
{
    char *const text = (char *)must_read(path);

    for (char *line = text, *next; line && *line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        add_line(tool, line);
    }
}

/* Memory is freed by the end of the process. */
int main(int argc, char **argv)
{
    static struct tool tool;
    struct heft_option options[OPTIONS];
    struct heft_convert_options how = {.allow_empty = true, .overwrite = true, .no_sync = true};
    struct heft_error err = {0};
    char line[1024];

    if (argc < 4 || argc > 4 + OPTIONS) {
        fputs("usage: heft-save SPEC DATA OUT [OPTION=VALUE…]\n", stderr);
        return 3;
    }
    tool.data = must_read(argv[2]);
    read_spec(&tool, argv[1]);
    how.output = argv[3];
    how.format_options = options;
    for (int i = 4; i < argc; i++) {
        char *const value = strchr(argv[i], '=');

        if (!value)
            return 3;
        *value = '\0';
        if (strcmp(argv[i], "to") == 0)
            how.to = value + 1;
        else
            options[how.n_format_options++] = (struct heft_option){argv[i], value + 1};
    }
    if (heft_save(tool.tensors, tool.n_tensors, tool.metadata, tool.n_metadata, &how, &err))
        return 0;
    fprintf(stderr, "%s\n", heft_error_format(&err, line, sizeof line));
    return 2;
}
