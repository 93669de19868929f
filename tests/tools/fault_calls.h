/* fault_calls.h: system calls and allocations of a whole program that fail on request.
 *
 * The linker replaces each call that is listed in FAULT_CALLS by a function of fault_calls.c (option
 * --wrap), in the command, in the library and in the module for HDF5. Each counts the call, then
 * fails, shortens, or forwards it. Counters are in memory that processes share, so that calls of the
 * process of libhdf5 are counted, too. tests/support/fault_os.h is the equivalent for unit tests,
 * at the table of system calls. */
#ifndef FAULT_CALLS_H
#define FAULT_CALLS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <errno.h>
#include <regex.h>

/* Besides errno values: a transfer of one byte; the end of the file. */
enum { FAULT_SHORT = -1, FAULT_END = -2 };

#define FAULT_MOST_KINDS 5

/* Symbol, and the ways in which the call fails. Calls that return an error number or a code of
 * their own are listed with it. */
#define FAULT_CALLS(X)                                                                             \
    X(open64, EMFILE, EACCES, EIO, EINTR)                                                          \
    X(__open64_2, EMFILE, EACCES)                                                                  \
    X(openat64, EMFILE, EIO)                                                                       \
    X(mkstemp64, EACCES, ENOSPC)                                                                   \
    X(close, EIO, EINTR)                                                                           \
    X(fstat64, EIO)                                                                                \
    X(stat64, EIO, EACCES)                                                                         \
    X(lstat64, EIO, EACCES)                                                                        \
    X(access, EACCES)                                                                              \
    X(realpath, EACCES)                                                                            \
    X(read, EIO, EINTR, FAULT_SHORT, FAULT_END)                                                    \
    X(pread64, EIO, EINTR, FAULT_SHORT, FAULT_END)                                                 \
    X(write, EIO, ENOSPC, EINTR, FAULT_SHORT)                                                      \
    X(pwrite64, EIO, ENOSPC, EINTR, FAULT_SHORT)                                                   \
    X(copy_file_range, EIO, ENOSPC, EXDEV, EINTR, FAULT_SHORT)                                     \
    X(fallocate64, ENOSPC, EOPNOTSUPP, EINTR)                                                      \
    X(ftruncate64, EIO, EINTR)                                                                     \
    X(sync_file_range, EIO)                                                                        \
    X(fsync, EIO, ENOSPC, EINTR, EINVAL)                                                           \
    X(flock, EWOULDBLOCK, ENOLCK, EINTR)                                                           \
    X(rename, EIO, ENOSPC)                                                                         \
    X(renameat2, EIO, ENOSYS, EINVAL)                                                              \
    X(link, EIO, EPERM)                                                                            \
    X(unlink, EIO)                                                                                 \
    X(unlinkat, EIO)                                                                               \
    X(mkdir, EIO, ENOSPC)                                                                          \
    X(rmdir, EIO)                                                                                  \
    X(opendir, EMFILE, ENOMEM)                                                                     \
    X(fdopendir, ENOMEM)                                                                           \
    X(readdir64, EIO)                                                                              \
    X(mmap64, ENOMEM, ENODEV)                                                                      \
    X(munmap, ENOMEM)                                                                              \
    X(madvise, EINVAL)                                                                             \
    X(poll, EINTR)                                                                                 \
    X(sched_getaffinity, EINVAL)                                                                   \
    X(pthread_create, EAGAIN)                                                                      \
    X(pthread_mutex_init, ENOMEM)                                                                  \
    X(dlopen, ENOENT)                                                                              \
    X(dlsym, ENOENT)                                                                               \
    X(iconv_open, EINVAL)                                                                          \
    X(newlocale, ENOMEM)                                                                           \
    X(regcomp, REG_ESPACE)                                                                         \
    X(fopen64, EMFILE)                                                                             \
    X(fork, EAGAIN)                                                                                \
    X(socketpair, EMFILE)                                                                          \
    X(send, EPIPE, EINTR, FAULT_SHORT)                                                             \
    X(recv, ECONNRESET, EINTR, FAULT_SHORT, FAULT_END)                                             \
    X(waitid, EINTR, ECHILD)

#define FAULT_NUMBER(symbol, ...) FAULT_##symbol,
enum { FAULT_CALLS(FAULT_NUMBER) FAULT_COUNT };
#undef FAULT_NUMBER

struct fault_call {
    const char *name;
    int kinds[FAULT_MOST_KINDS]; /* ends with 0 */
};
extern const struct fault_call fault_calls[FAULT_COUNT];

/* What a run is to suffer, and what happened: in memory shared by its processes. */
#define FAULT_TRACE ((uint64_t)1 << 16)
struct fault_state {
    /* 'c': call `at` fails in the way of its kinds[kind]; 'k': the process is killed before call
     * `at`; 'w', 'f': from call `at` on all calls that need space, or a descriptor, fail; 'a', 'A':
     * allocation `at` fails, or all from it on; 's': every transfer has at most `at` bytes; 0: none */
    int mode;
    unsigned kind;
    uint64_t at;
    atomic_uint_fast64_t calls, allocations;
    atomic_int struck; /* number of the first call that failed, FAULT_COUNT for
                                               an allocation; -1: none */
    int64_t left_blocks, left_maps, left_files; /* not released at the exit of the first process;
                                                   -1: it was killed */
    /* Mode 'n': number of each call; a hash of its callers, and of those of each allocation, by which
     * the repetitions of a loop are recognised. */
    atomic_uchar trace[FAULT_TRACE];
    atomic_uint callers[FAULT_TRACE], allocation_callers[FAULT_TRACE];
};
/* errno of a call that a full disk (mode 'w') or a full table of descriptors ('f') stops, else 0. */
int fault_shortage(int mode, int call);

extern struct fault_state *fault_state;              /* NULL: nothing is counted */
extern atomic_int_fast64_t fault_blocks, fault_maps; /* of this process, not yet released */

#endif
