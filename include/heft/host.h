/* host.h: what the program that uses the library provides to it, and forbids. Most programs need
 * none of this.
 *
 *     struct heft_host host = HEFT_INIT(struct heft_host);
 *     host.no_processes = true;
 *
 *     if (!heft_host_set(&host, &err))  // first of all, in main
 *         …
 *
 * The settings apply to the whole process and to all threads. They are the only global state of the
 * library. */
#ifndef HEFT_HOST_H
#define HEFT_HOST_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct heft_host {
    size_t size; /* HEFT_INIT */
    /* Memory: all three functions, or none (then malloc, realloc and free). They are called from
     * any thread, and must return blocks with the alignment of malloc. alloc and resize are never
     * asked for 0 bytes; they return NULL if memory has run out (HEFT_NOMEM). resize with a NULL
     * block allocates; a block that it cannot resize remains. free never gets NULL. Not from here
     * comes the memory of the C library (threads, regular expressions), of zstd, and of the modules
     * for HDF5, snappy and libnettle; mapped files are no memory of the heap. */
    void *(*alloc)(void *ctx, size_t bytes);
    void *(*resize)(void *ctx, void *block, size_t bytes);
    void (*free)(void *ctx, void *block);
    void *ctx;
    /* Absolute path of the directory with heft's modules (heft_hdf5.so …), instead of that of the
     * environment variable HEFT_MODULES and that of the installation. Copied. NULL: those. */
    const char *modules;
    /* Never starts a process. HDF5 files (.h5, .keras, .weights.h5) can then be written, but not
     * read, because libhdf5 reads them in a process of its own: HEFT_UNSUPPORTED. */
    bool no_processes;
};

/* Sets them, before any other function of the library allocates memory, and once: later it is
 * HEFT_USAGE. Not thread-safe: the program makes sure that no other thread uses the library yet.
 * HEFT_USAGE also if only some of the functions for memory are given, or if `modules` is not an
 * absolute path of less than 4096 bytes. */
HEFT_API bool heft_host_set(const struct heft_host *host, struct heft_error *err);

#ifdef __cplusplus
}
#endif
#endif
