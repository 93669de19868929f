/* file_list.c: see file_list.h.
 *
 *     a.txt\n books\n …     paths in lines; empty lines are skipped
 *     a.txt\0 books\0 …     with a NUL anywhere: terminated by NULs, for names with newlines */
#include "main/file_list.h"
#include "output/report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 1 << 16 };

/* Reads a stream to its end into *text, which gets a NUL at the end. */
static bool read_all(FILE *file, const char *name, char **text, size_t *n, struct heft_error *err)
{
    char *more;

    *n = 0;
    for (size_t room = FIRST_ROOM; (more = realloc(*text, room)) != NULL; room *= 2) {
        *text = more;
        *n += fread(more + *n, 1, room - *n - 1, file);
        more[*n] = '\0';
        if (ferror(file))
            return system_error(err, name, "cannot read");
        if (*n < room - 1)
            return true;
    }
    return no_memory(err, "the list of files");
}

static bool read_list(struct options *options, size_t *n, struct heft_error *err)
{
    const char *const name = options->files_from;
    const bool is_stdin = strcmp(name, "-") == 0;
    FILE *const file = is_stdin ? stdin : fopen(name, "rb");
    bool fine;

    if (!file)
        return system_error(err, name, "cannot be opened");
    fine = read_all(file, name, &options->listed, n, err);
    if (!is_stdin)
        (void)fclose(file); /* opened for reading only: close cannot lose data */
    return fine;
}

/* Ends the path at `at` with a NUL. Returns the position after it. */
static size_t end_path(char *text, size_t n, size_t at, char separator)
{
    char *const end = memchr(text + at, separator, n - at);

    if (!end)
        return n;
    *end = '\0';
    return (size_t)(end - text) + 1;
}

static bool append_paths(struct options *options, size_t n, struct heft_error *err)
{
    char *const text = options->listed;
    const char separator = strlen(text) < n ? '\0' : '\n';
    size_t count = options->inputs.n + 1;
    const char **items;

    for (size_t i = 0; i < n; i++)
        count += text[i] == separator;
    items = realloc((void *)options->inputs.items, (count + 1) * sizeof *items);
    if (!items)
        return no_memory(err, "the list of files");
    options->inputs.items = items;
    for (size_t at = 0, next; at < n; at = next) {
        next = end_path(text, n, at, separator);
        if (text[at])
            items[options->inputs.n++] = text + at;
    }
    return true;
}

/* Standard input cannot be both the list and a text. */
static bool check_inputs(const struct options *options, struct heft_error *err)
{
    for (size_t i = 0; strcmp(options->files_from, "-") == 0 && i < options->inputs.n; i++)
        if (strcmp(options->inputs.items[i], "-") == 0)
            return usage_error(err, "--files-from -: standard input is the list, and cannot be an "
                                    "input; ./- is a file named '-'");
    return options->inputs.n > 0 || options->allow_empty ||
           usage_error(err, "--files-from %s: no input in the list (--allow-empty ignores this)",
                       options->files_from);
}

bool file_list_read(struct options *options, struct heft_error *err)
{
    size_t n = 0;

    return read_list(options, &n, err) && append_paths(options, n, err) &&
           check_inputs(options, err);
}
