/* digest_list.h: parser of lists of SHA-256 digests, which are untrusted input.
 *
 *     HEX  NAME  DTYPE  [SHAPE]     tensors, as heft digest prints them; of a blob: BLOB  [BYTES]
 *     HEX  PATH                     files, as sha256sum prints them
 *     HEX *PATH                     the same, read in binary mode
 *     \HEX  PATH                    escapes in the name or path: \\ \n \r, and heft's own \xHH
 *     # …                           a comment
 *
 * The first digest decides whether the list is one of tensors or of files. Paths are relative to the
 * list and stay below its directory. */
#ifndef HEFT_DIGEST_LIST_H
#define HEFT_DIGEST_LIST_H

#include "base/map.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "heft/digest.h"

struct heft_digest_entry {
    struct heft_str name;  /* unescaped, NUL-terminated; of a file without a leading "./" */
    uint64_t off;          /* byte offset of its line in the list */
    uint64_t line;         /* from 1 */
    const uint64_t *shape; /* tensors: rank numbers */
    uint64_t bytes;        /* blobs */
    uint8_t dtype, rank;   /* tensors */
    bool is_blob;
    uint8_t sha256[HEFT_SHA256_BYTES];
};

struct heft_digest_list {
    struct heft_arena mem;
    const char *path; /* as given */
    enum heft_list_kind kind;
    struct heft_digest_entry *entries; /* in order; none for HEFT_LIST_HUB */
    size_t n, cap;
    struct heft_strmap names; /* of tensors or files → index */
    struct heft_strmap blobs; /* of blobs → index */
};

/* Parses text[0, n), which is modified and must live as long as the list; text[n] is a byte that may
 * be written. HEFT_MALFORMED and HEFT_LIMIT have the number of the line and its offset. HEFT_UNSAFE
 * for a path that leaves the directory of the list. */
HEFT_CHECKED bool heft_digest_list_parse(struct heft_digest_list *list, char *text, size_t n,
                                         struct heft_error *err);
void heft_digest_list_release(struct heft_digest_list *list);
/* NULL if the list has no such entry. */
const struct heft_digest_entry *heft_digest_list_find(const struct heft_digest_list *list,
                                                      struct heft_str name, bool is_blob);

/* 64 digits and a NUL. */
#define HEFT_SHA256_TEXT (2 * HEFT_SHA256_BYTES + 1)
void heft_sha256_text(const uint8_t digest[HEFT_SHA256_BYTES], char out[HEFT_SHA256_TEXT]);

#endif
