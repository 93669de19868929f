#!/usr/bin/env python3
"""Writes the deflate streams of this directory, and expect.tsv, which records the output of zlib:

    name, bytes after the end of the stream, size of the output, CRC-32 of the output,
    CRC-32 of all outputs with one bit of the stream flipped, bit set of the flips that zlib accepts (hex)

"-" means that zlib does not accept the complete stream, "?" that ISA-L accepts it nevertheless.

Made with Python 3.13.0 and zlib 1.2.13; compared by tests/unit/test_inflate_zlib.c.
"""
import random
import struct
import zlib
from pathlib import Path

HERE = Path(__file__).resolve().parent


def packed(data, level=6, strategy=zlib.Z_DEFAULT_STRATEGY):
    maker = zlib.compressobj(level, zlib.DEFLATED, -15, 9, strategy)
    return maker.compress(data) + maker.flush()


def bits(*fields):
    """(value, bits), least significant bit first; codes are given in the order in which they are
    read."""
    whole = at = 0
    for value, count in fields:
        whole |= value << at
        at += count
    return whole.to_bytes((at + 7) // 8, "little")


def dynamic(literals, distances, more):
    """A final block whose code lengths are written one by one, as 4-bit codes for 0 to 15."""
    order = (16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15)
    head = [(1, 1), (2, 2), (len(literals) - 257, 5), (len(distances) - 1, 5), (15, 4)]
    head += [(4 if symbol < 16 else 0, 3) for symbol in order]
    told = [(int(f"{length:04b}"[::-1], 2), 4) for length in (*literals, *distances)]
    return bits(*head, *told, *more)


def with_lengths(count, lengths):
    return [lengths.get(symbol, 0) for symbol in range(count)]


def streams():
    random.seed(1)
    words = b" ".join(random.choice([b"model", b"weight", b"of", b"the", b"layer"]) + b"%d" % random.randrange(50)
                      for _ in range(250))
    floats = b"".join(b"\0\0" + struct.pack("<f", random.gauss(0, 1))[2:] for _ in range(400))
    ids = b"".join(struct.pack("<q", min(50256, int(random.paretovariate(.5)))) for _ in range(200))
    runs = b"".join(bytes([random.randrange(4)]) * random.randrange(1, 400) for _ in range(40))
    noise = random.randbytes(300)
    for name, data in (("words", words), ("floats", floats), ("ids", ids), ("runs", runs)):
        yield name, packed(data)
        yield name + "-fast", packed(data, 1)
        yield name + "-fixed", packed(data, 6, zlib.Z_FIXED)
        yield name + "-literals", packed(data, 6, zlib.Z_HUFFMAN_ONLY)
    yield "noise", packed(noise)
    yield "stored", packed(noise, 0)
    yield "nothing", packed(b"")
    yield "behind", packed(words[:100]) + b"behind the end"
    end = [(0, 1)]
    yield "one-word", dynamic(with_lengths(257, {256: 1}), [0], end)
    yield "one-distance", dynamic(with_lengths(258, {65: 2, 66: 2, 256: 2, 257: 2}), [1],
                                  [(0, 2), (3, 2), (0, 1), (1, 2)])
    yield "that-distance-not-there", dynamic(with_lengths(258, {65: 2, 66: 2, 256: 2, 257: 2}), [1],
                                             [(0, 2), (3, 2), (1, 1), (1, 2), (0, 30)])
    yield "no-distance", dynamic(with_lengths(258, {65: 2, 66: 2, 256: 2, 257: 2}), [0],
                                 [(0, 2), (3, 2), (0, 1), (1, 2), (0, 30)])
    yield "no-end", dynamic(with_lengths(257, {65: 1, 66: 1}), [0], [(0, 9)])
    yield "too-many-words", dynamic(with_lengths(257, {65: 1, 66: 1, 256: 1}), [0], [(0, 9)])
    yield "too-few-words", dynamic(with_lengths(257, {65: 2, 256: 2}), [0], [(0, 9)])
    yield "one-long-word", dynamic(with_lengths(257, {256: 2}), [0], [(0, 9)])
    yield "longest-words", dynamic(with_lengths(257, {**{65 + n: n + 1 for n in range(14)}, 90: 15, 256: 15}), [0],
                                   [((1 << n) - 1, n + 1) for n in range(14)] + [((1 << 14) - 1, 15), ((1 << 15) - 1, 15)])


# Incomplete Huffman codes, which zlib refuses and ISA-L accepts. No encoder writes them.
KNOWN_TO_ISAL = ("too-few-words", "one-long-word")


def verdict(stream):
    taker = zlib.decompressobj(-15)
    try:
        data = taker.decompress(stream)
    except zlib.error:
        return None
    return (data, len(taker.unused_data)) if taker.eof else None


def turned(stream):
    """Bit set of the streams with one flipped bit that zlib accepts, and the checksum of all their
    outputs."""
    taken, flips = bytearray(len(stream)), 0
    for bit in range(8 * len(stream)):
        broken = bytearray(stream)
        broken[bit // 8] ^= 1 << bit % 8
        found = verdict(bytes(broken))
        if found:
            taken[bit // 8] |= 1 << bit % 8
            flips = zlib.crc32(found[0], flips)
    return taken.hex(), flips


def main():
    lines = []
    for name, stream in streams():
        (HERE / f"{name}.deflate").write_bytes(stream)
        whole = verdict(stream)
        taken, flips = turned(stream)
        data, left = whole if whole else (b"", 0)
        size = str(len(data)) if whole else "?" if name in KNOWN_TO_ISAL else "-"
        lines.append(f"{name}\t{left}\t{size}\t{zlib.crc32(data):08x}\t{flips:08x}\t{taken}\n")
    (HERE / "expect.tsv").write_text("".join(lines))


if __name__ == "__main__":
    main()
