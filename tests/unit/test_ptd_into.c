/* test_ptd_into.c: planning new weights under the keys of a .ptd: with failed allocations,
 * and with segments that overlap. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "failures.h"
#include "scratch.h"
#include "base/endian.h"
#include "heft/heft.h"

#define GOLDEN HEFT_TESTS "/golden/ptd/"

struct files {
    const char *new, *old, *base;
};

static bool plan_into(const struct files *files, struct heft_error *err)
{
    const struct heft_option given[] = {{"into", files->old}, {"base", files->base}};
    const struct heft_convert_options how = {.size = sizeof how,
                                             .output = "/none/new.ptd",
                                             .format_options = given,
                                             .n_format_options = 2};
    struct heft_checkpoint *c = heft_open(files->new, NULL, err);
    struct heft_conversion *conversion = c ? heft_convert_plan(c, &how, err) : NULL;
    const bool ok = conversion != NULL;

    heft_convert_free(conversion);
    heft_close(c);
    return ok;
}

static bool attempt(void *ctx, struct heft_error *err)
{
    return plan_into(ctx, err);
}

static struct files lowered = {GOLDEN "lowered-new.npz", GOLDEN "lowered.ptd",
                               GOLDEN "lowered-old.npz"};

static void survives_each_failed_allocation(void **state)
{
    (void)state;
    fail_each_allocation(attempt, &lowered, 5000);
}

/* Lets each segment of the file begin where the first one does, and have `bytes`. Their tables are
 * those of lowered.ptd: vtable, u64 size, u64 offset; the first has no offset. */
static size_t overlap_segments(char *data, size_t n, uint64_t from, uint64_t bytes)
{
    size_t changed = 0;

    for (size_t at = 48; at + 24 <= n && at < 0x480; at += 4) {
        uint8_t *const p = (uint8_t *)data + at;
        const uint64_t offset = heft_le64(p), size = heft_le64(p + 8);

        if (offset >= 384 && offset < n && offset % 128 == 0 && size > 0 && size <= 96) {
            heft_put_le64(p, from);
            heft_put_le64(p + 8, bytes);
            changed++;
        }
    }
    return changed;
}

/* Segments that overlap cannot make it hash more than the file has. */
static void hashes_no_more_than_the_file(void **state)
{
    char *const folder = heft_scratch_new(), *const path = heft_scratch_path(folder, "over.ptd");
    struct files files = lowered;
    struct heft_error err = {0};
    size_t n;
    char *data;

    (void)state;
    data = heft_scratch_read(HEFT_TESTS "/golden/ptd", "lowered.ptd", &n);
    assert_non_null(data);
    assert_int_equal(overlap_segments(data, n, 0, 1100), 7);
    heft_scratch_write(folder, "over.ptd", data, n);
    files.old = path;
    files.base = GOLDEN "lowered-new.npz"; /* the keys are not its digests */
    assert_false(plan_into(&files, &err));
    assert_int_equal(err.code, HEFT_MALFORMED);
    assert_non_null(strstr(err.text, "segments overlap"));
    free(data);
    free(path);
    heft_scratch_free(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(survives_each_failed_allocation),
        cmocka_unit_test(hashes_no_more_than_the_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
