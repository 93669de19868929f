"""HDF5 in both directions: as h5py, Keras and huggingface_hub 0.36 write it, and as they read heft's
output. Prints a line "pass WHAT" or "FAIL WHAT: why" per check, for suite_h5.

    HEFT=… python h5_peer.py FOLDER

Runs in its own environment (requirements-h5.txt), as newer releases of the hub do not support TensorFlow.
"""

import json
import os
import pathlib
import random
import subprocess
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import h5py
import keras
import numpy
import safetensors.numpy
import tensorflow
from huggingface_hub import split_tf_state_dict_into_shards
from keras.src.legacy.saving import legacy_h5_format

HEFT = os.environ["HEFT"]
CODES = "? i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16".split()
ROUNDS = 30


def check(good, what, why=""):
    print(f"pass {what}" if good else f"FAIL {what}: {why}"[:600].replace("\n", " "), flush=True)
    return good


def heft(*words):
    done = subprocess.run([HEFT, *map(str, words)], capture_output=True)
    check(done.returncode == 0, f"heft {words[0]}", done.stderr.decode("utf-8", "replace")[-300:])
    return done.stdout


def same(left, right):
    left, right = (numpy.asarray(a, a.dtype.newbyteorder("<"), order="C") for a in (left, right))
    return left.dtype == right.dtype and left.shape == right.shape and left.tobytes() == right.tobytes()


def random_array(rng, code):
    shape = tuple(rng.choice((1, 2, 3, 5, 17)) for _ in range(rng.randrange(5)))
    dtype = numpy.dtype(code).newbyteorder(rng.choice("<>"))
    if code == "?":
        return numpy.array([rng.random() < 0.5 for _ in range(int(numpy.prod(shape)))], bool).reshape(shape)
    return numpy.frombuffer(rng.randbytes(int(numpy.prod(shape)) * dtype.itemsize), dtype).reshape(shape)


def storing(rng, array):
    if array.ndim == 0 or rng.random() < 0.4:
        return {}
    options = {"chunks": tuple(rng.randint(1, n) for n in array.shape)}
    if rng.random() < 0.6:
        options["compression"] = "gzip"
    return options | {"shuffle": rng.random() < 0.5, "fletcher32": rng.random() < 0.5}


def read_files(folder):
    """Files written by h5py, read by heft."""
    for number in range(ROUNDS):
        rng = random.Random(number)
        path, out = folder / "in.h5", folder / "in.npz"
        arrays = {f"{rng.choice(['', 'a/', 'b/c/'])}{i}é": random_array(rng, rng.choice(CODES)) for i in range(12)}
        libver = rng.choice(["earliest", "v108", "v110"])
        with h5py.File(path, "w", libver=libver, userblock_size=rng.choice([0, 512, 2048])) as file:
            for name, array in arrays.items():
                file.create_dataset(name, data=array, **storing(rng, array))
        heft("convert", path, "-o", out, "-f", "-q", "--allow-empty")
        with numpy.load(out) as got:
            check(set(got.files) == set(arrays), f"names {number}", got.files)
            for name, array in arrays.items():
                check(same(got[name], array), f"round {number} {name}", f"{array.dtype} {array.shape}")


def write_files(folder):
    """Files written by heft, read by h5py; their bytes are the same on every run."""
    plain = [c for c in CODES if c != "c16"]
    for number in range(ROUNDS):
        rng = random.Random(1000 + number)
        source, one, two = folder / "s.safetensors", folder / "one.h5", folder / "two.h5"
        arrays = {}
        for i in range(rng.choice([0, 1, 20])):
            array = random_array(rng, rng.choice(plain))
            arrays[f"{rng.choice(['', 'x/', 'y/z/'])}{i}.weight"] = numpy.ascontiguousarray(
                array.astype(array.dtype.newbyteorder("=")))
        safetensors.numpy.save_file({k: v.reshape(v.shape) for k, v in arrays.items()}, source)
        heft("convert", source, "-o", one, "-f", "-q", "--verify", "--allow-empty")
        heft("convert", source, "-o", two, "-f", "-q", "--allow-empty")
        check(one.read_bytes() == two.read_bytes(), f"two runs {number}")
        with h5py.File(one) as file:
            for name, array in arrays.items():
                check(same(file[name][()], array), f"written {number} {name}", f"{array.dtype} {array.shape}")
        names = {row["name"] for row in json.loads(heft("ls", "--json", one))["tensors"]}
        check(names == set(arrays), f"names round-trip {number}")


def model(seed):
    keras.utils.set_random_seed(seed)
    inner = keras.Sequential([keras.Input((6,)), keras.layers.Dense(5, name="deep")], name="inner")
    return keras.Sequential([
        keras.Input((4, 3)), keras.layers.Conv1D(4, 2, name="conv"),
        keras.layers.Bidirectional(keras.layers.LSTM(3), name="both"), inner,
        keras.layers.BatchNormalization(name="norm"), keras.layers.Dense(2, name="last")])


def equal_weights(left, right):
    return all(numpy.array_equal(a, b) for a, b in zip(left.get_weights(), right.get_weights()))


def keras_files(folder):
    made, other = model(1), model(2)
    path, out = folder / "legacy.h5", folder / "again.h5"
    with h5py.File(path, "w") as file:
        legacy_h5_format.save_weights_to_hdf5_group(file, made)
    heft("convert", path, "-o", out, "-f", "-q", "--allow-empty")
    check(not equal_weights(made, other), "two models differ")
    other.load_weights(out)
    check(equal_weights(made, other), "load_weights of what heft wrote")
    for name in ("m.keras", "m.weights.h5", "m.weights.json"):
        limit = {"max_shard_size": 300 / 1024**3} if name.endswith(".json") else {}
        made.save(folder / name) if name == "m.keras" else made.save_weights(folder / name, **limit)
        heft("convert", folder / name, "-o", folder / "k.npz", "-f", "-q")
        with numpy.load(folder / "k.npz") as got:
            values = sorted(got[n].tobytes() for n in got.files)
        check(values == sorted(w.tobytes() for w in made.get_weights()), f"weights of {name}")
        heft("verify", folder / name)
    names = [{row["name"] for row in json.loads(heft("ls", "--json", folder / name))["tensors"]}
             for name in ("m.weights.h5", "m.weights.json")]
    check(names[0] == names[1] and len(list(folder.glob("m_0*"))) > 1, "names in shards", names)


def sorted_names(folder):
    """Conversion through formats that sort names keeps the weights of a layer in the order of Keras."""
    layers, start = keras.layers, keras.Input((4, 4))
    both = layers.Bidirectional(layers.LSTM(2, return_sequences=True), name="both")(start)
    norm = layers.BatchNormalization(name="norm")(layers.MultiHeadAttention(2, 2, name="look")(both, both))
    made = keras.Model(start, layers.Dense(4, name="dense")(layers.SeparableConv1D(4, 1, name="apart")(norm)))
    want = [numpy.random.default_rng(i).random(w.shape, "f4") for i, w in enumerate(made.get_weights())]
    path, out = folder / "order.h5", folder / "order2.h5"
    made.set_weights(want)
    with h5py.File(path, "w") as file:
        legacy_h5_format.save_weights_to_hdf5_group(file, made)
    for to in ("safetensors", "tf", "npz"):
        heft("convert", path, "-o", folder / f"order.{to}", "--to", to, "-f", "-q", "--allow-empty")
        heft("convert", folder / f"order.{to}", "-o", out, "-f", "-q", "--allow-empty")
        made.set_weights([numpy.zeros_like(w) for w in want])
        made.load_weights(out, by_name=True)
        check(all(map(numpy.array_equal, made.get_weights(), want)), f"load_weights by name, over {to}")


def nested(seed):
    """Models that are layers of a model; the names of their layers do not contain the model's."""
    keras.utils.set_random_seed(seed)
    dense, start = keras.layers.Dense, keras.Input((6,))
    norm = keras.layers.BatchNormalization(name="n1")(dense(5, name="d1")(start))
    inner = keras.Model(start, dense(4, name="d2")(norm), name="inner")
    plain = keras.Sequential([keras.Input((4,)), dense(3, name="s1"), dense(3, name="s2")], name="plain")
    deep = keras.Sequential([keras.Input((3,)), keras.Sequential(
        [keras.Input((3,)), dense(3, name="q1"), dense(2, name="q2")], name="deeper")], name="deep")
    return keras.Model(start, dense(2, name="last")(deep(plain(inner(start)))), name="outer")


def nested_files(folder):
    made = nested(1)
    made.compile("adam", "mse")
    made.fit(numpy.ones((4, 6)), numpy.ones((4, 2)), verbose=0)
    for number, save in enumerate((legacy_h5_format.save_weights_to_hdf5_group,
                                   legacy_h5_format.save_model_to_hdf5)):
        path, out, other = folder / "nested.h5", folder / "nested2.h5", nested(2)
        if number == 0:
            with h5py.File(path, "w") as file:
                save(file, made)
        else:
            save(made, path)
        heft("convert", path, "-o", out, "-f", "-q")
        check(not equal_weights(made, other), "two nested models differ")
        other.load_weights(out)
        check(equal_weights(made, other), f"nested models {number}")
        names = [[row["name"] for row in json.loads(heft("ls", "--json", file))["tensors"]] for file in (path, out)]
        check(sorted(names[0]) == sorted(names[1]), f"names of nested models {number}", names)


def layers_of_all_kinds():
    """One of each layer, and its input; the classes of some are stored only in config.json."""
    layers, flat, steps, image = keras.layers, (8,), (6, 4), (6, 6, 2)
    for bias in (True, False):
        yield layers.SpectralNormalization(layers.Dense(3, use_bias=bias), name="sn"), flat
        yield layers.SpectralNormalization(layers.Conv2D(3, 2, use_bias=bias, name="in")), image
        yield layers.TimeDistributed(layers.Dense(3, use_bias=bias)), steps
        yield layers.TimeDistributed(layers.TimeDistributed(layers.Dense(3, use_bias=bias))), image
        yield layers.EinsumDense("abc,cd->abd", (None, 5), bias_axes="d" if bias else None), steps
        yield layers.SeparableConv2D(3, 2, use_bias=bias), image
        yield layers.Bidirectional(layers.LSTM(3, use_bias=bias)), steps
        yield layers.RNN(layers.GRUCell(3, use_bias=bias, name="c")), steps
        yield layers.BatchNormalization(scale=bias), flat
        yield layers.BatchNormalization(scale=False, center=bias), flat
        yield layers.LayerNormalization(scale=bias, center=not bias), flat
        yield layers.LayerNormalization(rms_scaling=bias), flat
    yield layers.ConvLSTM1D(3, 2), image
    yield layers.TimeDistributed(keras.Sequential([keras.Input((4,)), layers.Dense(3)], name="own")), steps


def random_weights(made):
    for i, weight in enumerate(made.weights):
        if weight.dtype == "float32":
            weight.assign(numpy.random.default_rng(i).random(weight.shape))
    return {weight.path: weight.numpy() for weight in made.weights if weight.dtype == "float32"}


class Attributes(keras.Model):
    """Layers in attributes and lists, with the names that Keras makes of their classes."""

    def __init__(self):
        super().__init__()
        layers = keras.layers
        self.first, self.norm, self.look = layers.Dense(4), layers.BatchNormalization(), layers.MultiHeadAttention(2, 2)
        self.blocks = [layers.Dense(4), layers.LayerNormalization()]
        self.end = keras.Sequential([layers.Conv1D(3, 2), layers.LSTM(2)])

    def call(self, x):
        x = self.norm(self.first(x))
        x = self.look(x, x)
        for block in self.blocks:
            x = block(x)
        return self.end(x)


def whole_models():
    """Models of all kinds; names begin with that of the model unless it is a Functional one."""
    layers, flat, steps = keras.layers, keras.Input((4,)), keras.Input((6, 4))
    dense = layers.Dense(4, name="shared")
    yield "functional", keras.Model(flat, layers.Dense(2)(layers.Dense(3)(flat)))
    yield "shared", keras.Model(flat, dense(dense(flat)))
    yield "sequential", keras.Sequential([keras.Input((4,)), layers.Dense(3), layers.Dropout(0.5), layers.Dense(2)])
    built = keras.Sequential([layers.Dense(3), layers.BatchNormalization()])
    built.build((None, 4))
    yield "sequential, built later", built
    yield "nested", nested(3)
    yield "rnn", keras.Model(steps, layers.RNN([layers.LSTMCell(3), layers.GRUCell(2)])(steps))
    for cell in (layers.LSTM, layers.GRU, layers.SimpleRNN):
        yield "rnn", keras.Model(steps, layers.Bidirectional(cell(3, return_sequences=True))(steps))
        yield "rnn", keras.Sequential([keras.Input((6, 4)), cell(3, return_sequences=True), cell(2)])
    yield "attention", keras.Model(steps, layers.MultiHeadAttention(2, 3, name="look")(steps, steps))
    yield "attention", keras.Model(steps, layers.GroupQueryAttention(3, 4, 2)(steps, steps))
    yield "images", keras.Sequential([
        keras.Input((8, 8, 3)), layers.Conv2D(4, 3), layers.DepthwiseConv2D(3), layers.SeparableConv2D(4, 2),
        layers.Conv2DTranspose(2, 2), layers.GroupNormalization(2), layers.PReLU()])
    yield "MobileNetV2", keras.applications.MobileNetV2(
        weights=None, input_shape=(32, 32, 3), alpha=0.35, classes=3)
    subclassed = Attributes()
    subclassed(numpy.zeros((1, 6, 4), "f4"))
    yield "subclassed", subclassed


def compare_names(path, want, what, split=False):
    """In shards (split) the variables of a layer that are in two files have numbers."""
    out = path.with_name("names.npz")
    heft("convert", path, "-o", out, "-f", "-q", "--names", "objects")
    with numpy.load(out) as got:
        named = {name for name in got.files if "/vars/" not in name}
        check(len(got.files) == len(want) and named <= set(want) and named if split else set(got.files) == set(want), f"names of {what}", f"{got.files}, Keras: {sorted(want)}")
        for name in set(got.files) & set(want):
            check(same(got[name], want[name]), f"value of {what} {name}")


def object_names(folder):
    """Compares --names objects with the paths of the variables in Keras."""
    for layer, shape in layers_of_all_kinds():
        start = keras.Input(shape)
        made = keras.Model(start, layer(start))
        want = random_weights(made)
        made.save(folder / "names.keras")
        compare_names(folder / "names.keras", want, layer.name)
    for what, made in whole_models():
        want = random_weights(made)
        made.save(folder / "names.keras")
        compare_names(folder / "names.keras", want, f"{what}, .keras")
        if what != "nested":  # weights files do not say whether a model within a model has an input of its own
            made.save_weights(folder / "names.weights.h5")
            compare_names(folder / "names.weights.h5", want, f"{what}, .weights.h5")
            made.save_weights(folder / "names.weights.json", max_shard_size=(max(w.size for w in want.values()) * 4 + 1000) / 1024**3)
            compare_names(folder / "names.weights.json", want, f"{what}, .weights.json", split=True)
            for shard in folder.glob("names_*.weights.h5"):
                shard.unlink()


def stripped(name):
    return name if "model." in name or "/" not in name else name.split("/", 1)[1]


def splits(folder):
    """Compares --max-shard-size with split_tf_state_dict_into_shards, and shards of transformers."""
    for number in range(ROUNDS):
        rng = random.Random(2000 + number)
        arrays = {}
        for i in range(rng.randint(1, 12)):
            code = rng.choice(["?", "f4", "f2", "i8"])
            arrays[f"{rng.choice(['net/', 'net/a/', 'my_model.x/', ''])}w{i}:0"] = numpy.zeros(rng.randint(1, 40), code)
        limit = rng.choice([1, 20, 60, 200, 10**6])
        wanted = split_tf_state_dict_into_shards(
            {name: tensorflow.constant(array) for name, array in arrays.items()}, max_shard_size=limit)
        source, out = folder / "split.npz", folder / f"out{number}"
        numpy.savez(source, **arrays)
        words = ["convert", source, "-o", f"{out}/", "--to", "h5", "--max-shard-size", limit]
        plan = json.loads(heft(*words, "--dry-run", "--json"))
        check(plan["filename_to_tensors"] == wanted.filename_to_tensors, f"split {number}", plan["filename_to_tensors"])
        check(plan["metadata"]["total_size"] == wanted.metadata["total_size"], f"total {number}")
        heft(*words, "-q")
        read_shards(out, wanted, arrays, number)


def read_shards(out, wanted, arrays, number):
    for name, tensors in wanted.filename_to_tensors.items():
        with h5py.File(out / name) as file:
            if wanted.is_sharded:
                listed = [n.decode() for n in file.attrs["layer_names"]]
                check(listed == [stripped(n) for n in sorted(tensors)], f"layer_names {number}", listed)
            for tensor in tensors:
                at = stripped(tensor) if wanted.is_sharded else tensor
                check(same(file[at][()], arrays[tensor]), f"shard {number} {tensor}")
    if wanted.is_sharded:
        index = json.loads((out / "tf_model.h5.index.json").read_text())
        check(index == {"metadata": wanted.metadata, "weight_map": wanted.tensor_to_filename}, f"index {number}", index)
    rows = {row["name"] for row in json.loads(heft("ls", "--json", out))["tensors"]}
    check(rows == set(arrays), f"rows of the folder {number}", rows)
    heft("verify", out, "--strict")


def main():
    folder = pathlib.Path(sys.argv[1])
    for part in (read_files, write_files, keras_files, sorted_names, nested_files, object_names, splits):
        part(folder)


main()
