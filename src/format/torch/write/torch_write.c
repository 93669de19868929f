/* torch_write.c: plans the zip of torch.save, in the layout of PyTorchStreamWriter.
 *
 *     50 4b 03 04  0  flags  0 0 0  0 0 0  n x     local header: no sizes, no checksum
 *     root/data/0                                  n
 *     [01 00  size, 0, begin]  46 42 pad ZZZ…      x: zip64 if needed, then padding up to the alignment
 *     payload                                      at a multiple of 64
 *     50 4b 07 08  crc  size  size                 unless it is empty; 64-bit sizes with zip64
 *     … more records …
 *     50 4b 01 02 …                                central directory: sizes and checksums
 *     50 4b 06 06 … 50 4b 06 07 … 50 4b 05 06 …    end records, always both kinds
 *
 * Records: data.pkl, the small ones of the layout, storages in the order of the pickle, version,
 * serialization id. Everything but the payloads is a late op: checksums are known only after the
 * payloads are written, and headers made late need no memory. */
#include "base/endian.h"
#include "format/torch/write/torch_write.h"
#include "wire/zip_write.h"

#define ALIGNMENT 64
#define LOCAL     30
#define CENTRAL   46
#define MAX32     UINT32_MAX /* zip64 from this size on */
#define FLAGS     0x0800     /* flag bit: names are UTF-8 */
#define HAS_SIZES 0x0008     /* a data descriptor follows */
#define SERIAL    40
#define LAST      "version" /* follows the storages */
#define MAX_ROOT  4096      /* bytes; far below the limit of a record's name */
#define BLOCK     512       /* directory entries made at once */

/* The small records of each torch release's layout. */
struct layout {
    const char *name;
    bool has_format, has_byteorder, has_serial;
};
static const struct layout layouts[] = {
    {"2.8", true, true, true},
    {"2.1", false, true, true},
    {"1.6", false, false, false},
};
enum { LAYOUT, N_OPTIONS };
const struct heft_format_option heft_torch_options[N_OPTIONS + 1] = {
    [LAYOUT] = {.name = "torch-layout",
                .kind = HEFT_OPTION_TEXT,
                .value = "VERSION",
                .choices = "1.6|2.1|2.8",
                .help = "write the records of this release (default: the newest)"},
};

struct directory;

struct record {
    const struct directory *of;
    const char *name; /* without the root; NULL for a storage, which is named by its number */
    uint64_t begin;   /* offset of its local header */
    uint64_t size;    /* bytes of the payload */
    uint32_t sum;     /* the plan's sum of the payload */
    uint16_t wide;    /* bytes of its zip64 field, or 0 */
};

/* Input of the late ops; lives in the plan's arena. */
struct directory {
    struct heft_str root;
    struct record *records;
    size_t n, storages; /* number of records; position of the first storage */
    uint64_t names;     /* combined hash of the names, for the serialization id */
};

struct archive {
    struct heft_torch_out *out;
    struct heft_plan *plan;
    uint32_t file;
    const struct layout *layout;
    struct directory *dir;
    uint64_t payload; /* offset of the payload of the record being added … */
    uint64_t wanted;  /* … and its announced size */
    struct heft_error *err;
};

/* ---- byte helpers ------------------------------------------------------------------------ */

static void put_zeros(struct heft_pen *c, size_t n)
{
    memset(c->p, 0, n);
    c->p += n;
}

/* Sizes that do not fit are 0xffffffff: see the zip64 field. */
static uint64_t cap_at_32_bits(uint64_t v)
{
    return heft_min_u64(v, MAX32);
}

/* Bytes of a zip64 field: both sizes and the offset, each only if it does not fit. */
static uint16_t wide_field(uint64_t begin, uint64_t size)
{
    unsigned numbers = 0;

    if (size >= MAX32)
        numbers += 2;
    if (begin >= MAX32)
        numbers += 1;
    return (uint16_t)(numbers ? 4 + 8 * numbers : 0);
}

/* ---- local headers and descriptors ------------------------------------------------------- */

uint64_t heft_torch_payload(uint64_t begin, size_t name, uint64_t size, uint16_t *wide)
{
    uint64_t data;

    *wide = wide_field(begin, size);
    data = begin + LOCAL + name + *wide + 4;
    return data + (ALIGNMENT - data % ALIGNMENT) % ALIGNMENT;
}

static struct heft_str name_of(const void *ctx, size_t i, char *room)
{
    const struct directory *dir = ctx;
    const struct record *r = &dir->records[i];

    return r->name ? heft_str_of(r->name) : heft_torch_key_name("data/", i - dir->storages, room);
}

/* Length of the name with root and slash. */
static uint16_t name_size(const struct record *r)
{
    char room[HEFT_TORCH_NAME];

    return (uint16_t)(r->of->root.n + 1 + name_of(r->of, (size_t)(r - r->of->records), room).n);
}

static void put_name(struct heft_pen *c, const struct record *r)
{
    char room[HEFT_TORCH_NAME];
    const struct heft_str name = name_of(r->of, (size_t)(r - r->of->records), room);

    memcpy(c->p, r->of->root.p, r->of->root.n);
    c->p += r->of->root.n;
    *c->p++ = '/';
    memcpy(c->p, name.p, name.n);
    c->p += name.n;
}

/* Writes the local header and its padding up to `end`, where the payload begins. */
static void put_local(struct heft_pen *c, const struct record *r, const uint8_t *end)
{
    const uint16_t name = name_size(r);
    const uint64_t extra = (uint64_t)(end - c->p) - LOCAL - name;

    heft_pen_le32(c, 0x04034b50);
    heft_pen_le16(c, 0);
    heft_pen_le16(c, r->size ? FLAGS | HAS_SIZES : FLAGS);
    put_zeros(c, 18); /* method, time, date, checksum, sizes: all 0 */
    heft_pen_le16(c, name);
    heft_pen_le16(c, extra);
    put_name(c, r);
    if (r->wide) {
        heft_pen_le16(c, 1);
        heft_pen_le16(c, r->wide - 4u);
        if (r->size >= MAX32) {
            heft_pen_le64(c, r->size);
            heft_pen_le64(c, 0); /* torch writes 0: not yet known */
        }
        if (r->begin >= MAX32)
            heft_pen_le64(c, r->begin);
    }
    heft_pen_le16(c, 0x4246); /* id of the padding field: "FB" */
    heft_pen_le16(c, extra - r->wide - 4);
    memset(c->p, 'Z', (size_t)(end - c->p));
    c->p += end - c->p;
}

static size_t descriptor_size(const struct record *r)
{
    return r->size == 0 ? 0 : r->wide ? 24 : 16;
}

static void put_descriptor(struct heft_pen *c, const struct record *r, const uint32_t *sums)
{
    if (r->size == 0)
        return;
    heft_pen_le32(c, 0x08074b50);
    heft_pen_le32(c, sums[r->sum]);
    if (r->wide) {
        heft_pen_le64(c, r->size);
        heft_pen_le64(c, r->size);
    } else {
        heft_pen_le32(c, r->size);
        heft_pen_le32(c, r->size);
    }
}

/* Makes the bytes between two payloads: descriptor of the first, local header of the second. */
static void fill_between(const void *ctx, const uint32_t *sums, uint8_t *out, size_t n)
{
    const struct record *r = ctx;
    struct heft_pen c = {out};

    if (r > r->of->records)
        put_descriptor(&c, r - 1, sums);
    put_local(&c, r, out + n);
}

static void fill_descriptor(const void *ctx, const uint32_t *sums, uint8_t *out, size_t n)
{
    struct heft_pen c = {out};

    (void)n;
    put_descriptor(&c, ctx, sums);
}

/* The caller adds the payload between begin_record and end_record. Its size may differ from the
 * announced one, but must be on the same side of 4 GiB. */
static bool begin_record(struct archive *a, const char *name, uint64_t size)
{
    struct directory *dir = a->dir;
    struct record *r = &dir->records[dir->n];
    const uint64_t at = a->plan->files[a->file].size;

    if (at > UINT64_MAX / 4 || size > UINT64_MAX / 4)
        return heft_fail(a->err, HEFT_LIMIT, HEFT_NO_OFFSET, "the output has 2^62 bytes or more");
    *r = (struct record){.of = dir, .name = name, .size = size};
    r->begin = at + (dir->n ? descriptor_size(r - 1) : 0);
    dir->n++;
    a->payload = heft_torch_payload(r->begin, name_size(r), size, &r->wide);
    a->wanted = size;
    if (!heft_plan_late(a->plan, a->file, (struct heft_late){fill_between, r}, a->payload - at,
                        a->err))
        return false;
    r->sum = heft_plan_sum_begin(a->plan);
    return true;
}

static bool end_record(struct archive *a)
{
    struct record *r = &a->dir->records[a->dir->n - 1];

    heft_plan_sum_end(a->plan);
    r->size = a->plan->files[a->file].size - a->payload;
    return (r->size >= MAX32) == (a->wanted >= MAX32) ||
           heft_fail(a->err, HEFT_LIMIT, HEFT_NO_OFFSET, "the pickle has 4 GiB or more");
}

static bool add_small(struct archive *a, const char *name, struct heft_str bytes)
{
    return begin_record(a, name, bytes.n) && heft_plan_put(a->plan, a->file, bytes, a->err) &&
           end_record(a);
}

/* ---- records ----------------------------------------------------------------------------- */

static bool add_pickle(struct archive *a)
{
    return begin_record(a, "data.pkl", 0) &&
           heft_torch_write_pickle(a->out, HEFT_TORCH_ZIP, a->err) && end_record(a);
}

static bool add_storage(struct archive *a, struct heft_torch_piece *piece)
{
    return begin_record(a, NULL, heft_torch_bytes(piece)) &&
           heft_torch_out_put(a->out, piece, a->err) && end_record(a);
}

/* ---- the serialization id ---------------------------------------------------------------- */

/* Makes the serialization id: twenty digits from the names, twenty from the checksums of all
 * non-empty records before it. */
static void fill_serial(const void *ctx, const uint32_t *sums, uint8_t *out, size_t n)
{
    const struct directory *dir = ctx;
    uint64_t hash = 0, names = dir->names;

    for (size_t i = 0; i + 1 < dir->n; i++)
        if (dir->records[i].size)
            hash = heft_torch_combine(hash, sums[dir->records[i].sum]);
    for (size_t i = n / 2; i > 0; i--, hash /= 10, names /= 10) {
        out[i - 1] = (uint8_t)('0' + names % 10);
        out[n / 2 + i - 1] = (uint8_t)('0' + hash % 10);
    }
}

static bool add_serial(struct archive *a)
{
    const struct heft_late serial = {fill_serial, a->dir};

    return begin_record(a, ".data/serialization_id", SERIAL) &&
           heft_plan_late(a->plan, a->file, serial, SERIAL, a->err) && end_record(a);
}

/* Hashes the names of all records: storages, which are numbers, and the small ones. Done before the
 * ops of the storages use memory. */
static bool hash_names(struct archive *a)
{
    const size_t last = a->dir->storages + a->out->n_pieces;
    struct heft_arena scratch = {.budget = a->plan->mem->budget};
    bool ok;

    a->dir->records[last].name = LAST;
    ok = heft_torch_hash_names(name_of, a->dir, last + 1, &scratch, &a->dir->names, a->err);
    heft_arena_release(&scratch);
    return ok;
}

/* ---- the central directory --------------------------------------------------------------- */

struct block {
    const struct record *records;
    size_t n;
};

static void put_central(struct heft_pen *c, const struct record *r, uint32_t crc)
{
    heft_pen_le32(c, 0x02014b50);
    heft_pen_le32(c, 0); /* versions: 0, as torch writes them */
    heft_pen_le16(c, r->size ? FLAGS | HAS_SIZES : FLAGS);
    put_zeros(c, 6); /* method, time, date */
    heft_pen_le32(c, crc);
    heft_pen_le32(c, cap_at_32_bits(r->size));
    heft_pen_le32(c, cap_at_32_bits(r->size));
    heft_pen_le16(c, name_size(r));
    heft_pen_le16(c, r->wide);
    put_zeros(c, 10); /* comment, disk, attributes */
    heft_pen_le32(c, cap_at_32_bits(r->begin));
    put_name(c, r);
    if (!r->wide)
        return;
    heft_pen_le16(c, 1);
    heft_pen_le16(c, r->wide - 4u);
    if (r->size >= MAX32) {
        heft_pen_le64(c, r->size);
        heft_pen_le64(c, r->size);
    }
    if (r->begin >= MAX32)
        heft_pen_le64(c, r->begin);
}

static void fill_block(const void *ctx, const uint32_t *sums, uint8_t *out, size_t n)
{
    const struct block *block = ctx;
    struct heft_pen c = {out};

    (void)n;
    for (size_t i = 0; i < block->n; i++)
        put_central(&c, &block->records[i], sums[block->records[i].sum]);
}

static bool add_blocks(struct archive *a)
{
    const struct directory *dir = a->dir;
    const size_t n_blocks = (dir->n + BLOCK - 1) / BLOCK;
    struct block *blocks = heft_arena_zero(a->plan->mem, n_blocks, sizeof *blocks, a->err);

    for (size_t b = 0; blocks && b < n_blocks; b++) {
        struct block *block = &blocks[b];
        uint64_t bytes = 0;

        block->records = dir->records + b * BLOCK;
        block->n = (size_t)heft_min_u64(BLOCK, dir->n - b * BLOCK);
        for (size_t i = 0; i < block->n; i++)
            bytes += (uint64_t)CENTRAL + name_size(&block->records[i]) + block->records[i].wide;
        if (!heft_plan_late(a->plan, a->file, (struct heft_late){fill_block, block}, bytes, a->err))
            return false;
    }
    return blocks != NULL;
}

static bool add_directory(struct archive *a)
{
    const struct record *last = &a->dir->records[a->dir->n - 1];
    struct heft_zip_ends ends = {.n = a->dir->n, .maker = 0x031e, .needed = 45, .wide = true};
    uint8_t *bytes = heft_arena_alloc(a->plan->mem, HEFT_ZIP_ENDS, a->err);
    size_t length;

    if (!bytes || !heft_plan_late(a->plan, a->file, (struct heft_late){fill_descriptor, last},
                                  descriptor_size(last), a->err))
        return false;
    ends.begin = a->plan->files[a->file].size;
    if (!add_blocks(a))
        return false;
    ends.end = a->plan->files[a->file].size;
    length = heft_zip_put_ends(bytes, &ends);
    return heft_plan_put(a->plan, a->file, (struct heft_str){(char *)bytes, length}, a->err);
}

/* ---- the archive ------------------------------------------------------------------------- */

/* torch's rule: the file name without its directory and last extension. For a path that is not
 * ASCII, torch opens the file itself and uses the name "archive". */
static bool choose_root(struct archive *a)
{
    const char *path = a->plan->files[a->file].path, *begin = path, *dot = NULL;

    a->dir->root = HEFT_STR("archive");
    for (const char *p = path; *p; p++) {
        if ((uint8_t)*p >= 0x80)
            return true;
        if (*p == '/' || *p == '\\') {
            begin = p + 1;
            dot = NULL;
        } else if (*p == '.') {
            dot = p;
        }
    }
    a->dir->root = (struct heft_str){begin, dot ? (size_t)(dot - begin) : strlen(begin)};
    if (a->dir->root.n == 0)
        return heft_fail(
            a->err, HEFT_USAGE, HEFT_NO_OFFSET,
            "the name %s has nothing before its last dot: a torch archive takes its root from that",
            path);
    if (a->dir->root.n > MAX_ROOT)
        return heft_fail(a->err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "the file name has %zu bytes, the limit is %d", a->dir->root.n, MAX_ROOT);
    a->dir->root.p = heft_arena_text(a->plan->mem, a->dir->root, a->err);
    return a->dir->root.p != NULL;
}

static const struct layout *find_layout(const char *name)
{
    for (size_t i = 0; name && i < HEFT_COUNT(layouts); i++)
        if (strcmp(layouts[i].name, name) == 0)
            return &layouts[i];
    return &layouts[0];
}

static bool add_records(struct archive *a)
{
    const struct layout *layout = a->layout;
    bool ok = add_pickle(a);

    if (layout->has_format)
        ok = ok && add_small(a, ".format_version", HEFT_STR("1")) &&
             add_small(a, ".storage_alignment", HEFT_STR("64"));
    if (layout->has_byteorder)
        ok = ok && add_small(a, "byteorder", HEFT_STR("little"));
    a->dir->storages = a->dir->n;
    ok = ok && heft_plan_reserve(a->plan, 2 * a->out->n_pieces, a->err);
    ok = ok && (!layout->has_serial || hash_names(a));
    for (size_t i = 0; ok && i < a->out->n_pieces; i++)
        ok = add_storage(a, &a->out->pieces[i]);
    ok = ok && add_small(a, LAST, HEFT_STR("3\n"));
    return ok && (!layout->has_serial || add_serial(a)) && add_directory(a);
}

static bool add_archive(struct archive *a)
{
    a->dir = heft_arena_zero(a->plan->mem, 1, sizeof *a->dir, a->err);
    if (!a->dir || !choose_root(a))
        return false;
    a->dir->records =
        heft_arena_zero(a->plan->mem, a->out->n_pieces + 6, sizeof *a->dir->records, a->err);
    return a->dir->records && add_records(a);
}

bool heft_torch_plan(struct heft_plan *plan, uint32_t file, const struct heft_export_list *exports,
                     struct heft_error *err)
{
    struct heft_torch_out out;
    struct archive a = {.out = &out,
                        .plan = plan,
                        .file = file,
                        .layout = find_layout(heft_plan_option(plan, LAYOUT).text),
                        .err = err};
    const bool ok =
        heft_torch_out_init(&out, plan, file, exports, HEFT_TORCH_ZIP, err) && add_archive(&a);

    if (ok)
        heft_torch_out_place(&out);
    heft_torch_out_release(&out);
    return ok;
}

bool heft_torch_plan_alone(struct heft_plan *plan, uint32_t file,
                           const struct heft_export_list *exports, const struct heft_str *pickle,
                           struct heft_error *err)
{
    struct heft_torch_out out;
    struct archive a = {.out = &out, .plan = plan, .file = file, .layout = &layouts[0], .err = err};
    const bool ok = heft_torch_out_alone(&out, plan, file, exports, pickle, err) && add_archive(&a);

    heft_torch_out_release(&out);
    return ok;
}
