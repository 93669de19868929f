"""Hostile .ptd, .pte, .npy and .npz, just under 64 MiB: (name, bytes)."""
import io
import struct
import zipfile
import zlib

from bounds_runs import SIZE


class Tables:
    """A FlatBuffer written front to back; offsets are known once their target was written."""

    def __init__(self, splice):
        self.splice, self.data = splice, bytearray(8 + splice)

    def put(self, data, to=8):
        self.data += bytes(-(len(self.data) - self.splice) % to)
        self.data += data
        return len(self.data) - len(data)

    def table(self, form):
        """A table of these fields (as in struct; "-" is absent); references are set later."""
        slots, at = [], 4
        for letter in form:
            if letter == "-":
                slots.append(0)
                continue
            width = struct.calcsize(letter)
            at += -at % width
            slots.append(at)
            at += width
        vtable = self.put(struct.pack(f"<{2 + len(slots)}H", 4 + 2 * len(slots), at, *slots))
        place = self.put(bytes(at))
        struct.pack_into("<i", self.data, place, place - vtable)
        return place, [place + slot for slot in slots]

    def vector(self, items, count):
        return self.put(b"\0\0\0\0" + struct.pack("<I", count) + items, 8) + 4

    def refer(self, at, to):
        struct.pack_into("<I", self.data, at, to - at)

    def refer_all(self, vector, count, to, step=0):
        """References of a vector to one offset, or to offsets at a fixed distance."""
        self.data[vector + 4:vector + 4 + 4 * count] = struct.pack(
            f"<{count}I", *(to + step * i - (vector + 4 + 4 * i) for i in range(count)))

    def ptd(self, root, payload=b"\0" * 64):
        self.put(b"")
        end = len(self.data)
        struct.pack_into("<I4s4sIQQQQ", self.data, 0, root, b"FT01", b"FH01", 40, self.splice, end - self.splice, end,
                         len(payload))
        return bytes(self.data) + payload

    def pte(self, root):
        struct.pack_into("<I4s", self.data, 0, root, b"ET12")
        return bytes(self.data)


def keyed(count, key_of, dims=(4,), size=64):
    """A .ptd of that many entries, each with its own table and key, all on one segment."""
    t = Tables(48)
    root, (_, segments, names) = t.table("III")
    one = t.vector(bytes(4), 1)
    t.refer(segments, one)
    segment, (_, length) = t.table("QQ")
    struct.pack_into("<Q", t.data, length, size)
    t.refer(one + 4, segment)
    vector = t.vector(bytes(4 * count), count)
    t.refer(names, vector)
    first, _ = t.table("III")
    vtable = first - struct.unpack_from("<i", t.data, first)[0]
    entries = t.put(bytes(16 * count))
    t.refer_all(vector, count, entries, 16)
    keys = [struct.pack("<I", len(key)) + key + bytes(4 - len(key) % 4) for key in map(key_of, range(count))]
    begin = t.put(b"".join(keys))
    layout, (kind, sizes, order) = t.table("iII")
    struct.pack_into("<b", t.data, kind, 6)
    for field, form in ((sizes, f"{len(dims)}i"), (order, f"{len(dims)}B")):
        items = dims if field == sizes else range(len(dims))
        t.refer(field, t.vector(struct.pack(f"<{form}", *(i & 0xFF if field == order else i for i in items)), len(dims)))
    out, at = [], begin
    for i, key in enumerate(keys):
        here = entries + 16 * i
        out.append(struct.pack("<iIII", here - vtable, at - here - 4, 0, layout - here - 12))
        at += len(key)
    t.data[entries:entries + 16 * count] = b"".join(out)
    return t.ptd(root, bytes(size))


def ptd():
    yield "tiny-entries.ptd", keyed(SIZE // 36, lambda i: b"%08x" % i)
    yield "entries-that-fit.ptd", keyed(300000, lambda i: b"%08x" % i)
    yield "same-keys.ptd", keyed(SIZE // 28, lambda i: b"k")
    yield "long-keys.ptd", keyed(900, lambda i: b"%065000d" % i)
    yield "one-long-key.ptd", keyed(1, lambda i: b"\x1b" * SIZE)
    yield "rank-2-24.ptd", keyed(1, lambda i: b"k", (1,) * (12 << 20))
    yield "dims-2-31.ptd", keyed(1, lambda i: b"k", (2**31 - 1,) * 16)
    t = Tables(48)
    root, (_, segments, names) = t.table("III")
    count = SIZE // 8
    places = [t.vector(bytes(4 * count), count) for _ in range(2)]
    table, _ = t.table("QQ")
    for field, vector in zip((segments, names), places):
        t.refer(field, vector)
        t.refer_all(vector, count, table)
    yield "one-table.ptd", t.ptd(root)
    t = Tables(48)
    root, (_, segments, names) = t.table("III")
    count = SIZE // 20
    vector = t.vector(bytes(4 * count), count)
    t.refer(segments, vector)
    first, _ = t.table("QQ")
    tables = t.put((struct.pack("<i", 12) + b"\6\0\4\0\0\0\0\0\4\0\4\0") * count, 4)
    t.refer_all(vector, count, tables, 16)
    yield "segments.ptd", t.ptd(root)
    t = Tables(48)
    root, fields = t.table("I" * 16000)
    yield "many-fields.ptd", t.ptd(root, bytes(SIZE))


def pte():
    def program(shared):
        t = Tables(0)
        root, fields = t.table("-I---")
        count = SIZE // 16
        plans = t.vector(bytes(4), 1)
        t.refer(fields[1], plans)
        plan, inside = t.table("--I-----")
        t.refer(plans + 4, plan)
        values = t.vector(bytes(4 * count), count)
        t.refer(inside[2], values)
        step = 0 if shared else 8
        first, _ = t.table("-")
        tables = first if shared else t.put((struct.pack("<i", 0x7FFFFFFF)) * 2 * count)
        t.refer_all(values, count, tables, step)
        return t.pte(root)
    yield "values-of-one.pte", program(True)
    yield "values-without-vtables.pte", program(False)
    t = Tables(0)
    root, fields = t.table("----III")
    one = t.vector(bytes(4), 1)
    t.refer(fields[4], one)
    segment, _ = t.table("QQ")
    t.refer(one + 4, segment)
    many = t.vector(bytes(4), 1)
    t.refer(fields[6], many)
    for at in (fields[5], many + 4):
        table, inside = t.table("II")
        t.refer(at, table)
        struct.pack_into("<I", t.data, inside[0], 0)
        t.refer(inside[1], t.vector(bytes(8 * (SIZE // 16)), SIZE // 16))
    yield "offsets.pte", t.pte(root)
    t = Tables(0)
    root, fields = t.table("-III---I")
    count = SIZE // 8
    for field in (1, 2, 3, 7):
        vector = t.vector(bytes(count), count // 4)
        t.refer(fields[field], vector)
    table, _ = t.table("-")
    for field in (1, 2, 3, 7):
        vector = fields[field] + struct.unpack_from("<I", t.data, fields[field])[0]
        t.refer_all(vector, count // 4, table)
    yield "plans-of-one.pte", t.pte(root)


def npy_header(text, data=b"", version=2):
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<I", len(text)) + text + data


def npy_text(descr, shape):
    return b"{'descr': " + descr + b", 'fortran_order': False, 'shape': " + shape + b", }\n"


def npy():
    for name, text in {
            "braces": b"{" * SIZE, "parens": npy_text(b"'<f4'", b"(" * SIZE), "spaces": b" " * SIZE, "comment": b"#" * SIZE,
            "digits": npy_text(b"'<f4'", b"(" + b"1" * SIZE + b",)"), "string": b"{'" + b"x" * SIZE,
            "shape": npy_text(b"'<f4'", b"(" + b"1," * (SIZE // 2) + b")"),
            "records": npy_text(b"[" + b"('a','<f4')," * (SIZE // 12) + b"]", b"(0,)"),
            "nested": npy_text(b"[('a'," * (SIZE // 6), b"()"),
            "strings": b"{" + b"'' " * (SIZE // 3), "unicode": b"{'\\u0041" + b"\\N" * (SIZE // 3)}.items():
        yield f"header-{name}.npy", npy_header(text)
    for name, text in {"braces": b"{" * 65000, "records": npy_text(b"[" + b"".join(
            b"('%x','<f4')," % i for i in range(4500)) + b"]", b"(0,)"), "record-dims": npy_text(
                b"[('a','<f4',(" + b"1," * 32000 + b"))]", b"(1,)")}.items():
        yield f"longest-{name}.npy", npy_header(text, bytes(1 << 20))
    for name, descr, count in (("wide", b"'<U%d'" % (SIZE // 4), 1), ("wider", b"'<U536870911'", 1), ("letters", b"'<U1'", SIZE // 4),
                               ("nothing", b"'<U0'", 2**40), ("bytes", b"'|S1'", SIZE), ("no-bytes", b"'|S0'", 2**62)):
        yield f"text-{name}.npy", npy_header(npy_text(descr, b"(%d,)" % count), b"A\0\0\0" * (SIZE // 4))
    yield "objects.npy", npy_header(npy_text(b"'|O'", b"(4,)"), b"\x80\2(" + b"]" * SIZE + b"l.")
    fields = b",".join(b"('%x','|u1')" % i for i in range(3000))
    yield "records-wide.npy", npy_header(npy_text(b"[" + fields + b"]", b"(20000,)"), bytes(SIZE))


def members(each):
    """A zip of (name, stored bytes, method, uncompressed size, its CRC)."""
    local, central, at = [], [], 0
    for name, data, method, size, crc in each:
        sizes = (crc, len(data), size, len(name))
        local.append(struct.pack("<4s5H3I2H", b"PK\3\4", 20, 0, method, 0, 0, *sizes, 0) + name + data)
        central.append(struct.pack("<4s6H3I5H2I", b"PK\1\2", 20, 20, 0, method, 0, 0, *sizes, 0, 0, 0, 0, 0, at) + name)
        at += len(local[-1])
    directory, count = b"".join(central), len(central)
    return (b"".join(local) + directory
            + struct.pack("<4sQ2H2I4Q", b"PK\6\6", 44, 45, 45, 0, 0, count, count, len(directory), at)
            + struct.pack("<4sIQI", b"PK\6\7", 0, at + len(directory), 1)
            + struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, 65535, 65535, 2**32 - 1, 2**32 - 1, 0))


def packed(begin, zeros):
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    out = packer.compress(begin) + b"".join(packer.compress(bytes(1 << 20)) for _ in range(zeros)) + packer.flush()
    return out, 8, len(begin) + (zeros << 20), 0


def npz():
    short = b"\x93NUMPY\1\0" + struct.pack("<H", 53) + b"{'descr':'|u1','fortran_order':False,'shape':(1,)}".ljust(52) + b"\n"
    one = short + b"\0"
    crc = zlib.crc32(one)
    yield "members.npz", members((b"%x.npy" % i, one, 0, len(one), crc) for i in range(300000))
    yield "empty-members.npz", members((b"%x.npy" % i, b"", 0, 0, 0) for i in range(600000))
    begin = npy_header(npy_text(b"'|u1'", b"(%d,)" % (3000 << 20)))
    yield "bomb.npz", members([(b"a.npy", *packed(begin, 3000))])
    bomb = packed(begin, 64)
    yield "bombs.npz", members((b"%x.npy" % i, *bomb) for i in range(900))
    head = packed(b"\x93NUMPY\2\0" + struct.pack("<I", 1 << 30), 1024)
    yield "header-bombs.npz", members((b"%x.npy" % i, *head) for i in range(50))
    texts = packed(npy_header(npy_text(b"'<U1'", b"(%d,)" % (4 << 20))), 16)
    yield "text-bombs.npz", members((b"%x.npy" % i, *texts) for i in range(3000))
    wide = b"\x93NUMPY\1\0" + struct.pack("<H", 60) + b"{'descr':'<U1','fortran_order':False,'shape':(1,)}".ljust(59) + b"\n" + bytes(4)
    yield "texts.npz", members((b"%x.npy" % i, wide, 0, len(wide), zlib.crc32(wide)) for i in range(250000))
    yield "page-437.npz", members((b"\xb0" * 15 + b"%x.npy" % i, one, 0, len(one), crc) for i in range(300000))
    yield "long-page-437.npz", members((b"%d" % i + b"\xb0" * 60000 + b".npy", one, 0, len(one), crc) for i in range(550))
    other = bytes((1 << 20) - 1)
    pack = zlib.compressobj(9, zlib.DEFLATED, -15)
    other = pack.compress(other) + pack.flush(), 8, len(other), zlib.crc32(other)
    yield "no-arrays.npz", members((b"%x.npy" % i, *other) for i in range(4000))
    yield "small-no-arrays.npz", members((b"%x.npy" % i, b"x", 0, 1, zlib.crc32(b"x")) for i in range(300000))
    with io.BytesIO() as out:
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("a.npy", npy_header(npy_text(b"'|u1'", b"(%d,)" % SIZE), bytes(range(256)) * (SIZE // 256)))
        yield "deflated.npz", out.getvalue()
