/* rules_presets.c: the rules files that are compiled in, and rules files by name. */
#include "rules/rules_parts.h"

enum { NEAR = 3, MAX_NEAR = 3 }; /* edit distance of a similar name; similar names in an error */

size_t heft_preset_count(void)
{
    return heft_presets_count;
}

const struct heft_preset *heft_preset_at(size_t index)
{
    return index < heft_presets_count ? &heft_presets[index] : NULL;
}

const struct heft_preset *heft_preset_find(const char *name)
{
    for (size_t i = 0; i < heft_presets_count; i++)
        if (strcmp(heft_presets[i].name, name) == 0)
            return &heft_presets[i];
    return NULL;
}

bool heft_preset_is_name(const char *name)
{
    return !strchr(name, '/') && !heft_str_ends(heft_str_of(name), ".rules");
}

/* Appends the names at this distance from the unknown one. */
static size_t put_similar(struct heft_buf *out, const char *name, unsigned distance, size_t n)
{
    for (size_t i = 0; i < heft_presets_count && n < MAX_NEAR; i++) {
        const char *const other = heft_presets[i].name;
        const size_t length = strlen(name);
        const bool is_part = length >= 3 && strncmp(other, name, length) == 0;
        const unsigned far =
            is_part ? 1 : heft_edit_distance(name, length, other, strlen(other), NEAR);

        if (far == distance) {
            heft_buf_printf(out, "%s%s", n ? ", " : "", other);
            n++;
        }
    }
    return n;
}

bool heft_preset_refuse(const char *name, struct heft_error *err)
{
    struct heft_buf similar = {0};
    size_t n = 0;
    bool ok;

    for (unsigned distance = 1; distance <= NEAR; distance++)
        n = put_similar(&similar, name, distance, n);
    heft_buf_char(&similar, '\0');
    ok = heft_buf_ok(&similar, err);
    if (ok)
        heft_fail(
            err, HEFT_USAGE, HEFT_NO_OFFSET,
            "rules \"%.60s\": no preset has this name%s%s; a rules file is named with a '/' or "
            "ends in .rules",
            name, n ? "; similar: " : "", similar.p);
    heft_buf_release(&similar);
    return false;
}

/* Reads a rules file into the arena, one byte more than it may have at most. */
static bool read_text(const struct heft_files *files, const char *path, struct heft_arena *mem,
                      struct heft_str *out, struct heft_error *err)
{
    struct heft_source source;
    struct heft_bytes bytes = {0};
    bool ok;

    if (!heft_files_open(files, &source, path, err))
        return heft_error_file(err, path);
    ok = heft_source_fetch(&source, 0, heft_min_u64(source.size, (uint64_t)HEFT_RULES_BYTES + 1),
                           mem, &bytes, err);
    heft_source_close(&source);
    *out = (struct heft_str){(const char *)bytes.p, bytes.n};
    return ok || heft_error_file(err, path);
}

struct heft_rules *heft_rules_open(const struct heft_files *files, const char *name,
                                   struct heft_error *err)
{
    struct heft_arena scratch = {0};
    struct heft_rules *rules = NULL;
    struct heft_str text;

    if (heft_preset_is_name(name)) {
        const struct heft_preset *const preset = heft_preset_find(name);

        if (preset)
            return heft_rules_parse(preset->text, name, err);
        heft_preset_refuse(name, err);
        return NULL;
    }
    if (read_text(files, name, &scratch, &text, err))
        rules = heft_rules_parse(text, name, err);
    heft_arena_release(&scratch);
    return rules;
}
