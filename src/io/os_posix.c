/* os_posix.c: the system calls, for POSIX with what Linux adds where it is there. The only file of
 * the library that includes system headers for files and memory. */
#define _GNU_SOURCE /* copy_file_range, fallocate, renameat2, sync_file_range, O_NOATIME, O_TMPFILE */
#include "io/os.h"

#include "io/pages.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __linux__
#include <link.h>
#include <sched.h>
#endif

/* What one call may move: Linux stops at 2^31 - 4096, others at INT_MAX. */
#define MAX_TRANSFER ((size_t)1 << 30)

/* Written at once. For larger writes Linux (6.18, ext4) looks for larger page-cache folios, and once
 * memory is fragmented spends its time on finding them: 4 GB took 1.1 to 1.9 s in writes of 128 KiB,
 * 2.3 to 3.2 s in writes of 256 KiB, 4.7 s in writes of 1 MiB; cp, which took 1.5 to 2.2 s, writes
 * as much as this. */
#define MAX_WRITE ((size_t)128 << 10)

static size_t transfer(size_t n)
{
    return n < MAX_TRANSFER ? n : MAX_TRANSFER;
}

/* ---- descriptors --------------------------------------------------------------------------- */

static int open_retrying(const char *path, int flags, mode_t mode)
{
    int fd;

    do
        fd = open(path, flags | O_CLOEXEC, mode);
    while (fd < 0 && errno == EINTR);
    return fd;
}

static int posix_open_read(const char *path)
{
    /* O_NONBLOCK: a FIFO without a writer must not block; it changes nothing for regular files. */
    const int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY;

#ifdef O_NOATIME
    /* Only a file's owner may ask for it. It saves a seventh of the time of small reads. */
    const int fd = open_retrying(path, flags | O_NOATIME, 0);

    if (fd >= 0 || errno != EPERM)
        return fd;
#endif
    return open_retrying(path, flags, 0);
}

static int posix_open_stream(const char *path)
{
    return open(path, O_RDONLY | O_NOCTTY | O_CLOEXEC);
}

static int posix_create(const char *path, uint32_t mode)
{
    return open_retrying(path, O_RDWR | O_CREAT | O_EXCL, (mode_t)mode);
}

static int posix_open_write(const char *path)
{
    return open_retrying(path, O_RDWR | O_NOFOLLOW | O_NOCTTY, 0);
}

static int temp_named(const char *folder)
{
    char path[4096];
    const int n = snprintf(path, sizeof path, "%s/heft-XXXXXX", folder);
    int fd;

    if (n < 0 || (size_t)n >= sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    fd = mkstemp(path);
    if (fd < 0)
        return -1;
    (void)unlink(path);
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    return fd;
}

static int posix_temp(void)
{
    const char *folder = getenv("TMPDIR");

    if (!folder || folder[0] == '\0')
        folder = "/tmp";
#ifdef O_TMPFILE
    const int fd = open_retrying(folder, O_RDWR | O_TMPFILE | O_EXCL, 0600);
    if (fd >= 0)
        return fd;
#endif
    return temp_named(folder);
}

static int posix_close(int fd)
{
    /* Never retried: after EINTR the descriptor is gone on Linux, and may be another's by now. */
    return close(fd) == 0 || errno == EINTR ? 0 : -1;
}

/* ---- what stands there --------------------------------------------------------------------- */

static int stat_result(int result, const struct stat *st, struct heft_os_stat *out)
{
    if (result != 0)
        return -1;
    *out = (struct heft_os_stat){
        .size = st->st_size > 0 ? (uint64_t)st->st_size : 0,
        .device = (uint64_t)st->st_dev,
        .inode = (uint64_t)st->st_ino,
        .changed = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec,
        .mode = (uint32_t)(st->st_mode & 0777),
        .is_file = S_ISREG(st->st_mode),
        .is_dir = S_ISDIR(st->st_mode),
        .is_link = S_ISLNK(st->st_mode),
    };
    return 0;
}

static int posix_stat_fd(int fd, struct heft_os_stat *out)
{
    struct stat st;

    return stat_result(fstat(fd, &st), &st, out);
}

static int posix_stat_path(const char *path, struct heft_os_stat *out)
{
    struct stat st;

    return stat_result(stat(path, &st), &st, out);
}

static int posix_stat_link(const char *path, struct heft_os_stat *out)
{
    struct stat st;

    return stat_result(lstat(path, &st), &st, out);
}

/* ---- bytes --------------------------------------------------------------------------------- */

/* Offsets are off_t at the border; the largest is refused rather than wrapped. */
static bool offset_fits(uint64_t off, size_t n)
{
    if (off <= INT64_MAX && n <= INT64_MAX - off)
        return true;
    errno = EFBIG;
    return false;
}

/* A pipe that somebody made non-blocking is waited for. */
static int64_t posix_read(int fd, void *dst, size_t n)
{
    for (;;) {
        struct pollfd wanted = {.fd = fd, .events = POLLIN};
        const ssize_t got = read(fd, dst, transfer(n));

        if (got >= 0 || errno != EAGAIN)
            return got;
        if (poll(&wanted, 1, -1) < 0)
            return -1;
    }
}

static int64_t posix_pread(int fd, void *dst, size_t n, uint64_t off)
{
    ssize_t got;

    if (!offset_fits(off, n))
        return -1;
    do
        got = pread(fd, dst, transfer(n), (off_t)off);
    while (got < 0 && errno == EINTR);
    return got;
}

static int64_t posix_pwrite(int fd, const void *src, size_t n, uint64_t off)
{
    ssize_t put;

    if (!offset_fits(off, n))
        return -1;
    do
        put = pwrite(fd, src, n < MAX_WRITE ? n : MAX_WRITE, (off_t)off);
    while (put < 0 && errno == EINTR);
    return put;
}

static int64_t posix_copy_range(int from, uint64_t off, int to, uint64_t at, uint64_t n)
{
#ifdef __linux__
    off_t in = (off_t)off, out = (off_t)at;
    ssize_t put;

    n = n < MAX_WRITE ? n : MAX_WRITE;
    if (!offset_fits(off, n) || !offset_fits(at, n))
        return -1;
    do
        put = copy_file_range(from, &in, to, &out, (size_t)n, 0);
    while (put < 0 && errno == EINTR);
    return put;
#else
    (void)from, (void)off, (void)to, (void)at, (void)n;
    errno = ENOTSUP;
    return -1;
#endif
}

static int resize(int fd, uint64_t size)
{
    int result;

    do
        result = ftruncate(fd, (off_t)size);
    while (result != 0 && errno == EINTR);
    return result;
}

static int posix_cut(int fd, uint64_t size)
{
    return offset_fits(size, 0) ? resize(fd, size) : -1;
}

static int posix_lock(int fd)
{
    return flock(fd, LOCK_EX | LOCK_NB);
}

static int posix_reserve(int fd, uint64_t size)
{
    if (!offset_fits(size, 0))
        return -1;
#ifdef __linux__
    /* So a full disk is found before any work is done; and it costs nothing: 1 GB written by two
     * threads and synced took 0.70 s, after ftruncate 0.86 s (ext4, medians). fallocate, not
     * posix_fallocate: where the file system cannot, glibc's emulation writes every block. */
    int result = 0;

    if (size > 0)
        do
            result = fallocate(fd, 0, 0, (off_t)size);
        while (result != 0 && errno == EINTR);
    if (result == 0)
        return 0;
    if (errno != EOPNOTSUPP && errno != ENOSYS && errno != EINVAL && errno != EPERM)
        return -1;
#endif
    return resize(fd, size);
}

static int posix_flush_range(int fd, uint64_t off, uint64_t n)
{
#ifdef __linux__
    if (!offset_fits(off, 0) || n > INT64_MAX - off)
        return -1;
    return sync_file_range(fd, (off_t)off, (off_t)n, SYNC_FILE_RANGE_WRITE);
#else
    (void)fd, (void)off, (void)n;
    return 0;
#endif
}

static int posix_sync(int fd)
{
    int result;

    do
        result = fsync(fd);
    while (result != 0 && errno == EINTR);
    return result;
}

/* ---- names --------------------------------------------------------------------------------- */

static int posix_rename(const char *from, const char *to)
{
    return rename(from, to);
}

/* A hard link refuses an existing name; where there are no hard links a look beforehand must do. */
static int rename_by_link(const char *from, const char *to)
{
    struct stat st;

    if (link(from, to) == 0)
        return unlink(from);
    if (errno == EEXIST)
        return -1;
    if (lstat(to, &st) == 0) {
        errno = EEXIST;
        return -1;
    }
    return rename(from, to);
}

static int posix_rename_new(const char *from, const char *to)
{
#ifdef RENAME_NOREPLACE
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != ENOSYS && errno != EINVAL)
        return -1;
#endif
    return rename_by_link(from, to);
}

static int posix_unlink(const char *path)
{
    return unlink(path);
}

static int posix_mkdir(const char *path)
{
    return mkdir(path, 0777);
}

static int posix_link(const char *from, const char *to)
{
    return link(from, to);
}

static int posix_rmdir(const char *path)
{
    return rmdir(path);
}

static int posix_sync_dir(const char *path)
{
    const int fd = open_retrying(path, O_RDONLY | O_DIRECTORY, 0);
    int result, number;

    if (fd < 0)
        return -1;
    result = posix_sync(fd);
    number = errno;
    (void)close(fd);
    /* Some file systems cannot sync folders, and say so: nothing more can be done there. */
    if (result != 0 && (number == EINVAL || number == EROFS || number == ENOTSUP))
        return 0;
    errno = number;
    return result;
}

static int posix_list_dir(const char *path, bool (*each)(void *ctx, const char *name), void *ctx)
{
    DIR *folder = opendir(path);
    const struct dirent *entry = NULL;
    int number = 0;
    bool more = true;

    if (!folder)
        return -1;
    while (more) {
        errno = 0;
        entry = readdir(folder);
        number = errno;
        if (!entry)
            break;
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            more = each(ctx, entry->d_name);
    }
    (void)closedir(folder);
    errno = entry ? 0 : number;
    return errno ? -1 : 0;
}

/* ---- memory -------------------------------------------------------------------------------- */

static void *posix_map(int fd, uint64_t off, size_t n)
{
    void *p;

    if (!offset_fits(off, n))
        return NULL;
    p = mmap(NULL, n, PROT_READ, MAP_PRIVATE, fd, (off_t)off);
    return p == MAP_FAILED ? NULL : p;
}

static int posix_unmap(void *p, size_t n)
{
    return munmap(p, n);
}

/* ---- modules -------------------------------------------------------------------------------- */

static const void *posix_module(const char *path, const char *symbol, bool *exists)
{
    void *handle;

    *exists = access(path, F_OK) == 0;
    handle = *exists ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    return handle ? dlsym(handle, symbol) : NULL;
}

const struct heft_os heft_os_posix = {
    .open_read = posix_open_read,
    .open_stream = posix_open_stream,
    .create = posix_create,
    .open_write = posix_open_write,
    .temp = posix_temp,
    .close = posix_close,
    .stat_fd = posix_stat_fd,
    .stat_path = posix_stat_path,
    .stat_link = posix_stat_link,
    .read = posix_read,
    .pread = posix_pread,
    .pwrite = posix_pwrite,
    .copy_range = posix_copy_range,
    .reserve = posix_reserve,
    .flush_range = posix_flush_range,
    .sync = posix_sync,
    .cut = posix_cut,
    .lock = posix_lock,
    .rename = posix_rename,
    .rename_new = posix_rename_new,
    .link = posix_link,
    .unlink = posix_unlink,
    .mkdir = posix_mkdir,
    .rmdir = posix_rmdir,
    .sync_dir = posix_sync_dir,
    .map = posix_map,
    .unmap = posix_unmap,
    .list_dir = posix_list_dir,
    .module = posix_module,
};

const struct heft_os *heft_os = &heft_os_posix;

/* ---- the machine --------------------------------------------------------------------------- */

unsigned heft_os_cores(void)
{
#ifdef __linux__
    cpu_set_t allowed;

    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0 && CPU_COUNT(&allowed) > 0)
        return (unsigned)CPU_COUNT(&allowed);
#endif
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores > 0 ? (unsigned)cores : 1;
}

size_t heft_os_page(void)
{
    const long page = sysconf(_SC_PAGESIZE);

    return page > 0 ? (size_t)page : 4096;
}

void heft_pages_large(void *p, size_t n)
{
#ifdef MADV_HUGEPAGE
    const uintptr_t page = heft_os_page(), begin = ((uintptr_t)p + page - 1) & ~(page - 1);
    const int number = errno;

    if (n < HEFT_PAGE_LARGE)
        return;
    (void)madvise((void *)begin, ((uintptr_t)p + n - begin) & ~(page - 1), MADV_HUGEPAGE);
    errno = number;
#else
    (void)p, (void)n;
#endif
}

unsigned long heft_os_process(void)
{
    return (unsigned long)getpid();
}

/* The path of what the linker has loaded this code from. */
static bool own_path(char *out, size_t n)
{
    Dl_info info;
    const char *path;
    ssize_t got;

#ifdef __linux__
    struct link_map *map = NULL;

    if (!dladdr1(&heft_os_posix, &info, (void **)&map, RTLD_DL_LINKMAP) || !map)
        return false;
    path = map->l_name;
    if (path[0] == '\0') { /* the program itself: its argv[0] may say anything */
        got = readlink("/proc/self/exe", out, n - 1);
        out[got > 0 ? got : 0] = '\0';
        return got > 0 && (size_t)got < n - 1;
    }
#else
    if (!dladdr(&heft_os_posix, &info))
        return false;
    path = info.dli_fname;
#endif
    got = snprintf(out, n, "%s", path);
    return got > 0 && (size_t)got < n;
}

void heft_os_home(char *out, size_t n)
{
    char *slash = own_path(out, n) ? strrchr(out, '/') : NULL;

    out[slash ? slash + 1 - out : 0] = '\0';
}
