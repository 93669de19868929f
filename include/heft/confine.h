/* confine.h: gives up rights of the process before it reads untrusted files, so that a fault in the
 * code that reads them can do little harm. The command does this by itself; the library never does.
 *
 *     const struct heft_confine_path paths[] = {{"model.pth", HEFT_CONFINE_CHECKPOINT},
 *                                               {"out/model.safetensors", HEFT_CONFINE_WRITE}};
 *     unsigned layers = heft_confine(paths, 2);
 *     c = heft_open("model.pth", NULL, &err);
 *     heft_confine_processes();
 *
 * Two layers of Linux are used, each if the kernel has it: Landlock (since 5.13) for the files that
 * may be opened, seccomp for the system calls. The rights are those of the whole program, and cannot
 * be regained: programs that do more than read checkpoints should not call these functions, or in a
 * process of their own. */
#ifndef HEFT_CONFINE_H
#define HEFT_CONFINE_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

enum heft_confine_use {
    HEFT_CONFINE_CHECKPOINT, /* an input of heft_open, with its other files */
    HEFT_CONFINE_TREE,       /* the same, links at any depth below a directory, libraries that are
                                loaded for digests: heft_scan, heft_digest */
    HEFT_CONFINE_FOLDER,     /* a directory, or a file with those beside it: heft_vocab_open */
    HEFT_CONFINE_TEXT,       /* a file, all below a directory, or a pattern: heft_encode_plan */
    HEFT_CONFINE_WRITE       /* an output: everything below its directory may be written */
};

struct heft_confine_path {
    const char *path;
    enum heft_confine_use use;
};

/* What is withheld: a set of these bits. */
enum heft_confined {
    HEFT_CONFINED_FILES = 1,    /* opening other files, executing any (Landlock) */
    HEFT_CONFINED_CALLS = 2,    /* executing, sockets, ptrace, signals, … (seccomp) */
    HEFT_CONFINED_PROCESSES = 4 /* fork, which the process of libhdf5 needs */
};

/* Confines the process to the files of these paths, which need not exist, its shared objects and
 * modules, temporary files in TMPDIR, and open descriptors. Processes can still be started if one of
 * the paths may be an HDF5 file. Returns what is withheld now; 0: this kernel has neither layer.
 *
 * Call it before the program starts threads: Landlock is for the calling thread and those that it
 * starts. Links are followed at the time of the call. */
HEFT_API unsigned heft_confine(const struct heft_confine_path *paths, size_t n);
/* Confines all threads further: no process can be started. Call it once all HDF5 files are open.
 * Returns HEFT_CONFINED_CALLS and HEFT_CONFINED_PROCESSES, or 0. */
HEFT_API unsigned heft_confine_processes(void);
/* What heft_confine can withhold with this kernel. *landlock, unless NULL: its version, or 0. */
HEFT_API unsigned heft_confine_available(unsigned *landlock);

#ifdef __cplusplus
}
#endif
#endif
