/* os_posix.c: the system calls for POSIX, with Linux extensions where they exist. With the other
 * files os_*.c the only one of the library that includes system headers for files and memory. Its names begin with os_, because
 * POSIX reserves posix_ (posix_close is in musl's unistd.h). */
#define _GNU_SOURCE /* for copy_file_range, fallocate, renameat2, sync_file_range, O_NOATIME */
#include "io/os.h"

#include "base/endian.h"
#include "io/os_temporary.h"
#include "io/pages.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <iconv.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>
#ifdef __linux__
#include <link.h>
#include <sched.h>
#endif

/* Bytes of one read or write at most: Linux stops at 2^31 - 4096, others at INT_MAX. */
#define MAX_TRANSFER ((size_t)1 << 30)

/* Bytes of one write at most. For larger writes Linux (6.18, ext4) looks for larger page-cache
 * folios, and once memory is fragmented spends its time on finding them: 4 GB took 1.1 to 1.9 s in
 * writes of 128 KiB, 2.3 to 3.2 s in writes of 256 KiB, 4.7 s in writes of 1 MiB. cp, which took
 * 1.5 to 2.2 s, writes as much at a time as this. */
#define MAX_WRITE ((size_t)128 << 10)

static size_t cap_transfer(size_t n)
{
    return n < MAX_TRANSFER ? n : MAX_TRANSFER;
}

/* ---- opening files ------------------------------------------------------------------------- */

static int open_retrying(const char *path, int flags, mode_t mode)
{
    int fd;

    do
        fd = open(path, flags | O_CLOEXEC, mode);
    while (fd < 0 && errno == EINTR);
    return fd;
}

static int os_open_read(const char *path)
{
    /* O_NONBLOCK: a FIFO without a writer must not block; it changes nothing for regular files. */
    const int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY;

#ifdef O_NOATIME
    /* Only the owner of a file may use O_NOATIME. It saves a seventh of the time of small reads. */
    const int fd = open_retrying(path, flags | O_NOATIME, 0);

    if (fd >= 0 || errno != EPERM)
        return fd;
#endif
    return open_retrying(path, flags, 0);
}

static int os_open_stream(const char *path)
{
    return open(path, O_RDONLY | O_NOCTTY | O_CLOEXEC);
}

static int os_create(const char *path, uint32_t mode)
{
    return open_retrying(path, O_RDWR | O_CREAT | O_EXCL, (mode_t)mode);
}

static int os_open_write(const char *path)
{
    return open_retrying(path, O_RDWR | O_NOFOLLOW | O_NOCTTY, 0);
}

static int os_duplicate(int fd)
{
    return fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

static int os_close(int fd)
{
    /* Never retried: on Linux the descriptor is closed after EINTR, and another thread may have
     * reused its number. */
    return close(fd) == 0 || errno == EINTR ? 0 : -1;
}

/* ---- file types and sizes ------------------------------------------------------------------ */

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

static int os_stat_fd(int fd, struct heft_os_stat *out)
{
    struct stat st;

    return stat_result(fstat(fd, &st), &st, out);
}

static int os_stat_path(const char *path, struct heft_os_stat *out)
{
    struct stat st;

    return stat_result(stat(path, &st), &st, out);
}

static int os_stat_link(const char *path, struct heft_os_stat *out)
{
    struct stat st;

    return stat_result(lstat(path, &st), &st, out);
}

bool heft_os_is_missing(int number)
{
    return number == ENOENT || number == ENOTDIR || number == ELOOP || number == ENAMETOOLONG;
}

/* ---- reading and writing ------------------------------------------------------------------- */

/* Offsets become off_t here; larger ones are refused rather than wrapped. */
static bool offset_fits(uint64_t off, size_t n)
{
    if (off <= INT64_MAX && n <= INT64_MAX - off)
        return true;
    errno = EFBIG;
    return false;
}

/* Waits for data also from a pipe that was made non-blocking. */
static int64_t os_read(int fd, void *dst, size_t n)
{
    for (;;) {
        struct pollfd wanted = {.fd = fd, .events = POLLIN};
        const ssize_t got = read(fd, dst, cap_transfer(n));

        if (got >= 0 || errno != EAGAIN)
            return got;
        if (poll(&wanted, 1, -1) < 0)
            return -1;
    }
}

static int64_t os_pread(int fd, void *dst, size_t n, uint64_t off)
{
    ssize_t got;

    if (!offset_fits(off, n))
        return -1;
    do
        got = pread(fd, dst, cap_transfer(n), (off_t)off);
    while (got < 0 && errno == EINTR);
    return got;
}

static int64_t os_pwrite(int fd, const void *src, size_t n, uint64_t off)
{
    ssize_t put;

    if (!offset_fits(off, n))
        return -1;
    do
        put = pwrite(fd, src, n < MAX_WRITE ? n : MAX_WRITE, (off_t)off);
    while (put < 0 && errno == EINTR);
    return put;
}

static int64_t os_copy_range(int from, uint64_t off, int to, uint64_t at, uint64_t n)
{
#ifdef __linux__
    const size_t most = heft_min_size(MAX_WRITE, n);
    off_t in = (off_t)off, out = (off_t)at;
    ssize_t put;

    if (!offset_fits(off, most) || !offset_fits(at, most))
        return -1;
    do
        put = copy_file_range(from, &in, to, &out, most, 0);
    while (put < 0 && errno == EINTR);
    return put;
#else
    (void)from, (void)off, (void)to, (void)at, (void)n;
    errno = ENOTSUP;
    return -1;
#endif
}

static int resize_file(int fd, uint64_t size)
{
    int result;

    do
        result = ftruncate(fd, (off_t)size);
    while (result != 0 && errno == EINTR);
    return result;
}

static int os_cut(int fd, uint64_t size)
{
    return offset_fits(size, 0) ? resize_file(fd, size) : -1;
}

static int os_lock(int fd)
{
    return flock(fd, LOCK_EX | LOCK_NB);
}

static int os_reserve(int fd, uint64_t size)
{
    if (!offset_fits(size, 0))
        return -1;
#ifdef __linux__
    /* Allocating the space finds a full disk before any work is done, and costs nothing: 1 GB
     * written by two threads and synced took 0.70 s, after ftruncate 0.86 s (ext4, medians).
     * fallocate, not posix_fallocate: if the file system cannot do it, glibc's emulation writes
     * every block. */
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
    return resize_file(fd, size);
}

static int os_flush_range(int fd, uint64_t off, uint64_t n)
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

static int os_sync(int fd)
{
    int result;

    do
        result = fsync(fd);
    while (result != 0 && errno == EINTR);
    return result;
}

/* ---- names and directories ----------------------------------------------------------------- */

static int os_rename(const char *from, const char *to)
{
    return rename(from, to);
}

/* link(2) refuses an existing name. On file systems without hard links the target is checked before
 * the rename. */
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

static int os_rename_new(const char *from, const char *to)
{
#ifdef RENAME_NOREPLACE
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != ENOSYS && errno != EINVAL)
        return -1;
#endif
    return rename_by_link(from, to);
}

static int os_unlink(const char *path)
{
    return unlink(path);
}

static int os_mkdir(const char *path)
{
    return mkdir(path, 0777);
}

static int os_link(const char *from, const char *to)
{
    return link(from, to);
}

static int os_rmdir(const char *path)
{
    return rmdir(path);
}

#define MAX_DEPTH 64 /* levels of directories that are deleted */

static int delete_at(int folder, const char *name, int depth);

static int delete_entries(int fd, int depth)
{
    DIR *const entries = fdopendir(fd);
    const struct dirent *entry;
    int result = 0;

    if (!entries) {
        (void)close(fd);
        return -1;
    }
    while (result == 0 && (entry = readdir(entries)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            result = delete_at(fd, entry->d_name, depth);
    (void)closedir(entries);
    return result;
}

/* Uses descriptors, not paths: nobody can replace a directory by a link meanwhile. */
static int delete_at(int folder, const char *name, int depth)
{
    int fd;

    if (unlinkat(folder, name, 0) == 0)
        return 0;
    if ((errno != EISDIR && errno != EPERM) || depth == 0)
        return -1;
    fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 || delete_entries(fd, depth - 1) != 0 ? -1 : unlinkat(folder, name, AT_REMOVEDIR);
}

static int os_delete_tree(const char *path)
{
    return delete_at(AT_FDCWD, path, MAX_DEPTH);
}

static int os_sync_dir(const char *path)
{
    const int fd = open_retrying(path, O_RDONLY | O_DIRECTORY, 0);
    int result, number;

    if (fd < 0)
        return -1;
    result = os_sync(fd);
    number = errno;
    (void)close(fd);
    /* Some file systems cannot sync directories and report it; this is ignored. */
    if (result != 0 && (number == EINVAL || number == EROFS || number == ENOTSUP))
        return 0;
    errno = number;
    return result;
}

static int os_hold_dir(const char *path)
{
    const int fd = open_retrying(path, O_RDONLY | O_DIRECTORY, 0);
    int result, number;

    if (fd < 0)
        return -1;
    do
        result = flock(fd, LOCK_EX);
    while (result != 0 && errno == EINTR);
    if (result == 0)
        return fd;
    number = errno;
    (void)close(fd);
    errno = number;
    return -1;
}

static int os_list_dir(const char *path, bool (*each)(void *ctx, const char *name), void *ctx)
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

/* ---- mapping memory ------------------------------------------------------------------------ */

static void *os_map(int fd, uint64_t off, size_t n, bool writable)
{
    const int rights = writable ? PROT_READ | PROT_WRITE : PROT_READ;
    void *p;

    if (!offset_fits(off, n))
        return NULL;
    p = mmap(NULL, n, rights, writable ? MAP_PRIVATE | MAP_NORESERVE : MAP_PRIVATE, fd, (off_t)off);
    return p == MAP_FAILED ? NULL : p;
}

static int os_unmap(void *p, size_t n)
{
    return munmap(p, n);
}

/* ---- loading modules ------------------------------------------------------------------------ */

static const void *os_module(const char *path, const char *symbol)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    return handle ? dlsym(handle, symbol) : NULL;
}

/* ---- character sets ------------------------------------------------------------------------- */

/* The character of a single byte; 0 if it has none. The second call of iconv flushes a letter that
 * a charset with combining marks (cp1255) holds back. */
static uint32_t convert_byte(iconv_t cd, uint8_t byte)
{
    char in = (char)byte, out[16], *from = &in, *to = out;
    size_t n = 1, room = sizeof out;

    (void)iconv(cd, NULL, NULL, NULL, NULL);
    if (iconv(cd, &from, &n, &to, &room) != 0 || iconv(cd, NULL, NULL, &to, &room) != 0)
        return 0;
    return room == sizeof out - 4 ? heft_le32((const uint8_t *)out) : 0;
}

static int os_charset(const char *name, uint32_t characters[256])
{
    const iconv_t cd = iconv_open("UCS-4LE", name);

    if (cd == (iconv_t)-1)
        return -1;
    for (unsigned byte = 0; byte < 256; byte++)
        characters[byte] = convert_byte(cd, (uint8_t)byte);
    return iconv_close(cd);
}

const struct heft_os heft_os_posix = {
    .open_read = os_open_read,
    .open_stream = os_open_stream,
    .create = os_create,
    .open_write = os_open_write,
    .temp = heft_os_temporary,
    .duplicate = os_duplicate,
    .close = os_close,
    .stat_fd = os_stat_fd,
    .stat_path = os_stat_path,
    .stat_link = os_stat_link,
    .read = os_read,
    .pread = os_pread,
    .pwrite = os_pwrite,
    .copy_range = os_copy_range,
    .reserve = os_reserve,
    .flush_range = os_flush_range,
    .sync = os_sync,
    .cut = os_cut,
    .lock = os_lock,
    .rename = os_rename,
    .rename_new = os_rename_new,
    .link = os_link,
    .unlink = os_unlink,
    .mkdir = os_mkdir,
    .rmdir = os_rmdir,
    .delete_tree = os_delete_tree,
    .sync_dir = os_sync_dir,
    .hold_dir = os_hold_dir,
    .map = os_map,
    .unmap = os_unmap,
    .list_dir = os_list_dir,
    .module = os_module,
    .charset = os_charset,
};

const struct heft_os *heft_os = &heft_os_posix;

/* ---- properties of the machine and the process --------------------------------------------- */

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

/* FNV-1a of the host's name, 31 bits; 0 if it has none. */
HEFT_WRAPS static uint64_t host_mark(void)
{
    struct utsname names;
    uint32_t mark = 2166136261u;

    if (uname(&names) != 0 || !*names.nodename)
        return 0;
    for (const char *at = names.nodename; *at; at++)
        mark = (mark ^ (uint8_t)*at) * 16777619u;
    return mark & INT32_MAX;
}

uint64_t heft_os_process(void)
{
    return host_mark() << 32 | (uint64_t)getpid();
}

bool heft_os_is_alive(uint64_t process)
{
    const uint64_t host = process >> 32, number = process & UINT32_MAX;

    if (host != 0 && host != host_mark())
        return true;
    return number == 0 || number > INT_MAX || kill((pid_t)number, 0) == 0 || errno != ESRCH;
}

#ifdef __linux__
struct own_object {
    uintptr_t address;
    /* path that contains heft; "" if heft is part of the program itself, NULL if not found */
    const char *path;
    bool is_first;
};

/* The first object in the list is the program, whatever its argv[0] is. */
static int find_own(struct dl_phdr_info *info, size_t size, void *ctx)
{
    struct own_object *own = ctx;
    const bool is_program = own->is_first;

    (void)size;
    own->is_first = false;
    for (unsigned i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD &&
            own->address - info->dlpi_addr - info->dlpi_phdr[i].p_vaddr <
                info->dlpi_phdr[i].p_memsz) {
            own->path = is_program ? "" : info->dlpi_name;
            return 1;
        }
    return 0;
}

static const char *loaded_from(void)
{
    struct own_object own = {(uintptr_t)&heft_os_posix, NULL, true};

    (void)dl_iterate_phdr(find_own, &own);
    return own.path && own.path[0] == '\0' ? "/proc/self/exe" : own.path;
}
#else
static const char *loaded_from(void)
{
    Dl_info info;

    return dladdr(&heft_os_posix, &info) ? info.dli_fname : NULL;
}
#endif

bool heft_os_here(char *out, size_t n)
{
    return getcwd(out, n) != NULL;
}

/* A relative path could refer to a directory that is no longer the current one. */
void heft_os_home(char *out, size_t n)
{
    const char *path = loaded_from();
    char *whole = path && path[0] == '/' ? realpath(path, NULL) : NULL;
    char *slash = whole ? strrchr(whole, '/') : NULL;

    out[0] = '\0';
    if (slash && (size_t)(slash - whole) + 1 < n) {
        memcpy(out, whole, (size_t)(slash - whole) + 1);
        out[slash - whole + 1] = '\0';
    }
    free(whole);
}

const char *heft_os_variable(const char *name)
{
#ifdef __linux__
    return secure_getenv(name);
#else
    return getuid() == geteuid() && getgid() == getegid() ? getenv(name) : NULL;
#endif
}

bool heft_os_is_private(const char *path, const char *like)
{
    struct stat st, own;

    return stat(path, &st) == 0 && stat(like, &own) == 0 &&
           (st.st_uid == 0 || st.st_uid == geteuid() || st.st_uid == own.st_uid) &&
           !(st.st_mode & S_IWOTH);
}
