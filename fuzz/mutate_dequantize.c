/* mutate_dequantize.c: mutates the options or one file of a script. */
#include "mutate_script.h"
