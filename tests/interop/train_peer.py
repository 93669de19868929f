"""Learns vocabularies with tokenizers, rustbpe and subword-nmt: returns the text of vocab.bpe, or of the file of
codes; and the ids of a tokenizer.json.

Runs in its own environment (requirements-train.txt).
"""

import codecs
import io
import json

import rustbpe
from answer import serve
from subword_nmt import learn_bpe as subword
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers


REPLACE_PAIR = subword.replace_pair


def learn_bytes(path, size, least):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(vocab_size=size - 1, min_frequency=least, show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    with open(path, encoding="utf-8", newline="") as file:
        tokenizer.train_from_iterator([file.read()], trainer)
    merges = json.loads(tokenizer.to_str())["model"]["merges"]
    return "#version: 0.2\n" + "".join(f"{left} {right}\n" for left, right in merges)


def learn_again(pipeline, path, size, least):
    """The merges that the pipeline of a tokenizer.json learns from a text."""
    model = Tokenizer.from_file(pipeline)
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = model.pre_tokenizer
    if model.normalizer:
        tokenizer.normalizer = model.normalizer
    trainer = trainers.BpeTrainer(vocab_size=size - 1, min_frequency=least, show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    with open(path, encoding="utf-8", newline="") as file:
        tokenizer.train_from_iterator([file.read()], trainer)
    return json.loads(tokenizer.to_str())["model"]["merges"]


def learn_rustbpe(path, size, pattern):
    """The tokens that nanochat's trainer adds to the bytes, in hexadecimal."""
    tokenizer = rustbpe.Tokenizer()
    with open(path, encoding="utf-8", newline="") as file:
        tokenizer.train_from_iterator(iter([file.read()]), size, pattern=pattern)
    return [bytes(token).hex() for token, rank in sorted(tokenizer.get_mergeable_ranks(), key=lambda item: item[1])[256:]]


def words_of(path, pattern):
    """The pre-tokens of a text."""
    split = pre_tokenizers.Split(Regex(pattern), "isolated")
    with open(path, encoding="utf-8", newline="") as file:
        return [word for word, _ in split.pre_tokenize_str(file.read())]


def replace_whole(pair, vocab, indices):
    """replace_pair of subword-nmt, except that white space inside a symbol does not end it."""
    changes = []
    for number, times in indices[pair].items():
        if times < 1:
            continue
        old, count = vocab[number]
        new, at = [], 0
        while at < len(old):
            step = 2 if old[at:at + 2] == pair else 1
            new.append("".join(old[at:at + step]))
            at += step
        vocab[number] = (tuple(new), count)
        changes.append((number, tuple(new), old, count))
    return changes


def learn_subword(path, size, least, whole):
    out = io.StringIO()
    subword.replace_pair = replace_whole if whole else REPLACE_PAIR
    try:
        subword.learn_bpe(codecs.open(path, encoding="utf-8"), out, size, least)
    except ValueError:  # no pair at all
        return None
    return out.getvalue()


def encode(path, texts):
    tokenizer = Tokenizer.from_file(path)
    return [tokenizer.encode(text).ids for text in texts]


if __name__ == "__main__":
    serve({"rustbpe": learn_rustbpe, "words": words_of, "bytes": learn_bytes, "subword-nmt": learn_subword, "again": learn_again, "encode": encode})
