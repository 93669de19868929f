/* test_hdf5_parent.c: effects of the libhdf5 child process on the program that uses heft:
 * descriptors, locks, sockets, signals, children. */
#define _GNU_SOURCE /* pipe2 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "heft/heft.h"
#include "skip_because.h"

#define GOLDEN HEFT_TESTS "/golden/h5/"
/* file with chunks, which the child process reads while the file is open */
#define PACKED GOLDEN "packed.h5"

static struct heft_checkpoint *open_packed(void)
{
    struct heft_error err = {0};
    struct heft_checkpoint *c = heft_open(PACKED, NULL, &err);

    if (!c)
        print_error("%s\n", err.text);
    assert_non_null(c);
    return c;
}

/* Reads a dataset with chunks; returns the error's code or HEFT_OK. */
static enum heft_code read_chunks(struct heft_checkpoint *c)
{
    struct heft_error err = {0};
    uint8_t bytes[120];
    size_t index;

    assert_true(heft_tensor_find(c, "gzip", 4, &index));
    return heft_tensor_read(c, index, bytes, sizeof bytes, &err) ? HEFT_OK : err.code;
}

/* Process id of the only child of this thread; 0 if there is none. */
static pid_t only_child(void)
{
    char path[64], line[64] = "";
    FILE *file;

    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    file = fopen(path, "r");
    if (!file)
        skip_because("no list of child processes in /proc");
    if (!fgets(line, sizeof line, file))
        line[0] = '\0';
    fclose(file);
    return (pid_t)strtol(line, NULL, 10);
}

/* ---- descriptors ------------------------------------------------------------------------- */

static void a_pipe_reaches_its_end(void **state)
{
    int ends[2];
    struct pollfd poll_of = {.events = POLLIN};
    struct heft_checkpoint *c;

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    c = open_packed();
    close(ends[1]);
    poll_of.fd = ends[0];
    assert_int_equal(poll(&poll_of, 1, 2000), 1);
    assert_true(poll_of.revents & POLLHUP);
    close(ends[0]);
    assert_int_equal(read_chunks(c), HEFT_OK);
    heft_close(c);
}

static void many_pipes_reach_their_end(void **state)
{
    int ends[40][2];
    struct heft_checkpoint *before = open_packed(), *c;
    char byte;

    (void)state;
    for (size_t i = 0; i < 40; i++)
        assert_int_equal(pipe2(ends[i], i % 2 ? O_CLOEXEC : 0), 0);
    c = open_packed();
    for (size_t i = 0; i < 40; i++) {
        struct pollfd poll_of = {.fd = ends[i][0], .events = POLLIN};

        close(ends[i][1]);
        assert_int_equal(poll(&poll_of, 1, 2000), 1);
        assert_int_equal(read(ends[i][0], &byte, 1), 0);
        close(ends[i][0]);
    }
    heft_close(before); /* its child ends even though a later child was started before */
    assert_int_equal(read_chunks(c), HEFT_OK);
    heft_close(c);
}

static void a_lock_is_released(void **state)
{
    char path[] = "/tmp/test-host-XXXXXX";
    const int fd = mkstemp(path);
    struct heft_checkpoint *c;
    int again;

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    c = open_packed();
    close(fd);
    again = open(path, O_RDONLY);
    unlink(path);
    for (int i = 0; i < 200 && flock(again, LOCK_EX | LOCK_NB) != 0; i++)
        usleep(10000);
    assert_int_equal(flock(again, LOCK_EX | LOCK_NB), 0);
    close(again);
    heft_close(c);
}

static void a_listening_socket_is_closed(void **state)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof at;
    const int door = socket(AF_INET, SOCK_STREAM, 0);
    struct heft_checkpoint *c;
    int caller, result = 0;

    (void)state;
    if (bind(door, (struct sockaddr *)&at, sizeof at) != 0)
        skip_because("no network, not even within this machine");
    assert_int_equal(listen(door, 1), 0);
    assert_int_equal(getsockname(door, (struct sockaddr *)&at, &n), 0);
    c = open_packed();
    close(door);
    for (int i = 0; i < 200 && result == 0; i++) {
        caller = socket(AF_INET, SOCK_STREAM, 0);
        result = connect(caller, (struct sockaddr *)&at, sizeof at);
        close(caller);
        usleep(10000);
    }
    assert_int_equal(result, -1);
    heft_close(c);
}

/* Without standard descriptors, the file's descriptor may be one that a library writes its messages
 * to. */
static void without_standard_descriptors(void **state)
{
    const pid_t child = fork();
    int status = 0;

    (void)state;
    if (child == 0) {
        struct heft_error err = {0};
        struct heft_checkpoint *c;
        bool ok = true;

        for (int most = 0; ok && most < 3; most++) {
            for (int fd = 0; fd <= most; fd++)
                close(fd);
            c = heft_open(PACKED, NULL, &err);
            ok = c && read_chunks(c) == HEFT_OK;
            heft_close(c);
        }
        _exit(ok ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void with_few_descriptors(void **state)
{
    struct rlimit before, few;
    struct heft_checkpoint *c;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = before;
    few.rlim_cur = 64;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    c = open_packed();
    assert_int_equal(read_chunks(c), HEFT_OK);
    heft_close(c);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

/* qemu-user accepts a limit of the address space, but sets none. */
static bool can_limit_memory(void)
{
    const rlim_t most = (rlim_t)1 << 30;
    struct rlimit before, limit;
    bool can;

    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    limit = before;
    limit.rlim_cur = most;
    can = setrlimit(RLIMIT_AS, &limit) == 0 && getrlimit(RLIMIT_AS, &limit) == 0 &&
          limit.rlim_cur == most;
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    return can;
}

/* The address space of the process is limited, also where no descriptor is left to find out how much
 * of it is in use. */
static void memory_is_limited_without_a_descriptor(void **state)
{
    struct rlimit before, few;
    int opened = 0;

    (void)state;
    (void)only_child(); /* skips where /proc has no list of children */
    if (!can_limit_memory())
        skip_because("this kernel, or qemu-user, does not limit the address space");
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = before;
    for (few.rlim_cur = 4; few.rlim_cur < 32; few.rlim_cur++) {
        struct heft_error err = {0};
        struct heft_checkpoint *c;
        struct rlimit memory = {RLIM_INFINITY, RLIM_INFINITY};
        enum heft_code code;

        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        c = heft_open(PACKED, NULL, &err);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        if (!c)
            continue;
        opened++;
        (void)prlimit(only_child(), RLIMIT_AS, NULL, &memory);
        code = read_chunks(c);
        heft_close(c);
        assert_int_equal(code, HEFT_OK);
        assert_true(memory.rlim_cur != RLIM_INFINITY && memory.rlim_max == memory.rlim_cur);
    }
    assert_true(opened > 0);
}

/* ---- children ----------------------------------------------------------------------------- */

static void exit_statuses_of_other_children_are_kept(void **state)
{
    struct heft_checkpoint *c;
    int status = 0;
    pid_t child;

    (void)state;
    child = fork();
    if (child == 0)
        _exit(7);
    usleep(50000);
    c = open_packed();
    heft_close(c);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WEXITSTATUS(status), 7);
    assert_int_equal(waitpid(-1, &status, WNOHANG), -1); /* heft leaves no child process */
    assert_int_equal(errno, ECHILD);
}

static void children_are_ignored(void **state)
{
    struct heft_checkpoint *c;

    (void)state;
    signal(SIGCHLD, SIG_IGN);
    c = open_packed();
    assert_int_equal(read_chunks(c), HEFT_OK);
    kill(only_child(), SIGKILL);
    assert_int_equal(read_chunks(c), HEFT_MALFORMED);
    heft_close(c);
    c = open_packed();
    heft_close(c);
    signal(SIGCHLD, SIG_DFL);
}

static void the_program_may_reap_every_child(void **state)
{
    struct heft_checkpoint *c = open_packed();
    const pid_t child = only_child();
    int status;

    (void)state;
    assert_true(child > 0);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(-1, &status, 0), child);
    assert_int_equal(read_chunks(c), HEFT_MALFORMED);
    assert_int_equal(read_chunks(c), HEFT_MALFORMED);
    heft_close(c);
    c = open_packed();
    kill(only_child(), SIGKILL);
    assert_int_equal(waitpid(-1, &status, 0) > 0, 1);
    heft_close(c); /* must not send a signal: the process id may have been reused */
}

static void a_process_that_was_killed_is_no_fault_of_the_file(void **state)
{
    struct heft_checkpoint *c = open_packed();
    const pid_t child = only_child();

    (void)state;
    assert_true(child > 0);
    kill(child, SIGKILL);
    assert_int_equal(read_chunks(c), HEFT_IO);
    assert_int_equal(read_chunks(c), HEFT_IO);
    heft_close(c);
}

static void a_process_that_crashes_is_a_fault_of_the_file(void **state)
{
    struct heft_checkpoint *c = open_packed();

    (void)state;
    kill(only_child(), SIGABRT);
    assert_int_equal(read_chunks(c), HEFT_MALFORMED);
    assert_int_equal(read_chunks(c), HEFT_MALFORMED);
    heft_close(c);
}

/* ---- signals ------------------------------------------------------------------------------ */

static int handled[2];

static void on_signal(int number)
{
    (void)number;
    (void)!write(handled[1], "x", 1);
}

/* The child ignores signals that are sent to all processes of the program, so that the program
 * handles each once. */
static void signals_are_handled_by_the_program(void **state)
{
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGALRM, SIGWINCH};
    struct heft_checkpoint *c;
    char byte;

    (void)state;
    assert_int_equal(pipe2(handled, O_CLOEXEC | O_NONBLOCK), 0);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        signal(numbers[i], on_signal);
    c = open_packed();
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        kill(only_child(), numbers[i]);
    assert_int_equal(read_chunks(c), HEFT_OK);
    assert_int_equal(read(handled[0], &byte, 1), -1);
    heft_close(c);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        signal(numbers[i], SIG_DFL);
}

/* With all signals blocked, the time limit of a file still applies, and the mask is restored. */
static void signal_masks_of_the_program_are_restored(void **state)
{
    sigset_t all, before, after;
    struct heft_checkpoint *c;

    (void)state;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    c = open_packed();
    sigprocmask(SIG_SETMASK, NULL, &after);
    assert_true(sigismember(&after, SIGTERM) && sigismember(&after, SIGPROF));
    assert_int_equal(read_chunks(c), HEFT_OK);
    heft_close(c);
    sigprocmask(SIG_SETMASK, &before, NULL);
}

/* ---- time ---------------------------------------------------------------------------------- */

static void time_can_be_asked_for(void **state)
{
    static const uint64_t seconds[] = {4, 8, 100000, UINT64_MAX};

    (void)state;
    for (size_t i = 0; i < sizeof seconds / sizeof *seconds; i++) {
        const struct heft_limits limits = {.size = sizeof limits, .seconds = seconds[i]};
        const struct heft_open_options options = {.size = sizeof options, .limits = &limits};
        struct heft_error err = {0};
        struct heft_checkpoint *c = heft_open(PACKED, &options, &err);

        assert_non_null(c);
        assert_int_equal(read_chunks(c), HEFT_OK);
        heft_close(c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pipe_reaches_its_end),
        cmocka_unit_test(many_pipes_reach_their_end),
        cmocka_unit_test(a_lock_is_released),
        cmocka_unit_test(a_listening_socket_is_closed),
        cmocka_unit_test(without_standard_descriptors),
        cmocka_unit_test(with_few_descriptors),
        cmocka_unit_test(memory_is_limited_without_a_descriptor),
        cmocka_unit_test(exit_statuses_of_other_children_are_kept),
        cmocka_unit_test(children_are_ignored),
        cmocka_unit_test(the_program_may_reap_every_child),
        cmocka_unit_test(a_process_that_was_killed_is_no_fault_of_the_file),
        cmocka_unit_test(a_process_that_crashes_is_a_fault_of_the_file),
        cmocka_unit_test(signals_are_handled_by_the_program),
        cmocka_unit_test(signal_masks_of_the_program_are_restored),
        cmocka_unit_test(time_can_be_asked_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
