"""Progress of long calls: a callable, or a bar of tqdm."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

Progress = Callable[[int, int], Any]


@contextlib.contextmanager
def shown(progress: Progress | bool | None, what: str) -> Iterator[Progress | None]:
    """The callable progress(done, total), in bytes. None: a bar if tqdm is installed and stderr is a terminal."""
    if callable(progress):
        yield progress
        return
    bar_of: Any = None
    if progress or (progress is None and sys.stderr is not None and sys.stderr.isatty()):
        with contextlib.suppress(ImportError):
            import tqdm

            bar_of = tqdm.tqdm
    if bar_of is None:
        yield None
        return
    with bar_of(desc=what, unit="B", unit_scale=True, leave=False) as bar:
        def step(done: int, total: int) -> None:
            bar.total = total or None
            bar.update(done - bar.n)

        yield step
