"""Process for the benches of tokens: libheft through ctypes and the libraries compared with it, so that
all have their text in memory and their tables loaded.

Answers with seconds and the number of ids (tests/interop/answer.py). Runs inside the environment of
tests/interop/requirements-tokens.txt.
"""

import base64
import ctypes
import functools
import json
import os
import pathlib
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "interop"))
from answer import serve  # noqa: E402
from peak import baseline, memory_used  # noqa: E402

PATTERN = (r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+""")
HOME = {}  # objects loaded once: libraries, vocabularies, texts
CODERS = {}  # by name: the encoder left by the last first pass, for warm passes


class HeftError(ctypes.Structure):
    """Memory for struct heft_error, whatever its size."""
    _fields_ = [("room", ctypes.c_char * 4096)]


class VocabOptions(ctypes.Structure):
    """struct heft_vocab_options"""
    _fields_ = [("size", ctypes.c_size_t), ("pattern", ctypes.c_char_p), ("eot_token", ctypes.c_char_p),
                ("normalize", ctypes.c_char_p)]


def setup(library, vocab, store):
    lib = ctypes.CDLL(library)
    for name in ("heft_vocab_open", "heft_vocab_open_with", "heft_encoder_new"):
        getattr(lib, name).restype = ctypes.c_void_p
    lib.heft_vocab_open.argtypes = [ctypes.c_char_p, ctypes.c_void_p]
    lib.heft_vocab_open_with.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p]
    lib.heft_encoder_new.argtypes = [ctypes.c_void_p] * 3
    lib.heft_encoder_free.argtypes = [ctypes.c_void_p]
    lib.heft_vocab_close.argtypes = [ctypes.c_void_p]
    lib.heft_encode.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_void_p,
                                ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p]
    lib.heft_encode.restype = ctypes.c_bool
    HOME.update(lib=lib, folder=pathlib.Path(vocab), store=pathlib.Path(store), error=HeftError())
    HOME["vocab"] = lib.heft_vocab_open(str(HOME["folder"] / "vocab.bpe").encode(),
                                        ctypes.byref(HOME["error"]))
    return {"ok": bool(HOME["vocab"])}


def family(path, scheme, pattern):
    """The vocabulary of a rank file in place of GPT-2's, until `setup` is called again. The peers do not normalize."""
    how = VocabOptions(ctypes.sizeof(VocabOptions), None, None, b"none")
    HOME["lib"].heft_vocab_close(HOME["vocab"])
    HOME["vocab"] = HOME["lib"].heft_vocab_open_with(path.encode(), ctypes.byref(how), ctypes.byref(HOME["error"]))
    HOME.update(ranks=path, scheme=scheme, pattern=pattern)
    return {"ok": bool(HOME["vocab"])}


def alphabet():
    """Character of the vocabulary files → its byte."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in plain]
    return {chr(byte): byte for byte in plain} | {chr(256 + i): byte for i, byte in enumerate(others)}


def merges():
    text = (HOME["folder"] / "vocab.bpe").read_text(encoding="utf-8")
    return text.split("\n")[1:-1]


def names():
    """Ids of all tokens, as in encoder.json."""
    tokens = [*alphabet(), *(line.replace(" ", "") for line in merges())]
    return {token: number for number, token in enumerate(tokens)}


def tokenizer_json():
    path = HOME["store"] / "gpt2-tokenizer.json"
    if not path.exists():
        level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True,
                 "use_regex": True}
        model = {"type": "BPE", "dropout": None, "unk_token": None, "fuse_unk": False,
                 "continuing_subword_prefix": None, "end_of_word_suffix": None,
                 "byte_fallback": False, "ignore_merges": False, "vocab": names(),
                 "merges": merges()}
        path.write_text(json.dumps({
            "version": "1.0", "truncation": None, "padding": None, "added_tokens": [],
            "normalizer": None, "pre_tokenizer": level, "post_processor": None, "decoder": level,
            "model": model}))
    return str(path)


def text_of(path):
    if HOME.get("path") != path:
        HOME["path"], HOME["text"], HOME["ids"] = path, pathlib.Path(path).read_bytes(), None
    return HOME["text"]


def make_ids():
    """Memory for the ids of the text, faulted in."""
    if not HOME["ids"]:
        HOME["ids"] = (ctypes.c_uint32 * len(HOME["text"]))()
        ctypes.memset(HOME["ids"], 1, ctypes.sizeof(HOME["ids"]))


class Heft:
    def __init__(self):
        if HOME.get("text"):
            make_ids()
        self.coder = HOME["lib"].heft_encoder_new(HOME["vocab"], None, ctypes.byref(HOME["error"]))

    def encode(self, text):
        count = ctypes.c_size_t()
        if not HOME["lib"].heft_encode(self.coder, text, len(text), HOME["ids"], len(text),
                                       ctypes.byref(count), ctypes.byref(HOME["error"])):
            raise RuntimeError("heft_encode failed")
        return count.value

    def __del__(self):
        HOME["lib"].heft_encoder_free(self.coder)


class Gigatoken:
    def __init__(self):
        import gigatoken
        self.coder = (gigatoken.Tokenizer.from_tiktoken(HOME["ranks"], pretokenizer=HOME["scheme"])
                      if "ranks" in HOME else gigatoken.Tokenizer(tokenizer_json()))

    def encode(self, text):
        return len(self.coder.encode(text))


class Tiktoken:
    def __init__(self):
        import tiktoken
        if "ranks" in HOME:
            lines = pathlib.Path(HOME["ranks"]).read_bytes().splitlines()
            ranks = {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, lines)}
            self.coder = tiktoken.Encoding("ranks", pat_str=HOME["pattern"], mergeable_ranks=ranks, special_tokens={})
            return
        to_byte = alphabet()
        ranks = {bytes(to_byte[c] for c in token): number for token, number in names().items()}
        self.coder = tiktoken.Encoding("gpt2", pat_str=PATTERN, mergeable_ranks=ranks,
                                       special_tokens={})

    def encode(self, text):
        return len(self.coder.encode_ordinary(text.decode()))


class Tokenizers:
    def __init__(self):
        import tokenizers
        self.coder = tokenizers.Tokenizer.from_file(tokenizer_json())

    def encode(self, text):
        return len(self.coder.encode(text.decode(), add_special_tokens=False).ids)


class Tokie:
    def __init__(self):
        import tokie
        self.coder = tokie.Tokenizer.from_json(tokenizer_json())

    def encode(self, text):
        return len(self.coder.encode(text.decode(), add_special_tokens=False).ids)


class Port:
    """Port of encoder.py, by its rules."""
    def __init__(self):
        from encode_port import Encoder
        self.coder = Encoder(HOME["folder"])

    def encode(self, text):
        return len(self.coder.encode(text.decode()))


# bpe-openai is not included: the package supports only the vocabularies cl100k, o200k and voyage3.
KINDS = {"heft": Heft, "gigatoken": Gigatoken, "tiktoken": Tiktoken, "tokenizers": Tokenizers,
         "tokie": Tokie, "encoder.py": Port}


def timed(coder, text):
    start = time.perf_counter()
    count = coder.encode(text)
    return {"seconds": time.perf_counter() - start, "ids": count, "memory": memory_used()}


def first(who, path):
    """First pass of a new encoder."""
    text = text_of(path)
    CODERS.pop(who, None)
    CODERS[who] = KINDS[who]()
    return timed(CODERS[who], text)


def warm(who, path):
    """Another pass of the same encoder."""
    return timed(CODERS[who], text_of(path))


def documents_of(path):
    """100 000 short documents of a text."""
    import random
    if "documents" not in HOME:
        text, rng = text_of(path).decode(), random.Random(1)
        HOME["documents"] = [text[at:at + rng.randrange(50, 400)]
                             for at in (rng.randrange(len(text) - 400) for _ in range(100_000))]
    return HOME["documents"]


@functools.cache
def batch_method(who, packed, folder):
    """The function of a library that encodes a batch on the calling thread, to lists of ints or packed arrays."""
    if who == "gigatoken":
        coder = Gigatoken().coder
        return functools.partial(coder.encode_batch if packed else coder.encode_batch_list, parallel=False)
    sys.path.insert(0, folder)
    import heft
    encoding = heft.get_encoding("gpt2")
    method = encoding.encode_ordinary_batch_packed if packed else encoding.encode_ordinary_batch
    return functools.partial(method, num_threads=1)


def ids_of(who, packed, found):
    if not packed:
        return sum(map(len, found))
    if who == "heft":
        return len(found[0])
    import awkward
    return len(awkward.flatten(found))


def batch(who, packed, folder, path):
    """A batch of documents with one thread. The processor time is that of all threads of the process."""
    documents, method = documents_of(path), batch_method(who, packed, folder)
    start, used = time.perf_counter(), time.process_time()
    found = method(documents)
    seconds, used = time.perf_counter() - start, time.process_time() - used
    return {"seconds": seconds, "processor": used, "ids": ids_of(who, packed, found)}


def script(path, out):
    """Port of encode.py: encodes a file to an `.npz` of its ids."""
    import numpy
    from encode_port import Encoder, arrays_of
    start = time.perf_counter()
    numpy.savez_compressed(out, *arrays_of(Encoder(HOME["folder"]), path, 50_000))
    return {"seconds": time.perf_counter() - start}


def load(path):
    """Opens a vocabulary and makes an encoder."""
    lib, error = HOME["lib"], ctypes.byref(HOME["error"])
    start = time.perf_counter()
    vocab = lib.heft_vocab_open(path.encode(), error)
    seconds = time.perf_counter() - start
    lib.heft_vocab_close(vocab)
    return {"seconds": seconds, "ok": bool(vocab)}


def has(who):
    try:
        KINDS[who]()
    except ImportError:
        return {"ok": False}
    return {"ok": True}


TASKS = {task.__name__: task for task in (setup, family, first, warm, batch, script, load, has, baseline)}


if __name__ == "__main__":
    serve(TASKS)
