#!/usr/bin/env python3
"""Writes the plain pickles of this directory that must be refused or have findings, and expect.tsv.

    make.py [FOLDER]        needs only Python; equal runs give equal files

Malformed pickles as such are in ../torch (p…, s…); the samples here are about plain files: which bytes are taken
for a pickle, and contents that only archives can have. Offsets are computed from the layout.
"""
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "tools"))
from samples import Samples  # noqa: E402

SAMPLES = Samples(__file__)
sample = SAMPLES.add


def main():
    good = b"\x80\4}\x94\x8c\1a\x94K\1s."
    sample("good.pkl", "ok", "*", "", good)
    sample("good-without-proto.pkl", "ok", "*", "", b"(dp0\nVa\np1\nI1\ns.")
    long = b"(lp0\n" + b"".join(b"I%d\na" % i for i in range(2000)) + b"."
    sample("good-without-proto-long.pkl", "ok", "*", "", long)
    sample("cut.pkl", "malformed", len(good) - 1, "ends without STOP", good[:-1])
    sample("cut-without-proto-long.pkl", "malformed", len(long) - 1, "ends without STOP", long[:-1])
    sample("no-opcode.pkl", "malformed", 2, "is not an opcode", b"\x80\2\xff.")
    sample("protocol-6.pkl", "malformed", 0, "no format that heft knows", b"\x80\6N.")
    sample("trailing.pkl", "finding", len(good), "4 bytes after the pickle's STOP", good + b"more")
    sample("zip-behind.pkl", "finding", len(good),
           "these bytes end like a zip archive: torch reads the part before it, other readers would open the archive",
           good + b"PK\5\6" + b"\0" * 18)
    for name, data in (("text", b"Nothing to see here.\n"), ("text-like-none", b"N. B. this is text\n"),
                       ("text-like-global", b"cat\ndog\nbird\n"), ("text-one-line", b"I " + b"am one long line " * 400),
                       ("text-of-lines", b"I1\n" * 3 + b"and then words\n" * 400), ("csv", b"1,2,3\n" * 1000),
                       ("program", b"import os\nprint(os.name)\n")):
        sample(f"strange-{name}.pkl", "malformed", 0, "no format that heft knows", data)
    tensor = b"ctorch._utils\n_rebuild_tensor\n("
    floats = b"ctorch\nFloatStorage\n"
    pid = b"\x80\2}X\1\0\0\0a" + tensor + b"(X\7\0\0\0storage" + floats + b"X\1\0\0\0000X\3\0\0\0cpuK\2tQ"
    sample("persistent-id.pkl", "unsupported", len(pid) - 1, "persistent id storage: a plain pickle has none",
           pid + b"K\0K\2\x85K\1\x85tRs.")
    sample("persistent-text.pkl", "unsupported", 2, "persistent id here: a plain pickle has none", b"\x80\2Phere\n.")
    sample("persistent-number.pkl", "unsupported", 4, "persistent id of no text", b"\x80\2K\1Q.")
    wrapper = b"\x80\3cjoblib.numpy_pickle\nNumpyArrayWrapper\n)\x81}X\1\0\0\0aK\1sb"
    sample("joblib.pkl", "unsupported", len(wrapper), "a joblib file", wrapper + b"\xff" * 64 + b".")
    sample("global-of-system.pkl", "ok", "*", "", b"cos\nsystem\n(S'echo'\ntR.")
    call = b"\x80\3}X\1\0\0\0actorch.storage\n_load_from_bytes\nC\2"
    sample("stream-of-nothing.pkl", "malformed", len(call),
           "tensor a: the first pickle is not the magic number 0x1950a86a20f9469cfc6c of legacy streams",
           call + b"N." + b"\x85Rs.")
    text = b"\x80\2}X\1\0\0\0actorch.storage\n_load_from_bytes\nc_codecs\nencode\nX"
    broken = text + struct.pack("<I", 3) + "\u00ff.".encode() + b"X\6\0\0\0latin1\x86R\x85Rs."
    sample("stream-decoded.pkl", "malformed", "-", "is not an opcode", broken)
    header = "# file\tcode\toffset\tpart of the text; written by make.py\n"
    SAMPLES.write(header)


if __name__ == "__main__":
    main()
