"""Exceptions of heft.

Every error of the library is an `Error` with a code, and the file and the byte offset where there are any. Some are
also the exception that Python raises in such a case:

    code           class              also
    "io"           IoError            OSError with errno; FileNotFoundError, PermissionError and so on
    "malformed"    MalformedError     ValueError: the file is invalid
    "unsupported"  UnsupportedError   the file may be valid, but uses a feature that heft lacks
    "limit"        LimitError         a limit of `heft.open` is exceeded
    "unsafe"       UnsafeError        a dangerous path or construct, which is never followed
    "mismatch"     MismatchError      a checksum or a comparison does not match
    "usage"        UsageError         ValueError: the call is wrong
    "cancelled"    CancelledError     a callback returned False

MemoryError is raised as it is, and so is what a callback raises: KeyboardInterrupt ends a conversion. All of them can
be pickled.
"""

from __future__ import annotations

import errno as _errno
from typing import Any

__all__ = [
    "CancelledError", "Error", "IoError", "LimitError", "MalformedError", "MismatchError", "UnknownTokenError",
    "UnsafeError", "UnsupportedError", "UsageError",
]


class Error(Exception):
    """Error of heft.

    code: one of the texts above.
    text: one line: what was found, and what was expected.
    file: path of the file; None if there is none.
    offset: byte offset in the file (or in the text that was encoded); None if there is none.
    """

    code = "error"

    def __init__(self, text: str, file: str | None = None, offset: int | None = None) -> None:
        super().__init__(text)
        self.text = text
        self.file = file
        self.offset = offset

    def __str__(self) -> str:
        where = f"{self.file}: " if self.file is not None else ""
        if self.offset is not None:
            where += f"offset {self.offset:#x}: "
        return where + self.text

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.text, self.file, self.offset)


class MalformedError(Error, ValueError):
    """The file, or the text, is invalid."""

    code = "malformed"


class UnknownTokenError(MalformedError, KeyError):
    """A token id without bytes; `offset` is its index in the sequence."""

    __str__ = Error.__str__


class UnsupportedError(Error):
    """The file may be valid, but uses a feature that heft lacks."""

    code = "unsupported"


class LimitError(Error):
    """A limit is exceeded: the message names it."""

    code = "limit"


class UnsafeError(Error):
    """A dangerous path or construct, which is never followed."""

    code = "unsafe"


class MismatchError(Error):
    """A checksum or a comparison does not match."""

    code = "mismatch"


class UsageError(Error, ValueError):
    """The call is wrong: an unknown name, an existing output, an invalid option."""

    code = "usage"


class CancelledError(Error):
    """A callback returned False."""

    code = "cancelled"


class IoError(Error, OSError):
    """A system call failed. `errno` and `filename` are set where they are known."""

    code = "io"

    def __init__(
        self, text: str, file: str | None = None, offset: int | None = None, system_error: int | None = None,
    ) -> None:
        super().__init__(text, file, offset)
        self.errno = system_error
        self.strerror = text
        self.filename = file

    __str__ = Error.__str__

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.text, self.file, self.offset, self.errno)


class _NotFound(IoError, FileNotFoundError):
    pass


class _Exists(IoError, FileExistsError):
    pass


class _Permission(IoError, PermissionError):
    pass


class _IsDirectory(IoError, IsADirectoryError):
    pass


class _NotDirectory(IoError, NotADirectoryError):
    pass


_BY_ERRNO: dict[int, type[IoError]] = {
    _errno.ENOENT: _NotFound, _errno.EEXIST: _Exists, _errno.EACCES: _Permission, _errno.EPERM: _Permission,
    _errno.EISDIR: _IsDirectory, _errno.ENOTDIR: _NotDirectory,
}

# By the number of enum heft_code.
_CLASSES: dict[int, type[Error]] = {
    3: MalformedError, 4: UnsupportedError, 5: LimitError, 6: UnsafeError, 7: MismatchError, 8: UsageError,
    9: CancelledError,
}


def make(code: int, text: str, file: str | None, offset: int | None, system_error: int = 0) -> Error:
    """The exception for an error of the library; the extension module calls it."""
    if code == 2:
        return _BY_ERRNO.get(system_error, IoError)(text, file, offset, system_error or None)
    return _CLASSES.get(code, Error)(text, file, offset)


def refused(token: str) -> ValueError:
    """A text contains a special token that is not allowed."""
    return UsageError(
        f"the text contains the special token {token!r}: pass it in allowed_special to encode it as that token, or "
        f"disallowed_special=() to encode it as ordinary text")


def unknown_token(token: int, index: int) -> UnknownTokenError:
    return UnknownTokenError(f"token {token} at index {index} is not in the vocabulary", None, index)
