/* plan_digest.c: a SHA-256 of a plan, by which another process finds out that it has made the same one.
 *
 * Numbers are hashed as 8 bytes, little-endian, texts after their length. What a file holds of the
 * inputs is hashed as its place in them, not as bytes. */
#include "base/endian.h"
#include "core/plan.h"

static void put_u64(struct heft_sha256 *sha, uint64_t v)
{
    uint8_t bytes[8];

    heft_put_le64(bytes, v);
    heft_sha256_put(sha, bytes, sizeof bytes);
}

static void put_text(struct heft_sha256 *sha, const char *p, size_t n)
{
    put_u64(sha, n);
    heft_sha256_put(sha, p, n);
}

static void put_numbers(struct heft_sha256 *sha, const uint64_t *list, unsigned n)
{
    put_u64(sha, list ? n : 0);
    for (unsigned i = 0; list && i < n; i++)
        put_u64(sha, list[i]);
}

static void put_storage(struct heft_sha256 *sha, const struct heft_model *model, uint32_t storage,
                        uint64_t from)
{
    const struct heft_storage *const s = &model->storages[storage];
    const uint64_t list[] = {s->source, s->off, s->packed, s->coding, from};

    put_numbers(sha, list, HEFT_COUNT(list));
}

static void put_row(struct heft_sha256 *sha, const struct heft_model *model,
                    const struct heft_row *row)
{
    const uint64_t list[] = {row->dtype, row->rank, row->flags, row->bytes};
    const unsigned rank = heft_row_boxed_rank(row);

    put_numbers(sha, list, HEFT_COUNT(list));
    put_numbers(sha, row->shape, row->rank);
    put_numbers(sha, row->stride, row->rank);
    if (heft_row_is_derived(row))
        put_text(sha, row->parts->recipe->identity, strlen(row->parts->recipe->identity));
    if (heft_row_is_shaped(row))
        put_numbers(sha, row->parts->shape, rank);
    for (uint32_t k = 0; k < heft_row_pieces(row); k++) {
        const struct heft_part *const part = row->parts ? &row->parts->list[k] : NULL;

        put_storage(sha, model, heft_row_storage(row, k), part ? part->offset : row->offset);
        put_numbers(sha, part ? part->start : NULL, rank); /* NULL if derived */
        put_numbers(sha, part ? part->extent : NULL, rank);
        put_numbers(sha, part ? part->stride : NULL, rank);
        put_u64(sha, part ? part->flags : 0);
    }
}

/* Bytes of a maker are hashed themselves: another version of a library may make others. */
static bool put_made(struct heft_sha256 *sha, const struct heft_plan *plan,
                     const struct heft_op *op, struct heft_error *err)
{
    const struct heft_maker *const maker = &plan->makers[op->u.made.maker];
    uint8_t bytes[4096];

    for (uint64_t at = 0; at < op->len; at += sizeof bytes) {
        const size_t n = (size_t)heft_min_u64(sizeof bytes, op->len - at);

        if (!maker->make(maker->ctx, op->u.made.from + at, bytes, n, err))
            return false;
        heft_sha256_put(sha, bytes, n);
    }
    return true;
}

static bool put_op(struct heft_sha256 *sha, const struct heft_plan *plan, const struct heft_op *op,
                   struct heft_error *err)
{
    const uint64_t list[] = {op->kind, op->as, op->file, op->sum, op->off, op->len};

    put_numbers(sha, list, HEFT_COUNT(list));
    switch ((enum heft_op_kind)op->kind) {
    case HEFT_OP_PUT:
        heft_sha256_put(sha, op->u.bytes, (size_t)op->len);
        break;
    case HEFT_OP_MADE:
        return put_made(sha, plan, op, err);
    case HEFT_OP_COPY:
        put_storage(sha, plan->model, op->u.copy.storage, op->u.copy.from);
        break;
    case HEFT_OP_ROW:
        put_row(sha, plan->model, op->u.row);
        break;
    case HEFT_OP_FILE:
        put_text(sha, op->u.file.path, strlen(op->u.file.path));
        put_u64(sha, op->u.file.from);
        break;
    case HEFT_OP_LATE:
        break;
    }
    return true;
}

bool heft_plan_digest(const struct heft_plan *plan, uint8_t digest[HEFT_SHA256_BYTES],
                      struct heft_error *err)
{
    struct heft_sha256 sha;

    heft_sha256_init(&sha);
    put_u64(&sha, plan->sum);
    for (size_t i = 0; i < plan->n_files; i++)
        put_text(&sha, plan->files[i].path, strlen(plan->files[i].path));
    for (size_t i = 0; i < plan->n_folders; i++)
        put_text(&sha, plan->folders[i], strlen(plan->folders[i]));
    for (size_t i = 0; i < plan->n_ops; i++)
        if (!put_op(&sha, plan, &plan->ops[i], err))
            return false;
    heft_sha256_end(&sha, digest);
    return true;
}
