/* scan.h: scan of one file: what executing its pickles would import and call, and other code
 * that loading it would run. Called by heft_scan_tree, whose contract is in inspect.h. */
#ifndef HEFT_SCAN_H
#define HEFT_SCAN_H

#include "heft/heft.h"
#include "io/source.h"

/* Scans one file: all records of a zip (every pickle in them, whatever its name), a bare pickle,
 * or another kind of file. Each name is reported once a record and kind of finding, at its first
 * position. Where a pickle is malformed, everything before is judged, *complete is false and err
 * has the reason. Returns false only if nothing could be judged. */
HEFT_CHECKED bool heft_scan_file(const struct heft_source *src, const char *path,
                                 const struct heft_limits *limits,
                                 void (*each)(void *ctx, const struct heft_scan_item *item),
                                 void *ctx, bool *complete, struct heft_error *err);

/* Kind of a file, by its content. */
struct heft_scan_kind {
    const char *name; /* static string: "zip", "pickle", "text" */
    bool judged;      /* true if scan judges files of this kind */
};
/* Same as heft_scan_file, and sets *kind. */
HEFT_CHECKED bool heft_scan_source(const struct heft_source *src, const char *path,
                                   const struct heft_limits *limits,
                                   void (*each)(void *ctx, const struct heft_scan_item *item),
                                   void *ctx, struct heft_scan_kind *kind, bool *complete,
                                   struct heft_error *err);

/* Calls shard for each file that an index (JSON with a weight_map) names, once a name, in the
 * order of the index. directory: that of the index, with a slash at its end. Returns true
 * without a call if the source is not an index; malformed JSON is reported when the file itself
 * is judged. */
typedef bool heft_scan_shard_fn(void *ctx, const char *directory, struct heft_str name,
                                struct heft_error *err);
HEFT_CHECKED bool heft_scan_index(const struct heft_source *src, const char *path,
                                  heft_scan_shard_fn *shard, void *ctx, struct heft_error *err);

#endif
