/* hdf5_module.c: the table that heft opens, the lock around libhdf5, and its errors as ours. */
#include "hdf5_parts.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

/* libhdf5 has one state for a whole process, and so one lock. */
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

#define LIBRARY (H5_VERS_INFO + sizeof "HDF5 library version: " - 1)

#define METADATA_READS 64 /* times a file's size that may be read of it in all while it is walked */
#define METADATA_FREE  ((uint64_t)1 << 20)

/* ---- errors ------------------------------------------------------------------------------ */

bool hdf5_fail(struct heft_error *err, enum heft_code code, const char *format, ...)
{
    va_list args;

    err->code = code;
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

/* The innermost entry comes first and says what was found; any may say that it is too new. */
static herr_t judge(unsigned n, const H5E_error2_t *entry, void *ctx)
{
    struct cause *cause = ctx;
    const char *const text = entry->desc ? entry->desc : "";

    if (n == 0)
        (void)snprintf(cause->text, sizeof cause->text, "%s", text);
    if (entry->min_num == H5E_VERSION || strstr(text, "version") || strstr(text, "unknown"))
        cause->code = HEFT_UNSUPPORTED;
    if (entry->min_num == H5E_NOSPACE || entry->min_num == H5E_CANTALLOC)
        cause->code = cause->code == HEFT_MALFORMED ? HEFT_NOMEM : cause->code;
    return 0;
}

bool hdf5_blame(const struct heft_h5_file *file, struct heft_error *err, const char *what)
{
    struct cause cause = {"nothing", HEFT_MALFORMED};

    if (file && file->failed.code != HEFT_OK) {
        *err = file->failed;
        return false;
    }
    (void)H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, judge, &cause);
    return hdf5_fail(err, cause.code, "%s: libhdf5 %s says: %s", what, LIBRARY, cause.text);
}

void *hdf5_alloc(size_t n, size_t each, struct heft_error *err)
{
    void *p = calloc(n ? n : 1, each);

    if (!p)
        hdf5_fail(err, HEFT_NOMEM, "out of memory");
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
        return hdf5_fail(err, HEFT_NOMEM, "out of memory");
    memcpy(items, &p, sizeof p);
    *cap = wanted;
    return true;
}

/* ---- the lock ---------------------------------------------------------------------------- */

bool hdf5_enter(struct hdf5_entry *entry, struct heft_error *err)
{
    (void)pthread_mutex_lock(&gate);
    if (H5open() < 0 || H5Eget_auto2(H5E_DEFAULT, &entry->report, &entry->report_ctx) < 0 ||
        H5Eset_auto2(H5E_DEFAULT, NULL, NULL) < 0) {
        (void)pthread_mutex_unlock(&gate);
        return hdf5_fail(err, HEFT_NOMEM, "libhdf5 cannot be started");
    }
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
    (void)pthread_mutex_unlock(&gate);
}

/* ---- opening ----------------------------------------------------------------------------- */

static uint64_t read_budget(uint64_t size)
{
    return size < UINT64_MAX / (2 * METADATA_READS) ? size * METADATA_READS + METADATA_FREE
                                                    : UINT64_MAX / 2;
}

static bool open_inside(struct heft_h5_file *file, struct heft_error *err)
{
    const hid_t access = hdf5_access(&file->config);

    if (access < 0)
        return hdf5_blame(file, err, "a file driver cannot be made");
    file->id = H5Fopen("heft", H5F_ACC_RDONLY, access);
    (void)H5Pclose(access);
    if (file->id < 0)
        return hdf5_blame(file, err, "the file cannot be opened");
    return true;
}

static struct heft_h5_file *open_file(const struct heft_h5_input *input, struct heft_error *err)
{
    struct heft_h5_file *file = hdf5_alloc(1, sizeof *file, err);
    struct hdf5_entry entry;
    bool ok;

    if (!file || !hdf5_enter(&entry, err)) {
        free(file);
        return NULL;
    }
    file->input = *input;
    file->budget = read_budget(input->size);
    file->config = (struct hdf5_config){.input = &file->input,
                                        .failed = &file->failed,
                                        .budget = &file->budget,
                                        .is_open = &file->is_open};
    ok = open_inside(file, err);
    hdf5_leave(&entry);
    if (ok)
        return file;
    free(file);
    return NULL;
}

static void close_file(struct heft_h5_file *file)
{
    struct heft_error ignored;
    struct hdf5_entry entry;

    if (file && hdf5_enter(&entry, &ignored)) {
        hdf5_bands_release(file);
        (void)H5Fclose(file->id);
        hdf5_leave(&entry);
    }
    free(file);
}

/* ---- the rest, under the lock ------------------------------------------------------------- */

static bool walk_file(struct heft_h5_file *file, const struct heft_h5_visitor *visitor,
                      struct heft_error *err)
{
    struct hdf5_entry entry;
    bool ok;

    if (!hdf5_enter(&entry, err))
        return false;
    ok = hdf5_walk(file, visitor, err);
    hdf5_leave(&entry);
    return ok;
}

static bool read_file(struct heft_h5_file *file, uint64_t address, uint64_t off, void *dst,
                      size_t n, struct heft_error *err)
{
    struct hdf5_entry entry;
    bool ok;

    if (!hdf5_enter(&entry, err))
        return false;
    file->budget = UINT64_MAX; /* of walking only: data is bounded by what is asked for */
    ok = hdf5_read(file, address, off, dst, n, err);
    hdf5_leave(&entry);
    return ok;
}

static struct heft_h5_image *lay_out(struct heft_h5_new *datasets, size_t n,
                                     const struct heft_h5_names *names, size_t n_names,
                                     struct heft_error *err)
{
    struct heft_h5_image *image;
    struct hdf5_entry entry;

    if (!hdf5_enter(&entry, err))
        return NULL;
    image = hdf5_lay_out(datasets, n, names, n_names, err);
    hdf5_leave(&entry);
    return image;
}

static const char *library(void)
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
    .library = library,
    .open = open_file,
    .close = close_file,
    .walk = walk_file,
    .read = read_file,
    .lay_out = lay_out,
    .image_size = image_size,
    .image_copy = hdf5_image_copy,
    .image_free = hdf5_image_free,
};
