"""Checkpoints of compat.v1.train.Saver with their .meta, in both versions: python3 make.py

Made with tensorflow-cpu 2.21.0, Python 3.11. Parts of the graphs that tracing restore operations does not need
are removed: the list of ops, collections, attributes with default values.
"""
import os
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf

v1 = tf.compat.v1
HERE = Path(__file__).resolve().parent


def save(name, version):
    for old in HERE.glob(f"{name}*"):
        old.unlink()
    graph = tf.Graph()
    with graph.as_default(), v1.Session(graph=graph) as session:
        v1.get_variable("scale", initializer=0.5, use_resource=version == v1.train.SaverDef.V2)
        v1.get_variable("count", initializer=tf.constant([1, -2, 3]), use_resource=False)
        v1.get_variable("rows", shape=(3, 2), initializer=v1.ones_initializer(), use_resource=False,
                        partitioner=v1.fixed_size_partitioner(2))
        session.run(v1.global_variables_initializer())
        saver = v1.train.Saver(write_version=version)
        saver.save(session, str(HERE / name), write_meta_graph=False, write_state=False)
        meta = saver.export_meta_graph(clear_devices=True, strip_default_attrs=True)
    meta.meta_info_def.ClearField("stripped_op_list")
    meta.collection_def.clear()
    meta.graph_def.ClearField("debug_info")
    (HERE / f"{name}.meta").write_bytes(meta.SerializeToString(deterministic=True))


save("two", v1.train.SaverDef.V2)
save("one", v1.train.SaverDef.V1)
