#!/usr/bin/env python3
"""Writes the samples of this directory and expect.tsv: GGUF files that must be refused, and unusual valid ones.
Needs only Python.
"""
import struct
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROWS = []
U8, U16, U32, I32, BOOL, STR, ARRAY, U64, F64 = 0, 2, 4, 5, 7, 8, 9, 10, 12


def sample(name, content, code=None, offset="-", text=""):
    (HERE / name).parent.mkdir(exist_ok=True)
    (HERE / name).write_bytes(content)
    if code:
        ROWS.append((name, code, hex(offset) if isinstance(offset, int) else offset, text))


def pack(form, *values):
    return struct.pack("<" + form, *values)


def string(text):
    text = text.encode() if isinstance(text, str) else text
    return pack("Q", len(text)) + text


class File:
    """A file with general.architecture at 0x18; the next pair is at 0x49, as is the first info if there is none."""

    def __init__(self, version=3):
        self.version, self.alignment = version, 32
        self.pairs, self.infos, self.data, self.counts = [], [], b"", [None, None]
        self.add("general.architecture", STR, string("heft-test"))

    def add(self, key, kind, payload):
        self.pairs.append(string(key) + pack("I", kind) + payload)
        return self

    def tensor(self, name, dims, kind, raw, offset=None, rank=None):
        self.infos.append(string(name) + pack("I", len(dims) if rank is None else rank) +
                          b"".join(pack("Q", d) for d in dims) +
                          pack("IQ", kind, len(self.data) if offset is None else offset))
        self.data += raw + bytes(-len(raw) % self.alignment)
        return self

    def bytes(self):
        counts = [len(self.infos), len(self.pairs)]
        counts = [have if given is None else given for have, given in zip(counts, self.counts)]
        head = b"GGUF" + pack("IQQ", self.version, *counts) + b"".join(self.pairs) + b"".join(self.infos)
        return head + bytes(-len(head) % self.alignment) + self.data


GOOD = File().tensor("a", [4], 0, bytes(16)).bytes()


def pair(name, kind, payload, code, offset, text):
    sample(name, File().add("k", kind, payload).bytes(), code, offset, text)


def tensor(name, code, at, text, *args, **options):
    sample(name, File().tensor(*args, **options).bytes(), code, at, text)


def headers():
    sample("good.gguf", GOOD, "ok")
    sample("magic-fugg.gguf", b"FUGG" + GOOD[4:], "malformed", 0, "no format that heft knows")
    for magic in ("tjgg", "lmgg", "fmgg"):
        sample(f"magic-{magic}.gguf", magic.encode() + pack("I", 3) + bytes(24), "unsupported", 0, "an old GGML file")
    sample("version-0.gguf", GOOD[:4] + pack("I", 0) + GOOD[8:], "malformed", 4, "version is 0")
    sample("version-4.gguf", GOOD[:4] + pack("I", 4) + GOOD[8:], "unsupported", 4, "version is 4")
    sample("version-30000.gguf", GOOD[:4] + pack("I", 0x30000) + GOOD[8:], "unsupported", 4, "version is 768")
    sample("cut-7.gguf", GOOD[:7], "malformed", 0, "header needs 8 bytes")
    sample("cut-23.gguf", GOOD[:23], "malformed", 0x10, "header needs 8 bytes")
    sample("cut-pair.gguf", GOOD[:70], "malformed", 0x38, "key general.architecture: string has a length of 9")
    sample("cut-info.gguf", GOOD[:100], "malformed", 0x62, "tensor a: offset needs 8 bytes")
    sample("cut-padding.gguf", GOOD[:125], "malformed", 0x6a, "the data begins at 0x80")
    sample("cut-data.gguf", GOOD[:143], "malformed", 0x49, "tensor a: 16 bytes at offset 0")
    sample("cut-last-padding.gguf", GOOD[:-16], "note", 0x90, "the file ends before the padding")
    for name, counts, offset, text in (
            ("pairs-2-63", (0, 1 << 63), 0x10, "9223372036854775808 key-value pairs"),
            ("pairs-2-62", (0, 1 << 62), 0x10, "4611686018427387904 key-value pairs"),
            ("pairs-2-64", (0, (1 << 64) - 1), 0x10, "18446744073709551615 key-value pairs"),
            ("tensors-2-63", (1 << 63, 1), 8, "9223372036854775808 tensors"),
            ("tensors-2-40", (1 << 40, 1), 8, "1099511627776 tensors")):
        file = File()
        file.counts = counts
        sample(name + ".gguf", file.bytes(), "malformed", offset, text)
    sample("version-1-pairs.gguf", b"GGUF" + pack("III", 1, 0, 9) + bytes(64), "malformed", 12, "room for 7")
    sample("tail.gguf", GOOD + b"junk" * 9, "note", 0xa0, "36 bytes follow the data")
    sample("padding.gguf", GOOD[:0x70] + b"x" + GOOD[0x71:], "note", 0x6a, "1 padding is not zero")


def pairs():
    for name, size in (("key-size-2-64", (1 << 64) - 1), ("key-size-2-31", 1 << 31)):
        sample(name + ".gguf", b"GGUF" + pack("IQQQ", 3, 0, 1, size) + b"abcdefgh", "malformed", 0x18, "key has a length")
    sample("key-65537.gguf", File().add("k" * 65537, U8, b"\0").bytes(), "limit", 0x49, "key has 65537 bytes")
    sample("key-empty.gguf", File().add("", U32, pack("I", 1)).bytes(), "finding", 0x49, "a key is empty")
    twice = File().add("k", U32, pack("I", 1)).add("k", U32, pack("I", 2))
    sample("key-twice.gguf", twice.bytes(), "malformed", 0x5a, "key k: a second pair")
    nul = File().add(b"k\0a", U32, pack("I", 1)).add(b"k\0b", U32, pack("I", 2))
    sample("key-nul.gguf", nul.bytes(), "note", 0x49, "a key contains a NUL byte")
    sample("key-latin-1.gguf", File().add(b"k\xe9", U32, pack("I", 1)).bytes(), "ok")
    pair("string-2-64.gguf", STR, pack("Q", (1 << 64) - 1), "malformed", 0x56, "key k: string has a length")
    pair("value-type-13.gguf", 13, bytes(8), "malformed", 0x52, "key k: value type is 13")
    pair("value-type-2-31.gguf", 1 << 31, bytes(8), "malformed", 0x52, "value type is 2147483648")
    pair("bool-2.gguf", BOOL, b"\2", "note", 0x56, "key k: 1 bool is neither 0 nor 1")
    pair("bools-2-3.gguf", ARRAY, pack("IQ", BOOL, 4) + b"\2\1\0\3", "note", 0x56, "2 bools are neither")
    pair("array-type-13.gguf", ARRAY, pack("IQ", 13, 1) + bytes(8), "malformed", 0x56, "value type is 13")
    pair("array-2-61.gguf", ARRAY, pack("IQ", F64, 1 << 61), "malformed", 0x5a, "2305843009213693952 items")
    pair("array-2-64.gguf", ARRAY, pack("IQ", U8, (1 << 64) - 1), "malformed", 0x5a, "18446744073709551615 items")
    pair("array-strings.gguf", ARRAY, pack("IQ", STR, 10**9) + bytes(64), "malformed", 0x5a, "1000000000 items")
    pair("array-bytes.gguf", ARRAY, pack("IQ", U8, 10**9) + bytes(64), "malformed", 0x5a, "1000000000 items")
    pair("array-arrays.gguf", ARRAY, pack("IQ", ARRAY, 10**9) + bytes(64), "malformed", 0x5a, "room for 7")
    pair("array-string-size.gguf", ARRAY, pack("IQQ", STR, 1, 1 << 40), "malformed", 0x62, "string in an array")
    innermost = pack("IQ", U8, 1) + b"\0"
    pair("array-depth-4.gguf", ARRAY, pack("IQ", ARRAY, 1) * 3 + innermost, "ok", "-", "")
    pair("array-depth-5.gguf", ARRAY, pack("IQ", ARRAY, 1) * 4 + innermost, "limit", 0x86, "deeper than 4 levels")
    pair("array-depth-4000.gguf", ARRAY, pack("IQ", ARRAY, 1) * 4000 + innermost, "limit", 0x86, "deeper than 4 levels")
    for name, kind, form, value in (("0", U32, "I", 0), ("13", U32, "I", 13), ("24", U32, "I", 24), ("i32", I32, "i", 32),
                                    ("u64", U64, "Q", 32)):
        file = File().add("general.alignment", kind, pack(form, value)).tensor("a", [4], 0, bytes(16))
        offset, text = (0x66, f"is {value}, must be a power of two") if kind == U32 else (0x62, "must be u32")
        sample(f"alignment-{name}.gguf", file.bytes(), "malformed", offset, text)
    file = File().add("general.alignment", U32, pack("I", 1 << 31)).tensor("a", [4], 0, bytes(16))
    sample("alignment-2-31.gguf", file.bytes(), "malformed", 0x8b, "the data begins at 0x80000000")
    file = File()
    file.alignment = 1
    file.add("general.alignment", U32, pack("I", 1)).tensor("a", [4], 0, bytes(16))
    sample("alignment-1.gguf", file.bytes(), "ok")


def tensors():
    tensor("name-64.gguf", "note", 0x49, "1 name has more than 63 bytes", "n" * 64, [4], 0, bytes(16))
    tensor("name-65537.gguf", "limit", 0x49, "name of a tensor has 65537 bytes", "n" * 65537, [4], 0, bytes(16))
    tensor("name-empty.gguf", "note", 0x49, "1 name is empty", "", [4], 0, bytes(16))
    tensor("name-nul.gguf", "finding", 0x49, "contains a NUL byte", b"a\0b", [4], 0, bytes(16))
    tensor("name-latin-1.gguf", "finding", 0x49, "name is not UTF-8", b"a\xe9", [4], 0, bytes(16))
    tensor("name-path.gguf", "ok", "-", "", "../../etc/x", [4], 0, bytes(16))
    twice = File().tensor("a", [8], 0, bytes(32)).tensor("a", [8], 0, bytes(32))
    sample("name-twice.gguf", twice.bytes(), "malformed", 0xc0, "tensor a: a second tensor of this name")
    tensor("rank-5.gguf", "unsupported", 0x52, "tensor a: 5 dimensions", "a", [1] * 5, 0, bytes(4))
    tensor("rank-65.gguf", "malformed", 0x52, "tensor a: 65 dimensions", "a", [1] * 65, 0, bytes(4))
    tensor("rank-2-32.gguf", "malformed", 0x52, "4294967295 dimensions", "a", [1], 0, bytes(4), rank=(1 << 32) - 1)
    tensor("extent-2-64.gguf", "malformed", 0x56, "must be below 2^63", "a", [(1 << 64) - 1], 0, bytes(4))
    for name, dims, kind in (("2-32", [1 << 32, 1 << 32], 0), ("2-40", [1 << 40, 1 << 40], 0), ("2-62", [1 << 62], 28)):
        tensor(f"extents-{name}.gguf", "malformed", 0x49, "tensor a: shape × element size", "a", dims, kind, bytes(4))
    tensor("extent-0.gguf", "ok", "-", "", "a", [0, 1 << 62, 1 << 62], 0, b"")
    for kind, text in ((4, "type 4 (Q4_2, removed"), (31, "type 31 (Q4_0_4_4, removed"), (43, "type 43 is unknown"),
                       ((1 << 32) - 1, "type 4294967295 is unknown")):
        tensor(f"type-{kind}.gguf", "note", 0x49, "tensor a: cannot be read: " + text, "a", [32], kind, bytes(32))
    for name, dims, kind, text in (("31", [31], 2, "extent 31"), ("16x2", [16, 2], 2, "extent 16"),
                                   ("128x2", [128, 2], 12, "extent 128")):
        tensor(f"row-{name}.gguf", "malformed", 0x49, "tensor a: innermost " + text, "a", dims, kind, bytes(288))
    tensor("offset-1.gguf", "finding", 0x49, "1 tensor is not aligned", "a", [4], 0, bytes(32), offset=1)
    tensor("offset-gap.gguf", "finding", 0x49, "at offset 32 of the data instead of 0", "a", [4], 0, bytes(64), offset=32)
    tensor("offset-wraps.gguf", "malformed", 0x49, "beyond 2^64", "a", [4], 0, bytes(16), offset=(1 << 64) - 32)
    tensor("offset-behind.gguf", "malformed", 0x49, "at offset 4096 of the data", "a", [4], 0, bytes(16), offset=4096)
    for name, offsets, at, text in (("overlap", (0, 0), 0xa0, "overlaps"), ("reversed", (32, 0), 0x49, "2 tensors are not")):
        file = File().tensor("a", [8], 0, bytes(32), offset=offsets[0]).tensor("b", [8], 0, bytes(32), offset=offsets[1])
        sample(f"offset-{name}.gguf", file.bytes(), "finding", at, text)


def part(number, count, tensors, no=None, total=1):
    file = File()
    file.add("split.no", U16, pack("H", number - 1 if no is None else no)).add("split.count", U16, pack("H", count))
    file.add("split.tensors.count", I32, pack("i", total))
    for name in tensors:
        file.tensor(name, [1], 0, bytes(4))
    return file.bytes()


def splits():
    sample("lonely/m-00002-of-00003.gguf", part(2, 3, ["a"]), "io", "-", "is missing: the set has 3 parts")
    sample("many/m-00001-of-65535.gguf", part(1, 65535, ["a"]), "io", "-", "is missing: the set has 65535 parts")
    sample("split-name.gguf", part(2, 3, ["a"]), "malformed", "-", "must end in -00002-of-00003.gguf")
    sample("number/m-00001-of-00002.gguf", part(1, 2, ["a"], no=7), "finding", 0x5d, "split.no is 7, must be 0")
    sample("number/m-00002-of-00002.gguf", part(2, 2, []))
    sample("sum/m-00001-of-00002.gguf", part(1, 2, ["a"], total=5), "finding", "*", "split.tensors.count is 5")
    sample("sum/m-00002-of-00002.gguf", part(2, 2, [], total=5))
    sample("twice/m-00001-of-00002.gguf", part(1, 2, ["a"], total=2))
    sample("twice/m-00002-of-00002.gguf", part(2, 2, ["a"], total=2), "malformed", "*", "tensor a: a second tensor")
    sample("other/m-00001-of-00002.gguf", GOOD)
    sample("other/m-00002-of-00002.gguf", part(2, 2, ["b"]), "malformed", "-", "must be part 1 of 2")
    sample("split-type.gguf", File().add("split.count", STR, string("2")).bytes(), "malformed", 0x5c, "must be an integer")
    sample("split-negative.gguf", File().add("split.count", I32, pack("i", -2)).bytes(), "malformed", "*", "is -2")


if __name__ == "__main__":
    headers()
    pairs()
    tensors()
    splits()
    with open(HERE / "expect.tsv", "w", encoding="utf-8") as out:
        out.write("# made by make.py: file, code, offset, part of the message\n")
        for row in ROWS:
            out.write("\t".join(row) + "\n")
