"""Saving tensors that lie in memory.

    heft.save_file({"weight": array}, "model.safetensors", metadata={"format": "np"})
    heft.save_file(model.state_dict(), "model.pth")

Tied tensors of torch (the same view of one storage under several names) stay tied: a .pth has both names on one
storage; a safetensors file has the first complete name, and the others as metadata, as safetensors' save_model and
`heft convert` write it. safetensors' save_file refuses them, because its load_file would lose the names;
`heft.load_file` and `heft.open` find them. Other views of a shared storage are written with their own bytes.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from heft import _heft
from heft.progress import Progress, shown
from heft.tensor import _ML_DTYPES, _TORCH

if TYPE_CHECKING:
    Row = tuple[str, str, tuple[int, ...], tuple[int, ...] | None, Any, int]

__all__ = ["save_file"]

_OF_TORCH = {f"torch.{theirs}": ours for ours, theirs in _TORCH.items()}
_OF_ML_DTYPES = {theirs: ours for ours, theirs in _ML_DTYPES.items()}
_OF_NUMPY = {
    "bool": "BOOL", "uint8": "U8", "int8": "I8", "int16": "I16", "uint16": "U16", "int32": "I32", "uint32": "U32",
    "int64": "I64", "uint64": "U64", "float16": "F16", "float32": "F32", "float64": "F64", "complex64": "C64",
    "complex128": "C128",
}
# Formats of PEP 3118 by kind; the size of an element completes the name of the dtype.
_OF_BUFFER = {**dict.fromkeys("bhilqn", "I"), **dict.fromkeys("BHILQN", "U"), **dict.fromkeys("efd", "F")}


def _row_of_numpy(name: str, array: Any, kept: list[Any]) -> Row:
    dtype = _OF_NUMPY.get(array.dtype.name) or _OF_ML_DTYPES.get(array.dtype.name)
    if dtype is None:
        raise TypeError(f"tensor {name}: dtype {array.dtype} of numpy cannot be saved")
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    strides = None
    if not array.flags.c_contiguous:
        size = array.itemsize
        if all(step >= 0 and step % size == 0 for step in array.strides):
            strides = tuple(step // size for step in array.strides)
        else:
            array = array.copy(order="C")
    kept.append(array)
    return name, dtype, array.shape, strides, array.__array_interface__["data"][0] if array.size else 0, 0


def _row_of_torch(name: str, tensor: Any, kept: list[Any]) -> Row:
    dtype = _OF_TORCH.get(str(tensor.dtype))
    if dtype is None:
        raise TypeError(f"tensor {name}: dtype {tensor.dtype} cannot be saved")
    if tensor.layout is not kept[0].strided or tensor.is_nested:
        raise TypeError(f"tensor {name}: its layout is {tensor.layout}: save a dense tensor, tensor.to_dense()")
    if tensor.device.type == "meta":
        raise ValueError(f"tensor {name}: it is on the device meta, and has no data")
    if tensor.requires_grad:
        tensor = tensor.detach()
    if tensor.device.type != "cpu":
        tensor = tensor.cpu()
    if tensor.is_conj() or tensor.is_neg():
        tensor = tensor.resolve_conj().resolve_neg()
    kept.append(tensor)
    address = tensor.data_ptr()
    if tensor.numel() == 0:
        return name, dtype, tuple(tensor.shape), None, 0, 0
    if address == 0:
        raise TypeError(f"tensor {name}: {type(tensor).__name__} has no data of its own: save the tensors it wraps")
    strides = None if tensor.is_contiguous() else tensor.stride()
    return name, dtype, tuple(tensor.shape), strides, address, tensor.untyped_storage().data_ptr()


def _row_of_buffer(name: str, value: Any, kept: list[Any]) -> Row:
    """A tensor of another object with the buffer protocol: bytes, array.array, memoryview."""
    try:
        view = memoryview(value)
    except TypeError:
        raise TypeError(f"tensor {name}: expected an array, a tensor or a buffer, not "
                        f"{type(value).__name__}") from None
    letter = view.format.lstrip("@=" + "<>"[sys.byteorder == "big"])
    if letter == "?":
        dtype = "BOOL"
    elif letter in _OF_BUFFER:
        dtype = f"{_OF_BUFFER[letter]}{8 * view.itemsize}"
    else:
        raise TypeError(f"tensor {name}: a buffer of elements of format {view.format!r} cannot be saved")
    shape = tuple(view.shape) if view.shape is not None else ()
    data = view if view.c_contiguous else memoryview(view.tobytes())
    kept.append(data)
    return name, dtype, shape, None, data, 0


def _row(name: str, value: Any, kept: list[Any]) -> Row:
    if not isinstance(name, str):
        raise TypeError(f"names of tensors are str, not {type(name).__name__}")
    if isinstance(value, _heft.Tensor):
        data = value.raw()
        kept.append(data)
        return name, value.dtype, value.shape, None, data, 0
    torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
    if torch is not None and isinstance(value, torch.Tensor):
        return _row_of_torch(name, value, kept)
    if numpy is not None and isinstance(value, (numpy.ndarray, numpy.generic)):
        return _row_of_numpy(name, numpy.asarray(value), kept)
    return _row_of_buffer(name, value, kept)


def _share(rows: list[Row]) -> list[Row]:
    """Numbers the storages of torch that several tensors use; others have none."""
    seen: dict[int, int] = {}
    for row in rows:
        seen[row[5]] = seen.get(row[5], 0) + 1
    numbers = {address: number for number, address in enumerate(
        (address for address, count in seen.items() if address and count > 1), start=1)}
    return [(*row[:5], numbers.get(row[5], 0)) for row in rows] if numbers else [(*row[:5], 0) for row in rows]


def _pairs(metadata: Mapping[str, str] | None) -> list[tuple[str, str]]:
    pairs = list((metadata or {}).items())
    for key, value in pairs:
        if not isinstance(key, str) or not isinstance(value, str):
            raise TypeError(f"metadata are texts, but {key!r} is {value!r}")
    return pairs


def save_file(tensors: Mapping[str, Any], path: str | os.PathLike[str], metadata: Mapping[str, str] | None = None, *,
              format: str | None = None, sync: bool = False, progress: Progress | bool | None = None,
              **options: Any) -> None:
    """Saves tensors by name, in the format that the extension of the path names. The file is complete, or as before.

    tensors: arrays of numpy, tensors of torch (those of other devices are copied to the CPU), `heft.Tensor`s, and
    objects with the buffer protocol (bytes are a U8 tensor). They must not change meanwhile: other threads run during
    the write. Strides are resolved: a tensor that is not contiguous is written row-major. For tied tensors see above.
    metadata: texts. A safetensors file is byte for byte that of safetensors' save_file, which writes several
    metadata in random order; here they are sorted. An empty dict counts as None.
    format: name of the format, if the extension is not to decide: "safetensors", "torch", "npz".
    sync: waits until the data are on the disk, so that a crash of the machine leaves the old file or the new one.
    progress: as in `heft.Checkpoint.verify`. options: of formats, as in `heft.convert`.
    Raises TypeError for a dtype or an object that cannot be saved, UnsupportedError for a dtype that the format lacks,
    UsageError for an unknown extension or option, OSError. KeyboardInterrupt leaves the file as it was.
    """
    torch = sys.modules.get("torch")
    kept: list[Any] = [torch]
    rows = _share([_row(name, value, kept) for name, value in tensors.items()])
    given = [(name.replace("_", "-"), None if value is True else str(value)) for name, value in options.items()
             if value is not None and value is not False]
    with shown(progress, "save") as step:
        _heft.save(rows, _pairs(metadata), os.fspath(path), format, not sync, given, step)
