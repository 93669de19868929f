"""Headers of safetensors files, valid and malformed: heft accepts those that the library accepts.

heft is stricter in documented cases: duplicate keys, tensors written as arrays, dtypes written as maps,
more than 64 dimensions, names over 64 KiB. It is never laxer.
"""

import json

from safetensors import SafetensorError, safe_open

import generate
from common import Suite, listing

RANDOM = 300
SIZES = {"F32": 4, "F64": 8, "U8": 1, "I16": 2, "BF16": 2, "BOOL": 1, "F8_E4M3": 1, "C64": 8}
T = '{"dtype":"F32","shape":[1],"data_offsets":[0,4]}'
D4, D8 = b"\0" * 4, b"\0" * 8


def pack(header, data=b"", length=None):
    if isinstance(header, str):
        header = header.encode()
    length = len(header) if length is None else length
    return length.to_bytes(8, "little") + header + data


def tensor(dtype='"F32"', shape="[1]", offsets="[0,4]", **more):
    """One entry, each part as raw JSON; `more` contains further fields."""
    fields = {"dtype": dtype, "shape": shape, "data_offsets": offsets}
    parts = [f'"{key}":{value}' for key, value in [*fields.items(), *more.items()]]
    return "{" + ",".join(parts) + "}"


def one(entry, data=D4):
    return pack(f'{{"a":{entry}}}', data)


def table():
    """Individual cases that matter for interoperability."""
    yield "no tensors", pack("{}")
    yield "no tensors, padded", pack("{}      ")
    yield "a byte behind nothing", pack("{}", b"x")
    yield "a key twice, same range", pack(f'{{"a":{T},"a":{T}}}', D4)
    yield "a key twice, once escaped", pack(f'{{"a":{T},"\\u0061":{T}}}', D4)
    yield "a key twice, leaving a hole", pack(f'{{"a":{T},"a":{tensor(offsets="[4,8]")}}}', D8)
    yield "a key twice, first elsewhere", pack(f'{{"a":{tensor(offsets="[4,8]")},"a":{T}}}', D4)
    meta = '"__metadata__"'
    yield "metadata twice", pack(f'{{{meta}:{{}},{meta}:{{}}}}')
    yield "dtype twice", one('{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}')
    yield "a metadata key twice", pack(f'{{{meta}:{{"k":"1","k":"2"}}}}')
    for name, value in (("null", "null"), ("empty", "{}"), ("array", "[]"), ("text", '"x"'),
                        ("int value", '{"k":1}'), ("null value", '{"k":null}'),
                        ("object value", '{"k":{}}'), ("text value", '{"k":"v"}'),
                        ("a tensor", f'{{"k":{T}}}')):
        yield f"metadata {name}", pack(f'{{{meta}:{value}}}')
    yield "metadata last", pack(f'{{"a":{T},{meta}:{{"k":"v"}}}}', D4)
    yield "unknown field", one(tensor(extra="[1,{}]"))
    yield "missing shape", one('{"dtype":"F32","data_offsets":[0,4]}')
    yield "missing dtype", one('{"shape":[1],"data_offsets":[0,4]}')
    yield "missing offsets", one('{"dtype":"F32","shape":[1]}')
    yield "tensor as array", one('["F32",[1],[0,4]]')
    yield "tensor as array of 2", one('["F32",[1]]')
    yield "tensor as array of 4", one('["F32",[1],[0,4],1]')
    for dtype in ('{"F32":null}', '"f32"', '"F31"', '""', "4", '"C128"', '"F4_E2M1"', "null"):
        yield f"dtype {dtype}", one(tensor(dtype=dtype))
    yield "tensor null", pack('{"a":null}')
    for shape in ("[-1]", "[1.0]", "[1e0]", '["1"]', "[-0]", "[01]", "[18446744073709551616]", "null",
                  "{}", "[[1]]", "[true]", "[1,]", "[ 1 ]", "[1,1,1]", "[]"):
        yield f"shape {shape}", one(tensor(shape=shape))
    for offsets in ("[0]", "[0,4,4]", "[-1,4]", "[0.0,4]", "{}", "[4,0]", "[4,8]", "[0,5]", "[0,3]",
                    "[0,18446744073709551615]", "[0,18446744073709551616]", "null", "[0 , 4]"):
        yield f"offsets {offsets}", one(tensor(offsets=offsets))
    two = '{{"a":{},"b":{}}}'
    yield "hole", pack(two.format(T, tensor(offsets="[8,12]")), D8 + D4)
    yield "overlap", pack(two.format(T, tensor(offsets="[2,6]")), D4 + D4)
    yield "one range twice", pack(two.format(T, T), D4)
    yield "any order", pack(two.format(tensor(offsets="[4,8]"), T), D8)
    yield "a byte too many", one(T, D4 + b"x")
    yield "a byte too few", one(T, b"xxx")
    for name, before, after in (("space", " ", ""), ("tab", "\t", ""), ("newline", "\n", ""),
                                ("trailing", "", "\r\n\t "), ("NUL behind", "", "\0"),
                                ("BOM", "\ufeff", ""), ("two documents", "", "{}"),
                                ("comment", "", "//"), ("form feed", "\f", "")):
        yield f"white space: {name}", pack(f'{before}{{"a":{T}}}{after}', D4)
    yield "trailing comma", pack(f'{{"a":{T},}}', D4)
    yield "root array", pack("[]")
    yield "root null", pack("null")
    yield "only spaces", pack("    ")
    yield "length 0", pack("")
    for length in (9, 100_000_000, 100_000_001, 2**63, 2**64 - 1):
        yield f"length {length}", pack("{}", length=length)
    for size in range(9):
        yield f"file of {size}", pack("{}")[:size]
    yield "bad UTF-8", pack(b'{"\xff":' + T.encode() + b"}", D4)
    yield "overlong UTF-8", pack(b'{"\xc0\xaf":' + T.encode() + b"}", D4)
    yield "UTF-8 surrogate", pack(b'{"\xed\xa0\x80":' + T.encode() + b"}", D4)
    for key in ("\\ud800", "\\udc00", "\\ud83d\\ude00", "\\ud83dx", "a\\u0000b", "", "\\/",
                "\\b\\f\\n\\r\\t", "\\x41", "\\u12", "\x01", "\x7f", "é", "\\u00E9", "\\\"", "__metadata"):
        yield f"key {key!r}", pack(f'{{"{key}":{T}}}', D4)
    yield "scalar", one(tensor(shape="[]"))
    yield "empty tensor", one(tensor(shape="[2,0]", offsets="[0,0]"), b"")
    here, there = (tensor(shape="[0]", offsets=offsets) for offsets in ("[0,0]", "[4,4]"))
    yield "empty in the middle", pack(f'{{"a":{T},"b":{there},"c":{tensor(offsets="[4,8]")}}}', D8)
    yield "two empty at 0", pack(two.format(here, here))
    yield "empty inside another", pack(two.format(tensor(shape="[2]", offsets="[0,8]"), there), D8)
    for dtype, shape, size in (("F4", "[3]", 1), ("F4", "[]", 0), ("F6_E2M3", "[3]", 2),
                               ("F4", "[4]", 2), ("F6_E3M2", "[4]", 3), ("F4", "[0]", 0),
                               ("U8", "[18446744073709551615,2,0]", 0),
                               ("U8", "[0,18446744073709551615,2]", 0),
                               ("F32", "[576460752303423488]", 0), ("F8_E8M0", "[3]", 3),
                               ("F8_E4M3FNUZ", "[3]", 3), ("F8_E5M2FNUZ", "[3]", 3)):
        entry = tensor(dtype=f'"{dtype}"', shape=shape, offsets=f"[0,{size}]")
        yield f"{dtype} {shape}", one(entry, b"\1" * size)
    byte = {"offsets": "[0,1]"}
    yield "bool of 2", one(tensor(dtype='"BOOL"', **byte), b"\2")
    odd = two.format(tensor(dtype='"U8"', **byte), tensor(offsets="[1,5]"))
    yield "odd alignment", pack(odd, b"\0" * 5)
    yield "length and bytes differ", one(tensor(shape="[2]"))
    for depth in (20, 120, 126, 127, 128, 200, 5000):
        deep = "[" * depth + "]" * depth
        yield f"ignored, nested {depth}", one(tensor(x=deep))
    for value in ("1e999", "-1e999", "1e308", "0.1", "-0", "01", "1.", ".5", "+1", "NaN", "tru", "nul",
                  "1e", "1e+", "123456789012345678901234567890", '"\\q"', "\"\x02\""):
        yield f"ignored value {value!r}", one(tensor(x=value))
    for rank in (64, 65, 100):
        yield f"rank {rank}", one(tensor(shape=json.dumps([1] * rank)))
    for size in (65536, 65537, 70000):
        yield f"name of {size}", pack('{"' + "n" * size + f'":{T}}}', D4)


def random_header(rng):
    """A valid header and data, entries in any order, with unusual but valid spelling."""
    entries, offset = [], 0
    for number in range(rng.randint(0, 6)):
        dtype = rng.choice(list(SIZES))
        shape = [rng.randint(0, 4) for _ in range(rng.randint(0, 3))]
        size = SIZES[dtype]
        for extent in shape:
            size *= extent
        entries.append([f"t{number}", dtype, shape, offset, offset + size])
        offset += size
    rng.shuffle(entries)
    return entries, offset


def spell(rng, entries, metadata):
    gap = rng.choice(["", " ", "\n", "\t "])
    parts = [f'{gap}"{name}"{gap}:{{"dtype":"{dtype}",{gap}"shape":{json.dumps(shape)},'
             f'"data_offsets":[{begin},{gap}{end}]}}' for name, dtype, shape, begin, end in entries]
    if metadata:
        parts.insert(rng.randint(0, len(parts)), '"__metadata__":{"k":"v"}')
    return gap + "{" + ",".join(parts) + "}" + gap


def damage(rng, data):
    """Changes, removes or duplicates some bytes of the file."""
    data = bytearray(data)
    for _ in range(rng.randint(1, 2)):
        at = rng.randrange(len(data))
        kind = rng.randrange(4)
        if kind == 0:
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del data[at:at + rng.randint(1, 3)]
        elif kind == 2:
            data[at:at] = bytes(rng.choice(b'{}[]",:0123456789 ') for _ in range(rng.randint(1, 2)))
        else:
            data[at] = rng.choice(b'{}[]",:0123456789 \\')
        if not data:
            break
    return bytes(data)


def random_cases():
    for seed in range(RANDOM):
        rng = generate.source(f"header {seed}")
        entries, size = random_header(rng)
        if entries and rng.random() < 0.3:
            entry = rng.choice(entries)
            entry[rng.randint(3, 4)] = max(0, entry[rng.randint(3, 4)] + rng.choice([-1, 1, 4]))
        data = pack(spell(rng, entries, rng.random() < 0.3), bytes(size))
        if rng.random() < 0.6:
            text = damage(rng, data[8:])
            data = text if rng.random() < 0.05 else pack(text[:len(text) - size] if size else text,
                                                         text[len(text) - size:] if size else b"")
        yield f"random {seed}", data


def library(path):
    """{name: (dtype, shape)} as the library opens the file, or its error."""
    try:
        with safe_open(path, "np") as file:
            return {name: (file.get_slice(name).get_dtype(), file.get_slice(name).get_shape())
                    for name in file.keys()}, None
    except SafetensorError as reason:
        return None, str(reason)


def is_stricter(data):
    """Returns true if the file contains something that heft refuses and the library does not."""
    length = int.from_bytes(data[:8], "little")
    found = []

    def pairs(items):
        keys = [key for key, _ in items]
        if len(keys) != len(set(keys)):
            found.append("duplicate")
        return dict(items)

    try:
        header = json.loads(data[8:8 + length].decode(), object_pairs_hook=pairs)
    except ValueError:
        return False
    entries = header.items() if isinstance(header, dict) else ()
    for name, entry in entries:
        if name == "__metadata__" or not isinstance(entry, (dict, list)):
            continue
        if isinstance(entry, list) or isinstance(entry.get("dtype"), dict):
            found.append("quirk")
        elif len(entry.get("shape") or ()) > 64 or len(name.encode()) > 65536:
            found.append("limit")
    return bool(found)


def run(folder):
    suite = Suite("headers judged as the safetensors library judges them")
    accepted = 0
    path = folder / "case.safetensors"
    for label, data in [*table(), *random_cases()]:
        path.write_bytes(data)
        expected, reason = library(path)
        found, ran = listing(path)
        if expected is not None and is_stricter(data):
            suite.check(ran.status == 2, f"{label}: refused by heft, read by the library", ran.line)
            continue
        if expected is None:
            suite.check(ran.status == 2, f"{label}: the library says {reason!r}",
                        f"heft: {ran.line} {data[:200]!r}")
            continue
        accepted += 1
        if suite.check(found is not None, f"{label}: the library reads it",
                       f"heft: {ran.line} {data[:200]!r}"):
            got = {name: (row["dtype"], row["shape"]) for name, row in found.items()}
            suite.equal(got, expected, f"{label}: rows")
    suite.check(accepted > 80, "enough of the headers are valid", str(accepted))
    return suite
