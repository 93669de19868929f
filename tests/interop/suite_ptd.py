"""`.ptd` and `.pte` compared with ExecuTorch: heft's output equals that of its serializer byte for byte;
heft reads its files; its runtime computes with heft's output the results of torch. flatc, if installed
(Debian: flatbuffers-compiler), reads the same tables by ExecuTorch's schema as heft."""

import json
import pathlib
import random
import re
import shutil
import struct
import subprocess
import time

import torch

import environment
import generate
from common import Suite, heft, raw
from peers import Peer

PAYLOADS = 200
READ = 100
ENTRIES = 20000

# heft's name, ExecuTorch's number, torch's dtype if torch can save it
TYPES = [("U8", 0, torch.uint8), ("I8", 1, torch.int8), ("I16", 2, torch.int16),
         ("I32", 3, torch.int32), ("I64", 4, torch.int64), ("F16", 5, torch.float16),
         ("F32", 6, torch.float32), ("F64", 7, torch.float64), ("C32", 8, None), ("C64", 9, None),
         ("C128", 10, None), ("BOOL", 11, torch.bool), ("QI8", 12, None), ("QU8", 13, None),
         ("QI32", 14, None), ("BF16", 15, torch.bfloat16), ("QU4X2", 16, None), ("QU2X4", 17, None),
         ("BITS1X8", 18, None), ("BITS2X4", 19, None), ("BITS4X2", 20, None), ("BITS8", 21, None),
         ("BITS16", 22, None), ("F8_E5M2", 23, torch.float8_e5m2),
         ("F8_E4M3", 24, torch.float8_e4m3fn), ("F8_E5M2FNUZ", 25, torch.float8_e5m2fnuz),
         ("F8_E4M3FNUZ", 26, torch.float8_e4m3fnuz), ("U16", 27, torch.uint16),
         ("U32", 28, torch.uint32), ("U64", 29, torch.uint64)]
SIZES = {"U8": 1, "I8": 1, "I16": 2, "I32": 4, "I64": 8, "F16": 2, "F32": 4, "F64": 8, "C32": 4,
         "C64": 8, "C128": 16, "QI32": 4, "BF16": 2, "BITS16": 2, "U16": 2, "U32": 4, "U64": 8}
UNREAD = (8, 9, 10, 16, 17, 18, 19, 20, 21)  # its own deserializer has no names for these


def open_peer():
    return Peer(environment.interpreter("ptd"), environment.HERE / "ptd_peer.py")


def names(rng, count):
    made = {}
    while len(made) < count:
        length = rng.choice((1, 2, 3, 4, 5, 6, 7, 8, 9, 40))
        made["".join(rng.choice("abz.0_µ漢😀") for _ in range(length))] = None
    return list(made)


def shape_of(rng, most=6):
    return [rng.choice((0, 1, 1, 2, 3, 5)) for _ in range(rng.randint(0, most))]


def tensor_of(rng):
    _, _, dtype = rng.choice([known for known in TYPES if known[2] is not None])
    tensor = generate.random_tensor(rng, dtype, tuple(shape_of(rng)))
    return tensor.reshape(tuple(tensor.shape)).clone()


def order_of(tensor):
    """Dimension order as the exporter derives it: by strides, largest first."""
    return sorted(range(tensor.dim()), key=lambda d: -tensor.stride(d))


def state_of(rng):
    """Tensors, some of them equal, tied, or in channels_last order."""
    state = {}
    for name in names(rng, rng.randint(0, 12)):
        kind = rng.random()
        if state and kind < 0.2:
            state[name] = rng.choice(list(state.values()))
        elif state and kind < 0.4:
            state[name] = rng.choice(list(state.values())).clone()
        elif kind < 0.55:
            shape = [rng.choice((1, 2, 3, 4)) for _ in range(4)]
            state[name] = torch.randn(shape).to(memory_format=torch.channels_last)
        else:
            state[name] = tensor_of(rng)
    return state


def is_last(tensor):
    """Returns true if the strides are those of channels_last and not those of a contiguous tensor."""
    if tensor.dim() != 4:
        return False
    wanted = torch.empty(tensor.shape, memory_format=torch.channels_last).stride()
    return tensor.stride() == wanted and tensor.stride() != torch.empty(tensor.shape).stride()


def entry_of(name, tensor):
    number = next(number for _, number, dtype in TYPES if dtype == tensor.dtype)
    order = order_of(tensor) if is_last(tensor) else list(range(tensor.dim()))
    return {"key": name, "data": raw(tensor.permute(order)).hex(),
            "layout": [number, list(tensor.shape), order]}


def written(suite, peer, folder):
    """Byte for byte the serializer's output, from a torch file and from a .ptd."""
    for seed in range(PAYLOADS):
        rng = random.Random(seed)
        torch.manual_seed(seed)
        state = state_of(rng)
        alignment = rng.choice((1, 16, 64, 96, 128, 128, 4096))
        torch.save(state, folder / "in.pth")
        peer.ask("write", path=str(folder / "peer.ptd"), alignment=alignment, share=True,
                 entries=[entry_of(name, tensor) for name, tensor in state.items()])
        ran = heft("convert", "-q", "--allow-empty", folder / "in.pth", "-o", folder / "out.ptd", "-f", "--no-sync",
                   "--segment-alignment", alignment)
        if not suite.check(ran.status == 0, f"payload {seed}", ran.line):
            continue
        expected = (folder / "peer.ptd").read_bytes()
        suite.check((folder / "out.ptd").read_bytes() == expected, f"payload {seed}: bytes differ")
        ran = heft("convert", "-q", "--allow-empty", folder / "peer.ptd", "-o", folder / "again.ptd", "-f", "--no-sync",
                   "--segment-alignment", alignment)
        suite.check(ran.status == 0 and (folder / "again.ptd").read_bytes() == expected,
                    f"payload {seed}: ptd to ptd", ran.line)


def payload(rng):
    """Every dtype, any order of dimensions, blobs, alignments per entry, buffers not shared."""
    entries = []
    for name in names(rng, rng.randint(1, 12)):
        kind, number, _ = rng.choice(TYPES)
        shape = shape_of(rng, 5)
        order = list(range(len(shape)))
        if rng.random() < 0.5:
            rng.shuffle(order)
        size = SIZES.get(kind, 1)
        for extent in shape:
            size *= extent
        blob = rng.random() < 0.2
        data = rng.randbytes(rng.randint(0, 300) if blob else size)
        entries.append({"key": name, "data": data.hex(), "alignment": rng.choice((1, 1, 16, 48, 256)),
                        "layout": None if blob else [number, shape, order]})
    return entries


class Flatc:
    """The flatbuffer of a .ptd as read by flatc, by the schema of ExecuTorch's package."""

    def __init__(self, program, schema, folder):
        self.program, self.schema, self.folder = program, schema, folder
        enum = schema.with_name("scalar_type.fbs").read_text().partition("enum ScalarType")[2]
        self.numbers = {name: int(number) for name, number in re.findall(r"^ *(\w+) = (\d+)", enum, re.M)}

    def tables(self, path):
        subprocess.run([self.program, "--json", "--strict-json", "--defaults-json", "--raw-binary", "-o",
                        str(self.folder / "flatc"), str(self.schema), "--", str(path)], check=True,
                       stdout=subprocess.DEVNULL)
        return json.loads((self.folder / "flatc" / f"{path.stem}.json").read_text())

    def rows(self, path):
        """(key, offset of its bytes, their number, dtype, shape); None as layout of blobs."""
        tables, base = self.tables(path), struct.unpack_from("<Q", path.read_bytes(), 32)[0]
        for entry in tables["named_data"]:
            segment, layout = tables["segments"][entry["segment_index"]], entry.get("tensor_layout")
            yield (entry["key"], base + segment["offset"], segment["size"],
                   layout and TYPES[self.number(layout["scalar_type"])][0], layout and layout["sizes"])

    def number(self, kind):
        return kind if isinstance(kind, int) else self.numbers[kind]


def find_flatc(suite, peer, folder):
    program = shutil.which("flatc")
    if not program:
        suite.skip("flatc is not installed (Debian: flatbuffers-compiler)")
        return None
    return Flatc(program, pathlib.Path(peer.ask("schema")), folder)


def second_opinion(suite, flatc, path, what):
    """Compares heft's rows and blobs with those of flatc."""
    rows = {row["name"]: row for row in heft("ls", "--json", path).json["tensors"]}
    blobs = {blob["name"]: blob for blob in heft("info", "--json", path).json.get("blobs", [])}
    found = list(flatc.rows(path))
    suite.equal(sorted(row[0] for row in found), sorted([*rows, *blobs]), f"{what}: keys, flatc")
    for key, offset, size, dtype, shape in found:
        row = blobs.get(key, {}) if dtype is None else rows.get(key, {})
        got = [row.get(word) for word in ("offset", "bytes", "dtype", "shape")]
        suite.equal(got, [offset, size, dtype, shape], f"{what}: {key!r}, flatc")


def row_major(entry):
    _, shape, order = entry["layout"]
    data = bytes.fromhex(entry["data"])
    if not shape or not data:
        return data
    count = 1
    for extent in shape:
        count *= extent
    flat = torch.tensor(list(data), dtype=torch.uint8).reshape([shape[d] for d in order] + [len(data) // count])
    back = sorted(range(len(order)), key=lambda k: order[k])
    return raw(flat.permute(back + [len(order)]))


def compare_entry(suite, path, entry, rows, what):
    ran = heft("get", path, entry["key"], "-o", "-")
    if entry["layout"] is None:
        suite.check(ran.out.hex() == entry["data"], f"{what}: blob {entry['key']!r}", ran.line)
        return
    row = rows.get(entry["key"])
    if not suite.check(row is not None, f"{what}: no {entry['key']!r}"):
        return
    suite.equal([row["dtype"], row["shape"]], [TYPES[entry["layout"][0]][0], entry["layout"][1]],
                f"{what}: {entry['key']!r}")
    suite.check(ran.out == row_major(entry), f"{what}: bytes of {entry['key']!r}", ran.line)


def read(suite, peer, folder):
    flatc = find_flatc(suite, peer, folder)
    for seed in range(READ):
        rng = random.Random(1000 + seed)
        entries = payload(rng)
        path = folder / "read.ptd"
        peer.ask("write", path=str(path), alignment=rng.choice((1, 16, 128)), share=False, entries=entries)
        ran = heft("ls", "--json", path)
        if not suite.check(ran.status == 0, f"read {seed}", ran.line):
            continue
        rows = {row["name"]: row for row in ran.json["tensors"]}
        for entry in entries:
            compare_entry(suite, path, entry, rows, f"read {seed}")
        suite.equal(heft("verify", "-q", path).status, 0, f"read {seed}: verify")
        round_trip(suite, peer, folder, entries, seed)
        for name in ("read", "kept") if flatc else ():
            second_opinion(suite, flatc, folder / f"{name}.ptd", f"{name} {seed}")


def round_trip(suite, peer, folder, entries, seed):
    """Conversion from ptd to ptd keeps keys, layouts, blobs and bytes, as the reference reads them."""
    ran = heft("convert", "-q", folder / "read.ptd", "-o", folder / "kept.ptd", "-f", "--no-sync")
    if not suite.check(ran.status == 0, f"read {seed}: ptd to ptd", ran.line):
        return
    if any(entry["layout"] and entry["layout"][0] in UNREAD for entry in entries):
        return
    suite.equal(peer.ask("read", path=str(folder / "kept.ptd")),
                {entry["key"]: [entry["layout"], entry["data"]] for entry in entries},
                f"read {seed}: what was kept")


def compute(peer, folder, data, said, program="model.pte"):
    return peer.ask("run", program=str(folder / program), data=str(data), input=said["input"],
                    shape=said["shape"])


def equal_output(suite, got, expected, what):
    """The kernels of the runtime and of torch differ in the last digits."""
    if not suite.check("output" in got, what, str(got)):
        return
    left, right = (torch.frombuffer(bytearray.fromhex(text), dtype=torch.float32)
                   for text in (got["output"], expected))
    suite.check(torch.allclose(left, right, atol=1e-6), what, f"{left[:4]} beside {right[:4]}")


def needs_data(suite, folder, kind):
    """info of the program lists the keys that it needs from a .ptd."""
    ran = heft("info", "--json", folder / "model.pte")
    if not suite.check(ran.status == 0, f"{kind}: info", ran.line):
        return
    wanted = sorted(row["key"] for row in ran.json["external"])
    rows = heft("ls", "--json", folder / "_default_external_constant.ptd").json["tensors"]
    suite.equal(wanted, sorted(row["name"] for row in rows), f"{kind}: external keys")


def end_to_end(suite, peer, folder, kind):
    folder = folder / kind
    folder.mkdir()
    said = peer.ask("export", folder=str(folder), kind=kind, seed=3)
    if not suite.equal(said["data"], ["_default_external_constant.ptd"], f"{kind}: exported"):
        return
    data = folder / "_default_external_constant.ptd"
    needs_data(suite, folder, kind)
    first = compute(peer, folder, data, said)
    equal_output(suite, first, said["outputs"][0], f"{kind}: the exporter's own file")
    for step in (["convert", data, "-o", folder / "w.safetensors"],
                 ["convert", folder / "w.safetensors", "-o", folder / "back.ptd"],
                 ["convert", folder / "other.pth", "-o", folder / "new.ptd"],
                 ["convert", folder / "model.pth", "-o", folder / "same.ptd"]):
        ran = heft(*step)
        if not suite.check(ran.status == 0, f"{kind}: {step[-1].name}", ran.line):
            return
    suite.equal(compute(peer, folder, folder / "back.ptd", said), first, f"{kind}: there and back")
    suite.equal(compute(peer, folder, folder / "same.ptd", said), first, f"{kind}: from its .pth")
    equal_output(suite, compute(peer, folder, folder / "new.ptd", said), said["outputs"][1],
                 f"{kind}: with other weights")


def into_lowered(suite, peer, folder):
    """New weights under the keys of a program for XNNPACK, beside the program without a delegate."""
    folder = folder / "lowered"
    folder.mkdir()
    said = peer.ask("export", folder=str(folder), kind="lowered", seed=3)
    old, base, new = folder / "lowered.ptd", folder / "model.pth", folder / "other.pth"
    for name, source, data in (("same", base, old), ("new", new, old), ("back", base, folder / "new.ptd")):
        ran = heft("convert", source, "--into", data, "--base", base, "-o", folder / f"{name}.ptd", "--verify")
        if not suite.check(ran.status == 0, f"lowered: {name}", ran.line):
            return
    suite.check(old.read_bytes() == (folder / "same.ptd").read_bytes(), "lowered: unchanged weights give the same file")
    suite.check(old.read_bytes() == (folder / "back.ptd").read_bytes(), "lowered: there and back")
    keys = [[row["name"] for row in heft("ls", "--json", path).json["tensors"]] for path in (old, folder / "new.ptd")]
    suite.equal(keys[0], keys[1], "lowered: keys")
    ran = heft("convert", new, "-o", folder / "plain.ptd")
    suite.check(ran.status == 0, "lowered: weights of the program without a delegate", ran.line)
    for which, data, plain in ((0, old, "_default_external_constant.ptd"), (1, folder / "new.ptd", "plain.ptd")):
        got = compute(peer, folder, data, said, "lowered.pte")
        beside = compute(peer, folder, folder / plain, said)
        equal_output(suite, got, said["outputs"][which], f"lowered: outputs {which}, beside torch")
        if suite.check("output" in beside, f"lowered: without a delegate {which}", str(beside)):
            equal_output(suite, got, beside["output"], f"lowered: outputs {which}, beside the program without a delegate")
    suite.check(compute(peer, folder, folder / "plain.ptd", said, "lowered.pte").get("error"),
                "lowered: weights under their names are refused")


def quick(suite, peer, folder):
    """Listing many entries, compared with the deserializer."""
    entries = [{"key": f"model.layers.{i}.weight", "data": "00000000", "layout": [6, [1], [0]]}
               for i in range(ENTRIES)]
    path = folder / "many.ptd"
    peer.ask("write", path=str(path), alignment=16, share=False, entries=entries)
    slow = peer.ask("list", path=str(path))
    best = 1e9
    for _ in range(5):
        start = time.perf_counter()
        heft("ls", path)
        best = min(best, time.perf_counter() - start)
    suite.check(best * 50 <= slow, "listed 50 times faster", f"{best:.4f} s beside {slow:.3f} s")


def run(folder):
    suite = Suite("ptd, executorch 1.5.1")
    try:
        peer = open_peer()
    except environment.Unavailable as reason:
        suite.skip(reason)
        return suite
    written(suite, peer, folder)
    read(suite, peer, folder)
    for kind in ("dense", "conv"):
        end_to_end(suite, peer, folder, kind)
    into_lowered(suite, peer, folder)
    quick(suite, peer, folder)
    peer.close()
    return suite
