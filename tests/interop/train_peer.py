"""Learns vocabularies with tokenizers and subword-nmt: returns the text of vocab.bpe, or of the file of
codes; and the ids of a tokenizer.json.

Runs in its own environment (requirements-train.txt).
"""

import codecs
import io
import json

from answer import serve
from subword_nmt import learn_bpe as subword
from tokenizers import Tokenizer, models, pre_tokenizers, trainers


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
    serve({"bytes": learn_bytes, "subword-nmt": learn_subword, "again": learn_again, "encode": encode})
