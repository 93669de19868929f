#!/usr/bin/env python3
"""Writes the torch.export archives of this directory that must be refused or have findings, and expect.tsv.

    make.py [FOLDER]        needs only Python; equal runs give equal files
"""
import json
import sys
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "tools"))
from samples import Samples, torch_pieces  # noqa: E402

made = torch_pieces()
SAMPLES = Samples(__file__)
Entry, Zip = made.Entry, made.Zip
CONFIG = "a/data/weights/model_weights_config.json"


def ints(*numbers):
    return [{"as_int": n} for n in numbers]


def meta(**new):
    return {"dtype": 7, "sizes": ints(2), "requires_grad": True, "strides": ints(1),
            "storage_offset": {"as_int": 0}, "layout": 7, **new}


def payload(**new):
    return {"path_name": "weight_0", "is_param": True, "use_pickle": False, "tensor_meta": meta(), **new}


def without(dictionary, key):
    return {k: v for k, v in dictionary.items() if k != key}


PROGRAM = (Entry("a/models/model.json", b"{}"), Entry("a/archive_version", b"0"))


def sample(file, code, offset, message, config, weight=b"\0" * 8, more=(), program=PROGRAM, **options):
    """`offset`: -, *, a number, or a text of the config or a record at which the fault is."""
    text = config if isinstance(config, bytes) else json.dumps({"config": config}).encode()
    parts = [Entry("a/data/weights/weight_0", weight), Entry(CONFIG, text, **options), *more, *program,
             Entry("a/archive_format", b"pt2"), Entry("a/.data/version", b"6\n")]
    z = Zip(*parts)
    if isinstance(offset, bytes):
        offset = z.data[CONFIG.encode()] + text.index(offset)
    elif offset == "weight":
        offset = z.data[b"a/data/weights/weight_0"]
    SAMPLES.add(file, code, offset, message, z.bytes())


def one(**new):
    return {"w": payload(**new)}


def main():
    sample("a01-good.pt2", "ok", "*", "", one())
    sample("a02-nothing.pt2", "ok", "*", "", {})
    sample("a03-shared.pt2", "ok", "*", "", {"a": payload(), "b": payload()})
    sample("b01-empty.pt2", "malformed", "*", "", b"")
    sample("b02-cut.pt2", "malformed", "*", "", json.dumps({"config": one()}).encode()[:-3])
    sample("b03-array.pt2", "malformed", b"[", "expected an object", b"[]")
    sample("b04-config-array.pt2", "malformed", b"[", "expected an object", b'{"config": []}')
    sample("b05-two-documents.pt2", "malformed", "*", "", b'{"config": {}} {}')
    sample("b06-not-utf8.pt2", "malformed", "*",
           "a/data/weights/model_weights_config.json is not UTF-8", b'{"config": {"\xff": 1}}')
    sample("b07-deep.pt2", "malformed", "*", "", b'{"config": {"a": ' + b"[" * 500)
    sample("b08-deep-unknown.pt2", "limit", "*", "deeper than 127", b'{"x": ' + b"[" * 500)
    sample("b09-unknown-keys.pt2", "ok", "*", "", json.dumps({"new": [{}], "config": {"w": {**payload(), "new": {}}}}).encode())
    sample("b10-name-twice.pt2", "malformed", "*", "w", b'{"config": {"w": %b, "w": %b}}' % ((json.dumps(payload()).encode(),) * 2))
    squeezed = zlib.compress(b" " * (17 << 20))[2:-4]
    sample("b11-config-of-17-mib.pt2", "limit", "*", "the limit is 16777216", b" " * (17 << 20), packed=squeezed, method=8)
    sample("b12-crc.pt2", "mismatch", "*", "CRC-32", one(), crc=7)
    sample("c01-no-path.pt2", "malformed", "*", "path_name, storage_offset", {"w": without(payload(), "path_name")})
    sample("c02-path-number.pt2", "malformed", b"5", "expected a string", one(path_name=5))
    sample("c03-path-outside.pt2", "malformed", "*",
           "tensor w: a/data/weights/model_weights_config.json: path_name is not a record of the archive",
           one(path_name="../../.data/version"))
    sample("c04-path-missing.pt2", "malformed", "*",
           "tensor w: a/data/weights/model_weights_config.json: path_name is not a record of the archive",
           one(path_name="weight_1"))
    sample("c05-path-nul.pt2", "malformed", "*",
           "tensor w: a/data/weights/model_weights_config.json: path_name is not a record of the archive",
           one(path_name="weight_0\0"))
    sample("c06-pickled.pt2", "note", "*",
           "tensor w: cannot be read: pickled separately, as torch.export does for custom classes",
           one(use_pickle=True))
    sample("c07-object.pt2", "note", "*",
           "tensor w: cannot be read: pickled separately, as torch.export does for custom classes",
           one(tensor_meta=None))
    sample("c08-pickle-word.pt2", "malformed", b'"yes"', "true or false", one(use_pickle="yes"))
    sample("c09-unused.pt2", "note", "*", "storage data/weights/weight_1 (3 bytes) is not used by any tensor",
           one(), more=[Entry("a/data/weights/weight_1", b"abc")])
    sample("d01-dtype-unknown.pt2", "unsupported", "-", "dtype 99", one(tensor_meta=meta(dtype=99)))
    sample("d02-dtype-text.pt2", "malformed", b'"f"', "expected a number", one(tensor_meta=meta(dtype="f")))
    sample("d03-dtype-missing.pt2", "unsupported", "-", "dtype 0", one(tensor_meta=without(meta(), "dtype")))
    sample("d04-size-negative.pt2", "malformed", b"-1", "from 0 to 2^64-1", one(tensor_meta=meta(sizes=ints(-1))))
    sample("d05-size-float.pt2", "malformed", b"1.5", "from 0 to 2^64-1", one(tensor_meta=meta(sizes=ints(1.5))))
    sample("d06-size-symbol.pt2", "malformed", b'"as_expr"', "not as_int", one(tensor_meta=meta(sizes=[{"as_expr": {}}])))
    sample("d07-size-plain.pt2", "malformed", b"3]", "expected an object", one(tensor_meta=meta(sizes=[3])))
    sample("d08-ranks-differ.pt2", "malformed", "*", "as many sizes as strides", one(tensor_meta=meta(strides=[])))
    sample("d09-rank-65.pt2", "malformed", "*", "more than 64 dimensions", one(tensor_meta=meta(sizes=ints(*[1] * 65))))
    sample("d10-past-end.pt2", "malformed", "weight", "", one(tensor_meta=meta(sizes=ints(3))))
    sample("d11-offset-past-end.pt2", "malformed", "weight", "", one(tensor_meta=meta(storage_offset={"as_int": 1})))
    sample("d12-offset-overflows.pt2", "malformed", "*", "overflows", one(tensor_meta=meta(storage_offset={"as_int": 2**63})))
    sample("d13-offset-missing.pt2", "malformed", "*", "storage_offset", one(tensor_meta=without(meta(), "storage_offset")))
    sample("d14-shape-overflows.pt2", "malformed", "*", "", one(tensor_meta=meta(sizes=ints(2**33, 2**33), strides=ints(0, 0))))
    sample("d15-strides-overflow.pt2", "malformed", "weight", "overflow", one(tensor_meta=meta(sizes=ints(2), strides=ints(2**63))))
    sample("d16-as-int-and-more.pt2", "malformed", "*", "as_int and more", one(tensor_meta=meta(sizes=[{"as_int": 2, "x": 1}])))
    sample("e01-no-program.pt2", "finding", "*",
           "record models/model.json is missing: torch.export.load needs it", one(), program=PROGRAM[1:])
    sample("e02-no-version.pt2", "finding", "*",
           "record archive_version is missing: torch.export.load needs it", one(), program=PROGRAM[:1])
    other = [Entry("a/models/other.json", b"{}")]
    sample("e03-other-program.pt2", "finding", "*",
           "record models/model.json is missing: torch.export.load needs it", one(), more=other, program=PROGRAM[1:])
    head = "# file\tcode\toffset\tpart of the text; written by make.py\n"
    SAMPLES.write(head)


if __name__ == "__main__":
    main()
