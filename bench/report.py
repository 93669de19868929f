"""Writes the report of a bench: bench/report.md and its images."""

import re

import curves
from measure import ROOT, bytes_of, text_of

RECORD = ROOT / "bench" / "report.md"
HEAD = ("work", "against", "heft", "peer", "ratio", "wanted", "reached")
SHORT_BEGIN, SHORT_END = "<!-- short: begin -->", "<!-- short: end -->"
# Rows of the short table: patterns of work and peer, one row each.
SHORT = ((r"open and list \d+ tensors.*, in process", "torch"), (r"list 100 000 tensors.*", "safetensors, with"),
         (r"list a bundle.*", "tf"), (r"convert .* shards, `--no-sync`", "torch"),
         (r"convert .* shards, `--no-sync`", "cp"), (r"scan .*", "picklescan"), (r"diff of two .*", "cmp"),
         (r"`digest` .*`-j 1`", "sha256sum"), (r"`stats .*F32", "torch"),
         (r"encode .*English, first pass.*", "gigatoken"))
INTRODUCTION = """\
Written by `make bench`, which runs everything below in one go. The two sides of a row alternate, and their
medians are compared; [doc/performance.md](../doc/performance.md) has the methods and what was learnt. Ratios can
be compared between machines, seconds cannot.
"""
GROWTH = """\
Both axes are logarithmic. The slope is the exponent of growth of the time over the last two decades: 1 is
linear. Memory is the peak of a command; of a library, and of heft in process, it is the peak beyond that of the
process before the work, with everything imported."""


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def reached_text(reached):
    return "–" if reached is None else "yes" if reached else "**no**"


def cells(row):
    return (row.work, row.against, row.heft, row.peer, row.ratio, row.wanted, reached_text(row.reached))


def short(rows):
    """The rows that tell most, for the README."""
    picked = []
    for work, against in SHORT:
        picked += [row for row in rows if re.fullmatch(work, row.work) and row.against.startswith(against)][:1]
    return table(("work", "heft", "peer", "its figure", "ratio"),
                 [(row.work, row.heft, row.against, row.peer, row.ratio) for row in picked])


def summary_of(text):
    """The short table of a report."""
    return text.partition(SHORT_BEGIN)[2].partition(SHORT_END)[0].strip()


def outcome(rows):
    bounds = [row for row in rows if row.reached is not None]
    missed = [row for row in bounds if not row.reached]
    lines = [f"{len(rows)} rows, {len(bounds)} of them with a bound: {len(bounds) - len(missed)} reached, "
             f"{len(missed)} not reached."]
    for row in missed:
        figure = f", against {row.against}: {row.ratio}" if row.ratio != "–" else f": {row.heft}"
        lines.append(f"- {row.work}{figure}, wanted {row.wanted}")
    return "\n".join(lines)


def by_verb(rows):
    verbs = dict.fromkeys(row.verb for row in rows)
    return "\n\n".join(f"### {verb}\n\n" + table(HEAD, [cells(row) for row in rows if row.verb == verb])
                       for verb in verbs)


def points(curve):
    """Table of the points of a curve."""
    values = {line.label: {point.x: point for point in line.points} for line in curve.lines}
    head = [curve.unit, *(f"{label}: {what}" for label in values for what in ("time", "memory"))]
    rows = []
    for x in sorted({x for found in values.values() for x in found}):
        row = [curves.value_text(x, curve.unit)]
        for found in values.values():
            point = found.get(x)
            row += [text_of(point.seconds), bytes_of(point.memory or 0)] if point else ["–", "–"]
        rows.append(row)
    return table(head, rows)


def slopes(curve):
    """Exponents of growth of the time, in a sentence."""
    found = [(line.label, curves.slope([(point.x, point.seconds) for point in line.points])) for line in curve.lines]
    return "Slope of the time: " + ", ".join(f"{label} {steep:.2f}" for label, steep in found if steep) + "."


def growth(found):
    return "\n\n".join([GROWTH, *(f"### {curve.title}\n\n![{curve.title}](curves/{curve.name}.svg)\n\n{slopes(curve)}"
                                  f"\n\n{points(curve)}" for curve in found)])


def parts_of(parts):
    """What each part took, what share of the processors other programs used meanwhile, and its outcome."""
    rows = [(part.name, f"{part.seconds:.0f} s", f"{part.others:.0%}", part.trouble or "measured") for part in parts]
    return table(("part", "time", "other programs", "outcome"), rows) + f"\n\nTotal: {sum(part.seconds for part in parts):.0f} s."


def compose(results, parts, facts, versions, how):
    """The report as text."""
    troubles = [*(f"- {part.name}: {part.trouble}" for part in parts if part.trouble),
                *(f"- {what}: skipped: {reason}" for what, reason in results.skipped)]
    sections = ["# Bench report", INTRODUCTION + "\n" + how, "## In short", SHORT_BEGIN + "\n" + short(results.rows) +
                "\n" + SHORT_END, outcome(results.rows),
                *(["## Not measured", "\n".join(troubles)] if troubles else []),
                "## Machine", table(("property", "value"), facts),
                "## Versions", table(("program", "version"), versions),
                "## Rows", by_verb(results.rows)]
    if results.curves:
        sections += ["## Growth", growth(results.curves)]
    return "\n\n".join([*sections, "## Parts", parts_of(parts)]) + "\n"


def write(path, text, found):
    """Writes the report and its images, and removes images of an earlier one."""
    folder = path.parent / "curves"
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.svg"):
        old.unlink()
    for curve in found:
        (folder / f"{curve.name}.svg").write_text(curves.draw(curve))
    path.write_text(text)
