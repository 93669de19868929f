/* ptd_program.c: ExecuTorch's .pte, read only: the constants of a program, its data for backends,
 * and the tensors that it needs from a .ptd.
 *
 *     0    u32 position of the root table     4  "ET12"
 *     8    "eh00"  u32 header length (24, since 1.0 32)     only if there are segments:
 *     16   u64 bytes of the program, from byte 0 on
 *     24   u64 base of the segments     32  u64 bytes from there to the end of the last one, or 0
 *     …    FlatBuffer: Program 0 version  1 [execution_plan]  2 [constant_buffer]
 *          3 [backend_delegate_data]  4 [segments]  5 constant_segment
 *          6 [mutable_data_segments]  7 [named_data]
 *     base segments
 *
 * SubsegmentOffsets (fields 5 and 6): 0 segment_index, 1 [offsets], u64 each. */
#include "base/endian.h"
#include "base/text.h"
#include "format/executorch/ptd_program.h"

#define HEAD 40

/* ---- header ---------------------------------------------------------------------------------- */

/* Reads the extended header, if there is one; without it the whole file is tables. */
static bool read_places(struct heft_pte *p, const uint8_t *head, uint64_t size,
                        struct heft_error *err)
{
    const uint32_t length = heft_le32(head + 12);
    const bool has_size = length >= 32;
    uint64_t data;

    p->program = size;
    p->base = size;
    if (size < HEAD || memcmp(head + 8, "eh00", 4) != 0)
        return true;
    p->program = heft_le64(head + 16);
    p->base = heft_le64(head + 24);
    data = has_size ? heft_le64(head + 32) : 0;
    if (length < 24)
        return heft_fail(err, HEFT_MALFORMED, 12,
                         "extended header has %" PRIu32 " bytes, must have at least 24", length);
    if (p->program < HEAD || p->program > size)
        return heft_fail(err, HEFT_MALFORMED, 16,
                         "program_size is %" PRIu64 ", must be from %d to %" PRIu64
                         ", the size of the file",
                         p->program, HEAD, size);
    if (p->base == 0 && data == 0)
        p->base = size;
    if (p->base < p->program || p->base > size || data > size - p->base)
        return heft_fail(err, HEFT_MALFORMED, 24,
                         "segments have %" PRIu64 " bytes at 0x%" PRIx64 ", must be from 0x%" PRIx64
                         ", the end of the program, to 0x%" PRIx64 ", the end of the file",
                         data, p->base, p->program, size);
    p->room = data ? data : size - p->base;
    return true;
}

static bool read_header(struct heft_pte *p, struct heft_error *err)
{
    const struct heft_source *const file = &p->model->sources[p->source].source;
    uint8_t head[HEAD] = {0};
    struct heft_bytes bytes;

    if (!heft_source_read(file, 0, head, (size_t)heft_min_u64(file->size, HEAD), err))
        return false;
    if (memcmp(head + 4, "BP08", 4) == 0)
        return heft_fail(
            err, HEFT_UNSUPPORTED, 4,
            "a bundled program, with its test data, is not supported; export the program alone");
    if (memcmp(head + 4, "ET12", 4) != 0)
        return heft_fail(err, HEFT_UNSUPPORTED, 4, "file identifier is %.4s, supported is ET12",
                         head + 4);
    if (file->size < 12)
        return heft_fail(err, HEFT_MALFORMED, file->size,
                         "the file is truncated: it has no tables");
    if (!read_places(p, head, file->size, err))
        return false;
    if (p->program > p->model->limits.pickle || p->program > HEFT_FLAT_MAX)
        return heft_fail(err, HEFT_LIMIT, 16,
                         "tables have %" PRIu64 " bytes, the limit is %" PRIu64 ": limits.pickle",
                         p->program, p->model->limits.pickle);
    if (!heft_source_fetch(file, 0, p->program, &p->model->mem, &bytes, err))
        return false;
    heft_flat_init(&p->flat, bytes, 8, 0);
    return true;
}

/* ---- segments -------------------------------------------------------------------------------- */

static bool read_segment(struct heft_pte *p, uint64_t at, struct heft_pte_segment *out,
                         struct heft_error *err)
{
    struct heft_flat_table table;
    uint64_t off, len;

    if (!heft_flat_table(&p->flat, at, "DataSegment", &table, err) ||
        !heft_flat_u64(&p->flat, &table, 0, &off, err) ||
        !heft_flat_u64(&p->flat, &table, 1, &len, err))
        return false;
    *out = (struct heft_pte_segment){p->base + off, len, HEFT_NONE};
    return heft_within(off, len, p->room) ||
           heft_fail(err, HEFT_MALFORMED, at,
                     "segment has %" PRIu64 " bytes at offset %" PRIu64
                     ", the segments have %" PRIu64 " bytes in total",
                     len, off, p->room);
}

/* A vector of tables; empty if it is absent. */
static bool open_tables(struct heft_pte *p, unsigned id, const char *what,
                        struct heft_flat_vector *out, struct heft_error *err)
{
    const uint64_t most = heft_limit_tensors(&p->model->limits, p->model->file_bytes);
    uint64_t at;

    *out = (struct heft_flat_vector){0, 0};
    if (!heft_flat_ref(&p->flat, &p->root, id, &at, err) ||
        (at && !heft_flat_refs(&p->flat, at, what, out, err)))
        return false;
    return out->count <= most ||
           heft_fail(err, HEFT_LIMIT, at,
                     "%" PRIu32 " %s, the limit is %" PRIu64 ": limits.tensors", out->count, what,
                     most);
}

static bool read_segments(struct heft_pte *p, struct heft_error *err)
{
    struct heft_flat_vector vector;
    uint64_t at;

    if (!open_tables(p, 4, "segments", &vector, err))
        return false;
    p->segments = heft_arena_zero(&p->scratch, vector.count, sizeof *p->segments, err);
    p->n_segments = vector.count;
    for (uint32_t i = 0; p->segments && i < vector.count; i++)
        if (!heft_flat_element(&p->flat, &vector, i, &at, err) ||
            !read_segment(p, at, &p->segments[i], err))
            return false;
    return p->segments != NULL;
}

static bool check_index(const struct heft_pte *p, uint32_t index, uint64_t at,
                        struct heft_error *err)
{
    return index < p->n_segments ||
           heft_fail(err, HEFT_MALFORMED, at,
                     "segment index is %" PRIu32 ", the number of segments is %" PRIu32, index,
                     p->n_segments);
}

bool heft_pte_segment(struct heft_pte *p, uint32_t index, uint64_t at, uint32_t *storage,
                      struct heft_error *err)
{
    struct heft_pte_segment *segment;

    if (!check_index(p, index, at, err))
        return false;
    segment = &p->segments[index];
    if (segment->storage == HEFT_NONE) {
        const struct heft_storage whole = {
            .off = segment->off, .len = segment->len, .packed = segment->len, .source = p->source};

        if (!heft_model_add_storage(p->model, &whole, &segment->storage, err))
            return false;
    }
    *storage = segment->storage;
    return true;
}

/* ---- constants ------------------------------------------------------------------------------- */

static bool make_room(struct heft_pte *p, struct heft_pte_set *set, struct heft_error *err)
{
    const size_t n = set->items.count;

    set->storages = heft_arena_alloc(&p->scratch, n * sizeof *set->storages, err);
    if (set->storages)
        memset(set->storages, 0xff, n * sizeof *set->storages); /* every entry becomes HEFT_NONE */
    return set->storages != NULL;
}

bool heft_pte_place(const struct heft_pte *p, const struct heft_pte_set *set, uint32_t index,
                    uint64_t *off, uint64_t *len, struct heft_error *err)
{
    struct heft_flat_vector bytes = {0, 0};
    struct heft_flat_table table;
    uint64_t at;

    if (set->segment != HEFT_NONE) {
        const struct heft_pte_segment *const s = &p->segments[set->segment];

        at = set->items.at + 8 * (uint64_t)index;
        *off = heft_le64(p->flat.p + at);
        if (*off > s->len)
            return heft_fail(err, HEFT_MALFORMED, at,
                             "constant is at offset %" PRIu64 ", its segment has %" PRIu64 " bytes",
                             *off, s->len);
        *len = s->len - *off;
        *off += s->off;
        return true;
    }
    if (!heft_flat_element(&p->flat, &set->items, index, &at, err) ||
        !heft_flat_table(&p->flat, at, "Buffer", &table, err) ||
        !heft_flat_ref(&p->flat, &table, 0, &at, err) ||
        (at && !heft_flat_vector(&p->flat, at, 1, "storage", &bytes, err)))
        return false;
    *off = bytes.at;
    *len = bytes.count;
    return true;
}

/* Also checks items that no tensor uses. */
static bool check_items(const struct heft_pte *p, const struct heft_pte_set *set,
                        struct heft_error *err)
{
    uint64_t off, len;

    for (uint32_t i = 0; i < set->items.count; i++)
        if (!heft_pte_place(p, set, i, &off, &len, err))
            return false;
    return true;
}

/* Sets may share a vector: all together they have no more offsets than the tables have room for. */
static bool count_offsets(struct heft_pte *p, uint64_t at, uint32_t n, struct heft_error *err)
{
    if (n > p->offsets)
        return heft_fail(err, HEFT_MALFORMED, at,
                         "constants have more offsets than the tables have room for");
    p->offsets -= n;
    return true;
}

static bool read_offsets(struct heft_pte *p, uint64_t at, struct heft_pte_set *set,
                         struct heft_error *err)
{
    struct heft_flat_vector offsets;
    struct heft_flat_table table;
    uint32_t index;
    uint64_t list;

    if (!heft_flat_table(&p->flat, at, "SubsegmentOffsets", &table, err) ||
        !heft_flat_u32(&p->flat, &table, 0, &index, err) ||
        !heft_flat_ref(&p->flat, &table, 1, &list, err))
        return false;
    if (list == 0)
        return true;
    if (!heft_flat_vector(&p->flat, list, 8, "offsets", &offsets, err))
        return false;
    if (offsets.count < 2) /* the first one is unused */
        return true;
    *set = (struct heft_pte_set){.items = offsets, .segment = index};
    return check_index(p, index, at, err) && count_offsets(p, list, offsets.count, err) &&
           make_room(p, set, err) && check_items(p, set, err);
}

/* Buffers inside the tables, of programs without a constant segment: 0 storage, bytes. */
static bool read_buffers(struct heft_pte *p, struct heft_error *err)
{
    p->constants = (struct heft_pte_set){.segment = HEFT_NONE};
    return open_tables(p, 2, "constant_buffer", &p->constants.items, err) &&
           make_room(p, &p->constants, err) && check_items(p, &p->constants, err);
}

static bool read_constants(struct heft_pte *p, struct heft_error *err)
{
    uint64_t at;

    p->offsets = p->program / 8;
    return heft_flat_ref(&p->flat, &p->root, 5, &at, err) &&
           (!at || read_offsets(p, at, &p->constants, err)) &&
           (p->constants.storages || read_buffers(p, err));
}

/* Initial values: a set for each segment, selected by mutable_data_segments_idx. */
static bool read_initial(struct heft_pte *p, struct heft_error *err)
{
    struct heft_flat_vector sets;
    uint64_t at;

    if (!open_tables(p, 6, "mutable_data_segments", &sets, err))
        return false;
    p->initial = heft_arena_zero(&p->scratch, sets.count, sizeof *p->initial, err);
    p->n_initial = p->initial ? sets.count : 0;
    for (uint32_t i = 0; i < p->n_initial; i++)
        if (!heft_flat_element(&p->flat, &sets, i, &at, err) ||
            !read_offsets(p, at, &p->initial[i], err))
            return false;
    return p->initial != NULL;
}

/* ---- named data ------------------------------------------------------------------------------ */

static bool read_named(struct heft_pte *p, uint64_t at, struct heft_error *err)
{
    struct heft_flat_table table;
    struct heft_str key;
    uint32_t index, storage;
    uint64_t key_at;

    if (!heft_flat_table(&p->flat, at, "NamedData", &table, err) ||
        !heft_flat_ref(&p->flat, &table, 0, &key_at, err) ||
        !heft_flat_u32(&p->flat, &table, 1, &index, err))
        return false;
    if (key_at == 0)
        return heft_fail(err, HEFT_MALFORMED, at, "an entry has no key");
    return heft_flat_string(&p->flat, key_at, p->model->limits.name, "key", &key, err) &&
           heft_pte_segment(p, index, at, &storage, err) &&
           heft_model_add_blob(p->model, key, storage, "blob", err);
}

static bool read_all_named(struct heft_pte *p, struct heft_error *err)
{
    struct heft_flat_vector vector;
    uint64_t at;

    if (!open_tables(p, 7, "named_data", &vector, err))
        return false;
    for (uint32_t i = 0; i < vector.count; i++)
        if (!heft_flat_element(&p->flat, &vector, i, &at, err) || !read_named(p, at, err))
            return false;
    return true;
}

/* ---- open ------------------------------------------------------------------------------------ */

/* "program": what it runs; "external": what it needs from a .ptd. Shared by several programs. */
static bool begin_file_info(struct heft_pte *p, struct heft_error *err)
{
    struct heft_arena *mem = &p->model->mem;
    struct heft_node *about = heft_model_file_info(p->model, err), *program;

    program =
        about ? heft_tree_shared(mem, about, HEFT_STR("program"), HEFT_VALUE_DICT, err) : NULL;
    p->plans =
        program ? heft_tree_shared(mem, program, HEFT_STR("plans"), HEFT_VALUE_LIST, err) : NULL;
    p->external =
        p->plans ? heft_tree_shared(mem, about, HEFT_STR("external"), HEFT_VALUE_LIST, err) : NULL;
    return p->external != NULL;
}

static bool read_program(struct heft_pte *p, struct heft_error *err)
{
    uint32_t version;

    if (!heft_flat_root(&p->flat, "Program", &p->root, err) ||
        !heft_flat_u32(&p->flat, &p->root, 0, &version, err))
        return false;
    if (version != 0)
        return heft_fail(err, HEFT_UNSUPPORTED, p->root.at,
                         "Program version is %" PRIu32 ", supported is 0", version);
    return begin_file_info(p, err) && read_segments(p, err) && read_constants(p, err) &&
           read_initial(p, err) && heft_pte_read_plans(p, err) && read_all_named(p, err) &&
           heft_model_claim(p->model, p->source, 0, p->program, "program", err);
}

bool heft_pte_add_wish(struct heft_pte *p, const struct heft_pte_wish *wish, struct heft_error *err)
{
    if (!heft_grow(&p->wishes, &p->cap_wishes, p->n_wishes, 1, sizeof *wish, err))
        return false;
    p->wishes[p->n_wishes++] = *wish;
    return true;
}

static bool keep_wishes(struct heft_pte *p, struct heft_error *err)
{
    struct heft_arena *const mem = &p->model->mem;
    struct heft_pte_wishes *kept = heft_arena_zero(mem, 1, sizeof *kept, err);
    struct heft_pte_wish *list =
        kept ? heft_arena_zero(mem, p->n_wishes + 1, sizeof *list, err) : NULL;

    if (!list)
        return false;
    if (p->n_wishes)
        memcpy(list, p->wishes, p->n_wishes * sizeof *list);
    *kept = (struct heft_pte_wishes){list, p->n_wishes};
    p->model->sources[p->source].kept = kept;
    return true;
}

static bool open_file(struct heft_model *model, uint32_t source, struct heft_error *err)
{
    struct heft_pte p = {.model = model, .source = source};
    const bool ok = read_header(&p, err) && read_program(&p, err) && keep_wishes(&p, err);

    model->sources[source].pads = true;
    if (ok && !model->format) {
        model->format = "pte";
        model->version =
            p.external->n ? "ExecuTorch program, wants tensors from a .ptd" : "ExecuTorch program";
    }
    heft_strmap_release(&p.names);
    heft_strmap_release(&p.wanted);
    heft_strmap_release(&p.asked);
    heft_free(p.wishes);
    heft_arena_release(&p.scratch);
    return ok;
}

static int probe(const struct heft_probe *probe)
{
    const uint8_t *p = probe->head.p;

    if (probe->head.n < 8)
        return 0;
    if (memcmp(p + 4, "ET12", 4) == 0 || memcmp(p + 4, "BP08", 4) == 0)
        return 100;
    return p[4] == 'E' && p[5] == 'T' && p[6] >= '0' && p[6] <= '9' && p[7] >= '0' && p[7] <= '9'
               ? 60
               : 0;
}

static const struct heft_file_name names[] = {
    {".pte", .rank = HEFT_FILE_WEIGHTS, .order = 11},
    {0},
};

static const struct heft_not_written not_written[] = {
    {"pte", "a program cannot be made of weights alone; write the weights as ptd"},
    {0},
};

extern const struct heft_format heft_format_pte;
const struct heft_format heft_format_pte = {
    .name = "pte",
    .summary = "ExecuTorch programs: constants and named data",
    .names = names,
    .not_written = not_written,
    .probe = probe,
    .open = open_file,
    .verify = heft_pte_verify,
};
