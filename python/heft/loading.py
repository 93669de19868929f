"""heft.load: the object in a torch file, as torch.load(weights_only=True) returns it.

    state = heft.load("checkpoint.pth")        # {"model": OrderedDict(...), "optimizer": {...}, "epoch": 3}

Dicts, lists, tuples, sets and tensors that are shared in the file are shared in the result, and tied tensors have one
storage. Nothing is imported, and nothing is called but what torch allows for weights_only, with
torch.serialization.add_safe_globals: objects of other classes, for which torch.load refuses the file, are
`heft.Opaque`.
"""

from __future__ import annotations

import codecs
import collections
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from heft import _heft, checkpoint
from heft.checkpoint import Opaque
from heft.errors import MalformedError
from heft.tensor import Tensor

if TYPE_CHECKING:
    Path = str | os.PathLike[str]

__all__ = ["load"]

# Modules of Python 2, whose names old pickles have.
_RENAMED = {"__builtin__": "builtins", "copy_reg": "copyreg", "UserDict": "collections"}
_BUILT_IN: dict[str, Any] = {
    "collections.OrderedDict": collections.OrderedDict, "collections.Counter": collections.Counter,
    "builtins.set": set, "builtins.frozenset": frozenset, "builtins.bytearray": bytearray,
    "builtins.complex": complex, "builtins.list": list, "builtins.tuple": tuple, "builtins.dict": dict,
}


def _encode(text: str, encoding: str = "latin1") -> bytes:
    """_codecs.encode, with which protocol 2 writes bytes."""
    if encoding not in ("latin1", "latin-1", "utf-8"):
        raise ValueError(f"bytes in the encoding {encoding!r}")
    return codecs.encode(text, encoding)


class _Builder:
    """Makes what Python lacks; heft._heft.Objects calls it."""

    def __init__(self, objects: _heft.Objects, path: Path, format: str | None, mmap: bool) -> None:
        self._objects, self._path, self._format, self._mmap = objects, path, format, mmap
        self._handle: _heft.Handle | None = None
        self._known: dict[str, Any] = {**_BUILT_IN, "_codecs.encode": _encode, "torch.Size": tuple}

    def find_global(self, module: str, name: str) -> Any:
        full = f"{_RENAMED.get(module, module)}.{name}"
        return self._known[full] if full in self._known else Opaque(full)

    def call(self, callee: Any, arguments: Any, keywords: dict[str, Any] | None, is_new: int, tensor: int) -> Any:
        if isinstance(callee, Opaque):
            if tensor >= 0:  # an array of numpy
                return self.tensor(tensor)
            return _opaque_call(callee.type, arguments, keywords)
        for argument in arguments:
            if isinstance(argument, Opaque):  # a tensor of a foreign class
                return _opaque_call(self._name_of(callee), arguments, keywords)
        if is_new:
            return self.create(callee, arguments, keywords or {})
        return callee(*arguments, **keywords) if keywords else callee(*arguments)

    def _name_of(self, callee: Any) -> str:
        """Name under which the file has it."""
        return next((name for name, value in self._known.items() if value == callee), repr(callee))

    def create(self, cls: Any, arguments: Any, keywords: dict[str, Any]) -> Any:
        return cls.__new__(cls, *arguments, **keywords)

    def put_items(self, value: Any, items: list[Any], are_pairs: int) -> bool:
        pairs = list(zip(items[::2], items[1::2], strict=True)) if are_pairs else list(enumerate(items))
        if isinstance(value, Opaque):
            _extend(value, pairs)
        elif are_pairs and isinstance(value, dict):
            value.update(pairs)
        elif not are_pairs and isinstance(value, list):
            value.extend(items)
        else:
            raise TypeError(f"items are set on a {type(value).__name__}")
        return True

    def set_state(self, value: Any, state: Any) -> bool:
        if isinstance(value, Opaque):
            _extend(value, list(state.items()) if isinstance(state, dict) else [("state", state)])
        elif isinstance(value, collections.OrderedDict) and isinstance(state, dict):
            value.__dict__.update(state)
        elif not isinstance(value, Tensor):  # the state of an array of numpy is the array
            raise TypeError(f"a state is set on a {type(value).__name__}")
        return True

    def storage(self, index: int) -> Any:
        name, size, _, _ = self._objects.storage(index)
        return Opaque(f"torch.{name}", (("bytes", size),))

    def tensor(self, index: int) -> Tensor:
        if self._handle is None:
            self._handle = checkpoint._open_handle(self._path, self._format, False, None, {}, self._mmap)
        return Tensor(self._handle, index)

    def number(self, data: bytes) -> int:
        return int.from_bytes(data, "little", signed=True)


def _opaque_call(name: str, arguments: Any, keywords: dict[str, Any] | None) -> Opaque:
    return Opaque(name, (*([("args", arguments)] if arguments else []), *(keywords or {}).items()))


def _extend(value: Opaque, items: list[tuple[Any, Any]]) -> None:
    object.__setattr__(value, "items", (*value.items, *items))


class _TorchBuilder(_Builder):
    """The same with torch: its globals are those that weights_only allows."""

    def __init__(self, objects: _heft.Objects, path: Path, format: str | None, mmap: bool) -> None:
        import torch
        from torch import _weights_only_unpickler as allowed

        super().__init__(objects, path, format, mmap)
        self._torch = torch
        self._known = {**_BUILT_IN, **allowed._get_user_allowed_globals(), **allowed._get_allowed_globals(),
                       "torch._utils._rebuild_tensor_v2": self._rebuild, "_codecs.encode": _encode}
        self._users = tuple(value for value in allowed._get_user_allowed_globals().values() if isinstance(value, type))
        self._storages: dict[int, Any] = {}
        self._dtypes: dict[str, Any] = {"UntypedStorage": torch.uint8}
        self._full_rebuild: Callable[..., Any] = torch._utils._rebuild_tensor_v2
        self._empty, self._frombuffer = torch.empty, torch.frombuffer

    def _rebuild(self, storage: Any, offset: int, size: Any, stride: Any, requires_grad: bool, hooks: Any,
                 metadata: Any = None) -> Any:
        """torch._utils._rebuild_tensor_v2, for most tensors a third of its time."""
        untyped = storage._untyped_storage
        if metadata or untyped.device.type != "cpu":
            return self._full_rebuild(storage, offset, size, stride, requires_grad, hooks, metadata)
        tensor = self._empty(0, dtype=storage.dtype)
        tensor.set_(untyped, offset, size, stride)
        if requires_grad:
            tensor.requires_grad = True
        tensor._backward_hooks = hooks
        return tensor

    def set_state(self, value: Any, state: Any) -> bool:
        torch = self._torch
        if isinstance(value, torch.nn.Parameter):
            value.__setstate__(state)
        elif isinstance(value, torch.Tensor):
            value.set_(*state)
        elif self._users and isinstance(value, self._users):
            _set_user_state(value, state)
        else:
            return super().set_state(value, state)
        return True

    def create(self, cls: Any, arguments: Any, keywords: dict[str, Any]) -> Any:
        if cls is self._torch.nn.Parameter:
            return cls(*arguments, **keywords)
        return super().create(cls, arguments, keywords)

    def storage(self, index: int) -> Any:
        if index not in self._storages:
            self._storages[index] = self._make_storage(index)
        return self._storages[index]

    def _make_storage(self, index: int) -> Any:
        torch = self._torch
        name, size, is_big, has_data = self._objects.storage(index)
        dtype = self._dtypes.get(name)
        if dtype is None:
            dtype = self._dtypes[name] = getattr(torch, name)._dtype  # its `dtype` warns that it is deprecated
        if not has_data:
            untyped = torch.UntypedStorage(size, device="meta")
        elif size == 0:
            untyped = torch.UntypedStorage(0)
        else:
            data = self._objects.data(index, self._mmap and not is_big, dtype.itemsize)
            untyped = self._frombuffer(data, dtype=torch.uint8).untyped_storage()
            if is_big:
                untyped.byteswap(dtype)
        return torch.storage.TypedStorage(wrap_storage=untyped, dtype=dtype, _internal=True)


def _set_user_state(value: Any, state: Any) -> None:
    """State of an object of a class that the user has allowed: torch.serialization.add_safe_globals."""
    if hasattr(value, "__setstate__"):
        value.__setstate__(state)
        return
    attributes, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
    value.__dict__.update(attributes or {})
    for name, item in (slots or {}).items():
        setattr(value, name, item)


def _has_torch() -> bool:
    try:
        import torch  # noqa: F401
    except ImportError:
        return False
    return True


def load(path: Path, *, mmap: bool = True, format: str | None = None) -> Any:
    """The object of a torch file: what torch.load(path, weights_only=True) returns, on the CPU.

    Tensors are tensors of torch if it is installed, else `heft.Tensor`; then a torch.Size is a tuple, and what else
    belongs to torch (a dtype, a device) is an `Opaque` that names it. Objects of other classes are `Opaque`s, arrays
    of numpy are `heft.Tensor`s. Files that contain no such object (other formats, TorchScript, directories) give a
    dict of their tensors.
    mmap: the tensors' data stay in the file until they are used, and writing to them does not change it. The file
    must not be truncated meanwhile: False reads everything.
    format: name of the format, if the content is not to decide.
    Raises MalformedError, UnsupportedError, LimitError, OSError.
    """
    path = os.fspath(path)
    has_torch = _has_torch()
    objects = None if os.path.isdir(path) else _heft.Objects(path, format)
    if objects is None or objects.count == 0:
        return checkpoint.load_file(path, framework="pt" if has_torch else None, mmap=mmap)
    builder = (_TorchBuilder if has_torch else _Builder)(objects, path, format, mmap)
    try:
        return objects.make(builder, has_torch)
    except (TypeError, ValueError, RuntimeError, AttributeError, IndexError, KeyError) as error:
        if isinstance(error, MalformedError):
            raise
        raise MalformedError(f"the object cannot be made: {error}", path) from error
