/* open_format.h: opens bytes as a file of one format, for fuzz targets: rows, values, map of the
 * file, reading, verifying.
 *
 * Invariants: the map has no overlaps, every row can be read or fails with an error, and the trees
 * of values are finite. */
#ifndef OPEN_FORMAT_H
#define OPEN_FORMAT_H

#include "core/reader.h"
#include "core/registry.h"
#include "core/tree.h"
#include "expect.h"
#include "format/formats.h"

/* maximum bytes of a row that are read: expanded strides may give terabytes */
#define MOST_READ 65536

static inline void expect_map(const struct heft_model *model)
{
    struct heft_arena mem = {0};
    struct heft_error err = {0};
    const struct heft_segment *segments;
    size_t count;

    expect(heft_model_map(model, &mem, &segments, &count, &err));
    heft_arena_release(&mem);
}

/* Parts of an untrusted file may overlap, which is an error of the map. */
static inline void expect_map_or_overlap(const struct heft_model *model)
{
    struct heft_arena mem = {0};
    struct heft_error err = {0};
    const struct heft_segment *segments;
    size_t count;

    expect(heft_model_map(model, &mem, &segments, &count, &err) || err.code == HEFT_MALFORMED);
    heft_arena_release(&mem);
}

/* The tree of values is finite: the walk takes one step per value, and the number of values is
 * limited. */
static inline void expect_values(const struct heft_model *model)
{
    const struct heft_value *stack[20000];
    size_t n = 0, seen = 0;

    if (model->values)
        stack[n++] = model->values;
    if (model->file_info)
        stack[n++] = &model->file_info->value;
    while (n) {
        const struct heft_value *v = stack[--n];

        expect(v->key && ++seen < 20000);
        if (v->next_sibling)
            stack[n++] = v->next_sibling;
        if (v->first_child)
            stack[n++] = v->first_child;
    }
}

static inline void read_rows(const struct heft_model *model)
{
    static uint8_t out[MOST_READ];
    struct heft_error err = {0};
    struct heft_reader reader = {0};

    expect(heft_reader_init(&reader, model, false, &err));
    for (size_t i = 0; i < model->n_rows && i < 64; i++) {
        const struct heft_row *row = &model->rows[i];

        if (row->bytes && row->bytes <= sizeof out &&
            !heft_reader_row(&reader, row, 0, out, (size_t)row->bytes, &err))
            expect(err.code != HEFT_OK);
    }
    heft_reader_release(&reader);
}

static inline void expect_text(void *ctx, enum heft_severity severity, uint32_t source,
                               uint64_t offset, const char *text)
{
    (void)ctx, (void)severity, (void)source, (void)offset;
    expect(text && text[0]);
}

static inline void verify_all(const struct heft_format *format, const struct heft_model *model)
{
    const struct heft_reporter listener = {expect_text, NULL};
    struct heft_error err = {0};

    for (uint32_t i = 0; format->verify && i < model->n_sources; i++)
        if (model->sources[i].format == format)
            expect(format->verify(model, i, &listener, &err) || err.text[0]);
}

static inline const struct heft_limits *open_limits(void)
{
    static const struct heft_limits limits = {.size = sizeof limits,
                                              .pickle = 1 << 20,
                                              .opcodes = 100000,
                                              .nodes = 100000,
                                              .entries = 1000,
                                              .expansion = 10000};

    return &limits;
}

/* Opens bytes as a file of a format (NULL: detected) and validates the model. The model is
 * initialised; returns false with an error in *err, which is empty before. */
static inline bool open_bytes(struct heft_model *model, const char *format, struct heft_bytes file,
                              struct heft_error *err)
{
    struct heft_source source;
    uint32_t index;
    bool ok;

    heft_source_open_memory(&source, file, "input");
    ok = heft_model_add_file(model, &source, "input", &index, err) &&
         heft_registry_open_source(model, index, format, err) && heft_model_validate(model, err);
    expect_outcome(ok, err);
    return ok;
}

static inline void open_format_with(const struct heft_format *format, struct heft_bytes file,
                                    void (*check_map)(const struct heft_model *model))
{
    struct heft_error err = {0};
    struct heft_model model;

    heft_model_init(&model, open_limits(), &heft_formats);
    if (open_bytes(&model, format->name, file, &err)) {
        check_map(&model);
        expect_values(&model);
        read_rows(&model);
        verify_all(format, &model);
    }
    heft_model_release(&model);
}

static inline void open_format(const struct heft_format *format, struct heft_bytes file)
{
    open_format_with(format, file, expect_map);
}

#endif
