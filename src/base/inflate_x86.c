/* inflate_x86.c: the fast loop with BMI2, whose shifts leave the flags and other registers alone. */
#include "base/inflate_fast.h"

__attribute__((target("bmi,bmi2"))) static bool
fast_bmi2(struct heft_inflate *z, struct heft_inflate_io *io, struct heft_error *err)
{
    return run_fast(z, io, err);
}

heft_inflate_fast_fn *heft_inflate_fast_at(size_t index)
{
    const bool has_bmi2 = __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("bmi");

    if (has_bmi2 && index-- == 0)
        return fast_bmi2;
    return index == 0 ? heft_inflate_fast_plain : NULL;
}
