"""A process with the tokenizers library that answers bench/run: what it costs to learn a vocabulary."""

import json
import os
import sys
import time


def train(path, size):
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(vocab_size=size - 1, min_frequency=2, show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    start = time.perf_counter()
    tokenizer.train([path], trainer)
    return {"seconds": time.perf_counter() - start, "tokens": tokenizer.get_vocab_size()}


def main():
    import tokenizers  # noqa: F401 (paid here)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        request = json.loads(line)
        answer = {"train": train}[request.pop("do")](**request)
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
