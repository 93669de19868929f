"""heft opens model checkpoints without executing anything in them, and encodes text to tokens.

Neither torch nor numpy is needed; both are used where they are installed. The parts of the package are imported when
they are first used.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if "t" in getattr(sys, "abiflags", ""):
    raise ImportError("heft: free-threaded Python is not supported: its extension modules cannot use the Limited API. "
                      "Use the default build of Python 3.11 or later")

if TYPE_CHECKING:
    from heft.checkpoint import Blob as Blob
    from heft.checkpoint import Checkpoint as Checkpoint
    from heft.checkpoint import Finding as Finding
    from heft.checkpoint import Opaque as Opaque
    from heft.checkpoint import load_file as load_file
    from heft.checkpoint import open as open
    from heft.conversion import Conversion as Conversion
    from heft.conversion import PlannedTensor as PlannedTensor
    from heft.conversion import convert as convert
    from heft.conversion import rules_presets as rules_presets
    from heft.encoding import Encoding as Encoding
    from heft.encoding import from_file as from_file
    from heft.encoding import get_encoding as get_encoding
    from heft.encoding import list_encoding_names as list_encoding_names
    from heft.errors import CancelledError as CancelledError
    from heft.errors import Error as Error
    from heft.errors import IoError as IoError
    from heft.errors import LimitError as LimitError
    from heft.errors import MalformedError as MalformedError
    from heft.errors import MismatchError as MismatchError
    from heft.errors import UnknownTokenError as UnknownTokenError
    from heft.errors import UnsafeError as UnsafeError
    from heft.errors import UnsupportedError as UnsupportedError
    from heft.errors import UsageError as UsageError
    from heft.inspection import Counts as Counts
    from heft.inspection import Diff as Diff
    from heft.inspection import DiffItem as DiffItem
    from heft.inspection import DiffPair as DiffPair
    from heft.inspection import ScanItem as ScanItem
    from heft.inspection import TensorStats as TensorStats
    from heft.inspection import diff as diff
    from heft.inspection import scan as scan
    from heft.inspection import stats as stats
    from heft.loading import load as load
    from heft.saving import save_file as save_file
    from heft.split import StateDictSplit as StateDictSplit
    from heft.split import get_torch_storage_id as get_torch_storage_id
    from heft.split import get_torch_storage_size as get_torch_storage_size
    from heft.split import split_state_dict_into_shards_factory as split_state_dict_into_shards_factory
    from heft.split import split_tf_state_dict_into_shards as split_tf_state_dict_into_shards
    from heft.split import split_torch_state_dict_into_shards as split_torch_state_dict_into_shards
    from heft.tensor import Tensor as Tensor

    __version__: str

_NAMES = {
    "checkpoint": ("Blob", "Checkpoint", "Finding", "Opaque", "load_file", "open"),
    "conversion": ("Conversion", "PlannedTensor", "convert", "rules_presets"),
    "encoding": ("Encoding", "from_file", "get_encoding", "list_encoding_names"),
    "errors": ("CancelledError", "Error", "IoError", "LimitError", "MalformedError", "MismatchError",
               "UnknownTokenError", "UnsafeError", "UnsupportedError", "UsageError"),
    "inspection": ("Counts", "Diff", "DiffItem", "DiffPair", "ScanItem", "TensorStats", "diff", "scan", "stats"),
    "loading": ("load",),
    "saving": ("save_file",),
    "split": ("StateDictSplit", "get_torch_storage_id", "get_torch_storage_size",
              "split_state_dict_into_shards_factory", "split_tf_state_dict_into_shards",
              "split_torch_state_dict_into_shards"),
    "tensor": ("Tensor",),
}
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names}
__all__ = [*_MODULE_OF, "__version__"]


def __getattr__(name: str) -> Any:
    import importlib

    if name == "__version__":
        return importlib.import_module("heft._heft").version()
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'heft' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"heft.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
