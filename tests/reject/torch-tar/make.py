#!/usr/bin/env python3
"""Writes the tar files of this directory that must be refused or have findings, and expect.tsv.

    make.py [FOLDER]        needs only Python; equal runs give equal files

Samples are named by their fault, after the list of malicious inputs: t1 the tar, t2 the contents of its
members. The offset of each fault is computed here from the layout, never copied from heft's output.
"""
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "tools"))
from samples import Samples  # noqa: E402

SAMPLES = Samples(__file__)
sample = SAMPLES.add


# ---- tars ----------------------------------------------------------------------------------------

END = b"\0" * 1024


def header(name, size, kind=b"0", magic=b"ustar\x0000", prefix=b"", checksum=None, size_field=None):
    name = name if isinstance(name, bytes) else name.encode()
    field = size_field if size_field is not None else b"%011o\0" % size
    block = bytearray(name.ljust(100, b"\0") + b"0000644\0" + b"0000000\0" * 2 + field + b"00000000000\0" + b" " * 8 + kind
                      + b"\0" * 100 + magic + b"\0" * 80 + prefix.ljust(155, b"\0") + b"\0" * 12)
    assert len(block) == 512
    total = sum(block) if checksum is None else checksum
    block[148:156] = b"%06o\0 " % total
    return bytes(block)


def member(name, data, **changed):
    return header(name, len(data), **changed) + data + b"\0" * (-len(data) % 512)


def pax(*records):
    out = b""
    for key, value in records:
        body = b" " + key + b"=" + value + b"\n"
        n = len(body)
        while len(str(n)) + len(body) != n:
            n = len(str(n)) + len(body)
        out += b"%d" % n + body
    return out


# ---- members -------------------------------------------------------------------------------------

def number(n):
    if 0 <= n < 256:
        return b"K" + bytes([n])
    raw = n.to_bytes(n.bit_length() // 8 + 1, "little", signed=True)
    return b"\x8a" + bytes([len(raw)]) + raw


def text(s):
    return b"X" + struct.pack("<I", len(s)) + s.encode()


def dump(*parts):
    return b"\x80\2" + b"".join(parts) + b"."


def pack(*items):
    return b"(" + b"".join(items) + b"t"


FLOATS, TENSOR = b"ctorch\nFloatStorage\n", b"ctorch\nFloatTensor\n"


def storage_head(key=1, cls=FLOATS, node=None):
    return dump(pack(node or number(key), text("cpu"), cls))


def storage(*numbers, key=1, count=None, **changed):
    return (storage_head(key, **changed) + struct.pack("<q", len(numbers) if count is None else count)
            + struct.pack(f"<{len(numbers)}f", *numbers))


def storages(*made, views=b"", n=None):
    return dump(number(len(made) if n is None else n)) + b"".join(made) + dump(b"](" + views + b"e")


def view(*numbers):
    return pack(*map(number, numbers))


def tensor_head(key=9, on=number(1), cls=TENSOR):
    return dump(pack(number(key), on, cls))


def tensor(size=(2,), stride=(1,), first=0, dims=None, **changed):
    n = len(size) if dims is None else dims
    return (tensor_head(**changed) + struct.pack("<i", n) + b"junk"
            + struct.pack(f"<{len(size) + len(stride) + 1}q", *size, *stride, first))


def tensors(*made, n=None):
    return dump(number(len(made) if n is None else n)) + b"".join(made)


PARTS = {"sys_info": dump(b"}"), "storages": storages(storage(1, 2)), "tensors": tensors(tensor()),
         "pickle": dump(b"}X\1\0\0\0a", text("9"), b"Qs")}


def tar(front=b"", behind=b"", end=END, without=(), **changed):
    """A whole archive, with some members changed."""
    out = front
    for name, data in {**PARTS, **changed}.items():
        out += b"" if name in without else member(name, data)
    return out + behind + end


def at(name, front=b"", **changed):
    """Offset of a member's bytes."""
    out = len(front)
    for part, data in {**PARTS, **changed}.items():
        if part == name:
            return out + 512
        out += len(member(part, data))
    raise KeyError(name)


# ---- what is wrong -------------------------------------------------------------------------------

def archives():
    whole = tar()
    last = len(whole) - len(END)
    sample("t0-good.tar", "ok", "*", "", whole)
    sample("t0-no-end.tar", "ok", "*", "", tar(end=b""))
    front = member("pax", pax((b"comment", b"ten years")), kind=b"g") + member("folder/", b"", kind=b"5")
    sample("t0-global-and-folder.tar", "ok", "*", "", tar(front))
    by_pax = member("x", pax((b"path", b"sys_info"), (b"size", b"%d" % len(PARTS["sys_info"]))), kind=b"x")
    by_pax += header("wrong", 0) + PARTS["sys_info"].ljust(512, b"\0")
    sample("t0-name-and-size-by-pax.tar", "ok", "*", "", tar(by_pax, without=("sys_info",)))
    by_gnu = member("././@LongLink", b"sys_info\0", kind=b"L") + member("wrong", PARTS["sys_info"])
    sample("t0-name-by-gnu.tar", "ok", "*", "", tar(by_gnu, without=("sys_info",)))
    binary = header("sys_info", 0, size_field=b"\x80" + len(PARTS["sys_info"]).to_bytes(11, "big"))
    sample("t0-binary-size.tar", "ok", "*", "", tar(binary + PARTS["sys_info"].ljust(512, b"\0"), without=("sys_info",)))
    for name, kind, code, wrong in (("symbolic-link", b"2", "unsafe", "a link"), ("hard-link", b"1", "unsafe", "a link"),
                                    ("sparse", b"S", "unsupported", "a sparse file"), ("device", b"3", "unsupported", "type 0x33"),
                                    ("fifo", b"6", "unsupported", "type 0x36")):
        sample(f"t1-{name}.tar", code, last, wrong, tar(behind=header("storages", 0, kind=kind)))
    sample("t1-checksum.tar", "malformed", last, "checksum mismatch", tar(behind=header("x", 0, checksum=17)))
    sample("t1-first-checksum.tar", "malformed", 0, "first header is damaged", header("sys_info", 0, checksum=17) + END)
    for name, field, wrong in (("negative", b"\xff" * 12, "a negative size"), ("beyond-2-to-63", b"\x80" + b"\xff" * 11, "beyond 2^63"),
                               ("not-octal", b"0000000009\0\0", "not an octal number"), ("of-words", b"many bytes\0\0", "not an octal number")):
        sample(f"t1-size-{name}.tar", "malformed", last, wrong, tar(behind=header("x", 0, size_field=field)))
    sample("t1-size-past-end.tar", "malformed", last, "the file has 1024 more", tar(behind=header("x", 0, size_field=b"77777777777\0")))
    sample("t1-cut-in-header.tar", "malformed", last, "the file ends inside the header", tar(behind=header("x", 0)[:100], end=b""))
    cut = at("pickle") - 512
    sample("t1-cut-in-member.tar", "malformed", cut, "the file has 3 more", whole[:cut + 515])
    for name, records, code, wrong in (("sparse", pax((b"GNU.sparse.major", b"1")), "unsupported", "a sparse file"),
                                       ("size-words", pax((b"size", b"ten")), "malformed", "a pax size"),
                                       ("size-negative", pax((b"size", b"-1")), "malformed", "a pax size"),
                                       ("size-of-2-to-63", pax((b"size", b"9223372036854775808")), "malformed", "a pax size"),
                                       ("two-paths", pax((b"path", b"a"), (b"path", b"b")), "malformed", "a second long name"),
                                       ("length-short", b"3 path=a\n", "malformed", "a pax record"),
                                       ("length-long", b"900 path=a\n", "malformed", "a pax record"),
                                       ("length-zero", b"0 path=a\n", "malformed", "a pax record"),
                                       ("no-equals", b"9 path-a\n", "malformed", "a pax record"),
                                       ("words", b"nothing\n", "malformed", "a pax record")):
        sample(f"t1-pax-{name}.tar", code, last, wrong, tar(behind=member("x", records, kind=b"x") + member("y", b"")))
    sample("t1-pax-global-path.tar", "unsupported", 0, "a global name", tar(member("g", pax((b"path", b"a")), kind=b"g")))
    orphan = member("x", pax((b"path", b"a")), kind=b"x")
    sample("t1-pax-of-nothing.tar", "malformed", last + len(orphan), "not followed by a member", tar(behind=orphan))
    sample("t1-size-by-pax-past-end.tar", "malformed", last + 1024, "tar member of 99999 bytes",
           tar(behind=member("x", pax((b"size", b"99999")), kind=b"x") + member("y", b"")))
    sample("t1-member-twice.tar", "malformed", last,
           "duplicate member pickle: the first one is at 0xc00", tar(behind=member("pickle", PARTS["pickle"])))
    sample("t1-member-folder.tar", "malformed", 0, "tar member pickle is a directory",
           tar(header("pickle", 0, kind=b"5"), without=("pickle",)))
    for name in ("storages", "tensors", "pickle"):
        short = tar(without=(name,))
        sample(f"t1-no-{name}.tar", "malformed", len(short) - len(END), f"no member {name}", short)
    short = tar(without=("sys_info",))
    sample("t1-no-sys_info.tar", "note", len(short) - len(END), "no member sys_info", short)
    sample("t1-other-member.tar", "note", last,
           "member notes is not part of a torch checkpoint", tar(behind=member("notes", b"hello")))
    sample("t1-other-tar.tar", "unsupported", 0,
           "this tar archive is not a torch checkpoint (no member storages, tensors or pickle): unpack it first",
           member("notes", b"hello") + END)
    sample("t1-trailing-bytes.tar", "finding", len(whole), "4 bytes after the end of the tar", whole + b"more")
    sample("t1-zip-behind.tar", "finding", len(whole),
           "these bytes end like a zip archive", whole + b"PK\5\6" + b"\0" * 18)


def in_storages():
    front = at("storages")
    counted = len(dump(number(1)))
    head = len(storage_head())

    def bad(name, code, offset, wrong, data):
        sample(f"t2-{name}.tar", code, front + offset, wrong, tar(storages=data))

    bad("storages-negative", "malformed", 0,
        "the number of storages is not a non-negative integer", storages(storage(1, 2), n=-1))
    bad("storages-2-to-40", "limit", 0, "number of storages: 1099511627776", storages(storage(1, 2), n=2**40))
    bad("storages-text", "malformed", 0, "the number of storages is not a non-negative integer", dump(text("1")))
    bad("storages-too-many", "malformed", counted + len(storage(1, 2)), "is not (key, location, class)", storages(storage(1, 2), n=2))
    bad("storage-key-text", "malformed", counted, "is not (key, location, class)", storages(storage(1, 2, node=text("1"))))
    bad("storage-class-tensor", "malformed", counted,
        "storage 1: its class is not a storage class", storages(storage(1, 2, cls=TENSOR)))
    bad("storage-class-none", "malformed", counted,
        "storage 1: its class is not a storage class", storages(storage(1, 2, cls=b"N")))
    bad("storage-twice", "malformed", counted + len(storage(1, 2)), "duplicate storage or tensor 1",
        storages(storage(1, 2), storage(3)))
    for name, count in (("negative", -1), ("2-to-62", 2**62), ("past-member", 99)):
        bad(f"storage-count-{name}", "malformed", counted + head,
            f"storage 1 needs {count} elements of 4 bytes, member storages has 14 bytes left",
            storages(storage(1, 2, count=count)))
    cut = storages(storage(1, 2))[:counted + head + 5]
    bad("storage-cut-in-count", "malformed", counted + head, "ends before its count", cut)
    viewed = counted + len(storage(1, 2))
    for name, numbers, wrong in (("past-end", (7, 1, 1, 2), "elements 1 to +2"), ("unknown", (7, 3, 0, 1), "unknown storage 3"),
                                 ("negative", (7, 1, -1, 1), "elements -1"), ("key-twice", (1, 1, 0, 1),
                                                                              "duplicate storage or tensor 1"),
                                 ("of-three", (7, 1, 0),
                                  "a storage view is not (key, storage, first element, elements)")):
        bad(f"view-{name}", "malformed", viewed, wrong, storages(storage(1, 2), views=view(*numbers)))
    bad("view-of-view", "unsupported", viewed, "view 8 refers to another view, 7: not supported",
        storages(storage(1, 2), views=view(7, 1, 0, 2) + view(8, 7, 0, 1)))
    bad("views-none", "malformed", viewed,
        "the storage views are not a list", storages(storage(1, 2))[:viewed] + dump(b"N"))
    bad("storages-tail", "finding", len(storages(storage(1, 2))), "3 bytes after the storage views", storages(storage(1, 2)) + b"abc")


def in_tensors():
    front = at("tensors")
    counted = len(dump(number(1)))
    head = counted + len(tensor_head())

    def bad(name, code, offset, wrong, data):
        sample(f"t2-{name}.tar", code, front + offset, wrong, tar(tensors=data))

    bad("dims-negative", "malformed", head, "tensor 9 has -1 dimensions, expected 0 to 64", tensors(tensor(dims=-1)))
    bad("dims-2-to-31", "malformed", head,
        "tensor 9 has -2147483648 dimensions, expected 0 to 64", tensors(tensor(dims=-2**31)))
    bad("dims-65", "limit", head, "tensor 9 has 65 dimensions, expected 0 to 64", tensors(tensor(dims=65)))
    bad("dims-past-member", "malformed", head,
        "tensor 9 has 9 dimensions, member tensors has only 32 bytes left", tensors(tensor(dims=9)))
    bad("tensor-cut", "malformed", head, "ends here", tensors(tensor())[:head + 5])
    bad("size-negative", "malformed", head, "a negative size", tensors(tensor(size=(-2,))))
    bad("stride-negative", "malformed", head, "a negative stride", tensors(tensor(stride=(-1,))))
    bad("offset-negative", "malformed", head, "a negative offset", tensors(tensor(first=-1)))
    bad("tensor-past-storage", "malformed", head, "storage 1 has 2 elements", tensors(tensor(size=(3,))))
    bad("tensor-overflow", "malformed", head, "overflow 64 bits", tensors(tensor(size=(2**62,), stride=(2**62,))))
    bad("tensor-of-nothing", "malformed", counted, "unknown storage 5", tensors(tensor(on=number(5))))
    bad("tensor-storage-text", "malformed", counted,
        "tensor 9: its storage is not a key", tensors(tensor(on=text("1"))))
    bad("tensor-key-twice", "malformed", counted, "duplicate storage or tensor 1", tensors(tensor(key=1)))
    bad("tensor-without-class", "malformed", counted,
        "tensor 9 has no storage and its class is not a tensor class", tensors(tensor(on=b"N", cls=b"N")))
    bad("tensor-without-storage", "malformed", head - 1, "storage None has 0 elements", tensors(tensor(on=b"N")))
    bad("tensors-too-many", "malformed", counted + len(tensor()), "empty", tensors(tensor(), n=2))
    bad("tensor-of-two", "malformed", counted, "is not (key, storage, class)", dump(number(1)) + dump(pack(number(9), number(1))))
    sample("t0-tensor-empty.tar", "ok", "*", "", tar(tensors=tensors(tensor(size=(), stride=(), on=b"N"))))


def in_pickle():
    front = at("pickle")
    for name, value, wrong in (("unknown", text("55") + b"Q", "no storage or tensor has that key"),
                               ("words", text("nine") + b"Q", "no storage or tensor has that key"),
                               ("none", b"NQ", "no storage or tensor has that key"),
                               ("tuple-of-text", pack(text("9"), b"N", b"N") + b"Q",
                                "persistent id does not refer to a class")):
        data = dump(b"}X\1\0\0\0a", value, b"s")
        sample(f"t2-id-{name}.tar", "malformed", front + data.rindex(b"Q"), wrong, tar(pickle=data))
    rebuilt = dump(b"}X\1\0\0\0actorch._utils\n_rebuild_tensor\n(", text("9"), b"QK\0K\1\x85K\1\x85tRs")
    sample("t2-tensor-as-storage.tar", "malformed", front + rebuilt.index(b"tRs") + 1, "bad arguments", tar(pickle=rebuilt))
    sample("t2-pickle-tail.tar", "finding", front + len(PARTS["pickle"]), "2 bytes after the pickle's STOP",
           tar(pickle=PARTS["pickle"] + b"xy"))
    sample("t2-sys_info-broken.tar", "malformed", 514, "is not an opcode", tar(sys_info=b"\x80\2\xff."))


def main():
    for part in (archives, in_storages, in_tensors, in_pickle):
        part()
    header_line = "# file\tcode\toffset\tpart of the text; written by make.py\n"
    SAMPLES.write(header_line)


if __name__ == "__main__":
    main()
