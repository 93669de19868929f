"""Files written by heft, read by the libraries: safetensors, torch and the hub's loaders, sharded or
not."""

import json

import numpy
import torch
from huggingface_hub import load_state_dict_from_file, load_torch_model
from safetensors import safe_open
from safetensors.torch import load_file, save_file

import generate
import hub
from common import HEFT_NAME, SAFE_DTYPES, Suite, heft, raw, same_safetensors

DICTS = 40
# dtypes that safetensors' get_slice names differently from torch.
NUMPY_READS = {torch.float64, torch.float32, torch.float16, torch.int8, torch.int16, torch.int32,
               torch.int64, torch.uint8, torch.uint16, torch.uint32, torch.uint64, torch.bool}


def plain_dict(rng):
    """Tensors without ties, so that no name is dropped."""
    return generate.flat_dict(rng, SAFE_DTYPES, views=0.0, lone=0.0, most=300)


def check_one_file(suite, label, state, path):
    """safe_open of both frameworks and torch's load_file; each tensor bit for bit."""
    loaded = load_file(path)
    suite.equal(set(loaded), set(state), f"{label}: names")
    with safe_open(path, "pt") as file:
        suite.equal(file.metadata(), {"format": "pt"}, f"{label}: metadata")
        for name, tensor in state.items():
            part = file.get_slice(name)
            suite.equal((part.get_dtype(), part.get_shape()),
                        (HEFT_NAME[tensor.dtype], list(tensor.shape)), f"{label}: slice {name!r}")
            for got in (file.get_tensor(name), loaded[name]):
                good = got.dtype == tensor.dtype and raw(got) == raw(tensor)
                suite.check(good, f"{label}: bytes of {name!r}")
    with safe_open(path, "np") as file:
        for name, tensor in state.items():
            if tensor.dtype in NUMPY_READS:
                got = file.get_tensor(name)
                suite.check(got.tobytes() == raw(tensor), f"{label}: numpy's {name!r}")


def check_aligned(suite, label, path):
    """The header is padded so that every tensor is aligned to its element size."""
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
    suite.equal(length % 8, 0, f"{label}: header length")


def check_own_writer(suite, label, state, path, folder):
    """The same bytes as safetensors.torch.save_file writes."""
    theirs = folder / "theirs.safetensors"
    save_file({name: tensor.detach().contiguous() for name, tensor in state.items()}, theirs,
              metadata={"format": "pt"})
    suite.check(same_safetensors(path, theirs), f"{label}: bytes as save_file writes them")


def single_files(suite, folder):
    for seed in range(DICTS):
        label = f"file {seed}"
        state = plain_dict(generate.source(f"written {seed}"))
        source, out = folder / "in.pt", folder / "out.safetensors"
        torch.save(state, source)
        ran = heft("convert", source, "-o", out, "-f", "--no-sync", "-q")
        if suite.check(ran.status == 0, f"{label}: convert", ran.line):
            check_one_file(suite, label, state, out)
            check_aligned(suite, label, out)
            check_own_writer(suite, label, state, out, folder)


class Model(torch.nn.Module):
    """A small model with tied weights and a buffer."""

    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(50, 16)
        self.layers = torch.nn.ModuleList(torch.nn.Linear(16, 16) for _ in range(6))
        self.norm = torch.nn.BatchNorm1d(16)
        self.head = torch.nn.Linear(16, 50, bias=False)
        self.head.weight = self.embed.weight


def models(suite, folder):
    """A module's state_dict, converted by heft, loaded into a new module by the hub's loaders."""
    torch.manual_seed(1)
    for limit in ("5GB", "3KB", "1KB"):
        model, other = Model(), Model()
        source, out = folder / "model.pth", folder / f"model-{limit}"
        torch.save(model.state_dict(), source)
        ran = heft("convert", source, "-o", f"{out}/", "--max-shard-size", limit, "--no-sync", "-q")
        if not suite.check(ran.status == 0, f"model {limit}: convert", ran.line):
            continue
        result = load_torch_model(other, out, strict=False)
        suite.equal(list(result.unexpected_keys), [], f"model {limit}: unexpected keys")
        for name, tensor in model.state_dict().items():
            suite.check(raw(other.state_dict()[name]) == raw(tensor), f"model {limit}: {name}")
        sound = heft("verify", "-q", f"{out}/")
        suite.equal(sound.status, 0, f"model {limit}: verify: {sound.out.decode()}")


def sharded_sets(suite, folder):
    """The index, read as transformers reads it: each name is in the shard that the index says."""
    for seed in range(DICTS // 2):
        label = f"shards {seed}"
        state = plain_dict(generate.source(f"shards {seed}"))
        source, out = folder / "in.pt", folder / f"out-{seed}"
        torch.save(state, source)
        limit = max(1, sum(tensor.nbytes for tensor in state.values()) // 4)
        ran = heft("convert", source, "-o", f"{out}/", "--max-shard-size", limit, "--no-sync", "-q")
        if not suite.check(ran.status == 0, f"{label}: convert", ran.line):
            continue
        index = out / "model.safetensors.index.json"
        names = dict.fromkeys(state, "model.safetensors")
        if index.exists():
            names = json.loads(index.read_text())["weight_map"]
        suite.equal(set(names), set(state), f"{label}: names of the index")
        for shard in set(names.values()):
            for name, tensor in load_state_dict_from_file(out / shard).items():
                good = names.get(name) == shard and raw(tensor) == raw(state[name])
                suite.check(good, f"{label}: {name!r} in {shard}")


def again(suite, folder):
    """Merging shards, and sharding a safetensors file, gives the hub's output."""
    for seed in range(12):
        label = f"again {seed}"
        state = plain_dict(generate.source(f"again {seed}"))
        theirs, ours, merged = (folder / f"{word}-{seed}" for word in ("theirs", "ours", "merged"))
        theirs.mkdir()
        limit = max(1, sum(tensor.nbytes for tensor in state.values()) // 3)
        hub.write(state, theirs, limit)
        save_file({name: tensor.contiguous() for name, tensor in state.items()},
                  folder / "whole.safetensors", metadata={"format": "pt"})
        ran = heft("convert", f"{theirs}/", "-o", f"{merged}.safetensors", "--no-sync", "-q")
        if suite.check(ran.status == 0, f"{label}: merge", ran.line):
            suite.check(same_safetensors(f"{merged}.safetensors", folder / "whole.safetensors"),
                        f"{label}: merged bytes")
        ran = heft("convert", folder / "whole.safetensors", "-o", f"{ours}/", "--no-sync", "-q",
                   "--max-shard-size", limit)
        if suite.check(ran.status == 0, f"{label}: shard", ran.line):
            check_resharded(suite, label, folder / "whole.safetensors", ours, limit, folder)


def check_resharded(suite, label, whole, ours, limit, folder):
    """heft lists a safetensors file by data offset; expected is the hub's split of that order."""
    with safe_open(whole, "pt") as file:
        state = {name: file.get_tensor(name).clone() for name in file.offset_keys()}
    theirs = folder / f"{ours.name}-hub"
    theirs.mkdir()
    hub.write(state, theirs, limit)
    names = sorted(file.name for file in theirs.iterdir())
    suite.equal(sorted(file.name for file in ours.iterdir()), names, f"{label}: files")
    for name in set(names) & {file.name for file in ours.iterdir()}:
        if name.endswith(".json"):
            good = (ours / name).read_bytes() == (theirs / name).read_bytes()
        else:
            good = same_safetensors(ours / name, theirs / name)
        suite.check(good, f"{label}: bytes of {name}")


def without_tie_list(data):
    """The bytes of an index without heft.ties: heft adds it where the records of the hub alone would
    lose a tie, because its names do not look alike and other metadata stands beside it."""
    return data.replace(b',\n    "heft.ties": "tie"', b"")


def options(suite, folder):
    """Metadata, patterns and limits as the hub interprets them."""
    state = {"b": torch.ones(300), "a": torch.zeros(200), "tie": None, "ü": torch.arange(9)}
    state["tie"] = state["b"]
    source = folder / "in.pt"
    torch.save(state, source)
    cases = [("1KB", {"note": "grüße", "a": "b\"c"}), ("5GB", {"tie": "mine"}), ("1.5KB", {}),
             ("1KB", {"total_size": "7"})]
    for number, (limit, metadata) in enumerate(cases):
        label = f"options {number}"
        theirs, ours = folder / f"opt-hub-{number}", folder / f"opt-heft-{number}"
        theirs.mkdir()
        hub.write(state, theirs, limit, metadata)
        words = [word for key, value in metadata.items() for word in ("--metadata", f"{key}={value}")]
        ran = heft("convert", source, "-o", f"{ours}/", "--max-shard-size", limit, "--no-sync", "-q",
                   *words)
        if not suite.check(ran.status == 0, f"{label}: convert", ran.line):
            continue
        names = sorted(file.name for file in theirs.iterdir())
        suite.equal(sorted(file.name for file in ours.iterdir()), names, f"{label}: files")
        for name in set(names) & {file.name for file in ours.iterdir()}:
            left, right = (ours / name).read_bytes(), (theirs / name).read_bytes()
            if name.endswith(".json"):
                good = without_tie_list(left) == right
            else:
                good = same_safetensors(ours / name, theirs / name)
            suite.check(good, f"{label}: bytes of {name}", f"heft {left[:200]}, hub {right[:200]}")


def run(folder):
    suite = Suite("what heft writes, the libraries read")
    single_files(suite, folder)
    models(suite, folder)
    sharded_sets(suite, folder)
    again(suite, folder)
    options(suite, folder)
    suite.check(numpy.little_endian, "the raw bytes compared here are little-endian")
    return suite
