"""Texts to encode: from files of this machine, without repetition; created once."""

import gzip
import hashlib
import pathlib
import random
import subprocess
import sys
import sysconfig
import tempfile

from inputs import made
from measure import STORE, environment

MANUALS = (pathlib.Path("/usr/share/man"), pathlib.Path("/usr/share/doc"))
CJK = ("manpages-zh", "manpages-ja", "manpages-ja-dev", "manpages-ko")
LEAST = 8 * 10**6  # bytes; with a smaller text a measurement is meaningless


class Missing(environment.Unavailable):
    """The text is not available here; the message is a one-line reason."""


def content(path):
    """Text of a file, unpacked; None if it is not text."""
    try:
        data = path.read_bytes()
        data = gzip.decompress(data) if path.suffix == ".gz" else data
        data.decode()
    except (OSError, EOFError, ValueError):
        return None
    return data


def gather(files, size, fits=lambda data: True):
    """Different texts, concatenated, up to `size` bytes."""
    seen, parts, total = set(), [], 0
    for path in files:
        data = content(path) if path.is_file() and not path.is_symlink() else None
        if not data or not fits(data) or hashlib.sha256(data).digest() in seen:
            continue
        seen.add(hashlib.sha256(data).digest())
        parts.append(data)
        total += len(data)
        if total >= size:
            break
    return b"".join(parts)[:size].decode(errors="ignore").encode()


def files_under(folders, pattern="*"):
    return (path for folder in folders for path in sorted(folder.rglob(pattern)))


def write(part, data, what):
    if len(data) < LEAST:
        raise Missing(f"{what}: only {len(data) / 1e6:.1f} MB on this machine")
    part.write_bytes(data)


def english(size=100 * 10**6):
    """Manuals and documents that are almost entirely ASCII."""
    def fits(data):
        return sum(byte >= 0x80 for byte in data[:4096]) < 40
    return made(STORE / f"english-{size // 10**6}.txt",
                lambda part: write(part, gather(files_under(MANUALS), size, fits), "English"))


def code(size=100 * 10**6):
    """Python of the standard library and of installed packages, and C headers."""
    paths = {sysconfig.get_path(name) for name in ("stdlib", "platlib")}
    folders = [pathlib.Path(path) for path in sorted(paths)] + [pathlib.Path("/usr/include")]
    python = pathlib.Path(sys.executable).resolve()

    def make(part):
        files = [*files_under(folders, "*.py"), *files_under(folders, "*.h")]
        write(part, gather(files, size), f"code beside {python}")
    return made(STORE / f"code-{size // 10**6}.txt", make)


def cjk(size=100 * 10**6):
    """Manuals in Chinese, Japanese and Korean, from the distribution."""
    def make(part):
        with tempfile.TemporaryDirectory() as folder:
            for name in CJK:
                subprocess.run(["apt-get", "download", "-q", name], cwd=folder,
                               stdin=subprocess.DEVNULL, capture_output=True)
            for package in sorted(pathlib.Path(folder).glob("*.deb")):
                subprocess.run(["dpkg-deb", "-x", str(package), f"{folder}/all"], check=True)
            write(part, gather(files_under([pathlib.Path(folder) / "all"]), size),
                  f"apt-get download {' '.join(CJK)}")
    try:
        return made(STORE / f"cjk-{size // 10**6}.txt", make)
    except OSError as reason:
        raise Missing(f"apt-get: {reason}") from None


ALL = {"English": english, "code": code, "CJK": cjk}


def drawn(letters, seed=1):
    """Random text of `size` bytes of letters with this number of bytes each."""
    choice = {byte: letters[byte * len(letters) // 256] for byte in range(256)}

    def make(size):
        each = len(letters[0].encode())
        return random.Random(seed).randbytes(size // each).decode("latin-1").translate(choice).encode()
    return make


def repeated(unit):
    return lambda size: unit * (size // len(unit))


def letters_and_dashes(size):
    """Alternating runs of thousands of letters and of hundreds of dashes."""
    return b"".join(drawn(LETTERS, turn)(2000) + b"-" * (100 + turn % 500)
                    for turn in range(size // 2000))[:size]


LETTERS = "abcdefghijklmnopqrstuvwxyz"
HARD_TEXTS = {
    "one letter": repeated(b"a"), "spaces": repeated(b" "), "ab": repeated(b"ab"),
    "dashes": repeated(b"-"), "random letters": drawn(LETTERS),
    "random digits": drawn("0123456789"), "random punctuation": drawn("!#$%&()*+,-./:;<=>?@[]^_{|}~"),
    "random Cyrillic": drawn("абвгдежзийклмнопрстуфхцчшщъыьэюя"),
    "letters and dashes": letters_and_dashes, "DNA": drawn("ACGT"),
}


def hard(name, size):
    """One pre-token of `size` bytes, or, with dashes between the letters, several of a few thousand
    bytes each."""
    return made(STORE / f"hard-{name.replace(' ', '-')}-{size // 10**6}.txt",
                lambda part: part.write_bytes(HARD_TEXTS[name](size)))


HARD = tuple(HARD_TEXTS)


def short_lines(n):
    """n JSON lines with one token each."""
    return made(STORE / f"lines-{n}.jsonl", lambda part: part.write_bytes(b'{"t":"a"}\n' * n))


def many_files(n):
    """A directory of that many files, with two words each."""
    folder = STORE / f"files-{n}"
    for number in range(n):
        if number % 1000 == 0:
            (folder / f"{number // 1000:03}").mkdir(parents=True, exist_ok=True)
        path = folder / f"{number // 1000:03}" / f"document-{number:06}.txt"
        if not path.exists():
            path.write_text("hello world")
    return folder
