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
    """Seconds to get all tensors, and to add up their bytes, if they are touched."""
    import torch
    start = time.perf_counter()
    tensors = WAYS[who](path)
    total = sum(int(tensor.view(torch.uint8).sum()) for tensor in tensors.values()) if touch else 0
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "total": [len(tensors), total]}


def main():
    import safetensors.torch  # noqa: F401 (paid here)
    import torch
    torch.set_num_threads(1)
    serve({task.__name__: task for task in (setup, make_layers, get_all)})


if __name__ == "__main__":
    main()
