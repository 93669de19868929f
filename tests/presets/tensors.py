"""Tensors of whole numbers, as lists; and safetensors files of them, without a library."""
import itertools
import json
import math
import struct


class Tensor:
    """F32, row-major."""

    def __init__(self, shape, values):
        self.shape, self.values = tuple(shape), list(values)
        assert len(self.values) == math.prod(self.shape), (shape, len(self.values))

    def __getitem__(self, index):
        index = index if isinstance(index, tuple) else (index,)
        assert len(index) == len(self.shape) and all(0 <= i < n for i, n in zip(index, self.shape)), (index, self.shape)
        at = 0
        for i, n in zip(index, self.shape):
            at = at * n + i
        return self.values[at]

    def __eq__(self, other):
        return self.shape == other.shape and self.values == other.values


def by_formula(shape, formula):
    """The tensor whose element at an index is formula(*index)."""
    return Tensor(shape, (formula(*index) for index in itertools.product(*map(range, shape))))


def counter():
    """A function that makes tensors whose elements count on from the last one's."""
    numbers = itertools.count(1)
    return lambda *shape: Tensor(shape, itertools.islice(numbers, math.prod(shape)))


def save(path, tensors, metadata=None):
    header, body = {"__metadata__": metadata} if metadata else {}, b""
    for name, tensor in tensors.items():
        data = struct.pack(f"<{len(tensor.values)}f", *tensor.values)
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


def load(path):
    """(tensors, metadata)"""
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header, tensors = json.loads(data[8:8 + size]), {}
    metadata = header.pop("__metadata__", {})
    for name, row in header.items():
        begin, end = row["data_offsets"]
        assert row["dtype"] == "F32", (name, row)
        tensors[name] = Tensor(row["shape"], struct.unpack(f"<{(end - begin) // 4}f", data[8 + size + begin:8 + size + end]))
    return tensors, metadata
