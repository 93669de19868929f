"""encode, compared with the rules of encode.py on random trees of files; its outputs read as trainers
do."""

import glob
import gzip
import json
import os
import pathlib
import random
import struct

import numpy

from common import ROOT, Suite, heft
from encode_port import Encoder, arrays_of, paths_of

GPT2 = pathlib.Path(os.environ.get("HEFT_GPT2") or ROOT.parent / "shared" / "data" / "gpt2")
SMALL = ROOT / "tests" / "golden" / "tokens" / "small"
PARTS = ["the ", "Hello", " world", "\n", "\r\n", "\r", "  ", "'s", "I'd", "été", "中文", "12", ".", "!",
         "\u00a0", "\u2028", "\U0001f600", "<|endoftext|>", "\t", "\0", "\ufeff", "e\u0301", "x" * 30]
TREES = 40
ENCODINGS = ["utf-8", "utf-8-sig", "latin-1", "cp1252", "utf-16", "utf-16-le", "utf-16-be", "ascii",
             "utf-32", "utf-32-le", "utf-32-be", "iso-8859-15", "cp1250"]
NAMES = ["B", "a", "A", "b", ".hid", "Z\u00e9", "\u00e9", "e\u0301", "中文", "x y", "[1]", "1", "*", "?", "a*b", "~",
         "-", "--", "ß", "\U0001d518", "..a", "...", "a.", "a.npz.txt", "#", "$HOME", '"', "\\", "\\x", "\n"]
PATTERNS = """* .* ** */* [a-z]* [!a-z]* ? ?? [[]* []1]* *[1]* [*] [?] a*/* */.* */*/* é* [é] [A-é] [!é]
    [ß-ü]* \\* */ */*/ **/* [ [a [!] [z-a] [a-] [-a] .[!.]* ..* ./* */../* [^a] ?\u0301""".split()


def text_of(rng, most):
    return "".join(rng.choice(PARTS) for _ in range(rng.randrange(most)))


def plant(rng, folder, depth=0):
    """Files, some of them empty, directories, links, and sometimes an .npz."""
    folder.mkdir(exist_ok=True)
    for number in range(rng.randrange(1, 6)):
        path = folder / rng.choice([f"{number}.txt", f".{number}", f"[{number}]", f"t {number}"])
        kind = rng.random()
        if kind < 0.08:
            numpy.savez_compressed(str(path) + ".npz", numpy.arange(rng.randrange(1, 90)),
                                   numpy.full((2, 3), 7, dtype=numpy.int32))
        elif kind < 0.25 and depth < 3:
            plant(rng, folder / f"d{number}", depth + 1)
        else:
            path.write_bytes(text_of(rng, 60).encode("utf-8"))
    if rng.random() < 0.3:
        os.symlink(folder, folder / "itself")
    if rng.random() < 0.3:
        (folder / "real").write_text("linked", "utf-8")
        os.symlink("real", folder / "link")


def loaded(path):
    with numpy.load(path) as npz:
        return list(npz.files), [npz[name] for name in npz.files]


def same_arrays(suite, label, got, expected):
    names, arrays = got
    suite.equal(names, [f"arr_{at}" for at in range(len(expected))], f"{label}: names")
    suite.check(len(arrays) == len(expected) and
                all(a.dtype == b.dtype and a.shape == b.shape and (a == b).all()
                    for a, b in zip(arrays, expected)), f"{label}: arrays",
                f"{[a.tolist()[:8] for a in arrays][:4]} {[b.tolist()[:8] for b in expected][:4]}")


def trees(suite, folder, encoder, vocab):
    for seed in range(TREES):
        rng = random.Random(seed)
        tree, out = folder / f"tree{seed}", folder / f"{seed}.npz"
        plant(rng, tree)
        for combine in (1, rng.randrange(1, 300), 50000):
            for path in (tree, f"{tree}/*", f"{tree}/*.txt", f"{tree}/d*/*"):
                if "d*" in str(path) or str(path).endswith("*"):
                    if any(os.path.isdir(p) for p in glob.glob(str(path))):
                        continue  # a directory that a pattern matches is an error in both
                ran = heft("encode", "--vocab", vocab, "--allow-empty", "--no-sync", "-f", "-j",
                           rng.choice("123"), "--combine", combine, path, "-o", out)
                if suite.check(ran.status == 0, f"tree {seed}: {path}", ran.line):
                    same_arrays(suite, f"tree {seed} {path} combine {combine}", loaded(out),
                                arrays_of(encoder, str(path), combine))


def plant_names(rng, folder, depth=0):
    folder.mkdir()
    for name in rng.sample(NAMES, rng.randrange(3, 20)):
        if rng.random() < 0.25 and depth < 3:
            plant_names(rng, folder / name, depth + 1)
        else:
            (folder / name).write_text("x")


def names(suite, folder, encoder, vocab):
    """Selected files and their order, for names with special characters of patterns."""
    for seed in range(12):
        tree = folder / f"tree{seed}"
        plant_names(random.Random(seed), tree)
        for path in (str(tree), f"{tree}/", *(f"{tree}/{pattern}" for pattern in PATTERNS)):
            ran = heft("encode", "--vocab", vocab, "--allow-empty", "-n", "--json", path, "-o",
                       folder / "out.npz")
            if suite.check(ran.status == 0, f"names {seed}: {path}", ran.line):
                same_paths(suite, f"names {seed}: {path}", json.loads(ran.out)["inputs"], path)


def same_paths(suite, label, found, path):
    """** matches across directories, which the glob of the original treats as *: expected is Python's
    recursive glob without directories, which heft does not read."""
    if "**" not in os.path.basename(os.path.dirname(path)) and not path.endswith("**"):
        suite.equal(found, paths_of(path), label)
        return
    wanted = [p for p in glob.glob(path, recursive=True) if not os.path.isdir(p)]
    suite.equal(sorted(found), sorted(wanted), label)


def big(suite, folder, encoder, vocab):
    """Jobs whose boundaries are inside a text of several megabytes, and a text without a place to
    cut."""
    rng = random.Random(7)
    words = [text_of(rng, 12) for _ in range(400)]
    text = "".join(rng.choice(words) for _ in range(120000)).replace("\r", "\n")
    texts = {"words": text, "letters": "".join(rng.choice("abcdef") for _ in range(3 << 20)),
             "spaces": " " * (3 << 20) + "x"}
    for name, body in texts.items():
        path, out = folder / f"{name}.txt", folder / f"{name}.npz"
        path.write_bytes(body.encode("utf-8"))
        outs = []
        for threads in "1", "2", "4":
            ran = heft("encode", "--vocab", vocab, "--no-sync", "-f", "-j", threads, path, "-o", out)
            suite.check(ran.status == 0, f"{name} -j{threads}", ran.line)
            outs.append(loaded(out)[1][0])
        suite.check(all((outs[0] == other).all() for other in outs), f"{name}: threads agree")
        if name == "words":
            suite.check((outs[0] == numpy.array(encoder.encode(body))).all(), f"{name}: ids")
        ran = heft("count", "--vocab", vocab, "-j2", path)
        suite.equal(int(ran.out), len(outs[0]), f"{name}: count")


def read_llmc(path):
    data = pathlib.Path(path).read_bytes()
    head = struct.unpack("<256i", data[:1024])
    assert head[0] == 20240520 and head[1] == 1 and not any(head[3:]), head[:4]
    ids = numpy.frombuffer(data[1024:], dtype="<u2")
    assert head[2] == len(ids), (head[2], len(ids))
    return ids


def read_megatron(prefix):
    index = pathlib.Path(f"{prefix}.idx").read_bytes()
    assert index[:9] == b"MMIDIDX\0\0"
    version, code, count, documents = struct.unpack_from("<QBQQ", index, 9)
    assert (version, code) == (1, 8)
    lengths = numpy.frombuffer(index, "<i4", count, 34)
    pointers = numpy.frombuffer(index, "<i8", count, 34 + 4 * count)
    starts = numpy.frombuffer(index, "<i8", documents, 34 + 12 * count)
    assert len(index) == 34 + 12 * count + 8 * documents and starts.tolist() == [*range(count + 1)]
    ids = pathlib.Path(f"{prefix}.bin").read_bytes()
    return [numpy.frombuffer(ids, "<u2", n, at).tolist() for n, at in zip(lengths, pointers)]


def formats(suite, folder, encoder, vocab):
    rng = random.Random(11)
    texts = [text_of(rng, 80).replace("\r", "\n") for _ in range(30)] + ["", "last one"]
    lines = folder / "docs.jsonl"
    lines.write_text("".join(json.dumps({"id": 1, "text": text, "x": [{"text": "no"}]}) + "\n"
                             for text in texts), "utf-8")
    packed = folder / "docs.jsonl.gz"
    packed.write_bytes(gzip.compress(lines.read_bytes()[:700]) + gzip.compress(lines.read_bytes()[700:]))
    documents = [encoder.encode(text) for text in texts]
    end = encoder.ids["<|endoftext|>"]
    behind = [token for ids in documents for token in [*ids, end]]
    before = [token for ids in documents for token in [end, *ids]]

    def run(out, *words):
        ran = heft("encode", "--vocab", vocab, "--jsonl", "text", "--no-sync", "-f", packed, "-o",
                   folder / out, *words)
        return suite.check(ran.status == 0, f"{out} {words}", ran.line)

    if run("a.bin", "--eot", "id"):
        suite.equal(numpy.fromfile(folder / "a.bin", "<u2").tolist(), behind, "nanoGPT")
    if run("b.bin", "--eot", "id", "--eot-before", "--format", "llmc"):
        suite.equal(read_llmc(folder / "b.bin").tolist(), before, "llm.c")
    if run("c.npy", "--eot", "none"):
        suite.equal(numpy.load(folder / "c.npy").tolist(), sum(documents, []), "npy")
    if run("d.bin", "--format", "megatron"):
        suite.equal(read_megatron(folder / "d"), documents, "Megatron")
    if run("e.ids", "--eot", "none"):
        suite.equal([list(map(int, line.split())) for line in
                     (folder / "e.ids").read_text().splitlines()], documents, "decimals")
    if run("f.npz", "--combine", "1", "--eot", "none"):
        same_arrays(suite, "one array a document", loaded(folder / "f.npz"),
                    [numpy.array(ids, dtype=numpy.int64) for ids in documents if ids])
    if run("g.bin", "--eot", "id", "--shard-tokens", "100"):
        parts = [numpy.fromfile(path, "<u2").tolist() for path in sorted(folder.glob("g_*.bin"))]
        suite.check(all(len(part) == 100 for part in parts[:-1]), "shards are full")
        suite.equal(sum(parts, []), behind, "shards")
    if run("h.bin", "--eot", "id", "--val-fraction", "0.3"):
        train, val = (numpy.fromfile(folder / f"h_{name}.bin", "<u2").tolist()
                      for name in ("train", "val"))
        suite.check(train and val and len(train) + len(val) == len(behind), "validation share")
        suite.equal(sorted(train + val), sorted(behind), "a share apart: ids")


def encodings(suite, folder, encoder, vocab):
    text = "Grüße, 'twas €5 — naïve\r\nend\rof\n\ttext"
    for name in ENCODINGS:
        body = text.encode(name, "ignore")
        path, out = folder / f"{name}.txt", folder / f"{name}.npz"
        path.write_bytes(body)
        ran = heft("encode", "--vocab", vocab, "--encoding", name, "--no-sync", path, "-o", out)
        if suite.check(ran.status == 0, name, ran.line):
            same_arrays(suite, name, loaded(out), arrays_of(encoder, str(path), 50000, name))


def damaged(suite, folder, encoder, vocab):
    """Texts with a few bytes changed or removed, in every encoding: the text that Python decodes, or an
    error as in Python and no output file."""
    rng = random.Random(4)
    path, out = folder / "bad.txt", folder / "bad.npy"
    for number in range(160):
        name = ENCODINGS[number % len(ENCODINGS)]
        text = "Grüße €5 — naïve 中\U0001f600\r\nend\rof\n" * rng.choice([1, 3, 4000])
        body = bytearray(text.encode(name, "replace"))
        for _ in range(rng.randrange(6)):
            at = rng.randrange(len(body))
            body[at:at + 1] = rng.choice([b"", b"\xd8", b"\xdc", b"\x81", b"\xff", b"\xfe", b"\0", b"\r"])
        path.write_bytes(body)
        for errors in "strict", "replace":
            try:
                with open(path, encoding=name, errors=errors) as file:
                    wanted = encoder.encode(file.read())
            except UnicodeError:
                wanted = None
            out.unlink(missing_ok=True)
            ran = heft("encode", "--vocab", vocab, "--no-sync", "--encoding", name, "--errors", errors,
                       "--eot", "none", path, "-o", out)
            suite.equal(numpy.load(out).tolist() if ran.status == 0 else None, wanted,
                        f"{name} {errors} {number}: {ran.line}")
            suite.equal(out.exists(), wanted is not None, f"{name} {errors} {number}: the output")


def replacement(suite, folder, encoder, vocab):
    """Random bytes, decoded with U+FFFD as in Python."""
    rng = random.Random(3)
    pieces = [b"\xf0\x9f\x99", b"\xe2\x82", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80",
              b"\xf5\x80", b"a", "é".encode(), "中".encode(), b"\x80", b"\xff", b"\r\n", b"\r", b" "]
    for round_ in range(60):
        count = rng.choice([rng.randrange(40), 30000])
        data = b"".join(rng.choice(pieces) for _ in range(count))
        path, out = folder / "bad.txt", folder / "bad.npz"
        path.write_bytes(data)
        with open(path, "r", encoding="utf-8", errors="replace") as file:
            text = file.read() + "<|endoftext|>"
        ran = heft("encode", "--vocab", vocab, "--errors", "replace", "--no-sync", "-f",
                   "--combine", 1 << 30, path, "-o", out)
        if suite.check(ran.status == 0, f"replace {round_}", ran.line):
            same_arrays(suite, f"replace {round_}", loaded(out), [numpy.array(encoder.encode(text))])


def run(folder):
    suite = Suite("encode as encode.py does, and for trainers")
    vocab = GPT2 if (GPT2 / "vocab.bpe").is_file() else SMALL
    encoder = Encoder(vocab)
    for part in trees, names, big, formats, encodings, damaged, replacement:
        here = folder / part.__name__
        here.mkdir()
        part(suite, here, encoder, vocab)
    return suite
