/* formats.h: every format that heft knows. Core is handed the table and names none of them: whoever
 * makes a model, gives it (heft_model_init). */
#ifndef HEFT_FORMATS_H
#define HEFT_FORMATS_H

#include "core/registry.h"

extern const struct heft_formats heft_formats;

#endif
