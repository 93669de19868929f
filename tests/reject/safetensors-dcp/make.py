"""Writes the directories beside it: shards of torch's HuggingFaceStorageWriter: python3 make.py (see expect.tsv)."""
import io
import json
import shutil
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SIZES = {"F32": 4, "F16": 2}


def shard(tensors, info=True):
    """tensors: {name: (dtype, shape, offsets)}"""
    header, at, offsets = {}, 0, {}
    for name, (dtype, shape, start) in tensors.items():
        n = SIZES[dtype]
        for extent in shape:
            n *= extent
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + n]}
        offsets[name] = {"saved_offsets": start}
        at += n
    if info:
        header = {"__metadata__": {"DCP_VERSION": "1.0", "DCP_SHARDING_INFO": json.dumps(offsets), "format": "pt"}, **header}
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + bytes(range(1, at % 250 + 1)).ljust(at, b"\1")


def w(rows, start, dtype="F32", columns=2):
    return shard({"w": (dtype, [rows, columns], [start, 0])})


def pickled():
    """What the writer puts in front of the header for a value that is no tensor: an archive of torch.save."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in (("data.pkl", b"\x80\x02K\x05."), ("version", b"3\n")):
            archive.writestr(zipfile.ZipInfo(f"archive/{name}"), data)
    return out.getvalue()


def name(rank, file=1, of=1):
    return f"shard-{rank:05}-model-{file:05}-of-{of:05}.safetensors"


CASES = [  # name, code, offset, text, files
    ("sound", "ok", "*", "", {name(1): w(2, 0), name(2): w(1, 2)}),
    ("sound-empty-share", "ok", "*", "", {name(1): w(2, 0), name(2): w(0, 2), name(3): w(0, 2)}),
    ("rank-without-file", "note", "*", "1 of the shards 1 to 3 is not there", {name(1): w(2, 0), name(3): w(1, 2)}),
    ("gap", "malformed", "0x8", "tensor w: element [2,0] is in none of its 2 parts; its parts are in shard-00002",
     {name(1): w(2, 0), name(2): w(1, 3)}),
    ("overlap", "malformed", "0x8", "tensor w: element [1,0] is in 2 of its parts, in overlap/shard-00001-model-00001-of-00001.safetensors and in overlap/shard-00002",
     {name(1): w(2, 0), name(2): w(2, 1)}),
    ("box-twice", "malformed", "0x8", "tensor w: element [0,0] is in 2 of its parts, in box-twice/shard-00001-model-00001-of-00001.safetensors and in box-twice/shard-00002",
     {name(1): w(2, 0), name(2): w(2, 0)}),
    ("dtype-differs", "malformed", "0x8", "tensor w: its parts differ in dtype or rank; its parts are in shard-00002",
     {name(1): w(2, 0), name(2): w(1, 2, "F16")}),
    ("rank-differs", "malformed", "0x8", "tensor w: its parts differ in dtype or rank",
     {name(1): w(2, 0), name(2): shard({"w": ("F32", [2], [4])})}),
    ("columns-differ", "malformed", "0x8", "tensor w: element [2,2] is in none of its 2 parts",
     {name(1): w(2, 0, columns=3), name(2): w(1, 2, columns=2)}),
    ("info-missing", "malformed", "0x8", "the shard has no metadata DCP_SHARDING_INFO, unlike info-missing/shard-00001",
     {name(1): w(2, 0), name(2): shard({"w": ("F32", [1, 2], [2, 0])}, info=False)}),
    ("scalar-twice", "malformed", "0x8", "tensor s: element [] is in 2 of its parts",
     {name(1): shard({"s": ("F32", [], [])}), name(2): shard({"s": ("F32", [], [])})}),
    ("ends-past-2-63", "malformed", "0x8", "offsets must be integers, one a dimension, and end below 2^63",
     {name(1): w(2, 0), name(2): w(1, 2**63 - 1)}),
    ("huge", "malformed", "*", "tensor w:", {name(1): w(2, 0), name(2): w(1, 2**62)}),
    ("other-count", "malformed", "-", "are shards of different saves: the numbers of files in their names differ",
     {name(1): w(2, 0), name(2, 1, 2): w(1, 2)}),
    ("pickled-value", "unsupported", "0x0", "a pickled value precedes the header", {name(1): pickled() + w(2, 0)}),
    ("empty-shard", "malformed", "0x0", "the file is empty", {name(1): w(2, 0), name(2): b""}),
]


if __name__ == "__main__":
    lines = ["# file, code, offset, text: see tests/suites/reject.py; written by make.py"]
    for case, code, offset, text, files in CASES:
        folder = HERE / case.split("/")[0]
        shutil.rmtree(folder, ignore_errors=True)
        for file, data in files.items():
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_bytes(data)
        lines.append("\t".join((case, code, offset, text)))
    (HERE / "expect.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
