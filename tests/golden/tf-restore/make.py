"""Writes the SavedModels beside it with TensorFlow: python3 make.py

Made with tensorflow-cpu 2.21.0, Python 3.11. The list of ops and debug information, which would be most of
each file, are removed.

    half_plus_two   as TensorFlow Serving's: y = a x + b, an asset, an op that runs at the end
    sliced          a variable in parts, two metagraphs
    nested          objects within objects, a table: restored by functions
"""
import os
import shutil
import tempfile
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

HERE = Path(__file__).resolve().parent
v1 = tf.compat.v1


def fresh(name):
    path = HERE / name
    shutil.rmtree(path, ignore_errors=True)
    return path


def read(path):
    model = saved_model_pb2.SavedModel()
    model.ParseFromString((path / "saved_model.pb").read_bytes())
    return model


def strip(path):
    model = read(path)
    for graph in model.meta_graphs:
        graph.meta_info_def.ClearField("stripped_op_list")
        graph.graph_def.ClearField("debug_info")
        if "trainable_variables" in graph.collection_def:
            del graph.collection_def["trainable_variables"]
    (path / "saved_model.pb").write_bytes(model.SerializeToString(deterministic=True))
    (path / "fingerprint.pb").unlink(missing_ok=True)


def build(name, make, tags=(("serve",),), **saving):
    path = fresh(name)
    graph = tf.Graph()
    with graph.as_default(), v1.Session(graph=graph) as session:
        more = make()
        saver = v1.train.Saver(**saving)
        session.run(v1.global_variables_initializer())
        builder = v1.saved_model.Builder(str(path))
        builder.add_meta_graph_and_variables(session, list(tags[0]), saver=saver,
                                             strip_default_attrs=True, **more)
        for others in tags[1:]:
            builder.add_meta_graph(list(others), saver=saver, strip_default_attrs=True)
        builder.save()
    strip(path)


def half_plus_two():
    folder = Path(tempfile.mkdtemp())
    (folder / "foo.txt").write_text("asset-file-contents\n")
    a = v1.get_variable("a", initializer=0.5, use_resource=False)
    b = v1.get_variable("b", initializer=2.0, use_resource=False)
    x = v1.placeholder(tf.float32, name="x")
    y = tf.add(tf.multiply(a, x), b, name="y")
    asset = tf.constant(str(folder / "foo.txt"), name="asset")
    v1.add_to_collection(v1.GraphKeys.ASSET_FILEPATHS, asset)
    signature = v1.saved_model.predict_signature_def({"x": x}, {"y": y})
    return {"signature_def_map": {"serving_default": signature},
            "assets_collection": v1.get_collection(v1.GraphKeys.ASSET_FILEPATHS),
            "main_op": tf.group(name="main_op")}


def sliced():
    v1.get_variable("rows", shape=(4, 3), initializer=v1.ones_initializer(), use_resource=True,
                    partitioner=v1.fixed_size_partitioner(2))
    v1.get_variable("n", initializer=np.int64(-5), use_resource=False)
    return {}


class Nested(tf.Module):
    def __init__(self):
        super().__init__()
        self.layers = [tf.Variable([2.0, 3.0]), {"k": tf.Variable(6, dtype=tf.int64)}]
        self.table = tf.lookup.experimental.MutableHashTable(tf.int64, tf.float32, -1.0)
        self.table.insert([1, 2], [0.25, 0.75])


def main():
    build("half_plus_two", half_plus_two, sharded=True)
    build("sliced", sliced, tags=(("serve",), ("serve", "gpu")), sharded=True)
    tf.saved_model.save(Nested(), str(fresh("nested")))
    strip(HERE / "nested")


if __name__ == "__main__":
    main()
