"""Compares explain --trace with Python's pickletools, opcode by opcode; the walk of a Llama.

The pickles are those of every golden torch file, pickles that Python wrote in protocols 0 to 5, and
handwritten ones with each opcode. Offset, name, argument and decoded value must be equal.
"""
import collections
import json
import pickle
import pickletools
import re
import sys
import zipfile

from .common import Fail, ROOT, Skip, golden_inputs, run, text_of

sys.path.insert(0, str(ROOT / "tests" / "tools"))
import llama  # noqa: E402


def jobs(ctx):
    for folder, name in golden_inputs():
        if folder.name == "torch-export":
            continue  # not a pickle
        if folder.name.startswith(("torch", "pickle")) and (folder / name).is_file():
            yield f"{folder.name}/{name}", lambda f=folder, n=name: check_golden(ctx, f / n)
    for name, data in samples():
        yield f"pickle {name}", lambda n=name, d=data: check_sample(ctx, n, d)
    yield "names with escapes", lambda: check_escapes(ctx)
    yield "100 000 opcodes in a second", lambda: check_speed(ctx)
    yield "Llama-2-7B, sparse", lambda: check_llama(ctx)


# ---- opcode for opcode ----------------------------------------------------------------------------

def walk(ctx, path, *options):
    """The document, with its steps by pickle: [(announcement, [step])]."""
    done = run(ctx, [ctx.heft, "explain", "--trace", "--json", *options, path])
    document = json.loads(done.stdout)
    pickles = []
    for step in document.get("steps", []):
        if "pickle" in step:
            pickles.append((step, []))
        else:
            pickles[-1][1].append(step)
    return document, pickles, done


def bytes_of(path, announced):
    """Extracts the pickle without heft."""
    if "offset" in announced:
        with open(path, "rb") as file:
            file.seek(announced["offset"])
            return file.read(announced["bytes"])
    with zipfile.ZipFile(path) as archive:
        return archive.read(announced["record"])


def compare(data, steps, offset):
    """Compares each step with that of pickletools."""
    theirs = list(pickletools.genops(data))
    if len(theirs) != len(steps):
        raise Fail(f"{len(steps)} opcodes, pickletools has {len(theirs)}")
    ends = [position for _, _, position in theirs[1:]] + [theirs[-1][2] + 1]
    for (opcode, argument, position), end, step in zip(theirs, ends, steps):
        found = (step["position"], step["opcode"], step["byte"], bytes.fromhex(step["argument"]))
        wanted = (position, opcode.name, ord(opcode.code), data[position + 1:end])
        if found != wanted:
            raise Fail(f"found {found}, pickletools has {wanted}")
        if offset is not None and step["offset"] != offset + position:
            raise Fail(f"offset {step['offset']}, not {offset + position}")
        if not means(step, opcode, argument):
            raise Fail(f"at {position}: {step['value']!r} and {step['effect']!r}, "
                       f"pickletools has {argument!r}")


def means(step, opcode, argument):
    """Returns true if the decoded argument equals that of pickletools."""
    value, effect = step["value"], step["effect"]
    if opcode.name in ("INT", "LONG", "LONG1", "LONG4"):
        return same_integer(effect.removeprefix("push "), argument)
    if opcode.name in ("BINFLOAT", "FLOAT"):
        shown = float(value)
        return shown == argument or (shown != shown and argument != argument)
    if isinstance(argument, int):
        return value == str(argument)
    if opcode.name in ("GLOBAL", "INST"):
        return value == argument
    if isinstance(argument, str) and argument.isascii() and argument.isprintable() \
            and len(argument) <= 60 and "\\" not in argument and opcode.name != "PERSID":
        return effect[len('push "'):-1].replace('\\"', '"').replace("\\'", "'") == argument
    return effect != ""


def same_integer(shown, number):
    if isinstance(number, bool):
        return shown == str(number)
    if "…" in shown:  # only its highest bytes
        return True
    return int(shown, 16 if "0x" in shown else 10) == number


def check_golden(ctx, path):
    document, pickles, done = walk(ctx, path)
    if done.returncode != 0:
        raise Fail(text_of(done.stderr))
    for announced, steps in pickles:
        compare(bytes_of(path, announced), steps, announced.get("offset"))
    count = sum(len(steps) for _, steps in pickles)
    if not count or document["total"]["opcodes"] != count or not document["total"]["complete"]:
        raise Fail(f"{count} steps, the total is {document['total']}")
    check_tensors(ctx, path, document)


def check_tensors(ctx, path, document):
    """The tensors are those of ls, and each is created by its opcodes."""
    listed = json.loads(run(ctx, [ctx.heft, "ls", "--json", path]).stdout)["tensors"]
    walked = {tensor["name"]: tensor for tensor in document.get("tensors", [])}
    if path.parent.name == "torchscript":  # traces one of several pickles
        listed = [tensor for tensor in listed if not tensor["name"].startswith("constants.")]
    if [tensor["name"] for tensor in listed] != list(walked):
        raise Fail(f"ls has {[tensor['name'] for tensor in listed]}, the walk {list(walked)}")
    positions = {step["position"]: step["opcode"] for step in document["steps"] if "opcode" in step}
    for tensor in listed:
        row = walked[tensor["name"]]
        for key in ("dtype", "shape", "offset"):
            if row[key] != tensor[key]:
                raise Fail(f"{tensor['name']}: {key} {row[key]}, ls has {tensor[key]}")
        if row["made_position"] not in positions:
            raise Fail(f"{tensor['name']}: no opcode at {row['made_position']}")


def samples():
    long = "x" * 300
    shared = ["a", 1.5]
    value = {"none": None, "bools": [True, False], "ints": [0, 255, 65535, -1, 2**31 - 1, -2**31],
             "long": [2**31, -2**70, 2**2000, -1 - 2**63], "floats": [0.0, -0.1, 1e300, 3.0],
             "bytes": b"\0\xff ab", "text": ["", "ü\n\x1b", long, 'quo"te', "back\\slash"],
             "tuples": [(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4)], "shared": [shared, shared],
             "set": {1}, "frozen": frozenset((1, 2)), "complex": 1 + 2j, "type": int,
             "ordered": collections.OrderedDict(a=1), "array": bytearray(b"ab"),
             "many": list(range(1001)), "dict": {str(n): n for n in range(1001)}}
    for protocol in range(6):
        yield f"protocol {protocol}", pickle.dumps(value, protocol)
    cycle = []
    cycle.append(cycle)
    yield "cycle", pickle.dumps(cycle, 4)
    yield "every other opcode", (
        b"\x80\x04" + b"I01\nI-7\nL123L\nF2.5\nS'a\\x41'\nVb\\u00fc\n" + b"U\1aT\1\0\0\0b"
        + b"\x8b\2\0\0\0\0\x80\x8a\0" + b"\x8d\1\0\0\0\0\0\0\0c\x8e\1\0\0\0\0\0\0\0d"
        + b"(N0(N1N20\x98" + b"p0\ng0\nr\1\0\1\0j\1\0\1\0\x94" + b"(K\1l(K\1K\2d(K\1t"
        + b"(cos\nsystem\nK\1o(K\1ios\nsystem\n)\x81" .replace(b")\x81", b"0cm\nn\n)\x81")
        + b"cm\nn\n)}\x92}b" + b"Pkey\nX\1\0\0\0kQ" + b"\x8f(K\1\x90(K\1\x91](K\1e(eK\1a"
        + b"}(K\1K\2uK\1K\2s.")


def check_sample(ctx, name, data):
    path = ctx.folder("sample") / "sample.pkl"
    path.write_bytes(data)
    document, pickles, _ = walk(ctx, path)
    if len(pickles) != 1:
        raise Fail(f"{len(pickles)} pickles, {document['total']}")
    compare(data, pickles[0][1], 0)


def check_escapes(ctx):
    """Control characters in the archive's directory, in a key and in a tensor's name are escaped."""
    hostile = "\x1b[31m"
    root, key = "a" + hostile, "0" + hostile
    shapes = [(f"w{hostile}", (2, 3))]
    data = llama.pickle_of(shapes).replace(b"X\1\0\0\x000q", b"X\6\0\0\0" + key.encode() + b"q")
    path = ctx.folder("escapes") / "escapes.pt"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{root}/data.pkl", data)
        archive.writestr(f"{root}/data/{key}", bytes(12))
        archive.writestr(f"{root}/version", "3\n")
    for options in ([], ["--state"], ["--jsonl"]):
        done = run(ctx, [ctx.heft, "explain", "--trace", *options, path])
        if done.returncode != 0 or b"tensor" not in done.stdout:
            raise Fail(f"exit {done.returncode}\n" + text_of(done.stderr))
        raw = [byte for byte in done.stdout if byte < 0x20 and byte != 0x0A]
        if raw:
            raise Fail(f"{options}: bytes {raw[:10]}")


# ---- the Llama ------------------------------------------------------------------------------------

def llama_file(ctx, folder):
    """Creates consolidated.00.pth in this directory, with holes for its weights."""
    path = folder / "consolidated.00.pth"
    if not llama.can_be_sparse(folder):
        raise Skip(f"{folder}: the file system has no sparse files of 14 GB")
    llama.write_sparse(path)
    return path


def check_llama(ctx):
    path = llama_file(ctx, ctx.folder("llama"))
    document, pickles, done = walk(ctx, path)
    if done.returncode != 0:
        raise Fail(text_of(done.stderr))
    announced, steps = pickles[0]
    compare(bytes_of(path, announced), steps, 64)
    total = dict(tensors=292, opcodes=9223, memo=2342, metastack=0, complete=True)
    if announced["bytes"] != 34124 or document["total"] != total:
        raise Fail(f"{announced['bytes']} bytes, {document['total']}")
    first = dict(name="tok_embeddings.weight", dtype="BF16", shape=[32000, 4096],
                 strides=[4096, 1], key_position=6, made_position=191,
                 id='("storage", BFloat16Storage, "0", "cpu", 131072000)',
                 record="consolidated/data/0", stored="plain", offset=34304, bytes=262144000)
    if document["tensors"][0] != first:
        raise Fail(f"{document['tensors'][0]}, not {first}")
    check_tensors(ctx, path, document)


# ---- time -----------------------------------------------------------------------------------------

def check_speed(ctx):
    """Measures processor time; on a busy machine elapsed time varies."""
    tensor = b"X\1\0\0\0wq\1(K\1K\2K\3K\4tq\2(h\1h\2te"
    data = b"\x80\2]" + (b"(" + tensor) * (100_000 // 14) + b"."
    folder = ctx.folder("speed")
    (folder / "speed.pkl").write_bytes(data)
    done = run(ctx, ["sh", "-c", "heft explain --trace speed.pkl >walk; times"], cwd=folder)
    lines = (folder / "walk").read_bytes().count(b"\n")
    if lines < 99_000:
        raise Fail(f"{lines} lines\n" + text_of(done.stderr))
    user, system = re.findall(r"(\d+)m([\d.]+)s", text_of(done.stdout).split("\n")[1])
    seconds = sum(60 * int(minutes) + float(rest) for minutes, rest in (user, system))
    if seconds > 1 and not ctx.instrumented:
        raise Fail(f"{lines} lines took {seconds:.2f} s")
