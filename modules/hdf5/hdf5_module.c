/* hdf5_module.c: the table of functions for heft, the lock around libhdf5, and the translation of
 * its errors. */
#include "hdf5_parts.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

#define LIBRARY (&H5_VERS_INFO[sizeof "HDF5 library version: " - 1])

/* ---- errors ------------------------------------------------------------------------------ */

bool hdf5_fail(struct heft_error *err, enum heft_code code, const char *format, ...)
{
    va_list args;

    err->code = code;
    err->system_error = 0;
    err->offset = HEFT_NO_OFFSET;
    va_start(args, format);
    (void)vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    return false;
}

struct cause {
    char text[200];
    enum heft_code code;
};

/* The innermost entry comes first and describes the problem; any entry may say that a version is
 * too new. */
static herr_t classify_error(unsigned n, const H5E_error2_t *entry, void *ctx)
{
    struct cause *cause = ctx;
    const char *const text = entry->desc ? entry->desc : "";

    if (n == 0)
        (void)snprintf(cause->text, sizeof cause->text, "%s", text);
    if (strstr(text, "Fletcher32 checksum"))
        cause->code = HEFT_MISMATCH;
    if (entry->min_num == H5E_VERSION || strstr(text, "version") || strstr(text, "unknown"))
        cause->code = HEFT_UNSUPPORTED;
    if (entry->min_num == H5E_NOSPACE || entry->min_num == H5E_CANTALLOC)
        cause->code = cause->code == HEFT_MALFORMED ? HEFT_NOMEM : cause->code;
    return 0;
}

bool hdf5_blame(const struct hdf5_file *file, struct heft_error *err, const char *what)
{
    struct cause cause = {"nothing", HEFT_MALFORMED};

    if (file && file->failed.code != HEFT_OK) {
        *err = file->failed;
        return false;
    }
    (void)H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, classify_error, &cause);
    if (cause.code == HEFT_NOMEM)
        return hdf5_no_memory(HDF5_UNKNOWN, err);
    return hdf5_fail(err, cause.code, "%s: libhdf5 %s says: %s", what, LIBRARY, cause.text);
}

bool hdf5_no_memory(uint64_t n, struct heft_error *err)
{
    if (hdf5_process_is_beyond(n))
        return hdf5_fail(err, HEFT_LIMIT, "libhdf5 needs more than its memory limit of %llu bytes",
                         (unsigned long long)HDF5_MEMORY);
    return hdf5_fail(err, HEFT_NOMEM, "out of memory");
}

void *hdf5_alloc(size_t n, size_t each, struct heft_error *err)
{
    void *p = calloc(n ? n : 1, each);

    if (!p)
        hdf5_no_memory(each && n > SIZE_MAX / each ? SIZE_MAX : n * each, err);
    return p;
}

bool hdf5_grow(void *items, size_t *cap, size_t count, size_t each, struct heft_error *err)
{
    const size_t wanted = *cap < 16 ? 16 : *cap + *cap / 2;
    void *old, *p;

    if (count < *cap)
        return true;
    memcpy(&old, items, sizeof old);
    p = wanted <= SIZE_MAX / each ? realloc(old, wanted * each) : NULL;
    if (!p)
        return hdf5_no_memory(wanted <= SIZE_MAX / each ? wanted * each : SIZE_MAX, err);
    memcpy(items, &p, sizeof p);
    *cap = wanted;
    return true;
}

/* ---- the lock ---------------------------------------------------------------------------- */

void hdf5_lock(void)
{
    (void)pthread_mutex_lock(&gate);
}

void hdf5_unlock(void)
{
    (void)pthread_mutex_unlock(&gate);
}

bool hdf5_enter(struct hdf5_entry *entry, struct heft_error *err)
{
    if (H5open() < 0 || H5Eget_auto2(H5E_DEFAULT, &entry->report, &entry->report_ctx) < 0 ||
        H5Eset_auto2(H5E_DEFAULT, NULL, NULL) < 0)
        return hdf5_fail(err, HEFT_NOMEM, "libhdf5 cannot be started");
    if (H5PLget_loading_state(&entry->plugins) < 0)
        entry->plugins = 0;
    (void)H5PLset_loading_state(0);
    (void)H5Eclear2(H5E_DEFAULT);
    return true;
}

void hdf5_leave(const struct hdf5_entry *entry)
{
    (void)H5Eclear2(H5E_DEFAULT);
    (void)H5PLset_loading_state(entry->plugins);
    (void)H5Eset_auto2(H5E_DEFAULT, entry->report, entry->report_ctx);
}

/* ---- the table of functions -------------------------------------------------------------- */

static struct heft_h5_image *lay_out(struct heft_h5_new *datasets, size_t n,
                                     const struct heft_h5_names *names, size_t n_names,
                                     struct heft_error *err)
{
    struct heft_h5_image *image = NULL;
    struct hdf5_entry entry;

    hdf5_lock();
    if (hdf5_enter(&entry, err)) {
        image = hdf5_lay_out(datasets, n, names, n_names, err);
        hdf5_leave(&entry);
    }
    hdf5_unlock();
    return image;
}

static const char *library_version(void)
{
    return LIBRARY;
}

static uint64_t image_size(const struct heft_h5_image *image)
{
    return image->size;
}

extern const struct heft_h5_module heft_h5_module;
HEFT_API const struct heft_h5_module heft_h5_module = {
    .version = HEFT_H5_VERSION,
    .library = library_version,
    .open = hdf5_start,
    .close = hdf5_stop,
    .walk = hdf5_ask_walk,
    .read = hdf5_ask_read,
    .lay_out = lay_out,
    .image_size = image_size,
    .image_read = hdf5_image_read,
    .image_free = hdf5_image_free,
};
