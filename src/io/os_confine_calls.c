/* os_confine_calls.c: seccomp (Linux 3.17 and later): a program for the kernel that decides about
 * each system call by its number, and about some by an argument.
 *
 *     other architecture?            kill the process
 *     a call with a rule?            compare its argument: allow, or ENOSYS
 *     binary search over the numbers of the allowed calls: allow, or ENOSYS
 *
 * ENOSYS, not EPERM: a C library that tries a newer call (clone3, faccessat2) then uses the older
 * one. A search, not a list: the kernel runs the program for every number when it is installed, to
 * skip it later. */
#define _GNU_SOURCE /* for syscall */
#include "io/confinement.h"

#include <unistd.h>
/* musl does not come with the kernel's headers. */
#if defined(__linux__) && defined(__has_include)
#if __has_include(<linux/audit.h>) && __has_include(<linux/filter.h>)
#define HAS_HEADERS
#endif
#endif
#ifdef HAS_HEADERS
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#endif

/* Sanitizers need calls of their own (ptrace, clone, exec of a symbolizer), other machines an entry
 * here: no filter. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(memory_sanitizer)
#define SANITIZED
#endif
#endif
#if !defined(HAS_HEADERS) || !defined(SYS_seccomp) || defined(SANITIZED) || defined(HEFT_UNCONFINED)
#define MACHINE 0
#elif defined(__x86_64__) && !defined(__ILP32__)
#define MACHINE AUDIT_ARCH_X86_64
#elif defined(__i386__)
#define MACHINE AUDIT_ARCH_I386
#elif defined(__aarch64__) && defined(__AARCH64EL__)
#define MACHINE AUDIT_ARCH_AARCH64
#elif defined(__arm__) && defined(__ARMEL__)
#define MACHINE AUDIT_ARCH_ARM
#elif defined(__riscv) && __riscv_xlen == 64
#define MACHINE AUDIT_ARCH_RISCV64
#else
#define MACHINE 0
#endif

#if MACHINE

/* ---- the calls ------------------------------------------------------------------------------ */

/* Calls since Linux 5.1, which have the same number on all machines and which older headers lack. */
enum {
    CLOCK_GETTIME_64 = 403, /* 32-bit machines only, as the next two lines */
    CLOCK_GETRES_64 = 406,
    CLOCK_NANOSLEEP_64 = 407,
    PPOLL_64 = 414,
    FUTEX_64 = 422,
    PIDFD_SEND_SIGNAL = 424,
    PIDFD_OPEN = 434,
    CLOSE_RANGE = 436,
    FACCESSAT2 = 439,
    LANDLOCK_CREATE_RULESET = 444,
    LANDLOCK_ADD_RULE = 445,
    LANDLOCK_RESTRICT_SELF = 446
};

/* Memory, open descriptors, clocks, threads' locks, own signals. */
static const int calls_of_all[] = {
    SYS_read,
    SYS_write,
    SYS_readv,
    SYS_writev,
    SYS_pread64,
    SYS_close,
    SYS_lseek,
    SYS_fstat,
    SYS_brk,
    SYS_munmap,
    SYS_mremap,
    SYS_mprotect,
    SYS_madvise,
    SYS_futex,
    SYS_sched_yield,
    SYS_getpid,
    SYS_gettid,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_sigaltstack,
    SYS_restart_syscall,
    SYS_clock_gettime,
    SYS_clock_getres,
    SYS_gettimeofday,
    SYS_getrusage,
    SYS_setitimer,
    SYS_exit,
    SYS_exit_group,
    SYS_getrandom,
    SYS_recvfrom,
    SYS_seccomp,
#ifdef SYS_mmap2 /* 32 bits */
    SYS_mmap2,
    SYS_fstat64,
    SYS__llseek,
    SYS_ugetrlimit,
    SYS_sigreturn,
    CLOCK_GETTIME_64,
    CLOCK_GETRES_64,
    FUTEX_64,
#else
    SYS_mmap,
#endif
#ifdef SYS_setrlimit
    SYS_setrlimit,
#endif
#ifdef SYS_getrlimit
    SYS_getrlimit,
#endif
#ifdef SYS_send /* ARM of 32 bits */
    SYS_send,
    SYS_recv,
#endif
};

/* Files by their names, which Landlock limits; threads; waiting. */
static const int calls_of_command[] = {
    SYS_pwrite64,
    SYS_preadv,
    SYS_pwritev,
    SYS_ftruncate,
    SYS_fallocate,
    SYS_fsync,
    SYS_fdatasync,
    SYS_copy_file_range,
    SYS_sendfile,
    SYS_flock,
    SYS_dup,
    SYS_dup3,
    SYS_pipe2,
    SYS_openat,
    SYS_statx,
    SYS_faccessat,
    SYS_readlinkat,
    SYS_getdents64,
    SYS_getcwd,
    SYS_renameat2,
    SYS_linkat,
    SYS_unlinkat,
    SYS_mkdirat,
    SYS_fstatfs,
    SYS_statfs,
    SYS_ppoll,
    SYS_pselect6,
    SYS_nanosleep,
    SYS_clock_nanosleep,
    SYS_times,
    SYS_getitimer,
    SYS_set_robust_list,
    SYS_set_tid_address,
    SYS_membarrier,
    SYS_sched_getaffinity,
    SYS_sched_getparam,
    SYS_sched_getscheduler,
    SYS_getcpu,
    SYS_sysinfo,
    SYS_uname,
    SYS_getppid,
    SYS_getuid,
    SYS_geteuid,
    SYS_getgid,
    SYS_getegid,
    SYS_getpgid,
    SYS_rt_sigpending,
    SYS_rt_sigtimedwait,
    SYS_wait4,
    SYS_waitid,
    PIDFD_SEND_SIGNAL,
    CLOSE_RANGE,
    FACCESSAT2,
    LANDLOCK_CREATE_RULESET,
    LANDLOCK_ADD_RULE,
    LANDLOCK_RESTRICT_SELF,
#ifdef SYS_rseq
    SYS_rseq,
#endif
#ifdef SYS_sync_file_range
    SYS_sync_file_range,
#endif
#ifdef SYS_arm_sync_file_range
    SYS_arm_sync_file_range,
#endif
#ifdef SYS_renameat /* not on RISC-V */
    SYS_renameat,
#endif
#ifdef SYS_arch_prctl
    SYS_arch_prctl,
#endif
#ifdef SYS_set_thread_area
    SYS_set_thread_area,
#endif
#ifdef SYS_open /* x86 and ARM of 32 bits: calls without …at */
    SYS_open,
    SYS_stat,
    SYS_lstat,
    SYS_access,
    SYS_readlink,
    SYS_getdents,
    SYS_rename,
    SYS_link,
    SYS_unlink,
    SYS_mkdir,
    SYS_rmdir,
    SYS_dup2,
    SYS_pipe,
    SYS_poll,
    SYS_getpgrp,
#endif
#ifdef SYS_mmap2 /* 32 bits */
    SYS_stat64,
    SYS_lstat64,
    SYS_fstatat64,
    SYS_ftruncate64,
    SYS_statfs64,
    SYS_fstatfs64,
    SYS_getuid32,
    SYS_geteuid32,
    SYS_getgid32,
    SYS_getegid32,
    SYS__newselect,
    SYS_sendfile64,
    CLOCK_NANOSLEEP_64,
    PPOLL_64,
#else
    SYS_newfstatat,
#endif
};

/* With processes: the handle of a child, fork. */
static const int calls_of_opening[] = {
    PIDFD_OPEN,
#ifdef SYS_fork /* musl uses it on x86, glibc uses clone */
    SYS_fork,
#endif
};

/* A call that depends on an argument: allowed if one of `values` equals the bits of `mask` of argument
 * number `arg`. Of the arguments below, the kernel, too, reads 32 bits only. */
struct rule {
    int call;
    uint32_t arg, mask;
    size_t n;
    uint32_t values[6];
};

#define ALL_BITS UINT32_MAX
#define SELF     UINT32_MAX /* value: the process ID at the time of confinement */

static const struct rule limits_of_self = {SYS_prlimit64, 0, ALL_BITS, 1, {0}};
static const struct rule signal_to_self = {SYS_tgkill, 0, ALL_BITS, 1, {SELF}};
static const struct rule options_of_self = {
    SYS_prctl,
    0,
    ALL_BITS,
    6,
    {PR_SET_NAME, PR_SET_NO_NEW_PRIVS, PR_SET_DUMPABLE, PR_GET_DUMPABLE, PR_GET_NAME,
     0x53564d41 /* PR_SET_VMA: names of memory, which glibc sets */}};
/* To the peer of a socket, not to an address: its length is 0, as in send(). */
static const struct rule send_to_peer = {SYS_sendto, 5, ALL_BITS, 1, {0}};
static const struct rule terminal = {
    SYS_ioctl, 1, ALL_BITS, 4, {TCGETS, TIOCGWINSZ, TIOCGPGRP, FIONREAD}};
/* Copies of descriptors and their flags; nothing that makes them send signals (F_SETOWN, F_SETLEASE,
 * F_NOTIFY). */
#define DESCRIPTOR_COMMANDS                                                                        \
    {                                                                                              \
        F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC                               \
    }
static const struct rule descriptor = {SYS_fcntl, 1, ALL_BITS, 6, DESCRIPTOR_COMMANDS};
#ifdef SYS_fcntl64
static const struct rule descriptor_64 = {SYS_fcntl64, 1, ALL_BITS, 6, DESCRIPTOR_COMMANDS};
#endif
/* Whether a process exists: signal 0. */
static const struct rule existence = {SYS_kill, 1, ALL_BITS, 1, {0}};
/* Threads, and fork, but no namespaces. */
#define NAMESPACES                                                                                 \
    (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS |     \
     CLONE_NEWCGROUP)
static const struct rule threads = {SYS_clone, 0, CLONE_THREAD | NAMESPACES, 1, {CLONE_THREAD}};
static const struct rule processes = {SYS_clone, 0, NAMESPACES, 1, {0}};
static const struct rule pair = {SYS_socketpair, 0, ALL_BITS, 1, {AF_UNIX}};
#ifdef SYS_socketcall /* i386: 8 socketpair, 9 and 10 send and recv, 11 and 12 sendto, recvfrom */
static const struct rule pair_by_number = {SYS_socketcall, 0, ALL_BITS, 5, {8, 9, 10, 11, 12}};
static const struct rule talk_by_number = {SYS_socketcall, 0, ALL_BITS, 4, {9, 10, 11, 12}};
#endif
/* No memory that can be executed: for the worker, which loads nothing any more. */
#ifdef SYS_mmap2
#define MAP_CALL SYS_mmap2
#else
#define MAP_CALL SYS_mmap
#endif
static const struct rule map_data = {MAP_CALL, 2, PROT_EXEC, 1, {0}};
static const struct rule protect_data = {SYS_mprotect, 2, PROT_EXEC, 1, {0}};

/* ---- the program ---------------------------------------------------------------------------- */

enum { MOST_STEPS = 256, MOST_CALLS = 256 };
enum { ALLOW = MOST_STEPS, REFUSE }; /* targets of jumps: the last two steps */

struct step {
    uint16_t code;
    uint32_t value;
    size_t if_true, if_false; /* places of steps, if it is a comparison */
};

/* A jump skips 255 steps at most: the whole program is shorter. */
struct program {
    struct step steps[MOST_STEPS];
    int calls[MOST_CALLS]; /* sorted */
    size_t n, n_calls;
    bool failed;
};

/* Appends a step and returns its place. */
static size_t put(struct program *p, int code, uint32_t value, size_t if_true, size_t if_false)
{
    if (p->n >= MOST_STEPS - 2) {
        p->failed = true;
        return 0;
    }
    p->steps[p->n] = (struct step){(uint16_t)code, value, if_true, if_false};
    return p->n++;
}

static size_t put_load(struct program *p, size_t offset)
{
    return put(p, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

/* The lower half of an argument comes first: all machines above are little-endian. */
static void put_rule(struct program *p, const struct rule *rule)
{
    const size_t first = put(p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)rule->call, p->n + 1, 0);

    (void)put_load(p, offsetof(struct seccomp_data, args) + rule->arg * sizeof(uint64_t));
    if (rule->mask != ALL_BITS)
        (void)put(p, BPF_ALU | BPF_AND | BPF_K, rule->mask, 0, 0);
    for (size_t i = 0; i < rule->n; i++)
        (void)put(p, BPF_JMP | BPF_JEQ | BPF_K,
                  rule->values[i] == SELF ? (uint32_t)getpid() : rule->values[i], ALLOW,
                  i + 1 < rule->n ? p->n + 1 : REFUSE);
    p->steps[first].if_false = p->n;
}

static void add_call(struct program *p, int call)
{
    size_t at = p->n_calls;

    if (at == MOST_CALLS) {
        p->failed = true;
        return;
    }
    for (; at > 0 && p->calls[at - 1] > call; at--)
        p->calls[at] = p->calls[at - 1];
    p->calls[at] = call;
    p->n_calls++;
}

#define ADD_CALLS(p, table)                                                                        \
    for (size_t i = 0; i < sizeof(table) / sizeof *(table); i++)                                   \
    add_call(p, (table)[i])

/* Searches among the borders [from, to) between refused and allowed numbers, and returns the first
 * step. Refused: the numbers below the first border, above the second, … */
static size_t put_search(struct program *p, const uint32_t *borders, size_t from, size_t to)
{
    const size_t middle = (from + to) / 2;
    size_t at, below, above;

    if (from == to)
        return from % 2 == 1 ? ALLOW : REFUSE;
    at = put(p, BPF_JMP | BPF_JGE | BPF_K, borders[middle], 0, 0);
    below = put_search(p, borders, from, middle);
    above = put_search(p, borders, middle + 1, to);
    p->steps[at].if_true = above;
    p->steps[at].if_false = below;
    return at;
}

static void put_calls(struct program *p)
{
    uint32_t borders[2 * MOST_CALLS];
    size_t n = 0;

    for (size_t i = 0; i < p->n_calls; i++) {
        if (n == 0 || borders[n - 1] < (uint32_t)p->calls[i]) {
            borders[n++] = (uint32_t)p->calls[i];
            n++;
        }
        borders[n - 1] = (uint32_t)p->calls[i] + 1;
    }
    (void)put_search(p, borders, 0, n);
}

static void put_head(struct program *p)
{
    const uint32_t kill = 0x80000000u; /* the process; before Linux 4.14 the thread */

    (void)put_load(p, offsetof(struct seccomp_data, arch));
    (void)put(p, BPF_JMP | BPF_JEQ | BPF_K, MACHINE, 3, 2);
    (void)put(p, BPF_RET | BPF_K, kill, 0, 0);
    (void)put_load(p, offsetof(struct seccomp_data, nr));
}

static void put_command(struct program *p, bool with_processes)
{
    put_rule(p, with_processes ? &processes : &threads);
    put_rule(p, &existence);
    put_rule(p, &terminal);
    put_rule(p, &descriptor);
#ifdef SYS_fcntl64
    put_rule(p, &descriptor_64);
#endif
#ifdef SYS_socketcall
    put_rule(p, with_processes ? &pair_by_number : &talk_by_number);
#endif
    if (with_processes) {
        put_rule(p, &pair);
        ADD_CALLS(p, calls_of_opening);
    }
    ADD_CALLS(p, calls_of_command);
}

static void put_worker(struct program *p)
{
    put_rule(p, &map_data);
    put_rule(p, &protect_data);
#ifdef SYS_socketcall
    put_rule(p, &talk_by_number);
#endif
}

bool heft_calls_available(void)
{
    const uint32_t action = SECCOMP_RET_ERRNO;

    return syscall(SYS_seccomp, 2u /* SECCOMP_GET_ACTION_AVAIL */, 0u, &action) == 0;
}

/* Distance of a jump from step `from`. */
static uint8_t jump(const struct program *p, size_t from, size_t to)
{
    return (uint8_t)((to < ALLOW ? to : p->n + (to - ALLOW)) - from - 1);
}

/* Fills `steps`, and returns their number. */
static size_t assemble(const struct program *p, struct sock_filter steps[MOST_STEPS])
{
    const uint16_t answer = BPF_RET | BPF_K;

    for (size_t i = 0; i < p->n; i++) {
        const struct step *const s = &p->steps[i];
        const bool compares = BPF_CLASS(s->code) == BPF_JMP;

        steps[i] = (struct sock_filter){s->code, compares ? jump(p, i, s->if_true) : 0,
                                        compares ? jump(p, i, s->if_false) : 0, s->value};
    }
    steps[p->n] = (struct sock_filter){answer, 0, 0, SECCOMP_RET_ALLOW};
    steps[p->n + 1] = (struct sock_filter){answer, 0, 0, SECCOMP_RET_ERRNO | ENOSYS};
    return p->n + 2;
}

/* All threads: TSYNC. SPEC_ALLOW: without it kernels before 5.16 slow a confined process down, as
 * if it ran code of others. */
static bool install(const struct program *p)
{
    const unsigned set_filter = 1, all_threads = 1u << 0, without_mitigations = 1u << 2;
    struct sock_filter steps[MOST_STEPS];
    const struct sock_fprog program = {.len = (unsigned short)assemble(p, steps), .filter = steps};

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           (syscall(SYS_seccomp, set_filter, all_threads | without_mitigations, &program) == 0 ||
            (errno == EINVAL && syscall(SYS_seccomp, set_filter, all_threads, &program) == 0));
}

bool heft_calls_confine(enum heft_calls calls)
{
    struct program p;

    p.n = p.n_calls = 0;
    p.failed = false;
    put_head(&p);
    put_rule(&p, &limits_of_self);
    put_rule(&p, &signal_to_self);
    put_rule(&p, &options_of_self);
    put_rule(&p, &send_to_peer);
    if (calls == HEFT_CALLS_WORKER)
        put_worker(&p);
    else
        put_command(&p, calls == HEFT_CALLS_OPENING);
    ADD_CALLS(&p, calls_of_all);
    put_calls(&p);
    return !p.failed && install(&p);
}

#else

bool heft_calls_available(void)
{
    return false;
}

bool heft_calls_confine(enum heft_calls calls)
{
    (void)calls;
    return false;
}

#endif
