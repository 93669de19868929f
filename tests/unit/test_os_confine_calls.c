/* test_os_confine_calls.c: which system calls are left. Each test confines a process of its own. */
#define _GNU_SOURCE /* for syscall */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "child.h"
#include "io/confinement.h"
#include "skip_because.h"

#define NO_FILTER                                                                                  \
    "no filter of system calls: this kernel, qemu-user, this processor, or a build with "          \
    "sanitizers has none"

/* Runs `body` in a child, which returns the number of its first failed expectation, or 0. */
static void in_child(int (*body)(void))
{
    pid_t child;

    if (!heft_calls_available())
        skip_because(NO_FILTER);
    child = fork();
    if (child == 0)
        _exit(body());
    check_child(child);
}

static bool refused(long result)
{
    return result == -1 && errno == ENOSYS;
}

static void *nothing(void *arg)
{
    return arg;
}

static int reading(void)
{
    struct rlimit now;
    pthread_t thread;
    int ends[2];

    EXPECT(1, heft_calls_confine(HEFT_CALLS_READING));
    EXPECT(2, refused(fork()));
    EXPECT(3, refused(execl("/bin/true", "true", (char *)NULL)));
    EXPECT(4, refused(socket(AF_INET, SOCK_STREAM, 0)));
    EXPECT(5, refused(socketpair(AF_UNIX, SOCK_STREAM, 0, ends)));
    EXPECT(6, refused(kill(getppid(), SIGTERM)));
    EXPECT(7, kill(getppid(), 0) == 0);
    EXPECT(8, refused(syscall(SYS_ptrace, 16L, (long)getppid(), 0L, 0L)));
    EXPECT(9, refused(fcntl(0, F_SETOWN, getppid())));
    EXPECT(10, refused(syscall(SYS_prlimit64, (long)getppid(), RLIMIT_CORE, NULL, &now)));
    EXPECT(11, syscall(SYS_prlimit64, 0L, RLIMIT_CORE, NULL, &now) == 0);
    EXPECT(12, pthread_create(&thread, NULL, nothing, NULL) == 0);
    EXPECT(13, pthread_join(thread, NULL) == 0);
    EXPECT(14, open("/dev/null", O_RDONLY) >= 0);
    EXPECT(15, refused(fcntl(0, F_NOTIFY, DN_MODIFY)));
    EXPECT(16, fcntl(0, F_DUPFD_CLOEXEC, 3) >= 3);
    EXPECT(17, refused(fchmod(STDERR_FILENO, 0600)));
    EXPECT(18, refused(syscall(SYS_sched_setaffinity, (long)getppid(), sizeof ends, ends)));
    return 0;
}

/* The kernel refuses these arguments with other errors if the filter lets them pass. */
static int arguments(void)
{
    const struct sockaddr_in to = {.sin_family = AF_INET};

    EXPECT(1,
           sendto(-1, "x", 1, 0, (const struct sockaddr *)&to, sizeof to) == -1 && errno == EBADF);
    EXPECT(2, syscall(SYS_clone, CLONE_THREAD | CLONE_NEWNET, 0L, 0L, 0L, 0L) == -1 &&
                  errno == EINVAL);
    EXPECT(3, heft_calls_confine(HEFT_CALLS_OPENING));
    EXPECT(4, refused(sendto(-1, "x", 1, 0, (const struct sockaddr *)&to, sizeof to)));
    EXPECT(5, send(-1, "x", 1, 0) == -1 && errno == EBADF);
    EXPECT(6, refused(syscall(SYS_clone, CLONE_THREAD | CLONE_NEWNET, 0L, 0L, 0L, 0L)));
    EXPECT(7, heft_calls_confine(HEFT_CALLS_READING));
    EXPECT(8, refused(syscall(SYS_clone, CLONE_THREAD | CLONE_NEWNET, 0L, 0L, 0L, 0L)));
    return 0;
}

/* fork and a socket pair are left; the smaller set may follow. */
static int opening(void)
{
    int ends[2];
    pid_t child;

    EXPECT(1, heft_calls_confine(HEFT_CALLS_OPENING));
    EXPECT(2, refused(execl("/bin/true", "true", (char *)NULL)));
    EXPECT(3, socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    EXPECT(4, refused(socketpair(AF_INET, SOCK_STREAM, 0, ends)));
    child = fork();
    if (child == 0)
        _exit(refused(socket(AF_INET, SOCK_STREAM, 0)) ? 0 : 1);
    EXPECT(5, child > 0);
    EXPECT(6, waitpid(child, ends, 0) == child && ends[0] == 0);
    EXPECT(7, heft_calls_confine(HEFT_CALLS_READING));
    EXPECT(8, refused(fork()));
    return 0;
}

static int worker(void)
{
    char byte = 0;
    int ends[2];
    void *memory;

    EXPECT(1, socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    EXPECT(2, heft_calls_confine(HEFT_CALLS_WORKER));
    EXPECT(3, refused(open("/dev/null", O_RDONLY)));
    EXPECT(4, refused(fork()));
    EXPECT(5, refused(unlink("/nothing")));
    EXPECT(6, refused(socket(AF_UNIX, SOCK_STREAM, 0)));
    EXPECT(7, send(ends[0], "x", 1, MSG_NOSIGNAL) == 1);
    EXPECT(8, recv(ends[1], &byte, 1, 0) == 1 && byte == 'x');
    memory = malloc((size_t)1 << 22);
    EXPECT(9, memory != NULL);
    free(memory);
    memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT(10, memory != MAP_FAILED);
    EXPECT(11, refused(mprotect(memory, 4096, PROT_READ | PROT_EXEC)));
    EXPECT(12, mprotect(memory, 4096, PROT_READ) == 0);
    EXPECT(13, mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
                       MAP_FAILED &&
                   errno == ENOSYS);
    return 0;
}

#ifdef __x86_64__
/* getpid as a 32-bit program calls it. */
static void *call_by_interrupt(void *arg)
{
    long result = 20;

    __asm__ volatile("int $0x80" : "+a"(result) : : "memory");
    return arg;
}

/* Other numbers of calls than those of the filter: the process ends, not only the thread. */
static int another_architecture(void)
{
    pthread_t thread;

    (void)alarm(10);
    EXPECT(1, heft_calls_confine(HEFT_CALLS_READING));
    EXPECT(2, pthread_create(&thread, NULL, call_by_interrupt, NULL) == 0);
    (void)pthread_join(thread, NULL);
    return 3;
}
#endif

static void *wait_for_byte(void *arg)
{
    char byte;
    int *const fd = arg;

    if (read(fd[0], &byte, 1) == 1)
        fd[2] = refused(socket(AF_INET, SOCK_STREAM, 0));
    return NULL;
}

/* A thread that was started before is confined, too. */
static int threads(void)
{
    pthread_t thread;
    int fd[3] = {0};

    EXPECT(1, pipe(fd) == 0);
    EXPECT(2, pthread_create(&thread, NULL, wait_for_byte, fd) == 0);
    EXPECT(3, heft_calls_confine(HEFT_CALLS_READING));
    EXPECT(4, write(fd[1], "x", 1) == 1);
    EXPECT(5, pthread_join(thread, NULL) == 0);
    EXPECT(6, fd[2] == 1);
    return 0;
}

static void leaves_what_reading_needs(void **state)
{
    (void)state;
    in_child(reading);
}

static void leaves_processes_while_opening(void **state)
{
    (void)state;
    in_child(opening);
}

static void examines_arguments(void **state)
{
    (void)state;
    in_child(arguments);
}

static void ends_programs_of_another_architecture(void **state)
{
    (void)state;
#ifdef __x86_64__
    int status = 0;
    pid_t child;

    if (!heft_calls_available())
        skip_because(NO_FILTER);
    child = fork();
    if (child == 0)
        _exit(another_architecture());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    if (WTERMSIG(status) == SIGSEGV)
        skip_because("this kernel has no calls of 32-bit programs");
    assert_int_equal(WTERMSIG(status), SIGSYS);
#else
    skip_because("only x86-64 has calls of another architecture in the same program");
#endif
}

static void leaves_a_worker_its_descriptors(void **state)
{
    (void)state;
    in_child(worker);
}

static void confines_all_threads(void **state)
{
    (void)state;
    in_child(threads);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leaves_what_reading_needs),
        cmocka_unit_test(leaves_processes_while_opening),
        cmocka_unit_test(examines_arguments),
        cmocka_unit_test(ends_programs_of_another_architecture),
        cmocka_unit_test(leaves_a_worker_its_descriptors),
        cmocka_unit_test(confines_all_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
