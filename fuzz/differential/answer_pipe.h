/* answer_pipe.h: answers questions from standard input on standard output, for the programs that are
 * compared with other implementations (pipe_client.py is the other side).
 *
 *     question   u32 length │ u32 option │ bytes
 *     answer     u32 length │ bytes
 *
 * Numbers are little-endian. An empty question ends a batch: its answer, too, is written, and all
 * are flushed. One process answers millions of questions; LeakSanitizer reports at its end what any
 * of them leaked. */
#ifndef ANSWER_PIPE_H
#define ANSWER_PIPE_H

#include "base/mem.h"

typedef void answer_fn(struct heft_bytes question, uint32_t option, struct heft_buf *answer);

/* Returns the exit status of the program. */
int answer_pipe(answer_fn *answer);

#endif
