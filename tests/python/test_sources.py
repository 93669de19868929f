"""What checkpoints are opened from: buffers, descriptors, file objects."""

import array
import gc
import gzip
import io
import mmap
import os
import tempfile
import threading
import unittest
import zipfile

import heft
from test_checkpoint import EXAMPLE, FLOATS, GOLDEN, Folder, has, safetensors_file
from test_views import npy, npz

# "x" is larger than what heft keeps of small reads that it joins.
DATA = safetensors_file({"w": ("F32", [2, 3], FLOATS), "x": ("U8", [3000000], bytes(3000000))})


class Slow(io.RawIOBase):
    """File object that counts its calls, returns a part of what is asked for, and raises what it is told."""

    def __init__(self, data, most=1 << 30, name="slow"):
        super().__init__()
        self.name = name
        self.data, self.at, self.most = data, 0, most
        self.reads, self.trouble, self.threads = 0, None, set()

    def seekable(self):
        return True

    def seek(self, offset, whence=0):
        self.at = offset + (len(self.data) if whence == 2 else 0)
        return self.at

    def tell(self):
        return self.at

    def read(self, size=-1):
        self.reads += 1
        self.threads.add(threading.get_ident())
        if self.trouble:
            raise self.trouble
        piece = self.data[self.at:self.at + min(size, self.most)]
        self.at += len(piece)
        return piece


class Buffers(Folder):
    def test_kinds(self):
        path = self.write(DATA)
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            mapped.read(7)  # the position does not matter
            for source in (DATA, bytearray(DATA), memoryview(DATA), mapped, array.array("B", DATA)):
                with heft.open(source) as c:
                    self.assertEqual(c["w"].tobytes(), FLOATS, type(source))
                del c

    def test_kept_while_tensors_need_it(self):
        data = bytearray(DATA)
        with heft.open(data) as c:
            t = c["w"]
        del c
        with self.assertRaises(BufferError):
            data.append(1)
        view = memoryview(t)
        self.assertEqual(view[1, 2], 5.0)
        del t
        view.release()
        gc.collect()
        data.append(1)

    def test_writing_does_not_change_it(self):
        data = bytearray(DATA)
        t = heft.open(data)["w"]
        memoryview(t)[0, 0] = 7.0
        self.assertEqual(data, DATA)

    @unittest.skipUnless(has("numpy"), "numpy is not installed")
    def test_numpy(self):
        import numpy

        data = numpy.frombuffer(DATA, "u1").copy()
        with heft.open(data) as c:
            del data
            gc.collect()
            self.assertEqual(c["w"].tobytes(), FLOATS)
        with self.assertRaises((BufferError, ValueError)):
            heft.open(numpy.frombuffer(DATA + DATA, "u1")[::2])


class Files(Folder):
    def test_descriptor_and_position(self):
        path = self.write(DATA)
        with open(path, "rb") as file:
            file.seek(100)
            c = heft.open(file)
            self.assertEqual(file.tell(), 100)
        self.assertEqual(c["w"].tobytes(), FLOATS)
        memoryview(c["w"])[0, 0] = 5.0
        self.assertEqual((memoryview(c["w"])[0, 0], path.read_bytes()), (5.0, DATA))
        number = os.open(path, os.O_RDONLY)
        c = heft.open(number)
        os.close(number)
        self.assertEqual(c["w"].tobytes(), FLOATS)

    def test_temporary_files(self):
        """What was written is read, also if it has not been flushed."""
        for kind in (tempfile.TemporaryFile, tempfile.NamedTemporaryFile, tempfile.SpooledTemporaryFile):
            with kind() as file:
                file.write(DATA)
                c = heft.open(file)
                self.assertEqual(c["w"].tobytes(), FLOATS, kind)

    def test_bytesio_is_not_locked(self):
        file = io.BytesIO(DATA)
        file.seek(50)
        c = heft.open(file)
        file.write(b"x" * 500)
        file.close()
        self.assertEqual(c["w"].tobytes(), FLOATS)

    def test_what_they_transform(self):
        """gzip's file has the descriptor of the compressed file."""
        packed = self.write(gzip.compress(DATA), "a.gz")
        with gzip.open(packed) as file, heft.open(file) as c:
            self.assertEqual((c["w"].tobytes(), c["x"].nbytes, c["x"].tobytes()), (FLOATS, 3000000, bytes(3000000)))
            self.assertEqual(list(c.files), ["a.gz"])
        with zipfile.ZipFile(self.folder / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("w", DATA)
        with zipfile.ZipFile(self.folder / "a.zip") as archive, archive.open("w") as file, heft.open(file) as c:
            self.assertEqual(c["w"].tobytes(), FLOATS)

    def test_without_seek(self):
        reading, writing = os.pipe()
        with os.fdopen(reading, "rb") as file:
            with os.fdopen(writing, "wb") as other:
                other.write(DATA[:4000] if len(DATA) < 4000 else safetensors_file({"w": ("F32", [2, 3], FLOATS)}))
            self.assertEqual(heft.open(file)["w"].tobytes(), FLOATS)

    def test_wrong_objects(self):
        path = self.write(DATA)
        with open(path, encoding="latin-1") as file, self.assertRaisesRegex(ValueError, "binary mode"):
            heft.open(file)
        for source in (5.5, None, object(), {1: 2}):
            with self.assertRaises(TypeError):
                heft.open(source)
        with self.assertRaisesRegex(ValueError, "binary mode"):
            heft.open(Slow("text" * 100))
        with self.assertRaises(heft.IoError):
            heft.open(999999)


class Callbacks(Folder):
    def test_pieces(self):
        for most in (1 << 30, 10000):
            c = heft.open(Slow(DATA, most))
            self.assertEqual((c["w"].tobytes(), c["x"].tobytes()), (FLOATS, bytes(3000000)))
            self.assertEqual(c["w"][1].tobytes(), FLOATS[12:])
            self.assertEqual([finding for finding in c.verify(progress=False) if finding.severity == "finding"], [])

    def test_few_calls(self):
        file = Slow(EXAMPLE.read_bytes())
        self.assertEqual(len(heft.open(file)), 10)
        self.assertLessEqual(file.reads, 8)

    def test_every_golden_format(self):
        """The same bytes as from the path: of each format one file."""
        seen = set()
        for path in sorted(GOLDEN.rglob("*")):
            if "expected" in path.parts or not path.is_file() or path.is_symlink() or path.suffix in (".py", ".tsv"):
                continue
            try:
                wanted, got = heft.open(path), heft.open(Slow(path.read_bytes(), name=path.name))
            except heft.Error:
                continue
            if len(wanted.files) != 1 or (wanted.format in seen and len(wanted) < 5):
                continue
            if set(wanted) != set(got):  # a part of a distributed save: the files beside it tell
                self.assertEqual(path.parts[len(GOLDEN.parts)], "safetensors-dcp", path)
                continue
            for name, tensor in wanted.items():
                try:
                    self.assertEqual(got[name].tobytes(), tensor.tobytes(), (path, name))
                except heft.UnsupportedError:
                    continue
                seen.add(wanted.format)
        self.assertGreaterEqual(len(seen), 4, seen)

    def test_exceptions_pass_through(self):
        for trouble in (ConnectionError("gone"), KeyboardInterrupt(), ZeroDivisionError()):
            file = Slow(DATA)
            file.trouble = trouble
            with self.assertRaises(type(trouble)) as caught:
                heft.open(file)
            self.assertIs(caught.exception, trouble)
            file.trouble = None
            c = heft.open(file)
            calls = {"read": c["x"].tobytes, "slice": c["x"][2000000:].raw,
                     "stats": lambda c=c: heft.stats(c),
                     "diff": lambda c=c: heft.diff(c, DATA), "diff, second": lambda c=c: heft.diff(DATA, c),
                     "convert": lambda c=c: heft.convert(c, self.folder / "out.npz", progress=False)}
            for name, call in calls.items():
                file.trouble = trouble
                with self.subTest(name), self.assertRaises(type(trouble)) as caught:
                    call()
                self.assertIs(caught.exception, trouble)
                self.assertEqual(list(self.folder.iterdir()), [])
                file.trouble = None
                self.assertEqual(c["x"].tobytes(), bytes(3000000))

    def test_exceptions_of_checks(self):
        """Of a file with checksums, which are compared by threads of the library."""
        path = npz(self.folder / "a.npz", zipfile.ZIP_STORED, w=npy("|u1", (3000000,), bytes(3000000)))
        file = Slow(path.read_bytes())
        c = heft.open(file)
        self.assertIsNone(c["w"].check())
        self.assertEqual(c.verify(progress=False), [])
        for trouble in (ConnectionError("gone"), KeyboardInterrupt()):
            for call in (c["w"].check, lambda: c.verify(progress=False)):
                file.trouble = trouble
                with self.assertRaises(type(trouble)) as caught:
                    call()
                self.assertIs(caught.exception, trouble)
                file.trouble = None
        self.assertIsNone(c["w"].check())

    def test_exception_with_salvage(self):
        """A file that cannot be read is not a damaged one."""
        file = Slow(EXAMPLE.read_bytes())
        file.trouble = ConnectionError("gone")
        with self.assertRaises(ConnectionError):
            heft.open(file, salvage=True)

    def test_shorter_than_it_was(self):
        file = Slow(DATA)
        c = heft.open(file)
        file.data = DATA[:1000]
        with self.assertRaisesRegex(heft.IoError, "ends at 1000"):
            c["x"].tobytes()

    def test_threads(self):
        file = Slow(DATA, 100000)
        c = heft.open(file)
        wrong = []

        def read():
            for _ in range(5):
                wrong.extend(name for name, data in (("w", FLOATS), ("x", bytes(3000000))) if c[name].tobytes() != data)

        threads = [threading.Thread(target=read) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_object_is_released(self):
        file = Slow(DATA)
        with heft.open(file) as c:
            t = c["w"]
        del c
        self.assertEqual(t.tobytes(), FLOATS)
        self.assertFalse(file.closed)
        import weakref

        seen = weakref.ref(file)
        del t, file
        gc.collect()
        self.assertIsNone(seen())


if __name__ == "__main__":
    unittest.main()
