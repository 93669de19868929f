"""Writes the SavedModels beside it, each malformed in one way: python3 make.py

Without a framework: the graphs are text, and the checkpoints (a = 0.5, b = 2.0) are small enough to be built
here. The others are derived from `sound`.
"""
import shutil
import struct
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "tools"))
from tf_bytes import field, masked, varint  # noqa: E402


# ---- a tensor bundle --------------------------------------------------------------------------

def block(entries, restarts):
    """Keys are written in full: every entry is a restart, or its shared part is empty."""
    out = b"".join(b"\0" + varint(len(key)) + varint(len(value)) + key + value
                   for key, value in entries)
    return out + b"".join(struct.pack("<I", at) for at in restarts) + struct.pack("<I", len(restarts))


def table(entries):
    out, handles = b"", []
    for content in (block(entries, [0]), block([], [0])):
        handles.append(varint(len(out)) + varint(len(content)))
        out += content + b"\0" + masked(content + b"\0")
    index = block([(bytes([entries[-1][0][0] + 1]), handles[0])], [0])
    handles.append(varint(len(out)) + varint(len(index)))
    out += index + b"\0" + masked(index + b"\0")
    footer = handles[1] + handles[2]
    return out + footer + bytes(40 - len(footer)) + bytes.fromhex("57fb808b247547db")


def string_tensor(text):
    length = struct.pack("<I", len(text))
    lengths = masked(length)
    return varint(len(text)) + lengths + text, masked(length + lengths + text)


def write_bundle(folder, graph=None):
    tensors = [(b"a", struct.pack("<f", 0.5)), (b"b", struct.pack("<f", 2.0))]
    data, entries = b"", [(b"", bytes.fromhex("08011a020801"))]
    if graph is not None:
        data, crc = string_tensor(graph)
        entry = field(1, 7) + field(2, b"") + field(5, len(data)) + b"\x35" + crc
        entries.append((b"_CHECKPOINTABLE_OBJECT_GRAPH", entry))
    for key, value in tensors:
        entry = field(1, 1) + field(2, b"") + field(4, len(data)) + field(5, 4)
        entries.append((key, entry + b"\x35" + masked(value)))
        data += value
    folder.mkdir(parents=True)
    (folder / "variables.index").write_bytes(table(entries))
    (folder / "variables.data-00000-of-00001").write_bytes(data)


# ---- graphs -----------------------------------------------------------------------------------

def attr(name, value):
    return f' attr {{ key: "{name}" value {{ {value} }} }}'


def node(name, op, *inputs, **attrs):
    text = f'    node {{ name: "{name}" op: "{op}"' + "".join(f' input: "{i}"' for i in inputs)
    return text + "".join(attr(key, value) for key, value in attrs.items()) + " }\n"


def strings(*values, n=None):
    size = len(values) if n is None else n
    shown = " ".join(f'string_val: "{value}"' for value in values)
    return f"tensor {{ dtype: DT_STRING tensor_shape {{ dim {{ size: {size} }} }} {shown} }}"


def variable(name, dtype="DT_FLOAT", shape=""):
    return node(name, "VariableV2", dtype=f"type: {dtype}", shape=f"shape {{ {shape} }}")


def parts(**changes):
    """Nodes of the sound model by name, some of them changed; None leaves one out."""
    nodes = {
        "a": variable("a"),
        "b": variable("b"),
        "names": node("names", "Const", value=strings("a", "b")),
        "slices": node("slices", "Const", value=strings("", n=2)),
        "prefix": node("prefix", "Const", value=strings("model")),
        "restore": node("restore", "RestoreV2", "prefix", "names", "slices",
                        dtypes="list { type: [DT_FLOAT, DT_FLOAT] }"),
        "put_a": node("put_a", "Assign", "a", "restore"),
        "put_b": node("put_b", "Assign", "b", "restore:1"),
        "all": node("all", "NoOp", "^put_a", "^put_b"),
    }
    nodes.update(changes)
    return "".join(text for text in nodes.values() if text)


SAVER = '  saver_def { filename_tensor_name: "prefix:0" restore_op_name: "all" version: V2 }\n'


def metagraph(nodes, tags="serve", library="", saver=SAVER, more=""):
    inner = f"    library {{ {library} }}\n" if library else ""
    return (f'meta_graphs {{\n  meta_info_def {{ tags: "{tags}" }}\n'
            f"  graph_def {{\n{nodes}{inner}  }}\n{saver}{more}}}\n")


def write(name, *graphs, objects=None):
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    write_bundle(folder / "variables", objects)
    text = "saved_model_schema_version: 1\n" + "".join(graphs)
    (folder / "saved_model.pbtxt").write_text(text, encoding="utf-8")


def function(name, callee):
    """A function that calls another."""
    return (f'function {{ signature {{ name: "{name}" }} node_def {{ name: "inner" '
            f'op: "StatefulPartitionedCall" attr {{ key: "f" value {{ func {{ name: "{callee}" }} }} }}'
            " } }")


def call(callee):
    return node("all", "StatefulPartitionedCall", f=f'func {{ name: "{callee}" }}')


# ---- objects ----------------------------------------------------------------------------------

def saved_objects(dtype="DT_FLOAT"):
    return ("  object_graph_def {\n"
            '    nodes { children { node_id: 1 local_name: "a" } children { node_id: 2 local_name: "b" }'
            " user_object { } }\n"
            f'    nodes {{ variable {{ dtype: {dtype} shape {{ }} name: "a" }} }}\n'
            '    nodes { variable { dtype: DT_FLOAT shape { } name: "b" } }\n'
            "  }\n")


def trackables(key_of_a=b"a", with_b=True):
    def child(number, name):
        return field(1, field(1, number) + field(2, name))

    def value(key):
        return field(2, field(1, b"VARIABLE_VALUE") + field(2, key) + field(3, key))

    # the numbers differ from those of the SavedModel, the names do not
    nodes = [child(2, b"a") + child(1, b"b"), value(b"b") if with_b else b"", value(key_of_a)]
    return b"".join(field(1, item) for item in nodes)


def main():
    write("sound", metagraph(parts()))
    write("sound-objects", metagraph(parts(), more=saved_objects()), objects=trackables())
    one = {f"name_{k}": node(f"name_{k}", "Const", value=strings(k)) for k in "ab"}
    float_dt = {"dt": "type: DT_FLOAT"}
    old = {"restore": node("restore", "Restore", "prefix", "name_a", **float_dt),
           "restore_b": node("restore_b", "RestoreSlice", "prefix", "name_b", "whole", **float_dt),
           "whole": node("whole", "Const", value=strings("")),
           "put_b": node("put_b", "Assign", "b", "restore_b")}
    write("sound-v1", metagraph(parts(names=None, slices=None, **one, **old)))
    write("v1-dtype", metagraph(parts(names=None, slices=None, **one, **{
        **old, "restore": node("restore", "Restore", "prefix", "name_a", dt="type: DT_INT64")})))
    write("restore-op", metagraph(parts(all=None)))
    write("fewer-names", metagraph(parts(names=node("names", "Const", value=strings("a")))))
    write("more-slices", metagraph(parts(slices=node("slices", "Const", value=strings("", n=3)))))
    write("far-output", metagraph(parts(
        put_b=node("put_b", "Assign", "b", "restore:9999999999"))))
    write("no-value", metagraph(parts(names=node("names", "Const"))))
    write("not-constant", metagraph(parts(names=node("names", "Placeholder"))))
    write("numbers", metagraph(parts(names=node(
        "names", "Const", value="tensor { dtype: DT_FLOAT tensor_shape { } }"))))
    write("no-such-key", metagraph(parts(names=node("names", "Const", value=strings("a", "z\\n")))))
    write("unused-key", metagraph(parts(put_b=None, all=node("all", "NoOp", "^put_a"),
                                        names=node("names", "Const", value=strings("a")),
                                        restore=node("restore", "RestoreV2", "prefix", "names",
                                                     "slices", dtypes="list { type: DT_FLOAT }"),
                                        slices=node("slices", "Const", value=strings("")))))
    write("dtype", metagraph(parts(restore=node("restore", "RestoreV2", "prefix", "names", "slices",
                                                dtypes="list { type: [DT_FLOAT, DT_INT32] }"))))
    write("variable-dtype", metagraph(parts(b=variable("b", "DT_HALF"))))
    write("variable-shape", metagraph(parts(b=variable("b", shape="dim { size: 3 }"))))
    for name, spec in (("slice", "4 3 0,2"), ("slice-beyond", "4 3,2"), ("slice-shape", "4 0,2")):
        write(name, metagraph(parts(slices=node("slices", "Const", value=strings("", spec)))))
    write("no-such-input", metagraph(parts(all=node("all", "NoOp", "^put_a", "^put_b", "^gone"))))
    write("no-variable", metagraph(parts(put_b=node("put_b", "Assign", "gone", "restore:1"))))
    write("assign-nothing", metagraph(parts(put_b=node("put_b", "Assign", "b"))))
    write("no-function", metagraph(parts(all=call("gone"))))
    write("calls-itself", metagraph(parts(all=call("f")), library=function("f", "f")))
    write("call-each-other", metagraph(parts(all=call("f")),
                                       library=function("f", "g") + function("g", "f")))
    write("same-tags", metagraph(parts()), metagraph(parts()))
    write("same-nodes", metagraph(parts() + variable("a")))
    write("no-saver", metagraph(parts(), saver=""))
    init = '  collection_def {{ key: "{}" value {{ {} }} }}\n'
    write("init-kind", metagraph(parts(), more=init.format(
        "legacy_init_op", 'bytes_list { value: "all" }')))
    write("init-many", metagraph(parts(), more=init.format(
        "saved_model_main_op", 'node_list { value: ["all", "all"] }')))
    write("init-output", metagraph(parts(), more='  signature_def { key: "__saved_model_init_op" '
                                                 "value { } }\n"))
    write("objects-swapped", metagraph(parts(names=node("names", "Const", value=strings("b", "a"))),
                                       more=saved_objects()), objects=trackables())
    write("object-key", metagraph(parts(), more=saved_objects()), objects=trackables(b"zz"))
    write("object-dtype", metagraph(parts(), more=saved_objects("DT_INT32")), objects=trackables())
    write("object-only", metagraph(parts(put_b=None, all=node("all", "NoOp", "^put_a")),
                                   more=saved_objects()), objects=trackables())
    write("object-without-key", metagraph(parts(), more=saved_objects()),
          objects=trackables(with_b=False))
    write("object-graph", metagraph(parts(), more=saved_objects()), objects=trackables() + b"\x0a\x7f")


if __name__ == "__main__":
    main()
