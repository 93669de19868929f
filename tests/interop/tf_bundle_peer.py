"""Writes checkpoints with TensorFlow and reads them with it: run by suite_tf_bundle in the environment "tf".

    tf_bundle_peer.py FOLDER      writes checkpoints there, and FOLDER/manifest.json:
                                  [{"input": …, "tensors": {name: {"dtype", "shape", "bytes" (hex)}}}]
"""

import json
import os
import random
import sys
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import numpy as np
import tensorflow as tf
from tensorflow.python.framework import dtypes
from tensorflow.python.ops import gen_io_ops

v1 = tf.compat.v1
DTYPES = [dtypes.float32, dtypes.float64, dtypes.int32, dtypes.uint8, dtypes.int16, dtypes.int8,
          dtypes.complex64, dtypes.int64, dtypes.bool, dtypes.bfloat16, dtypes.uint16,
          dtypes.complex128, dtypes.float16, dtypes.uint32, dtypes.uint64, dtypes.float8_e5m2,
          dtypes.float8_e4m3fn, dtypes.float8_e4m3fnuz, dtypes.float8_e4m3b11fnuz,
          dtypes.float8_e5m2fnuz, dtypes.int4, dtypes.uint4, dtypes.int2, dtypes.uint2]
SHAPES = [(), (1,), (5,), (0,), (3, 0, 2), (4, 5), (2, 3, 4), (1,) * 8]


def told(array):
    """As in the manifest: strings unchanged, numbers as bytes."""
    if array.dtype == object:
        return {"dtype": "string", "shape": list(array.shape),
                "strings": [bytes(x).hex() for x in array.reshape(-1).tolist()]}
    return {"dtype": array.dtype.name, "shape": list(array.shape), "bytes": array.tobytes().hex()}


def read(prefix):
    """Reads all tensors of a checkpoint with TensorFlow."""
    reader = tf.train.load_checkpoint(str(prefix))
    tensors = {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}
    return {name: told(np.array(t, object) if isinstance(t, bytes) else np.asarray(t))
            for name, t in tensors.items()}


def random_array(rng, dtype, shape):
    kind = dtype.as_numpy_dtype
    n = int(np.prod(shape))
    if dtype == dtypes.bool:
        return np.array([rng.random() < 0.5 for _ in range(n)], bool).reshape(shape)
    if dtype in (dtypes.int4, dtypes.uint4, dtypes.int2, dtypes.uint2):
        return np.array([rng.randrange(2) for _ in range(n)], np.uint8).astype(kind).reshape(shape)
    data = rng.randbytes(n * np.dtype(kind).itemsize)
    return np.frombuffer(data, kind).reshape(shape)


def save(prefix, tensors, specs=None):
    names = list(tensors)
    tf.raw_ops.SaveV2(prefix=str(prefix), tensor_names=names,
                      shape_and_slices=specs or [""] * len(names),
                      tensors=[tf.constant(t) for t in tensors.values()])


def every_dtype(folder, manifest):
    """SaveV2 of each dtype and shape; expected are the values that TensorFlow reads."""
    rng = random.Random(1)
    tensors = {f"{dtype.name}/{k}": random_array(rng, dtype, shape)
               for dtype in DTYPES for k, shape in enumerate(SHAPES)}
    texts = [b"", b"text", "Ünïcode".encode(), b"\x00\xff", b"x" * 300]
    for k, shape in enumerate([(), (5,), (0,), (2, 2)]):
        items = [rng.choice(texts) for _ in range(int(np.prod(shape)))]
        tensors[f"string/{k}"] = np.array(items, object).reshape(shape)
    save(folder / "dtypes", tensors)
    manifest.append({"input": str(folder / "dtypes"),
                     "tensors": {name: told(np.asarray(t)) for name, t in tensors.items()}})


def many(folder, manifest):
    """2 000 tensors with long names: an index of several blocks."""
    rng = random.Random(2)
    tensors = {f"{rng.getrandbits(480):x}/{i}": random_array(rng, dtypes.float32, rng.choice(SHAPES))
               for i in range(2000)}
    save(folder / "many", tensors)
    assert (folder / "many.index").stat().st_size > 262144
    manifest.append({"input": str(folder / "many.index"), "tensors": read(folder / "many")})


def boxes(rng, shape):
    """Random boxes that tile a shape."""
    todo, done = [[(0, n) for n in shape]], []
    while todo:
        box = todo.pop()
        axis = rng.randrange(len(shape))
        start, length = box[axis]
        if length < 2 or len(done) + len(todo) > 6:
            done.append(box)
            continue
        cut = rng.randrange(1, length)
        todo.append(box[:axis] + [(start, cut)] + box[axis + 1:])
        todo.append(box[:axis] + [(start + cut, length - cut)] + box[axis + 1:])
    return done


def sliced(folder, manifest):
    """Tensors in boxes over many bundles, merged by MergeV2Checkpoints, with and without deletion."""
    rng = random.Random(3)
    for round_number in range(6):
        work = folder / f"merged-{round_number}"
        work.mkdir()
        wanted, parts = {}, []
        for i in range(4):
            shape = tuple(rng.randrange(1, 7) for _ in range(rng.randrange(1, 4)))
            dtype = rng.choice([dtypes.float32, dtypes.int64, dtypes.bfloat16, dtypes.float16,
                                dtypes.uint32])
            full = random_array(rng, dtype, shape)
            wanted[f"v{i}"] = told(full)
            for box in boxes(rng, shape):
                spec = " ".join(map(str, shape)) + " " + ":".join(f"{s},{n}" for s, n in box)
                index = tuple(slice(s, s + n) for s, n in box)
                prefix = work / "model_temp" / f"part-{len(parts):05d}"
                prefix.parent.mkdir(exist_ok=True)
                save(prefix, {f"v{i}": full[index]}, [spec])
                parts.append(str(prefix))
        gen_io_ops.merge_v2_checkpoints(checkpoint_prefixes=parts,
                                        destination_prefix=str(work / "model"),
                                        delete_old_dirs=round_number % 2 == 0)
        manifest.append({"input": str(work / "model"), "tensors": wanted})


def keras(folder, manifest):
    """A model and two optimizers, as tf.train.Checkpoint and its manager save them."""
    tf.random.set_seed(1)
    model = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(4, name="one"),
                                 tf.keras.layers.BatchNormalization(), tf.keras.layers.Dense(2)])
    for name in ("Adam", "SGD"):
        optimizer = getattr(tf.keras.optimizers, name)(0.1)
        model.compile(optimizer, "mse")
        model.fit(np.ones((8, 3), np.float32), np.ones((8, 2), np.float32), epochs=1, verbose=0)
        checkpoint = tf.train.Checkpoint(model=model, optimizer=optimizer)
        manager = tf.train.CheckpointManager(checkpoint, str(folder / name), max_to_keep=2)
        paths = [manager.save() for _ in range(3)]
        manifest.append({"input": str(folder / name), "tensors": read(paths[-1])})
        manifest.append({"input": str(folder / name), "words": ["--step", "2"],
                         "tensors": read(paths[1])})


def savers(folder, manifest):
    """compat.v1 Saver, V1 and V2, one file and sharded, with a partitioned variable. Expected values are
    those of the session: TensorFlow's reader refuses V1 checkpoints with slices."""
    for version in (1, 2):
        for sharded in (False, True):
            path = folder / f"saver-{version}-{sharded}"
            path.mkdir()
            with tf.Graph().as_default(), v1.Session(config=v1.ConfigProto(
                    device_count={"CPU": 2})) as session:
                variables = {}
                for i, dtype in enumerate([tf.float32, tf.float64, tf.int32, tf.uint8, tf.int16,
                                           tf.int8, tf.int64, tf.bool, tf.complex64, tf.complex128,
                                           tf.float16]):
                    with tf.device(f"/cpu:{i % 2}"):
                        value = tf.cast(tf.constant([[3, 0, 1], [100, 5, 1]]), dtype)
                        name = f"v/{dtype.name}"
                        variables[name] = v1.get_variable(name, initializer=value)
                variables["text"] = v1.get_variable(
                    "text", initializer=tf.constant([b"one", b"", b"\xff\x00"]))
                variables["parted"] = v1.get_variable(
                    "parted", shape=[7, 3], initializer=v1.random_normal_initializer(),
                    partitioner=v1.fixed_size_partitioner(3)).as_tensor()
                session.run(v1.global_variables_initializer())
                saver = v1.train.Saver(write_version=version, sharded=sharded)
                for step in (1, 2):
                    saver.save(session, str(path / "model.ckpt"), global_step=step)
                tensors = {name: told(np.asarray(value))
                           for name, value in session.run(variables).items()}
            prefix = v1.train.latest_checkpoint(str(path)) or str(path / "model.ckpt-2")
            manifest.append({"input": str(path), "tensors": tensors})
            manifest.append({"input": prefix, "tensors": tensors})


def main():
    folder, manifest = Path(sys.argv[1]), []
    for make in (every_dtype, many, sliced, keras, savers):
        make(folder, manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest))


main()
