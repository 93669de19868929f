/* hdf5_parts.h: shared by the files of the HDF5 module. */
#ifndef HEFT_HDF5_PARTS_H
#define HEFT_HDF5_PARTS_H

#include <hdf5.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "format/hdf5/h5_module.h"

struct hdf5_file; /* a file being read, in a process of its own */

/* ---- hdf5_module.c: the lock, errors ---- */

/* libhdf5 has one state for a whole process, and therefore one lock. */
void hdf5_lock(void);
void hdf5_unlock(void);

struct hdf5_entry {
    H5E_auto2_t report;
    void *report_ctx;
    unsigned plugins;
};
/* Around every use of libhdf5: no printing, no plugins. Restores the settings of a program that
 * uses the library, too. The caller holds the lock. */
bool hdf5_enter(struct hdf5_entry *entry, struct heft_error *err);
void hdf5_leave(const struct hdf5_entry *entry);

/* Report an error; both always return false. */
bool hdf5_fail(struct heft_error *err, enum heft_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Reports libhdf5's error stack, or the error of the input's reader. */
bool hdf5_blame(const struct hdf5_file *file, struct heft_error *err, const char *what);
/* Reports an allocation of n bytes that failed (HDF5_UNKNOWN: by libhdf5): HEFT_LIMIT if it is beyond
 * the limit of this process, else HEFT_NOMEM. Always returns false. */
#define HDF5_UNKNOWN UINT64_MAX
bool hdf5_no_memory(uint64_t n, struct heft_error *err);
void *hdf5_alloc(size_t n, size_t each, struct heft_error *err); /* the memory is zeroed */
/* Makes room for one more item. `items` is the address of an array's pointer. */
bool hdf5_grow(void *items, size_t *cap, size_t count, size_t each, struct heft_error *err);

/* ---- hdf5_image.c: the metadata of a new file ---- */

struct heft_h5_image {
    int fd;                   /* a temporary file without a name */
    uint64_t size;            /* size of the new file */
    uint64_t end;             /* end of the bytes written */
    struct heft_error failed; /* error of a write */
};

struct heft_h5_image *hdf5_image_new(struct heft_error *err);
/* After an error nothing more is written. libhdf5 does not learn of it: a file whose metadata it
 * cannot flush makes it crash when it is closed (1.10.8). */
void hdf5_image_write(struct heft_h5_image *image, uint64_t off, const void *src, size_t n);
bool hdf5_image_read(const struct heft_h5_image *image, uint64_t off, void *dst, size_t n,
                     struct heft_error *err);

/* ---- hdf5_driver.c: file drivers ---- */

struct hdf5_config {
    const struct heft_h5_input *input; /* set if a file is read; else … */
    struct heft_h5_image *image;       /* … the image to be written */
    struct heft_error *failed;         /* error of the input's reader */
    uint64_t *budget;                  /* bytes of metadata that may still be read */
    bool *is_open;                     /* only one file may be open: links to others fail */
};
/* Property list for opening the file, or -1. The config must outlive the file. */
hid_t hdf5_access(const struct hdf5_config *config);
/* Releases the room that the cache got for the names of a group. */
void hdf5_shrink_cache(hid_t file);

/* ---- hdf5_types.c ---- */

struct hdf5_type {
    enum heft_dtype dtype;
    bool is_big, is_text;
    const char *why; /* reason why heft does not read it (static text); else NULL */
};
/* `object`: the dataset, whose attribute gives the type of opaque bytes. */
struct hdf5_type hdf5_type_of(hid_t type, hid_t object);
hid_t hdf5_type_new(enum heft_dtype dtype); /* -1 if HDF5 has no such type */

/* ---- hdf5_values.c ---- */

/* Reports all attributes of an object. *left: bytes that texts may still take. */
bool hdf5_tell_attributes(const struct hdf5_file *file, hid_t object, struct heft_h5_text path,
                          const struct heft_h5_visitor *visitor, uint64_t *left,
                          struct heft_error *err);
/* Reports a dataset of strings. *told: false if it is too large. */
bool hdf5_tell_strings(const struct hdf5_file *file, hid_t dataset, struct heft_h5_text path,
                       const struct heft_h5_visitor *visitor, uint64_t *left, bool *told,
                       struct heft_error *err);

/* ---- hdf5_dataset.c ---- */

#define HDF5_RANK 32 /* as H5S_MAX_RANK of libhdf5 */

struct hdf5_shape {
    unsigned rank;
    uint64_t dims[HDF5_RANK];
    uint64_t elements;
};
bool hdf5_shape_of(hid_t dataset, struct hdf5_shape *out); /* false: not a simple dataspace */
/* Sets all fields except path and address. False only if the dataset cannot be described. */
bool hdf5_describe(const struct hdf5_file *file, hid_t dataset, struct hdf5_shape *shape,
                   struct heft_h5_dataset *out, bool *is_text, char *why, size_t room,
                   struct heft_error *err);

/* ---- hdf5_read.c: data that is not stored contiguously ---- */

#define HDF5_BANDS 4
#define HDF5_BAND  ((uint64_t)16 << 20) /* bytes of all cached bands */
#define HDF5_CHUNK ((uint64_t)48 << 20) /* largest chunk: it is decoded as a whole */

/* Some whole rows of chunks, decoded. */
struct hdf5_band {
    uint64_t address, first,
        n; /* contains elements [first, first+n) of the dataset at that address */
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
    hid_t dataset; /* the one that was read last, or 0 */
    uint64_t dataset_address;
};

/* ---- os_process.c: processes ---- */

/* Memory shared by both processes. */
struct hdf5_shared {
    volatile sig_atomic_t out_of_time; /* the child ended itself because its time was over */
};
struct hdf5_process {
    pid_t child; /* process ID; 0 in the child, -1 if there is no child */
    int handle;  /* its pidfd, or -1 */
    struct hdf5_shared *shared;
};
struct hdf5_end {
    int signal;   /* signal that ended it, or 0 */
    bool stopped; /* it has ended itself, because its socket was closed or failed */
    bool out_of_time;
}; /* all zero: it is unknown, the program has collected the status before */
/* Forks; false with errno. In the child all signals are blocked until hdf5_process_enter. */
bool hdf5_process_start(struct hdf5_process *process);
/* Waits until the process has ended; kills it first if by_force. */
struct hdf5_end hdf5_process_end(struct hdf5_process *process, bool by_force);
/* Call in the child before anything else; allocates nothing. Of the parent's descriptors only a and
 * b (or -1) stay open; its signal handlers are removed. */
void hdf5_process_enter(const struct hdf5_process *process, int a, int b);
/* Call in the child before it reads the file. From here on it has nothing but its memory, the clock
 * and its two descriptors: it cannot open or write files, create processes or sockets, signal
 * others, gain rights, or dump core. memory: bytes of address space, 0: unlimited. */
void hdf5_process_confine(uint64_t memory);
/* Call in the child, while it has a single thread: address space in use, found without /proc; 0 if
 * RLIMIT_AS has no effect. */
uint64_t hdf5_process_space(void);
/* Call in the child after an allocation of n bytes has failed (HDF5_UNKNOWN: of unknown size). True:
 * the limit of hdf5_process_confine is the cause; false: the machine, or a limit that the program had
 * already. */
bool hdf5_process_is_beyond(uint64_t n);
void hdf5_limit(int what, uint64_t most); /* sets the soft limit, within the hard one */
/* Ends the process after so much more processor time. */
void hdf5_process_timer(uint64_t micros);
uint64_t hdf5_thread_nanos(void); /* processor time of this thread so far */

/* ---- hdf5_child.c: the process that runs libhdf5 ---- */

#define HDF5_MEMORY ((uint64_t)168 << 20) /* bytes that it may use beyond its parent's */

enum hdf5_word {
    HDF5_DONE,
    HDF5_FAILED,
    HDF5_DATASET,
    HDF5_VALUE,
    HDF5_NOTE,
    HDF5_WALK,
    HDF5_READ
};
/* Sets the time limit of the next call of libhdf5, which handles so many bytes. */
#define HDF5_STEP_MOST ((uint64_t)1 << 30)
void hdf5_step(uint64_t bytes);
/* Measures the processor, once. Call with the lock, before the fork. */
void hdf5_measure(void);
/* Runs the child: opens the input, and answers requests on the socket until it is closed. space:
 * address space in use, beyond which it gets HDF5_MEMORY; 0: unknown, it finds out. */
void hdf5_serve(const struct hdf5_process *process, int socket, const struct heft_h5_input *input,
                uint64_t space) __attribute__((noreturn));

/* ---- hdf5_pipe.c: messages between the two processes ---- */

struct hdf5_pipe {
    int socket;
    bool failed;
    bool is_lost; /* failed because the socket did, not by an invalid message */
    size_t at, n; /* at: position in the buffer; n: bytes to be sent, or not taken yet */
    uint8_t held[1 << 16];
};
/* Errors are sticky. */
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
/* Bytes that are decoded to read all of a dataset sequentially. */
uint64_t hdf5_work(hid_t list, const struct hdf5_shape *shape, size_t each);
bool hdf5_walk(struct hdf5_file *file, const struct heft_h5_visitor *visitor,
               struct heft_error *err);
struct heft_h5_image *hdf5_lay_out(struct heft_h5_new *datasets, size_t n,
                                   const struct heft_h5_names *names, size_t n_names,
                                   struct heft_error *err);
void hdf5_image_free(struct heft_h5_image *image);

#endif
