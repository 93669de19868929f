#!/usr/bin/env python3
"""Writes the samples of this directory and expect.tsv: vocabularies that must be refused, each by one check, and
unusual valid ones. A directory contains vocab.bpe and encoder.json."""
import base64
import json
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
    for name, lines, at in [("usual", "#version: 0.2\na b\na b\n", 18), ("other", "\na b\r\n\na b\n", 7)]:
        ids(f"ids-merge-twice-{name}", '"ab":256', at=None, text="merge 2 repeats merge 1", lines=lines)
        ROWS[-1] = (*ROWS[-1][:2], hex(at), ROWS[-1][3])
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


def json_samples():
    def split(pattern, behavior):
        return put("pre_tokenizer", {"type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior, "invert": False},
            {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}]})
    tokenizer("json-good", lambda whole: None, "ok")
    tokenizer("json-split", split(PATTERN, "Isolated"), "ok")
    for name, path, value, text in [
            ("normalizer", "normalizer", {"type": "NFC"}, 'normalizer.type "NFC"'),
            ("post", "post_processor", {"type": "TemplateProcessing"}, 'post_processor.type "TemplateProcessing"'),
            ("decoder", "decoder", {"type": "Metaspace"}, 'decoder.type "Metaspace"'),
            ("field", "speed", "high", 'speed "high"'),
            ("field-empty", "normalizer", {}, "normalizer:"),
            ("pre-null", "pre_tokenizer", None, "pre_tokenizer:"),
            ("pre-type", "pre_tokenizer", {"type": "Whitespace"}, 'pre_tokenizer.type "Whitespace"'),
            ("pre-missing", "pre_tokenizer", {"type": "ByteLevel"}, "no pre_tokenizer.add_prefix_space"),
            ("prefix-space", "pre_tokenizer.add_prefix_space", True, "pre_tokenizer.add_prefix_space true"),
            ("no-regex", "pre_tokenizer.use_regex", False, "pre_tokenizer.use_regex false"),
            ("model-type", "model.type", "WordPiece", 'model.type "WordPiece"'),
            ("dropout", "model.dropout", 0.1, "model.dropout 0.1"),
            ("byte-fallback", "model.byte_fallback", True, "model.byte_fallback true"),
            ("suffix", "model.end_of_word_suffix", "</w>", 'model.end_of_word_suffix "</w>"')]:
        tokenizer(f"json-{name}", put(path, value), text=text)
    tokenizer("json-field-dotted", lambda whole: whole.update({"model.ignore_merges": True}),
              text="? true")
    tokenizer("json-pattern", split(r"\w+", "Isolated"), text="pretokenizers.0.pattern.Regex")
    tokenizer("json-behavior", split(PATTERN, "Removed"), text='behavior "Removed"')
    tokenizer("json-padding", put("padding", {"strategy": {"Fixed": 8}, "pad_token": "!"}), "ok")
    tokenizer("json-no-type", lambda whole: whole["model"].pop("type"), "ok")
    for name, value, text in [("merge-word", ["a"], "expected a merge: two words"), ("merge-one", [["a"]], "expected a string or a pair"),
                              ("merge-three", [["a", "b", "c"]], "expected a string or a pair"),
                              ("merge-number", [3], "expected a string or a pair"),
                              ("merge-result", ["a c"], "result of a merge has no id"), ("merge-twice", ["a b", "a b"], "repeats merge")]:
        tokenizer(f"json-{name}", put("model.merges", value), "malformed", text)
    whole = (HERE / "json-merge-twice.json").read_bytes()
    ROWS[-1] = (*ROWS[-1][:2], hex(whole.index(b'"a b"]')), "merge 2 repeats merge 1")
    tokenizer("json-merges", put("model.merges", 7), text="model.merges 7")
    for name, tokens, code, text in [
            ("end", [{"id": 259, "content": "<|endoftext|>", "special": True}], "malformed", "another id in added_tokens"),
            ("taken", [{"id": 257, "content": "<pad>", "special": True}], "unsupported", "id 257 becomes 259 in the tokenizers library"),
            ("not-special", [{"id": 259, "content": "<pad>", "special": False}], "unsupported", "id 259 is not special"),
            ("list-id", [{"id": [57], "content": "<pad>", "special": True}], "unsupported", "added_tokens: expected"),
            ("list-special", [{"id": 300, "content": "<pad>", "special": [True]}], "unsupported", "added_tokens: expected"),
            ("no-id", [{"content": "<pad>", "special": True}], "malformed", "lacks an id below 2^20 or content"),
            ("twice", [{"id": n, "content": "x", "special": True} for n in (300, 301)], "malformed", "duplicate added token")]:
        tokenizer(f"json-added-{name}", added(*tokens), code, text)


def strangers():
    """Files without a pattern, and files that are not vocabularies."""
    merges("pattern-other", "#version: 0.2\n" + "".join(f"{c} {d}\n" for c in ".;(" for d in "abcd"), "unsupported", "-",
           "12 of 12 merged tokens are no words of GPT-2's pattern")
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
            ("tekken.json", b'{"config": {"pattern": "x"}}', "0x17", "a tekken.json")]:
        (HERE / name).write_bytes(content)
        row(name, "unsupported", offset, text)


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
config_samples()
(HERE / "expect.tsv").write_text("# FILE\tCODE\tOFFSET\tTEXT: heft-open --vocab, and heft count --vocab\n"
                                 + "".join("\t".join(map(str, r)) + "\n" for r in sorted(ROWS)))
