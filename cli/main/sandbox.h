/* sandbox.h: the command confines itself before it reads its inputs (heft/confine.h), unless
 * --no-sandbox is given. */
#ifndef CLI_SANDBOX_H
#define CLI_SANDBOX_H

#include "main/options.h"

/* Confines the process to the files that the options name. Before threads are started. False if
 * memory is short. A kernel without Landlock or seccomp is no error. */
bool sandbox_enter(const struct options *options, const struct verb *verb, struct heft_error *err);
/* An input is open. After the last one no process can be started, unless the verb will need one. */
void sandbox_opened(void);
/* Notes, unless -q is given, if the confinement, not the file's permissions, may be the reason of
 * an error. */
void sandbox_explain(const struct heft_error *err);

#endif
