#!/usr/bin/env python3
"""Writes the files of this directory with NumPy.

    make.py [FOLDER]        version.txt contains the release that wrote the present files
"""
import io
import pathlib
import sys
import zipfile

import numpy
from numpy.lib import format as npy_format

HERE = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__)
HERE = HERE if HERE.is_dir() else HERE.parent

# Written by macOS beside a file: its attributes, as another file.
APPLE_DOUBLE = b"\0\5\x16\7\0\2\0\0Mac OS X        " + bytes(138)

NUMBERS = "? i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16".split()


class Pipe(io.RawIOBase):
    """Not seekable, so that zipfile writes data descriptors."""

    def __init__(self, path):
        super().__init__()
        self.file = open(path, "wb")

    def writable(self):
        return True

    def write(self, data):
        return self.file.write(data)

    def close(self):
        self.file.close()
        super().close()


def ramp(code, *shape):
    return numpy.arange(numpy.prod(shape, dtype=int)).reshape(shape).astype(code)


def plain(array):
    out = io.BytesIO()
    numpy.save(out, array)
    return out.getvalue()


def save(name, array, version=None):
    with open(HERE / name, "wb") as file:
        npy_format.write_array(file, array, version=version)


def foreign_archives():
    """Archives of other programs: names in code page 437, and the additional files of macOS."""
    with zipfile.ZipFile(HERE / "page437.npz", "w") as archive:
        for name in ("caf__.npy", "w_.npy", "plain.npy"):
            archive.writestr(zipfile.ZipInfo(name), plain(ramp("u1", 2)))
    data = (HERE / "page437.npz").read_bytes()
    data = data.replace(b"caf__.npy", b"caf\x82\xe1.npy").replace(b"w_.npy", b"w\xb0.npy")
    (HERE / "page437.npz").write_bytes(data)
    assert numpy.load(HERE / "page437.npz").files == ["café\xdf", "w\u2591", "plain"]
    with zipfile.ZipFile(HERE / "mac.npz", "w") as archive:
        archive.writestr(zipfile.ZipInfo("x.npy"), plain(ramp("<f4", 2, 3)))
        archive.writestr(zipfile.ZipInfo("__MACOSX/"), b"")
        archive.writestr(zipfile.ZipInfo("__MACOSX/._x.npy"), APPLE_DOUBLE)
    assert numpy.load(HERE / "mac.npz")["__MACOSX/._x"] == APPLE_DOUBLE


def main():
    numpy.savez(HERE / "numbers.npz", **{code.replace("?", "b"): ramp(code, 2) for code in NUMBERS})
    numpy.savez(HERE / "big_endian.npz", **{code: ramp(">" + code, 3) for code in ("i2", "f8", "c8")})
    numpy.savez_compressed(HERE / "deflated.npz", w=ramp("<f4", 8, 16), turned=ramp("<i2", 3, 4).T,
                           scalar=numpy.float64(0.5), none=numpy.zeros((0, 3), "u1"),
                           day=numpy.array(["2020-02-29"], "M8[D]"), word=numpy.array(["ab", "é"]))
    numpy.savez(HERE / "others.npz", ramp("i4", 2), long=numpy.frombuffer(bytes(16), "g"), when=numpy.array([1], "m8[ms]"),
                void=numpy.zeros(3, "V2"), objects=numpy.array([1, "a", None], object),
                fields=numpy.zeros(2, [("a", "<f4"), ("b", "<i2", (2,))]))
    numpy.savez(HERE / "names.npz", **{"W": ramp("u1", 2), "w": ramp("u1", 3), "a/b": ramp("u1", 1),
                                       "/top": ramp("u1", 1), "é☃": ramp("u1", 1), "": ramp("u1", 1)})
    numpy.savez(HERE / "texts.npz", texts=numpy.array([["a", "bcd"], ["", "é☃🏋"]]),
                turned=numpy.asfortranarray([["a", "b"], ["c", "d"]]), big=numpy.array(["xy"], ">U2"),
                bytes=numpy.array([b"x", b"\xff\x00y"]), one=numpy.array("one"),
                none=numpy.zeros((2, 0), "U1"))
    with Pipe(HERE / "streamed.npz") as pipe:
        numpy.savez(pipe, a=ramp("<f4", 4), b=ramp("<i8", 2))
    numpy.savez_compressed(HERE / "inflated.npz", small=ramp("u1", 5), large=(numpy.arange(80000) % 251).astype("u1"),
                           second=(numpy.arange(70000) % 7).astype("u1"))
    numpy.savez(HERE / "empty.npz")
    save("fortran.npy", numpy.asfortranarray(ramp("<f4", 2, 3)))
    save("scalar.npy", numpy.array(1.5, "<f8"))
    save("rank.npy", ramp("u1", *([1] * 20 + [2])))
    save("version2.npy", ramp("<i2", 3), (2, 0))
    save("version3.npy", numpy.zeros(1, [("é☃", "<i2")]), (3, 0))
    save("objects.npy", numpy.array([len], object))
    with open(HERE / "two.npy", "wb") as file:
        numpy.save(file, ramp("u1", 2))
        numpy.save(file, ramp("u1", 3))
    foreign_archives()
    (HERE / "version.txt").write_text(f"numpy {numpy.__version__}, Python {sys.version.split()[0]}\n")


main()
