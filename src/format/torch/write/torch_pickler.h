/* torch_pickler.h: values as CPython's pickler writes them with protocol 2, shared by the
 * torch_*write*.c and torch_keep*.c files only.
 *
 * Whatever CPython may meet again it puts into its memo (q), and takes from there (h) when it meets
 * the same object: equal bytes need the same objects. A memo place is HEFT_NO_MEMO until then. */
#ifndef HEFT_TORCH_PICKLER_H
#define HEFT_TORCH_PICKLER_H

#include "format/torch/write/torch_write.h"

#define HEFT_NO_MEMO       HEFT_NONE
#define HEFT_PICKLER_LATIN 256 /* single characters, which CPython has once each */

enum heft_pickler_word { HEFT_WORD_STORAGE, HEFT_WORD_CPU, HEFT_WORDS };
enum heft_pickler_callee {
    HEFT_CALLEE_ORDERED,
    HEFT_CALLEE_REBUILD_V2,
    HEFT_CALLEE_REBUILD_V3,
    HEFT_CALLEE_UNTYPED,
    HEFT_CALLEES
};

struct heft_pickler {
    const struct heft_torch_out *out;
    struct heft_buf buf; /* what has not yet been added to the plan */
    enum heft_torch_style style;
    uint32_t n_memo;
    /* Memo places. Of `latin` the last one is the empty string's. */
    uint32_t callees[HEFT_CALLEES], words[HEFT_WORDS], dtypes[HEFT_DTYPE_COUNT],
        latin[HEFT_PICKLER_LATIN + 1];
    uint32_t *keys;             /* of the pieces */
    struct heft_u32map objects; /* tensors that may come again */
    struct heft_strmap shared;  /* words of the module's own code, as "version" */
};

HEFT_CHECKED bool heft_pickler_init(struct heft_pickler *p, const struct heft_torch_out *out,
                                    enum heft_torch_style style, struct heft_error *err);
void heft_pickler_release(struct heft_pickler *p);

static inline void heft_pickler_op(struct heft_pickler *p, int code)
{
    heft_buf_char(&p->buf, (char)code);
}
void heft_pickler_le32(struct heft_pickler *p, uint32_t v);
/* q, r: the top of the stack goes into the memo: its place. */
uint32_t heft_pickler_keep(struct heft_pickler *p);
/* h, j: pushes what is in that place. */
void heft_pickler_again(struct heft_pickler *p, uint32_t at);

void heft_pickler_int(struct heft_pickler *p, int64_t v);
void heft_pickler_unsigned(struct heft_pickler *p, uint64_t v);
void heft_pickler_float(struct heft_pickler *p, double number);
/* A text of which there may be one object only: `memo` is its place, or becomes it. */
void heft_pickler_word(struct heft_pickler *p, struct heft_str text, uint32_t *memo);
/* The place of a text that CPython has once (empty, one character of Latin-1), or NULL. */
uint32_t *heft_pickler_only_one(struct heft_pickler *p, struct heft_str text);
/* A text that is an object of its own. */
void heft_pickler_text(struct heft_pickler *p, struct heft_str text);
void heft_pickler_global(struct heft_pickler *p, const char *module, const char *name,
                         uint32_t *memo);
void heft_pickler_callee(struct heft_pickler *p, enum heft_pickler_callee callee);
void heft_pickler_ordered_dict(struct heft_pickler *p); /* an empty one */

/* How items follow a container: a thousand at a time between ( and u or e, one that is left alone
 * with s or a. A dict or list CPython asks for its size, other objects only for the next item: so
 * a dict or list has one alone only as a whole, and a dict of an exact thousand begins one batch
 * more. */
enum heft_pickler_batch { HEFT_BATCH_DICT, HEFT_BATCH_PAIRS, HEFT_BATCH_LIST, HEFT_BATCH_ITEMS };
void heft_pickler_before_item(struct heft_pickler *p, size_t i, size_t n,
                              enum heft_pickler_batch batch);
void heft_pickler_after_item(struct heft_pickler *p, size_t i, size_t n,
                             enum heft_pickler_batch batch);

/* The key of a piece: its number. */
void heft_pickler_key(struct heft_pickler *p, uint32_t piece);
/* The class of the storages of a dtype. */
void heft_pickler_class(struct heft_pickler *p, enum heft_dtype dtype);
/* An item that looks into that piece, rebuilt: no gradient unless asked for, no hooks. `key` is the
 * piece's number in the file. */
void heft_pickler_tensor(struct heft_pickler *p, const struct heft_export_item *item, uint32_t key,
                         uint32_t piece, struct heft_str location, bool requires_grad);

#endif
