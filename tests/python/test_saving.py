"""save_file: compared with safetensors byte by byte; strides, ties, buffers, other formats, failures."""

import array
import importlib.util
import os
import pathlib
import signal
import struct
import subprocess
import sys
import tempfile
import unittest

import heft

FULL = bool(os.environ.get("HEFT_TEST_FULL")) or all(
    importlib.util.find_spec(name) for name in ("torch", "numpy", "safetensors"))


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.out = self.folder / "a.safetensors"


class Buffers(Folder):
    """What needs neither numpy nor torch."""

    def test_bytes_arrays_and_views(self):
        grid = memoryview(array.array("i", range(6))).cast("B").cast("i", (2, 3))
        heft.save_file({"raw": b"abc", "floats": array.array("f", [1, -2.5]), "ints": array.array("q", [2**62]),
                        "empty": b"", "grid": grid, "part": memoryview(b"abcdef")[::2],
                        "scalar": memoryview(struct.pack("=d", 0.5)).cast("d", ()),
                        "flags": memoryview(b"\1\0").cast("?")}, self.out, {"a": "ü"})
        with heft.open(self.out) as c:
            self.assertEqual({t.name: (t.dtype, t.shape, t.tobytes()) for t in c.values()}, {
                "raw": ("U8", (3,), b"abc"), "floats": ("F32", (2,), struct.pack("<2f", 1, -2.5)),
                "ints": ("I64", (1,), struct.pack("<q", 2**62)), "empty": ("U8", (0,), b""),
                "grid": ("I32", (2, 3), struct.pack("<6i", *range(6))), "part": ("U8", (3,), b"ace"),
                "scalar": ("F64", (), struct.pack("<d", 0.5)), "flags": ("BOOL", (2,), b"\1\0")})
            self.assertEqual(c.metadata(), {"a": "ü"})

    def test_tensors_of_a_checkpoint(self):
        heft.save_file({"a": array.array("h", range(12)), "b": b"xyz"}, self.out)
        with heft.open(self.out) as c:
            again = self.folder / "b.safetensors"
            heft.save_file(c, again)
            self.assertEqual(again.read_bytes(), self.out.read_bytes())
            heft.save_file({"part": c["a"][2:5]}, again)
        self.assertEqual(heft.load_file(again)["part"].tobytes(), struct.pack("<3h", 2, 3, 4))

    def test_formats_by_extension_and_by_name(self):
        tensors = {"w": array.array("f", range(4))}
        for name, format in (("a.pth", "torch"), ("a.npz", "npz"), ("a.safetensors", "safetensors"), ("a.ptd", "ptd")):
            heft.save_file(tensors, self.folder / name)
            with heft.open(self.folder / name) as c:
                self.assertEqual((c.format, c["w"].tobytes()), (format, tensors["w"].tobytes()))
        heft.save_file(tensors, self.folder / "odd", format="npz")
        with heft.open(self.folder / "odd") as c:
            self.assertEqual(c.format, "npz")
        with self.assertRaises(heft.UsageError):
            heft.save_file(tensors, self.folder / "a.unknown")
        heft.save_file(tensors, self.out, alignment=4096, sync=True)
        with heft.open(self.out) as c:
            self.assertEqual(c["w"].offset % 4096, 0)

    def test_wrong_arguments(self):
        self.out.write_bytes(b"old")
        for tensors, metadata, error in (
                ({"a": 5}, None, TypeError), ({"a": "text"}, None, TypeError), ({5: b""}, None, TypeError),
                ({"a": memoryview(b"ab").cast("c")}, None, TypeError), ({"a": b""}, {"k": 1}, TypeError),
                ({"\udcff": b""}, None, ValueError), ({"__metadata__": b"a"}, None, heft.Error)):
            with self.subTest(tensors=tensors), self.assertRaises(error):
                heft.save_file(tensors, self.out, metadata)
        with self.assertRaises(heft.UsageError):
            heft.save_file({"a": b"a"}, self.out, no_such_option=1)
        self.assertEqual(self.out.read_bytes(), b"old")
        self.assertEqual(os.listdir(self.folder), [self.out.name])
        with self.assertRaises(FileNotFoundError):
            heft.save_file({"a": b""}, self.folder / "none" / "a.safetensors")

    def test_progress_stops_it(self):
        self.out.write_bytes(b"old")
        told = []

        def step(done, total):
            told.append((done, total))
            return False

        with self.assertRaises(heft.CancelledError):
            heft.save_file({"a": bytes(300 << 20)}, self.out, progress=step)
        self.assertTrue(told)
        self.assertEqual((self.out.read_bytes(), os.listdir(self.folder)), (b"old", [self.out.name]))

    def test_interrupt_leaves_the_old_file(self):
        self.out.write_bytes(b"old")
        code = f"""
import heft, os, signal, threading
data = bytes(64 << 20)
threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    while True:
        heft.save_file({{str(i): data for i in range(8)}}, {str(self.out)!r} + "x.safetensors", sync=True)
except KeyboardInterrupt:
    print(sorted(set(os.listdir({str(self.folder)!r})) - {{"a.safetensorsx.safetensors"}}))
"""
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120,
                              preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
        self.assertEqual(done.stdout.strip(), "['a.safetensors']", done.stderr)


@unittest.skipUnless(FULL, "needs torch, numpy and safetensors")
class Against(Folder):
    """Compared with safetensors."""

    def setUp(self):
        super().setUp()
        import numpy
        import torch
        self.np, self.torch, self.rng = numpy, torch, numpy.random.default_rng(7)

    def random_tensor(self, dtype):
        shape = tuple(int(n) for n in self.rng.integers(0, 5, self.rng.integers(0, 4)))
        count = int(self.np.prod(shape)) if shape else 1
        most = 2 if dtype is self.torch.bool else 256
        raw = self.torch.from_numpy(self.rng.integers(0, most, count * dtype.itemsize, dtype=self.np.uint8))
        return raw.view(dtype).reshape(shape) if count else self.torch.empty(shape, dtype=dtype)

    def test_random_dicts(self):
        import safetensors.numpy
        import safetensors.torch
        torch = self.torch
        shared = [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16,
                  torch.float32, torch.float64, torch.complex64]
        only = [torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz,
                torch.float8_e5m2fnuz, torch.float8_e8m0fnu]
        theirs, used = self.folder / "b.safetensors", set()
        for number in range(200):
            kinds = self.rng.choice(len(shared + only), self.rng.integers(0, 12))
            tensors = {f"{self.rng.integers(10**9)}.wé\"{i}": self.random_tensor((shared + only)[kind])
                       for i, kind in enumerate(kinds)}
            used |= {tensor.dtype for tensor in tensors.values()}
            metadata = [None, {"format": "pt"}, {"ü\n": "\"\\\t\u2028"}][number % 3]
            safetensors.torch.save_file(tensors, theirs, metadata)
            heft.save_file(tensors, self.out, metadata)
            self.assertEqual(self.out.read_bytes(), theirs.read_bytes())
            arrays = {name: tensor.numpy() for name, tensor in tensors.items() if tensor.dtype in shared}
            safetensors.numpy.save_file(arrays, theirs, metadata)
            heft.save_file(arrays, self.out, metadata)
            self.assertEqual(self.out.read_bytes(), theirs.read_bytes())
        self.assertEqual(used, {*shared, *only})

    def test_several_metadata_are_sorted(self):
        from safetensors import safe_open
        metadata = {f"k{number}": str(number) for number in range(20)}
        heft.save_file({"w": self.np.zeros(3)}, self.out, metadata)
        with safe_open(self.out, "np") as file:
            self.assertEqual(file.metadata(), metadata)
        self.assertIn(b'{"__metadata__":{"k0":"0","k1":"1","k10":"10",', self.out.read_bytes())

    def test_strides_are_resolved(self):
        from safetensors.torch import load_file
        torch, np = self.torch, self.np
        w = torch.arange(24.).reshape(2, 3, 4)
        tensors = {"t": w.permute(2, 0, 1), "step": w[:, ::2], "expanded": torch.ones(3, 1).expand(3, 5),
                   "conj": torch.tensor([1 + 2j]).to(torch.complex64).conj(), "grad": torch.ones(2, requires_grad=True),
                   "parameter": torch.nn.Parameter(torch.ones(3).bfloat16())}
        heft.save_file({name: t.clone() if name == "step" else t for name, t in tensors.items()}, self.out)
        found = load_file(self.out)
        for name, tensor in tensors.items():
            self.assertTrue(torch.equal(found[name], tensor.detach()), name)
        a = np.arange(24, dtype=">i4").reshape(4, 6)
        arrays = {"big": a, "t": a.T, "back": a[::-1], "odd": a.view("u1")[:, 1::2],
                  "fields": np.zeros(3, [("x", "<i2"), ("y", "<i4")])["y"], "scalar": np.float32(2.5)}
        heft.save_file(arrays, self.out)
        found = heft.load_file(self.out, framework="np")
        for name, value in arrays.items():
            self.assertTrue(np.array_equal(found[name], value), name)

    def test_ties(self):
        torch = self.torch
        w = torch.arange(12.).reshape(3, 4)
        tensors = {"lm_head": w, "embed": w, "rows": w[1:]}
        heft.save_file(tensors, self.out, {"format": "pt"})
        with heft.open(self.out) as c:
            self.assertEqual((sorted(c), c.ties), (["embed", "rows"], {"lm_head": "embed"}))
        found = heft.load_file(self.out, framework="pt")
        self.assertEqual(sorted(found), sorted(tensors))
        self.assertTrue(all(torch.equal(found[name], tensors[name]) for name in tensors))
        self.assertEqual(found["lm_head"].data_ptr(), found["embed"].data_ptr())
        # As the reference's save_model writes the model of these weights.
        from safetensors.torch import save_model

        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.lm_head = self.embed = torch.nn.Parameter(w)
        save_model(Model(), self.folder / "b.safetensors")
        heft.save_file(Model().state_dict(), self.out)
        self.assertEqual(self.out.read_bytes(), (self.folder / "b.safetensors").read_bytes())
        heft.save_file(tensors, self.folder / "a.pth")
        loaded = torch.load(self.folder / "a.pth", weights_only=True)
        self.assertEqual(loaded["lm_head"].data_ptr(), loaded["embed"].data_ptr())
        self.assertEqual(loaded["rows"].untyped_storage().data_ptr(), loaded["embed"].untyped_storage().data_ptr())
        # Arrays of numpy are not tied: the reference writes each.
        a = self.np.zeros((2, 2), "f4")
        heft.save_file({"a": a, "b": a}, self.out)
        self.assertEqual(sorted(heft.load_file(self.out)), ["a", "b"])

    def test_refused(self):
        torch = self.torch
        for value, error in ((torch.empty(3, device="meta"), ValueError), (torch.eye(3).to_sparse(), TypeError),
                             (torch.quantize_per_tensor(torch.ones(2), 1.0, 0, torch.qint8), TypeError),
                             (self.np.zeros(2, "M8[s]"), TypeError), (self.np.array(["a"]), TypeError),
                             (self.np.zeros(2, "c16"), heft.UnsupportedError)):
            with self.subTest(value=str(value)), self.assertRaises(error):
                heft.save_file({"a": value}, self.out)
        self.assertEqual(os.listdir(self.folder), [])

    def test_same_names_as_safetensors(self):
        import heft.numpy
        import heft.torch
        w = self.torch.ones(2, 3)
        heft.torch.save_file({"w": w}, self.out, metadata={"format": "pt"})
        self.assertTrue(self.torch.equal(heft.torch.load_file(self.out)["w"], w))
        heft.numpy.save_file({"w": w.numpy()}, self.out)
        self.assertTrue(self.np.array_equal(heft.numpy.load_file(self.out)["w"], w.numpy()))


if __name__ == "__main__":
    unittest.main()
