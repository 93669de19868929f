/* encode_front.h: from inputs to ids, by three rooms.
 *
 *     encode_plan.c    options, inputs → a plan; the public door
 *     encode_front.c   texts in order → jobs with marks: what separates documents, where arrays end
 *     encode_pipeline.c    jobs → threads → ids in order → the output
 *     encode_resume.c  how far that is, in a journal, and a run that goes on from there
 */
#ifndef HEFT_ENCODE_FRONT_H
#define HEFT_ENCODE_FRONT_H

#include "io/journal.h"
#include "io/ordered_pipeline.h"
#include "tokens/bpe/safe_split.h"
#include "tokens/input/input_list.h"
#include "tokens/input/input_text.h"
#include "tokens/output/token_out.h"
#include "tokens/bpe/vocab.h"

/* encode_resume.c */
struct heft_encode_resume {
    const char *path; /* of the journal; NULL: none is kept, inputs cannot be read twice */
    struct heft_journal *journal;
    struct heft_buf who;     /* its first record: of which run it is */
    struct heft_buf place;   /* where the inputs stood at the last record, empty: at the begin */
    uint64_t n_records;      /* read */
    uint64_t process;        /* that began it */
    struct heft_sink *stale; /* what is to be deleted */
    bool has_none;           /* none could be made */
    bool has_state;          /* records, which stay where the run fails */
    bool is_over;            /* nothing is left but to rename what is written */
};

struct heft_encoding {
    const struct heft_vocab *v;
    struct heft_encode_options options;
    struct heft_text_how text;
    const struct heft_token_format *format; /* NULL: count */
    struct heft_arena mem;
    const char *output; /* with its extension */
    struct heft_input_list *list;
    size_t n_words;
    uint64_t *word_tokens;
    unsigned width;   /* bytes of an id: 2 or 4 */
    bool accumulates; /* documents become one unit until it has options.combine characters */
    bool has_arrays;  /* .npz among the inputs */
    struct heft_token_out *out;
    struct heft_encode_summary sum;
    uint64_t told; /* tokens up to the last input that ended */
    struct heft_encode_resume resume;
};

/* Its bytes go to a function of the caller, and to no file. */
static inline bool heft_encode_streams(const struct heft_encoding *e)
{
    return e->options.output && e->options.output[0] == '-' && e->options.output[1] == '\0';
}

/* ---- encode_pipeline.c -------------------------------------------------------------------------- */

struct heft_encode_pipeline {
    struct heft_encoding *plan;
    struct heft_classes classes;
    struct heft_pipeline *line;
    struct heft_job *jobs;
    struct heft_encoder **encoders; /* a worker's; the last: of texts that go on from job to job */
    unsigned n_slots, n_workers;
    struct heft_job *job; /* being filled; NULL: none */
    uint8_t *rest;        /* behind a job's cut */
    size_t n_rest;
    bool goes_on;  /* the job before is open */
    bool is_fresh; /* heft_encode_room began the job: nothing is in it but the text behind a cut */
};

HEFT_CHECKED bool heft_encode_pipeline_init(struct heft_encode_pipeline *l,
                                            struct heft_encoding *plan, struct heft_error *err);
void heft_encode_pipeline_release(struct heft_encode_pipeline *l);
/* Room for at least HEFT_TEXT_ROOM bytes of text at the end of l->job; what is put there is added
 * to job->n. */
HEFT_CHECKED bool heft_encode_room(struct heft_encode_pipeline *l, uint8_t **to, size_t *room,
                                   struct heft_error *err);
HEFT_CHECKED bool heft_encode_mark(struct heft_encode_pipeline *l, enum heft_mark_kind kind,
                                   uint64_t value, struct heft_error *err);
/* What a fresh job begins with, into a place; and back, before anything else. */
void heft_encode_save_rest(const struct heft_encode_pipeline *l, struct heft_buf *place);
HEFT_CHECKED bool heft_encode_load_rest(struct heft_encode_pipeline *l, struct heft_cur *place,
                                        struct heft_error *err);
HEFT_CHECKED bool heft_encode_finish(struct heft_encode_pipeline *l, struct heft_error *err);

/* ---- encode_resume.c ------------------------------------------------------------------------ */

/* Opens the output, as a journal says it stood where the run goes on. */
HEFT_CHECKED bool heft_encode_begin(struct heft_encoding *e, struct heft_error *err);
/* Everything up to here, of which the inputs are at `place`, to the disk. */
HEFT_CHECKED bool heft_encode_record(struct heft_encoding *e, const struct heft_buf *place,
                                     struct heft_error *err);
HEFT_CHECKED bool heft_encode_commit(struct heft_encoding *e, struct heft_error *err);
void heft_encode_resume_release(struct heft_encode_resume *r, bool keep);

/* ---- encode_front.c ------------------------------------------------------------------------- */

/* Its arrays are passed on: by the name alone, as in the original, which takes ".npz" itself, too. */
bool heft_encode_is_npz(const char *path);
/* All inputs through the line. */
HEFT_CHECKED bool heft_encode_inputs(struct heft_encoding *plan, struct heft_encode_pipeline *l,
                                     struct heft_error *err);

#endif
