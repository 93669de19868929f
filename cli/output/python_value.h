/* python_value.h: prints values of a SavedModel's functions as Python does, for output like
 * saved_model_cli's. */
#ifndef CLI_PYTHON_VALUE_H
#define CLI_PYTHON_VALUE_H

#include "output/output.h"

#include <heft/heft.h>

#include <stdint.h>

/* Label of a dtype in TensorFlow: "DT_FLOAT". `dtype` is a member that holds heft's name of it. */
const char *tensorflow_label(const struct heft_value *dtype);
/* Whether a value is a TensorSpec or a BoundedTensorSpec: it has a name, a dtype and a shape. */
bool is_tensor_spec(const struct heft_value *v);
/* The Python type's name: type(v).__name__. */
const char *python_type(const struct heft_value *v);
/* Value whose children are the items of a list, tuple or named tuple; NULL for any other value. */
const struct heft_value *python_items(const struct heft_value *v);
bool is_python_dict(const struct heft_value *v);

void out_i64(struct out *out, int64_t number);
/* Prints the text of a string, or a key, escaped for a terminal. */
void out_value_text(struct out *out, const struct heft_value *v);
void out_value_key(struct out *out, const struct heft_value *v);
/* Prints repr(v) or str(v) in linear time and without recursion. Values nested deeper than the
 * library reads are printed as "…". */
void out_python_repr(struct out *out, const struct heft_value *v);
void out_python_str(struct out *out, const struct heft_value *v);

#endif
