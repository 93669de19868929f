/* os.h: the only system calls of the library, through a table that tests may replace to make the
 * N-th call fail. os_posix.c fills it; nothing else includes system headers for files, memory or
 * threads. */
#ifndef HEFT_OS_H
#define HEFT_OS_H

#include "base/base.h"

struct heft_os_stat {
    uint64_t size;
    uint64_t device, inode;
    int64_t changed; /* nanoseconds since 1970: when its bytes were last written */
    uint32_t mode;   /* permission bits */
    bool is_file, is_dir;
    bool is_link; /* only of stat_link */
};

/* All return -1 with errno, or NULL for map, as the calls they are named after. EINTR is retried
 * inside, but where a call may wait for ever: open_stream and read. */
struct heft_os {
    int (*open_read)(const char *path);
    int (*open_stream)(const char *path);           /* waits for the writer of a FIFO */
    int (*create)(const char *path, uint32_t mode); /* O_EXCL | O_RDWR */
    int (*open_write)(const char *path);            /* an existing file, O_RDWR */
    int (*temp)(void);                              /* an unlinked file in TMPDIR */
    int (*close)(int fd);
    int (*stat_fd)(int fd, struct heft_os_stat *out);
    int (*stat_path)(const char *path, struct heft_os_stat *out);
    int (*stat_link)(const char *path, struct heft_os_stat *out); /* of a link itself */
    int64_t (*read)(int fd, void *dst, size_t n); /* what is there; waits for some */
    int64_t (*pread)(int fd, void *dst, size_t n, uint64_t off);
    int64_t (*pwrite)(int fd, const void *src, size_t n, uint64_t off);
    /* Within the kernel, which shares the blocks where the file system can; 0: `from` ends. */
    int64_t (*copy_range)(int from, uint64_t off, int to, uint64_t at, uint64_t n);
    int (*reserve)(int fd, uint64_t size); /* size the file and, where it can be known, the space */
    int (*flush_range)(int fd, uint64_t off, uint64_t n); /* start writing back, do not wait */
    int (*sync)(int fd);
    int (*cut)(int fd, uint64_t size); /* what is behind so many bytes goes */
    int (*lock)(int fd);               /* until it is closed; EWOULDBLOCK where another has it */
    int (*rename)(const char *from, const char *to);
    int (*rename_new)(const char *from, const char *to); /* fails with EEXIST where `to` exists */
    int (*link)(const char *from, const char *to);       /* a hard link, never over what is there */
    int (*unlink)(const char *path);
    int (*mkdir)(const char *path);
    int (*rmdir)(const char *path);
    int (*delete_tree)(
        const char *path); /* a file, or a folder with its contents; no link is followed */
    int (*sync_dir)(const char *path);
    int (*hold_dir)(
        const char *path); /* a descriptor with a lock, waited for, until it is closed */
    void *(*map)(int fd, uint64_t off,
                 size_t n); /* read-only, private; off is a multiple of the page */
    int (*unmap)(void *p, size_t n);
    /* Calls each(ctx, name) for every entry but . and ..; stops when it returns false. */
    int (*list_dir)(const char *path, bool (*each)(void *ctx, const char *name), void *ctx);
    /* The address of a symbol of a shared object, which then stays for good; NULL where it cannot be
     * linked. */
    const void *(*module)(const char *path, const char *symbol);
    /* The character that iconv(3) gives for each byte of a single-byte charset; 0 for none. EINVAL: the
     * C library has no such charset (glibc: or its gconv module is not installed). */
    int (*charset)(const char *name, uint32_t characters[256]);
};

extern const struct heft_os
    *heft_os; /* never NULL; replaced only by tests, before any thread starts */
extern const struct heft_os heft_os_posix;

/* Answers that do not fail, so not in the table. */
unsigned heft_os_cores(void);
unsigned long heft_os_process(void); /* a number that no other living process has */
bool heft_os_is_alive(uint64_t process);
size_t heft_os_page(void);
/* The folder of the program or library that this code is part of, without links and with a slash at
 * its end; "" where that cannot be told. */
void heft_os_home(char *out, size_t n);
/* A variable of the environment; NULL where it is not set, or the program has more rights than who
 * runs it (set-user-ID). */
const char *heft_os_variable(const char *name);
/* What stands under a path belongs to root, to this user or to the owner of `like`, and not everybody
 * may write to it. */
bool heft_os_is_private(const char *path, const char *like);

#endif
