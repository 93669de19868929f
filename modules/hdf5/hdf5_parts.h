/* hdf5_parts.h: what the files of the HDF5 module share. */
#ifndef HEFT_HDF5_PARTS_H
#define HEFT_HDF5_PARTS_H

#include <hdf5.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "format/hdf5/h5_module.h"

struct hdf5_file; /* one that is read, in its own process */

/* ---- hdf5_module.c: the lock, errors ---- */

/* libhdf5 has one state for a whole process, and so one lock. */
void hdf5_lock(void);
void hdf5_unlock(void);

struct hdf5_entry {
    H5E_auto2_t report;
    void *report_ctx;
    unsigned plugins;
};
/* Around every use of libhdf5: no printing, no plugins. What a program that shares the library had
 * set is put back. The caller holds the lock. */
bool hdf5_enter(struct hdf5_entry *entry, struct heft_error *err);
void hdf5_leave(const struct hdf5_entry *entry);

/* Both return false. */
bool hdf5_fail(struct heft_error *err, enum heft_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* What libhdf5's error stack says; what the input's reader said where that failed. */
bool hdf5_blame(const struct hdf5_file *file, struct heft_error *err, const char *what);
void *hdf5_alloc(size_t n, size_t each, struct heft_error *err); /* zeroed */
/* Room for one more. items is the address of an array's pointer. */
bool hdf5_grow(void *items, size_t *cap, size_t count, size_t each, struct heft_error *err);

/* ---- hdf5_image.c: the metadata of a new file ---- */

struct heft_h5_image {
    int fd;                   /* an unlinked temporary file */
    uint64_t size;            /* of the new file */
    struct heft_error failed; /* of a write; libhdf5 only learns that it failed */
};

struct heft_h5_image *hdf5_image_new(struct heft_error *err);
bool hdf5_image_write(struct heft_h5_image *image, uint64_t off, const void *src, size_t n);
bool hdf5_image_read(const struct heft_h5_image *image, uint64_t off, void *dst, size_t n,
                     struct heft_error *err);

/* ---- hdf5_driver.c: file drivers ---- */

struct hdf5_config {
    const struct heft_h5_input *input; /* to be read; else */
    struct heft_h5_image *image;       /* to be made */
    struct heft_error *failed;         /* what the input's reader said */
    uint64_t *budget;                  /* bytes that may still be read as metadata */
    bool *is_open;                     /* one file: links to others find it taken */
};
/* The property list of a file that is opened so, or -1. The config must outlive the file. */
hid_t hdf5_access(const struct hdf5_config *config);
/* Gives up the room that the cache got for the names of a group. */
void hdf5_shrink_cache(hid_t file);

/* ---- hdf5_types.c ---- */

struct hdf5_type {
    enum heft_dtype dtype;
    bool is_big, is_text;
    const char *why; /* it is none that heft reads: static; else NULL */
};
/* `object`: the dataset, whose attribute tells what opaque bytes are. */
struct hdf5_type hdf5_type_of(hid_t type, hid_t object);
hid_t hdf5_type_new(enum heft_dtype dtype); /* -1 where HDF5 has none */

/* ---- hdf5_values.c ---- */

/* Tells all attributes of an object. *left: of the bytes that texts may still take. */
bool hdf5_tell_attributes(const struct hdf5_file *file, hid_t object, struct heft_h5_text path,
                          const struct heft_h5_visitor *visitor, uint64_t *left,
                          struct heft_error *err);
/* Tells a dataset of strings. *told: false where it is too large. */
bool hdf5_tell_strings(const struct hdf5_file *file, hid_t dataset, struct heft_h5_text path,
                       const struct heft_h5_visitor *visitor, uint64_t *left, bool *told,
                       struct heft_error *err);

/* ---- hdf5_dataset.c ---- */

#define HDF5_RANK 32 /* H5S_MAX_RANK */

struct hdf5_shape {
    unsigned rank;
    uint64_t dims[HDF5_RANK];
    uint64_t elements;
};
bool hdf5_shape_of(hid_t dataset, struct hdf5_shape *out); /* false: none that is simple */
/* Fills all but path and address. False only where nothing can be said of it. */
bool hdf5_describe(const struct hdf5_file *file, hid_t dataset, struct hdf5_shape *shape,
                   struct heft_h5_dataset *out, bool *is_text, char *why, size_t room,
                   struct heft_error *err);

/* ---- hdf5_read.c: datasets that do not lie plainly ---- */

#define HDF5_BANDS 4
#define HDF5_BAND  ((uint64_t)16 << 20) /* bytes of all bands that are kept */
#define HDF5_CHUNK ((uint64_t)48 << 20) /* the most that a chunk may have: it is unpacked whole */

/* Some whole rows of chunks, unpacked. */
struct hdf5_band {
    uint64_t address, first, n; /* elements [first, first+n) of that dataset */
    uint8_t *bytes;
    size_t size;
    uint64_t used_at;
};

struct hdf5_file {
    hid_t id;
    struct heft_h5_input input;
    struct heft_error failed;
    uint64_t budget;
    bool is_open;
    struct hdf5_config config;
    struct hdf5_band bands[HDF5_BANDS];
    uint64_t clock;
    hid_t dataset; /* the one last read, or 0 */
    uint64_t dataset_address;
};

/* ---- os_process.c: processes ---- */

/* Memory that both processes have. */
struct hdf5_shared {
    volatile sig_atomic_t out_of_time; /* the child has ended itself */
};
struct hdf5_process {
    pid_t child; /* 0: this is the child; -1: there is none */
    int handle;  /* a pidfd of it, or -1 */
    struct hdf5_shared *shared;
};
struct hdf5_end {
    int signal; /* that ended it; 0: none, or the program has taken its end before */
    bool out_of_time;
};
/* Forks; false with errno. The child has all signals blocked until hdf5_process_enter. */
bool hdf5_process_start(struct hdf5_process *process);
/* Waits for its end. */
struct hdf5_end hdf5_process_end(struct hdf5_process *process, bool by_force);
/* In the child, before anything else, and nothing is allocated: of its parent's descriptors a and b
 * (or -1) remain, and nothing of its signal handlers. It writes no files, makes no processes, gets no
 * rights, leaves no core. */
void hdf5_process_enter(const struct hdf5_process *process, int a, int b);
/* From here on no descriptors are opened; memory: bytes of address space, 0: any. */
void hdf5_process_confine(uint64_t memory);
void hdf5_limit(int what, uint64_t most); /* the soft limit, as far as the hard one allows */
/* The process ends after so much more processor time. */
void hdf5_process_timer(uint64_t micros);
uint64_t hdf5_process_nanos(void); /* of processor time so far */

/* ---- hdf5_child.c: reading, in a process of its own ---- */

#define HDF5_MEMORY ((uint64_t)168 << 20) /* bytes that it may take beyond its parent's */

enum hdf5_word {
    HDF5_DONE,
    HDF5_FAILED,
    HDF5_DATASET,
    HDF5_VALUE,
    HDF5_NOTE,
    HDF5_WALK,
    HDF5_READ
};
/* Before a call of libhdf5 that handles so many bytes: how long it may take. */
#define HDF5_STEP_MOST ((uint64_t)1 << 30)
void hdf5_step(uint64_t bytes);
/* The child's life: opens the input, and serves what is asked for on the socket until it is closed. */
void hdf5_serve(const struct hdf5_process *process, int socket, const struct heft_h5_input *input)
    __attribute__((noreturn));

/* ---- hdf5_pipe.c: words between the two processes ---- */

struct hdf5_pipe {
    int socket;
    bool failed;
    size_t at, n; /* of what is held: to be sent, or not taken yet */
    uint8_t held[1 << 16];
};
/* Failures stick. */
void hdf5_put(struct hdf5_pipe *pipe, const void *p, size_t n);
void hdf5_put_u64(struct hdf5_pipe *pipe, uint64_t value);
void hdf5_put_text(struct hdf5_pipe *pipe, struct heft_h5_text text);
void hdf5_put_error(struct hdf5_pipe *pipe, const struct heft_error *err);
bool hdf5_flush(struct hdf5_pipe *pipe);
bool hdf5_take(struct hdf5_pipe *pipe, void *p, size_t n);
bool hdf5_take_u64(struct hdf5_pipe *pipe, uint64_t most, uint64_t *value);

/* ---- hdf5_parent.c ---- */

struct heft_h5_file *hdf5_start(const struct heft_h5_input *input, struct heft_error *err);
void hdf5_stop(struct heft_h5_file *file);
bool hdf5_ask_walk(struct heft_h5_file *file, const struct heft_h5_visitor *visitor,
                   struct heft_error *err);
bool hdf5_ask_read(struct heft_h5_file *file, uint64_t address, uint64_t off, void *dst, size_t n,
                   struct heft_error *err);

bool hdf5_open(struct hdf5_file *file, const struct heft_h5_input *input, struct heft_error *err);
bool hdf5_read(struct hdf5_file *file, uint64_t address, uint64_t off, void *dst, size_t n,
               struct heft_error *err);
/* Bytes that are unpacked where all of a dataset is read from front to back. */
uint64_t hdf5_work(hid_t list, const struct hdf5_shape *shape, size_t each);
void hdf5_bands_release(struct hdf5_file *file);
bool hdf5_walk(struct hdf5_file *file, const struct heft_h5_visitor *visitor,
               struct heft_error *err);
struct heft_h5_image *hdf5_lay_out(struct heft_h5_new *datasets, size_t n,
                                   const struct heft_h5_names *names, size_t n_names,
                                   struct heft_error *err);
void hdf5_image_free(struct heft_h5_image *image);

#endif
