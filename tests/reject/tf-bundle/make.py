"""Checkpoints that must be refused, or for which verify must report a finding.

    python make.py          writes the files and directories beside it; needs only Python
"""
import shutil
import struct
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent.parent / "golden" / "tf-bundle"))
from table import (FLOAT, INT64, MAGIC, STRING, Table, bundle, entry, header, mask, crc32c, message,
                   number, shape, slice_key, slice_of, strings, varint)

HEAD = (b"", header())
ONE = struct.pack("<f", 0.5)
A = (b"a", entry(FLOAT, [], ONE))


def index(name, data):
    (HERE / f"{name}.index").write_bytes(data)


def table(name, items, **finish):
    """An index of these items, in this order; its data file is missing, which does not matter, as the
    index is refused."""
    index(name, Table([items]).finish(**finish))


def folder(name, items, data=ONE, **options):
    bundle(HERE / name, items, data, **options)


def raw_block(name, block, kind=0, crc=None, key=b"z"):
    """A data block of these bytes."""
    t = Table([])
    t.file = b""
    at = t.put(block, kind=kind, crc=crc)
    t.metaindex = t.put(struct.pack("<II", 0, 1))
    t.index = t.put(t.block([(key, varint(at[0]) + varint(at[1]))], 1))
    index(name, t.finish())


def tables():
    """1 to 6: the table."""
    good = Table([[HEAD, A]])
    index("short", b"\0" * 7 + b"\0" * 32 + MAGIC)
    index("no-magic", good.finish(magic=b"\0" * 8))
    index("handles-unended", b"\x80" * 40 + MAGIC)
    index("handles-too-long", good.file + b"\x80" * 10 + b"\x01" + b"\0" * 29 + MAGIC)
    index("index-past-end", good.finish(index=(good.index[0], good.index[1] + 48)))
    index("index-wraps", good.finish(index=(2**64 - 3, 8)))
    index("index-of-2-to-63", good.finish(index=(0, 2**63)))
    index("index-is-data", good.finish(index=(0, good.metaindex[0] - 5)))
    index("metaindex-elsewhere", good.finish(metaindex=(0, 8)))
    index("footer-padding", good.finish(padding=b"\x01"))
    handles = b"".join(map(varint, good.metaindex + good.index[:1]))
    last = bytes([good.index[1] | 0x80]) + b"\0" * (39 - len(handles))
    index("footer-varint-long", good.file + handles + last + MAGIC)
    raw_block("block-too-short", b"\0\0\0")
    raw_block("restarts-too-many", b"\0\0\x06" + header() + struct.pack("<II", 0, 2**30))
    block = Table.block([HEAD, A], 16)
    raw_block("no-restarts", block[:-8] + struct.pack("<I", 0))
    raw_block("restart-outside", block[:-8] + struct.pack("<II", 0xFFFF, 1))
    raw_block("restart-in-an-entry", block[:-8] + struct.pack("<III", 0, 10, 2))
    raw_block("shared-too-long", b"\0\0\x06" + header() + b"\x09\x01\x00a" + struct.pack("<II", 0, 1))
    raw_block("first-shares", b"\x01\0\x06" + header() + struct.pack("<II", 0, 1))
    raw_block("lengths-wrap", b"\0\0\x06" + header() + b"\0\xff\xff\xff\xff\x0f\x03"
              + struct.pack("<II", 0, 1))
    table("key-order", [HEAD, (b"b", A[1]), A])
    table("key-twice", [HEAD, A, A])
    table("no-header", [A])
    table("header-second", [HEAD, HEAD])
    index("empty-table", Table([[HEAD]]).__class__([]).finish())
    table("key-not-utf8", [HEAD, (b"\xffa", A[1])])
    raw_block("crc-wrong", block, crc=1)
    raw_block("crc-unmasked", block, crc=crc32c(block + b"\0"))
    raw_block("type-2", block, kind=2)
    raw_block("type-255", block, kind=255)
    raw_block("snappy-bomb", b"\xff\xff\xff\xff\x0f" + b"\xfe\x01\x00" * 8, kind=1)
    raw_block("snappy-cut-off", varint(len(block)) + bytes([59 << 2]) + block[:8], kind=1)
    raw_block("snappy-offset-0", b"\x08\x0cabcd\x01\x00", kind=1)
    raw_block("snappy-offset-beyond", b"\x08\x0cabcd\x01\x05", kind=1)
    raw_block("snappy-short", b"\x08\x0cabcd", kind=1)
    t = Table([[HEAD, A], [(b"c", A[1])]])
    again = t.put(t.block([(b"b", varint(0) + varint(t.handles[0][1][1])),
                           (b"d", varint(0) + varint(t.handles[0][1][1]))], 1))
    index("block-twice", t.finish(metaindex=t.metaindex, index=again))


def headers():
    """7."""
    for name, head in {"no-shards": header(0), "shards-negative": header(-3),
                       "endianness-7": number(1, 1) + number(2, 7),
                       "min-consumer-99": header(consumer=99), "producer-negative": header(producer=-1),
                       "bad-consumer": header(more=message(3, b"\x01")),
                       "bad-consumer-unpacked": header(more=number(3, 1)),
                       "header-cut-off": b"\x08", "header-field-0": b"\x00\x01",
                       "header-long-varint": b"\x08" + b"\xff" * 10}.items():
        table(name, [(b"", head), A])
    table("shards-many", [(b"", header(2**31 - 1)), A])


def entries():
    """8 and 9."""
    for name, value in {
            "dtype-unknown": entry(99, [], ONE), "dtype-none": entry(0, [], ONE),
            "dtype-ref": entry(101, [], ONE), "dtype-resource": entry(20, [], ONE),
            "dim-negative": entry(FLOAT, [-1], ONE), "dims-overflow": entry(FLOAT, [2**40, 2**40], ONE),
            "dims-overflow-behind-0": entry(FLOAT, [0, 2**32, 2**32], b""),
            "rank-255": entry(FLOAT, [1] * 255, ONE), "size-other": entry(FLOAT, [2], ONE),
            "size-overflow": entry(FLOAT, [2**62], b"", size=8),
            "shard-of-others": entry(FLOAT, [], ONE, shard=1),
            "shard-negative": entry(FLOAT, [], ONE, shard=-1),
            "offset-negative": entry(FLOAT, [], ONE, offset=-8),
            "size-negative": entry(FLOAT, [], ONE, size=-4),
            "end-overflows": entry(FLOAT, [], ONE, offset=2**63 - 2)}.items():
        table(name, [HEAD, (b"a", value)])
    folder("data-missing", [A], None)
    folder("data-short", [A], ONE[:3])
    folder("data-is-a-pointer", [(b"a", entry(FLOAT, [100], b"\0" * 400))],
           b"version https://git-lfs.github.com/spec/v1\n")
    folder("data-is-a-long-pointer", [(b"a", entry(FLOAT, [], ONE))],
           b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 4\n")
    folder("data-overlaps", [A, (b"b", entry(INT64, [], ONE + b"\0" * 4))], ONE + b"\0" * 4)
    folder("data-hidden", [A], ONE + b"\0\0secret")
    folder("data-crc", [A], b"\0\0\0\0")
    folder("data-crc-absent", [(b"a", entry(FLOAT, [], ONE, crc=0))])
    folder("data-crc-unmasked", [(b"a", entry(FLOAT, [], ONE, crc=crc32c(ONE)))])
    folder("data-crc-of-nothing", [(b"a", entry(FLOAT, [0], crc=5))], b"")
    folder("data-unused", [A], head=header(2))
    (HERE / "data-unused" / "model.ckpt.data-00001-of-00002").write_bytes(b"more")
    (HERE / "data-unused" / "model.ckpt.data-00000-of-00002").write_bytes(ONE)
    (HERE / "data-unused" / "model.ckpt.data-00000-of-00001").unlink()


def texts():
    """10."""
    good, crc = strings([b"hello", b""])
    for name, data, dims, c in [
            ("strings-too-many", b"\0" * 8, [2**40], 0),
            ("strings-length-overlong", b"\xff" * 12 + good, [2], crc),
            ("strings-more-bytes", good + b"x", [2], crc),
            ("strings-fewer-bytes", good[:-1], [2], crc),
            ("strings-length-2-to-64", b"\xff" * 9 + b"\x01" + b"\x05" + good[2:], [2], crc),
            ("strings-checksum", good[:2] + b"\0\0\0\0" + good[6:], [2], crc),
            ("strings-crc", good, [2], crc ^ 1)]:
        folder(name, [(b"a", entry(STRING, dims, data, crc=c))], data)
    value = varint(3) + b"abc" + b"\0\0\0\0"
    folder("variant-checksum", [(b"a", entry(21, [], value))], value)
    folder("variant-too-long", [(b"a", entry(21, [], b"\x7f" + value))], b"\x7f" + value)


def slices():
    """11."""
    part = struct.pack("<2f", 1, 2)

    def sliced(name, extents, there=None, dims=(4,), dtype=FLOAT, own=(), more=()):
        """A tensor of these slices; `there`: those that have entries, each of two floats."""
        items = [(b"w", entry(FLOAT, list(dims), slices=extents))]
        for e in extents if there is None else there:
            items.append((slice_key("w", e), entry(dtype, [2], part, slices=own)))
        folder(name, items + list(more), part)

    sliced("slice-overlap", [[(0, 2)], [(1, 2)]], dims=(3,))
    sliced("slice-twice", [[(0, 2)], [(0, 2)]], there=[[(0, 2)]], dims=(2,))
    sliced("slice-key-twice", [[(0, 2)]], there=[[(0, 2)], [(0, 2)]], dims=(2,))
    sliced("slice-gap", [[(0, 2)]])
    sliced("slice-gap-within", [[(1, 2)]])  # with the one before it: the right number of elements, but not each once
    sliced("slice-gap-behind", [[(2, 2)]])  # with the one before that: complete
    words, crc = strings([b"one", b"two"])
    folder("slice-gap-strings", [(b"w", entry(STRING, [3], slices=[[(0, 2)]])),
                                 (slice_key("w", [(0, 2)]), entry(STRING, [2], words, crc=crc))], words)
    folder("slice-overlap-strings", [
        (b"w", entry(STRING, [3], slices=[[(0, 2)], [(1, 2)]])),
        (slice_key("w", [(0, 2)]), entry(STRING, [2], words, crc=crc)),
        (slice_key("w", [(1, 2)]), entry(STRING, [2], words, len(words), crc=crc))], words + words)
    sliced("slice-rank", [[(0, 2), (0, 2)]])
    sliced("slice-end-overflows", [[(2**63 - 1, 2)]])
    sliced("slice-start-negative", [[(-1, 2)]])
    sliced("slice-length-negative", [[(0, -2)]])
    sliced("slice-too-long", [[(0, 5)]])
    sliced("slice-length-0", [[(0, 2)], [(2, 0)], [(2, 2)]], there=[[(0, 2)], [(2, 2)]])
    sliced("slice-missing", [[(0, 2)], [(2, 2)]], there=[[(0, 2)]])
    sliced("slice-dtype", [[(0, 2)], [(2, 2)]], dtype=3)
    sliced("slice-shape", [[(0, 1)], [(1, 3)]])
    sliced("slice-of-slices", [[(0, 2)], [(2, 2)]], own=[[(0, 1)]])
    sliced("slice-stray", [[(0, 2)], [(2, 2)]], there=[[(0, 2)], [(2, 2)], [(1, 2)]])


def graphs():
    """12."""
    def graph(name, text, dtype=STRING):
        data, crc = strings([text])
        data, crc = (data, crc) if dtype == STRING else (text, mask(crc32c(text)))
        folder(name, [(b"_CHECKPOINTABLE_OBJECT_GRAPH", entry(dtype, [], data, crc=crc))], data)

    child = number(1, 7) + message(2, b"x")
    graph("graph-child-outside", message(1, message(1, child)))
    graph("graph-child-negative", message(1, message(1, number(1, -1))))
    graph("graph-cut-off", b"\x0a\x7f")
    graph("graph-is-a-number", b"\0" * 4, FLOAT)
    slot = number(1, 0) + message(2, b"m") + number(3, 9)
    graph("graph-slot-outside", message(1, message(3, slot)))


def states():
    """16."""
    for name, text in {"state-outside": 'model_checkpoint_path: "../../etc/.."\n',
                       "state-of-itself": 'model_checkpoint_path: "checkpoint"\n',
                       "state-of-nothing": 'all_model_checkpoint_paths: "a"\n',
                       "state-unended": 'model_checkpoint_path: "a\n',
                       "state-empty-name": 'model_checkpoint_path: "x/"\n'}.items():
        path = HERE / name
        path.mkdir()
        (path / "checkpoint").write_text(text)


def v1():
    """V1 checkpoints: meta, then values."""
    def meta(tensors, more=b""):
        each = [message(1, message(1, n) + message(2, shape(d)) + number(3, t)
                        + b"".join(message(4, slice_of(s)) for s in sl)) for n, d, t, sl in tensors]
        return message(1, b"".join(each) + more)

    def data(proto):
        return message(2, message(3, proto))

    floats = message(5, struct.pack("<2f", 1, 2))
    tensor = (b"a", [2], FLOAT, [[None]])
    key = slice_key("a", [None])
    for name, items in {
            "v1-too-few": [(b"", meta([(b"a", [3], FLOAT, [[None]])])), (key, data(floats))],
            "v1-too-many": [(b"", meta([(b"a", [1], FLOAT, [[None]])])), (key, data(floats))],
            "v1-half-a-value": [(b"", meta([tensor])), (key, data(message(5, b"\0" * 7)))],
            "v1-no-values": [(b"", meta([tensor]))],
            "v1-stray": [(b"", meta([tensor])), (key, data(floats)),
                         (slice_key("b", [None]), data(floats))],
            "v1-no-key": [(b"", meta([tensor])), (b"a", data(floats))],
            "v1-huge": [(b"", meta([(b"a", [2**61], 9, [[None]])])), (key, data(number(10, 1)))],
            "v1-dtype": [(b"", meta([(b"a", [2], 30, [[None]])])), (key, data(floats))],
            "v1-min-consumer": [(b"", meta([tensor], message(2, number(2, 9)))), (key, data(floats))],
            "v1-slice-outside": [(b"", meta([(b"a", [2], FLOAT, [[(1, 2)]])])),
                                 (slice_key("a", [(1, 2)]), data(floats))]}.items():
        (HERE / f"{name}.ckpt").write_bytes(Table([items]).finish())


def main():
    for path in HERE.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.suffix in (".index", ".ckpt"):
            path.unlink()
    for make in (tables, headers, entries, texts, slices, graphs, states, v1):
        make()


main()
