#!/usr/bin/env python3
"""Random and mutated safetensors files, opened by heft and by the safetensors library. Both must accept the
same files, with the same tensors: name, dtype, shape, bytes. The differences that doc/format/safetensors.md
documents are allowed, and each is recognised by its cause in the file.

    safetensors_compare.py BUILD [--seconds N] [--seed N] [--broken DIR]    without --seconds forever
    safetensors_compare.py BUILD --replay FILE|DIR…                         only these files

BUILD contains fuzz/heft-safetensors-pipe. Runs in the environment of tests/interop, which has the library.
Finds are minimised and written to --broken (BUILD/broken); exit status 1 if there is one.
"""
import hashlib
import json
import random
import struct
import sys
import time
import zlib
from pathlib import Path

from pipe_client import PipeClient, files_of, folder_of_finds, parse_arguments

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/interop"))
BATCH, BATCH_BYTES = 100, 24000  # less than the capacity of a pipe
MOST = 4000  # bytes of an input
BITS = {"BOOL": 8, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8,
        "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8, "I16": 16, "U16": 16, "F16": 16, "BF16": 16, "I32": 32, "U32": 32,
        "F32": 32, "C64": 64, "F64": 64, "I64": 64, "U64": 64}
WORDS = [b'"__metadata__":', b'"dtype":', b'"shape":', b'"data_offsets":', b'"F32"', b'"F4"', b"[", b"]", b"{", b"}",
         b",", b":", b'"', b"\\u0061", b"\\ud800", b"0", b"1", b"-0", b"1e0", b"18446744073709551615", b"[0,0]", b"[]",
         b"null", b"true", b" ", b"\n", b"\xff", b"\xc3\xa9", b'"a"', b'"b"', b'{"k":"v"}', b"{}"]


class Peer(PipeClient):
    """Client of heft-safetensors-pipe."""

    def __init__(self, build):
        super().__init__(build / "fuzz" / "heft-safetensors-pipe")

    def answer(self):
        """The tensors, as library() returns them, or the error as text."""
        data = super().answer()
        return data[1:].decode("utf-8", "replace") if data[0] else dict(self.tensors(data[1:]))

    @staticmethod
    def tensors(data):
        at = 0
        while at < len(data):
            (n,) = struct.unpack_from("<I", data, at)
            name = data[at + 4:at + 4 + n].decode()
            at += 4 + n
            (rank,) = struct.unpack_from("<I", data, at)
            shape = struct.unpack_from(f"<{rank}Q", data, at + 4)
            size, crc, n = struct.unpack_from("<QIB", data, at + 4 + 8 * rank)
            at += 4 + 8 * rank + 13
            yield name, (data[at:at + n].decode(), shape, size, crc)
            at += n


def library(data):
    """{name: (dtype, shape, bytes, CRC-32)}, or the error as text."""
    from safetensors import SafetensorError, deserialize
    try:
        return {name: (t["dtype"], tuple(t["shape"]), len(t["data"]), zlib.crc32(t["data"]))
                for name, t in deserialize(data)}
    except SafetensorError as reason:
        return str(reason)


def allowed(data):
    """Why heft may refuse a file that the library reads, as documented; None if there is no such reason."""
    found = []

    def pairs(items):
        keys = [key for key, _ in items]
        if len(keys) != len(set(keys)):
            found.append("a duplicate name")
        return dict(items)

    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + length].decode(), object_pairs_hook=pairs)
    for name, entry in header.items():
        if name == "__metadata__":
            found.extend(["metadata of a distributed checkpoint"] if "DCP_SHARDING_INFO" in (entry or {}) else [])
        elif isinstance(entry, list) or isinstance(entry.get("dtype"), dict):
            found.append("a quirk of the library")
        elif len(entry.get("shape") or ()) > 64 or len(name.encode()) > 65536:
            found.append("a limit")
    return found[0] if found else None


def difference(data, ours):
    """What differs, as text; None if nothing does or the difference is allowed."""
    if ours is None:
        return "heft ended"
    theirs = library(data)
    if isinstance(theirs, str):
        return None if isinstance(ours, str) else f"heft reads it, the library: {theirs}"
    if isinstance(ours, str):
        return None if allowed(data) else f"the library reads it, heft: {ours}"
    if ours != theirs:
        return f"other tensors: heft {ours}, the library {theirs}"
    return None


def check(peer, data):
    answers = peer.ask([data]) if data else [""]
    return difference(data, answers[0] if answers else None)


def pack(header, data):
    return struct.pack("<Q", len(header)) + header + data


class Maker:
    """Random files: valid ones in any spelling, damaged ones, and mutations of seeds."""

    def __init__(self, rng, seeds):
        self.rng, self.seeds = rng, seeds

    def name(self):
        return self.rng.choice(["a", "b", "c", "a.b", "é", "\\u0061", "", "x" * 30, "\\n", "__metadata__", "\\ud83d\\ude00"])

    def valid(self):
        rng, entries, offset = self.rng, [], 0
        for _ in range(rng.randrange(5)):
            dtype = rng.choice(list(BITS))
            shape = [rng.choice((0, 1, 1, 2, 3, 4, 8)) for _ in range(rng.randrange(4))]
            bits = BITS[dtype]
            for extent in shape:
                bits *= extent
            end = offset + bits // 8
            entries.append((self.name(), dtype, shape, offset, end))
            offset = end
        rng.shuffle(entries)
        return self.spell(entries), rng.randbytes(offset + (rng.random() < 0.05))

    def spell(self, entries):
        rng = self.rng
        gap = rng.choice(("", "", " ", "\n\t"))
        parts = []
        for name, dtype, shape, begin, end in entries:
            fields = [f'"dtype":{gap}"{dtype}"', f'"shape":{json.dumps(shape)}', f'"data_offsets":[{begin},{end}]']
            rng.shuffle(fields)
            fields += ['"more":[{"x":1}]'] * (rng.random() < 0.05)
            parts.append(f'"{name}":{gap}{{{",".join(fields)}}}')
        if rng.random() < 0.3:
            parts.insert(rng.randrange(len(parts) + 1), f'"__metadata__":{gap}' + rng.choice(('{"k":"v"}', "{}", "null", '{"a":"b"}', '{"k":1}')))
        return (gap + "{" + f"{gap},{gap}".join(parts) + "}" + gap).encode()

    def mutate(self, data):
        """Bytes changed, removed, inserted, or copied."""
        rng, data = self.rng, bytearray(data)
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            at = rng.randrange(len(data) + 1)
            kind = rng.randrange(5)
            if kind == 0 and at < len(data):
                data[at] = rng.choice((data[at] ^ 1 << rng.randrange(8), rng.randrange(256), ord(rng.choice("0123456789"))))
            elif kind == 1:
                del data[at:at + rng.choice((1, 1, 2, 8))]
            elif kind == 2:
                data[at:at] = rng.choice(WORDS)
            elif kind == 3:
                word = rng.choice(WORDS)
                data[at:at + len(word)] = word
            else:
                end = rng.randrange(at, len(data) + 1)
                data[at:at] = data[at:end][:200]
        return bytes(data)

    def sample(self):
        rng = self.rng
        if rng.random() < 0.6:
            header, data = self.valid()
        else:
            seed = rng.choice(self.seeds)
            length = min(int.from_bytes(seed[:8], "little"), len(seed))
            header, data = seed[8:8 + length], seed[8 + length:]
        if rng.random() < 0.7:
            header = self.mutate(header)
        if rng.random() < 0.1:
            data = self.mutate(data)
        whole = pack(header, data)
        return (self.mutate(whole) if rng.random() < 0.05 else whole)[:MOST]


def seed_files():
    for folder in ("tests/golden/safetensors", "tests/reject/safetensors", "fuzz/corpus/safetensors", "fuzz/corpus/safetensors_peer"):
        yield from sorted(path for path in (ROOT / folder).glob("*") if path.is_file() and path.suffix not in (".py", ".tsv"))


def minimise(peer, data):
    """Removes pieces of the header and of the data as long as the file remains a find."""
    size = max(1, len(data) // 2)
    while size:
        at = 0
        while at < len(data):
            length = int.from_bytes(data[:8], "little")
            shorter = data[:at] + data[at + size:]
            if at >= 8 and at < 8 + length:  # within the header
                shorter = pack(shorter[8:8 + length - min(size, 8 + length - at)], shorter[8 + length - min(size, 8 + length - at):])
            if shorter and check(peer, shorter):
                data = shorter
            else:
                at += size
        size //= 2
    return data


def replay(peer, paths):
    files = list(files_of(paths))
    finds = 0
    for path in files:
        found = check(peer, path.read_bytes())
        if found:
            print(f"find: {found[:400]}: {path}")
            finds += 1
    print(f"{len(files)} inputs, {finds} finds")
    return 1 if finds else 0


def search(peer, options):
    seeds = [data for data in (path.read_bytes() for path in seed_files()) if 8 < len(data) <= MOST]
    maker = Maker(random.Random(options.seed), seeds)
    broken = folder_of_finds(options)
    begin = told = time.monotonic()
    runs = accepted = finds = 0
    while not options.seconds or time.monotonic() - begin < options.seconds:
        files = [maker.sample() for _ in range(BATCH)]
        while sum(map(len, files)) > BATCH_BYTES:
            files.pop()
        files = [data for data in files if data]
        answers = peer.ask(files) or [None] * len(files)
        for data, ours in zip(files, answers):
            runs += 1
            accepted += isinstance(ours, dict)
            found = difference(data, ours) if ours is not None else check(peer, data)
            if found:
                finds += 1
                if finds <= 40:
                    small = minimise(peer, data)
                    path = broken / f"safetensors-{hashlib.sha256(small).hexdigest()[:12]}"
                    path.write_bytes(small)
                    print(f"find: {check(peer, small)[:400]}: {path}: {small[:200]!r}", flush=True)
        if time.monotonic() - told > 30:
            told = time.monotonic()
            print(f"seconds {told - begin:.0f} runs {runs} accepted {accepted} finds {finds}", flush=True)
    print(f"seconds {time.monotonic() - begin:.0f} runs {runs} accepted {accepted} finds {finds}", flush=True)
    return 1 if finds else 0


def main():
    options = parse_arguments(__doc__)
    import environment
    try:
        environment.enter("main", str(Path(__file__).resolve()))
    except environment.Unavailable as reason:
        sys.exit(f"safetensors_compare: the environment cannot be created: {reason}")
    peer = Peer(options.build)
    return replay(peer, options.replay) if options.replay else search(peer, options)


if __name__ == "__main__":
    sys.exit(main())
