"""heft_sampler, compared with the Sampler of load_dataset.py, on outputs of encode and NumPy."""

import ctypes
import random

import numpy

from common import ROOT, Suite, heft
from encode_port import Sampler
from suite_tokens import Error, load

SMALL = ROOT / "tests" / "golden" / "tokens" / "small"
SEEDS = [0, 1, 2, 1234567, 2**32 - 1]
WINDOWS = 300


class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("seed", ctypes.c_uint32), ("width", ctypes.c_uint)]


class Drawn:
    def __init__(self, library, paths, seed, width=2):
        self.library, self.error = library, Error()
        names = (ctypes.c_char_p * len(paths))(*(str(path).encode() for path in paths))
        library.heft_sampler_open.restype = ctypes.c_void_p
        library.heft_sampler_next.restype = ctypes.c_bool
        self.handle = library.heft_sampler_open(names, ctypes.c_size_t(len(paths)),
                                                ctypes.byref(Options(ctypes.sizeof(Options), seed, width)),
                                                ctypes.byref(self.error))
        if not self.handle:
            raise ValueError(self.error.text.decode())

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.library.heft_sampler_close(ctypes.c_void_p(self.handle))

    def sample(self, length):
        ids = (ctypes.c_uint32 * length)()
        if not self.library.heft_sampler_next(ctypes.c_void_p(self.handle), ctypes.c_size_t(length),
                                              ids, None, ctypes.byref(self.error)):
            raise ValueError(self.error.text.decode())
        return ids[:]


def compare(suite, library, label, paths, chunks, width=2):
    most = sum(len(chunk) for chunk in chunks) // len(chunks) - 1 - (len(chunks) == 1)
    for seed in SEEDS:
        wanted, wrong = Sampler(chunks, seed), 0
        with Drawn(library, paths, seed, width) as drawn:
            for turn in range(WINDOWS):
                length = (1, most // 2 or 1, most, 17 if most > 17 else 1)[turn % 4]
                wrong += drawn.sample(length) != wanted.sample(length).tolist()
        suite.check(wrong == 0, f"{label}, seed {seed}", f"{wrong} of {WINDOWS} windows differ")


def plant(folder):
    """Files of all lengths: with --combine some have an array of their own, others share one."""
    rng = random.Random(9)
    folder.mkdir()
    for number in range(60):
        words = rng.choices(["the ", "tower ", "of ", "12", "é", "\n", "<|endoftext|>"],
                            k=rng.choice((0, 3, 40, 900)))
        (folder / f"{number:02}").write_text("".join(words), "utf-8")


def encoded(suite, library, folder):
    tree = folder / "tree"
    plant(tree)
    for combine in 1, 700, 5000, 50000:
        out = folder / f"{combine}.npz"
        ran = heft("encode", "--vocab", SMALL, "--no-sync", "--eot", "none" if combine == 1 else "text",
                   "--combine", combine, "--sort", tree, "-o", out)
        if suite.check(ran.status == 0, f"--combine {combine}", ran.line):
            with numpy.load(out) as npz:
                chunks = [npz[name] for name in npz.files]
            compare(suite, library, f"{len(chunks)} arrays, --combine {combine}", [out], chunks)
    for name, eot in (("all.bin", "id"), ("all.npy", "id")):
        ran = heft("encode", "--vocab", SMALL, "--no-sync", "--eot", eot, "--sort", tree, "-o",
                   folder / name)
        if suite.check(ran.status == 0, name, ran.line):
            ids = (numpy.fromfile(folder / name, "<u2") if name == "all.bin" else
                   numpy.load(folder / name))
            compare(suite, library, name, [folder / name], [ids])


def several(suite, library, folder):
    rng = numpy.random.default_rng(2)
    chunks = [rng.integers(0, 50257, n) for n in (300, 0, 1, 77, 4096, 513)]
    numpy.savez(folder / "stored.npz", *chunks[:3])
    numpy.savez_compressed(folder / "packed.npz", *(chunk.astype("<u2") for chunk in chunks[3:5]))
    chunks[5].astype("<u4").tofile(folder / "wide.bin")
    paths = [folder / name for name in ("stored.npz", "packed.npz", "wide.bin")]
    compare(suite, library, "three files", paths, chunks, 4)


def run(folder):
    suite = Suite("windows as train.py's Sampler draws them")
    library = load()
    encoded(suite, library, folder)
    several(suite, library, folder)
    return suite
