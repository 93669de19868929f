/* os_process.c: process functions of the system for the HDF5 module: descriptors and signals that
 * the child keeps, its limits, and waiting for its end. */
#define _DEFAULT_SOURCE /* for syscall and MAP_ANONYMOUS */
#include "hdf5_parts.h"
#include "io/confinement.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

/* ---- the parent: starting and ending ------------------------------------------------------- */

/* Handle of a child: its process ID may be reused once the program, which may wait for any child,
 * has collected its status. -1 if the system has no such handles (before Linux 5.3). */
static int open_handle(pid_t child)
{
#ifdef SYS_pidfd_open
    return (int)syscall(SYS_pidfd_open, child, 0);
#else
    (void)child;
    return -1;
#endif
}

bool hdf5_process_start(struct hdf5_process *process)
{
    sigset_t all, before;
    void *shared = mmap(NULL, sizeof *process->shared, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    *process = (struct hdf5_process){.child = -1, .handle = -1};
    if (shared == MAP_FAILED)
        return false;
    process->shared = shared;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all,
                          &before); /* so that no signal handler of the program runs in the child */
    process->child = fork();
    if (process->child != 0)
        (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (process->child > 0)
        process->handle = open_handle(process->child);
    return process->child >= 0;
}

static void end_by_force(const struct hdf5_process *process)
{
#ifdef SYS_pidfd_send_signal
    if (process->handle >= 0) {
        (void)syscall(SYS_pidfd_send_signal, process->handle, SIGKILL, NULL, 0);
        return;
    }
#endif
    (void)kill(process->child, SIGKILL);
}

/* Waits for this child only. If the program has collected its status already (waitpid(-1), SIGCHLD
 * ignored), there is none. */
static struct hdf5_end take_end(const struct hdf5_process *process)
{
    siginfo_t info = {0};
    int result;

    do
        result = process->handle >= 0
                     ? waitid((idtype_t)3 /* 3 is P_PIDFD, which older headers lack */,
                              (id_t)process->handle, &info, WEXITED)
                     : waitid(P_PID, (id_t)process->child, &info, WEXITED);
    while (result != 0 && errno == EINTR);
    if (result != 0)
        return (struct hdf5_end){0};
    return (struct hdf5_end){.signal = info.si_code != CLD_EXITED ? info.si_status : 0,
                             .stopped = info.si_code == CLD_EXITED && info.si_status == 0};
}

struct hdf5_end hdf5_process_end(struct hdf5_process *process, bool by_force)
{
    struct hdf5_end end = {0};

    if (process->child > 0) {
        if (by_force)
            end_by_force(process);
        end = take_end(process);
    }
    end.out_of_time = process->shared && process->shared->out_of_time;
    if (process->handle >= 0)
        (void)close(process->handle);
    if (process->shared)
        (void)munmap(process->shared, sizeof *process->shared);
    *process = (struct hdf5_process){.child = -1, .handle = -1};
    return end;
}

/* ---- the child: descriptors ---------------------------------------------------------------- */

/* One by one if there is no close_range (before Linux 5.9). */
static void close_between(unsigned from, unsigned to)
{
    const long most = sysconf(_SC_OPEN_MAX);

    if (from > to)
        return;
#ifdef SYS_close_range
    if (syscall(SYS_close_range, from, to, 0) == 0)
        return;
#endif
    for (unsigned fd = from; fd <= to && (long)fd < (most > 0 ? most : 65536); fd++)
        (void)close((int)fd);
}

/* Discards messages of libraries: descriptors 0, 1 and 2 become /dev/null, unless they are kept. */
static void be_silent(void)
{
    int nowhere;

    do
        nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    while (nowhere >= 0 && nowhere <= STDERR_FILENO);
    if (nowhere >= 0)
        (void)close(nowhere);
}

static void keep_descriptors(int a, int b)
{
    const int low = a < b ? a : b, high = a < b ? b : a;

    if (low > 0)
        close_between(0, (unsigned)low - 1);
    if (high > low + 1)
        close_between((unsigned)(low + 1), (unsigned)high - 1);
    close_between((unsigned)high + 1, ~0u);
    be_silent();
}

/* ---- the child: signals and limits --------------------------------------------------------- */

static struct hdf5_shared *shared_page;

static void on_time(int number)
{
    (void)number;
    shared_page->out_of_time = 1;
    _exit(1);
}

/* The child ends with its socket: signals that a terminal or a supervisor sends to a process group
 * are for the program. */
static void set_signals(void)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    sigset_t none;

    for (int number = 1; number < NSIG; number++)
        (void)signal(number, SIG_IGN); /* some numbers are not signals, or cannot be ignored */
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        (void)signal(faults[i], SIG_DFL);
    (void)signal(SIGXCPU, on_time);
    (void)signal(SIGPROF, on_time);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

void hdf5_limit(int what, uint64_t most)
{
    struct rlimit now;

    if (getrlimit(what, &now) != 0)
        return;
    now.rlim_cur =
        now.rlim_max == RLIM_INFINITY || most < now.rlim_max ? (rlim_t)most : now.rlim_max;
    (void)setrlimit(what, &now);
}

/* Sets hard and soft limit to 0. */
static void forbid_resource(int what)
{
    const struct rlimit nothing = {0, 0};

    (void)setrlimit(what, &nothing);
}

/* Sets hard and soft limit, which a process that was taken over cannot raise again. False: a lower
 * limit was there. */
static bool limit_memory(uint64_t most)
{
    struct rlimit now;

    if (getrlimit(RLIMIT_AS, &now) != 0 || most > now.rlim_max || most > now.rlim_cur)
        return false;
    now.rlim_cur = now.rlim_max = (rlim_t)most;
    return setrlimit(RLIMIT_AS, &now) == 0;
}

static bool has_limit; /* of its own: what is beyond it is not a lack of memory of the machine */

static bool can_map(uint64_t n, int protection)
{
    void *const p = n <= SIZE_MAX / 2
                        ? mmap(NULL, (size_t)n, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                        : MAP_FAILED;

    if (p == MAP_FAILED)
        return false;
    (void)munmap(p, (size_t)n);
    return true;
}

/* Whether a page can be mapped with this soft limit. */
static bool suffices(struct rlimit limit, uint64_t most, uint64_t page)
{
    limit.rlim_cur = (rlim_t)most;
    return setrlimit(RLIMIT_AS, &limit) == 0 && can_map(page, PROT_NONE);
}

/* Binary search for the lowest limit that leaves room for one more page. */
uint64_t hdf5_process_space(void)
{
    const long size = sysconf(_SC_PAGESIZE);
    const uint64_t page = size > 0 ? (uint64_t)size : 4096;
    struct rlimit before;
    uint64_t low = 0, high;

    if (getrlimit(RLIMIT_AS, &before) != 0)
        return 0;
    high = (before.rlim_max < SIZE_MAX / 2 ? before.rlim_max : SIZE_MAX / 2) / page;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;

        if (suffices(before, middle * page, page))
            high = middle;
        else
            low = middle + 1;
    }
    return setrlimit(RLIMIT_AS, &before) == 0 && low > 0 ? (low - 1) * page : 0;
}

/* The kernel counts memory without access against the limit only, other memory also against what
 * the machine has. If as much as the limit leaves can be had, the machine is not short. */
bool hdf5_process_is_beyond(uint64_t n)
{
    const uint64_t margin = (uint64_t)2 << 20; /* what malloc takes more than asked for */
    uint64_t left = HDF5_MEMORY;

    if (!has_limit)
        return false;
    if (n != HDF5_UNKNOWN)
        return n > HDF5_MEMORY || !can_map(n + margin, PROT_NONE);
    while (left > margin && !can_map(left, PROT_NONE))
        left /= 2;
    return left <= margin || can_map(left, PROT_READ | PROT_WRITE);
}

void hdf5_process_enter(const struct hdf5_process *process, int a, int b)
{
    keep_descriptors(a, b);
    shared_page = process->shared;
    set_signals();
}

/* No PR_SET_PDEATHSIG: that signal is sent when the *thread* that forked ends, while others still
 * read the file. The process ends with its socket. */
void hdf5_process_confine(uint64_t memory)
{
    struct heft_file_rules no_files;

    has_limit = memory && limit_memory(memory);
    forbid_resource(RLIMIT_CORE);
    forbid_resource(RLIMIT_FSIZE);
#ifdef RLIMIT_NPROC
    forbid_resource(RLIMIT_NPROC);
#endif
#ifdef __linux__
    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
#endif
    /* Kernels that lack one of these are left with the limits. */
    if (heft_file_rules_begin(&no_files))
        (void)heft_file_rules_end(&no_files);
    forbid_resource(RLIMIT_NOFILE);
    (void)heft_calls_confine(HEFT_CALLS_WORKER);
}

/* ---- the child: time ------------------------------------------------------------------------ */

void hdf5_process_timer(uint64_t micros)
{
    const struct itimerval timer = {
        .it_value = {.tv_sec = (time_t)(micros / 1000000), .tv_usec = (long)(micros % 1000000)}};

    (void)setitimer(ITIMER_PROF, &timer, NULL);
}

uint64_t hdf5_thread_nanos(void)
{
    struct timespec used = {0};

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}
