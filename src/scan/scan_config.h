/* scan_config.h: the inside of the judging of configurations, shared by scan_config.c (JSON),
 * scan_keras.c (what an object stands for), scan_expression.c (Python in it) and
 * scan_config_report.c (what is reported). */
#ifndef HEFT_SCAN_CONFIG_H
#define HEFT_SCAN_CONFIG_H

#include "scan/scan_parts.h"
#include "wire/json.h"

/* The beginning of a string; longer ones equal no name that is looked for. */
struct heft_config_text {
    char bytes[126];
    uint16_t n;
    bool is_set;
};

/* An object or array that is open. */
struct heft_config_frame {
    struct heft_config_text key; /* the last one; of an array: of what it is the value */
    struct heft_config_text class_name, module, registered, function_type, function, config, type;
    struct heft_config_text vocabulary;
    struct heft_config_text first; /* of an array's strings */
    uint32_t strings;              /* in an array, so far */
    bool is_array, has_config;
    bool has_idx, has_path;         /* keys of sentence-transformers' modules.json */
    bool in_auto_map, in_pipelines; /* within the value of that key */
};

struct heft_config {
    struct heft_scan *s;
    const struct heft_scan_place *place;
    struct heft_json json;
    struct heft_arena mem; /* sentences */
    struct heft_config_frame *frames;
    size_t n_frames, cap_frames;
    bool is_index;  /* model_index.json of diffusers */
    bool templates; /* it has Jinja templates */
    bool full;      /* enough is told, or the budget is used up: the rest is not looked into */
    uint32_t told;
};

static inline struct heft_str heft_config_str(const struct heft_config_text *text)
{
    return (struct heft_str){text->bytes, text->n};
}

/* ---- scan_config_report.c ---- */

/* Reports "sentence: detail". */
HEFT_CHECKED bool heft_config_tell(struct heft_config *c, enum heft_danger danger,
                                   const char *sentence, struct heft_str detail,
                                   struct heft_error *err);

/* The danger of a path; the configuration is full where that cannot be paid for. */
enum heft_danger heft_config_path(struct heft_config *c, struct heft_str path);

/* ---- scan_expression.c ---- */

/* A text that is evaluated. */
HEFT_CHECKED bool heft_config_expression(struct heft_config *c, struct heft_str text,
                                         struct heft_error *err);

/* ---- scan_keras.c ---- */

/* An object that ends. */
HEFT_CHECKED bool heft_config_judge(struct heft_config *c, const struct heft_config_frame *frame,
                                    struct heft_error *err);
/* The next string of an array: ["library", "Class"] in a model_index.json. */
HEFT_CHECKED bool heft_config_pair(struct heft_config *c, struct heft_config_frame *frame,
                                   struct heft_str text, struct heft_error *err);

#endif
