/* join.h: parts → one file, in two passes.
 *
 *     survey   each part: its receipt and its header, compared with those of the first part; sums of ids
 *              and documents
 *     copy     a header with the sums, then the ids of each part; beside it its index, shifted; checksums of
 *              the receipts
 *
 * One part is open at a time, and nothing is kept of it but the sums. Indexes are checked while they
 * are copied. */
#ifndef HEFT_JOIN_H
#define HEFT_JOIN_H

#include "heft/tokens.h"
#include "io/sink.h"
#include "io/source.h"
#include "tokens/output/part_receipt.h"

/* Bytes of a table that are read at a time. */
#define HEFT_JOIN_TABLE ((size_t)64 << 10)

/* What all parts have in common. */
struct heft_join_type {
    unsigned width; /* bytes of an id; 0: unknown */
    bool is_signed;
    unsigned rank; /* npy: 1, or 2 */
    uint64_t row;  /* npy of two dimensions: ids of a row */
    uint8_t code;  /* Megatron: type of ids */
};

struct heft_join_sums {
    uint64_t tokens, documents, sequences, bytes;
};

/* An open part. */
struct heft_join_part {
    const char *path;
    struct heft_source ids, index;
    struct heft_buf index_path, ids_path;
    uint64_t begin, size; /* its ids: range of bytes in `ids` */
    struct heft_join_type type;
    struct heft_join_sums sums;
    struct heft_part_receipt receipt;
    bool has_receipt;
};

struct heft_join {
    const char *const *parts;
    size_t n;
    const char *output; /* with its extension */
    struct heft_join_options how;
    const struct heft_join_format *format;
    struct heft_arena mem;
    struct heft_sink *sink;
    uint32_t file, beside; /* indexes in the sink */
    uint64_t at;           /* bytes written to the file */
    struct heft_join_type type;
    struct heft_join_sums all, done; /* of the survey; of the parts copied so far */
    struct heft_buf name;            /* ds: the tokenizer */
    uint8_t *buffer;
    bool is_surveyed;
    bool has_receipts; /* all parts have one; of the first: */
    struct heft_part_receipt run;
};

struct heft_join_format {
    const char *name;
    /* Opens the part's index, if the format has one, and reads headers: fills in begin, size, type,
     * sums. */
    bool (*read)(struct heft_join *j, struct heft_join_part *part, struct heft_error *err);
    /* Writes the header; NULL: none. */
    bool (*begin)(struct heft_join *j, struct heft_error *err);
    /* Copies what is beside the ids; NULL: nothing. */
    bool (*copy)(struct heft_join *j, struct heft_join_part *part, struct heft_error *err);
    /* Writes what follows the last part; NULL: nothing. */
    bool (*end)(struct heft_join *j, struct heft_error *err);
    const char *index[2]; /* ends of the names of files beside the ids */
    bool is_renamed;      /* the extension of the ids is replaced by that of the index */
};

extern const struct heft_join_format heft_join_bin, heft_join_npy, heft_join_llmc, heft_join_ids,
    heft_join_megatron, heft_join_ds;

/* Whether a file begins with the header of llm.c, 1024 bytes. */
HEFT_CHECKED bool heft_join_is_llmc(const struct heft_source *ids, bool *is_llmc,
                                    struct heft_error *err);
/* Appends bytes to the ids. */
HEFT_CHECKED bool heft_join_put(struct heft_join *j, const void *p, size_t n,
                                struct heft_error *err);
/* Opens a file beside the part: the path of its ids, less n bytes, and `end`. */
HEFT_CHECKED bool heft_join_open_beside(struct heft_join_part *part, const char *path, size_t n,
                                        const char *end, struct heft_error *err);
/* Finds the index of Megatron beside X.bin; the error of a file that exists and cannot be read. */
HEFT_CHECKED bool heft_join_has_index(const char *path, bool *has_index, struct heft_error *err);

/* ---- join_receipt.c ------------------------------------------------------------------------- */

/* Reads the receipt beside a part, if there is one. */
HEFT_CHECKED bool heft_join_read_receipt(struct heft_join_part *part, struct heft_error *err);
/* Compares the receipt of part i, from 0, with that of the first one. */
HEFT_CHECKED bool heft_join_check_receipt(struct heft_join *j, const struct heft_join_part *part,
                                          size_t i, struct heft_error *err);
/* After the last part: whether there are as many as the run has. */
HEFT_CHECKED bool heft_join_check_count(const struct heft_join *j, struct heft_error *err);
/* Adds the first `end` bytes of a file to a CRC-32C. */
HEFT_CHECKED bool heft_join_sum(struct heft_join *j, const struct heft_source *file, uint64_t end,
                                uint32_t *crc32c, struct heft_error *err);
/* Compares a file with the receipt: 0 is that of the ids, then those beside it. */
HEFT_CHECKED bool heft_join_check_file(const struct heft_join_part *part, unsigned file,
                                       uint64_t bytes, uint32_t crc32c, struct heft_error *err);
/* Compares the files beside the ids. */
HEFT_CHECKED bool heft_join_check_beside(struct heft_join *j, struct heft_join_part *part,
                                         struct heft_error *err);

#endif
