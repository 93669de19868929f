#!/usr/bin/env python3
"""Writes the samples of this directory and expect.tsv: safetensors files that must be refused, and unusual valid ones.

In the headers below ^ stands before the byte at which the error must be reported; it is removed.
"""
import json
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROWS = []


def pack(header, data=b"", length=None):
    length = len(header) if length is None else length
    return (length % 2**64).to_bytes(8, "little") + header + data


def sample(why, content, code, offset="-", text=""):
    name = why + ".safetensors"
    (HERE / name).write_bytes(content)
    if isinstance(offset, int):
        offset = hex(offset)
    ROWS.append((name, code, offset, text))


def header(why, marked, code, text="", data=b"", offset=None):
    """A file with this header; the error is at the ^, or at `offset` after the header."""
    if isinstance(marked, str):
        marked = marked.encode()
    clean = marked.replace(b"^", b"")
    at = 8 + marked.index(b"^") if b"^" in marked else "-"
    if offset is not None:
        at = 8 + len(clean) + offset
    sample(why, pack(clean, data), code, at, text)


def entry(dtype='"F32"', shape="[1]", offsets="[0,4]", more=""):
    return f'{{"dtype":{dtype},"shape":{shape},"data_offsets":{offsets}{more}}}'


def one(why, code, text="", data=b"\0" * 4, mark=True, **parts):
    """One tensor, a; the error is at its name, unless a part contains the mark."""
    own = any("^" in part for part in parts.values())
    caret = "^" if code != "ok" and mark and not own else ""
    header(why, f'{{{caret}"a":{entry(**parts)}}}', code, text, data)


T = entry()
D4, D8 = b"\0" * 4, b"\0" * 8
UNKNOWN = "no format that heft knows"


def lengths():
    sample("file-empty", b"", "malformed", 0, "the file is empty")
    sample("file-of-7-bytes", b"\2\0\0\0\0\0\0", "malformed", 0, UNKNOWN)
    sample("file-of-a-length-only", pack(b"", length=60), "malformed", 0, UNKNOWN)
    sample("length-0", pack(b"{}", length=0), "malformed", 8, "text ends where a value")
    sample("length-1-brace", pack(b"{"), "malformed", 9, "text ends where a key or '}'")
    sample("length-1-ff", pack(b"\xff"), "malformed", 0, UNKNOWN)
    sample("length-beyond-file", pack(b"{}", length=100), "malformed", 0,
           "header length is 100 bytes, the file has 2")
    sample("length-at-limit", pack(b"{}", length=100000000), "malformed", 0,
           "header length is 100000000 bytes, the file has 2")
    sample("length-over-limit", pack(b"{}", length=100000001), "limit", 0,
           "header length is 100000001 bytes, the limit is 100000000")
    sample("length-2-to-64-less-1", pack(b"{}", length=2**64 - 1), "limit", 0,
           "header length is 18446744073709551615 bytes")
    sample("length-odd", pack(b'{"a":' + T.encode() + b"}  "[:1], D4), "ok")
    header("data-without-tensors", "{}", "malformed", "1 bytes follow the last tensor", b"x", 0)
    header("data-too-long", f'{{"a":{T}}}', "malformed", "1 bytes follow the last tensor",
           D4 + b"x", 4)
    header("data-too-short", f'{{"a":{T}}}', "malformed", "file ends 1 bytes before its last tensor",
           D4[:3], 3)
    header("data-trailing-text", f'{{"a":{T}}}', "malformed", "7 bytes follow the last tensor",
           D4 + b"trailer", 4)
    header("data-two-bytes-missing", f'{{"a":{T}}}', "malformed", "file ends 2 bytes before", D4[:2],
           2)


def grammar():
    header("empty", "{}", "ok")
    header("empty-padded", "{}      ", "ok")
    header("space-around", " \t\r\n{} \n\r\t", "ok")
    header("space-only", "        ^", "malformed", "text ends where a value")
    sample("root-array", pack(b"[]"), "malformed", 0, UNKNOWN)
    sample("root-null", pack(b"null"), "malformed", 0, UNKNOWN)
    sample("bom", pack(b"\xef\xbb\xbf{}"), "malformed", 0, UNKNOWN)
    header("padding-nul", b"{}^\0\0", "malformed", "found byte 0x00 where the end")
    header("second-document", "{}^{}", "malformed", "found '{' where the end of the text")
    header("comment", "{}^// x", "malformed", "found '/'")
    header("trailing-comma", f'{{"a":{T},^}}', "malformed", "found '}' where a key", D4)
    header("no-closing-brace", f'{{"a":{T}^', "malformed", "text ends where ',' or '}'", D4)
    header("name-not-utf8", b'{"^\xff":' + T.encode() + b"}", "malformed", "not UTF-8: byte 0xff", D4)
    header("name-half-surrogate", f'{{"^\\ud800":{T}}}', "malformed", "surrogate", D4)
    header("name-with-newline", f'{{"a^\n":{T}}}', "malformed", "control character", D4)
    header("name-surrogate-pair", f'{{"\\ud83d\\ude00":{T}}}', "ok", data=D4)
    header("name-with-nul", f'{{"a\\u0000b":{T}}}', "ok", data=D4)
    header("name-empty", f'{{"":{T}}}', "ok", data=D4)
    # the object and the entry are two levels, so the 126th array is one too many
    one("field-nested-200-deep", "limit", "deeper than 127",
        more=',"x":' + "[" * 125 + "^" + "[" * 75 + "]" * 200)
    one("field-out-of-range", "malformed", "out of range", more=',"x":^1e999')
    one("field-unknown", "ok", more=',"x":[{"y":null},1e30]')


def repeated():
    header("name-twice", f'{{"a":{T},^"a":{T}}}', "malformed", "tensor a: is named twice", D4)
    header("name-twice-escaped", f'{{"a":{T},^"\\u0061":{T}}}', "malformed",
           "tensor a: is named twice", D4)
    header("name-twice-elsewhere", f'{{"a":{T},"a":{entry(offsets="[4,8]")}}}', "malformed",
           "tensor a: ", D8, 4)
    header("name-twice-first-elsewhere", f'{{"a":{entry(offsets="[4,8]")},^"a":{T}}}', "malformed",
           "tensor a: is named twice", D4)
    header("metadata-twice", '{"__metadata__":{},^"__metadata__":{}}', "malformed",
           "__metadata__ occurs twice")
    header("metadata-key-twice", '{"__metadata__":{"k":"1",^"k":"2"}}', "malformed",
           'metadata key "k" occurs twice')
    header("dtype-twice", '{"a":{"dtype":"F32",^"dtype":"F32","shape":[1],"data_offsets":[0,4]}}',
           "malformed", "tensor a: dtype occurs twice", D4)


def metadata():
    header("metadata-null", '{"__metadata__":null}', "ok")
    header("metadata-last", f'{{"a":{T},"__metadata__":{{"k":"v"}}}}', "ok", data=D4)
    header("metadata-array", '{"__metadata__":^[]}', "malformed", "__metadata__ is an array")
    header("metadata-number-value", '{"__metadata__":{"k":^1}}', "malformed",
           "metadata value is a number, must be a string")
    header("metadata-null-value", '{"__metadata__":{"k":^null}}', "malformed",
           "metadata value is null")
    header("metadata-object-value", f'{{"__metadata__":{{"a":^{T}}}}}', "malformed",
           "metadata value is an object", D4)


def boxes():
    """DCP_SHARDING_INFO: position of a part in its tensor."""
    def info(why, text, found, code="malformed"):
        members = json.dumps({"__metadata__": {"DCP_SHARDING_INFO": text},
                              "w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}})
        sample("dcp-" + why, pack(members.encode(), D4), code, "0x8", found)

    def offsets(text):
        return '{"w":{"saved_offsets":%s}}' % text

    bad = "offsets must be integers, one a dimension, and end below 2^63"
    info("no-json", "{", "metadata DCP_SHARDING_INFO: JSON: text ends")
    info("trailing", offsets("[0]") + "1", "metadata DCP_SHARDING_INFO: JSON: found '1'")
    info("ninth-byte", '{"zzz":1 x}', "metadata DCP_SHARDING_INFO: JSON: found 'x'")
    info("nested", '{"zzz":' + "[" * 200 + "]" * 200 + "}",
         "metadata DCP_SHARDING_INFO: JSON: nested deeper than 127", "limit")
    info("array", "[]", "DCP_SHARDING_INFO is an array")
    info("too-many", offsets("[0,0]"), bad)
    info("too-few", offsets("[]"), "fewer offsets than dimensions")
    info("negative", offsets("[-1]"), bad)
    info("float", offsets("[1.0]"), bad)
    info("exponent", offsets("[1e2]"), bad)
    info("text", offsets('["1"]'), "is a string, must be an array of numbers")
    info("overflow", offsets(f"[{2**63 - 1}]"), bad)
    info("absent", "{}", "DCP_SHARDING_INFO has no offsets for it")
    info("twice", offsets("[0]")[:-1] + "," + offsets("[0]")[1:], "DCP_SHARDING_INFO names it twice")
    info("no-offsets", '{"w":{}}', "no saved_offsets")
    info("offsets-twice", '{"w":{"saved_offsets":[0],"saved_offsets":[0]}}', "saved_offsets occurs twice")


def entries():
    header("entry-null", '{"a":^null}', "malformed", "tensor a: entry is null, must be an object")
    header("entry-array", '{"a":^["F32",[1],[0,4]]}', "malformed", "tensor a: entry is an array", D4)
    for missing in ("dtype", "shape", "data_offsets"):
        fields = {"dtype": '"F32"', "shape": "[1]", "data_offsets": "[0,4]"}
        del fields[missing]
        inside = ",".join(f'"{k}":{v}' for k, v in fields.items())
        header("no-" + missing, f'{{^"a":{{{inside}}}}}', "malformed",
               f"tensor a: entry has no {missing}", D4)
    one("dtype-lower-case", "malformed", 'dtype "f32" is not', dtype='^"f32"')
    one("dtype-unknown", "malformed", 'dtype "F8_E4M3FN" is not', dtype='^"F8_E4M3FN"')
    one("dtype-c128", "malformed", 'dtype "C128" is not', dtype='^"C128"')
    one("dtype-number", "malformed", "dtype is a number, must be a string", dtype="^7")
    one("dtype-object", "malformed", "dtype is an object", dtype='^{"F32":null}')
    one("shape-null", "malformed", "shape is null, must be an array", shape="^null")
    for name, dim in (("negative", "-1"), ("float", "1.0"), ("exponent", "1e0"),
                      ("minus-zero", "-0"), ("2-to-64", "18446744073709551616")):
        one("dim-" + name, "malformed", f"dimension is {dim}, must be a whole", shape=f"[^{dim}]")
    one("dim-string", "malformed", "dimension is a string, must be a number", shape='[^"1"]')
    one("dim-leading-zero", "malformed", "found '1' where ',' or ']'", shape="[0^1]")
    one("rank-64", "ok", shape="[" + ",".join("1" * 64) + "]")
    one("rank-100", "limit", "more than 64 dimensions",
        shape="[" + "1," * 64 + "^1" + ",1" * 35 + "]")
    one("offsets-one", "malformed", "the end of an array, must be a number", offsets="[0^]")
    one("offsets-three", "malformed", "must be the end of the array", offsets="[0,4,^4]")
    one("offsets-negative", "malformed", "data offset is -1", offsets="[^-1,4]")
    one("offsets-float", "malformed", "data offset is 4.0", offsets="[0,^4.0]")
    one("offsets-object", "malformed", "data_offsets is an object", offsets="^{}")


def layout():
    f = {"x": entry(), "y": entry(offsets="[4,8]")}
    header("order-of-header-differs", f'{{"b":{f["y"]},"a":{f["x"]}}}', "ok", data=D8)
    one("offsets-swapped", "malformed", "tensor a: data_offsets [4, 0] do not continue at 0",
        offsets="[4,0]")
    one("offsets-not-from-0", "malformed", "data_offsets [4, 8] do not continue at 0", data=D8,
        offsets="[4,8]")
    header("hole", f'{{"a":{T},^"b":{entry(offsets="[5,9]")}}}', "malformed",
           "tensor b: data_offsets [5, 9] do not continue at 4", D8 + b"x")
    header("overlap", f'{{"a":{T},^"b":{entry(offsets="[3,7]")}}}', "malformed",
           "tensor b: data_offsets [3, 7] do not continue at 4", D8[:7])
    header("ten-on-one-range", '{"t0":' + T + ',^"t1":' + T
           + "".join(f',"t{i}":{T}' for i in range(2, 10)) + "}", "malformed", "tensor t1: ", D4)
    header("empty-inside-another",
           f'{{"a":{entry(shape="[2]", offsets="[0,8]")},'
           f'^"b":{entry(shape="[0]", offsets="[4,4]")}}}',
           "malformed", "tensor b: data_offsets [4, 4] do not continue at 8", D8)
    header("empty-between",
           f'{{"a":{T},"c":{entry(offsets="[4,8]")},"b":{entry(shape="[2,0]", offsets="[4,4]")}}}',
           "ok", data=D8)
    header("empty-twice", f'{{"a":{entry(shape="[0]", offsets="[0,0]")},'
           f'"b":{entry(shape="[0]", offsets="[0,0]")}}}', "ok")
    header("misaligned", f'{{"a":{entry(dtype=chr(34) + "U8" + chr(34), offsets="[0,1]")},'
           f'"b":{entry(offsets="[1,5]")}}}', "ok", data=D4 + b"x")


def sizes():
    one("scalar", "ok", shape="[]")
    one("size-too-small", "malformed", "need 8 bytes, data_offsets have 4", shape="[2]")
    one("size-too-large", "malformed", "need 4 bytes, data_offsets have 8", data=D8,
        offsets="[0,8]")
    one("size-of-4-as-1", "malformed", "need 16 bytes, data_offsets have 4", dtype='"I32"',
        shape="[2,2]")
    one("f4-three", "malformed", "element count 3 is not a multiple of 2", data=b"\0\0", dtype='"F4"',
        shape="[3]", offsets="[0,2]")
    one("f4-scalar", "malformed", "element count 1 is not a multiple of 2", data=b"\0", dtype='"F4"', shape="[]",
        offsets="[0,1]")
    one("f6-three", "malformed", "element count 3 is not a multiple of 4", data=b"\0\0\0", dtype='"F6_E2M3"',
        shape="[3]", offsets="[0,3]")
    one("f4-four", "ok", data=b"\0\0", dtype='"F4"', shape="[4]", offsets="[0,2]")
    one("f6-four", "ok", data=b"\0\0\0", dtype='"F6_E3M2"', shape="[4]", offsets="[0,3]")
    one("bool-of-2", "ok", data=b"\2", dtype='"BOOL"', offsets="[0,1]")
    big = 2**64 - 1
    one("overflow-before-zero", "malformed", "more than 64 bits", data=b"", shape=f"[{big},2,0]",
        offsets="[0,0]")
    one("zero-before-overflow", "ok", data=b"", shape=f"[0,{big},2]", offsets="[0,0]")
    one("overflow-of-bits", "malformed", "more than 64 bits", shape=f"[{2**59}]",
        offsets=f"[0,{2**61}]")
    one("overflow-of-shape", "malformed", "more than 64 bits", shape=f"[2,{2**64 - 2}]",
        offsets="[0,16]")
    one("overflow-of-shape-times-bits", "malformed", "more than 64 bits", shape=f"[2,{2**63 - 1}]",
        offsets="[0,16]")
    one("offsets-at-2-to-64", "malformed", "do not continue at 0", data=b"", shape="[0]",
        offsets=f"[{big},{big}]")


def main():
    for old in HERE.glob("*.safetensors"):
        old.unlink()
    for part in (lengths, grammar, repeated, metadata, boxes, entries, layout, sizes):
        part()
    (HERE / "expect.tsv").write_text(
        "# made by make.py: file, code, offset, part of the message\n"
        + "".join("\t".join(row) + "\n" for row in ROWS), encoding="utf-8")


if __name__ == "__main__":
    main()
