/* test_heft_host.c: the settings of the host are taken once, and the library keeps to them. Each
 * test sets them in a process of its own, in which the library is new. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <heft/heft.h>
#include <heft/host.h>
#include <heft/tokens.h>

#include "child.h"

#define GOLDEN HEFT_TESTS "/golden/"

static void in_child(int (*body)(void))
{
    const pid_t child = fork();

    if (child == 0)
        _exit(body());
    check_child(child);
}

/* ---- memory ------------------------------------------------------------------------------ */

/* An allocator that no free of the C library accepts: each block begins with a head. */
struct counter {
    atomic_long blocks, calls;
    long fail_at; /* number of the call that returns NULL; 0: none */
};
#define HEAD 64

static bool may(struct counter *counter)
{
    return atomic_fetch_add(&counter->calls, 1) + 1 != counter->fail_at;
}

static void *counted_alloc(void *ctx, size_t bytes)
{
    struct counter *const counter = ctx;
    char *const block = bytes && may(counter) ? malloc(HEAD + bytes) : NULL;

    if (!block)
        return NULL;
    atomic_fetch_add(&counter->blocks, 1);
    memset(block, 0xa5, HEAD + bytes); /* memory is not zeroed */
    return block + HEAD;
}

static void *counted_resize(void *ctx, void *block, size_t bytes)
{
    struct counter *const counter = ctx;
    char *grown;

    if (!block)
        return counted_alloc(ctx, bytes);
    grown = bytes && may(counter) ? realloc((char *)block - HEAD, HEAD + bytes) : NULL;
    return grown ? grown + HEAD : NULL;
}

static void counted_free(void *ctx, void *block)
{
    struct counter *const counter = ctx;

    atomic_fetch_sub(&counter->blocks, 1);
    free((char *)block - HEAD);
}

static struct heft_host with_counter(struct counter *counter)
{
    return (struct heft_host){.size = sizeof(struct heft_host),
                              .alloc = counted_alloc,
                              .resize = counted_resize,
                              .free = counted_free,
                              .ctx = counter};
}

static bool read_all(const char *path, struct heft_error *err)
{
    struct heft_checkpoint *const c = heft_open(path, NULL, err);
    bool ok = c != NULL;

    for (size_t i = 0; ok && i < heft_tensor_count(c); i++)
        ok = heft_tensor_check(c, i, err);
    heft_close(c);
    return ok;
}

static bool encode(struct heft_error *err)
{
    struct heft_vocab *const vocab = heft_vocab_open(GOLDEN "tokens/small", err);
    struct heft_encoder *const encoder = vocab ? heft_encoder_new(vocab, NULL, err) : NULL;
    uint32_t ids[8];
    size_t n = 0;
    const bool ok = encoder && heft_encode(encoder, "two words", 9, ids, 8, &n, err) && n > 0;

    heft_encoder_free(encoder);
    heft_vocab_close(vocab);
    return ok;
}

static int uses_the_allocator(void)
{
    struct counter counter = {0};
    const struct heft_host host = with_counter(&counter);
    struct heft_error err = {0};

    EXPECT(1, heft_host_set(&host, &err));
    EXPECT(2, read_all(GOLDEN "torch/nested.pt", &err));
    EXPECT(3, read_all(GOLDEN "torch/deflated.pt", &err));
    EXPECT(4, encode(&err));
    EXPECT(5, counter.calls > 20);
    EXPECT(6, counter.blocks == 0);
    return 0;
}

static int survives_lack_of_memory(void)
{
    struct counter counter = {0};
    const struct heft_host host = with_counter(&counter);
    bool done = false;

    for (counter.fail_at = 1; !done; counter.fail_at++) {
        struct heft_error err = {0};

        counter.calls = 0;
        if (counter.fail_at == 1)
            EXPECT(1, heft_host_set(&host, &err));
        done = read_all(GOLDEN "torch/nested.pt", &err);
        EXPECT(2, done || err.code == HEFT_NOMEM);
        EXPECT(3, counter.blocks == 0);
        EXPECT(4, counter.fail_at < 10000);
    }
    EXPECT(5, counter.fail_at > 10);
    return 0;
}

static void test_memory(void **unused)
{
    (void)unused;
    in_child(uses_the_allocator);
    in_child(survives_lack_of_memory);
}

/* ---- modules and processes --------------------------------------------------------------- */

static int looks_for_modules_there(void)
{
    char folder[] = "/nonexistent/modules";
    const struct heft_host host = {.modules = folder};
    struct heft_error err = {0};

    EXPECT(1, heft_host_set(&host, &err));
    folder[1] = 'X'; /* it was copied */
    EXPECT(2, !read_all(GOLDEN "h5/types.h5", &err));
    EXPECT(3, err.code == HEFT_UNSUPPORTED);
    EXPECT(4, strstr(err.text, "/nonexistent/modules/ (heft_host_set)") != NULL);
    return 0;
}

static int starts_no_process(void)
{
    const struct heft_host host = {.no_processes = true};
    struct heft_error err = {0};

    EXPECT(1, heft_host_set(&host, &err));
    EXPECT(2, read_all(GOLDEN "torch/nested.pt", &err));
    EXPECT(3, !read_all(GOLDEN "h5/types.h5", &err));
    EXPECT(4, err.code == HEFT_UNSUPPORTED);
    EXPECT(5, strstr(err.text, "no_processes") != NULL);
    return 0;
}

static void test_modules_and_processes(void **unused)
{
    (void)unused;
    in_child(looks_for_modules_there);
    in_child(starts_no_process);
}

/* ---- refusals ---------------------------------------------------------------------------- */

static bool refuses(const struct heft_host *host, const char *why)
{
    struct heft_error err = {0};

    return !heft_host_set(host, &err) && err.code == HEFT_USAGE && strstr(err.text, why);
}

static int refuses_bad_settings(void)
{
    static char endless[5000];
    struct heft_host host = {.alloc = counted_alloc, .free = counted_free};
    struct heft_error err = {0};

    EXPECT(1, refuses(NULL, "NULL"));
    EXPECT(2, refuses(&host, "2 of the 3"));
    host = (struct heft_host){.modules = "relative"};
    EXPECT(3, refuses(&host, "not an absolute path"));
    memset(endless, '/', sizeof endless - 1);
    host.modules = endless;
    EXPECT(4, refuses(&host, "not an absolute path"));
    host.modules = NULL;
    EXPECT(5, heft_host_set(&host, &err));
    EXPECT(6, refuses(&host, "already"));
    return 0;
}

static int refuses_late_settings(void)
{
    const struct heft_host host = {.no_processes = true};
    struct heft_error err = {0};

    EXPECT(1, read_all(GOLDEN "torch/nested.pt", &err));
    EXPECT(2, refuses(&host, "allocated memory already"));
    return 0;
}

static void test_refusals(void **unused)
{
    (void)unused;
    in_child(refuses_bad_settings);
    in_child(refuses_late_settings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_modules_and_processes),
        cmocka_unit_test(test_refusals),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
