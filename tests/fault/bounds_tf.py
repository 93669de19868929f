"""Hostile files of TensorFlow, just under 64 MiB: each function yields (name, {path in the directory:
bytes}), or (name, bytes) for a single file."""
import struct
import sys
from pathlib import Path

from bounds_runs import SIZE

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "golden" / "tf-bundle"))
from table import FLOAT, STRING, Table, entry, header, message, number, shape, slice_key, slice_of, strings  # noqa: E402
from tf_bytes import masked, varint  # noqa: E402 (table.py knows where)

ENDS = struct.pack("<II", 0, 1)
ZEROS = masked(bytes(4))


def plain(key, value):
    """An entry of a block that shares no bytes with the previous one."""
    return b"\0" + varint(len(key)) + varint(len(value)) + key + value


def whole(entries, head=None, per_block=1 << 15, pack=None):
    """A table: entries are (key, bytes within a block)."""
    t = Table([])
    t.handles, t.file = [], b""
    entries = [(b"", plain(b"", header() if head is None else head)), *entries]
    parts, place = [], 0
    for at in range(0, len(entries), per_block):
        some = entries[at:at + per_block]
        block = b"".join(one for _, one in some) + ENDS
        stored = block if pack is None else pack(block)
        end = bytes([pack is not None])
        t.handles.append((some[-1][0], (place, len(stored))))
        parts += [stored, end, masked(stored + end)]
        place += len(stored) + 5
    t.file = b"".join(parts)
    t.metaindex = t.put(ENDS)
    t.index = t.put(t.block([(k + b"\0", varint(at) + varint(n)) for k, (at, n) in t.handles], 1))
    return t.finish()


def model(index, data=b"\0" * 8):
    return {"model.ckpt.index": index, "model.ckpt.data-00000-of-00001": data}


def scalars(count, form=b"%08x"):
    tail = b"\x28\x04\x35" + ZEROS
    for i in range(count):
        key = form % i
        yield key, plain(key, b"\x08\x01\x12\x00\x20" + varint(4 * i) + tail)


def shared_keys(count, most):
    """Keys that consist of the previous key and a byte, up to this many bytes."""
    value, last = entry(FLOAT, [], bytes(4)), b"l" * most
    yield last, plain(b"k", value)
    for i in range(1, count):
        n = min(i, most)
        yield last, varint(n) + b"\1" + varint(len(value)) + (b"k" if i <= most else b"l") + value


def tables_of():
    yield "tiny-entries", model(whole(scalars(SIZE // 100)))
    yield "entries-that-fit", model(whole(scalars(300000)), bytes(300000 * 4))
    yield "entries-without-data", {"model.ckpt.index": whole(scalars(200000, b"%0200x"))}
    yield "keys-that-grow", model(whole(shared_keys(100000, 60000), per_block=1 << 30))
    value = entry(FLOAT, [], bytes(4))
    long = b"k" * 30000
    keys = [(long, plain(long, value))] + [
        (b"l", varint(len(long)) + b"\6" + varint(len(value)) + b"%06d" % i + value)
        for i in range(100000)]
    yield "keys-that-share", model(whole(keys, per_block=1 << 30))
    t = Table([])
    t.file, block = b"", plain(b"", header()) + ENDS
    t.put(block)
    t.metaindex = t.put(ENDS)
    t.index = t.put(b"".join(b"\0\x08\2%08x\0%c" % (i, len(block)) for i in range(SIZE // 16)) + ENDS)
    yield "blocks-that-are-one", model(t.finish())
    yield "tiny-blocks", model(whole(scalars(30000), per_block=1))
    yield "restarts", model(whole([(b"a", struct.pack("<I", 0) * (SIZE // 4))]))
    bomb = varint(60 << 20) + b"\0\0" + b"\xfe\1\0" * (60 << 14)
    yield "snappy-bomb", model(whole([], pack=lambda block: bomb))
    yield "snappy-bombs", model(whole(scalars(700), per_block=1, pack=lambda block: bomb[:80000]))
    zeros = varint(2 << 20) + b"\0\0" + b"\xfe\1\0" * (2 << 14)
    yield "snappy-most", model(whole(scalars(500), per_block=1, pack=lambda block: zeros))


def slices():
    count = 400000
    one = b"".join(message(7, slice_of([(i, 1)])) for i in range(count))
    head = number(1, FLOAT) + message(2, shape([count]))
    yield "slices-that-are-missing", model(whole([(b"w", plain(b"w", head + one))]))
    count = 400000
    many = number(1, FLOAT) + message(2, shape([count]))
    many += b"".join(message(7, slice_of([(i, 1)])) for i in range(count))
    tail = entry(FLOAT, [1], bytes(4))
    keys = sorted(slice_key("w", [(i, 1)]) for i in range(count))
    yield "slices", model(whole([(k, plain(k, tail)) for k in keys] + [(b"w", plain(b"w", many))]), bytes(8))
    deep = [(i % 1000, 1) for i in range(250)]
    ones = number(1, FLOAT) + message(2, shape([1000] * 6 + [1] * 244))
    ones += message(7, slice_of(deep)) * (SIZE // len(slice_of(deep)) - 9)
    yield "slices-of-rank-250", model(whole([(b"w", plain(b"w", ones))]))
    keys = sorted(slice_key("%d" % i, [(0, 1)]) for i in range(400000))
    yield "slices-without-a-tensor", model(whole([(k, plain(k, tail)) for k in keys]))


def with_graph(graph):
    data, crc = strings([graph])
    key = b"_CHECKPOINTABLE_OBJECT_GRAPH"
    value = number(1, STRING) + message(2, b"") + number(5, len(data)) + b"\x35" + struct.pack("<I", crc)
    a = b"m/a/.ATTRIBUTES/VARIABLE_VALUE"
    return model(whole([(key, plain(key, value)),
                        (a, plain(a, entry(FLOAT, [], bytes(4), offset=len(data))))]), data + bytes(4))


def object_graphs():
    yield "objects-empty", with_graph(b"\x0a\0" * (SIZE // 2))
    yield "objects-chain", with_graph(b"".join(
        message(1, message(1, number(1, i + 1) + message(2, b"x"))) for i in range(500000)) + b"\x0a\0")
    yield "objects-of-one", with_graph(message(1, message(1, b"\x12\1x") * (SIZE // 6)))
    yield "objects-all-of-all", with_graph(message(1, b"".join(
        message(1, number(1, i % 3000) + message(2, b"%x" % i)) for i in range(3000))) * 1500)
    value = message(2, message(1, b"VARIABLE_VALUE") + message(2, b"m/a") + message(3, b"m/a/.ATTRIBUTES/VARIABLE_VALUE"))
    yield "objects-attributes", with_graph(message(1, value * (SIZE // len(value))))
    slot = message(3, number(1, 1) + message(2, b"m") + number(3, 1))
    yield "objects-slots", with_graph(message(1, slot * (SIZE // len(slot))) + b"\x0a\0" * 2)


def texts():
    def strings(lengths, count):
        data = lengths + bytes(4)
        value = number(1, STRING) + message(2, shape([count])) + number(5, len(data))
        return model(whole([(b"s", plain(b"s", value))]), data)
    yield "strings-empty", strings(bytes(SIZE), SIZE)
    yield "strings-nested", strings(bytes(1 << 20), 1 << 20)
    yield "strings-of-a-letter", model(whole([(b"s", plain(b"s", number(1, STRING) + message(2, shape([29 << 20]))
                                       + number(5, (58 << 20) + 4)))]), b"\1" * (29 << 20) + bytes(4) + b"\n" * (29 << 20))
    one = number(1, STRING) + message(2, shape([SIZE])) + number(5, SIZE + 4)
    yield "strings-shared", model(whole([(b"%04d" % i, plain(b"%04d" % i, one)) for i in range(1000)]), bytes(SIZE + 4))


def v1_meta(tensors, sliced=b"\x22\2\x0a\0"):
    return message(1, b"".join(message(1, message(1, n) + message(2, shape(d)) + number(3, t) + sliced)
                               for n, d, t in tensors))


def v1_data(proto):
    return message(2, message(3, proto))


def v1():
    def file(tensors, values):
        meta = v1_meta(tensors)
        return whole([(k, plain(k, v)) for k, v in values], head=meta)
    key = slice_key("a", [None])
    yield "packed-ints.ckpt", file([(b"a", [SIZE], 3)], [(key, v1_data(message(7, b"\1" * SIZE)))])
    yield "single-ints.ckpt", file([(b"a", [SIZE // 2], 3)], [(key, v1_data(b"\x38\1" * (SIZE // 2)))])
    yield "one-for-all.ckpt", file([(b"a", [2**32], 3)], [(key, v1_data(b"\x38\1"))])
    yield "one-for-some.ckpt", file([(b"a", [8 << 20], 3)], [(key, v1_data(b"\x38\1"))])
    yield "strings.ckpt", file([(b"a", [SIZE // 2], 7)], [(key, v1_data(b"\x42\0" * (SIZE // 2)))])
    yield "floats.ckpt", file([(b"a", [SIZE // 5], 1)], [(key, v1_data(b"\x2d\0\0\0\0" * (SIZE // 5)))])
    names = [b"%06d" % i for i in range(299000)]
    yield "tensors.ckpt", file([(n, [1], 1) for n in names],
                               [(k, v1_data(message(5, bytes(4)))) for k in (slice_key(n.decode(), [None]) for n in names)])
    yield "meta.ckpt", whole([], head=message(1, b"\x0a\0" * (SIZE // 2)))
    yield "meta-slices.ckpt", whole([], head=v1_meta([(b"a", [9], 1)], b"\x22\2\x0a\0" * (SIZE // 4)))
