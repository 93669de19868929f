#!/usr/bin/env python3
"""Writes the TorchScript archives of this directory that must be refused or have findings, and expect.tsv.

    make.py [FOLDER]        needs only Python; equal runs give equal files

The zips and pickles are built by ../torch/make.py, so that offsets are computed from the layout.
"""
import sys
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "tools"))
from samples import Samples, torch_pieces  # noqa: E402

made = torch_pieces()
SAMPLES = Samples(__file__)
AT, Entry, Zip = made.AT, made.Entry, made.Zip
name, text, integer, pack, ident, tensor = made.name, made.text, made.integer, made.pack, made.ident, made.tensor

PROTO = b"\x80\2"
MODULE = name("__torch__", "M")
TAG = name("torch.jit._pickle", "restore_type_tag")
T = b"".join(tensor())
EIGHT = b"\0" * 8


def module(*items):
    """An object of the class __torch__.M with these attributes: (name, pickle) …"""
    return MODULE + b")\x81}(" + b"".join(text(key) + value for key, value in items) + b"ub"


def key(word):
    return b"".join(tensor(ident(key=text(word))))


def entries(data=None, constants=PROTO + b").", version=b"3\n", more=(), drop=()):
    data = PROTO + module(("w", T)) + b"." if data is None else data
    out = [Entry("a/data/0", EIGHT), Entry("a/data.pkl", data), Entry("a/constants.pkl", constants)]
    if version is not None:
        out.append(Entry("a/version", version))
    return [entry for entry in [*out, *more] if entry.name.decode() not in drop]


def sample(file, code, offset, message, *parts):
    """`offset`: a number, * or -, (record, position in it); for a pickle in pieces, (record, AT)."""
    z = Zip(*parts)
    if isinstance(offset, tuple):
        offset = z.data[f"a/{offset[0]}".encode()] + offset[1]
    SAMPLES.add(file, code, offset, message, z.bytes())


def in_data(file, code, message, *parts, **options):
    """A data.pkl in pieces; AT marks the opcode of the error."""
    pkl, at = made.join(PROTO, *parts, b".")
    sample(file, code, "*" if at is None else ("data.pkl", at), message, *entries(pkl, **options))


def containers():
    sample("a01-good.pt", "ok", "*", "", *entries())
    sample("a02-no-version.pt", "malformed", "*", "record version is missing: torch needs it", *entries(version=None))
    sample("a03-no-data-pickle.pt", "unsupported", 0, "no data.pkl", *entries(drop=["a/data.pkl"]))
    sample("a04-version-11.pt", "unsupported", ("version", 0),
           'record version contains "11", expected 1 to 10', *entries(version=b"11"))
    sample("a05-no-storage.pt", "malformed", "*", "has no record a/data/0", *entries(drop=["a/data/0"]))
    sample("a06-storage-only-in-constants.pt", "malformed", "*", "has no record a/data/0",
           *entries(drop=["a/data/0"], more=[Entry("a/constants/0", EIGHT)]))
    sample("a07-data-cut.pt", "malformed", ("data.pkl", 3), "without STOP", *entries(PROTO + b"N"))
    sample("a08-byteorder.pt", "malformed", ("byteorder", 0),
           'record byteorder contains "middle", expected "little" or "big"',
           *entries(more=[Entry("a/byteorder", b"middle")]))
    sample("a09-second-module.pt", "malformed", "*", "differ only in upper and lower case",
           *entries(more=[Entry("a/DATA.pkl", PROTO + b"N.")]))


def constants():
    one = PROTO + key("0") + b"\x85."
    there = [Entry("a/constants/0", EIGHT)]
    sample("b01-constants.pt", "ok", "*", "", *entries(constants=one, more=there))
    sample("b02-constant-missing.pt", "malformed", "*", "has no record a/constants/0", *entries(constants=one))
    sample("b03-constant-only-in-data.pt", "malformed", "*", "has no record a/constants/0", *entries(constants=one))
    sample("b04-constant-too-short.pt", "malformed", ("constants/0", 0),
           "record a/constants/0 has 4 bytes, the pickle expects 2 elements of 4 bytes",
           *entries(constants=one, more=[Entry("a/constants/0", b"\0" * 4)]))
    sample("b05-constant-unused.pt", "note", ("constants/7", 0),
           "storage constants/7 (8 bytes) is not used by any tensor",
           *entries(constants=one, more=[*there, Entry("a/constants/7", EIGHT)]))
    sample("b06-constants-cut.pt", "malformed", ("constants.pkl", 3), "without STOP", *entries(constants=PROTO + b"N"))
    sample("b07-constants-empty.pt", "malformed", ("constants.pkl", 0), "the pickle is empty", *entries(constants=b""))
    sample("b08-constants-dictionary.pt", "ok", "*", "",
           *entries(constants=PROTO + b"}" + text("k") + key("0") + b"s.", more=there))
    sample("b09-constants-none.pt", "ok", "*", "", *entries(constants=PROTO + b"N."))
    sample("b10-attribute-of-that-name.pt", "malformed", "*", "constants.0",
           *entries(PROTO + module(("constants", b"](" + T + b"e")) + b".", constants=one, more=there))
    sample("b11-bytes-after-stop.pt", "finding", ("constants.pkl", len(one)), "3 bytes after the pickle's STOP",
           *entries(constants=one + b"abc", more=there))


def bytecode():
    code = PROTO + integer(8) + pack(text("constants"), key("0.storage")) + b"\x86."
    row = Entry("a/constants/0.storage", EIGHT)
    pkl = Entry("a/bytecode.pkl", code)
    sample("c01-in-constants.ptl", "ok", "*", "", *entries(more=[row, pkl]))
    sample("c02-in-bytecode.ptl", "ok", "*", "", *entries(more=[Entry("a/bytecode/0.storage", EIGHT), pkl]))
    sample("c03-in-both.ptl", "note", ("constants/0.storage", 0),
           "storage constants/0.storage (8 bytes) is not used by any tensor",
           *entries(more=[Entry("a/bytecode/0.storage", EIGHT), row, pkl]))
    sample("c04-in-neither.ptl", "malformed", "*", "has no record a/bytecode/0.storage", *entries(more=[pkl]))
    sample("c05-too-short.ptl", "malformed", ("bytecode/0.storage", 0), "has 2 bytes",
           *entries(more=[Entry("a/bytecode/0.storage", b"\0\0"), pkl]))
    sample("c06-cut.ptl", "malformed", ("bytecode.pkl", 4), "without STOP",
           *entries(more=[Entry("a/bytecode.pkl", PROTO + b"K\5")]))
    sample("c07-no-tuple.ptl", "ok", "*", "", *entries(more=[Entry("a/bytecode.pkl", PROTO + b"N.")]))
    wrong = PROTO + integer(8) + b"".join(tensor(ident(key=text("0.storage")), size=made.dims(3))) + b"\x86."
    sample("c08-tensor-past-storage.ptl", "malformed", "*", "has 2 elements",
           *entries(more=[row, Entry("a/bytecode.pkl", wrong)]))
    again = PROTO + integer(8) + key("0.storage") + b"q\1h\1h\1\x87\x86."
    sample("c09-one-tensor-twice.ptl", "ok", "*", "",
           *entries(more=[Entry("a/bytecode/0.storage", EIGHT), Entry("a/bytecode.pkl", again)]))


def traced():
    pkl = Entry("a/traced_inputs.pkl", PROTO + b"}" + text("forward") + b"](" + key("0") + b"es.")
    sample("d01-traced.pt", "ok", "*", "", *entries(more=[pkl, Entry("a/traced_inputs/0", b"")]))
    sample("d02-no-record.pt", "malformed", "*", "has no record a/traced_inputs/0", *entries(more=[pkl]))
    sample("d03-with-bytes.pt", "ok", "*", "", *entries(more=[pkl, Entry("a/traced_inputs/0", EIGHT)]))
    sample("d04-with-some-bytes.pt", "malformed", ("traced_inputs/0", 0), "has 4 bytes",
           *entries(more=[pkl, Entry("a/traced_inputs/0", b"\0" * 4)]))
    sample("d05-empty-storage-elsewhere.pt", "malformed", ("data/0", 0), "has 0 bytes",
           Entry("a/data/0", b""), *entries(drop=["a/data/0"]))


def files():
    sample("e01-extra.pt", "ok", "*", "", *entries(more=[Entry("a/extra/x", b"text"), Entry("a/extra/"), Entry("a/extra/y/z", b"\xff")]))
    sample("e02-extra-crc.pt", "finding", ("extra/x", 0), "the file says 00000007", *entries(more=[Entry("a/extra/x", b"text", crc=7)]))
    sample("e03-extra-outside.pt", "unsafe", "*", '".."', *entries(more=[Entry("a/extra/../../x", b"text")]))
    large = b"n" * (17 << 20)
    squeezed = zlib.compress(large)[2:-4]
    sample("e04-extra-of-17-mib.pt", "note", ("extra/x", 0),
           "extra file a/extra/x (17825792 bytes) is not shown as a value: the limit is 16 MiB in all",
           *entries(more=[Entry("a/extra/x", large, packed=squeezed, method=8)]))
    body = zlib.compress(b"pass\n" * 20)[2:-4]
    sample("e05-code-crc.pt", "finding", ("code/x.py", 0), "the file says 00000007",
           *entries(more=[Entry("a/code/x.py", b"pass\n" * 20, packed=body, method=8, crc=7)]))
    sample("e06-code-cut.pt", "finding", ("code/x.py", 0), "code/x.py",
           *entries(more=[Entry("a/code/x.py", b"pass\n" * 20, packed=body[:-3], method=8)]))
    sample("e07-extra-not-deflate.pt", "malformed", "*", "extra/x",
           *entries(more=[Entry("a/extra/x", b"text", packed=b"\xff\xff\xff", method=8)]))


def objects():
    in_data("f01-cycle.pt", "ok", "", MODULE + b")\x81q\1}" + text("me") + b"h\1sb")
    in_data("f02-escape-in-name.pt", "ok", "", module(("a\n\x1b[31m", T)))
    in_data("f03-two-paths.pt", "malformed",
            "tensor a.b: two paths result in this name: a / b and a.b", module(("a", module(("b", T))), ("a.b", T)))
    in_data("f04-name-not-utf8.pt", "malformed", "not valid UTF-8", module((b"\xed\xa0\x80", T)))
    in_data("f05-attribute-twice.pt", "ok", "", module(("a", b"N"), ("a", T)))
    in_data("f06-no-object.pt", "ok", "", T)
    in_data("f07-plain-value.pt", "ok", "", integer(5))
    in_data("f08-built-twice.pt", "unsupported", "", module(("a", T)) + b"}b")
    in_data("f09-two-names-one-tensor.pt", "ok", "", module(("a", T + b"q\1"), ("b", b"h\1"), ("c", b"](h\1h\1e")))
    laughs = b"]q\0" + b"".join(b"0](" + (b"h" + bytes([i])) * 10 + b"eq" + bytes([i + 1]) for i in range(12))
    in_data("f10-laughs.pt", "limit", "limits.expansion", MODULE + b")\x81}" + text("a") + laughs + b"sb")


def calls():
    in_data("g01-enum.pt", "ok", "", module(("a", name("__torch__", "Color") + integer(1) + b"R"), ("b", T)))
    in_data("g02-enum-of-list.pt", "malformed", "a tuple is needed", name("__torch__", "Color") + b"]", AT, b"R")
    in_data("g03-enum-of-none.pt", "malformed", "a tuple is needed", name("__torch__", "Color") + b"N", AT, b"R")
    in_data("g04-bare-newobj.pt", "malformed", "a tuple is needed", name("__torch__", "Color") + integer(1), AT, b"\x81")
    in_data("g05-tagged.pt", "ok", "", module(("a", TAG + b"](" + T + b"e" + text("List[Tensor]") + b"\x86R")))
    in_data("g06-tag-of-one.pt", "ok", "", module(("a", TAG + T + b"\x85R")))
    in_data("g07-tag-of-three.pt", "ok", "", module(("a", TAG + T + b"NN\x87R")))
    in_data("g08-tags-5000-deep.pt", "ok", "", TAG + b"q\1", (b"h\1" * 5000) + module(("a", T)) + (b"N\x86R" * 5001))
    in_data("g09-tag-of-cycle.pt", "ok", "", b"]q\1" + TAG + b"h\1N\x86Ra")
    in_data("g10-tensor-from-id.pt", "note", "built by torch.jit._pickle.build_tensor_from_id",
            module(("a", name("torch.jit._pickle", "build_tensor_from_id") + integer(3) + b"\x85R")))
    in_data("g11-list-of-no-list.pt", "ok", "", module(("a", name("torch.jit._pickle", "build_intlist") + integer(3) + b"\x85R")))
    in_data("g12-tensor-with-state.pt", "ok", "", module(("a", name("torch.jit._pickle", "build_tensorlist") + b"](" + T + b"e\x85R")))
    in_data("g13-tensor-bare.pt", "malformed", "bad arguments", made.V2 + integer(1), AT, b"R")
    in_data("g14-storage-class-unknown.pt", "unsupported", "persistent id: unknown storage class torch.FancyStorage",
            b"".join(tensor(ident(cls=name("torch", "FancyStorage")))))


def main():
    for make in (containers, constants, bytecode, traced, files, objects, calls):
        make()
    head = "# file\tcode\toffset\tpart of the text; written by make.py\n"
    SAMPLES.write(head)


if __name__ == "__main__":
    main()
