"""TensorFlow part of suite_tf_write.py: writes and reads bundles, and prints a line "pass WHAT" or "FAIL
WHAT" per comparison. HEFT is the path of the command."""

import json
import os
import pathlib
import random
import shutil
import subprocess
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import tensorflow as tf
from safetensors.numpy import save_file

v1 = tf.compat.v1
DATA = ".data-00000-of-00001"
SUFFIX = "/.ATTRIBUTES/VARIABLE_VALUE"


def check(good, what, detail=""):
    print(f"{'pass' if good else 'FAIL'} {what}{'' if good or str(detail) == '' else f': {detail}'}", flush=True)


def heft(*words):
    return subprocess.run([os.environ["HEFT"], *map(str, words)], capture_output=True, text=True)


def convert(what, *words):
    done = heft("convert", *words)
    check(done.returncode == 0, f"{what}: converted", done.stderr.strip())
    return done.returncode == 0


def save_v2(prefix, tensors, names=None, specs=None):
    keys = list(tensors)
    tf.raw_ops.SaveV2(prefix=str(prefix), tensor_names=names or keys,
                      shape_and_slices=specs or [""] * len(keys), tensors=[tensors[k] for k in keys])


def same_files(left, right, what, suffixes=(".index", DATA)):
    for suffix in suffixes:
        check(pathlib.Path(f"{left}{suffix}").read_bytes() == pathlib.Path(f"{right}{suffix}").read_bytes(),
              f"{what}: {suffix} is TensorFlow's")


def order_of(path):
    """Names of a safetensors file by data offset, which is the order of heft's rows."""
    data = pathlib.Path(path).read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + length])
    header.pop("__metadata__", None)
    rank = {name: i for i, name in enumerate(header)}
    return sorted(header, key=lambda name: (header[name]["data_offsets"][0], rank[name]))


DTYPES = [tf.float32, tf.float64, tf.int32, tf.uint8, tf.int16, tf.int8, tf.complex64, tf.int64, tf.bool,
          tf.bfloat16, tf.uint16, tf.complex128, tf.half, tf.uint32, tf.uint64, tf.qint8, tf.quint8,
          tf.qint32, tf.qint16, tf.quint16, tf.dtypes.experimental.float8_e5m2,
          tf.dtypes.experimental.float8_e4m3fn, tf.dtypes.experimental.float8_e4m3fnuz,
          tf.dtypes.experimental.float8_e4m3b11fnuz, tf.dtypes.experimental.float8_e5m2fnuz,
          tf.dtypes.experimental.int4, tf.dtypes.experimental.uint4, tf.dtypes.experimental.int2,
          tf.dtypes.experimental.uint2]
BITCAST = {tf.qint8: tf.int8, tf.quint8: tf.uint8, tf.qint32: tf.int32, tf.qint16: tf.int16,
           tf.quint16: tf.uint16}


def values(dtype, shape, rng):
    if dtype in BITCAST:
        return tf.bitcast(values(BITCAST[dtype], shape, rng), dtype)
    name = dtype.name
    if name in ("int4", "uint4", "int2", "uint2"):
        low, high = {"int4": (-8, 8), "uint4": (0, 16), "int2": (-2, 2), "uint2": (0, 4)}[name]
        return tf.constant(np.asarray(rng.integers(low, high, shape)).astype(dtype.as_numpy_dtype))
    if dtype == tf.bool:
        return tf.constant(rng.integers(0, 2, shape).astype(bool))
    count = int(np.prod(shape, dtype=np.int64))
    bits = rng.bytes(count * dtype.size)
    return tf.constant(np.frombuffer(bits, dtype.as_numpy_dtype).reshape(shape))


def all_dtypes(folder):
    rng = np.random.default_rng(1)
    tensors = {}
    for dtype in DTYPES:
        for shape in ((), (3, 5), (0, 2), (7,)):
            tensors[f"{dtype.name}/{'x'.join(map(str, shape)) or 'scalar'}"] = values(dtype, shape, rng)
    tensors["strings"] = tf.constant([["a", ""], ["x" * 200, "\0\xff"]])
    tensors["string"] = tf.constant("hello")
    tensors["no strings"] = tf.constant([], tf.string)
    save_v2(folder / "tf", tensors)
    if convert("all dtypes", folder / "tf.index", "-o", folder / "heft", "--to", "tf"):
        same_files(folder / "tf", folder / "heft", "all dtypes, from a bundle")
    for shards in ("2", "5", "40"):
        if convert(f"{shards} data files", folder / "tf.index", "-o", folder / f"s{shards}", "--to", "tf",
                   "--shards", shards):
            compare(folder / f"s{shards}", tensors, f"{shards} data files")
            convert("joined", folder / f"s{shards}.index", "-o", folder / f"j{shards}", "--to", "tf")
            same_files(folder / "tf", folder / f"j{shards}", f"{shards} data files joined")


def compare(prefix, tensors, what):
    reader = tf.train.load_checkpoint(str(prefix))
    shapes = reader.get_variable_to_shape_map()
    check(sorted(shapes) == sorted(tensors), f"{what}: names")
    save_v2(f"{prefix}-again", {name: tf.raw_ops.RestoreV2(
        prefix=str(prefix), tensor_names=[name], shape_and_slices=[""], dtypes=[tensors[name].dtype])[0]
        for name in tensors})
    save_v2(f"{prefix}-wanted", tensors)
    same_files(f"{prefix}-again", f"{prefix}-wanted", f"{what}, as TensorFlow reads it")


def big_endian(folder):
    """A big-endian bundle (table.py), which TensorFlow reads, too, and its little-endian copy."""
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "golden" / "tf-bundle"))
    import table
    wanted = {"a": tf.constant([1, -2, 3], tf.int32), "b": tf.constant([["hello", ""], ["x" * 300, "\0\xff"]]),
              "c": tf.constant("one"), "d": tf.constant(0.5), "e": tf.constant([], tf.string)}
    data, entries = b"", []
    for name, value in wanted.items():
        array = np.asarray(value.numpy())
        stored, crc = ((table.strings(np.ravel(np.asarray(array, object)).tolist(), ">"))
                       if value.dtype == tf.string else (array.astype(array.dtype.newbyteorder(">")).tobytes(), None))
        entries.append((name.encode(), table.entry(value.dtype.as_datatype_enum, value.shape.as_list(), stored,
                                                   len(data), crc=crc)))
        data += stored
    place = folder / "big"
    place.mkdir()
    table.bundle(place, entries, data, head=table.header(big=True))
    save_v2(folder / "tf", wanted)
    compare(place / "model.ckpt", wanted, "a big-endian bundle")
    for words in ((), ("--no-verify",)):
        if convert("a big-endian bundle", place / "model.ckpt", "-o", folder / "heft", "--to", "tf", "-f", *words):
            same_files(folder / "tf", folder / "heft", f"a big-endian bundle, written {' '.join(words)}")


def even(folder):
    """--shards: the size of each file differs from an equal share by at most one tensor."""
    source = random.Random(5)
    for kind, sizes in (("equal", [100] * 12), ("mixed", [source.choice((1, 10, 100, 1000)) for _ in range(300)]),
                        ("falling", list(range(200, 0, -1))), ("one large", [5, 5, 900, 5, 5])):
        tensors = {f"t{i:04d}": np.zeros(n, np.uint8) for i, n in enumerate(sizes)}
        path = folder / f"{kind}.safetensors"
        save_file(tensors, path)
        for n in (2, 3, 4, 12):
            prefix = folder / f"{kind}-{n}"
            if not convert(f"{kind}, {n} files", path, "-o", prefix, "--to", "tf", "--shards", n):
                continue
            files = [os.path.getsize(f"{prefix}.data-{i:05d}-of-{n:05d}") for i in range(n)]
            check(sum(files) == sum(sizes) and all(abs(f - sum(sizes) / n) <= max(sizes) for f in files),
                  f"{kind} tensors in {n} even files", files)
            if kind == "equal":
                check(len(set(files)) == 1, f"equal tensors in {n} equal files", files)


def random_tensors(folder):
    source = random.Random(7)
    rng = np.random.default_rng(7)
    kinds = ["f4", "f8", "f2", "i8", "i4", "u1", "?", "u2"]
    for count, width in ((2000, 24), (5000, 120)):
        tensors = {}
        while len(tensors) < count:
            name = "".join(source.choice("abc/_.Zé\x7f") for _ in range(source.randint(1, width)))
            shape = [source.randint(0, 4) for _ in range(source.randint(0, 3))]
            tensors[name] = np.asarray(rng.integers(0, 2, shape)).astype(source.choice(kinds))
        path = folder / f"{count}.safetensors"
        save_file(tensors, path)
        order = order_of(path)
        save_v2(folder / f"tf{count}", {name: tf.constant(tensors[name]) for name in order})
        if convert(f"{count} tensors", path, "-o", folder / f"heft{count}", "--to", "tf"):
            same_files(folder / f"tf{count}", folder / f"heft{count}", f"{count} tensors")
    size = (folder / "heft5000.index").stat().st_size
    check(size > 262144 + 65536, f"an index of {size} bytes has several blocks")


def merged(folder):
    rng = np.random.default_rng(3)
    parts = [{f"part{p}/{i}": values(dtype, (2, 3), rng) for i, dtype in enumerate(DTYPES[p::3])}
             for p in range(3)]
    parts[1]["words"] = tf.constant(["x", "yy"])
    for deleting in (False, True):
        for p, tensors in enumerate(parts):
            save_v2(folder / f"temp{deleting}" / f"part-0000{p}-of-00003", tensors)
        prefixes = [str(folder / f"temp{deleting}" / f"part-0000{p}-of-00003") for p in range(3)]
        convert("merged", *(f"{p}.index" for p in prefixes), "-o", folder / f"heft{deleting}", "--to", "tf")
        tf.raw_ops.MergeV2Checkpoints(checkpoint_prefixes=prefixes, delete_old_dirs=deleting,
                                      destination_prefix=str(folder / f"tf{deleting}"))
        same_files(folder / f"tf{deleting}", folder / f"heft{deleting}", f"merged, deleting {deleting}",
                   [".index"] + [f".data-0000{k}-of-00003" for k in range(3)])
    if convert("merged into one", folder / "tfTrue.index", "-o", folder / "one", "--to", "tf"):
        compare(folder / "one", {k: t for part in parts for k, t in part.items()}, "merged into one")


def merged_slices(folder):
    """Slices of one tensor, saved by several devices, and a tensor that each device has whole."""
    w = np.arange(35, dtype="f4").reshape(5, 7)
    cuts = [("5 7 0,2:0,7", w[0:2]), ("5 7 2,2:0,7", w[2:4]), ("5 7 4,1:0,7", w[4:5])]
    for number, (spec, cut) in enumerate(cuts):
        save_v2(folder / f"part{number}", {"w": tf.constant(cut), f"own{number}": tf.constant([number])},
                specs=[spec, ""])
    prefixes = [folder / f"part{number}" for number in range(3)]
    some = heft("convert", *(f"{p}.index" for p in prefixes[:2]), "-o", folder / "some", "--to", "tf")
    check(some.returncode == 2 and "28 of 35 elements" in some.stderr or "14 of 35" in some.stderr,
          "some slices are no tensor", some.stderr)
    convert("merged slices", *(f"{p}.index" for p in prefixes), "-o", folder / "heft", "--to", "tf")
    convert("merged slices, whole", *(f"{p}.index" for p in prefixes), "-o", folder / "whole", "--to", "tf",
            "--partition", "*=whole", "--shards", "1")
    tf.raw_ops.MergeV2Checkpoints(checkpoint_prefixes=[str(p) for p in prefixes], delete_old_dirs=False,
                                  destination_prefix=str(folder / "tf"))
    data = [f".data-0000{k}-of-00003" for k in range(3)]
    same_files(folder / "tf", folder / "heft", "merged slices", data)
    for prefix in ("tf", "heft", "whole"):
        reader = tf.train.load_checkpoint(str(folder / prefix))
        check((reader.get_tensor("w") == w).all() and reader.get_tensor("own2") == [2], f"merged slices, {prefix}")
    theirs, ours = (folder / f"{p}.index" for p in ("tf", "heft"))
    check(theirs.read_bytes() == ours.read_bytes(), "merged slices: .index is TensorFlow's")


def slices(folder):
    tensors = {"w": np.arange(35, dtype="f4").reshape(5, 7), "v": np.arange(11, dtype="i8"),
               "s": np.array(3, "i4"), "c": np.ones((2, 2, 3), "c8")}
    save_file({k: v for k, v in tensors.items()}, folder / "x.safetensors")
    if not convert("slices", folder / "x.safetensors", "-o", folder / "cut", "--to", "tf", "--partition", "*=0:3",
                   "--partition", "c=2:2"):
        return
    reader = tf.train.load_checkpoint(str(folder / "cut"))
    for name, want in tensors.items():
        check((reader.get_tensor(name) == want).all(), f"slices: {name} read whole")
    part, = tf.raw_ops.RestoreV2(prefix=str(folder / "cut"), tensor_names=["w"], dtypes=[tf.float32],
                                 shape_and_slices=["5 7 2,2:0,7"])
    check((part.numpy() == tensors["w"][2:4]).all(), "slices: one of them, by its own extents")
    keys = ["w", "w", "w", "c", "c"]
    cut = [tensors["w"][0:2], tensors["w"][2:4], tensors["w"][4:5], tensors["c"][:, :, :2], tensors["c"][:, :, 2:]]
    specs = ["5 7 0,2:0,7", "5 7 2,2:0,7", "5 7 4,1:0,7", "2 2 3 0,2:0,2:0,2", "2 2 3 0,2:0,2:2,1"]
    tf.raw_ops.SaveV2(prefix=str(folder / "tf"), tensor_names=keys, shape_and_slices=specs,
                      tensors=[tf.constant(np.ascontiguousarray(c)) for c in cut])
    save_file({k: tensors[k] for k in ("w", "c")}, folder / "y.safetensors")
    order = order_of(folder / "y.safetensors")
    convert("slices, as SaveV2", folder / "y.safetensors", "-o", folder / "heft", "--to", "tf", "--partition",
            "w=0:3", "--partition", "c=2:2")
    if order == ["w", "c"]:
        same_files(folder / "tf", folder / "heft", "slices, as SaveV2")
    convert("slices, in order", folder / "tf.index", "-o", folder / "kept", "--to", "tf", "--partition", "*=keep")
    same_files(folder / "tf", folder / "kept", "slices kept")
    convert("slices, whole", folder / "tf.index", "-o", folder / "whole", "--to", "tf")
    whole = tf.train.load_checkpoint(str(folder / "whole"))
    check((whole.get_tensor("w") == tensors["w"]).all() and (whole.get_tensor("c") == tensors["c"]).all(),
          "slices: written whole")
    v1_partitioned(folder)


def v1_partitioned(folder):
    """A Saver of the first API restores a partitioned variable from slices, and from a whole tensor."""
    want = np.arange(10, dtype="f4").reshape(5, 2)
    save_file({"p": want}, folder / "p.safetensors")
    for name, options in (("sliced", ["--partition", "p=0:2"]), ("entire", [])):
        convert(f"p {name}", folder / "p.safetensors", "-o", folder / name, "--to", "tf", *options)
        with tf.Graph().as_default(), v1.Session() as session:
            p = v1.get_variable("p", [5, 2], partitioner=v1.fixed_size_partitioner(2), use_resource=False)
            v1.train.Saver().restore(session, str(folder / name))
            check((session.run(tf.convert_to_tensor(p)) == want).all(), f"Saver restores p {name}")


def saver(folder):
    rng = np.random.default_rng(5)
    want = {"a": rng.standard_normal((3, 4)).astype("f4"), "scope/b": rng.standard_normal(5),
            "step": np.array(9, "i8")}
    save_file(want, folder / "x.safetensors")
    convert("Saver", folder / "x.safetensors", "-o", f"{folder / 'v1'}/", "--to", "tf", "--shards", "2")
    with tf.Graph().as_default(), v1.Session() as session:
        variables = {name: v1.get_variable(name, initializer=np.zeros_like(value)) for name, value in want.items()}
        v1.train.Saver().restore(session, str(folder / "v1" / "model.ckpt"))
        for name, value in want.items():
            check((session.run(variables[name]) == value).all(), f"Saver restores {name}")


def keras_model():
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(3), tf.keras.layers.Dense(2)])
    model.compile(tf.keras.optimizers.Adam(0.01), "mse")
    return model


def variables_of(model):
    return [v.numpy() for v in model.variables + model.optimizer.variables]


def checkpoints(folder):
    model = keras_model()
    model.fit(np.ones((8, 4)), np.ones((8, 2)), verbose=0)
    saved = tf.train.Checkpoint(model=model, optimizer=model.optimizer).save(str(folder / "keras"))
    want = variables_of(model)
    convert("Keras, again", f"{saved}.index", "-o", folder / "again", "--to", "tf", "--shards", "3")
    convert("Keras, as safetensors", f"{saved}.index", "-o", folder / "k.safetensors")
    convert("Keras, with objects", folder / "k.safetensors", "-o", folder / "objects", "--to", "tf", "--names",
            "objects")
    convert("Keras, keys alone", folder / "k.safetensors", "-o", folder / "usual", "--to", "tf")
    convert("Keras, renamed", f"{saved}.index", "-o", folder / "renamed", "--to", "tf", "--rename", "^model/=>m/")
    for prefix in ("again", "objects", "usual", "renamed"):
        other = keras_model()
        other.optimizer.build(other.trainable_variables)
        status = tf.train.Checkpoint(model=other, optimizer=other.optimizer).restore(str(folder / prefix))
        try:
            status.assert_consumed()
            good, why = True, ""
        except AssertionError as reason:
            good, why = False, str(reason)[:300]
        check(good, f"Keras, {prefix}: assert_consumed", why)
        check(all((a == b).all() for a, b in zip(want, variables_of(other))), f"Keras, {prefix}: values")
    slots(folder)
    plain_names(folder)


def slots(folder):
    """An optimizer of the older kind, whose state is stored as slot variables."""
    class Model(tf.Module):
        def __init__(self):
            self.w = tf.Variable(tf.ones((2, 3)), name="w")
            self.odd = {"a.b/c": tf.Variable(1.0)}
    def parts():
        model, optimizer = Model(), v1.train.MomentumOptimizer(0.1, 0.9)
        return model, optimizer, tf.train.Checkpoint(model=model, optimizer=optimizer)
    model, optimizer, checkpoint = parts()
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(model.w * model.w)
    optimizer.apply_gradients([(tape.gradient(loss, model.w), model.w)])
    saved = checkpoint.save(str(folder / "slots"))
    convert("slots, as safetensors", f"{saved}.index", "-o", folder / "slots.safetensors")
    convert("slots, keys alone", folder / "slots.safetensors", "-o", folder / "slots2", "--to", "tf")
    model2, optimizer2, checkpoint2 = parts()
    status = checkpoint2.restore(str(folder / "slots2"))
    optimizer2._create_slots([model2.w])
    status.assert_consumed()
    check((model2.w.numpy() == model.w.numpy()).all() and model2.odd["a.b/c"].numpy() == 1
          and (optimizer2.get_slot(model2.w, "momentum").numpy() ==
               optimizer.get_slot(model.w, "momentum").numpy()).all(), "slots are restored")


def plain_names(folder):
    want = {"dense.kernel": np.arange(12, dtype="f4").reshape(3, 4), "dense.bias": np.ones(4, "f4"),
            "step": np.array(7, "i8")}
    save_file(want, folder / "plain.safetensors")
    convert("plain names", folder / "plain.safetensors", "-o", folder / "plain", "--to", "tf", "--names", "objects")
    root = tf.Module()
    root.dense = tf.Module()
    root.dense.kernel, root.dense.bias = tf.Variable(tf.zeros((3, 4))), tf.Variable(tf.zeros(4))
    root.step = tf.Variable(0, dtype=tf.int64)
    tf.train.Checkpoint(root).restore(str(folder / "plain")).assert_consumed()
    check((root.dense.kernel.numpy() == want["dense.kernel"]).all() and root.step.numpy() == 7, "plain names restored")


def models(folder):
    class Model(tf.Module):
        def __init__(self):
            self.w = tf.Variable(np.ones((2, 3), "f4"), name="weights")
            self.sub = tf.Module()
            self.sub.b = tf.Variable(np.zeros(3, "f4"), name="bias")
            words = folder / "words.txt"
            words.write_text("a\nb\n")
            self.table = tf.lookup.StaticVocabularyTable(tf.lookup.TextFileInitializer(
                str(words), tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64,
                tf.lookup.TextFileIndex.LINE_NUMBER), 1)
        @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32)])
        def __call__(self, x):
            return x @ self.w + self.sub.b + tf.cast(self.table.lookup(tf.constant("b")), tf.float32)
    tf.saved_model.save(Model(), str(folder / "model"))
    w, b, x = np.arange(6, dtype="f4").reshape(2, 3), np.array([1, 2, 3], "f4"), np.array([[1, 2]], "f4")
    for number, names in enumerate((("w" + SUFFIX, "sub/b" + SUFFIX), ("weights", "bias:0"), ("w", "sub.b"))):
        save_file({names[0]: w, names[1]: b}, folder / "new.safetensors")
        out = folder / f"new{number}"
        if convert(f"into, names like {names[1]}", folder / "new.safetensors", "--into", folder / "model", "-o", out,
                   "--verify"):
            got = tf.saved_model.load(str(out))(x).numpy()
            check((got == x @ w + b + 1).all(), f"into, names like {names[1]}: outputs are of the new weights", got)
            check(sorted(p.name for p in out.iterdir()) == ["assets", "saved_model.pb", "variables"], "into: files")
    save_file({"w": w}, folder / "less.safetensors")
    check(heft("convert", folder / "less.safetensors", "--into", folder / "model", "-o", folder / "no").returncode == 2
          and not (folder / "no").exists(), "into: a missing variable is refused")
    if convert("into, missing", folder / "less.safetensors", "--into", folder / "model", "-o", folder / "kept",
               "--keep-missing"):
        check((tf.saved_model.load(str(folder / "kept"))(x).numpy() == x @ w + 1).all(), "into: missing ones kept")
    model_v1(folder)
    model_keras(folder)


def model_v1(folder):
    with tf.Graph().as_default() as graph:
        a = v1.get_variable("a", initializer=np.float32(0.5), use_resource=False)
        b = v1.get_variable("scope/b", initializer=np.array([2, 3], "f4"))
        p = v1.get_variable("p", [4], partitioner=v1.fixed_size_partitioner(2), initializer=v1.zeros_initializer())
        x = v1.placeholder(tf.float32, [None], name="x")
        y = tf.add(a * x, tf.reduce_sum(b) + tf.reduce_sum(tf.convert_to_tensor(p)), name="y")
        with v1.Session(graph=graph) as session:
            session.run(v1.global_variables_initializer())
            v1.saved_model.simple_save(session, str(folder / "model1"), {"x": x}, {"y": y})
    save_file({"a": np.array(2, "f4"), "scope/b": np.array([10, 20], "f4"), "p": np.arange(4, dtype="f4")},
              folder / "v1.safetensors")
    for name, options in (("whole", []), ("sliced", ["--partition", "p=0:2"])):
        out = folder / f"model1-{name}"
        if convert(f"into v1, {name}", folder / "v1.safetensors", "--into", folder / "model1", "-o", out, *options):
            loaded = tf.saved_model.load(str(out))
            got = loaded.signatures["serving_default"](tf.constant([1.0, 2.0]))["y"].numpy()
            check(list(got) == [38.0, 40.0], f"into v1, {name}: outputs are of the new weights", got)


def model_keras(folder):
    model = keras_model()
    model.export(str(folder / "keras"), verbose=False)
    listed = heft("ls", "--tsv", folder / "keras" / "variables" / "variables.index").stdout.splitlines()
    reader = tf.train.load_checkpoint(str(folder / "keras" / "variables" / "variables"))
    keys = [line.split("\t")[0] for line in listed if "\tSTRING\t" not in line]
    new = {key: np.asarray(reader.get_tensor(key)) + 1 for key in keys if reader.get_tensor(key).dtype == np.float32}
    save_file(new, folder / "keras.safetensors")
    if convert("into Keras", folder / "keras.safetensors", "--into", folder / "keras", "-o", folder / "keras2",
               "--keep-missing"):
        for layer in model.layers:
            layer.set_weights([weight + 1 for weight in layer.get_weights()])
        x = np.ones((1, 4), "f4")
        loaded = tf.saved_model.load(str(folder / "keras2"))
        got = loaded.serve(x).numpy()
        check(np.allclose(got, model(x).numpy()), "into Keras: outputs are of the new weights")


def exported_models():
    """Models of Keras and an input; variables of all but the last are found by name."""
    layers = tf.keras.layers
    ids, steps = tf.keras.Input((5,), dtype="int32"), tf.keras.Input((5, 4))
    text = layers.Bidirectional(layers.LSTM(3))(layers.Embedding(10, 4, name="tok")(ids))
    yield "text", tf.keras.Model(ids, layers.Dense(2)(text)), np.arange(10, dtype="i4").reshape(2, 5)
    look = layers.LayerNormalization()(layers.MultiHeadAttention(2, 3)(steps, steps))
    yield "attention", tf.keras.Model(steps, layers.Dense(2)(look)), np.random.default_rng(0).random((2, 5, 4), "f4")
    for deep in ([], [tf.keras.Input((3,))]):  # the inner model is built later, or has an input of its own
        inner = tf.keras.Sequential([*deep, layers.Dense(3, name="x"), layers.Dense(2)], name="deep")
        outer = tf.keras.Sequential([tf.keras.Input((4,)), layers.Dense(3, name="x"), inner], name="outer")
        start = tf.keras.Input((4,))
        yield f"nested{len(deep)}", tf.keras.Model(start, outer(start)), np.ones((2, 4), "f4")
    yield "sequential", tf.keras.Sequential([
        tf.keras.Input((4,)), layers.Dense(3), layers.BatchNormalization(), layers.Dropout(0.5), layers.Dense(2),
    ]), np.ones((2, 4), "f4")
    yield "MobileNetV2", tf.keras.applications.MobileNetV2(
        weights=None, input_shape=(32, 32, 3), alpha=0.35, classes=3), np.ones((1, 32, 32, 3), "f4")


def set_weights(model, seed):
    for number, variable in enumerate(model.weights):
        variable.assign(np.random.default_rng([seed, number]).random(variable.shape, "f4") * 0.3)


def exports(folder):
    """Model.export() stores each variable twice; weights of every format of Keras fill both places."""
    for name, model, x in exported_models():
        old, other, out = folder / name, folder / f"{name}-other", folder / "out"
        set_weights(model, 1)
        model.export(str(old), verbose=False)
        told = json.loads(heft("info", "--json", old).stdout)["objects"]
        check(told["stored_twice"] == len(model.weights), f"{name}: variables are stored twice", told)
        names = {row["name"] for row in json.loads(heft("ls", "--json", old, "--names", "objects").stdout)["tensors"]}
        want = {weight.path for weight in model.weights}
        check(want <= names and not any("_all_variables" in each for each in names), f"{name}: names", names)
        set_weights(model, 2)
        expected = model.predict(x, verbose=0)
        model.export(str(other), verbose=False)
        model.save(folder / "new.keras")
        model.save(folder / "new.h5")
        model.save_weights(folder / "new.weights.h5")
        for source in (other, folder / "new.keras", folder / "new.h5", folder / "new.weights.h5"):
            shutil.rmtree(out, ignore_errors=True)
            if convert(f"{name}: into from {source.name}", source, "--into", old, "-o", out, "--names", "objects"):
                loaded = tf.saved_model.load(str(out))
                got = loaded.serve(tf.constant(x)).numpy()
                check(np.array_equal(got, expected), f"{name}: outputs from {source.name} are of the new weights")
                twice = json.loads(heft("info", "--json", out).stdout)["objects"]
                check(twice == told, f"{name}: both places are filled", twice)


def main(folder):
    for job in (all_dtypes, big_endian, even, random_tensors, merged, merged_slices, slices, saver, checkpoints, models, exports):
        place = folder / job.__name__
        place.mkdir(parents=True)
        try:
            job(place)
        except Exception as reason:
            check(False, f"{job.__name__} raised an exception", f"{type(reason).__name__}: {str(reason)[:600]}")


main(pathlib.Path(sys.argv[1]))
