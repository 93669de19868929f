/* hdf5_read.c: reads chunked, compact and never written datasets with libhdf5.
 *
 *     elements in row-major order:   [ band 0 ][ band 1 ][ band 2 ] …
 *
 * A band contains the whole rows (of the first dimensions) that one row of chunks covers. It is
 * decoded once and cached, because reads come piece by piece. If even one row of chunks is larger
 * than the cache, a band is a part of a single row, and chunks of several rows are decoded once for
 * each of them. */
#include "hdf5_parts.h"

struct box {
    hsize_t start[HDF5_RANK], count[HDF5_RANK];
};

struct reading {
    struct hdf5_file *file;
    hid_t dataset, type;
    struct hdf5_shape shape;
    uint64_t chunk[HDF5_RANK]; /* all 1 if not chunked */
    size_t each;
    uint64_t address;
};

/* ---- opening a dataset ------------------------------------------------------------------- */

static bool open_dataset(struct hdf5_file *file, uint64_t address, struct heft_error *err)
{
    if (file->dataset > 0 && file->dataset_address == address)
        return true;
    if (file->dataset > 0)
        (void)H5Dclose(file->dataset);
    file->dataset_address = address;
    file->dataset = H5Oopen_by_addr(file->id, (haddr_t)address);
    return file->dataset > 0 || hdf5_blame(file, err, "a dataset cannot be opened");
}

static void take_chunk(struct reading *r, hid_t list)
{
    hsize_t dims[HDF5_RANK];
    int rank = -1;

    if (list >= 0 && H5Pget_layout(list) == H5D_CHUNKED)
        rank = H5Pget_chunk(list, HDF5_RANK, dims);
    for (unsigned d = 0; d < HDF5_RANK; d++)
        r->chunk[d] = rank > 0 && d < (unsigned)rank && dims[d] ? dims[d] : 1;
}

static bool reading_begin(struct reading *r, struct heft_error *err)
{
    const hid_t list = H5Dget_create_plist(r->dataset);

    take_chunk(r, list);
    if (list >= 0)
        (void)H5Pclose(list);
    r->type = H5Dget_type(r->dataset);
    r->each = r->type < 0 ? 0 : H5Tget_size(r->type);
    return (r->each > 0 && hdf5_shape_of(r->dataset, &r->shape)) ||
           hdf5_blame(r->file, err, "a dataset");
}

/* ---- reading boxes ----------------------------------------------------------------------- */

/* Number of elements below one index of dimension d. */
static uint64_t elements_below(const struct reading *r, unsigned d)
{
    uint64_t n = 1;

    for (unsigned k = d + 1; k < r->shape.rank; k++)
        n *= r->shape.dims[k];
    return n;
}

/* The largest box (n-d view) that begins at element `at` and is contiguous: a range of dimension d,
 * and all of the inner dimensions. */
static uint64_t box_at(const struct reading *r, uint64_t at, uint64_t n, struct box *box)
{
    unsigned d = 0;
    uint64_t step;

    while (d + 1 < r->shape.rank && (at % elements_below(r, d) != 0 || elements_below(r, d) > n))
        d++;
    step = elements_below(r, d);
    for (unsigned k = 0; k < r->shape.rank; k++) {
        box->start[k] = at / elements_below(r, k) % r->shape.dims[k];
        box->count[k] = k < d ? 1 : r->shape.dims[k];
    }
    box->count[d] = r->shape.dims[d] - box->start[d];
    if (box->count[d] > n / step)
        box->count[d] = n / step;
    return box->count[d] * step;
}

/* The box has the same shape in memory: for different shapes libhdf5 makes a list of the elements
 * of narrow chunks, which takes more memory and time than the elements. */
static bool read_box(const struct reading *r, const struct box *box, uint64_t n, uint8_t *dst,
                     struct heft_error *err)
{
    const hid_t from = H5Dget_space(r->dataset);
    const hid_t to = r->shape.rank ? H5Screate_simple((int)r->shape.rank, box->count, NULL)
                                   : H5Screate(H5S_SCALAR);
    bool ok;

    hdf5_step(n * r->each + HDF5_CHUNK / 4);
    ok = from >= 0 && to >= 0 &&
         (r->shape.rank == 0 ||
          H5Sselect_hyperslab(from, H5S_SELECT_SET, box->start, NULL, box->count, NULL) >= 0) &&
         H5Dread(r->dataset, r->type, to, from, H5P_DEFAULT, dst) >= 0;
    ok = ok || hdf5_blame(r->file, err, "a dataset cannot be read");

    if (from >= 0)
        (void)H5Sclose(from);
    if (to >= 0)
        (void)H5Sclose(to);
    return ok;
}

/* Reads elements [at, at+n). */
static bool read_run(const struct reading *r, uint64_t at, uint64_t n, uint8_t *dst,
                     struct heft_error *err)
{
    while (n > 0) {
        struct box box = {{0}, {0}};
        const uint64_t now = r->shape.rank ? box_at(r, at, n, &box) : n;

        if (!read_box(r, &box, now, dst, err))
            return false;
        dst += now * r->each;
        at += now;
        n -= now;
    }
    return true;
}

/* ---- bands of decoded rows --------------------------------------------------------------- */

/* Number of elements of a band: one row of chunks, or several if they are small. */
static uint64_t band_length(const struct reading *r)
{
    const uint64_t most = HDF5_BAND / HDF5_BANDS / r->each, kept = HDF5_BAND / r->each;
    uint64_t row, length;

    if (r->shape.rank == 0)
        return 1;
    row = elements_below(r, 0);
    length = row && r->chunk[0] > UINT64_MAX / row ? UINT64_MAX : r->chunk[0] * row;
    if (length <= most && length)
        return most / length * length;
    if (length <= kept)
        return length;
    for (unsigned d = 0; d < r->shape.rank; d++) { /* whole rows of an inner dimension */
        row = elements_below(r, d);
        if (row > 0 && row <= most)
            return most / row * row;
    }
    return most;
}

static uint64_t multiply_capped(uint64_t a, uint64_t b)
{
    return b && a > UINT64_MAX / b ? UINT64_MAX : a * b;
}

/* Number of elements in the chunks that a band touches: a range of rows of one dimension, and for
 * all outer dimensions one row of chunks. */
static uint64_t band_chunks(const struct reading *r, uint64_t length)
{
    uint64_t n = 1, rows;
    unsigned d = 0;

    while (d + 1 < r->shape.rank && elements_below(r, d) > length)
        n = multiply_capped(n, r->chunk[d++]);
    rows = length / elements_below(r, d);
    return multiply_capped(multiply_capped(n, rows > r->chunk[d] ? rows : r->chunk[d]),
                           elements_below(r, d));
}

/* If libhdf5 can cache all chunks, the next band finds them decoded. */
uint64_t hdf5_work(hid_t list, const struct hdf5_shape *shape, size_t each)
{
    struct reading r = {.shape = *shape, .each = each};
    uint64_t length, bands, bytes;

    if (shape->rank == 0 || shape->elements == 0)
        return shape->elements * each;
    take_chunk(&r, list);
    length = band_length(&r);
    bytes = multiply_capped(band_chunks(&r, length), each);
    bands = (shape->elements - 1) / length + 1;
    return bytes <= HDF5_CHUNK ? shape->elements * each : multiply_capped(bands, bytes);
}

static struct hdf5_band *find_band(const struct reading *r, uint64_t first)
{
    for (unsigned i = 0; i < HDF5_BANDS; i++) {
        struct hdf5_band *band = &r->file->bands[i];

        if (band->bytes && band->address == r->address && band->first == first)
            return band;
    }
    return NULL;
}

static void drop_band(struct hdf5_band *band)
{
    free(band->bytes);
    *band = (struct hdf5_band){0};
}

/* Empties the band that was used least recently; all bands if the new one does not fit beside the
 * others. */
static struct hdf5_band *make_room(struct hdf5_file *file, size_t size)
{
    struct hdf5_band *oldest = &file->bands[0];
    size_t held = size;
    bool is_full;

    for (unsigned i = 0; i < HDF5_BANDS; i++) {
        held += file->bands[i].size;
        if (file->bands[i].used_at < oldest->used_at)
            oldest = &file->bands[i];
    }
    is_full = held - oldest->size > HDF5_BAND;
    for (unsigned i = 0; i < HDF5_BANDS; i++)
        if (is_full || &file->bands[i] == oldest)
            drop_band(&file->bands[i]);
    return oldest;
}

static struct hdf5_band *load_band(const struct reading *r, uint64_t first, uint64_t n,
                                   struct heft_error *err)
{
    struct hdf5_band *band = find_band(r, first);

    if (band)
        return band;
    band = make_room(r->file, (size_t)(n * r->each));
    band->bytes = hdf5_alloc((size_t)n, r->each, err);
    if (!band->bytes || !read_run(r, first, n, band->bytes, err)) {
        drop_band(band);
        return NULL;
    }
    band->size = (size_t)(n * r->each);
    band->address = r->address;
    band->first = first;
    band->n = n;
    return band;
}

static bool read_bands(const struct reading *r, uint64_t off, uint8_t *dst, size_t n,
                       struct heft_error *err)
{
    const uint64_t length = band_length(r);

    while (n > 0) {
        const uint64_t first = off / r->each / length * length;
        const uint64_t left = r->shape.elements - first;
        struct hdf5_band *band = load_band(r, first, left < length ? left : length, err);
        const uint64_t in = off - first * r->each;
        size_t now;

        if (!band)
            return false;
        now = band->size - (size_t)in < n ? band->size - (size_t)in : n;
        memcpy(dst, band->bytes + in, now);
        band->used_at = ++r->file->clock;
        dst += now;
        off += now;
        n -= now;
    }
    return true;
}

bool hdf5_read(struct hdf5_file *file, uint64_t address, uint64_t off, void *dst, size_t n,
               struct heft_error *err)
{
    struct reading r = {.file = file, .address = address, .type = -1};
    bool ok = open_dataset(file, address, err);

    r.dataset = file->dataset;
    ok = ok && reading_begin(&r, err) && read_bands(&r, off, dst, n, err);
    if (r.type >= 0)
        (void)H5Tclose(r.type);
    return ok;
}
