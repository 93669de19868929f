#!/usr/bin/env python3
"""Random and mutated pickles, scanned by heft and loaded by a real CPython whose imports and calls are
recorded instead of executed. An import or call of CPython that scan does not report is a find.

    compare.py BUILD [--seconds N] [--seed N] [--broken DIR]     searches for new ones; without --seconds forever
    compare.py BUILD --replay FILE|DIR…                          runs only these; exit status 1 if there is a find

BUILD contains fuzz/heft-judge-pipe. Finds are minimised and written to --broken (BUILD/broken).
"""
import hashlib
import random
import sys
import time
from pathlib import Path

import carriers
import grammar
import recorder
from pipe_client import PipeClient, files_of, folder_of_finds, parse_arguments

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
ENCODINGS = ("ASCII", "utf-8", "latin1", "bytes")
BATCH = 24000  # bytes; less than the capacity of a pipe
FEW = 64  # values in a pickle, for tests of the limit itself
MODULES = ("os", "posix", "subprocess", "pickle")  # one danger for each
NAMELESS = b"a name computed by the pickle"
LIMIT = "5"  # enum heft_code
FRAME = b"an opcode that extends beyond its frame"


class Judge(PipeClient):
    """Client of heft-judge-pipe."""

    def __init__(self, build):
        super().__init__(build / "fuzz" / "heft-judge-pipe")

    def answer(self):
        """The error's code, and the findings as (danger, what, name)."""
        parts = super().answer().split(b"\0")
        return parts[0].decode(), list(zip(*[iter(parts[1:-1])] * 3))


def as_bytes(name):
    return name.replace("\0", "\\0").encode("utf-8", "surrogatepass")


def spellings(root):
    if root == "long":
        return (b"a name of more than 1024 bytes", NAMELESS)
    if root == "computed":
        return (NAMELESS,)
    # A Python 2 string that is not UTF-8 is a different name in each encoding.
    return (as_bytes(root),) if root.isascii() else (as_bytes(root), NAMELESS)


def is_worst(root):
    if not root.isascii():
        return False  # none of these modules has such a name
    return root.split(".")[0] in MODULES or root in ("builtins.eval", "__builtin__.eval")


def missing(data, events, answer, few):
    """Imports and calls of CPython that scan does not report; None if it reports all."""
    code, items = answer
    if few and any(what == b"refused" for _, what, _ in items):
        return None  # most likely because of the limit
    if few and code == LIMIT:
        return "a limit without a finding"
    named = {(what, name) for _, what, name in items}
    if data[:4] == b"PK\3\4" and any(danger == b"2" for danger, _, _ in items):
        return None  # a zip: loaded only by a reader that expects one
    if any(what == b"trick" and name.startswith(FRAME) for what, name in named):
        return None  # _pickle.Unpickler on a file loses bytes there: scan reports the rest as unknown
    acts = {index for index, what, _ in events if what != "import"}
    for index, what, root in events:
        if root is None:
            continue
        if any((what.encode(), prefix + name) in named for prefix in (b"", b"the result of ")
               for name in spellings(root)):
            continue
        if index not in acts and not is_worst(root) and (index or data[:1] != b"\x80"):
            continue  # two lines of text: CPython called nothing, and knows no module of that name
        return f"{what} of {root}"[:80]
    return None


def happens(data, how):
    """Recorded actions of CPython for the pickle, which may be empty."""
    events = set(recorder.run(data, how[0], how[1])) if data else set()
    return {event for event in events if event[0] == 0} if how[3] in carriers.ONE else events


def check(judge, data, how):
    answers = judge.ask([how[3](data, how[4])], how[2])
    if answers is None:
        return "the judge ended"
    return missing(data, happens(data, how), answers[0], how[2])


def minimise(judge, data, how):
    """Removes pieces as long as the sample remains a find."""
    size = max(1, len(data) // 2)
    while size:
        at = 0
        while at < len(data):
            shorter = data[:at] + data[at + size:]
            if check(judge, shorter, how):
                data = shorter
            else:
                at += size
        size //= 2
    return data


class Fuzzer:
    def __init__(self, judge, options):
        self.judge = judge
        self.rng = random.Random(options.seed)
        self.broken = folder_of_finds(options)
        self.seeds = [path.read_bytes() for path in seed_files()]
        self.seeds = [data for data in self.seeds if 0 < len(data) <= 4000]
        self.runs = self.finds = 0
        self.events = self.named = 0
        self.kinds = {}

    def sample(self):
        rng = self.rng
        if rng.random() < 0.6:
            return grammar.Maker(rng).whole()[:8000]
        return grammar.mutate(rng, rng.choice(self.seeds), rng.choice(self.seeds))

    def batch(self):
        rng = self.rng
        samples, size = [], 0
        while size < BATCH and len(samples) < 200:
            samples.append(self.sample())
            size += len(samples[-1]) + 8
        carrier = rng.choice(carriers.ALL) if rng.random() < 0.3 else carriers.bare
        how = (rng.choice(ENCODINGS), rng.random() < 0.3, FEW if rng.random() < 0.1 else 0, carrier, rng.randrange(1 << 16))
        if carrier is not carriers.bare:
            samples = samples[:40]
        answers = self.judge.ask([carrier(data, how[4]) for data in samples], how[2])
        if answers is None:
            answers = [None] * len(samples)
        for data, answer in zip(samples, answers):
            events = happens(data, how)
            self.runs += 1
            self.events += len(events)
            self.named += bool(answer and answer[1])
            found = (check(self.judge, data, how) if answer is None else
                     missing(data, events, answer, how[2]) if data else None)
            if found:
                self.keep(data, how, found)

    def keep(self, data, how, found):
        kind = found.split(" of ")[0]
        self.finds += 1
        self.kinds[kind] = self.kinds.get(kind, 0) + 1
        if self.kinds[kind] > 40:
            return
        small = minimise(self.judge, data, how)
        name = hashlib.sha256(small).hexdigest()[:12]
        (self.broken / name).write_bytes(small)
        print(f"find: {found}: {self.broken / name}: {how[:3]} {how[3].__name__} {how[4]}: {small[:120]!r}", flush=True)


def seed_files():
    folders = [ROOT / "tests/scan/cases", ROOT / "fuzz/corpus/pickle", ROOT / "fuzz/corpus/scan",
               ROOT / "fuzz/corpus/differential"]
    for folder in folders:
        yield from sorted(path for path in folder.glob("*") if path.is_file())
    yield from sorted((ROOT / "tests/golden").glob("*/*.pkl"))


def replay(judge, options):
    paths = list(files_of(options.replay))
    finds = 0
    for path in paths:
        for how in ((encoding, texts, 0, carriers.bare, 0) for encoding in ENCODINGS for texts in (False, True)):
            found = check(judge, path.read_bytes(), how)
            if found:
                print(f"find: {found}: {path}: {how[:2]}")
                finds += 1
                break
    print(f"{len(paths)} inputs, {finds} finds")
    return 1 if finds else 0


def look(judge, options):
    fuzzer = Fuzzer(judge, options)
    begin = told = time.time()
    print(f"begin {time.strftime('%F %T')} python {sys.version.split()[0]} seed {options.seed}", flush=True)
    while not options.seconds or time.time() - begin < options.seconds:
        fuzzer.batch()
        if time.time() - told > 30:
            told = time.time()
            tell(fuzzer, begin)
    tell(fuzzer, begin)
    return 1 if fuzzer.finds else 0


def tell(fuzzer, begin):
    print(f"seconds {time.time() - begin:.0f} cpu {time.process_time():.0f} runs {fuzzer.runs} events {fuzzer.events} "
          f"named {fuzzer.named} finds {fuzzer.finds}", flush=True)


def main():
    options = parse_arguments(__doc__)
    judge = Judge(options.build)  # before memory is limited: sanitizers need much of it
    recorder.prepare()
    return replay(judge, options) if options.replay else look(judge, options)


if __name__ == "__main__":
    sys.exit(main())
