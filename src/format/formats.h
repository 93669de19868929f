/* formats.h: the table of all formats. core does not name any format: the table is passed to
 * heft_model_init. */
#ifndef HEFT_FORMATS_H
#define HEFT_FORMATS_H

#include "core/registry.h"

extern const struct heft_formats heft_formats;

#endif
