"""huggingface_hub as the reference: its split into shards and its files, for any state dict.

If the hub refuses a storage (no name covers all of it, or it cannot flatten a view), or drops a view that
differs from the one it keeps, heft writes each of the names with its own bytes (CLI: tied names). The
reference for these is the hub's output for the same state dict with those tensors cloned.
"""

import torch
from huggingface_hub import save_torch_state_dict, split_torch_state_dict_into_shards
from huggingface_hub.serialization import _torch as hub


hub_is_complete = hub._is_complete


def is_complete(tensor):
    """The hub compares only byte counts, and would keep an expanded view instead of the tensor that it
    views: data would be lost. The only case in which heft differs."""
    return hub_is_complete(tensor) and tensor.is_contiguous()


hub._is_complete = is_complete


def storages(state):
    """Names by storage, as the hub groups them."""
    groups = {}
    for name, tensor in state.items():
        size = hub.get_torch_storage_size(tensor)
        if hub.storage_ptr(tensor) != 0 and size != 0:
            groups.setdefault((hub.storage_ptr(tensor), size), set()).add(name)
    return groups.values()


def refused(state):
    """Names on storages, or parts of them, that the hub refuses to save."""
    names = set()
    for group in storages(state):
        try:
            runs = hub._filter_shared_not_shared([group], state)
        except RuntimeError:
            names |= group
            continue
        for run in runs:
            if not any(hub._is_complete(state[name]) for name in run):
                names |= run
    return names


def same_view(left, right):
    return ((left.dtype, left.shape, left.stride(), left.storage_offset(), left.is_conj(), left.is_neg())
            == (right.dtype, right.shape, right.stride(), right.storage_offset(), right.is_conj(),
                right.is_neg()))


def other_views(state):
    """Names that the hub drops and cannot restore."""
    rest = {name: tensor for name, tensor in state.items() if name not in refused(state)}
    dropped = hub._remove_duplicate_names(rest)
    return {name for kept, names in dropped.items() for name in names
            if not same_view(state[name], state[kept])}


def acceptable(state):
    """The state dict with the refused tensors and other views cloned, and the number of clones."""
    alone = refused(state) | other_views(state)
    return {name: tensor.detach().clone(memory_format=torch.contiguous_format)
            if name in alone else tensor for name, tensor in state.items()}, len(alone)


def split(state, limit):
    """Expected files of the hub: (filename_to_tensors, tensor_to_filename, total, dropped)."""
    metadata = {}
    kept = hub._clean_state_dict_for_safetensors(dict(state), metadata)
    result = split_torch_state_dict_into_shards(kept, max_shard_size=limit)
    return result, metadata


def write(state, folder, limit, metadata=None):
    save_torch_state_dict(dict(state), folder, max_shard_size=limit, metadata=dict(metadata or {}))
