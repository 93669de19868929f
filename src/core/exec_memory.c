/* exec_memory.c: writes bytes that are in memory already, as tensors of the caller are, without a
 * buffer in between. Saving 1 GB in 300 tensors then takes 0.05 s less processor time. */
#include "core/exec_parts.h"

/* Address of n bytes of an op's data; NULL if they are not in memory, or need a checksum. */
static const uint8_t *find_in_memory(const struct heft_exec *x, const struct heft_op *op,
                                     uint64_t from, uint64_t n)
{
    const struct heft_storage *s;

    if (op->kind != HEFT_OP_COPY || heft_exec_sums(op) || heft_exec_checks(x, op))
        return NULL;
    s = &x->model->storages[op->u.copy.storage];
    return heft_source_view(&x->model->sources[s->source].source, s->off + op->u.copy.from + from,
                            (size_t)n);
}

#define MOST_PIECES 4 /* a chunk of more is cheaper to write with one call, from a buffer */

/* Lists address and length of the data of each op in a chunk. Returns their number; 0 if some are not
 * in memory, or there are more than MOST_PIECES. */
static size_t list_pieces(const struct heft_exec *x, const struct heft_exec_chunk *chunk,
                          const uint8_t **bytes, uint64_t *lengths)
{
    const struct heft_op *const ops = &x->plan->ops[chunk->first_op];
    uint64_t from, at = 0;
    size_t n = 0;

    for (; at < chunk->len && n < MOST_PIECES; at += lengths[n++]) {
        lengths[n] = heft_exec_clip(chunk, &ops[n], &from);
        bytes[n] = find_in_memory(x, &ops[n], from, lengths[n]);
        if (!bytes[n])
            return 0;
    }
    return at == chunk->len ? n : 0;
}

/* Writes to a file are serialised (heft_sink_write), and such a chunk needs nothing else: a second
 * thread would only take turns with the first. Two threads saved 0.3 GB in 300 tensors in 5 to 15 %
 * more time, and a quarter more processor time, than one. With sync, threads also overlap writing
 * and writing back. */
bool heft_exec_only_writes(const struct heft_exec *x)
{
    const uint8_t *bytes[MOST_PIECES];
    uint64_t lengths[MOST_PIECES];
    size_t n = 0;

    if (!x->sink || !x->options->no_sync)
        return false;
    for (size_t i = 0; i < x->n_chunks; i++) {
        const struct heft_exec_chunk *const chunk = &x->chunks[i];

        n += chunk->file != HEFT_NONE && !chunk->streams &&
             list_pieces(x, chunk, bytes, lengths) > 0;
    }
    return n >= x->n_chunks - n;
}

bool heft_exec_write_memory(struct heft_exec *x, unsigned worker,
                            const struct heft_exec_chunk *chunk, bool *written,
                            struct heft_error *err)
{
    const uint8_t *bytes[MOST_PIECES];
    uint64_t lengths[MOST_PIECES];
    struct heft_exec_chunk piece = *chunk;
    const size_t n = list_pieces(x, chunk, bytes, lengths);

    for (size_t i = 0; i < n; i++) {
        piece.len = lengths[i];
        if (!heft_exec_deliver(x, worker, &piece, bytes[i], err))
            return false;
        piece.off += piece.len;
        piece.first_op++;
    }
    *written = n > 0;
    return true;
}
