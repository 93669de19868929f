/* torch_pickler.h: writes values byte for byte like CPython's pickler with protocol 2; shared by
 * the torch_*write*.c and torch_keep*.c files only. CPython memoises every object that can occur
 * again (BINPUT, q) and fetches it from the memo (BINGET, h) at its next occurrence. Equal bytes
 * therefore require the same object identities. The memo index of an object is HEFT_NO_MEMO until
 * the object is written. */
#ifndef HEFT_TORCH_PICKLER_H
#define HEFT_TORCH_PICKLER_H

#include "format/torch/write/torch_write.h"

#define HEFT_NO_MEMO HEFT_NONE
#define HEFT_PICKLER_LATIN                                                                         \
    256 /* texts of one Latin-1 character, of which CPython has one object each */

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
    struct heft_buf buf; /* bytes not yet added to the plan */
    enum heft_torch_style style;
    uint32_t n_memo;
    /* Memo indexes. The last one of `latin` is that of the empty string. */
    uint32_t callees[HEFT_CALLEES], words[HEFT_WORDS], dtypes[HEFT_DTYPE_COUNT],
        latin[HEFT_PICKLER_LATIN + 1];
    uint32_t *keys;             /* memo indexes of the storage keys, one per piece */
    struct heft_u32map objects; /* memo indexes of tensors that occur several times */
    struct heft_strmap shared;  /* memo indexes of texts from module code, such as "version" */
};

HEFT_CHECKED bool heft_pickler_init(struct heft_pickler *p, const struct heft_torch_out *out,
                                    enum heft_torch_style style, struct heft_error *err);
void heft_pickler_release(struct heft_pickler *p);

static inline void heft_pickler_op(struct heft_pickler *p, int code)
{
    heft_buf_char(&p->buf, (char)code);
}
void heft_pickler_le32(struct heft_pickler *p, uint32_t v);
/* Memoises the top of the stack (BINPUT, LONG_BINPUT) and returns its memo index. */
uint32_t heft_pickler_keep(struct heft_pickler *p);
/* Pushes a memoised value (BINGET, LONG_BINGET). */
void heft_pickler_again(struct heft_pickler *p, uint32_t at);

void heft_pickler_int(struct heft_pickler *p, int64_t v);
void heft_pickler_unsigned(struct heft_pickler *p, uint64_t v);
void heft_pickler_float(struct heft_pickler *p, double number);
/* A bool, an int or a float; None for every other value. */
void heft_pickler_scalar(struct heft_pickler *p, const struct heft_value *value);
/* Writes a text that CPython has as one object: fetched if *memo is its memo index, else written,
 * and *memo is set. */
void heft_pickler_word(struct heft_pickler *p, struct heft_str text, uint32_t *memo);
/* The memo index of a text that CPython interns (empty, or one Latin-1 character), or NULL. */
uint32_t *heft_pickler_only_one(struct heft_pickler *p, struct heft_str text);
/* Writes a text that is an object of its own. */
void heft_pickler_text(struct heft_pickler *p, struct heft_str text);
void heft_pickler_global(struct heft_pickler *p, const char *module, const char *name,
                         uint32_t *memo);
void heft_pickler_callee(struct heft_pickler *p, enum heft_pickler_callee callee);
void heft_pickler_ordered_dict(struct heft_pickler *p); /* writes an empty one */

/* Batches of items. CPython writes 1000 items between MARK and SETITEMS or APPENDS; a batch of one
 * item is written with SETITEM or APPEND. For an exact dict or list it knows the size in advance,
 * so a single item is written alone only if it is the only one, and a dict whose size is a multiple
 * of 1000 ends with an empty batch. For other mappings and sequences (PAIRS, ITEMS) it only reads
 * one item ahead, so the last one of 1001 items is written alone, too. */
enum heft_pickler_batch { HEFT_BATCH_DICT, HEFT_BATCH_PAIRS, HEFT_BATCH_LIST, HEFT_BATCH_ITEMS };
void heft_pickler_before_item(struct heft_pickler *p, size_t i, size_t n,
                              enum heft_pickler_batch batch);
void heft_pickler_after_item(struct heft_pickler *p, size_t i, size_t n,
                             enum heft_pickler_batch batch);

/* Writes the key of a piece's storage: its number. */
void heft_pickler_key(struct heft_pickler *p, uint32_t piece);
/* Writes the storage class of a dtype. */
void heft_pickler_class(struct heft_pickler *p, enum heft_dtype dtype);
/* Writes a dtype, "torch float32". */
void heft_pickler_dtype(struct heft_pickler *p, enum heft_dtype dtype);
/* Writes the call that rebuilds a tensor from a piece: requires_grad as given, no hooks. `key` is
 * the number of the piece in the file. */
void heft_pickler_tensor(struct heft_pickler *p, const struct heft_export_item *item, uint32_t key,
                         uint32_t piece, struct heft_str location, bool requires_grad);

#endif
