"""Runs the examples of README.md, doc/ and the man pages.

A ```console block (in a man page: .EX to .EE) that shows output is run if its commands are heft or a few
harmless ones. The blocks of a document share a directory. For README.md and doc/recipes.md it is a copy of
examples/data, so that a reader can type what they show; for the others it contains the golden files by
name, and consolidated.00.pth for documents about that file.

The tables of format options in heft-convert(1) are compared with the library's; --bless writes them.
"""
import re
import shutil

from . import console, trace
from .common import GOLDEN, ROOT, Fail, golden_inputs, must_succeed, text_of

MARKDOWN_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.M | re.S)
ROFF_BLOCK = re.compile(r"^\.EX\n(.*?)^\.EE$", re.M | re.S)
ROFF_ESCAPES = [("\\-", "-"), ("\\(aq", "'"), ("\\(dq", '"'), ("\\(ga", "`"), ("\\(ti", "~"),
                ("\\(ha", "^"), ("\\(bu", "·"), ("\\[u2026]", "…"), ("\\[->]", "→"), ("\\[u2190]", "←"),
                ("\\&", ""), ("\\e", "\\"), ("\\(rs", "\\")]
C_BLOCK = re.compile(r"^```c\n(.*?)^```$", re.M | re.S)
RUNNABLE = re.compile(r"^\$ (heft|head|cp|ls|cat|printf|mkdir|cmp)( |$)")
DATA = ROOT / "examples/data"
TYPED = ("README.md", "recipes.md")
NO_VOCABULARY = "this build has no GPT-2 vocabulary"

OPTIONS_PAGE = ROOT / "man" / "heft-convert.1"
# Comment around the table of a use: writing or reading.
MARK = '.\\" Options of formats for {}: {}\n'


def jobs(ctx):
    yield "heft-convert(1) lists the options of formats", lambda: check_format_options(ctx)
    yield "examples/data are golden files", check_data
    if not ctx.instrumented:
        yield "the C program of README.md", lambda: check_c_program(ctx)
    pages = [ROOT / "README.md", ROOT / "HACKING.md", *sorted((ROOT / "doc").rglob("*.md"))]
    for path in pages:
        if path.exists():
            yield from document_jobs(ctx, path, MARKDOWN_BLOCK, lambda text: text)
    for path in sorted((ROOT / "man").glob("*.[13]")):
        yield from document_jobs(ctx, path, ROFF_BLOCK, from_roff)


def document_jobs(ctx, path, pattern, decode):
    blocks = list(pattern.finditer(path.read_text(encoding="utf-8")))
    if any(runnable_commands(decode(block[1])) for block in blocks):
        name = str(path.relative_to(ROOT))
        yield name, lambda: check_document(ctx, path, blocks, decode)


def check_data():
    """Each file of examples/data is one that a framework wrote: a golden file."""
    for path in sorted(DATA.rglob("*")):
        if path.is_dir() or path == DATA / "README.md":
            continue
        twins = GOLDEN.glob(f"*/{path.relative_to(DATA)}")
        if not any(twin.read_bytes() == path.read_bytes() for twin in twins):
            raise Fail(f"{path.relative_to(ROOT)} is no golden file")


def check_c_program(ctx):
    """Compiles the C block of README.md as a function's body, and runs it on a golden file."""
    cwd = prepare_folder(ctx, ROOT / "README.md")
    libraries = (ctx.build / "libheft.so").resolve().parent
    text = C_BLOCK.search((ROOT / "README.md").read_text(encoding="utf-8"))[1]
    include, body = text.split("\n\n", 1)
    source = f"#include <stdio.h>\n{include}\nint main(void)\n{{\n{body}return 0;\n}}\n"
    (cwd / "readme.c").write_text(source.replace("model.pth", "linear.pt"))
    must_succeed(ctx, ["gcc", "-std=c17", "-Wall", "-Wextra", "-Werror", "-o", "readme", "readme.c",
                       f"-I{ROOT / 'include'}", f"-L{libraries}", "-lheft", f"-Wl,-rpath,{libraries}"],
                 cwd=cwd)
    found = text_of(must_succeed(ctx, [cwd / "readme"], cwd=cwd).stdout)
    if found != "weight F32\nbias F32\n":
        raise Fail(f"the program prints {found!r}")


def check_format_options(ctx):
    text = OPTIONS_PAGE.read_text(encoding="utf-8")
    new = text
    for use in ("writing", "reading"):
        begin, end = MARK.format(use, "begin"), MARK.format(use, "end")
        listed = text_of(must_succeed(ctx, [ctx.build / "heft-conversions", use]).stdout)
        head, rest = new.split(begin)
        new = head + begin + listed + end + rest.split(end)[1]
        for name in re.findall(r"\\fB(\\-\\-[^ ]+?)\\fR", listed):
            if f".TP\n\\fB{name}\\fR" not in head:
                raise Fail(f"{name} has no description under OPTIONS")
    if ctx.bless:
        OPTIONS_PAGE.write_text(new, encoding="utf-8")
    elif new != text:
        raise Fail("the options differ; tests/run --only docs --bless writes them")


def from_roff(text):
    for escape, plain in ROFF_ESCAPES:
        text = text.replace(escape, plain)
    return re.sub(r"\\f[BIRP]", "", text)


def runnable_commands(text):
    """The commands of a block if all of them are heft's and output is shown; otherwise none."""
    commands = console.parse(text.rstrip("\n").split("\n"))[1]
    if not all(RUNNABLE.match(command.lines[0]) for command in commands):
        return []
    if not any(console.stripped(command.stdout) for command in commands):
        return []
    return commands


def check_document(ctx, path, blocks, decode):
    cwd = prepare_folder(ctx, path)
    problems, results = [], []
    text = path.read_text(encoding="utf-8")
    if "$ heft explain --trace consolidated.00.pth" in text:
        trace.llama_file(ctx, cwd)
    for block in blocks:
        commands = runnable_commands(decode(block[1]))
        if not commands:
            continue
        actual, found = console.run_commands(ctx, commands, cwd, merged=True)
        if any(NO_VOCABULARY in line for command in actual for line in command.stdout):
            results.append((f"{path.name}: {commands[0].lines[0]}", "skip", NO_VOCABULARY))
            continue
        problems += found
        results.append((f"{path.name}: {commands[0].lines[0]}",
                        "fail" if found else "pass", "\n".join(found)))
        if found and ctx.bless and path.suffix == ".md":
            text = text.replace(block[1], "\n".join(console.unparse([], actual)) + "\n", 1)
    if problems and ctx.bless and path.suffix == ".md":
        path.write_text(text, encoding="utf-8")
        return None
    return results


def prepare_folder(ctx, path):
    cwd = ctx.folder(path.stem)
    if path.name in TYPED:
        shutil.copytree(DATA, cwd, dirs_exist_ok=True)
        return cwd
    for folder, file in golden_inputs():
        link = cwd / file
        if not link.exists():
            link.symlink_to(folder / file)
    return cwd
