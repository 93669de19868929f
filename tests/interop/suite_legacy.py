"""Existing files that are not zips, as torch reads them: legacy streams of many years, from packages and
the checkpoints of HEFT_SHARED_DATA; and views, ties, wrappers and objects in files of torch's own
writers."""

import collections
import os
import pathlib
import pickle
import subprocess
import sys
import warnings

import numpy
import torch

import generate
from common import ROOT, Suite, flatten, listing
from suite_real import compare

SAMPLES = ROOT / "build" / "samples"
SHARED = pathlib.Path(os.environ.get("HEFT_SHARED_DATA") or ROOT.parent / "shared" / "data") / "torch"
NAMES = ("*.pt", "*.pth", "*.pkl")


def is_legacy(path):
    """Returns true for the signature of protocol 2, which the writers of these files used."""
    with open(path, "rb") as file:
        return file.read(15) == b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."


def real_files():
    for folder in (SAMPLES, SHARED):
        for pattern in NAMES:
            yield from sorted(path for path in folder.rglob(pattern) if is_legacy(path))


def tensors_for(value):
    """Storages outside tensors become one-dimensional tensors, as heft lists them."""
    if isinstance(value, torch.storage.TypedStorage):
        return torch.tensor(list(value), dtype=value.dtype)
    if isinstance(value, tuple):
        return tuple(map(tensors_for, value))
    return value


def check_real(suite):
    count = 0
    subprocess.run([sys.executable, str(ROOT / "scripts" / "samples"), "lpips", "resemblyzer"],
                   capture_output=True)  # fewer files without network access
    for path in real_files():
        value = torch.load(path, map_location="cpu", weights_only=False, encoding="latin1")
        compare(suite, path.name, path, dict(flatten(tensors_for(value))))
        count += 1
    if count == 0:
        suite.skip("no existing legacy file (see scripts/samples, HEFT_SHARED_DATA)")


def check_made(suite, folder):
    """Ties, views, parameters and arrays together, in every protocol and both kinds of file."""
    path = folder / "made"
    for seed in range(24):
        rng = generate.source(f"legacy {seed}")
        base = generate.random_tensor(rng, torch.float32, (5, 4))
        state = collections.OrderedDict(
            base=base, tied=base, turned=base.t(), rows=base[2:4], one=base[1, 1],
            parameter=torch.nn.Parameter(base[0].clone()), empty=torch.empty(0, 3),
            array=numpy.arange(seed, dtype=">i2"), step=seed,
            nested={"list": [generate.random_tensor(rng, torch.int16, (3,)), None, base]})
        protocol, plain = 1 + seed % 5, seed % 2 == 1
        with open(path, "wb") as file:
            if plain:
                pickle.dump(state, file, protocol=protocol)
            else:
                torch.save(state, file, pickle_protocol=protocol, _use_new_zipfile_serialization=False)
        compare(suite, f"made {seed}, protocol {protocol}", path, dict(flatten(state)))


def check_cut(suite, folder):
    """A truncated file is refused; if only data are missing, the error has the number of missing
    bytes."""
    path = folder / "cut.pt"
    torch.save({"a": torch.arange(9.0), "b": torch.arange(5)}, path, _use_new_zipfile_serialization=False)
    whole = path.read_bytes()
    for end in range(1, len(whole), 7):
        path.write_bytes(whole[:end])
        found, ran = listing(path)
        suite.check(found is None and ran.status == 2, f"cut to {end} bytes is refused", ran.line)
        if end > len(whole) - 76:
            suite.check(f"{len(whole) - end} missing" in ran.line, f"cut to {end}: missing bytes", ran.line)


def run(folder):
    warnings.filterwarnings("ignore")
    suite = Suite("legacy streams and plain pickles")
    check_real(suite)
    check_made(suite, folder)
    check_cut(suite, folder)
    return suite
