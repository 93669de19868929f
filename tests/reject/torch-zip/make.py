#!/usr/bin/env python3
"""Writes the zips of this directory, and expect.tsv: faults without a sample in tests/reject/torch.

    make.py [FOLDER]        needs only Python; equal runs give equal files

The zips and pickles are built by ../torch/make.py, so that offsets are computed from the layout.
"""
import struct
import sys
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "tools"))
from samples import Samples, torch_pieces  # noqa: E402

made = torch_pieces()
SAMPLES = Samples(__file__)
Entry, Zip, GOOD = made.Entry, made.Zip, made.GOOD
sample = SAMPLES.add


def with_descriptor(change):
    parts = [("archive/data.pkl", GOOD), ("archive/data/0", b"\0" * 8), ("archive/version", b"3\n")]
    return Zip(*(Entry(name, data, **({"descriptor_bytes": change} if name == "archive/data/0" else {}))
                 for name, data in parts))


def descriptors():
    """A data descriptor that differs from the directory: only verify finds it."""
    def fields(full, **new):
        values = dict(zip(("magic", "crc", "packed", "size"), struct.unpack("<4sIII", full)))
        return struct.pack("<4sIII", *{**values, **new}.values())

    for file, change in (("crc", lambda full: fields(full, crc=1)), ("packed", lambda full: fields(full, packed=9)),
                         ("size", lambda full: fields(full, size=7)),
                         ("signature", lambda full: fields(full, magic=b"PK\7\7")),
                         ("zeros", lambda full: bytes(16))):
        z = with_descriptor(change)
        sample(f"z17-descriptor-{file}.pt", "finding", z.data[b"archive/data/0"] + 8,
               "the data descriptor does not say what the directory says", z.bytes())


def records():
    packed = zlib.compress(b"n" * 40)[2:-4]
    z = Zip(*made.entries(GOOD), Entry("archive/notes", b"n" * 40, packed=packed, method=8, crc=5))
    sample("z12-crc-of-deflated-record.pt", "finding", z.data[b"archive/notes"], "f78b6365, the file says 00000005",
           z.bytes())
    z = Zip(*made.entries(GOOD, version=None), Entry("archive/.data/version", b"6\n"))
    sample("z20-hidden-version.pt", "ok", "*", "", z.bytes())
    z = Zip(*made.entries(GOOD, version=None), Entry("archive/.data/version", b"0\n"))
    sample("z20-hidden-version-0.pt", "malformed", z.data[b"archive/.data/version"], "from 1 to 10", z.bytes())
    z = Zip(*made.entries(GOOD), Entry("archive/data/0/x", b"abc"))
    sample("z21-record-below-a-record.pt", "note", z.data[b"archive/data/0/x"],
           "storage data/0/x (3 bytes) is not used by any tensor", z.bytes())
    z = Zip(*made.entries(GOOD), Entry("archive/" + "n" * 65000, b"x"))
    sample("z16-name-of-65008-bytes.pt", "ok", "*", "", z.bytes())
    twins = ["archive/caf\u00e9", "archive/cafe\u0301"]
    z = Zip(*made.entries(GOOD), *(Entry(name, b"x") for name in twins))
    sample("z16-composed-and-decomposed.pt", "ok", "*", "", z.bytes())


def fronts():
    """Bytes before a zip: a reader of the beginning sees another file than a reader of the end."""
    for file, code, text, front in (("gif", "malformed", "no format that heft knows", b"GIF89a" + bytes(58)),
                                    ("script", "malformed", "no format that heft knows", b"#!/bin/sh\nexit 0\n"),
                                    ("gzip", "unsupported", "gzip data", b"\x1f\x8b\x08" + bytes(61))):
        sample(f"z19-{file}-in-front.pt", code, 0, text, front + made.good().bytes())


def dialects():
    def holds(file, code, text, *names):
        sample(file, code, 0, text, Zip(*(Entry(name, b"x") for name in names)).bytes())

    holds("z26-torch-package.pt", "unsupported", "torch.package", "archive/.data/extern_modules", "archive/.data/version")
    holds("z26-export.pt2", "unsupported", "torch.export", "archive/archive_format", "archive/version",
          "archive/data/weights/weight_0")
    holds("z26-export-first-kind.pt2", "unsupported", "torch.export", "serialized_exported_program.json",
          "serialized_state_dict.pt", "version")
    holds("z26-model-archive.mar", "unsupported", "TorchServe", "MAR-INF/MANIFEST.json", "model.pt")
    holds("z26-other.zip", "unsupported",
          "this zip archive is not a PyTorch checkpoint (no data.pkl)", "metadata.json", "config.json", "weights.bin")


def main():
    for make in (descriptors, records, fronts, dialects):
        make()
    head = "# file\tcode\toffset\tpart of the text; written by make.py\n"
    SAMPLES.write(head)


if __name__ == "__main__":
    main()
