/* heft_confine.c: the functions of confine.h. */
#include <heft/confine.h>

#include "io/confinement.h"

static void allow_path(const struct heft_file_rules *rules, const struct heft_confine_path *path)
{
    switch (path->use) {
    case HEFT_CONFINE_CHECKPOINT:
        heft_confine_checkpoint(rules, path->path, false);
        break;
    case HEFT_CONFINE_TREE:
        heft_confine_checkpoint(rules, path->path, true);
        break;
    case HEFT_CONFINE_FOLDER:
        heft_confine_folder(rules, path->path);
        break;
    case HEFT_CONFINE_TEXT:
        heft_confine_text(rules, path->path);
        break;
    case HEFT_CONFINE_WRITE:
        heft_confine_write(rules, path->path);
        break;
    }
}

/* What reading a path takes besides its files. */
static void find_needs(const struct heft_confine_path *path, bool *modules, bool *processes)
{
    const bool reads = path->use == HEFT_CONFINE_CHECKPOINT || path->use == HEFT_CONFINE_TREE;
    const bool any = reads && heft_confine_kind(path->path) != HEFT_KIND_ALONE;

    *modules = *modules || any || path->use != HEFT_CONFINE_CHECKPOINT;
    *processes = *processes || any;
}

static bool confine_files(const struct heft_confine_path *paths, size_t n, bool modules)
{
    struct heft_file_rules rules;

    if (!heft_file_rules_begin(&rules))
        return false;
    for (size_t i = 0; i < n; i++)
        allow_path(&rules, &paths[i]);
    if (modules)
        heft_confine_modules(&rules);
    heft_confine_system(&rules);
    return heft_file_rules_end(&rules);
}

unsigned heft_confine(const struct heft_confine_path *paths, size_t n)
{
    bool modules = false, processes = false;
    unsigned layers = 0;

    n = paths ? n : 0;
    for (size_t i = 0; i < n; i++)
        find_needs(&paths[i], &modules, &processes);
    if (confine_files(paths, n, modules))
        layers |= HEFT_CONFINED_FILES;
    if (heft_calls_confine(processes ? HEFT_CALLS_OPENING : HEFT_CALLS_READING))
        layers |= HEFT_CONFINED_CALLS | (processes ? 0u : HEFT_CONFINED_PROCESSES);
    return layers;
}

unsigned heft_confine_processes(void)
{
    return heft_calls_confine(HEFT_CALLS_READING) ? HEFT_CONFINED_CALLS | HEFT_CONFINED_PROCESSES
                                                  : 0;
}

unsigned heft_confine_available(unsigned *landlock)
{
    const unsigned version = heft_file_rules_version();

    if (landlock)
        *landlock = version;
    return (version ? HEFT_CONFINED_FILES : 0u) |
           (heft_calls_available() ? HEFT_CONFINED_CALLS | HEFT_CONFINED_PROCESSES : 0u);
}
