/* hdf5_driver.c: libhdf5's file driver for heft's bytes. It reads from an input, or stores what is
 * written in an image; it never opens a file of the system, and no second one by a link.
 *
 *     input:  0 ──────────────────────────────────── size     read-only
 *     image:  what was written, else zeros (hdf5_image.c)
 *
 * An image contains only a new file's metadata: the data of its datasets is not written. */
#include "hdf5_parts.h"

#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

#define CACHE_BYTES ((size_t)2 << 20)   /* metadata that libhdf5 caches */
#define MOST_CACHE  ((size_t)128 << 20) /* maximum that libhdf5 accepts */

struct driver_file {
    H5FD_t base; /* libhdf5's part of the struct; must be the first member */
    struct hdf5_config config;
    haddr_t eoa;
};

/* ---- callbacks of the driver ------------------------------------------------------------- */

static H5FD_t *driver_open(const char *name, unsigned flags, hid_t access, haddr_t most)
{
    const struct hdf5_config *config = H5Pget_driver_info(access);
    struct driver_file *file;

    (void)name;
    (void)flags;
    (void)most;
    if (!config || (config->is_open && *config->is_open))
        return NULL;
    file = hdf5_alloc(1, sizeof *file, config->failed ? config->failed : &config->image->failed);
    if (!file)
        return NULL;
    file->config = *config;
    if (config->is_open)
        *config->is_open = true;
    return &file->base;
}

static herr_t driver_close(H5FD_t *base)
{
    struct driver_file *file = (struct driver_file *)base;

    if (file->config.image)
        file->config.image->size = file->eoa;
    free(file);
    return 0;
}

/* libhdf5 compares two open files. */
static int driver_cmp(const H5FD_t *a, const H5FD_t *b)
{
    return (a > b) - (a < b);
}

static herr_t driver_query(const H5FD_t *base, unsigned long *flags)
{
    (void)base;
    *flags = 0; /* no buffer for small data: unwritten data must not be read */
    return 0;
}

static haddr_t driver_eoa(const H5FD_t *base, H5FD_mem_t type)
{
    (void)type;
    return ((const struct driver_file *)base)->eoa;
}

static herr_t driver_set_eoa(H5FD_t *base, H5FD_mem_t type, haddr_t eoa)
{
    (void)type;
    ((struct driver_file *)base)->eoa = eoa;
    return 0;
}

static haddr_t driver_eof(const H5FD_t *base, H5FD_mem_t type)
{
    const struct driver_file *file = (const struct driver_file *)base;

    (void)type;
    return file->config.input ? file->config.input->size : file->eoa;
}

static herr_t read_input(const struct hdf5_config *config, uint64_t off, void *dst, size_t n)
{
    const struct heft_h5_input *input = config->input;

    if (off > input->size || n > input->size - off)
        return hdf5_fail(config->failed, HEFT_MALFORMED,
                         "%zu bytes expected at %llu, the file ends at %llu", n,
                         (unsigned long long)off, (unsigned long long)input->size) -
               1;
    if (n > *config->budget)
        return hdf5_fail(config->failed, HEFT_LIMIT,
                         "libhdf5 reads its structures repeatedly: do they refer to each other "
                         "in a circle?") -
               1;
    *config->budget -= n;
    return input->read(input->ctx, off, dst, n, config->failed) ? 0 : -1;
}

static herr_t driver_read(H5FD_t *base, H5FD_mem_t type, hid_t transfer, haddr_t off, size_t n,
                          void *dst)
{
    const struct driver_file *file = (const struct driver_file *)base;

    (void)type;
    (void)transfer;
    if (file->config.input)
        return read_input(&file->config, off, dst, n);
    return hdf5_image_read(file->config.image, off, dst, n, &file->config.image->failed) ? 0 : -1;
}

static herr_t driver_write(H5FD_t *base, H5FD_mem_t type, hid_t transfer, haddr_t off, size_t n,
                           const void *src)
{
    const struct driver_file *file = (const struct driver_file *)base;

    (void)type;
    (void)transfer;
    if (!file->config.image)
        return -1;
    hdf5_image_write(file->config.image, off, src, n);
    return 0;
}

static const H5FD_class_t driver = {
#if H5_VERSION_GE(1, 13, 0)
    .version = H5FD_CLASS_VERSION,
    .value = (H5FD_class_value_t)521,
#endif
    .name = "heft",
    .maxaddr = (haddr_t)INT64_MAX,
    .fc_degree = H5F_CLOSE_STRONG,
    .fapl_size = sizeof(struct hdf5_config),
    .open = driver_open,
    .close = driver_close,
    .cmp = driver_cmp,
    .query = driver_query,
    .get_eoa = driver_eoa,
    .set_eoa = driver_set_eoa,
    .get_eof = driver_eof,
    .read = driver_read,
    .write = driver_write,
    .fl_map = H5FD_FLMAP_DICHOTOMY,
};

/* libhdf5 counts cached metadata by its size in the file, which is several times smaller than in
 * memory.
 *
 * The names of a group are one entry, which every member needs. In a cache with less room it would
 * be written and read again for each member, in quadratic time: the cache grows for a large entry
 * only. */
static void limit_cache(H5AC_cache_config_t *config)
{
    config->set_initial_size = 1;
    config->initial_size = CACHE_BYTES;
    config->min_size = CACHE_BYTES;
    config->max_size = MOST_CACHE;
    config->incr_mode = H5C_incr__off;
    config->decr_mode = H5C_decr__off;
    config->flash_incr_mode = H5C_flash_incr__add_space;
    config->flash_multiple = 1.0;
}

static bool set_cache(hid_t access)
{
    H5AC_cache_config_t config = {.version = H5AC__CURR_CACHE_CONFIG_VERSION};

    if (H5Pget_mdc_config(access, &config) < 0)
        return false;
    limit_cache(&config);
    return H5Pset_mdc_config(access, &config) >= 0;
}

void hdf5_shrink_cache(hid_t file)
{
    H5AC_cache_config_t config = {.version = H5AC__CURR_CACHE_CONFIG_VERSION};

    if (H5Fget_mdc_config(file, &config) < 0)
        return;
    limit_cache(&config);
    (void)H5Fset_mdc_config(file, &config);
}

/* Keeps one decoded chunk of the largest size: bands of it are read one by one. */
static bool keep_chunks(hid_t access)
{
    int unused;
    size_t slots, bytes;
    double weight;

    return H5Pget_cache(access, &unused, &slots, &bytes, &weight) >= 0 &&
           H5Pset_cache(access, unused, slots, (size_t)HDF5_CHUNK, weight) >= 0;
}

hid_t hdf5_access(const struct hdf5_config *config)
{
    const hid_t number = H5FDregister(&driver);
    const hid_t access = number < 0 ? -1 : H5Pcreate(H5P_FILE_ACCESS);

    const bool ok = access >= 0 && H5Pset_driver(access, number, config) >= 0 &&
                    set_cache(access) && keep_chunks(access);

    if (number >= 0)
        (void)H5FDunregister(number); /* still referenced by the list, then by the file */
    if (!ok && access >= 0)
        (void)H5Pclose(access);
    return ok ? access : -1;
}
