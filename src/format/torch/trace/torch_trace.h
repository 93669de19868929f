/* torch_trace.h: walking through the pickles of a file, opcode by opcode. Behind heft_trace (heft.h
 * has the contract); shared by the torch_trace*.c files.
 *
 *   torch_trace.c         finds the pickles of a file and runs them with a watcher
 *   torch_trace_step.c    a step's argument and its effect, as text
 *   torch_trace_value.c   a value as text
 *   torch_trace_state.c   stack, metastack and memo
 *
 * Whatever a pickle does, a line stays a line: a value shows a few items of a few levels, a string
 * its beginning. What takes time (items of containers, floats, characters that need an escape) is
 * paid for from a budget far beyond any checkpoint; when it is spent, such values show their kind
 * and size only. So time is linear in the opcodes, however values are shared. */
#ifndef HEFT_TORCH_TRACE_H
#define HEFT_TORCH_TRACE_H

#include "base/map.h"
#include "format/torch/pickle/torch_globals.h"
#include "heft/heft.h"
#include "io/source.h"
#include "wire/pickle_watch.h"
#include "wire/zip.h"

#define HEFT_TRACE_ROOM 2048 /* room for a text: more than any is */

/* Text that ends at its room: what does not fit is left out, in whole pieces. */
struct heft_trace_text {
    size_t n;
    char p[HEFT_TRACE_ROOM];
};

/* Where a storage's bytes are. */
struct heft_trace_place {
    uint64_t off, packed;
    bool is_deflated;
};

struct heft_trace_known {
    uint32_t node; /* a GLOBAL; 0 also where there is none yet: then known is the wrong one */
    bool is_set;
    const struct heft_torch_global *known; /* NULL: an unknown name */
};
enum { HEFT_TRACE_KNOWN = 64 };

struct heft_tracer {
    const struct heft_source *src;
    const struct heft_limits *limits; /* complete */
    const struct heft_trace_options *options;
    const struct heft_trace_watcher *watcher;
    struct heft_trace_total *total;
    struct heft_arena mem; /* of the zip, names */
    struct heft_zip zip;
    bool is_zip, is_script;   /* TorchScript wrote it */
    bool is_stopped;          /* the watcher wants no more */
    struct heft_strmap names; /* of storages → places: "archive/data/0", of a stream its key */
    struct heft_trace_place *places;
    size_t n_places, cap_places;
    uint64_t shown; /* steps */

    /* the pickle at hand */
    const struct heft_trace_pickle *pickle; /* until it is announced */
    const char *record;
    struct heft_str folder; /* before a storage's key: "archive/data/" */
    uint64_t base;          /* in the file; HEFT_NO_OFFSET: deflated */
    uint64_t at;            /* the same, or where the deflated record begins; of a stream the
                               object's pickle is kept */
    const struct heft_pickle_step *step;
    struct heft_trace_known known[HEFT_TRACE_KNOWN]; /* names looked up lately */
    struct heft_trace_text value, effect;
    struct heft_buf name;
    uint64_t work;    /* that showing values may still take */
    uint64_t entries; /* of states that may still be shown */
    uint32_t *memo;   /* the memo's indexes, as they came; only where a state is shown */
    size_t n_memo, cap_memo;
    struct heft_u32map by_node; /* node → memo index; as above */
    bool by_place; /* within values, name containers of the memo by their place there */
    struct heft_error *err;
};

/* ---- torch_trace.c ---- */

void heft_tracer_release(struct heft_tracer *tr);
/* Where the storage of that name is. */
HEFT_CHECKED bool heft_tracer_place(struct heft_tracer *tr, struct heft_str name,
                                    const struct heft_trace_place *place);
/* Walks the file's pickles; all fields from src to total are set. False with tr->err filled. */
HEFT_CHECKED bool heft_torch_trace(struct heft_tracer *tr);

/* ---- torch_trace_value.c ---- */

void heft_trace_put(struct heft_trace_text *text, const void *p, size_t n);
/* The text, followed by a NUL that is not counted. */
const char *heft_trace_end(struct heft_trace_text *text);
static inline void heft_trace_word(struct heft_trace_text *text, const char *word)
{
    heft_trace_put(text, word, strlen(word)); /* inline: most are constants */
}
void heft_trace_u64(struct heft_trace_text *text, uint64_t number);
/* "1 value", "2 values" */
void heft_trace_count(struct heft_trace_text *text, uint64_t number, const char *what);
/* A file's text made safe, at most `most` bytes of it; `quote` (or 0) is escaped, too. Returns how
 * many characters took an escape. */
size_t heft_trace_escaped(struct heft_trace_text *text, struct heft_str s, size_t most, char quote);
void heft_trace_float(struct heft_trace_text *text, double number);
/* A value in full, within bounds. */
void heft_trace_value(struct heft_tracer *tr, struct heft_trace_text *text, uint32_t node);
/* "dict of 3": containers by kind and size, others as above. */
void heft_trace_brief(struct heft_tracer *tr, struct heft_trace_text *text, uint32_t node);
/* The entry of a GLOBAL's name, or NULL. */
const struct heft_torch_global *heft_trace_global(struct heft_tracer *tr, uint32_t node);
/* The value's place in the memo, HEFT_MAP_NONE where it has none: only where a state is shown. */
uint32_t heft_trace_memo_of(const struct heft_tracer *tr, uint32_t node);

/* ---- torch_trace_step.c ---- */

/* Fills tr->value and tr->effect for tr->step. */
HEFT_CHECKED bool heft_trace_explain(struct heft_tracer *tr);

/* ---- torch_trace_state.c ---- */

/* After each step: keeps the list of the memo's entries. */
HEFT_CHECKED bool heft_trace_remember(struct heft_tracer *tr);
/* Hands the state after tr->step to the watcher, entry by entry; `whole` or the ends of long parts.
 */
HEFT_CHECKED bool heft_trace_state(struct heft_tracer *tr, bool whole);

#endif
