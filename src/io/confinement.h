/* confinement.h: gives up rights of the process, so that a fault in a parser can do little harm.
 *
 *     os_confine_files.c   Landlock: the files that may still be opened, and how
 *     os_confine_calls.c   seccomp: the system calls that may still be made
 *     confine_paths.c      what the files of an input are
 *
 * Rights cannot be regained. Both files of system calls are also compiled into the HDF5 module. */
#ifndef HEFT_IO_CONFINEMENT_H
#define HEFT_IO_CONFINEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum heft_access {
    HEFT_ACCESS_READ,    /* read files, list directories */
    HEFT_ACCESS_SCRATCH, /* read and write existing files, and files without a name (O_TMPFILE) */
    HEFT_ACCESS_DEVICE,  /* read and write one file */
    HEFT_ACCESS_WRITE    /* everything but executing, and but making links, devices and sockets */
};

/* Files that may still be opened. Nothing changes before _end. */
struct heft_file_rules {
    int fd;           /* the kernel's set of rules */
    uint64_t handled; /* rights that this kernel can withhold */
};

unsigned heft_file_rules_version(void); /* of the kernel's Landlock; 0: it has none */
/* False: the kernel has no Landlock. Then the other two functions are not called. */
bool heft_file_rules_begin(struct heft_file_rules *rules);
/* Allows access to the file of that path, or to everything below the directory; links are followed.
 * A path that does not exist is ignored. */
void heft_file_rules_allow(const struct heft_file_rules *rules, const char *path,
                           enum heft_access access);
/* Withholds all other access from this thread and from those that it starts: no other file can be
 * opened, nothing can be executed, no TCP connection be made, no process outside be sent a signal,
 * as far as the version of Landlock knows these. */
bool heft_file_rules_end(struct heft_file_rules *rules);

enum heft_calls {
    HEFT_CALLS_OPENING, /* what heft uses, including fork for the process of libhdf5 */
    HEFT_CALLS_READING, /* the same without processes */
    HEFT_CALLS_WORKER   /* memory, open descriptors, the clock: for the process of libhdf5 */
};
/* Whether this kernel and this build can filter system calls. */
bool heft_calls_available(void);
/* Refuses all other system calls with ENOSYS, in all threads. May be called again with a smaller set.
 * False: not available. */
bool heft_calls_confine(enum heft_calls calls);

/* ---- confine_paths.c ---- */

enum heft_kind {
    HEFT_KIND_TOGETHER, /* may have other files, or be of any format */
    HEFT_KIND_ALONE,    /* a format that reads no other file and needs no process */
    HEFT_KIND_HDF5      /* reads no other file; may need the process of libhdf5 */
};
/* Kind of a file by its first bytes. */
enum heft_kind heft_confine_kind(const char *path);
/* Allows to read what heft_open reads: a file whose format has no other files, alone; else its
 * directory. deep: targets of links at any depth below a directory, not only near its top. */
void heft_confine_checkpoint(const struct heft_file_rules *rules, const char *path, bool deep);
/* Allows to read a directory, or a file and all that is in its directory. */
void heft_confine_folder(const struct heft_file_rules *rules, const char *path);
/* Allows to read a file, all below a directory, or what a pattern of * ? [ can match. */
void heft_confine_text(const struct heft_file_rules *rules, const char *path);
/* Allows to write a file or a directory, and its temporary files: all below its parent. */
void heft_confine_write(const struct heft_file_rules *rules, const char *path);
/* Allows to load modules, the libraries that they need, and character sets of libc. Finding their
 * directory takes a tenth of the time of `heft ls`. */
void heft_confine_modules(const struct heft_file_rules *rules);
/* Allows what any process needs: figures about itself, temporary files. */
void heft_confine_system(const struct heft_file_rules *rules);

#endif
