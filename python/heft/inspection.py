"""What is in checkpoints: scan, statistics, differences."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from heft import _heft
from heft.checkpoint import Opaque
from heft.conversion import RENAME, Pairs, Rule, handle_of, pairs, ruling, selection
from heft.progress import Progress, shown

if TYPE_CHECKING:
    Path = str | os.PathLike[str]

__all__ = ["Counts", "Diff", "DiffItem", "DiffPair", "ScanItem", "TensorStats", "diff", "scan", "stats"]


@dataclass(frozen=True)
class ScanItem:
    """What loading a file would execute.

    danger: "danger", "unknown" or "allowed". record: part of the file, as "archive/data.pkl".
    offset: byte offset in the file; position: in the pickle. what: "import", "call", "op", "native" and so on, as in
    heft-scan(1); "not judged" for a file of a kind that is not scanned, or that cannot be read. name: "module.name".
    """

    danger: str
    file: str | None
    record: str
    offset: int | None
    position: int | None
    what: str
    name: str


def scan(path: Path) -> list[ScanItem]:
    """Scans a file, or all files below a directory, for what loading them would execute; executes nothing.

    An empty list, or one of only "allowed" items: nothing was found.
    """
    return [ScanItem(*row) for row in _heft.scan(os.fspath(path))]


@dataclass(frozen=True)
class TensorStats:
    """Statistics of the finite elements of a tensor; NaN and infinities are counted.

    min, max and abs_max are exact ints for dtypes of integers. std is that of the population. All are None if the
    dtype is no number, or no element is finite.
    """

    name: str
    elements: int
    zeros: int
    nan: int
    inf: int
    finite: int
    min: float | int | None
    max: float | int | None
    mean: float | None
    std: float | None
    abs_max: float | int | None


def stats(source: Any, *, glob: str | Iterable[str] | None = None, regex: str | Iterable[str] | None = None,
          root: str | None = None, threads: int = 0, progress: Progress | bool | None = None) -> list[TensorStats]:
    """Statistics of each tensor, or of those that glob, regex and root select. Reads their data once.

    source: whatever `open` takes, or an open Checkpoint. The bits do not depend on the number of threads.
    """
    handle = handle_of(source)
    names = handle.names()
    with shown(progress, "stats") as step:
        rows = handle.stats(root, selection(glob, regex), threads, step)
    found = []
    for index, is_measured, elements, zeros, nan, inf, finite, *figures in rows:
        low, high, mean, std, magnitude = figures if is_measured and finite else [None] * 5
        found.append(TensorStats(names[index], elements, zeros, nan, inf, finite, low, high, mean, std, magnitude))
    return found


@dataclass(frozen=True)
class Counts:
    """Numbers of names."""

    equal: int
    differ: int
    only_a: int
    only_b: int


@dataclass(frozen=True)
class DiffItem:
    """A tensor, or a blob, on one side only, or with a difference.

    kind: "only a", "only b" or "differ". a, b: (dtype, shape), None on the side that lacks it.
    differing: number of elements that differ; None if they were not compared or counted.
    max_abs, mean_abs: of |a - b|; max_abs_at: index of the first element with max_abs. None without a finite one.
    nan, inf: differing elements that are NaN or infinite, in a and in b.
    """

    kind: str
    name: str
    is_blob: bool
    a: tuple[str, tuple[int, ...]] | None
    b: tuple[str, tuple[int, ...]] | None
    values_differ: bool
    elements: int
    differing: int | None
    max_abs: float | None
    mean_abs: float | None
    max_abs_at: tuple[int, ...] | None
    nan: tuple[int, int]
    inf: tuple[int, int]


@dataclass(frozen=True)
class DiffPair:
    """A key of the metadata, or a dotted path of the tree, on one side only or with different values."""

    kind: str
    key: str
    a: Any
    b: Any


@dataclass(frozen=True)
class Diff:
    """Result of `diff`; is_equal: nothing differs."""

    tensors: Counts
    metadata: Counts
    values: Counts
    items: list[DiffItem]
    metadata_items: list[DiffPair]
    value_items: list[DiffPair]

    @property
    def is_equal(self) -> bool:
        return not (self.items or self.metadata_items or self.value_items)


def _make(kind: str, name: str, items: list[Any] | None) -> Any:
    return Opaque(f"{kind} {name}" if kind == "tensor" else name, tuple((str(i), v) for i, v in enumerate(items or ()))
                  if kind == "set" else tuple(items or ()))


def diff(a: Any, b: Any, *, structure: bool = False, atol: float | None = None, rtol: float | None = None,
         metadata: bool = False, rename: Pairs = None, glob: str | Iterable[str] | None = None,
         regex: str | Iterable[str] | None = None, root: str | None = None,
         rules: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] | None = None,
         variables: Mapping[str, int] | None = None, reverse: bool = False, threads: int = 0,
         progress: Progress | bool | None = None) -> Diff:
    """Compares two checkpoints of any formats: names, dtypes, shapes, and every bit.

    a, b: whatever `open` takes, or open Checkpoints.
    structure: reads no data. atol, rtol: equal if |a - b| <= atol + rtol * |b|, as numpy.allclose with equal_nan.
    metadata: compares metadata and the tree, too. rename: ("RE", "TO") for names of a; rules, variables, reverse: rules
    files for a; glob, regex, root as in `convert`.
    """
    all_rules: list[Rule] = [*selection(glob, regex), *((RENAME, *pair) for pair in pairs(rename, "=>", "rename")),
                             *ruling(rules, variables, reverse)]
    with shown(progress, "diff") as step:
        counts, of_metadata, of_values, items, metadata_items, value_items = _heft.diff(
            handle_of(a, rules=all_rules), handle_of(b), structure, atol, rtol, metadata, root, all_rules, threads,
            step, _make)
    found = []
    for kind, name, is_blob, left, right, differs, elements, differing, figures, nonfinite in items:
        nan_a, nan_b, inf_a, inf_b = nonfinite
        most, mean, where = figures or (None, None, None)
        found.append(DiffItem(kind, name, is_blob, left, right, differs, elements, differing, most, mean, where,
                              (nan_a, nan_b), (inf_a, inf_b)))
    return Diff(Counts(*counts), Counts(*of_metadata), Counts(*of_values), found,
                [DiffPair(*row) for row in metadata_items], [DiffPair(*row) for row in value_items])
