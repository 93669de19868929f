/* fixture.h: bytes in memory, opened as a file of one format and validated.
 *
 * A test makes `zip` (or keeps its bytes elsewhere), calls open_bytes, and ends with close_fixture.
 */
#ifndef FIXTURE_H
#define FIXTURE_H

#include <string.h>

#include "core/registry.h"
#include "format/formats.h"

struct fixture {
    struct heft_buf zip; /* the file, if the test builds it; released by close_fixture */
    struct heft_model model;
    struct heft_error err;
    bool opened;
};

static inline struct heft_bytes zip_bytes(const struct fixture *f)
{
    return (struct heft_bytes){(const uint8_t *)f->zip.p, f->zip.n};
}

/* Opens and validates the bytes; returns f->opened. */
static inline bool open_bytes(struct fixture *f, const struct heft_format *format,
                              struct heft_bytes bytes, const struct heft_limits *limits)
{
    struct heft_source source;
    uint32_t index;

    heft_model_init(&f->model, limits, &heft_formats);
    heft_source_open_memory(&source, bytes, "file");
    f->opened = heft_model_add_file(&f->model, &source, "file", &index, &f->err) &&
                format->open(&f->model, index, &f->err) && heft_model_validate(&f->model, &f->err);
    return f->opened;
}

static inline void close_fixture(struct fixture *f)
{
    heft_model_release(&f->model);
    heft_buf_release(&f->zip);
}

/* Child of a value by its key; NULL if absent. */
static inline const struct heft_value *child(const struct heft_value *parent, const char *key)
{
    for (const struct heft_value *v = parent ? parent->first_child : NULL; v; v = v->next_sibling)
        if (strcmp(v->key, key) == 0)
            return v;
    return NULL;
}

#endif
