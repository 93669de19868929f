/* tf_messages.c: fields of TensorFlow's messages (number, name, type): graphs, SavedModels and the
 * logs of TensorFlow Serving. One table per message serves the binary and the text form. Messages
 * whose content is not needed (debug information, full types, responses) are `opaque`. */
#include "format/tensorflow/graph/tf_messages.h"

#define ONE(n, text, t)                                                                            \
    {                                                                                              \
        .number = (n), .name = (text), .type = HEFT_PROTO_##t                                      \
    }
#define MANY(n, text, t)                                                                           \
    {                                                                                              \
        .number = (n), .name = (text), .type = HEFT_PROTO_##t, .repeated = true                    \
    }
#define ONE_OF(n, text, e)                                                                         \
    {                                                                                              \
        .number = (n), .name = (text), .type = HEFT_PROTO_ENUM, .enums = (e)                       \
    }
#define MANY_OF(n, text, e)                                                                        \
    {                                                                                              \
        .number = (n), .name = (text), .type = HEFT_PROTO_ENUM, .repeated = true, .enums = (e)     \
    }
#define SUB(n, text, m)                                                                            \
    {                                                                                              \
        .number = (n), .name = (text), .type = HEFT_PROTO_SUB, .sub = &heft_tf_##m                 \
    }
#define SUBS(n, text, m)                                                                           \
    {                                                                                              \
        .number = (n), .name = (text), .type = HEFT_PROTO_SUB, .repeated = true,                   \
        .sub = &heft_tf_##m                                                                        \
    }
#define MESSAGE(m, text)                                                                           \
    const struct heft_proto_message heft_tf_##m = HEFT_PROTO_MESSAGE(text, m##_fields)

/* ---- enums ---- */

static const struct heft_proto_name data_type[] = {
    {"DT_INVALID", 0},
    {"DT_FLOAT", 1},
    {"DT_DOUBLE", 2},
    {"DT_INT32", 3},
    {"DT_UINT8", 4},
    {"DT_INT16", 5},
    {"DT_INT8", 6},
    {"DT_STRING", 7},
    {"DT_COMPLEX64", 8},
    {"DT_INT64", 9},
    {"DT_BOOL", 10},
    {"DT_QINT8", 11},
    {"DT_QUINT8", 12},
    {"DT_QINT32", 13},
    {"DT_BFLOAT16", 14},
    {"DT_QINT16", 15},
    {"DT_QUINT16", 16},
    {"DT_UINT16", 17},
    {"DT_COMPLEX128", 18},
    {"DT_HALF", 19},
    {"DT_RESOURCE", 20},
    {"DT_VARIANT", 21},
    {"DT_UINT32", 22},
    {"DT_UINT64", 23},
    {"DT_FLOAT8_E5M2", 24},
    {"DT_FLOAT8_E4M3FN", 25},
    {"DT_FLOAT8_E4M3FNUZ", 26},
    {"DT_FLOAT8_E4M3B11FNUZ", 27},
    {"DT_FLOAT8_E5M2FNUZ", 28},
    {"DT_INT4", 29},
    {"DT_UINT4", 30},
    {"DT_INT2", 31},
    {"DT_UINT2", 32},
    {"DT_FLOAT_REF", 101},
    {"DT_DOUBLE_REF", 102},
    {"DT_INT32_REF", 103},
    {"DT_UINT8_REF", 104},
    {"DT_INT16_REF", 105},
    {"DT_INT8_REF", 106},
    {"DT_STRING_REF", 107},
    {"DT_COMPLEX64_REF", 108},
    {"DT_INT64_REF", 109},
    {"DT_BOOL_REF", 110},
    {"DT_QINT8_REF", 111},
    {"DT_QUINT8_REF", 112},
    {"DT_QINT32_REF", 113},
    {"DT_BFLOAT16_REF", 114},
    {"DT_QINT16_REF", 115},
    {"DT_QUINT16_REF", 116},
    {"DT_UINT16_REF", 117},
    {"DT_COMPLEX128_REF", 118},
    {"DT_HALF_REF", 119},
    {"DT_RESOURCE_REF", 120},
    {"DT_VARIANT_REF", 121},
    {"DT_UINT32_REF", 122},
    {"DT_UINT64_REF", 123},
    {"DT_FLOAT8_E5M2_REF", 124},
    {"DT_FLOAT8_E4M3FN_REF", 125},
    {"DT_FLOAT8_E4M3FNUZ_REF", 126},
    {"DT_FLOAT8_E4M3B11FNUZ_REF", 127},
    {"DT_FLOAT8_E5M2FNUZ_REF", 128},
    {"DT_INT4_REF", 129},
    {"DT_UINT4_REF", 130},
    {"DT_INT2_REF", 131},
    {"DT_UINT2_REF", 132},
    {NULL, 0},
};
static const struct heft_proto_name saver_version[] = {
    {"LEGACY", 0}, {"V1", 1}, {"V2", 2}, {NULL, 0}};
static const struct heft_proto_name synchronization[] = {{"VARIABLE_SYNCHRONIZATION_AUTO", 0},
                                                         {"VARIABLE_SYNCHRONIZATION_NONE", 1},
                                                         {"VARIABLE_SYNCHRONIZATION_ON_WRITE", 2},
                                                         {"VARIABLE_SYNCHRONIZATION_ON_READ", 3},
                                                         {NULL, 0}};
static const struct heft_proto_name aggregation[] = {{"VARIABLE_AGGREGATION_NONE", 0},
                                                     {"VARIABLE_AGGREGATION_SUM", 1},
                                                     {"VARIABLE_AGGREGATION_MEAN", 2},
                                                     {"VARIABLE_AGGREGATION_ONLY_FIRST_REPLICA", 3},
                                                     {NULL, 0}};
static const struct heft_proto_name jit_compile[] = {
    {"DEFAULT", 0}, {"ON", 1}, {"OFF", 2}, {NULL, 0}};
static const struct heft_proto_name type_spec_class[] = {{"UNKNOWN", 0},
                                                         {"SPARSE_TENSOR_SPEC", 1},
                                                         {"INDEXED_SLICES_SPEC", 2},
                                                         {"RAGGED_TENSOR_SPEC", 3},
                                                         {"TENSOR_ARRAY_SPEC", 4},
                                                         {"DATA_DATASET_SPEC", 5},
                                                         {"DATA_ITERATOR_SPEC", 6},
                                                         {"OPTIONAL_SPEC", 7},
                                                         {"PER_REPLICA_SPEC", 8},
                                                         {"VARIABLE_SPEC", 9},
                                                         {"ROW_PARTITION_SPEC", 10},
                                                         {"REGISTERED_TYPE_SPEC", 12},
                                                         {"EXTENSION_TYPE_SPEC", 13},
                                                         {NULL, 0}};

/* ---- graphs and SavedModels ---- */

static const struct heft_proto_field saved_model_fields[] = {
    ONE(1, "saved_model_schema_version", INT64),
    SUBS(2, "meta_graphs", meta_graph),
};
MESSAGE(saved_model, "SavedModel");

static const struct heft_proto_field meta_graph_fields[] = {
    SUB(1, "meta_info_def", meta_info),
    SUB(2, "graph_def", graph),
    SUB(3, "saver_def", saver),
    SUBS(4, "collection_def", collection_entry),
    SUBS(5, "signature_def", signature_entry),
    SUBS(6, "asset_file_def", asset_file),
    SUB(7, "object_graph_def", object_graph),
};
MESSAGE(meta_graph, "MetaGraphDef");

static const struct heft_proto_field meta_info_fields[] = {
    ONE(1, "meta_graph_version", STRING),
    SUB(2, "stripped_op_list", op_list),
    SUB(3, "any_info", any),
    MANY(4, "tags", STRING),
    ONE(5, "tensorflow_version", STRING),
    ONE(6, "tensorflow_git_version", STRING),
    ONE(7, "stripped_default_attrs", BOOL),
    SUBS(8, "function_aliases", text_entry),
};
MESSAGE(meta_info, "MetaInfoDef");

static const struct heft_proto_field any_fields[] = {
    ONE(1, "type_url", STRING),
    ONE(2, "value", BYTES),
};
MESSAGE(any, "Any");

static const struct heft_proto_field text_entry_fields[] = {
    ONE(1, "key", STRING),
    ONE(2, "value", STRING),
};
MESSAGE(text_entry, "map<string,string>");

static const struct heft_proto_field version_fields[] = {
    ONE(1, "producer", INT32),
    ONE(2, "min_consumer", INT32),
    MANY(3, "bad_consumers", INT32),
};
MESSAGE(version, "VersionDef");

static const struct heft_proto_field graph_fields[] = {
    SUBS(1, "node", node),       SUB(2, "library", library),   ONE(3, "version", INT32),
    SUB(4, "versions", version), SUB(5, "debug_info", opaque),
};
MESSAGE(graph, "GraphDef");

/* Messages whose content is not read. */
const struct heft_proto_message heft_tf_opaque = {"Message", NULL, 0};

static const struct heft_proto_field node_fields[] = {
    ONE(1, "name", STRING),
    ONE(2, "op", STRING),
    MANY(3, "input", STRING),
    ONE(4, "device", STRING),
    SUBS(5, "attr", attr_entry),
    SUB(6, "experimental_debug_info", opaque),
    SUB(7, "experimental_type", opaque),
};
MESSAGE(node, "NodeDef");

static const struct heft_proto_field attr_entry_fields[] = {
    ONE(1, "key", STRING),
    SUB(2, "value", attr_value),
};
MESSAGE(attr_entry, "map<string,AttrValue>");

static const struct heft_proto_field attr_value_fields[] = {
    SUB(1, "list", attr_list),   ONE(2, "s", BYTES),       ONE(3, "i", INT64),
    ONE(4, "f", FLOAT),          ONE(5, "b", BOOL),        ONE_OF(6, "type", data_type),
    SUB(7, "shape", shape),      SUB(8, "tensor", tensor), ONE(9, "placeholder", STRING),
    SUB(10, "func", name_attrs),
};
MESSAGE(attr_value, "AttrValue");

static const struct heft_proto_field attr_list_fields[] = {
    MANY(2, "s", BYTES),       MANY(3, "i", INT64),           MANY(4, "f", FLOAT),
    MANY(5, "b", BOOL),        MANY_OF(6, "type", data_type), SUBS(7, "shape", shape),
    SUBS(8, "tensor", tensor), SUBS(9, "func", name_attrs),
};
MESSAGE(attr_list, "ListValue");

static const struct heft_proto_field name_attrs_fields[] = {
    ONE(1, "name", STRING),
    SUBS(2, "attr", attr_entry),
};
MESSAGE(name_attrs, "NameAttrList");

static const struct heft_proto_field library_fields[] = {
    SUBS(1, "function", function),
    SUBS(2, "gradient", gradient),
    SUBS(3, "registered_gradients", opaque),
};
MESSAGE(library, "FunctionDefLibrary");

static const struct heft_proto_field gradient_fields[] = {
    ONE(1, "function_name", STRING),
    ONE(2, "gradient_func", STRING),
};
MESSAGE(gradient, "GradientDef");

static const struct heft_proto_field function_fields[] = {
    SUB(1, "signature", op_def),
    SUBS(3, "node_def", node),
    SUBS(4, "ret", text_entry),
    SUBS(5, "attr", attr_entry),
    SUBS(6, "control_ret", text_entry),
    SUBS(7, "arg_attr", opaque),
    SUBS(8, "resource_arg_unique_id", opaque),
};
MESSAGE(function, "FunctionDef");

static const struct heft_proto_field op_list_fields[] = {
    SUBS(1, "op", op_def),
};
MESSAGE(op_list, "OpList");

static const struct heft_proto_field op_def_fields[] = {
    ONE(1, "name", STRING),
    SUBS(2, "input_arg", arg_def),
    SUBS(3, "output_arg", arg_def),
    SUBS(4, "attr", attr_def),
    ONE(5, "summary", STRING),
    ONE(6, "description", STRING),
    SUB(8, "deprecation", deprecation),
    ONE(16, "is_aggregate", BOOL),
    ONE(17, "is_stateful", BOOL),
    ONE(18, "is_commutative", BOOL),
    ONE(19, "allows_uninitialized_input", BOOL),
    MANY(20, "control_output", STRING),
    ONE(21, "is_distributed_communication", BOOL),
};
MESSAGE(op_def, "OpDef");

static const struct heft_proto_field deprecation_fields[] = {
    ONE(1, "version", INT32),
    ONE(2, "explanation", STRING),
};
MESSAGE(deprecation, "OpDeprecation");

static const struct heft_proto_field arg_def_fields[] = {
    ONE(1, "name", STRING),
    ONE(2, "description", STRING),
    ONE_OF(3, "type", data_type),
    ONE(4, "type_attr", STRING),
    ONE(5, "number_attr", STRING),
    ONE(6, "type_list_attr", STRING),
    SUBS(7, "handle_data", opaque),
    ONE(16, "is_ref", BOOL),
    SUB(17, "experimental_full_type", opaque),
};
MESSAGE(arg_def, "ArgDef");

static const struct heft_proto_field attr_def_fields[] = {
    ONE(1, "name", STRING),
    ONE(2, "type", STRING),
    SUB(3, "default_value", attr_value),
    ONE(4, "description", STRING),
    ONE(5, "has_minimum", BOOL),
    ONE(6, "minimum", INT64),
    SUB(7, "allowed_values", attr_value),
};
MESSAGE(attr_def, "AttrDef");

static const struct heft_proto_field saver_fields[] = {
    ONE(1, "filename_tensor_name", STRING),
    ONE(2, "save_tensor_name", STRING),
    ONE(3, "restore_op_name", STRING),
    ONE(4, "max_to_keep", INT32),
    ONE(5, "sharded", BOOL),
    ONE(6, "keep_checkpoint_every_n_hours", FLOAT),
    ONE_OF(7, "version", saver_version),
};
MESSAGE(saver, "SaverDef");

static const struct heft_proto_field collection_entry_fields[] = {
    ONE(1, "key", STRING),
    SUB(2, "value", collection),
};
MESSAGE(collection_entry, "map<string,CollectionDef>");

static const struct heft_proto_field collection_fields[] = {
    SUB(1, "node_list", node_list),   SUB(2, "bytes_list", bytes_list),
    SUB(3, "int64_list", int64_list), SUB(4, "float_list", float_list),
    SUB(5, "any_list", any_list),
};
MESSAGE(collection, "CollectionDef");

static const struct heft_proto_field node_list_fields[] = {
    MANY(1, "value", STRING),
};
MESSAGE(node_list, "NodeList");

static const struct heft_proto_field bytes_list_fields[] = {
    MANY(1, "value", BYTES),
};
MESSAGE(bytes_list, "BytesList");

static const struct heft_proto_field int64_list_fields[] = {
    MANY(1, "value", INT64),
};
MESSAGE(int64_list, "Int64List");

static const struct heft_proto_field float_list_fields[] = {
    MANY(1, "value", FLOAT),
};
MESSAGE(float_list, "FloatList");

static const struct heft_proto_field any_list_fields[] = {
    SUBS(1, "value", any),
};
MESSAGE(any_list, "AnyList");

static const struct heft_proto_field signature_entry_fields[] = {
    ONE(1, "key", STRING),
    SUB(2, "value", signature),
};
MESSAGE(signature_entry, "map<string,SignatureDef>");

static const struct heft_proto_field signature_fields[] = {
    SUBS(1, "inputs", tensor_info_entry),
    SUBS(2, "outputs", tensor_info_entry),
    ONE(3, "method_name", STRING),
    SUBS(4, "defaults", tensor_entry),
};
MESSAGE(signature, "SignatureDef");

static const struct heft_proto_field tensor_info_entry_fields[] = {
    ONE(1, "key", STRING),
    SUB(2, "value", tensor_info),
};
MESSAGE(tensor_info_entry, "map<string,TensorInfo>");

static const struct heft_proto_field tensor_info_fields[] = {
    ONE(1, "name", STRING),
    ONE_OF(2, "dtype", data_type),
    SUB(3, "tensor_shape", shape),
    SUB(4, "coo_sparse", coo_sparse),
    SUB(5, "composite_tensor", composite),
};
MESSAGE(tensor_info, "TensorInfo");

static const struct heft_proto_field coo_sparse_fields[] = {
    ONE(1, "values_tensor_name", STRING),
    ONE(2, "indices_tensor_name", STRING),
    ONE(3, "dense_shape_tensor_name", STRING),
};
MESSAGE(coo_sparse, "CooSparse");

static const struct heft_proto_field composite_fields[] = {
    SUB(1, "type_spec", type_spec),
    SUBS(2, "components", tensor_info),
};
MESSAGE(composite, "CompositeTensor");

static const struct heft_proto_field tensor_entry_fields[] = {
    ONE(1, "key", STRING),
    SUB(2, "value", tensor),
};
MESSAGE(tensor_entry, "map<string,TensorProto>");

static const struct heft_proto_field asset_file_fields[] = {
    SUB(1, "tensor_info", tensor_info),
    ONE(2, "filename", STRING),
};
MESSAGE(asset_file, "AssetFileDef");

static const struct heft_proto_field shape_fields[] = {
    SUBS(2, "dim", dim),
    ONE(3, "unknown_rank", BOOL),
};
MESSAGE(shape, "TensorShapeProto");

static const struct heft_proto_field dim_fields[] = {
    ONE(1, "size", INT64),
    ONE(2, "name", STRING),
};
MESSAGE(dim, "Dim");

static const struct heft_proto_field tensor_fields[] = {
    ONE_OF(1, "dtype", data_type),   SUB(2, "tensor_shape", shape),
    ONE(3, "version_number", INT32), ONE(4, "tensor_content", BYTES),
    MANY(5, "float_val", FLOAT),     MANY(6, "double_val", DOUBLE),
    MANY(7, "int_val", INT32),       MANY(8, "string_val", BYTES),
    MANY(9, "scomplex_val", FLOAT),  MANY(10, "int64_val", INT64),
    MANY(11, "bool_val", BOOL),      MANY(12, "dcomplex_val", DOUBLE),
    MANY(13, "half_val", INT32),     SUBS(14, "resource_handle_val", opaque),
    SUBS(15, "variant_val", opaque), MANY(16, "uint32_val", UINT32),
    MANY(17, "uint64_val", UINT64),  ONE(18, "float8_val", BYTES),
};
MESSAGE(tensor, "TensorProto");

static const struct heft_proto_field object_graph_fields[] = {
    SUBS(1, "nodes", saved_object),
    SUBS(2, "concrete_functions", concrete_entry),
};
MESSAGE(object_graph, "SavedObjectGraph");

static const struct heft_proto_field concrete_entry_fields[] = {
    ONE(1, "key", STRING),
    SUB(2, "value", concrete),
};
MESSAGE(concrete_entry, "map<string,SavedConcreteFunction>");

static const struct heft_proto_field concrete_fields[] = {
    MANY(2, "bound_inputs", INT32),
    SUB(3, "canonicalized_input_signature", structured),
    SUB(4, "output_signature", structured),
};
MESSAGE(concrete, "SavedConcreteFunction");

static const struct heft_proto_field saved_object_fields[] = {
    SUBS(1, "children", object_reference),
    SUBS(3, "slot_variables", slot_variable),
    SUB(4, "user_object", user_object),
    SUB(5, "asset", saved_asset),
    SUB(6, "function", saved_function),
    SUB(7, "variable", saved_variable),
    SUB(8, "bare_concrete_function", bare_function),
    SUB(9, "constant", saved_constant),
    SUB(10, "resource", saved_resource),
    SUBS(11, "saveable_objects", saveable_entry),
    SUB(12, "captured_tensor", captured_tensor),
    ONE(13, "registered_name", STRING),
    SUB(14, "serialized_user_proto", any),
    SUBS(15, "dependencies", object_reference),
    ONE(16, "registered_saver", STRING),
};
MESSAGE(saved_object, "SavedObject");

static const struct heft_proto_field object_reference_fields[] = {
    ONE(1, "node_id", INT32),
    ONE(2, "local_name", STRING),
};
MESSAGE(object_reference, "ObjectReference");

static const struct heft_proto_field slot_variable_fields[] = {
    ONE(1, "original_variable_node_id", INT32),
    ONE(2, "slot_name", STRING),
    ONE(3, "slot_variable_node_id", INT32),
};
MESSAGE(slot_variable, "SlotVariableReference");

static const struct heft_proto_field user_object_fields[] = {
    ONE(1, "identifier", STRING),
    SUB(2, "version", version),
    ONE(3, "metadata", STRING),
};
MESSAGE(user_object, "SavedUserObject");

static const struct heft_proto_field saved_asset_fields[] = {
    ONE(1, "asset_file_def_index", INT32),
};
MESSAGE(saved_asset, "SavedAsset");

static const struct heft_proto_field saved_function_fields[] = {
    MANY(1, "concrete_functions", STRING),
    SUB(2, "function_spec", function_spec),
};
MESSAGE(saved_function, "SavedFunction");

static const struct heft_proto_field saved_variable_fields[] = {
    ONE_OF(1, "dtype", data_type),
    SUB(2, "shape", shape),
    ONE(3, "trainable", BOOL),
    ONE_OF(4, "synchronization", synchronization),
    ONE_OF(5, "aggregation", aggregation),
    ONE(6, "name", STRING),
    ONE(7, "device", STRING),
    SUBS(8, "experimental_distributed_variable_components", saved_variable),
};
MESSAGE(saved_variable, "SavedVariable");

static const struct heft_proto_field bare_function_fields[] = {
    ONE(1, "concrete_function_name", STRING),
    MANY(2, "argument_keywords", STRING),
    ONE(3, "allowed_positional_arguments", INT64),
    SUB(4, "function_spec", function_spec),
};
MESSAGE(bare_function, "SavedBareConcreteFunction");

static const struct heft_proto_field saved_constant_fields[] = {
    ONE(1, "operation", STRING),
};
MESSAGE(saved_constant, "SavedConstant");

static const struct heft_proto_field saved_resource_fields[] = {
    ONE(1, "device", STRING),
};
MESSAGE(saved_resource, "SavedResource");

static const struct heft_proto_field captured_tensor_fields[] = {
    ONE(1, "name", STRING),
    ONE(2, "concrete_function", STRING),
};
MESSAGE(captured_tensor, "CapturedTensor");

static const struct heft_proto_field saveable_entry_fields[] = {
    ONE(1, "key", STRING),
    SUB(2, "value", saveable),
};
MESSAGE(saveable_entry, "map<string,SaveableObject>");

static const struct heft_proto_field saveable_fields[] = {
    ONE(2, "save_function", INT32),
    ONE(3, "restore_function", INT32),
};
MESSAGE(saveable, "SaveableObject");

static const struct heft_proto_field function_spec_fields[] = {
    SUB(1, "fullargspec", structured),
    ONE(2, "is_method", BOOL),
    SUB(5, "input_signature", structured),
    ONE_OF(6, "jit_compile", jit_compile),
};
MESSAGE(function_spec, "FunctionSpec");

static const struct heft_proto_field structured_fields[] = {
    SUB(1, "none_value", opaque),
    ONE(11, "float64_value", DOUBLE),
    ONE(12, "int64_value", SINT64),
    ONE(13, "string_value", STRING),
    ONE(14, "bool_value", BOOL),
    SUB(31, "tensor_shape_value", shape),
    ONE_OF(32, "tensor_dtype_value", data_type),
    SUB(33, "tensor_spec_value", tensor_spec),
    SUB(34, "type_spec_value", type_spec),
    SUB(35, "bounded_tensor_spec_value", bounded_spec),
    SUB(51, "list_value", structured_list),
    SUB(52, "tuple_value", structured_list),
    SUB(53, "dict_value", structured_dict),
    SUB(54, "named_tuple_value", named_tuple),
    SUB(55, "tensor_value", tensor),
    SUB(56, "numpy_value", tensor),
};
MESSAGE(structured, "StructuredValue");

static const struct heft_proto_field tensor_spec_fields[] = {
    ONE(1, "name", STRING),
    SUB(2, "shape", shape),
    ONE_OF(3, "dtype", data_type),
};
MESSAGE(tensor_spec, "TensorSpecProto");

static const struct heft_proto_field bounded_spec_fields[] = {
    ONE(1, "name", STRING),    SUB(2, "shape", shape),    ONE_OF(3, "dtype", data_type),
    SUB(4, "minimum", tensor), SUB(5, "maximum", tensor),
};
MESSAGE(bounded_spec, "BoundedTensorSpecProto");

static const struct heft_proto_field type_spec_fields[] = {
    ONE_OF(1, "type_spec_class", type_spec_class),
    SUB(2, "type_state", structured),
    ONE(3, "type_spec_class_name", STRING),
    ONE(4, "num_flat_components", INT32),
};
MESSAGE(type_spec, "TypeSpecProto");

static const struct heft_proto_field structured_list_fields[] = {
    SUBS(1, "values", structured),
};
MESSAGE(structured_list, "ListValue");

static const struct heft_proto_field structured_dict_fields[] = {
    SUBS(1, "fields", structured_entry),
};
MESSAGE(structured_dict, "DictValue");

static const struct heft_proto_field structured_entry_fields[] = {
    ONE(1, "key", STRING),
    SUB(2, "value", structured),
};
MESSAGE(structured_entry, "map<string,StructuredValue>");

static const struct heft_proto_field named_tuple_fields[] = {
    ONE(1, "name", STRING),
    SUBS(2, "values", structured_entry),
};
MESSAGE(named_tuple, "NamedTupleValue");

/* ---- files beside the model: fingerprint, logs of TensorFlow Serving ---- */

static const struct heft_proto_field fingerprint_fields[] = {
    ONE(1, "saved_model_checksum", UINT64),
    ONE(2, "graph_def_program_hash", UINT64),
    ONE(3, "signature_def_hash", UINT64),
    ONE(4, "saved_object_graph_hash", UINT64),
    ONE(5, "checkpoint_hash", UINT64),
    SUB(6, "version", version),
    ONE(7, "uuid", STRING),
};
MESSAGE(fingerprint, "FingerprintDef");

static const struct heft_proto_field prediction_log_fields[] = {
    SUB(1, "log_metadata", opaque),
    SUB(2, "classify_log", classify_log),
    SUB(3, "regress_log", classify_log),
    SUB(4, "multi_inference_log", multi_log),
    SUB(5, "session_run_log", session_log),
    SUB(6, "predict_log", predict_log),
    SUB(7, "predict_streamed_log", predict_streamed),
};
MESSAGE(prediction_log, "PredictionLog");

static const struct heft_proto_field classify_log_fields[] = {
    SUB(1, "request", classify_request),
    SUB(2, "response", opaque),
};
MESSAGE(classify_log, "ClassifyLog");

static const struct heft_proto_field multi_log_fields[] = {
    SUB(1, "request", multi_request),
    SUB(2, "response", opaque),
};
MESSAGE(multi_log, "MultiInferenceLog");

static const struct heft_proto_field session_log_fields[] = {
    SUB(1, "request", session_request),
    SUB(2, "response", opaque),
};
MESSAGE(session_log, "SessionRunLog");

static const struct heft_proto_field predict_log_fields[] = {
    SUB(1, "request", predict_request),
    SUB(2, "response", opaque),
};
MESSAGE(predict_log, "PredictLog");

static const struct heft_proto_field predict_streamed_fields[] = {
    SUBS(1, "request", predict_request),
    SUBS(2, "response", opaque),
};
MESSAGE(predict_streamed, "PredictStreamedLog");

static const struct heft_proto_field model_spec_fields[] = {
    ONE(1, "name", STRING),
    SUB(2, "version", int64_value),
    ONE(3, "signature_name", STRING),
    ONE(4, "version_label", STRING),
};
MESSAGE(model_spec, "ModelSpec");

static const struct heft_proto_field int64_value_fields[] = {
    ONE(1, "value", INT64),
};
MESSAGE(int64_value, "Int64Value");

static const struct heft_proto_field predict_request_fields[] = {
    SUB(1, "model_spec", model_spec),
    SUBS(2, "inputs", tensor_entry),
    MANY(3, "output_filter", STRING),
};
MESSAGE(predict_request, "PredictRequest");

static const struct heft_proto_field classify_request_fields[] = {
    SUB(1, "model_spec", model_spec),
    SUB(2, "input", examples_input),
};
MESSAGE(classify_request, "ClassificationRequest");

static const struct heft_proto_field examples_input_fields[] = {
    SUB(1, "example_list", example_list),
    SUB(2, "example_list_with_context", example_list),
};
MESSAGE(examples_input, "Input");

static const struct heft_proto_field example_list_fields[] = {
    SUBS(1, "examples", example),
    SUB(2, "context", example),
};
MESSAGE(example_list, "ExampleList");

static const struct heft_proto_field example_fields[] = {
    SUB(1, "features", features),
};
MESSAGE(example, "Example");

static const struct heft_proto_field features_fields[] = {
    SUBS(1, "feature", feature_entry),
};
MESSAGE(features, "Features");

static const struct heft_proto_field feature_entry_fields[] = {
    ONE(1, "key", STRING),
    SUB(2, "value", feature),
};
MESSAGE(feature_entry, "map<string,Feature>");

static const struct heft_proto_field feature_fields[] = {
    SUB(1, "bytes_list", bytes_list),
    SUB(2, "float_list", float_list),
    SUB(3, "int64_list", int64_list),
};
MESSAGE(feature, "Feature");

static const struct heft_proto_field multi_request_fields[] = {
    SUBS(1, "tasks", inference_task),
    SUB(2, "input", examples_input),
};
MESSAGE(multi_request, "MultiInferenceRequest");

static const struct heft_proto_field inference_task_fields[] = {
    SUB(1, "model_spec", model_spec),
    ONE(2, "method_name", STRING),
};
MESSAGE(inference_task, "InferenceTask");

static const struct heft_proto_field session_request_fields[] = {
    SUB(1, "model_spec", model_spec),
    SUBS(2, "feed", named_tensor),
    MANY(3, "fetch", STRING),
    MANY(4, "target", STRING),
};
MESSAGE(session_request, "SessionRunRequest");

static const struct heft_proto_field named_tensor_fields[] = {
    ONE(1, "name", STRING),
    SUB(2, "tensor", tensor),
};
MESSAGE(named_tensor, "NamedTensorProto");
