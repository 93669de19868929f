"""Process with TensorFlow that answers bench/run: time to list a bundle, and to parse a graph."""

import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "interop"))
from answer import serve  # noqa: E402

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


def list_bundle(prefix):
    import tensorflow as tf
    start = time.perf_counter()
    shapes = tf.train.load_checkpoint(prefix).get_variable_to_shape_map()
    return {"seconds": time.perf_counter() - start, "tensors": len(shapes)}


def make_graph(path, kind, size):
    """A SavedModel's .pb of about that size: many small nodes, or few with large constants."""
    import numpy
    import tensorflow as tf
    from tensorflow.core.protobuf import saved_model_pb2
    model = saved_model_pb2.SavedModel(saved_model_schema_version=1)
    meta = model.meta_graphs.add()
    meta.meta_info_def.tags.append("serve")
    meta.meta_info_def.tensorflow_version = tf.__version__
    rng, total, number = numpy.random.default_rng(0), 0, 0
    while total < size:
        node = meta.graph_def.node.add(name=f"model/layer_{number // 12}/part_{number % 12}/op")
        if kind == "constants":
            value = rng.standard_normal((512, 512)).astype("f4")
            node.op = "Const"
            node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(value))
        else:
            node.op = ("MatMul", "BiasAdd", "Relu", "Identity")[number % 4]
            node.input.append(f"model/layer_{(number - 1) // 12}/part_{(number - 1) % 12}/op")
            node.attr["transpose_a"].b = False
            node.attr["_output_shapes"].list.shape.add().dim.add(size=-1)
        node.attr["T"].type = 1
        total += node.ByteSize() + 4
        number += 1
    with open(path, "wb") as file:
        file.write(model.SerializeToString())
    return {"nodes": number}


def parse(path):
    from tensorflow.core.protobuf import saved_model_pb2
    start = time.perf_counter()
    with open(path, "rb") as file:
        model = saved_model_pb2.SavedModel()
        model.ParseFromString(file.read())
    return {"seconds": time.perf_counter() - start, "nodes": len(model.meta_graphs[0].graph_def.node)}


TASKS = {task.__name__: task for task in (list_bundle, make_graph, parse)}


def main():
    from tensorflow.core.protobuf import saved_model_pb2  # noqa: F401 (paid here)
    serve(TASKS)


if __name__ == "__main__":
    main()
