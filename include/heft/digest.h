/* digest.h: SHA-256 digests of the tensors and files of a checkpoint, and comparing a checkpoint
 * with a list of digests. heft.h includes this file.
 *
 *     static bool print(void *ctx, const struct heft_digest *d)
 *     {
 *         for (size_t i = 0; i < HEFT_DIGEST_BYTES; i++)
 *             printf("%02x", d->sha256[i]);
 *         printf("  %s\n", d->name);
 *         return true;
 *     }
 *     …
 *     if (!heft_digest_tensors(c, NULL, print, NULL, &err)) …
 *
 * The digest of a tensor is that of its row-major, little-endian elements, so that it is the same in
 * every format, whatever the byte order, strides, parts or compression of the file:
 *   block types   of the stored blocks (two F4 in a byte);
 *   strings       of the length in bytes of each string as a little-endian u64, followed by its
 *                 bytes, in row-major order;
 *   VARIANT       none: the encoding of an element is that of the file's format. Such tensors are
 *                 left out with a note, and so are strings that heft cannot separate (constants of
 *                 a graph).
 * SHA-256 is computed by libnettle, which is loaded for the first digest. If it is not installed,
 * heft's own implementation computes the same digests, more slowly, and a note says so. */
#ifndef HEFT_DIGEST_H
#define HEFT_DIGEST_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct heft_checkpoint;
struct heft_open_options;
struct heft_finding;
struct heft_rule;

#define HEFT_DIGEST_BYTES 32

enum heft_digest_kind {
    HEFT_DIGEST_TENSOR,
    HEFT_DIGEST_TIE,  /* a tied name that the metadata records (heft_tie_at); the digest is that of
                         the tensor that was kept */
    HEFT_DIGEST_BLOB, /* of the blob's bytes */
    HEFT_DIGEST_FILE
};

struct heft_digest {
    enum heft_digest_kind kind;
    const char *name; /* of the tensor, tie or blob; of a file its path */
    size_t name_len;
    size_t index; /* of heft_tensor_at (for a tie that of the kept tensor), heft_blob_at or
                     heft_file_at */
    uint64_t bytes;
    uint8_t sha256[HEFT_DIGEST_BYTES];
};

struct heft_digest_options {
    size_t size;      /* HEFT_INIT */
    const char *root; /* as in heft_select; NULL: all tensors */
    const struct heft_rule *rules;
    size_t n_rules;
    bool blobs;       /* blobs, too */
    unsigned threads; /* 0: one per core, at most 4 */
    /* Progress in bytes. Called from any thread, but not concurrently; returning false stops
     * (HEFT_CANCELLED). */
    bool (*progress)(void *ctx, uint64_t done, uint64_t total);
    void *progress_ctx;
    /* Called for each note, a sentence for people, by the calling thread; may be NULL. */
    void (*note)(void *ctx, const char *text);
    void *note_ctx;
};

/* Digests of the selected tensors in the file's order, then of recorded ties, then of blobs. Several
 * tensors are hashed in parallel; each() is called in order, from any thread, but not concurrently,
 * and may return false to stop (HEFT_CANCELLED). Names of the same elements (ties) are hashed once
 * and reported each. options may be NULL. HEFT_IO, HEFT_MALFORMED, HEFT_MISMATCH (of a deflated
 * record) if a tensor cannot be read: after those before it were reported. Uncompressed records are
 * not compared with their stored checksums (heft_verify). */
HEFT_API bool heft_digest_tensors(struct heft_checkpoint *c,
                                  const struct heft_digest_options *options,
                                  bool (*each)(void *ctx, const struct heft_digest *digest),
                                  void *ctx, struct heft_error *err);
/* Digests of the files of heft_file_at, in the same way; root, rules and blobs are ignored. A file
 * that is missing (heft_open allows it for some formats) is HEFT_IO. */
HEFT_API bool heft_digest_files(struct heft_checkpoint *c,
                                const struct heft_digest_options *options,
                                bool (*each)(void *ctx, const struct heft_digest *digest),
                                void *ctx, struct heft_error *err);

/* ---- comparing with a list --------------------------------------------------------------- */

/* Digests that somebody vouches for:
 *   TENSORS   lines "HEX  NAME  DTYPE  [SHAPE]", as heft-digest(1) prints them;
 *   FILES     lines "HEX  PATH" or "HEX *PATH", as sha256sum prints them, in a file such as
 *             SHA256SUMS. Paths are relative to the directory of the list;
 *   HUB       a Hugging Face cache (models--NAME with blobs, refs, snapshots), whose blobs are named
 *             by the digests of their contents: SHA-256 (64 digits), or for small files the name
 *             that git gives them, a SHA-1 (40 digits). */
enum heft_list_kind { HEFT_LIST_TENSORS, HEFT_LIST_FILES, HEFT_LIST_HUB };
struct heft_digest_list;

/* Reads a list; "hub" is HEFT_LIST_HUB ("./hub" a file of that name). The list is untrusted:
 * HEFT_MALFORMED and HEFT_LIMIT (a line of 1 MiB, a list of 1 GiB) name the line and its offset,
 * HEFT_UNSAFE refuses a path that leaves the list's directory. Two digests of one name are
 * HEFT_MALFORMED. NULL on failure. options may be NULL; only its inputs are used. */
HEFT_API struct heft_digest_list *heft_digest_list_open(const char *path,
                                                        const struct heft_open_options *options,
                                                        struct heft_error *err);
HEFT_API enum heft_list_kind heft_digest_list_kind(const struct heft_digest_list *list);
/* Number of digests; 0 for HEFT_LIST_HUB. */
HEFT_API size_t heft_digest_list_count(const struct heft_digest_list *list);
HEFT_API void heft_digest_list_close(struct heft_digest_list *list);

struct heft_compared {
    size_t size;      /* HEFT_INIT */
    uint64_t digests; /* number of digests that were compared, equal or not */
    uint64_t bytes;   /* bytes that they cover */
};
struct heft_compare_options {
    size_t size;      /* HEFT_INIT */
    unsigned threads; /* as in heft_digest_options, like the next members */
    bool (*progress)(void *ctx, uint64_t done, uint64_t total);
    void *progress_ctx;
    struct heft_compared *compared; /* filled if not NULL */
};
/* Compares a checkpoint, opened from the paths `inputs`, with a list. Calls each() with a finding for
 * every tensor, file or blob that differs (also in dtype or shape), that is missing, or that is new
 * (not in the list), and with notes about what was not compared. Returns true if the comparison was
 * completed, whatever it found; else HEFT_IO and the other codes of reading. each() may be called
 * from any thread, but not concurrently.
 *   TENSORS   the tensors and recorded ties, and blobs if the list has any.
 *   FILES     the files of the checkpoint, and every file of the list that lies below a directory of
 *             `inputs`. Other files of the list, and other files below such a directory, are counted
 *             in a note.
 *   HUB       the blobs that the files of `inputs` are links to; of a repository (models--NAME) all
 *             its blobs. HEFT_USAGE if an input is in no such cache.
 * c may be NULL for FILES and HUB, if the inputs cannot be opened as a checkpoint. options may be
 * NULL. */
HEFT_API bool heft_compare_digests(struct heft_checkpoint *c, const char *const *inputs,
                                   size_t n_inputs, const struct heft_digest_list *list,
                                   const struct heft_compare_options *options,
                                   void (*each)(void *ctx, const struct heft_finding *finding),
                                   void *ctx, struct heft_error *err);

#ifdef __cplusplus
}
#endif
#endif
