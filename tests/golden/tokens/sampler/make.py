#!/usr/bin/env python3
"""Writes the files of this directory with NumPy 2.4: arrays of ids, and expected numbers and windows of a sampler.

    draws.tsv      seed, below, and twelve numbers of RandomState(seed).randint(0, below)
    windows.tsv    file, seed, length, and for each of eight windows begin:first id:sum of ids
"""
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
BELOWS = [1, 2, 3, 7, 100, 1 << 16, 50257, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32,
          (1 << 32) + 1, (1 << 33) + 5, 9035582198, 1 << 40, (1 << 62) + 12345]


def draws():
    for seed in (0, 1, 42, 2**32 - 1):
        for below in BELOWS:
            random = np.random.RandomState(seed)
            yield [seed, below] + [int(random.randint(0, below)) for _ in range(12)]


def windows(chunks, seed, length, count=8):
    """Windows of the Sampler of load_dataset.py."""
    total = sum(len(chunk) for chunk in chunks)
    bounds = np.cumsum([0] + [len(chunk) for chunk in chunks])
    random = np.random.RandomState(seed)
    assert length < total // len(chunks)
    while count:
        index = int(random.randint(0, total - length - 1))
        i = int(np.searchsorted(bounds, index, side="right")) - 1
        if bounds[i + 1] > index + length:
            window = chunks[i][index - bounds[i]:index - bounds[i] + length]
            yield f"{index}:{int(window[0])}:{int(window.sum())}"
            count -= 1


def main():
    random = np.random.RandomState(7)
    chunks = [random.randint(0, 50257, n) for n in (700, 0, 41, 1300)]
    files = {"deflated.npz": chunks, "stored.npz": chunks[:1] + chunks[2:], "i4.npy": chunks[3:],
             "u16.bin": chunks[3:], "u32.bin": chunks[:1], "llmc.bin": chunks[:1],
             "u1.npy": [chunks[3] % 256]}
    np.savez_compressed(HERE / "deflated.npz", *chunks)
    np.savez(HERE / "stored.npz", *files["stored.npz"])
    np.save(HERE / "i4.npy", chunks[3].astype("<i4"))
    np.save(HERE / "u1.npy", (chunks[3] % 256).astype("u1"))
    (HERE / "u16.bin").write_bytes(chunks[3].astype("<u2").tobytes())
    (HERE / "u32.bin").write_bytes(chunks[0].astype("<u4").tobytes())
    head = np.zeros(256, "<i4")
    head[:3] = [20240520, 1, len(chunks[0])]
    (HERE / "llmc.bin").write_bytes(head.tobytes() + chunks[0].astype("<u2").tobytes())
    with open(HERE / "draws.tsv", "w", encoding="ascii") as out:
        for row in draws():
            out.write("\t".join(map(str, row)) + "\n")
    with open(HERE / "windows.tsv", "w", encoding="ascii") as out:
        for name, arrays in files.items():
            for seed, length in ((0, 1), (1, 17), (12345, 200)):
                out.write("\t".join([name, str(seed), str(length),
                                     *windows(arrays, seed, length)]) + "\n")


if __name__ == "__main__":
    main()
