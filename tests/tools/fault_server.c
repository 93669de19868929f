/* fault_server.c: runs the command many times with failing calls. Started with HEFT_FAULTS="IN OUT"
 * (two descriptors), the program does not enter main but reads orders from IN, forks for each a
 * process that enters main with the arguments of the program, and writes a line about it to OUT. So
 * a run costs a fork, not a start.
 *
 *     order   MODE AT KIND, as in struct fault_state; mode "n" only counts; mode "p" loads the
 *             modules once, before the forks, and has no answer
 *     answer  STATUS SIGNAL CALLS ALLOCATIONS STRUCK BLOCKS MAPS FILES TRACE ALLOCATION-CALLERS, in
 *             decimal; STRUCK is the number of a call, the number of calls for an allocation, or -1.
 *             For mode "n", TRACE has the number of each call and the hash of its callers, as in
 *             7:123,; ALLOCATION-CALLERS the hash of those of each allocation. Both end with "-"
 *
 * The first line is the table: NAME=KINDS of each call, with the modes of shortage that it obeys.
 * Standard output and error are files; each run
 * begins with empty ones. Standard input is opened anew from HEFT_FAULTS_INPUT. */
#define _GNU_SOURCE /* for MAP_ANONYMOUS */
#include "fault_calls.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECONDS 30 /* a run that takes longer hangs */

/* The functions of the system; those without real_ are replaced. */
pid_t real_fork(void) __asm__("__real_fork");
int real_close(int fd) __asm__("__real_close");
int real_open64(const char *path, int flags, mode_t mode) __asm__("__real_open64");
void *real_dlopen(const char *path, int flags) __asm__("__real_dlopen");
int real_ftruncate64(int fd, off_t n) __asm__("__real_ftruncate64");

static pid_t first; /* the process that enters main */

static int64_t open_files(void)
{
    int64_t n = 0;

    for (int fd = 3; fd < 256; fd++)
        n += fcntl(fd, F_GETFD) != -1;
    return n;
}

/* At exit; the process of libhdf5 ends by _exit, and without the blocks of its parent. */
static void report_rest(void)
{
    if (getpid() != first)
        return;
    fault_state->left_blocks = atomic_load(&fault_blocks);
    fault_state->left_maps = atomic_load(&fault_maps);
    fault_state->left_files = open_files();
}

static void begin_state(struct fault_state *state, int mode, uint64_t at, unsigned kind)
{
    state->mode = mode;
    state->at = at;
    state->kind = kind;
    atomic_store(&state->calls, 0);
    atomic_store(&state->allocations, 0);
    atomic_store(&state->struck, -1);
    state->left_blocks = state->left_maps = state->left_files = -1;
}

static void begin_run(int in, int out)
{
    const char *const input = getenv("HEFT_FAULTS_INPUT");

    (void)real_close(in);
    (void)real_close(out);
    (void)real_close(STDIN_FILENO);
    (void)real_open64(input ? input : "/dev/null", O_RDONLY, 0);
    (void)real_ftruncate64(STDOUT_FILENO, 0);
    (void)real_ftruncate64(STDERR_FILENO, 0);
    (void)lseek(STDOUT_FILENO, 0, SEEK_SET);
    (void)lseek(STDERR_FILENO, 0, SEEK_SET);
    (void)unsetenv("HEFT_FAULTS");
    (void)alarm(SECONDS);
    first = getpid();
    (void)atexit(report_rest);
}

static uint64_t traced(const struct fault_state *state, uint64_t count)
{
    return state->mode != 'n' ? 0 : count < FAULT_TRACE ? count : FAULT_TRACE;
}

static void write_callers(FILE *to, const struct fault_state *state)
{
    const uint64_t calls = traced(state, atomic_load(&state->calls));
    const uint64_t allocations = traced(state, atomic_load(&state->allocations));

    for (uint64_t i = 0; i < calls; i++)
        (void)fprintf(to, "%d:%u,", atomic_load(&state->trace[i]), atomic_load(&state->callers[i]));
    (void)fputs("- ", to);
    for (uint64_t i = 0; i < allocations; i++)
        (void)fprintf(to, "%u,", atomic_load(&state->allocation_callers[i]));
    (void)fputs("-\n", to);
}

static void answer(FILE *to, const struct fault_state *state, int status)
{
    (void)fprintf(
        to, "%d %d %llu %llu %d %lld %lld %lld ", WIFEXITED(status) ? WEXITSTATUS(status) : -1,
        WIFSIGNALED(status) ? WTERMSIG(status) : 0, (unsigned long long)atomic_load(&state->calls),
        (unsigned long long)atomic_load(&state->allocations), atomic_load(&state->struck),
        (long long)state->left_blocks, (long long)state->left_maps, (long long)state->left_files);
    write_callers(to, state);
    (void)fflush(to);
}

static void write_table(FILE *to)
{
    for (int i = 0; i < FAULT_COUNT; i++) {
        int n = 0;

        while (n < FAULT_MOST_KINDS && fault_calls[i].kinds[n])
            n++;
        (void)fprintf(to, "%s=%d%s%s ", fault_calls[i].name, n, fault_shortage('w', i) ? "w" : "",
                      fault_shortage('f', i) ? "f" : "");
    }
    (void)fputs("\n", to);
    (void)fflush(to);
}

/* Reads a line without buffering more: the descriptor is shared with the process that is forked. */
static bool take_line(int in, char *line, size_t room)
{
    size_t n = 0;

    while (n + 1 < room && read(in, line + n, 1) == 1)
        if (line[n++] == '\n')
            break;
    line[n] = '\0';
    return n > 0;
}

/* Loading libhdf5 takes 10 ms. */
static void load_modules(void)
{
    static const char *const names[] = {"heft_hdf5.so", "heft_snappy.so", "heft_nettle.so"};
    const char *const folder = getenv("HEFT_MODULES");
    char path[4096];

    for (size_t i = 0; folder && i < sizeof names / sizeof *names; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        (void)real_dlopen(path, RTLD_NOW | RTLD_LOCAL); /* a module may be missing */
    }
}

/* Returns in the processes that are to enter main. */
static void serve(int in, int out)
{
    FILE *const answers = fdopen(out, "w");
    char line[128], *end;
    uint64_t at;
    struct fault_state *const state =
        mmap(NULL, sizeof *state, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (!answers || state == MAP_FAILED)
        _exit(3);
    (void)backtrace(&(void *){NULL}, 1); /* loads its library */
    write_table(answers);
    while (take_line(in, line, sizeof line)) {
        int status = 0;
        pid_t child;

        if (line[0] == 'p') {
            load_modules();
            continue;
        }
        at = strtoull(line + 1, &end, 10);
        begin_state(state, line[0], at, (unsigned)strtoul(end, NULL, 10));
        child = real_fork();
        if (child == 0) {
            (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
            begin_run(in, out);
            fault_state = state;
            return;
        }
        if (child < 0 || waitpid(child, &status, 0) != child)
            _exit(3);
        answer(answers, state, status);
    }
    _exit(0);
}

__attribute__((constructor)) static void start_serving(void)
{
    const char *const descriptors = getenv("HEFT_FAULTS");
    char *end;

    if (descriptors) {
        const long in = strtol(descriptors, &end, 10), out = strtol(end, NULL, 10);

        serve((int)in, (int)out);
    }
}
