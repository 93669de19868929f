#!/usr/bin/env python3
"""Writes the samples beside it, each malformed in one way, and expect.tsv: python3 make.py

Headers are built by hand, as NumPy would not write them. NumPy reads those called `ok`, but does not write such.
"""
import io
import pathlib
import struct
import zipfile
import zlib

HERE = pathlib.Path(__file__).resolve().parent
ROWS = []
DICT = "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }"
DATA = bytes(12)
LOCAL = 30 + len("x.npy")  # offset of a stored member's payload


def sample(name, code, offset, text, data):
    (HERE / name).write_bytes(data)
    ROWS.append((name, code, offset if isinstance(offset, str) else hex(offset), text))


def npy(header, data=DATA, version=(1, 0), length=None):
    text = header.encode("latin-1" if version < (3, 0) else "utf-8", "surrogateescape")
    n = len(text) if length is None else length
    return b"\x93NUMPY" + bytes(version) + struct.pack("<H" if version == (1, 0) else "<I", n) + text + data


def header(name, code, offset, text, header, **more):
    """offset: in the header's text."""
    sample(name + ".npy", code, 10 + offset if isinstance(offset, int) else offset, text, npy(header, **more))


def changed(descr="'<f4'", order="False", shape="(3,)"):
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}"


def npz(*members, method=zipfile.ZIP_STORED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in members:
            info = zipfile.ZipInfo(name)
            info.compress_type = method
            archive.writestr(info, data)
    return out.getvalue()


def flip(data, at):
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1:]


def what_numpy_reads():
    for name, text in {
        "double-quotes": DICT.replace("'", '"'),
        "no-newline": DICT,
        "other-order": "{'shape': (3,), 'fortran_order': False, 'descr': '<f4'}",
        "space-in-front": " \n\t" + DICT,
        "comment": DICT + " # behind {",
        "unicode-prefix": "{u'descr': u'<f4', u'fortran_order': False, u'shape': (3L,), }",
        "escapes": "{'de' \"scr\": '\\x3cf4', 'fortran_order': False, 'shape': (3,)}\n",
        "hex-shape": changed(shape="(0x3,)"),
        "underscores": changed(shape="(0b1_1,)"),
        "signs": changed(shape="(+ 3, +0x1)"),
        "line-goes-on": changed(shape="(3\\\n,)"),
        "name-of-type": changed("'float32'"),
        "letter-of-type": changed("'f'"),
        "brackets-around": "({('descr'): (('<f4')), 'fortran_order': (False), (('shape')): (((3),))})",
        "brackets-in-shape": changed(shape="( ((3) ) , (1))"),
        "no-comma-at-the-end": "{'descr':'<f4','fortran_order':False,'shape':(3,)}",
    }.items():
        header("ok-" + name, "ok", "*", "", text)
    twice = changed(shape="(4,)")[:-1] + "'shape': (3,)}"
    header("key-twice", "note", len(twice), "a key occurs twice", twice)
    header("ok-latin1-comment", "ok", "*", "", DICT + " # \xe9")
    sample("ok-minus-nothing.npy", "ok", "*", "", npy(changed(shape="(- 0, 3)"), b""))
    sample("ok-version-3.npy", "ok", "*", "", npy(DICT + " # é☃\n", version=(3, 0)))
    sample("ok-no-members.npz", "note", 0, "an .npz without arrays", npz())


def lengths():
    sample("six-bytes.npy", "malformed", 0, "not a NumPy array", b"\x93NUMPY")
    sample("seven-bytes.npy", "malformed", 0, "not a NumPy array", b"\x93NUMPY\1")
    sample("version-2-no-length.npy", "malformed", 0, "ends inside the length", b"\x93NUMPY\2\0\0\0")
    for major, minor in ((0, 0), (0, 1), (1, 1), (2, 2), (4, 0), (255, 255)):
        sample(f"version-{major}-{minor}.npy", "unsupported", 6, f"npy version {major}.{minor}",
               b"\x93NUMPY" + bytes((major, minor)) + b"\0" * 8)
    sample("length-beyond-the-file.npy", "malformed", 8, "header of 510 bytes", npy(DICT, length=500))
    sample("length-of-4-gib.npy", "limit", 8, "the limit is 65536",
           npy(DICT, version=(2, 0), length=2**32 - 1))
    sample("length-of-64-kib.npy", "limit", 8, "the limit is 65536", npy(DICT.ljust(65536), version=(2, 0)))
    sample("length-0.npy", "malformed", 10, "what it begins with is its end", npy("", b""))
    sample("length-1.npy", "malformed", 11, "a key, or }", npy("{", b""))


def grammar():
    header("no-dictionary", "malformed", 0, "{, the begin of a dictionary", "['descr']")
    header("call", "malformed", 0, "{, the begin of a dictionary", "dict(descr='<f4')")
    header("broken-off", "malformed", 15, "what follows", "{'descr': '<f4'")
    header("no-colon", "malformed", 9, "a colon", "{'descr' '' '<f4'}".replace("'' '<f4'", ", 1"))
    header("unknown-key", "malformed", 17, "key 'speed'", "{'descr': '<f4', 'speed': 3}")
    header("no-shape", "malformed", 0, "'shape' is missing", "{'descr': '<f4', 'fortran_order': False}")
    header("no-descr", "malformed", 0, "'descr' is missing", "{'fortran_order': False, 'shape': (3,)}")
    header("no-order", "malformed", 0, "'fortran_order' is missing", "{'descr': '<f4', 'shape': (3,)}")
    header("nul-padding", "malformed", len(DICT), "white space", DICT + "\0\0")
    header("second-dictionary", "malformed", len(DICT), "white space", DICT + "{}")
    header("open-text", "malformed", 10, "descr is something else", "{'descr': '<f4}")
    header("bad-escape", "malformed", 10, "descr is something else", changed("'\\x3'"))
    header("named-descr", "unsupported", 10, "a character by its name",
           changed("'<\\N{LATIN SMALL LETTER F}4'"))
    header("named-field", "unsupported", 12, "a character by its name", changed("[('\\N{DEGREE SIGN}', '<f4')]"))
    header("named-nothing", "malformed", 10, "descr is something else", changed("'\\N'"))
    header("number-in-brackets", "malformed", 12, "descr is a number", changed("(4)"))
    header("open-brackets", "malformed", 40, "the end of these", changed("'<f4'", "(False")[:-2])
    header("many-around", "limit", 64, "brackets are nested deeper", "(" * 60000)
    header("bytes-descr", "malformed", 10, "descr is", changed("b'<f4'"))
    header("number-descr", "malformed", 10, "descr is a number", changed("4"))
    header("dict-descr", "malformed", 10, "descr is a bracket", changed("{'a': '<f4'}"))
    header("dict-in-descr", "malformed", 11, "begins with is a bracket", changed("[{'a': 1}]"))
    header("brackets-that-differ", "malformed", 21, "a field is a closing bracket", changed("[('a', 'f4']"))
    header("order-0", "malformed", 34, "fortran_order is a number", changed(order="0"))
    header("order-none", "malformed", 34, "fortran_order is a word", changed(order="None"))
    sample("bad-utf8.npy", "malformed", 12 + len(DICT), "invalid UTF-8",
           npy(DICT + "\udcff", version=(3, 0)))
    braces = "{'descr': " + "[" * 60000
    header("many-brackets", "limit", 74, "brackets are nested deeper", braces)
    sample("many-braces.npy", "malformed", 13, "what follows is a bracket",
           npy("{" * 60000, version=(2, 0)))


def shapes():
    at = len("{'descr': '<f4', 'fortran_order': False, 'shape': ")
    for name, shape, where, text in (
            ("number", "3", 0, "shape is a number, must be a tuple"),
            ("in-brackets", "(3)", 2, "(3,) is a tuple"),
            ("list", "[3]", 0, "must be a tuple"),
            ("negative", "(-1,)", 1, "a whole number from 0 on"),
            ("two-signs", "(++3,)", 1, "a whole number from 0 on"),
            ("sign-alone", "(+,)", 1, "a whole number from 0 on"),
            ("sum", "(1+1,)", 2, "a whole number from 0 on"),
            ("float", "(3.0,)", 1, "a whole number from 0 on"),
            ("octal", "(03,)", 1, "a whole number from 0 on"),
            ("true", "(True,)", 1, "a whole number from 0 on"),
            ("two-commas", "(3,,)", 3, "a whole number from 0 on"),
            ("no-comma", "(3 4)", 3, "a whole number from 0 on"),
            ("nested", "((3,),)", 5, "a whole number from 0 on"),
            ("within", "(3, (4,))", 7, "a whole number from 0 on"),
            ("many-brackets", "(" * 64 + "3" + ")" * 64, 64 + 64, "(3,) is a tuple"),
            ("open", "(3,", 3, "a whole number from 0 on"),
            ("2-63", "(9223372036854775808,)", 1, "2^63 or more"),
            ("2-70", "(1180591620717411303424,)", 1, "2^63 or more")):
        header("shape-" + name, "malformed", at + where, text, changed(shape=shape))
    for name, shape in (("wraps-to-0", "(4294967296, 4294967296)"),
                        ("of-nothing", "(0, 9223372036854775807, 9223372036854775807)"),
                        ("2-61", "(2305843009213693952,)")):
        header("shape-" + name, "malformed", 0, "2^63 bytes or more", changed(shape=shape))
    header("shape-65-dimensions", "limit", "*", "more than 64 dimensions", changed(shape="(" + "1," * 65 + ")"))
    header("shape-long-number-2", "ok", "*", "", changed(shape="(3L,)"))
    sample("shape-long-number-3.npy", "malformed", 12 + at + 1, "a whole number from 0 on",
           npy(changed(shape="(3L,)"), version=(3, 0)))


def types():
    for name, descr, text in (("bfloat16", "'bfloat16'", "no such type"), ("f3", "'<f3'", "no such type"),
                              ("f1", "'<f1'", "no such type"), ("empty", "''", "no such type"),
                              ("object", "'|O'", "Python objects"), ("records", "'<f4,<f4'", "records"),
                              ("long", "'<f16'", "long double"),
                              ("sub-array", "('<f4', (2,))", "records")):
        body = changed(descr, shape="(1,)")
        header("type-" + name, "note", len(body), text, body, data=bytes(16))


def data():
    header("data-short", "malformed", len(DICT), "an array of 12 bytes, 11 are there", DICT, data=bytes(11))
    header("data-none", "malformed", len(DICT), "0 are there", DICT, data=b"")
    header("data-goes-on", "finding", len(DICT) + 12, "1 bytes after the array: not read", DICT, data=bytes(13))


def archives():
    good = npy(DICT, b"abcdefghijkl")
    whole = npz(("x.npy", good))
    sample("npz-other-members.npz", "ok", "*", "", npz(("x.npy", good), ("notes.txt", b"hello")))
    sample("npz-no-array.npz", "note", LOCAL, "x.npy is not an array", npz(("x.npy", b"abc")))
    sample("npz-empty-member.npz", "note", LOCAL, "x.npy is not an array", npz(("x.npy", b"")))
    sample("npz-damaged-magic.npz", "malformed", LOCAL, "array x: not a NumPy array", flip(whole, LOCAL))
    sample("npz-deflated-no-array.npz", "note", LOCAL, "x.npy is not an array",
           npz(("x.npy", b"abc" * 1000), method=zipfile.ZIP_DEFLATED))
    sample("npz-much-no-array.npz", "malformed", LOCAL, "array x: not a NumPy array",
           npz(("x.npy", bytes(2**20 + 1)), method=zipfile.ZIP_DEFLATED))
    flagged = npz(("é.npy", good)).replace("é".encode(), b"\x82\x82")
    sample("npz-flagged-name.npz", "malformed", "*", "a name that is not UTF-8", flagged)
    sample("npz-bad-header.npz", "malformed", LOCAL + 10, "array x: npy header: what it begins with",
           npz(("x.npy", npy("[" + DICT))))
    sample("npz-deflated-bad-header.npz", "malformed", LOCAL, "array x: npy header: what it begins with",
           npz(("x.npy", npy("[" + DICT)), method=zipfile.ZIP_DEFLATED))
    sample("npz-short.npz", "malformed", LOCAL, "array x: an array of 12 bytes, 3 are there",
           npz(("x.npy", npy(DICT, b"abc"))))
    sample("npz-long.npz", "finding", LOCAL, "x.npy has 4 bytes behind its array", npz(("x.npy", good + b"more")))
    sample("npz-data-flipped.npz", "finding", LOCAL + len(good) - 12, "CRC-32", flip(whole, LOCAL + len(good) - 3))
    sample("npz-header-flipped.npz", "finding", LOCAL + len(good) - 12, "CRC-32",
           whole.replace(b", }abc", b",\t}abc"))
    sample("npz-twice.npz", "malformed", "*", "two records have this name", twice())
    packed = npz(("x.npy", good), method=zipfile.ZIP_DEFLATED)
    wrong = zlib.crc32(good) ^ 1
    sample("npz-deflated-crc.npz", "mismatch", "-", "CRC-32",
           packed.replace(struct.pack("<I", zlib.crc32(good)), struct.pack("<I", wrong)))
    sample("npz-deflated-text-crc.npz", "mismatch", LOCAL, "CRC-32", text_crc())
    sample("npz-cut-off.npz", "malformed", "*", "", whole[:-30])
    sample("npz-bomb.npz", "limit", "*", "the limit is 1100 to 1", bomb())


def twice():
    import warnings
    warnings.simplefilter("ignore")
    return npz(("x.npy", npy(DICT)), ("x.npy", npy(DICT)))


def text_crc():
    text = npy(changed("'|S4'"), b"abcdefghijkl")
    return npz(("x.npy", text), method=zipfile.ZIP_DEFLATED).replace(
        struct.pack("<I", zlib.crc32(text)), struct.pack("<I", zlib.crc32(text) ^ 1))


def bomb():
    """Declares that it inflates to 4 GB less a byte."""
    body = npy(changed("'|u1'", shape="(4294967000,)"), bytes(1000))
    packed = npz(("x.npy", body), method=zipfile.ZIP_DEFLATED)
    return packed.replace(struct.pack("<I", len(body)), struct.pack("<I", 2**32 - 2))


def main():
    for old in HERE.glob("*.np[yz]"):
        old.unlink()
    for group in (what_numpy_reads, lengths, grammar, shapes, types, data, archives):
        group()
    lines = ["# file, code, offset, a part of the text; written by make.py"]
    lines += ["\t".join(row) for row in ROWS]
    (HERE / "expect.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")


main()
