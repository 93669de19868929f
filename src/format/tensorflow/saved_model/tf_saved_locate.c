/* tf_saved_locate.c: finds a SavedModel: a directory that contains a saved_model.pb, or, as
 * TensorFlow Serving expects it, a directory whose subdirectories are versions named by numbers;
 * the highest version is opened. */
#include "format/tensorflow/saved_model/tf_saved.h"

/* In the order in which TensorFlow looks for them. A .cpb is found only to be refused with a
 * fitting message. */
static const char *const documents[] = {"saved_model.pb", "saved_model.pbtxt", "saved_model.cpb"};

static const char *find_document(const char *const *names, size_t n)
{
    for (size_t k = 0; k < HEFT_COUNT(documents); k++)
        for (size_t i = 0; i < n; i++)
            if (strcmp(names[i], documents[k]) == 0)
                return documents[k];
    return NULL;
}

static bool is_number(const char *name)
{
    return name[0] && strspn(name, "0123456789") == strlen(name);
}

/* Lists a version's directory; no names if it does not exist any more. */
static bool list_version(const struct heft_folder *folder, const char *path, struct heft_arena *mem,
                         const char *const **names, size_t *n, struct heft_error *err)
{
    struct heft_error found = {0};
    enum heft_path_kind kind;

    *n = 0;
    if (!heft_files_examine(folder->files, path, &kind, err))
        return false;
    if (kind != HEFT_PATH_DIR || heft_files_list(folder->files, path, mem, names, n, &found))
        return true;
    if (heft_files_kind(folder->files, path) == HEFT_PATH_NONE)
        return true;
    *err = found;
    return false;
}

/* Path of the document in a version's directory, "123/saved_model.pb"; NULL if there is none, and if
 * the directory cannot be listed, which is an error: another version would be opened instead. */
static const char *find_version_document(const struct heft_folder *folder, const char *version,
                                         struct heft_arena *mem, struct heft_error *err)
{
    const char *const path = heft_folder_join(folder, version, mem, err);
    const char *const *names = NULL;
    const char *document;
    size_t n;

    if (!path || !list_version(folder, path, mem, &names, &n, err))
        return NULL;
    document = find_document(names, n);
    return document ? heft_arena_printf(mem, err, "%s/%s", version, document) : NULL;
}

/* Compares two numbers written in digits. */
static bool is_higher(const char *a, const char *b)
{
    size_t n, m;

    a += strspn(a, "0");
    b += strspn(b, "0");
    n = strlen(a);
    m = strlen(b);
    return n != m ? n > m : strcmp(a, b) > 0;
}

/* The version with the highest number. */
static const char *find_version(const struct heft_folder *folder, struct heft_arena *mem,
                                const char **note, struct heft_error *err)
{
    const char *found = NULL, *version = NULL;
    size_t versions = 0;

    for (size_t i = 0; i < folder->n && err->code == HEFT_OK; i++) {
        const char *const number = folder->names[i];
        const char *const name =
            is_number(number) ? find_version_document(folder, number, mem, err) : NULL;

        versions += name != NULL;
        if (name && (!found || is_higher(number, version))) {
            found = name;
            version = number;
        }
    }
    if (versions > 1)
        *note = heft_arena_printf(mem, err, "%s is opened, the highest of %zu versions", found,
                                  versions);
    return found;
}

const struct heft_locator heft_tf_saved_locator = {
    .find_document = find_document,
    .find_below = find_version,
};
