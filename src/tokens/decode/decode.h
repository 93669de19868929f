/* decode.h: files of ids, in portions.
 *
 *     decode_files.c   which kind a file is; its parts; bytes → ids
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
    HEFT_IDS_DECIMALS /* parts of the file are read ahead: waiting of the range */
};

struct heft_ids_reader {
    struct heft_source file, data; /* data: of Megatron's, beside its index */
    struct heft_arena mem;
    enum heft_ids_kind kind;
    unsigned width; /* of the ids of the part at hand */
    bool is_signed;
    struct heft_zip zip;
    uint64_t part, parts;            /* the next one; how many */
    uint64_t lengths, pointers;      /* Megatron: where the tables are in the index */
    struct heft_stream_reader range; /* of the part */
    uint64_t left;                   /* ids of the part that are not read yet */
    uint64_t where; /* of the first id of the last batch, HEFT_NO_OFFSET in a deflated part */
    const char *data_path;
    uint8_t *bytes; /* of a batch; of decimals where each begins, 8 bytes */
};

#define HEFT_IDS_BATCH      8192
#define HEFT_IDS_HEAD       64 /* bytes that tell what a file is */
#define HEFT_MEGATRON_MAGIC "MMIDIDX\0\0"

/* Bytes of an id in a file that is nothing but ids. */
struct heft_ids_width {
    unsigned bytes; /* 2 or 4; 0: it is not known */
    bool is_said;   /* by the caller: what the ids look like does not matter */
};
HEFT_CHECKED bool heft_ids_open(struct heft_ids_reader *r, const char *path,
                                struct heft_ids_width width, struct heft_error *err);
/* At most HEFT_IDS_BATCH of them; *count is 0 at the end. */
HEFT_CHECKED bool heft_ids_next(struct heft_ids_reader *r, uint32_t *ids, size_t *count,
                                struct heft_error *err);
/* Fails about the i-th id of the last batch. Always false. */
bool heft_ids_fail(const struct heft_ids_reader *r, size_t i, struct heft_error *err,
                   const char *what);
void heft_ids_close(struct heft_ids_reader *r);

/* ---- decimals.c -------------------------------------------------------------------------- */

/* Whether a file that begins so is decimals with white space between, not a stream of ids of `width`
 * bytes: in a few bytes that could be either; there its name tells, X.ids. */
bool heft_decimals_are(struct heft_bytes head, uint64_t size, const char *path, unsigned width);
HEFT_CHECKED bool heft_decimals_next(struct heft_ids_reader *r, uint32_t *ids, size_t *count,
                                     struct heft_error *err);
/* As heft_ids_fail. */
bool heft_decimals_fail(const struct heft_ids_reader *r, size_t i, struct heft_error *err,
                        const char *what);

#endif
