"""Opening checkpoints.

    with heft.open("model.pth") as checkpoint:
        for name, tensor in checkpoint.items():
            print(name, tensor.dtype, tensor.shape)
        weight = checkpoint["layers.0.weight"].numpy()
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from heft import _heft
from heft.errors import UsageError
from heft.progress import Progress, shown
from heft.sources import source_of
from heft.tensor import Tensor

if TYPE_CHECKING:
    from typing_extensions import Buffer

    Path = str | os.PathLike[str]

__all__ = ["Blob", "Checkpoint", "Finding", "Opaque", "load_file", "open"]

_DICTS = ("dict", "builtins.dict", "collections.OrderedDict", "collections.defaultdict")
_FRAMEWORKS = {None: None, "np": "np", "numpy": "np", "pt": "pt", "torch": "pt", "pytorch": "pt"}


@dataclass(frozen=True)
class Opaque:
    """Object of a class that is not built in, or a global: never imported, only described.

    type: "module.name". items: its arguments, attributes and items, as (name, value).
    """

    type: str
    items: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class Finding:
    """Note or finding of `Checkpoint.verify`: severity "finding" is a violation of the format, "note" is unusual."""

    severity: str
    file: str | None
    offset: int | None
    text: str


@dataclass(frozen=True)
class Blob:
    """Named bytes that are no tensor."""

    name: str
    kind: str
    nbytes: int
    _handle: _heft.Handle
    _index: int

    def read(self) -> bytes:
        """Its bytes. OSError, MalformedError."""
        return self._handle.blob(self._index)


class Checkpoint(Mapping[str, Any]):
    """Open checkpoint: a mapping of names to tensors, in the order of the file; made by `heft.open`.

    With framework "np" or "pt" the values are arrays of numpy or tensors of torch, else `heft.Tensor`.
    Threads may share it; processes open the path themselves, it cannot be pickled. Tensors, arrays and views remain
    valid after close().
    """

    def __init__(self, handle: _heft.Handle, framework: str | None, device: Any) -> None:
        self._open: _heft.Handle | None = handle
        self._framework, self._device = framework, device
        self._names = {name: index for index, name in enumerate(handle.names())}
        self.format, self.format_version = handle.format()

    @property
    def _handle(self) -> _heft.Handle:
        if self._open is None:
            raise ValueError("the checkpoint is closed")
        return self._open

    def __repr__(self) -> str:
        state = "closed" if self._open is None else f"{len(self._names)} tensors"
        return f"<heft.Checkpoint {self.format} {state}>"

    def close(self) -> None:
        """Releases the file, as soon as no tensor, and no array or view of one, needs it any more."""
        self._open = None

    def __reduce__(self) -> NoReturn:
        raise TypeError("a heft.Checkpoint cannot be pickled: pass the path, and open it in the other process")

    def __enter__(self) -> Checkpoint:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- the mapping ----

    def __len__(self) -> int:
        return len(self._names)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (name in self._names or name in self.ties)

    def _tensor(self, name: str) -> Tensor:
        index = self._names.get(name)
        if index is None:
            index = self._handle.find(name)
        if index is None:
            raise KeyError(self._missing(name))
        return Tensor(self._handle, index)

    def _missing(self, name: str) -> str:
        reason = self.unreadable.get(name)
        if reason is not None:
            return f"{name}: cannot be read: {reason}"
        import difflib

        near = difflib.get_close_matches(name, self._names, 1)
        return f"{name}; did you mean {near[0]}?" if near else name

    def get_tensor(self, name: str) -> Any:
        """The tensor of that name, also of a tied name that the file has dropped, as `framework` says.

        KeyError if there is none: it says which name is similar, or why the tensor cannot be read."""
        return self._as_framework(self._tensor(name))

    def __getitem__(self, name: str) -> Any:
        return self.get_tensor(name)

    def _as_framework(self, tensor: Tensor) -> Any:
        if self._framework is None:
            return tensor
        if self._framework == "np":
            return tensor.numpy()
        value = tensor.torch()
        return value if self._device is None else value.to(self._device)

    def get_slice(self, name: str) -> Slice:
        """A tensor of which only what is indexed is read: get_slice(name)[10:20]. KeyError if there is none."""
        return Slice(self._tensor(name), self)

    def offset_keys(self) -> list[str]:
        """Names in the order of the data in the file."""
        order = {name: Tensor(self._handle, index) for name, index in self._names.items()}
        return sorted(order, key=lambda name: (order[name].file or "", order[name].offset))

    # ---- other contents ----

    def metadata(self) -> dict[str, str] | None:
        """Pairs of texts: __metadata__ of safetensors, those of an index. None if there are none, as safe_open."""
        return dict(self._handle.metadata()) or None

    @property
    def files(self) -> dict[str, int]:
        """Paths of the files, and their bytes."""
        return dict(self._handle.files())

    @property
    def ties(self) -> dict[str, str]:
        """Names that the file has dropped because they are tied, and the name of the tensor."""
        return dict(self._handle.ties())

    @property
    def unreadable(self) -> dict[str, str]:
        """Tensors in the file that cannot be read, and the reasons."""
        return dict(self._handle.unread())

    @property
    def blobs(self) -> dict[str, Blob]:
        """Named bytes that are no tensors."""
        handle = self._handle
        return {name: Blob(name, kind, size, handle, index)
                for index, (name, kind, size) in enumerate(handle.blobs())}

    @property
    def notes(self) -> list[str]:
        """Sentences about what was opened: which of several checkpoints, options without effect."""
        return self._handle.notes()

    def _make(self, kind: str, name: str, items: list[Any] | None) -> Any:
        """Values of the tree that Python lacks; the extension module calls it."""
        if kind == "tensor":
            return self._as_framework(self._tensor(name)) if name in self else None
        if kind == "dict" and name in _DICTS:
            return dict(items or ())
        if kind == "set":
            try:
                return frozenset(items or ()) if name.endswith("frozenset") else set(items or ())
            except TypeError:
                return items
        return Opaque(name, tuple(items or ()))

    @property
    def tree(self) -> Any:
        """What is no tensor, as dicts, lists, tuples, numbers, texts; None if there is nothing.

        Dicts leave out what contains only tensors. Objects of other classes are `Opaque`. LimitError if shared
        values, repeated, are more than four million.
        """
        return self._handle.values(self._make)

    @property
    def info(self) -> Any:
        """What the files contain besides tensors, metadata and the tree: signatures of a SavedModel, versions."""
        return self._handle.info(self._make)

    def ruled(self, rules: Path | Iterable[Path], *, variables: Mapping[str, int] | None = None, reverse: bool = False,
              root: str | None = None, glob: str | Iterable[str] | None = None,
              regex: str | Iterable[str] | None = None,
              rename: str | Mapping[str, str] | Iterable[str | tuple[str, str]] | None = None) -> Checkpoint:
        """The checkpoint seen through rules files: the tensors that `heft.convert` with these arguments writes.

        Data is views of this checkpoint's files, or read when it is used. UsageError: the rules do not fit.
        """
        from heft.conversion import RENAME, pairs, ruling, selection

        given = [*selection(glob, regex), *((RENAME, *pair) for pair in pairs(rename, "=>", "rename")),
                 *ruling(rules, variables, reverse)]
        ruled = Checkpoint(self._handle.ruled(root, given), None, None)
        ruled._framework, ruled._device = self._framework, self._device
        return ruled

    def verify(self, *, threads: int = 0, progress: Progress | bool | None = None) -> list[Finding]:
        """Checks structure, stored checksums, overlaps, hidden bytes. An empty list: the file is sound.

        progress: called as progress(done, total), in bytes; returning False stops with CancelledError. None: a bar of
        tqdm if it is installed and stderr is a terminal.
        """
        with shown(progress, "verify") as step:
            return [Finding(*row) for row in self._handle.verify(threads, step)]


class Slice:
    """Tensor of which only what is indexed is read, as safe_open's."""

    def __init__(self, tensor: Tensor, checkpoint: Checkpoint) -> None:
        self._tensor, self._checkpoint = tensor, checkpoint

    def get_shape(self) -> list[int]:
        """Extents of the whole tensor."""
        return list(self._tensor.shape)

    def get_dtype(self) -> str:
        """Dtype in the spelling of safetensors: "BF16"."""
        return self._tensor.dtype

    def __getitem__(self, index: Any) -> Any:
        return self._checkpoint._as_framework(self._tensor[index])


def _device_of(framework: str | None, device: Any) -> Any:
    """The device that tensors are copied to; None: they remain on the CPU."""
    if framework != "pt":
        if str(device) != "cpu":
            raise UsageError(f"device {device!r}: needs framework='pt', others have the CPU only")
        return None
    if device == "cpu":
        return None
    import torch

    place = torch.device(device)
    return None if place.type == "cpu" else place


def _open_handle(source: Any, format: str | None, salvage: bool, limits: Mapping[str, int] | None,
                 options: Mapping[str, Any], mmap: bool = True, number_names: bool = False) -> _heft.Handle:
    given: list[tuple[str, str | None]] = []
    for name, value in options.items():
        if value is not None and value is not False:
            given.append((name.replace("_", "-"), None if value is True else str(value)))
    return _heft.Handle(source_of(source), format, salvage, dict(limits or {}), given, mmap, number_names)


def open(source: Path | Sequence[Path] | Buffer | Any, *, framework: str | None = None, device: Any = "cpu",
         format: str | None = None, salvage: bool = False, limits: Mapping[str, int] | None = None,
         mmap: bool = True, number_names: bool = False, **options: Any) -> Checkpoint:
    """Opens a checkpoint of any format; nothing in it is executed.

    source: a path of a file, a directory or an index; several paths of shards; a buffer (bytes, memoryview, mmap, an
        array of numpy), which is kept, unchanged, as long as a tensor needs it; an open binary file, whose position
        does not matter: files of the disk by their descriptor, which is duplicated; others with read() and seek() by
        calling them, from any thread but one at a time, and what they raise is raised here; without seek() they are
        read to memory.
    framework: None: values are `heft.Tensor`; "np": arrays of numpy; "pt": tensors of torch, on `device`, which is
        what torch takes: "cuda:0", 0, a torch.device.
    format: name of the format ("torch"), if the content is not to decide.
    salvage: opens truncated and damaged files; `unreadable` has what is lost.
    limits: by the names of struct heft_limits: {"tensors": 1000, "unpacked": 1 << 30}.
    mmap: data are copy-on-write views of files: nothing is read before it is used, tied tensors share their memory,
        and writing to them changes neither the file nor other views of it. If another program truncates a file, using
        its views kills the process (SIGBUS). False: data are read to memory of their own, a file that was truncated
        is an IoError.
    number_names: files may have tensors of the same names, as ranks of a model-parallel save: NAME@K is that of file K.
    options: of formats, as the command has them, with _ for -: step, names, constants.
    Raises FileNotFoundError and other OSErrors, MalformedError, UnsupportedError, LimitError, UnsafeError, UsageError.
    """
    if framework not in _FRAMEWORKS:
        raise UsageError(f"framework {framework!r}: expected None, 'np' or 'pt'")
    kind = _FRAMEWORKS[framework]
    place = _device_of(kind, device)
    return Checkpoint(_open_handle(source, format, salvage, limits, options, mmap, number_names), kind, place)


def load_file(path: Path, *, framework: str | None = None, device: Any = "cpu", mmap: bool = True) -> dict[str, Any]:
    """All tensors of a file by name; the arguments as in `open`. The modules heft.torch and heft.numpy have load_file
    with the arguments of safetensors.torch and safetensors.numpy.

    Names that the file has dropped because they are tied (`Checkpoint.ties`) are the same object as the kept one."""
    with open(path, framework=framework, device=device, mmap=mmap) as checkpoint:
        tensors = dict(checkpoint.items())
        for name, kept in checkpoint.ties.items():
            if kept in tensors:
                tensors.setdefault(name, tensors[kept])
        return tensors
