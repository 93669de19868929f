/* sized.c: copies of structs that callers made, perhaps for another version of the library. */
#include "base/sized.h"

#include "base/error.h"
#include "base/mem.h"

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

static size_t size_at(const void *array, size_t i, size_t stride)
{
    size_t size;

    memcpy(&size, (const char *)array + i * stride, sizeof size);
    return size;
}

bool heft_sized_stride(size_t *stride, const struct heft_sized *sizes, const void *array, size_t n,
                       struct heft_error *err)
{
    const size_t first = array && n > 0 ? size_at(array, 0, 0) : 0;

    *stride = first;
    if (!array || n == 0)
        return true;
    if (first < sizes->first || first > HEFT_SIZED_MOST || first % sizeof first != 0)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "%s has size %zu in an array; initialise it with HEFT_INIT", sizes->name,
                         first);
    for (size_t i = 1; i < n; i++) {
        const size_t size = size_at(array, i, first);

        if (size != first)
            return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                             "%s at index %zu has size %zu, the first of the array has %zu",
                             sizes->name, i, size, first);
    }
    return true;
}

void *heft_sized_take_array(const struct heft_sized *sizes, const void *array, size_t n,
                            struct heft_error *err)
{
    size_t stride;
    char *own;

    if (!heft_sized_stride(&stride, sizes, array, n, err))
        return NULL;
    own = heft_calloc(n + 1, sizes->ours, err);
    for (size_t i = 0; own && i < n; i++)
        if (!heft_sized_take(own + i * sizes->ours, sizes, (const char *)array + i * stride, err)) {
            heft_free(own);
            return NULL;
        }
    return own;
}

void heft_sized_fill_array(void *array, size_t stride, const void *values, size_t ours, size_t n)
{
    const size_t bytes = stride < ours ? stride : ours, at = sizeof bytes;

    for (size_t i = 0; i < n; i++)
        memcpy((char *)array + i * stride + at, (const char *)values + i * ours + at, bytes - at);
}
