/* sized.c: copies of structs that callers made, perhaps for another version of the library. */
#include "base/sized.h"

#include "base/error.h"

static bool is_zero(const unsigned char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (bytes[i])
            return false;
    return true;
}

bool heft_sized_take(void *own, const struct heft_sized *sizes, const void *given,
                     struct heft_error *err)
{
    const unsigned char *const bytes = given;
    size_t size = sizes->ours;

    memset(own, 0, sizes->ours);
    if (given)
        memcpy(&size, given, sizeof size);
    if (size == 0)
        size = sizes->first;
    if (size > HEFT_SIZED_MOST)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "%s has size %zu; initialise it with HEFT_INIT", sizes->name, size);
    if (given && size > sizes->ours && !is_zero(bytes + sizes->ours, size - sizes->ours))
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "%s has %zu bytes, %zu are known: the program was built for a newer "
                         "libheft",
                         sizes->name, size, sizes->ours);
    if (given)
        memcpy(own, given, size < sizes->ours ? size : sizes->ours);
    memcpy(own, &sizes->ours, sizeof sizes->ours);
    return true;
}
