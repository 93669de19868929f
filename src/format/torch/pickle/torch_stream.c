/* torch_stream.c: pickles and storages one after the other, without lengths around them.
 *
 *     pickle … '.'   its end is found by running it; windows of the file are read as needed
 *     int64 count    ┐ a storage
 *     count × size   ┘
 *
 * The bytes are a file, a member of a tar, or bytes within a pickle: verbatim in the file, or
 * decoded in memory, where they have no file offset. */
#include "format/torch/pickle/torch_parts.h"

#include "base/endian.h"

#define FIRST_OBJECT  ((uint64_t)64 << 10) /* first window for the pickle of the object */
#define END_REACH     65557 /* a zip's end record may precede the end of a file by this much */
#define SURE_PICKLE   64    /* bytes of a pickle that states no protocol */
#define SURE_OPCODES  8
#define PEEK_OPCODES  100000 /* far more than a head of 4 KiB can hold */
#define HIGHEST_PROTO 5

struct heft_torch_stream heft_torch_file_stream(struct heft_model *model, uint32_t source)
{
    return (struct heft_torch_stream){
        .bytes = model->sources[source].source, .model = model, .source = source};
}

uint64_t heft_torch_stream_at(const struct heft_torch_stream *in, uint64_t position)
{
    return in->is_memory ? HEFT_NO_OFFSET : in->origin + position;
}

/* ---- pickles ----------------------------------------------------------------------------- */

static struct heft_pickle_limits limits_of(const struct heft_torch_stream *in, uint64_t text)
{
    const struct heft_limits *l = &in->model->limits;

    return (struct heft_pickle_limits){.opcodes = l->opcodes,
                                       .nodes = heft_limit_nodes(l, in->model->file_bytes),
                                       .bytes = heft_model_room(in->model),
                                       .text = text};
}

static bool read_pickle(const struct heft_torch_stream *in, uint64_t position, uint64_t first,
                        uint64_t text, struct heft_pickle *out, struct heft_arena *arena,
                        struct heft_error *err)
{
    const struct heft_pickle_limits limits = limits_of(in, text);
    const struct heft_pickle_place place = {.off = position,
                                            .end = in->bytes.size,
                                            .base = in->is_memory ? HEFT_NO_OFFSET : in->origin,
                                            .first = first,
                                            .cap = in->model->limits.pickle};

    return heft_pickle_read(out, &in->bytes, &place, &limits, arena, err);
}

bool heft_torch_stream_pickle(const struct heft_torch_stream *in, uint64_t position, uint64_t first,
                              struct heft_pickle *out, struct heft_arena *arena,
                              struct heft_error *err)
{
    return read_pickle(in, position, first, 0, out, arena, err);
}

static void set_out(const struct heft_torch_stream *in, uint64_t position, struct heft_torch *t)
{
    t->model = in->model;
    t->source = in->source;
    t->base = heft_torch_stream_at(in, position);
    t->pickle_at = in->origin + position;
}

/* A text may be as long as the pickle: a plain pickle can hold its tensors as text. */
bool heft_torch_stream_object(const struct heft_torch_stream *in, uint64_t position,
                              struct heft_torch *t, struct heft_error *err)
{
    set_out(in, position, t);
    if (!read_pickle(in, position, FIRST_OBJECT, in->model->limits.pickle, &t->pickle, &t->graph,
                     err))
        return false;
    t->pickle_packed = t->pickle.length;
    return heft_torch_look_up(t, err);
}

/* The pickle is run again with more bytes: the nodes of the failed run are released first. */
bool heft_torch_stream_broken(const struct heft_torch_stream *in, uint64_t position,
                              struct heft_torch *t, struct heft_error *err)
{
    const struct heft_pickle_limits limits = limits_of(in, in->model->limits.pickle);
    const size_t n = t->pickle.data.n;
    struct heft_bytes data;

    heft_arena_release(&t->graph);
    heft_model_hold(in->model, &t->held, 0);
    if (!heft_source_fetch(&in->bytes, position, n, &t->graph, &data, err) ||
        !heft_torch_run_damaged(t, data, &limits, err))
        return false;
    t->pickle_packed = t->pickle.length;
    return heft_torch_look_up(t, err);
}

bool heft_torch_is_python2(const struct heft_pickle *pickle)
{
    for (uint32_t i = 0; i < pickle->count; i++)
        if (pickle->nodes[i].kind == HEFT_PICKLE_PY2STR)
            return true;
    return false;
}

const char *heft_torch_protocol(const struct heft_pickle *pickle)
{
    static const char *const names[] = {"pickle protocol 0 or 1", "pickle protocol 1",
                                        "pickle protocol 2",      "pickle protocol 3",
                                        "pickle protocol 4",      "pickle protocol 5"};

    return names[pickle->protocol]; /* the pickle machine refuses other protocols */
}

/* ---- recognising a stream by its first pickle -------------------------------------------- */

/* A pickle that states no protocol is judged strictly: text files can also begin like a pickle. */
static enum heft_torch_peek judge_head(const struct heft_pickle *pickle, bool done, uint64_t size,
                                       const struct heft_error *why)
{
    const struct heft_bytes head = pickle->data;
    const bool named = head.n >= 2 && head.p[0] == 0x80 && head.p[1] <= HIGHEST_PROTO;

    if (done && heft_torch_is_magic(pickle))
        return HEFT_TORCH_MAGIC;
    if (done)
        return named || pickle->length == size || pickle->length >= SURE_PICKLE
                   ? HEFT_TORCH_WHOLE_PICKLE
                   : HEFT_TORCH_NO_PICKLE;
    if (why->code == HEFT_NOMEM)
        return HEFT_TORCH_UNJUDGED;
    if (named)
        return HEFT_TORCH_PERHAPS_PICKLE;
    return head.n < size && why->code == HEFT_MALFORMED && pickle->opcodes >= SURE_OPCODES &&
                   heft_pickle_wants_more(head, why->offset)
               ? HEFT_TORCH_PERHAPS_PICKLE
               : HEFT_TORCH_NO_PICKLE;
}

enum heft_torch_peek heft_torch_peek(struct heft_bytes head, uint64_t size)
{
    const struct heft_pickle_limits limits = {.opcodes = PEEK_OPCODES};
    struct heft_arena mem = {0};
    struct heft_error why = {0};
    struct heft_pickle pickle;
    enum heft_torch_peek found;
    bool done;

    if (head.n == 0 || !heft_pickle_opcode_name(head.p[0]) ||
        heft_torch_is_zip(head)) /* 'P' is also an opcode */
        return HEFT_TORCH_NO_PICKLE;
    done = heft_pickle_run(&pickle, head, 0, &limits, &mem, &why);
    found = judge_head(&pickle, done, size, &why);
    heft_arena_release(&mem);
    return found;
}

/* ---- storages ---------------------------------------------------------------------------- */

bool heft_torch_stream_claim(const struct heft_torch_stream *in, uint64_t position, uint64_t bytes,
                             const char *what, struct heft_str of, struct heft_error *err)
{
    return in->is_memory || in->is_claimed || bytes == 0 ||
           heft_model_claim_of(in->model, in->source, in->origin + position, bytes, what, of, err);
}

bool heft_torch_stream_i64(const struct heft_torch_stream *in, uint64_t position, int64_t *out,
                           struct heft_error *err)
{
    uint8_t raw[8];

    if (!heft_source_read(&in->bytes, position, raw, sizeof raw, err))
        return false;
    *out = (int64_t)heft_le64(raw);
    return true;
}

bool heft_torch_stream_storage(const struct heft_torch_stream *in, uint64_t position,
                               struct heft_str label, struct heft_torch_storage *s,
                               struct heft_error *err)
{
    const struct heft_storage storage = {.off = in->origin + position + 8,
                                         .packed = s->bytes,
                                         .len = s->bytes,
                                         .label = label,
                                         .source = in->source};

    return heft_model_add_storage(in->model, &storage, &s->storage, err);
}

/* ---- the end of a stream ----------------------------------------------------------------- */

/* True if the last n bytes contain the end record of a zip. */
static bool ends_as_zip(const struct heft_source *bytes, uint64_t n, bool *yes,
                        struct heft_error *err)
{
    const uint64_t reach = heft_min_u64(n, END_REACH);
    struct heft_arena mem = {0};
    struct heft_bytes tail;
    const bool ok = heft_source_fetch(bytes, bytes->size - reach, reach, &mem, &tail, err);

    *yes = false;
    for (size_t i = 0; ok && !*yes && i + 4 <= tail.n; i++)
        *yes = memcmp(tail.p + i, "PK\5\6", 4) == 0;
    heft_arena_release(&mem);
    return ok;
}

bool heft_torch_stream_end(const struct heft_torch_stream *in, uint64_t end, const char *behind,
                           struct heft_error *err)
{
    const uint64_t n = in->bytes.size - end;
    bool is_zip;

    if (n == 0)
        return true;
    if (!heft_model_note(in->model, HEFT_FINDING, in->source, in->origin + end, err,
                         "%" PRIu64 " bytes after %s", n, behind) ||
        !heft_torch_stream_claim(in, end, n, "bytes after ", heft_str_of(behind), err) ||
        !ends_as_zip(&in->bytes, n, &is_zip, err))
        return false;
    return !is_zip || heft_model_note(in->model, HEFT_FINDING, in->source, in->origin + end, err,
                                      "these bytes end like a zip archive: torch reads the part "
                                      "before it, other readers would open the archive");
}
