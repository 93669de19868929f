/* job_parts.h: a conversion in parts.
 *
 *     request   inputs and options        ─ text ─►  first lines of the plan's file; parsed from them
 *     derived   sources, files, parts     ─ text ─►  its other lines; made again and compared
 *     id        SHA-256 of the lines before, 128 bits: names of temporary files and receipts
 *
 * Only the request decides what is read and written. An altered plan is found by its id; one that was
 * forged with its id is another request, and its temporary files have other names. */
#ifndef HEFT_JOB_PARTS_H
#define HEFT_JOB_PARTS_H

#include "api/checkpoint.h"
#include "core/convert.h"
#include "heft/job.h"

#define HEFT_JOB_ID_DIGITS 32

/* What the user asked for. Texts and lists are in the job's arena. */
struct heft_job_request {
    const char **inputs;
    size_t n_inputs;
    struct heft_open_options open;
    struct heft_limits limits;
    struct heft_convert_options convert;
    uint64_t parts;
};

struct heft_job {
    struct heft_arena mem;
    struct heft_job_request request;
    struct heft_buf text; /* the plan's file */
    char id[HEFT_JOB_ID_DIGITS + 1];
    /* targets as the file lists them: for heft_job_abort, which does not open the inputs */
    const char **files;
    size_t n_files;
    const char *whole;
    struct heft_checkpoint *checkpoint;
    struct heft_conversion *conversion;
};

/* job_request.c: the request from the caller's options, with absolute paths. */
HEFT_CHECKED bool heft_job_request_take(struct heft_job *job, const char *const *inputs, size_t n,
                                        const struct heft_open_options *open,
                                        const struct heft_convert_options *convert, size_t parts,
                                        struct heft_error *err);

/* job_text.c: appends the lines of the request. */
void heft_job_put_request(struct heft_buf *out, const struct heft_job_request *request);
/* Appends a word: a space, and the text with %XX for all but printable ASCII, and for % itself. */
void heft_job_put_word(struct heft_buf *out, const char *text);
/* job_parse.c: reads the lines of a plan into an empty job. `path` is for errors. */
HEFT_CHECKED bool heft_job_parse(struct heft_job *job, struct heft_str text,
                                 struct heft_error *err);
/* Copies id and digest line: the first digits of the SHA-256 of a text. */
void heft_job_digest(struct heft_str text, char id[HEFT_JOB_ID_DIGITS + 1]);

/* A line of a request: a member of struct heft_job_request. */
enum heft_job_kind { HEFT_JOB_TEXT, HEFT_JOB_NUMBER, HEFT_JOB_FLAG };
struct heft_job_field {
    const char *key;
    enum heft_job_kind kind;
    size_t at; /* offset in struct heft_job_request */
};
extern const struct heft_job_field heft_job_fields[]; /* ends with a key NULL */
extern const char *const heft_job_rules[];            /* by enum heft_rule_kind; ends with NULL */

/* job_derive.c: the text of an open job: the request and what follows from it. */
HEFT_CHECKED bool heft_job_write(struct heft_job *job, struct heft_buf *out,
                                 struct heft_error *err);
/* HEFT_USAGE if the text differs from that of the plan's file. */
HEFT_CHECKED bool heft_job_compare(const struct heft_job *job, const struct heft_buf *found,
                                   struct heft_error *err);

/* job_receipts.c: path of the receipt of a part; 0 is the mark of a commit that has begun to rename. */
const char *heft_job_receipt_path(struct heft_job *job, uint64_t part, struct heft_error *err);
/* The target beside which the receipts are. */
const char *heft_job_base(const struct heft_job *job);
HEFT_CHECKED bool heft_job_receipt_save(struct heft_job *job, uint64_t part,
                                        const struct heft_buf *body, struct heft_error *err);
/* *found: whether there is one. HEFT_MALFORMED if it is damaged. The body is in the arena. */
HEFT_CHECKED bool heft_job_receipt_load(struct heft_job *job, uint64_t part, bool *found,
                                        struct heft_cur *body, struct heft_error *err);
/* Deletes all receipts, and those that were not completed. *n is increased by their number. */
HEFT_CHECKED bool heft_job_receipts_delete(struct heft_job *job, size_t *n, struct heft_error *err);
HEFT_CHECKED bool heft_job_has_receipts(struct heft_job *job, bool *has, struct heft_error *err);

#endif
