"""bench/run: a part that fails is told and does not end the others; growth curves are images that stand alone."""
import importlib.util
import xml.etree.ElementTree

from .common import Fail, ROOT, run, text_of

ONLY_PLAIN = True
# heft, except that `--version` fails
BROKEN = """#!/bin/sh
[ "$1" = --version ] && exit 3
exec {heft} "$@"
"""


def jobs(ctx):
    yield "a part that fails", lambda: check_failing_part(ctx)
    yield "a growth curve", check_curve


def check_failing_part(ctx):
    folder = ctx.folder("bench")
    broken = folder / "heft"
    broken.write_text(BROKEN.format(heft=ctx.heft))
    broken.chmod(0o755)
    done = run(ctx, [ROOT / "bench/run", "--quick", "--report", folder / "report.md", "start", "page"],
               env={**ctx.env, "HEFT": str(broken), "HEFT_BENCH": str(folder)})
    said = text_of(done.stdout) + text_of(done.stderr)
    if done.returncode != 1:
        raise Fail(f"exit {done.returncode}, expected 1\n{said}")
    report = (folder / "report.md").read_text()
    for line in ("- start: failed: RuntimeError: ", "## Not measured", "| page | ", "### info\n", "| kernel | "):
        if line not in report:
            raise Fail(f"the report does not contain {line!r}:\n{report}")


def load_curves():
    spec = importlib.util.spec_from_file_location("curves", ROOT / "bench/curves.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def check_curve():
    curves = load_curves()
    lines = [curves.Line(label, [curves.Point(10**power, 10**(factor * power) * 1e-6, memory)
                                 for power in range(2, 7)])
             for label, factor, memory in (("<linear>", 1, 5e6), ("square & co", 2, None))]
    image = curves.draw(curves.Curve("name", "a title", "tensors", lines))
    root = xml.etree.ElementTree.fromstring(image)
    words = " ".join(element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}text"))
    for text in ("<linear> (slope 1.00)", "square & co (slope 2.00)", "1 000 000", "time [seconds]",
                 "peak memory [bytes]", "number of tensors"):
        if text not in words:
            raise Fail(f"the image does not contain {text!r}: {words}")
    if "<script" in image or "href" in image or "prefers-color-scheme: dark" not in image:
        raise Fail("the image has a script or a reference, or no colours for dark pages")
