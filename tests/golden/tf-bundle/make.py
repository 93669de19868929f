"""Checkpoints written by TensorFlow, and the kinds that it only reads (table.py).

    python make.py          with tensorflow-cpu 2.21.0: writes the directories beside it
"""
import os
import shutil
import struct
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["TF_USE_LEGACY_KERAS"] = "0"
import numpy as np
import tensorflow as tf
from tensorflow.python.framework import dtypes
from tensorflow.python.ops import gen_io_ops

import table

HERE = Path(__file__).parent


def folder(name):
    path = HERE / name
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    return path


def save(prefix, tensors, specs=None):
    """{name: tensor} in this order."""
    names = list(tensors)
    tf.raw_ops.SaveV2(prefix=str(prefix), tensor_names=names,
                      shape_and_slices=specs or [""] * len(names), tensors=list(tensors.values()))


def every_dtype():
    """Each dtype that SaveV2 of 2.21 accepts: a vector of four, a scalar, an empty one."""
    bits = np.arange(4, dtype=np.uint8)
    out = {}
    for dtype in [dtypes.float32, dtypes.float64, dtypes.int32, dtypes.uint8, dtypes.int16,
                  dtypes.int8, dtypes.complex64, dtypes.int64, dtypes.bool, dtypes.bfloat16,
                  dtypes.uint16, dtypes.complex128, dtypes.float16, dtypes.uint32, dtypes.uint64]:
        out[dtype.name] = tf.cast(tf.constant([0, 1, 2, 3]), dtype)
    for dtype in [dtypes.qint8, dtypes.quint8, dtypes.qint16, dtypes.quint16, dtypes.qint32]:
        base = {1: np.uint8, 2: np.uint16, 4: np.uint32}[dtype.size]
        out[dtype.name] = tf.bitcast(tf.constant(bits.astype(base)), dtype)
    for dtype in [dtypes.float8_e5m2, dtypes.float8_e4m3fn, dtypes.float8_e4m3fnuz,
                  dtypes.float8_e4m3b11fnuz, dtypes.float8_e5m2fnuz]:
        out[dtype.name] = tf.constant((bits * 16).view(dtype.as_numpy_dtype))
    for dtype in [dtypes.int4, dtypes.uint4, dtypes.int2, dtypes.uint2]:
        out[dtype.name] = tf.constant((bits & 1).astype(dtype.as_numpy_dtype))
    out["string"] = tf.constant([b"hello", b"", "Ünïcode".encode(), b"\x00\xff\x80"])
    out["scalar"] = tf.constant(7, tf.int64)
    out["empty"] = tf.zeros([3, 0], tf.float32)
    out["no strings"] = tf.constant([], tf.string)
    return out


def partitioned(path):
    """Variables in slices: by rows, by columns, by both, uneven; and a slot with only one of its
    parts."""
    def part(prefix, name, full, spec):
        slices = tuple(slice(int(s.split(",")[0]), sum(map(int, s.split(","))))
                       if s != "-" else slice(None) for s in spec.split(":"))
        dims = " ".join(map(str, full.shape))
        save(prefix, {name: tf.constant(full[slices])}, [f"{dims} {spec}"])

    grid = np.arange(24, dtype=np.float32).reshape(4, 6)
    parts = []
    for i, (name, full, spec) in enumerate([
            ("columns", grid, "-:0,2"), ("columns", grid, "-:2,4"),
            ("rows", np.arange(7, dtype=np.int64), "0,3"), ("rows", np.arange(7), "3,4"),
            ("tiles", grid.astype(np.float16), "0,2:0,3"),
            ("tiles", grid.astype(np.float16), "0,2:3,3"),
            ("tiles", grid.astype(np.float16), "2,2:0,6"),
            ("slot/part_0/Adagrad", grid, "0,1:-")]):
        parts.append(str(path / f"part-{i:05d}"))
        part(parts[-1], name, full, spec)
    save(path / "part-00099", {"whole": tf.constant([1, 2, 3])})
    parts.append(str(path / "part-00099"))
    gen_io_ops.merge_v2_checkpoints(checkpoint_prefixes=parts,
                                    destination_prefix=str(path / "model.ckpt"),
                                    delete_old_dirs=False)


def sliced_strings(path):
    """TensorFlow reads this one only by slices; the parts are deleted."""
    parts = [str(path / f"part-{i}") for i in range(2)]
    save(parts[0], {"words": tf.constant([b"one", b"two"]), "n": tf.constant(1)}, ["3 0,2", ""])
    save(parts[1], {"words": tf.constant([b"three"])}, ["3 2,1"])
    gen_io_ops.merge_v2_checkpoints(checkpoint_prefixes=parts,
                                    destination_prefix=str(path / "model.ckpt"),
                                    delete_old_dirs=False)


def objects(path):
    """A tf.train.Checkpoint with an optimizer and its slot variables; two checkpoints are kept."""
    tf.random.set_seed(7)
    model = tf.Module()
    model.dense = tf.Module()
    model.dense.kernel = tf.Variable(tf.reshape(tf.range(6.0), [2, 3]), name="kernel")
    model.dense.bias = tf.Variable(tf.zeros([3]), name="bias")
    model.odd = {"a/b.c": tf.Variable(1, name="kernel")}
    adam = tf.keras.optimizers.Adam(0.5)
    adam.build([model.dense.kernel, model.dense.bias])
    adam.apply([tf.ones([2, 3]), tf.ones([3])])
    checkpoint = tf.train.Checkpoint(model=model, optimizer=adam)
    manager = tf.train.CheckpointManager(checkpoint, str(path), max_to_keep=2)
    for step in (10, 20):
        manager.save(checkpoint_number=step)


def v1(path, shards):
    """compat.v1.train.Saver, in its old version."""
    graph = tf.Graph()
    with graph.as_default(), tf.compat.v1.Session(graph=graph) as session:
        v = tf.compat.v1
        v.disable_resource_variables()
        with tf.device("/cpu:0"):
            v.get_variable("a", initializer=tf.constant(0.5))
            v.get_variable("grid", initializer=tf.reshape(tf.range(6.0), [2, 3]))
            for dtype in (tf.float64, tf.int32, tf.uint8, tf.int16, tf.int8, tf.int64, tf.bool,
                          tf.complex64):
                v.get_variable(dtype.name, initializer=tf.cast(tf.constant([0, 1, 1]), dtype))
            v.get_variable("words", initializer=tf.constant([b"one", b"", b"\xff"]))
            v.get_variable("parted", shape=[5, 2], initializer=v.ones_initializer(),
                           partitioner=v.fixed_size_partitioner(2))
        session.run(v.global_variables_initializer())
        saver = v.train.Saver(write_version=v.train.SaverDef.V1, sharded=shards)
        saver.save(session, str(path / "model.ckpt"), global_step=3, write_meta_graph=False)
    state = path / "checkpoint"  # its paths are absolute, and no longer valid, as in many downloads
    state.write_text(state.read_text().replace(str(path), "/home/someone/else"))


def crafted():
    """Bundles that TensorFlow 2.21 reads but does not write."""
    f = [struct.pack("<f", x) for x in (0.5, 2.0, 3.0)]
    items = [(f"layer_{i:02d}/kernel".encode(), table.entry(table.FLOAT, [], f[i % 3], 4 * i))
             for i in range(20)]
    data = b"".join(f[i % 3] for i in range(20))

    path = folder("snappy")
    table.bundle(path, items, data, snappy=(0,))

    path = folder("blocks")
    head = [(b"", table.header())]
    blocks = table.Table([head + items[:7], items[7:8], items[8:]], interval=3, snappy=(2,))
    (path / "model.ckpt.index").write_bytes(blocks.finish())
    (path / "model.ckpt.data-00000-of-00001").write_bytes(data)

    path = folder("big-endian")
    text, crc = table.strings([b"hello", b""], ">")
    wide = struct.pack(">3i", 1, -2, 3) + struct.pack(">4f", 1, -2, 0.5, 0)
    table.bundle(path, [
        (b"complex", table.entry(8, [2], wide[12:], 12)),
        (b"ints", table.entry(table.INT32, [3], wide[:12])),
        (b"words", table.entry(table.STRING, [2], text, 28, crc=crc)),
    ], wide + text, head=table.header(big=True))

    path = folder("padded")  # data_alignment: zeros after each tensor
    data = b"".join(x + b"\x00" * 12 for x in f)
    table.bundle(path, [(bytes([97 + i]), table.entry(table.FLOAT, [], f[i], 16 * i))
                        for i in range(3)], data)

    path = folder("variant")
    value = table.message(1, b"tensorflow::TensorList") + table.message(2, b"\x00\x01")
    crc = table.crc32c(value, table.crc32c(struct.pack("<Q", len(value))))
    stored = struct.pack("<I", table.mask(crc))
    table.bundle(path, [(b"list", table.entry(
        21, [], table.varint(len(value)) + value + stored,
        crc=table.mask(table.crc32c(stored, crc))))], table.varint(len(value)) + value + stored)


def main():
    save(folder("dtypes") / "model.ckpt", every_dtype())
    partitioned(folder("partitioned"))
    sliced_strings(folder("sliced-strings"))
    objects(folder("objects"))
    v1(folder("v1"), False)
    v1(folder("v1-sharded"), True)
    path = folder("index-only")
    save(path / "model.ckpt", {"a": tf.constant([1.5, 2.5]), "b": tf.constant(b"text")})
    (path / "model.ckpt.data-00000-of-00001").unlink()
    crafted()


main()
