/* encode_resume.c: runs that survive a crash (io/journal.h). The first record identifies the run;
 * each other one holds the state of inputs and output at the same position of the text:
 *
 *     u64 PID | u64 n, options | u64 inputs, u64 of each        other runs must not resume from it
 *     the output (token_save.c) | u64 is over | u64 n, checkpoint | u64 documents | u64 bytes |
 *     u64 tokens | u64 arrays | u64 tokens reported | u64 of each argument
 *
 * The last record counts. From earlier ones only growing lists are used: the sink's files, and what
 * comes in pieces. */
#include "base/checksum.h"
#include "base/text.h"
#include "heft/heft.h"
#include "io/os.h"
#include "tokens/job/encode_front.h"

/* ---- identity of a run: vocabulary, inputs, options ------------------------------------------ */

/* Two checksums with different polynomials. */
struct mark_of {
    uint32_t a, b;
};

static void add_to(struct mark_of *m, const void *p, size_t n)
{
    m->a = heft_crc32(m->a, p, n);
    m->b = heft_crc32c(m->b, p, n);
}

uint64_t heft_encode_vocabulary_mark(const struct heft_vocab *v)
{
    struct mark_of m = {0};

    for (uint32_t id = 0; id < v->n_ids; id++) {
        add_to(&m, &v->tokens[id].n, sizeof v->tokens[id].n);
        if (v->tokens[id].n > 0)
            add_to(&m, v->tokens[id].p, v->tokens[id].n);
    }
    if (v->n_merges > 0)
        add_to(&m, v->merges, v->n_merges * sizeof *v->merges);
    for (size_t i = 0; i < v->n_steps; i++)
        add_to(&m, v->steps[i].pattern.p, v->steps[i].pattern.n);
    for (size_t i = 0; i < v->n_added; i++)
        add_to(&m, v->added[i].text.p, v->added[i].text.n);
    return (uint64_t)m.a << 32 | m.b;
}

static uint64_t mark_of_input(const struct heft_input_item *item)
{
    const uint64_t numbers[3] = {item->bytes, (uint64_t)item->changed, item->word};
    struct mark_of m = {0};

    add_to(&m, item->path, strlen(item->path) + 1);
    add_to(&m, numbers, sizeof numbers);
    return (uint64_t)m.a << 32 | m.b;
}

void heft_encode_put_options(const struct heft_encoding *e, struct heft_buf *to)
{
    const struct heft_encode_options *o = &e->options;

    heft_buf_printf(to, "%s %s key %s unicode %s combine %" PRIu64 " eot %d%d%d replace %d",
                    HEFT_VERSION, e->format->name, o->jsonl_key ? o->jsonl_key : "",
                    o->unicode ? o->unicode : "", o->combine, (int)o->eot, o->eot_each,
                    o->eot_before, o->replace + 2 * o->skip);
    heft_buf_printf(to, " width %u end %" PRIu32 " special %d tokenizer %s encoding %d", e->width,
                    e->v->end, o->special, o->tokenizer ? o->tokenizer : "",
                    (int)e->text.encoding.charset);
}

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* All options that affect the bytes of the output. */
static void put_options(const struct heft_encoding *e, struct heft_buf *to)
{
    const struct heft_encode_options *o = &e->options;
    char share[HEFT_DOUBLE_MAX];

    (void)heft_double_text(
        o->val_fraction,
        share); /* independent of the locale, as journals may be resumed in another */
    heft_encode_put_options(e, to);
    heft_buf_printf(to, " output %s lengths %s", name_of(e->output),
                    name_of(o->lengths ? o->lengths : ""));
    heft_buf_printf(to, " window %" PRIu64 " %" PRIu64, o->window, o->stride);
    heft_buf_printf(to, " part %" PRIu64 "/%" PRIu64 " %" PRIu64 " %" PRIu64, e->part.index,
                    e->part.count, e->part.begin, e->part.end);
    heft_buf_printf(to, " shard %" PRIu64 " share %s vocabulary %" PRIx64 " words %zu",
                    o->shard_tokens, share, heft_encode_vocabulary_mark(e->v), e->n_words);
}

static bool make_who(struct heft_encoding *e, struct heft_error *err)
{
    struct heft_buf *who = &e->resume.who, options = {0}, path = {0};
    const size_t n = heft_input_list_count(e->list);
    struct heft_input_item item;
    bool ok = true;

    if (who->n > 0)
        return true;
    put_options(e, &options);
    heft_journal_u64(who, heft_os_process());
    heft_journal_bytes(who, options.p, options.n);
    heft_journal_u64(who, n);
    for (size_t i = 0; ok && i < n; i++) {
        ok = heft_input_list_get(e->list, i, &path, &item, err);
        heft_journal_u64(who, ok ? mark_of_input(&item) : 0);
    }
    who->failed |= options.failed;
    heft_buf_release(&options);
    heft_buf_release(&path);
    return ok && heft_buf_ok(who, err);
}

static bool fail_different(struct heft_error *err, const char *what)
{
    return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                     "%s than in the interrupted run; omit option resume to start again", what);
}

static bool input_differs(const struct heft_encoding *e, size_t i, struct heft_error *err)
{
    fail_different(err, "another input, or with other contents,");
    return heft_error_file(err, heft_input_list_path(e->list, i));
}

static bool check_who(struct heft_encoding *e, struct heft_cur *record, struct heft_error *err)
{
    struct heft_cur own;
    struct heft_bytes theirs, ours;

    if (!make_who(e, err))
        return false;
    own = heft_cur_of((struct heft_bytes){(uint8_t *)e->resume.who.p, e->resume.who.n}, 0);
    e->resume.process = heft_cur_u64(record);
    heft_token_out_keep(e->out, e->resume.process);
    (void)heft_cur_u64(&own);
    theirs = heft_journal_take(record);
    ours = heft_journal_take(&own);
    if (theirs.n != ours.n || memcmp(theirs.p, ours.p, ours.n) != 0)
        return fail_different(err, "other options, another vocabulary or version of heft");
    if (heft_cur_u64(record) != heft_cur_u64(&own))
        return fail_different(err, "more or fewer inputs");
    for (size_t i = 0; i < heft_input_list_count(e->list); i++)
        if (heft_cur_u64(record) != heft_cur_u64(&own))
            return input_differs(e, i, err);
    return heft_journal_ends(record, err);
}

/* ---- writing records ------------------------------------------------------------------------- */

/* Creates the journal. If the system refuses, the run goes on without, unless `resume` asks for it.
 */
static bool make_journal(struct heft_encoding *e, struct heft_error *err)
{
    struct heft_encode_resume *r = &e->resume;
    struct heft_error said = {0};

    if (r->journal || r->has_none)
        return true;
    if (!make_who(e, err))
        return false;
    if (heft_journal_open(r->path, true, e->options.no_sync, &r->journal, &said))
        return heft_journal_append(r->journal, &r->who, err);
    r->has_none = !e->options.resume && said.code != HEFT_NOMEM;
    if (!r->has_none)
        *err = said;
    return r->has_none;
}

static void put_counts(struct heft_encoding *e, bool is_over, struct heft_buf *to)
{
    heft_journal_u64(to, is_over ? e->sum.documents : 0); /* otherwise another thread counts them */
    heft_journal_u64(to, is_over ? e->sum.bytes : 0);
    heft_journal_u64(to, e->sum.tokens);
    heft_journal_u64(to, e->sum.arrays);
    heft_journal_u64(to, e->told);
    for (size_t i = 0; i < e->n_words; i++)
        heft_journal_u64(to, e->word_tokens[i]);
}

static bool put_record(struct heft_encoding *e, const struct heft_buf *place, bool is_over,
                       struct heft_error *err)
{
    struct heft_buf record = {0};
    bool ok = heft_token_out_save(e->out, e->resume.journal, &record, err);

    e->resume.has_state = true;
    heft_journal_u64(&record, is_over);
    heft_journal_bytes(&record, place->p, place->n);
    put_counts(e, is_over, &record);
    ok = ok && heft_journal_append(e->resume.journal, &record, err);
    heft_buf_release(&record);
    return ok;
}

bool heft_encode_record(struct heft_encoding *e, const struct heft_buf *place,
                        struct heft_error *err)
{
    return make_journal(e, err) && (e->resume.has_none || put_record(e, place, false, err));
}

bool heft_encode_commit(struct heft_encoding *e, struct heft_error *err)
{
    const struct heft_buf none = {0};
    bool ok = heft_token_out_end(e->out, err) && heft_encode_put_receipt(e, err) &&
              (!e->resume.journal || put_record(e, &none, true, err)) &&
              heft_token_out_commit(e->out, err);

    e->sum.val_tokens = heft_token_out_val(e->out);
    e->sum.dropped = heft_token_out_dropped(e->out);
    heft_journal_close(e->resume.journal, ok || !e->options.resume);
    e->resume.journal = NULL;
    return ok;
}

/* ---- resuming a run -------------------------------------------------------------------------- */

static void load_counts(struct heft_encoding *e, struct heft_cur *record)
{
    e->sum.documents = heft_cur_u64(record);
    e->sum.bytes = e->sum.resumed = heft_cur_u64(record);
    e->sum.tokens = heft_cur_u64(record);
    e->sum.arrays = heft_cur_u64(record);
    e->told = heft_cur_u64(record);
    for (size_t i = 0; i < e->n_words; i++)
        e->word_tokens[i] = heft_cur_u64(record);
}

static bool load_record(void *ctx, bool goes_on, struct heft_cur *record, struct heft_error *err)
{
    struct heft_encoding *e = ctx;
    struct heft_encode_resume *r = &e->resume;
    struct heft_bytes place;

    if (goes_on)
        return heft_token_out_load_rows(e->out, record, err);
    if (r->n_records++ == 0)
        return check_who(e, record, err);
    if (!heft_token_out_load(e->out, record, err))
        return false;
    r->is_over = heft_cur_u64(record) != 0;
    place = heft_journal_take(record);
    r->place.n = 0;
    heft_buf_put(&r->place, place.p, place.n);
    load_counts(e, record);
    return heft_buf_ok(&r->place, err) && heft_journal_ends(record, err);
}

/* Reads the files in a record; the first record has none. */
static bool load_files(void *ctx, bool goes_on, struct heft_cur *record, struct heft_error *err)
{
    struct heft_encoding *e = ctx;

    if (goes_on)
        return true;
    if (e->resume.n_records++ > 0)
        return heft_token_out_load_files(e->out, e->resume.stale, record, err);
    e->resume.process = heft_cur_u64(record);
    return true;
}

/* Deletes the files of an interrupted run, as far as its journal can be read. */
static bool discard_earlier(struct heft_encoding *e, struct heft_error *err)
{
    struct heft_encode_resume *r = &e->resume;
    struct heft_error unread = {0};
    bool ok;

    r->stale = heft_sink_new(&(struct heft_sink_options){0}, err);
    if (!r->stale)
        return false;
    ok = heft_journal_read(r->journal, load_files, e, &unread) || unread.code != HEFT_NOMEM;
    if (!ok)
        *err = unread;
    heft_sink_adopt(r->stale, r->process);
    ok = ok && heft_token_out_sweep(e->out, r->stale, err);
    heft_sink_free(r->stale);
    heft_journal_close(r->journal, true);
    r->stale = NULL;
    r->journal = NULL;
    r->n_records = 0;
    r->has_state = false;
    return ok;
}

/* A shard has whole windows. */
static uint64_t shard_of(const struct heft_encode_options *o)
{
    const uint64_t rest = o->window ? o->shard_tokens % o->window : 0;

    if (rest == 0)
        return o->shard_tokens;
    return o->shard_tokens > UINT64_MAX - o->window ? o->shard_tokens - rest
                                                    : o->shard_tokens + (o->window - rest);
}

static bool open_output(struct heft_encoding *e, struct heft_error *err)
{
    const struct heft_encode_options *o = &e->options;
    const struct heft_token_out_how how = {
        .path = e->output,
        .format = e->format,
        .shard_tokens = shard_of(o),
        .val_fraction = o->val_fraction,
        .vocab_size =
            (uint32_t)heft_min_u64(heft_vocab_size(e->v), e->width == 2 ? 65536 : UINT32_MAX),
        .width = e->width,
        .has_arrays = e->has_arrays,
        .sink = {.overwrite = o->overwrite, .no_sync = o->no_sync},
        .lengths = o->lengths,
        .has_receipt = e->part.count > 0 && !heft_encode_streams(e),
        .tokenizer = o->tokenizer,
        .rejects = o->rejects,
        .window = o->window,
        .stride = o->stride,
        .written = heft_encode_streams(e) ? o->written : NULL,
        .written_ctx = o->written_ctx,
    };

    e->out = heft_token_out_new(&how, err);
    return e->out != NULL;
}

/* Sets the path of the journal: DIR/.NAME.heft-journal. */
static bool name_journal(struct heft_encoding *e, struct heft_error *err)
{
    const char *slash = strrchr(e->output, '/');
    const size_t n = slash ? (size_t)(slash + 1 - e->output) : 0;

    e->resume.path = heft_arena_printf(&e->mem, err, "%.*s.%.180s.heft-journal", (int)n, e->output,
                                       e->output + n);
    return e->resume.path != NULL;
}

/* Opens the journal of an earlier run that is not active. Without `resume`, errors only mean that
 * there is no journal. */
static bool open_journal(struct heft_encoding *e, struct heft_error *err)
{
    struct heft_encode_resume *r = &e->resume;
    struct heft_error said = {0};

    if (!name_journal(e, err))
        return false;
    if (heft_journal_open(r->path, false, e->options.no_sync, &r->journal, &said))
        return !r->journal || e->options.resume || discard_earlier(e, err);
    r->path = NULL;
    if (e->options.resume || said.code == HEFT_NOMEM)
        *err = said;
    return !e->options.resume && said.code != HEFT_NOMEM;
}

/* Starts from the beginning. Long or resumable runs create the journal before any file, so that
 * every file is known to a journal. */
static bool begin_anew(struct heft_encoding *e, struct heft_error *err)
{
    const struct heft_buf none = {0};
    const bool is_kept = e->resume.path && (e->options.resume || heft_input_list_bytes(e->list) >=
                                                                     e->options.checkpoint);

    if (e->options.resume)
        heft_token_out_keep(e->out, 0);
    return (!is_kept || make_journal(e, err)) && heft_token_out_begin(e->out, err) &&
           (!is_kept || heft_encode_record(e, &none, err));
}

static bool go_on(struct heft_encoding *e, struct heft_error *err)
{
    struct heft_encode_resume *r = &e->resume;

    r->has_state = true; /* kept even if it cannot be resumed */
    if (!heft_journal_read(r->journal, load_record, e, err))
        return false;
    if (r->n_records > 1)
        return heft_token_out_reopen(e->out, err);
    return discard_earlier(e, err) &&
           begin_anew(e, err); /* interrupted before its first checkpoint */
}

bool heft_encode_begin(struct heft_encoding *e, struct heft_error *err)
{
    const struct heft_encode_options *o = &e->options;

    if (!open_output(e, err))
        return false;
    if (heft_input_list_streams(e->list) && o->resume)
        return heft_fail(
            err, HEFT_USAGE, HEFT_NO_OFFSET,
            "an input that can only be read once cannot be resumed; use regular files");
    if (!heft_input_list_streams(e->list) && !heft_encode_streams(e) && !open_journal(e, err))
        return false;
    return e->resume.journal ? go_on(e, err) : begin_anew(e, err);
}

void heft_encode_resume_release(struct heft_encode_resume *r, bool keep)
{
    heft_journal_close(r->journal, !keep || !r->has_state);
    heft_buf_release(&r->who);
    heft_buf_release(&r->place);
}
