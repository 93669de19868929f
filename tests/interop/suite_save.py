"""Tensors in memory, saved by libheft: byte for byte the files of safetensors' save_file; files with aligned
data, which safetensors and numpy read; strided and tied tensors, and callbacks that fill them."""

import os
import pathlib
import subprocess

import numpy
import safetensors
import safetensors.numpy
import safetensors.torch
import torch

import generate
from common import HEFT, HEFT_NAME, SAFE_DTYPES, Suite, heft, listing, raw, same_safetensors

DICTS, ALIGNED = 120, 40
TOOL = pathlib.Path(os.path.abspath(HEFT)).parent / "heft-save"
TEXTS = ["", "pt", "format", "é\n\"\\", "\u2028\x7f\0", "{}", "1", "\U0001f600"]
F4 = torch.float4_e2m1fn_x2
NUMPY_DTYPES = [dtype for dtype in SAFE_DTYPES if dtype in (
    torch.float64, torch.float32, torch.float16, torch.bool, torch.int8, torch.int16, torch.int32, torch.int64,
    torch.uint8, torch.uint16, torch.uint32, torch.uint64, torch.complex64)]


def hexed(text):
    return text.encode().hex() or "-"


def numbers(values):
    return ",".join(map(str, values)) or "-"


class Memory:
    """The spec and the data for the tool: storages one after the other, each aligned to 8 bytes."""

    def __init__(self):
        self.lines, self.data, self.places = [], bytearray(), {}

    def place(self, storage):
        key = storage.data_ptr() if storage.nbytes() else None
        if key not in self.places:
            self.data += b"\0" * (-len(self.data) % 8)
            self.places[key] = len(self.data)
            self.data += bytes(storage)
        return self.places[key]

    def add(self, name, tensor, how, storage=0):
        shape, dtype = list(tensor.shape), HEFT_NAME.get(tensor.dtype, "F4")
        if tensor.dtype == F4:
            shape[-1] *= 2
        where = self.place(tensor.untyped_storage()) + tensor.storage_offset() * tensor.element_size()
        strides = "-" if tensor.is_contiguous() or tensor.numel() == 0 else numbers(tensor.stride())
        self.lines.append(" ".join(["tensor", hexed(name), dtype, numbers(shape), strides, str(where), how,
                                    str(storage)]))

    def add_metadata(self, metadata):
        for key, value in (metadata or {}).items():
            self.lines.append(f"metadata {hexed(key)} {hexed(value)}")

    def save(self, folder, out, *options):
        (folder / "spec").write_text("\n".join(self.lines) + "\n")
        (folder / "data").write_bytes(self.data)
        return subprocess.run([TOOL, folder / "spec", folder / "data", out, *options], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL)


def four_bits(rng, state):
    """Adds packed F4, which generate does not make."""
    if rng.random() < 0.3:
        shape = [rng.randint(1, 4) for _ in range(rng.randint(1, 3))]
        count = int(numpy.prod(shape))
        state[f"four.{rng.randint(0, 99)}"] = torch.frombuffer(bytearray(rng.randbytes(count)),
                                                               dtype=torch.uint8).reshape(shape).view(F4)


def random_dict(rng, dtypes, views):
    state = generate.flat_dict(rng, dtypes, views=views, lone=0.1, tensors=(0, 14))
    return {name: tensor.resolve_conj().resolve_neg() for name, tensor in state.items()}


def random_metadata(rng):
    chance = rng.random()
    if chance < 0.5:
        return rng.choice([None, {"format": "pt"}, {"total_size": "1", "format": "np"}])
    return {rng.choice(TEXTS) + str(i): rng.choice(TEXTS) for i in range(1 if chance < 0.8 else rng.randint(2, 5))}


def apart(state):
    """Contiguous copies: the reference refuses anything else."""
    return {name: tensor.contiguous().clone() if tensor.dtype != F4 else tensor for name, tensor in state.items()}


def compare(suite, label, folder, rng, memory, theirs, metadata):
    ours, written = folder / "ours.safetensors", folder / "theirs.safetensors"
    safetensors.torch.save_file(theirs, written, metadata=metadata)
    ran = memory.save(folder, ours)
    if not suite.check(ran.returncode == 0, f"{label}: saved", ran.stderr):
        return
    same = ours.read_bytes() == written.read_bytes() if len(metadata or {}) < 2 else same_safetensors(ours, written)
    suite.check(same, f"{label}: the same bytes as save_file")


def random_dicts(suite, folder):
    """With strides, and storages that several tensors use but without a number: all are written in full."""
    for seed in range(DICTS):
        rng = generate.source(f"save {seed}")
        state, metadata, memory = random_dict(rng, SAFE_DTYPES, 0.3), random_metadata(rng), Memory()
        four_bits(rng, state)
        for name, tensor in state.items():
            memory.add(name, tensor, rng.choice(["data", "fill"]))
        memory.add_metadata(metadata)
        compare(suite, f"dict {seed}", folder, rng, memory, apart(state), metadata)


def each_dtype(suite, folder):
    """One tensor of each dtype, by itself and all together."""
    every, rng = {}, generate.source("save each")
    for dtype in SAFE_DTYPES:
        every[str(dtype)] = generate.random_tensor(rng, dtype, (3, 4))
    every["F4"] = torch.arange(12, dtype=torch.uint8).reshape(3, 4).view(F4)
    for state in [{name: tensor} for name, tensor in every.items()] + [every]:
        memory = Memory()
        for name, tensor in state.items():
            memory.add(name, tensor, "data")
        compare(suite, f"dtypes {'all' if len(state) > 1 else next(iter(state))}", folder, rng, memory, state, None)


def aligned(suite, folder):
    """Files with --alignment: the libraries read the same tensors, and the data is where it is wanted."""
    for seed in range(ALIGNED):
        rng = generate.source(f"aligned {seed}")
        align = rng.choice([64, 256, 4096, 16384])
        state, memory = random_dict(rng, NUMPY_DTYPES, 0.0), Memory()
        for name in [name for name in state if "\0" in name or name == "file"]:
            del state[name]
        for i in range(3):
            state[f"pages.{i}"] = torch.arange(align * (i + 1), dtype=torch.uint8)
        for name, tensor in state.items():
            memory.add(name, tensor, "data")
        safe, npz = folder / "a.safetensors", folder / "a.npz"
        ran = memory.save(folder, safe, f"alignment={align}"), memory.save(folder, npz, f"alignment={align}")
        if not suite.check(ran[0].returncode == ran[1].returncode == 0, f"aligned {seed}: saved",
                           ran[0].stderr + ran[1].stderr):
            continue
        rows, _ = listing(safe)
        for name, row in rows.items():
            suite.check(row["offset"] % align == 0 or row["bytes"] % align != 0,
                        f"aligned {seed}: safetensors {name!r} at a multiple of {align}")
        read = safetensors.torch.load_file(safe)
        suite.check(read.keys() == state.keys() and all(raw(read[n]) == raw(state[n]) for n in state),
                    f"aligned {seed}: safetensors reads it")
        rows, _ = listing(npz)
        suite.check(all(row["offset"] % align == 0 for row in rows.values()), f"aligned {seed}: npz")
        with numpy.load(npz) as arrays:
            suite.check(set(arrays.files) == set(state) and all(
                raw(arrays[n]) == raw(state[n]) and arrays[n].shape == tuple(state[n].shape) for n in state),
                f"aligned {seed}: numpy reads it")
        suite.check(heft("verify", safe).status == 0 and heft("verify", npz).status == 0, f"aligned {seed}: verify")


def ties(suite, folder):
    """Storage numbers are ties: torch loads one storage, safetensors records the dropped name."""
    base = torch.arange(12, dtype=torch.float32).reshape(3, 4)
    memory = Memory()
    for name, tensor in {"a": base, "b": base, "c": base.t()}.items():
        memory.add(name, tensor, "data", storage=5)
    ran = memory.save(folder, folder / "tied.pth")
    if suite.check(ran.returncode == 0, "ties: saved", ran.stderr):
        state = torch.load(folder / "tied.pth", weights_only=True)
        suite.check(len({tensor.untyped_storage().data_ptr() for tensor in state.values()}) == 1, "ties: one storage")
        suite.check(all(torch.equal(state[n], t) for n, t in (("a", base), ("b", base), ("c", base.t()))),
                    "ties: equal tensors")


def run(folder):
    suite = Suite("save")
    if not os.access(TOOL, os.X_OK):
        suite.skip(f"{TOOL} is not built")
        return suite
    each_dtype(suite, folder)
    random_dicts(suite, folder)
    aligned(suite, folder)
    ties(suite, folder)
    return suite
