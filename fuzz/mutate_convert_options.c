/* mutate_convert_options.c: mutates the options or one file of a script. */
#include "mutate_script.h"
