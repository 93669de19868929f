"""Process for the benches of the Python package: heft, safetensors and torch, each with its imports done.

Answers with seconds and totals (tests/interop/answer.py). Runs inside the environment of
tests/interop/requirements-main.txt.
"""

import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "interop"))
from answer import serve  # noqa: E402


def setup(folder):
    """Imports the package heft from the directory."""
    sys.path.insert(0, folder)
    import heft
    return {"version": heft.__version__}


def make_layers(path, tensors, size):
    import torch
    from safetensors.torch import save_file
    torch.manual_seed(0)
    columns = size // (tensors * 2 * 1024)
    state = {f"model.layers.{number // 10}.block.w{number % 10}.weight":
             torch.randint(-2**15, 2**15, (1024, columns), dtype=torch.int16).view(torch.bfloat16)
             for number in range(tensors)}
    save_file(state, path) if path.endswith(".safetensors") else torch.save(state, path)
    return {}


def get_heft(path):
    import heft
    with heft.open(path, framework="pt") as file:
        return {name: file.get_tensor(name) for name in file.keys()}


def get_safe_open(path):
    from safetensors import safe_open
    with safe_open(path, "pt") as file:
        return {name: file.get_tensor(name) for name in file.keys()}


def get_torch_load(path):
    import torch
    return torch.load(path, mmap=True, weights_only=True)


WAYS = {"heft": get_heft, "safe_open": get_safe_open, "torch_load": get_torch_load}


def get_all(who, path, touch):
    """Seconds to get all tensors, and to add up their bytes, eight at a time, if they are touched.

    Single bytes torch would first convert to a copy of eight times their size: 2 s for 1 GB, of which all that is
    compared here would be a fifteenth.
    """
    import torch
    start = time.perf_counter()
    tensors = WAYS[who](path)
    total = sum(int(tensor.reshape(-1).view(torch.int64).sum()) for tensor in tensors.values()) if touch else 0
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "total": [len(tensors), total]}


def make_nested(path):
    """A training checkpoint: nested dicts, ties, small tensors of an optimizer."""
    import collections

    import torch
    torch.manual_seed(0)
    model = collections.OrderedDict((f"blocks.{i // 8}.w{i % 8}", torch.randn(16, 16)) for i in range(320))
    model.update((f"tied.{i}", model[f"blocks.{i}.w0"]) for i in range(40))
    states = {i: {"step": torch.tensor(3.0), "exp_avg": torch.zeros(16, 16), "exp_avg_sq": torch.zeros(16, 16)}
              for i in range(320)}
    torch.save({"model": model, "optimizer": {"state": states, "param_groups": [{"lr": 1e-3, "betas": (0.9, 0.999)}]},
                "history": [{"loss": float(i), "step": i, "name": f"run{i % 7}"} for i in range(2000)]}, path)
    return {}


def load_object(who, path):
    import torch

    import heft
    start = time.perf_counter()
    found = heft.load(path) if who == "heft" else torch.load(path, mmap=True, weights_only=True)
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "same": len(found["optimizer"]["state"]) == 320 and found["history"][7]["step"] == 7}


def save_layers(who, path, tensors, size):
    """Saves tensors of torch that are made once; into a new file."""
    import safetensors.torch
    import torch

    import heft
    if not STATE:
        columns = size // (tensors * 2 * 1024)
        STATE.update({f"w{number}": torch.randint(-2**15, 2**15, (1024, columns), dtype=torch.int16)
                      for number in range(tensors)})
    if os.path.exists(path):
        os.unlink(path)
    save = heft.save_file if who == "heft" else safetensors.torch.save_file
    start = time.perf_counter()
    save(STATE, path)
    return {"seconds": time.perf_counter() - start, "bytes": os.path.getsize(path)}


STATE = {}


def main():
    import safetensors.torch  # noqa: F401 (paid here)
    import torch
    torch.set_num_threads(1)
    serve({task.__name__: task for task in (setup, make_layers, get_all, make_nested, load_object, save_layers)})


if __name__ == "__main__":
    main()
