"""Creates SavedModels and prints the values that TensorFlow restores from them: tf_restore_peer.py FOLDER

Runs in the environment "tf". Prints one JSON document with, for each model, its directory, its tags, and
the bytes in hexadecimal of each variable that loading initialised, by the name of its node; for objects,
by their path.
"""
import json
import os
import sys
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf

v1 = tf.compat.v1


def build_v1(path, build, tags=(("serve",),), **saving):
    graph = tf.Graph()
    with graph.as_default(), v1.Session(graph=graph) as session:
        extra = build() or {}
        saver = v1.train.Saver(**saving)
        session.run([v1.global_variables_initializer(), v1.tables_initializer()])
        builder = v1.saved_model.Builder(str(path))
        builder.add_meta_graph_and_variables(session, list(tags[0]), saver=saver, **extra)
        for others in tags[1:]:
            builder.add_meta_graph(list(others), saver=saver)
        builder.save()


def plain():
    v1.get_variable("w", initializer=np.arange(6, dtype=np.float32).reshape(2, 3),
                    use_resource=False)
    v1.get_variable("r", initializer=np.float32(7), use_resource=True)
    v1.get_variable("scope/h", initializer=np.arange(3, dtype=np.float16), use_resource=True)
    v1.get_variable("n", initializer=np.int64(-5), use_resource=False)


def partitioned():
    plain()
    random = v1.initializers.random_uniform()
    v1.get_variable("rows", shape=(7, 3), initializer=random, use_resource=False,
                    partitioner=v1.fixed_size_partitioner(3))
    v1.get_variable("columns", shape=(5, 4), initializer=random, use_resource=True,
                    partitioner=v1.fixed_size_partitioner(2, axis=1))
    v1.get_variable("one", shape=(4,), initializer=random, use_resource=True,
                    partitioner=v1.fixed_size_partitioner(1))


def tables():
    plain()
    from tensorflow.python.ops import lookup_ops
    table = lookup_ops.MutableHashTable(tf.int64, tf.float32, -1.0, name="table")
    fill = table.insert(tf.constant([4, 5, 6], tf.int64), tf.constant([0.5, 1.5, 2.5]))
    v1.add_to_collection(v1.GraphKeys.TABLE_INITIALIZERS, fill)


class Nested(tf.Module):
    def __init__(self):
        super().__init__()
        self.a = tf.Variable(1.0)
        self.l = [tf.Variable([2.0, 3.0]), tf.Variable([[4, 5]], name="same"),
                  {"k": tf.Variable(6, name="same", dtype=tf.int64)}]
        self.weird = {"x/y.z": tf.Variable(True)}
        self.again = self.l[0]

    @tf.function(input_signature=[tf.TensorSpec([], tf.float32)])
    def first(self, x):
        return x * self.a

    @tf.function(input_signature=[tf.TensorSpec([2], tf.float32, name="y")])
    def second(self, y):
        return y + self.l[0]


class WithTable(tf.Module):
    def __init__(self):
        super().__init__()
        self.v = tf.Variable([1.0, 2.0])
        self.t = tf.lookup.experimental.MutableHashTable(tf.int64, tf.float32, -1.0)
        self.t.insert([1, 2], [0.25, 0.75])


def object_values(model, paths):
    values = {}
    for path in paths:
        at = model
        for word in path.split("|"):
            at = at[int(word)] if word.isdigit() else at[word] if isinstance(at, dict) or hasattr(
                at, "keys") else getattr(at, word)
        values[path.replace("|", "/")] = hexed(at.numpy())
    return values


def hexed(value):
    value = np.asarray(value)
    return None if value.dtype == object else value.tobytes().hex()


def readers(graph):
    """Ops that return the value of each variable and table of a graph, by node."""
    asked = {}
    for op in graph.get_operations():
        if op.type in ("VariableV2", "Variable"):
            asked[op.name] = op.outputs[0]
        elif op.type == "VarHandleOp":
            asked[op.name] = tf.raw_ops.ReadVariableOp(resource=op.outputs[0],
                                                       dtype=op.get_attr("dtype"))
        elif op.type == "MutableHashTableV2":
            asked[op.name] = tf.raw_ops.LookupTableExportV2(
                table_handle=op.outputs[0], Tkeys=op.get_attr("key_dtype"),
                Tvalues=op.get_attr("value_dtype"))
    return asked


def restored(path, tags):
    graph = tf.Graph()
    values = {}
    with graph.as_default(), v1.Session(graph=graph) as session:
        v1.saved_model.loader.load(session, list(tags), str(path))
        for name, tensor in readers(graph).items():
            try:
                value = session.run(tensor)
            except (tf.errors.FailedPreconditionError, tf.errors.NotFoundError):
                continue
            if hasattr(value, "keys") and not isinstance(value, np.ndarray):
                pairs = sorted(zip(value.keys.tolist(), value.values.tolist()))
                values[name] = {"pairs": pairs}
            else:
                values[name] = hexed(value)
    return values


def keras_model(path, export):
    import keras
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, name="d1"),
                              keras.layers.BatchNormalization(), keras.layers.Dense(2, name="d2")])
    model.compile("adam", "mse")
    model.fit(np.ones((4, 4)), np.ones((4, 2)), verbose=0)
    if export:
        model.export(str(path), verbose=False)
    else:
        tf.saved_model.save(model, str(path))


def make(folder):
    build_v1(folder / "plain", plain)
    build_v1(folder / "sharded", plain, sharded=True)
    build_v1(folder / "partitioned", partitioned, sharded=True)
    build_v1(folder / "partitioned_whole", partitioned)
    build_v1(folder / "tables", tables)
    build_v1(folder / "tags", plain, tags=(("serve",), ("serve", "gpu"), ("train",)))
    build_v1(folder / "reshape", plain, reshape=True)
    nested = Nested()
    tf.saved_model.save(nested, str(folder / "nested"))
    tf.saved_model.save(nested, str(folder / "signatures"),
                        signatures={"first": nested.first, "second": nested.second})
    tf.saved_model.save(WithTable(), str(folder / "with_table"))
    big = tf.Module()
    big.v = [tf.Variable(np.arange(64 * k + 64, dtype=np.float32)) for k in range(3)]
    policy = tf.train.experimental.MaxShardSizePolicy(max_shard_size=256)
    tf.saved_model.save(big, str(folder / "max_shard"), options=tf.saved_model.SaveOptions(
        experimental_sharding_callback=policy))
    keras_model(folder / "keras", False)
    keras_model(folder / "keras_export", True)


def main(folder):
    make(folder)
    models = {}
    for path in sorted(folder.iterdir()):
        sets = [("serve",)]
        if path.name == "tags":
            sets += [("gpu", "serve"), ("train",)]
        for tags in sets:
            models[f"{path.name} {','.join(tags)}"] = {
                "path": str(path), "tags": ",".join(tags), "nodes": restored(path, tags)}
    objects = {"nested serve": ["a", "l|0", "l|1", "l|2|k"], "with_table serve": ["v"],
               "max_shard serve": ["v|0", "v|2"]}
    for name, paths in objects.items():
        loaded = tf.saved_model.load(models[name]["path"])
        models[name]["objects"] = object_values(loaded, paths)
    json.dump(models, sys.stdout)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
