"""What checkpoints are opened from: paths, memory, file objects."""

from __future__ import annotations

import io
import os
import tempfile
import threading
from collections.abc import Sequence
from typing import Any

from heft.errors import IoError, UsageError

__all__ = ["Reader", "source_of"]


class Reader:
    """File object with seek() and read() as the extension module reads it: one thread at a time.

    An exception of the object ends the call of the library; the module then raises it.
    """

    def __init__(self, file: Any) -> None:
        self._file = file
        self._lock = threading.RLock()
        self._error: BaseException | None = None
        name = getattr(file, "name", None)
        self.name = os.path.basename(name) if isinstance(name, str) and os.path.basename(name) else "file object"
        self.name = self.name.encode("utf-8", "replace").decode().replace("\0", "?")
        file.seek(0, os.SEEK_END)
        self.size = int(file.tell())

    def read_at(self, offset: int, size: int) -> bytes:
        """1 to `size` bytes at the offset; b"": it has failed, and take_error() has the reason."""
        try:
            with self._lock:
                self._file.seek(offset)
                piece = self._file.read(size)
            return self._checked(piece, offset, size)
        except BaseException as error:
            self._error = self._error or error
            return b""

    def _checked(self, piece: Any, offset: int, size: int) -> bytes:
        if isinstance(piece, str):
            raise UsageError("the file object reads text: open it in binary mode")
        if piece is None:
            raise BlockingIOError("the file object does not block: there is nothing to read yet")
        data = bytes(piece)
        if not data:
            raise IoError(f"the file object ends at {offset}, {self.size} bytes expected", self.name, offset)
        if len(data) > size:
            raise UsageError(f"read({size}) of the file object has returned {len(data)} bytes")
        return data

    def take_error(self) -> BaseException | None:
        """The exception of a read since the last call."""
        error, self._error = self._error, None
        return error


def _is_buffer(source: Any) -> bool:
    try:
        with memoryview(source):
            return True
    except TypeError:
        return False


def _descriptor(file: Any) -> int | None:
    """Descriptor of a file of the disk; None for other objects, also those that transform what they read, as gzip's."""
    if isinstance(file, tempfile._TemporaryFileWrapper):
        file = file.file
    raw = file.raw if isinstance(file, (io.BufferedReader, io.BufferedRandom)) else file
    if not isinstance(raw, io.FileIO) or not raw.seekable():
        return None
    if isinstance(file, io.BufferedRandom):
        file.flush()
    return raw.fileno()


def _file_source(file: Any) -> Any:
    if isinstance(file, io.TextIOBase):
        raise UsageError("the file object reads text: open it in binary mode")
    if isinstance(file, io.BytesIO):
        return file.getvalue()  # does not copy, nor lock the object, as getbuffer() does
    descriptor = _descriptor(file)
    if descriptor is not None:
        return descriptor
    if hasattr(file, "seek") and not (hasattr(file, "seekable") and not file.seekable()):
        return Reader(file)
    return file.read()


def source_of(source: Any) -> Any:
    """What the extension module opens: a list of paths, a descriptor, a buffer, or a `Reader`."""
    if isinstance(source, (str, os.PathLike)):
        return [os.fspath(source)]
    if isinstance(source, int):
        return int(source)
    if _is_buffer(source):
        return source
    if hasattr(source, "read"):
        return _file_source(source)
    if isinstance(source, Sequence):
        return [os.fspath(path) for path in source]
    raise TypeError(f"expected a path, paths, a buffer or a binary file object, not {type(source).__name__}")
