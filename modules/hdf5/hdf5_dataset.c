/* hdf5_dataset.c: properties of a dataset: shape, type, and whether heft reads it directly,
 * decoded, or not at all, and why. */
#include "hdf5_parts.h"

#include <stdio.h>

/* Decoded bytes allowed for any dataset; and their multiple of the stored bytes. */
#define BOMB_BYTES ((uint64_t)256 << 20)
#define BOMB_RATIO 1100

bool hdf5_shape_of(hid_t dataset, struct hdf5_shape *out)
{
    const hid_t space = H5Dget_space(dataset);
    hsize_t dims[HDF5_RANK];
    const int rank = space >= 0 && H5Sget_simple_extent_type(space) != H5S_NULL
                         ? H5Sget_simple_extent_ndims(space)
                         : -1;
    bool ok = rank >= 0 && rank <= HDF5_RANK && H5Sget_simple_extent_dims(space, dims, NULL) >= 0;

    *out = (struct hdf5_shape){.rank = ok ? (unsigned)rank : 0, .elements = 1};
    for (unsigned d = 0; ok && d < out->rank; d++) {
        out->dims[d] = dims[d];
        ok = dims[d] == 0 || out->elements <= UINT64_MAX / dims[d];
        out->elements *= ok ? dims[d] : 1;
    }
    if (space >= 0)
        (void)H5Sclose(space);
    return ok;
}

/* ---- how the data is stored -------------------------------------------------------------- */

/* Names a filter that this libhdf5 lacks. */
static bool judge_filters(hid_t list, char *why, size_t room)
{
    const int n = H5Pget_nfilters(list);

    for (int i = 0; i < n; i++) {
        char name[64] = "";
        unsigned flags, options[1];
        size_t n_options = 0;
        const H5Z_filter_t id =
            H5Pget_filter2(list, (unsigned)i, &flags, &n_options, options, sizeof name, name, NULL);

        name[sizeof name - 1] = '\0';
        if (id < 0)
            return (void)snprintf(why, room, "one of its filters cannot be read"), false;
        if (H5Zfilter_avail(id) <= 0)
            return (void)snprintf(
                       why, room,
                       "it is packed by the filter %d%s%s, which this libhdf5 has not "
                       "got (heft loads no plugins: copy it without compression by h5py)",
                       id, name[0] ? " " : "", name),
                   false;
    }
    return true;
}

static bool judge_chunk(hid_t list, const struct hdf5_shape *shape, size_t each, char *why,
                        size_t room)
{
    hsize_t dims[HDF5_RANK];
    const int rank = H5Pget_chunk(list, HDF5_RANK, dims);
    uint64_t bytes = each;

    if (rank < 0 || (unsigned)rank != shape->rank)
        return (void)snprintf(why, room, "its chunks have another rank than it has"), false;
    for (int d = 0; d < rank; d++)
        bytes = dims[d] && bytes > HDF5_CHUNK / dims[d] ? HDF5_CHUNK + 1 : bytes * dims[d];
    if (bytes > HDF5_CHUNK)
        return (void)snprintf(why, room, "its chunks have more than %llu bytes each, the limit",
                              (unsigned long long)HDF5_CHUNK),
               false;
    return judge_filters(list, why, room);
}

static bool judge_layout(hid_t dataset, hid_t list, const struct hdf5_shape *shape, size_t each,
                         bool *is_elsewhere, char *why, size_t room)
{
    const uint64_t stored = H5Dget_storage_size(dataset), bytes = shape->elements * each;
    const H5D_layout_t layout = H5Pget_layout(list);

    *is_elsewhere = layout == H5D_VIRTUAL || H5Pget_external_count(list) != 0;
    if (layout == H5D_VIRTUAL)
        return (void)snprintf(why, room, "a virtual dataset: heft opens no second file"), false;
    if (*is_elsewhere)
        return (void)snprintf(why, room, "its data lies in other files: heft opens no second file"),
               false;
    if (bytes > BOMB_BYTES && bytes / BOMB_RATIO > stored)
        return (void)snprintf(why, room, "%llu bytes that %llu stored ones are said to unpack to",
                              (unsigned long long)bytes, (unsigned long long)stored),
               false;
    if (layout == H5D_CHUNKED)
        return judge_chunk(list, shape, each, why, room);
    if (layout != H5D_CONTIGUOUS && layout != H5D_COMPACT)
        return (void)snprintf(why, room, "it is stored in a way that heft does not know"), false;
    return true;
}

/* Position of a contiguous dataset's bytes in the file. */
static uint64_t place_of(hid_t dataset, hid_t list, uint64_t bytes)
{
    const haddr_t at =
        H5Pget_layout(list) == H5D_CONTIGUOUS && bytes ? H5Dget_offset(dataset) : HADDR_UNDEF;

    return at != HADDR_UNDEF && H5Dget_storage_size(dataset) == bytes ? at : HEFT_H5_NOWHERE;
}

/* ---- describing a dataset ---------------------------------------------------------------- */

static void fill_dataset(hid_t dataset, hid_t type, const struct hdf5_shape *shape,
                         struct heft_h5_dataset *out, bool *is_text, char *why, size_t room)
{
    const struct hdf5_type found = hdf5_type_of(type, dataset);
    const size_t each = H5Tget_size(type);
    const hid_t list = H5Dget_create_plist(dataset);

    *is_text = found.is_text;
    why[0] = '\0';
    out->dtype = found.dtype;
    out->is_big = found.is_big;
    if (found.why)
        (void)snprintf(why, room, "%s", found.why);
    else if (list < 0 || each == 0 || shape->elements > UINT64_MAX / each)
        (void)snprintf(why, room, "its size or properties cannot be read");
    else if (judge_layout(dataset, list, shape, each, &out->is_elsewhere, why, room)) {
        out->bytes = shape->elements * each;
        out->offset = place_of(dataset, list, out->bytes);
        out->work = hdf5_work(list, shape, each);
    }
    if (list >= 0)
        (void)H5Pclose(list);
}

bool hdf5_describe(const struct hdf5_file *file, hid_t dataset, struct hdf5_shape *shape,
                   struct heft_h5_dataset *out, bool *is_text, char *why, size_t room,
                   struct heft_error *err)
{
    const hid_t type = H5Dget_type(dataset);

    out->offset = HEFT_H5_NOWHERE;
    out->why = NULL;
    out->is_elsewhere = false;
    if (type < 0)
        return hdf5_blame(file, err, "the type of a dataset");
    if (hdf5_shape_of(dataset, shape)) {
        fill_dataset(dataset, type, shape, out, is_text, why, room);
    } else {
        *is_text = false;
        (void)snprintf(why, room, "it has no shape: an empty one of h5py");
    }
    (void)H5Tclose(type);
    out->rank = shape->rank;
    out->shape = shape->dims;
    if (why[0])
        out->why = why;
    return true;
}
