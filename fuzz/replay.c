/* replay.c: runs a fuzz target on files instead of a fuzzer, so that every build can replay the
 * corpora. Takes files and directories (without their subdirectories); prints the number of inputs.
 */
#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Runs an input from a heap block of its exact size, so that a sanitizer detects a read of one byte
 * too many. */
static bool run_file(const char *path, size_t size)
{
    uint8_t *data = malloc(size ? size : 1);
    FILE *file = fopen(path, "rb");
    const bool ok = data && file && fread(data, 1, size, file) == size;

    if (ok) {
        fprintf(stderr, "%s\n", path); /* after a crash the last line names the input */
        (void)LLVMFuzzerTestOneInput(data, size);
    }
    if (file)
        fclose(file);
    free(data);
    return ok;
}

static bool run_path(const char *path, bool into_folders, size_t *inputs);

static bool run_folder(const char *path, size_t *inputs)
{
    DIR *folder = opendir(path);
    const struct dirent *entry;
    char child[4096];
    bool ok = folder != NULL;

    while (ok && (entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        const int n = snprintf(child, sizeof child, "%s/%s", path, entry->d_name);
        ok = n > 0 && (size_t)n < sizeof child && run_path(child, false, inputs);
    }
    if (folder)
        closedir(folder);
    return ok;
}

static bool run_path(const char *path, bool into_folders, size_t *inputs)
{
    struct stat st;

    if (stat(path, &st) != 0)
        return false;
    if (S_ISDIR(st.st_mode))
        return into_folders ? run_folder(path, inputs) : true;
    *inputs += 1;
    return run_file(path, (size_t)st.st_size);
}

int main(int argc, char **argv)
{
    size_t inputs = 0;

    for (int i = 1; i < argc; i++) {
        if (!run_path(argv[i], true, &inputs)) {
            fprintf(stderr, "%s: cannot be read\n", argv[i]);
            return 2;
        }
    }
    printf("%zu inputs\n", inputs);
    return 0;
}
