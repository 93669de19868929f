/* format.h: which formats there are, which dtypes each can hold, and which options it has of its own.
 * heft.h includes it. Names of formats may be synonyms: "pth" is torch, "tensorflow" tf. */
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

/* ---- options ------------------------------------------------------------------------------- */

/* Options that a format has for its output beside the fields of struct heft_convert_options. The command
 * has them under the same names; heft-convert(1) describes them in full. */
enum heft_option_kind {
    HEFT_OPTION_FLAG,   /* without a value */
    HEFT_OPTION_NUMBER, /* as heft_parse_count reads it */
    HEFT_OPTION_TEXT
};
/* What a conversion to a format without the option makes of it. */
enum heft_option_elsewhere {
    HEFT_ELSEWHERE_REFUSED, /* HEFT_USAGE */
    HEFT_ELSEWHERE_NOTED,   /* a note of the conversion; HEFT_USAGE if strict */
    HEFT_ELSEWHERE_IGNORED  /* nothing: it also says how the source is read */
};
struct heft_format_option {
    const char *name; /* "segment-alignment" */
    enum heft_option_kind kind;
    const char *value;    /* placeholder of the value in help texts: "N"; NULL of a flag */
    const char *choices;  /* of a text: "1.6|2.1|2.8"; NULL: any */
    uint64_t least, most; /* of a number, both allowed */
    enum heft_option_elsewhere elsewhere;
    bool implies_format; /* without `to` the option chooses its format as the target */
    const char *help;    /* one line */
};
/* An option of one format: {"shards", "2"}, {"keep-shards", NULL}. */
struct heft_option {
    const char *name;
    const char *value; /* NULL of a flag */
};

/* Option number `index` of the format of that name. False past the end, and for an unknown format. */
HEFT_API bool heft_format_option_at(const char *format, size_t index,
                                    struct heft_format_option *out);
/* Validates one option of the format before there is a conversion. HEFT_USAGE: the format is unknown
 * or lacks the option, or the value is not allowed. */
HEFT_API bool heft_format_option_check(const char *format, const struct heft_option *option,
                                       struct heft_error *err);

#ifdef __cplusplus
}
#endif
#endif
