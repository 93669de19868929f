/* ptd_digest.h: SHA-256 of bytes that a delegate names by it. */
#ifndef HEFT_PTD_DIGEST_H
#define HEFT_PTD_DIGEST_H

#include "base/sha256.h"
#include "core/reader.h"
#include "format/executorch/ptd_parts.h"

/* Reads a key of 64 lower-case hexadecimal digits. False if it is another one. */
bool heft_ptd_parse_digest(struct heft_str key, uint8_t digest[HEFT_SHA256_BYTES]);
/* Hashes the row-major bytes of a row. */
HEFT_CHECKED bool heft_ptd_hash_row(struct heft_reader *reader, const struct heft_row *row,
                                    uint8_t digest[HEFT_SHA256_BYTES], struct heft_error *err);

#endif
