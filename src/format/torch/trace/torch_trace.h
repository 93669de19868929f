/* torch_trace.h: walks the pickles of a file opcode by opcode. Implements heft_trace (contract in
 * inspect.h); shared by the torch_trace*.c files. torch_trace.c finds the pickles of a file and runs
 * them with a watcher torch_trace_step.c a step's argument and its effect, as text
 * torch_trace_value.c a value as text torch_trace_state.c stack, metastack and memo Every line has
 * a bounded length: a value shows a few items of a few levels, a string its first characters. Work
 * that depends on values (items of containers, floats, escaped characters) is charged to a budget
 * far larger than any checkpoint needs; when it is used up, values show only their kind and size.
 * So the time is linear in the number of opcodes, even if values are shared many times. */
#ifndef HEFT_TORCH_TRACE_H
#define HEFT_TORCH_TRACE_H

#include "base/map.h"
#include "format/torch/pickle/torch_globals.h"
#include "heft/heft.h"
#include "io/source.h"
#include "wire/pickle_watch.h"
#include "wire/zip.h"

#define HEFT_TRACE_ROOM 2048 /* bytes of a text buffer, more than any description needs */

/* Text buffer of fixed size. A piece that does not fit is omitted as a whole. */
struct heft_trace_text {
    size_t n;
    char p[HEFT_TRACE_ROOM];
};

/* Byte range of a storage in the file. */
struct heft_trace_place {
    uint64_t off, packed;
    bool is_deflated;
};

struct heft_trace_known {
    uint32_t node; /* node of a GLOBAL; 0 for an unused slot, too, so check is_set */
    bool is_set;
    const struct heft_torch_global *known; /* NULL: not in the table of globals */
};
enum { HEFT_TRACE_KNOWN = 64 };

struct heft_tracer {
    const struct heft_source *src;
    const struct heft_files *files;
    const struct heft_limits *limits; /* with defaults filled in */
    const struct heft_trace_options *options;
    const struct heft_trace_watcher *watcher;
    struct heft_trace_total *total;
    struct heft_arena mem; /* owns the zip's entries and names */
    struct heft_zip zip;
    bool is_zip, is_script; /* is_script: the archive is TorchScript */
    bool is_stopped;        /* the watcher asked to stop */
    /* storage name → index in places: "archive/data/0" in a zip, the key in a stream */
    struct heft_strmap names;
    struct heft_trace_place *places;
    size_t n_places, cap_places;
    uint64_t shown; /* steps reported */

    /* current pickle */
    const struct heft_trace_pickle *pickle; /* NULL once it was announced */
    const char *record;
    struct heft_str folder; /* prefix of storage keys: "archive/data/" */
    uint64_t base;          /* file offset; HEFT_NO_OFFSET if deflated */
    /* like base, but for deflated records the offset of the compressed data; in a stream the offset
     * of the object's pickle, kept for the pickles after it */
    uint64_t at;
    const struct heft_pickle_step *step;
    struct heft_trace_known known[HEFT_TRACE_KNOWN]; /* cache of global names looked up recently */
    struct heft_trace_text value, effect;
    struct heft_buf name;
    uint64_t work;    /* budget left for showing values */
    uint64_t entries; /* budget left for entries of states */
    uint32_t *memo;   /* memo indexes in order of their first use; only if states are shown */
    size_t n_memo, cap_memo;
    struct heft_u32map by_node; /* node → memo index; only if states are shown */
    bool by_place;              /* show memoised containers within a value by their memo index */
    struct heft_error *err;
};

/* ---- torch_trace.c ---- */

void heft_tracer_release(struct heft_tracer *tr);
/* Releases everything but the record's name, after the walk. */
HEFT_CHECKED bool heft_tracer_shrink(struct heft_tracer *tr);
/* Records the byte range of the storage of that name. */
HEFT_CHECKED bool heft_tracer_place(struct heft_tracer *tr, struct heft_str name,
                                    const struct heft_trace_place *place);
/* Walks the file's pickles. The caller sets the fields from src to total. Fills tr->err on
 * failure. */
HEFT_CHECKED bool heft_torch_trace(struct heft_tracer *tr);

/* ---- torch_trace_value.c ---- */

void heft_trace_put(struct heft_trace_text *text, const void *p, size_t n);
/* The text, NUL-terminated; the NUL is not counted in n. */
const char *heft_trace_end(struct heft_trace_text *text);
static inline void heft_trace_word(struct heft_trace_text *text, const char *word)
{
    heft_trace_put(text, word, strlen(word)); /* inline: most arguments are constants */
}
void heft_trace_u64(struct heft_trace_text *text, uint64_t number);
/* Appends "1 value", "2 values". */
void heft_trace_count(struct heft_trace_text *text, uint64_t number, const char *what);
/* Appends at most `most` bytes of a text from the file, with control characters and `quote` (0:
 * none) escaped. Returns the number of escaped characters. */
size_t heft_trace_escaped(struct heft_trace_text *text, struct heft_str s, size_t most, char quote);
void heft_trace_float(struct heft_trace_text *text, double number);
/* Appends a value in full, up to the limits of torch_trace_value.c. */
void heft_trace_value(struct heft_tracer *tr, struct heft_trace_text *text, uint32_t node);
/* Appends a container as kind and size ("dict of 3"), other values in full. */
void heft_trace_brief(struct heft_tracer *tr, struct heft_trace_text *text, uint32_t node);
/* The known global that a GLOBAL node names, or NULL. */
const struct heft_torch_global *heft_trace_global(struct heft_tracer *tr, uint32_t node);
/* The value's memo index, or HEFT_MAP_NONE; only if states are shown. */
uint32_t heft_trace_memo_of(const struct heft_tracer *tr, uint32_t node);

/* ---- torch_trace_step.c ---- */

/* Fills tr->value and tr->effect for tr->step. */
HEFT_CHECKED bool heft_trace_explain(struct heft_tracer *tr);

/* ---- torch_trace_state.c ---- */

/* Updates the list of memo entries; to be called after each step. */
HEFT_CHECKED bool heft_trace_remember(struct heft_tracer *tr);
/* Reports the state after tr->step to the watcher, entry by entry: all of it if `whole`, else the
 * ends of long parts. */
HEFT_CHECKED bool heft_trace_state(struct heft_tracer *tr, bool whole);

#endif
