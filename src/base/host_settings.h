/* host_settings.h: the settings of heft/host.h, for the rest of the library. */
#ifndef HEFT_HOST_SETTINGS_H
#define HEFT_HOST_SETTINGS_H

#include "base/error.h"
#include "heft/host.h"

/* Never NULL; all zero unless the program has set it. Constant from the first allocation on. */
const struct heft_host *heft_host(void);
/* Checks the settings and adopts a copy of them: heft_host_set. */
HEFT_CHECKED bool heft_host_adopt(const struct heft_host *host, struct heft_error *err);

#endif
