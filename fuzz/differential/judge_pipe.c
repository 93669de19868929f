/* judge_pipe.c: scans pickles that it reads from a pipe (answer_pipe.h) and answers with the
 * findings, for compare.py.
 *
 *     option   limit of values in a pickle, 0 for the default
 *     answer   code of the error, then for each finding danger, what, name; each text ends with a
 *              NUL */
#include <stdlib.h>

#include "answer_pipe.h"
#include "base/mem.h"
#include "core/model.h"
#include "format/formats.h"
#include "scan/scan.h"

static void put_text(struct heft_buf *answer, const char *text)
{
    heft_buf_text(answer, text);
    heft_buf_char(answer, 0);
}

static void put_item(void *ctx, const struct heft_scan_item *item)
{
    struct heft_buf *answer = ctx;

    heft_buf_u64(answer, item->danger);
    heft_buf_char(answer, 0);
    put_text(answer, item->what);
    put_text(answer, item->name);
}

static void judge(struct heft_bytes bytes, uint32_t nodes, struct heft_buf *answer)
{
    const struct heft_limits limits = {.size = sizeof limits, .nodes = nodes};
    struct heft_buf items = {0};
    struct heft_error err = {0};
    struct heft_source source;
    struct heft_model model; /* limits that this completes */
    bool complete = false;

    heft_model_init(&model, &limits, &heft_formats);
    heft_source_open_memory(&source, bytes, "input");
    if (!heft_scan_file(&source, "input", &model.limits, put_item, &items, &complete, &err) &&
        err.code == HEFT_OK)
        abort(); /* a failure has a text */
    heft_buf_u64(answer, err.code);
    heft_buf_char(answer, 0);
    heft_buf_put(answer, items.p, items.n);
    heft_source_close(&source);
    heft_model_release(&model);
    heft_buf_release(&items);
}

int main(void)
{
    return answer_pipe(judge);
}
