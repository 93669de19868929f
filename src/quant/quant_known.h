/* quant_known.h: schemes that are recognised to be refused by name. */
#ifndef HEFT_QUANT_KNOWN_H
#define HEFT_QUANT_KNOWN_H

#include "quant/quant.h"

/* False, with HEFT_UNSUPPORTED, if the configuration, or without one a name, is that of such a scheme. */
HEFT_CHECKED bool heft_quant_refuse_known(struct heft_quant *q);

#endif
