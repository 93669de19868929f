"""Writes the samples beside it, and expect.tsv: python3 make.py (the standard library only).

Directories are models whose documents, or other files, are malformed in one way; those named `ok-…` are unusual and
valid.
"""
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "tools"))
from tf_bytes import field, record  # noqa: E402

ROWS = []


def node(name, op, *attrs):
    return field(1, field(1, name) + field(2, op) + b"".join(field(5, attr) for attr in attrs))


def attr(key, value):
    return field(1, key) + field(2, value)


NOOP = node(b"n", b"NoOp")


def meta(*parts, tags=(b"serve",), graph=NOOP):
    return field(1, b"".join(field(4, tag) for tag in tags)) + field(2, graph) + b"".join(parts)


def saved(*metas, version=1):
    return field(1, version) + b"".join(field(2, one) for one in metas)


def sample(name, document, code, offset, text, **beside):
    """A directory, its document and other files: warmup=b"…"."""
    path = HERE / name
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    is_text = isinstance(document, str)
    (path / ("saved_model.pbtxt" if is_text else "saved_model.pb")).write_bytes(
        document.encode("latin-1") if is_text else document)
    for key, value in beside.items():
        place = {"warmup": "assets.extra/tf_serving_warmup_requests",
                 "fingerprint": "fingerprint.pb"}[key]
        (path / place).parent.mkdir(exist_ok=True)
        (path / place).write_bytes(value)
    ROWS.append((name, code, offset, text))


def asset(name):
    return field(6, field(1, field(1, b"x:0")) + field(2, name))


GOOD = saved(meta())
TEXT = "saved_model_schema_version: 1\nmeta_graphs {\n"

# ---- the binary form ----
sample("ok-smallest", GOOD, "ok", "*", "")
sample("ok-no-saver", saved(meta(field(5, attr(b"k", field(3, b"method"))))), "ok", "*", "")
sample("ok-group", GOOD + b"\x7b\x08\x01\x7c", "note", "*", "1 unknown fields were skipped")
sample("ok-wrong-wire-type", saved(meta(b"\x18\x01")), "note", "*", "1 unknown fields were skipped")
sample("ok-merged", saved(meta(field(2, node(b"m", b"NoOp")))), "ok", "*", "")
sample("cut-in-a-length", GOOD[:-12], "malformed", "0x3", "a value of")
sample("varint-cut-off", GOOD + b"\x08\x80", "malformed", "*", "a varint is cut off")
sample("varint-of-65-bits", GOOD + b"\x08" + b"\xff" * 9 + b"\x02", "malformed", "*",
       "a varint of more than 64 bits")
sample("field-number-0", GOOD + b"\x02\x01x", "malformed", "*", "field number 0")
sample("wire-type-6", GOOD + b"\x0e", "malformed", "*", "has wire type 6")
sample("group-ends-alone", GOOD + b"\x7c", "malformed", "*", "the end of group 15")
sample("group-does-not-end", GOOD + b"\x7b\x08\x01", "malformed", "*", "ends inside a group")
sample("schema-version-2", saved(meta(), version=2), "unsupported", "0x0", "schema version 2")
sample("no-meta-graphs", "saved_model_schema_version: 1\n", "malformed", "0x0",
       "the SavedModel has no metagraph")
sample("node-without-a-name", saved(meta(graph=field(1, field(2, b"NoOp")))), "malformed", "*",
       "the node has no name or no op")
sample("function-without-a-name", saved(meta(graph=NOOP + field(2, field(1, field(3, field(1, b"a")
       + field(2, b"b")))))), "malformed", "*", "the function has no name")
sample("shape-of-rank-255", saved(meta(field(5, attr(b"k", field(1, attr(b"x", field(3,
       field(2, b"") * 255))))))), "malformed", "*", "more than 254 dimensions")
sample("same-tags-twice", saved(meta(tags=(b"a", b"b")), meta(tags=(b"b", b"a"))), "finding", "*",
       "two metagraphs have the same tags")

# ---- functions, constants ----
def function(name, calls):
    call = attr(b"f", field(10, field(1, calls)))
    return field(2, field(1, field(1, field(1, name)) + field(3, field(1, b"c")
                 + field(2, b"PartitionedCall") + field(5, call))))


sample("ok-functions-call-each-other", saved(meta(graph=node(b"c", b"PartitionedCall",
       attr(b"f", field(10, field(1, b"f")))) + function(b"f", b"g") + function(b"g", b"f"))),
       "ok", "*", "")


def structured(depth):
    value = field(1, b"")
    for _ in range(depth):
        value = field(51, field(1, value))
    return value


def callable_of(value):
    concrete = attr(b"f", field(3, field(52, field(1, field(52, field(1, value))))))
    return field(7, field(1, field(1, field(1, 1) + field(2, b"call"))) + field(1, field(6,
                 field(1, b"f"))) + field(2, concrete))


sample("ok-arguments-nested", saved(meta(callable_of(structured(90)))), "ok", "*", "")
sample("arguments-nested-too-deep", saved(meta(callable_of(structured(200)))), "limit", "*",
       "the function has more than 65536 arguments, or they nest deeper than 100")

# ---- assets ----
for name, path in {"asset-above": b"../../etc/x", "asset-absolute": b"/etc/x",
                   "asset-with-a-drive": b"c:x", "asset-with-nul": b"a\0b", "asset-empty": b""}.items():
    sample(name, saved(meta(asset(path))), "unsafe", "-", "only relative paths")
sample("asset-missing", saved(meta(asset(b"a.txt"))), "finding", "*", "the asset a.txt is missing")

# ---- the text form ----
sample("ok-text", TEXT + "  meta_info_def { tags: ['serve', \"tpu\"] } # last\r\n}", "ok", "*", "")
sample("ok-text-unknown", TEXT + "new { x: [1, {}] } }", "note", "*", "1 unknown fields were skipped")
sample("text-without-an-end", TEXT, "malformed", "0x2c", "ends in MetaGraphDef")
sample("text-string-without-an-end", TEXT + 'meta_info_def { tags: "serve\n } }', "malformed", "*",
       "a string does not end in its line")
sample("text-of-a-gigabyte-cut", TEXT + 'graph_def { node { name: "' + "x" * 5000, "malformed", "*",
       "a string does not end in its line")
sample("text-bad-escape", TEXT + 'meta_info_def { tags: "\\q" } }', "malformed", "*",
       "unknown escape")
sample("text-with-nul", TEXT + "}" + " " * 4096 + "\0", "malformed", "*", "found byte 0x00")
sample("text-nested", TEXT + "x " + "{x" * 3000, "limit", "*", "nested deeper than 100")
sample("text-number-too-large", TEXT.replace(": 1", ": 99999999999999999999") + "}", "malformed", "0x1c",
       "is no number that fits")
sample("text-no-colon", TEXT + "meta_info_def { tags 'x' } }", "malformed", "*", "where ':' was expected")

# ---- chunks, warm-up requests, fingerprint ----
path = HERE / "chunks"
shutil.rmtree(path, ignore_errors=True)
path.mkdir()
(path / "saved_model.cpb").write_bytes(b"\x83\xaf\x70\xd1" + b"\0" * 60)
ROWS.append(("chunks", "unsupported", "0x0", "a SavedModel in chunks"))

LOG = field(6, field(1, field(1, field(1, b"m"))))
sample("ok-warmup", GOOD, "ok", "*", "", warmup=record(LOG))
sample("warmup-length-of-2-64", GOOD, "finding", "0x0", "a record of 18446744073709551615 bytes",
       warmup=record(LOG, 2**64 - 1))
sample("warmup-sum-of-length", GOOD, "finding", "0x0", "the CRC-32C of a record's length",
       warmup=record(LOG)[:8] + b"\0\0\0\0" + record(LOG)[12:])
sample("warmup-sum", GOOD, "finding", "0xc", "the CRC-32C of a record is", warmup=record(LOG)[:-1] + b"\0")
sample("warmup-cut", GOOD, "finding", f"{len(record(LOG)):#x}", "truncated",
       warmup=record(LOG) + record(LOG)[:10])
sample("warmup-no-log", GOOD, "finding", "*", "a value of 5 bytes", warmup=record(b"\x32\x05"))
sample("fingerprint-cut", GOOD, "finding", "*", "a varint is cut off", fingerprint=b"\x08\x80")

with open(HERE / "expect.tsv", "w") as out:
    out.write("# file, code, offset, a part of the text; written by make.py\n")
    for row in ROWS:
        out.write("\t".join(row) + "\n")
