"""Hostile texts and ids, just under 64 MiB, and the encoder's verbs on them."""
import itertools
import random
import struct
from pathlib import Path

from bounds_runs import SIZE

VOCABULARY = Path(__file__).resolve().parent.parent / "golden/tokens/small"
LETTERS = b"abcdefghijklmnopqrstuvwxyz"
HAN = [chr(point) for point in range(0x4E00, 0x9FA5)]


def drawn(rng, n, letters):
    """n random letters, each about as often as the others."""
    return rng.randbytes(n).translate(bytes(letters[i % len(letters)] for i in range(256)))


def fibonacci(n):
    older, newer = b"a", b"ab"
    while len(newer) < n:
        older, newer = newer, newer + older
    return newer[:n]


def words_of_two(rng, n):
    text = bytearray(drawn(rng, n // 3 * 3, LETTERS))
    text[2::3] = b" " * (n // 3)
    return text


def words(n):
    """The maximum number of different words: of four letters, then numbers."""
    text = [bytes(letters) for letters in itertools.islice(itertools.product(LETTERS + LETTERS.upper(), repeat=4), n // 5)]
    return b" ".join(text + [b"%d" % i for i in range(100000, 100000 + (n - 5 * len(text)) // 8)])


def texts():
    rng = random.Random(17)
    yield "one-letter", b"a" * SIZE
    yield "two-letters", b"ab" * (SIZE // 2)
    yield "fibonacci", fibonacci(SIZE)
    yield "runs", (b"a" * 999 + b"b") * (SIZE // 1000)
    yield "random-letters", drawn(rng, SIZE, LETTERS)
    yield "random-words", drawn(rng, SIZE, LETTERS + b" " * 4)
    yield "different-words", words(SIZE)
    yield "short-words", words_of_two(rng, SIZE)
    yield "random-han", "".join(rng.choices(HAN, k=SIZE // 3)).encode()
    half = "".join(rng.choices(HAN, k=SIZE // 6)).encode()
    yield "han-twice", half + half
    yield "digits", drawn(rng, SIZE, b"0123456789")
    yield "spaces", b" " * SIZE
    yield "lines", b"\n" * SIZE
    yield "zeros", bytes(SIZE)
    yield "no-utf-8", b"a" * SIZE + b"\xff"


def ids():
    yield "one", struct.pack("<H", 998) * (SIZE // 2)
    yield "ascending", struct.pack("<999H", *range(999)) * (SIZE // 1998)
    yield "none", struct.pack("<H", 998) * (SIZE // 2 - 1) + b"\xff\xff"


def write_texts(folder):
    for name, text in texts():
        (folder / f"text-{name}").write_bytes(text)
        yield folder / f"text-{name}"
    for name, numbers in ids():
        (folder / f"ids-{name}.bin").write_bytes(numbers)
        yield folder / f"ids-{name}.bin"
    path = folder / "text-many-files"
    path.mkdir()
    for i in range(20000):
        (path / str(i)).write_bytes(b"%x" % (i * 7919))
    yield path


def verbs_of_texts(heft, path, outputs):
    vocabulary = ["--vocab", VOCABULARY]
    if path.name.startswith("ids-"):
        yield "decode", [heft, "decode", path, *vocabulary, "-o", "-"]
        return
    yield "train", [heft, "train", path, "-o", next(outputs), "--vocab-size", "2000", "--no-sync"]
    yield "train --style subword-nmt", [heft, "train", path, "-o", next(outputs), "--style", "subword-nmt",
                                        "--symbols", "2000", "--no-sync"]
    yield "encode", [heft, "encode", path, *vocabulary, "-o", next(outputs).with_suffix(".bin"), "--format", "bin",
                     "--no-sync"]
    yield "count", [heft, "count", path, *vocabulary]
