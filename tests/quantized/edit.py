"""Reads and writes small safetensors files for the tests of damaged quantized checkpoints: a dict from name to
(dtype, shape, bytes)."""
import json
import struct


def load(path):
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    body = data[8 + size:]
    return {name: (entry["dtype"], entry["shape"], body[slice(*entry["data_offsets"])])
            for name, entry in header.items()}


def save(path, tensors):
    header, body = {}, b""
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


# ---- edits of a checkpoint: each returns a function of (tensors, config) -------------------------------------------

def together(*edits):
    def apply(tensors, config):
        for edit in edits:
            edit(tensors, config)
    return apply


def drop(*names):
    return lambda tensors, config: [tensors.pop(name) for name in names] and None


def rename(old, new):
    return lambda tensors, config: tensors.update({new: tensors.pop(old)})


def put(name, dtype, shape, data):
    return lambda tensors, config: tensors.update({name: (dtype, shape, data)})


def dtype(name, new):
    """Another dtype of the same size."""
    return lambda tensors, config: tensors.update({name: (new, *tensors[name][1:])})


def shape(name, new):
    """Another shape: the data is cut, or repeated."""
    def apply(tensors, config):
        kind, old, data = tensors[name]
        count, all_old = 1, 1
        for extent in new:
            count *= extent
        for extent in old:
            all_old *= extent
        size = len(data) // all_old * count
        tensors[name] = (kind, new, (data * (size // len(data) + 1))[:size])
    return apply


def patch(name, at, data):
    """Other bytes at a byte offset of a tensor's data."""
    def apply(tensors, config):
        kind, extents, old = tensors[name]
        tensors[name] = (kind, extents, old[:at] + data + old[at + len(data):])
    return apply


def data(name, new):
    return lambda tensors, config: tensors.update({name: (*tensors[name][:2], new)})


def config(*path, value):
    """Sets a member of the configuration; the path is below quantization_config."""
    def apply(tensors, config):
        node = config["quantization_config"]
        for key in path[:-1]:
            node = node[key]
        node[path[-1]] = value
    return apply


def no_config(*path):
    def apply(tensors, config):
        node = config["quantization_config"]
        for key in path[:-1]:
            node = node[key]
        del node[path[-1]]
    return apply


def repack(name, bits, old_columns):
    """Codes of a stream of bits as ⌊32/bits⌋ codes a word, as compressed-tensors 0.9.4 packed them."""
    def apply(tensors, config):
        kind, (rows, words), old = tensors[name]
        each, packed = 32 // bits, b""
        for row in range(rows):
            stream = int.from_bytes(old[row * words * 4:(row + 1) * words * 4], "little")
            codes = [stream >> bits * i & ((1 << bits) - 1) for i in range(old_columns)]
            for at in range(0, old_columns, each):
                word = sum(code << bits * i for i, code in enumerate(codes[at:at + each]))
                packed += word.to_bytes(4, "little")
        tensors[name] = (kind, [rows, -(-old_columns // each)], packed)
    return apply
