/* os_confine_files.c: Landlock (Linux 5.13 and later), by its three system calls. A set of rules names
 * the rights that the kernel withholds ("handled"), and for some directories those that it leaves.
 * Each version of Landlock can withhold more. */
#define _GNU_SOURCE /* for syscall and O_PATH */
#include "io/confinement.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

/* HEFT_UNCONFINED: gcov writes its counts beside the objects when the program ends. musl does not
 * come with the kernel's headers. */
#if defined(__linux__) && defined(SYS_landlock_create_ruleset) && defined(__has_include) &&        \
    !defined(HEFT_UNCONFINED)
#if __has_include(<linux/landlock.h>)
#define HAS_LANDLOCK
#endif
#endif

#ifdef HAS_LANDLOCK
#include <linux/landlock.h>

/* Rights of the kernel's interface, by the version that knows them; older headers lack some. */
enum {
    EXECUTE = 1 << 0,
    WRITE_FILE = 1 << 1,
    READ_FILE = 1 << 2,
    READ_DIR = 1 << 3,
    REMOVE_DIR = 1 << 4,
    REMOVE_FILE = 1 << 5,
    MAKE_CHAR = 1 << 6,
    MAKE_DIR = 1 << 7,
    MAKE_REG = 1 << 8,
    MAKE_SOCK = 1 << 9,
    MAKE_FIFO = 1 << 10,
    MAKE_BLOCK = 1 << 11,
    MAKE_SYM = 1 << 12,
    VERSION_1 = (1 << 13) - 1,
    REFER = 1 << 13,     /* version 2: renames and links between directories */
    TRUNCATE = 1 << 14,  /* 3 */
    IOCTL_DEV = 1 << 15, /* 5 */
    NET_TCP = 3,         /* 4: bind and connect */
    SCOPES = 3           /* 6: abstract sockets, signals */
};
/* Rights that mean something for a single file. */
#define OF_FILES ((uint64_t)(EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV))

/* The kernel's struct of version 6. An older kernel refuses one whose unknown end is not zero. */
struct rule_set {
    uint64_t handled_fs, handled_net, scoped;
};

static uint64_t rights_of(enum heft_access access)
{
    static const uint64_t rights[] = {
        [HEFT_ACCESS_READ] = READ_FILE | READ_DIR,
        [HEFT_ACCESS_SCRATCH] = READ_FILE | WRITE_FILE | READ_DIR | TRUNCATE,
        [HEFT_ACCESS_DEVICE] = READ_FILE | WRITE_FILE,
        [HEFT_ACCESS_WRITE] = READ_FILE | WRITE_FILE | READ_DIR | TRUNCATE | REMOVE_DIR |
                              REMOVE_FILE | MAKE_DIR | MAKE_REG | REFER,
    };
    return rights[access];
}

unsigned heft_file_rules_version(void)
{
    const long version =
        syscall(SYS_landlock_create_ruleset, NULL, (size_t)0, LANDLOCK_CREATE_RULESET_VERSION);

    return version > 0 ? (unsigned)version : 0;
}

bool heft_file_rules_begin(struct heft_file_rules *rules)
{
    const unsigned version = heft_file_rules_version();
    struct rule_set set = {.handled_fs = VERSION_1};

    if (version == 0)
        return false;
    set.handled_fs |= version >= 2 ? REFER : 0u;
    set.handled_fs |= version >= 3 ? TRUNCATE : 0u;
    set.handled_fs |= version >= 5 ? IOCTL_DEV : 0u;
    set.handled_net = version >= 4 ? NET_TCP : 0u;
    set.scoped = version >= 6 ? SCOPES : 0u;
    rules->handled = set.handled_fs;
    rules->fd = (int)syscall(SYS_landlock_create_ruleset, &set, sizeof set, 0u);
    return rules->fd >= 0;
}

void heft_file_rules_allow(const struct heft_file_rules *rules, const char *path,
                           enum heft_access access)
{
    struct landlock_path_beneath_attr rule = {.allowed_access = rights_of(access) & rules->handled};
    struct stat st;

    rule.parent_fd = open(path, O_PATH | O_CLOEXEC);
    if (rule.parent_fd < 0)
        return;
    if (access != HEFT_ACCESS_READ || fstat(rule.parent_fd, &st) != 0 || !S_ISDIR(st.st_mode))
        rule.allowed_access &= access == HEFT_ACCESS_SCRATCH || access == HEFT_ACCESS_WRITE
                                   ? rules->handled
                                   : OF_FILES;
    (void)syscall(SYS_landlock_add_rule, rules->fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0u);
    (void)close(rule.parent_fd);
}

bool heft_file_rules_end(struct heft_file_rules *rules)
{
    const bool ok = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                    syscall(SYS_landlock_restrict_self, rules->fd, 0u) == 0;

    (void)close(rules->fd);
    return ok;
}

#else

unsigned heft_file_rules_version(void)
{
    return 0;
}

bool heft_file_rules_begin(struct heft_file_rules *rules)
{
    (void)rules;
    return false;
}

void heft_file_rules_allow(const struct heft_file_rules *rules, const char *path,
                           enum heft_access access)
{
    (void)rules, (void)path, (void)access;
}

bool heft_file_rules_end(struct heft_file_rules *rules)
{
    (void)rules;
    return false;
}

#endif
