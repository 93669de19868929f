"""Tracing how SavedModels are restored: variable, key and bytes as TensorFlow restores them.

tf_restore_peer.py creates the models in TensorFlow's environment, loads them and reports the bytes of each
variable; heft reports where these are stored, without executing the graph.
"""
import json
import pathlib
import struct

import environment
from common import Suite, heft, run_peer

FORMATS = {"I64": "q", "F32": "f", "I32": "i", "F64": "d"}


class Missing(Exception):
    pass


def ask_peer(folder):
    done = run_peer("tf", "tf_restore_peer.py", folder)
    if done.returncode:
        raise Missing(done.stderr[-800:])
    return json.loads(done.stdout)


def bytes_of(told, variable):
    """Concatenates the pieces: each slice here is stored unchanged."""
    data = b""
    for piece in variable["pieces"]:
        with open(told["files"][piece["file"]]["path"], "rb") as file:
            file.seek(piece["offset"])
            data += file.read(piece["bytes"])
    return data


def numbers(told, variable):
    data = bytes_of(told, variable)
    letter = FORMATS[variable["tensor"]["dtype"]]
    return [value for value, in struct.iter_unpack("<" + letter, data)]


def compare_tables(suite, label, told, tables, expected):
    for node, parts in tables.items():
        got = sorted(zip(numbers(told, parts["keys"]), numbers(told, parts["values"])))
        suite.equal([list(pair) for pair in got], expected[node]["pairs"], f"{label} {node}")


def compare(suite, label, model):
    ran = heft("explain", model["path"], "--restore", "--json", "--tag-set", model["tags"])
    if not suite.check(ran.status == 0, label, ran.line):
        return
    told, tables, seen = ran.json, {}, set()
    for variable in told["variables"]:
        node = variable["node"]
        seen.add(node)
        if variable.get("role"):
            tables.setdefault(node, {})[variable["role"]] = variable
        else:
            suite.equal(bytes_of(told, variable).hex(), model["nodes"].get(node), f"{label} {node}")
    compare_tables(suite, label, told, tables, model["nodes"])
    suite.equal(seen, set(model["nodes"]), f"{label}: what is restored")
    suite.equal([f for f in told["findings"] if f["severity"] == "finding"], [],
                f"{label}: findings")
    compare_objects(suite, label, told, model)
    compare_info(suite, label, told, model)


def compare_objects(suite, label, told, model):
    by_object = {v["object"]: v for v in told["variables"] if v.get("object")}
    for path, expected in model.get("objects", {}).items():
        if suite.check(path in by_object or path == "l/0", f"{label}: no object {path}"):
            variable = by_object.get(path) or by_object["again"]
            suite.equal(bytes_of(told, variable).hex(), expected, f"{label}: object {path}")


def compare_info(suite, label, told, model):
    ran = heft("info", "--json", model["path"])
    if not suite.check(ran.status == 0, label, ran.line):
        return
    said = ran.json["metagraphs"][told["metagraph"]]["variables"]
    suite.equal([(v["variable"], v["key"], v["slice"]) for v in said],
                [(v["variable"], v["key"], v["slice"]) for v in told["variables"]],
                f"{label}: variables of info")


def damaged(suite, folder, models):
    """The checkpoint of another model beside a graph: verify reports it."""
    import shutil
    mixed = folder / "mixed"
    shutil.copytree(models["nested serve"]["path"], mixed)
    shutil.rmtree(mixed / "variables")
    shutil.copytree(pathlib.Path(models["plain serve"]["path"]) / "variables", mixed / "variables")
    ran = heft("verify", mixed)
    suite.equal(ran.status, 1, "a checkpoint of another model")
    text = ran.out.decode()
    suite.check('reads "a/.ATTRIBUTES/VARIABLE_VALUE", which is not in the checkpoint' in text,
                "a variable without a key", text)
    suite.check('"scope/h" is not restored to any variable' in text, "a key without a variable", text)


def run(folder):
    suite = Suite("the way of restoring beside TensorFlow's")
    try:
        models = ask_peer(folder / "models")
    except environment.Unavailable as reason:
        suite.skip(f"the environment cannot be made: {reason}")
        return suite
    for label, model in models.items():
        compare(suite, label, model)
        suite.equal(heft("verify", model["path"]).status, 0, f"{label}: verify")
    damaged(suite, folder, models)
    return suite
