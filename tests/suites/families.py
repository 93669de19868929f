"""Ids of small look-alikes of published vocabularies, compared with those of tiktoken and tokenizers.

tests/golden/tokens/families has the vocabularies and the ids, made by make.py there. Each text is encoded
without special tokens, and with them (--special); the ids are decoded again.
"""
import array
import json
import sys

from .common import Fail, GOLDEN, must_succeed, run, text_of

FOLDER = GOLDEN / "tokens" / "families"
# Rank files and lists of merges do not name their split pattern.
PATTERNS = {"gpt4": "gpt4", "llama3-model": "llama3", "nanochat-ranks": "nanochat", "o200k-ranks": "o200k",
            "kimi": "kimi", "gpt2-ranks": "r50k"}
# What heft refuses, by the words of the error.
REFUSED = {"falcon": "Punctuation", "aps": "add_prefix_space"}
# Files with the ids of another entry.
ALSO = {"gpt2-folder": ("gpt2", "gpt2"), "qwen2-folder": ("qwen2", "qwen2"), "nanochat.pkl": ("nanochat-ranks", None)}


def jobs(ctx):
    known = json.loads((FOLDER / "ids.json").read_text())
    texts = json.loads((FOLDER / "texts.json").read_text())
    for name, entry in known.items():
        if name in REFUSED:
            yield name, lambda entry=entry, name=name: refused(ctx, FOLDER / entry["file"], REFUSED[name])
            continue
        yield name, lambda name=name, entry=entry: check(ctx, texts, entry["file"], PATTERNS.get(name), entry)
    for name, (entry, pattern) in ALSO.items():
        yield name, lambda name=name, entry=known[entry], pattern=pattern: check(
            ctx, texts, name, pattern, {"ids_plain": entry["ids_plain"]})
    yield "a custom pattern", lambda: custom(ctx, texts, known["gpt4"])


def ids_of(ctx, texts, vocabulary, work, *options):
    """The ids of each text."""
    lines, out, ends = work / "texts.jsonl", work / "ids.bin", work / "ends"
    lines.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    must_succeed(ctx, [ctx.heft, "encode", lines, "--jsonl", "text", "--vocab", vocabulary, "--eot", "none", "--dtype",
                       "u32", "-f", "-o", out, "--lengths", ends, *options])
    ids, places = array.array("I", out.read_bytes()), array.array("Q", ends.read_bytes())
    if sys.byteorder == "big":
        ids.byteswap()
        places.byteswap()
    return [list(ids[begin:end]) for begin, end in zip([0, *places], places)]


def compare(texts, found, wanted):
    if len(found) != len(wanted):
        raise Fail(f"{len(found)} texts have ids, expected {len(wanted)}")
    for text, mine, theirs in zip(texts, found, wanted):
        if mine != theirs:
            raise Fail(f"{text!r}\nhas the ids {mine}\nexpected    {theirs}")


def decode(ctx, work, vocabulary, *options):
    return text_of(must_succeed(ctx, [ctx.heft, "decode", work / "ids.bin", "--vocab", vocabulary, "--dtype", "u32",
                                      *options]).stdout)


def check(ctx, texts, file, pattern, entry):
    work, vocabulary = ctx.folder(f"family-{file}"), FOLDER / file
    how = ["--pattern", pattern] if pattern else []
    compare(texts, ids_of(ctx, texts, vocabulary, work, *how), entry["ids_plain"])
    if "ids" in entry and not pattern:  # a rank file that is not published has no special tokens
        compare(texts, ids_of(ctx, texts, vocabulary, work, "--special", *how), entry["ids"])
    decode(ctx, work, vocabulary)


def refused(ctx, path, word):
    done = run(ctx, [ctx.heft, "count", FOLDER / "texts.json", "--vocab", path])
    said = text_of(done.stderr)
    if done.returncode != 2 or word not in said:
        raise Fail(f"exit {done.returncode}, expected 2 and {word} in: {said}")


def custom(ctx, texts, entry):
    """A pattern by its text gives the ids of the family that has it."""
    compare(texts, ids_of(ctx, texts, FOLDER / entry["file"], ctx.folder("family-custom"), "--pattern", entry["pattern"]),
            entry["ids_plain"])
