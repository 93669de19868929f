"""Shared by all suites: context of a run, running programs, comparing texts."""
import difflib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"
GOLDEN = TESTS / "golden"
DATA_SUFFIXES = {".pt", ".ptl", ".pt2", ".pth", ".ckpt", ".safetensors", ".bin", ".npy", ".npz",
                 ".pkl", ".tar", ".gguf", ".ptd", ".pte", ".pb", ".pbtxt", ".meta", ".h5", ".keras"}


class Fail(Exception):
    """The test failed; the text is the reason."""


class Skip(Exception):
    """The test cannot run here; the text is the reason."""


def needs_hdf5(ctx, *words):
    """Skips a test that needs HDF5 if the build has no module for it (HEFT_HDF5=OFF, or libhdf5 is
    missing)."""
    if not {"h5", "test_h5", "test_hdf5_parent"}.isdisjoint(words) and not any(ctx.build.glob("lib*/**/heft_hdf5.so")):
        raise Skip("this build has no HDF5; install libhdf5-dev")


def needs_snappy(ctx, folder, name):
    """The same for files with blocks that are compressed with snappy."""
    if folder == "tf-bundle" and re.match(r"snappy\b|blocks$", name) and not any(ctx.build.glob("lib*/**/heft_snappy.so")):
        raise Skip("this build has no snappy; install libsnappy-dev")


class Context:
    """One run: build directory, options, and a temporary directory that is deleted at the end."""

    def __init__(self, args):
        self.build = Path(args.build).resolve()
        self.bless = args.bless
        self.long = args.long
        self.verbose = args.verbose
        if not (self.build / "CMakeCache.txt").exists():
            sys.exit(f"tests/run: {args.build} is no build: run make first")
        cache = (self.build / "CMakeCache.txt").read_text()
        self.sanitizers = re.search(r"^HEFT_SANITIZE:\w+=(.*)$", cache, re.M).group(1)
        self.instrumented = bool(self.sanitizers) or "--coverage" in cache
        emulator = re.search(r"^CMAKE_CROSSCOMPILING_EMULATOR:\w+=(.+)$", cache, re.M)
        self.emulator = emulator.group(1).split(";") if emulator else []
        self.heft = self.build / "heft"
        self.heft_open = self.build / "heft-open"

    def __enter__(self):
        self.scratch = Path(tempfile.mkdtemp(prefix="heft-tests-"))
        self.env = self.make_env()
        return self

    def __exit__(self, *exc):
        shutil.rmtree(self.scratch, ignore_errors=True)

    def make_env(self):
        env = dict(os.environ)
        for name in ("HEFT_COLOR", "COLUMNS", "MAKEFLAGS", "MAKELEVEL", "CLICOLOR_FORCE"):
            env.pop(name, None)
        env.update(
            PATH=f"{self.build}{os.pathsep}{env.get('PATH', '')}",
            GOLDEN=str(GOLDEN),
            LC_ALL="C",
            TZ="UTC",
            NO_COLOR="1",
            TMPDIR=str(self.scratch),
            # A special exit status distinguishes a sanitizer's report from heft's own exit statuses. The
            # interceptor of __tls_get_addr takes the bytes before a thread-local block for a header of old
            # glibc versions if the block's address ends in 0x010, once in 256 starts: the leak check then
            # reads unmapped memory (a library used by HDF5 has such a block, heft has none).
            ASAN_OPTIONS="exitcode=99:detect_stack_use_after_return=1:intercept_tls_get_addr=0",
            UBSAN_OPTIONS="print_stacktrace=1:exitcode=99",
            TSAN_OPTIONS="exitcode=99:halt_on_error=1",
        )
        return env

    def folder(self, prefix):
        """Creates a new directory in the temporary directory."""
        return Path(tempfile.mkdtemp(prefix=prefix + "-", dir=self.scratch))


# Seconds after which a program counts as hanging. Not a measure of speed: on a slow and busy
# machine the slowest of these programs take a sixth of it, most a hundredth.
PATIENCE = 600


def run(ctx, command, timeout=PATIENCE, **options):
    """Runs a program with captured output (bytes); a program that hangs has failed."""
    options.setdefault("env", ctx.env)
    options.setdefault("stdin", subprocess.DEVNULL)
    options.setdefault("stdout", subprocess.PIPE)
    options.setdefault("stderr", subprocess.PIPE)
    if ctx.emulator and isinstance(command[0], Path) and command[0].is_relative_to(ctx.build):
        command = [*ctx.emulator, *command]  # programs for another processor: scripts/cross
    try:
        return subprocess.run(command, timeout=timeout, check=False, **options)
    except subprocess.TimeoutExpired:
        raise Fail(f"not finished after {timeout} s: {show_command(command)}") from None
    except FileNotFoundError as error:
        raise Fail(f"{error.filename}: does not exist; was it built?") from None


def show_command(command):
    return command if isinstance(command, str) else " ".join(str(word) for word in command)


def text_of(data):
    return data.decode("utf-8", "backslashreplace") if data else ""


def must_succeed(ctx, command, **options):
    done = run(ctx, command, **options)
    if done.returncode != 0:
        raise Fail(f"{show_command(command)}: exit {done.returncode}\n"
                   + text_of(done.stdout) + text_of(done.stderr))
    return done


def diff(expected, actual):
    return "\n".join(difflib.unified_diff(expected.split("\n"), actual.split("\n"),
                                          "expected", "actual", lineterm="", n=2))


def golden_inputs():
    """(directory, name) of every golden input: data files, and subdirectories that contain an index."""
    for folder in sorted(path for path in GOLDEN.glob("*") if path.is_dir()):
        for path in sorted(folder.iterdir()):
            if path.is_file() and path.suffix in DATA_SUFFIXES:
                yield folder, path.name
            elif path.is_dir() and (index_of(path) or is_set(path)):
                yield folder, path.name


def is_set(folder):
    """Whether a directory is a checkpoint although no file of it refers to the others by name."""
    return any(next(folder.glob(name), None) for name in ("latest", "*_model_states.pt", "shard-*.safetensors",
                                                          "*_rank0.bin"))


def index_of(folder):
    """File of a checkpoint's directory that refers to the others; None if it has no such file."""
    return (next(folder.glob("saved_model.pb*"), None)
            or next(folder.glob("*.index.json"), None) or next(folder.glob("*.weights.json"), None)
            or next(folder.glob("*-00001-of-*.gguf"), None)
            or next(folder.glob(".metadata"), None)
            or next(reversed(sorted(folder.glob("*.index"))), None)  # TensorFlow: the latest
            or next(folder.glob("model.ckpt-3*"), None))  # version 1
