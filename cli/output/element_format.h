/* element_format.h: the text of elements, with the widths and the precision that numpy chooses for
 * all elements of an array. */
#ifndef CLI_ELEMENT_FORMAT_H
#define CLI_ELEMENT_FORMAT_H

#include "output/element.h"

enum { MAX_WORD = 128 }; /* bytes of an element's text, with its NUL */

/* numpy's FloatingFormat. */
struct float_format {
    enum float_kind kind;
    bool is_signed; /* "+" before positive numbers: imaginary parts */
    bool is_scientific;
    int precision; /* digits behind the point if is_scientific */
    int exponent_digits;
    int pad_left, pad_right; /* columns before the point, and behind it */
};

struct element_format {
    struct element_type type;
    struct float_format real, imaginary;
    int width; /* of integers */
};

/* Chooses a format for the elements of an array that are shown. */
struct element_format element_format_of(const struct element *elements, size_t n,
                                        struct element_type type);
/* The text of one element of the array, as str(array) has it. Returns its length. */
size_t element_word(char word[MAX_WORD], const struct element_format *format,
                    const struct element *element);
/* The text of a single number, as str(array) has it for an array without dimensions. */
size_t scalar_word(char word[MAX_WORD], struct element_type type, const struct element *element);

#endif
