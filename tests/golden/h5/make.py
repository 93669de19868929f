#!/usr/bin/env python3
"""Writes the golden files of this directory with the reference libraries.

    python make.py            # made with h5py 3.14.0 (HDF5 1.14.6), keras 3.15.1

They are small, as the suite mutate damages each at every byte. Keras writes the date into model.keras; all
others are the same in each run.
"""
import os
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import h5py
import keras
import numpy as np
from keras.src.legacy.saving import legacy_h5_format

HERE = Path(__file__).resolve().parent


def ramp(*shape, dtype="f4"):
    return np.arange(np.prod(shape), dtype=dtype).reshape(shape)


def types(file):
    for code in ("i1", "u1", "<i2", ">u2", "<i4", ">i4", "<u8", ">i8", "<f2", "<f4", ">f8", "<c8", "<c16"):
        file["plain/" + code.replace("<", "le-").replace(">", "be-")] = ramp(3, dtype=code)
    file["bool"] = np.array([True, False, True])
    file["scalar"] = np.float64(2.5)
    file["empty"] = np.zeros((0, 4), "f4")
    half = file.create_dataset("bfloat16", data=np.array([0x3F80, 0xC000], "<u2").view("V2"))
    half.attrs["dtype"] = "bfloat16"


def others(file):
    """Objects that are not tensors, and tensors that heft does not read."""
    file["text"] = "one line"
    file["fixed"] = np.array([b"ab", b"c"], "S4")
    file["compound"] = np.zeros(2, [("a", "f4"), ("b", "i4")])
    file["opaque"] = np.zeros(2, "V3")
    file["none"] = h5py.Empty("f4")
    file.attrs["words"] = ["a", "bc"]
    file.attrs["number"] = 7
    file.attrs["rates"] = [0.5, 0.25]
    file.attrs["nothing"] = []


def attributes(file):
    """Dtypes other than texts, signed numbers and floats: read or reported, but never read as another
    dtype."""
    file["x"] = np.float32(1)
    at = file["x"].attrs
    at["yes"] = True
    at["flags"] = np.array([True, False])
    at["shape"] = np.array([3, 4], "u8")
    at["byte"] = np.uint8(200)
    at["too_large"] = np.array([1, 2**63], "u8")
    at["complex"] = 1 + 2j
    at["pairs"] = np.zeros(2, [("a", "f4"), ("b", "i4")])
    at["colour"] = np.array([1, 2], h5py.enum_dtype({"RED": 1, "BLUE": 2}, "u1"))
    at["none"] = h5py.Empty("f4")
    at["empty"] = np.array([], "u8")


def packed(file):
    file.create_dataset("gzip", data=ramp(5, 6), chunks=(2, 4), compression="gzip", shuffle=True,
                        fletcher32=True)
    file.create_dataset("chunks", data=ramp(3, 2, 2, dtype=">i2"), chunks=(1, 2, 1))
    file.create_dataset("never", shape=(2, 2), dtype="i4", fillvalue=7)
    file.create_dataset("lzf", data=ramp(8), compression="lzf")
    compact = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    compact.set_layout(h5py.h5d.COMPACT)
    space = h5py.h5s.create_simple((3,))
    h5py.h5d.create(file.id, b"compact", h5py.h5t.STD_I32LE, space, compact).write(
        h5py.h5s.ALL, h5py.h5s.ALL, np.array([1, 2, 3], "i4"))


def links(file):
    file["a/x"] = ramp(2)
    file["b"] = file["a"]
    file["a/up"] = file["/"]
    file["same"] = file["a/x"]
    file["soft"] = h5py.SoftLink("/a/x")
    file["folder"] = h5py.SoftLink("/a")
    file["nowhere"] = h5py.SoftLink("/no/such")
    file["loop"] = h5py.SoftLink("/loop")
    file["outside"] = h5py.ExternalLink("other.h5", "/x")
    file["through"] = h5py.SoftLink("/outside/y")


def shards(file):
    """A shard as transformers writes it."""
    names = [b"encoder/layer_0/kernel:0", b"pooler/bias:0"]
    for name in names:
        file[name.decode()] = ramp(2, 2)
    file.attrs["layer_names"] = names


def cut_lists(file):
    """Lists that Keras splits into pieces; ten of them, so that their order is not that of their
    names."""
    group = file.create_group("layer")
    for i in range(11):
        group.create_dataset(f"w{i}", data=np.float32(i))
        group.attrs[f"weight_names{i}"] = np.array([f"w{i}".encode()])
    file.attrs["layer_names"] = np.array([b"layer"])


def ordered(file):
    """Groups that keep the order of creation of their links, and one that does not."""
    file["z"] = ramp(1)
    kept = file.create_group("m", track_order=True)
    kept["q"] = ramp(2)
    kept["b"] = ramp(3)
    named = file.create_group("k", track_order=False)
    for name in "yx":
        named[name] = ramp(1)
    file["a"] = ramp(1)
    file["again"] = file["z"]


def h5py_order(group):
    for name, item in group.items():
        yield from h5py_order(item) if isinstance(item, h5py.Group) else [item.name if name != "again" else "/again"]


def model():
    keras.utils.set_random_seed(1)
    made = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1, name="first"),
                             keras.layers.Normalization(name="second")])
    made.layers[1].adapt(np.ones((3, 1), "f4"))
    return made


def nested():
    """A model that is a layer of a model: the names of its layers do not contain the model's."""
    start = keras.Input((1,))
    inner = keras.Model(start, keras.layers.Dense(1, name="d2")(keras.layers.Dense(1, name="d1")(start)), name="inner")
    return keras.Model(start, keras.layers.Dense(1, name="last", use_bias=False)(inner(start)), name="outer")


def wrappers():
    """Layers whose class is not derivable from the paths of their variables, and one without
    variables."""
    keras.utils.set_random_seed(1)
    layers = keras.layers
    return keras.Sequential([keras.Input((1, 2)), layers.TimeDistributed(layers.Dense(1, name="in")),
                             layers.SpectralNormalization(layers.Dense(2, use_bias=False), name="sn"),
                             layers.BatchNormalization(scale=False, name="bn")])


class Subclass(keras.Model):
    """Layers that are attributes: the group has the attribute's name, and the title is the user's, or made by
    Keras of the class."""

    def __init__(self):
        super().__init__(name="net")
        self.a = keras.layers.Dense(1, name="mine")
        self.b = keras.layers.LayerNormalization(name="layer_normalization_3")
        self.c = keras.layers.Dense(1, name="conv2d")
        self.several = [keras.layers.Dense(1, name="x")]

    def call(self, x):
        return self.several[0](self.c(self.b(self.a(x))))


def main():
    for make in (types, others, attributes, packed, links, shards, cut_lists):
        with h5py.File(HERE / f"{make.__name__.replace('_', '-')}.h5", "w") as file:
            make(file)
    with h5py.File(HERE / "latest.h5", "w", libver="latest") as file:
        file["g/x"] = ramp(2, 3)
        for i in range(10):
            file.attrs[f"a{i}"] = i
    with h5py.File(HERE / "creation.h5", "w", track_order=True) as file:
        ordered(file)
        assert list(h5py_order(file)) == ["/z", "/m/q", "/m/b", "/k/x", "/k/y", "/a", "/again"]
    with h5py.File(HERE / "user-block.h5", "w", userblock_size=512) as file:
        file["x"] = ramp(4)
    made = model()
    with h5py.File(HERE / "legacy.h5", "w") as file:
        legacy_h5_format.save_weights_to_hdf5_group(file, made)
    with h5py.File(HERE / "nested.h5", "w", libver="latest") as file:
        legacy_h5_format.save_weights_to_hdf5_group(file, nested())
    made.save(HERE / "model.keras")
    made.save_weights(HERE / "three.weights.h5")
    wrappers().save(HERE / "wrappers.keras")
    keras.utils.set_random_seed(1)
    subclass = Subclass()
    subclass(np.ones((1, 2), "f4"))
    subclass.save_weights(HERE / "subclass.weights.h5")
    (HERE / "sharded").mkdir(exist_ok=True)
    made.save_weights(HERE / "sharded" / "three.weights.json", max_shard_size=13 / 1024**3)


main()
