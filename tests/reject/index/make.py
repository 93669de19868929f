#!/usr/bin/env python3
"""Writes the samples of this directory and expect.tsv: sharded models with malformed indexes, and unusual valid ones.

Every sample is a directory of an index and its shards. In the indexes ^ stands before the byte at which the error
must be reported; it is removed.
"""
import shutil
from pathlib import Path

HERE = Path(__file__).resolve().parent
INDEX = "model.safetensors.index.json"
ROWS = []


def shard(names, cut=0):
    """Tensors of one byte each; the last `cut` bytes are missing."""
    inside = ",".join(f'"{name}":{{"dtype":"U8","shape":[1],"data_offsets":[{i},{i + 1}]}}'
                      for i, name in enumerate(names))
    header = f'{{"__metadata__":{{"format":"pt"}},{inside}}}'.encode()
    whole = len(header).to_bytes(8, "little") + header + bytes(len(names))
    return whole[:len(whole) - cut]


def sample(why, marked, code, text="", shards=None, offset=None):
    if isinstance(marked, str):
        marked = marked.encode()
    folder = HERE / why
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir()
    (folder / INDEX).write_bytes(marked.replace(b"^", b""))
    for name, content in (SHARDS if shards is None else shards).items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)
    if offset is None:
        offset = hex(marked.index(b"^")) if b"^" in marked else "-"
    ROWS.append((f"{why}/{INDEX}", code, offset, text))


SHARDS = {"s1.safetensors": shard(["a", "b"]), "s2.safetensors": shard(["c"])}


def index(*names, total='"total_size": 3', mark=None):
    """weight_map with a and b in s1, c and d in s2, as far as they are named."""
    lines = [("^" if name == mark else "")
             + f'"{name}": "s{1 if name in "ab" else 2}.safetensors"' for name in names]
    return f'{{"metadata": {{{total}}}, "weight_map": {{{", ".join(lines)}}}}}'


def text():
    sample("no-weight-map", '{"metadata": {"total_size": 0}}', "malformed",
           "a JSON text without weight_map", offset="0x0")
    sample("weight-map-array", '{"weight_map": ^[]}', "malformed", "weight_map is an array")
    sample("weight-map-twice", '{"weight_map": {}, ^"weight_map": {}}', "malformed",
           "weight_map occurs twice")
    sample("weight-map-number", '{"weight_map": {"a": ^1}}', "malformed",
           "tensor a: its file in weight_map is a number, must be a string")
    sample("weight-map-null", '{"weight_map": {"a": ^null}}', "malformed", "is null, must be a string")
    sample("metadata-array", '{"weight_map": {}, "metadata": ^[]}', "malformed",
           "metadata is an array")
    sample("metadata-key-twice", '{"weight_map": {}, "metadata": {"k": 1, ^"k": 1}}', "malformed",
           'metadata key "k" occurs twice')
    sample("name-twice", '{"weight_map": {"a": "s1.safetensors", ^"a": "s2.safetensors"}}',
           "malformed", "tensor a: is in weight_map twice")
    sample("not-utf8", b'{"weight_map": {"^\xff": "s1.safetensors"}}', "malformed",
           "not UTF-8: byte 0xff")
    sample("cut-off", '{"weight_map": {"a": "s1.safetensors"^', "malformed",
           "text ends where ',' or '}'")
    sample("second-document", '{"weight_map": {}} ^{}', "malformed", "found '{' where the end")
    sample("bare-nan", '{"weight_map": {}, "metadata": {"loss": ^NaN}}', "malformed",
           "found 'N' where a value")


def paths():
    bad = {"up": "../up.safetensors", "up-inside": "sub/../s1.safetensors", "up-windows": "..\\\\s1",
           "absolute": "/s1.safetensors", "absolute-windows": "\\\\s1", "drive": "C:s1.safetensors",
           "drive-root": "C:\\\\s1", "unc": "\\\\\\\\server\\\\share\\\\s1", "nul": "s1\\u0000",
           "empty": ""}
    for why, path in bad.items():
        sample("path-" + why, f'{{"weight_map": {{"a": "{path}"}}}}', "unsafe",
               "only relative paths inside the directory")
    sample("path-self", f'{{"weight_map": {{"a": "{INDEX}"}}}}', "unsafe",
           "found an index, expected a shard", offset="0x0")
    sample("path-in-sub-folder", '{"weight_map": {"a": "sub/s1.safetensors"}}', "ok",
           shards={"sub/s1.safetensors": shard(["a"])})
    sample("path-with-dots", '{"weight_map": {"a": "s..1.safetensors"}}', "ok",
           shards={"s..1.safetensors": shard(["a"])})


def shards():
    sample("shard-missing", index("a", "b", "c"), "io", "cannot be opened",
           {"s1.safetensors": SHARDS["s1.safetensors"]})
    short = shard(["c"], cut=1)
    sample("shard-too-short", index("a", "b", "c"), "malformed", "file ends 1 bytes before",
           {**SHARDS, "s2.safetensors": short}, offset=hex(len(short)))
    cut = shard(["c"])[:40]
    sample("shard-cut-in-header", index("a", "b", "c"), "malformed", "header length is",
           {**SHARDS, "s2.safetensors": cut}, offset="0x0")
    sample("shard-empty", index("a", "b", "c"), "malformed", "the file is empty",
           {**SHARDS, "s2.safetensors": b""}, offset="0x0")
    again = shard(["b", "c"])
    sample("name-in-two-shards", index("a", "b", "c"), "malformed", "tensor b: ",
           {**SHARDS, "s2.safetensors": again}, offset=hex(len(again) - 2))


def disagreements():
    sample("index-lacks-one", index("a", "c"), "finding",
           "tensor b: not in the index, but in s1.safetensors")
    sample("index-has-one-more", index("a", "b", "c", "d", mark="d"), "finding",
           "tensor d: the index has it in s2.safetensors")
    sample("index-says-another-shard",
           '{"weight_map": {"a": "s1.safetensors", ^"b": "s2.safetensors", "c": "s2.safetensors"}}',
           "finding", "tensor b: not where the index says, but in s1.safetensors")
    sample("total-size-wrong", index("a", "b", "c", total='^"total_size": 300'), "note",
           "total_size is 300, the tensors have 3 bytes")
    sample("total-size-float", index("a", "b", "c", total='^"total_size": 3.0'), "note",
           "total_size is 3.0")
    sample("total-size-missing", index("a", "b", "c", total=""), "ok")
    sample("unknown-keys", '{"x": [1], ' + index("a", "b", "c")[1:], "ok")


def groups():
    """Keras: where the variables of a group are."""
    held = {"s1.safetensors": shard(["g/vars/0", "g/vars/1"]), "s2.safetensors": shard(["g/vars/2", "vars/0"])}

    def group(why, files, *rest, root='"s2.safetensors"', shards=held, total="4.0"):
        sample("group-" + why, f'{{"metadata": {{"total_size": {total}}}, "weight_map": {{"/vars": {root}, '
               f'"/g/vars": {files}}}}}', *rest, shards=shards, offset="*" if rest[0] == "finding" or why == "file-twice" else None)
    both = '["s1.safetensors", "s2.safetensors"]'
    group("good", both, "ok")
    group("alone", '"s1.safetensors"', "finding", "tensor g/vars/2: not where the index says, but in s2")
    group("nowhere", both, "finding", "tensor vars: the index has it in s1.safetensors",
          root='["s1.safetensors", "s2.safetensors"]')
    group("unknown", both, "finding", "tensor h/vars/0: not in the index, but in s1",
          shards={**held, "s1.safetensors": shard(["g/vars/0", "h/vars/0"])})
    group("file-twice", '["s1.safetensors", "s1.safetensors"]', "malformed",
          "group g/vars: is listed twice for the file s1.safetensors")
    group("no-file", "[^]", "malformed", "group g/vars: its file in weight_map is the end of an array")
    group("number", '["s1.safetensors", ^3]', "malformed", "group g/vars: its file in weight_map is a number")
    group("object", "^{}", "malformed", "group g/vars: its file in weight_map is an object")
    sample("tensor-in-files", '{"weight_map": {"a": ^["s1.safetensors"]}}', "malformed",
           "tensor a: its file in weight_map is an array, must be a string")


def main():
    for part in (text, paths, shards, disagreements, groups):
        part()
    (HERE / "expect.tsv").write_text(
        "# made by make.py: file, code, offset, part of the message\n"
        + "".join("\t".join(row) + "\n" for row in ROWS), encoding="utf-8")


if __name__ == "__main__":
    main()
