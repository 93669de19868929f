/* confine_paths.c: the files that belong to an input or an output, as rules of confinement.h.
 *
 *     model.safetensors   the file                      index.json, prefix   its directory
 *     directory           all below it                  any of them          targets of links
 *
 * The kernel judges a file by where it really is. A Hugging Face cache consists of links to files of
 * another directory: their targets are looked up beforehand, and are allowed one by one. */
#include "io/confinement.h"

#include <stdio.h>

#include "base/endian.h"
#include "base/map.h"
#include "io/module.h"
#include "io/os.h"

#define HEAD       512 /* bytes that tell the kind of a file */
#define LEAST_HEAD 16
#define MOST_FILES 1000000
#define MOST_DEPTH 64
#define ROOM       4096
/* Levels of directories in which links are looked up: of a directory that is an input
 * (snapshots/REVISION/FOLDER/FILE), and of the one that an input lies in. */
enum { LEVELS = 5, LEVELS_BESIDE = 2 };

/* ---- the kind of a file --------------------------------------------------------------------- */

static bool begins_with(struct heft_str head, const char *magic, size_t n)
{
    return memcmp(head.p, magic, n) == 0;
}

/* .metadata: the pickle of a distributed checkpoint, which has other files. */
static bool is_pickle(struct heft_str head, const char *path)
{
    const char *const slash = strrchr(path, '/');

    return head.p[0] == (char)0x80 && head.p[1] >= 2 && head.p[1] <= 5 &&
           strcmp(slash ? slash + 1 : path, ".metadata") != 0;
}

static bool is_safetensors(struct heft_str head)
{
    return heft_le64((const uint8_t *)head.p) < (uint64_t)1 << 32 && head.p[8] == '{';
}

/* Whether the first member of a zip is one of torch or numpy. Others, such as .keras, may contain
 * HDF5. */
static bool is_of_tensors(struct heft_str head)
{
    enum { NAME_LENGTH = 26, NAME = 30 };
    static const char *const ends[] = {".npy", ".pkl", "/version", "/byteorder",
                                       "/.format_version"};
    const uint8_t *const p = (const uint8_t *)head.p;
    const size_t n = head.n > NAME ? heft_le16(p + NAME_LENGTH) : SIZE_MAX;

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const size_t m = strlen(ends[i]);

        if (n >= m && n <= head.n - NAME && memcmp(p + NAME + n - m, ends[i], m) == 0)
            return true;
    }
    return false;
}

static enum heft_kind kind_of(struct heft_str head, const char *path)
{
    if (begins_with(head, "\x89HDF\r\n\x1a\n", 8))
        return HEFT_KIND_HDF5;
    if (begins_with(head, "PK\3\4", 4))
        return is_of_tensors(head) ? HEFT_KIND_ALONE : HEFT_KIND_HDF5;
    return begins_with(head, "\x93NUMPY", 6) || is_safetensors(head) || is_pickle(head, path)
               ? HEFT_KIND_ALONE
               : HEFT_KIND_TOGETHER;
}

enum heft_kind heft_confine_kind(const char *path)
{
    enum heft_kind kind = HEFT_KIND_TOGETHER;
    struct heft_os_stat st;
    char head[HEAD];
    int64_t got;
    int fd;

    if (heft_os->stat_path(path, &st) != 0 || !st.is_file || (fd = heft_os->open_read(path)) < 0)
        return kind;
    got = heft_os->pread(fd, head, HEAD, 0);
    if (got >= LEAST_HEAD)
        kind = kind_of((struct heft_str){head, (size_t)got}, path);
    (void)heft_os->close(fd);
    return kind;
}

/* ---- targets of links ------------------------------------------------------------------------ */

struct waiting {
    const char *path;
    unsigned depth;
};

struct walk {
    const struct heft_file_rules *rules;
    bool follows;   /* also links to directories */
    unsigned depth; /* levels of directories that are listed, at most */
    struct heft_arena mem;
    struct heft_strmap seen; /* (device, inode) of directories reached by links */
    struct waiting *stack;
    size_t n, cap, files;
    const struct waiting *now; /* directory being listed */
    struct heft_error err;
};

/* Failures are ignored: a file that is not allowed is an error when it is opened. */
static void push_folder(struct walk *w, const char *path, unsigned depth)
{
    if (depth < w->depth && heft_grow(&w->stack, &w->cap, w->n, 1, sizeof *w->stack, &w->err))
        w->stack[w->n++] = (struct waiting){path, depth};
}

/* Each linked directory once: links may form a cycle. */
static void follow_folder(struct walk *w, const char *path, const struct heft_os_stat *st)
{
    uint64_t *key = heft_arena_alloc(&w->mem, 2 * sizeof *key, &w->err);
    uint32_t found;

    if (!key)
        return;
    key[0] = st->device;
    key[1] = st->inode;
    if (!heft_strmap_add(&w->seen, (struct heft_str){(const char *)key, 2 * sizeof *key}, 0, &found,
                         &w->err) ||
        found != HEFT_MAP_NONE)
        return;
    heft_file_rules_allow(w->rules, path, HEFT_ACCESS_READ);
    push_folder(w, path, w->now->depth + 1);
}

static bool visit_entry(void *ctx, const char *name)
{
    struct walk *w = ctx;
    const char *const path = heft_arena_printf(&w->mem, &w->err, "%s/%s", w->now->path, name);
    struct heft_os_stat st, target;

    if (!path || ++w->files > MOST_FILES || heft_os->stat_link(path, &st) != 0)
        return path && w->files <= MOST_FILES;
    if (st.is_dir)
        push_folder(w, path, w->now->depth + 1);
    if (!st.is_link || heft_os->stat_path(path, &target) != 0)
        return true;
    if (!target.is_dir)
        heft_file_rules_allow(w->rules, path, HEFT_ACCESS_READ);
    else if (w->follows)
        follow_folder(w, path, &target);
    return true;
}

/* Allows a directory, and the targets of the links down to that depth below it. */
static void allow_folder(const struct heft_file_rules *rules, const char *path, unsigned depth,
                         bool follows)
{
    struct walk w = {.rules = rules, .follows = follows, .depth = depth};

    heft_file_rules_allow(rules, path, HEFT_ACCESS_READ);
    push_folder(&w, path, 0);
    while (w.n > 0) {
        const struct waiting now = w.stack[--w.n];

        w.now = &now;
        (void)heft_os->list_dir(now.path, visit_entry, &w);
    }
    heft_free(w.stack);
    heft_strmap_release(&w.seen);
    heft_arena_release(&w.mem);
}

/* ---- inputs and outputs ---------------------------------------------------------------------- */

/* The directory of the first n bytes of a path: what is before the last slash. False: too long. */
static bool find_folder(const char *path, size_t n, char out[ROOM])
{
    while (n > 0 && path[n - 1] != '/')
        n--;
    if (n >= ROOM)
        return false;
    memcpy(out, n ? path : ".", n ? n : 1);
    out[n ? n : 1] = '\0';
    return true;
}

void heft_confine_folder(const struct heft_file_rules *rules, const char *path)
{
    struct heft_os_stat st;
    char folder[ROOM];

    heft_file_rules_allow(rules, path, HEFT_ACCESS_READ);
    if (heft_os->stat_path(path, &st) == 0 && st.is_dir)
        allow_folder(rules, path, LEVELS_BESIDE, false);
    else if (strcmp(path, "-") != 0 && find_folder(path, strlen(path), folder))
        allow_folder(rules, folder, LEVELS_BESIDE, false);
}

/* The files beside a checkpoint that say how it is quantized, as src/quant names them. */
static void allow_configs(const struct heft_file_rules *rules, const char *path)
{
    static const char *const names[] = {"config.json", "hf_quant_config.json",
                                        "quantize_config.json", "quant_config.json"};
    char folder[ROOM], config[ROOM + 32];

    if (!find_folder(path, strlen(path), folder))
        return;
    for (size_t i = 0; i < HEFT_COUNT(names); i++) {
        snprintf(config, sizeof config, "%s/%s", folder, names[i]);
        heft_file_rules_allow(rules, config, HEFT_ACCESS_READ);
    }
}

void heft_confine_checkpoint(const struct heft_file_rules *rules, const char *path, bool deep)
{
    struct heft_os_stat st;

    if (heft_os->stat_path(path, &st) == 0 && st.is_dir)
        allow_folder(rules, path, deep ? MOST_DEPTH : LEVELS, false);
    else if (heft_confine_kind(path) == HEFT_KIND_TOGETHER)
        heft_confine_folder(rules, path);
    else {
        heft_file_rules_allow(rules, path, HEFT_ACCESS_READ);
        allow_configs(rules, path);
    }
}

void heft_confine_text(const struct heft_file_rules *rules, const char *path)
{
    struct heft_os_stat st;
    char folder[ROOM];

    if (heft_os->stat_path(path, &st) != 0) {
        if (find_folder(path, strcspn(path, "*?["), folder))
            allow_folder(rules, folder, MOST_DEPTH, true);
    } else if (st.is_dir) {
        allow_folder(rules, path, MOST_DEPTH, true);
    } else {
        heft_file_rules_allow(rules, path, HEFT_ACCESS_READ);
    }
}

/* A directory that does not exist yet will be made in the nearest one that does. */
void heft_confine_write(const struct heft_file_rules *rules, const char *path)
{
    struct heft_os_stat st;
    char folder[ROOM];
    size_t n = strlen(path);

    if (heft_os->stat_path(path, &st) == 0 && st.is_dir)
        heft_file_rules_allow(rules, path, HEFT_ACCESS_WRITE);
    while (n > 1 && path[n - 1] == '/')
        n--;
    if (!find_folder(path, n, folder))
        return;
    while (heft_os->stat_path(folder, &st) != 0 && strcmp(folder, ".") != 0) {
        n = strlen(folder);
        while (n > 1 && folder[n - 1] == '/')
            n--;
        folder[n] = '\0';
        (void)find_folder(folder, n, folder);
    }
    heft_file_rules_allow(rules, folder, HEFT_ACCESS_WRITE);
}

/* ---- the process itself ---------------------------------------------------------------------- */

static void allow_list(const struct heft_file_rules *rules, const char *list)
{
    char path[ROOM];

    while (list && *list) {
        const size_t n = strcspn(list, ":");

        if (n > 0 && n < ROOM) {
            memcpy(path, list, n);
            path[n] = '\0';
            heft_file_rules_allow(rules, path, HEFT_ACCESS_READ);
        }
        list += n + (list[n] == ':');
    }
}

static void allow_each(const struct heft_file_rules *rules, const char *const *paths, size_t n)
{
    for (size_t i = 0; i < n; i++)
        heft_file_rules_allow(rules, paths[i], HEFT_ACCESS_READ);
}

void heft_confine_modules(const struct heft_file_rules *rules)
{
    static const char *const places[] = {"/usr/lib",   "/lib",           "/lib64",
                                         "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache",
                                         "/nix/store", "/gnu/store"};
    char folder[ROOM];

    allow_each(rules, places, sizeof places / sizeof *places);
    allow_list(rules, heft_os_variable("LD_LIBRARY_PATH"));
    if (heft_module_folder(folder, sizeof folder))
        heft_file_rules_allow(rules, folder, HEFT_ACCESS_READ);
}

void heft_confine_system(const struct heft_file_rules *rules)
{
    /* Memory of this process, processors of the machine. */
    static const char *const figures[] = {"/proc/self", "/sys/devices/system/cpu"};
    const char *const temporary = heft_os_variable("TMPDIR");

    allow_each(rules, figures, sizeof figures / sizeof *figures);
    heft_file_rules_allow(rules, "/dev/null", HEFT_ACCESS_DEVICE);
    heft_file_rules_allow(rules, temporary && *temporary ? temporary : "/tmp", HEFT_ACCESS_SCRATCH);
}
