#!/usr/bin/env python3
"""Writes the samples of this directory and expect.tsv: vocabularies that must be refused, each by one check, and
unusual valid ones. A directory contains vocab.bpe and encoder.json."""
import base64
import json
import pickle
import sys
import types
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROWS = []
ORDER = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
REST = [b for b in range(256) if b not in ORDER]
ALPHABET = [*map(chr, ORDER), *(chr(0x100 + i) for i in range(len(REST)))]
PATTERN = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


def row(name, code, offset, text):
    ROWS.append((name, code, hex(offset) if isinstance(offset, int) else offset, text))


def merges(why, content, code="malformed", offset="-", text=""):
    (HERE / f"{why}.bpe").write_bytes(content if isinstance(content, bytes) else content.encode())
    row(f"{why}.bpe", code, offset, text)


def ids(why, end, code="malformed", at=0, text="", without=None, lines="a b\n"):
    """encoder.json of the 256 bytes and `end`; the error is `at` bytes into `end`; None: the error is in
    vocab.bpe."""
    folder = HERE / why
    folder.mkdir(exist_ok=True)
    pairs = [f"{json.dumps(c)}:{i}" for i, c in enumerate(ALPHABET) if c != without]
    head = "{" + ",".join(pairs) + ("," if end else "")
    (folder / "encoder.json").write_text(head + end + "}")
    (folder / "vocab.bpe").write_text(lines)
    row(why, code, "*" if at is None else at if at == "-" else len(head) + at, text)


def ranks(why, end, code="malformed", text="", without=None):
    lines = "".join(f"{base64.b64encode(bytes([b])).decode()} {b}\n" for b in range(256) if b != without)
    (HERE / f"{why}.tiktoken").write_bytes((lines + end).encode("latin-1"))
    row(f"{why}.tiktoken", code, "-" if without is not None else len(lines), text)


def tokenizer(why, change, code="unsupported", text=""):
    """tokenizer.json, changed by `change`."""
    vocab = {c: i for i, c in enumerate(ALPHABET)} | {"ab": 256, "abc": 257, "<|endoftext|>": 258}
    whole = {"version": "1.0", "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False},
             "model": {"type": "BPE", "merges": ["a b"], "vocab": vocab}}
    change(whole)
    (HERE / f"{why}.json").write_text(json.dumps(whole, ensure_ascii=False, separators=(",", ":")))
    row(f"{why}.json", code, "*", text)


def text_samples():
    merges("good", "#version: 0.2\na b\nab c\n", "ok", "-")
    merges("empty", "", offset=0, text="no merges")
    merges("version-alone", "#version: 0.2\n", offset=0, text="no merges")
    merges("no-last-newline", "#version: 0.2\na b\na c", offset=18, text="has no newline")
    for name, line in {"one-word": "ab", "two-blanks": "a  b", "blank-in-front": " a", "blank-behind": "a ",
                       "tab": "a\tb", "no-such-byte": "€ b", "three-words": "a b c"}.items():
        merges(name, f"a b\n{line}\n", offset=4, text="expected a merge: two words")
    merges("unknown-part", "a b\nac b\n", offset=4, text="neither a byte nor the result of an earlier merge")
    merges("twice", "a b\na b\n", offset=4, text="an earlier merge has the same result")
    merges("made-twice", "a b\nb c\nab c\na bc\n", offset=13, text="an earlier merge has the same result")
    merges("no-utf8", b"a b\n\xff c\n", offset=4, text="not valid UTF-8")


def id_samples():
    ids("ids-good", '"ab":256', "ok", "-")
    ids("ids-taken", '"ab":255', text="id 255 belongs to another token")
    ids("ids-two", '"a":256', text="a token has id 64 and id 256")
    for name, value in {"negative": "-1", "fraction": "1.5", "text": '"1"', "null": "null"}.items():
        ids(f"ids-{name}", f'"ab":{value}', at=5, text="not a non-negative integer")
    ids("ids-2-to-20", '"ab":1048576', "limit", 5, "below 2^20")
    ids("ids-huge", '"ab":99999999999999999999', at=5, text="not a non-negative integer")
    ids("ids-no-result", '"ac":256', at=None, text="result of a merge has no id")
    for name, lines in [("usual", "#version: 0.2\na b\na b\n"), ("other", "\na b\r\n\na b\n")]:
        ids(f"ids-merge-twice-{name}", '"ab":256', "ok", "-", lines=lines)
    ids("ids-merges-cut", '"ab":256,"abc":257', at=None,
        text="the list ends after 1 merges, but id 257 is two tokens joined: the list is truncated, or the id is no merge's")
    ROWS[-1] = (*ROWS[-1][:2], "0x4", ROWS[-1][3])
    ids("ids-merges-cut-open", '"ab":256,"abc":257,"abcd":258', at=None, text="1 merges, but id 258", lines="a b\nab")
    ROWS[-1] = (*ROWS[-1][:2], "0x6", ROWS[-1][3])
    ids("ids-of-no-merge", '"ab":256,"<pad>":257,"abc":258', "ok", "-")
    ids("ids-no-byte", '"ab":256', at="-", text="no token for the single byte 0x41", without="A")
    ids("ids-cut", '"ab":256,', at=9, text="JSON:")


def rank_samples():
    for name, end in [("good", "YWI= 256\n"), ("empty-token", "YWI= 256\n= 257\n")]:
        ranks(f"ranks-{name}", end, "unsupported", "no split pattern in the file")
        ROWS[-1] = (*ROWS[-1][:2], "-", ROWS[-1][3])
    ranks("ranks-taken", "YWI= 255\n", text="rank 255 belongs to another token")
    ranks("ranks-two", "YQ== 256\n", text="a token has rank 97 and rank 256")
    for name, line in {"padding": "YWI 256", "tail-bits": "YWJ= 256", "inner-padding": "Y=I= 256",
                       "letter": "YW\xc3\xa9 256", "nothing": "==== 256", "no-token": " 256"}.items():
        ranks(f"ranks-{name}", line + "\n", text="in base64")
    for name, rank in {"no-rank": " ", "alone": "", "negative": " -1", "hexadecimal": " 0x9", "2-to-20": " 1048576",
                       "huge": " 99999999999999999999"}.items():
        ranks(f"ranks-{name}", f"YWI={rank}\n", text="a rank below 2^20")
    for name, line in {"blank": "YW I= 256", "return": "YWI=\r 256", "tab": "YWI=\t256", "two-spaces": "YWI=  256"}.items():
        ranks(f"ranks-{name}", line + "\n", text="a rank below 2^20")
    ranks("ranks-long", base64.b64encode(b"a" * 129).decode() + " 256\n", text="up to 128 bytes")
    ranks("ranks-no-byte", "", text="no token for the single byte 0x00", without=0)


def put(path, value):
    def change(whole):
        *names, last = path.split(".")
        for name in names:
            whole = whole.setdefault(name, {})
        whole[last] = value
    return change


def added(*tokens):
    return put("added_tokens", list(tokens))


LAST = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}


def chain(*components):
    return put("pre_tokenizer", {"type": "Sequence", "pretokenizers": list(components)})


def nested(name, component, depth):
    for _ in range(depth):
        component = {"type": "Sequence", name: [component]}
    return component


def json_samples():
    def split(pattern, behavior):
        return put("pre_tokenizer", {"type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior, "invert": False},
            {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}]})
    tokenizer("json-good", lambda whole: None, "ok")
    tokenizer("json-split", split(PATTERN, "Isolated"), "ok")
    for name, path, value, text in [
            ("normalizer", "normalizer", {"type": "NFKC"}, 'normalizer.type "NFKC"'),
            ("normalizer-deep", "normalizer", nested("normalizers", {"type": "NFC"}, 10), "normalizers, an array, is not supported"),
            ("normalizer-list", "normalizer", {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Lowercase"}]},
             'normalizer.normalizers.1.type "Lowercase"'),
            ("post", "post_processor", {"type": "Speed"}, 'post_processor.type "Speed"'),
            ("decoder-list", "decoder", {"type": "Sequence", "decoders": [{"type": "ByteLevel"}, {"type": "Fuse"}]},
             'decoder.decoders.1.type "Fuse"'),
            ("decoder", "decoder", {"type": "Metaspace"}, 'decoder.type "Metaspace"'),
            ("field", "speed", "high", 'speed "high"'),
            ("field-empty", "normalizer", {}, "no normalizer.type"),
            ("field-list", "speed", [1, {"a": [2]}], "speed, an array, is not supported"),
            ("pre-null", "pre_tokenizer", None, "pre_tokenizer null"),
            ("pre-type", "pre_tokenizer", {"type": "Whitespace"}, 'pre_tokenizer.type "Whitespace"'),
            ("pre-missing", "pre_tokenizer", {"type": "ByteLevel"}, "no pre_tokenizer.add_prefix_space"),
            ("prefix-space", "pre_tokenizer.add_prefix_space", True, "pre_tokenizer.add_prefix_space true"),
            ("no-regex", "pre_tokenizer.use_regex", False, "pre_tokenizer.use_regex false"),
            ("model-type", "model.type", "WordPiece", 'model.type "WordPiece"'),
            ("dropout", "model.dropout", 0.1, "model.dropout 0.1"),
                        ("suffix", "model.end_of_word_suffix", "</w>", 'model.end_of_word_suffix "</w>"')]:
        tokenizer(f"json-{name}", put(path, value), text=text)
    tokenizer("json-field-dotted", lambda whole: whole.update({"model.ignore_merges": True}),
              text="? true")
    for name, value, text in [
            ("pattern-kind", {"type": "Split", "pattern": {"Glob": "a*"}, "behavior": "Isolated", "invert": False}, 'pattern.Glob "a*"'),
            ("pattern-two", {"type": "Split", "pattern": {"Regex": "a", "String": "b"}, "behavior": "Isolated", "invert": False}, 'pattern.String "b"'),
            ("pattern-empty", {"type": "Split", "pattern": {"Regex": ""}, "behavior": "Isolated", "invert": False}, 'pattern.Regex ""'),
            ("pattern-none", {"type": "Split", "pattern": {}, "behavior": "Isolated", "invert": False}, "a Split without a pattern"),
            ("pattern-text", {"type": "Split", "pattern": "a", "behavior": "Isolated", "invert": False}, 'pretokenizers.0.pattern "a"'),
            ("pattern-missing", {"type": "Split", "behavior": "Isolated", "invert": False}, "no pre_tokenizer.pretokenizers.0.pattern"),
            ("behavior", {"type": "Split", "pattern": {"String": "a"}, "behavior": "Doubled", "invert": False}, 'behavior "Doubled"'),
            ("invert", {"type": "Split", "pattern": {"String": "a"}, "behavior": "Isolated", "invert": 1}, "invert 1"),
            ("digits", {"type": "Digits"}, "no pre_tokenizer.pretokenizers.0.individual_digits"),
            ("digits-field", {"type": "Digits", "individual_digits": True, "use_regex": True}, "pretokenizers.0.use_regex"),
            ("punctuation", {"type": "Punctuation", "behavior": "Contiguous"}, 'pretokenizers.0.type "Punctuation"'),
            ("level-twice", {"type": "ByteLevel", "add_prefix_space": False}, 'pretokenizers.1.type "ByteLevel" after ByteLevel'),
            ("child-null", None, "pre_tokenizer.pretokenizers.0 null")]:
        tokenizer(f"json-{name}", chain(value, LAST), text=text)
    tokenizer("json-no-level", chain({"type": "Digits", "individual_digits": True}), text="no pre_tokenizer ByteLevel")
    tokenizer("json-level-alone", chain(LAST), text="use_regex false without another pre-tokenizer")
    tokenizer("json-no-list", put("pre_tokenizer", {"type": "Sequence"}), text="no pre_tokenizer.pretokenizers")
    tokenizer("json-nested", put("pre_tokenizer", nested("pretokenizers", {"type": "ByteLevel", "add_prefix_space": False}, 8)), "ok")
    tokenizer("json-deep", put("pre_tokenizer", nested("pretokenizers", {"type": "ByteLevel", "add_prefix_space": False}, 9)),
              text="pretokenizers, an array, is not supported")
    tokenizer("json-steps", chain(*[{"type": "Digits", "individual_digits": True}] * 33, LAST), "limit", "more than 32 steps")
    tokenizer("json-post-template", put("post_processor", {"type": "Sequence", "processors": [
        {"type": "ByteLevel", "trim_offsets": True}, {"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A"}}]}]}), "ok")
    tokenizer("json-byte-fallback", put("model.byte_fallback", True), "ok")
    tokenizer("json-byte-tokens", lambda whole: whole["model"].update(byte_fallback=True, vocab=whole["model"]["vocab"] | {"<0x00>": 259}),
              text="model.byte_fallback true with tokens")
    for name, old, new in [("model", '"version"', '"model":{},"version"'), ("vocab", '"type":"BPE"', '"vocab":{},"type":"BPE"'),
                           ("type", '"add_prefix_space"', '"type":"Split","add_prefix_space"')]:
        whole = (HERE / "json-good.json").read_text().replace(old, new, 1)
        (HERE / f"json-key-twice-{name}.json").write_text(whole)
        row(f"json-key-twice-{name}.json", "malformed", "*", "duplicate key")
    tokenizer("json-padding", put("padding", {"strategy": {"Fixed": 8}, "pad_token": "!"}), "ok")
    tokenizer("json-no-type", lambda whole: whole["model"].pop("type"), "ok")
    for name, value, text in [("merge-word", ["a"], "expected a merge: two words"), ("merge-one", [["a"]], "expected a string or a pair"),
                              ("merge-three", [["a", "b", "c"]], "expected a string or a pair"),
                              ("merge-number", [3], "expected a string or a pair"),
                              ("merge-result", ["a c"], "result of a merge has no id")]:
        tokenizer(f"json-{name}", put("model.merges", value), "malformed", text)
    tokenizer("json-merge-twice", put("model.merges", ["a b", "a b"]), "ok")
    tokenizer("json-merges", put("model.merges", 7), text="model.merges 7")
    for name, tokens, code, text in [
            ("end", [{"id": 259, "content": "<|endoftext|>", "special": True}], "malformed", "another id in added_tokens"),
            ("taken", [{"id": 257, "content": "<pad>", "special": True}], "unsupported", "id 257 becomes 259 in the tokenizers library"),
            ("flag", [{"id": 259, "content": "<pad>", "special": True, "lstrip": 1}], "unsupported", "lstrip is a number, expected true or false"),
            ("gap", [{"id": n, "content": f"<{n}>", "special": True} for n in (259, 261)], "unsupported", "id 261 becomes 260 in the tokenizers library"),
            ("long", [{"id": 259, "content": "x" * 4097, "special": True}], "malformed", "must have 1 to 4096 bytes"),
            ("empty", [{"id": 259, "content": "", "special": True}], "malformed", "must have 1 to 4096 bytes"),
            ("list-id", [{"id": [57], "content": "<pad>", "special": True}], "unsupported", "added_tokens: expected"),
            ("list-special", [{"id": 300, "content": "<pad>", "special": [True]}], "unsupported", "added_tokens: expected"),
            ("no-id", [{"content": "<pad>", "special": True}], "malformed", "lacks an id below 2^20 or content"),
            ("twice", [{"id": n, "content": "x", "special": True} for n in (300, 301)], "malformed", "duplicate added token")]:
        tokenizer(f"json-added-{name}", added(*tokens), code, text)


def strangers():
    """Files without a pattern, and files that are not vocabularies."""
    merges("pattern-other", "#version: 0.2\n" + "".join(f"{c} {d}\n" for c in ".;(" for d in "abcd"), "unsupported", "-",
           "12 of 12 merged tokens are not pre-tokens of GPT-2's pattern: the vocabulary belongs to another one: its ids can "
           "be decoded, texts cannot be encoded")
    (HERE / "list.txt").write_text("#version: 0.2\na b\n")
    row("list.txt", "unsupported", "-", "a list of merges without vocab.json")
    for name, more, text in [("pair", {}, "no split pattern in the file"),
                             ("pair-added", {"added_tokens.json": "{}"}, "no split pattern in the file")]:
        folder = HERE / name
        folder.mkdir(exist_ok=True)
        (folder / "vocab.json").write_text(json.dumps({c: i for i, c in enumerate(ALPHABET + ["ab"])}))
        for file, content in {"merges.txt": "#version: 0.2\na b\n", **more}.items():
            (folder / file).write_text(content)
        row(name, "unsupported", "-", text)
    row("pair/merges.txt", "unsupported", "-", "no split pattern in the file")
    row("pair/vocab.json", "unsupported", "-", "no split pattern in the file")
    for name, content, offset, text in [
            ("sentencepiece.model", b"\n\x0e\n\x05<unk>\x15\0\0\0\0\x18\2", "0x0", "a SentencePiece model"),
            ("parquet.json", b"PAR1\x15\4\x15\x10", "0x0", "a Parquet file"),
            ("ids-alone.json", b'{"a": 0, "b": 1}', "0x6", "tokens and ids without merges"),
]:
        (HERE / name).write_bytes(content)
        row(name, "unsupported", offset, text)


def tekken_samples():
    """tekken.json of the bytes, ab and abc, with two special tokens."""
    def tekken(why, change, code="malformed", text=""):
        tokens = [bytes([b]) for b in range(256)] + [b"ab", b"abc"]
        whole = {"config": {"pattern": PATTERN, "default_vocab_size": 260, "default_num_special_tokens": 2},
                 "vocab": [{"rank": i, "token_bytes": base64.b64encode(t).decode()} for i, t in enumerate(tokens)]}
        change(whole)
        (HERE / f"tekken-{why}.json").write_text(json.dumps(whole, separators=(",", ":")))
        row(f"tekken-{why}.json", code, "*", text)

    def token(index, **fields):
        return lambda whole: whole["vocab"][index].update(fields)

    def special(*tokens):
        return put("special_tokens", [{"rank": rank, "token_str": text} for rank, text in tokens])
    tekken("good", lambda whole: None, "ok")
    tekken("null", put("special_tokens", None), "ok")
    tekken("named", special((1, "<b>")), "ok")
    tekken("image", put("image", {"size": [1, 2]}), "ok")
    tekken("string", token(256, token_str="zz"), "ok")
    tekken("cut-off", put("config.default_vocab_size", 259), "ok")
    for name in ("pattern", "default_vocab_size", "default_num_special_tokens"):
        tekken(f"no-{name}", lambda whole, name=name: whole["config"].pop(name), text="config lacks")
    tekken("empty-pattern", put("config.pattern", ""), text="config.pattern: expected a regular expression")
    tekken("size-text", put("config.default_vocab_size", "260"), text="config: expected a number of tokens")
    tekken("size-huge", put("config.default_vocab_size", 1 << 40), text="config: expected a number of tokens")
    tekken("size-large", put("config.default_vocab_size", 261), text="but vocab has 258")
    tekken("size-small", put("config.default_vocab_size", 257), text="a vocabulary of 257 with 2 special tokens")
    tekken("unsorted", token(256, rank=257), text="rank 257 at index 256; ranks must be sorted")
    tekken("rank-text", token(256, rank="256"), text="a rank is not an integer below 2^20")
    tekken("rank-huge", token(256, rank=1 << 20), text="a rank is not an integer below 2^20")
    tekken("byte", token(65, token_bytes="Qg=="), text="rank 65 must be the byte 0x41")
    tekken("twice", token(257, token_bytes="YWI="), text="a token has rank 258 and rank 259")
    tekken("base64", token(256, token_bytes="Y W="), text="expected token_bytes of 1 to 128 bytes in base64")
    tekken("no-bytes", token(256, token_bytes=""), text="expected token_bytes of 1 to 128 bytes in base64")
    tekken("long", token(256, token_bytes=base64.b64encode(b"a" * 129).decode()), text="expected token_bytes of 1 to 128 bytes")
    tekken("bytes-list", token(256, token_bytes=[97]), text="a token without its text")
    tekken("no-rank", lambda whole: whole["vocab"][256].pop("rank"), text="a token lacks its rank or its text")
    tekken("no-text", lambda whole: whole["vocab"][256].pop("token_bytes"), text="a token lacks its rank or its text")
    tekken("special-rank", special((2, "<b>")), text="special_tokens: rank 2 is taken")
    tekken("special-twice", special((1, "<b>"), (1, "<c>")), text="special_tokens: rank 1 is taken")
    tekken("special-empty", special((1, "")), text="a token_str of 1 to 4096 bytes")
    tekken("special-object", put("special_tokens", {}), text="expected a list of tokens")
    tekken("vocab-list", put("vocab", [1]), text="expected a list of objects")
    tekken("config-list", put("config", []), text="config: expected an object")
    for name, old, new, text in [("config", '"vocab":', '"config":{},"vocab":', "duplicate key"),
                                 ("rank", '{"rank":0,', '{"rank":0,"rank":0,', "a token has a key twice"),
                                 ("pattern", '"config":{', '"config":{"pattern":"a",', "config: duplicate key")]:
        whole = (HERE / "tekken-good.json").read_text().replace(old, new, 1)
        (HERE / f"tekken-key-twice-{name}.json").write_text(whole)
        row(f"tekken-key-twice-{name}.json", "malformed", "*", text)


class Encoding:
    """Stands in for tiktoken.core.Encoding, whose pickle has this state."""

    def __init__(self, state):
        self.state = state

    def __getstate__(self):
        return self.state


def pickle_samples():
    Encoding.__module__ = "tiktoken.core"
    core = types.ModuleType("tiktoken.core")
    core.Encoding = Encoding
    sys.modules["tiktoken"] = sys.modules["tiktoken.core"] = core

    def whole(**fields):
        ranks = {bytes([b]): b for b in range(256)} | {b"ab": 256, b"abc": 257}
        return {"name": "x", "pat_str": PATTERN, "mergeable_ranks": ranks, "special_tokens": {"<|bos|>": 258}} | fields

    def put_pickle(why, content, code="malformed", text="", offset="*"):
        (HERE / f"pickle-{why}.pkl").write_bytes(content)
        row(f"pickle-{why}.pkl", code, offset, text)

    def pickled(why, code="malformed", text="", protocol=4, **fields):
        put_pickle(why, pickle.dumps(Encoding(whole(**fields)), protocol), code, text)
    for protocol in (3, 4, 5):
        pickled(f"good-{protocol}", "ok", protocol=protocol)
    ranks = whole()["mergeable_ranks"]
    pickled("two-names", "ok", special_tokens={"<|a|>": 258, "<|b|>": 258})
    pickled("protocol-2", "unsupported", "a pickle that names _codecs.encode", protocol=2)
    put_pickle("name", pickle.dumps(Encoding("cl100k_base"), 4), "unsupported", "pickled by its name")
    put_pickle("global", pickle.dumps(types.SimpleNamespace, 4), "unsupported", "a pickle that names types.SimpleNamespace")
    put_pickle("class", pickle.dumps(Encoding, 4), "unsupported", "something else than one tiktoken.core.Encoding")
    put_pickle("dict", pickle.dumps(whole(), 4), "unsupported", "something else than one tiktoken.core.Encoding")
    put_pickle("list", pickle.dumps([1], 4), "unsupported", "a pickle with opcode 0x5d")
    put_pickle("reduce", b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x02id\x85R.", "unsupported", "a pickle that names os.system", "0xe")
    put_pickle("persistent", b"\x80\x04\x8c\x01aQ.", "unsupported", "a pickle with opcode 0x51", "0x5")
    put_pickle("tail", pickle.dumps(Encoding(whole()), 4) + b"N", text="bytes behind its end")
    put_pickle("cut", pickle.dumps(Encoding(whole()), 4)[:-1], text="the file ends before STOP")
    put_pickle("memo", b"\x80\x04h\x07.", text="no memoized value", offset="0x2")
    put_pickle("memo-gap", b"\x80\x04}q\x07.", text="a number is left out", offset="0x3")
    put_pickle("items", b"\x80\x04K\x01K\x02s.", text="items without a dict", offset="0x6")
    put_pickle("mark", b"\x80\x04}K\x01K\x02u.", text="items without a mark and a dict", offset="0x7")
    put_pickle("odd", b"\x80\x04}(K\x01u.", text="items without a dict", offset="0x6")
    put_pickle("newobj", b"\x80\x04})\x81.", text="NEWOBJ without a class", offset="0x4")
    put_pickle("build", b"\x80\x04}}b.", text="BUILD without an object", offset="0x4")
    put_pickle("string", b"\x80\x04X\xff\xff\xff\xffabc.", text="the file ends within a string", offset="0x2")
    put_pickle("no-utf8", b"\x80\x04\x8c\x01\xff.", text="not valid UTF-8", offset="0x2")
    put_pickle("number", b"\x80\x04J\xff\xff\xff\xff.", text="expected a number below 2^20", offset="0x2")
    put_pickle("dicts", b"\x80\x04" + b"}" * 9 + b".", text="more dicts than an Encoding has", offset="0xa")
    pickled("state", text="expected name, pat_str", extra=1)
    pickled("pattern", text="expected name, pat_str", pat_str=7)
    pickled("empty-pattern", text="lacks pat_str", pat_str="")
    pickled("empty", text="mergeable_ranks is empty", mergeable_ranks={})
    pickled("text-key", text="expected 1 to 128 bytes and their rank", mergeable_ranks=ranks | {"abcd": 258})
    pickled("long-key", text="expected 1 to 128 bytes and their rank", mergeable_ranks=ranks | {b"a" * 129: 258})
    pickled("rank-twice", text="rank 257 belongs to another token", mergeable_ranks=ranks | {b"abcd": 257})
    pickled("no-byte", text="no token for the single byte 0x41", mergeable_ranks={k: v for k, v in ranks.items() if k != b"A"})
    put_pickle("repeated", pickle.dumps(Encoding(whole(mergeable_ranks={})), 4).replace(
        b"mergeable_ranks\x94}\x94", b"mergeable_ranks\x94}\x94(C\x78" + b"a" * 120 + b"\x94K\x00" + b"h\x0bK\x01" * 9 + b"u"),
        text="a token occurs twice")
    pickled("special-id", text="id 257 belongs to another token", special_tokens={"<|bos|>": 257})
    pickled("special-empty", text="a text of 1 to 4096 bytes and its id", special_tokens={"": 258})
    pickled("special-bytes", text="a text of 1 to 4096 bytes and its id", special_tokens={b"x": 258})


def config_samples():
    """A directory as transformers writes it."""
    whole = json.loads((HERE / "json-good.json").read_text())
    whole["truncation"] = {"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0}
    whole["padding"] = {"strategy": {"Fixed": 8}, "pad_id": 0, "pad_to_multiple_of": None, "pad_token": "!"}
    whole["added_tokens"] = [{"id": 259, "content": "<pad>", "special": True}]
    for name, content, code, offset, text in [
            ("good", '{"tokenizer_class": "LlamaTokenizer", "added_tokens_decoder": {"259": {"content": "<pad>"}}}',
             "ok", "-", ""),
            ("array", "[]", "malformed", "0x0", "the file is an array, must be an object"),
            ("behind", "{} 1", "malformed", "0x3", "JSON:"),
            ("cut", '{"add_prefix_space": true', "malformed", "0x19", "JSON:"),
            ("no-utf8", b'{"x": "\xff"}', "malformed", "0x7", "not valid UTF-8"),
            ("flag", '{"add_bos_token": {}}', "malformed", "0x12", "add_bos_token is an object, must be a boolean"),
            ("class", '{"tokenizer_class": true}', "malformed", "0x14", "tokenizer_class is true, must be a string"),
            ("decoder", '{"added_tokens_decoder": 1}', "malformed", "0x19", "added_tokens_decoder is a number"),
            ("token", '{"added_tokens_decoder": {"1": "x"}}', "malformed", "0x1f", "must be an object of objects"),
            ("content", '{"added_tokens_decoder": {"1": {"content": 1}}}', "malformed", "0x2b", "content, a string"),
            ("special", '{"added_tokens_decoder": {"1": {"special": []}}}', "malformed", "0x2b", "content, a string")]:
        folder = HERE / f"config-{name}"
        folder.mkdir(exist_ok=True)
        (folder / "tokenizer.json").write_text(json.dumps(whole))
        (folder / "tokenizer_config.json").write_bytes(content if isinstance(content, bytes) else content.encode())
        row(folder.name, code, offset, text)


text_samples()
strangers()
id_samples()
rank_samples()
json_samples()
tekken_samples()
pickle_samples()
config_samples()
(HERE / "expect.tsv").write_text("# FILE\tCODE\tOFFSET\tTEXT: heft-open --vocab, and heft count --vocab\n"
                                 + "".join("\t".join(map(str, r)) + "\n" for r in sorted(ROWS)))
