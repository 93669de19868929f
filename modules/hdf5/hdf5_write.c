/* hdf5_write.c: lays out a new file: libhdf5 creates datasets and attributes in an image, allocates
 * each dataset immediately and writes no data. The result is everything except the data.
 *
 * Deterministic: no times are stored. The oldest suitable versions of structures are used, as by
 * h5py, so that every libhdf5 can read them. */
#include "hdf5_parts.h"

/* Data from this size on is aligned, so that it can be mapped as elements of any type. */
#define ALIGNED_FROM 512
#define ALIGNMENT    64

struct lists {
    hid_t access, create, link, dataset;
};

static void close_lists(const struct lists *lists)
{
    const hid_t all[] = {lists->access, lists->create, lists->link, lists->dataset};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i] >= 0)
            (void)H5Pclose(all[i]);
}

static bool make_lists(struct lists *lists, const struct hdf5_config *config,
                       struct heft_error *err)
{
    lists->access = hdf5_access(config);
    lists->create = H5Pcreate(H5P_FILE_CREATE);
    lists->link = H5Pcreate(H5P_LINK_CREATE);
    lists->dataset = H5Pcreate(H5P_DATASET_CREATE);
    return (lists->access >= 0 && lists->create >= 0 && lists->link >= 0 && lists->dataset >= 0 &&
            H5Pset_alignment(lists->access, ALIGNED_FROM, ALIGNMENT) >= 0 &&
            H5Pset_obj_track_times(lists->create, 0) >= 0 &&
            H5Pset_create_intermediate_group(lists->link, 1) >= 0 &&
            H5Pset_obj_track_times(lists->dataset, 0) >= 0 &&
            H5Pset_layout(lists->dataset, H5D_CONTIGUOUS) >= 0 &&
            H5Pset_alloc_time(lists->dataset, H5D_ALLOC_TIME_EARLY) >= 0 &&
            H5Pset_fill_time(lists->dataset, H5D_FILL_TIME_NEVER) >= 0) ||
           hdf5_blame(NULL, err, "a property list cannot be made");
}

/* ---- datasets ---------------------------------------------------------------------------- */

static hid_t make_space(unsigned rank, const uint64_t *shape)
{
    hsize_t dims[HDF5_RANK] = {0};

    for (unsigned d = 0; d < rank; d++)
        dims[d] = shape[d];
    return rank ? H5Screate_simple((int)rank, dims, NULL) : H5Screate(H5S_SCALAR);
}

static bool make_dataset(hid_t file, const struct lists *lists, struct heft_h5_new *wish,
                         struct heft_error *err)
{
    const hid_t type = hdf5_type_new(wish->dtype);
    const hid_t space = wish->rank <= HDF5_RANK ? make_space(wish->rank, wish->shape) : -1;
    hid_t dataset = -1;
    bool ok;

    if (type >= 0 && space >= 0)
        dataset =
            H5Dcreate2(file, wish->path.p, type, space, lists->link, lists->dataset, H5P_DEFAULT);
    ok = dataset >= 0 || hdf5_blame(NULL, err, wish->path.p);
    if (ok) {
        const haddr_t at = H5Dget_offset(dataset);

        wish->offset = at == HADDR_UNDEF ? HEFT_H5_NOWHERE : at;
        (void)H5Dclose(dataset);
    }
    if (space >= 0)
        (void)H5Sclose(space);
    if (type >= 0)
        (void)H5Tclose(type);
    return ok;
}

/* ---- attributes -------------------------------------------------------------------------- */

static size_t longest_name(const struct heft_h5_names *list)
{
    size_t n = 1;

    for (size_t i = 0; i < list->n; i++)
        n = list->names[i].n > n ? list->names[i].n : n;
    return n;
}

/* Writes names with fixed length, as older versions of h5py do: more of them fit into libhdf5's
 * limit. */
static bool write_names(hid_t object, const struct heft_h5_names *list, struct heft_error *err)
{
    const size_t each = longest_name(list);
    const hsize_t n = list->n;
    const hid_t type = H5Tcopy(H5T_C_S1);
    const hid_t space = list->is_text ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &n, NULL);
    char *bytes = hdf5_alloc(list->n, each, err);
    hid_t attribute = -1;
    bool ok = bytes != NULL;

    for (size_t i = 0; ok && i < list->n; i++)
        memcpy(bytes + i * each, list->names[i].p, list->names[i].n);
    if (ok && H5Tset_size(type, each) >= 0 && H5Tset_strpad(type, H5T_STR_NULLPAD) >= 0)
        attribute = H5Acreate2(object, list->attribute, type, space, H5P_DEFAULT, H5P_DEFAULT);
    ok = ok && ((attribute >= 0 && H5Awrite(attribute, type, bytes) >= 0) ||
                hdf5_blame(NULL, err, list->attribute));
    if (attribute >= 0)
        (void)H5Aclose(attribute);
    (void)H5Sclose(space);
    (void)H5Tclose(type);
    free(bytes);
    return ok;
}

static bool write_attribute(hid_t file, const struct heft_h5_names *list, struct heft_error *err)
{
    const hid_t object = H5Oopen(file, list->group.n ? list->group.p : "/", H5P_DEFAULT);
    bool ok;

    if (object < 0)
        return hdf5_blame(NULL, err, list->group.p);
    ok = write_names(object, list, err);
    (void)H5Oclose(object);
    return ok;
}

/* ---- the whole file ---------------------------------------------------------------------- */

static bool write_all(hid_t file, const struct lists *lists, struct heft_h5_new *datasets, size_t n,
                      const struct heft_h5_names *names, size_t n_names, struct heft_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (!make_dataset(file, lists, &datasets[i], err))
            return false;
    for (size_t i = 0; i < n_names; i++)
        if (!write_attribute(file, &names[i], err))
            return false;
    return true;
}

struct heft_h5_image *hdf5_lay_out(struct heft_h5_new *datasets, size_t n,
                                   const struct heft_h5_names *names, size_t n_names,
                                   struct heft_error *err)
{
    struct heft_h5_image *image = hdf5_image_new(err);
    const struct hdf5_config config = {.image = image};
    struct lists lists = {-1, -1, -1, -1};
    hid_t file = -1;
    bool ok = image && make_lists(&lists, &config, err);

    if (ok)
        file = H5Fcreate("heft", H5F_ACC_TRUNC, lists.create, lists.access);
    if (ok && file < 0)
        ok = hdf5_blame(NULL, err, "a file cannot be laid out");
    ok = ok && write_all(file, &lists, datasets, n, names, n_names, err);
    if (file >= 0 && H5Fclose(file) < 0)
        ok = ok && hdf5_blame(NULL, err, "a file cannot be laid out");
    close_lists(&lists);
    if (ok && image->failed.code == HEFT_OK)
        return image;
    if (image && image->failed.code != HEFT_OK)
        *err = image->failed;
    hdf5_image_free(image);
    return NULL;
}
