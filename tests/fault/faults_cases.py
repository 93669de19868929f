"""Commands of the fault tests: every verb on every format, every written format over every old set."""
import functools
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS))

from faults_machine import Folder, Machine, without_temporary  # noqa: E402
from suites.common import golden_inputs  # noqa: E402

GOLDEN = TESTS / "golden"
VOCABULARY = GOLDEN / "tokens/small"

# Inputs of which every verb is tried; of each other golden file: ls, verify and one conversion.
CHOSEN = {"gguf": ["v1-le.gguf", "types.gguf", "split-py", "lists.gguf"],
          "h5": ["nested.h5"], "npy": ["deflated.npz", "two.npy", "names.npz"],
          "pickle": ["tensor.pkl", "values.pkl", "protocol0.pkl"], "ptd": ["dtypes.ptd", "blobs.ptd"],
          "pte": ["inside.pte", "outside.pte"], "safetensors": ["dtypes.safetensors", "sharded", "tied.safetensors"],
          "saved-model": ["exported", "tf2", "v1", "frozen.pbtxt"], "tf-bundle": ["snappy", "dtypes", "partitioned",
                                                                                 "v1", "objects"],
          "tf-meta": ["two.meta"], "tf-restore": ["nested"],
          "torch": ["training.ckpt", "dtypes.pt", "views.pt", "deflated.pt", "tied.pt", "unknown.pt"],
          "torch-compact": ["slices.pt"], "torch-dcp": ["mesh", "single", "torch_1_13"], "torch-export": ["model.pt2"],
          "torch-legacy": ["dtypes.pt", "nested.pt", "protocol0.pt"], "torch-objects": ["quantized.pt", "sparse.pt"],
          "torch-tar": ["linear.tar"], "torchscript": ["linear.pt", "attributes.pt"]}

READING = [["info", "--all"], ["info", "--json"], ["ls"], ["ls", "--json"], ["tree"], ["explain"], ["verify"],
           ["verify", "--json"], ["scan"], ["scan", "--json"], ["stats"], ["digest"], ["digest", "--files"],
           ["explain", "--trace"], ["explain", "--restore"]]
TARGETS = ["safetensors", "torch", "torch-legacy", "tf", "ptd", "npz", "npy", "h5", "gguf"]
NAMES = {"safetensors": "out.safetensors", "torch": "out.pt", "torch-legacy": "out.pth", "tf": "out", "ptd": "out.ptd",
         "npz": "out.npz", "npy": "out.npy", "h5": "out.h5",
         "gguf": "out.gguf"}


class Case:
    """A command with the input paths already in its words; `old` are the files in its directory before it, or a
    function that makes them, with a name for them."""

    def __init__(self, verb, form, words, old=None, stdin=None, writes=False, over=None):
        self.verb, self.form, self.words = verb, form, [str(word) for word in words]
        self.old, self.stdin, self.writes = old or {}, stdin, writes
        words = [re.sub(r"^/.*/heft-faults-[^/]*/", "", word.replace(str(TESTS) + "/", "")) for word in self.words]
        self.name = " ".join([*words, "over", *(over or sorted(self.old))] if old else words)


def run_heft(build, words, cwd=None):
    return subprocess.run([build / "heft", *map(str, words)], cwd=cwd, check=False, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def first_tensor(build, path):
    done = run_heft(build, ["ls", path, "--json"])
    rows = json.loads(done.stdout)["tensors"] if done.returncode == 0 else []
    return min(rows, key=lambda row: row["bytes"])["name"] if rows else None


def is_hdf5(path):
    """Each run starts a process of libhdf5, which costs 20 ms."""
    return path.parent.name == "h5"


def reading(build, form, path):
    for words in READING:
        yield Case(words[0], form, [words[0], path, *words[1:], "-q"])
    yield Case("diff", form, ["diff", path, path, "-q"])
    name = first_tensor(build, path)
    if name is not None:
        yield Case("get", form, ["get", path, name, "-q"])
        yield Case("get", form, ["get", path, name, "-o", "out.npy", "-f", "-q"], {"out.npy": b"old"}, writes=True)
        yield Case("get", form, ["get", path, name, "-o", "-", "-q"])
    yield Case("info", form, ["info", path, "--html", "page.html", "-q"], writes=True)
    yield Case("info", form, ["info", path, "--html", "page.html", "-f", "-q"], {"page.html": b"old"}, writes=True)


def converting(form, path):
    for to in TARGETS:
        where = NAMES[to]
        if to == "tf":
            where, old = "m", {"m.index": b"old", "m.data-00000-of-00001": b"old too"}
        else:
            old = {where: b"old"}
        more = ["--metadata", "general.architecture=x"] if to == "gguf" else []
        yield Case("convert", f"{form} to {to}", ["convert", path, "-o", where, "--to", to, "-f", "-q", *more], old, writes=True)
    yield Case("convert", f"{form} to safetensors", ["convert", path, "-o", "new/", "--to", "safetensors", "-q",
                                                     "--max-shard-size", "300"], writes=True)


def written(build, work, words):
    """Files that a command writes into an empty directory."""
    folder = work / "written"
    folder.mkdir()
    done = run_heft(build, [*words, "-q"], folder)
    assert done.returncode == 0, (words, done.stderr)
    files = {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
    subprocess.run(["rm", "-r", folder], check=True)
    return files


def replacing(build, work):
    """Sets over other sets: more files, fewer files, other names, with and without an index."""
    new, old = GOLDEN / "safetensors/dtypes.safetensors", GOLDEN / "torch/training.ckpt"
    sets = [["--to", "safetensors", "--max-shard-size", size] for size in ("60", "400", "5GB")]
    sets += [["--to", "torch", "--max-shard-size", size] for size in ("60", "400")]
    for before in sets:
        files = written(build, work, ["convert", old, "-o", "set/", *before])
        for after in sets:
            yield Case("convert", f"set to {after[1]}", ["convert", new, "-o", "set/", *after, "-f", "-q"], files, writes=True)
    for before in ("1", "3"):
        files = written(build, work, ["convert", old, "-o", "m", "--to", "tf", "--shards", before])
        for after in ("1", "2", "3"):
            yield Case("convert", "set to tf", ["convert", new, "-o", "m", "--to", "tf", "--shards", after, "-f", "-q"],
                       files, writes=True)
    whole = GOLDEN / "gguf/whole.gguf"
    for before in ("2", "3"):
        files = written(build, work, ["convert", whole, "-o", "m.gguf", "--max-shard-tensors", before])
        for after in (["--max-shard-tensors", "1"], ["--max-shard-size", "64", "--no-tensor-first-shard"], []):
            yield Case("convert", "set to gguf", ["convert", whole, "-o", "m.gguf", *after, "-f", "-q"], files, writes=True)
    for to in ("dcp", "dcp-hf"):
        yield Case("convert", f"new directory to {to}", ["convert", old, "-o", "new/", "--to", to, "--ranks", "2", "-q"], writes=True)
        for before, after in (("1", "2"), ("3", "1"), ("2", "2")):
            files = written(build, work, ["convert", old, "-o", "set/", "--to", to, "--ranks", before])
            yield Case("convert", f"set to {to}", ["convert", new, "-o", "set/", "--to", to, "--ranks", after, "-f", "-q", "-g", "[fi]*"],
                       files, writes=True)
    for before in ("800", "5GB"):
        files = written(build, work, ["convert", GOLDEN / "h5/nested.h5", "-o", "set/", "--to", "h5", "--max-shard-size", before])
        yield Case("convert", "set to h5", ["convert", GOLDEN / "h5/nested.h5", "-o", "set/", "--to", "h5", "--max-shard-size",
                                           "300", "-f", "-q"], files, writes=True)
    yield from into_models(build, work)
    ptd = GOLDEN / "ptd"
    yield Case("convert", "into a .ptd", ["convert", ptd / "lowered-new.npz", "--into", ptd / "lowered.ptd", "--base",
                                          ptd / "lowered-old.npz", "-o", "new.ptd", "-q"], writes=True)
    yield from over_inputs(build, work)
    yield Case("convert", "salvage", ["convert", GOLDEN / "torch/dtypes.pt", "--salvage", "-o", "o.safetensors", "-q"], writes=True)
    yield Case("convert", "verified", ["convert", GOLDEN / "torch/dtypes.pt", "--verify", "-o", "o.pt", "-q"], writes=True)


def into_models(build, work):
    """A directory that appears as a whole: new, in place of an empty one, and refused over files."""
    for name in ("tf2", "exported"):
        model, weights = GOLDEN / "saved-model" / name, work / f"weights-{name}.safetensors"
        run_heft(build, ["convert", model, "-o", weights, "-q"])
        words = ["convert", weights, "--into", model, "-o", "model", "-q"]
        yield Case("convert", "into saved-model", words, writes=True)
        yield Case("convert", "into saved-model", words, {"model": None}, writes=True)
        yield Case("convert", "into saved-model", [*words, "-f"], {"model/saved_model.pb": b"old"}, writes=True)


def over_inputs(build, work):
    """The output replaces the input, or a file that has the same inode; another name of it keeps the old bytes."""
    old = (GOLDEN / "safetensors/dtypes.safetensors").read_bytes()
    words = ["--to", "safetensors", "--cast", "*=F32", "-f", "-q"]
    yield Case("convert", "over its input", ["convert", "in.safetensors", "-o", "in.safetensors", *words],
               {"in.safetensors": old, "twin": "in.safetensors"}, writes=True)
    yield Case("convert", "over a link of its input", ["convert", "in.safetensors", "-o", "out.safetensors", *words],
               {"in.safetensors": old, "out.safetensors": "in.safetensors"}, writes=True)
    for to in ("safetensors", "torch"):
        files = written(build, work, ["convert", GOLDEN / "torch/training.ckpt", "-o", "set/", "--to", to, "--max-shard-size", "60"])
        twins = {f"twin-{i}": name for i, name in enumerate(files)}
        yield Case("convert", "set over its input", ["convert", "set/", "-o", "set/", "--to", to, "--max-shard-size", "400",
                                                     "-f", "-q"], files | twins, writes=True)


def interrupted(build, work, words, is_late):
    """What `words`, an encoding, leaves when it is killed half-way or at the end: a journal and temporary files."""
    folder = Folder(tempfile.mkdtemp(dir=work), {})
    states = []
    with Machine(build, words, folder.path) as machine:
        for at in range(1, machine.run("n").calls + 1):
            folder.restore()
            machine.run("k", at)
            found = folder.found()
            if len(found) > 1 and not without_temporary(found) and any(name.endswith(".heft-journal") for name in found):
                states.append(found)
    subprocess.run(["rm", "-r", folder.path], check=True)
    assert states, words
    return states[-1 if is_late else len(states) // 2]


def resuming(build, work):
    texts = []
    for i in range(4):
        texts.append(work / f"text-{i}.txt")
        texts[-1].write_text(f"the cat sat on mat {i}, and the dog did not. " * 20)
    for form, output, *more in (("npz", "out.npz"), ("npy", "out.npy"), ("bin", "out.bin"), ("llmc", "out.bin"), ("megatron", "out.bin"),
                                ("bin", "out.bin", "--shard-tokens", "90"), ("bin", "out.bin", "--val-fraction", "0.3")):
        words = ["encode", *texts, "-o", output, "--format", form, "--vocab", VOCABULARY, "--checkpoint", "1", "-q", *more]
        others = written(build, work, ["encode", texts[0], *words[len(texts) + 1:]])
        for is_late in (False, True):
            over = ["a run that was killed", "at the end" if is_late else "half-way"]
            left = functools.partial(interrupted, build, work, words, is_late)
            yield Case("encode", f"resume {form}", [*words, "--resume"], left, writes=True, over=over)
            yield Case("encode", f"resume {form}", [*words, "--resume", "-f"], lambda left=left, others=others: left() | others,
                       writes=True, over=[*over, *sorted(others)])


def tokens(build, work):
    text, lines = work / "text.txt", work / "lines.jsonl"
    text.write_text("the cat sat on the mat, and the dog did not. " * 8)
    lines.write_text("".join(json.dumps({"t": f"line {i} of text"}) + "\n" for i in range(5)) + "{broken\n")
    with_vocabulary = ["--vocab", VOCABULARY]
    yield Case("count", "text", ["count", text, *with_vocabulary])
    yield Case("count", "pipe", ["count", "-", *with_vocabulary], stdin=text)
    for form in ("npz", "npy", "bin", "llmc", "megatron", "ids", "ds"):
        place = {"megatron": "out.bin", "ids": "out.ids", "llmc": "out.bin"}.get(form, f"out.{form}")
        words = ["encode", text, "-o", place, "--format", form, *with_vocabulary, "-q"]
        files = written(build, work, ["encode", lines, *words[2:]])
        yield Case("encode", form, words, writes=True)
        yield Case("encode", form, [*words, "-f"], files, writes=True)
        name, data = next(iter(files.items()))
        (work / f"ids-{form}").mkdir()
        for name, data in files.items():
            (work / f"ids-{form}" / name).write_bytes(data)
        ids = work / f"ids-{form}" / place
        if form != "npz":
            yield Case("join", form, ["join", ids, ids, "-o", place, "--format", form, "-q"], writes=True)
            yield Case("join", form, ["join", ids, ids, "-o", place, "--format", form, "-q", "-f"], files, writes=True)
        yield Case("decode", form, ["decode", ids, *with_vocabulary])
        yield Case("decode", form, ["decode", ids, "-o", "text", "-f", "-q", *with_vocabulary], {"text": b"old"}, writes=True)
        yield Case("info", form, ["info", ids, "-q"])
        yield Case("explain", form, ["explain", ids, "-q"])
    part = ["encode", text, "-o", "part.ds", "--part", "1/1", "--eot", "id", *with_vocabulary, "-q"]
    files = written(build, work, part)
    yield Case("encode", "part", part, writes=True)
    yield Case("encode", "part", [*part, "-f"], files, writes=True)
    for name, data in files.items():
        (work / name).write_bytes(data)
    yield Case("join", "part", ["join", work / "part.ds", "-o", "out.ds", "-q"], writes=True)
    listing = ["--jsonl", "t", "--eot", "id", "--errors", "skip", "--rejects", "rejects"]
    more = [*listing, "--lengths", "lengths"]
    yield Case("encode", "jsonl", ["encode", lines, "-o", "out.bin", *more, *with_vocabulary, "-q"], writes=True)
    yield Case("encode", "jsonl", ["encode", lines, "-o", "out.bin", *more, *with_vocabulary, "-q", "-f"],
               {"out.bin": b"old", "lengths": b"old", "rejects": b"old"}, writes=True)
    yield Case("encode", "jsonl", ["encode", lines, "-o", "-", "--format", "ids", *listing, *with_vocabulary, "-q"], writes=True)
    yield Case("encode", "pipe", ["encode", "-", "-o", "-", "--format", "bin", *with_vocabulary, "-q"], stdin=text)
    trained = ["train", text, "-o", "vocabulary", "--vocab-size", "270", "-q"]
    yield Case("train", "new", trained, writes=True)
    yield Case("train", "over", [*trained, "-f"], written(build, work, ["train", lines, *trained[2:]]), writes=True)


def scanning():
    """Files with findings: none may be lost."""
    for path in [*sorted((TESTS / "scan/cases").iterdir()), *sorted((TESTS / "scan/models").iterdir())]:
        yield Case("scan", "tests/scan", ["scan", path, "-q"])


def rest():
    yield Case("help", "text", ["help"])
    yield Case("help", "text", ["help", "convert"])
    yield Case("completion", "bash", ["completion", "bash"])
    yield Case("diff", "two formats", ["diff", GOLDEN / "torch/dtypes.pt", GOLDEN / "safetensors/dtypes.safetensors", "-q"])


def all_cases(build, work):
    for folder, name in golden_inputs():
        path = folder / name
        if is_hdf5(path) and name not in CHOSEN["h5"]:
            yield Case("verify", folder.name, ["verify", path, "-q"])
        elif name in CHOSEN.get(folder.name, []):
            yield from reading(build, folder.name, path)
            yield from converting(folder.name, path)
        else:
            yield Case("ls", folder.name, ["ls", path, "-q"])
            yield Case("verify", folder.name, ["verify", path, "-q"])
            yield from list(converting(folder.name, path))[:1]
    yield from replacing(build, work)
    yield from tokens(build, work)
    yield from resuming(build, work)
    yield from scanning()
    yield from rest()


def scratch_base():
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
