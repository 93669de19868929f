/* scan_bytes.h: scans bytes, for fuzz targets.
 *
 * Invariants: each item has a name, a kind and a record, and an offset inside the file; an
 * incomplete scan has an error with a text; the error is never HEFT_IO, since all bytes are in
 * memory. */
#ifndef SCAN_BYTES_H
#define SCAN_BYTES_H

#include <string.h>

#include "core/model.h"
#include "expect.h"
#include "format/formats.h"
#include "scan/scan.h"

struct scan_seen {
    size_t size; /* size of the file */
    size_t items, letters;
};

static inline void see_item(void *ctx, const struct heft_scan_item *item)
{
    struct scan_seen *seen = ctx;

    expect(item->what && *item->what && item->name && *item->name && item->record);
    expect(item->danger <= HEFT_DANGER);
    expect(item->offset == HEFT_NO_OFFSET || item->offset <= seen->size);
    seen->items++;
    seen->letters += strlen(item->name) + strlen(item->record);
}

/* `name` decides how files without a signature are scanned (YAML, Jinja, TensorFlow's graphs); NULL
 * if the file has none. */
static inline struct scan_seen scan_bytes(const char *name, struct heft_bytes bytes)
{
    const struct heft_limits limits = {
        .size = sizeof limits, .pickle = 1 << 20, .nodes = 1 << 16, .entries = 1000};
    struct scan_seen seen = {.size = bytes.n};
    struct heft_scan_kind kind = {0};
    struct heft_error err = {0};
    struct heft_model model; /* only for its default limits */
    struct heft_source source;
    bool complete = false, ok;

    heft_model_init(&model, &limits, &heft_formats);
    heft_source_open_memory(&source, bytes, name ? name : "input");
    ok = name ? heft_scan_source(&source, name, &model.limits, see_item, &seen, &kind, &complete,
                                 &err)
              : heft_scan_file(&source, "input", &model.limits, see_item, &seen, &complete, &err);
    expect((ok && complete) == (err.code == HEFT_OK));
    expect(!name || (kind.name && *kind.name));
    expect(name || ok || seen.items == 0 || err.code == HEFT_NOMEM);
    expect(err.code == HEFT_OK || err.text[0] != 0);
    expect(err.code != HEFT_IO);
    heft_model_release(&model);
    return seen;
}

#endif
