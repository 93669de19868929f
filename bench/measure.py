"""Methods of measurement: commands from spawn to exit, alternating rounds, medians; the rows."""

import functools
import os
import pathlib
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEFT = os.environ.get("HEFT") or str(ROOT / "build" / "release" / "heft")
LIBRARY = (pathlib.Path(HEFT).absolute().parent / "libheft.so").resolve().parent
STORE = pathlib.Path(os.environ.get("HEFT_BENCH") or ROOT / "build" / "bench").absolute()
sys.path.insert(0, str(ROOT / "tests" / "interop"))
sys.dont_write_bytecode = True
import environment  # noqa: E402
import peers  # noqa: E402


def tool(name, *flags):
    """A program of this directory, compiled once per run."""
    STORE.mkdir(parents=True, exist_ok=True)
    source, binary = ROOT / "bench" / f"{name}.c", STORE / name
    subprocess.run([os.environ.get("CC", "cc"), "-std=c17", "-O2", "-D_XOPEN_SOURCE=700", str(source),
                    "-o", str(binary), *flags], check=True)
    return str(binary)


@functools.cache
def spawner():
    return tool("spawn")


def command(*words, cwd=None):
    """(seconds from spawn to exit, peak resident bytes) of a command, with its output discarded."""
    done = subprocess.run([spawner(), *map(str, words)], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, text=True, cwd=cwd)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, words))}: status {done.returncode}")
    nanoseconds, peak = done.stdout.split()
    return int(nanoseconds) / 1e9, int(peak)


class Pace:
    """Limit of the time of a row: after that many seconds a row of at least `least` rounds ends."""
    seconds, least = 15, 3

    @classmethod
    def hurry(cls):
        cls.seconds, cls.least = 3, 1


def alternate(rounds, one, other, between=lambda: None, least=None, seconds=None):
    """Results of `one` and `other`, run alternately; each round starts with the other one. Ends after
    fewer rounds than `rounds` if they take too long (Pace)."""
    left, right = [], []
    least, end = least or Pace.least, time.perf_counter() + (seconds or Pace.seconds)
    for number in range(rounds):
        if number >= least and time.perf_counter() > end:
            break
        order = [(left, one), (right, other)]
        for results, work in order if number % 2 == 0 else reversed(order):
            between()
            results.append(work())
    return left, right


def median(values):
    return statistics.median(values)


@functools.cache
def environment_or_reason(name):
    try:
        return environment.interpreter(name)
    except environment.Unavailable as reason:
        return reason


def interpreter(name):
    """Python of an interop environment. One that cannot be created is tried once in a run."""
    found = environment_or_reason(name)
    if isinstance(found, environment.Unavailable):
        raise found
    return found


class Peer:
    """A program of this directory in one of the interop environments. It is started by the first request;
    what its libraries print goes to build/bench/peers.log."""

    def __init__(self, name="main", program="peer.py"):
        self.command = (interpreter(name), "-W", "ignore", ROOT / "bench" / program)
        self.process = None

    def ask(self, do, **rest):
        if not self.process:
            STORE.mkdir(parents=True, exist_ok=True)
            with open(STORE / "peers.log", "a") as log:
                self.process = peers.Peer(*self.command, stderr=log)
        return self.process.ask(do, **rest)

    def close(self):
        if self.process:
            self.process.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class OpenList:
    """open_list.c, compiled against the library under test."""

    def __init__(self, path):
        binary = tool("open_list", f"-I{ROOT / 'include'}", f"-L{LIBRARY}", "-lheft",
                      f"-Wl,-rpath,{LIBRARY}")
        self.process = subprocess.Popen([binary, str(path)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def ask(self):
        """[nanoseconds, tensors, bytes of peak memory beyond that before the first round]"""
        print(file=self.process.stdin, flush=True)
        return [int(word) for word in self.process.stdout.readline().split()]

    def round(self):
        """(seconds, tensors)"""
        nanoseconds, tensors, _ = self.ask()
        return nanoseconds / 1e9, tensors

    def round_with_memory(self):
        """(seconds, peak memory)"""
        nanoseconds, _, memory = self.ask()
        return nanoseconds / 1e9, memory

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def text_of(seconds):
    if seconds < 1e-3:
        return f"{seconds * 1e6:.0f} µs"
    return f"{seconds * 1e3:.2f} ms" if seconds < 0.1 else f"{seconds:.2f} s"


def spaced(number):
    """A number with spaces between thousands."""
    return f"{number:,.0f}".replace(",", " ")


def bytes_of(size):
    return f"{size / 2**20:.1f} MiB"


@dataclass
class Row:
    verb: str
    work: str
    against: str
    heft: str
    peer: str
    ratio: str
    wanted: str = "–"
    reached: bool | None = None  # None if nothing is required


class Table:
    """The rows of a run, and its growth curves."""

    def __init__(self):
        self.rows = []
        self.curves = []
        self.skipped = []  # (what, reason)
        self.verb = ""

    def under(self, verb):
        """The verb of the rows that follow."""
        self.verb = verb

    def skip(self, what, reason):
        self.skipped.append((what, reason))
        print(f"bench: {what}: skipped: {reason}", flush=True)

    def add(self, work, against, heft, peer, ratio, wanted, reached):
        self.rows.append(Row(self.verb, work, against, heft, peer, ratio, wanted, bool(reached)))
        print(f"{work}: heft {heft}, {against} {peer}: {ratio} (wanted {wanted}): "
              f"{'reached' if reached else 'NOT REACHED'}", flush=True)

    def told(self, work, against, heft, peer, ratio):
        """A row without a requirement: shows the distance to a limit."""
        self.rows.append(Row(self.verb, work, against, heft, peer, ratio))
        print(f"{work}: heft {heft}, {against} {peer}: {ratio}", flush=True)

    def faster(self, work, against, heft, peer, wanted):
        """Requirement: at least `wanted` times as fast as the peer."""
        self.add(work, against, text_of(heft), text_of(peer), f"{peer / heft:.1f}×", f"≥ {wanted}×",
                 peer >= wanted * heft)

    def within(self, work, against, heft, peer, wanted):
        """Requirement: at most `wanted` times the peer's time."""
        self.add(work, against, text_of(heft), text_of(peer), f"{heft / peer:.2f}×", f"≤ {wanted}×",
                 heft <= wanted * peer)

    def below(self, work, value, wanted, show, unit=""):
        self.add(work, "–", show(value) + unit, "–", "–", f"≤ {show(wanted)}{unit}",
                 value <= wanted)
