/* safetensors_shards.c: directories of torch's HuggingFaceStorageWriter, which no index describes.
 *
 *     shard-00001-model-00001-of-00002.safetensors     rank 0, its part of file 1
 *     shard-00001-model-00002-of-00002.safetensors     rank 0, its part of file 2
 *     shard-00002-model-00001-of-00002.safetensors     rank 1
 *     sharded/                                         the shards of a save that was consolidated
 *
 * A rank without data for a file has no shard of it. */
#include <stdlib.h>

#include "format/safetensors/safetensors_parts.h"

/* ---- names ------------------------------------------------------------------------------- */

/* Takes `word` and the digits behind it off the front of *s. */
static bool take_numbered(struct heft_str *s, const char *word, uint32_t *number)
{
    const size_t n = strlen(word);
    size_t at = n;

    if (!heft_str_starts(*s, heft_str_of(word)))
        return false;
    *number = 0;
    for (; at < s->n && at < n + 9 && s->p[at] >= '0' && s->p[at] <= '9'; at++)
        *number = *number * 10 + (uint32_t)(s->p[at] - '0'); /* no overflow: 9 digits */
    s->p += at;
    s->n -= at;
    return at > n;
}

bool heft_safetensors_shard_name(const char *name, struct heft_shard_name *out)
{
    struct heft_str s = heft_str_of(name);

    return take_numbered(&s, "shard-", &out->rank) && take_numbered(&s, "-model-", &out->file) &&
           take_numbered(&s, "-of-", &out->of) && heft_str_is(s, ".safetensors");
}

/* ---- sets of shards ---------------------------------------------------------------------- */

static int by_file_and_rank(const void *a, const void *b)
{
    struct heft_shard_name x = {0}, y = {0};

    (void)heft_safetensors_shard_name(*(const char *const *)a, &x);
    (void)heft_safetensors_shard_name(*(const char *const *)b, &y);
    if (x.file != y.file)
        return x.file < y.file ? -1 : 1;
    return (x.rank > y.rank) - (x.rank < y.rank);
}

/* Refuses shards whose names count different numbers of files. */
static bool check_counts(const char *const *names, size_t n, struct heft_error *err)
{
    struct heft_shard_name first = {0}, other = {0};

    (void)heft_safetensors_shard_name(names[0], &first);
    for (size_t i = 1; i < n; i++) {
        (void)heft_safetensors_shard_name(names[i], &other);
        if (other.of != first.of)
            return heft_fail(err, HEFT_MALFORMED, HEFT_NO_OFFSET,
                             "%.150s and %.150s are shards of different saves: the numbers of "
                             "files in their names differ; remove the stale ones",
                             names[0], names[i]);
    }
    return true;
}

static bool find_set(const struct heft_folder *folder, struct heft_arena *mem,
                     struct heft_file_set *out, struct heft_error *err)
{
    const char **names = heft_arena_zero(mem, folder->n + 1, sizeof *names, err);
    struct heft_shard_name shard;
    size_t n = 0;

    if (!names)
        return false;
    for (size_t i = 0; i < folder->n; i++)
        if (heft_safetensors_shard_name(folder->names[i], &shard))
            names[n++] = folder->names[i];
    if (n == 0)
        return true;
    qsort(names, n, sizeof *names, by_file_and_rank);
    *out = (struct heft_file_set){.names = names, .n = n};
    return check_counts(names, n, err);
}

static const char *find_beside(const struct heft_folder *folder, struct heft_arena *mem,
                               struct heft_error *err)
{
    struct heft_folder below = {.files = folder->files};
    struct heft_error ignored = {0};
    struct heft_shard_name shard;
    const char *path;

    if (!heft_folder_has(folder, "sharded") ||
        !(path = heft_folder_join(folder, "sharded", mem, err)) ||
        heft_files_kind(folder->files, path) != HEFT_PATH_DIR ||
        !heft_folder_list(&below, path, mem, &ignored))
        return NULL;
    for (size_t i = 0; i < below.n; i++)
        if (heft_safetensors_shard_name(below.names[i], &shard))
            return "sharded/, the shards that the model was consolidated from, is not opened";
    return NULL;
}

const struct heft_locator heft_safetensors_locator = {.find_set = find_set,
                                                      .find_beside = find_beside};

/* ---- pickled values before the header ---------------------------------------------------- */

/* Whether archives of torch.save lie before a header, as far as the first bytes of the file show it. The
 * writer puts values that are no tensors there. */
bool heft_safetensors_follows_pickle(struct heft_bytes head, uint64_t size)
{
    if (head.n < 4 || memcmp(head.p, "PK\3\4", 4) != 0)
        return false;
    for (size_t at = 4; at + 22 + PREFIX < head.n; at++) {
        const size_t header = at + 22; /* an end record without a comment */
        uint64_t n;

        if (memcmp(head.p + at, "PK\5\6", 4) != 0 || head.p[header + PREFIX] != '{')
            continue;
        n = heft_le64(head.p + header);
        if (n >= 2 && n <= MAX_HEADER && heft_within(header + PREFIX, n, size))
            return true;
    }
    return false;
}

bool heft_safetensors_check_start(const struct heft_model *model, uint32_t source,
                                  struct heft_error *err)
{
    const struct heft_source *file = &model->sources[source].source;
    uint8_t head[4096];
    const size_t n = (size_t)heft_min_u64(file->size, sizeof head);

    if (n < 4)
        return true;
    if (!heft_source_read(file, 0, head, 4, err))
        return false;
    if (memcmp(head, "PK\3\4", 4) != 0)
        return true;
    if (!heft_source_read(file, 0, head, n, err))
        return false;
    if (!heft_safetensors_follows_pickle((struct heft_bytes){head, n}, file->size))
        return true;
    return heft_fail(err, HEFT_UNSUPPORTED, 0,
                     "a pickled value precedes the header: torch's HuggingFaceStorageWriter wrote "
                     "it for a value that is no tensor, and no reader opens such a file; save "
                     "without it");
}
