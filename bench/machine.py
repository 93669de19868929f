"""Describes what was measured, and where: the machine, the build of heft, versions of the peers."""

import ctypes
import json
import os
import platform
import shutil
import subprocess
import time

import inputs
from measure import HEFT, LIBRARY, ROOT, STORE, environment, median

GB = 10**9
# Packages of the interop environments that the rows name.
PACKAGES = {
    "main": ("torch", "safetensors", "huggingface_hub", "numpy"),
    "tf": ("tensorflow-cpu", "protobuf"),
    "ptd": ("executorch", "flatbuffers"),
    "tokens": ("gigatoken", "tiktoken", "tokenizers", "tokie"),
    "train": ("tokenizers",),
    "scan": ("picklescan",),
}
COMMANDS = {"cp": ("cp", "--version"), "cat": ("cat", "--version"), "cmp": ("cmp", "--version"),
            "sha256sum": ("sha256sum", "--version"), "openssl": ("openssl", "version")}
ASK_VERSIONS = ("import importlib.metadata as m, json, platform, sys, zlib\n"
                "def of(name):\n"
                "    try: return m.version(name)\n"
                "    except m.PackageNotFoundError: return None\n"
                "print(json.dumps([platform.python_version(), zlib.ZLIB_RUNTIME_VERSION, "
                "[of(name) for name in sys.argv[1:]]]))")


def best_rate(size, work, rounds=7):
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return size / median(times) / GB


def rates(quick):
    """GB per second of a copy in memory, and of reading from the page cache."""
    size = (64 if quick else 256) << 20
    left, right = ctypes.create_string_buffer(size), ctypes.create_string_buffer(size)
    ctypes.memset(left, 1, size)
    memcpy = best_rate(size, lambda: ctypes.memmove(right, left, size))
    path = inputs.made(STORE / f"cached-{size >> 20}.bin", lambda part: part.write_bytes(bytes(size)))
    inputs.warm(path)
    return memcpy, best_rate(size, lambda: inputs.warm(path))


def processor():
    """Name of the processor, and the widest instructions for which heft has kernels."""
    with open("/proc/cpuinfo") as lines:
        facts = dict(line.split(":", 1) for line in lines.read().split("\n\n")[0].splitlines() if ":" in line)
    facts = {key.strip(): value.strip() for key, value in facts.items()}
    flags = facts.get("flags", "").split()
    widest = next((name for flag, name in (("avx512bw", " with AVX-512"), ("avx2", " with AVX2"))
                   if flag in flags), "")
    return facts.get("model name", platform.machine()) + widest


def memory():
    """(total, available) bytes."""
    with open("/proc/meminfo") as lines:
        sizes = {name: int(rest.split()[0]) * 1024 for name, rest in (line.split(":", 1) for line in lines)}
    return sizes["MemTotal"], sizes["MemAvailable"]


def busy_seconds():
    """(processor seconds of all programs since the start of the machine, those of this one and of its
    children that have ended)."""
    with open("/proc/stat") as lines:
        user, nice, system, _, _, irq, soft, steal = map(int, next(lines).split()[1:9])
    ticks = user + nice + system + irq + soft + steal
    return ticks / os.sysconf("SC_CLK_TCK"), sum(os.times()[:4])


def file_system():
    """Type of the file system of build/bench."""
    STORE.mkdir(parents=True, exist_ok=True)
    return first_line("findmnt", "-n", "-o", "FSTYPE", "-T", STORE) or "unknown"


def facts(quick):
    """Rows of (property, value)."""
    memcpy, read = rates(quick)
    total, free = memory()
    return [("processor", f"{processor()}, {os.cpu_count()} cores"),
            ("kernel", f"{platform.system()} {platform.release()}, {platform.machine()}"),
            ("memory", f"{total / 2**30:.1f} GiB, {free / 2**30:.1f} GiB of it available at the start"),
            ("copy in memory (memcpy)", f"{memcpy:.1f} GB/s"),
            ("read from the page cache", f"{read:.1f} GB/s"),
            ("file system", file_system()),
            ("load at the start", f"{os.getloadavg()[0]:.1f}")]


def first_line(*command):
    """First line that a command prints; empty if it cannot be run."""
    try:
        done = subprocess.run(list(map(str, command)), stdin=subprocess.DEVNULL, capture_output=True, text=True)
    except OSError:
        return ""
    return next(iter(done.stdout.splitlines()), "")


def commit():
    """Commit of the source tree, and whether files of it were changed."""
    name = first_line("git", "-C", ROOT, "describe", "--always", "--abbrev=12", "--dirty", "--exclude=*")
    return name.replace("-dirty", " with local changes") or "unknown"


def settings():
    """Settings of the build from CMake's cache."""
    cache = next((folder / "CMakeCache.txt" for folder in (LIBRARY, *LIBRARY.parents)
                  if (folder / "CMakeCache.txt").exists()), None)
    pairs = (line.partition("=") for line in cache.read_text().splitlines() if "=" in line) if cache else ()
    return {name.partition(":")[0]: value for name, _, value in pairs}


def build():
    """Compiler and flags of the library under test."""
    found = settings()
    compiler, kind = found.get("CMAKE_C_COMPILER", ""), found.get("CMAKE_BUILD_TYPE", "")
    flags = " ".join(filter(None, (found.get("CMAKE_C_FLAGS"), found.get(f"CMAKE_C_FLAGS_{kind.upper()}"))))
    version = first_line(compiler, "--version") if compiler else ""
    return f"{version or 'unknown compiler'}, {kind or 'unknown'} build, `{flags}`"


def packages():
    """Rows of versions in the interop environments that exist."""
    for name, wanted in PACKAGES.items():
        folder = environment.folder_of(name, environment.HERE / f"requirements-{name}.txt")
        if not environment.is_ready(folder):
            continue
        python = folder / "bin" / "python"
        done = subprocess.run([python, "-c", ASK_VERSIONS, *wanted], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=True)
        version, zlib, found = json.loads(done.stdout)
        yield from ((package, number) for package, number in zip(wanted, found) if number)
        if name == "main":
            yield from (("Python", version), ("zlib (of numpy.load)", zlib))


def versions():
    """Rows of (program or library, version)."""
    rows = [("heft", f"{first_line(HEFT, '--version').removeprefix('heft ')}, commit {commit()}"),
            ("built with", build())]
    rows += dict.fromkeys(packages())
    rows += [(name, first_line(*words)) for name, words in COMMANDS.items() if shutil.which(name)]
    return rows
