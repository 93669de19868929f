/* ruler.h: what the table of formats takes from src/rules. */
#ifndef HEFT_RULER_H
#define HEFT_RULER_H

#include "core/ruling.h"

extern const struct heft_ruler heft_ruler;

#endif
