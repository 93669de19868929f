/* cmd_index.c: explain --trace of a TensorFlow checkpoint: prints its index, block by block and
 * entry by entry.
 *
 *     block at 0x0
 *     0x00  shared 0  key ""   value 6   header: num_shards 1, …
 *     0x09  shared 0  key "a"  value 11  DT_FLOAT [], shard 0, offset 0, size 4, CRC-32C … */
#include "main/options.h"
#include "output/output.h"
#include "output/report.h"

#include <stdlib.h>
#include <string.h>

struct indexing {
    const struct options *options;
    struct out *out;
    uint64_t entries, blocks, block;
};

static void json_entry(struct out *out, const struct heft_index_entry *e)
{
    json_open(out, '{');
    json_member_u64(out, "block", e->block);
    json_member_u64(out, "offset", e->offset);
    json_member_u64(out, "bytes", e->bytes);
    json_member_bool(out, "packed", e->is_packed);
    json_member_u64(out, "in_block", e->in_block);
    json_member_u64(out, "shared", e->shared);
    json_key(out, "key");
    json_text(out, e->key, e->key_len);
    json_member_u64(out, "value_bytes", e->value_len);
    json_member_text(out, "text", e->text);
    json_close(out, '}');
}

static void text_entry(struct indexing *x, const struct heft_index_entry *e)
{
    struct out *const out = x->out;

    if (x->entries == 0 || e->block != x->block) {
        out_text(out, "block at ");
        out_hex(out, e->block, 1);
        out_text(out,
                 e->is_packed ? ", packed with snappy: positions are those of the block\n" : "\n");
    }
    out_text(out, "  ");
    out_hex(out, e->is_packed ? e->in_block : e->offset, 4);
    out_text(out, "  shared ");
    out_u64(out, e->shared);
    out_text(out, "  key \"");
    (void)out_name(out, e->key, e->key_len);
    out_text(out, "\"  value ");
    out_u64(out, e->value_len);
    out_text(out, "  ");
    out_text(out, e->text);
    out_char(out, '\n');
}

static bool take_entry(void *ctx, const struct heft_index_entry *e)
{
    struct indexing *const x = ctx;
    const bool is_json = x->options->json || x->options->jsonl;

    if (is_json && !x->options->jsonl && x->entries == 0) {
        json_open(x->out, '{');
        json_member_u64(x->out, "heft", 1);
        json_member_text(x->out, "file", x->options->inputs.items[0]);
        json_key(x->out, "entries");
        json_open(x->out, '[');
    }
    if (is_json)
        json_entry(x->out, e);
    else
        text_entry(x, e);
    if (x->options->jsonl)
        out_char(x->out, '\n');
    x->blocks += x->entries == 0 || e->block != x->block;
    x->block = e->block;
    x->entries++;
    return x->out->error == 0;
}

static void finish_document(struct indexing *x)
{
    struct out *const out = x->out;

    if (x->options->jsonl)
        return;
    if (x->options->json) {
        json_close(out, ']');
        json_close(out, '}');
        out_char(out, '\n');
        return;
    }
    out_u64(out, x->entries);
    out_text(out, x->entries == 1 ? " entry in " : " entries in ");
    out_u64(out, x->blocks);
    out_text(out, x->blocks == 1 ? " block\n" : " blocks\n");
}

bool walk_index(const struct options *options, struct out *out, int *status)
{
    const struct heft_open_options how = {
        .size = sizeof how, .options = options->read_options, .n_options = options->n_read_options};
    struct indexing x = {.options = options, .out = out};
    struct heft_error err = {0};
    bool is_index = false;

    const bool ok =
        heft_index_walk(options->inputs.items[0], &how, take_entry, &x, &is_index, &err) ||
        err.code == HEFT_CANCELLED; /* the output failed, which main reports */
    if (!is_index)
        return false;
    note_read_options(options, true);
    if (x.entries)
        finish_document(&x);
    if (!ok)
        out_flush(out); /* the entries are printed before the error */
    *status = ok ? EXIT_SOUND : report_error(&err);
    return true;
}
