/* fault_os.c: see fault_os.h. Each entry counts the call, then fails or forwards it to the real
 * one. */
#include "fault_os.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>

#include "io/os.h"

static atomic_uint_fast64_t calls, failing, longest;
static atomic_int_fast64_t held;
static _Atomic(const char *) struck;
static atomic_int number_of_failure;

/* Counts a call; returns true if it is the one to fail. */
static bool strikes(const char *name)
{
    if (atomic_fetch_add(&calls, 1) + 1 != atomic_load(&failing))
        return false;
    atomic_store(&struck, name);
    if (atomic_load(&number_of_failure) == HEFT_FAULT_KILL)
        (void)raise(SIGKILL);
    errno = atomic_load(&number_of_failure);
    return true;
}

static int hold(int fd)
{
    if (fd >= 0)
        atomic_fetch_add(&held, 1);
    return fd;
}

static size_t shorten(size_t n)
{
    const uint64_t most = atomic_load(&longest);

    return most && n > most ? (size_t)most : n;
}

static int fault_open_read(const char *path)
{
    return strikes("open_read") ? -1 : hold(heft_os_posix.open_read(path));
}

static int fault_open_stream(const char *path)
{
    return strikes("open_stream") ? -1 : hold(heft_os_posix.open_stream(path));
}

static int fault_create(const char *path, uint32_t mode)
{
    return strikes("create") ? -1 : hold(heft_os_posix.create(path, mode));
}

static int fault_open_write(const char *path)
{
    return strikes("open_write") ? -1 : hold(heft_os_posix.open_write(path));
}

static int fault_temp(void)
{
    return strikes("temp") ? -1 : hold(heft_os_posix.temp());
}

static int fault_duplicate(int fd)
{
    return strikes("duplicate") ? -1 : hold(heft_os_posix.duplicate(fd));
}

static int fault_close(int fd)
{
    const bool fails = strikes("close");
    const int number = errno;
    const int result = heft_os_posix.close(fd);

    atomic_fetch_sub(&held, 1);
    if (!fails)
        return result;
    errno = number;
    return -1;
}

static int fault_stat_fd(int fd, struct heft_os_stat *out)
{
    return strikes("stat_fd") ? -1 : heft_os_posix.stat_fd(fd, out);
}

static int fault_stat_path(const char *path, struct heft_os_stat *out)
{
    return strikes("stat_path") ? -1 : heft_os_posix.stat_path(path, out);
}

static int fault_stat_link(const char *path, struct heft_os_stat *out)
{
    return strikes("stat_link") ? -1 : heft_os_posix.stat_link(path, out);
}

static int64_t fault_read(int fd, void *dst, size_t n)
{
    return strikes("read") ? -1 : heft_os_posix.read(fd, dst, shorten(n));
}

static int64_t fault_pread(int fd, void *dst, size_t n, uint64_t off)
{
    return strikes("pread") ? -1 : heft_os_posix.pread(fd, dst, shorten(n), off);
}

static int64_t fault_pwrite(int fd, const void *src, size_t n, uint64_t off)
{
    return strikes("pwrite") ? -1 : heft_os_posix.pwrite(fd, src, shorten(n), off);
}

static int64_t fault_copy_range(int from, uint64_t off, int to, uint64_t at, uint64_t n)
{
    return strikes("copy_range")
               ? -1
               : heft_os_posix.copy_range(from, off, to, at, shorten(heft_min_size(SIZE_MAX, n)));
}

static int fault_reserve(int fd, uint64_t size)
{
    return strikes("reserve") ? -1 : heft_os_posix.reserve(fd, size);
}

static int fault_flush_range(int fd, uint64_t off, uint64_t n)
{
    return strikes("flush_range") ? -1 : heft_os_posix.flush_range(fd, off, n);
}

static int fault_sync(int fd)
{
    return strikes("sync") ? -1 : heft_os_posix.sync(fd);
}

static int fault_cut(int fd, uint64_t size)
{
    return strikes("cut") ? -1 : heft_os_posix.cut(fd, size);
}

static int fault_lock(int fd)
{
    return strikes("lock") ? -1 : heft_os_posix.lock(fd);
}

static int fault_rename(const char *from, const char *to)
{
    return strikes("rename") ? -1 : heft_os_posix.rename(from, to);
}

static int fault_rename_new(const char *from, const char *to)
{
    return strikes("rename_new") ? -1 : heft_os_posix.rename_new(from, to);
}

static int fault_unlink(const char *path)
{
    return strikes("unlink") ? -1 : heft_os_posix.unlink(path);
}

static int fault_link(const char *from, const char *to)
{
    return strikes("link") ? -1 : heft_os_posix.link(from, to);
}

static int fault_mkdir(const char *path)
{
    return strikes("mkdir") ? -1 : heft_os_posix.mkdir(path);
}

static int fault_rmdir(const char *path)
{
    return strikes("rmdir") ? -1 : heft_os_posix.rmdir(path);
}

static int fault_delete_tree(const char *path)
{
    return strikes("delete_tree") ? -1 : heft_os_posix.delete_tree(path);
}

static int fault_hold_dir(const char *path)
{
    return strikes("hold_dir") ? -1 : hold(heft_os_posix.hold_dir(path));
}

static int fault_sync_dir(const char *path)
{
    return strikes("sync_dir") ? -1 : heft_os_posix.sync_dir(path);
}

static void *fault_map(int fd, uint64_t off, size_t n, bool writable)
{
    void *p = strikes("map") ? NULL : heft_os_posix.map(fd, off, n, writable);

    if (p)
        atomic_fetch_add(&held, 1);
    return p;
}

static int fault_unmap(void *p, size_t n)
{
    const bool fails = strikes("unmap");
    const int result = heft_os_posix.unmap(p, n);

    atomic_fetch_sub(&held, 1);
    return fails ? -1 : result;
}

static int fault_list_dir(const char *path, bool (*each)(void *ctx, const char *name), void *ctx)
{
    return strikes("list_dir") ? -1 : heft_os_posix.list_dir(path, each, ctx);
}

static const void *fault_module(const char *path, const char *symbol)
{
    return strikes("module") ? NULL : heft_os_posix.module(path, symbol);
}

static int fault_charset(const char *name, uint32_t characters[256])
{
    return strikes("charset") ? -1 : heft_os_posix.charset(name, characters);
}

static const struct heft_os table = {
    .open_read = fault_open_read,
    .open_stream = fault_open_stream,
    .create = fault_create,
    .open_write = fault_open_write,
    .temp = fault_temp,
    .duplicate = fault_duplicate,
    .close = fault_close,
    .stat_fd = fault_stat_fd,
    .stat_path = fault_stat_path,
    .stat_link = fault_stat_link,
    .read = fault_read,
    .pread = fault_pread,
    .pwrite = fault_pwrite,
    .copy_range = fault_copy_range,
    .reserve = fault_reserve,
    .flush_range = fault_flush_range,
    .sync = fault_sync,
    .cut = fault_cut,
    .lock = fault_lock,
    .rename = fault_rename,
    .rename_new = fault_rename_new,
    .unlink = fault_unlink,
    .link = fault_link,
    .mkdir = fault_mkdir,
    .rmdir = fault_rmdir,
    .delete_tree = fault_delete_tree,
    .sync_dir = fault_sync_dir,
    .hold_dir = fault_hold_dir,
    .map = fault_map,
    .unmap = fault_unmap,
    .list_dir = fault_list_dir,
    .module = fault_module,
    .charset = fault_charset,
};

void heft_fault_os_install(uint64_t fail_at, int number)
{
    atomic_store(&calls, 0);
    atomic_store(&failing, fail_at);
    atomic_store(&longest, 0);
    atomic_store(&held, 0);
    atomic_store(&struck, "");
    atomic_store(&number_of_failure, number ? number : EIO);
    heft_os = &table;
}

uint64_t heft_fault_os_count(void)
{
    return atomic_load(&calls);
}

bool heft_fault_os_hit(void)
{
    return heft_fault_os_name()[0] != '\0';
}

const char *heft_fault_os_name(void)
{
    const char *name = atomic_load(&struck);

    return name ? name : "";
}

int64_t heft_fault_os_open(void)
{
    return atomic_load(&held);
}

void heft_fault_os_short(uint64_t n)
{
    atomic_store(&longest, n);
}

void heft_fault_os_remove(void)
{
    heft_os = &heft_os_posix;
}
