/* provided.c: see provided.h. */
#define _POSIX_C_SOURCE 200809L
#include "provided.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "scratch.h"

static void *need(void *p)
{
    if (!p)
        abort();
    return p;
}

static char *join(const char *a, const char *b)
{
    const size_t n = strlen(a) + strlen(b) + 2;
    char *const path = need(malloc(n));

    (void)snprintf(path, n, "%s%s%s", a, a[0] ? "/" : "", b);
    return path;
}

static void add_file(struct provided *p, const char *folder, char *name)
{
    struct provided_file *file;

    if (p->n == p->cap) {
        p->cap = p->cap ? 2 * p->cap : 64;
        p->files = need(realloc(p->files, p->cap * sizeof *p->files));
    }
    file = &p->files[p->n++];
    *file = (struct provided_file){.name = name, .all = p};
    file->data = need(heft_scratch_read(folder, name, &file->n));
}

static void add_folder(struct provided *p, const char *folder, const char *below)
{
    char *const path = join(folder, below);
    DIR *const dir = need(opendir(path));

    for (const struct dirent *e; (e = readdir(dir));) {
        char *const name = join(below, e->d_name), *const whole = join(folder, name);
        struct stat st;

        if (lstat(whole, &st) != 0)
            abort();
        if (S_ISDIR(st.st_mode) && e->d_name[0] != '.')
            add_folder(p, folder, name);
        if (S_ISREG(st.st_mode))
            add_file(p, folder, name);
        else
            free(name);
        free(whole);
    }
    closedir(dir);
    free(path);
}

struct provided *provided_new(const char *folder)
{
    struct provided *const p = need(calloc(1, sizeof *p));

    add_folder(p, folder, "");
    for (size_t i = 0; i < p->n; i++)
        p->files[i].all = p;
    p->inputs = need(calloc(p->n + 1, sizeof *p->inputs));
    return p;
}

static bool read_file(void *ctx, uint64_t offset, void *dst, size_t n, struct heft_error *err)
{
    const struct provided_file *const file = ctx;
    struct provided *const p = file->all;

    if (n == 0 || offset > file->n || n > file->n - offset)
        abort(); /* the library promises ranges inside the input */
    if (atomic_fetch_add(&p->calls, 1) + 1 == atomic_load(&p->fail_at)) {
        if (p->text)
            (void)snprintf(err->text, sizeof err->text, "%s", p->text);
        err->system_error = p->system_error;
        return false;
    }
    atomic_fetch_add(&p->bytes, n);
    memcpy(dst, file->data + offset, n);
    return true;
}

static const void *view_file(void *ctx, uint64_t offset, size_t n)
{
    const struct provided_file *const file = ctx;

    if (offset > file->n || n > file->n - offset)
        abort();
    return file->data + offset;
}

static void close_file(void *ctx)
{
    const struct provided_file *const file = ctx;

    atomic_fetch_add(&file->all->closed, 1);
}

const struct heft_input *provided_inputs(struct provided *p, enum provided_kind kind)
{
    atomic_store(&p->calls, 0);
    atomic_store(&p->bytes, 0);
    atomic_store(&p->closed, 0);
    for (size_t i = 0; i < p->n; i++) {
        p->inputs[i] = (struct heft_input){.size = sizeof *p->inputs,
                                           .name = p->files[i].name,
                                           .bytes = p->files[i].n,
                                           .ctx = &p->files[i],
                                           .close = close_file};
        if (kind == PROVIDED_MEMORY) {
            p->inputs[i].data = p->files[i].data;
        } else {
            p->inputs[i].read = read_file;
            p->inputs[i].view = view_file;
            p->inputs[i].is_slow = kind == PROVIDED_SLOW;
        }
    }
    return p->inputs;
}

void provided_free(struct provided *p)
{
    for (size_t i = 0; i < p->n; i++) {
        free(p->files[i].name);
        free(p->files[i].data);
    }
    free(p->files);
    free(p->inputs);
    free(p);
}
