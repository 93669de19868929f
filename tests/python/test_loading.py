"""load: compared with torch.load(weights_only=True): values, types, bits, what is shared; foreign classes; no torch."""

import collections
import contextlib
import gc
import importlib.util
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import unittest
import warnings
import zipfile

import heft

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "data" / "training.ckpt"
GOLDEN = ROOT / "tests" / "golden"
SHARED = ROOT.parent / "shared" / "data" / "torch"
FULL = bool(os.environ.get("HEFT_TEST_FULL")) or all(importlib.util.find_spec(name) for name in ("torch", "numpy"))
BARE = importlib.util.find_spec("torch") is None


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))


def pickled(path, value):
    """A torch file without tensors: what torch.save writes around a pickle."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a/data.pkl", pickle.dumps(value, 2))
        archive.writestr("a/version", "3\n")
    return path


class Foreign:
    def __init__(self):
        self.name, self.values = "x", [1, 2]


class Plain(Folder):
    """What needs no torch: values, identity, foreign classes."""

    def test_values_and_identity(self):
        shared = [1, {"k": (2, 3)}]
        value = {"a": shared, "b": shared, 3: None, (1, "x"): True, -2.5: {1, 2}, "big": -(1 << 100), "text": "ü\ud800",
                 "bytes": b"\0\xff", "array": bytearray(b"ab"), "ordered": collections.OrderedDict(z=1, a=2),
                 "counter": collections.Counter("aab"), "frozen": frozenset([1])}
        value["self"] = value
        value["ordered"].mark = "kept"
        found = heft.load(pickled(self.folder / "a.pth", value))
        self.assertIs(found.pop("self"), found)
        self.assertIs(found["a"], found["b"])
        self.assertEqual(found["ordered"].mark, "kept")
        del value["self"]
        self.assertEqual(list(found), list(value))
        for key in value:
            self.assertEqual((found[key], type(found[key])), (value[key], type(value[key])), key)

    def test_foreign_classes_are_opaque(self):
        sys.modules.pop("antigravity", None)
        path = pickled(self.folder / "a.pth", {"f": Foreign(), "class": Foreign, "path": pathlib.PurePosixPath("/a")})
        found = heft.load(path)
        name = f"{Foreign.__module__}.Foreign"
        self.assertEqual((found["f"].type, dict(found["f"].items)), (name, {"name": "x", "values": [1, 2]}))
        self.assertEqual(found["class"], heft.Opaque(name))
        self.assertIsInstance(found["path"], heft.Opaque)
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("a/data.pkl", b"\x80\x02cantigravity\nfly\n)R.")
            archive.writestr("a/version", "3\n")
        self.assertEqual(heft.load(path), heft.Opaque("antigravity.fly"))
        self.assertNotIn("antigravity", sys.modules)

    def test_deep_and_wide(self):
        value = None
        for _ in range(300):
            value = [value]
        found, depth = heft.load(pickled(self.folder / "a.pth", {"deep": value, "wide": list(range(100_000))})), 0
        self.assertEqual(found["wide"], list(range(100_000)))
        value = found["deep"]
        while value is not None:
            value, depth = value[0], depth + 1
        self.assertEqual(depth, 300)

    def test_invalid_objects(self):
        for number, data in enumerate((
                b"\x80\x02}]N\x86s.", b"\x80\x02}(]Nu.",  # a list as a key
                b"\x80\x02ccollections\nOrderedDict\nK\x01\x85R.", b"\x80\x02c_codecs\nencode\nX\1\0\0\0a"
                b"X\3\0\0\0hex\x86R.",
                b"\x80\x02ccollections\nOrderedDict\n)RK\x05b.")):
            path = self.folder / f"{number}.pth"
            with zipfile.ZipFile(path, "w") as archive:
                archive.writestr("a/data.pkl", data)
                archive.writestr("a/version", "3\n")
            with self.subTest(data=data), self.assertRaises(heft.Error):
                heft.load(path)
        with self.assertRaises(FileNotFoundError):
            heft.load(self.folder / "none.pth")

    def test_other_formats(self):
        heft.save_file({"w": bytearray(b"abc")}, self.folder / "a.safetensors")
        found = heft.load(self.folder / "a.safetensors")
        self.assertEqual([(name, bytes(memoryview(w if BARE else w.numpy()))) for name, w in found.items()],
                         [("w", b"abc")])

    @unittest.skipUnless(BARE, "torch is installed")
    def test_without_torch(self):
        found = heft.load(EXAMPLE)
        with heft.open(EXAMPLE) as c:
            self.assertEqual(found["model"]["weight"].tobytes(), c["model.weight"].tobytes())
            self.assertEqual(found["model"]["weight"].shape, c["model.weight"].shape)
        self.assertIs(type(found["model"]["weight"]), heft.Tensor)


@unittest.skipUnless(FULL, "needs torch and numpy")
class Against(Folder):
    """Compared with torch.load(weights_only=True)."""

    def setUp(self):
        super().setUp()
        import torch
        self.torch = torch
        self.enterContext(warnings.catch_warnings())
        warnings.simplefilter("ignore")

    def compare_tensors(self, a, b, path):
        for name in ("dtype", "layout", "requires_grad", "device", "is_quantized", "is_nested"):
            self.assertEqual(getattr(a, name), getattr(b, name), f"{path}: {name}")
        if a.is_nested:
            for x, y in zip(a.unbind(), b.unbind(), strict=True):
                self.assertEqual(x.numpy(force=True).tobytes(), y.numpy(force=True).tobytes(), path)
            return
        self.assertEqual(a.shape, b.shape, path)
        if hasattr(a, "_local_tensor"):  # a DTensor has no storage of its own
            self.compare(a._local_tensor, b._local_tensor, path)
            return
        if a.layout is not self.torch.strided:
            self.assertTrue(self.torch.equal(a.to_dense(), b.to_dense()), path)
            return
        self.assertEqual((a.stride(), a.storage_offset(), a.is_conj(), a.is_neg()),
                         (b.stride(), b.storage_offset(), b.is_conj(), b.is_neg()), path)
        self.assertEqual(type(a._backward_hooks), type(b._backward_hooks), path)
        self.compare_storages(a.untyped_storage(), b.untyped_storage(), path)

    def compare_storages(self, a, b, path):
        self.assertEqual(a.nbytes(), b.nbytes(), path)
        if a.device.type == "meta" or a.nbytes() == 0:  # of no bytes torch makes a new one for each tensor
            return
        self.assertEqual(bytes(a), bytes(b), path)
        self.assertEqual(self.storages.setdefault(a._cdata, b._cdata), b._cdata, f"{path}: another storage")
        self.assertEqual(self.storages_back.setdefault(b._cdata, a._cdata), a._cdata, f"{path}: another storage")

    def compare(self, a, b, path="root"):
        """a: torch's, b: heft's."""
        self.assertIs(type(a), type(b), path)
        if isinstance(a, (list, dict, set, self.torch.Tensor)):
            if id(a) in self.seen:
                self.assertEqual(self.seen[id(a)], id(b), f"{path}: another object")
                return
            self.seen[id(a)] = id(b)
        if isinstance(a, self.torch.Tensor):
            self.compare_tensors(a, b, path)
        elif isinstance(a, dict):
            self.assertEqual(list(a), list(b), path)
            for key in a:
                self.compare(a[key], b[key], f"{path}.{key}")
            self.compare(getattr(a, "__dict__", None), getattr(b, "__dict__", None), f"{path}.__dict__")
        elif isinstance(a, (list, tuple)):
            self.assertEqual(len(a), len(b), path)
            for number, (x, y) in enumerate(zip(a, b, strict=True)):
                self.compare(x, y, f"{path}.{number}")
        elif isinstance(a, self.torch.storage.TypedStorage):
            self.assertEqual(a.dtype, b.dtype, path)
            self.compare_storages(a._untyped_storage, b._untyped_storage, path)
        else:
            self.assertEqual(repr(a), repr(b), path)

    def compare_file(self, path):
        """False if torch refuses the file; then heft must not crash."""
        self.seen, self.storages, self.storages_back = {}, {}, {}
        try:
            theirs = self.torch.load(path, weights_only=True)
        except Exception:
            with contextlib.suppress(heft.Error, OSError):
                heft.load(path)
            return False
        for mmap in (True, False):
            self.seen.clear(), self.storages.clear(), self.storages_back.clear()
            ours = heft.load(path, mmap=mmap)
            self.compare(theirs, ours)
        return True

    def files(self, folder):
        return sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()
                      and path.suffix in (".pt", ".pth", ".bin", ".ckpt", ".tar", ".pkl", ".th"))

    def test_golden_files(self):
        same = 0
        for path in self.files(GOLDEN):
            with self.subTest(path=path.name):
                same += self.compare_file(path)
        self.assertGreater(same, 20)

    @unittest.skipUnless(SHARED.is_dir(), "../shared/data is absent")
    def test_shared_data(self):
        same = 0
        for path in self.files(SHARED):
            with self.subTest(path=path.name):
                same += self.compare_file(path)
        self.assertGreater(same, 5)

    def test_a_training_checkpoint(self):
        torch = self.torch
        model = torch.nn.Sequential(torch.nn.Embedding(11, 8), torch.nn.Linear(8, 8),
                                    torch.nn.Linear(8, 11, bias=False))
        model[2].weight = model[0].weight
        optimizer = torch.optim.AdamW(model.parameters(), amsgrad=True)
        model[1](model[0](torch.arange(11))).sum().backward()
        optimizer.step()
        big = torch.arange(1000.)
        object = {
            "model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3, "rng": torch.get_rng_state(),
            "size": torch.Size([2, 3]), "dtype": torch.bfloat16, "device": torch.device("cpu"), "none": None,
            "layout": torch.strided, "parameter": torch.nn.Parameter(torch.ones(2)), "part": big[10:20],
            "t": big.reshape(10, 100).t(), "bf16": torch.ones(3).bfloat16(),
            "fp8": torch.ones(3).to(torch.float8_e4m3fn),
            "conj": torch.ones(2, dtype=torch.complex64).conj(), "scalar": torch.tensor(5), "empty": torch.empty(0, 3),
            "sparse": torch.eye(3).to_sparse(), "csr": torch.eye(3).to_sparse_csr(),
            "meta": torch.empty(3, device="meta"),
            "quantized": torch.quantize_per_tensor(torch.ones(3), 0.1, 2, torch.qint8),
            "grad": torch.ones(2, requires_grad=True),
            7: "int key", "list": [[1, (2.5, float("nan"))], {1, 2}], "big": 1 << 70}
        for number, options in enumerate(({}, {"_use_new_zipfile_serialization": False})):
            if number == 1:
                for name in ("conj", "meta", "fp8"):
                    object.pop(name)
            path = self.folder / f"{number}.pth"
            torch.save(object, path, **options)
            with self.subTest(options=options):
                self.assertTrue(self.compare_file(path))
                found = heft.load(path)
                self.assertEqual(found["model"]["0.weight"].data_ptr(), found["model"]["2.weight"].data_ptr())

    def test_writing_changes_no_file_and_outlives_it(self):
        torch = self.torch
        path = self.folder / "a.pth"
        torch.save({"a": torch.zeros(100_000), "b": torch.ones(3)}, path)
        before = path.read_bytes()
        found = heft.load(path)
        gc.collect()
        os.unlink(path)
        found["a"].add_(1)
        self.assertEqual((float(found["a"].sum()), float(found["b"].sum())), (100_000.0, 3.0))
        path.write_bytes(before)
        self.assertEqual(float(heft.load(path)["a"].sum()), 0)
        self.assertEqual(path.read_bytes(), before)

    def test_arrays_of_numpy(self):
        import numpy
        path = self.folder / "a.pth"
        self.torch.save({"array": numpy.arange(6).reshape(2, 3)}, path)
        found = heft.load(path)["array"]
        self.assertIsInstance(found, heft.Tensor)
        self.assertTrue(numpy.array_equal(found.numpy(), numpy.arange(6).reshape(2, 3)))

    def test_nothing_leaks(self):
        path = self.folder / "a.pth"
        self.torch.save({"a": self.torch.zeros(1000), "b": [1, {"c": 2}]}, path)
        code = f"""
import heft, resource
for i in range(3000):
    heft.load({str(path)!r})
    if i == 500: first = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - first)
"""
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
        self.assertLess(int(done.stdout or 10**9), 4000, done.stderr)


if __name__ == "__main__":
    unittest.main()
