/* scan_config.h: internals of scanning configurations, shared by scan_config.c (JSON),
 * scan_keras.c (meaning of an object), scan_expression.c (Python expressions) and
 * scan_config_report.c (findings). */
#ifndef HEFT_SCAN_CONFIG_H
#define HEFT_SCAN_CONFIG_H

#include "scan/scan_parts.h"
#include "wire/json.h"

/* First bytes of a string. A longer string cannot equal any name that is searched for. */
struct heft_config_text {
    char bytes[126];
    uint16_t n;
    bool is_set;
};

/* An open object or array. */
struct heft_config_frame {
    struct heft_config_text key; /* the last key of an object; the key whose value an array is */
    struct heft_config_text class_name, module, registered, function_type, function, config, type;
    struct heft_config_text vocabulary;
    struct heft_config_text first; /* first string of an array */
    uint32_t strings;              /* number of strings in an array so far */
    bool is_array, has_config;
    bool has_idx, has_path;         /* has these keys of sentence-transformers' modules.json */
    bool in_auto_map, in_pipelines; /* inside the value of auto_map or custom_pipelines */
};

struct heft_config {
    struct heft_scan *s;
    const struct heft_scan_place *place;
    struct heft_json json;
    struct heft_arena mem; /* messages of findings */
    struct heft_config_frame *frames;
    size_t n_frames, cap_frames;
    bool is_index;  /* the file is a model_index.json of diffusers */
    bool templates; /* the configuration has Jinja templates */
    bool full;      /* too many findings, or budget used up: the rest is not scanned */
    uint32_t reported;
};

static inline struct heft_str heft_config_str(const struct heft_config_text *text)
{
    return (struct heft_str){text->bytes, text->n};
}

/* ---- scan_config_report.c ---- */

/* Reports a finding "sentence: detail". */
HEFT_CHECKED bool heft_config_report(struct heft_config *c, enum heft_danger danger,
                                     const char *sentence, struct heft_str detail,
                                     struct heft_error *err);

/* Danger of a dotted path. Sets c->full if the budget does not suffice to judge it. */
enum heft_danger heft_config_path(struct heft_config *c, struct heft_str path);

/* ---- scan_expression.c ---- */

/* Judges a string that is evaluated as Python. */
HEFT_CHECKED bool heft_config_expression(struct heft_config *c, struct heft_str text,
                                         struct heft_error *err);

/* ---- scan_keras.c ---- */

/* Judges an object at its end. */
HEFT_CHECKED bool heft_config_judge(struct heft_config *c, const struct heft_config_frame *frame,
                                    struct heft_error *err);
/* Takes the next string of an array: ["library", "Class"] in a model_index.json. */
HEFT_CHECKED bool heft_config_pair(struct heft_config *c, struct heft_config_frame *frame,
                                   struct heft_str text, struct heft_error *err);

#endif
