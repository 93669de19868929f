/* fuzz_scan.c: scan on any bytes. Whatever they are, what is reported must be whole, lie in the
 * file, and be told again in the same way. */
#include <stdlib.h>

#include "core/model.h"
#include "format/formats.h"
#include "scan/scan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
    size_t size, items, letters;
};

static void require(bool truth)
{
    if (!truth)
        abort();
}

static void take(void *ctx, const struct heft_scan_item *item)
{
    struct seen *seen = ctx;

    require(item->what && *item->what && item->name && *item->name && item->record);
    require(item->danger <= HEFT_DANGER);
    require(item->offset == HEFT_NO_OFFSET || item->offset <= seen->size);
    seen->items++;
    seen->letters += strlen(item->name) + strlen(item->record);
}

static struct seen scan(const uint8_t *data, size_t size)
{
    const struct heft_limits limits = {.pickle = 1 << 20, .nodes = 1 << 16, .entries = 1000};
    struct seen seen = {.size = size};
    struct heft_error err = {0};
    struct heft_model model; /* for the limits it completes */
    struct heft_source source;
    bool complete = false, ok;

    heft_model_init(&model, &limits, &heft_formats);
    heft_source_open_memory(&source, (struct heft_bytes){data, size}, "input");
    ok = heft_scan_file(&source, "input", &model.limits, take, &seen, &complete, &err);
    require((ok && complete) == (err.code == HEFT_OK));
    require(ok || seen.items == 0 || err.code == HEFT_NOMEM);
    require(err.code == HEFT_OK || err.text[0] != 0);
    require(err.code != HEFT_IO); /* everything that is read is there */
    heft_model_release(&model);
    return seen;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct seen one = scan(data, size), two = scan(data, size);

    require(one.items == two.items && one.letters == two.letters);
    return 0;
}
