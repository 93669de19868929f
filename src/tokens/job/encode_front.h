/* encode_front.h: encoding files, from inputs to outputs, in five parts.
 *
 *     encode_plan.c      options, inputs → a plan; public API
 *     encode_front.c     texts in order → jobs with marks: separators, ends of arrays
 *     encode_pipeline.c  jobs → worker threads → ids in order → the output
 *     encode_resume.c    progress in a journal, and resuming from it
 *     encode_receipt.c   what a part tells join about itself */
#ifndef HEFT_ENCODE_FRONT_H
#define HEFT_ENCODE_FRONT_H

#include "io/journal.h"
#include "io/ordered_pipeline.h"
#include "tokens/bpe/safe_split.h"
#include "tokens/input/input_list.h"
#include "tokens/input/input_text.h"
#include "tokens/output/part_receipt.h"
#include "tokens/output/token_out.h"
#include "tokens/bpe/vocab.h"

/* State of the journal (encode_resume.c). */
struct heft_encode_resume {
    const char *path; /* of the journal; NULL: none, because inputs cannot be read twice */
    struct heft_journal *journal;
    struct heft_buf who;     /* first record: identifies the run */
    struct heft_buf place;   /* checkpoint of the inputs in the last record; empty: the beginning */
    uint64_t n_records;      /* records read */
    uint64_t process;        /* process id of the run that created the journal */
    struct heft_sink *stale; /* files to be deleted */
    bool has_none;           /* the journal cannot be created */
    bool has_state;          /* has records, which are kept if the run fails */
    bool is_over;            /* all is written; only the final renames are missing */
};

struct heft_encoding {
    const struct heft_vocab *v;
    struct heft_encode_options options;
    struct heft_text_how text;
    const struct heft_token_format *format; /* NULL: count only */
    struct heft_arena mem;
    const char *output; /* path of the output, with its extension */
    struct heft_input_list *list;
    struct heft_input_part part;  /* of the inputs in the list */
    struct heft_part_receipt run; /* of a part: what all parts have in common */
    size_t n_words;
    uint64_t *word_tokens;
    unsigned width;   /* bytes of an id: 2 or 4 */
    bool accumulates; /* documents are joined to units of options.combine characters or more */
    bool has_arrays;  /* some input is an .npz */
    struct heft_token_out *out;
    struct heft_encode_summary sum;
    uint64_t told; /* tokens up to the last finished input */
    struct heft_encode_resume resume;
};

/* Whether the output goes to a callback instead of files. */
static inline bool heft_encode_streams(const struct heft_encoding *e)
{
    return e->options.output && e->options.output[0] == '-' && e->options.output[1] == '\0';
}

/* ---- encode_pipeline.c -------------------------------------------------------------------------- */

struct heft_encode_pipeline {
    struct heft_encoding *plan;
    struct heft_safe_split cuts;
    struct heft_pipeline *line;
    struct heft_job *jobs;
    /* one for each worker; the last one encodes texts that span several jobs */
    struct heft_encoder **encoders;
    unsigned n_slots, n_workers;
    struct heft_job *job; /* the job being filled, or NULL */
    uint8_t *rest;        /* text after the split position of a job */
    size_t n_rest;
    bool goes_on; /* the text continues from the previous job */
    /* the job has just been created and contains only the rest of the previous one */
    bool is_fresh;
};

HEFT_CHECKED bool heft_encode_pipeline_init(struct heft_encode_pipeline *l,
                                            struct heft_encoding *plan, struct heft_error *err);
void heft_encode_pipeline_release(struct heft_encode_pipeline *l);
/* Makes room for at least HEFT_TEXT_ROOM bytes at the end of l->job. The caller writes there and
 * adds to job->n. */
HEFT_CHECKED bool heft_encode_room(struct heft_encode_pipeline *l, uint8_t **to, size_t *room,
                                   struct heft_error *err);
HEFT_CHECKED bool heft_encode_mark(struct heft_encode_pipeline *l, enum heft_mark_kind kind,
                                   uint64_t value, struct heft_error *err);
/* Saves to, and restores from, a checkpoint what a fresh job begins with. Restoring comes before
 * anything else. */
void heft_encode_save_rest(const struct heft_encode_pipeline *l, struct heft_buf *place);
HEFT_CHECKED bool heft_encode_load_rest(struct heft_encode_pipeline *l, struct heft_cur *place,
                                        struct heft_error *err);
HEFT_CHECKED bool heft_encode_finish(struct heft_encode_pipeline *l, struct heft_error *err);

/* ---- encode_receipt.c ------------------------------------------------------------------------ */

/* Notes the inputs of all parts, before those of this part are cut out. */
HEFT_CHECKED bool heft_encode_note_inputs(struct heft_encoding *e, struct heft_error *err);
HEFT_CHECKED bool heft_encode_put_receipt(struct heft_encoding *e, struct heft_error *err);

/* ---- encode_resume.c ------------------------------------------------------------------------ */

/* Opens the output; when resuming, in the state of the last record. */
HEFT_CHECKED bool heft_encode_begin(struct heft_encoding *e, struct heft_error *err);
/* Writes a record: all output so far is on the disk; the inputs are at `place`. */
HEFT_CHECKED bool heft_encode_record(struct heft_encoding *e, const struct heft_buf *place,
                                     struct heft_error *err);
HEFT_CHECKED bool heft_encode_commit(struct heft_encoding *e, struct heft_error *err);
/* Appends the options that affect the bytes of any part, as text. */
void heft_encode_put_options(const struct heft_encoding *e, struct heft_buf *to);
uint64_t heft_encode_vocabulary_mark(const struct heft_vocab *v);
void heft_encode_resume_release(struct heft_encode_resume *r, bool keep);

/* ---- encode_front.c ------------------------------------------------------------------------- */

/* Whether the arrays of a file are copied: decided by its name alone, as in the original, which
 * includes ".npz". */
bool heft_encode_is_npz(const char *path);
/* Sends all inputs through the pipeline. */
HEFT_CHECKED bool heft_encode_inputs(struct heft_encoding *plan, struct heft_encode_pipeline *l,
                                     struct heft_error *err);

#endif
