/* ascii_words_kernels_none.c: for processors without a kernel here. */
#include "tokens/split/ascii_words.h"

const struct heft_ascii_kernel *heft_ascii_kernel_at(size_t index)
{
    return index == 0 ? &heft_ascii_kernel_plain : NULL;
}

const struct heft_ascii_kernel *heft_ascii_kernel(void)
{
    return NULL;
}
