#!/usr/bin/env python3
"""Writes the legacy streams of this directory that must be refused or have findings, and expect.tsv.

    make.py [FOLDER]        needs only Python; equal runs give equal files

Samples are named by their fault, after the list of malicious inputs: l1 … l7 the stream, s8 streams within
pickles. The offset of each fault is computed here from the layout, never copied from heft's output.
"""
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "tools"))
from samples import Samples  # noqa: E402

SAMPLES = Samples(__file__)
sample = SAMPLES.add


# ---- pickles -------------------------------------------------------------------------------------

MAGIC = b"\x80\2\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."
VERSION = b"\x80\2M\xe9\3."
SYSTEM = b"\x80\2}(X\r\0\0\0little_endian\x88u."
OBJECT = len(MAGIC + VERSION + SYSTEM)


def text(s):
    return b"X" + struct.pack("<I", len(s)) + s.encode()


def integer(n):
    if 0 <= n < 256:
        return b"K" + bytes([n])
    raw = n.to_bytes(n.bit_length() // 8 + 1, "little", signed=True)
    return b"\x8a" + bytes([len(raw)]) + raw


def pack(*items):
    return b"(" + b"".join(items) + b"t"


FLOATS = b"ctorch\nFloatStorage\n"


def pid(key="1", count=integer(2), view=b"N", cls=FLOATS, word=text("storage"), key_node=None):
    return pack(word, cls, key_node or text(key), text("cpu"), count, *([view] if view else [])) + b"Q"


def tensor(storage, n=2, first=0):
    return (b"ctorch._utils\n_rebuild_tensor\n" + pack(storage, integer(first), pack(integer(n)), pack(integer(1))) + b"R")


def view(key, first, count):
    return pack(text(key), integer(first), integer(count))


def dictionary(**items):
    return b"\x80\2}(" + b"".join(text(name) + value for name, value in items.items()) + b"u."


def keys(*names):
    return b"\x80\2](" + b"".join(n if isinstance(n, bytes) else text(n) for n in names) + b"e."


def storage(*numbers, count=None):
    return struct.pack("<q", len(numbers) if count is None else count) + struct.pack(f"<{len(numbers)}f", *numbers)


def stream(obj=None, names=None, storages=None, magic=MAGIC, version=VERSION, system=SYSTEM):
    obj = dictionary(a=tensor(pid())) if obj is None else obj
    names = keys("1") if names is None else names
    return magic + version + system + obj + names + b"".join([storage(1, 2)] if storages is None else storages)


def persid_at(obj, which=0):
    """Offset of the BINPERSID that comes that many after the first."""
    at = -1
    for _ in range(which + 1):
        at = obj.index(b"tQ", at + 1)
    return OBJECT + at + 1


# ---- what is wrong -------------------------------------------------------------------------------

def front():
    sample("l0-good.pt", "ok", "*", "", stream())
    sample("l1-version-1000.pt", "unsupported", len(MAGIC), "protocol version 1000, expected 1001",
           stream(version=b"\x80\2M\xe8\3."))
    sample("l1-version-text.pt", "malformed", len(MAGIC),
           "the protocol version is not an integer, expected 1001", stream(version=b"\x80\2X\4\0\0\0001001."))
    sample("l1-version-true.pt", "malformed", len(MAGIC),
           "the protocol version is not an integer, expected 1001", stream(version=b"\x80\2\x88."))
    sample("l1-system-is-list.pt", "note", len(MAGIC + VERSION),
           "the third pickle is not a dict that describes the system", stream(system=b"\x80\2]."))
    sample("l1-cut-in-magic.pt", "malformed", 2, "the pickle has 9 left", MAGIC[:-2])
    sample("l1-only-magic.pt", "malformed", len(MAGIC), "empty", MAGIC)
    other = MAGIC.replace(b"\x19.", b"\x18.")
    sample("l1-other-magic.pt", "finding", len(other), "bytes after the pickle's STOP", stream(magic=other))
    called = b"\x80\2c__builtin__\nint\n" + b"X\x18\0\0\0" + str(0x1950A86A20F9469CFC6C).encode() + b"\x85R."
    sample("l7-magic-called.pt", "finding", len(called), "bytes after the pickle's STOP", stream(magic=called))


def key_lists():
    obj = dictionary(a=tensor(pid()), b=tensor(pid("2")))
    at = OBJECT + len(obj)
    two = [storage(1, 2), storage(3, 4)]
    sample("l2-key-twice.pt", "malformed", at,
           "the list of storage keys has a duplicate: 1", stream(obj, keys("1", "1", "2"), [two[0], *two]))
    sample("l2-key-unknown.pt", "malformed", at, "refers to an unknown storage 3", stream(obj, keys("1", "2", "3"), two))
    sample("l2-key-missing.pt", "malformed", at, "lacks 2", stream(obj, keys("1"), two[:1]))
    sample("l2-keys-empty.pt", "malformed", at, "lacks 1", stream(obj, b"\x80\2].", []))
    sample("l2-key-integer.pt", "malformed", at, "contains an invalid text", stream(obj, keys("1", integer(2)), two))
    sample("l2-keys-dict.pt", "malformed", at,
           "the fifth pickle is not a list of storage keys", stream(obj, b"\x80\2}.", two))
    sample("l2-keys-none.pt", "malformed", at,
           "the fifth pickle is not a list of storage keys", stream(obj, b"\x80\2N.", two))


def counts():
    front = OBJECT + len(dictionary(a=tensor(pid()))) + len(keys("1"))
    for name, count in (("3", 3), ("negative", -1), ("2-to-62", 2**62)):
        sample(f"l3-count-{name}.pt", "malformed", front,
               f"storage 1 has a count of {count}, the pickle expects 2 elements",
               stream(storages=[storage(1, 2, count=count)]))
    no_count = "persistent id: the number of elements is not an integer from 0 to 2^63-1"
    for name, count, wrong in (("negative", -2, no_count), ("2-to-63", 2**63, no_count),
                               ("2-to-62", 2**62,
                                "storage of 4611686018427387904 elements: its size overflows 64 bits")):
        obj = dictionary(a=tensor(pid(count=integer(count))))
        sample(f"l3-elements-{name}.pt", "malformed", persid_at(obj), wrong, stream(obj))
    large = dictionary(a=pid(count=integer(2**60)), b=pid("2", count=integer(2**60)), c=pid("3", count=integer(2**60)),
                       d=pid("4", count=integer(2**60)))
    names = keys("1", "2", "3", "4")
    sample("l3-sum-beyond-2-to-64.pt", "malformed", OBJECT + len(large + names), "beyond 2^64 bytes",
           stream(large, names, [struct.pack("<q", 2**60)]))


def cuts():
    obj = dictionary(a=tensor(pid()), b=tensor(pid("2")))
    front = OBJECT + len(obj) + len(keys("1", "2"))
    whole = stream(obj, keys("1", "2"), [storage(1, 2), storage(3, 4)])
    assert len(whole) == front + 32
    said = f"the file is truncated: storages end at byte {len(whole)}, the file has "
    for name, end, at, key in (("count", front + 3, front, 1), ("first", front + 15, front, 1),
                               ("between", front + 16, front + 16, 2), ("last", front + 31, front + 16, 2)):
        sample(f"l4-cut-in-{name}.pt", "malformed", at, f"{said}{end} ({len(whole) - end} missing, from storage {key} on)",
               whole[:end])
    sample("l4-cut-in-object.pt", "malformed", OBJECT + 10, "ends inside a line", whole[:OBJECT + 25])
    sample("l4-cut-before-keys.pt", "malformed", OBJECT + len(obj), "empty", whole[:OBJECT + len(obj)])
    sample("l4-trailing-bytes.pt", "finding", len(whole), "5 bytes after the last storage", whole + b"12345")
    zipped = b"PK\5\6" + b"\0" * 18
    sample("z19-zip-behind.pt", "finding", len(whole),
           "these bytes end like a zip archive: torch reads the part before it, other readers would open the archive",
           whole + zipped)


def views():
    def at(obj, which=0):
        return persid_at(obj, which)

    good = dictionary(a=tensor(pid(view=view("7", 0, 2))), b=pid(view=view("8", 2, 0)))
    sample("l5-good.pt", "ok", "*", "", stream(good))
    for name, v, wrong in (("past-root", view("7", 1, 2), "elements 1 to +2, storage 1 has 2"),
                           ("far-past-root", view("7", 2**62, 2**62),
                            "storage view covers elements 4611686018427387904 to +4611686018427387904, storage 1 has 2"),
                           ("negative", view("7", -1, 1), "negative numbers"),
                           ("negative-count", view("7", 0, -1), "negative numbers"),
                           ("of-two", pack(text("7"), integer(0)), "is not (key, first"),
                           ("text", text("7"), "is not (key, first"),
                           ("key-integer", pack(integer(7), integer(0), integer(1)), "is not (key, first"),
                           ("of-all-as-part", view("1", 0, 1),
                            "storage view differs from an earlier view with the same key")):
        obj = dictionary(a=tensor(pid(view=v)))
        sample(f"l5-view-{name}.pt", "malformed", at(obj), wrong, stream(obj))
    obj = dictionary(a=tensor(pid(view=view("7", 0, 2))), b=tensor(pid("7", view=view("9", 0, 1))))
    sample("l5-view-of-view.pt", "unsupported", at(obj, 1),
           "storage 7 is itself a view: a view of a view is not supported", stream(obj))
    obj = dictionary(a=tensor(pid(view=view("7", 0, 1)), 1), b=tensor(pid(view=view("7", 1, 1)), 1))
    sample("l5-view-key-twice.pt", "malformed", at(obj, 1),
           "storage view differs from an earlier view with the same key", stream(obj))
    obj = dictionary(a=tensor(pid()), b=tensor(pid("2", view=view("1", 0, 2))))
    sample("l5-view-key-of-storage.pt", "malformed", at(obj, 1),
           "storage view differs from an earlier view with the same key", stream(obj))
    obj = dictionary(a=tensor(pid(view=view("7", 0, 2))))
    sample("l5-key-of-view.pt", "malformed", OBJECT + len(obj),
           "the list of storage keys refers to a view, not a storage: 7", stream(obj, keys("1", "7")))
    obj = dictionary(a=tensor(pid(view=view("7", 1, 1)), 2))
    sample("l5-tensor-past-view.pt", "malformed", OBJECT + obj.index(b"tRu") + 1, "storage 7 has 1 elements", stream(obj))


def ids():
    net = b"cnet\nNet\n"
    good = dictionary(net=pack(text("module"), net, b"N", b"N") + b"Q)\x81", a=tensor(pid()))
    sample("l6-good.pt", "ok", "*", "", stream(good))
    for name, items, wrong in (("of-text", (text("net"), b"N", b"N"), "persistent id does not refer to a class"),
                               ("of-call", (net + b")R", b"N", b"N"), "persistent id does not refer to a class"),
                               ("alone", (), 'persistent id has 1 items, expected 4: ("module", class, file, source)'),
                               ("of-5", (net, b"N", b"N", b"N"),
                                'persistent id has 5 items, expected 4: ("module", class, file, source)')):
        obj = dictionary(net=pack(text("module"), *items) + b"Q")
        sample(f"l6-module-{name}.pt", "malformed", persid_at(obj), wrong, stream(obj, keys(), []))
    five = 'persistent id has 5 items, a legacy stream has 6: ("storage", class, key, location, elements, view)'
    other = ('persistent id has 6 items and does not begin with "storage"; '
             'torch writes ("storage", class, key, location, elements)')
    for name, wrong, changed in (("of-5", five, {"view": b""}), ("other-word", other, {"word": text("tensor")}),
                                 ("key-integer", "persistent id: its key is not text", {"key_node": integer(1)}),
                                 ("class-unknown", "persistent id: unknown storage class torch.OddStorage",
                                  {"cls": b"ctorch\nOddStorage\n"}),
                                 ("class-no-storage",
                                  "persistent id: unknown storage class torch.Size", {"cls": b"ctorch\nSize\n"})):
        obj = dictionary(a=tensor(pid(**changed)))
        code = "unsupported" if name == "class-unknown" else "malformed"
        sample(f"s4-id-{name}.pt", code, persid_at(obj), wrong, stream(obj))
    obj = dictionary(a=text("1") + b"Q")
    sample("s4-id-text.pt", "malformed", OBJECT + obj.index(b"Q"),
           'persistent id is not a tuple ("storage", class, key, location, elements)', stream(obj))
    obj = dictionary(a=tensor(pid()), b=tensor(pid(count=integer(3))))
    sample("s4-two-sizes.pt", "malformed", persid_at(obj, 1),
           "storage 1 has class FloatStorage and 3 elements here, class FloatStorage and 2 elements before",
           stream(obj))
    obj = dictionary(a=tensor(pid()), b=tensor(pid(cls=b"ctorch\nIntStorage\n")))
    sample("s4-two-classes.pt", "malformed", persid_at(obj, 1),
           "storage 1 has class IntStorage and 2 elements here, class FloatStorage and 2 elements before", stream(obj))
    obj = dictionary(a=b"Ptext id\n")
    sample("s4-id-of-protocol-0.pt", "malformed", OBJECT + obj.index(b"P"),
           'persistent id is not a tuple ("storage", class, key, location, elements)', stream(obj))
    obj = dictionary(a=tensor(pid(), 3))
    sample("s5-tensor-past-storage.pt", "malformed", OBJECT + obj.index(b"tRu") + 1, "storage 1 has 2 elements", stream(obj))


def load(data):
    return b"ctorch.storage\n_load_from_bytes\nB" + struct.pack("<I", len(data)) + data + b"\x85R"


def nested():
    bare = stream(b"\x80\2" + pid() + b".")
    none = keys(), []
    for depth in range(1, 4):
        good = bare
        for _ in range(depth - 1):
            good = stream(b"\x80\2" + load(good) + b".", *none)
        obj = dictionary(a=tensor(load(good)))
        at = "*"
        if depth == 3:  # the call within the stream within the stream
            head = len(load(b"")) - 2
            at = OBJECT + obj.index(good) + OBJECT + 2 + head + OBJECT + 2 + len(load(bare)) - 1
        sample(f"s8-depth-{depth}.pt", "limit" if depth == 3 else "ok", at, "nested deeper than 2" if depth == 3 else "",
               stream(obj, *none))
    obj = dictionary(a=tensor(load(bare[:-3])))
    at = OBJECT + obj.index(bare[:-3]) + len(bare) - 16
    sample("s8-nested-cut.pt", "malformed", at, "3 missing", stream(obj, *none))
    obj = dictionary(a=tensor(load(bare + b"xy")))
    sample("s8-nested-tail.pt", "finding", OBJECT + obj.index(bare) + len(bare), "2 bytes after the last storage",
           stream(obj, *none))
    claims = bare[:OBJECT] + b"\x80\2" + pid(count=integer(2**40)) + b"." + keys("1") + struct.pack("<q", 2**40)
    obj = dictionary(a=tensor(load(claims)))
    sample("s8-nested-claims-more.pt", "malformed", OBJECT + obj.index(claims) + len(claims) - 8, "missing", stream(obj, *none))
    obj = dictionary(a=tensor(load(stream(b"\x80\2N.", *none))))
    sample("s8-nested-none.pt", "note", "*", "its storage is built by torch.storage._load_from_bytes", stream(obj, *none))
    obj = dictionary(a=load(stream(dictionary(x=integer(1)), *none)))
    sample("s8-nested-dict.pt", "note", "*",
           "tensor a: cannot be read: built by torch.storage._load_from_bytes, but not a tensor", stream(obj, *none))
    obj = dictionary(a=load(b"PK\3\4" + b"\0" * 30))
    sample("s8-nested-zip.pt", "note", "*", "a torch zip within the pickle", stream(obj, *none))
    obj = dictionary(a=b"ctorch.storage\n_load_from_bytes\n)R")
    sample("s8-nested-nothing.pt", "malformed", OBJECT + obj.index(b")R") + 1, "bad arguments", stream(obj, *none))
    obj = dictionary(a=b"ctorch.storage\n_load_from_bytes\nK\1\x85R")
    sample("s8-nested-integer.pt", "malformed", OBJECT + obj.index(b"\x85R") + 1,
           "tensor a: the argument of torch.storage._load_from_bytes is not bytes", stream(obj, *none))


def main():
    for part in (front, key_lists, counts, cuts, views, ids, nested):
        part()
    header = "# file\tcode\toffset\tpart of the text; written by make.py\n"
    SAMPLES.write(header)


if __name__ == "__main__":
    main()
