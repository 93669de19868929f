/* judge_pipe.c: scans pickles that it reads from a pipe and answers with the findings, for
 * compare.py.
 *
 *     question   u32 length │ u32 limit of values in a pickle, 0 for the default │ bytes
 *     answer     u32 length │ code of the error, then for each finding danger, what, name;
 *                             each text ends with a NUL
 *
 * Numbers are little-endian. One process answers millions of questions; LeakSanitizer reports at
 * its end what any of them leaked. */
#include <stdio.h>
#include <stdlib.h>

#include "base/endian.h"
#include "base/mem.h"
#include "core/model.h"
#include "format/formats.h"
#include "scan/scan.h"

#define LONGEST ((uint32_t)1 << 28) /* maximum bytes of a question */

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
    const struct heft_limits limits = {.nodes = nodes};
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

static bool answer_one(const uint8_t head[8])
{
    const uint32_t n = heft_le32(head);
    uint8_t *bytes = n <= LONGEST ? malloc(n + 1) : NULL;
    struct heft_buf answer = {0};
    uint8_t length[4];
    bool ok = bytes && fread(bytes, 1, n, stdin) == n;

    if (ok) {
        judge((struct heft_bytes){bytes, n}, heft_le32(head + 4), &answer);
        heft_put_le32(length, (uint32_t)answer.n);
        ok = !answer.failed && fwrite(length, 1, sizeof length, stdout) == sizeof length &&
             fwrite(answer.p, 1, answer.n, stdout) == answer.n;
    }
    heft_buf_release(&answer);
    free(bytes);
    return ok;
}

int main(void)
{
    uint8_t head[8];

    while (fread(head, 1, sizeof head, stdin) == sizeof head) {
        if (!answer_one(head))
            return EXIT_FAILURE;
        if (heft_le32(head) == 0 && fflush(stdout) != 0) /* an empty question ends a batch */
            return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
