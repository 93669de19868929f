/* hdf5_unconfined.c: replaces hdf5_process_confine in a module of HDF5 for tests/fault/confined, which
 * shows that an attacker could do what the confinement prevents. */
#include <stdint.h>

void __wrap_hdf5_process_confine(uint64_t memory); /* the linker's name for it */

void __wrap_hdf5_process_confine(uint64_t memory)
{
    (void)memory;
}
