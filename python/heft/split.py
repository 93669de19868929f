"""Splits state dicts into shards by the rules of huggingface_hub, with its names, arguments and results.

    split = heft.split_torch_state_dict_into_shards(model.state_dict(), max_shard_size="5GB")
    for filename, names in split.filename_to_tensors.items():
        ...
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from heft import _heft

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = [
    "StateDictSplit", "get_tf_storage_size", "get_torch_storage_id", "get_torch_storage_size",
    "split_state_dict_into_shards_factory", "split_tf_state_dict_into_shards", "split_torch_state_dict_into_shards",
]

MAX_SHARD_SIZE = "5GB"
_UNITS = {"TB": 10**12, "GB": 10**9, "MB": 10**6, "KB": 10**3}
T = TypeVar("T")


@dataclass
class StateDictSplit:
    """Result of a split: the names of each file, the file of each name, and metadata of the index."""

    is_sharded: bool = field(init=False)
    metadata: dict[str, Any]
    filename_to_tensors: dict[str, list[str]]
    tensor_to_filename: dict[str, str]

    def __post_init__(self) -> None:
        self.is_sharded = len(self.filename_to_tensors) > 1


def _parse_size(text: str) -> int:
    """Size in bytes as huggingface_hub reads it ("5GB" = 5·10⁹), or as the command does ("5GiB")."""
    number, unit = text.strip()[:-2].strip(), text.strip()[-2:].upper()
    if unit in _UNITS:
        try:
            return int(float(number) * _UNITS[unit])
        except ValueError as error:
            raise ValueError(f"could not parse the size {text!r}: {error}") from error
    return _heft.parse_bytes(text)


def split_state_dict_into_shards_factory(
    state_dict: Mapping[str, T],
    *,
    get_storage_size: Callable[[T], int],
    filename_pattern: str,
    get_storage_id: Callable[[T], Any | None] = lambda tensor: None,
    max_shard_size: int | str = MAX_SHARD_SIZE,
) -> StateDictSplit:
    """Splits a state dict into shards of at most `max_shard_size` bytes, in the order of its keys.

    A tensor larger than that has a shard of its own. Tensors of one storage are in one shard, and count once. Values
    that are str are left out.

    get_storage_size: bytes of a tensor's storage.
    get_storage_id: a hashable that is equal for tensors of one storage; None for a tensor that shares none.
    filename_pattern: "model{suffix}.safetensors"; the suffix is "-00001-of-00002", or "" for a single file.
    max_shard_size: bytes, or a text: "5GB" (5·10⁹), "500MB", "1GiB".
    """
    limit = _parse_size(max_shard_size) if isinstance(max_shard_size, str) else math.floor(max_shard_size)
    names, sizes, storages = [], [], []
    numbers: dict[Any, int] = {}
    for name, tensor in state_dict.items():
        if isinstance(tensor, str):
            continue
        storage = get_storage_id(tensor)
        is_first = storage is None or storage not in numbers
        names.append(name)
        storages.append(None if storage is None else numbers.setdefault(storage, len(numbers)))
        sizes.append(get_storage_size(tensor) if is_first else 0)
    files, total = _heft.split(sizes, storages, limit, "x{suffix}")
    # A tensor that is larger than the limit and the first one leaves an empty first shard in the original, too.
    found = {filename_pattern.format(suffix=suffix[1:]): [names[i] for i in items] for suffix, items in files}
    return StateDictSplit(
        metadata={"total_size": total}, filename_to_tensors=found,
        tensor_to_filename={name: filename for filename, names in found.items() for name in names})


def split_torch_state_dict_into_shards(
    state_dict: Mapping[str, Any], *, filename_pattern: str = "model{suffix}.safetensors",
    max_shard_size: int | str = MAX_SHARD_SIZE,
) -> StateDictSplit:
    """`split_state_dict_into_shards_factory` for tensors of torch."""
    return split_state_dict_into_shards_factory(
        state_dict, max_shard_size=max_shard_size, filename_pattern=filename_pattern,
        get_storage_size=get_torch_storage_size, get_storage_id=get_torch_storage_id)


def split_tf_state_dict_into_shards(
    state_dict: Mapping[str, Any], *, filename_pattern: str = "tf_model{suffix}.h5",
    max_shard_size: int | str = MAX_SHARD_SIZE,
) -> StateDictSplit:
    """`split_state_dict_into_shards_factory` for tensors of TensorFlow."""
    return split_state_dict_into_shards_factory(
        state_dict, max_shard_size=max_shard_size, filename_pattern=filename_pattern,
        get_storage_size=get_tf_storage_size)


# ---- torch ----


def _is_dtensor(tensor: Any) -> bool:
    """Tensor distributed over devices. The class need not exist in the installed torch."""
    try:
        from torch.distributed.tensor import DTensor
    except ImportError:
        return False
    return isinstance(tensor, DTensor)


def _parts_of(tensor: Any) -> list[Any] | None:
    """Tensors that a wrapper subclass of torch.Tensor consists of; None if it is none."""
    try:
        from torch.utils._python_dispatch import is_traceable_wrapper_subclass
    except ImportError:
        return None
    if not is_traceable_wrapper_subclass(tensor):
        return None
    return [getattr(tensor, name) for name in tensor.__tensor_flatten__()[0]]


def _unique_id(tensor: Any) -> Any:
    if _is_dtensor(tensor):
        return tensor.to_local().storage().data_ptr()
    parts = _parts_of(tensor)
    if parts is not None:
        return tuple(_unique_id(part) for part in parts)
    if tensor.device.type == "xla":
        import torch_xla

        return torch_xla._XLAC._xla_get_tensor_id(tensor)
    return tensor.untyped_storage().data_ptr()


def get_torch_storage_id(tensor: Any) -> tuple[Any, Any, int] | None:
    """Device, address and size of a tensor's storage: equal for tensors that share it. None for meta tensors."""
    if tensor.device.type == "meta":
        return None
    return tensor.device, _unique_id(tensor), get_torch_storage_size(tensor)


def get_torch_storage_size(tensor: Any) -> int:
    """Bytes of a tensor's storage; of the whole tensor if it is distributed."""
    if _is_dtensor(tensor):
        return int(tensor.nbytes)
    parts = _parts_of(tensor)
    if parts is not None:
        return sum(get_torch_storage_size(part) for part in parts)
    return int(tensor.untyped_storage().nbytes())


# ---- TensorFlow ----


def get_tf_storage_size(tensor: Any) -> int:
    """Bytes of a tensor of TensorFlow; its bools count an eighth, as in the original."""
    name = tensor.dtype.name
    if name == "bool":
        return math.ceil(int(tensor.numpy().size) / 8)
    bits = re.search(r"[^\d](\d+)$", name)
    if bits is None:
        raise ValueError(f"`dtype` is not a valid dtype: {tensor.dtype}.")
    return int(tensor.numpy().size) * (int(bits[1]) // 8)
