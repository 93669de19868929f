#!/usr/bin/env python3
"""Writes the samples of this directory and expect.tsv: .pte files that must be refused, and valid old ones, whose
constants are in the tables. Needs only Python; it damages the golden files."""
import importlib.util
import struct
from pathlib import Path

HERE = Path(__file__).resolve().parent
spec = importlib.util.spec_from_file_location("ptd", HERE.parent / "ptd" / "make.py")
ptd = importlib.util.module_from_spec(spec)
spec.loader.exec_module(ptd)
Later = ptd.Later

GOLDEN = HERE.parent.parent / "golden" / "pte"
BASE = (GOLDEN / "outside.pte").read_bytes()
SEVERAL = (GOLDEN / "several.pte").read_bytes()
ROWS = []


def sample(why, content, code, offset="-", text=""):
    name = why + ".pte"
    (HERE / name).write_bytes(content)
    ROWS.append((name, code, hex(offset) if isinstance(offset, int) else offset, text))


def patch(at, form, value, base=BASE):
    return ptd.patch(at, form, value, base)


class Program(ptd.File):
    def __init__(self):
        super().__init__(0)

    def finish(self, root):
        self.align(8)
        for at, target in self.refs:
            struct.pack_into("<I", self.data, at, target() - at)
        struct.pack_into("<I4s", self.data, 0, root, b"ET12")
        return bytes(self.data)


def build(tensors, buffers, version=None, delegate=None):
    """Tensors are (type, sizes, order, index, extra), extra (name, location) or None; buffers are bytes
    in the tables; a delegate is (location, index) and has its data in the tables, too."""
    f = Program()
    plans, store, inline = Later(), Later(), Later()
    root = f.table([("I", version), ("ref", plans), ("ref", store),
                    ("ref", inline if delegate else None)])
    plan, values, delegates = Later(), Later(), Later()
    plans.at = f.refs_to([plan])
    plan.at = f.table([("ref", None), ("ref", None), ("ref", values), ("ref", None), ("ref", None),
                       ("ref", None), ("ref", None), ("ref", delegates if delegate else None)])
    places = [Later() for _ in tensors]
    values.at = f.refs_to(places)
    for place, (kind, sizes, order, index, extra) in zip(places, tensors):
        one, two, more, body = Later(), Later(), Later(), Later()
        place.at = f.table([("B", 5), ("ref", body)])
        body.at = f.table([("b", kind), ("i", None), ("ref", one), ("ref", two), ("b", None), ("I", index),
                           ("ref", None), ("b", None), ("b", None), ("ref", more if extra else None)])
        one.at = f.vector("i", sizes)
        two.at = f.vector("B", order)
        if extra:
            name = Later()
            more.at = f.table([("Q", None), ("ref", name if extra[0] is not None else None),
                               ("B", extra[1])])
            if extra[0] is not None:
                name.at = f.string(extra[0])
    places = [Later() for _ in buffers]
    store.at = f.refs_to(places)
    for place, data in zip(places, buffers):
        body = Later()
        place.at = f.table([("ref", body)])
        body.at = f.vector("B", data)
    if delegate:
        add_delegate(f, delegates, inline, delegate)
    return f.finish(root)


def add_delegate(f, delegates, inline, where):
    one, name, processed, data, body = Later(), Later(), Later(), Later(), Later()
    delegates.at = f.refs_to([one])
    one.at = f.table([("ref", name), ("ref", processed)])
    name.at = f.string(b"Backend")
    processed.at = f.table([("B", where[0]), ("I", where[1])])
    inline.at = f.refs_to([data])
    data.at = f.table([("ref", body)])
    body.at = f.vector("B", b"payload")


def field(table, number, data=SEVERAL):
    """Offset of a field of a table."""
    vtable = table - struct.unpack_from("<i", data, table)[0]
    return table + struct.unpack_from("<H", data, vtable + 4 + 2 * number)[0]


def target(at, data=SEVERAL):
    return at + struct.unpack_from("<I", data, at)[0]


def element(vector, i):
    """Target of the i-th reference of a vector."""
    return target(vector + 4 + 4 * i)


def several():
    """Damages the program with two segments of mutable data: the second value's tensor, and the second
    segment's offsets."""
    root = target(0)
    plan = element(target(field(root, 1)), 0)
    tensor = target(field(element(target(field(plan, 2)), 1), 1))
    extra = target(field(tensor, 9))
    second = element(target(field(root, 6)), 1)
    offsets = target(field(second, 1))
    sample("mutable-2-of-2", patch(field(extra, 0), "Q", 2, SEVERAL), "malformed", tensor,
           "index of mutable data is 2, the number of its segments is 2")
    sample("mutable-2-63", patch(field(extra, 0), "Q", 2**63, SEVERAL), "malformed", tensor,
           "index of mutable data is 9223372036854775808, the number of its segments is 2")
    sample("mutable-other", patch(field(extra, 0), "Q", 0, SEVERAL), "malformed", tensor,
           "constant needs 16 bytes, 12 are left")
    sample("mutable-index-2", patch(field(tensor, 5), "I", 2, SEVERAL), "malformed", tensor,
           "constant index is 2, the number of constants is 2")
    sample("mutable-offset-17", patch(offsets + 12, "Q", 17, SEVERAL), "malformed", offsets + 12,
           "constant is at offset 17, its segment has 16 bytes")
    sample("mutable-segment-4", patch(field(second, 0), "I", 4, SEVERAL), "malformed", second,
           "segment index is 4, the number of segments is 4")


def shared_offsets(sets, count):
    """That many sets of offsets in one shared vector."""
    f = Program()
    one, segments, many, place, vector = Later(), Later(), Later(), Later(), Later()
    root = f.table([("I", None), ("ref", None), ("ref", None), ("ref", None), ("ref", segments), ("ref", None),
                    ("ref", many)])
    segments.at = f.refs_to([place])
    place.at = f.table([("Q", None), ("Q", None)])
    many.at = f.refs_to([one] * sets)
    one.at = f.table([("I", None), ("ref", vector)])
    f.align(8)
    f.data += bytes(4)
    vector.at = len(f.data)
    f.data += struct.pack("<I", count) + bytes(8 * count)
    return f.finish(root)


F32 = (6, [4], [0], 1, None)


def main():
    for old in HERE.glob("*.pte"):
        old.unlink()
    sample("inline", build([F32, (6, [2, 2], [1, 0], 1, (b"named", 0))], [b"", bytes(range(16))]), "ok")
    sample("inline-delegate", build([], [b""], delegate=(0, 0)), "ok")
    sample("inline-delegate-of-none", build([], [b""], delegate=(0, 1)), "malformed", "*",
           "index of delegate data is 1, the number of entries is 1")
    sample("delegate-without-segment", build([], [b""], delegate=(1, 0)), "malformed", "*",
           "segment index is 0, the number of segments is 0")
    sample("8-bytes", BASE[:8], "malformed", 8, "truncated")
    sample("ET13", patch(4, "4s", b"ET13"), "unsupported", 4, "file identifier is ET13")
    sample("bundled", patch(4, "4s", b"BP08"), "unsupported", 4, "a bundled program")
    sample("header-23", patch(12, "I", 23), "malformed", 12, "extended header has 23 bytes")
    sample("program-2-63", patch(16, "Q", 2**63), "malformed", 16, "program_size is 9223372036854775808")
    sample("base-in-program", patch(24, "Q", 64), "malformed", 24, "segments have")
    sample("data-one-more", patch(32, "Q", struct.unpack_from("<Q", BASE, 32)[0] + 1), "malformed", 24,
           "segments have")
    sample("last-byte-cut", BASE[:-1], "malformed", 24, "segments have")
    sample("root-0", patch(0, "I", 0), "malformed", 0, "Program: reference")
    sample("version-1", build([F32], [b"", b""], version=1), "unsupported", "*", "Program version is 1")
    sample("constant-2-of-2", build([(6, [4], [0], 2, None)], [b"", bytes(16)]), "malformed", "*",
           "constant index is 2, the number of constants is 2")
    sample("constant-short", build([F32], [b"", bytes(15)]), "malformed", "*", "15 are left")
    sample("constant-negative", build([(6, [-4], [0], 1, None)], [b"", bytes(16)]), "malformed", "*",
           "dimension 0 has size -4")
    sample("rank-17", build([(6, [1] * 17, list(range(17)), 1, None)], [b"", bytes(16)]), "malformed", "*",
           "17 dimensions")
    sample("type-99", build([(99, [4], [0], 1, None)], [b"", bytes(16)]), "unsupported", "*",
           "scalar type is 99")
    sample("external-unnamed", build([(6, [4], [0], 1, (None, 1))], [b""]), "malformed", "*",
           "an external tensor has no name")
    sample("place-2", build([(6, [4], [0], 1, (b"a", 2))], [b""]), "unsupported", "*", "tensor's data is 2")
    several()
    sample("shared-offsets", shared_offsets(32, 64), "malformed", "*", "constants have more offsets than")
    sample("shared-offsets-that-fit", shared_offsets(2, 8), "ok")
    lines = ["# made by make.py: file, code, offset, part of the message"]
    lines += ["\t".join(row) for row in ROWS]
    (HERE / "expect.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
