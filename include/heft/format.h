/* format.h: which formats there are, and which dtypes each can hold. heft.h includes it. Names of formats
 * may be synonyms: "pth" is torch, "tensorflow" tf. */
#ifndef HEFT_FORMAT_H
#define HEFT_FORMAT_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct heft_format_info {
    const char *name, *summary;
    bool reads, writes;
};
HEFT_API bool heft_format_at(size_t index, struct heft_format_info *out);
/* By its name or a usual synonym ("pth" is torch, "tensorflow" tf). False where there is none. */
HEFT_API bool heft_format_find(const char *name, struct heft_format_info *out);
/* Whether the format of that name can be written with tensors of that dtype: doc/conversions.md is
 * made of it. False also for a format that is unknown or not written. */
HEFT_API bool heft_format_supports_dtype(const char *format, enum heft_dtype dtype);
/* The dtype to cast those to that it cannot hold, as the error of a conversion names it. False where
 * nothing would do, and for such formats. */
HEFT_API bool heft_format_instead(const char *format, enum heft_dtype dtype, enum heft_dtype *out);

#ifdef __cplusplus
}
#endif
#endif
