"""Checkpoint and Tensor: the mapping, the data, what else is in the files."""

import gc
import importlib
import importlib.util
import io
import json
import os
import pathlib
import pickle
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import unittest

import heft

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden"
EXAMPLE = ROOT / "examples" / "data" / "training.ckpt"


def has(*modules):
    return all(importlib.util.find_spec(name) for name in modules)


def safetensors_file(tensors, metadata=None):
    """Bytes of a file with {name: (dtype, shape, data)}."""
    header, body = {"__metadata__": metadata} if metadata else {}, b""
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + body


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def write(self, data, name="a.safetensors"):
        (self.folder / name).write_bytes(data)
        return self.folder / name


FLOATS = struct.pack("<6f", 0, 1, 2, 3, 4, 5)


class Mapping(Folder):
    def test_mapping(self):
        with heft.open(EXAMPLE) as c:
            self.assertEqual(list(c)[:2], ["model.weight", "model.bias"])
            self.assertEqual(len(c), 10)
            self.assertIn("model.bias", c)
            self.assertNotIn("bias", c)
            self.assertNotIn(5, c)
            self.assertEqual([t.name for t in c.values()], list(c.keys()))
            self.assertEqual((c.format, repr(c)), ("torch", "<heft.Checkpoint torch 10 tensors>"))
            self.assertEqual(c.files, {str(EXAMPLE): EXAMPLE.stat().st_size})
            with self.assertRaisesRegex(KeyError, "did you mean model.weight"):
                _ = c["model.wieght"]

    def test_tensor(self):
        t = heft.open(EXAMPLE)["model.weight"]
        self.assertEqual((t.name, t.dtype, t.shape, t.ndim, t.size, t.nbytes, len(t)),
                         ("model.weight", "F32", (3, 2), 2, 6, 24, 3))
        self.assertEqual((t.strides, t.storage, t.file), (None, None, str(EXAMPLE)))
        self.assertEqual(EXAMPLE.read_bytes()[t.offset:t.offset + 24], FLOATS)
        self.assertEqual(t.tobytes(), FLOATS)
        self.assertEqual(memoryview(t).tolist(), [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])
        self.assertIsNone(t.check())
        self.assertEqual(repr(t), "<heft.Tensor 'model.weight' F32 [3, 2]>")

    def test_tree(self):
        c = heft.open(EXAMPLE)
        self.assertEqual((c.tree["epoch"], c.tree["best"]), (3, 0.75))
        self.assertEqual(c.tree["optimizer"]["param_groups"][0]["betas"], (0.9, 0.999))
        self.assertEqual(c.tree["args"].type, "argparse.Namespace")
        self.assertEqual(dict(c.tree["args"].items)["layers"], [2, 3])

    def test_tensors_outlive_the_checkpoint(self):
        path = self.write(safetensors_file({"w": ("F32", [2, 3], FLOATS)}))
        with heft.open(path) as c:
            t, late = c["w"], c["w"]
            view = memoryview(t)
        del c
        gc.collect()
        path.unlink()
        self.assertEqual(view.tolist()[1], [3.0, 4.0, 5.0])
        self.assertEqual(late.tobytes(), FLOATS)

    def test_closed(self):
        c = heft.open(EXAMPLE)
        c.close()
        c.close()
        for call in (lambda: c["model.bias"], c.metadata, c.verify, lambda: c.tree):
            with self.assertRaisesRegex(ValueError, "closed"):
                call()

    def test_metadata_and_names(self):
        names = ["a\0b", "", "ä中", "a/b.c", "x" * 300]
        data = safetensors_file({name: ("U8", [1], bytes([i])) for i, name in enumerate(names)}, {"k": "v", "ö": ""})
        c = heft.open(data)
        self.assertEqual(sorted(c), sorted(names))
        self.assertEqual(c.metadata(), {"k": "v", "ö": ""})
        for i, name in enumerate(names):
            self.assertEqual(c[name].tobytes(), bytes([i]))

    def test_writing_changes_no_file(self):
        data = safetensors_file({"w": ("F32", [2, 3], FLOATS)})
        path = self.write(data)
        t = heft.open(path)["w"]
        t.raw()[0:4] = b"\xff" * 4
        memoryview(t)[1, 2] = 9.0
        self.assertEqual(t.tobytes()[:4], b"\xff" * 4)
        self.assertEqual(path.read_bytes(), data)
        self.assertEqual(heft.open(path)["w"].tobytes(), FLOATS)
        other = t.copy()
        other.raw()[0:4] = b"\0" * 4
        self.assertEqual(t.tobytes()[:4], b"\xff" * 4)

    def test_sources(self):
        data = safetensors_file({"w": ("F32", [2, 3], FLOATS)})
        path = self.write(data)
        with open(path, "rb") as file, open(path, "rb", buffering=0) as unbuffered:
            for source in (path, str(path), [path], data, bytearray(data), memoryview(data), io.BytesIO(data), file,
                           unbuffered):
                with heft.open(source) as c:
                    self.assertEqual(c["w"].tobytes(), FLOATS, type(source))
        with self.assertRaises(TypeError):
            heft.open(5.5)
        with self.assertRaises(FileNotFoundError):
            heft.open(self.folder / "none")

    def test_buffer_is_locked(self):
        data = bytearray(safetensors_file({"w": ("F32", [2, 3], FLOATS)}))
        c = heft.open(data)
        with self.assertRaises(BufferError):
            data.append(1)
        c.close()
        data.append(1)

    def test_limits_and_options(self):
        with self.assertRaises(heft.LimitError):
            heft.open(EXAMPLE, limits={"tensors": 2})
        with self.assertRaises(ValueError):
            heft.open(EXAMPLE, limits={"nothing": 2})
        with self.assertRaises(ValueError):
            heft.open(EXAMPLE, framework="jax")
        with self.assertRaises(ValueError):
            heft.open(EXAMPLE, format="nothing")
        with self.assertRaises(heft.UsageError):
            heft.open(EXAMPLE, no_such_option=1)
        self.assertEqual(heft.open(EXAMPLE, names="keys").notes, ["option names has no effect here"])

    def test_salvage(self):
        data = safetensors_file({"w": ("F32", [2, 3], FLOATS), "x": ("U8", [4], b"abcd")})[:-2]
        with self.assertRaises(heft.MalformedError):
            heft.open(data)
        c = heft.open(data, salvage=True)
        self.assertEqual((list(c), list(c.unreadable)), (["w"], ["x"]))
        with self.assertRaisesRegex(KeyError, "cannot be read"):
            _ = c["x"]

    def test_truncated_later(self):
        path = self.write(safetensors_file({"w": ("U8", [100000], bytes(100000))}))
        c = heft.open(path)
        os.truncate(path, 500)
        with self.assertRaises(heft.Error):
            c["w"].tobytes()


class Slices(Folder):
    def test_index(self):
        t = heft.open(EXAMPLE)["model.weight"]
        rows = [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
        for index, wanted in ((0, rows[0]), (-1, rows[2]), ((1, 1), 3.0), (slice(1, 3), rows[1:]), (..., rows),
                              ((slice(None), 0), [0.0, 2.0, 4.0]), ((..., -1), [1.0, 3.0, 5.0]),
                              (slice(2, 1), []), ((slice(0, 2), slice(1, 2)), [[1.0], [3.0]])):
            part = t[index]
            self.assertEqual(memoryview(part).tolist() if wanted != [] else [], wanted, index)
        self.assertEqual((t[1:3].shape, t[1:3].nbytes, t[0, 0].shape), ((2, 2), 16, ()))

    def test_wrong_index(self):
        t = heft.open(EXAMPLE)["model.weight"]
        for index, kind in ((3, IndexError), (-4, IndexError), ((0, 0, 0), IndexError), ((..., ...), IndexError),
                            (slice(None, None, 2), ValueError), ("a", TypeError), (None, TypeError), (1.5, TypeError)):
            with self.assertRaises(kind):
                t[index]

    def test_get_slice(self):
        part = heft.open(EXAMPLE).get_slice("model.weight")
        self.assertEqual((part.get_shape(), part.get_dtype()), ([3, 2], "F32"))
        self.assertEqual(part[1].tobytes(), FLOATS[8:16])


class Buffers(Folder):
    def test_formats(self):
        for dtype, code in (("BOOL", "?"), ("U8", "B"), ("I8", "b"), ("I16", "h"), ("U16", "H"), ("F16", "e"),
                            ("I32", "i"), ("U32", "I"), ("F32", "f"), ("F64", "d"), ("I64", "q"), ("U64", "Q")):
            size = struct.calcsize(code)
            t = heft.open(safetensors_file({"w": (dtype, [3], bytes(3 * size))}))["w"]
            view = memoryview(t)
            self.assertEqual((view.format, view.itemsize, view.shape, view.nbytes), (code, size, (3,), 3 * size))

    def test_none(self):
        t = heft.open(safetensors_file({"w": ("BF16", [3], bytes(6))}))["w"]
        with self.assertRaisesRegex(BufferError, "BF16"):
            memoryview(t)
        self.assertEqual(t.tobytes(), bytes(6))

    def test_shapes(self):
        t = heft.open(safetensors_file({"s": ("F32", [], FLOATS[4:8]), "e": ("F32", [0, 3], b"")}))
        self.assertEqual(memoryview(t["s"])[()], 1.0)
        self.assertEqual((t["e"].tobytes(), t["e"].shape, t["e"].size), (b"", (0, 3), 0))

    def test_strings_are_refused(self):
        for path in GOLDEN.rglob("*.index"):
            if "snappy" in path.parts:
                continue  # its module may be missing
            for t in heft.open(path.with_suffix("")).values():
                if t.dtype == "STRING":
                    with self.assertRaises(heft.UnsupportedError):
                        t.tobytes()
                    return
        self.fail("no sample has a tensor of strings")

    @unittest.skipIf(has("numpy"), "numpy is installed")
    def test_without_numpy(self):
        with self.assertRaisesRegex(ImportError, "numpy"):
            heft.open(EXAMPLE)["model.bias"].numpy()

    @unittest.skipIf(has("torch"), "torch is installed")
    def test_without_torch(self):
        with self.assertRaisesRegex(ImportError, "torch"):
            heft.open(EXAMPLE)["model.bias"].torch()
        with self.assertRaisesRegex(ImportError, "torch"):
            heft.open(EXAMPLE, framework="pt")["model.bias"]


class Sharing(Folder):
    def test_threads(self):
        c = heft.open(EXAMPLE)
        wanted = {name: t.tobytes() for name, t in c.items()}
        wrong = []

        def read():
            for _ in range(200):
                for name in c:
                    if c[name].tobytes() != wanted[name]:
                        wrong.append(name)

        threads = [threading.Thread(target=read) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_one_tensor_in_threads(self):
        data = bytes(range(256)) * 40000
        t = heft.open(safetensors_file({"w": ("U8", [len(data)], data)}))["w"]
        found = []
        threads = [threading.Thread(target=lambda: found.append(t.tobytes() == data)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [True] * 8)

    def test_no_leak(self):
        """10 000 opens, with errors in between."""
        code = f"""if True:
            import heft, io, os
            data = open({str(EXAMPLE)!r}, "rb").read()
            class Reading(io.RawIOBase):
                def __init__(self, data):
                    self.file = io.BytesIO(data)
                    self.seek, self.tell, self.read = self.file.seek, self.file.tell, self.file.read
                def seekable(self):
                    return True
            class Broken(Reading):
                def __init__(self, data):
                    super().__init__(data)
                    self.read = None
            def once():
                c = heft.open(data)
                c["model.weight"].tobytes(), c.tree, c["model.bias"][1:2].raw(), c.metadata()
                memoryview(c["rng.torch"])
                for wrong in (lambda: heft.open(data[:300]), lambda: c["nothing"], lambda: heft.open("/nonexistent"),
                              lambda: heft.open(Broken(data))):
                    try:
                        wrong()
                        raise AssertionError
                    except (heft.Error, KeyError, TypeError, ValueError):
                        pass
            def views():
                with heft.open({str(EXAMPLE)!r}) as c:
                    t = c["model.weight"]
                    t[1:][0].raw(), t[:, 1].copy(), t[:, 0].raw(), t.__dlpack__(), t[0].__dlpack__(max_version=(1, 0))
                    t.__dlpack__(copy=True), memoryview(t)
                heft.open(Reading(data))["model.bias"].tobytes()
            def resident():
                return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
            for number in range(11000):
                if number == 1000:
                    before = resident()
                once()
                if number % 5 == 0:
                    views()
            print(resident() - before)
        """
        ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertLess(int(ran.stdout), 2 << 20)


class EveryGoldenFile(unittest.TestCase):
    def test_read_all(self):
        """Every checkpoint of tests/golden: all its tensors, tree, information."""
        tensors = 0
        for path in sorted(GOLDEN.rglob("*")):
            if "expected" in path.parts or not path.is_file() or path.is_symlink() or path.suffix in (".py", ".tsv"):
                continue
            try:
                c = heft.open(path)
            except heft.Error:
                continue  # parts of others, texts, formats whose module is not installed
            for t in c.values():
                if t.dtype not in ("STRING", "VARIANT"):
                    try:
                        self.assertEqual(len(t.tobytes()), t.nbytes, path)
                    except (heft.IoError, heft.UnsupportedError):
                        continue
                    tensors += 1
            self.assertIsNotNone((c.tree, c.info, c.metadata(), c.ties, c.blobs, c.unreadable, c.offset_keys()))
            for blob in c.blobs.values():
                self.assertEqual(len(blob.read()), blob.nbytes)
        self.assertGreater(tensors, 900)


@unittest.skipUnless(has("torch", "numpy", "safetensors"), "torch, numpy or safetensors is not installed")
class WithFrameworks(Folder):
    def test_torch_dtypes(self):
        import torch
        from safetensors.torch import load_file, save_file

        state = {}
        for name in ("float32", "float64", "float16", "bfloat16", "int8", "uint8", "int16", "int32", "int64", "bool",
                     "uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e5m2", "complex64"):
            dtype = getattr(torch, name)
            state[name] = torch.arange(12).reshape(3, 4).to(dtype)
            state[name + ".scalar"] = torch.tensor(1).to(dtype)
            state[name + ".empty"] = torch.empty((0, 3), dtype=dtype)
        path = self.folder / "a.safetensors"
        save_file(state, path)
        torch.save(state, self.folder / "a.pt")
        wanted = load_file(path)
        for opened in (heft.open(path), heft.open(self.folder / "a.pt")):
            for name, tensor in opened.items():
                for got in (tensor.torch(), tensor.torch(copy=True), self.dlpack(tensor)):
                    self.assertEqual((got.dtype, got.shape), (wanted[name].dtype, wanted[name].shape), name)
                    self.assertEqual(got.contiguous().flatten().view(torch.uint8).tolist() if got.dim() else
                                     got.reshape(1).view(torch.uint8).tolist(),
                                     wanted[name].reshape(-1).view(torch.uint8).tolist(), name)
        for got in (heft.load_file(path, framework="pt"), importlib.import_module("heft.torch").load_file(path)):
            self.assertEqual(set(got), set(wanted))

    @staticmethod
    def dlpack(tensor):
        import torch

        return torch.from_dlpack(tensor)

    def test_numpy(self):
        import numpy
        from safetensors.numpy import load_file, save_file

        state = {dtype: numpy.arange(12).reshape(3, 4).astype(dtype)
                 for dtype in ("f4", "f8", "f2", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "?", "c8")}
        path = self.folder / "a.safetensors"
        save_file(state, path)
        for name, array in load_file(path).items():
            tensor = heft.open(path)[name]
            for got in (tensor.numpy(), numpy.asarray(tensor), numpy.from_dlpack(tensor), tensor.numpy(copy=True),
                        numpy.array(tensor), heft.open(path, framework="np")[name]):
                self.assertEqual((got.dtype, got.shape, got.tolist()), (array.dtype, array.shape, array.tolist()))
            self.assertTrue(tensor.numpy().flags.writeable)
            self.assertTrue(numpy.shares_memory(tensor.numpy(), numpy.asarray(tensor)))

    def test_bf16_in_numpy(self):
        tensor = heft.open(safetensors_file({"w": ("BF16", [1], b"\x80\x3f")}))["w"]
        if has("ml_dtypes"):
            self.assertEqual(float(tensor.numpy()[0]), 1.0)
        else:
            with self.assertRaisesRegex(ImportError, "ml_dtypes"):
                tensor.numpy()

    def test_in_place(self):
        """add_ on a tensor of torch changes what shares its memory, and no file."""
        import torch

        data = safetensors_file({"w": ("F32", [2, 3], FLOATS)})
        path = self.write(data)
        tensor = heft.open(path)["w"]
        torch.from_dlpack(tensor).add_(1)
        self.assertEqual(memoryview(tensor)[0, 0], 1.0)
        tensor.torch().mul_(0)
        self.assertEqual(tensor.tobytes(), bytes(24))
        self.assertEqual(path.read_bytes(), data)

    def test_frameworks_keep_the_data(self):
        import torch

        data = struct.pack("<f", 7) * 100000
        arrays = []
        for _ in range(20):
            t = heft.open(safetensors_file({"w": ("F32", [100000], data)}))["w"]
            arrays += [t.numpy(), t.torch(), torch.from_dlpack(t)]
            del t
        gc.collect()
        self.assertEqual({float(array.sum()) for array in arrays}, {700000.0})

    def test_strided_and_tied(self):
        import torch

        base = torch.arange(12.0).reshape(3, 4)
        torch.save({"a": base, "t": base.t(), "b": base[1:], "same": base}, self.folder / "a.pt")
        c = heft.open(self.folder / "a.pt")
        self.assertEqual(c["t"].strides, (1, 4))
        self.assertEqual(c["t"].torch().tolist(), base.t().tolist())
        self.assertEqual(c["b"].torch().tolist(), base[1:].tolist())
        self.assertEqual(len({c[name].storage for name in c}), 1)

    def test_slices_as_safe_open(self):
        import torch
        from safetensors import safe_open
        from safetensors.torch import save_file

        path = self.folder / "a.safetensors"
        save_file({"w": torch.arange(60.0).reshape(3, 4, 5)}, path)
        with safe_open(path, "pt") as theirs, heft.open(path, framework="pt") as ours:
            self.assertEqual(theirs.get_tensor("w").tolist(), ours.get_tensor("w").tolist())
            self.assertEqual(list(theirs.keys()), list(ours.keys()))
            self.assertEqual(theirs.offset_keys(), ours.offset_keys())
            a, b = theirs.get_slice("w"), ours.get_slice("w")
            self.assertEqual((a.get_shape(), a.get_dtype()), (b.get_shape(), b.get_dtype()))
            for index in (0, slice(1, 3), (slice(None), 2), (..., slice(1, 4)), (1, 2, slice(0, 2))):
                self.assertEqual(a[index].tolist(), b[index].tolist(), index)

    def test_errors_can_be_pickled(self):
        try:
            heft.open(b"no checkpoint")
        except heft.Error as error:
            again = pickle.loads(pickle.dumps(error))
            self.assertEqual((type(again), str(again)), (type(error), str(error)))

    def test_shards(self):
        import torch
        from huggingface_hub import save_torch_state_dict

        state = {f"w{i}": torch.randn(50) for i in range(10)}
        save_torch_state_dict(state, str(self.folder), max_shard_size=500)
        c = heft.open(self.folder, framework="pt")
        self.assertGreater(len(c.files), 2)
        self.assertTrue(all((c[name] == tensor).all() for name, tensor in state.items()))
        shutil.rmtree(self.folder / "x", ignore_errors=True)


if __name__ == "__main__":
    unittest.main()
