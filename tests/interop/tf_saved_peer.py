"""Creates SavedModels with TensorFlow and compares heft's description of them: run by suite_tf_saved.py.

    python tf_saved_peer.py FOLDER      prints a line "pass WHAT" or "FAIL WHAT" per check
"""

import collections
import contextlib
import io
import json
import os
import pathlib
import shutil
import re
import subprocess
import sys

import numpy
import tensorflow as tf
from google.protobuf import text_format
from google.protobuf.descriptor import FieldDescriptor
from tensorflow.core.framework import graph_pb2
from tensorflow.core.protobuf import (fingerprint_pb2, meta_graph_pb2, saved_model_pb2,
                                      saved_object_graph_pb2)
from tensorflow.python.tools import saved_model_cli

v1 = tf.compat.v1
HEFT = os.environ["HEFT"]
ROOT = pathlib.Path(os.environ["HEFT_ROOT"])
REAL = ROOT.parent / "shared" / "data" / "tensorflow"
NAMES = {"float32": "F32", "float64": "F64", "int32": "I32", "int64": "I64", "string": "STRING",
         "bool": "BOOL", "bfloat16": "BF16", "float16": "F16", "uint8": "U8", "invalid": "INVALID",
         "resource": "RESOURCE", "complex64": "C64"}


def check(good, what, detail=""):
    print("pass" if good else "FAIL", what, "" if good else str(detail)[:600].replace("\n", " | "),
          flush=True)


def heft(*arguments):
    return subprocess.run([HEFT, *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True)


def info(path, *options):
    done = heft("info", path, "--json", *options)
    return json.loads(done.stdout) if done.returncode == 0 else {"failed": done.stderr.decode()}


# ---- the tables of fields, beside the real descriptors ----

SCALARS = {getattr(FieldDescriptor, f"TYPE_{name}"): name for name in
           "DOUBLE FLOAT INT32 INT64 UINT32 UINT64 SINT64 FIXED32 FIXED64 BOOL STRING BYTES".split()}


def read_tables():
    source = (ROOT / "src/format/tensorflow/graph/tf_messages.c").read_text()
    names = dict(re.findall(r"MESSAGE\((\w+), \"([^\"]+)\"\)", source))
    tables = {}
    for name, body in re.findall(r"heft_proto_field (\w+)_fields\[\] = \{(.*?)\};", source, re.S):
        tables[name] = [(kind, int(number), field, what) for kind, number, field, what in re.findall(
            r"(ONE|MANY|ONE_OF|MANY_OF|SUB|SUBS)\((\d+), \"(\w+)\", (\w+)\)", body)]
    return names, tables


def check_message(names, tables, name, descriptor, seen):
    if name in seen or name == "opaque":
        return
    seen.add(name)
    real = {f.number: f for f in descriptor.fields}
    for kind, number, field, what in tables[name]:
        f = real.get(number)
        if f is None:
            check(False, f"{descriptor.full_name} has field {number} {field}")
            continue
        good = f.name == field and f.is_repeated == (kind in ("MANY", "MANY_OF", "SUBS"))
        if kind in ("ONE", "MANY"):
            good = good and SCALARS.get(f.type) == what
        elif kind in ("ONE_OF", "MANY_OF"):
            good = good and f.type == f.TYPE_ENUM
        else:
            good = good and f.type == f.TYPE_MESSAGE
            check_message(names, tables, what, f.message_type, seen)
        check(good, f"{descriptor.full_name}.{field} equals its entry in the table")
    missing = {n: f.name for n, f in real.items() if n not in [t[1] for t in tables[name]]}
    check(not missing, f"{descriptor.full_name} has all of its fields in the table", missing)


def check_tables():
    names, tables = read_tables()
    seen = set()
    for name, message in {"saved_model": saved_model_pb2.SavedModel,
                          "fingerprint": fingerprint_pb2.FingerprintDef}.items():
        check_message(names, tables, name, message.DESCRIPTOR, seen)


# ---- models ----

class Model(tf.Module):
    def __init__(self, vocabulary):
        super().__init__()
        self.w = tf.Variable([[1.0, 2.0], [3.0, 4.0]], name="w")
        self.b = tf.Variable([5, 6], dtype=tf.int64)
        self.vocabulary = tf.saved_model.Asset(vocabulary)
        self.table = tf.constant([7.0, 8.0, 9.0])

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32, name="x")])
    def serve(self, x):
        return {"y": tf.matmul(x, self.w) + self.table[0],
                "z": tf.io.read_file(self.vocabulary.asset_path)}

    @tf.function
    def other(self, a, n, flag=True, *, k="text"):
        return a * tf.cast(n, a.dtype) if flag else a

    @tf.function
    def sizes(self, s):
        return s[0] + s[1]


def make_multi(folder, vocabulary):
    model = Model(vocabulary)
    model.other.get_concrete_function(tf.TensorSpec([], tf.float32, name="a"), 7)
    model.other.get_concrete_function(tf.TensorSpec([3], tf.float32, name="a"), 8, False, k="u")
    model.sizes.get_concrete_function([tf.TensorSpec([2], tf.float32), tf.TensorSpec(None, tf.float32)])
    tf.saved_model.save(model, str(folder), signatures={
        "serving_default": model.serve, "another": model.serve.get_concrete_function()})


Pair = collections.namedtuple("Pair", "right left")


class Structures(tf.Module):
    @tf.function
    def call(self, x, of):
        return x


def make_structures(folder):
    """A function for each kind of argument that TensorFlow records."""
    vector = tf.TensorSpec([1], tf.float32, name="x")
    values = [1e-5, -0.0, 1e15, 1e16, 1 / 3, 123456789012345678, "it's", 'a "b"', "é", None, True, tf.bfloat16,
              tf.RaggedTensorSpec([None, None], tf.int32), tf.SparseTensorSpec([2, None], tf.bool),
              tf.TensorSpec(None, tf.string), [1, 2.5, "a", None, [True, ("x",)]], ("one",), [vector, (vector, 1)],
              {"a": [vector, {"b": (1, vector)}]}, Pair(vector, [Pair("a", 2)]),
              [tf.RaggedTensorSpec([None], tf.int64, 0)], {"k": tf.TensorSpec(None, tf.int8)}, [tf.float16]]
    model = tf.Module()
    for i, value in enumerate(values):
        one = Structures()
        one.call.get_concrete_function(vector, value)
        setattr(model, f"f{i:02d}", one.call)
    model.bare = tf.function(lambda a: a).get_concrete_function({"k": [vector]})
    model.named = tf.function(lambda x, *more, flag=True: x)
    model.named.get_concrete_function(vector, vector, flag=False)
    tf.saved_model.save(model, str(folder))


def make_keras(folder):
    """Two inputs, as a list and by name."""
    first, second = tf.keras.Input((4,)), tf.keras.Input((2,), name="second")
    joined = tf.keras.layers.Concatenate()([first, second])
    model = tf.keras.Model([first, second], {"out": tf.keras.layers.Dense(3)(joined)})
    tf.saved_model.save(model, str(folder / "saved"))
    model.export(str(folder / "exported"), verbose=False)


def make_tags(folder, vocabulary):
    builder = v1.saved_model.builder.SavedModelBuilder(str(folder))
    for tags in [["serve"], ["serve", "gpu"]]:
        with tf.Graph().as_default(), v1.Session() as session:
            x = v1.placeholder(tf.float32, [None, 3], name="x")
            w = v1.get_variable("w", [3, 2], use_resource=len(tags) > 1)
            y = tf.matmul(x, w, name="y")
            session.run(v1.global_variables_initializer())
            signature = v1.saved_model.predict_signature_def({"x": x}, {"y": y})
            v1.add_to_collection(v1.GraphKeys.ASSET_FILEPATHS, tf.constant(vocabulary))
            if len(tags) == 1:
                builder.add_meta_graph_and_variables(
                    session, tags, {"serving_default": signature, "zz": signature},
                    assets_collection=v1.get_collection(v1.GraphKeys.ASSET_FILEPATHS))
            else:
                builder.add_meta_graph(tags, {"serving_default": signature})
    builder.save()


# ---- what is compared ----

def show_all(folder):
    """Output of saved_model_cli, with backspaces applied and its sets sorted."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        saved_model_cli._show_all(str(folder))
    text = out.getvalue().replace(", \b\b", "")
    text = re.sub(r"Concrete Functions: N/A .*", "Concrete Functions:", text)  # it loads the model, and may fail
    return re.sub(r"\{('[^{}:]*')\}", lambda m: "{" + ", ".join(sorted(m[1].split(", "))) + "}", text)


def without_order(text):
    """Loading numbers the functions anew, by which saved_model_cli sorts the options of each."""
    head, _, functions = text.partition("\n  Function Name: ")
    blocks = [re.split(r"\n    Option #\d+", block) for block in functions.split("\n  Function Name: ")]
    return [head] + [[block[0].strip()] + sorted(o.rstrip() for o in block[1:]) for block in blocks]


def check_show(folder, name):
    ours = heft("info", folder, "--all").stdout.decode()
    ours = ours[ours.index("\nMetaGraphDef"):ours.index("\nsaver_def:")].strip("\n")
    theirs = show_all(folder).strip("\n")
    for a, b in zip(without_order(ours), without_order(theirs)):
        check(a == b, f"{name}: info --all as saved_model_cli", f"{a!r} is {b!r}")
    check(ours.count("\n") == theirs.count("\n"), f"{name}: as many lines as saved_model_cli")


def tensor_info(info):
    shape = None if info.tensor_shape.unknown_rank else [d.size for d in info.tensor_shape.dim]
    dtype = info.dtype - 100 if info.dtype > 100 else info.dtype
    return {"tensor": info.name, "shape": shape,
            "dtype": NAMES[tf.dtypes.as_dtype(dtype).name] if dtype else "INVALID"}


def check_info(folder, name):
    model = saved_model_pb2.SavedModel.FromString((folder / "saved_model.pb").read_bytes())
    told = info(folder)
    graphs = told.get("metagraphs", [])
    check(len(graphs) == len(model.meta_graphs), f"{name}: meta graphs", told.get("failed"))
    for ours, real in zip(graphs, model.meta_graphs):
        check(ours["tags"] == list(real.meta_info_def.tags), f"{name}: tags")
        expected = {key: {"method": s.method_name,
                          "inputs": {k: tensor_info(i) for k, i in s.inputs.items()},
                          "outputs": {k: tensor_info(i) for k, i in s.outputs.items()}}
                    for key, s in real.signature_def.items()}
        check(ours["signatures"] == expected, f"{name}: signatures", (ours["signatures"], expected))
        saver = real.saver_def
        check(ours["saver"] == {"filename_tensor_name": saver.filename_tensor_name,
                                "save_tensor_name": saver.save_tensor_name,
                                "restore_op_name": saver.restore_op_name,
                                "max_to_keep": saver.max_to_keep, "sharded": saver.sharded,
                                "keep_checkpoint_every_n_hours": saver.keep_checkpoint_every_n_hours,
                                "version": saver.CheckpointFormatVersion.Name(saver.version)},
              f"{name}: saver", ours["saver"])
        check(sorted(ours["collections"]) == sorted(real.collection_def), f"{name}: collections")
        check(ours["nodes"] == len(real.graph_def.node), f"{name}: nodes")
        check(ours["functions"]["names"] == [f.signature.name for f in real.graph_def.library.function],
              f"{name}: functions")
    return model, told


def check_text(folder, model, told, name):
    """The same model as text: heft's description is the same, except for the file itself."""
    path = folder.parent / f"{folder.name}-text"
    path.mkdir()
    for sub in ("variables", "assets"):
        if (folder / sub).exists():
            shutil.copytree(folder / sub, path / sub)
    if (folder / "fingerprint.pb").exists():
        (path / "fingerprint.pb").symlink_to(folder / "fingerprint.pb")
    (path / "saved_model.pbtxt").write_text(text_format.MessageToString(model))
    for options in [(), ("--constants",)]:
        ours, theirs = info(path, *options), info(folder, *options)
        ours.pop("files", None), theirs.pop("files", None)
        check(ours == theirs, f"{name}: text and binary form have the same description {options}",
              next((k for k in theirs if ours.get(k) != theirs[k]), ""))
    (path / "saved_model.pbtxt").write_text(text_format.MessageToString(
        model, as_one_line=True, use_short_repeated_primitives=True))
    ours = info(path)
    ours.pop("files", None), told.pop("files", None)
    check(ours == told, f"{name}: … on one line, with short lists")


def check_variables(folder, name):
    reader = tf.train.load_checkpoint(str(folder / "variables" / "variables"))
    for key in reader.get_variable_to_shape_map():
        value = reader.get_tensor(key)
        if isinstance(value, bytes):
            continue
        got = heft("get", folder, key, "-o", "-").stdout
        check(got == numpy.asarray(value).tobytes(), f"{name}: the variable {key}")


def strings_of(value):
    return [v if isinstance(v, bytes) else v.encode() for v in numpy.asarray(value).flatten()]


def check_constants(path, nodes, prefix, name):
    for node in nodes:
        if node.op != "Const":
            continue
        value = tf.make_ndarray(node.attr["value"].tensor)
        done = heft("get", path, prefix + node.name, "--constants", "-o", "-")
        got = done.stdout
        if value.dtype == object:
            check(got.endswith(b"".join(strings_of(value))) and done.returncode == 0,
                  f"{name}: the strings {node.name}", done.stderr)
        else:
            check(got == value.tobytes(), f"{name}: the constant {node.name}", done.stderr)


def check_frozen(folder):
    with tf.Graph().as_default() as graph:
        tf.constant(numpy.random.rand(3, 4).astype("f4"), name="w")
        for dtype in [tf.bfloat16, tf.float16, tf.complex64, tf.int8, tf.uint16, tf.uint32, tf.uint64,
                      tf.int64, tf.bool, tf.float64, tf.complex128]:
            as_is = bool if dtype == tf.bool else int
            tf.constant(as_is(1), dtype, [2, 3], name=f"one_{dtype.name}")
            tf.constant([as_is(n) for n in (1, 0, 1)], dtype, name=f"some_{dtype.name}")
        tf.constant(["a", "", "ü" * 200], name="words")
        tf.constant("x", tf.string, [2, 2], name="same")
        definition = graph.as_graph_def()
    for name, data in {"frozen.pb": definition.SerializeToString(),
                       "frozen.pbtxt": text_format.MessageToString(definition).encode(),
                       "text-called.pb": text_format.MessageToString(definition).encode()}.items():
        path = folder / name
        path.write_bytes(data)
        check_constants(path, definition.node, "", name)


def main(folder):
    vocabulary = folder / "words.txt"
    vocabulary.write_text("one\ntwo\n")
    check_tables()
    for name, make in {"multi": make_multi, "tags": make_tags}.items():
        path = folder / name
        make(path, str(vocabulary))
        check_show(path, name)
        model, told = check_info(path, name)
        check_variables(path, name)
        check(heft("get", path, "asset:words.txt", "-o", "-").stdout == b"one\ntwo\n", f"{name}: the asset")
        check(heft("verify", path, "--constants").returncode == 0, f"{name}: verify has no finding")
        if len(model.meta_graphs) == 1:
            graph = model.meta_graphs[0].graph_def
            check_constants(path, graph.node, "", name)
            for function in graph.library.function:
                check_constants(path, function.node_def, function.signature.name + "/", name)
        check_text(path, model, told, name)
    make_structures(folder / "structures")
    make_keras(folder / "keras")
    for name in ("structures", "keras/saved", "keras/exported"):
        check_show(folder / name, name)
    check_frozen(folder)
    for path in sorted(REAL.glob("*")):
        if (path / "saved_model.pb").exists():
            check_show(path, path.name)
            check_info(path, path.name)
            check_variables(path, path.name)


main(pathlib.Path(sys.argv[1]))
