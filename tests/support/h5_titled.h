/* h5_titled.h: reader of HDF5 in the state that follows the walk of a file, built from a text, as
 * the input of h5_titles.c.
 *
 *    layers/dense/vars=first      the title of a group
 *    layers/dense/vars/0          an entry of shape [1,1], packed
 *    layers/dense/vars/0#23       an entry of shape [2,3]
 *    layers/dense/vars/1@8        an entry at offset 8 of the data "01234567…" */
#ifndef H5_TITLED_H
#define H5_TITLED_H

#include "format/formats.h"
#include "format/hdf5/h5_parts.h"

struct h5_titled {
    struct heft_model model;
    struct heft_source bytes;
    struct heft_h5_reader r;
    struct heft_h5_config config;
};

static inline bool h5_titled_entry(struct h5_titled *t, struct heft_str path, uint64_t offset,
                                   struct heft_str digits, struct heft_error *err)
{
    struct heft_h5_reader *const r = &t->r;
    uint64_t *const shape = heft_arena_u64(&t->model.mem, digits.n + 1, err);

    if (!shape ||
        !heft_grow(&r->entries, &r->cap_entries, r->n_entries, 1, sizeof *r->entries, err))
        return false;
    for (size_t i = 0; i < digits.n; i++)
        shape[i] = (uint64_t)(digits.p[i] & 15);
    r->entries[r->n_entries++] = (struct heft_h5_entry){.path = path,
                                                        .bytes = 4,
                                                        .dtype = HEFT_F32,
                                                        .shape = shape,
                                                        .rank = (uint8_t)digits.n,
                                                        .offset = offset,
                                                        .address = r->n_entries};
    return true;
}

static inline bool h5_titled_line(struct h5_titled *t, struct heft_str line, struct heft_error *err)
{
    const char *const title = line.n ? memchr(line.p, '=', line.n) : NULL;
    const char *const at = line.n ? memchr(line.p, '@', line.n) : NULL;
    const char *const shape = line.n ? memchr(line.p, '#', line.n) : NULL;
    const char *const end = line.p + line.n;

    if (title)
        return heft_h5_add_title(&t->r, (struct heft_str){line.p, (size_t)(title - line.p)},
                                 (struct heft_str){title + 1, (size_t)(end - title - 1)}, err);
    if (shape && end - shape < 16)
        return h5_titled_entry(t, (struct heft_str){line.p, (size_t)(shape - line.p)},
                               HEFT_H5_NOWHERE,
                               (struct heft_str){shape + 1, (size_t)(end - shape - 1)}, err);
    if (!at || at + 1 == end || at[1] < '0' || at[1] > '9')
        return h5_titled_entry(t, line, HEFT_H5_NOWHERE, HEFT_STR("11"), err);
    return h5_titled_entry(t, (struct heft_str){line.p, (size_t)(at - line.p)},
                           (uint64_t)(at[1] - '0'), HEFT_STR("11"), err);
}

/* Names the entries. config: text of a config.json; n = 0 if absent. Release it, also after a
 * failure. */
static inline bool h5_titled_open(struct h5_titled *t, struct heft_bytes config,
                                  struct heft_str lines, struct heft_error *err)
{
    static const uint8_t data[] = "0123456789abcdef";

    *t = (struct h5_titled){.r = {.model = &t->model, .bytes = &t->bytes}};
    heft_model_init(&t->model, NULL, &heft_formats);
    heft_source_open_memory(&t->bytes, (struct heft_bytes){data, sizeof data - 1}, "data");
    if (!heft_model_add_file(&t->model, &t->bytes, "data", &t->r.source, err))
        return false;
    t->bytes = t->model.sources[t->r.source].source;
    if (config.n && !heft_h5_read_config(&t->config, config, &t->model.mem, err))
        return false;
    t->r.config = config.n ? &t->config : NULL;
    while (lines.n) {
        const char *const end = memchr(lines.p, '\n', lines.n);
        const size_t n = end ? (size_t)(end - lines.p) : lines.n;

        if (!h5_titled_line(t, (struct heft_str){lines.p, n}, err))
            return false;
        lines.p += n + (end != NULL);
        lines.n -= n + (end != NULL);
    }
    return heft_h5_title(&t->r, err);
}

static inline void h5_titled_release(struct h5_titled *t)
{
    heft_h5_release_config(&t->config);
    heft_free(t->r.entries);
    heft_free(t->r.titles);
    heft_strmap_release(&t->r.titled);
    heft_model_release(&t->model);
}

#endif
