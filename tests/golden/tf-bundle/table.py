"""Encodes sorted tables and the messages of tensor bundles that TensorFlow reads but does not write.

Tables have blocks of any kind, and entries any fields; it checks nothing, so that it can also build samples that
must be refused (tests/reject/tf-bundle).
"""
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "tools"))
from crc32c import crc32c  # noqa: E402
from tf_bytes import field, mask, varint  # noqa: E402

MAGIC = bytes.fromhex("57fb808b247547db")
FLOAT, INT32, STRING, INT64 = 1, 3, 7, 9
message = field


def number(tag, v):
    """As in proto3: 0 is omitted."""
    return field(tag, v) if v else b""


def header(shards=1, big=False, producer=1, consumer=0, more=b""):
    version = number(1, producer) + number(2, consumer) + more
    return number(1, shards) + number(2, int(big)) + message(3, version)


def shape(dims):
    return b"".join(message(2, number(1, d)) for d in dims)


def slice_of(extents):
    """[(start, length) or None per dimension]"""
    return b"".join(message(1, b"" if e is None else number(1, e[0]) + b"\x10" + varint(e[1]))
                    for e in extents)


def entry(dtype, dims, data=b"", offset=0, shard=0, crc=None, size=None, slices=()):
    crc = mask(crc32c(data)) if crc is None else crc
    size = len(data) if size is None else size
    out = number(1, dtype) + message(2, shape(dims))
    if slices:
        return out + b"".join(message(7, slice_of(s)) for s in slices)
    return (out + number(3, shard) + number(4, offset) + number(5, size)
            + (b"\x35" + struct.pack("<I", crc) if crc else b""))


def ordered_number(v):
    data = v.to_bytes((v.bit_length() + 7) // 8, "big")
    return bytes([len(data)]) + data


def ordered_signed(v):
    x = v if v >= 0 else ~v
    if x < 64:
        return bytes([0x80 ^ v & 0xFF])
    length = next(n for n in range(2, 11) if x.bit_length() <= 7 * n - 1)
    data = bytearray(v.to_bytes(10, "big", signed=True)[-length:])
    head = ((1 << length) - 1) << (16 - length)
    data[0] ^= head >> 8 & 0xFF
    data[1] ^= head & 0xFF
    return bytes(data)


def slice_key(name, extents):
    escaped = name.encode().replace(b"\xff", b"\xff\x00").replace(b"\x00", b"\x00\xff")
    key = ordered_number(0) + escaped + b"\x00\x01" + ordered_number(len(extents))
    for e in extents:
        start, length = e if e is not None else (0, -1)
        key += ordered_signed(start) + ordered_signed(length)
    return key


def strings(items, order="<"):
    """The bytes of a string tensor, and their masked checksum."""
    lengths = b"".join(varint(len(s)) for s in items)
    crc = crc32c(b"".join(struct.pack(order + "I", len(s)) for s in items))
    stored = struct.pack(order + "I", mask(crc))
    return lengths + stored + b"".join(items), mask(crc32c(stored + b"".join(items), crc))


def pack_literals(data):
    """Snappy stream of literals only."""
    out = varint(len(data))
    for at in range(0, len(data), 60):
        piece = data[at:at + 60]
        out += bytes([len(piece) - 1 << 2]) + piece
    return out


class Table:
    """Blocks in order; each is a list of (key, value)."""

    def __init__(self, blocks, interval=16, snappy=(), restarts=None):
        self.file = b""
        self.handles = []
        for i, items in enumerate(blocks):
            block = self.block(items, interval, restarts)
            self.handles.append((items[-1][0], self.put(block, pack=i in snappy)))
        self.metaindex = self.put(struct.pack("<II", 0, 1))
        index = [(key + b"\x00", varint(at) + varint(n)) for key, (at, n) in self.handles]
        self.index = self.put(self.block(index, 1))

    @staticmethod
    def block(items, interval, restarts=None):
        out, last, places = b"", b"", []
        for i, (key, value) in enumerate(items):
            shared = 0
            if i % interval == 0:
                places.append(len(out))
            else:
                while shared < min(len(last), len(key)) and last[shared] == key[shared]:
                    shared += 1
            out += varint(shared) + varint(len(key) - shared) + varint(len(value))
            out += key[shared:] + value
            last = key
        places = restarts if restarts is not None else places
        return out + b"".join(struct.pack("<I", p) for p in places + [len(places)])

    def put(self, block, pack=False, kind=None, crc=None):
        """Writes a block with its trailer; returns its position."""
        kind = int(pack) if kind is None else kind
        stored = pack_literals(block) if pack else block
        handle = (len(self.file), len(stored))
        crc = mask(crc32c(stored + bytes([kind]))) if crc is None else crc
        self.file += stored + bytes([kind]) + struct.pack("<I", crc)
        return handle

    def finish(self, metaindex=None, index=None, padding=b"\x00", magic=MAGIC):
        handles = b"".join(varint(v) for v in (metaindex or self.metaindex) + (index or self.index))
        return self.file + handles + padding * (40 - len(handles)) + magic


def bundle(folder, items, data=b"", head=None, name="model.ckpt", **options):
    """An index of these entries, and one data file."""
    folder.mkdir(parents=True, exist_ok=True)
    table = Table([sorted([(b"", header() if head is None else head), *items])], **options)
    (folder / f"{name}.index").write_bytes(table.finish())
    if data is not None:
        (folder / f"{name}.data-00000-of-00001").write_bytes(data)
