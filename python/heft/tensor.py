"""Tensors of a checkpoint as arrays of numpy and tensors of torch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heft import _heft
from heft.errors import UnsupportedError

if TYPE_CHECKING:
    import numpy.typing as npt

# Dtypes of numpy, and of the package ml_dtypes.
_NUMPY = {
    "BOOL": "?", "U8": "u1", "I8": "i1", "I16": "<i2", "U16": "<u2", "I32": "<i4", "U32": "<u4", "I64": "<i8",
    "U64": "<u8", "F16": "<f2", "F32": "<f4", "F64": "<f8", "C64": "<c8", "C128": "<c16",
}
_ML_DTYPES = {
    "BF16": "bfloat16", "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2", "F8_E8M0": "float8_e8m0fnu",
    "F8_E4M3FNUZ": "float8_e4m3fnuz", "F8_E5M2FNUZ": "float8_e5m2fnuz", "F8_E4M3B11FNUZ": "float8_e4m3b11fnuz",
}
_TORCH = {
    "BOOL": "bool", "U8": "uint8", "I8": "int8", "I16": "int16", "U16": "uint16", "I32": "int32", "U32": "uint32",
    "I64": "int64", "U64": "uint64", "F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64",
    "C32": "complex32", "C64": "complex64", "C128": "complex128", "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2", "F8_E8M0": "float8_e8m0fnu", "F8_E4M3FNUZ": "float8_e4m3fnuz",
    "F8_E5M2FNUZ": "float8_e5m2fnuz",
}
_DLPACK = frozenset(("U8", "I8", "I16", "I32", "I64", "F16", "BF16", "F32", "F64", "C64", "C128"))


def _numpy_dtype(name: str) -> Any:
    import numpy

    if name in _NUMPY:
        return numpy.dtype(_NUMPY[name])
    if name not in _ML_DTYPES:
        raise UnsupportedError(f"numpy has no dtype for {name}: use raw()")
    try:
        import ml_dtypes
    except ImportError as error:
        raise ImportError(f"numpy has {name} with the package ml_dtypes only: pip install ml_dtypes") from error
    return numpy.dtype(getattr(ml_dtypes, _ML_DTYPES[name]))


class Tensor(_heft.Tensor):
    """Tensor of a checkpoint, or a part of one.

    Its data are a copy-on-write view of the file: they are read as they are used, tied tensors and parts share them,
    and writing to them changes no file. Data that cannot be a view (compressed, stored in parts, of another byte
    order, not aligned, of a checkpoint that was opened from memory or with mmap=False) are read when they are first
    needed, to memory of the tensor. They remain valid after the checkpoint is closed.

    It has the buffer protocol (`memoryview`, `numpy.asarray`) for dtypes that PEP 3118 knows, and `__dlpack__`, both
    with the strides of a view. Reading raises OSError, MalformedError, MismatchError, and UnsupportedError for
    elements without a fixed size.
    """

    __slots__ = ()

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        product = 1
        for extent in self.shape:
            product *= extent
        return product

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a tensor without dimensions")
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<heft.Tensor {self.name!r} {self.dtype} {list(self.shape)}>"

    def __getitem__(self, index: Any) -> Tensor:
        """A part, of which only its bytes are read: t[3], t[2:10, :, -1]. It shares the data of a view.

        IndexError; ValueError for steps, TypeError for arrays and None, which are not supported.
        """
        return self._slice(_ranges_of(index, self.shape))

    def tobytes(self) -> bytes:
        """A copy of the elements as bytes: row-major, little-endian."""
        return self.raw().tobytes()

    def numpy(self, *, copy: bool | None = None) -> npt.NDArray[Any]:
        """Writable array of numpy on the same data, with their strides, or on a row-major copy if copy=True.

        BF16 and the F8 dtypes need the package ml_dtypes. ImportError names a package that is missing;
        UnsupportedError if numpy has no such dtype.
        """
        import numpy

        dtype = _numpy_dtype(self.dtype)
        if copy:
            return self.copy().numpy()
        if self.nbytes == 0:
            return numpy.empty(self.shape, dtype)
        memory, strides = self._memory()
        return numpy.ndarray(self.shape, dtype, memory, 0, strides)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        array = self.numpy(copy=copy)
        if dtype is None or array.dtype == dtype:
            return array
        if copy is False:
            raise ValueError(f"a {self.dtype} tensor as {dtype} needs a copy")
        return array.astype(dtype)

    def torch(self, *, copy: bool | None = None) -> Any:
        """Tensor of torch on the same data, with their strides, or on a row-major copy if copy=True.

        ImportError without torch; UnsupportedError if torch has no such dtype.
        """
        if copy:
            return self.copy().torch()
        if self.dtype in _DLPACK and self.nbytes > 0:
            from torch.utils.dlpack import from_dlpack

            return from_dlpack(self.__dlpack__())
        return self._torch_of_bytes()

    def _torch_of_bytes(self) -> Any:
        """Dtypes that torch did not always take by DLPack."""
        import torch

        name = _TORCH.get(self.dtype)
        if name is None or not hasattr(torch, name):
            raise UnsupportedError(f"torch has no dtype for {self.dtype}: use raw()")
        dtype = getattr(torch, name)
        if self.nbytes == 0:
            return torch.empty(self.shape, dtype=dtype)
        memory, strides = self._memory()
        flat = torch.frombuffer(memory, dtype=torch.uint8).view(dtype)
        if strides is None:
            return flat.reshape(self.shape)
        return flat.as_strided(self.shape, [step // dtype.itemsize for step in strides])

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


def _range_of(item: Any, extent: int) -> tuple[int, int, bool]:
    """(start, stop, whether the dimension is dropped) of one index."""
    if isinstance(item, slice):
        start, stop, step = item.indices(extent)
        if step != 1:
            raise ValueError("slices of tensors have no steps: read the part, then use numpy or torch")
        return start, max(start, stop), False
    try:
        number = item.__index__()
    except AttributeError:
        raise TypeError(f"a tensor is indexed with integers and slices, not {type(item).__name__}") from None
    if not -extent <= number < extent:
        raise IndexError(f"index {number} is out of range for a dimension of {extent}")
    number %= extent
    return number, number + 1, True


def _ranges_of(index: Any, shape: tuple[int, ...]) -> list[tuple[int, int, bool]]:
    items = list(index) if isinstance(index, tuple) else [index]
    dots = [at for at, item in enumerate(items) if item is Ellipsis]
    if len(dots) > 1:
        raise IndexError("an index has at most one ...")
    if dots:
        items[dots[0]:dots[0] + 1] = [slice(None)] * (len(shape) - len(items) + 1)
    if len(items) > len(shape):
        raise IndexError(f"too many indices: {len(items)} for {len(shape)} dimensions")
    return [_range_of(item, extent) for item, extent in zip(items, shape, strict=False)]
