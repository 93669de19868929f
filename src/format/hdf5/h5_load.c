/* h5_load.c: loads the module that reads and writes HDF5 on first use, and translates its
 * errors. */
#include "format/hdf5/h5_parts.h"

#include "io/module.h"

const struct heft_h5_module *heft_h5_load(struct heft_error *err)
{
    const struct heft_h5_module *module = heft_module_find(
        "heft_hdf5.so", HEFT_H5_SYMBOL, "libhdf5 (in Debian libhdf5-dev brings it)", err);

    if (module && module->version != HEFT_H5_VERSION) {
        heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
                  "heft's module heft_hdf5.so is of another release: version %" PRIu32
                  ", %d is needed",
                  module->version, HEFT_H5_VERSION);
        return NULL;
    }
    return module;
}

bool heft_h5_blame(struct heft_error *err, const struct heft_error *found)
{
    heft_fail(err, found->code, found->offset, "%s", found->text);
    err->system_error = found->system_error;
    return found->file[0] && heft_error_file(err, found->file);
}
