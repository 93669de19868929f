"""Data of tensors: copy-on-write views of files, their layout and lifetime, and what is read instead."""

import ctypes
import gc
import hashlib
import io
import mmap
import os
import struct
import subprocess
import sys
import threading
import unittest
import zipfile
import zlib

import heft
from test_checkpoint import EXAMPLE, FLOATS, GOLDEN, Folder, has, safetensors_file

PAGE = mmap.PAGESIZE


def address(tensor):
    """Address of the first element."""
    return ctypes.addressof(ctypes.c_char.from_buffer(tensor._memory()[0]))


def is_view(checkpoint, name):
    """Whether two tensors of that name share memory; those that are read have memory of their own."""
    a, b = checkpoint[name], checkpoint[name]
    return address(a) == address(b)


def npy(descr, shape, data):
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape!r}, }}".encode()
    text += b" " * (-(10 + len(text) + 1) % 64) + b"\n"
    return b"\x93NUMPY\x01\0" + struct.pack("<H", len(text)) + text + data


def npz(path, method, **arrays):
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, array in arrays.items():
            archive.writestr(name + ".npy", array)
    return path


class Views(Folder):
    def setUp(self):
        super().setUp()
        self.data = safetensors_file({"w": ("F32", [2, 3], FLOATS), "x": ("U8", [4], b"abcd"),
                                      "s": ("F32", [], FLOATS[4:8]), "e": ("F32", [0, 3], b"")})
        self.path = self.write(self.data)

    def test_address_is_that_of_the_file(self):
        c = heft.open(self.path)
        for name in ("w", "x", "s"):
            self.assertEqual(address(c[name]) % PAGE, c[name].offset % PAGE, name)
            self.assertTrue(is_view(c, name))
        self.assertEqual(address(c["x"]) - address(c["w"]), c["x"].offset - c["w"].offset)

    def test_writing_changes_neither_file_nor_other_views(self):
        c = heft.open(self.path)
        memoryview(c["w"])[1, 2] = 9.0
        c["x"].raw()[:] = b"ABCD"
        self.assertEqual((memoryview(c["w"])[1, 2], c["x"].tobytes()), (9.0, b"ABCD"))
        self.assertEqual(self.path.read_bytes(), self.data)
        again = heft.open(self.path)
        self.assertEqual((again["w"].tobytes(), again["x"].tobytes()), (FLOATS, b"abcd"))

    def test_scalar_and_empty(self):
        c = heft.open(self.path)
        self.assertEqual((memoryview(c["s"])[()], memoryview(c["s"]).shape), (1.0, ()))
        self.assertEqual((c["e"].tobytes(), c["e"].shape, memoryview(c["e"]).nbytes), (b"", (0, 3), 0))
        self.assertEqual(c["e"][:, 1:].shape, (0, 2))

    def test_outlives_everything(self):
        with heft.open(self.path) as c:
            tensor, late, view, part = c["w"], c["w"], memoryview(c["w"]), c["w"][1]
        raw, dlpack = tensor.raw(), tensor.__dlpack__()
        del c, tensor
        gc.collect()
        self.path.unlink()
        self.assertEqual(view.tolist()[1], [3.0, 4.0, 5.0])
        self.assertEqual((late.tobytes(), part.tobytes(), raw.tobytes()), (FLOATS, FLOATS[12:], FLOATS))
        del late, part, view, raw
        gc.collect()
        self.assertIn("dltensor", repr(dlpack))

    def test_mapping_ends_with_the_last_user(self):
        def mapped():
            with open("/proc/self/maps") as lines:
                return sum(str(self.path) in line for line in lines)

        with heft.open(self.path) as c:
            view = memoryview(c["w"])
            self.assertEqual(mapped(), 1)
        del c
        gc.collect()
        self.assertEqual((mapped(), view[0, 1]), (1, 1.0))
        view.release()
        del view
        gc.collect()
        self.assertEqual(mapped(), 0)

    def test_not_aligned_is_read(self):
        header = b'{"w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}} '
        header += b" " * ((3 - len(header)) % 4)
        path = self.write(struct.pack("<Q", len(header)) + header + FLOATS, "odd.safetensors")
        c = heft.open(path)
        self.assertNotEqual(c["w"].offset % 4, 0)
        self.assertFalse(is_view(c, "w"))
        self.assertEqual((address(c["w"]) % 64, c["w"].tobytes()), (0, FLOATS))

    def test_compressed_and_swapped_are_read(self):
        swapped = struct.pack(">6f", 0, 1, 2, 3, 4, 5)
        path = npz(self.folder / "a.npz", zipfile.ZIP_DEFLATED, w=npy("<f4", (2, 3), FLOATS))
        other = npz(self.folder / "b.npz", zipfile.ZIP_STORED, w=npy(">f4", (2, 3), swapped))
        for source in (path, other):
            c = heft.open(source)
            before = source.read_bytes()
            self.assertFalse(is_view(c, "w"))
            t = c["w"]
            self.assertEqual(t.tobytes(), FLOATS)
            memoryview(t)[0, 0] = 7.0
            self.assertEqual((c["w"].tobytes(), source.read_bytes()), (FLOATS, before))

    def test_without_mapping(self):
        c = heft.open(self.path, mmap=False)
        self.assertFalse(is_view(c, "w"))
        t = c["w"]
        memoryview(t)[0, 0] = 7.0
        self.assertEqual((c["w"].tobytes(), self.path.read_bytes()), (FLOATS, self.data))
        with open("/proc/self/maps") as lines:
            self.assertNotIn(str(self.path), lines.read())

    def test_truncated(self):
        """Read: an exception, whenever the file is truncated. A view: an exception if it is not mapped yet."""
        for how in ({"mmap": False}, {}):
            path = self.write(safetensors_file({"w": ("U8", [100000], bytes(100000))}), "cut.safetensors")
            c = heft.open(path, **how)
            os.truncate(path, 500)
            for call in (c["w"].tobytes, c["w"][600:700].raw, lambda c=c: c["w"][99999].tobytes(),
                         lambda c=c: memoryview(c["w"])):
                with self.assertRaises(heft.IoError) as caught:
                    call()
                self.assertEqual(caught.exception.file, str(path))
                self.assertIn("file ended at", str(caught.exception))

    def test_every_golden_file(self):
        """Views, and their copies, have the bytes that are read."""
        strided = views = 0
        for path in sorted(GOLDEN.rglob("*")):
            if "expected" in path.parts or not path.is_file() or path.is_symlink() or path.suffix in (".py", ".tsv"):
                continue
            try:
                mapped, read = heft.open(path), heft.open(path, mmap=False)
            except heft.Error:
                continue
            for name, tensor in mapped.items():
                try:
                    wanted = read[name].tobytes()
                except heft.Error:
                    continue
                self.assertEqual(tensor.tobytes(), wanted, (path, name))
                self.assertEqual(tensor.copy().tobytes(), wanted, (path, name))
                self.assertEqual(read[name].strides, tensor.strides)
                strided += tensor.strides is not None and tensor._memory()[1] is not None
                views += bool(wanted) and is_view(mapped, name)
        self.assertGreater(strided, 5)
        self.assertGreater(views, 300)


class Slices(Folder):
    def setUp(self):
        super().setUp()
        self.path = self.write(safetensors_file({"w": ("I32", [4, 5, 6], struct.pack("<120i", *range(120)))}))

    def rows(self, how):
        return heft.open(self.path, **how)["w"]

    def test_slices_of_slices(self):
        for how in ({}, {"mmap": False}):
            for loaded in (False, True):
                t = self.rows(how)
                whole = memoryview(self.rows(how)).tolist()
                if loaded:
                    t.raw()
                self.assertEqual(memoryview(t[1:3][1]).tolist(), whole[2])
                self.assertEqual(memoryview(t[2][1:4][0]).tolist(), whole[2][1])
                self.assertEqual(memoryview(t[1:, 2][1:, 3:][0, 1:]).tolist(), whole[2][2][4:])
                self.assertEqual(memoryview(t[..., 1][2, 3:]).tolist(), [row[1] for row in whole[2][3:]])
                self.assertEqual(memoryview(t[1, 2, 3]).tolist(), whole[1][2][3])
                self.assertEqual(t[1:1][:, 2].shape, (0, 6))
                with self.assertRaises(IndexError):
                    t[1:3][2]
                with self.assertRaises(IndexError):
                    t[0][0, 0, 0]

    def test_parts_share_a_view(self):
        t = self.rows({})
        part = t[1:3, 2:, 1]
        self.assertEqual((part.shape, part.strides, part.nbytes), ((2, 3), (30, 6), 24))
        self.assertEqual((part.offset - t.offset, address(part) - address(t)), (4 * 43, 4 * 43))
        memoryview(part)[1, 2] = -1
        self.assertEqual(memoryview(t)[2, 4, 1], -1)
        self.assertEqual(part.tobytes(), struct.pack("<6i", 43, 49, 55, 73, 79, -1))
        self.assertEqual(memoryview(part.copy()).strides, (12, 4))

    def test_parts_of_data_that_were_read(self):
        t = self.rows({"mmap": False})
        before = t[1]
        memoryview(t)[1, 0, 0] = -1
        after = t[1]
        memoryview(after)[0, 1] = -2
        self.assertEqual(memoryview(before).tolist()[0][:2], [30, 31])
        self.assertEqual(memoryview(t).tolist()[1][0][:2], [-1, -2])

    def test_only_their_bytes_are_read(self):
        """Of 256 GB without contents, which no memory holds."""
        shape = [1 << 16, 1 << 20]
        header = f'{{"w":{{"dtype":"F32","shape":{shape},"data_offsets":[0,{4 << 36}]}}}}'.encode()
        header += b" " * (-len(header) % 8)
        path = self.write(struct.pack("<Q", len(header)) + header, "holes.safetensors")
        try:
            os.truncate(path, 8 + len(header) + (4 << 36))
        except OSError as reason:
            self.skipTest(f"no file of 256 GB: {reason}")
        for how in ({}, {"mmap": False}):
            t = heft.open(path, **how).get_slice("w")
            self.assertEqual(t[-1, 5:9].tobytes(), bytes(16))
            self.assertEqual(t[5:7, -3:].tobytes(), bytes(24))
            with open("/proc/self/status") as lines:
                resident = next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))
            self.assertLess(resident, 4 << 20)
        with self.assertRaises((MemoryError, heft.IoError)):
            heft.open(path, mmap=False)["w"].raw()

    def test_strided_buffers(self):
        part = self.rows({})[:, 1, 2:4]
        view = memoryview(part)
        self.assertEqual((view.strides, view.contiguous, view.tolist()[3]), ((120, 4), False, [98, 99]))
        for use in (hashlib.sha256, zlib.crc32, io.BytesIO().write):
            with self.assertRaisesRegex(BufferError, r"copy\(\)"):
                use(part)
        self.assertEqual(zlib.crc32(part.copy()), zlib.crc32(part.tobytes()))
        self.assertEqual(zlib.crc32(part.raw()), zlib.crc32(view.tobytes()))
        column = self.rows({})[:, 1:2, 0]
        self.assertEqual(memoryview(column).tolist(), [[6], [36], [66], [96]])


@unittest.skipUnless(has("torch", "numpy"), "torch or numpy is not installed")
class WithFrameworks(Folder):
    def setUp(self):
        super().setUp()
        import torch

        self.base = torch.arange(24.0).reshape(4, 6)
        self.path = self.folder / "a.pt"
        torch.save({"a": self.base, "t": self.base.t(), "b": self.base[1:, ::2], "same": self.base,
                    "s": torch.tensor(5.0), "e": torch.empty(0, 3), "x": torch.ones(1, 1).expand(3, 4),
                    "h": torch.arange(6).to(torch.bfloat16)}, self.path)
        self.before = self.path.read_bytes()

    def tearDown(self):
        self.assertEqual(self.path.read_bytes(), self.before)

    def wanted(self):
        import torch

        return torch.load(self.path, weights_only=True)

    def test_layout(self):
        import torch

        for how in ({}, {"mmap": False}):
            c = heft.open(self.path, **how)
            for name, wanted in self.wanted().items():
                for got in (c[name].torch(), torch.from_dlpack(c[name]), c[name].torch(copy=True),
                            heft.open(self.path, framework="pt", **how)[name]):
                    self.assertEqual((got.shape, got.dtype), (wanted.shape, wanted.dtype), name)
                    self.assertTrue(torch.equal(got, wanted), name)
                if not how and wanted.numel() > 1:
                    self.assertEqual(c[name].torch().stride(), wanted.stride(), name)
                    self.assertTrue(c[name].torch(copy=True).is_contiguous())

    def test_tied(self):
        c = heft.open(self.path, framework="pt")
        self.assertEqual(c["a"].data_ptr(), c["same"].data_ptr())
        self.assertEqual(c["a"].data_ptr(), c["t"].data_ptr())
        self.assertEqual(c["a"][1:].data_ptr(), c["b"].data_ptr())
        c["t"][2, 3] = -1
        self.assertEqual((c["same"][3, 2], c["b"][2, 1]), (-1, -1))

    def test_in_place(self):
        import numpy
        import torch

        c = heft.open(self.path)
        for name in ("a", "b", "t", "s", "h"):
            tensor = c[name]
            before = tensor.torch().clone()
            torch.from_dlpack(tensor).add_(1)
            tensor.torch().mul_(2)
            self.assertTrue(torch.equal(tensor.torch(), (before + 1) * 2), name)
        array = c["b"].numpy()
        array += 1
        numpy.asarray(c["b"])[0, 0] = 100
        numpy.from_dlpack(c["a"])[3, 5] = 200
        self.assertEqual((c["b"].torch()[0, 0], c["same"].torch()[3, 5]), (100, 200))
        for name, tensor in heft.open(self.path, framework="pt").items():
            self.assertTrue(torch.equal(tensor, self.wanted()[name]), name)

    def test_numpy_layout(self):
        import numpy

        c = heft.open(self.path)
        for name in ("a", "t", "b", "s", "e", "x"):
            wanted = self.wanted()[name].numpy()
            for got in (c[name].numpy(), numpy.asarray(c[name]), numpy.from_dlpack(c[name]), numpy.array(c[name]),
                        heft.open(self.path, framework="np")[name]):
                self.assertTrue(numpy.array_equal(got, wanted), name)
            if wanted.size:
                self.assertEqual(c[name].numpy().strides, wanted.strides, name)
        self.assertEqual(numpy.asarray(c["a"], dtype="f8").dtype, numpy.float64)
        with self.assertRaises(ValueError):
            numpy.asarray(c["a"], dtype="f8", copy=False)

    def test_frameworks_outlive_everything(self):
        import torch

        with heft.open(self.path) as c:
            kept = [c["a"].torch(), torch.from_dlpack(c["a"]), torch.from_numpy(c["a"].numpy()),
                    torch.utils.dlpack.from_dlpack(c["a"].__dlpack__()), torch.from_numpy(c["t"][2:].numpy()).t()]
        with heft.open(self.path, framework="pt") as c:
            kept.append(c["a"])
        del c
        gc.collect()
        self.assertEqual([float(x[1, 1]) for x in kept], [7, 7, 7, 7, 9, 7])

    def test_released_by_other_threads(self):
        tensors = [[heft.open(self.path, framework="pt")["a"] for _ in range(50)] for _ in range(4)]
        threads = [threading.Thread(target=some.clear) for some in tensors]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def test_alive_at_exit(self):
        """Tensors that torch, or a module, still has when the interpreter ends."""
        code = f"""if True:
            import heft, torch, sys, atexit
            c = heft.open({str(self.path)!r}, framework="pt")
            torch.kept, sys.kept = c["a"], heft.open({str(self.path)!r})["t"].numpy()
            autograd = (c["a"].requires_grad_() * 2).sum(); autograd.backward()
            atexit.register(lambda: print(float(torch.kept[0, 1])))
        """
        ran = subprocess.run([sys.executable, "-X", "faulthandler", "-c", code], capture_output=True, text=True)
        self.assertEqual((ran.returncode, ran.stdout), (0, "1.0\n"), ran.stderr)

    def test_device(self):
        import torch

        for device in ("meta", torch.device("meta")):
            self.assertEqual(heft.open(self.path, framework="pt", device=device)["a"].device.type, "meta")
        self.assertEqual(heft.open(self.path, framework="pt", device=torch.device("cpu"))["a"].tolist(),
                         self.base.tolist())
        self.assertEqual(heft.load_file(self.path, framework="pt", device="meta")["a"].shape, (4, 6))
        with self.assertRaises(RuntimeError):
            heft.open(self.path, framework="pt", device="nothing")
        for framework in (None, "np"):
            with self.assertRaisesRegex(ValueError, "framework='pt'"):
                heft.open(self.path, framework=framework, device="cuda")

    @unittest.skipUnless(has("safetensors"), "safetensors is not installed")
    def test_as_safe_open(self):
        import torch
        from safetensors import safe_open
        from safetensors.torch import save_file

        path = self.folder / "a.safetensors"
        for metadata in (None, {"format": "pt", "a": "b"}):
            save_file({"w": torch.arange(6.0).reshape(2, 3), "b": torch.ones(2), "a": torch.ones(3).half()}, path,
                      metadata)
            with safe_open(path, "pt") as theirs, heft.open(path, framework="pt") as ours:
                self.assertEqual(theirs.metadata(), ours.metadata())
                self.assertEqual(theirs.offset_keys(), ours.offset_keys())
                self.assertEqual(sorted(theirs.keys()), sorted(ours.keys()))
                for name in theirs.keys():  # noqa: SIM118
                    self.assertTrue(torch.equal(theirs.get_tensor(name), ours.get_tensor(name)))


class Pickling(unittest.TestCase):
    def test_refused(self):
        import pickle

        c = heft.open(EXAMPLE)
        with self.assertRaisesRegex(TypeError, "pass the path"):
            pickle.dumps(c)
        with self.assertRaises(TypeError):
            pickle.dumps(c["model.bias"])


if __name__ == "__main__":
    unittest.main()
