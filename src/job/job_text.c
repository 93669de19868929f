/* job_text.c: the lines of a plan that say what was asked for.
 *
 *     heft plan 1
 *     version 0.1.0
 *     parts 4
 *     input /data/model.pth
 *     output /data/out/
 *     to safetensors
 *     rule cast * F16
 *
 * A line is a key and words, separated by single spaces. */
#include "job/job_parts.h"

#define FIELD(member) offsetof(struct heft_job_request, member)

const struct heft_job_field heft_job_fields[] = {
    {"parts", HEFT_JOB_NUMBER, FIELD(parts)},
    {"from", HEFT_JOB_TEXT, FIELD(open.format)},
    {"limit-header", HEFT_JOB_NUMBER, FIELD(limits.header)},
    {"limit-pickle", HEFT_JOB_NUMBER, FIELD(limits.pickle)},
    {"limit-opcodes", HEFT_JOB_NUMBER, FIELD(limits.opcodes)},
    {"limit-tensors", HEFT_JOB_NUMBER, FIELD(limits.tensors)},
    {"limit-nodes", HEFT_JOB_NUMBER, FIELD(limits.nodes)},
    {"limit-entries", HEFT_JOB_NUMBER, FIELD(limits.entries)},
    {"limit-ratio", HEFT_JOB_NUMBER, FIELD(limits.ratio)},
    {"limit-unpacked", HEFT_JOB_NUMBER, FIELD(limits.unpacked)},
    {"limit-expansion", HEFT_JOB_NUMBER, FIELD(limits.expansion)},
    {"limit-depth", HEFT_JOB_NUMBER, FIELD(limits.depth)},
    {"limit-view", HEFT_JOB_NUMBER, FIELD(limits.view)},
    {"limit-rank", HEFT_JOB_NUMBER, FIELD(limits.rank)},
    {"limit-name", HEFT_JOB_NUMBER, FIELD(limits.name)},
    {"limit-seconds", HEFT_JOB_NUMBER, FIELD(limits.seconds)},
    {"number-names", HEFT_JOB_FLAG, FIELD(open.number_names)},
    {"output", HEFT_JOB_TEXT, FIELD(convert.output)},
    {"to", HEFT_JOB_TEXT, FIELD(convert.to)},
    {"root", HEFT_JOB_TEXT, FIELD(convert.root)},
    {"sharded", HEFT_JOB_FLAG, FIELD(convert.sharded)},
    {"max-shard-size", HEFT_JOB_NUMBER, FIELD(convert.max_shard_size)},
    {"filename-pattern", HEFT_JOB_TEXT, FIELD(convert.filename_pattern)},
    {"allow-empty", HEFT_JOB_FLAG, FIELD(convert.allow_empty)},
    {"force", HEFT_JOB_FLAG, FIELD(convert.overwrite)},
    {"no-sync", HEFT_JOB_FLAG, FIELD(convert.no_sync)},
    {"no-verify", HEFT_JOB_FLAG, FIELD(convert.no_verify)},
    {"strict", HEFT_JOB_FLAG, FIELD(convert.strict)},
    {"dequantize", HEFT_JOB_TEXT, FIELD(convert.dequantize)},
    {"ignore-scales", HEFT_JOB_FLAG, FIELD(convert.ignore_scales)},
    {"gptq-zero", HEFT_JOB_TEXT, FIELD(convert.gptq_zero)},
    {NULL, HEFT_JOB_FLAG, 0},
};

const char *const heft_job_rules[] = {
    [HEFT_RULE_GLOB] = "glob",           [HEFT_RULE_REGEX] = "regex",
    [HEFT_RULE_RENAME] = "rename",       [HEFT_RULE_CAST] = "cast",
    [HEFT_RULE_METADATA] = "metadata",   [HEFT_RULE_PARTITION] = "partition",
    [HEFT_RULE_KEEP_TIED] = "keep-tied", [HEFT_RULE_DROP_METADATA] = "drop-metadata",
    [HEFT_RULE_FILE] = "rules",          [HEFT_RULE_SET] = "set",
    [HEFT_RULE_SET + 1] = NULL,
};

void heft_job_put_word(struct heft_buf *out, const char *text)
{
    heft_buf_char(out, ' ');
    for (const char *p = text; *p; p++)
        if (*p > ' ' && *p < 0x7f && *p != '%')
            heft_buf_char(out, *p);
        else
            heft_buf_printf(out, "%%%02x", (unsigned)(uint8_t)*p);
}

static void put_field(struct heft_buf *out, const struct heft_job_field *field,
                      const struct heft_job_request *request)
{
    const char *const at = (const char *)request + field->at;
    const char *text;
    uint64_t number;
    bool flag;

    switch (field->kind) {
    case HEFT_JOB_TEXT:
        memcpy(&text, at, sizeof text);
        if (!text)
            return;
        heft_buf_text(out, field->key);
        heft_job_put_word(out, text);
        break;
    case HEFT_JOB_NUMBER:
        memcpy(&number, at, sizeof number);
        if (!number)
            return;
        heft_buf_printf(out, "%s %" PRIu64, field->key, number);
        break;
    case HEFT_JOB_FLAG:
        memcpy(&flag, at, sizeof flag);
        if (!flag)
            return;
        heft_buf_text(out, field->key);
        break;
    }
    heft_buf_char(out, '\n');
}

static void put_option(struct heft_buf *out, const char *key, const struct heft_option *option)
{
    heft_buf_text(out, key);
    heft_job_put_word(out, option->name);
    if (option->value)
        heft_job_put_word(out, option->value);
    heft_buf_char(out, '\n');
}

static void put_rule(struct heft_buf *out, const struct heft_rule *rule)
{
    heft_buf_printf(out, "rule %s", heft_job_rules[rule->kind]);
    heft_job_put_word(out, rule->left);
    if (rule->right)
        heft_job_put_word(out, rule->right);
    heft_buf_char(out, '\n');
}

void heft_job_put_request(struct heft_buf *out, const struct heft_job_request *request)
{
    heft_buf_printf(out, "heft plan 1\nversion %s\n", heft_version());
    for (size_t i = 0; i < request->n_inputs; i++) {
        heft_buf_text(out, "input");
        heft_job_put_word(out, request->inputs[i]);
        heft_buf_char(out, '\n');
    }
    for (const struct heft_job_field *field = heft_job_fields; field->key; field++)
        put_field(out, field, request);
    for (size_t i = 0; i < request->open.n_options; i++)
        put_option(out, "read-option", &request->open.options[i]);
    for (size_t i = 0; i < request->convert.n_format_options; i++)
        put_option(out, "write-option", &request->convert.format_options[i]);
    for (size_t i = 0; i < request->convert.n_rules; i++)
        put_rule(out, &request->convert.rules[i]);
}
