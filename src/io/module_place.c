/* module_place.c: one answer to where modules lie, compiled by CMakeLists.txt for each thing that
 * heft is linked to: the shared library, the static library, the command, the tests. */
#include "io/module.h"

const struct heft_module_place heft_module_place = {HEFT_PLACE_FROM, HEFT_PLACE_TO,
                                                    HEFT_PLACE_INSTALLED};
