"""Methods of measurement: commands from spawn to exit, alternating rounds, medians; the table."""

import functools
import os
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEFT = os.environ.get("HEFT") or str(ROOT / "build" / "release" / "heft")
LIBRARY = (pathlib.Path(HEFT).absolute().parent / "libheft.so").resolve().parent
STORE = ROOT / "build" / "bench"
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


def command(*words):
    """(seconds from spawn to exit, peak resident bytes) of a command, with its output discarded."""
    done = subprocess.run([spawner(), *map(str, words)], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, words))}: status {done.returncode}")
    nanoseconds, peak = done.stdout.split()
    return int(nanoseconds) / 1e9, int(peak)


def alternate(rounds, one, other, between=lambda: None):
    """Results of `one` and `other`, run alternately; each round starts with the other one."""
    left, right = [], []
    for number in range(rounds):
        order = [(left, one), (right, other)]
        for results, work in order if number % 2 == 0 else reversed(order):
            between()
            results.append(work())
    return left, right


def median(values):
    return statistics.median(values)


class Peer(peers.Peer):
    """A program of this directory in one of the interop environments."""

    def __init__(self, name="main", program="peer.py"):
        super().__init__(environment.interpreter(name), "-W", "ignore", ROOT / "bench" / program,
                         stderr=None)


class OpenList:
    """open_list.c, compiled against the library under test."""

    def __init__(self, path):
        binary = tool("open_list", f"-I{ROOT / 'include'}", f"-L{LIBRARY}", "-lheft",
                      f"-Wl,-rpath,{LIBRARY}")
        self.process = subprocess.Popen([binary, str(path)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def round(self):
        """(seconds, tensors)"""
        print(file=self.process.stdin, flush=True)
        nanoseconds, tensors = self.process.stdout.readline().split()
        return int(nanoseconds) / 1e9, int(tensors)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def text_of(seconds):
    if seconds < 1e-3:
        return f"{seconds * 1e6:.0f} µs"
    return f"{seconds * 1e3:.2f} ms" if seconds < 0.1 else f"{seconds:.2f} s"


def bytes_of(size):
    return f"{size / 2**20:.1f} MiB"


class Table:
    HEAD = ("work", "against", "heft", "peer", "ratio", "wanted", "reached")

    def __init__(self):
        self.rows = []

    def add(self, work, against, heft, peer, ratio, wanted, reached):
        row = (work, against, heft, peer, ratio, wanted, "yes" if reached else "**no**")
        self.rows.append(row)
        print(f"{work}: heft {heft}, {against} {peer}: {ratio} (wanted {wanted}): "
              f"{'reached' if reached else 'NOT REACHED'}", flush=True)

    def told(self, work, against, heft, peer, ratio):
        """A row without a requirement: shows the distance to a limit."""
        self.rows.append((work, against, heft, peer, ratio, "–", "–"))
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

    def markdown(self):
        lines = [f"| {' | '.join(self.HEAD)} |", "|" + " --- |" * len(self.HEAD)]
        return "\n".join(lines + [f"| {' | '.join(row)} |" for row in self.rows])
