/* fuzz_scan_named.c: scan on a file with a name: the first line of the input, the rest is the file. YAML,
 * TensorFlow's graphs, Jinja, Python and the index of a pipeline are judged by their names. */
#include <stdlib.h>

#include "core/model.h"
#include "format/formats.h"
#include "scan/scan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LONGEST 64 /* bytes of a name */

static void require(bool truth)
{
    if (!truth)
        abort();
}

static void take(void *ctx, const struct heft_scan_item *item)
{
    const size_t *size = ctx;

    require(item->what && *item->what && item->name && *item->name && item->record);
    require(item->danger <= HEFT_DANGER);
    require(item->offset == HEFT_NO_OFFSET || item->offset <= *size);
}

static void scan(const char *name, struct heft_bytes bytes)
{
    const struct heft_limits limits = {.pickle = 1 << 20, .nodes = 1 << 16, .entries = 1000};
    struct heft_scan_kind kind = {0};
    struct heft_error err = {0};
    struct heft_model model; /* for the limits it completes */
    struct heft_source source;
    bool complete = false, ok;

    heft_model_init(&model, &limits, &heft_formats);
    heft_source_open_memory(&source, bytes, name);
    ok = heft_scan_source(&source, name, &model.limits, take, &bytes.n, &kind, &complete, &err);
    require((ok && complete) == (err.code == HEFT_OK));
    require(kind.name && *kind.name);
    require(err.code != HEFT_IO); /* everything that is read is there */
    heft_model_release(&model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = size ? memchr(data, '\n', size < LONGEST ? size : LONGEST) : NULL;
    char name[LONGEST];

    if (!end || memchr(data, 0, (size_t)(end - data)))
        return 0;
    memcpy(name, data, (size_t)(end - data));
    name[end - data] = 0;
    scan(name, (struct heft_bytes){end + 1, size - (size_t)(end + 1 - data)});
    return 0;
}
