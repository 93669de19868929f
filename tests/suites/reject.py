"""Files that must be refused, with code, offset and message.

Each directory tests/reject/FORMAT has an expect.tsv: FILE, CODE, OFFSET, TEXT separated by tabs, # for
comments. CODE is an error code of heft; `finding` or `note`: the file opens, and verify reports it; `ok`:
the file is valid. The directories vocab, digest-list and rules contain vocabularies, lists of digests and rules files
instead of checkpoints. OFFSET is 0x…, `-`
for none, `*` for any. TEXT is a part of the message.
"""
from .common import Fail, TESTS, needs_hdf5, needs_snappy, run, text_of

# Directories of files that are no checkpoints: the option of heft-open, and a command that reads FILE.
OTHERS = {
    "vocab": ("--vocab", ["count", "/dev/null", "--vocab", "FILE"]),
    "digest-list": ("--digests", ["verify", "../safetensors/length-odd.safetensors", "--against", "FILE"]),
    "rules": ("--rules", []),  # check_rules
}
STAGES = ("open", "read", "stats", "verify", "reverse")
FORBIDDEN = ("malformed", "unsafe", "mismatch", "finding")
NOT_SAMPLES = {"expect.tsv", "README.md"}


def jobs(ctx):
    folders = sorted(path for path in (TESTS / "reject").glob("*") if path.is_dir())
    if not folders:
        yield "reject samples", none_there
    for folder in folders:
        table = read_table(folder)
        yield f"{folder.name}: samples and table agree", lambda f=folder, t=table: check_table(f, t)
        for row in table:
            yield f"{folder.name}/{row[0]}", lambda f=folder, r=row: check_row(ctx, f, *r)


def none_there():
    raise Fail("tests/reject contains no sample")


def read_table(folder):
    path = folder / "expect.tsv"
    lines = path.read_text(encoding="utf-8").split("\n") if path.exists() else []
    rows = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return [(row + ["", "*", ""])[:4] if len(row) < 4 else row[:4] for row in rows]


def check_table(folder, table):
    if not table:
        raise Fail("expect.tsv is missing or empty")
    named = {row[0].rstrip("/").split("/")[0] for row in table}
    there = {path.name for path in folder.iterdir()
             if path.name not in NOT_SAMPLES and path.suffix not in (".py", ".pyc")}
    there.discard("__pycache__")
    if named - there:
        raise Fail("no such sample: " + " ".join(sorted(named - there)))
    if there - named:
        raise Fail("not in expect.tsv: " + " ".join(sorted(there - named)))


def check_row(ctx, folder, name, code, offset, text):
    needs_hdf5(ctx, folder.name)
    needs_snappy(ctx, folder.name, name)
    how = [OTHERS[folder.name][0]] if folder.name in OTHERS else []
    done = run(ctx, [ctx.heft_open, *how, name], cwd=folder)
    lines = text_of(done.stdout).rstrip("\n").split("\n")
    if done.returncode != 0:
        raise Fail(f"heft-open: exit {done.returncode}\n" + text_of(done.stderr))
    if not any(matches(line, code, offset, text) for line in lines):
        wanted = " ".join((code, offset, text))
        raise Fail(f"expected: {wanted}\nactual:   " + "\n          ".join(lines))
    if code == "ok" and any(line.startswith("finding ") for line in lines):
        raise Fail("expected no finding:\n" + "\n".join(lines))
    if folder.name == "rules":
        check_rules(ctx, folder, name, lines[-1])
    else:
        check_command(ctx, folder, name, lines[-1])
    if folder.name not in OTHERS and code in FORBIDDEN:
        check_verify(ctx, folder, name)


def matches(line, code, offset, text):
    words = line.split(" ")
    if words[0] in STAGES:
        words = words[1:]
    if words[0] != code:
        return False
    if code == "ok":
        return True
    return offset in ("*", words[1]) and text in " ".join(words[2:])


def check_command(ctx, folder, name, verdict):
    """Runs the command on the same file: exit status, and a one-line error if it refuses the file."""
    command = OTHERS[folder.name][1] if folder.name in OTHERS else ["ls", "FILE"]
    command = [name if word == "FILE" else word for word in command]
    done = run(ctx, [ctx.heft, *command], cwd=folder)
    errors = text_of(done.stderr)
    refused = verdict.startswith("open ")
    status = (1 if verdict.startswith("open mismatch ") else 2) if refused else 0
    if done.returncode != status:
        raise Fail(f"heft {command[0]}: exit {done.returncode}, not {status}\n{errors}")
    if refused and (errors.count("\n") != 1 or not errors.startswith("heft: ")):
        raise Fail(f"heft {command[0]}: expected one line beginning with heft: on stderr\n{errors}")


def check_rules(ctx, folder, name, verdict):
    """The command refuses a rules file with the same text, and nothing before its FILE:LINE."""
    stage, _, _, text = (verdict + "   ").split(" ", 3)
    if stage == "ok":
        return
    turned = ["--reverse"] if stage == "reverse" else []
    done = run(ctx, [ctx.heft, "convert", "-n", "../../golden/safetensors/dtypes.safetensors", "-o", "out.safetensors",
                     "--rules", name, *turned], cwd=folder)
    errors = text_of(done.stderr)
    if done.returncode != 2 or errors != f"heft: {text.rstrip()}\n":
        raise Fail(f"heft convert: exit {done.returncode}, expected 2 and: heft: {text}\n{errors}")


def check_verify(ctx, folder, name):
    """A violation of the format is a finding, in whatever file it occurs."""
    done = run(ctx, [ctx.heft, "verify", name], cwd=folder)
    if done.returncode != 1 or not text_of(done.stdout).count("finding  "):
        raise Fail(f"heft verify: exit {done.returncode}, not 1 with a finding\n"
                   + text_of(done.stdout) + text_of(done.stderr))
