/* encode_job.h: a stretch of text to be encoded by one worker.
 *
 *     text   H e l l o   w o r l d . | T h e …     of one or more documents, split at a safe position
 *     marks                          ^ document    events at positions of the text
 *     ids    15496 995 13            464 …
 *     events                         ^             the marks, at positions of the ids */
#ifndef HEFT_ENCODE_JOB_H
#define HEFT_ENCODE_JOB_H

#include "base/mem.h"
#include "tokens/bpe/encoder.h"

enum heft_mark_kind {
    HEFT_MARK_BREAK, /* a text ends here and another one begins */
    HEFT_MARK_ID,    /* the id `value` is inserted; after a break */
    HEFT_MARK_UNIT,  /* an array (npz) or a document ends here; follows a BREAK */
    HEFT_MARK_INPUT, /* an input ends; value: its argument */
    HEFT_MARK_ARRAYS /* the arrays of input number `value` come here; after a break */
};

struct heft_mark {
    uint64_t value;
    size_t at;
    enum heft_mark_kind kind;
};

struct heft_job {
    uint8_t *text;
    size_t n, cap;
    struct heft_mark *marks; /* encoding turns their positions into counts of ids */
    size_t n_marks, cap_marks;
    bool is_next; /* its text continues from the previous job */
    bool is_open; /* its text continues in the next job */
    /* checkpoint of the inputs at its beginning, if the run can resume from there */
    struct heft_buf place;
    /* Results, set by the worker. */
    uint8_t *ids; /* ids of `width` bytes each; none if they are only counted */
    size_t n_ids, cap_ids;
    unsigned width;
    bool count_only;
    struct heft_buf packed; /* the form in which a format stores them … */
    struct heft_job_piece *pieces;
    size_t n_pieces, cap_pieces; /* … a piece for each unit */
};

struct heft_job_piece {
    size_t end; /* end of the piece in `packed` */
    uint64_t n_ids;
    uint32_t crc;
};

HEFT_CHECKED bool heft_job_mark(struct heft_job *job, enum heft_mark_kind kind, uint64_t value,
                                struct heft_error *err);
HEFT_CHECKED bool heft_job_encode(struct heft_job *job, struct heft_encoder *e,
                                  struct heft_error *err);
/* Calls the function for each unit: ids [from, to) of job->ids; the last unit may be unfinished. */
typedef bool heft_job_unit_fn(struct heft_job *job, size_t from, size_t to, struct heft_error *err);
HEFT_CHECKED bool heft_job_units(struct heft_job *job, heft_job_unit_fn *each,
                                 struct heft_error *err);
void heft_job_clear(struct heft_job *job);
void heft_job_release(struct heft_job *job);

#endif
