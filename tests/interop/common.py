"""Shared by the suites: the heft command, table of dtypes of torch and heft, bytes of tensors."""

import json
import os
import pathlib
import subprocess
import sys

import numpy
import torch

import environment

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HEFT = os.environ.get("HEFT") or str(ROOT / "build" / "release" / "heft")
SHOWN = 12  # maximum failures printed per suite

# torch's name of a dtype, heft's, and whether safetensors supports it
DTYPES = [
    (torch.float64, "F64", True), (torch.float32, "F32", True), (torch.float16, "F16", True),
    (torch.bfloat16, "BF16", True), (torch.complex64, "C64", True),
    (torch.complex128, "C128", False), (torch.complex32, "C32", False), (torch.bool, "BOOL", True),
    (torch.int8, "I8", True), (torch.int16, "I16", True), (torch.int32, "I32", True),
    (torch.int64, "I64", True), (torch.uint8, "U8", True), (torch.uint16, "U16", True),
    (torch.uint32, "U32", True), (torch.uint64, "U64", True),
    (torch.float8_e4m3fn, "F8_E4M3", True), (torch.float8_e5m2, "F8_E5M2", True),
    (torch.float8_e8m0fnu, "F8_E8M0", True), (torch.float8_e4m3fnuz, "F8_E4M3FNUZ", True),
    (torch.float8_e5m2fnuz, "F8_E5M2FNUZ", True),
]
HEFT_NAME = {dtype: name for dtype, name, _ in DTYPES}
TORCH_DTYPE = {name: dtype for dtype, name, _ in DTYPES}
SAFE_DTYPES = [dtype for dtype, _, safe in DTYPES if safe]


class Suite:
    """Counts passed and failed checks, and prints the failures as they occur."""

    def __init__(self, name):
        self.name = name
        self.passed = self.failed = self.skipped = 0

    def check(self, good, what, detail=""):
        if good:
            self.passed += 1
            return True
        self.failed += 1
        if self.failed <= SHOWN:
            text = f"FAIL {self.name}: {what}" + (f": {detail}" if detail else "")
            print(text if len(text) < 1500 else text[:1500] + " …", flush=True)
        elif self.failed == SHOWN + 1:
            print(f"FAIL {self.name}: further failures are only counted", flush=True)
        return False

    def equal(self, got, expected, what):
        return self.check(got == expected, what, f"expected {clip(expected)}, got {clip(got)}")

    def skip(self, why):
        self.skipped += 1
        print(f"skip {self.name}: {why}", flush=True)


def clip(value):
    text = repr(value)
    return text if len(text) <= 400 else f"{text[:400]} … ({len(text)} characters)"


class Ran:
    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err

    @property
    def json(self):
        return json.loads(self.out)

    @property
    def line(self):
        """The error line, for reports."""
        lines = self.err.decode("utf-8", "replace").strip().splitlines()
        return f"exit {self.status}: {lines[-1] if lines else 'nothing on stderr'}"


def heft(*words):
    done = subprocess.run([HEFT, *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True,
                          close_fds=False)
    return Ran(done.returncode, done.stdout, done.stderr)


def run_peer(name, program, *words):
    """Runs a program of this directory in the environment of that name; raises environment.Unavailable
    if that cannot be created. The program gets the path of the command in HEFT, that of the sources in
    HEFT_ROOT."""
    return subprocess.run([str(environment.interpreter(name)), str(environment.HERE / program), *map(str, words)],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          env={**os.environ, "HEFT": os.path.abspath(HEFT), "HEFT_ROOT": str(ROOT),
                               "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""})


def peer_suite(title, name, program, folder):
    """Suite of a program that checks by itself and prints a line per check: `pass WHAT`, `FAIL WHAT`."""
    suite = Suite(title)
    try:
        done = run_peer(name, program, folder)
    except environment.Unavailable as reason:
        suite.skip(f"the environment cannot be created: {reason}")
        return suite
    for line in done.stdout.splitlines():
        word, _, what = line.partition(" ")
        if word in ("pass", "FAIL"):
            suite.check(word == "pass", what)
    suite.equal(done.returncode, 0, f"the peer ran to its end: {done.stderr[-800:]}")
    return suite


def listing(path):
    """Rows of `heft ls --json` by name, or None; and the finished process."""
    ran = heft("ls", "--json", path)
    if ran.status != 0:
        return None, ran
    return {row["name"]: row for row in ran.json["tensors"]}, ran


def raw(tensor):
    """Row-major little-endian bytes of the tensor's value."""
    if isinstance(tensor, numpy.ndarray):
        return numpy.ascontiguousarray(tensor).astype(tensor.dtype.newbyteorder("<")).tobytes()
    tensor = tensor.detach()
    if tensor.dtype.is_complex or tensor.is_neg():
        tensor = tensor.resolve_conj().resolve_neg()
    if tensor.numel() == 0:
        return b""
    flat = torch.empty(tensor.numel(), dtype=tensor.dtype)  # stride 1, even for a single element
    return flat.copy_(tensor.reshape(-1)).view(torch.uint8).numpy().tobytes()


def read_safetensors(path):
    """(metadata, {name: (dtype, shape, bytes)}), read without the library."""
    data = pathlib.Path(path).read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + length])
    metadata = header.pop("__metadata__", {})
    body = data[8 + length:]
    rows = {}
    for name, row in header.items():
        begin, end = row["data_offsets"]
        rows[name] = (row["dtype"], row["shape"], body[begin:end])
    return metadata, rows


def same_safetensors(left, right):
    """Byte-equal except for the order of the metadata's keys, which the library chooses at random."""
    left, right = pathlib.Path(left).read_bytes(), pathlib.Path(right).read_bytes()
    if left == right:
        return True
    halves = []
    for data in (left, right):
        length = int.from_bytes(data[:8], "little")
        text = data[8:8 + length].decode()
        if not text.startswith('{"__metadata__":{'):
            return False
        _, stop = json.JSONDecoder().raw_decode(text, len('{"__metadata__":'))
        metadata = json.loads(text[len('{"__metadata__":'):stop])
        halves.append((length, metadata, text[stop:], data[8 + length:]))
    return halves[0] == halves[1]


def flatten(value, path=None):
    """Tensors and numpy arrays of a nested checkpoint, named as by heft, in order."""
    if isinstance(value, (torch.Tensor, numpy.ndarray)):
        yield "tensor" if path is None else path, value
        return
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        items = enumerate(value)
    else:
        return
    for key, item in items:
        yield from flatten(item, str(key) if path is None else f"{path}.{key}")


def fail_early(reason):
    print(f"interop: {reason}", file=sys.stderr)
    sys.exit(2)
