"""Exceptions: their classes, attributes and pickles."""

import errno
import os
import pathlib
import pickle
import tempfile
import unittest

import heft
from heft import errors

KNOWN = [heft.CancelledError, heft.IoError, heft.LimitError, heft.MalformedError, heft.MismatchError, heft.UnsafeError,
         heft.UnsupportedError, heft.UsageError, heft.UnknownTokenError]


class Errors(unittest.TestCase):
    def test_codes(self):
        names = ["io", "malformed", "unsupported", "limit", "unsafe", "mismatch", "usage", "cancelled"]
        for number, name in enumerate(names, 2):
            error = errors.make(number, "what is wrong", "/a/b", 26)
            self.assertIsInstance(error, heft.Error)
            self.assertEqual((error.code, error.text, error.file, error.offset), (name, "what is wrong", "/a/b", 26))
            self.assertEqual(str(error), "/a/b: offset 0x1a: what is wrong")

    def test_also_exceptions_of_python(self):
        self.assertTrue(issubclass(heft.IoError, OSError))
        self.assertTrue(issubclass(heft.UsageError, ValueError))
        self.assertTrue(issubclass(heft.MalformedError, ValueError))
        self.assertTrue(issubclass(heft.UnknownTokenError, KeyError))

    def test_pickle(self):
        for kind in KNOWN:
            for offset in (None, 0, 1 << 60):
                error = kind("text", "file", offset)
                again = pickle.loads(pickle.dumps(error))
                self.assertIs(type(again), kind)
                self.assertEqual((again.args, str(again), again.file, again.offset),
                                 (error.args, str(error), "file", offset))

    def test_errno(self):
        for number in (errno.ENOENT, errno.EACCES, errno.EISDIR, errno.ENOSPC, errno.EEXIST, errno.ENOTDIR):
            error = errors.make(2, "cannot be opened", "x", None, number)
            self.assertEqual((error.errno, error.filename), (number, "x"))
            self.assertIsInstance(error, type(OSError(number, "")))
            self.assertEqual(pickle.loads(pickle.dumps(error)).errno, number)
        for number in (errno.ENOENT, 0):
            self.assertIsNone(errors.make(3, "something else", None, None, number).__dict__.get("errno"))
        self.assertIsNone(errors.make(2, f"file: {os.strerror(errno.ENOENT)}", None, None, 0).errno)

    def test_errno_of_the_library(self):
        with tempfile.TemporaryDirectory() as folder:
            loop = pathlib.Path(folder, "loop")
            loop.symlink_to(loop)
            for path, number in ((loop, errno.ELOOP), (pathlib.Path(folder, "x" * 300), errno.ENAMETOOLONG),
                                 (pathlib.Path(folder, "none"), errno.ENOENT)):
                with self.assertRaises(heft.IoError) as caught:
                    heft.from_file(path)
                self.assertEqual(caught.exception.errno, number)

    def test_name_that_is_no_utf8(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(os.fsdecode(os.fsencode(folder) + b"/\xff\xfe"))
            with self.assertRaises(FileNotFoundError) as caught:
                heft.from_file(path)
            self.assertEqual(caught.exception.file, str(path))


if __name__ == "__main__":
    unittest.main()
