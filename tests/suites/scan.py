"""Findings of `heft scan` in files that other scanners detect or miss: tests/scan (make.py wrote cases;
make_models.py, make_scripts.py and make_configs.py wrote models).

Columns of expect.tsv and expect-models.tsv: FILE, exit status, the worst danger, WHAT and the beginning of
the NAME of one finding (`-`: only allowed names), its position in the pickle (`*`: any). Columns of
names.tsv: a danger, and a name that a pickle imports and calls.
"""
import json
import re

from .common import Fail, ROOT, TESTS, run, text_of

FOLDER = TESTS / "scan"
RANKS = ["none", "allowed", "unknown", "danger"]


def jobs(ctx):
    tables = {name: table(FOLDER / tsv) for name, tsv in (("cases", "expect.tsv"), ("models", "expect-models.tsv"))}
    for name, rows in tables.items():
        yield f"samples and table agree: {name}", lambda name=name, rows=rows: check_table(name, rows)
    yield "the table of names is in order", check_names_sorted
    for name, rows in tables.items():
        for row in rows:
            yield row[0], lambda row=row, name=name: check_case(ctx, FOLDER / name / row[0], *row[1:])
    for folder in ("saved-model", "tf-meta", "tf-restore", "h5", "safetensors", "ptd", "pte", "torch-export",
                   "torch-dcp/rows", "torch-dcp/mesh", "torch-dcp/single", "torch-dcp/objects"):
        yield f"no finding in golden {folder}", lambda folder=folder: check_ordinary(ctx, folder)
    for danger, name in table(FOLDER / "names.tsv"):
        yield name, lambda danger=danger, name=name: check_name(ctx, danger, name)


def table(path):
    lines = path.read_text(encoding="utf-8").split("\n")
    return [line.split("\t") for line in lines if line and not line.startswith("#")]


def check_table(name, rows):
    there = {path.name for path in (FOLDER / name).iterdir()}
    if there != {row[0] for row in rows}:
        raise Fail(f"the table and {name} differ: " + " ".join(sorted(there ^ {row[0] for row in rows})))


def check_names_sorted():
    """The binary search in src/scan/scan_names.c misses entries that are out of order."""
    text = (ROOT / "src/scan/scan_names.c").read_text()
    rows = re.findall(r'^ +\{"([^"]*)", "([^"]*)"\},$', text, re.M)
    if len(rows) < 300 or rows != sorted(set(rows)):
        wrong = [b for a, b in zip(rows, rows[1:]) if a >= b]
        raise Fail(f"{len(rows)} names, out of order or twice: {wrong[:5]}")


def scan(ctx, path):
    done = run(ctx, [ctx.heft, "scan", "--json", path])
    text = text_of(done.stdout)
    return done.returncode, json.loads(text)["items"] if text else [], text_of(done.stderr)


def check_case(ctx, path, status, worst, what, name, position):
    code, items, errors = scan(ctx, path)
    found = max((item["danger"] for item in items), key=RANKS.index, default="none")
    problems = []
    if str(code) != status:
        problems.append(f"exit {code}, not {status}")
    if found != worst and not (worst == "none" and found == "allowed"):
        problems.append(f"the worst is {found}, not {worst}")
    if what != "-" and not any(matches(item, what, name, position) for item in items):
        problems.append(f"not found: {what} {name} at {position}")
    if problems:
        raise Fail("\n".join(problems + [str(item) for item in items[:20]] + [errors]))


def matches(item, what, name, position):
    return (item["what"] == what and item["name"].startswith(name) and item["danger"] != "allowed"
            and position in ("*", str(item.get("position"))))


def check_name(ctx, danger, name):
    module, _, attribute = name.partition(":") if ":" in name else name.rpartition(".")
    path = ctx.scratch / f"{name.replace(':', '.')}.pkl"
    path.write_bytes(f"c{module}\n{attribute}\n(S'true'\ntR.".encode())
    check_case(ctx, path, "1", danger, "import", f"{module}.{attribute}", "0")
    check_case(ctx, path, "1", danger, "call", f"{module}.{attribute}", "*")


def check_ordinary(ctx, folder):
    """Models of the reference frameworks with only numbers and ordinary graphs. One contains a link to
    another file."""
    code, items, errors = scan(ctx, TESTS / "golden" / folder)
    found = [item for item in items if item["danger"] != "allowed" and not item["file"].endswith("h5/links.h5")]
    if found or code != (folder == "h5"):
        raise Fail("\n".join([f"exit {code}"] + [str(item) for item in found[:20]] + [errors]))
