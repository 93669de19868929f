/* heft_quantization.c: the public API for the quantization of a checkpoint. */
#include "base/require_arg.h"
#include "base/sized.h"
#include "api/checkpoint.h"
#include "core/derive.h"
#include "core/registry.h"

bool heft_quantization(struct heft_checkpoint *c, struct heft_quantized *out,
                       struct heft_error *err)
{
    const struct heft_dequantizer *d;
    struct heft_quantization found = {.as = HEFT_DTYPE_COUNT};
    bool ok;

    if (!heft_require_arg(c, "a checkpoint", err) || !heft_require_arg(out, "a struct", err))
        return false;
    d = c->model.formats->dequantizer;
    heft_lock_take(c->lock);
    ok = !d || d->describe(&c->model, &c->model.mem, &found, err);
    heft_lock_drop(c->lock);
    if (!ok)
        return false;
    HEFT_FILL(heft_quantized, out,
              &((struct heft_quantized){
                  .scheme = found.scheme,
                  .refusal = found.refusal,
                  .weights = found.weights,
                  .all = found.all,
                  .parameters = found.parameters,
                  .quantized = found.quantized,
                  .stored_bytes = found.stored_bytes,
                  .dtype = found.as == HEFT_DTYPE_COUNT ? HEFT_BF16 : found.as,
              }));
    return true;
}
