"""Port of the rules of encode.py and load_dataset.py: selected files, their order, and the boundaries of
arrays."""

import glob
import json
import os
import pathlib

import numpy
import regex

PATTERN = regex.compile(
    r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+""")
SEPARATOR = "<|endoftext|>"


def byte_characters():
    """Byte → its character in the vocabulary's files."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in plain]
    table = {byte: chr(byte) for byte in plain}
    table.update({byte: chr(256 + at) for at, byte in enumerate(others)})
    return table


class Encoder:
    def __init__(self, folder):
        folder = pathlib.Path(folder)
        self.ids = json.loads((folder / "encoder.json").read_text("utf-8"))
        lines = (folder / "vocab.bpe").read_text("utf-8").split("\n")[1:-1]
        self.ranks = {tuple(line.split()): rank for rank, line in enumerate(lines)}
        self.characters = byte_characters()
        self.known = {}

    def parts(self, word):
        """The tokens of a pre-token in the characters of the files, separated by spaces."""
        if word in self.known:
            return self.known[word]
        parts = tuple(word)
        while len(parts) > 1:
            best = min(zip(parts, parts[1:]), key=lambda pair: self.ranks.get(pair, 1 << 60))
            if best not in self.ranks:
                break
            merged, at = [], 0
            while at < len(parts):
                if parts[at:at + 2] == best:
                    merged.append(parts[at] + parts[at + 1])
                    at += 2
                else:
                    merged.append(parts[at])
                    at += 1
            parts = tuple(merged)
        self.known[word] = " ".join(parts)
        return self.known[word]

    def encode(self, text):
        """Builds and splits the strings of each pre-token anew, as the original does: the bench compares
        with its speed."""
        ids = []
        for word in PATTERN.findall(text):
            characters = "".join(self.characters[byte] for byte in word.encode("utf-8"))
            ids.extend(self.ids[part] for part in self.parts(characters).split(" "))
        return ids


def paths_of(path):
    if os.path.isfile(path):
        return [path]
    if os.path.isdir(path):
        return [os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names]
    return glob.glob(path)


def arrays_of(encoder, path, combine, encoding="utf-8"):
    """The chunks in the order in which they are written."""
    arrays, raw = [], ""
    for name in paths_of(path):
        if name.endswith(".npz"):
            with numpy.load(name) as npz:
                arrays += [npz[item] for item in npz.files]
            continue
        with open(name, "r", encoding=encoding) as file:
            raw += file.read()
        if len(raw) >= combine:
            arrays.append(numpy.array(encoder.encode(raw), dtype=numpy.int64))
            raw = ""
        else:
            raw += SEPARATOR
    if raw:
        arrays.append(numpy.array(encoder.encode(raw), dtype=numpy.int64))
    return arrays


class Sampler:
    """Sampler of load_dataset.py: windows at random positions, none across the end of a chunk."""

    def __init__(self, chunks, seed):
        self.chunks = chunks
        self.total = sum(chunk.shape[0] for chunk in chunks)
        self.bounds = [0]
        for chunk in chunks:
            self.bounds.append(self.bounds[-1] + chunk.shape[0])
        self.random = numpy.random.RandomState(seed=seed)

    def sample(self, length):
        assert length < self.total // len(self.chunks)
        while True:
            index = self.random.randint(0, self.total - length - 1)
            low, high = 0, len(self.bounds) - 1
            while high > low + 1:
                middle = (low + high) // 2
                low, high = (low, middle) if self.bounds[middle] > index else (middle, high)
            if self.bounds[high] > index + length:
                within = index - self.bounds[low]
                return self.chunks[low][within:within + length]
