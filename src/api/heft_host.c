/* heft_host.c: the function of host.h. */
#include <heft/host.h>

#include "base/host_settings.h"
#include "base/require_arg.h"
#include "base/sized.h"

bool heft_host_set(const struct heft_host *host, struct heft_error *err)
{
    struct heft_host own;

    return heft_require_arg(host != NULL, "the settings of the host", err) &&
           HEFT_TAKE(heft_host, &own, host, err) && heft_host_adopt(&own, err);
}
