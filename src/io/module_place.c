/* module_place.c: the location of modules, compiled by CMakeLists.txt for each binary that contains
 * heft: the shared library, the static library, the command, the tests. */
#include "io/module.h"

const struct heft_module_place heft_module_place = {HEFT_PLACE_FROM, HEFT_PLACE_TO,
                                                    HEFT_PLACE_INSTALLED};
