#!/usr/bin/env python3
"""Writes the torch zips of this directory that must be refused or have findings, and expect.tsv.

    make.py [FOLDER]        needs only Python; equal runs give equal files

Samples are named by their fault: z… the zip, p… the structure of the pickle, s… its meaning. The offset of
each fault is computed here from the layout, never copied from heft's output.
"""
import struct
import sys
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "tools"))
from samples import Samples  # noqa: E402

SAMPLES = Samples(__file__)
NO = "-"  # an error without an offset


def sample(name, code, offset, text, data):
    SAMPLES.add(name, code, offset, text, data)


# ---- zips ----------------------------------------------------------------------------------------

class Entry:
    """A record; values in `local` and `central` replace those of its headers."""

    def __init__(self, name, data=b"", local=None, central=None, method=0, packed=None, size=None, descriptor=True,
                 crc=None, descriptor_bytes=None, at=None):
        self.name = name if isinstance(name, bytes) else name.encode()
        self.packed = data if packed is None else packed
        self.size = len(data) if size is None else size
        self.crc = zlib.crc32(data) if crc is None else crc
        self.method, self.local, self.central = method, local or {}, central or {}
        self.descriptor = descriptor and len(data) > 0
        self.descriptor_bytes, self.at = descriptor_bytes, at
        self.flags = 0x0808 if self.descriptor else 0x0800


class Zip:
    """torch's own layout; the offsets of all parts are kept for the table."""

    def __init__(self, *entries, count=None, end=None, end64=None, locator=None, comment=b"", tail=b""):
        self.out = bytearray()
        self.header, self.data, self.central = {}, {}, {}
        for entry in entries:
            self.add(entry)
        self.directory = len(self.out)
        for entry in entries:
            self.add_central(entry)
        self.end64 = len(self.out)
        n = len(entries) if count is None else count
        size = self.end64 - self.directory
        values = {"n": n, "size": size, "at": self.directory, "disk": 0}
        wide = {**values, **(end64 or {})}
        self.out += struct.pack("<4sQHHIIQQQQ", b"PK\6\6", 44, 0x031E, 45, wide["disk"], wide["disk"], wide["n"], wide["n"],
                                wide["size"], wide["at"])
        self.locator = len(self.out)
        where = {"at": self.end64, "disks": 1, **(locator or {})}
        self.out += struct.pack("<4sIQI", b"PK\6\7", 0, where["at"], where["disks"])
        self.end = len(self.out)
        narrow = {**values, **(end or {})}
        self.out += struct.pack("<4sHHHHIIH", b"PK\5\6", narrow["disk"], narrow["disk"], narrow["n"], narrow["n"],
                                narrow["size"], narrow["at"], len(comment)) + comment + tail

    def add(self, entry):
        if entry.at is not None:  # shares another's local header
            self.header[entry.name] = entry.at
            return
        start, name = len(self.out), entry.local.get("name", entry.name)
        pad = -(start + 30 + len(name) + 4) % 64
        extra = b"FB" + struct.pack("<H", pad) + b"Z" * pad
        values = {"magic": b"PK\3\4", "flags": entry.flags, "method": entry.method, "extra": len(extra), **entry.local}
        sizes = (0, 0, 0) if entry.descriptor else (entry.crc, len(entry.packed), entry.size)
        self.out += struct.pack("<4sHHHHHIIIHH", values["magic"], 0, values["flags"], values["method"], 0, 0, *sizes,
                                len(name), values["extra"])
        self.out += name + extra
        self.header[entry.name], self.data[entry.name] = start, len(self.out)
        self.out += entry.packed
        if entry.descriptor:
            full = struct.pack("<4sIII", b"PK\7\x08", entry.crc, len(entry.packed), entry.size)
            self.out += full if entry.descriptor_bytes is None else entry.descriptor_bytes(full)

    def add_central(self, entry):
        self.central[entry.name] = len(self.out)
        values = {"flags": entry.flags, "method": entry.method, "crc": entry.crc, "packed": len(entry.packed),
                  "size": entry.size, "at": self.header[entry.name], "name_len": len(entry.name), "disk": 0, "mode": 0,
                  "made_by": 0, **entry.central}
        self.out += struct.pack("<4sHHHHHHIIIHHHHHII", b"PK\1\2", values["made_by"], 0, values["flags"], values["method"], 0, 0,
                                values["crc"], values["packed"], values["size"], values["name_len"], 0, 0, values["disk"], 0,
                                values["mode"], values["at"]) + entry.name

    def bytes(self):
        return bytes(self.out)


# ---- pickles -------------------------------------------------------------------------------------

class At:
    """Marks, between two pieces of a pickle, the opcode of the error."""


AT = At()


def join(*parts):
    out, at = b"", None
    for part in parts:
        if part is AT:
            at = len(out)
        else:
            out += part
    return out, at


def text(s):
    raw = s.encode() if isinstance(s, str) else s
    return b"X" + struct.pack("<I", len(raw)) + raw


def integer(n):
    if 0 <= n < 256:
        return b"K" + bytes([n])
    if -2**31 <= n < 2**31:
        return b"J" + struct.pack("<i", n)
    raw = n.to_bytes(n.bit_length() // 8 + 1, "little", signed=True)
    return b"\x8a" + bytes([len(raw)]) + raw


def name(module, attribute):
    return f"c{module}\n{attribute}\n".encode()


def pack(*items):
    return b"(" + b"".join(items) + b"t"


def dims(*numbers):
    return pack(*(n if isinstance(n, bytes) else integer(n) for n in numbers))


FLOATS = name("torch", "FloatStorage")
V2 = name("torch._utils", "_rebuild_tensor_v2")
V3 = name("torch._utils", "_rebuild_tensor_v3")
HOOKS = name("collections", "OrderedDict") + b")R"
FALSE = b"\x89"


def ident(cls=FLOATS, key=text("0"), location=text("cpu"), numel=integer(2), word=text("storage")):
    return pack(word, cls, key, location, numel) + b"Q"


def tensor(storage=None, offset=integer(0), size=dims(2), stride=dims(1), extra=b"", at=False):
    head = V2 + b"(" + (ident() if storage is None else storage) + offset + size + stride + FALSE + HOOKS + extra + b"t"
    return (head, AT, b"R") if at else (head, b"R")


def entries(pkl, data=b"\0" * 8, version=b"3\n", more=()):
    out = [Entry("archive/data.pkl", pkl)]
    if data is not None:
        out.append(Entry("archive/data/0", data))
    if version is not None:
        out.append(Entry("archive/version", version))
    return [*out, *more]


def archive(pkl, **options):
    return Zip(*entries(pkl, **options))


def pickle(file, code, message, *parts, **options):
    """A pickle in a valid zip; its first byte is at offset 64."""
    pkl, at = join(*parts)
    built = archive(pkl, **options)
    sample(file, code, "*" if at is None else built.data[b"archive/data.pkl"] + at, message, built.bytes())


GOOD = b"".join((b"\x80\2}", text("w"), *tensor(), b"s."))
PROTO = b"\x80\2"


def in_dict(*parts):
    return (PROTO + b"}" + text("w"), *parts, b"s.")


# ---- Z: the zip ----------------------------------------------------------------------------------

def good(**options):
    return Zip(*entries(GOOD), **options)


def changed(index, **options):
    """The valid zip with one record (0 data.pkl, 1 data/0, 2 version) built differently."""
    parts = [("archive/data.pkl", GOOD), ("archive/data/0", b"\0" * 8), ("archive/version", b"3\n")]
    made = [Entry(n, d, **(options if i == index else {})) for i, (n, d) in enumerate(parts)]
    return Zip(*made)


def zip_ends():
    z = good()
    whole = z.bytes()
    sample("z00-good.pt", "ok", "*", "", whole)
    cut = whole[:z.directory - 20]
    sample("z01-truncated-in-records.pt", "malformed", len(cut), "no end of central directory", cut)
    cut = whole[:z.end + 10]
    sample("z01-truncated-in-end-record.pt", "malformed", len(cut), "no end of central directory", cut)
    sample("z02-no-end-record.pt", "malformed", z.end, "no end of central directory", whole[:z.end])
    directory = whole[z.directory:z.end64]
    inner = directory + struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 3, 3, len(directory), z.end + 22, 0)
    twice = good(comment=inner)
    sample("z02-two-end-records.pt", "malformed", twice.end + 22 + len(directory), "two end records hold up", twice.bytes())
    z = good(locator={"at": 1 << 40})
    sample("z03-locator-outside.pt", "malformed", z.locator + 8, "zip64 end record at", z.bytes())
    z = good(locator={"at": 0})
    sample("z03-locator-to-elsewhere.pt", "malformed", 0, "no zip64 end record where its locator points", z.bytes())
    z = good(end64={"n": 2})
    sample("z03-zip64-record-differs.pt", "malformed", "*", "the zip64 record gives 2", z.bytes())
    z = good(count=900)
    sample("z04-more-entries-than-bytes.pt", "malformed", "*", "900 entries in a directory of", z.bytes())
    z = good(count=2**32 - 1, end={"n": 65535})
    sample("z04-count-of-2-to-32.pt", "malformed", "*", "4294967295 entries", z.bytes())
    z = good(end={"n": 2}, end64={"n": 2})
    sample("z04-fewer-entries.pt", "malformed", z.central[b"archive/version"], "follow its 2 entries", z.bytes())
    z = good(end={"disk": 3}, end64={"disk": 3})
    sample("z18-disk-number.pt", "unsupported", "*", "archives in several parts", z.bytes())
    z = good(locator={"disks": 2})
    sample("z18-two-disks.pt", "unsupported", "*", "2 disks", z.bytes())


def zip_entries():
    z = changed(2, central={"name_len": 200})
    sample("z05-name-past-directory.pt", "malformed", z.central[b"archive/version"], "reaches past the end of the directory",
           z.bytes())
    z = changed(1, central={"at": 1 << 31})
    sample("z06-offset-past-end.pt", "malformed", z.central[b"archive/data/0"] + 42, "local header at 2147483648", z.bytes())
    z = changed(1, central={"at": changed(1).directory})
    sample("z06-offset-into-directory.pt", "malformed", z.central[b"archive/data/0"] + 42, "local header at", z.bytes())
    z = changed(1, local={"magic": b"PK\3\5"})
    sample("z07-local-magic.pt", "malformed", z.header[b"archive/data/0"], "local header begins with", z.bytes())
    z = changed(1, local={"name": b"archive/data/1"})
    sample("z08-local-name.pt", "malformed", z.header[b"archive/data/0"] + 30, "local header names it", z.bytes())
    z = changed(1, local={"extra": 60000})
    sample("z09-extra-past-end.pt", "malformed", z.header[b"archive/data/0"], "", z.bytes())
    z = changed(1, central={"flags": 0x0809})
    sample("z10-encrypted.pt", "unsupported", z.central[b"archive/data/0"] + 8, "encrypted", z.bytes())
    z = changed(1, local={"flags": 0x0809})
    sample("z10-encrypted-locally.pt", "malformed", z.header[b"archive/data/0"] + 6, "flags", z.bytes())
    z = changed(1, method=12)
    sample("z11-method-bzip2.pt", "unsupported", z.central[b"archive/data/0"] + 10, "compression method 12", z.bytes())
    z = changed(1, local={"method": 8})
    sample("z11-methods-differ.pt", "malformed", z.header[b"archive/data/0"] + 8, "method 8", z.bytes())
    z = changed(1, size=9)
    sample("z11-stored-of-two-sizes.pt", "malformed", z.central[b"archive/data/0"] + 20, "stored, but 8 bytes packed and 9",
           z.bytes())
    z = changed(0, crc=7)
    sample("z12-crc-of-pickle.pt", "mismatch", z.data[b"archive/data.pkl"], "CRC-32", z.bytes())
    z = changed(1, crc=7)
    sample("z12-crc-of-storage.pt", "finding", z.data[b"archive/data/0"], "the file says 00000007", z.bytes())
    z = changed(1, crc=0)
    sample("z12-crc-not-computed.pt", "note", NO, "1 record has no CRC-32", z.bytes())


def zip_names():
    same = Entry("archive/data/0", b"\0" * 8)
    z = Zip(*entries(GOOD), same)
    sample("z13-name-twice.pt", "malformed", "*", "two records have this name", z.bytes())
    z = Zip(*entries(GOOD), Entry("archive/DATA/0", b"\0" * 8))
    sample("z13-case-twin.pt", "malformed", z.central[b"archive/DATA/0"] + 46, "differ only in upper and lower case", z.bytes())
    z = Zip(*entries(GOOD), Entry("archive/Data.PKL", b"\x80\2N."))
    sample("z13-pickle-case-twin.pt", "malformed", z.central[b"archive/Data.PKL"] + 46, "differ only in upper and lower case", z.bytes())
    z = Zip(Entry("archive/DATA.PKL", GOOD), *entries(GOOD)[1:])
    sample("z13-pickle-in-upper-case.pt", "unsupported", 0, "no data.pkl", z.bytes())
    z = Zip(*entries(GOOD), Entry("archive/data/1", at=0))
    sample("z14-shared-local-header.pt", "malformed", 0, "", z.bytes())
    inner = Zip(Entry("archive/data/1", b"abc"))
    shell = bytes(inner.out[:inner.directory])
    outer = Entry("archive/extra", shell)
    start = Zip(*entries(GOOD), outer).data[b"archive/extra"]
    z = Zip(*entries(GOOD), outer, Entry("archive/data/1", b"abc", at=start))
    sample("z14-record-within-record.pt", "malformed", z.header[b"archive/extra"], "into record", z.bytes())
    for file, bad, code, what in (
            ("nul", b"archive/a\0b", "unsafe", "NUL"), ("dotdot", b"archive/../x", "unsafe", '".."'),
            ("absolute", b"/archive/x", "unsafe", "absolute"), ("backslash", b"archive\\x", "unsafe", "backslash"),
            ("not-utf8", b"archive/\xff", "malformed", "UTF-8"), ("empty", b"", "malformed", "without a name")):
        z = Zip(*entries(GOOD), Entry(bad, b"x"))
        sample(f"z16-name-{file}.pt", code, z.central[bad] + 46, what, z.bytes())
    z = Zip(*entries(GOOD), Entry("archive/data/1", b"target", central={"made_by": 0x0300, "mode": 0o120777 << 16}))
    sample("z23-symbolic-link.pt", "unsafe", "*", "symbolic link", z.bytes())
    z = Zip(*entries(GOOD), Entry("archive/"), Entry("archive/data/"))
    sample("z23-folders.pt", "ok", "*", "", z.bytes())
    z = Zip(*entries(GOOD), Entry("archive/data/x/", b"abc"))
    sample("z23-folder-with-bytes.pt", "malformed", "*", "a directory entry with content", z.bytes())
    z = Zip(*entries(GOOD), Entry("__MACOSX/x", b"x"))
    sample("z24-outside-of-root.pt", "finding", z.header[b"__MACOSX/x"],
           "record __MACOSX/x is outside the root archive/: torch refuses such an archive", z.bytes())
    z = Zip(Entry("a/x", b"x"), Entry("b/data.pkl", GOOD), Entry("c/data.pkl", GOOD))
    sample("z24-two-pickles.pt", "malformed", z.header[b"b/data.pkl"],
           "2 records are named data.pkl, and none is in the directory of the first record", z.bytes())
    z = Zip(Entry("data.pkl", GOOD), Entry("x/data.pkl.txt", b"x"))
    sample("z24-no-folder.pt", "malformed", z.header[b"data.pkl"],
           "data.pkl is not in a directory: torch needs ARCHIVE/data.pkl", z.bytes())


def deflate(data):
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


def zip_deflate():
    good_pickle = deflate(GOOD)
    z = changed(0, method=8, packed=good_pickle)
    sample("z15-deflated.pt", "ok", "*", "", z.bytes())
    z = changed(0, method=8, packed=good_pickle, size=len(GOOD) + 5)
    sample("z15-deflate-too-short.pt", "malformed", "*", "are declared", z.bytes())
    z = changed(0, method=8, packed=good_pickle, size=len(GOOD) - 5)
    sample("z15-deflate-too-long.pt", "malformed", "*", "gives more than the", z.bytes())
    z = changed(0, method=8, packed=good_pickle + b"junk")
    sample("z15-deflate-trailing.pt", "malformed", "*", "follow the end of the deflate stream", z.bytes())
    z = changed(0, method=8, packed=good_pickle[:-9])
    sample("z15-deflate-cut.pt", "malformed", "*", "", z.bytes())
    z = changed(0, method=8, packed=b"\xff" * 40)
    sample("z15-deflate-nonsense.pt", "malformed", "*", "", z.bytes())
    z = changed(0, method=8, packed=good_pickle, size=1 << 30)
    sample("z15-ratio.pt", "limit", z.central[b"archive/data.pkl"] + 24, "to 1", z.bytes())
    bomb = deflate(b"\0" * (65 << 20))
    z = changed(0, method=8, packed=bomb, size=65 << 20)
    sample("z15-pickle-of-65-mib.pt", "limit", z.data[b"archive/data.pkl"], "the limit is 67108864", z.bytes())


def zip_descriptors():
    z = changed(1, descriptor_bytes=lambda full: b"")
    sample("z17-no-descriptor.pt", "malformed", "*", "", z.bytes())
    z = changed(1, descriptor_bytes=lambda full: full[4:])
    sample("z17-descriptor-without-signature.pt", "ok", "*", "", z.bytes())
    z = changed(1, descriptor_bytes=lambda full: full + b"\0" * 8)
    sample("z17-descriptor-too-long.pt", "finding", z.header[b"archive/version"] - 8, "8 bytes that nothing", z.bytes())


def zip_strangers():
    whole = good().bytes()
    sample("z19-png-in-front.pt", "malformed", 0, "a PNG picture", b"\x89PNG\r\n\x1a\n" + b"\0" * 56 + whole)
    sample("z19-pickle-in-front.pt", "finding", 4,
           "these bytes end like a zip archive: torch reads the part before it, other readers would open the archive",
           b"\x80\2N." + whole)
    z = good(tail=b"0123456789")
    sample("z19-trailing-bytes.pt", "finding", len(z.out) - 10, "10 bytes", z.bytes())
    z = Zip(*entries(GOOD), Entry("archive/constants.pkl", b"\x80\2)."))
    sample("z25-torchscript.pt", "ok", "*", "", z.bytes())
    sample("z25-empty-zip.pt", "note", 0, "an empty zip archive", b"PK\5\6" + b"\0" * 18)
    sample("z25-empty-file.pt", "malformed", 0, "empty", b"")


def zip_records():
    def with_record(file, code, where, what, **options):
        z = archive(GOOD, **options)
        sample(file, code, z.data[where] if where else z.directory, what, z.bytes())

    version = b"archive/version"
    with_record("z20-no-version.pt", "malformed", None, "record version is missing: torch needs it", version=None)
    with_record("z20-version-0.pt", "malformed", version, "from 1 to 10", version=b"0\n")
    with_record("z20-version-11.pt", "unsupported", version,
                'record version contains "11\\n", expected 1 to 10', version=b"11\n")
    with_record("z20-version-of-20-digits.pt", "unsupported", version,
                'record version contains "99999999999999999999", expected 1 to 10', version=b"9" * 20)
    with_record("z20-version-no-number.pt", "malformed", version, "from 1 to 10", version=b"three")
    with_record("z20-version-huge-record.pt", "malformed", version, "5000 bytes", version=b"3" * 5000)
    with_record("z20-version-and-text.pt", "note", version, "3 bytes after the number", version=b"3abc")
    for file, record, value, what in (("byteorder", "byteorder", b"BIG",
                                       'record byteorder contains "BIG", expected "little" or "big"'),
                                      ("byteorder-line", "byteorder", b"little\n",
                                       'record byteorder contains "little\\n", expected "little" or "big"'),
                                      ("alignment-0", ".storage_alignment", b"0", "1 to 2^30"),
                                      ("alignment-huge", ".storage_alignment", b"9" * 30, "1 to 2^30"),
                                      ("format-version-text", ".format_version", b"one",
                                       'record .format_version contains "one", expected a positive number')):
        with_record(f"z20-{file}.pt", "malformed", f"archive/{record}".encode(), what,
                    more=[Entry(f"archive/{record}", value)])
    pkl, at = join(PROTO + b"}" + text("w") + V2 + b"(" + ident()[:-1], AT,
                   b"Q" + integer(0) + dims(2) + dims(1) + FALSE + HOOKS + b"tRs.")
    z = archive(pkl, data=None)
    sample("z21-no-storage.pt", "malformed", 64 + at, "has no record archive/data/0", z.bytes())
    storage = b"archive/data/0"
    with_record("z21-storage-shorter.pt", "malformed", storage,
                "record archive/data/0 has 4 bytes, the pickle expects 2 elements of 4 bytes", data=b"\0" * 4)
    with_record("z21-storage-longer.pt", "malformed", storage,
                "record archive/data/0 has 12 bytes, the pickle expects 2 elements of 4 bytes", data=b"\0" * 12)
    with_record("z21-storage-unused.pt", "note", b"archive/data/9",
                "storage data/9 (6 bytes) is not used by any tensor", more=[Entry("archive/data/9", b"hidden")])


# ---- P: the structure of the pickle --------------------------------------------------------------

def pickle_bounds():
    pickle("p01-empty.pt", "malformed", "the pickle is empty", AT, b"")
    short = {"binint1": b"K", "binint2": b"M\1", "binint": b"J\1\2", "long1": b"\x8a\4abc", "long4": b"\x8b\4\0\0\0ab",
             "binfloat": b"G\0\0\0", "binunicode": b"X\5\0\0\0abc", "short-binunicode": b"\x8c\5ab",
             "binunicode8": b"\x8d\5\0\0\0\0\0\0\0ab", "short-binstring": b"U\5ab", "binstring": b"T\5\0\0\0ab",
             "short-binbytes": b"C\5ab", "binbytes": b"B\5\0\0\0ab", "binbytes8": b"\x8e\5\0\0\0\0\0\0\0ab",
             "bytearray8": b"\x96\5\0\0\0\0\0\0\0ab", "binput": b"Nq", "long-binput": b"Nr\0\0", "binget": b"Nq\0h",
             "long-binget": b"Nq\0j\0\0", "proto": b"\x80", "frame": b"\x95\1\0"}
    for word, raw in short.items():
        before = {"binput": 1, "long-binput": 1, "binget": 3, "long-binget": 3}.get(word, 0)
        pickle(f"p02-cut-in-{word}.pt", "malformed", "", PROTO + raw[:before], AT, raw[before:])
    for word, raw in {"int": b"I12", "long": b"L12", "float": b"F1.", "string": b"S'a", "unicode": b"Va", "global": b"cos\nsys",
                      "put": b"p1", "get": b"g1", "persid": b"Pab"}.items():
        pickle(f"p02-cut-in-{word}-line.pt", "malformed", "", PROTO + (b"N" if word == "put" else b""), AT, raw)
    for byte in (0x00, 0x7F, 0xFF):
        pickle(f"p03-byte-{byte:02x}.pt", "malformed", "is not an opcode", PROTO, AT, bytes([byte]) + b".")
    pickle("p06-stop-with-nothing.pt", "malformed", "", PROTO, AT, b".")
    pickle("p07-no-stop.pt", "malformed", "without STOP", PROTO + b"N", AT)
    pickle("p08-bytes-after-stop.pt", "finding", "5 bytes after the pickle's STOP", GOOD, AT, b"hello")
    pickle("p09-no-proto.pt", "ok", "", GOOD[2:])
    pickle("p09-proto-again.pt", "ok", "", PROTO + GOOD)
    pickle("p09-proto-6.pt", "unsupported", "", AT, b"\x80\6N.")


def pickle_stack():
    one = {"dup": b"2", "binpersid": b"Q", "binput": b"q\0", "long-binput": b"r\0\0\0\0", "put": b"p0\n", "memoize": b"\x94",
           "tuple1": b"\x85", "pop": b"0"}
    two = {"tuple2": b"\x86", "append": b"a", "build": b"b", "reduce": b"R", "newobj": b"\x81", "stack-global": b"\x93"}
    three = {"tuple3": b"\x87", "setitem": b"s", "newobj-ex": b"\x92"}
    for have, table in enumerate((one, two, three)):
        for word, raw in table.items():
            pickle(f"p04-{word}-underflow.pt", "malformed", "", PROTO + b"N" * have, AT, raw + b"N.")
    for word, raw in {"tuple": b"t", "list": b"l", "dict": b"d", "appends": b"e", "setitems": b"u", "pop-mark": b"1",
                      "frozenset": b"\x91", "additems": b"\x90", "obj": b"o", "inst": b"ios\nsystem\n"}.items():
        pickle(f"p05-{word}-without-mark.pt", "malformed", "", PROTO + b"NN", AT, raw + b".")
    pickle("p05-reduce-across-mark.pt", "malformed", "above the mark", PROTO + name("os", "system") + b"(", AT, b"R.")
    pickle("p05-stop-with-open-mark.pt", "malformed", "", PROTO + b"N(", AT, b".")


def pickle_targets():
    pickle("p10-odd-setitems.pt", "malformed", "", PROTO + b"}(" + text("a"), AT, b"u.")
    pickle("p10-setitem-on-list.pt", "malformed", "", PROTO + b"]NN", AT, b"s.")
    pickle("p10-setitem-on-int.pt", "malformed", "", PROTO + b"K\1NN", AT, b"s.")
    pickle("p10-setitems-on-tensor.pt", "malformed", "items set on a tensor",
           *in_dict(*tensor(at=True), b"(" + integer(0) + integer(1) + b"u"))
    pickle("p10-append-on-dict.pt", "malformed", "", PROTO + b"}N", AT, b"a.")
    pickle("p10-append-on-tuple.pt", "malformed", "", PROTO + b")N", AT, b"a.")
    pickle("p10-build-on-int.pt", "malformed", "", PROTO + b"K\1}", AT, b"b.")
    for word, key in {"list": b"]", "dict": b"}", "set": b"\x8f"}.items():
        pickle(f"p11-key-{word}.pt", "malformed",
               "value : a dictionary key is not hashable: a list, dict, set or bytearray",
               PROTO + b"}", AT, key + b"Ns.")
    pickle("p11-key-nan.pt", "ok", "", PROTO + b"}G\x7f\xf8\0\0\0\0\0\0Ns.")
    pickle("p11-key-huge-int.pt", "ok", "", PROTO + b"}\x8a\x14" + b"\x7f" * 20 + b"Ns.")
    pickle("p11-key-object.pt", "ok", "", PROTO + b"}" + name("enum", "Colour") + b"K\1\x85RNs.")
    pickle("p12-get-undefined.pt", "malformed", "", PROTO, AT, b"h\7.")
    pickle("p12-long-get-undefined.pt", "malformed", "", PROTO, AT, b"j\xff\xff\xff\xff.")
    pickle("p12-put-at-2-to-32.pt", "ok", "", PROTO + b"}r\xff\xff\xff\xff0j\xff\xff\xff\xff.")
    for word, raw in {"int": b"K\1K\1", "none": b"NN", "bytes": b"C\2osC\6system"}.items():
        pickle(f"p13-stack-global-of-{word}.pt", "malformed", "a str is needed", PROTO + raw, AT, b"\x93.")


def pickle_globals():
    pickle("p14-global-without-newline.pt", "malformed", "ends inside a line", PROTO, AT, b"cos.")
    pickle("p14-global-with-control.pt", "malformed", "control character 0x1b", PROTO, AT, b"cos\x1b[2J\nsystem\n.")
    pickle("p14-global-too-long.pt", "limit", "a line of more than 1024", PROTO, AT, b"c" + b"a" * 3000 + b"\nb\n.")
    pickle("p14-global-not-utf8.pt", "malformed", "not UTF-8", PROTO, AT, b"c\xff\xfe\nb\n.")
    pickle("p15-reduce-with-list.pt", "malformed", "a tuple is needed", PROTO + name("os", "system") + b"]", AT, b"R.")
    for word, raw in {"string": text("os.system"), "int": b"K\1"}.items():
        pickle(f"p15-callee-{word}.pt", "malformed", "a global is needed", PROTO + raw + b")", AT, b"R.")
    pickle("p15-callee-tensor.pt", "ok", "", PROTO, *tensor(), b")R.")
    pickle("p16-next-buffer.pt", "unsupported", "", PROTO, AT, b"\x97.")
    for word, raw in {"ext1": b"\x82\1", "ext2": b"\x83\1\0", "ext4": b"\x84\1\0\0\0"}.items():
        pickle(f"p16-{word}.pt", "unsupported", "", PROTO, AT, raw + b".")
    pickle("p16-persid-text.pt", "malformed",
           'persistent id is not a tuple ("storage", class, key, location, elements)', PROTO, AT, b"Parchive\n.")


def pickle_values():
    pickle("p17-long4-negative.pt", "malformed", "negative length", PROTO, AT, b"\x8b\xff\xff\xff\xff.")
    pickle("p17-long4-huge.pt", "malformed", "", PROTO, AT, b"\x8b\xff\xff\xff\x7f.")
    for word, raw in {"int-empty": b"I\n", "int-0x": b"I0x\n", "long-underscore": b"L1_0\n", "float-empty": b"F\n",
                      "float-word": b"Fone\n", "string-unquoted": b"Sabc\n", "string-half-quoted": b"S'abc\n",
                      "string-bad-escape": b"S'\\x1'\n", "unicode-bad-escape": b"V\\u12\n"}.items():
        number = 19 if word.startswith(("string", "unicode")) else 18
        pickle(f"p{number}-{word}.pt", "malformed", "", PROTO, AT, raw + b".")
    pickle("p18-int-too-long.pt", "limit", "a line of more than 4096", PROTO, AT, b"I" + b"1" * 5000 + b"\n.")
    for word, raw in {"binunicode": b"X\xff\xff\xff\xff", "binunicode8": b"\x8d" + b"\xff" * 7 + b"\x7f",
                      "binbytes8": b"\x8e" + b"\0" * 7 + b"\x80", "bytearray8": b"\x96" + b"\xff" * 8}.items():
        pickle(f"p20-{word}-huge.pt", "malformed", "", PROTO, AT, raw + b".")
    pickle("p21-frame-past-end.pt", "malformed", "", b"\x80\4", AT, b"\x95\xff\0\0\0\0\0\0\0N.")
    pickle("p21-frame-in-frame.pt", "malformed", "", b"\x80\4\x95\x20\0\0\0\0\0\0\0", AT, b"\x95\2\0\0\0\0\0\0\0" + b"N0" * 11 + b"N.")
    pickle("p21-opcode-over-frame-end.pt", "malformed", "", b"\x80\4\x95\3\0\0\0\0\0\0\0N0", AT, b"X\1\0\0\0aN.")
    pickle("p22-not-utf8.pt", "malformed", "", PROTO, AT, text(b"\xff\xfe") + b".")
    pickle("p22-surrogate.pt", "ok", "", PROTO + b"}" + text(b"\xed\xa0\x80") + b"Ns.")


# ---- S: what the pickle means --------------------------------------------------------------------

def cycles_and_bombs():
    pickle("s01-list-in-itself.pt", "ok", "", PROTO + b"]q\0h\0a.")
    pickle("s01-dict-in-itself.pt", "ok", "", PROTO + b"}q\0" + text("me") + b"h\0s.")
    pickle("s01-attribute-in-itself.pt", "ok", "", PROTO + HOOKS + b"q\0}" + text("me") + b"h\0sb.")
    pickle("s02-deep-tuples.pt", "limit", "nested deeper than 10000", PROTO + b")" + b"\x85" * 30000 + b".")
    laughs = {"tuples": b"N" + b"2\x86" * 60,
              "lists": b"]q\0" + b"".join(b"0](" + b"h%c" % i * 9 + b"eq%c" % (i + 1) for i in range(12)),
              "list": b"]" + b"".join(b"q%c0(h%ch%ch%cl" % ((i,) * 4) for i in range(30))}
    state = name("my", "Thing") + b")\x81}"
    laughs["build"] = b"}q\0" + b"".join(b"0" + state + b"(" + text("a") + b"h%c" % i + text("b") + b"h%c" % i + b"ubq%c" % (i + 1)
                                         for i in range(40))
    laughs["ordered-dict"] = b"]q\0(" + b"".join(text(f"k{i}") + b"N\x86" for i in range(1000)) + b"eq\1](" + b"".join(
        name("collections", "OrderedDict") + b"h\1\x85R" for i in range(1500)) + b"e"
    for word, raw in laughs.items():
        pickle(f"s03-laughs-{word}.pt", "limit", "limits.expansion", PROTO + raw + b".")
        long = text("\u00e9" * 20000)
    pickle("s03-encode-shared-text.pt", "ok", "", PROTO + long + b"q\0" + text("latin1") + b"q\x010](" +
           (name("_codecs", "encode") + b"h\0h\1\x86R") * 500 + b"e.")


def persistent_ids():
    def bad(file, what, **options):
        pickle(f"s04-{file}.pt", options.pop("code", "malformed"), what,
               *in_dict(V2 + b"(" + ident(**options)[:-1], AT, b"Q" + integer(0) + dims(2) + dims(1) + FALSE + HOOKS + b"tR"))

    pickle("s04-no-tuple.pt", "malformed",
           'persistent id is not a tuple ("storage", class, key, location, elements)', *in_dict(text("0"), AT, b"Q"))
    pickle("s04-four-items.pt", "malformed",
           'persistent id has 4 items; torch writes ("storage", class, key, location, elements)',
           *in_dict(pack(text("storage"), FLOATS, text("0"), text("cpu")), AT, b"Q"))
    pickle("s04-module.pt", "malformed",
           'persistent id has 4 items and does not begin with "storage"; '
           'torch writes ("storage", class, key, location, elements)',
           *in_dict(pack(text("module"), name("my", "Net"), text("a.py"), text("code")), AT, b"Q"))
    bad("key-int", "persistent id: its key is not text", key=integer(0))
    bad("key-none", "persistent id: its key is not text", key=b"N")
    bad("key-outside", "has no record archive/data/../x", key=text("../x"))
    bad("key-with-nul", "has no record", key=text("0\0"))
    bad("key-huge", "has no record", key=text("0" * 4000))
    bad("class-string", "persistent id: its storage class is not a class", cls=text("FloatStorage"))
    bad("class-danger", "persistent id: unknown storage class os.system", cls=name("os", "system"), code="unsupported")
    bad("class-of-tensor", "persistent id: unknown storage class torch.FloatTensor", cls=name("torch", "FloatTensor"))
    bad("class-unknown", "persistent id: unknown storage class torch.FancyStorage",
        cls=name("torch", "FancyStorage"), code="unsupported")
    for word, numel in {"negative": integer(-2), "bool": b"\x88", "float": b"G" + struct.pack(">d", 2.0), "2-to-63": integer(2**63),
                        "10-to-30": integer(10**30)}.items():
        bad(f"numel-{word}", "persistent id: the number of elements is not an integer from 0 to 2^63-1", numel=numel)
    bad("numel-wraps",
        "storage of 4611686018427387905 elements: its size overflows 64 bits", numel=integer(0x4000000000000001))
    first = V2 + b"(" + ident() + integer(0) + dims(2) + dims(1) + FALSE + HOOKS + b"tR"
    for word, options in {"classes": {"cls": name("torch", "IntStorage")}, "numels": {"numel": integer(1)}}.items():
        pickle(f"s04-two-{word}.pt", "malformed", "here, class FloatStorage and 2 elements before",
               PROTO + b"}(" + text("a") + first + text("b") + V2 + b"(" +
               ident(**options)[:-1], AT, b"Q" + integer(0) + dims(1) + dims(1) + FALSE + HOOKS + b"tRu.")


def geometry():
    def bad(file, what, code="malformed", **options):
        pickle(f"s05-{file}.pt", code, what, *in_dict(*tensor(at=True, **options)))

    bad("ranks-differ", "tensor w: 1 sizes but 2 strides", stride=dims(1, 1))
    bad("size-negative", "tensor w: the size is not an integer from 0 to 2^63-1", size=dims(-1))
    bad("stride-negative", "tensor w: the stride is not an integer from 0 to 2^63-1", stride=dims(-1))
    bad("size-bool", "tensor w: the size is not an integer from 0 to 2^63-1", size=dims(b"\x88"))
    bad("size-huge", "tensor w: the size is not an integer from 0 to 2^63-1", size=dims(2**64))
    bad("offset-negative", "tensor w: the storage offset is not an integer from 0 to 2^63-1", offset=integer(-1))
    bad("offset-none", "tensor w: the storage offset is not an integer from 0 to 2^63-1", offset=b"N")
    bad("size-none", "the shape or stride is not a tuple", size=b"N")
    bad("shape-overflows", "overflow", size=dims(2**62, 2**62), stride=dims(0, 0))
    bad("stride-overflows", "reaches 18446744073709551614 further", size=dims(3), stride=dims(2**63 - 1))
    bad("offset-past-end", "storage 0 has 2 elements", offset=integer(1))
    bad("offset-huge", "storage 0 has 2 elements", offset=integer(2**63 - 1))
    bad("last-past-end", "storage 0 has 2 elements", size=dims(2), stride=dims(2))
    bad("rank-65", "65 dimensions, the limit is 64", code="limit", size=dims(*[1] * 65), stride=dims(*[1] * 65))
    pickle("s05-expanded-to-4-tb.pt", "limit", "the limit is", *in_dict(*tensor(size=dims(10**12), stride=dims(0))))
    pickle("s05-arguments-missing.pt", "malformed", "bad arguments for torch._utils._rebuild_tensor_v2",
           *in_dict(V2 + b"(" + ident() + integer(0) + b"t", AT, b"R"))
    pickle("s05-storage-none.pt", "malformed", "bad arguments for torch._utils._rebuild_tensor_v2", *in_dict(*tensor(storage=b"N", at=True)))
    pickle("s05-storage-by-another.pt", "note", "its storage is built by my.storage",
           *in_dict(*tensor(storage=name("my", "storage") + b")R", at=True)))
    pickle("s05-conj-of-floats.pt", "malformed", "conjugated",
           *in_dict(*tensor(at=True, extra=b"}" + text("conj") + b"\x88s")))


def third_version():
    untyped = name("torch.storage", "UntypedStorage")

    def v3(file, code, what, dtype, numel=8, size=dims(2), data=b"\0" * 8):
        pickle(f"s06-{file}.pt", code, what, *in_dict(V3 + b"(" + ident(cls=untyped, numel=integer(numel)) + integer(0) + size +
               dims(1) + FALSE + HOOKS + dtype + b"t", AT, b"R"), data=data)

    v3("dtype-none", "malformed", "tensor w: the dtype argument is not a torch dtype", b"N")
    v3("dtype-string", "malformed", "tensor w: the dtype argument is not a torch dtype", text("torch.float32"))
    v3("dtype-class", "malformed", "tensor w: the dtype argument is not a torch dtype", FLOATS)
    v3("dtype-dotted", "malformed",
       "tensor w: the dtype argument is not a torch dtype", b"\x8c\x05torch\x8c\x0dserialization\x93")
    v3("odd-bytes", "malformed", "storage 0 has 1 elements", name("torch", "uint32"), numel=7, data=b"\0" * 7)
    v3("bits", "note", "torch.bits8", name("torch", "bits8"))
    pickle("s06-quantized-storage.pt", "note", "torch.QInt8Storage",
           *in_dict(*tensor(storage=ident(cls=name("torch", "QInt8Storage")), at=True)), data=b"\0" * 2)


def wrappers():
    wrap = name("torch._tensor", "_rebuild_from_type_v2")
    inner = pack(ident(), integer(0), dims(2), dims(1), FALSE, HOOKS)
    chain = wrap + b"q\x000" + V2 + b"q\x010" + name("torch", "Tensor") + b"q\x020"
    once = b"(" + b"h\1h\2" + inner + b"Nt"
    pickle("s07-from-type.pt", "ok", "", *in_dict(chain + b"h\0" + once + b"R"))
    deep = b"h\0" + b"(h\0h\2" * 5000 + once + b"Nt" * 5000 + b"R"
    pickle("s07-from-type-5000-deep.pt", "ok", "", *in_dict(chain + deep))
    pickle("s07-parameter-of-int.pt", "malformed", "bad arguments for torch._utils._rebuild_parameter",
           *in_dict(name("torch._utils", "_rebuild_parameter") + pack(integer(1), b"\x88", HOOKS), AT, b"R"))
    pickle("s07-parameter-of-unknown.pt", "note", "built by my.maker",
           *in_dict(name("torch._utils", "_rebuild_parameter") + pack(name("my", "maker") + b")R", b"\x88", HOOKS), AT, b"R"))
    pickle("s08-load-from-bytes.pt", "malformed",
           "tensor w: the first pickle is not the magic number 0x1950a86a20f9469cfc6c of legacy streams",
           *in_dict(name("torch.storage", "_load_from_bytes") + b"C\4", AT, b"\x80\2N.\x85R"))


def arrays():
    make = name("numpy.core.multiarray", "_reconstruct") + pack(name("numpy", "ndarray"), dims(0), b"C\1b")
    dtype = name("numpy", "dtype") + pack(text("f4"), FALSE, b"\x88") + b"R" + pack(
        integer(3), text("<"), b"N", b"N", b"N", integer(-1), integer(-1), integer(0)) + b"b"

    def state(shape, raw):
        return pack(integer(1), shape, dtype, FALSE, raw) + b"b"

    pickle("s11-array-too-short.pt", "malformed", "tensor w: numpy array: shape and dtype F32 do not match its 4 bytes",
           *in_dict(make, AT, b"R" + state(dims(2), b"C\4abcd")))
    pickle("s11-array-overflows.pt", "malformed", "tensor w: numpy array: shape and dtype F32 do not match its 4 bytes",
           *in_dict(make, AT, b"R" + state(dims(2**62, 2**62), b"C\4abcd")))
    pickle("s11-array-negative.pt", "malformed",
           "tensor w: numpy array: its shape contains something other than integers from 0 to 2^63-1",
           *in_dict(make, AT, b"R" + state(dims(-1), b"C\4abcd")))
    pickle("s11-array-without-bytes.pt", "malformed",
           "tensor w: numpy array: its data is not bytes", *in_dict(make, AT, b"R" + state(dims(1), b"N")))
    pickle("s11-array-above-latin1.pt", "malformed", "above U+00FF",
           *in_dict(make + b"R" + pack(integer(1), dims(1), dtype, FALSE, name("_codecs", "encode") + b"(", )[:-1], AT,
                    text("\u0100bcd") + text("latin1") + b"tR" + b"tb"))
    pickle("s11-scalar-too-short.pt", "malformed", "value w: numpy scalar of F32: its data is not 4 bytes",
           *in_dict(name("numpy.core.multiarray", "scalar") + b"(" + dtype + b"C\2ab" + b"t", AT, b"R"))
    pickle("s11-array-of-objects.pt", "ok", "", *in_dict(make + b"R" + pack(integer(1), dims(1), name("numpy", "dtype") + pack(
        text("O8"), FALSE, b"\x88") + b"R", FALSE, b"]Na") + b"b"))


def names():
    two = b"".join(tensor())
    pickle("s12-one-name-two-paths.pt", "malformed",
           "tensor a.b: two paths result in this name: a / b and a.b", PROTO + b"}(" + text("a") +
           b"}" + text("b") + two + b"s" + text("a.b") + two + b"u.")
    pickle("s12-int-and-text.pt", "malformed", "tensor 1: two paths result in this name: 1 (an int) and 1 (a str)",
           PROTO + b"}(" + integer(1) + two + text("1") + two + b"u.")
    pickle("s12-repeated-key.pt", "ok", "", PROTO + b"}(" + text("a") + b"N" + text("a") + two + b"u.")
    pickle("s12-escape-in-name.pt", "ok", "", PROTO + b"}" + text("a\n\x1b[31m") + two + b"s.")
    pickle("s12-name-not-utf8.pt", "malformed", "not valid UTF-8", PROTO + b"}" + text(b"\xed\xa0\x80") + two + b"s.")


def main():
    for make in (zip_ends, zip_entries, zip_names, zip_deflate, zip_descriptors, zip_strangers, zip_records, pickle_bounds,
                 pickle_stack, pickle_targets, pickle_globals, pickle_values, cycles_and_bombs, persistent_ids, geometry,
                 third_version, wrappers, arrays, names):
        make()
    head = "# file\tcode\toffset\tpart of the text; written by make.py\n"
    SAMPLES.write(head)


if __name__ == "__main__":
    main()
