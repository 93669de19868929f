/* scan.h: what executing the pickles of a file would import and call, and other code that loading
 * it would run. Behind heft_scan (heft.h has
 * the contract). */
#ifndef HEFT_SCAN_H
#define HEFT_SCAN_H

#include "heft/heft.h"
#include "io/source.h"

/* Judges a zip's records (every pickle in it, whatever its name) or a plain pickle. Each name and
 * kind is reported once a record, where it is first met. Where a pickle breaks off, what stands
 * before is judged, *complete is false and err says why; false is returned only where nothing could
 * be judged. */
HEFT_CHECKED bool heft_scan_file(const struct heft_source *src, const char *path,
                                 const struct heft_limits *limits,
                                 void (*each)(void *ctx, const struct heft_scan_item *item),
                                 void *ctx, bool *complete, struct heft_error *err);

/* What a file's content is. */
struct heft_scan_kind {
    const char *name; /* a constant: "zip", "pickle", "text" */
    bool judged;      /* scan judges this kind */
};
/* The same, and what kind of file it is. */
HEFT_CHECKED bool heft_scan_source(const struct heft_source *src, const char *path,
                                   const struct heft_limits *limits,
                                   void (*each)(void *ctx, const struct heft_scan_item *item),
                                   void *ctx, struct heft_scan_kind *kind, bool *complete,
                                   struct heft_error *err);

/* The files that an index (JSON with a weight_map) names, each name once, in the index's order.
 * folder: of the index, with its slash. Nothing where the source is no such index; JSON that breaks
 * off is reported by judging it. */
typedef bool heft_scan_shard_fn(void *ctx, const char *folder, struct heft_str name,
                                struct heft_error *err);
HEFT_CHECKED bool heft_scan_index(const struct heft_source *src, const char *path,
                                  heft_scan_shard_fn *shard, void *ctx, struct heft_error *err);

#endif
