"""Encodes parts of TensorFlow's files: varints, fields of messages, masked checksums, records.

It checks nothing, so that it can build files that must be refused.
"""
import struct

from crc32c import crc32c


def varint(v):
    v &= (1 << 64) - 1
    out = b""
    while v > 0x7F:
        out, v = out + bytes([0x80 | v & 0x7F]), v >> 7
    return out + bytes([v])


def field(number, value):
    """A number as a varint; bytes with their length before them."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def mask(crc):
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def masked(data, crc=0):
    """The masked checksum that these files store."""
    return struct.pack("<I", mask(crc32c(data, crc)))


def record(data, length=None):
    """A record of a TFRecord file; `length` replaces its own length."""
    head = struct.pack("<Q", len(data) if length is None else length)
    return head + masked(head) + data + masked(data)
