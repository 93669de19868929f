/* encoder_batch.c: many texts side by side → their ids side by side: Arrow's arrays of strings and of
 * lists. */
#include "base/endian.h"
#include "base/require_arg.h"
#include "base/sized.h"
#include "tokens/bpe/encoder_parts.h"

#define HANDFUL 256 /* ids that are widened to 32 bits at a time */

/* Where the ids of a text go. */
struct batch_room {
    uint8_t *ids;
    size_t n, room;         /* ids */
    unsigned width, inside; /* bytes of an id: in the batch, in the encoder */
    bool is_full;
};

/* The array may be unaligned. */
static void put_wide(const uint8_t *ids, size_t count, unsigned width, uint8_t *out)
{
    uint32_t wide[HANDFUL];

    for (size_t from = 0; from < count; from += HANDFUL) {
        const size_t n = heft_min_size(count - from, HANDFUL);

        heft_encoder_widen(ids + from * width, n, width, wide);
        memcpy(out + from * sizeof *wide, wide, n * sizeof *wide);
    }
}

/* Ids of 4 bytes in the encoder are below 65536 here. */
static void put_narrow(const uint8_t *ids, size_t count, unsigned width, uint8_t *out)
{
    for (size_t i = 0; i < count; i++) {
        const uint16_t id = width == 2 ? heft_le16(ids + 2 * i) : (uint16_t)heft_le32(ids + 4 * i);

        memcpy(out + 2 * i, &id, sizeof id);
    }
}

static void put_ids(struct batch_room *to, const uint8_t *ids, size_t count)
{
    (to->width == 2 ? put_narrow : put_wide)(ids, count, to->inside, to->ids + to->n * to->width);
    to->n += count;
}

static bool take_ids(void *ctx, const void *ids, size_t count)
{
    struct batch_room *to = ctx;

    to->is_full = count > to->room - to->n;
    if (!to->is_full)
        put_ids(to, ids, count);
    return !to->is_full;
}

/* Adds the ids of one text, and the id after it. */
static bool encode_one(struct heft_encoder *e, const struct heft_text_batch *texts, size_t i,
                       uint32_t end, struct batch_room *to, struct heft_error *err)
{
    const struct heft_taker taker = {.take = take_ids, .ctx = to};
    const uint64_t from = (uint64_t)(texts->offsets ? texts->offsets[i] : texts->offsets32[i]);
    const uint64_t up_to =
        (uint64_t)(texts->offsets ? texts->offsets[i + 1] : texts->offsets32[i + 1]);
    uint8_t bytes[4];

    if (texts->valid && !(texts->valid[i / 8] >> i % 8 & 1))
        return true;
    if (up_to < from || up_to > INT64_MAX)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "the offsets of text %zu descend", i);
    if (!heft_encoder_whole(e, (const uint8_t *)texts->data + from, (size_t)(up_to - from), &taker,
                            err))
        return false;
    if (end == HEFT_NO_TOKEN)
        return true;
    if (to->inside == 2)
        heft_put_le16(bytes, (uint16_t)end);
    else
        heft_put_le32(bytes, end);
    return take_ids(to, bytes, 1);
}

static bool check_batch(const struct heft_encoder *e, const struct heft_text_batch *texts,
                        const struct heft_id_batch *ids, struct heft_error *err)
{
    if (texts->n > 0 && !(texts->data && (texts->offsets || texts->offsets32)))
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "texts without data or offsets");
    if (!ids->ends || (!ids->ids && ids->room > 0))
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "no place for ids or ends");
    if (ids->width != 2 && ids->width != 4)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "ids of %u bytes; expected 2 or 4",
                         ids->width);
    return ids->width == 4 ||
           (heft_vocab_text_ids(e->v, e->is_special) <= 65536 &&
            (ids->end_id <= 65535 || ids->end_id == HEFT_NO_TOKEN)) ||
           heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "some ids need 4 bytes; 2 were given");
}

bool heft_encode_batch(struct heft_encoder *e, const struct heft_text_batch *texts,
                       const struct heft_id_batch *ids, size_t *done, struct heft_error *err)
{
    struct heft_text_batch from;
    struct heft_id_batch to;
    struct batch_room room;

    if (!heft_require_arg(e != NULL, "an encoder", err) ||
        !heft_require_arg(texts && ids && done, "a batch", err) ||
        !HEFT_TAKE(heft_text_batch, &from, texts, err) ||
        !HEFT_TAKE(heft_id_batch, &to, ids, err) || !check_batch(e, &from, &to, err))
        return false;
    if (*done == 0)
        to.ends[0] = 0;
    room = (struct batch_room){to.ids,   (size_t)to.ends[*done], to.room,
                               to.width, heft_encoder_width(e),  false};
    for (; *done < from.n; ++*done) {
        if (!encode_one(e, &from, *done, to.end_id, &room, err)) {
            if (!room.is_full)
                return false;
            heft_error_begin(err);
            return true;
        }
        to.ends[*done + 1] = (int64_t)room.n;
    }
    return true;
}
