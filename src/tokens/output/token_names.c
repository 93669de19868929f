/* token_names.c: names of the files of an output.
 *
 *     NAME.ext  NAME_train.ext  NAME_000000.ext  NAME_train_000000.ext     in a directory tokens.ext,
 *                                                                          train.ext, train_000000.ext
 *     NAME.idx, or NAME.ext.index, beside each                             the index of a format
 *     NAME.ext.metadata                                                    the description of ds
 *     LENGTHS, LENGTHS_train_000000 …                                      ends of documents
 *     NAME.ext.receipt                                                     a part's receipt */
#include "tokens/output/part_receipt.h"
#include "tokens/output/token_out_parts.h"

#include <stdio.h>

#define DIGITS 6 /* least number of digits of a shard */

bool heft_token_out_is_folder(const struct heft_token_out *out)
{
    const char *slash = strrchr(out->how.path, '/');

    return slash && !slash[1];
}

/* ---- paths of outputs ----------------------------------------------------------------------- */

/* Whether the path is below /dev, but not in the file system in memory at /dev/shm. */
static bool is_below_dev(const char *path)
{
    return strncmp(path, "/dev/", 5) == 0 && strncmp(path, "/dev/shm/", 9) != 0;
}

bool heft_token_check_device(const char *path, struct heft_error *err)
{
    const enum heft_path_kind kind = heft_path_kind(path);

    if (kind != HEFT_PATH_OTHER && !is_below_dev(path))
        return true;
    heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
              "not a regular file; output is written to a temporary file beside it and renamed");
    return heft_error_file(err, path);
}

const char *heft_token_megatron_path(struct heft_arena *mem, const char *path,
                                     struct heft_error *err)
{
    const char *extension = heft_token_extension_of(path);
    const bool is_own = strcmp(extension, ".idx") == 0 || strcmp(extension, ".megatron") == 0;
    const size_t n = strlen(path) - (is_own ? strlen(extension) : 0);

    return strcmp(extension, ".bin") == 0 ? path
                                          : heft_arena_printf(mem, err, "%.*s.bin", (int)n, path);
}

/* Bytes of the directory at the beginning of a stem, including its slash. */
static size_t folder_of(struct heft_str stem)
{
    size_t n = stem.n;

    while (n > 0 && stem.p[n - 1] != '/')
        n--;
    return n;
}

/* ---- series --------------------------------------------------------------------------------- */

/* Splits a path: "dir/name.ext" → "dir/name" and ".ext". */
static struct heft_token_series split_path(const char *path)
{
    const char *dot = heft_token_extension_of(path);

    return (struct heft_token_series){.stem = {path, (size_t)(dot - path)},
                                      .extension = heft_str_of(dot)};
}

/* Index of a format: the whole extension if it begins like that of the ids, as .ds and .ds.index,
 * else instead of it. */
static void add_index(struct heft_token_out *out, const char *extension, const char *end)
{
    struct heft_token_series *s = &out->series[out->n_series++];

    *s = out->series[0];
    if (extension)
        s->extension = heft_str_of(extension);
    s->end = end;
}

/* Ends of documents: of the path of the ids and more, such as X.bin.index, only the rest is added
 * to each name; any other path is split like that of the ids. */
static void add_lengths(struct heft_token_out *out)
{
    const char *path = out->how.lengths;
    const size_t n = strlen(out->how.path);

    if (!heft_token_out_is_folder(out) && strncmp(path, out->how.path, n) == 0) {
        add_index(out, NULL, path + n);
        return;
    }
    out->series[out->n_series] = split_path(path);
    out->series[out->n_series].end = "";
    out->series[out->n_series++].is_apart = true;
}

void heft_token_out_name(struct heft_token_out *out)
{
    const struct heft_token_format *format = out->how.format;

    out->series[0] = split_path(out->how.path);
    if (heft_token_out_is_folder(out))
        out->series[0].extension = heft_str_of(heft_token_extension(format));
    out->series[0].end = "";
    out->n_series = 1;
    out->tracks[0].suffix = out->how.val_fraction > 0       ? "train"
                            : heft_token_out_is_folder(out) ? "tokens"
                                                            : "";
    out->tracks[1].suffix = "val";
    if (format->index)
        add_index(out, format->index, "");
    if (format->is_described) {
        add_index(out, NULL, HEFT_DS_INDEX);
        add_index(out, NULL, HEFT_DS_METADATA);
    }
    if (out->how.lengths)
        add_lengths(out);
    if (out->how.has_receipt)
        add_index(out, NULL, HEFT_PART_RECEIPT);
}

/* ---- names ---------------------------------------------------------------------------------- */

/* Part of a name after the stem: "_train", "train" or "". */
struct suffix {
    const char *between, *text;
};

static struct suffix suffix_of(const struct heft_token_out *out,
                               const struct heft_token_track *track,
                               const struct heft_token_series *series)
{
    const bool has_none = series->is_apart && out->how.val_fraction == 0;
    const char *text = has_none ? "" : track->suffix;

    return (struct suffix){*text && series->stem.n > folder_of(series->stem) ? "_" : "", text};
}

const char *heft_token_out_file(struct heft_token_out *out, const struct heft_token_track *track,
                                unsigned index, struct heft_error *err)
{
    const struct heft_token_series *s = &out->series[index];
    const struct suffix suffix = suffix_of(out, track, s);
    char number[16] = "";

    if (out->how.shard_tokens > 0)
        (void)snprintf(number, sizeof number, "_%0*" PRIu32, DIGITS, track->files);
    return heft_arena_printf(&out->mem, err, "%.*s%s%s%s%.*s%s", (int)s->stem.n, s->stem.p,
                             suffix.between, suffix.text, number, (int)s->extension.n,
                             s->extension.p, s->end);
}

static bool take_front(struct heft_str *s, struct heft_str front)
{
    if (!heft_str_starts(*s, front))
        return false;
    s->p += front.n;
    s->n -= front.n;
    return true;
}

static bool take_end(struct heft_str *s, struct heft_str end)
{
    if (s->n < end.n || memcmp(s->p + s->n - end.n, end.p, end.n) != 0)
        return false;
    s->n -= end.n;
    return true;
}

/* Takes the name of the series' stem from the front of a name without directory, and its extension
 * from the end. */
static bool take_stem(const struct heft_token_series *s, struct heft_str *name)
{
    const size_t folder = folder_of(s->stem);
    const struct heft_str stem = {s->stem.p + folder, s->stem.n - folder};

    return take_front(name, stem) && take_end(name, heft_str_of(s->end)) &&
           take_end(name, s->extension);
}

/* Takes _000000 from the end; *number is at most about UINT32_MAX. */
static bool take_number(struct heft_str *name, uint64_t *number)
{
    size_t digits = 0;

    while (digits < name->n && name->p[name->n - 1 - digits] >= '0' &&
           name->p[name->n - 1 - digits] <= '9')
        digits++;
    if (digits < DIGITS || digits == name->n || name->p[name->n - 1 - digits] != '_')
        return false;
    *number = 0;
    for (size_t i = name->n - digits; i < name->n; i++)
        *number = *number < UINT32_MAX ? *number * 10 + (uint64_t)(name->p[i] - '0') : *number;
    name->n -= digits + 1;
    return true;
}

bool heft_token_out_number(const struct heft_token_out *out, const struct heft_token_track *track,
                           struct heft_str name, uint64_t *number)
{
    for (unsigned i = 0; i < out->n_series; i++) {
        const struct suffix suffix = suffix_of(out, track, &out->series[i]);
        struct heft_str rest = name;

        if (take_stem(&out->series[i], &rest) && take_number(&rest, number) &&
            take_front(&rest, heft_str_of(suffix.between)) && heft_str_is(rest, suffix.text))
            return true;
    }
    return false;
}

bool heft_token_out_is_ours(void *ctx, struct heft_str name)
{
    const struct heft_token_out *out = ctx;
    static const char *const suffixes[] = {"",    "_train", "_val",   "train",
                                           "val", "tokens", "_tokens"};
    uint64_t number;

    for (unsigned i = 0; i < out->n_series; i++) {
        struct heft_str rest = name;

        if (!take_stem(&out->series[i], &rest))
            continue;
        (void)take_number(&rest, &number);
        for (size_t k = 0; k < HEFT_COUNT(suffixes); k++)
            if (heft_str_is(rest, suffixes[k]))
                return true;
    }
    return false;
}
