/* format.h: the formats, the dtypes that each supports, and its own options. heft.h includes it.
 * Names of formats may be synonyms: "pth" is torch, "tensorflow" tf. */
#ifndef HEFT_FORMAT_H
#define HEFT_FORMAT_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct heft_format_info {
    size_t size; /* HEFT_INIT */
    const char *name, *summary;
    bool reads, writes;
};
HEFT_API bool heft_format_at(size_t index, struct heft_format_info *out);
/* Finds a format by its name or a common synonym ("pth" is torch, "tensorflow" tf). False if there
 * is none. */
HEFT_API bool heft_format_find(const char *name, struct heft_format_info *out);
/* Whether the format can be written with tensors of the dtype (the table in doc/conversions.md).
 * False also for a format that is unknown or cannot be written. */
HEFT_API bool heft_format_supports_dtype(const char *format, enum heft_dtype dtype);
/* Suggested dtype to cast an unsupported dtype to, as in the error of a conversion. False if no
 * cast helps, and for a format that is unknown or cannot be written. */
HEFT_API bool heft_format_instead(const char *format, enum heft_dtype dtype, enum heft_dtype *out);

/* ---- options ------------------------------------------------------------------------------- */

/* Options that only some formats have: for reading their files, in addition to the members of
 * struct heft_open_options, or for writing them, in addition to those of struct
 * heft_convert_options. The command has options with the same names; heft-convert(1) describes
 * them. */
enum heft_option_use {
    HEFT_OPTION_WRITES, /* heft_convert_options.format_options */
    HEFT_OPTION_READS   /* heft_open_options.options; several formats may have the same option */
};
enum heft_option_kind {
    HEFT_OPTION_FLAG,   /* without a value */
    HEFT_OPTION_NUMBER, /* parsed by heft_parse_count */
    HEFT_OPTION_TEXT
};
/* Effect of the option if the target, or each of the opened files, has another format. */
enum heft_option_elsewhere {
    HEFT_ELSEWHERE_REFUSED, /* HEFT_USAGE */
    /* heft_idle_option_at lists it; in a conversion a note, or HEFT_USAGE if strict */
    HEFT_ELSEWHERE_NOTED,
    /* in a conversion: the same, unless the option of reading with this name had an effect */
    HEFT_ELSEWHERE_UNLESS_READ
};
struct heft_format_option {
    size_t size;      /* HEFT_INIT */
    const char *name; /* "segment-alignment" */
    enum heft_option_use use;
    enum heft_option_kind kind;
    const char *value;    /* placeholder of the value in help texts: "N"; NULL for a flag */
    const char *choices;  /* for a text: allowed values, "1.6|2.1|2.8"; NULL: any */
    uint64_t least, most; /* for a number: inclusive range */
    enum heft_option_elsewhere elsewhere;
    bool implies_format; /* without `to` the option selects its format as the target */
    const char *help;    /* help text, one line */
};
/* Option of a format with its value: {"shards", "2"}, {"keep-shards", NULL}. */
struct heft_option {
    const char *name;
    const char *value; /* NULL for a flag */
};

/* Option `index` of a format. False past the end, and for an unknown format. */
HEFT_API bool heft_format_option_at(const char *format, size_t index,
                                    struct heft_format_option *out);
/* Validates an option of a format before it is used. HEFT_USAGE if the format is unknown or
 * lacks the option, or the value is not allowed. */
HEFT_API bool heft_format_option_check(const char *format, const struct heft_option *option,
                                       struct heft_error *err);

#ifdef __cplusplus
}
#endif
#endif
