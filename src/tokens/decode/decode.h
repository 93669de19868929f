/* decode.h: files of ids, read in batches.
 *
 *     decode_files.c   detects the format; its parts; bytes → ids
 *     decimals.c       decimals → ids
 *     decode.c         ids → text */
#ifndef HEFT_DECODE_H
#define HEFT_DECODE_H

#include "heft/tokens.h"
#include "io/source.h"
#include "wire/zip.h"

enum heft_ids_kind {
    HEFT_IDS_STREAM,
    HEFT_IDS_NPY,
    HEFT_IDS_NPZ,
    HEFT_IDS_LLMC,
    HEFT_IDS_MEGATRON,
    HEFT_IDS_DECIMALS /* a part is read ahead through the buffer of `range` */
};

struct heft_ids_reader {
    struct heft_source file, data; /* data: Megatron's .bin beside its index */
    struct heft_arena mem;
    enum heft_ids_kind kind;
    unsigned width; /* bytes of an id in the current part */
    bool is_signed;
    struct heft_zip zip;
    uint64_t part, parts;            /* index of the next part; number of parts */
    uint64_t lengths, pointers;      /* Megatron: offsets of the tables in the index */
    struct heft_stream_reader range; /* the current part */
    uint64_t left;                   /* ids of the current part that are not read yet */
    /* offset of the first id of the last batch; HEFT_NO_OFFSET in a compressed part */
    uint64_t where;
    const char *data_path;
    uint8_t *bytes; /* a batch of ids; for decimals the offset of each, 8 bytes */
};

#define HEFT_IDS_BATCH      8192
#define HEFT_IDS_HEAD       64 /* bytes that identify a format */
#define HEFT_MEGATRON_MAGIC "MMIDIDX\0\0"

/* Size of an id in a raw stream. */
struct heft_ids_width {
    unsigned bytes; /* 2 or 4; 0: unknown */
    bool is_said;   /* stated by the caller: no plausibility check of the ids */
};
HEFT_CHECKED bool heft_ids_open(struct heft_ids_reader *r, const char *path,
                                struct heft_ids_width width, struct heft_error *err);
/* Reads at most HEFT_IDS_BATCH ids; *count is 0 at the end. */
HEFT_CHECKED bool heft_ids_next(struct heft_ids_reader *r, uint32_t *ids, size_t *count,
                                struct heft_error *err);
/* Reports an error about the i-th id of the last batch; always false. */
bool heft_ids_fail(const struct heft_ids_reader *r, size_t i, struct heft_error *err,
                   const char *what);
void heft_ids_close(struct heft_ids_reader *r);

/* ---- decimals.c -------------------------------------------------------------------------- */

/* Whether a file that begins with `head` has decimals rather than a raw stream of ids of `width`
 * bytes. Short files are ambiguous: decimals if named X.ids. */
bool heft_decimals_are(struct heft_bytes head, uint64_t size, const char *path, unsigned width);
HEFT_CHECKED bool heft_decimals_next(struct heft_ids_reader *r, uint32_t *ids, size_t *count,
                                     struct heft_error *err);
/* Same as heft_ids_fail. */
bool heft_decimals_fail(const struct heft_ids_reader *r, size_t i, struct heft_error *err,
                        const char *what);

#endif
