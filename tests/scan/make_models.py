#!/usr/bin/env python3
"""Writes those of models/ that torch does not write: Keras 3.15, TensorFlow 2.21, and handwritten JSON.

    PYTHON tests/scan/make_models.py        PYTHON has TensorFlow and Keras (interop's tf environment)

make_scripts.py writes those of torch. expect-models.tsv contains the findings of scan in each.
"""
import base64
import json
import marshal
import os
import pickle
import sys
import zipfile
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["KERAS_BACKEND"] = "tensorflow"

import h5py
import keras
import numpy as np
import tensorflow as tf
from tensorflow.core.framework import function_pb2, graph_pb2
from tensorflow.core.protobuf import saved_model_pb2

OUT = Path(__file__).parent / "models"


class System:
    def __reduce__(self):
        return os.system, ("true",)


def code():
    return base64.b64encode(marshal.dumps(compile("1", "f", "eval"))).decode()


def write_json(name, value, **how):
    (OUT / name).write_text(json.dumps(value, **how), encoding="utf-8")


@keras.saving.register_keras_serializable("heft")
class Scale(keras.layers.Layer):
    def call(self, x):
        return x


def shrunk(model, name):
    """A .keras without its weights: scan examines the configuration."""
    path = OUT / name
    model.save(path)
    with zipfile.ZipFile(path) as zip:
        config = zip.read("config.json")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as zip:
        zip.writestr(zipfile.ZipInfo("config.json", (1980, 1, 1, 0, 0, 0)), config)


def write_keras():
    deep = keras.Sequential([keras.Input((2, 3)), keras.layers.TimeDistributed(
        keras.layers.Lambda(lambda x: x * 2))])
    inputs = keras.Input((2, 3))
    shrunk(keras.Sequential([keras.Input((3,)), keras.layers.Lambda(lambda x: x + 1)]), "lambda.keras")
    shrunk(keras.Model(inputs, deep(inputs)), "lambda-nested.keras")
    shrunk(keras.Sequential([keras.Input((3,)), Scale()]), "registered.keras")
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2, activation="relu"),
                              keras.layers.Dropout(0.5)])
    model.compile(optimizer="adam", loss="mse", metrics=["accuracy"])
    shrunk(model, "ordinary.keras")
    keras.Sequential([keras.Input((3,)), keras.layers.Lambda(lambda x: x + 1)]).save(OUT / "lambda.h5")
    with h5py.File(OUT / "block.tmp", "w", userblock_size=8192) as file:
        file.attrs["model_config"] = json.dumps({"class_name": "__lambda__", "config": {"code": "x"}})
    data = (OUT / "block.tmp").read_bytes()
    (OUT / "lambda-user-block.h5").write_bytes(b"\x89PNG\r\n\x1a\n" + b"\0" * 8184 + data[8192:])
    (OUT / "block.tmp").unlink()


def write_pytables():
    """Attributes that PyTables unpickles, and with it pandas.read_hdf."""
    for name, value in {"0": pickle.dumps(System(), 0), "4": pickle.dumps(System(), 4),
                        "nul": b"K\0000" + pickle.dumps(System(), 0)[:-1] + b"K\0."}.items():
        with h5py.File(OUT / f"pytables-{name}.h5", "w") as file:
            file.attrs["x"] = np.bytes_(value)
    with h5py.File(OUT / "pytables-objects.h5", "w") as file:
        file.create_dataset("o", data=np.zeros(1, "u1")).attrs["PSEUDOATOM"] = np.bytes_("object")
    with h5py.File(OUT / "pytables-ordinary.h5", "w") as file:
        file.attrs["CLASS"] = np.bytes_("GROUP")
        file.attrs["TITLE"] = np.bytes_("a text with a full stop.")


def write_hdf5():
    layer = json.dumps({"class_name": "__lambda__", "config": {"code": "x"}})
    with h5py.File(OUT / "config-behind-blanks.h5", "w") as file:
        file.attrs["model_config"] = " \n" + layer
    with h5py.File(OUT / "link-outside.h5", "w") as file:
        file["w"] = h5py.ExternalLink("/etc/passwd", "/")
    with h5py.File(OUT / "data-outside.h5", "w") as file:
        file.create_dataset("w", (4,), "u1", external=[("/etc/passwd", 0, 4)])
    layout = h5py.VirtualLayout(shape=(4,), dtype="f4")
    layout[:] = h5py.VirtualSource("/tmp/other.h5", "x", shape=(4,))
    with h5py.File(OUT / "virtual-outside.h5", "w", libver=("v110", "v110")) as file:
        file.create_virtual_dataset("x", layout)


def write_configs():
    layer = {"module": "keras.layers", "class_name": "Lambda", "registered_name": None,
             "config": {"name": "l", "function": {"class_name": "__lambda__", "config": {
                 "code": code(), "defaults": None, "closure": None}}}}
    write_json("keras2-lambda.json", {"class_name": "Sequential", "config": {"layers": [
        {"class_name": "Lambda", "config": {"function": [code(), None, None], "function_type": "lambda"}}]}})
    write_json("keras1-lambda.json", {"config": {"function": marshal.dumps(
        compile("1", "f", "eval")).decode("latin1")}})
    write_json("keras-import.json", {"module": "os", "class_name": "function", "config": "system",
                                     "registered_name": "system"})
    write_json("keras-get-file.json", {"config": {"fname": "x", "origin": "http://x"},
                                       "class_name": "get_file", "module": "keras.utils"})
    write_json("keras-tfsm.json", {"module": "keras.layers", "class_name": "TFSMLayer",
                                   "config": {"filepath": "/tmp/x"}, "registered_name": None})
    write_json("keras-torch.json", {"module": "keras.layers", "class_name": "TorchModuleWrapper",
                                    "config": {"module": base64.b64encode(pickle.dumps(System())).decode()}})
    write_json("keras-loss.json", {"compile_config": {"loss": {"module": "mylib.losses", "class_name":
               "Contrastive", "config": {}, "registered_name": "mylib>Contrastive"}}})
    write_json("keras2-tf-op.json", {"class_name": "TFOpLambda", "config": {"function": "io.write_file"}})
    write_json("keras2-tf-op-ordinary.json", {"class_name": "TFOpLambda", "config": {"function": "math.add"}})
    write_json("keras-nan.json", {"a": float("nan"), "b": "\ud800", "c": layer})
    (OUT / "keras-twice.json").write_text('{"class_name": "Dense", "config": {}, "class_name": "Lambda"}')
    (OUT / "keras-utf-16.json").write_text(json.dumps(layer), encoding="utf-16")
    (OUT / "keras-bom.json").write_bytes(b"\xef\xbb\xbf \n" + json.dumps(layer).encode())
    (OUT / "keras-deep.json").write_text("[" * 2000 + json.dumps(layer) + "]" * 2000)
    write_json("auto-map.json", {"architectures": ["X"], "auto_map": {"AutoModel": "modeling_x.X",
               "AutoTokenizer": ["tokenization_x.T", None]}})
    write_json("custom-pipelines.json", {"custom_pipelines": {"my-task": {"impl": "pipe.P", "pt": ["AutoModel"]}}})
    write_json("hydra.json", {"model": {"_target_": "os.system", "command": "true"}})
    write_json("jsonpickle.json", {"py/reduce": [{"py/type": "os.system"}, {"py/tuple": ["true"]}]})
    (OUT / "python.yaml").write_text("a: !!python/object/apply:os.system [true]\n")
    tags = {"escape": "a: !!%70ython/object/apply:os.system [true]\n",
            "verbatim": "a: !<tag:yaml.org,2002:p%79thon/object/apply:os.system> [true]\n",
            "handle": "%TAG !e! tag:yaml.org,2002:pyth\n---\na: !e!on/object/apply:os.system [true]\n",
            "hyper": "a: !apply:os.system [true]\n", "ordinary": "a: !x 100%25, b: 5 !100% %d\n"}
    for name, text in tags.items():
        (OUT / f"yaml-{name}.yaml").write_text(text)
    python = "a: !!python/object/apply:os.system [true]\n"
    (OUT / "yaml-utf-16.yml").write_bytes(b"\xfe\xff" + python.encode("utf-16-be"))
    (OUT / "yaml-capitals.YAML").write_text(python)
    (OUT / "ordinary.yaml").write_text("model:\n  _target_: mylib.Model\n")
    write_json("ordinary-function.json", {"function": "print_report", "target": "torch.ops.aten.add.Tensor"})
    write_json("ordinary-base64.json", {"a": "gANDER" * 10, "b": "Yy" * 20})
    (OUT / "utf-16-text.txt").write_text("hello, [world]", encoding="utf-16")
    write_json("sentence-modules.json", [{"idx": 0, "name": "0", "path": "", "type": "custom_st.Layer"}])
    write_json("ordinary-modules.json", [{"idx": 0, "name": "0", "path": "",
                                          "type": "sentence_transformers.models.Transformer"}])
    write_json("ordinary-tokenizer.json", {"chat_template": "{% for m in messages %}{{ m['content'] }}{% endfor %}",
                                           "added_tokens": [{"id": 0, "content": "<s>"}], "type": "BPE"})
    with zipfile.ZipFile(OUT / "pipeline.zip", "w") as zip:
        zip.writestr(zipfile.ZipInfo("model_index.json", (1980, 1, 1, 0, 0, 0)), json.dumps(
            {"_class_name": ["my_pipeline", "P"], "_diffusers_version": "0.30",
             "unet": ["diffusers", "UNet2DConditionModel"], "x": ["os", "system"]}))


def graph(build):
    with tf.Graph().as_default() as made:
        build()
    return made.as_graph_def()


def write_graphs():
    v1 = tf.compat.v1
    hidden = graph(lambda: tf.constant(0.0))
    function = hidden.library.function.add()
    function.signature.name = "harmless"
    node = function.node_def.add(name="w", op="WriteFile")
    node.input.extend(["a", "b"])
    custom = graph(lambda: tf.constant(0.0))
    custom.node.add(name="mine", op="MyCustomOp")
    call = graph(lambda: tf.constant(0.0))
    call.node.add(name="call", op="harmless")
    call.library.function.add().signature.name = "harmless"
    saving = graph(lambda: tf.raw_ops.SaveV2(prefix="/tmp/x", tensor_names=["a"], shape_and_slices=[""],
                                             tensors=[tf.constant(1.0)]))
    hiding = graph(lambda: tf.constant(0.0))
    hiding.node.add(name="save/SaveV2", op="SaveV2").input.extend(["Const"])
    hiding.node.add(name="answer", op="Identity").input.extend(["Const", "^save/SaveV2"])
    graphs = {
        "graph-save-hidden.pb": hiding,
        "graph-pyfunc.pb": graph(lambda: v1.py_func(lambda x: x, [tf.constant(1.0)], tf.float32)),
        "graph-write.pb": graph(lambda: tf.io.write_file("/tmp/x", "y")),
        "graph-function.pb": hidden,
        "graph-custom.pb": custom,
        "graph-call.pb": call,
        "graph-save.pb": saving,
        "graph-print.pb": graph(lambda: tf.print("x", output_stream="file:///tmp/x")),
        "graph-print-ordinary.pb": graph(lambda: tf.print("x")),
        "graph-records.pb": graph(lambda: tf.data.TFRecordDataset("/tmp/x")._variant_tensor),
        "graph-table.pb": graph(lambda: v1.raw_ops.InitializeTableFromTextFileV2(
            table_handle=tf.raw_ops.HashTableV2(key_dtype=tf.string, value_dtype=tf.int64),
            filename="/etc/passwd", key_index=-2, value_index=-1)),
    }
    for name, made in graphs.items():
        (OUT / name).write_bytes(made.SerializeToString(deterministic=True))
    (OUT / "graph-read.pbtxt").write_text(str(graph(lambda: tf.io.read_file("/etc/passwd"))))
    # An unknown field first: TensorFlow accepts it, but the file does not begin like a graph.
    (OUT / "graph-unknown-field.pb").write_bytes(b"\xfa\x3f\x01x" + graphs["graph-write.pb"].SerializeToString())
    with v1.Graph().as_default():
        x = v1.get_variable("x", [2], use_resource=True)
        saver = v1.train.Saver([x])
        (OUT / "graph-saver.meta").write_bytes(v1.train.export_meta_graph(
            saver_def=saver.as_saver_def()).SerializeToString(deterministic=True))


def write_savers():
    """Savers with any name, and graphs that resemble them."""
    v1 = tf.compat.v1

    def variables():
        return [v1.get_variable("x", [2], use_resource=True), v1.get_variable("y", [2], use_resource=False)]

    def scoped():
        with v1.name_scope("model"):
            return v1.train.Saver(variables())

    savers = {"scope": scoped, "name": lambda: v1.train.Saver(variables(), name="mine"),
              "sharded": lambda: v1.train.Saver(variables(), name="a/b", sharded=True),
              "slices": lambda: v1.train.Saver(variables(), name="old", write_version=v1.train.SaverDef.V1),
              "path": lambda: v1.train.Saver(variables(), filename="/tmp/x")}
    made = {}
    for name, build in savers.items():
        with v1.Graph().as_default():
            meta = v1.train.export_meta_graph(saver_def=build().as_saver_def())
            made[name] = meta.graph_def
            (OUT / f"saver-{name}.meta").write_bytes(meta.SerializeToString(deterministic=True))

    def write(name, change, base="name"):
        graph = v1.GraphDef()
        graph.CopyFrom(made[base])
        change(graph)
        (OUT / f"saver-{name}.pb").write_bytes(graph.SerializeToString(deterministic=True))

    def node(graph, name):
        return next(node for node in graph.node if node.name == name)

    def set_path(graph, path):
        node(graph, "mine/filename/input").attr["value"].tensor.string_val[0] = path

    write("taken", lambda graph: graph.node.add(name="answer", op="Identity").input.extend(["y", "^mine/SaveV2"]))
    write("taken-inside", lambda graph: graph.node.add(name="mine/answer", op="MatMul").input.extend(["y", "^mine/SaveV2"]))
    write("named-path", lambda graph: set_path(graph, b"/tmp/x"))
    write("bare", lambda graph: [setattr(n, "op", "Const") for n in graph.node if n.op.startswith("Placeholder")])
    saved = saved_model_pb2.SavedModel()
    meta = saved.meta_graphs.add()
    meta.graph_def.CopyFrom(made["scope"])
    meta.signature_def["serving_default"].outputs["y"].name = "model/save/control_dependency:0"
    (OUT / "saver-signature.pb").write_bytes(saved.SerializeToString(deterministic=True))
    function = graph_of_function(b"/tmp/x")
    (OUT / "saver-function-path.pb").write_bytes(function.SerializeToString(deterministic=True))


def graph_of_function(path):
    """A function with the name of those of tf.train.Checkpoint, which saves to its own path."""
    function = function_pb2.FunctionDef()
    function.signature.name = "__inference__traced_save_1"
    const = function.node_def.add(name="path", op="Const")
    const.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(path))
    function.node_def.add(name="SaveV2", op="SaveV2").input.extend(["path", "path", "path"])
    made = graph_pb2.GraphDef(library=function_pb2.FunctionDefLibrary(function=[function]))
    made.node.add(name="call", op="StatefulPartitionedCall").attr["f"].func.name = function.signature.name
    return made


def write_metadata():
    """keras_metadata.pb: SavedMetadata { repeated SavedObject nodes = 1 }, SavedObject.metadata = 5."""
    text = json.dumps({"class_name": "Lambda", "config": {"function": [code(), None, None],
                       "function_type": "lambda"}}).encode()
    def field(number, data):
        head = bytes([number << 3 | 2])
        n = len(data)
        while n > 127:
            head += bytes([n & 127 | 128])
            n >>= 7
        return head + bytes([n]) + data
    node = field(3, b"root.layer-0") + field(4, b"_tf_keras_layer") + field(5, text)
    (OUT / "keras_metadata.pb").write_bytes(field(1, node))


def main():
    OUT.mkdir(exist_ok=True)
    keras.utils.set_random_seed(0)
    write_keras()
    write_pytables()
    write_hdf5()
    write_configs()
    write_graphs()
    write_savers()
    write_metadata()
    print(keras.__version__, tf.__version__, np.__version__, sys.version.split()[0])


main()
