/* digest_items.h: what is digested of a checkpoint: its tensors in the file's order, then the tied
 * names that its metadata records, then its blobs.
 *
 * The digest of a tensor is that of its row-major, little-endian elements, whatever the layout of
 * the file; of a dtype with blocks, that of the blocks; of strings, that of the length of each as a
 * little-endian u64, followed by its bytes. */
#ifndef HEFT_DIGEST_ITEMS_H
#define HEFT_DIGEST_ITEMS_H

#include "core/reader.h"
#include "core/select.h"
#include "heft/digest.h"
#include "measure/digest_run.h"

struct heft_digest_item {
    struct heft_str name; /* of the row, the tie or the blob */
    uint32_t index;       /* of the row (for a tie: of the tensor that is kept) or the blob */
    uint32_t same;        /* an earlier item with the same bytes; else its own number */
    uint8_t kind;         /* enum heft_digest_kind */
};

struct heft_digest_items {
    struct heft_reader *reader;
    struct heft_digest_item *list;
    size_t n, cap;
};

/* Whether the bytes of a row are the same in every format. *reason says why not; it is static. */
bool heft_digest_is_defined(const struct heft_model *model, const struct heft_row *row,
                            const char **reason);
/* Appends one item. It may be a row of the same bytes as an earlier item. */
HEFT_CHECKED bool heft_digest_items_add(struct heft_digest_items *items, enum heft_digest_kind kind,
                                        struct heft_str name, uint32_t index,
                                        struct heft_error *err);
/* Finds items with the same bytes, which are read once. After the last item is added. */
HEFT_CHECKED bool heft_digest_items_join(struct heft_digest_items *items, struct heft_error *err);
void heft_digest_items_release(struct heft_digest_items *items);

/* Logical bytes of an item. */
uint64_t heft_digest_item_bytes(const struct heft_digest_items *items, size_t item);

/* Callbacks of the run over these items, but for take(). The digests of items with the same bytes
 * are all delivered. */
typedef bool heft_digest_take_fn(void *ctx, size_t item, const uint8_t *digest,
                                 const struct heft_error *why, struct heft_error *err);
struct heft_digest_how {
    const struct heft_hasher *hasher;
    unsigned threads; /* 0: one per core, at most 4 */
    bool (*progress)(void *ctx, uint64_t done, uint64_t total);
    void *progress_ctx;
};
HEFT_CHECKED bool heft_digest_items_run(const struct heft_digest_items *items,
                                        const struct heft_digest_how *how,
                                        heft_digest_take_fn *take, void *ctx,
                                        struct heft_error *err);

#endif
