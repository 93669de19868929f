"""`heft scan`, compared with torch's weights_only and picklescan.

Files that torch.load(weights_only=True) accepts have exit status 0, and files that it refuses do not; the names
that heft allows are those that torch allows; a file that picklescan calls dangerous is never accepted by heft.
"""

import argparse
import collections
import enum
import fractions
import functools
import pathlib
import pickle
import subprocess
import sys

import numpy
import torch
from torch._weights_only_unpickler import _get_allowed_globals

import environment
import generate
from common import DTYPES, ROOT, Suite, heft

OBJECTS = 200
CASES = ROOT / "tests" / "scan" / "cases"


class Color(enum.Enum):
    RED = 1


# Values that torch.save accepts and weights_only does not, and some that both accept.
ODD = [
    lambda: numpy.float64(1.5), lambda: numpy.arange(3), lambda: numpy.dtype("f4"),
    lambda: argparse.Namespace(lr=0.1), lambda: pathlib.PurePosixPath("a/b"), lambda: Color.RED,
    lambda: fractions.Fraction(1, 2), lambda: collections.deque([1]), lambda: frozenset([1]),
    lambda: collections.defaultdict(list, a=[1]), lambda: range(3), lambda: slice(1, 2),
    lambda: functools.partial(int, "1"), lambda: torch.nn.Linear(1, 1), lambda: torch.Generator(),
    lambda: b"\x80\x02cos\nsystem\n.", lambda: bytearray(b"x"), lambda: {1, 2}, lambda: 1 + 2j,
    lambda: collections.Counter("aab"), lambda: collections.OrderedDict(a=1), lambda: 2**70,
    lambda: torch.float32, lambda: torch.Size([1, 2]), lambda: torch.device("cpu"), lambda: torch.strided,
    lambda: torch.eye(2).to_sparse(), lambda: torch.eye(2).to_sparse_csr(),
    lambda: torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8),
    lambda: torch.empty(2, device="meta"), lambda: torch.nn.Parameter(torch.ones(1)),
    lambda: torch.nn.Buffer(torch.ones(1)), lambda: torch.ones(2).untyped_storage(),
    lambda: torch.nested.nested_tensor([torch.ones(1), torch.ones(2)]),
    lambda: torch.nn.Linear(1, 1).state_dict(), lambda: torch.optim.SGD([torch.ones(1)]).state_dict(),
]
# weights_only accepts bytes without examining them; heft examines them.
LOOKED_INTO = 15


def objects():
    every = [dtype for dtype, _, _ in DTYPES]
    for number, make in enumerate(ODD):
        yield f"odd {number}", make(), number == LOOKED_INTO
    for seed in range(OBJECTS - len(ODD)):
        rng = generate.source(f"scan {seed}")
        if seed % 2:
            yield f"flat {seed}", generate.flat_dict(rng, every), False
            continue
        number = rng.randrange(len(ODD))
        value = {"model": generate.nested(rng), "odd": [ODD[number]()]}
        yield f"nested {seed} with odd {number}", value, number == LOOKED_INTO


def accepts(path):
    """None: torch fails for a reason other than names (legacy untyped storages)."""
    try:
        torch.load(path, weights_only=True)
        return True
    except pickle.UnpicklingError:
        return False
    except (AttributeError, RuntimeError):
        return None


def check_objects(suite, folder):
    for number, (label, value, inside) in enumerate(objects()):
        path = folder / f"{number}.pt"
        torch.save(value, path, _use_new_zipfile_serialization=number % 4 != 3)
        ran = heft("scan", "--json", path)
        found = ran.json["items"]
        fine = accepts(path)
        if fine is None:
            continue
        fine = fine and not inside
        suite.equal(ran.status == 0, fine, f"{label}: scan exits 0 as weights_only accepts: {found}")
        if not inside:
            suite.check(all(item["danger"] != "danger" for item in found), f"{label}: danger in {found}")


def danger_of(folder, module, name):
    path = folder / "name.pkl"
    path.write_bytes(f"c{module}\n{name}\n.".encode())
    return heft("scan", "--json", path).json["items"][0]["danger"]


def storage_classes():
    for module in ("torch", "torch.cuda", "torch.sparse", "torch.cuda.sparse", "torch.storage", "torch._utils",
                   "torch._tensor", "torch.nn.parameter", "torch.serialization", "collections", "_codecs",
                   "builtins"):
        for name in dir(sys.modules.get(module) or __import__(module, fromlist=["x"])):
            if not name.startswith("__"):
                yield module, name


def check_names(suite, folder):
    """torch's list equals heft's."""
    allowed = set(_get_allowed_globals())
    candidates = {tuple(name.rpartition(".")[::2]) for name in allowed} | set(storage_classes())
    for module, name in sorted(candidates):
        expected = f"{module}.{name}" in allowed
        got = danger_of(folder, module, name) == "allowed"
        suite.check(got == expected, f"{module}.{name}: torch {expected}, heft {got}")


PEER = """
import json, logging, sys
logging.disable(logging.CRITICAL)
from picklescan.scanner import scan_file_path
for line in sys.stdin:
    try:
        result = scan_file_path(line.rstrip("\\n"))
        print(result.issues_count > 0, flush=True)
    except Exception:
        print(False, flush=True)
"""


def check_picklescan(suite):
    try:
        python = environment.interpreter("scan")
    except environment.Unavailable as reason:
        suite.skip(f"picklescan: {reason}")
        return
    paths = sorted(CASES.iterdir())
    done = subprocess.run([str(python), "-c", PEER], input="".join(f"{path}\n" for path in paths), text=True,
                          capture_output=True, check=True)
    flagged = done.stdout.split()
    suite.equal(len(flagged), len(paths), "picklescan answers for each case")
    for path, answer in zip(paths, flagged):
        if answer == "True":
            suite.equal(heft("scan", path).status, 1, f"{path.name}: picklescan finds something in it")
    suite.check(flagged.count("True") > 50, f"picklescan finds something in {flagged.count('True')} cases")
    print(f"scan: picklescan flags {flagged.count('True')} of {len(paths)} cases", flush=True)


def run(folder):
    suite = Suite("scan beside weights_only and picklescan")
    check_objects(suite, folder)
    check_names(suite, folder)
    check_picklescan(suite)
    return suite
