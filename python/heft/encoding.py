"""Text to tokens and back, with the names of tiktoken.

    import heft

    enc = heft.get_encoding("gpt2")
    enc.encode("hello world")             # [31373, 995]
    enc.decode([31373, 995])              # 'hello world'
    enc = heft.from_file("models/117M")   # whatever heft encode --vocab takes
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import warnings
from typing import TYPE_CHECKING, Any, Literal

from heft import _heft
from heft.errors import MismatchError, UsageError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence, Set

    import numpy as np
    import numpy.typing as npt
    from typing_extensions import Buffer

    Text = str | Buffer
    Tokens = Sequence[int] | Buffer

__all__ = ["Encoding", "from_file", "get_encoding", "list_encoding_names"]

_BUILT_IN = ("gpt2", "r50k_base")
_TIKTOKEN_UNICODE = "16.0"
# Files that belong to a vocabulary when they lie beside each other.
_PARTS = ("vocab.bpe", "encoder.json", "merges.txt", "vocab.json", "tokenizer.json", "tokenizer_config.json",
          "added_tokens.json", "special_tokens_map.json")
_NONE: frozenset[str] = frozenset()
Special = tuple[tuple[bytes, int], ...]


class Encoding(_heft.Encoding):
    """Vocabulary that encodes and decodes; made by `get_encoding` and `from_file`.

    It never changes: threads may share it, and a forked process may go on using it. It can be pickled: by its name, or
    by the path of its files, whose SHA-256 is compared when it is opened again. Text is a str, or UTF-8 in bytes or
    any object with the buffer protocol. The GIL is released while longer texts are encoded.
    """

    name: str

    def __init__(self, path: str | None, pattern: str | None, eot_token: str | None, unicode: str | None) -> None:
        self.name = path if path is not None else "gpt2"
        self._path, self._pattern, self._eot, self._unicode = path, pattern, eot_token, unicode
        self._sha256 = _digest(path) if path is not None else None
        self._special_tokens = self._find_special()
        self._all: Special = tuple((text.encode(), token) for text, token in self._special_tokens.items())

    def _find_special(self) -> dict[str, int]:
        """Those of the files, and the end of text; without one that is not text."""
        found = {}
        for text, token in self._specials():
            with contextlib.suppress(UnicodeDecodeError):
                found[text.decode()] = token
        return found

    def __repr__(self) -> str:
        return f"<Encoding {self.name!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        if self._path is None:
            return get_encoding, (self.name, self._unicode)
        return _reopen, (self._path, self._pattern, self._eot, self._unicode, self._sha256)

    # ---- encoding ----

    def _allowed(self, allowed_special: Literal["all"] | Set[str]) -> Special:
        if not allowed_special:
            return ()
        if allowed_special == "all":
            return self._all
        return tuple((text, token) for text, token in self._all if text.decode() in allowed_special)

    def _refused(self, allowed: Special, disallowed_special: Literal["all"] | Collection[str]) -> Special:
        if disallowed_special == "all":
            return self._all if not allowed else tuple(pair for pair in self._all if pair not in allowed)
        return tuple((text.encode("utf-8", "surrogatepass"), 0) for text in disallowed_special)

    def encode(self, text: Text, *, allowed_special: Literal["all"] | Set[str] = _NONE,
               disallowed_special: Literal["all"] | Collection[str] = "all") -> list[int]:
        """Encodes a text to a list of ids.

        allowed_special: special tokens that become their ids: a set of texts, or "all".
        disallowed_special: special tokens that must not occur: a ValueError names the first one. "all" means all that
        are not allowed; () encodes them as ordinary text.
        """
        allowed = self._allowed(allowed_special)
        return self._encode(text, allowed, self._refused(allowed, disallowed_special))

    def encode_to_numpy(self, text: Text, *, allowed_special: Literal["all"] | Set[str] = _NONE,
                        disallowed_special: Literal["all"] | Collection[str] = "all") -> npt.NDArray[np.uint32]:
        """As `encode`, but the result is an array of uint32, without a list in between. ImportError without numpy."""
        import numpy

        allowed = self._allowed(allowed_special)
        ids = self._encode_ids(text, allowed, self._refused(allowed, disallowed_special))
        return numpy.frombuffer(ids, dtype=numpy.uint32)

    def encode_batch(self, text: Iterable[Text], *, num_threads: int = 8,
                     allowed_special: Literal["all"] | Set[str] = _NONE,
                     disallowed_special: Literal["all"] | Collection[str] = "all") -> list[list[int]]:
        """Encodes several texts, as `encode`, with at most `num_threads` threads and no more than there are cores."""
        allowed = self._allowed(allowed_special)
        return self._batch(text, allowed, self._refused(allowed, disallowed_special), num_threads)

    def encode_ordinary_batch(self, text: Iterable[Text], *, num_threads: int = 8) -> list[list[int]]:
        """Encodes several texts, as `encode_ordinary`; threads as in `encode_batch`."""
        return self._batch(text, (), (), num_threads)

    def _batch(self, text: Iterable[Text], allowed: Special, refused: Special, num_threads: int) -> list[list[int]]:
        _require_several(text)
        return self._encode_batch(text, allowed, refused, min(num_threads, _cores()))

    def encode_batch_packed(self, text: Iterable[Text], *, num_threads: int = 8,
                            allowed_special: Literal["all"] | Set[str] = _NONE,
                            disallowed_special: Literal["all"] | Collection[str] = "all") -> tuple[Any, Any]:
        """As `encode_batch`, but (ids, offsets): the ids of all texts in one array of uint32, those of text i are
        ids[offsets[i]:offsets[i + 1]]; offsets are int64, one more than texts. Arrays of numpy if it is installed, else
        memoryviews. No list is made, which for short texts takes longer than encoding them.
        """
        _require_several(text)
        allowed = self._allowed(allowed_special)
        refused = self._refused(allowed, disallowed_special)
        return _as_arrays(self._encode_packed(text, allowed, refused, min(num_threads, _cores())))

    def encode_ordinary_batch_packed(self, text: Iterable[Text], *, num_threads: int = 8) -> tuple[Any, Any]:
        """As `encode_batch_packed`, but special tokens are text."""
        _require_several(text)
        return _as_arrays(self._encode_packed(text, (), (), min(num_threads, _cores())))

    def encode_arrow(self, array: Any, *, num_threads: int = 8, allowed_special: Literal["all"] | Set[str] = _NONE,
                     disallowed_special: Literal["all"] | Collection[str] = ()) -> Any:
        """Encodes an array of Arrow: string, binary, large or not, or views of them. The texts are read where they lie.

        array: any object with __arrow_c_array__ (of pyarrow, polars, nanoarrow), or a chunked array of pyarrow.
        Returns a pyarrow.LargeListArray of uint32, whose nulls are those of `array`; of a chunked array one with the
        same chunks; without pyarrow an object with __arrow_c_array__. Special tokens are text unless
        disallowed_special says otherwise. TypeError for arrays of another type; MalformedError with the byte offset
        for bytes that are not UTF-8.
        """
        allowed = self._allowed(allowed_special)
        refused = self._refused(allowed, disallowed_special)
        threads = min(num_threads, _cores())
        if hasattr(array, "chunks") and not hasattr(array, "__arrow_c_array__"):
            import pyarrow

            chunks = [self._arrow(chunk, allowed, refused, threads) for chunk in array.chunks]
            return pyarrow.chunked_array(chunks, type=pyarrow.large_list(_item_of(pyarrow)))
        return self._arrow(array, allowed, refused, threads)

    def _arrow(self, array: Any, allowed: Special, refused: Special, threads: int) -> Any:
        if not hasattr(array, "__arrow_c_array__"):
            raise TypeError(f"expected an array of Arrow, with __arrow_c_array__, not {type(array).__name__}")
        schema, texts = array.__arrow_c_array__()
        made = ArrowArray(*self._encode_arrow(schema, texts, allowed, refused, threads))
        try:
            import pyarrow
        except ImportError:
            return made
        return pyarrow.array(made)

    def encode_single_token(self, text_or_bytes: str | bytes) -> int:
        """Id of a token, special ones included. KeyError if the text is not one token."""
        token = text_or_bytes.encode() if isinstance(text_or_bytes, str) else text_or_bytes
        return self._ids_by_bytes[token]

    # ---- decoding ----

    def decode(self, tokens: Tokens, errors: str = "replace") -> str:
        """Text of a sequence of ids; `errors` is that of bytes.decode, for bytes that are not UTF-8."""
        return self.decode_bytes(tokens).decode("utf-8", errors)

    def decode_batch(self, batch: Iterable[Tokens], *, errors: str = "replace", num_threads: int = 8) -> list[str]:
        """`decode` of each sequence. num_threads is accepted for tiktoken's callers; one thread is used."""
        return [self.decode_bytes(tokens).decode("utf-8", errors) for tokens in batch]

    def decode_bytes_batch(self, batch: Iterable[Tokens], *, num_threads: int = 8) -> list[bytes]:
        """`decode_bytes` of each sequence; num_threads as in `decode_batch`."""
        return [self.decode_bytes(tokens) for tokens in batch]

    def decode_tokens_bytes(self, tokens: Iterable[int]) -> list[bytes]:
        """Bytes of each id."""
        return [self.decode_single_token_bytes(token) for token in tokens]

    def decode_with_offsets(self, tokens: Iterable[int]) -> tuple[str, list[int]]:
        """Text of ids, and for each of them the index of the first character that has bytes of it."""
        pieces = self.decode_tokens_bytes(tokens)
        offsets, length = [], 0
        for piece in pieces:
            offsets.append(max(0, length - (0x80 <= piece[0] < 0xC0)))
            length += sum(not 0x80 <= byte < 0xC0 for byte in piece)
        return b"".join(pieces).decode("utf-8"), offsets

    # ---- the vocabulary ----

    @functools.cached_property
    def _ids_by_bytes(self) -> dict[bytes, int]:
        return {token: number for number, token in enumerate(self._tokens()) if token is not None}

    def token_byte_values(self) -> list[bytes]:
        """Bytes of all tokens but the special ones, in their order as bytes."""
        special = set(self._special_tokens.values())
        return sorted(token for number, token in enumerate(self._tokens())
                      if token is not None and number not in special)

    @property
    def max_token_value(self) -> int:
        """Highest id."""
        return self.n_vocab - 1

    @property
    def eot_token(self) -> int:
        """Id of <|endoftext|>, or of the token that `from_file` was given. KeyError if there is none."""
        if self._end is None:
            raise KeyError("<|endoftext|>")
        return self._end

    @functools.cached_property
    def special_tokens_set(self) -> set[str]:
        """Texts of the special tokens."""
        return set(self._special_tokens)

    def is_special_token(self, token: int) -> bool:
        return token in self._special_tokens.values()


class ArrowArray:
    """large_list<uint32> of Arrow's C data interface, for one consumer: pyarrow.array(…), polars.Series(…)."""

    def __init__(self, schema: Any, array: Any) -> None:
        self._capsules = schema, array

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]:
        return self._capsules


def _item_of(pyarrow: Any) -> Any:
    """The field of the ids, as in the schema of the arrays."""
    return pyarrow.field("item", pyarrow.uint32(), nullable=False)


def _require_several(text: Any) -> None:
    if isinstance(text, (str, bytes, bytearray, memoryview)):
        raise TypeError("expected several texts, not one")


def _as_arrays(packed: tuple[memoryview, memoryview]) -> tuple[Any, Any]:
    try:
        import numpy
    except ImportError:
        return packed
    return numpy.frombuffer(packed[0], numpy.uint32), numpy.frombuffer(packed[1], numpy.int64)


def _cores() -> int:
    return len(os.sched_getaffinity(0))


def _digest(path: str) -> str:
    """SHA-256 of the names and contents of a vocabulary's files."""
    folder = path if os.path.isdir(path) else os.path.dirname(path)
    names = {os.path.join(folder, name) for name in _PARTS} | {path}
    state = hashlib.sha256()
    for name in sorted(name for name in names if os.path.isfile(name)):
        with open(name, "rb") as file:
            one = hashlib.file_digest(file, "sha256")
        state.update(os.path.basename(name).encode("utf-8", "surrogateescape") + b"\0" + one.digest())
    return state.hexdigest()


def _reopen(path: str, pattern: str | None, eot_token: str | None, unicode: str | None, sha256: str) -> Encoding:
    """Opens the files of a pickled encoding; they must be the same."""
    encoding = Encoding(path, pattern, eot_token, unicode)
    if encoding._sha256 != sha256:
        raise MismatchError("the files of the vocabulary differ from those of the pickled encoding", path)
    return encoding


@functools.lru_cache(maxsize=16)
def _built_in(unicode: str | None) -> Encoding:
    return Encoding(None, None, None, unicode)


def get_encoding(name: str = "gpt2", unicode: str | None = _TIKTOKEN_UNICODE) -> Encoding:
    """Vocabulary that is built in: "gpt2", or "r50k_base", which is the same. Equal calls return one object.

    unicode: version of Unicode that defines letters and numbers, "9.0" to "17.0". The default is that of tiktoken.
    ValueError for another name: `from_file` opens files.
    """
    if name not in _BUILT_IN:
        raise UsageError(f"encoding {name!r} is not built in, only {' and '.join(_BUILT_IN)}: open its files with "
                         "heft.from_file")
    return _built_in(unicode)


def list_encoding_names() -> list[str]:
    """Names that `get_encoding` takes."""
    return list(_BUILT_IN)


def from_file(path: str | os.PathLike[str], pattern: str | None = None, *, eot_token: str | int | None = None,
              unicode: str | None = None) -> Encoding:
    """Vocabulary in files: a directory with vocab.bpe and encoder.json, a tokenizer.json, ranks as X.tiktoken, a
    tekken.json, and whatever else `heft encode --vocab` takes.

    pattern: split pattern, if the files do not state one: the name of a family ("gpt4", "llama3", "qwen2", "o200k", …)
        or a regular expression as tiktoken reads it; published vocabularies need none.
    eot_token: end of text: the text of a token, or an id.
    unicode: as in `get_encoding`; None: that of the format's library.
    What the files ask for and is ignored is a UserWarning. Raises UnsupportedError, on encoding, if it is not known
    how the vocabulary splits texts; MalformedError for invalid files.
    """
    place = os.path.abspath(os.fsdecode(path))
    encoding = Encoding(place, pattern, None if eot_token is None else str(eot_token), unicode)
    notes = encoding._notes(False)
    if encoding._doubt is not None:
        notes = [f"pattern {pattern!r}: {encoding._doubt}", *notes]
    for note in notes:
        warnings.warn(f"{place}: {note}", stacklevel=2)
    return encoding
