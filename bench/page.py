"""Reads and writes the table of doc/performance.md, and describes the machine on which it was
measured."""

import ctypes
import os
import platform
import time

import inputs
from measure import ROOT, STORE, median

GB = 10**9
PAGE = ROOT / "doc" / "performance.md"
BEGIN, END = "<!-- bench: begin -->", "<!-- bench: end -->"


def best_rate(size, work, rounds=7):
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return size / median(times) / GB


def machine():
    """Speed of the machine: a copy in memory, a read from the page cache."""
    size = 256 << 20
    left, right = ctypes.create_string_buffer(size), ctypes.create_string_buffer(size)
    ctypes.memset(left, 1, size)
    memcpy = best_rate(size, lambda: ctypes.memmove(right, left, size))
    path = inputs.made(STORE / "cached.bin", lambda part: part.write_bytes(bytes(size)))
    inputs.warm(path)
    read = best_rate(size, lambda: inputs.warm(path))
    del left, right
    return (f"{processor()}, {os.cpu_count()} cores, Linux {platform.release()}: memcpy {memcpy:.1f} GB/s, "
            f"page cache read {read:.1f} GB/s")


def processor():
    """Name of the processor, and the widest instructions for which heft has kernels."""
    with open("/proc/cpuinfo") as lines:
        facts = dict(line.split(":", 1) for line in lines.read().split("\n\n")[0].splitlines() if ":" in line)
    facts = {key.strip(): value.strip() for key, value in facts.items()}
    flags = facts.get("flags", "").split()
    widest = next((name for flag, name in (("avx512bw", " with AVX-512"), ("avx2", " with AVX2"))
                   if flag in flags), "")
    return facts.get("model name", platform.machine()) + widest


def recorded():
    """The page's text before the table, (machine, rows), and after it."""
    head, _, rest = PAGE.read_text().partition(BEGIN)
    text, _, tail = rest.partition(END)
    lines = text.strip().splitlines()
    rows = [tuple(line.strip("| ").split(" | ")) for line in lines if line.startswith("| ")]
    return head, (lines[0], [row for row in rows[1:] if set(row[0]) != {"-"}]), tail


def is_of(machine):
    """Returns true if the table was measured on that machine, compared by its constant properties."""
    return recorded()[1][0].partition(": ")[0] == machine.partition(": ")[0]


def record(table, machine, is_whole):
    """Writes rows into the page's table; if only parts ran, in place of their previous rows."""
    head, (_, rows), tail = recorded()
    if not is_whole:
        mine = {row[:2]: row for row in table.rows}
        table.rows = [mine.pop(row[:2], row) for row in rows] + list(mine.values())
    PAGE.write_text(f"{head}{BEGIN}\n\n{machine}\n\n{table.markdown()}\n{END}{tail}")
