/* test_processor.c: sets of instructions are those that the kernel lists in /proc/cpuinfo. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"
#include "base/processor.h"
#include "skip_because.h"

#if defined(__x86_64__) || defined(__i386__)
enum { IS_X86 = 1 };
#else
enum { IS_X86 = 0 }; /* under qemu-user /proc/cpuinfo may list the flags of the machine */
#endif

/* Reads the flags of the first processor: " fpu vme … ". False if there are none. */
static bool read_flags(char *line, size_t n)
{
    FILE *file = fopen("/proc/cpuinfo", "r");
    bool found = false;

    while (file && !found && fgets(line, (int)n - 1, file))
        found = strncmp(line, "flags", 5) == 0 && strchr(line, '\n');
    if (file)
        fclose(file);
    if (found)
        *strchr(line, '\n') = ' ';
    return found;
}

/* Whether the line contains each of the words, which have a space on both sides. */
static bool has_flags(const char *line, const char *const words[4])
{
    for (size_t i = 0; i < 4 && words[i]; i++)
        if (!strstr(line, words[i]))
            return false;
    return true;
}

static void sets_are_those_of_the_kernel(void **state)
{
    static const struct {
        unsigned set;
        const char *flags[4];
    } sets[] = {{HEFT_HAS_POPCNT, {" popcnt "}},
                {HEFT_HAS_AVX, {" avx "}},
                {HEFT_HAS_AVX2, {" avx2 "}},
                {HEFT_HAS_AVX512, {" avx512f ", " avx512bw ", " avx512dq ", " avx512vl "}},
                {HEFT_HAS_SHA, {" sha_ni ", " ssse3 ", " sse4_1 "}}};
    char line[16384];

    (void)state;
    if (!IS_X86)
        skip_because("only x86 names its instruction sets in /proc/cpuinfo by flags");
    if (!read_flags(line, sizeof line))
        skip_because("/proc/cpuinfo lists no flags");
    for (size_t i = 0; i < HEFT_COUNT(sets); i++) {
        const bool has = heft_processor_has(sets[i].set);

        assert_true(!has || has_flags(line, sets[i].flags));
        if (sizeof(void *) == 8) /* a program of 32 bits has no kernels */
            assert_int_equal(has, has_flags(line, sets[i].flags));
    }
}

static void several_sets_are_needed_together(void **state)
{
    unsigned all = 0;

    (void)state;
    assert_true(heft_processor_has(0));
    for (unsigned set = HEFT_HAS_POPCNT; set <= HEFT_HAS_SHA; set <<= 1)
        all |= heft_processor_has(set) ? set : 0;
    assert_true(heft_processor_has(all));
    for (unsigned set = HEFT_HAS_POPCNT; set <= HEFT_HAS_SHA; set <<= 1)
        assert_int_equal(heft_processor_has(all | set), (all & set) != 0);
    assert_false(heft_processor_has(1u << 30));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sets_are_those_of_the_kernel),
        cmocka_unit_test(several_sets_are_needed_together),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
