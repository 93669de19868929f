"""Letters and numbers of every version of Unicode, compared with the releases of unicodedata2.

The source of a release contains the general categories as CPython's makeunicodedata derived them from
Unicode's own files. It is not compiled: the table in its C header is parsed. tests/unit/test_classes.c
compares the library with the same digests."""

import hashlib
import itertools
import re
import sys
import tarfile
import zlib

import environment
from common import ROOT, Suite

RELEASES = {  # Unicode version: release, sha256 of its source
    "9.0": ("9.0.0.post4", "ef277bdec37f276829d0c249bda3447642c72248b697f2eea7a7c442dd4820d9"),
    "10.0": ("10.0.0.post2", "c4552a17f2d1ea418ceda402cf3b43e5542bcaae4f24f2f81591c96e121a2c76"),
    "11.0": ("11.0.0", "92197bf855c4b449d99328d1eee28b8295076ec99cdf21f2b6d62d45ff71c3ab"),
    "12.0": ("12.0.0", "d2eccba34ea5e1b4b3549391e1a10254577e7583f862a300e8f5665757564f77"),
    "12.1": ("12.1.0", "c86829393d1fba1b306e26fa46852c9841a7342ca9131909e5e44df7af959946"),
    "13.0": ("13.0.0.post2", "a83e504fb0e8ed4757194e61c3f7b69fb3c914856057bea968d0950f80f947fa"),
    "14.0": ("14.0.0", "41f7df0043f4450e84203d907a56cdd2a0a0541a9eebbaba48576b01e0b61684"),
    "15.0": ("15.0.0", "ed6c683f7b0a58cd11824b440d8ad24b22904ab3f63fc851bbcd7e518fa68f2d"),
    "15.1": ("15.1.0", "cb30f189ad66482f8529a45da71b2a8841e9bd2bb376cc2933003a4a55a07648"),
    "16.0": ("16.0.0", "05488d6592b59cd78b61ec37d38725416b2df62efafa6a0d63a631b27aa474fc"),
    "17.0": ("17.0.0", "ffa2f0d6834642fe996d356e728da887201533bb540974ae7ac975e66ecc0e3a"),
}
SPACES = {*range(9, 14), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F,
          0x205F, 0x3000}  # \s of the regex module
TABLE_ROW = re.compile(r"\{0x([0-9A-F]+), 0x([0-9A-F]+), ([LNS]), (\d+)\},")
DIGEST_ROW = re.compile(r'\{"([\d.]+)", (\d+), (\d+), UINT32_C\(0x([0-9A-F]+)\)\}')


def archive_of(release, sha256):
    """The source of a release, downloaded once."""
    folder = environment.cache_folder() / "unicodedata2"
    path = folder / f"unicodedata2-{release}.tar.gz"
    if not path.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        environment.run([sys.executable, "-m", "pip", "--disable-pip-version-check", "download",
                         "--quiet", "--no-deps", "--no-binary", ":all:", "--retries", "1", "--dest",
                         str(folder), f"unicodedata2=={release}"], f"unicodedata2 {release}")
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != sha256:
        path.unlink()
        raise environment.Unavailable(f"{path.name}: sha256 is {found}, {sha256} was pinned")
    return path


def header_of(path):
    with tarfile.open(path) as tar:
        names = [name for name in tar.getnames()
                 if re.search(r"/unicodedata2/(py3/)?unicodedata_db\.h$", name)]
        return tar.extractfile(names[0]).read().decode("ascii")


def body_of(header, name):
    return re.search(rf"\b{name}\[\] = \{{(.*?)\n\}};", header, re.S).group(1)


def numbers_of(header, name):
    return [int(word) for word in re.findall(r"\d+", body_of(header, name))]


def classes_of(header):
    """One character per code point: L, N, S, or O for all others."""
    names = re.findall(r'"(\w*)"', body_of(header, "_PyUnicode_CategoryNames"))
    kinds = [names[int(row)][:1] for row in
             re.findall(r"\{(\d+),", body_of(header, "_PyUnicode_Database_Records"))]
    shift = int(re.search(r"#define SHIFT (\d+)", header).group(1))
    high, low = numbers_of(header, "index1"), numbers_of(header, "index2")
    found = []
    for c in range(0x110000):
        kind = kinds[low[(high[c >> shift] << shift) + (c & (1 << shift) - 1)]]
        found.append("S" if c in SPACES else kind if kind in ("L", "N") else "O")
    return found


def table_of(version):
    text = (ROOT / "src/tokens/unicode/class_ranges.c").read_text("ascii")
    found = ["O"] * 0x110000
    for first, last, kind, since in TABLE_ROW.findall(text):
        if int(since) <= int(version.replace(".", "")):
            at, end = int(first, 16), int(last, 16) + 1
            found[at:end] = itertools.repeat(kind, end - at)
    return found


def digests():
    """Expected values of test_classes.c: version → letters, numbers, CRC-32."""
    text = (ROOT / "tests/unit/test_classes.c").read_text("ascii")
    return {version: (int(letters), int(numbers), int(crc, 16))
            for version, letters, numbers, crc in DIGEST_ROW.findall(text)}


def compare(suite, version, wanted, digest):
    got = table_of(version)
    wrong = [f"U+{c:04X}" for c in range(0x110000) if got[c] != wanted[c]]
    suite.check(not wrong, f"Unicode {version}: every code point", f"{len(wrong)} differ: {wrong[:8]}")
    coded = bytes({"O": 0, "L": 1, "N": 2, "S": 3}[kind] for kind in wanted)
    suite.equal((coded.count(1), coded.count(2), zlib.crc32(coded)), digest,
                f"Unicode {version}: what the library is held to")


def run(folder):
    suite = Suite("letters and numbers of Unicode 9.0 to 17.0 as unicodedata2 has them")
    held = digests()
    suite.equal(list(held), list(RELEASES), "versions")
    for version, (release, sha256) in RELEASES.items():
        try:
            header = header_of(archive_of(release, sha256))
        except environment.Unavailable as reason:
            suite.skip(f"Unicode {version}: {reason}")
            continue
        suite.check(f'UNIDATA_VERSION "{version}.0"' in header, f"Unicode {version}: its own")
        compare(suite, version, classes_of(header), held[version])
    return suite
