"""Tokens: the library, compared with tiktoken, the tokenizers package, and GPT-2's rules in Python.

The vocabulary is the built-in one; its tokens are read through the library."""

import base64
import ctypes
import json
import pathlib
import random

import numpy
import regex
import tiktoken
import tokenizers

from common import HEFT, Suite, heft

PATTERN = (r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")
END = "<|endoftext|>"
VECTORS = pathlib.Path(__file__).resolve().parents[3] / "shared/data/gpt2/vectors.jsonl"
STRINGS = 100_000
PARTS = ["a", "Z", "the", "ing", "ation", " the", "s", "t", "re", "ll", "ve", "d", "m", "'", "'",
         "1", "9", "2026", " ", "  ", "\n", "\n\n", "\t", "\r\n", ".", "!", "_", "é", "ß", "中", "語", "한",
         "\u0301", "\u00a0", "\u3000", "\u2028", "\u0085", "\u200b", "\ufeff", "\u180e", "\u1680", "²",
         "Ⅷ", "٣", "\U0001f600", "\u200d", "\ufe0f", "\U00020000", "\U0010ffff", "\x00", "\x1c", "x", "y",
         "q", "zz", "http://", "def ", "();", "    ", END]


class Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("system_error", ctypes.c_int), ("offset", ctypes.c_uint64),
                ("file", ctypes.c_char * 256), ("text", ctypes.c_char * 400)]


class VocabOptions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("pattern", ctypes.c_char_p), ("eot_token", ctypes.c_char_p),
                ("normalize", ctypes.c_char_p)]


class EncoderOptions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("unicode", ctypes.c_char_p), ("cache", ctypes.c_size_t),
                ("special", ctypes.c_bool)]


def load():
    library = ctypes.CDLL(str(pathlib.Path(HEFT).absolute().parent / "libheft.so"))
    for name in ("heft_vocab_open_with", "heft_encoder_new", "heft_vocab_token"):
        getattr(library, name).restype = ctypes.c_void_p
    library.heft_vocab_size.restype = ctypes.c_uint32
    library.heft_encode.restype = ctypes.c_bool
    return library


class Vocabulary:
    """path None: the built-in vocabulary. `encode` is the function heft_encode."""

    def __init__(self, library, path=None, unicode=None, pattern=None):
        self.library, self.error = library, Error()
        chosen = VocabOptions(ctypes.sizeof(VocabOptions), pattern, None, None)
        self.handle = library.heft_vocab_open_with(str(path).encode() if path else None,
                                                   ctypes.byref(chosen), ctypes.byref(self.error))
        self.encoder = None
        if not self.handle:
            raise ValueError(self.error.text.decode())
        options = EncoderOptions(ctypes.sizeof(EncoderOptions), unicode.encode() if unicode else None, 0)
        self.encoder = library.heft_encoder_new(ctypes.c_void_p(self.handle), ctypes.byref(options),
                                                ctypes.byref(self.error))
        self.room = (ctypes.c_uint32 * 65536)()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.library.heft_encoder_free(ctypes.c_void_p(self.encoder))
        self.library.heft_vocab_close(ctypes.c_void_p(self.handle))

    def encode(self, text):
        data = text.encode()
        count = ctypes.c_size_t()
        if not self.library.heft_encode(ctypes.c_void_p(self.encoder), data,
                                        ctypes.c_size_t(len(data)), self.room,
                                        ctypes.c_size_t(len(self.room)), ctypes.byref(count),
                                        ctypes.byref(self.error)):
            raise ValueError(self.error.text.decode())
        return self.room[:count.value]

    def tokens(self):
        """{id: bytes}, including the end of text."""
        found, n = {}, ctypes.c_size_t()
        for number in range(self.library.heft_vocab_size(ctypes.c_void_p(self.handle))):
            at = self.library.heft_vocab_token(ctypes.c_void_p(self.handle), ctypes.c_uint32(number),
                                               ctypes.byref(n))
            if at:
                found[number] = ctypes.string_at(at, n.value)
        return found


class Port:
    """Rules of encoder.py: split by the pattern, then merge all occurrences of the pair with the lowest
    rank."""

    def __init__(self, tokens):
        self.ids = {token: number for number, token in tokens.items()}
        self.find = regex.compile(PATTERN).findall
        self.cache = {}

    def merge(self, word):
        parts = [bytes([byte]) for byte in word]
        while len(parts) > 1:
            pairs = [self.ids.get(a + b, 1 << 30) for a, b in zip(parts, parts[1:])]
            best = min(pairs)
            if best == 1 << 30:
                break
            merged, at = [], 0
            while at < len(parts):
                if at + 1 < len(parts) and self.ids.get(parts[at] + parts[at + 1]) == best:
                    merged.append(parts[at] + parts[at + 1])
                    at += 2
                else:
                    merged.append(parts[at])
                    at += 1
            parts = merged
        return [self.ids[part] for part in parts]

    def encode(self, text):
        ids = []
        for word in self.find(text):
            if word not in self.cache:
                self.cache[word] = self.merge(word.encode())
            ids += self.cache[word]
        return ids


def strings(seed, count):
    rng = random.Random(seed)
    for _ in range(count):
        yield "".join(rng.choices(PARTS, k=rng.randrange(1, 30)))


def agree(suite, what, pairs):
    """One check for many comparisons; shows the first differences."""
    wrong = [(text, got, wanted) for text, got, wanted in pairs if got != wanted]
    suite.check(not wrong, what, f"{len(wrong)} differ: " + "; ".join(
        f"{text!r}: {got}, not {wanted}" for text, got, wanted in wrong[:3]))


def vectors(suite, vocabulary):
    if not VECTORS.is_file():
        suite.skip(f"the vectors of the original: {VECTORS.name} is not there")
        return
    rows = [json.loads(line) for line in VECTORS.read_text(encoding="utf-8").splitlines()]
    agree(suite, f"{len(rows)} vectors of the original",
          ((row["text"], vocabulary.encode(row["text"]), row["ids"]) for row in rows))


def generated(suite, library, oracle, port, tokens):
    with Vocabulary(library, unicode="16.0") as of_16, Vocabulary(library) as of_17:
        agree(suite, f"{STRINGS} strings as tiktoken has them",
              ((text, of_16.encode(text), oracle.encode_ordinary(text))
               for text in strings(1, STRINGS)))
        agree(suite, f"{STRINGS} strings by the original's rules",
              ((text, of_17.encode(text), port.encode(text)) for text in strings(2, STRINGS)))
        every_character(suite, of_16, oracle)


def every_character(suite, vocabulary, oracle):
    for name, shape in (("alone", "{}"), ("after a letter", "a{}"), ("before a letter", "{}a"),
                        ("before 's", "{}'s")):
        agree(suite, f"every code point {name}",
              ((text, vocabulary.encode(text), oracle.encode_ordinary(text))
               for text in (shape.format(chr(c)) for c in range(0x110000)
                            if not 0xD800 <= c < 0xE000)))


def alphabet():
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    letters = {byte: chr(byte) for byte in plain}
    for byte in range(256):
        letters.setdefault(byte, chr(256 + len(letters) - len(plain)))
    return letters


def merges_of(port, tokens, letters):
    """Merges that make each token: its bytes merged by all ranks below its own."""
    for number in range(256, 50256):
        parts = [bytes([byte]) for byte in tokens[number]]
        while len(parts) > 2:
            ranks = [port.ids.get(a + b, 1 << 30) for a, b in zip(parts, parts[1:])]
            at = ranks.index(min(ranks))
            parts[at:at + 2] = [parts[at] + parts[at + 1]]
        yield tuple("".join(letters[byte] for byte in part) for part in parts)


def tokenizer_json(suite, library, tokens, port, folder):
    letters = alphabet()
    vocab = {"".join(letters[byte] for byte in token): number
             for number, token in tokens.items() if number < 50256}
    model = tokenizers.models.BPE(vocab={**vocab, END: 50256},
                                  merges=list(merges_of(port, tokens, letters)))
    reference = tokenizers.Tokenizer(model)
    splits = tokenizers.pre_tokenizers
    forms = {"ByteLevel": splits.ByteLevel(add_prefix_space=False),
             "Split": splits.Sequence([splits.Split(tokenizers.Regex(PATTERN), "isolated"),
                                       splits.ByteLevel(add_prefix_space=False, use_regex=False)])}
    texts = [text for text in strings(3, 5000) if END not in text]
    for name, form in forms.items():
        reference.pre_tokenizer = form
        reference.add_special_tokens([END])
        path = folder / f"{name}.json"
        reference.save(str(path))
        with Vocabulary(library, path) as vocabulary:
            agree(suite, f"tokenizer.json with {name}",
                  ((text, vocabulary.encode(text), reference.encode(text).ids) for text in texts))


def random_ranks(rng):
    """All bytes, and random strings of few letters in random order, many of which no merge produces."""
    words = {"".join(rng.choices("abc", k=rng.randrange(2, 7))).encode()
             for _ in range(rng.randrange(5, 60))}
    order = sorted(words, key=lambda word: (rng.random(), word))
    return {**{bytes([byte]): byte for byte in range(256)},
            **{word: 256 + number for number, word in enumerate(order)}}


def rank_files(suite, library, folder):
    rng = random.Random(4)
    for number in range(60):
        ranks = random_ranks(rng)
        path = folder / "random.tiktoken"
        path.write_text("".join(f"{base64.b64encode(token).decode()} {rank}\n"
                                for token, rank in ranks.items()))
        oracle = tiktoken.Encoding("random", pat_str=PATTERN, mergeable_ranks=ranks,
                                   special_tokens={})
        texts = ["".join(rng.choices("aaabbbccc ", k=rng.choice((8, 30, 200)))) for _ in range(200)]
        with Vocabulary(library, path, pattern=b"gpt2") as vocabulary:
            agree(suite, f"random ranks {number}", (
                (text, vocabulary.encode(text), oracle.encode_ordinary(text)) for text in texts))


def decoding(suite, tokens, folder):
    rng = numpy.random.default_rng(5)
    ids = rng.integers(0, 50257, 200_000)
    ids[::2] = rng.integers(94, 256, 100_000)
    wanted = b"".join(tokens[number] for number in ids.tolist()).decode("utf-8", "replace").encode()
    numpy.save(folder / "a.npy", ids)
    numpy.savez(folder / "b.npz", ids[:70_000], ids[70_000:].astype("<i4"))
    numpy.savez_compressed(folder / "c.npz", ids[:70_000], ids[:0], ids[70_000:])
    ids.astype("<u2").tofile(folder / "d.bin")
    for name in ("a.npy", "b.npz", "c.npz", "d.bin"):
        ran = heft("decode", folder / name)
        suite.check(ran.out == wanted, f"decode {name}", ran.line)


def run(folder):
    suite = Suite("tokens as tiktoken, tokenizers and the original have them")
    library = load()
    try:
        with Vocabulary(library) as vocabulary:
            tokens = vocabulary.tokens()
            vectors(suite, vocabulary)
    except ValueError as reason:
        suite.skip(f"GPT-2's vocabulary: {reason}")
        rank_files(suite, library, folder)
        return suite
    ranks = {token: number for number, token in tokens.items() if number < 50256}
    oracle = tiktoken.Encoding("gpt2", pat_str=PATTERN, mergeable_ranks=ranks,
                               special_tokens={END: 50256})
    port = Port({number: token for number, token in tokens.items() if number < 50256})
    generated(suite, library, oracle, port, tokens)
    tokenizer_json(suite, library, tokens, port, folder)
    rank_files(suite, library, folder)
    decoding(suite, tokens, folder)
    return suite
