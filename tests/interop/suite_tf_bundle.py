"""Checkpoints of TensorFlow: heft reads the same values as TensorFlow, bit for bit."""

import base64
import json

import environment
from common import ROOT, Suite, heft, run_peer

# TensorFlow's names of dtypes whose names differ from heft's in more than kind and bits
NAMES = {"float16": "F16", "float32": "F32", "float64": "F64", "bfloat16": "BF16", "bool": "BOOL",
         "complex64": "C64", "complex128": "C128", "string": "STRING", "float8_e4m3fn": "F8_E4M3",
         **{f"{kind}int{bits}": f"{letter}{bits}" for kind, letter in (("", "I"), ("u", "U"))
            for bits in (2, 4, 8, 16, 32, 64)}}


def dtype_of(name):
    return NAMES.get(name) or name.upper().replace("FLOAT8", "F8")


def strings_of(value):
    """Nested lists of strings, or a string, as bytes, in order."""
    if isinstance(value, list):
        return [text for item in value for text in strings_of(item)]
    return [base64.b64decode(value["b64"]) if isinstance(value, dict) else value.encode()]


def compare_tensor(suite, path, words, name, wanted):
    if wanted["dtype"] == "string":
        ran = heft("get", *words, "--", path, name)
        if suite.check(ran.status == 0, f"{path}: {name}", ran.line):
            suite.equal([s.hex() for s in strings_of(ran.json)], wanted["strings"], name)
        return
    ran = heft("get", "-o", "-", *words, "--", path, name)
    if suite.check(ran.status == 0, f"{path}: {name}", ran.line):
        suite.equal(ran.out.hex(), wanted["bytes"], f"{path}: {name}")


def compare(suite, item):
    path, words = item["input"], item.get("words", [])
    listed = heft("ls", "--json", *words, "--", path)
    if not suite.check(listed.status == 0, path, listed.line):
        return
    rows = {row["name"]: row for row in listed.json["tensors"]}
    suite.equal(sorted(rows), sorted(item["tensors"]), f"{path}: names")
    for name, wanted in item["tensors"].items():
        row = rows.get(name, {})
        suite.equal((row.get("dtype"), row.get("shape")),
                    (dtype_of(wanted["dtype"]), wanted["shape"]), f"{path}: {name}")
    names = list(item["tensors"])
    for name in names if len(names) < 400 else names[::40]:
        compare_tensor(suite, path, words, name, item["tensors"][name])
    verified = heft("verify", *words, "--", path)
    suite.check(verified.status == 0, f"{path}: verify", verified.line)


def real(suite):
    """The files of TensorFlow's own tests, if present: values as their authors describe them."""
    home = ROOT.parent / "shared" / "data" / "tensorflow"
    wanted = {"half_plus_two/variables": {"a": "0000003f", "b": "00000040", "c": "00004040"},
              "vars_object_graph/variables": {"x/.ATTRIBUTES/VARIABLE_VALUE": "0000803f",
                                              "child/z/.ATTRIBUTES/VARIABLE_VALUE": "00004040"},
              "v1_sharded/export-00000-of-00001": {"a": "0000003f", "b": "00000040"}}
    if not home.is_dir():
        suite.skip("the real files are not there")
        return
    for path, tensors in wanted.items():
        for name, value in tensors.items():
            ran = heft("get", "-o", "-", "--", home / path, name)
            suite.equal(ran.out.hex(), value, f"{path}: {name}")


def run(folder):
    suite = Suite("TensorFlow checkpoints, read")
    try:
        done = run_peer("tf", "tf_bundle_peer.py", folder)
    except environment.Unavailable as reason:
        suite.skip(f"the environment of TensorFlow cannot be made: {reason}")
        return suite
    if not suite.check(done.returncode == 0, "the peer", done.stderr[-1000:]):
        return suite
    for item in json.loads((folder / "manifest.json").read_text()):
        compare(suite, item)
    real(suite)
    return suite
