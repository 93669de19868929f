"""Hostile files of GGUF: many pairs, many tensors, long arrays and strings, deep arrays."""
import struct

SIZE = (64 << 20) - 4096
U8, STRING, ARRAY = 0, 8, 9


def head(tensors, pairs):
    return b"GGUF" + struct.pack("<IQQ", 3, tensors, pairs)


def text(data):
    return struct.pack("<Q", len(data)) + data


def pairs(count, key):
    return head(0, count) + b"".join(text(key(i)) + struct.pack("<IB", U8, 0) for i in range(count))


def tensors(count, name, kind=0):
    infos = b"".join(text(name(i)) + struct.pack("<IIQ", 0, kind, 0) for i in range(count))
    return head(count, 0) + infos + bytes(64)


def array(kind, count, data):
    return head(0, 1) + text(b"k") + struct.pack("<IIQ", ARRAY, kind, count) + data


def gguf():
    yield "pairs.gguf", pairs(SIZE // 21, lambda i: b"%08x" % i)
    yield "pairs-that-fit.gguf", pairs(600000, lambda i: b"%08x" % i)
    yield "long-keys.gguf", pairs(1000, lambda i: b"%065000d" % i)
    yield "same-keys.gguf", pairs(SIZE // 14, lambda i: b"k")
    yield "tensors.gguf", tensors(SIZE // 32, lambda i: b"%08x" % i)
    yield "tensors-that-fit.gguf", tensors(290000, lambda i: b"%08x" % i)
    yield "unknown-types.gguf", tensors(290000, lambda i: b"%08x" % i, 99)
    yield "long-names.gguf", tensors(1000, lambda i: b"%065000d" % i)
    yield "strings.gguf", array(STRING, SIZE // 8, bytes(SIZE))
    yield "bytes.gguf", array(U8, SIZE, bytes(SIZE))
    yield "string.gguf", head(0, 1) + text(b"k") + struct.pack("<I", STRING) + text(b"x" * SIZE)
    yield "controls.gguf", head(0, 1) + text(b"k") + struct.pack("<I", STRING) + text(b"\x1b" * (SIZE // 8))
    inner = struct.pack("<IQ", U8, 0)
    yield "arrays.gguf", array(ARRAY, SIZE // 12, inner * (SIZE // 12))
    yield "lists-of-lists.gguf", array(ARRAY, SIZE // 780, (struct.pack("<IQ", ARRAY, 64) + inner * 64) * (SIZE // 780))
