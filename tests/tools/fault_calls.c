/* fault_calls.c: see fault_calls.h. The linker gives the names __wrap_X and __real_X their meaning;
 * the functions have names of their own here. */
#define _GNU_SOURCE /* for copy_file_range, renameat2 and others */
#include "fault_calls.h"

#include <dirent.h>
#include <execinfo.h>
#include <fcntl.h>
#include <iconv.h>
#include <locale.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_FRAMES 64

struct fault_state *fault_state;
atomic_int_fast64_t fault_blocks, fault_maps;

#define ROW(symbol, ...) {#symbol, {__VA_ARGS__}},
const struct fault_call fault_calls[FAULT_COUNT] = {FAULT_CALLS(ROW)};
#undef ROW

/* ---- counting and striking ----------------------------------------------------------------- */

static bool is_in(const int *list, size_t n, int call)
{
    for (size_t i = 0; i < n; i++)
        if (list[i] == call)
            return true;
    return false;
}

int fault_shortage(int mode, int call)
{
    static const int space[] = {FAULT_write,       FAULT_pwrite64, FAULT_copy_file_range,
                                FAULT_fallocate64, FAULT_mkdir,    FAULT_mkstemp64};
    static const int files[] = {FAULT_open64, FAULT_openat64,   FAULT_opendir,  FAULT_fopen64,
                                FAULT_dlopen, FAULT_socketpair, FAULT_mkstemp64};

    if (mode == 'w' && is_in(space, sizeof space / sizeof *space, call))
        return ENOSPC;
    return mode == 'f' && is_in(files, sizeof files / sizeof *files, call) ? EMFILE : 0;
}

static void note_strike(int call)
{
    int none = -1;

    (void)atomic_compare_exchange_strong(&fault_state->struck, &none, call);
}

/* FNV-1a over the return addresses, which are the same in all runs of one server. */
static unsigned hash_callers(void)
{
    void *frames[MOST_FRAMES];
    const int n = backtrace(frames, MOST_FRAMES);
    uint64_t hash = 0xcbf29ce484222325u;

    for (int i = 1; i < n; i++)
        hash = (hash ^ (uint64_t)(uintptr_t)frames[i]) * 0x100000001b3u;
    return (unsigned)(hash ^ hash >> 32);
}

/* Counts a call; returns how it is to fail, 0 for not at all. */
static int strike(int call)
{
    struct fault_state *const s = fault_state;
    uint64_t n;
    int kind = 0;

    if (!s)
        return 0;
    n = atomic_fetch_add(&s->calls, 1);
    if (s->mode == 'n' && n < FAULT_TRACE) {
        atomic_store(&s->trace[n], (unsigned char)call);
        atomic_store(&s->callers[n], hash_callers());
    }
    if (s->mode == 'k' && n + 1 == s->at)
        (void)raise(SIGKILL);
    if (s->mode == 'c' && n + 1 == s->at)
        kind = fault_calls[call].kinds[s->kind];
    if (n + 1 >= s->at)
        kind = kind ? kind : fault_shortage(s->mode, call);
    if (kind)
        note_strike(call);
    if (kind > 0)
        errno = kind;
    return kind;
}

static size_t shorten(int kind, size_t n)
{
    const size_t most = kind == FAULT_SHORT                       ? 1
                        : fault_state && fault_state->mode == 's' ? (size_t)fault_state->at
                                                                  : n;

    return n < most ? n : most;
}

static bool strikes_allocation(void)
{
    struct fault_state *const s = fault_state;
    uint64_t n;

    if (!s)
        return false;
    n = atomic_fetch_add(&s->allocations, 1) + 1;
    if (s->mode == 'n' && n <= FAULT_TRACE)
        atomic_store(&s->allocation_callers[n - 1], hash_callers());
    if ((s->mode != 'a' || n != s->at) && (s->mode != 'A' || n < s->at))
        return false;
    note_strike(FAULT_COUNT);
    errno = ENOMEM;
    return true;
}

static void count_blocks(int64_t more)
{
    if (fault_state)
        atomic_fetch_add(&fault_blocks, more);
}

static void count_maps(int64_t more)
{
    if (fault_state)
        atomic_fetch_add(&fault_maps, more);
}

/* ---- calls --------------------------------------------------------------------------------- */

/* The functions are visible: the module for HDF5 uses them as well. */
#define DECLARE(type, symbol, ...)                                                                 \
    type real_##symbol(__VA_ARGS__) __asm__("__real_" #symbol);                                    \
    type wrap_##symbol(__VA_ARGS__) __asm__("__wrap_" #symbol)                                     \
        __attribute__((visibility("default")))

/* A call that returns `failed` and sets errno. */
#define WRAP(type, symbol, failed, parameters, arguments)                                          \
    DECLARE(type, symbol, UNPACK parameters);                                                      \
    type wrap_##symbol parameters                                                                  \
    {                                                                                              \
        return strike(FAULT_##symbol) ? (failed) : real_##symbol arguments;                        \
    }
#define UNPACK(...) __VA_ARGS__

/* A transfer of n bytes. */
#define TRANSFER(type, symbol, parameters, arguments)                                              \
    DECLARE(type, symbol, UNPACK parameters);                                                      \
    type wrap_##symbol parameters                                                                  \
    {                                                                                              \
        const int kind = strike(FAULT_##symbol);                                                   \
                                                                                                   \
        n = shorten(kind, n);                                                                      \
        return kind > 0 ? -1 : kind == FAULT_END ? 0 : real_##symbol arguments;                    \
    }

/* A call that returns an error number, or a code of its own. */
#define WRAP_CODE(symbol, parameters, arguments)                                                   \
    DECLARE(int, symbol, UNPACK parameters);                                                       \
    int wrap_##symbol parameters                                                                   \
    {                                                                                              \
        const int kind = strike(FAULT_##symbol);                                                   \
                                                                                                   \
        return kind ? kind : real_##symbol arguments;                                              \
    }

WRAP(int, open64, -1, (const char *path, int flags, mode_t mode), (path, flags, mode))
WRAP(int, __open64_2, -1, (const char *path, int flags), (path, flags))
WRAP(int, openat64, -1, (int at, const char *path, int flags, mode_t mode), (at, path, flags, mode))
WRAP(int, mkstemp64, -1, (char *path), (path))
WRAP(int, fstat64, -1, (int fd, struct stat *st), (fd, st))
WRAP(int, stat64, -1, (const char *path, struct stat *st), (path, st))
WRAP(int, lstat64, -1, (const char *path, struct stat *st), (path, st))
WRAP(int, access, -1, (const char *path, int mode), (path, mode))
TRANSFER(ssize_t, read, (int fd, void *p, size_t n), (fd, p, n))
TRANSFER(ssize_t, pread64, (int fd, void *p, size_t n, off_t off), (fd, p, n, off))
TRANSFER(ssize_t, write, (int fd, const void *p, size_t n), (fd, p, n))
TRANSFER(ssize_t, pwrite64, (int fd, const void *p, size_t n, off_t off), (fd, p, n, off))
TRANSFER(ssize_t, copy_file_range,
         (int from, off_t *in, int to, off_t *out, size_t n, unsigned flags),
         (from, in, to, out, n, flags))
WRAP(int, fallocate64, -1, (int fd, int mode, off_t off, off_t n), (fd, mode, off, n))
WRAP(int, ftruncate64, -1, (int fd, off_t n), (fd, n))
WRAP(int, sync_file_range, -1, (int fd, off_t off, off_t n, unsigned flags), (fd, off, n, flags))
WRAP(int, fsync, -1, (int fd), (fd))
WRAP(int, flock, -1, (int fd, int how), (fd, how))
WRAP(int, rename, -1, (const char *from, const char *to), (from, to))
WRAP(int, renameat2, -1, (int at, const char *from, int under, const char *to, unsigned flags),
     (at, from, under, to, flags))
WRAP(int, link, -1, (const char *from, const char *to), (from, to))
WRAP(int, unlink, -1, (const char *path), (path))
WRAP(int, unlinkat, -1, (int at, const char *path, int flags), (at, path, flags))
WRAP(int, mkdir, -1, (const char *path, mode_t mode), (path, mode))
WRAP(int, rmdir, -1, (const char *path), (path))
WRAP(DIR *, opendir, NULL, (const char *path), (path))
WRAP(DIR *, fdopendir, NULL, (int fd), (fd))
WRAP(struct dirent *, readdir64, NULL, (DIR * folder), (folder))
WRAP(int, madvise, -1, (void *p, size_t n, int advice), (p, n, advice))
WRAP(int, poll, -1, (struct pollfd * list, nfds_t n, int timeout), (list, n, timeout))
WRAP(int, sched_getaffinity, -1, (pid_t process, size_t n, cpu_set_t *set), (process, n, set))
WRAP(void *, dlopen, NULL, (const char *path, int flags), (path, flags))
WRAP(void *, dlsym, NULL, (void *handle, const char *symbol), (handle, symbol))
WRAP(iconv_t, iconv_open, (iconv_t)-1, (const char *to, const char *from), (to, from))
WRAP(locale_t, newlocale, (locale_t)0, (int mask, const char *name, locale_t base),
     (mask, name, base))
WRAP(FILE *, fopen64, NULL, (const char *path, const char *mode), (path, mode))
WRAP(pid_t, fork, -1, (void), ())
WRAP(int, socketpair, -1, (int domain, int type, int protocol, int pair[2]),
     (domain, type, protocol, pair))
TRANSFER(ssize_t, send, (int fd, const void *p, size_t n, int flags), (fd, p, n, flags))
TRANSFER(ssize_t, recv, (int fd, void *p, size_t n, int flags), (fd, p, n, flags))
WRAP(int, waitid, -1, (idtype_t type, id_t id, siginfo_t *info, int options),
     (type, id, info, options))
WRAP_CODE(pthread_create,
          (pthread_t * thread, const pthread_attr_t *attributes, void *(*work)(void *), void *ctx),
          (thread, attributes, work, ctx))
WRAP_CODE(pthread_mutex_init, (pthread_mutex_t * mutex, const pthread_mutexattr_t *attributes),
          (mutex, attributes))
WRAP_CODE(regcomp, (regex_t * regex, const char *pattern, int flags), (regex, pattern, flags))

/* As on Linux, a descriptor is closed and memory unmapped even if the call reports an error. */
DECLARE(int, close, int fd);
int wrap_close(int fd)
{
    const int kind = strike(FAULT_close);
    const int result = real_close(fd);

    if (kind == 0)
        return result;
    errno = kind;
    return -1;
}

DECLARE(int, munmap, void *p, size_t n);
int wrap_munmap(void *p, size_t n)
{
    const int kind = strike(FAULT_munmap);
    const int result = real_munmap(p, n);

    count_maps(-1);
    if (kind == 0)
        return result;
    errno = kind;
    return -1;
}

DECLARE(void *, mmap64, void *p, size_t n, int protection, int flags, int fd, off_t off);
void *wrap_mmap64(void *p, size_t n, int protection, int flags, int fd, off_t off)
{
    void *const mapped =
        strike(FAULT_mmap64) ? MAP_FAILED : real_mmap64(p, n, protection, flags, fd, off);

    count_maps(mapped != MAP_FAILED);
    return mapped;
}

/* ---- memory -------------------------------------------------------------------------------- */

#define ALLOCATION(type, symbol, parameters, arguments)                                            \
    DECLARE(type, symbol, UNPACK parameters);                                                      \
    type wrap_##symbol parameters                                                                  \
    {                                                                                              \
        type const p = strikes_allocation() ? NULL : real_##symbol arguments;                      \
                                                                                                   \
        count_blocks(p != NULL);                                                                   \
        return p;                                                                                  \
    }

ALLOCATION(void *, malloc, (size_t n), (n))
ALLOCATION(void *, calloc, (size_t n, size_t each), (n, each))
ALLOCATION(void *, aligned_alloc, (size_t alignment, size_t n), (alignment, n))
ALLOCATION(char *, strdup, (const char *text), (text))

DECLARE(void *, realloc, void *p, size_t n);
void *wrap_realloc(void *p, size_t n)
{
    const bool is_new = p == NULL;
    void *const moved = strikes_allocation() ? NULL : real_realloc(p, n);

    count_blocks(is_new && moved);
    return moved;
}

DECLARE(void, free, void *p);
void wrap_free(void *p)
{
    count_blocks(p ? -1 : 0);
    real_free(p);
}

DECLARE(char *, realpath, const char *path, char *resolved);
char *wrap_realpath(const char *path, char *resolved)
{
    char *const whole = strike(FAULT_realpath) ? NULL : real_realpath(path, resolved);

    count_blocks(whole && !resolved);
    return whole;
}
