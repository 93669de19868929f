"""heft convert --to torch and --to torch-legacy: byte for byte the output of torch.save, and readable by
torch (any available release)."""

import collections
import filecmp
import hashlib
import io
import json
import pathlib
import shutil
import struct
import subprocess
import zipfile
import zlib

import torch
from huggingface_hub import load_torch_model, save_torch_state_dict
from safetensors.torch import load_file, save_file

import environment
import generate
from common import DTYPES, SAFE_DTYPES, Suite, heft, raw

DICTS = 100
ALIGNMENT = 64
ALL = [dtype for dtype, _, _ in DTYPES]
# torch writes the others into a stream, too, and then cannot read it: heft refuses them.
TYPED = [dtype for dtype in ALL if dtype not in torch.storage._new_dtypes()]
# Numbers of tensors: CPython writes a thousand dictionary items per batch, and each kind of dictionary
# treats the last batch in its own way.
COUNTS = [0, 1, 2, 30, 60, 999, 1000, 1001, 2000, 2001]


# ---- random state dicts ----------------------------------------------------------------------


def own(text):
    """The text made by slicing, as modules make names: one character is always the same object."""
    return (" " + text)[1:]


def metadata(rng, names):
    """Module versions, as state_dict() leaves them; sometimes with other keys."""
    modules = collections.OrderedDict()
    paths = {""} | {name.rpartition(".")[0] for name in names} | set(generate.WORDS[:rng.randint(0, 5)])
    paths |= {str(number) for number in range(rng.randint(0, 3))}
    for path in sorted(paths, key=lambda _: rng.random()):
        modules[own(path)] = {"version": rng.choice([1, 2, 300, 70000, -1, 2**40])}
        if rng.random() < 0.1:
            modules[own(path)]["scale"] = rng.choice([0.5, None, True, False, "text", "t", ""])
        if rng.random() < 0.05:
            del modules[own(path)]["version"]
    return modules


def state_dict(rng, number, dtypes):
    """Views are saved together with their base: heft writes only the bytes that tensors need."""
    most = COUNTS[number % len(COUNTS)] if number % 4 == 0 else 14
    if number % 4 == 0:
        state = collections.OrderedDict((own(f"t{index}" if most > 60 else str(index)),
                                         torch.full((index % 5,), index, dtype=torch.int32))
                                        for index in range(most))
    else:
        state = generate.flat_dict(rng, dtypes, lone=0.0)
    # Names and tensors are separate objects, as from state_dict(); or ties are the same object.
    keep = rng.random() < 0.4
    state = collections.OrderedDict((own(name), tensor if keep and not tensor.requires_grad
                                     else tensor.detach()) for name, tensor in state.items())
    if rng.random() < 0.3:
        return dict(state)
    if rng.random() < 0.7:
        state._metadata = metadata(rng, state)
    return state


# ---- what torch would have written -----------------------------------------------------------


def archive(root, records):
    """Zip of PyTorchStreamWriter, by its rules (below 4 GiB)."""
    out, directory = io.BytesIO(), io.BytesIO()
    for record, data in records:
        name = f"{root}/{record}".encode()
        begin, flags = out.tell(), 0x0808 if data else 0x0800
        pad = -(begin + 30 + len(name) + 4) % ALIGNMENT
        out.write(struct.pack("<IHHHHHIIIHH", 0x04034b50, 0, flags, 0, 0, 0, 0, 0, 0, len(name), pad + 4))
        out.write(name + b"FB" + struct.pack("<H", pad) + b"Z" * pad + data)
        if data:
            out.write(struct.pack("<IIII", 0x08074b50, zlib.crc32(data), len(data), len(data)))
        directory.write(struct.pack("<IHHHHHHIIIHHHHHII", 0x02014b50, 0, 0, flags, 0, 0, 0,
                                    zlib.crc32(data), len(data), len(data), len(name), 0, 0, 0, 0, 0,
                                    begin) + name)
    begin, n = out.tell(), len(records)
    out.write(directory.getvalue())
    end = out.tell()
    out.write(struct.pack("<IQHHIIQQQQ", 0x06064b50, 44, 0x031e, 45, 0, 0, n, n, end - begin, begin))
    out.write(struct.pack("<IIQI", 0x07064b50, 0, end, 1))
    out.write(struct.pack("<IHHHHIIH", 0x06054b50, 0, 0, n, n, end - begin, begin, 0))
    return out.getvalue()


def combine(seed, value):
    return (seed ^ (value + 0x9e3779b9 + (seed << 6) + (seed >> 2))) & (2**64 - 1)


def layouts(path, serial_of):
    """The file that torch wrote, and the same records in the layouts of older releases."""
    with zipfile.ZipFile(path) as file:
        names = file.namelist()
        root = names[0].partition("/")[0]
        records = [(name.partition("/")[2], file.read(name)) for name in names]
    yield "2.8", path.read_bytes(), archive(root, records)
    middle = [record for record in records[:-1]
              if record[0] not in (".format_version", ".storage_alignment")]
    sums = 0
    for _, data in middle:
        sums = combine(sums, zlib.crc32(data)) if data else sums
    serial = serial_of([name for name, _ in middle]) + f"{sums:020d}"
    middle.append((".data/serialization_id", serial.encode()))
    yield "2.1", archive(root, middle), None
    yield "1.6", archive(root, [record for record in middle
                                if record[0] not in ("byteorder", ".data/serialization_id")]), None


def serial_of(names):
    """The twenty digits that torch derives from a set of names, obtained by writing empty records."""
    writer = torch._C.PyTorchFileWriter(io.BytesIO())
    for name in names:
        writer.write_record(name, b"", 0)
    serial = writer.serialization_id() if hasattr(writer, "serialization_id") else None
    writer.write_end_of_file()
    return (serial or writer.serialization_id())[:20]


class Names(type):
    def __instancecheck__(cls, value):
        return isinstance(value, str)


class Counted(str, metaclass=Names):
    """Replaces `str` in torch.serialization: storages are numbered 0, 1, … instead of by address."""
    seen = {}

    def __new__(cls, value=""):
        if isinstance(value, int):
            return str(cls.seen.setdefault(value, len(cls.seen)))
        return str(value)


def legacy(state):
    """Torch's stream, with keys that are the same in each run."""
    out = io.BytesIO()
    Counted.seen = {}
    torch.serialization.str = Counted
    try:
        torch.save(state, out, _use_new_zipfile_serialization=False)
    finally:
        del torch.serialization.str
    return out.getvalue()


# ---- checks ----------------------------------------------------------------------------------


def difference(ours, theirs):
    for at, (left, right) in enumerate(zip(ours, theirs)):
        if left != right:
            return f"offset {at:#x}: heft {ours[at - 8:at + 24]}, torch {theirs[at - 8:at + 24]}"
    return f"{len(ours)} bytes, torch {len(theirs)}"


def same_bytes(suite, path, theirs, what):
    ours = pathlib.Path(path).read_bytes()
    return suite.check(ours == theirs, what, difference(ours, theirs))


def convert(suite, what, source, out, *words):
    ran = heft("convert", source, "-o", out, "-f", "--no-sync", "-q", "--allow-empty", *words)
    return suite.check(ran.status == 0, f"{what}: convert", ran.line)


def groups(state):
    """Names grouped by storage. (torch's stream loader creates new storages for empty ones.)"""
    shared = {}
    for name, tensor in state.items():
        if tensor.untyped_storage().nbytes():
            shared.setdefault(tensor.untyped_storage()._cdata, []).append(name)
    return sorted(names for names in shared.values())


def check_loaded(suite, what, path, state, mmap=True):
    """torch reads the file, mapped and with weights_only, and all tensors are equal."""
    loaded = torch.load(path, weights_only=True, mmap=mmap)
    suite.equal(list(loaded), list(state), f"{what}: names")
    suite.equal(type(loaded), type(state), f"{what}: class")
    suite.equal(getattr(loaded, "_metadata", None), getattr(state, "_metadata", None),
                f"{what}: _metadata")
    suite.equal(groups(loaded), groups(state), f"{what}: shared storages")
    for name, tensor in state.items():
        got = loaded.get(name)
        good = got is not None and (got.dtype, got.shape, got.stride()) == (
            tensor.dtype, tensor.shape, tensor.stride()) and raw(got) == raw(tensor)
        suite.check(good, f"{what}: {name!r}")


def equal_files(suite, folder):
    """torch.save → heft → torch, in every layout."""
    theirs, ours = folder / "theirs", folder / "ours"
    theirs.mkdir()
    ours.mkdir()
    for number in range(DICTS):
        rng = generate.source(f"torch out {number}")
        state = state_dict(rng, number, ALL)
        name = rng.choice(["model.pth", "a.b.pt", "with space.bin", "plain", "\u00fc.pth", ".x.ckpt"])
        source, out = theirs / name, ours / name
        torch.save(state, source)
        for layout, wanted, rebuilt in layouts(source, serial_of):
            what = f"dict {number} ({layout})"
            if rebuilt:
                suite.check(rebuilt == wanted, f"{what}: these rules are torch's",
                            difference(rebuilt, wanted))
            if convert(suite, what, source, out, "--to", "torch", "--torch-layout", layout):
                same_bytes(suite, out, wanted, f"{what}: bytes")
        check_loaded(suite, f"dict {number}", out, state)


def equal_streams(suite, folder):
    """The same for the stream that torch wrote before 1.6."""
    for number in range(DICTS):
        what = f"stream {number}"
        state = state_dict(generate.source(f"torch out l {number}"), number, TYPED)
        torch.save(state, folder / "in.pth")
        if convert(suite, what, folder / "in.pth", folder / "out.pth", "--to", "torch-legacy"):
            same_bytes(suite, folder / "out.pth", legacy(state), f"{what}: bytes")
            check_loaded(suite, what, folder / "out.pth", state, mmap=False)
    torch.save({"new": torch.zeros(1, dtype=torch.uint16)}, folder / "in.pth")
    ran = heft("convert", folder / "in.pth", "-o", folder / "new.pth", "--to", "torch-legacy")
    suite.check(ran.status == 2 and b"torch-legacy has no U16" in ran.err, "stream: U16", ran.line)


def from_safetensors(suite, folder):
    for number in range(20):
        what = f"safetensors {number}"
        state = generate.flat_dict(generate.source(f"torch out s {number}"), SAFE_DTYPES, views=0.0,
                                   lone=0.0)
        save_file({name: tensor.detach().contiguous() for name, tensor in state.items()},
                  folder / "in.safetensors")
        listed = [row["name"] for row in heft("ls", "--json", folder / "in.safetensors").json["tensors"]]
        loaded = load_file(folder / "in.safetensors")
        wanted = folder / "wanted" / "out.pth"
        wanted.parent.mkdir(exist_ok=True)
        torch.save({own(name): loaded[name].clone() for name in listed}, wanted)
        if convert(suite, what, folder / "in.safetensors", folder / "out.pth"):
            same_bytes(suite, folder / "out.pth", wanted.read_bytes(), f"{what}: bytes")


class Tied(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(20, 8)
        self.norm = torch.nn.BatchNorm1d(8)
        self.layers = torch.nn.ModuleList(torch.nn.Linear(8, 8) for _ in range(5))
        self.head = torch.nn.Linear(8, 20, bias=False)
        self.head.weight = self.embed.weight


def ties(suite, folder):
    """A tie that safetensors records only in metadata is restored as a tie."""
    state = Tied().state_dict()
    torch.save(state, folder / "tied.pth")
    if not convert(suite, "ties: there", folder / "tied.pth", folder / "tied.safetensors"):
        return
    if convert(suite, "ties: back", folder / "tied.safetensors", folder / "back.pth"):
        back = torch.load(folder / "back.pth", weights_only=True)
        suite.equal(set(back), set(state), "ties: names")
        suite.equal(sorted(map(sorted, groups(back))), sorted(map(sorted, groups(state))),
                    "ties: storages")
        for name, tensor in state.items():
            suite.check(raw(back[name]) == raw(tensor), f"ties: {name}")


def shards(suite, folder):
    """The hub's own shards of pickles, byte for byte, and its loader."""
    for limit in ("0.6KB", "1KB", "5GB"):
        model, other = Tied(), Tied()
        theirs, ours = folder / f"hub-{limit}", folder / f"heft-{limit}"
        theirs.mkdir()
        torch.save(model.state_dict(), folder / "model.pth")
        state = torch.load(folder / "model.pth", weights_only=True)
        save_torch_state_dict(dict(state), theirs, max_shard_size=limit, safe_serialization=False)
        if not convert(suite, f"shards {limit}", folder / "model.pth", f"{ours}/", "--to", "torch",
                       "--max-shard-size", limit):
            continue
        names = sorted(path.name for path in theirs.iterdir())
        suite.equal(sorted(path.name for path in ours.iterdir()), names, f"shards {limit}: files")
        for name in names:
            if name.endswith(".json"):
                suite.equal(json.loads((ours / name).read_text()),
                            json.loads((theirs / name).read_text()), f"shards {limit}: {name}")
            elif (ours / name).exists() and len(names) > 1:
                same_bytes(suite, ours / name, (theirs / name).read_bytes(), f"shards {limit}: {name}")
        load_torch_model(other, ours, safe=False, weights_only=True, strict=False)
        for name, tensor in state.items():
            suite.check(raw(other.state_dict()[name]) == raw(tensor), f"shards {limit}: {name}")
        read = heft("ls", "--json", ours)
        suite.check(read.status == 0 and {row["name"] for row in read.json["tensors"]} == set(state),
                    f"shards {limit}: heft reads them back", read.line)


def resolved(suite, folder):
    """Views that torch marks instead of computing, parts of storages, other dtypes of one storage."""
    base = torch.randn(5, 6, dtype=torch.complex64)
    big = torch.arange(1000.)
    bits = torch.arange(8, dtype=torch.int16).view(torch.uint16)
    state = {"conj": base.conj(), "plain": base, "imag": torch.randn(3, dtype=torch.complex64).conj().imag, "slice": big[100:110],
             "other": big[105:120], "bits": bits, "nibbles": bits.view(torch.uint32),
             "column": torch.arange(12.).reshape(3, 4)[:, 1]}
    torch.save(state, folder / "odd.pth")
    for target in ("torch", "torch-legacy"):
        taken = {name: tensor for name, tensor in state.items()
                 if target == "torch" or tensor.dtype in TYPED}
        words = [word for name in taken for word in ("-g", name)]
        if not convert(suite, f"odd ({target})", folder / "odd.pth", folder / "out.pth", "--to", target,
                       *words):
            continue
        loaded = torch.load(folder / "out.pth", weights_only=True)
        for name, tensor in taken.items():
            suite.check(raw(loaded[name]) == raw(tensor), f"odd ({target}): {name}")
        suite.equal(loaded["slice"].untyped_storage().nbytes(), 80, f"odd ({target}): only what is used")
        suite.equal(loaded["slice"].untyped_storage()._cdata, loaded["other"].untyped_storage()._cdata,
                    f"odd ({target}): still shared")
    if convert(suite, "cast", folder / "odd.pth", folder / "cast.pth", "--cast", "slice=F16"):
        loaded = torch.load(folder / "cast.pth", weights_only=True)
        suite.check(torch.equal(loaded["slice"], state["slice"].half()), "cast: slice")
        suite.check(torch.equal(loaded["other"], state["other"]), "cast: its neighbour")


def beyond_4_gib(suite, folder):
    """zip64: a record of 4 GiB less one byte, where torch begins to use it, and others after it. Sparse,
    so that only written bytes take space."""
    big = 2**32 - 1
    if shutil.disk_usage(folder).free < 4 * big:
        suite.skip(f"beyond 4 GiB: {folder} has less than {4 * big / 1e9:.0f} GB of space")
        return
    rows = {"big": {"dtype": "U8", "shape": [big], "data_offsets": [0, big]},
            "small": {"dtype": "U8", "shape": [5], "data_offsets": [big, big + 5]}}
    header = json.dumps(rows).encode()
    with open(folder / "big.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(header)) + header)
        file.truncate(8 + len(header) + big)
        file.seek(0, 2)
        file.write(b"12345")
    out, theirs = folder / "ours" / "big.pth", folder / "theirs" / "big.pth"
    if convert(suite, "beyond 4 GiB", folder / "big.safetensors", out):
        loaded = torch.load(out, weights_only=True, mmap=True)
        suite.equal((list(loaded), loaded["big"].shape, loaded["small"].tolist()),
                    (["big", "small"], (big,), list(b"12345")), "beyond 4 GiB: tensors")
        suite.equal(heft("verify", "-q", out).status, 0, "beyond 4 GiB: heft verifies it")
        torch.save({own(name): loaded[name].clone() for name in loaded}, theirs)
        suite.check(filecmp.cmp(out, theirs, shallow=False), "beyond 4 GiB: bytes as torch writes them")
    for path in (out, theirs):
        path.unlink(missing_ok=True)


READER = """
import collections, hashlib, sys, torch
for path in sys.argv[1:]:
    for name, tensor in torch.load(path).items():
        data = tensor.contiguous().reshape(-1)
        data = bytes(data.view(torch.uint8).numpy()) if data.numel() else b""
        print(name, str(tensor.dtype), list(tensor.shape), list(tensor.stride()), hashlib.sha256(data).hexdigest())
"""


def older_torch(suite, folder):
    try:
        python = environment.old_torch()
    except environment.Unavailable as reason:
        suite.skip(f"older torch: {reason}")
        return
    known = [torch.float64, torch.float32, torch.float16, torch.int8, torch.int16, torch.int32,
             torch.int64, torch.uint8, torch.bool]
    for number in range(10):
        state = generate.flat_dict(generate.source(f"older {number}"), known, lone=0.0)
        state = {f"n{index}": tensor.detach() for index, tensor in enumerate(state.values())}
        torch.save(state, folder / "in.pth")
        paths = []
        for words in (["--to", "torch"], ["--to", "torch", "--torch-layout", "1.6"],
                      ["--to", "torch-legacy"]):
            paths.append(folder / f"{'-'.join(words).strip('-')}.pth")
            convert(suite, f"older {number}", folder / "in.pth", paths[-1], *words)
        done = subprocess.run([python, "-c", READER, *map(str, paths)], capture_output=True, text=True)
        wanted = [f"{name} {tensor.dtype} {list(tensor.shape)} {list(tensor.stride())} "
                  f"{hashlib.sha256(raw(tensor)).hexdigest()}" for name, tensor in state.items()]
        suite.check(done.stdout.splitlines() == wanted * 3, f"older {number}: torch 1.13 reads it",
                    done.stderr[-300:] or done.stdout[:300])


def run(folder):
    suite = Suite("what heft writes is what torch.save writes")
    equal_files(suite, folder)
    equal_streams(suite, folder)
    from_safetensors(suite, folder)
    ties(suite, folder)
    shards(suite, folder)
    resolved(suite, folder)
    older_torch(suite, folder)
    beyond_4_gib(suite, folder)
    return suite
