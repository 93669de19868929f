/* scan_index.c: files named by an index of safetensors or PyTorch shards.
 *
 *     {"metadata": {…}, "weight_map": {"layer.weight": "model-00001-of-00002.safetensors", …}} */
#include "base/map.h"
#include "scan/scan.h"
#include "wire/json.h"

#define WINDOW ((size_t)1 << 20)

struct shards {
    struct heft_json json;
    struct heft_arena names, mem; /* mem: owns strings of the JSON */
    struct heft_strmap seen;
    const char *directory;
    heft_scan_shard_fn *each;
    void *ctx;
};

static bool take_shard(struct shards *x, struct heft_error *err)
{
    struct heft_str name = x->json.text;
    uint32_t found;

    if (heft_strmap_get(&x->seen, name) != HEFT_MAP_NONE)
        return true;
    name.p = heft_arena_text(&x->names, name, err);
    return name.p && heft_strmap_add(&x->seen, name, 1, &found, err) &&
           x->each(x->ctx, x->directory, name, err);
}

/* *whole is false if the JSON is malformed or not a map of strings. */
static bool read_map(struct shards *x, bool *whole, struct heft_error *err)
{
    enum heft_json_token token = heft_json_next(&x->json);

    *whole = token == HEFT_JSON_OBJECT;
    while (*whole && (token = heft_json_next(&x->json)) == HEFT_JSON_KEY) {
        token = heft_json_next(&x->json);
        *whole = token == HEFT_JSON_STRING;
        if (*whole && !take_shard(x, err))
            return false;
    }
    return true;
}

static bool read_top(struct shards *x, struct heft_error *err)
{
    bool whole = heft_json_next(&x->json) == HEFT_JSON_OBJECT;

    while (whole && heft_json_next(&x->json) == HEFT_JSON_KEY) {
        if (!heft_str_is(x->json.text, "weight_map"))
            whole = heft_json_skip(&x->json);
        else if (!read_map(x, &whole, err))
            return false;
    }
    return true;
}

static bool is_object(const struct heft_source *src, bool *is_it, struct heft_error *err)
{
    uint8_t head[64];
    const size_t n = (size_t)heft_min_u64(src->size, sizeof head);
    size_t i = 0;

    if (!heft_source_read(src, 0, head, n, err))
        return false;
    while (i < n && memchr(" \t\r\n", head[i], 4))
        i++;
    *is_it = i < n && head[i] == '{';
    return true;
}

bool heft_scan_index(const struct heft_source *src, const char *path, heft_scan_shard_fn *shard,
                     void *ctx, struct heft_error *err)
{
    struct shards x = {.each = shard, .ctx = ctx};
    struct heft_error why = {0}; /* error in the JSON */
    bool is_it, ok;

    if (!is_object(src, &is_it, err))
        return false;
    if (!is_it)
        return true;
    x.directory = heft_arena_text(&x.names, (struct heft_str){path, heft_path_folder(path)}, err);
    ok = x.directory && heft_json_open(&x.json, src, 0, src->size, WINDOW, &x.mem, &why);
    ok = ok && read_top(&x, err);
    if (why.code == HEFT_NOMEM || why.code == HEFT_IO)
        *err = why;
    else
        ok = ok || why.code != HEFT_OK;
    heft_json_close(&x.json);
    heft_strmap_release(&x.seen);
    heft_arena_release(&x.names);
    heft_arena_release(&x.mem);
    return ok && why.code != HEFT_NOMEM && why.code != HEFT_IO;
}
