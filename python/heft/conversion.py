"""Conversions.

    heft.convert("model.pth", "model.safetensors")
    heft.convert("model.pth", "out/", max_shard_size="5GB", cast={"*": "BF16"}, verify=True)
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from heft import _heft
from heft.checkpoint import Checkpoint, _open_handle
from heft.errors import UsageError
from heft.progress import Progress, shown

if TYPE_CHECKING:
    Path = str | os.PathLike[str]

__all__ = ["Conversion", "PlannedTensor", "convert", "rules_presets"]

# enum heft_rule_kind
GLOB, REGEX, RENAME, CAST, METADATA, PARTITION, KEEP_TIED, DROP_METADATA, FILE, SET = range(10)
Rule = tuple[int, str, str | None]
Pairs = str | Mapping[str, str] | Iterable[str | tuple[str, str]] | None


@dataclass(frozen=True)
class PlannedTensor:
    """Tensor of the output: its file, byte offset and bytes there, and the name in the source.

    With rules files: sources, the names of all tensors that it is made of, and rule, "FILE:LINE".
    """

    name: str
    source_name: str
    file: str
    dtype: str
    offset: int
    nbytes: int
    sources: tuple[str, ...] = ()
    rule: str | None = None


@dataclass(frozen=True)
class Conversion:
    """What `convert` wrote, or would write.

    files: paths, and bytes. total_size: bytes of the tensors. notes: sentences about what was left out or changed.
    lost: with salvage, tensors that could not be recovered, and the reasons. overflowed: finite values that a cast
    found out of range.
    """

    files: dict[str, int]
    tensors: list[PlannedTensor]
    nbytes: int
    total_size: int
    is_sharded: bool
    notes: list[str]
    lost: dict[str, str]
    overflowed: int

    @property
    def tensor_to_filename(self) -> dict[str, str]:
        return {tensor.name: os.path.basename(tensor.file) for tensor in self.tensors}


def texts(given: str | Iterable[str] | None) -> list[str]:
    """One text, or several."""
    return [given] if isinstance(given, str) else list(given or ())


def pairs(given: Pairs, separator: str, option: str, last: bool = False) -> list[tuple[str, str]]:
    """Pairs of a mapping, of tuples, or of texts as the command takes them: "LEFT=RIGHT"."""
    if isinstance(given, Mapping):
        return list(given.items())
    found: list[tuple[str, str]] = []
    for item in [given] if isinstance(given, str) else given or ():
        if isinstance(item, str):
            left, middle, right = item.rpartition(separator) if last else item.partition(separator)
            if not middle:
                raise ValueError(f"{option} {item!r}: expected LEFT{separator}RIGHT")
            item = left, right
        left, right = item
        found.append((left, right))
    return found


def selection(glob: str | Iterable[str] | None, regex: str | Iterable[str] | None) -> list[Rule]:
    """Rules that select tensors by their names."""
    return [*((GLOB, text, None) for text in texts(glob)), *((REGEX, text, None) for text in texts(regex))]


def ruling(rules: Path | Iterable[Path] | None, variables: Mapping[str, int] | None, reverse: bool) -> list[Rule]:
    """Rules files, the last one first in reverse, and their variables."""
    files = [os.fspath(rules)] if isinstance(rules, (str, os.PathLike)) else [os.fspath(file) for file in rules or ()]
    if not files and (variables or reverse):
        raise UsageError("variables and reverse need rules")
    return [*((FILE, file, "reverse" if reverse else None) for file in (files[::-1] if reverse else files)),
            *((SET, name, str(int(number))) for name, number in (variables or {}).items())]


def rules_presets() -> dict[str, str]:
    """Rules files that are part of heft: names for `rules`, and their texts."""
    return {name: text for name, _, text in _heft.rules_presets()}


@functools.cache
def _format_options() -> tuple[frozenset[str], frozenset[str]]:
    """Names of the options for reading and for writing, as arguments."""
    rows = _heft.format_options()
    reads, writes = (frozenset(name.replace("-", "_") for _, name, is_read, _ in rows if is_read is which)
                     for which in (True, False))
    return reads, writes


def _writes(to: str | None, name: str) -> bool:
    return any(row[:3] == (to, name.replace("_", "-"), False) for row in _heft.format_options())


def share_options(options: Mapping[str, Any], to: str | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Options for reading and for writing. One that both have, as names, is for writing if `to` has it."""
    reads, writes = _format_options()
    unknown = sorted(set(options) - reads - writes)
    if unknown:
        raise TypeError(f"convert() has no option {unknown[0]!r}")
    of_reading = {name: value for name, value in options.items() if name in reads and not _writes(to, name)}
    return of_reading, {name: value for name, value in options.items() if name in writes}


def handle_of(source: Any, format: str | None = None, salvage: bool = False, limits: Mapping[str, int] | None = None,
              options: Mapping[str, Any] | None = None, rules: list[Rule] | None = None) -> _heft.Handle:
    """An open checkpoint's own, or that of a path or a buffer, opened as rules files among the rules expect it."""
    if isinstance(source, Checkpoint):
        return source._handle
    numbered = any(rule[0] == FILE for rule in rules or ()) and _heft.rules_numbered(rules or [])
    return _open_handle(source, format, salvage, limits, options or {}, number_names=numbered)


def count_bytes(size: int | str) -> int:
    return size if isinstance(size, int) else _heft.parse_bytes(size)


def idle(rules: list[Rule], uses: list[tuple[int, int, int]]) -> list[str]:
    """Sentences about rules without effect."""
    words = {GLOB: "glob", REGEX: "regex", RENAME: "rename", CAST: "cast", PARTITION: "partition",
             KEEP_TIED: "keep_tied", DROP_METADATA: "drop_metadata"}
    found = []
    for (kind, left, _), (matches, values, alone) in zip(rules, uses, strict=True):
        if kind in words and matches == 0:
            found.append(f"{words[kind]} {left!r} matches " + ("only values, no tensor" if values else "no name"))
        elif kind == CAST and alone == matches:
            found.append(f"cast {left!r} casts nothing: a glob with wildcards casts only floats to a float")
    return found


def convert(
    src: Any, dst: Path, *, to: str | None = None, root: str | None = None, glob: str | Iterable[str] | None = None,
    regex: str | Iterable[str] | None = None, rename: Pairs = None, cast: Pairs = None, metadata: Pairs = None,
    partition: Pairs = None, keep_tied: str | Iterable[str] | None = None,
    drop_metadata: str | Iterable[str] | None = None, max_shard_size: int | str | None = None,
    filename_pattern: str | None = None, force: bool = False, no_sync: bool = False, no_verify: bool = False,
    dry_run: bool = False, allow_empty: bool = False, verify: bool = False, salvage: bool = False,
    strict: bool = False, rules: Path | Iterable[Path] | None = None, variables: Mapping[str, int] | None = None,
    reverse: bool = False, dequantize: bool | str = False, ignore_scales: bool = False, gptq_zero: str | None = None,
    from_: str | None = None, threads: int = 0, memory: int | str | None = None,
    max_unpacked: int | str | None = None, progress: Progress | bool | None = None, **options: Any,
) -> Conversion:
    """Converts a checkpoint to any format that is written. All files are written, or none.

    The options are those of heft-convert(1), with _ for -, and take the same texts; rename, cast, metadata and
    partition also take mappings and pairs. `from_` is --from.

    src: whatever `open` takes, or an open Checkpoint. dst: a file, or a directory with / at its end.
    to: format; None: by the extension of dst. root: sub-dictionary, whose path is removed from the names.
    glob, regex: which tensors. rename: ("RE", "TO"). cast: {"*": "BF16"}. max_shard_size: bytes, or "5GB".
    rules: rules files, one after the other: paths, or names of presets (`rules_presets`). variables: {"heads": 12},
    those of --set. reverse: applies the files in reverse.
    dequantize: True, or "BF16", "F16", "F32": writes the values of quantized weights (doc/quantized.md); ignore_scales,
    gptq_zero ("wrap", "carry") as in the command.
    force: replaces existing files; otherwise they are a UsageError. verify: reads the output again and compares it.
    threads: 0: one per core, at most 4. progress: as in `Checkpoint.verify`.
    options: of formats: torch_layout, segment_alignment, shards, into, step, names and so on.
    KeyboardInterrupt ends it within 0.2 s, and nothing remains. Raises UsageError, UnsupportedError (the target lacks
    a dtype), LimitError, MismatchError (a stored checksum), MalformedError, OSError.
    """
    all_rules: list[Rule] = [
        *selection(glob, regex),
        *((RENAME, *pair) for pair in pairs(rename, "=>", "rename")),
        *((CAST, *pair) for pair in pairs(cast, "=", "cast", last=True)),
        *((METADATA, *pair) for pair in pairs(metadata, "=", "metadata")),
        *((PARTITION, *pair) for pair in pairs(partition, "=", "partition", last=True)),
        *((KEEP_TIED, text, None) for text in texts(keep_tied)),
        *((DROP_METADATA, text, None) for text in texts(drop_metadata)),
        *ruling(rules, variables, reverse),
    ]
    of_reading, of_writing = share_options(options, to)
    limits = {} if max_unpacked is None else {"unpacked": count_bytes(max_unpacked)}
    if memory is not None:
        threads = max(1, min(threads or 4, count_bytes(memory) >> 23))
    shard = None if max_shard_size is None else count_bytes(max_shard_size)
    given = [(name.replace("_", "-"), None if value is True else os.fspath(value) if isinstance(value, os.PathLike)
              else str(value)) for name, value in of_writing.items() if value is not None and value is not False]
    handle = handle_of(src, from_, salvage, limits, of_reading, all_rules)
    with shown(progress, "convert") as step:
        made = handle.convert(
            (dst, to, root, filename_pattern, shard, threads, allow_empty, force, no_sync, no_verify, strict, salvage,
             dry_run, verify, "" if dequantize is True else dequantize or None, ignore_scales, gptq_zero), all_rules,
            given,
            step)
    paths = [path for path, _ in made["files"]]
    tensors = [PlannedTensor(name, source, paths[file], dtype, offset, size, tuple(sources), rule and f"{rule}:{line}")
               for name, source, file, dtype, offset, size, sources, rule, line in made["tensors"]]
    return Conversion(dict(made["files"]), tensors, made["bytes"], made["total_size"], made["is_sharded"],
                      [*handle.notes(), *idle(all_rules, made["uses"]), *made["notes"]], dict(made["lost"]),
                      made["overflowed"])
