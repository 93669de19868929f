/* tf_messages.h: TensorFlow's messages as field tables for wire/proto.h. A `…_entry` is a map entry
 * {1 key, 2 value}; the messages of logs belong to TensorFlow Serving. */
#ifndef HEFT_TF_MESSAGES_H
#define HEFT_TF_MESSAGES_H

#include "wire/proto.h"

extern const struct heft_proto_message heft_tf_saved_model;
extern const struct heft_proto_message heft_tf_meta_graph;
extern const struct heft_proto_message heft_tf_meta_info;
extern const struct heft_proto_message heft_tf_any;
extern const struct heft_proto_message heft_tf_text_entry;
extern const struct heft_proto_message heft_tf_version;
extern const struct heft_proto_message heft_tf_graph;
extern const struct heft_proto_message heft_tf_opaque;
extern const struct heft_proto_message heft_tf_node;
extern const struct heft_proto_message heft_tf_attr_entry;
extern const struct heft_proto_message heft_tf_attr_value;
extern const struct heft_proto_message heft_tf_attr_list;
extern const struct heft_proto_message heft_tf_name_attrs;
extern const struct heft_proto_message heft_tf_library;
extern const struct heft_proto_message heft_tf_gradient;
extern const struct heft_proto_message heft_tf_function;
extern const struct heft_proto_message heft_tf_op_list;
extern const struct heft_proto_message heft_tf_op_def;
extern const struct heft_proto_message heft_tf_deprecation;
extern const struct heft_proto_message heft_tf_arg_def;
extern const struct heft_proto_message heft_tf_attr_def;
extern const struct heft_proto_message heft_tf_saver;
extern const struct heft_proto_message heft_tf_collection_entry;
extern const struct heft_proto_message heft_tf_collection;
extern const struct heft_proto_message heft_tf_node_list;
extern const struct heft_proto_message heft_tf_bytes_list;
extern const struct heft_proto_message heft_tf_int64_list;
extern const struct heft_proto_message heft_tf_float_list;
extern const struct heft_proto_message heft_tf_any_list;
extern const struct heft_proto_message heft_tf_signature_entry;
extern const struct heft_proto_message heft_tf_signature;
extern const struct heft_proto_message heft_tf_tensor_info_entry;
extern const struct heft_proto_message heft_tf_tensor_info;
extern const struct heft_proto_message heft_tf_coo_sparse;
extern const struct heft_proto_message heft_tf_composite;
extern const struct heft_proto_message heft_tf_tensor_entry;
extern const struct heft_proto_message heft_tf_asset_file;
extern const struct heft_proto_message heft_tf_shape;
extern const struct heft_proto_message heft_tf_dim;
extern const struct heft_proto_message heft_tf_tensor;
extern const struct heft_proto_message heft_tf_object_graph;
extern const struct heft_proto_message heft_tf_concrete_entry;
extern const struct heft_proto_message heft_tf_concrete;
extern const struct heft_proto_message heft_tf_saved_object;
extern const struct heft_proto_message heft_tf_object_reference;
extern const struct heft_proto_message heft_tf_slot_variable;
extern const struct heft_proto_message heft_tf_user_object;
extern const struct heft_proto_message heft_tf_saved_asset;
extern const struct heft_proto_message heft_tf_saved_function;
extern const struct heft_proto_message heft_tf_saved_variable;
extern const struct heft_proto_message heft_tf_bare_function;
extern const struct heft_proto_message heft_tf_saved_constant;
extern const struct heft_proto_message heft_tf_saved_resource;
extern const struct heft_proto_message heft_tf_captured_tensor;
extern const struct heft_proto_message heft_tf_saveable_entry;
extern const struct heft_proto_message heft_tf_saveable;
extern const struct heft_proto_message heft_tf_function_spec;
extern const struct heft_proto_message heft_tf_structured;
extern const struct heft_proto_message heft_tf_tensor_spec;
extern const struct heft_proto_message heft_tf_bounded_spec;
extern const struct heft_proto_message heft_tf_type_spec;
extern const struct heft_proto_message heft_tf_structured_list;
extern const struct heft_proto_message heft_tf_structured_dict;
extern const struct heft_proto_message heft_tf_structured_entry;
extern const struct heft_proto_message heft_tf_named_tuple;
extern const struct heft_proto_message heft_tf_fingerprint;
extern const struct heft_proto_message heft_tf_prediction_log;
extern const struct heft_proto_message heft_tf_classify_log;
extern const struct heft_proto_message heft_tf_multi_log;
extern const struct heft_proto_message heft_tf_session_log;
extern const struct heft_proto_message heft_tf_predict_log;
extern const struct heft_proto_message heft_tf_predict_streamed;
extern const struct heft_proto_message heft_tf_model_spec;
extern const struct heft_proto_message heft_tf_int64_value;
extern const struct heft_proto_message heft_tf_predict_request;
extern const struct heft_proto_message heft_tf_classify_request;
extern const struct heft_proto_message heft_tf_examples_input;
extern const struct heft_proto_message heft_tf_example_list;
extern const struct heft_proto_message heft_tf_example;
extern const struct heft_proto_message heft_tf_features;
extern const struct heft_proto_message heft_tf_feature_entry;
extern const struct heft_proto_message heft_tf_feature;
extern const struct heft_proto_message heft_tf_multi_request;
extern const struct heft_proto_message heft_tf_inference_task;
extern const struct heft_proto_message heft_tf_session_request;
extern const struct heft_proto_message heft_tf_named_tensor;

#endif
