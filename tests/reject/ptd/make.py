#!/usr/bin/env python3
"""Writes the samples of this directory and expect.tsv: .ptd files that must be refused, and unusual valid ones. The
numbers are those of the table of hostile inputs for which heft was built.

The base is a file of two tensors as ExecuTorch writes it; for samples with other tables, a small builder writes
them front to back. Needs only Python.
"""
import struct
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROWS = []

BASE = bytes.fromhex(
    "440000004654303146483031280000003000000000000000000100000000000030010000000000002000000000000000"
    "000000000000000000000a000c000000040008000a000000a80000000400000002000000580000001000000000000a00"
    "1000040008000c000a000000300000000100000004000000beffffff0000000610000000040000000200000000010000"
    "0200000002000000020000000100000062000a000e000400000008000a000000380000001000000000000a0010000700"
    "08000c000a00000000000006100000000400000002000000000100000200000002000000020000000100000061000000"
    "02000000300000000c0000000800180004000c0008000000100000000000000010000000000000000000000008000c00"
    "000004000800000010000000000000000000404000004040000040400000404000000040000000400000004000000040")


def sample(number, why, content, code, offset="-", text=""):
    name = f"{number:02}-{why}.ptd"
    (HERE / name).write_bytes(content)
    ROWS.append((name, code, hex(offset) if isinstance(offset, int) else offset, text))


def patch(at, form, value, base=BASE):
    data = bytearray(base)
    struct.pack_into("<" + form, data, at, value)
    return bytes(data)


class File:
    """Tables written front to back, each vtable before its table."""

    def __init__(self, splice=48):
        self.splice, self.data = splice, bytearray(8 + splice)
        self.refs = []

    def align(self, to):
        while (len(self.data) - self.splice) % to:
            self.data += b"\0"

    def table(self, fields):
        """[(format or "ref", value or None)]; None: absent. Returns the offset of the table."""
        slots, body = [], b"\0\0\0\0"
        places = []
        for form, value in fields:
            width = 4 if form == "ref" else struct.calcsize(form)
            if value is None:
                slots.append(0)
                continue
            body += b"\0" * (-len(body) % width)
            slots.append(len(body))
            if form == "ref":
                places.append((len(body), value))
                value, form = 0, "I"
            body += struct.pack("<" + form, value)
        vtable = struct.pack(f"<{2 + len(slots)}H", 4 + 2 * len(slots), len(body), *slots)
        self.align(8)
        start = len(self.data)
        self.data += vtable
        self.align(8)
        at = len(self.data)
        self.data += body
        struct.pack_into("<i", self.data, at, at - start)
        self.refs += [(at + place, value) for place, value in places]
        return at

    def vector(self, form, items):
        self.align(8)
        at = len(self.data)
        self.data += struct.pack(f"<I{len(items)}{form}", len(items), *items)
        return at

    def refs_to(self, targets):
        self.align(4)
        at = len(self.data)
        self.data += struct.pack("<I", len(targets)) + b"\0" * (4 * len(targets))
        self.refs += [(at + 4 + 4 * i, target) for i, target in enumerate(targets)]
        return at

    def string(self, text):
        self.align(4)
        at = len(self.data)
        self.data += struct.pack("<I", len(text)) + text + b"\0"
        return at

    def close(self, root, payload, size=None, header=40):
        """References point forward, so their targets must be written after them; then they are set."""
        self.align(8)
        end = len(self.data)
        for at, target in self.refs:
            struct.pack_into("<I", self.data, at, target() - at if callable(target) else target - at)
        struct.pack_into("<I4s4sIQQQQ", self.data, 0, root, b"FT01", b"FH01", header, self.splice,
                         end - self.splice, end, len(payload) if size is None else size)
        return bytes(self.data) + payload


class Later:
    """An offset that is known once its target is written."""

    def __init__(self):
        self.at = None

    def __call__(self):
        return self.at


def build(segments, entries, payload=b"\0" * 64, version=None, **rest):
    """A file of [(offset, size)] and [(key, segment, layout)], layout (type, sizes, order) or None;
    sizes and order may be None: absent."""
    f = File(rest.pop("splice", 48))
    segs, names = Later(), Later()
    root = f.table([("I", version), ("ref", segs), ("ref", names)])
    places = [Later() for _ in segments]
    segs.at = f.refs_to(places)
    for place, (offset, size) in zip(places, segments):
        place.at = f.table([("Q", offset), ("Q", size)])
    places = [Later() for _ in entries]
    names.at = f.refs_to(places)
    for place, (key, segment, layout) in zip(places, entries):
        name, dims = Later(), Later()
        place.at = f.table([("ref", name if key is not None else None), ("I", segment),
                            ("ref", dims if layout else None)])
        if key is not None:
            name.at = f.string(key)
        if layout:
            kind, sizes, order = layout
            one, other = Later(), Later()
            dims.at = f.table([("b", kind), ("ref", one if sizes is not None else None),
                               ("ref", other if order is not None else None)])
            if sizes is not None:
                one.at = f.vector("i", sizes)
            if order is not None:
                other.at = f.vector("B", order)
    return f.close(root, payload, **rest)


def old(tensors, named=None, segments=((0, 64),), payload=b"\0" * 64):
    """The tables of 0.6: [(name, type, sizes, order, segment, offset)]."""
    f = File()
    parts = [Later(), Later(), Later()]
    root = f.table([("I", None), ("I", 16), ("ref", parts[0]), ("ref", parts[1]),
                    ("ref", parts[2] if named is not None else None)])
    places = [Later() for _ in tensors]
    parts[0].at = f.refs_to(places)
    for place, (name, kind, sizes, order, segment, offset) in zip(places, tensors):
        refs = [Later(), Later(), Later()]
        place.at = f.table([("ref", refs[0]), ("b", kind), ("ref", refs[1]), ("ref", refs[2]),
                            ("I", segment), ("Q", offset)])
        refs[0].at = f.string(name)
        refs[1].at = f.vector("i", sizes)
        refs[2].at = f.vector("B", order)
    places = [Later() for _ in segments]
    parts[1].at = f.refs_to(places)
    for place, (offset, size) in zip(places, segments):
        place.at = f.table([("Q", offset), ("Q", size)])
    if named is not None:
        places = [Later() for _ in named]
        parts[2].at = f.refs_to(places)
        for place, (key, segment) in zip(places, named):
            name = Later()
            place.at = f.table([("ref", name), ("I", segment)])
            name.at = f.string(key)
    return f.close(root, payload)


F32 = (6, [4], [0])
TWO = [(b"a", 0, F32), (b"b", 1, F32)]


def header_samples():
    sample(1, "8-bytes", BASE[:8], "malformed", 8, "must begin with FH01")
    sample(1, "63-bytes", BASE[:63], "malformed", 63, "truncated")
    sample(1, "64-bytes", BASE[:64], "malformed", 24, "flatbuffer_size is 256")
    sample(2, "FT02", patch(4, "4s", b"FT02"), "unsupported", 4, "file identifier is FT02")
    sample(2, "FH02", patch(8, "4s", b"FH02"), "unsupported", 8, "header begins with FH02")
    sample(2, "no-header", patch(8, "4s", b"\0\0\0\0"), "malformed", 8, "must begin with FH01")
    sample(2, "header-in-front", b"FH01" + BASE[12:48] + BASE[:8] + BASE[56:], "unsupported", 0,
           "January 2025")
    sample(3, "header-39", patch(12, "I", 39), "malformed", 12, "header has 39 bytes")
    sample(3, "header-64", patch(12, "I", 64), "finding", 12, "header has 64 bytes, there is room for 48")
    sample(3, "header-41", patch(12, "I", 41), "note", 12, "header has 41 bytes, only the first 40 are known")
    sample(3, "header-padding", patch(48, "B", 1), "note", 0x30, "1 padding is not zero")
    sample(3, "splice-39", patch(16, "Q", 39), "malformed", 16, "flatbuffer_offset is 39")
    for at, why in ((0, "0"), (8, "8"), (0x7fffffff, "huge")):
        sample(4, f"root-{why}", patch(0, "I", at), "malformed", 0, "FlatTensor: reference")
    sample(4, "root-odd", patch(0, "I", 0x45), "malformed", 0, "FlatTensor: reference")
    sample(5, "tables-2-40", patch(24, "Q", 2**40), "malformed", 24, "flatbuffer_size")
    sample(5, "tables-wrap", patch(24, "Q", 2**64 - 40), "malformed", 24, "flatbuffer_size")
    sample(5, "splice-2-63", patch(16, "Q", 2**63), "malformed", 16, "flatbuffer_offset")
    sample(5, "tables-7", patch(24, "Q", 7), "malformed", 24, "flatbuffer_size is 7")
    sample(6, "base-wraps", patch(32, "Q", 2**64 - 16), "malformed", 32, "segment_base_offset")
    sample(7, "last-byte-cut", BASE[:-1], "malformed", 0x104, "segment has 16 bytes at offset 16")
    sample(7, "data-one-more", patch(40, "Q", 33), "note", 40, "segment_data_size is 33")
    sample(7, "data-1-mib-more", patch(40, "Q", 32 + 2**20), "malformed", 40,
           "segment_data_size is 1048608, the file has 32")
    sample(7, "data-2-63", patch(40, "Q", 2**63), "malformed", 40, "segment_data_size is 9223372036854775808")
    sample(8, "7-behind", BASE + b"\0" * 7, "finding", 0x150, "7 bytes follow the segments")
    sample(9, "base-in-tables", patch(32, "Q", 0x128), "malformed", 32, "segment_base_offset")


def entry_samples():
    sample(10, "segment-index", patch(0x70, "I", 2), "malformed", 0x68,
           "key b: segment index is 2, the number of segments is 2")
    sample(11, "segment-offset", build([(2**64 - 8, 16), (16, 16)], TWO), "malformed", "*",
           "segment has 16 bytes at offset 18446744073709551608")
    sample(11, "segment-past-data", build([(0, 16), (56, 16)], TWO), "malformed", "*",
           "segment has 16 bytes at offset 56")
    sample(12, "overlap", build([(0, 16), (8, 16)], TWO), "note", "*", "1 segment overlaps")
    sample(12, "overlap-of-blobs", build([(0, 16), (8, 16)], [(b"a", 0, None), (b"b", 1, None)]),
           "note", "*", "1 segment overlaps")
    sample(12, "not-sorted", build([(16, 16), (0, 16)], TWO), "note", "*", "lies before the one")
    sample(12, "not-used", build([(0, 16), (16, 16)], TWO[:1]), "note", "*", "not referred to by any entry")
    sample(12, "wide", build([(0, 17), (32, 16)], TWO), "note", "*", "larger than its tensor")
    sample(12, "crooked", build([(0, 16), (17, 16)], TWO), "note", "*", "not aligned to the size of its elements")
    sample(12, "padding", build([(0, 16), (32, 16)], TWO, b"\1" * 48), "note", "*",
           "1 padding is not zero")
    sample(13, "short-segment", build([(0, 15), (16, 16)], TWO), "malformed", "*",
           "key a: data has 16 bytes at offset 0, its segment has 15 bytes")
    for size, text in ((-1, "dimension 0 has size -1"), (2**31 - 1, "8589934588 bytes at offset 0")):
        sample(14, f"size-{size}", build([(0, 16)], [(b"a", 0, (6, [size], [0]))]), "malformed", "*",
               text)
    sample(14, "size-overflows", build([(0, 16)], [(b"a", 0, (6, [2**31 - 1] * 3, [0, 1, 2]))]),
           "malformed", "*", "2^64 bytes or more")
    for kind, code in ((30, "unsupported"), (99, "unsupported"), (-1, "malformed")):
        sample(15, f"type-{kind}", build([(0, 16)], [(b"a", 0, (kind, [4], [0]))]), code, "*",
               f"scalar type is {kind},")
    for why, order, text in (("twice", [0, 0], "dim_order has 0 at position 1"),
                             ("short", [0], "dim_order has 1 elements, the tensor has 2 dimensions"),
                             ("long", [0, 1, 2], "dim_order has 3 elements, the tensor has 2 dimensions"),
                             ("large", [0, 2], "dim_order has 2 at position 1"),
                             ("absent", None, "dim_order has 0 elements, the tensor has 2 dimensions")):
        sample(16, f"order-{why}", build([(0, 16)], [(b"a", 0, (6, [2, 2], order))]), "malformed", "*",
               text)
    sample(17, "key-wild", patch(0xb0, "I", 0x7fffff00), "malformed", 0xb0, "NamedData: reference")
    sample(17, "key-absent", build([(0, 16)], [(None, 0, F32)]), "malformed", "*", "an entry has no key")
    sample(18, "key-twice", patch(0xa0, "B", 0x61), "malformed", 0x9c, "a second entry has this key")
    sample(18, "key-twice-as-blob", build([(0, 16)], [(b"a", 0, F32), (b"a", 0, None)]), "malformed",
           "*", "a second entry has this key")
    sample(18, "key-with-NUL", build([(0, 16)], [(b"a\0b", 0, F32)]), "malformed", "*",
           "a key contains a NUL")
    sample(18, "key-empty", build([(0, 16)], [(b"", 0, F32)]), "note", "*", "1 key is empty")


def table_samples():
    vtable = 0xa2  # of the first NamedData, whose table is at 0xac
    for value, why in ((0, "0"), (2, "2"), (5, "5"), (0xffff, "ffff")):
        sample(20, f"vtable-{why}", patch(vtable, "H", value), "malformed", vtable,
               f"NamedData: vtable has {value} bytes")
    sample(20, "table-3", patch(vtable + 2, "H", 3), "malformed", vtable + 2, "table has 3 bytes")
    sample(20, "table-ffff", patch(vtable + 2, "H", 0xffff), "malformed", vtable + 2,
           "table has 65535 bytes")
    sample(20, "field-at-2", patch(vtable + 4, "H", 2), "malformed", vtable + 4, "field 0 is at 2+4")
    sample(20, "field-past-table", patch(vtable + 8, "H", 12), "malformed", vtable + 8,
           "field 2 is at 12+4, the table has 14 bytes")
    sample(20, "field-not-aligned", patch(vtable + 4, "H", 6), "malformed", 0xb2, "not aligned")
    sample(20, "vtable-over-tables", patch(0x3a, "B", 0x8a), "note", "*", "tables, vectors or strings overlap")
    sample(20, "table-over-tables", patch(0x3c, "B", 0x4c), "note", "*", "tables, vectors or strings overlap")
    sample(20, "field-on-field", patch(0xbe, "H", 8), "note", "*", "fields of tables overlap")
    sample(20, "bytes-in-table", patch(0x7d, "B", 1), "note", 0x7d, "bytes of no field that is known")
    sample(21, "vtable-in-header", patch(0xac, "i", 0xac - 4), "malformed", 0xac, "NamedData: the position of the vtable")
    sample(21, "vtable-before-all", patch(0xac, "i", 0x7fffffff), "malformed", 0xac, "the position of the vtable")
    sample(21, "vtable-behind-all", patch(0xac, "i", -0x7fffffff), "malformed", 0xac, "the position of the vtable")
    sample(21, "vtable-lowest", patch(0xac, "i", -2**31), "malformed", 0xac, "the position of the vtable")
    sample(22, "vector-all-ones", patch(0x50, "I", 0xffffffff), "malformed", 0x50, "named_data: vector")
    sample(22, "vector-one-too-many", patch(0xf0, "I", 16), "malformed", 0xf0,
           "segments: vector has 16 elements of 4 bytes, 60 bytes are left")
    sample(22, "vector-not-aligned", patch(0xc8 + 4, "I", 0x11), "malformed", 0xcc, "TensorLayout: reference")
    sample(22, "reference-0", patch(0x54, "I", 0), "malformed", 0x54, "an element: reference")
    sample(22, "no-segments", patch(0x3e + 2, "H", 0), "malformed", 0x44, "the vector of segments is missing")
    sample(22, "no-named-data", patch(0x3e + 4, "H", 0), "malformed", 0x44, "the vector of named_data is missing")
    sample(23, "string-without-NUL", patch(0xed, "B", 1), "malformed", 0xed, "key: the string is not followed by a NUL")
    sample(23, "string-to-the-end", patch(0xe8, "I", 0x44), "malformed", 0xe8, "key: string has 68 bytes")
    sample(23, "string-2-32", patch(0xe8, "I", 0xffffffff), "malformed", 0xe8, "key: string")
    sample(24, "rank-17", build([(0, 16)], [(b"a", 0, (6, [1] * 17, list(range(17))))]), "malformed", "*",
           "17 dimensions, ExecuTorch supports at most 16")
    sample(24, "rank-1000", build([(0, 16)], [(b"a", 0, (6, [1] * 1000, [0] * 255))]), "malformed", "*",
           "1000 dimensions")
    same = patch(0x58, "I", 0xac - 0x58)
    sample(25, "one-table-twice", same, "malformed", 0xe8, "a second entry has this key")


def generation_samples():
    dense = [(b"a", 6, [4], [0], 0, 0), (b"b", 6, [4], [0], 0, 16)]
    sample(26, "old", old(dense, []), "ok")
    sample(26, "old-without-blobs", old(dense), "ok")
    sample(26, "old-with-blob", old(dense, [(b"c", 1)], ((0, 64), (64, 8)), b"\0" * 72), "ok")
    sample(26, "old-past-segment", old([(b"a", 6, [4], [0], 0, 56)]), "malformed", "*",
           "key a: data has 16 bytes at offset 56, its segment has 64 bytes")
    sample(26, "old-offset-wraps", old([(b"a", 6, [4], [0], 0, 2**64 - 8)]), "malformed", "*",
           "key a: data has 16 bytes")
    sample(27, "0.7-overstated", patch(40, "Q", 32 + 15), "note", 40, "ExecuTorch 0.7")
    sample(28, "version-1", build([(0, 16)], [(b"a", 0, F32)], version=1), "unsupported", "*",
           "FlatTensor version is 1")
    sample(29, "no-sizes", build([(0, 4)], [(b"a", 0, (6, None, None))]), "note", "*",
           "1 layout has no sizes")
    sample(30, "key-not-UTF-8", build([(0, 16)], [(b"a\xff", 0, F32)]), "finding", "*", "1 key is not UTF-8")


def main():
    for old_file in HERE.glob("*.ptd"):
        old_file.unlink()
    for part in (header_samples, entry_samples, table_samples, generation_samples):
        part()
    lines = ["# made by make.py: file, code, offset, part of the message"]
    lines += ["\t".join(row) for row in ROWS]
    (HERE / "expect.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
