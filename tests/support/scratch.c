/* scratch.c: see scratch.h. */
#include "scratch.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void must(bool holds, const char *what)
{
    if (holds)
        return;
    perror(what);
    abort();
}

char *heft_scratch_path(const char *folder, const char *name)
{
    const size_t n = strlen(folder) + strlen(name) + 2;
    char *path = malloc(n);

    must(path != NULL, "malloc");
    snprintf(path, n, "%s/%s", folder, name);
    return path;
}

char *heft_scratch_new(void)
{
    const char *parent = getenv("TMPDIR");
    char *path = heft_scratch_path(parent && parent[0] ? parent : "/tmp", "heft-test-XXXXXX");

    must(mkdtemp(path) != NULL, "mkdtemp");
    return path;
}

/* One entry of a directory, or NULL if it is empty. The directory is opened again each time, as its
 * contents may change. */
static char *first_entry(const char *folder)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    char *path = NULL;

    if (!dir)
        return NULL;
    while (!path && (entry = readdir(dir)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            path = heft_scratch_path(folder, entry->d_name);
    closedir(dir);
    return path;
}

static bool is_folder(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Removes a tree depth-first without recursion: descends to the first entry until that is a file or
 * an empty directory. */
static void remove_tree(const char *folder)
{
    char *top = heft_scratch_path(folder, ".");
    char *path = top;

    top[strlen(top) - 2] = '\0';
    for (;;) {
        char *entry = is_folder(path) ? first_entry(path) : NULL;

        if (entry) {
            if (path != top)
                free(path);
            path = entry;
            continue;
        }
        must(remove(path) == 0, path);
        if (path == top)
            break;
        free(path);
        path = top;
    }
    free(top);
}

void heft_scratch_free(char *folder)
{
    remove_tree(folder);
    free(folder);
}

void heft_scratch_write(const char *folder, const char *name, const void *p, size_t n)
{
    char *path = heft_scratch_path(folder, name);
    FILE *file = fopen(path, "wb");

    must(file != NULL, path);
    must(n == 0 || fwrite(p, 1, n, file) == n, path);
    must(fclose(file) == 0, path);
    free(path);
}

char *heft_scratch_read(const char *folder, const char *name, size_t *n)
{
    char *path = heft_scratch_path(folder, name);
    FILE *file = fopen(path, "rb");
    struct stat st;
    char *bytes;

    free(path);
    if (!file)
        return NULL;
    must(fstat(fileno(file), &st) == 0, name);
    *n = (size_t)st.st_size;
    bytes = malloc(*n + 1);
    must(bytes != NULL && fread(bytes, 1, *n, file) == *n, name);
    bytes[*n] = '\0';
    fclose(file);
    return bytes;
}

bool heft_scratch_has(const char *folder, const char *name)
{
    char *path = heft_scratch_path(folder, name);
    struct stat st;
    const bool has = lstat(path, &st) == 0;

    free(path);
    return has;
}

size_t heft_scratch_count(const char *folder)
{
    DIR *dir = opendir(folder);
    size_t n = 0;

    if (!dir)
        return 0;
    while (readdir(dir))
        n++;
    closedir(dir);
    return n - 2;
}
