/* os.h: the system calls of the library, in a table in which tests replace a function to make its
 * n-th call fail. os_posix.c fills the table; no other file includes system headers for files,
 * memory or threads. */
#ifndef HEFT_OS_H
#define HEFT_OS_H

#include "base/base.h"

struct heft_os_stat {
    uint64_t size;
    uint64_t device, inode;
    int64_t changed; /* time of the last change of the contents, in nanoseconds since 1970 */
    uint32_t mode;   /* permission bits */
    bool is_file, is_dir;
    bool is_link; /* set by stat_link only */
};

/* All return -1 with errno, or NULL for map, as the calls they are named after. EINTR is retried,
 * except in open_stream and read, which may wait for ever. */
struct heft_os {
    int (*open_read)(const char *path);
    int (*open_stream)(const char *path); /* like open_read, but waits for the writer of a FIFO */
    int (*create)(const char *path, uint32_t mode); /* a new file: O_EXCL | O_RDWR */
    int (*open_write)(const char *path);            /* an existing file: O_RDWR */
    int (*temp)(void);                              /* an unlinked temporary file in TMPDIR */
    int (*duplicate)(int fd); /* closed in other programs, as all descriptors of heft */
    int (*close)(int fd);
    int (*stat_fd)(int fd, struct heft_os_stat *out);
    int (*stat_path)(const char *path, struct heft_os_stat *out);
    int (*stat_link)(const char *path, struct heft_os_stat *out); /* does not follow a link */
    int64_t (*read)(int fd, void *dst, size_t n); /* returns what is available; waits if nothing
                                                     is */
    int64_t (*pread)(int fd, void *dst, size_t n, uint64_t off);
    int64_t (*pwrite)(int fd, const void *src, size_t n, uint64_t off);
    /* Copies in the kernel, which shares the blocks if the file system can; 0 at the end of
     * `from`. */
    int64_t (*copy_range)(int from, uint64_t off, int to, uint64_t at, uint64_t n);
    int (*reserve)(int fd, uint64_t size); /* sets the size of the file and, if the file system
                                              can, allocates the space */
    int (*flush_range)(int fd, uint64_t off, uint64_t n); /* starts writing back without waiting
                                                             for it */
    int (*sync)(int fd);
    int (*cut)(int fd, uint64_t size); /* truncates to this size */
    int (*lock)(int fd);               /* held until the descriptor is closed; EWOULDBLOCK if
                                          another process holds it */
    int (*rename)(const char *from, const char *to);
    int (*rename_new)(const char *from, const char *to); /* fails with EEXIST if `to` exists */
    int (*link)(const char *from, const char *to);       /* a hard link; never replaces a file */
    int (*unlink)(const char *path);
    int (*mkdir)(const char *path);
    int (*rmdir)(const char *path);
    int (*delete_tree)(
        const char *path); /* a file, or a directory with its contents; does not follow links */
    int (*sync_dir)(const char *path);
    int (*hold_dir)(
        const char *path); /* waits for the lock and returns a descriptor that holds it until
                              closed */
    /* Private; off is a multiple of the page size. Writable: pages are copied when they are written
     * to, and no memory is reserved for them before. */
    void *(*map)(int fd, uint64_t off, size_t n, bool writable);
    int (*unmap)(void *p, size_t n);
    /* Calls each(ctx, name) for every entry except . and ..; stops when it returns false. */
    int (*list_dir)(const char *path, bool (*each)(void *ctx, const char *name), void *ctx);
    /* Address of a symbol of a shared object, which stays loaded; NULL if it cannot be loaded. */
    const void *(*module)(const char *path, const char *symbol);
    /* Sets the character that iconv(3) gives for each byte of a single-byte charset; 0 for none.
     * EINVAL: the C library has no such charset (glibc: or its gconv module is not installed). */
    int (*charset)(const char *name, uint32_t characters[256]);
};

extern const struct heft_os
    *heft_os; /* never NULL; only tests replace it, before threads are started */
extern const struct heft_os heft_os_posix;

/* Functions that cannot fail, and therefore are not in the table. */
/* Whether an errno of stat means that there is no such file. Any other means that this is unknown:
 * a failing disk must not look like an absent file. */
bool heft_os_is_missing(int number);
unsigned heft_os_cores(void);
/* Process ID, and above it 31 bits for the name of the host: machines that share a directory must not
 * take each other's processes for dead ones. */
uint64_t heft_os_process(void);
/* Whether such a process may exist: true for those of other hosts. */
bool heft_os_is_alive(uint64_t process);
size_t heft_os_page(void);
/* Directory of the program or library that this code is part of, with links resolved and a slash at
 * its end; "" if unknown. */
void heft_os_home(char *out, size_t n);
/* Path of the current directory; false with errno if it is longer than n, or has been deleted. */
bool heft_os_here(char *out, size_t n);
/* Value of an environment variable; NULL if it is not set, or if the process has more rights than
 * the user who runs it (set-user-ID). */
const char *heft_os_variable(const char *name);
/* True if the file or directory belongs to root, to this user or to the owner of `like`, and is not
 * writable by everybody. */
bool heft_os_is_private(const char *path, const char *like);

#endif
