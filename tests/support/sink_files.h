/* sink_files.h: writes small files through a sink and compares them, for tests of sinks. Include it
 * after cmocka.h. */
#ifndef SINK_FILES_H
#define SINK_FILES_H

#include <stdlib.h>
#include <string.h>

#include "scratch.h"
#include "io/sink.h"

static inline bool add(struct heft_sink *sink, const char *folder, const char *name,
                       const char *bytes, struct heft_error *err)
{
    char *path = heft_scratch_path(folder, name);
    uint32_t index;
    const bool ok = heft_sink_add(sink, path, strlen(bytes), &index, err) &&
                    heft_sink_write(sink, index, 0, bytes, strlen(bytes), err);

    free(path);
    return ok;
}

static inline void assert_file(const char *folder, const char *name, const char *bytes)
{
    size_t n;
    char *found = heft_scratch_read(folder, name, &n);

    assert_non_null(found);
    assert_string_equal(found, bytes);
    assert_int_equal(n, strlen(bytes));
    free(found);
}

/* cmocka setup: the state of a test is its temporary directory. */
static inline int set_up(void **state)
{
    *state = heft_scratch_new();
    return 0;
}

static inline int tear_down(void **state)
{
    heft_scratch_free(*state);
    return 0;
}

#endif
