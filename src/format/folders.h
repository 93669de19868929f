/* folders.h: names in folders of checkpoints that several formats share. */
#ifndef HEFT_FOLDERS_H
#define HEFT_FOLDERS_H

#include "core/file_names.h"

extern const struct heft_conventions heft_conventions;

#endif
