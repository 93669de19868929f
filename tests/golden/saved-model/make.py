"""SavedModels written by TensorFlow, in binary and text form, and a frozen graph.

    python make.py          with tensorflow-cpu 2.21.0: writes the directories beside it

Warm-up requests are encoded here, as tensorflow-serving-api is not a part of TensorFlow. The list of ops that
TensorFlow writes into each meta graph is removed: it is long and not about the model.
"""
import collections
import os
import shutil
import sys
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import tensorflow as tf
from google.protobuf import text_format
from tensorflow.core.framework import graph_pb2
from tensorflow.core.protobuf import saved_model_pb2

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.resolve().parent.parent / "tools"))
from tf_bytes import field, record  # noqa: E402

v1 = tf.compat.v1


def folder(name):
    path = HERE / name
    shutil.rmtree(path, ignore_errors=True)
    return path


def shorten(path):
    """Reads the model again, without its lists of ops and debug information."""
    model = saved_model_pb2.SavedModel.FromString((path / "saved_model.pb").read_bytes())
    for graph in model.meta_graphs:
        graph.meta_info_def.ClearField("stripped_op_list")
        for nodes in [graph.graph_def.node] + [f.node_def for f in graph.graph_def.library.function]:
            for node in nodes:
                node.ClearField("experimental_debug_info")
                node.attr.pop("_output_shapes", None)
    (path / "saved_model.pb").write_bytes(model.SerializeToString(deterministic=True))
    return model


# ---- what serving reads: a TFRecord file of PredictionLogs ----

def warmup():
    spec = field(1, b"tf2") + field(3, b"serving_default") + field(2, field(1, 7))
    x = tf.make_tensor_proto([[1.0, 2.0]]).SerializeToString(deterministic=True)
    predict = field(6, field(1, field(1, spec) + field(2, field(1, b"x") + field(2, x)) + field(3, b"y")))
    example = tf.train.Example(features=tf.train.Features(feature={
        "a": tf.train.Feature(float_list=tf.train.FloatList(value=[1.5]))}))
    examples = field(1, field(1, example.SerializeToString()) * 2)
    classify = field(2, field(1, field(1, field(1, b"tf2")) + field(2, examples)))
    session = field(5, field(1, field(1, field(1, b"tf2")) + field(2, field(1, b"x:0") + field(2, x))
                          + field(3, b"y:0")))
    tasks = field(1, field(1, field(1, b"tf2")) + field(2, b"tensorflow/serving/regress"))
    multi = field(4, field(1, tasks + field(2, examples)))
    return b"".join(record(log) for log in [predict, classify, session, multi])


# ---- models ----

class Model(tf.Module):
    def __init__(self, vocabulary):
        super().__init__()
        self.w = tf.Variable([[1.0], [2.0]], name="w")
        self.vocabulary = tf.saved_model.Asset(vocabulary)

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32, name="x")])
    def serve(self, x):
        return {"y": tf.matmul(x, self.w) + tf.constant([0.5])}

    @tf.function
    def scale(self, a, by, flag=True, *, how="up"):
        return a * by if flag else a


def make_tf2():
    path = folder("tf2")
    words = HERE / "words.txt"
    words.write_text("heft\n")
    model = Model(str(words))
    model.scale.get_concrete_function(tf.TensorSpec([], tf.float32, name="a"), 2)
    tf.saved_model.save(model, str(path), signatures=model.serve)
    words.unlink()
    shorten(path)
    (path / "assets.extra").mkdir()
    (path / "assets.extra" / "tf_serving_warmup_requests").write_bytes(warmup())


def make_v1():
    """Two tag sets, an asset in a collection; and the same as text."""
    path = folder("v1")
    words = HERE / "words.txt"
    words.write_text("heft\n")
    builder = v1.saved_model.builder.SavedModelBuilder(str(path))
    for tags in [["serve"], ["serve", "gpu"]]:
        with tf.Graph().as_default(), v1.Session() as session:
            x = v1.placeholder(tf.float32, [None, 1], name="x")
            w = v1.get_variable("w", initializer=[[3.0]], use_resource=False)
            y = tf.matmul(x, w, name="y")
            signature = v1.saved_model.predict_signature_def({"x": x}, {"y": y})
            v1.add_to_collection(v1.GraphKeys.ASSET_FILEPATHS, tf.constant(str(words)))
            session.run(v1.global_variables_initializer())
            if tags == ["serve"]:
                assets = v1.get_collection(v1.GraphKeys.ASSET_FILEPATHS)
                builder.add_meta_graph_and_variables(
                    session, tags, {"serving_default": signature}, assets_collection=assets)
            else:
                builder.add_meta_graph(tags, {"serving_default": signature})
    builder.save()
    words.unlink()
    model = shorten(path)
    text = folder("v1-text")
    shutil.copytree(path, text)
    (text / "saved_model.pb").unlink()
    (text / "saved_model.pbtxt").write_text(text_format.MessageToString(model))


def make_frozen():
    """Constants: as bytes, number by number, one value for all elements, strings."""
    path = HERE
    with tf.Graph().as_default() as graph:
        tf.constant([[1.0, 2.0], [3.0, 4.0]], name="w")
        tf.constant(7, tf.int64, name="n")
        tf.constant(0.5, tf.bfloat16, [2, 3], name="filled")
        tf.constant(1 + 2j, tf.complex64, [2], name="complex")
        tf.constant(["a", "", "heft"], name="words")
        tf.constant([], tf.float64, name="none")
        definition = graph.as_graph_def()
    assert isinstance(definition, graph_pb2.GraphDef)
    (path / "frozen.pb").write_bytes(definition.SerializeToString(deterministic=True))
    (path / "frozen.pbtxt").write_text(text_format.MessageToString(definition))


Pair = collections.namedtuple("Pair", "right left")


class Structures(tf.Module):
    @tf.function
    def nested(self, x, of):
        return x


def make_structures():
    """Nested arguments."""
    path = folder("structures")
    vector = tf.TensorSpec([2], tf.float32, name="x")
    model = Structures()
    model.nested.get_concrete_function(vector, {"a": [vector, ("b", 1e-5, None)], "d": tf.bfloat16})
    model.nested.get_concrete_function(vector, Pair(1e15, [Pair("it's", True)]))
    model.nested.get_concrete_function(vector, tf.RaggedTensorSpec([None, None], tf.int32))
    model.nested.get_concrete_function(vector, [tf.SparseTensorSpec([2, None], tf.bool), ()])
    tf.saved_model.save(model, str(path))
    shorten(path)
    (path / "fingerprint.pb").unlink()


def make_exported():
    """Keras 3's export stores each variable twice: below variables and, in the order of a set, below
    _all_variables."""
    path = folder("exported")
    model = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(3, name="a"),
                                 tf.keras.layers.Dense(1, name="b")], name="net")
    for number, variable in enumerate(model.variables):
        variable.assign(tf.fill(variable.shape, number + 1.0))
    model.export(str(path), verbose=False)
    shorten(path)
    (path / "fingerprint.pb").unlink()


class Several(tf.keras.Model):
    """Variables of a subclassed model have the name of the model, not of their layers."""

    def __init__(self):
        super().__init__(name="several")
        self.first = tf.keras.layers.Dense(2)
        self.second = tf.keras.layers.Dense(2)
        self.drop = tf.keras.layers.Dropout(0.5, seed=1)

    def call(self, x, training=False):
        return self.drop(self.second(self.first(x)), training=training)


def make_several():
    """Full names that are not unique, two variables with equal contents, the state of a random generator; and
    one variable whose copy below _all_variables differs."""
    path = folder("several")
    model = Several()
    model(tf.zeros([1, 2]))
    for number, variable in enumerate(model.weights):
        variable.assign(tf.fill(variable.shape, 9.0 if len(variable.shape) == 1 else number + 1.0))
    model.export(str(path), verbose=False)
    shorten(path)
    (path / "fingerprint.pb").unlink()
    prefix = str(path / "variables" / "variables")
    reader = tf.train.load_checkpoint(prefix)
    tensors = {key: reader.get_tensor(key) for key in sorted(reader.get_variable_to_dtype_map())}
    changed = [key for key in tensors if key.startswith("_all_variables") and tensors[key].shape == (2, 2)][0]
    tensors[changed] = tensors[changed] * 7
    tf.raw_ops.SaveV2(prefix=prefix, tensor_names=list(tensors), shape_and_slices=[""] * len(tensors),
                      tensors=[tf.constant(value) for value in tensors.values()])


make_tf2()
make_structures()
make_several()
make_exported()
make_v1()
make_frozen()
