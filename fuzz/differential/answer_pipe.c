/* answer_pipe.c: see answer_pipe.h. */
#include "answer_pipe.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/endian.h"

#define LONGEST ((uint32_t)1 << 28) /* maximum bytes of a question */

static bool write_answer(const struct heft_buf *answer)
{
    uint8_t length[4];

    heft_put_le32(length, (uint32_t)answer->n);
    return !answer->failed && fwrite(length, 1, sizeof length, stdout) == sizeof length &&
           fwrite(answer->p, 1, answer->n, stdout) == answer->n;
}

/* The bytes have a block of exactly their size, so that a sanitizer detects a read beyond them. */
static bool answer_one(answer_fn *answer, uint32_t n, uint32_t option)
{
    uint8_t *const bytes = n <= LONGEST ? malloc(n ? n : 1) : NULL;
    struct heft_buf out = {0};
    bool ok = bytes && fread(bytes, 1, n, stdin) == n;

    if (ok)
        answer((struct heft_bytes){bytes, n}, option, &out);
    ok = ok && write_answer(&out);
    heft_buf_release(&out);
    free(bytes);
    return ok;
}

int answer_pipe(answer_fn *answer)
{
    uint8_t head[8];
    bool ok = true;

    while (ok && fread(head, 1, sizeof head, stdin) == sizeof head) {
        const uint32_t n = heft_le32(head);

        ok = answer_one(answer, n, heft_le32(head + 4)) && (n || fflush(stdout) == 0);
    }
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
