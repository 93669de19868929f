""".npy and .npz in both directions: written by numpy, and read by numpy from heft's output."""

import filecmp
import io
import json
import shutil
import sys
import warnings
import zipfile

import numpy
import safetensors.numpy
import torch

import generate
from common import Suite, heft, listing

CODES = "? i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16".split()
NAMES = dict(zip(CODES, "BOOL I8 I16 I32 I64 U8 U16 U32 U64 F16 F32 F64 C64 C128".split()))
# From this size on zipfile writes local headers with zip64, and so does heft.
SAME_ZIP = sys.version_info >= (3, 11, 4)
ROUNDS = 40


def random_array(rng, code):
    """Any bits (including NaN payloads), in any memory order."""
    shape = tuple(rng.choice((0, 1, 2, 3, 5)) for _ in range(rng.randrange(5)))
    dtype = numpy.dtype(code).newbyteorder(rng.choice("<>"))
    count = int(numpy.prod(shape, dtype=int))
    if code == "?":
        array = numpy.array([rng.random() < 0.5 for _ in range(count)], bool).reshape(shape)
    else:
        array = numpy.frombuffer(rng.randbytes(count * dtype.itemsize), dtype).reshape(shape)
    return numpy.asfortranarray(array) if rng.random() < 0.4 else array


def random_name(rng, number):
    return rng.choice(["w", "W", "layer/0/kernel", "a.b", "/top", "ünïcode", "x y", "..", "n"]) + str(number)


def plain(array):
    """As heft writes it: row-major and little-endian."""
    return numpy.array(array, array.dtype.newbyteorder("<"), order="C")


def same(left, right):
    return (left.dtype.newbyteorder("=") == right.dtype.newbyteorder("=") and left.shape == right.shape
            and plain(left).tobytes() == plain(right).tobytes())


def read_back(suite, path, arrays, label):
    with numpy.load(path, allow_pickle=False) as archive:
        suite.equal(archive.files, list(arrays), f"{label}: names in order")
        for name, array in arrays.items():
            suite.check(same(archive[name], array), f"{label}: {name!r}", f"{array.dtype} {array.shape}")


def generated(suite, folder):
    for number in range(ROUNDS):
        rng = generate.source(f"npz {number}")
        arrays = {random_name(rng, n): random_array(rng, rng.choice(CODES))
                  for n in range(rng.randrange(9))}
        wanted = folder / "wanted.npz"
        numpy.savez(wanted, **{name: plain(array) for name, array in arrays.items()})
        for save in (numpy.savez, numpy.savez_compressed):
            label = f"{save.__name__} {number}"
            given, out, safe = folder / "in.npz", folder / "out.npz", folder / "out.safetensors"
            save(given, **arrays)
            rows, ran = listing(given)
            if not suite.check(rows is not None, f"{label}: ls", ran.line):
                continue
            suite.equal({name: (row["dtype"], tuple(row["shape"])) for name, row in rows.items()},
                        {name: (NAMES[array.dtype.str[1:].replace("b1", "?")], array.shape)
                         for name, array in arrays.items()}, f"{label}: rows")
            suite.equal(heft("verify", given).status, 0, f"{label}: verify")
            ran = heft("convert", "-q", "-f", "--allow-empty", given, "-o", out)
            if not suite.check(ran.status == 0, f"{label}: convert", ran.line):
                continue
            read_back(suite, out, arrays, label)
            if SAME_ZIP:
                suite.check(filecmp.cmp(out, wanted, shallow=False), f"{label}: savez byte for byte")
            if not any(array.dtype.kind == "c" and array.itemsize == 16 for array in arrays.values()):
                through_safetensors(suite, out, safe, arrays, label)


def through_safetensors(suite, given, safe, arrays, label):
    ran = heft("convert", "-q", "-f", "--allow-empty", given, "-o", safe)
    if not suite.check(ran.status == 0, f"{label}: to safetensors", ran.line):
        return
    loaded = safetensors.numpy.load_file(safe)
    suite.check(loaded.keys() == arrays.keys() and
                all(same(loaded[name], arrays[name]) for name in arrays), f"{label}: safetensors")
    back = safe.with_suffix(".npz")
    ran = heft("convert", "-q", "-f", "--allow-empty", safe, "-o", back)
    if suite.check(ran.status == 0, f"{label}: from safetensors", ran.line):
        with numpy.load(back, allow_pickle=False) as archive:
            suite.check(sorted(archive.files) == sorted(arrays) and
                        all(same(archive[name], arrays[name]) for name in arrays), f"{label}: back")


def single(suite, folder):
    given, out = folder / "name of it.npy", folder / "out.npy"
    for number in range(ROUNDS):
        rng = generate.source(f"npy file {number}")
        array, wanted = random_array(rng, rng.choice(CODES)), io.BytesIO()
        for version in ((1, 0), (2, 0), (3, 0)):
            with open(given, "wb") as file:
                numpy.lib.format.write_array(file, array, version=version)
            ran = heft("convert", "-q", "-f", given, "-o", out)
            if suite.check(ran.status == 0, f"npy {number}: convert", ran.line):
                suite.check(same(numpy.load(out), array), f"npy {number}: values")
                numpy.save(wanted := io.BytesIO(), plain(array))
                suite.check(out.read_bytes() == wanted.getvalue(), f"npy {number}: byte for byte")
        rows, ran = listing(given)
        suite.equal(list(rows or []), ["name of it"], "an .npy's tensor is called like the file")


# ---- headers, as numpy judges them ------------------------------------------------------------

DICT = "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }"
HEADERS = [DICT, DICT + "\n", DICT.replace("'", '"'), "  \n" + DICT, DICT + " # {", DICT + "\0", DICT + "}",
           DICT.replace("(3,)", "(3)"), DICT.replace("(3,)", "[3]"), DICT.replace("(3,)", "(3L,)"),
           DICT.replace("(3,)", "(0x3,)"), DICT.replace("(3,)", "(1_0,)"), DICT.replace("(3,)", "(True,)"),
           DICT.replace("(3,)", "(1+1,)"), DICT.replace("(3,)", "()"), DICT.replace("(3,)", "(3,1,)"),
           DICT.replace("(3,)", "(03,)"), DICT.replace("(3,)", "(9223372036854775808,)"),
           DICT.replace("(3,)", "(0, 9223372036854775807, 9223372036854775807)"),
           DICT.replace("(3,)", "(" + "1, " * 64 + ")"), DICT.replace("(3,)", "(" + "1, " * 65 + ")"),
           DICT.replace("False", "0"), DICT.replace("False", "None"), DICT.replace("False", "True"),
           DICT.replace("'<f4'", "u'<f4'"), DICT.replace("'<f4'", "'<' 'f4'"),
           DICT.replace("'<f4'", "'\\x3cf4'"), DICT.replace("'<f4'", "b'<f4'"),
           DICT.replace("'<f4'", "'float32'"), DICT.replace("'<f4'", "'f'"), DICT.replace("'<f4'", "'|f4'"),
           DICT.replace("'<f4'", "'=i8'"), DICT.replace("'<f4'", "'?'"), DICT.replace("'<f4'", "'bfloat16'"),
           DICT.replace("'<f4'", "'<f3'"), DICT.replace("'<f4'", "'|O'"), DICT.replace("'<f4'", "'<i2,<f4'"),
           DICT.replace("'shape'", "'size'"), DICT[:-1] + "'more': 1}", "dict(" + DICT + ")", "", "{", "[]",
           DICT[:-4] + ", 'descr': '<i4'}", DICT[1:], DICT.replace(": (", " (")]


def headers(suite, folder):
    path = folder / "header.npy"
    for text in HEADERS:
        for version in ((1, 0), (2, 0), (3, 0)):
            size = 2 if version == (1, 0) else 4
            path.write_bytes(b"\x93NUMPY" + bytes(version) + len(text).to_bytes(size, "little") +
                             text.encode() + bytes(64))
            try:
                array = numpy.load(path, allow_pickle=False)
            except Exception:  # whatever the exception, numpy refuses it
                array = None
            rows, ran = listing(path)
            numbers = array is not None and array.dtype.fields is None
            expected = ([(NAMES[array.dtype.str[1:].replace("b1", "?")], list(array.shape))]
                        if numbers else [])
            suite.equal([(row["dtype"], row["shape"]) for row in (rows or {}).values()], expected,
                        f"header {version[0]} {text!r} ({ran.line})")


# ---- what is no tensor ------------------------------------------------------------------------

def others(suite, folder):
    path = folder / "others.npz"
    arrays = {"text": numpy.array([["a", "bé"], ["", "🏋"]]), "big": numpy.array(["x"], ">U3"),
              "turned": numpy.asfortranarray([["a", "b"], ["c", "d"]]), "bytes": numpy.array([b"ab", b"c"]),
              "word": numpy.array("word"), "day": numpy.array(["2020-02-29", "NaT"], "M8[D]"),
              "span": numpy.array([3, 4], ">m8[ns]"), "void": numpy.zeros(3, "V5")}
    for save in (numpy.savez, numpy.savez_compressed):
        save(path, **arrays)
        ran = heft("info", "--json", path)
        values = ran.json["values"]
        for name in ("text", "big", "turned", "word"):
            suite.equal(values[name], arrays[name].tolist(), f"{name} ({save.__name__})")
        suite.equal(values["bytes"], ["ab", "c"], f"bytes ({save.__name__})")
        for name in ("day", "span", "void"):
            ran = heft("get", "-o", "-", path, name)
            suite.check(ran.out == arrays[name].tobytes(), f"{name}'s bytes ({save.__name__})", ran.line)


def refused(suite, folder):
    path, out = folder / "in.pt", folder / "refused.npz"
    for dtype, cast in ((torch.bfloat16, "F32"), (torch.float8_e4m3fn, "F32"), (torch.complex32, "C64")):
        torch.save({"a": torch.ones(2, dtype=torch.float32).to(dtype)}, path)
        ran = heft("convert", "-q", "-f", path, "-o", out)
        suite.check(ran.status == 2 and not out.exists() and b"--cast 'a=" + cast.encode() in ran.err,
                    f"{dtype} is refused", ran.line)
        ran = heft("convert", "-q", "-f", f"--cast=a={cast}", path, "-o", out)
        suite.check(ran.status == 0 and numpy.load(out)["a"].tolist() == [1, 1], f"{dtype} as {cast}", ran.line)
        out.unlink(missing_ok=True)


def objects(suite, folder):
    """Never unpickled: listed as unreadable, and reported by scan."""
    path = folder / "objects.npz"
    numpy.savez(path, a=numpy.ones(2), o=numpy.array([print], object))
    ran = heft("info", "--json", path)
    suite.equal([item["name"] for item in ran.json["unreadable"]], ["o"], "objects are named")
    ran = heft("scan", "--json", path)
    suite.check(ran.status == 1 and b"builtins.print" in ran.out, "scan reports their calls", ran.line)


# ---- zip64 ------------------------------------------------------------------------------------

def large(suite, folder):
    """A member of more than 4 GiB, and one after it; the input is sparse."""
    size = 2**32 + 4096
    if shutil.disk_usage(folder).free < 4 * size:
        suite.skip("not enough disk space for members of 4 GiB")
        return
    given, out, wanted = folder / "in.safetensors", folder / "large.npz", folder / "wanted.npz"
    header = json.dumps({"a": {"dtype": "U8", "shape": [size], "data_offsets": [0, size]},
                         "b": {"dtype": "U8", "shape": [3], "data_offsets": [size, size + 3]}}).encode()
    with open(given, "wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        file.truncate(8 + len(header) + size + 3)
    ran = heft("convert", "-q", "--no-sync", given, "-o", out)
    if not suite.check(ran.status == 0, "4 GiB: convert", ran.line):
        return
    numpy.savez(wanted, a=numpy.zeros(size, "u1"), b=numpy.zeros(3, "u1"))
    if SAME_ZIP:
        suite.check(filecmp.cmp(out, wanted, shallow=False), "4 GiB: savez byte for byte")
    with zipfile.ZipFile(out) as archive:
        suite.equal([info.file_size for info in archive.infolist()], [size + 128, 131], "4 GiB: sizes")
    rows, ran = listing(wanted)
    suite.equal({name: row["bytes"] for name, row in (rows or {}).items()}, {"a": size, "b": 3}, "4 GiB: ls")
    suite.equal(heft("verify", "-q", wanted).status, 0, "4 GiB: verify")


def many(suite, folder):
    """More members than 16 bits can count."""
    given, out = folder / "many.npz", folder / "out.npz"
    numpy.savez(given, **{f"t{number}": numpy.array(number, "<u4") for number in range(65600)})
    ran = heft("convert", "-q", "-f", "--no-sync", given, "-o", out)
    suite.check(ran.status == 0, "65600 members", ran.line)
    if SAME_ZIP:
        suite.check(filecmp.cmp(out, given, shallow=False), "65600 members: savez byte for byte")


def run(folder):
    suite = Suite(".npy and .npz beside numpy")
    warnings.filterwarnings("ignore", message="Reading `.npy`")  # from 3L in Python 2
    for part in (generated, single, headers, others, refused, objects, large, many):
        part(suite, folder)
    return suite
