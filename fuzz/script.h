/* script.h: input of the fuzz targets that convert: options in lines of text, an empty line, then
 * the contents of the files, one after another.
 *
 *     to safetensors                 name of the target format
 *     output model.safetensors       name of the output; "out"
 *     shard 100                      maximum size of a shard, in bytes
 *     pattern x{suffix}.safetensors
 *     root model
 *     glob *.weight                  rules: glob, regex, rename, cast, metadata, partition, tied,
 *                                   unmetadata
 *     rename ^a b                    the right side begins after the first space
 *     option drop-values             option of the target format; a value begins after a space
 *     read names objects             option of the source format
 *     slice 0:2,1:3
 *     dequantize BF16                dequantizes; without a value to the dtype of the model
 *     salvage                        flags: salvage, strict, empty, no-verify, ignore-scales
 *     file model.index.json 320      a file and its size; without such a line there is one, "in"
 *     open model.index.json          file to be opened; the directory of the files if none is given
 *
 * Unknown lines are skipped, the last file has the rest of the input, and a file with an unsafe
 * name ends the script. */
#ifndef SCRIPT_H
#define SCRIPT_H

#include <stdint.h>
#include <string.h>

#include "expect.h"
#include "heft/heft.h"

#define SCRIPT_TEXT 2048
#define SCRIPT_MOST 12 /* files, rules, options, ranges, and inputs to be opened */

struct script_file {
    const char *name;
    const uint8_t *data;
    size_t n;
};

struct script {
    char text[SCRIPT_TEXT];
    size_t text_n; /* bytes of the input before the files */
    struct heft_convert_options options;
    struct heft_rule rules[SCRIPT_MOST];
    struct heft_option target_options[SCRIPT_MOST], read_options[SCRIPT_MOST];
    struct heft_range ranges[SCRIPT_MOST];
    struct script_file files[SCRIPT_MOST];
    const char *opened[SCRIPT_MOST];
    size_t n_rules, n_target_options, n_read_options, n_ranges, n_files, n_opened;
};

/* Whether a name is a relative path of plain characters, at most two directories deep. */
static inline bool script_is_safe(const char *name)
{
    const size_t n = strlen(name);
    size_t slashes = 0;

    for (size_t i = 0; i < n; i++)
        slashes += name[i] == '/';
    return n > 0 && n < 100 && slashes < 3 && name[0] != '/' && name[n - 1] != '/' &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/") ==
               n &&
           !strstr(name, "..") && !strstr(name, "//") && !strstr(name, "./") && name[n - 1] != '.';
}

static inline uint64_t script_number(const char *text, const char **end)
{
    uint64_t v = 0;

    for (; *text >= '0' && *text <= '9'; text++)
        v = v > UINT64_MAX / 10 - 1 ? UINT64_MAX / 10 - 1 : 10 * v + (uint64_t)(*text - '0');
    *end = text;
    return v;
}

static inline void script_slice(struct script *s, const char *text)
{
    while (*text && s->n_ranges < SCRIPT_MOST) {
        struct heft_range *const range = &s->ranges[s->n_ranges++];

        range->start = script_number(text, &text);
        range->drop = *text != ':';
        range->stop = range->drop ? range->start + 1 : script_number(text + 1, &text);
        text += *text != '\0';
    }
}

static inline void script_add_option(struct heft_option *list, size_t *n, const char *name,
                                     const char *value)
{
    if (*n < SCRIPT_MOST)
        list[(*n)++] = (struct heft_option){name, value};
}

static inline bool script_add_rule(struct script *s, const char *word, const char *left,
                                   const char *right)
{
    static const char *const words[] = {"glob",     "regex",     "rename", "cast",
                                        "metadata", "partition", "tied",   "unmetadata"};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const bool is_pair = i >= HEFT_RULE_RENAME && i < HEFT_RULE_KEEP_TIED;

        if (strcmp(word, words[i]) != 0 || s->n_rules == SCRIPT_MOST || is_pair != !!right)
            continue;
        s->rules[s->n_rules++] =
            (struct heft_rule){sizeof(struct heft_rule), (enum heft_rule_kind)i, left, right};
        return true;
    }
    return false;
}

static inline bool script_set_text(struct script *s, const char *word, const char *value)
{
    struct heft_convert_options *const o = &s->options;

    if (strcmp(word, "to") == 0)
        o->to = value;
    else if (strcmp(word, "output") == 0 && script_is_safe(value) && !strchr(value, '/'))
        o->output = value;
    else if (strcmp(word, "pattern") == 0)
        o->filename_pattern = value;
    else if (strcmp(word, "root") == 0)
        o->root = value;
    else if (strcmp(word, "slice") == 0)
        script_slice(s, value);
    else if (strcmp(word, "dequantize") == 0)
        s->options.dequantize = value;
    else if (strcmp(word, "open") == 0 && script_is_safe(value) && s->n_opened < SCRIPT_MOST)
        s->opened[s->n_opened++] = value;
    else
        return false;
    return true;
}

static inline void script_set_flag(struct script *s, const char *word)
{
    struct heft_convert_options *const o = &s->options;

    o->salvage = o->salvage || strcmp(word, "salvage") == 0;
    o->strict = o->strict || strcmp(word, "strict") == 0;
    o->allow_empty = o->allow_empty || strcmp(word, "empty") == 0;
    o->no_verify = o->no_verify || strcmp(word, "no-verify") == 0;
    o->ignore_scales = o->ignore_scales || strcmp(word, "ignore-scales") == 0;
    if (strcmp(word, "dequantize") == 0)
        o->dequantize = "";
}

/* Adds a file; its size is in n until all lines are read. */
static inline bool script_add_file(struct script *s, const char *name, const char *size)
{
    if (!script_is_safe(name) || !size || s->n_files == SCRIPT_MOST)
        return false;
    for (size_t i = 0; i < s->n_files; i++)
        if (strcmp(s->files[i].name, name) == 0)
            return false;
    s->files[s->n_files++] = (struct script_file){name, NULL, (size_t)script_number(size, &size)};
    return true;
}

/* Returns false if the script ends with this line. */
static inline bool script_line(struct script *s, char *line)
{
    char *value = strchr(line, ' '), *right;
    const char *end;

    if (!value) {
        script_set_flag(s, line);
        return true;
    }
    *value++ = '\0';
    if (strcmp(line, "shard") == 0) {
        s->options.sharded = true;
        s->options.max_shard_size = script_number(value, &end);
        return true;
    }
    if (script_set_text(s, line, value))
        return true;
    right = strchr(value, ' ');
    if (right && strcmp(line, "glob") != 0 && strcmp(line, "regex") != 0)
        *right++ = '\0';
    else
        right = NULL;
    if (strcmp(line, "file") == 0)
        return script_add_file(s, value, right);
    if (strcmp(line, "option") == 0)
        script_add_option(s->target_options, &s->n_target_options, value, right);
    else if (strcmp(line, "read") == 0)
        script_add_option(s->read_options, &s->n_read_options, value, right);
    else
        (void)script_add_rule(s, line, value, right);
    return true;
}

static inline void script_take_files(struct script *s, const uint8_t *data, size_t size)
{
    size_t at = s->text_n;

    if (s->n_files == 0)
        s->files[s->n_files++] = (struct script_file){.name = "in"};
    for (size_t i = 0; i < s->n_files; i++) {
        struct script_file *const file = &s->files[i];

        if (file->n > size - at || i + 1 == s->n_files)
            file->n = size - at;
        file->data = data + at;
        at += file->n;
    }
}

static inline void script_finish(struct script *s)
{
    struct heft_convert_options *const o = &s->options;

    o->rules = s->rules;
    o->n_rules = s->n_rules;
    o->format_options = s->target_options;
    o->n_format_options = s->n_target_options;
    o->ranges = s->ranges;
    o->n_ranges = s->n_ranges;
    o->no_sync = true;
    o->threads = 1;
    if (!o->output)
        o->output = "out";
}

/* Returns false if the input has no script. The files are parts of the input. */
static inline bool script_parse(struct script *s, const uint8_t *data, size_t size)
{
    const size_t most = size < SCRIPT_TEXT ? size : SCRIPT_TEXT;
    bool ok = true;
    size_t at = 0;

    memset(s, 0, sizeof *s);
    while (ok && at < most) {
        const uint8_t *const end = memchr(data + at, '\n', most - at);
        const size_t n = end ? (size_t)(end - data) - at : 0;

        if (!end)
            return false;
        memcpy(s->text + at, data + at, n); /* the NUL after it is there already */
        s->text_n = at + n + 1;
        if (n == 0)
            break;
        ok = script_line(s, s->text + at);
        at += n + 1;
    }
    if (!ok || s->text_n == 0)
        return false;
    script_take_files(s, data, size);
    script_finish(s);
    return true;
}

#endif
