/* object_names.c: opens inputs with --names objects, to tell a user who gave the name of an object
 * where a key is expected. HDF5 files cannot be opened a second time, as the command then starts no
 * more processes: there the names of variables tell that they have other ones. */
#include "main/object_names.h"
#include "output/report.h"

#include <stdlib.h>
#include <string.h>

/* Whether a name ends in "vars/" and a number. */
static bool is_numbered(const char *name, size_t n)
{
    size_t end = n;

    while (end > 0 && name[end - 1] >= '0' && name[end - 1] <= '9')
        end--;
    return end < n && end >= 6 && memcmp(name + end - 6, "/vars/", 6) == 0;
}

bool numbers_variables(const struct options *options, const struct heft_checkpoint *c)
{
    struct heft_tensor t = HEFT_INIT(struct heft_tensor);
    const char *const format = heft_format(c);

    if (is_read_option(options, "names") ||
        (strcmp(format, "keras") != 0 && strcmp(format, "h5") != 0))
        return false;
    for (size_t i = 0; heft_tensor_at(c, i, &t); i++)
        if (is_numbered(t.name, t.name_len))
            return true;
    return false;
}

/* Whether keys of the format belong to objects that may have names. */
static bool has_objects(const char *format)
{
    return strcmp(format, "saved-model") == 0 || strcmp(format, "tf-bundle") == 0 ||
           strcmp(format, "tf-checkpoint") == 0;
}

struct heft_checkpoint *open_by_objects(const struct options *options, size_t leave,
                                        const struct heft_checkpoint *c)
{
    struct options objects = *options;
    struct heft_error ignored = {0};
    struct heft_checkpoint *found;
    const char *idle;

    if (is_read_option(options, "names") || !has_objects(heft_format(c)))
        return NULL;
    objects.read_options = calloc(options->n_read_options + 1, sizeof *objects.read_options);
    if (!objects.read_options)
        return NULL;
    for (size_t i = 0; i < options->n_read_options; i++)
        objects.read_options[i] = options->read_options[i];
    objects.read_options[objects.n_read_options++] = (struct heft_option){"names", "objects"};
    objects.quiet = true;
    found = open_inputs(&objects, leave, &ignored);
    free(objects.read_options);
    for (size_t i = 0; found && (idle = heft_idle_option_at(found, i)) != NULL; i++)
        if (strcmp(idle, "names") == 0) {
            heft_close(found);
            found = NULL;
        }
    return found;
}
