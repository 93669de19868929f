/* mutate_script.h: mutates one file of a script (script.h), or its options, and writes the sizes
 * of the files again, so that the other files stay whole. Every fourth mutation changes the input as
 * a string of bytes. */
#ifndef MUTATE_SCRIPT_H
#define MUTATE_SCRIPT_H

#include "base/mem.h"
#include "script.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

#define MUTATE_MOST 65536

/* Appends the lines that are not about files, or a mutation of them. */
static inline void put_options(struct heft_buf *out, struct heft_bytes text, bool changed)
{
    static uint8_t lines[SCRIPT_TEXT];
    size_t n = 0;

    for (size_t at = 0, end; at < text.n; at = end) {
        const uint8_t *const newline = memchr(text.p + at, '\n', text.n - at);

        end = newline ? (size_t)(newline - text.p) + 1 : text.n;
        if (end - at > 1 && (end - at < 5 || memcmp(text.p + at, "file ", 5) != 0)) {
            memcpy(lines + n, text.p + at, end - at);
            n += end - at;
        }
    }
    if (changed)
        n = LLVMFuzzerMutate(lines, n, SCRIPT_TEXT / 2);
    heft_buf_put(out, lines, n);
    if (n > 0 && lines[n - 1] != '\n')
        heft_buf_char(out, '\n');
}

/* Appends the script with one of its parts changed: a file, or for which == n_files the options. */
static inline void put_script(struct heft_buf *out, const struct script *s, struct heft_bytes text,
                              size_t which)
{
    static uint8_t changed[MUTATE_MOST];
    struct script_file files[SCRIPT_MOST];

    memcpy(files, s->files, sizeof files);
    if (which < s->n_files) {
        const size_t n = heft_min_size(files[which].n, MUTATE_MOST);

        memcpy(changed, files[which].data, n);
        files[which].data = changed;
        files[which].n = LLVMFuzzerMutate(changed, n, MUTATE_MOST);
    }
    put_options(out, text, which == s->n_files);
    for (size_t i = 0; i < s->n_files; i++)
        heft_buf_printf(out, "file %s %zu\n", files[i].name, files[i].n);
    heft_buf_char(out, '\n');
    for (size_t i = 0; i < s->n_files; i++)
        heft_buf_put(out, files[i].data, files[i].n);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    static struct script script;
    struct heft_buf out = {0};
    bool ok;

    if (seed % 4 != 0 && script_parse(&script, data, size))
        put_script(&out, &script, (struct heft_bytes){data, script.text_n},
                   seed / 4 % (script.n_files + 1));
    ok = !out.failed && out.n > 0 && out.n <= max_size;
    if (ok) {
        size = out.n;
        memcpy(data, out.p, size);
    }
    heft_buf_release(&out);
    return ok ? size : LLVMFuzzerMutate(data, size, max_size);
}

#endif
