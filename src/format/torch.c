/* torch.c: checkpoints of torch.save since 1.6: a zip of one pickle and one record a storage.
 *
 *     PK\3\4 … archive/data.pkl          the object; tensors name storages by key
 *     PK\3\4 … archive/byteorder         (torch_records.c has the small ones)
 *     PK\3\4 … archive/data/0            bytes of a storage, aligned to 64
 *     PK\3\4 … archive/data/1
 *     PK\3\4 … archive/version
 *     PK\1\2 … central directory         the truth about sizes and checksums
 *     PK\6\6, PK\6\7, PK\5\6             end records
 *
 * "archive" may be any name: it is the folder of data.pkl. The steps: directory, root, records,
 * pickle (nodes only, nothing is executed), storages, rows and values, claims. doc/format/torch.md
 * tells the whole story. */
#include "core/registry.h"
#include "format/torch_parts.h"

/* A deflated pickle is inflated in memory: real ones are stored, and small. */
#define DEFLATED_PICKLE (UINT64_C(64) << 20)
#define DIRECTORY       (UINT64_C(256) << 20)

/* ---- probe ------------------------------------------------------------------------------- */

static bool contains(struct heft_bytes bytes, const char *text)
{
    const size_t n = strlen(text);
    const uint8_t *p = bytes.p, *end = bytes.p + bytes.n;

    while ((size_t)(end - p) >= n) {
        p = memchr(p, text[0], (size_t)(end - p) - n + 1);
        if (!p)
            return false;
        if (memcmp(p, text, n) == 0)
            return true;
        p++;
    }
    return false;
}

/* Names stand in local headers (of the first records, in the head) and in the directory (in the
 * tail). */
static int probe(const struct heft_probe *sample)
{
    if (sample->head.n < 4 || memcmp(sample->head.p, "PK\3\4", 4) != 0)
        return 0;
    if (contains(sample->tail, "/data.pkl") || contains(sample->head, "/data.pkl"))
        return 90;
    /* A directory of more than 64 KiB with data.pkl in its middle. */
    return contains(sample->tail, "/data/") && sample->size > HEFT_PROBE_TAIL ? 50 : 0;
}

/* ---- root -------------------------------------------------------------------------------- */

static bool ends_with(struct heft_str name, const char *suffix)
{
    const size_t n = strlen(suffix);

    return name.n >= n && memcmp(name.p + name.n - n, suffix, n) == 0;
}

/* Zips that are something else of torch's, told by a record. */
static const struct {
    const char *suffix, *what;
} DIALECTS[] = {
    {"/.data/extern_modules", "a torch.package archive (has .data/extern_modules)"},
    {"/archive_format", "a torch.export archive (has archive_format)"},
    {"serialized_exported_program.json", "a torch.export archive of the first kind"},
    {"/model.json", "a TorchScript archive of torch 1.0 or 1.1 (has model.json)"},
    {"MAR-INF/MANIFEST.json", "a TorchServe archive"},
    {".npy", "a NumPy .npz archive"},
};

static bool refuse_other(const struct heft_torch *t, struct heft_error *err)
{
    for (size_t k = 0; k < HEFT_COUNT(DIALECTS); k++)
        for (size_t i = 0; i < t->zip.count; i++)
            if (ends_with(t->zip.entries[i].name, DIALECTS[k].suffix))
                return heft_fail(err, HEFT_UNSUPPORTED, 0, "this is %s, which heft does not read",
                                 DIALECTS[k].what);
    return heft_fail(err, HEFT_MALFORMED, t->zip.directory,
                     "no record of the archive is called data.pkl (in lower case): no torch "
                     "checkpoint");
}

/* Text before the first slash of the first record: what torch takes for the root. */
static struct heft_str first_root(const struct heft_torch *t)
{
    const struct heft_str name = t->zip.entries[0].name;
    const char *slash = memchr(name.p, '/', name.n);

    return (struct heft_str){name.p, slash ? (size_t)(slash - name.p) : 0};
}

static bool find_pickle(struct heft_torch *t, struct heft_error *err)
{
    size_t n = 0;

    for (size_t i = 0; i < t->zip.count; i++) {
        const struct heft_zip_entry *entry = &t->zip.entries[i];
        size_t root;

        if (heft_str_is(entry->name, "data.pkl"))
            return heft_fail(err, HEFT_MALFORMED, entry->header,
                             "data.pkl stands in no folder: torch needs ARCHIVE/data.pkl");
        if (!ends_with(entry->name, "/data.pkl"))
            continue;
        root = entry->name.n - strlen("/data.pkl");
        n++;
        if (t->pkl && !heft_str_eq((struct heft_str){entry->name.p, root}, first_root(t)))
            continue; /* the first one stays, unless this is the one that torch would take */
        t->pkl = entry;
        t->root = (struct heft_str){entry->name.p, root};
    }
    if (n == 0)
        return refuse_other(t, err);
    return n == 1 || heft_str_eq(t->root, first_root(t)) ||
           heft_fail(err, HEFT_MALFORMED, t->pkl->header,
                     "%zu records are called data.pkl, and none is in the folder of the first "
                     "record",
                     n);
}

/* A copy with a NUL, for messages: the entry's name goes on behind the root. */
static bool open_root(struct heft_torch *t, struct heft_error *err)
{
    const char *copy;

    if (!find_pickle(t, err) || !heft_torch_map_records(t, err))
        return false;
    copy = heft_arena_text(&t->scratch, t->root, err);
    if (!copy)
        return false;
    t->root.p = copy;
    if (heft_strmap_get(&t->records, HEFT_STR("constants.pkl")) == HEFT_MAP_NONE)
        return true;
    return heft_fail(err, HEFT_UNSUPPORTED, 0,
                     "this is a TorchScript archive (has constants.pkl), which heft does not read");
}

/* ---- pickle ------------------------------------------------------------------------------ */

static bool read_pickle(struct heft_torch *t, struct heft_error *err)
{
    const struct heft_limits *l = &t->model->limits;
    const struct heft_pickle_limits limits = {.opcodes = l->opcodes,
                                              .nodes = heft_limit_nodes(l, t->model->file_bytes)};
    const bool is_stored = t->pkl->method == HEFT_ZIP_STORED;
    const uint64_t cap = is_stored ? l->pickle : heft_min_u64(l->pickle, DEFLATED_PICKLE);
    struct heft_bytes data;

    t->base = is_stored ? t->pkl->data : HEFT_NO_OFFSET;
    t->entry_marks[t->pkl - t->zip.entries] = HEFT_TORCH_PARSED;
    return heft_zip_fetch(&t->model->sources[t->source].source, t->pkl, cap, t->pkl->crc != 0,
                          &t->graph, &data, err) &&
           heft_pickle_run(&t->pickle, data, t->base, &limits, &t->graph, err);
}

/* "zip, torch 2.1 to 2.6, pickle protocol 2": told by the records, which each release added to. */
static bool name_version(struct heft_torch *t, struct heft_error *err)
{
    const char *release = t->format          ? "2.7 or later"
                          : t->has_byteorder ? "2.1 to 2.6"
                                             : "1.6 to 2.0";

    t->model->format = "torch";
    t->model->version =
        heft_arena_printf(&t->model->mem, err, "zip, as torch %s writes it, pickle protocol %d%s",
                          release, t->pickle.protocol, t->is_big ? ", big-endian" : "");
    return t->model->version != NULL;
}

static void release(struct heft_torch *t)
{
    heft_strmap_release(&t->records);
    heft_strmap_release(&t->keys);
    heft_u32map_release(&t->raw);
    heft_u32map_release(&t->by_text);
    heft_u32map_release(&t->by_bytes);
    heft_free(t->storages);
    heft_free(t->spans);
    heft_free(t->texts);
    heft_arena_release(&t->graph);
    heft_arena_release(&t->scratch);
}

static bool open_zip(struct heft_torch *t, struct heft_error *err)
{
    const struct heft_limits *l = &t->model->limits;
    const struct heft_zip_limits limits = {l->entries, DIRECTORY, l->ratio};

    if (!heft_zip_open(&t->zip, &t->model->sources[t->source].source, &limits, &t->model->mem,
                       err)) /* names become labels */
        return false;
    return t->zip.count > 0 || heft_fail(err, HEFT_MALFORMED, 0, "an empty zip archive");
}

/* From the pickle to rows and values. Afterwards nothing looks at its nodes any more. */
static bool read_tree(struct heft_torch *t, struct heft_error *err)
{
    const bool ok =
        read_pickle(t, err) && heft_torch_add_storages(t, err) && heft_torch_walk(t, err);

    heft_arena_release(&t->graph);
    return ok;
}

static bool open_torch(struct heft_model *model, uint32_t source, struct heft_error *err)
{
    struct heft_torch t = {.model = model, .source = source, .budget = model->limits.expansion};
    const bool ok = open_zip(&t, err) && open_root(&t, err) && heft_torch_read_records(&t, err) &&
                    read_tree(&t, err) && heft_torch_claim_all(&t, err) && name_version(&t, err);

    release(&t);
    return ok;
}

const struct heft_format heft_format_torch = {
    .name = "torch",
    .summary = "PyTorch checkpoints of torch.save (zip, since 1.6)",
    .probe = probe,
    .open = open_torch,
};
