/* host_settings.c: the settings of the program that uses the library, set once for the process. */
#include "base/host_settings.h"

#include "base/mem.h"

#define ROOM 4096 /* longest path in bytes */

static struct heft_host settings;
static char modules[ROOM];
static bool is_set;

const struct heft_host *heft_host(void)
{
    return &settings;
}

static bool check_memory(const struct heft_host *host, struct heft_error *err)
{
    const int given = (host->alloc != NULL) + (host->resize != NULL) + (host->free != NULL);

    return given == 0 || given == 3 ||
           heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                     "%d of the 3 functions for memory are given, expected all or none", given);
}

static bool check_modules(const struct heft_host *host, struct heft_error *err)
{
    return !host->modules || (host->modules[0] == '/' && strlen(host->modules) < ROOM) ||
           heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                     "the directory of modules is not an absolute path of less than %d bytes: %s",
                     ROOM, host->modules);
}

bool heft_host_adopt(const struct heft_host *host, struct heft_error *err)
{
    if (!check_memory(host, err) || !check_modules(host, err))
        return false;
    if (is_set || heft_alloc_count() > 0)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         is_set ? "the settings of the host are set already"
                                : "the library has allocated memory already: set the settings of "
                                  "the host before");
    settings = *host;
    if (host->modules) {
        memcpy(modules, host->modules, strlen(host->modules) + 1);
        settings.modules = modules;
    }
    is_set = true;
    return true;
}
