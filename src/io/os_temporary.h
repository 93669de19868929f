/* os_temporary.h: temporary files, for the library and for the HDF5 module. */
#ifndef HEFT_IO_OS_TEMPORARY_H
#define HEFT_IO_OS_TEMPORARY_H

/* Opens a file without a name in TMPDIR, or in /tmp; -1 with errno. */
int heft_os_temporary(void);

#endif
