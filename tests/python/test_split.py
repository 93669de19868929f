"""The split into shards, compared with huggingface_hub on random state dicts."""

import dataclasses
import importlib.util
import os
import random
import subprocess
import sys
import unittest

import heft
from heft import split as ours

DICTS = 400
DTYPES = ["bool", "float32", "int64", "uint8"]  # of TensorFlow
PATTERNS = ["model{suffix}.safetensors", "pytorch_model{suffix}.bin", "{suffix}", "a{suffix}b{suffix}", "{{x}}{suffix}",
            "ä{suffix}.x"]


def has(*modules):
    return all(importlib.util.find_spec(name) for name in modules)


def limit_of(rng, sizes):
    """Limits around the decisive sizes, as ints and as texts."""
    sizes = [*sizes, 1]
    base = rng.choice([max(sizes), min(sizes), sum(sizes), sum(sizes) // 2, sum(sizes) // 3, rng.choice(sizes)])
    base = max(0, base + rng.choice([-1, 0, 0, 1]))
    return rng.choice([base, base, base, f"{base / 1000}KB", f" {base / 1e6} mb ", f"{max(1, base // 1000)}KB",
                       "5GB", "0.5TB"])


def plain_dict(rng):
    """Values are (size, storage or None), or texts."""
    items = {}
    storages = [object() for _ in range(rng.randrange(1, 6))]
    sizes = {id(storage): rng.randrange(3000) for storage in storages}
    for number in range(rng.choice([0, 1, 2, 5, 20, 60])):
        name = rng.choice(["layer", "läyer", "", "a.b\0c"]) + str(number)
        if rng.random() < 0.05:
            items[name] = "a text"
        elif rng.random() < 0.3:
            storage = rng.choice(storages)
            items[name] = (sizes[id(storage)], id(storage))
        else:
            items[name] = (rng.choice([0, 1, rng.randrange(3000)]), None)
    return items


class Alone(unittest.TestCase):
    def test_documented_example(self):
        state = {str(i): size for i, size in enumerate([6, 6, 2, 6, 2, 2])}
        split = heft.split_state_dict_into_shards_factory(
            state, get_storage_size=lambda size: size * 10**9, filename_pattern="m{suffix}.bin", max_shard_size="10GB")
        self.assertTrue(split.is_sharded)
        self.assertEqual(split.metadata, {"total_size": 24 * 10**9})
        self.assertEqual(split.filename_to_tensors, {"m-00001-of-00003.bin": ["0"], "m-00002-of-00003.bin": ["1", "2"],
                                                     "m-00003-of-00003.bin": ["3", "4", "5"]})

    def test_errors(self):
        for size in ("5XB", "GB", "", "x5GB"):
            with self.assertRaises(ValueError):
                heft.split_state_dict_into_shards_factory({"a": 1}, get_storage_size=int, filename_pattern="m{suffix}",
                                                          max_shard_size=size)

        def fail(tensor):
            raise RuntimeError("no size")

        with self.assertRaisesRegex(RuntimeError, "no size"):
            heft.split_state_dict_into_shards_factory({"a": 1}, get_storage_size=fail, filename_pattern="m{suffix}")
        for size in (-1, 1 << 70, None):
            with self.assertRaises((TypeError, ValueError, OverflowError)):
                heft.split_state_dict_into_shards_factory({"a": size}, get_storage_size=lambda size: size,
                                                          filename_pattern="m{suffix}")


@unittest.skipUnless(has("huggingface_hub"), "huggingface_hub is not installed")
class AsTheHub(unittest.TestCase):
    def same(self, got, wanted, what):
        self.assertEqual(dataclasses.asdict(got), dataclasses.asdict(wanted), what)
        self.assertEqual([*got.filename_to_tensors.items()], [*wanted.filename_to_tensors.items()], what)
        self.assertEqual([*got.tensor_to_filename.items()], [*wanted.tensor_to_filename.items()], what)

    def test_factory(self):
        from huggingface_hub import split_state_dict_into_shards_factory as theirs

        sharded = 0
        for seed in range(DICTS):
            rng = random.Random(seed)
            state = plain_dict(rng)
            more = {"max_shard_size": limit_of(rng, [item[0] for item in state.values() if item[0] != "a"]),
                    "filename_pattern": rng.choice(PATTERNS), "get_storage_size": lambda item: item[0]}
            if rng.random() < 0.8:
                more["get_storage_id"] = lambda item: item[1]
            wanted = theirs(state, **more)
            self.same(heft.split_state_dict_into_shards_factory(state, **more), wanted, f"{seed}: {more}")
            sharded += wanted.is_sharded
        self.assertGreater(sharded, DICTS // 4)

    @unittest.skipUnless(has("torch"), "torch is not installed")
    def test_torch(self):
        from huggingface_hub import split_torch_state_dict_into_shards as theirs

        for seed in range(DICTS):
            rng = random.Random(seed)
            state = torch_dict(rng)
            sizes = [t.untyped_storage().nbytes() for t in state.values() if not isinstance(t, str)]
            more = {"max_shard_size": limit_of(rng, sizes)}
            if rng.random() < 0.5:
                more["filename_pattern"] = rng.choice(PATTERNS)
            self.same(heft.split_torch_state_dict_into_shards(state, **more), theirs(state, **more), f"{seed}: {more}")

    @unittest.skipUnless(has("torch"), "torch is not installed")
    def test_storage_of_tensors(self):
        from huggingface_hub.serialization import _torch as hub

        for seed in range(100):
            for name, tensor in torch_dict(random.Random(seed)).items():
                if not isinstance(tensor, str):
                    self.assertEqual(heft.get_torch_storage_id(tensor), hub.get_torch_storage_id(tensor), name)
                    self.assertEqual(heft.get_torch_storage_size(tensor), hub.get_torch_storage_size(tensor), name)

    @unittest.skipUnless(has("torch"), "torch is not installed")
    def test_wrapper_subclass(self):
        import torch
        from huggingface_hub.serialization import _torch as hub
        from torch.testing._internal.two_tensor import TwoTensor

        pair = TwoTensor(torch.zeros(3), torch.ones(3))
        self.assertEqual(heft.get_torch_storage_id(pair), hub.get_torch_storage_id(pair))
        self.assertEqual(heft.get_torch_storage_size(pair), 24)

    def test_tensorflow(self):
        """The last hub with this function, in a process of its own with a stand-in for TensorFlow's bool."""
        old = os.environ.get("HEFT_OLD_HUB")
        if not old:
            self.skipTest("HEFT_OLD_HUB is not set: tests/python/run installs it")
        ran = subprocess.run([sys.executable, __file__, "tensorflow", old], stdin=subprocess.DEVNULL,
                             capture_output=True, text=True)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        self.assertEqual(ran.stdout.split()[-1], str(DICTS))


def torch_dict(rng):
    import torch

    state = {}
    dtypes = [torch.float32, torch.bfloat16, torch.int8, torch.bool, torch.complex64, torch.float8_e4m3fn]
    for number in range(rng.choice([0, 1, 3, 10, 30])):
        name, kind = f"t{number}", rng.random()
        if kind < 0.1:
            state[name] = torch.empty(rng.randrange(300), dtype=rng.choice(dtypes), device="meta")
        elif kind < 0.15:
            state[name] = "a text"
        elif kind < 0.45 and any(not isinstance(t, str) for t in state.values()):
            tensor = rng.choice([t for t in state.values() if not isinstance(t, str)])
            state[name] = rng.choice([tensor, tensor[1:] if tensor.dim() else tensor,
                                      tensor.t() if tensor.dim() < 3 else tensor, tensor[None]])
        else:
            state[name] = torch.empty(rng.choice([(), (0,), (rng.randrange(400),), (3, rng.randrange(90))]),
                                      dtype=rng.choice(dtypes))
    return state


def compare_tensorflow(old):
    """Compares with huggingface_hub 0.36; prints the number of dicts."""
    import types

    import numpy

    class Dtype:
        def __init__(self, name):
            self.name = name

        def __eq__(self, other):
            return self.name == other.name

        __hash__ = None

    class Tensor:
        def __init__(self, array):
            self.array, self.dtype = array, Dtype(array.dtype.name)

        def numpy(self):
            return self.array

    sys.modules["tensorflow"] = types.SimpleNamespace(bool=Dtype("bool"))
    sys.path.insert(0, old)
    import huggingface_hub
    from huggingface_hub.serialization._tensorflow import get_tf_storage_size, split_tf_state_dict_into_shards

    assert huggingface_hub.__version__ == "0.36.2", huggingface_hub.__version__
    for seed in range(DICTS):
        rng = random.Random(seed)
        state = {f"t{number}": Tensor(numpy.zeros(rng.randrange(300), rng.choice(DTYPES)))
                 for number in range(rng.choice([0, 1, 4, 20]))}
        for tensor in state.values():
            assert ours.get_tf_storage_size(tensor) == get_tf_storage_size(tensor)
        more = {"max_shard_size": limit_of(rng, [get_tf_storage_size(tensor) for tensor in state.values()])}
        if rng.random() < 0.5:
            more["filename_pattern"] = rng.choice(PATTERNS)
        got, wanted = (function(state, **more) for function in
                       (heft.split_tf_state_dict_into_shards, split_tf_state_dict_into_shards))
        assert dataclasses.asdict(got) == dataclasses.asdict(wanted), (seed, more, got, wanted)
    print(DICTS)


if __name__ == "__main__":
    if sys.argv[1:2] == ["tensorflow"]:
        compare_tensorflow(sys.argv[2])
    else:
        unittest.main()
