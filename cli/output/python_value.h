/* python_value.h: values of a SavedModel's functions as Python prints them, for what is shown like
 * saved_model_cli's output. */
#ifndef CLI_PYTHON_VALUE_H
#define CLI_PYTHON_VALUE_H

#include "output/output.h"

#include <heft/heft.h>

#include <stdint.h>

/* "DT_FLOAT" of a member that is a dtype's name. */
const char *tensorflow_label(const struct heft_value *dtype);
/* TensorSpec, BoundedTensorSpec: what has a name, a dtype and a shape. */
bool is_tensor_spec(const struct heft_value *v);
/* type(v).__name__ */
const char *python_type(const struct heft_value *v);
/* The members of what Python iterates over, a dict not among them; NULL: it is no such. */
const struct heft_value *python_items(const struct heft_value *v);
bool is_python_dict(const struct heft_value *v);

void out_i64(struct out *out, int64_t number);
/* The text of a string, a key: safe for a terminal. */
void out_value_text(struct out *out, const struct heft_value *v);
void out_value_key(struct out *out, const struct heft_value *v);
/* repr(v), str(v). Linear, and without recursion: what is nested deeper than a file can be read is
 * "…". */
void out_python_repr(struct out *out, const struct heft_value *v);
void out_python_str(struct out *out, const struct heft_value *v);

#endif
