/* scan.h: what executing the pickles of a file would import and call. Behind heft_scan (heft.h has
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

#endif
