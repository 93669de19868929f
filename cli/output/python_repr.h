/* python_repr.h: prints values as repr() of Python does. */
#ifndef CLI_PYTHON_REPR_H
#define CLI_PYTHON_REPR_H

#include "output/output.h"

#include <heft/heft.h>

/* 'text', in double quotes if it contains single quotes and no double ones; characters that do not
 * print are escaped. Bytes that are not UTF-8 are \xff. */
void out_python_text(struct out *out, const char *text, size_t n);
/* The shortest digits that read back as the same number: 0.1, 1e-05, 1.0, inf, nan. */
void out_python_float(struct out *out, double number);
/* Prints any value of a checkpoint, without recursion. Keys are printed as texts. A tensor is
 * <tensor NAME>; a class <class 'NAME'>; an object is printed as a call of its class. False if
 * memory runs out. */
bool out_python_value(struct out *out, const struct heft_value *value);

#endif
