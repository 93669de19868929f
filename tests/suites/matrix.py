"""Converts each golden file of the formats that can be read and written to each of them.

The result is opened again and its rows compared with the source's: names, dtypes, shapes, the bytes of
every tensor. If a target cannot store a tensor, the error is one line, and the cast that it suggests
works. The main file of each format (MAIN) is written twice, and checked with `ls` and `get`.
doc/conversions.md contains the table of dtypes; --bless writes it.
"""
import json
import re
import shutil

from .common import Fail, GOLDEN, ROOT, golden_inputs, must_succeed, needs_hdf5, run, text_of

TARGETS = ("torch", "torch-legacy", "torch-dcp", "safetensors", "dcp-hf", "tf", "ptd", "npz", "h5", "gguf")
FOLDERS = ("torch", "torch-legacy", "safetensors", "tf-bundle", "ptd", "npy", "gguf")
MAIN = ("torch/dtypes.pt", "torch/tied.pt", "torch-legacy/dtypes.pt", "torch-legacy/ties.pt",
        "safetensors/dtypes.safetensors", "safetensors/tied.safetensors", "tf-bundle/dtypes",
        "ptd/dtypes.ptd", "ptd/shared.ptd", "npy/numbers.npz", "h5/types.h5")
PAGE = ROOT / "doc" / "conversions.md"
BEGIN, END = "<!-- dtypes: begin -->\n", "<!-- dtypes: end -->\n"
NO_DTYPE = re.compile(r"tensor (.+): (\S+) has no (\w+)"
                      r"(?:, and \d+ more tensors? (?:is|are) like it)?"
                      r"(?:(?:: --dequantize writes values instead)?; --cast '(.+)=(\w+)' would do"
                      r"|, nor anything that it could be cast to)$")
NO_VALUES = "cannot store what is not a tensor"
VARYING = ("STRING", "VARIANT")
OPTIONS = {"torch-dcp": ["--ranks", "3"], "dcp-hf": ["--ranks", "3"]}
TORCH = ("torch", "torch-legacy")  # conversions among these keep values and nesting

# Other reasons for which a target refuses: (source, target) → parts of its message, and the tensors
# concerned. The others are converted.
REFUSED = {
    ("npy/names.npz", "tf"): ("must have a name", [""]),
    ("npy/names.npz", "ptd"): ("a key of a .ptd must not be empty", [""]),
    ("npy/names.npz", "h5"): ("its name is not a path in HDF5", ["", "/top"]),
    ("npy/rank.npy", "ptd"): ("a .ptd supports tensors of up to 16 dimensions", ["rank"]),
    ("safetensors/names.safetensors", "tf"): ("must have a name", [""]),
    ("safetensors/names.safetensors", "ptd"): ("a key of a .ptd must not be empty", ["", "nul\0inside"]),
    ("safetensors/names.safetensors", "npz"): ("a name contains a NUL, which would end it in a zip", ["nul\0inside"]),
    ("gguf/v3-be.gguf", "gguf"): ("of a big-endian file", ["c.weight"]),
    ("npy/rank.npy", "gguf"): ("tensors of a GGUF have up to 4", ["rank"]),
    ("ptd/orders.ptd", "gguf"): ("tensors of a GGUF have up to 4", ["last5"]),
    ("ptd/shapes.ptd", "gguf"): ("tensors of a GGUF have up to 4", ["rank16"]),
    ("safetensors/names.safetensors", "gguf"): ("its name contains a NUL", ["nul\0inside"]),
    ("safetensors/names.safetensors", "h5"): ("its name is not a path in HDF5", ["", "nul\0inside"]),
}
REFUSED.update({("gguf/v3-be.gguf", target): ("writers disagree about the byte order of its scales", ["c.weight"])
                for target in TARGETS if target != "gguf"})
WITH_SCALES = ("gguf/nvfp4.gguf",)
NO_DATA = ("tf-bundle/index-only",)  # files without any tensor that can be converted


def jobs(ctx):
    table = Table(ctx)
    yield "doc/conversions.md equals the library's table", lambda: check_page(ctx, table)
    for name in inputs():
        source = Source(ctx, name)
        for target in TARGETS:
            yield (f"{name} to {target}",
                   lambda source=source, target=target: run_pair(ctx, table, source, target))


def run_pair(ctx, table, source, target):
    needs_hdf5(ctx, source.name.split("/")[0], target)
    Pair(ctx, table, source, target).run()


def inputs():
    for folder, name in golden_inputs():
        if folder.name in FOLDERS:
            yield f"{folder.name}/{name}"
    for path in sorted((GOLDEN / "h5").glob("*.h5")):
        yield f"h5/{path.name}"


class Table:
    """The table that heft-conversions prints: by format and dtype "yes", the dtype to cast to, or
    "–"."""

    def __init__(self, ctx):
        self.ctx = ctx
        self.lines = None

    def text(self):
        return text_of(must_succeed(self.ctx, [self.ctx.build / "heft-conversions"]).stdout)

    def says(self, target, dtype):
        if self.lines is None:
            lines = [[cell.strip() for cell in line.split("|")[1:-1]]
                     for line in self.text().split("\n")[:-1]]
            self.lines = {line[0]: dict(zip(lines[0], line)) for line in lines[2:]}
        return self.lines[dtype][target]


def check_page(ctx, table):
    text = PAGE.read_text(encoding="utf-8")
    head, rest = text.split(BEGIN)
    new = head + BEGIN + table.text() + END + rest.split(END)[1]
    if ctx.bless:
        PAGE.write_text(new, encoding="utf-8")
    elif new != text:
        raise Fail("the table differs; tests/run --only matrix --bless writes it")


class Source:
    """A golden file and its tensors as heft lists them, cached."""

    def __init__(self, ctx, name):
        self.ctx, self.name = ctx, name
        self.path = GOLDEN / name
        self._rows = self._info = None

    @property
    def rows(self):
        if self._rows is None:
            self._rows = rows_of(self.ctx, self.path)
        return self._rows

    @property
    def info(self):
        if self._info is None:
            self._info = json.loads(must_succeed(self.ctx, [self.ctx.heft, "info", "--json", self.path]).stdout)
        return self._info

    def ties(self):
        """Dropped names that the file's metadata records, and the kept ones."""
        metadata = self.info.get("metadata", {})
        return {key: value for key, value in metadata.items()
                if value in self.rows and key not in self.rows}


def rows_of(ctx, path):
    """{name: (dtype, shape, bytes, digest)} in the order of the file; the last value is the storage that
    a row shares."""
    rows = {}
    for line in text_of(must_succeed(ctx, [ctx.heft_open, "--rows", path]).stdout).split("\n")[:-1]:
        name, *row = line.split("\t")
        rows[bytes.fromhex(name).decode()] = tuple(row)
    return rows


class Pair:
    """Converts one file to one target."""

    def __init__(self, ctx, table, source, target):
        self.ctx, self.table, self.source, self.target = ctx, table, source, target
        self.folder = None
        self.casts = {}
        self.absent = []
        self.drop = False
        self.said = []

    def keeps_tree(self):
        return self.target in TORCH and self.source.name.split("/")[0] in TORCH

    def keeps_values(self):
        """Values are the metadata of both files."""
        return self.target == "gguf" and self.source.name.startswith("gguf/")

    def run(self):
        self.folder = self.ctx.folder("matrix")
        if self.source.name in NO_DATA:
            return self.must_refuse("")
        self.leave_unreadable()
        self.choose_casts()
        self.leave_refused()
        if all(map(self.left_out, self.expected().values())):
            return self.must_refuse("nor anything that it could be cast to") if self.expected() else None
        self.convert("out")
        self.compare()
        self.check_said()
        if self.source.name in MAIN:
            self.twice()
            self.ask()
        shutil.rmtree(self.folder)

    # ---- converting

    def output(self, name):
        """A torch file contains its own name: files to compare have the same name in two directories."""
        (self.folder / name).mkdir(exist_ok=True)
        return self.folder / name / "model"

    def once(self, name):
        words = [self.ctx.heft, "convert", self.source.path, "-o", self.output(name), "--to",
                 self.target, "--no-sync", *OPTIONS.get(self.target, []), *self.selection()]
        if self.target == "gguf" and not self.keeps_values():
            words += ["--metadata", "general.architecture=heft"]
        for tensor, dtype in self.casts.items():
            words += ["--cast", f"{tensor}={dtype}"]
        return run(self.ctx, words + ["--drop-values"] * self.drop + self.ignoring())

    def ignoring(self):
        """Blocks with scales in another tensor are cast only without these."""
        return ["--ignore-scales"] * (self.source.name in WITH_SCALES and bool(self.casts))

    def selection(self):
        """A pattern for a name; a pattern can neither be empty nor contain a NUL."""
        words = ["-e", "."] if "" in self.absent else []
        for name in filter(None, self.absent):
            words += ["-g", "!" + name.replace("\0", "?")]
        return words

    def must_refuse(self, text):
        line = self.refusal(self.once("out"))
        if self.drops(line):
            line = self.refusal(self.once("out"))
        if text not in line:
            raise Fail(f"expected: {text}\nactual:   {line}")

    def leave_unreadable(self):
        """Conversion reports tensors that heft cannot read."""
        names = [item["name"] for item in self.source.info.get("unreadable", [])]
        if names:
            self.must_refuse("leave it out with -g '!NAME'")
            self.absent += names

    def leave_refused(self):
        text, names = REFUSED.get((self.source.name, self.target), (None, []))
        if text:
            self.must_refuse(text)
            self.absent += names

    def refusal(self, done):
        """Returns the one-line error; checks that no output was written."""
        lines = text_of(done.stderr).rstrip("\n").split("\n")
        if done.returncode != 2 or len(lines) != 1 or not lines[0].startswith("heft: "):
            raise Fail(f"expected a one-line error: exit {done.returncode}\n" + "\n".join(lines))
        if any(self.folder.glob("*/*")):
            raise Fail("a refused conversion wrote files: " + str(list(self.folder.glob("*/*"))))
        return lines[0]

    def choose_casts(self):
        """The error names the first tensor that the target cannot store, with the cast of the table."""
        lacking = {name: self.table.says(self.target, row[0]) for name, row in self.source.rows.items()
                   if row[0] not in VARYING}
        lacking = {name: cell for name, cell in lacking.items() if cell != "yes"}
        if lacking and self.keeps_tree():  # arrays of numpy stay arrays
            lacking = {name: cell for name, cell in lacking.items() if name not in self.arrays()}
        while lacking:
            line = self.refusal(self.once("out"))
            if self.drops(line):
                continue
            match = NO_DTYPE.search(line)
            if not match:
                raise Fail(f"the error does not contain {' '.join(lacking)}: {line}")
            name, target, dtype, again, cast = match.groups()
            if name not in lacking or target != self.target or dtype != self.source.rows[name][0] \
                    or (again or name) not in (name, "*") or (cast or "–") != lacking[name]:
                raise Fail(f"differs from the table: {line}")
            self.casts.update((name, cell) for name, cell in lacking.items() if cell != "–")
            self.absent += [name for name, cell in lacking.items() if cell == "–"]
            return

    def arrays(self):
        """Rows that are arrays of numpy in the pickle."""
        listing = json.loads(must_succeed(self.ctx, [self.ctx.heft, "explain", "--json", self.source.path]).stdout)
        arrays = [segment["what"] for segment in listing["segments"] if "numpy array" in segment["what"]]
        return [name for name in self.source.rows if any(what.endswith(": " + name) for what in arrays)]

    def drops(self, line):
        """Returns true if the error is about values that are not tensors, which are then left out."""
        if NO_VALUES not in line or self.drop:
            return False
        self.drop = True
        return True

    def convert(self, name):
        done = self.once(name)
        if done.returncode == 2 and self.drops(text_of(done.stderr)):
            done = self.once(name)
        if done.returncode != 0:
            raise Fail(f"exit {done.returncode}: " + text_of(done.stderr))
        self.said = text_of(done.stderr).split("\n")[:-1]

    # ---- comparing

    def expected(self):
        """The rows of the source as the target should have them, with the ties that its metadata
        records."""
        rows = dict(self.source.rows)
        if self.target != "safetensors":
            for dropped, kept in self.source.ties().items():
                rows[dropped] = rows[kept]
        return {name: row for name, row in rows.items() if name not in self.absent}

    def left_out(self, row):
        return row[0] in VARYING and self.table.says(self.target, row[0]) != "yes"

    def compare(self):
        got = rows_of(self.ctx, self.output("out"))
        ties = Source(self.ctx, self.output("out")).ties if self.target == "safetensors" else dict
        recorded = None
        for name, row in self.expected().items():
            if self.left_out(row):
                if name in got:
                    raise Fail(f"{name} should be left out")
                continue
            if name not in got:
                recorded = ties() if recorded is None else recorded
                self.check_tie(name, row, got, recorded)
            else:
                self.check_row(name, row, got[name])
        unexpected = [name for name in got if name not in self.expected()]
        if unexpected:
            raise Fail("not in the source: " + " ".join(unexpected))

    def check_row(self, name, row, got):
        cast = self.casts.get(name)
        wanted = (cast, row[1]) if cast else row[:3 if row[0] == "STRING" else 4]
        if got[:len(wanted)] != wanted:
            raise Fail(f"{name}: expected {wanted}, got {got}")
        if row[0] == "STRING" and self.strings(self.source.path, name) != self.strings(self.output("out"), name):
            raise Fail(f"{name}: different strings")
        if cast and got[3] != self.digest_of(name, cast):
            raise Fail(f"{name}: {cast} of a different value")

    def check_tie(self, name, row, got, recorded):
        kept = recorded.get(name)
        if kept not in got:
            raise Fail(f"{name} is missing")
        if not self.is_view(name):
            self.check_row(kept, row, got[kept])

    def is_view(self, name):
        """Tied names are dropped as by the hub, and reported."""
        return any(f"{name} is another view of" in line for line in self.said)

    def strings(self, path, name):
        """Compares as JSON: the bytes of a file depend on its byte order."""
        return must_succeed(self.ctx, [self.ctx.heft, "get", path, name]).stdout

    def digest_of(self, name, dtype):
        """Compares cast bytes: without the shared storage."""
        alone = self.output("alone")
        must_succeed(self.ctx, [self.ctx.heft, "convert", "-q", self.source.path, "-o", alone, "--to", "raw", "-g",
                                name, "--cast", f"{name}={dtype}", "--no-sync", "-f", *self.ignoring()])
        state = 0xcbf29ce484222325
        for byte in alone.read_bytes():
            state = (state ^ byte) * 0x100000001b3 & (1 << 64) - 1
        return f"{state:016x}"

    # ---- what is said

    def check_said(self):
        strange = [line for line in self.said if not line.startswith("heft: note: ")]
        if strange:
            raise Fail("stderr contains lines other than notes: " + "\n".join(strange))
        lost = [name for name, row in self.expected().items() if self.left_out(row)]
        if self.target == "torch-dcp":
            lost += self.lost_objects()
        elif not self.keeps_tree() and not self.keeps_values():
            lost += self.lost_values()
        elif not self.absent:
            self.check_values()
        lost += self.lost_metadata()
        notes = [line for line in self.said if "left out" in line]
        for name in lost:
            if not any(escaped(name) in line or " more" in line for line in notes):
                raise Fail(f"no note about {name}, which is left out:\n" + "\n".join(self.said))

    def check_values(self):
        """Values that are not tensors are unchanged."""
        got, wanted = (source.info.get("values") for source in (Source(self.ctx, self.output("out")), self.source))
        if self.keeps_values():
            wanted = {key: value for key, value in wanted.items() if not key.startswith("split.")}
        if got != wanted:
            raise Fail(f"different values: {wanted}\ngot: {got}")

    def lost_values(self):
        blobs = [blob["name"] for blob in self.source.info.get("blobs", [])]
        values = self.source.info.get("values") or {}
        names = [key for key, value in values.items()
                 if key != "_metadata" and not (isinstance(value, dict) and list(value) == ["_metadata"])
                 and not self.is_of_tensors(key, value)]
        return names + (blobs if self.target != "ptd" else [])

    def lost_objects(self):
        """Values of which no part is an object of the distributed checkpoint."""
        got = Source(self.ctx, self.output("out")).info.get("values") or {}
        values = self.source.info.get("values") or {}
        return [name for name in self.lost_values() if values.get(name) != {}
                and not any(key == name or key.startswith(name + ".") for key in got)]

    def is_of_tensors(self, key, value):
        """An object whose only contents are tensors that are rows: a nested tensor."""
        return (isinstance(value, dict) and "class" in value and not value.get("args")
                and any(name.startswith(key + ".") for name in self.expected()))

    def lost_metadata(self):
        if self.target in ("safetensors", "gguf"):
            return []
        return [key for key in self.source.info.get("metadata", {})
                if key not in ("format", "total_size") and key not in self.source.ties()]

    # ---- the files that stand for a format

    def twice(self):
        self.convert("again")
        one, two = (written(self.folder, name) for name in ("out", "again"))
        if one != two:
            raise Fail("a second conversion wrote a different file")

    def ask(self):
        """Compares the output of ls, and the bytes of get."""
        listing = json.loads(must_succeed(self.ctx, [self.ctx.heft, "ls", "--json", self.output("out")]).stdout)
        for row in listing["tensors"]:
            wanted = self.expected()[row["name"]]
            shape = ",".join(str(extent) for extent in row["shape"])
            dtype = self.casts.get(row["name"], wanted[0])
            if (row["dtype"], shape) != (dtype, wanted[1]):
                raise Fail(f"ls: {row}, expected {dtype} {wanted}")
        for name in list(self.expected())[:3]:
            if self.left_out(self.expected()[name]) or name in self.casts or self.is_view(name):
                continue
            one, two = (must_succeed(self.ctx, [self.ctx.heft, "get", path, name, "-o", "-"]).stdout
                        for path in (self.source.path, self.output("out")))
            if one != two:
                raise Fail(f"get: {name} has different bytes")


def written(folder, name):
    """Bytes of all files of an output."""
    return {path.name: path.read_bytes() for path in (folder / name).rglob("*") if path.is_file()}


def escaped(text):
    return text.replace("\n", "\\n")
