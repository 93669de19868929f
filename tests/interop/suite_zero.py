"""ZeRO checkpoints of a real DeepSpeed, merged by heft and by zero_to_fp32: names, order and bits are equal.

Stage 1 has no frozen parameters in zero_to_fp32's result; heft adds them.
"""

import json
import pathlib
import subprocess

import environment
from common import Suite, heft, listing

HERE = pathlib.Path(__file__).resolve().parent
ZERO3 = {"stage": 3, "stage3_param_persistence_threshold": 0}
CASES = [
    {"name": "one", "world": 1, "zero": {"stage": 1}, "bf16": True, "dims": [7, 5, 3], "tied": False, "frozen": False},
    {"name": "one3", "world": 1, "zero": ZERO3, "bf16": False, "dims": [3, 2, 9], "tied": True, "frozen": True},
    {"name": "two1", "world": 2, "zero": {"stage": 1}, "bf16": False, "dims": [9, 4, 7], "tied": True, "frozen": True},
    {"name": "two2", "world": 2, "zero": {"stage": 2, "parameter_alignment": True}, "bf16": True, "dims": [11, 3, 5],
     "tied": False, "frozen": True},
    {"name": "three2", "world": 3, "zero": {"stage": 2}, "bf16": True, "dims": [13, 7, 2], "tied": True, "frozen": False},
    {"name": "three3", "world": 3, "zero": dict(ZERO3, sub_group_size=10), "bf16": True, "dims": [5, 6, 7], "tied": False,
     "frozen": True},
    {"name": "four3", "world": 4, "zero": ZERO3, "bf16": False, "dims": [17, 3, 4], "tied": True, "frozen": True},
]


def check(suite, folder, case):
    path, label = folder / case["name"], case["name"]
    order = json.loads(path.with_suffix(".json").read_text("utf-8"))
    ran = heft("diff", "--json", path, path.with_suffix(".safetensors"))
    if not suite.check(ran.status in (0, 1), f"{label}: diff", ran.line):
        return
    more = ["still.bias", "still.weight"] if case["frozen"] and case["zero"]["stage"] == 1 else []
    suite.equal((ran.json["equal"], ran.json["differ"], sorted(ran.json["only_a"]), ran.json["only_b"]),
                (len(order), [], more, []), f"{label}: values")
    found, _ = listing(path)
    suite.equal([name for name in found if name not in more], [name for name in order if name in found], f"{label}: order")
    suite.equal(sorted(set(order) - set(found)), ["head.weight"] if case["tied"] else [], f"{label}: ties")
    for suffix in ("safetensors", "pt"):
        out = folder / f"{label}.out.{suffix}"
        ran = heft("convert", path, "-o", out, "--optimizer", "--no-sync", "-q")
        suite.check(ran.status == 0, f"{label}: convert to {suffix}", ran.line)
        ran = heft("diff", "--optimizer", path, out)
        suite.equal(ran.status, 0, f"{label}: {suffix} has the same tensors")


def run(folder):
    suite = Suite("ZeRO checkpoints, merged as zero_to_fp32 merges them")
    try:
        python = environment.interpreter("zero")
    except environment.Unavailable as reason:
        suite.skip(str(reason))
        return suite
    done = subprocess.run([python, HERE / "zero_peer.py", folder, *(json.dumps(case) for case in CASES)],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if not suite.check(done.returncode == 0, "DeepSpeed writes the checkpoints", done.stderr[-1000:]):
        return suite
    for case in CASES:
        check(suite, folder, case)
    return suite
