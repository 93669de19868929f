"""Draws growth curves as SVG: time and memory over the size of the input, both axes logarithmic.

An image has two panels, is 700 pixels wide, needs no other file and no script, and has its own background
for light and dark pages.
"""

import math
from dataclasses import dataclass, field
from html import escape

WIDTH, HEIGHT = 700, 330
TOP, BOTTOM = 62, 276  # edges of the panels
PANELS = ((58, 330), (402, 674))  # left and right edge of each
INKS = (("#0b62c4", "#6cb2ff"), ("#b5460f", "#ffa366"), ("#3d7a1f", "#8fd16a"))  # light, dark; one a line
STYLE = """
.page { fill: #ffffff } .ink { fill: #24292f } .faint { fill: #57606a }
.frame { stroke: #8c959f } .grid { stroke: #d8dee4 }
text { font: 12px system-ui, sans-serif } .title { font-size: 14px; font-weight: 600 }
@media (prefers-color-scheme: dark) {
.page { fill: #0d1117 } .ink { fill: #e6edf3 } .faint { fill: #9da7b3 }
.frame { stroke: #6e7681 } .grid { stroke: #2b313a }
}
"""


@dataclass
class Point:
    x: float
    seconds: float
    memory: float | None = None  # bytes; None if it was not measured


@dataclass
class Line:
    label: str
    points: list = field(default_factory=list)


@dataclass
class Curve:
    name: str  # of the file, and the verb
    title: str
    unit: str  # of x: "tensors" or "bytes"
    lines: list = field(default_factory=list)


def slope(pairs):
    """Exponent of growth: the slope of the least-squares line through (log x, log y), over the points
    of the last two decades of x. None for fewer than two points."""
    logs = [(math.log10(x), math.log10(y)) for x, y in pairs]
    logs = [pair for pair in logs if pair[0] > logs[-1][0] - 2.01]
    if len(logs) < 2:
        return None
    x0, y0 = (sum(column) / len(logs) for column in zip(*logs))
    return sum((x - x0) * (y - y0) for x, y in logs) / sum((x - x0) ** 2 for x, _ in logs)


def value_text(value, unit):
    """A value with its unit: "10 ms", "100 KB", "10 000"."""
    if unit == "seconds":
        scale = ((1, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
    elif unit == "bytes":
        scale = ((1e9, "GB"), (1e6, "MB"), (1e3, "KB"), (1, "B"))
    else:
        return f"{value:,.0f}".replace(",", " ")
    size, name = next(step for step in scale if value >= step[0] * 0.999 or step is scale[-1])
    return f"{value / size:.4g} {name}"


class Axis:
    """Maps values to pixels; covers whole decades."""

    def __init__(self, values, start, end):
        self.low = math.floor(math.log10(min(values)) + 1e-9)
        self.high = max(math.ceil(math.log10(max(values)) - 1e-9), self.low + 1)
        self.start, self.end = start, end

    def place(self, value):
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self):
        """Powers of ten, at most seven of them."""
        step = math.ceil((self.high - self.low) / 6)
        return [10.0**power for power in range(self.low, self.high + 1, step)]


def text(x, y, words, ink="ink", anchor="start", more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{ink}" text-anchor="{anchor}"{more}>{escape(words)}</text>'


def rule(kind, x1, y1, x2, y2):
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def frame(across, up, panel, unit, y_unit):
    """Grid, labels of the ticks and names of the axes."""
    left, right = panel
    parts = []
    for tick in up.ticks():
        y = up.place(tick)
        parts += [rule("grid", left, y, right, y), text(left - 5, y + 4, value_text(tick, y_unit), "faint", "end")]
    for tick in across.ticks():
        x = across.place(tick)
        parts += [rule("grid", x, TOP, x, BOTTOM),
                  text(x, BOTTOM + 16, value_text(tick, unit), "faint", "middle")]
    parts += [rule("frame", left, BOTTOM, right, BOTTOM), rule("frame", left, TOP, left, BOTTOM)]
    return parts


def plot(number, pairs, across, up):
    places = [(across.place(x), up.place(y)) for x, y in pairs]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3"/>' for x, y in places)
    return [f'<polyline class="line{number}" points="{path}"/>', f'<g class="dot{number}">{dots}</g>']


def series(curve, panel_number):
    """(number, label, pairs) of the lines of a panel: 0 is time, 1 is memory."""
    for number, line in enumerate(curve.lines):
        pairs = [(point.x, (point.seconds, point.memory)[panel_number]) for point in line.points]
        pairs = [pair for pair in pairs if pair[1]]
        if pairs:
            yield number, line.label, pairs


def panel(curve, panel_number):
    """One of the two diagrams; a line of text instead if nothing was measured."""
    left, right = PANELS[panel_number]
    name, y_unit = (("time", "seconds"), ("peak memory", "bytes"))[panel_number]
    found = list(series(curve, panel_number))
    if not found:
        return [text((left + right) / 2, (TOP + BOTTOM) / 2, f"{name}: not measured", "faint", "middle")]
    across = Axis([x for _, _, pairs in found for x, _ in pairs], left, right)
    up = Axis([y for _, _, pairs in found for _, y in pairs], BOTTOM, TOP)
    parts = frame(across, up, PANELS[panel_number], curve.unit, y_unit)
    for number, _, pairs in found:
        parts += plot(number, pairs, across, up)
    x_name = {"bytes": "size of the file [bytes]", "tensors": "number of tensors"}[curve.unit]
    return [*parts, text(left, TOP - 8, f"{name} [{y_unit}]"),
            text((left + right) / 2, BOTTOM + 32, x_name, anchor="middle")]


def legend(curve):
    """Labels with the slope of the time."""
    parts, x = [], PANELS[0][0]
    slopes = {number: slope(pairs) for number, _, pairs in series(curve, 0)}
    for number, line in enumerate(curve.lines):
        steep = slopes.get(number)
        words = line.label + (f" (slope {steep:.2f})" if steep is not None else "")
        parts += [f'<g class="dot{number}"><circle cx="{x + 4:.1f}" cy="34" r="4"/></g>', text(x + 12, 38, words)]
        x += 30 + 6.3 * len(words)
    return parts


def inks(lines):
    """Style of the lines for light and for dark pages."""
    light = "".join(f".line{n} {{ stroke: {INKS[n][0]}; fill: none; stroke-width: 2 }} "
                    f".dot{n} {{ fill: {INKS[n][0]} }}\n" for n in range(lines))
    dark = "".join(f".line{n} {{ stroke: {INKS[n][1]} }} .dot{n} {{ fill: {INKS[n][1]} }}\n" for n in range(lines))
    return f"{STYLE}{light}@media (prefers-color-scheme: dark) {{\n{dark}}}\n"


def draw(curve):
    """The image as text."""
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
             f'height="{HEIGHT}" role="img">', f"<title>{escape(curve.title)}</title>",
             f"<style>{inks(len(curve.lines))}</style>", f'<rect class="page" width="{WIDTH}" height="{HEIGHT}"/>',
             text(PANELS[0][0], 18, curve.title, more=' style="font-weight: 600"'),
             *legend(curve), *panel(curve, 0), *panel(curve, 1), "</svg>"]
    return "\n".join(parts) + "\n"
