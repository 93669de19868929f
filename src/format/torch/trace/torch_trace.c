/* torch_trace.c: finds the pickles of a file and walks them one after the other.
 *
 *     zip        the record data.pkl of the archive's folder, or the requested one
 *     tar        the member pickle, or the requested one
 *     stream     the five pickles of a legacy file: magic, version, sizes, object, keys
 *     other      one pickle
 *
 * A pickle of unknown length is first run without a watcher to find its end, so that no step is
 * shown twice. A file that torch cannot open is walked as well, up to where its pickle fails. */
#include "format/torch/trace/torch_trace.h"

#include "core/model.h"
#include "wire/tar.h"

#define FIRST_WINDOW    (UINT64_C(1) << 20) /* first window for a pickle of unknown length */
#define DEFLATED_RECORD (UINT64_C(64) << 20)
#define MOST_WORK       (UINT64_C(32) << 20) /* budget for showing values, see torch_trace.h */
#define PLACE_BYTES     (sizeof(struct heft_trace_place) + 32) /* with its name in the table */
#define MEMO_BYTES      UINT64_C(8) /* of a memo entry: its index, and its place by node */
#define STREAM_PICKLES  5
#define OBJECT          4 /* number of the pickle with the tensors */

/* Releases what only the walk of the opcodes needs. */
static void release_tables(struct heft_tracer *tr)
{
    heft_strmap_release(&tr->names);
    heft_u32map_release(&tr->by_node);
    heft_buf_release(&tr->name);
    heft_free(tr->places);
    heft_free(tr->memo);
    tr->places = NULL;
    tr->memo = NULL;
    tr->n_places = tr->cap_places = tr->n_memo = tr->cap_memo = 0;
}

void heft_tracer_release(struct heft_tracer *tr)
{
    release_tables(tr);
    heft_arena_release(&tr->mem);
}

bool heft_tracer_shrink(struct heft_tracer *tr)
{
    struct heft_arena mem = {0};
    const char *record = heft_arena_text(&mem, heft_str_of(tr->record), tr->err);

    heft_tracer_release(tr);
    tr->zip = (struct heft_zip){0};
    tr->folder = HEFT_STR("");
    tr->record = record ? record : "";
    tr->mem = mem;
    return record != NULL;
}

bool heft_tracer_place(struct heft_tracer *tr, struct heft_str name,
                       const struct heft_trace_place *place)
{
    uint32_t found;

    if (!heft_grow(&tr->places, &tr->cap_places, tr->n_places, 1, sizeof *place, tr->err))
        return false;
    tr->places[tr->n_places] = *place;
    return heft_strmap_add(&tr->names, name, (uint32_t)tr->n_places++, &found, tr->err);
}

/* ---- steps ------------------------------------------------------------------------------- */

static bool is_ranged(const struct heft_tracer *tr)
{
    return tr->options->to != 0;
}

static bool is_wanted(const struct heft_tracer *tr, const struct heft_pickle_step *s)
{
    return !is_ranged(tr) || (s->at < tr->options->to && s->at + 1 + s->raw.n > tr->options->from);
}

/* Announces the pickle to the watcher, before its first step; a file that fails at the first opcode
 * is never announced as a pickle. */
static bool announce_pickle(struct heft_tracer *tr)
{
    const struct heft_trace_pickle *pickle = tr->pickle;

    tr->pickle = NULL;
    tr->is_stopped =
        pickle && tr->watcher->pickle && !tr->watcher->pickle(tr->watcher->ctx, pickle);
    return !tr->is_stopped;
}

static void report_step(struct heft_tracer *tr)
{
    static const uint8_t forms[] = {
        [HEFT_FORM_BARE] = HEFT_TRACE_BARE,   [HEFT_FORM_NUMBER] = HEFT_TRACE_NUMBER,
        [HEFT_FORM_TEXT] = HEFT_TRACE_TEXT,   [HEFT_FORM_LINE] = HEFT_TRACE_LINES,
        [HEFT_FORM_LINES] = HEFT_TRACE_LINES,
    };
    const struct heft_pickle_step *s = tr->step;
    const struct heft_trace_step step = {.position = s->at,
                                         .offset = tr->base == HEFT_NO_OFFSET ? HEFT_NO_OFFSET
                                                                              : tr->base + s->at,
                                         .byte = s->byte,
                                         .name = s->name,
                                         .form = (enum heft_trace_form)forms[s->form],
                                         .prefix = s->prefix,
                                         .argument = s->raw.p,
                                         .argument_bytes = s->raw.n,
                                         .value = heft_trace_end(&tr->value),
                                         .value_len = tr->value.n,
                                         .effect = heft_trace_end(&tr->effect),
                                         .effect_len = tr->effect.n};

    tr->shown++;
    tr->is_stopped =
        !announce_pickle(tr) || (tr->watcher->step && !tr->watcher->step(tr->watcher->ctx, &step));
}

static bool take_step(struct heft_tracer *tr, const struct heft_pickle_step *step)
{
    const bool with_state = tr->options->state || is_ranged(tr);

    tr->step = step;
    if (with_state && !heft_trace_remember(tr))
        return false;
    if (!is_wanted(tr, step))
        return true;
    if (!heft_trace_explain(tr))
        return false;
    report_step(tr);
    return !with_state || tr->is_stopped || heft_trace_state(tr, is_ranged(tr));
}

static bool on_step(void *ctx, const struct heft_pickle_step *step)
{
    struct heft_tracer *tr = ctx;
    const bool is_past = is_ranged(tr) && step->at >= tr->options->to;

    tr->total->metastack = step->n_marks;
    return !is_past && take_step(tr, step) && !tr->is_stopped;
}

/* ---- one pickle -------------------------------------------------------------------------- */

/* Bytes of the tables, and for states of the memo's tables, which grow during the walk. */
static uint64_t table_bytes(const struct heft_tracer *tr, uint64_t nodes)
{
    const bool with_state = tr->options->state || is_ranged(tr);

    return tr->mem.total + tr->n_places * PLACE_BYTES + (with_state ? nodes * MEMO_BYTES : 0);
}

static struct heft_pickle_limits pickle_limits(const struct heft_tracer *tr)
{
    const uint64_t most = heft_limit_memory(tr->limits, tr->src->size);
    const uint64_t nodes = heft_limit_nodes(tr->limits, tr->src->size);
    const uint64_t tables = table_bytes(tr, nodes);

    return (struct heft_pickle_limits){.opcodes = tr->limits->opcodes,
                                       .nodes = nodes,
                                       .bytes = most > tables ? most - tables : 1,
                                       .text = tr->limits->pickle,
                                       .bare = tr->is_script};
}

/* Walks the pickle at data[0]. If the description of a step fails, tr->err is filled before the run
 * ends. */
static bool walk_pickle(struct heft_tracer *tr, const struct heft_trace_pickle *announced,
                        struct heft_bytes data, struct heft_arena *mem)
{
    const struct heft_pickle_limits limits = pickle_limits(tr);
    struct heft_pickle_watcher watcher = {on_step, tr, false};
    struct heft_pickle pickle;
    bool ok;

    tr->pickle = announced;
    tr->n_memo = 0;
    heft_u32map_release(&tr->by_node);
    memset(tr->known, 0, sizeof tr->known);
    ok = heft_pickle_watch(&pickle, data, tr->base, &limits, &watcher, mem, tr->err);
    tr->total->pickles++;
    tr->total->opcodes += pickle.opcodes;
    tr->total->memo += pickle.memo_count;
    tr->step = NULL;
    return ok && tr->err->code == HEFT_OK;
}

/* ---- legacy streams and single pickles --------------------------------------------------- */

/* A pickle of unknown length: the bytes up to its STOP; without a STOP, all readable bytes before
 * the given end. */
struct found {
    struct heft_bytes data;
    uint64_t off;
    bool is_magic;
    struct heft_arena mem;
};

/* The caller releases out->mem, also after a failure. */
static bool find_pickle(struct heft_tracer *tr, uint64_t off, uint64_t end, struct found *out)
{
    const struct heft_pickle_limits limits = pickle_limits(tr);
    const struct heft_pickle_place place = {
        .off = off, .end = end, .first = FIRST_WINDOW, .cap = tr->limits->pickle};
    struct heft_pickle_window window = {.src = tr->src, .mem = &out->mem};
    struct heft_arena nodes = {0};
    struct heft_pickle pickle = {0};
    struct heft_error why = {0};
    const enum heft_pickle_end how =
        heft_pickle_find(&pickle, &window, &place, &limits, &nodes, &why);

    out->off = off;
    out->data = pickle.data;
    if (how == HEFT_PICKLE_STOPPED)
        out->data.n = pickle.length;
    out->is_magic = how == HEFT_PICKLE_STOPPED && heft_torch_is_magic(&pickle);
    heft_arena_release(&nodes);
    if (how != HEFT_PICKLE_UNREAD)
        return true; /* a damaged pickle is no error here: the walk reports it with its step */
    *tr->err = why;
    return false;
}

static bool walk_found(struct heft_tracer *tr, const struct found *found, unsigned number,
                       unsigned count)
{
    static const char *const parts[] = {"magic number", "protocol version",
                                        "type sizes of the writer", "the object",
                                        "keys of the storages"};
    const struct heft_trace_pickle pickle = {.record = tr->record,
                                             .what = count > 1 ? parts[number - 1] : "",
                                             .number = number,
                                             .count = count,
                                             .offset = found->off,
                                             .bytes = found->data.n};
    struct heft_arena mem = {0};
    bool ok;

    tr->base = found->off;
    if (number == count || number == OBJECT)
        tr->at = number <= OBJECT ? found->off : tr->at;
    ok = walk_pickle(tr, &pickle, found->data, &mem);
    heft_arena_release(&mem);
    return ok;
}

static bool walk_stream(struct heft_tracer *tr)
{
    uint64_t at = 0;
    unsigned count = 1;
    bool ok = true;

    for (unsigned i = 1; ok && i <= count && !tr->is_stopped; i++) {
        struct found found = {0};

        if (at == tr->src->size)
            return heft_fail(tr->err, HEFT_MALFORMED, at, "the file ends before pickle %u of %u", i,
                             count);
        ok = find_pickle(tr, at, tr->src->size, &found);
        if (i == 1 && found.is_magic)
            count = STREAM_PICKLES;
        ok = ok && walk_found(tr, &found, i, count);
        at += found.data.n;
        heft_arena_release(&found.mem);
    }
    return ok;
}

/* ---- tars of PyTorch 0.1 ------------------------------------------------------------------ */

static bool walk_member(struct heft_tracer *tr, const struct heft_tar *tar, const char *name)
{
    const struct heft_tar_member *member = NULL;
    struct found found = {0};
    bool ok;

    for (size_t i = 0; i < tar->count && !member; i++)
        if (heft_str_is(tar->members[i].name, name) && !tar->members[i].is_folder)
            member = &tar->members[i];
    if (!member)
        return heft_fail(tr->err, tr->options->record ? HEFT_USAGE : HEFT_UNSUPPORTED,
                         HEFT_NO_OFFSET, "the tar has no member %.200s", name);
    tr->record = member->name.p;
    ok = find_pickle(tr, member->data, member->data + member->size, &found) &&
         walk_found(tr, &found, 1, 1);
    heft_arena_release(&found.mem);
    return ok;
}

/* Walks the member `pickle` (the object), or the requested member. Members with several pickles and
 * raw bytes between them: only the first pickle. */
static bool walk_tar(struct heft_tracer *tr)
{
    struct heft_tar tar;
    const bool ok = heft_tar_open(&tar, tr->src, heft_limit_entries(tr->limits, tr->src->size),
                                  &tr->mem, tr->err) &&
                    walk_member(tr, &tar, tr->options->record ? tr->options->record : "pickle");

    heft_tar_release(&tar);
    return ok;
}

/* ---- archives ---------------------------------------------------------------------------- */

static bool ends_with(struct heft_str name, struct heft_str end)
{
    return name.n >= end.n && memcmp(name.p + name.n - end.n, end.p, end.n) == 0;
}

/* The record of that name, or one whose path ends in "/name". Records in torch's root, the folder
 * of the archive's first record, take precedence. */
static const struct heft_zip_entry *find_record(const struct heft_tracer *tr, struct heft_str name)
{
    const struct heft_str first = tr->zip.count ? tr->zip.entries[0].name : HEFT_STR("");
    const char *slash = first.n ? memchr(first.p, '/', first.n) : NULL;
    const size_t root = slash ? (size_t)(slash - first.p) + 1 : 0;
    const struct heft_zip_entry *found = heft_zip_find(&tr->zip, name);

    for (size_t i = 0; i < tr->zip.count; i++) {
        const struct heft_zip_entry *entry = &tr->zip.entries[i];
        const size_t before = entry->name.n - heft_min_size(name.n, entry->name.n);

        if (!ends_with(entry->name, name) || before == 0 || entry->name.p[before - 1] != '/')
            continue;
        if (before == root && memcmp(entry->name.p, first.p, root) == 0)
            return entry;
        found = found ? found : entry;
    }
    return found;
}

static bool report_missing_record(struct heft_tracer *tr, const char *name)
{
    struct heft_buf names = {0};
    const size_t most = 200;
    bool ok;

    for (size_t i = 0; i < tr->zip.count && names.n < most; i++) {
        const struct heft_str entry = tr->zip.entries[i].name;

        if (!ends_with(entry, HEFT_STR(".pkl")))
            continue;
        heft_buf_text(&names, names.n ? ", " : "; pickles are ");
        heft_buf_str(&names, (struct heft_str){entry.p, heft_min_size(entry.n, most)});
    }
    heft_buf_char(&names, '\0');
    ok = heft_buf_ok(&names, tr->err);
    if (ok)
        heft_fail(tr->err, tr->options->record ? HEFT_USAGE : HEFT_UNSUPPORTED,
                  tr->options->record ? HEFT_NO_OFFSET : tr->zip.directory,
                  "the archive has no record %.200s%s", name, names.p);
    heft_buf_release(&names);
    return false;
}

/* Stores the byte range of every record by its name; keys of storages are looked up there. */
static bool store_places(struct heft_tracer *tr)
{
    for (size_t i = 0; i < tr->zip.count; i++) {
        const struct heft_zip_entry *entry = &tr->zip.entries[i];
        const struct heft_trace_place place = {entry->data, entry->packed,
                                               entry->method == HEFT_ZIP_DEFLATED};

        if (!heft_tracer_place(tr, entry->name, &place))
            return false;
    }
    return true;
}

/* "archive/data.pkl" → "archive/data/", the folder with the storages of that pickle. */
static bool name_folder(struct heft_tracer *tr, struct heft_str record)
{
    char *folder = heft_arena_text(&tr->mem, record, tr->err);

    if (!folder)
        return false;
    if (ends_with(record, HEFT_STR(".pkl"))) {
        record.n -= 3;
        folder[record.n - 1] = '/';
    }
    tr->folder = (struct heft_str){folder, record.n};
    return true;
}

static bool walk_record(struct heft_tracer *tr, const struct heft_zip_entry *entry)
{
    const bool is_stored = entry->method == HEFT_ZIP_STORED;
    const uint64_t cap =
        is_stored ? tr->limits->pickle : heft_min_u64(tr->limits->pickle, DEFLATED_RECORD);
    const struct heft_trace_pickle pickle = {.record = entry->name.p,
                                             .what = "",
                                             .number = 1,
                                             .count = 1,
                                             .offset = is_stored ? entry->data : HEFT_NO_OFFSET,
                                             .bytes = entry->size};
    struct heft_arena mem = {0};
    struct heft_bytes data;
    bool ok;

    tr->record = entry->name.p;
    tr->base = pickle.offset;
    tr->at = entry->data;
    ok = heft_zip_fetch(tr->src, entry, cap, false, &mem, &data, tr->err) &&
         name_folder(tr, entry->name) && walk_pickle(tr, &pickle, data, &mem);
    heft_arena_release(&mem);
    return ok;
}

static bool walk_zip(struct heft_tracer *tr)
{
    const struct heft_zip_limits limits = heft_zip_limits_of(tr->limits, tr->src->size);
    const char *name = tr->options->record ? tr->options->record : "data.pkl";
    const struct heft_zip_entry *entry;

    tr->is_zip = true;
    if (!heft_zip_open(&tr->zip, tr->src, &limits, &tr->mem, tr->err))
        return false;
    entry = find_record(tr, heft_str_of(name));
    if (!entry)
        return report_missing_record(tr, name);
    tr->is_script = find_record(tr, HEFT_STR("constants.pkl")) != NULL;
    return store_places(tr) && walk_record(tr, entry);
}

static bool walk_file(struct heft_tracer *tr)
{
    uint8_t head[HEFT_TAR_BLOCK] = {0};
    const size_t n = (size_t)heft_min_u64(tr->src->size, sizeof head);

    if (tr->src->size == 0)
        return heft_fail(tr->err, HEFT_MALFORMED, 0, "the file is empty");
    if (!heft_source_read(tr->src, 0, head, n, tr->err))
        return false;
    if (memcmp(head, "PK\3\4", 4) == 0)
        return walk_zip(tr);
    return n == sizeof head && heft_tar_is_header(head) ? walk_tar(tr) : walk_stream(tr);
}

bool heft_torch_trace(struct heft_tracer *tr)
{
    tr->work = MOST_WORK;
    tr->entries = HEFT_TRACE_ENTRIES;
    tr->folder = HEFT_STR("");
    tr->record = "";
    if (!walk_file(tr))
        return false;
    return !is_ranged(tr) || tr->shown || tr->is_stopped ||
           heft_fail(tr->err, HEFT_USAGE, HEFT_NO_OFFSET,
                     "no opcode lies at bytes %" PRIu64 " to %" PRIu64 " of its pickle",
                     tr->options->from, tr->options->to);
}
