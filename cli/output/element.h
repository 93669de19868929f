/* element.h: elements of tensors as numbers. */
#ifndef CLI_ELEMENT_H
#define CLI_ELEMENT_H

#include "output/float_digits.h"

#include <heft/heft.h>

enum element_class {
    ELEMENT_NONE, /* a dtype that is not decoded here: packed, strings */
    ELEMENT_BOOL,
    ELEMENT_SIGNED,
    ELEMENT_UNSIGNED,
    ELEMENT_FLOAT,
    ELEMENT_COMPLEX
};

struct element {
    union {
        int64_t i;
        uint64_t u; /* and bool */
        double f;   /* and the real part */
    } as;
    double imaginary;
};

/* How the elements of a dtype are decoded. Floats that numpy lacks are widened to F32. */
struct element_type {
    enum element_class class;
    enum float_kind kind; /* of floats and of parts of complex numbers */
    unsigned size;        /* bytes */
};
struct element_type element_type_of(enum heft_dtype dtype);
/* Decodes little-endian bytes; the dtype has a class. */
struct element element_decode(enum heft_dtype dtype, const unsigned char *bytes);

#endif
