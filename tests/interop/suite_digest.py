"""Digests: hashlib over the bytes of numpy's and torch's arrays equals `heft digest` of the files that
safetensors, torch, numpy, h5py and TensorFlow write; `--files` equals sha256sum; `verify --against hub`
reads a cache that huggingface_hub has downloaded from a server on this machine."""

import hashlib
import http.server
import random
import struct
import subprocess
import threading

import numpy
import safetensors.torch
import torch

from common import SAFE_DTYPES, Suite, heft, raw, run_peer
from generate import random_tensor

CODES = "? i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8".split()
SHAPES = [(), (0,), (3,), (2, 3), (2, 0, 3), (700, 900)]


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def digests(suite, path, *words):
    """{name: digest} of `heft digest`."""
    ran = heft("digest", "--json", "-q", *words, path)
    if not suite.check(ran.status == 0, f"{path}: digest", ran.line):
        return {}
    return {row["name"]: row["sha256"] for row in ran.json["digests"]}


def random_arrays():
    rng = random.Random(19)
    arrays = {}
    for at, code in enumerate(CODES):
        for shape in (SHAPES[at % len(SHAPES)], SHAPES[(at + 2) % len(SHAPES)]):
            count = int(numpy.prod(shape, dtype=int))
            dtype = numpy.dtype(code)
            flat = (numpy.array([rng.random() < 0.5 for _ in range(count)], bool) if code == "?"
                    else numpy.frombuffer(rng.randbytes(count * dtype.itemsize), dtype))
            arrays[f"{code.replace('?', 'b1')}/{len(shape)}/{count}"] = flat.reshape(shape)
    return arrays


def of_numpy(suite, folder):
    """The same arrays in five formats have the digests of their bytes."""
    arrays = random_arrays()
    expected = {name: sha256(raw(array)) for name, array in arrays.items()}
    numpy.savez(folder / "a.npz", **arrays)
    numpy.savez_compressed(folder / "deflated.npz", **arrays)
    swapped = {name: numpy.array(array, array.dtype.newbyteorder(">"), order="F") for name, array in arrays.items()}
    numpy.savez(folder / "fortran.npz", **swapped)
    safetensors.torch.save_file({name: torch.from_numpy(array.copy()) for name, array in arrays.items()},
                                folder / "a.safetensors")
    torch.save({name: torch.from_numpy(array.copy()) for name, array in arrays.items()}, folder / "a.pt")
    files = ["a.npz", "deflated.npz", "fortran.npz", "a.safetensors", "a.pt"]
    done = run_peer("tf", "digest_peer.py", folder / "a.npz", folder / "a.h5", folder / "bundle", folder / "strings")
    if suite.equal(done.returncode, 0, f"the peer: {done.stderr[-500:]}"):
        files += ["a.h5", "bundle"]
        words = b"".join(struct.pack("<Q", len(text)) + text for text in (b"", b"one\0", b"\xff" * 300, b"z"))
        suite.equal(digests(suite, folder / "strings"), {"words": sha256(words)}, "strings of TensorFlow")
    for name in files:
        suite.equal(digests(suite, folder / name), expected, f"{name}: digests of the arrays")
    listed = heft("digest", "-q", folder / "a.safetensors")
    (folder / "list").write_bytes(listed.out)
    for name in files:
        ran = heft("verify", "-q", folder / name, "--against", folder / "list")
        suite.equal((ran.status, ran.out), (0, b""), f"{name}: verify --against")


def of_torch(suite, folder):
    """Views, ties, and dtypes that numpy lacks."""
    rng = random.Random(7)
    state = {str(dtype): random_tensor(rng, dtype, (5, 6)).reshape(5, 6).clone() for dtype in SAFE_DTYPES}
    base = torch.randn(300, 500)
    state |= {"base": base, "tied": base, "transposed": base.t(), "slice": base[7:90:3, 5:],
              "expanded": base[0].expand(4, 500), "conj": torch.randn(6, dtype=torch.complex64).conj()}
    expected = {name: sha256(raw(tensor)) for name, tensor in state.items()}
    torch.save(state, folder / "t.pt")
    torch.save(state, folder / "old.pt", _use_new_zipfile_serialization=False)
    for name in ("t.pt", "old.pt"):
        for threads in (1, 4):
            suite.equal(digests(suite, folder / name, "-j", threads), expected, f"{name}: -j {threads}")
    for target in ("t.safetensors", "t.ptd"):
        ran = heft("convert", "-q", "--no-sync", folder / "t.pt", "-o", folder / target,
                   *(["-g", "!torch.*", "-g", "!conj"] if target == "t.ptd" else []))
        suite.equal(ran.status, 0, f"{target}: {ran.line}")
        found = digests(suite, folder / target)
        suite.equal(found, {name: expected[name] for name in found}, f"{target}: the digests of torch")
        suite.check("tied" in found and len(found) >= 4, f"{target}: tied names", sorted(found))


def of_files(suite, folder):
    """Lists of the two programs are equal, and each reads the other's."""
    names = ["m.safetensors", "new\nline.safetensors", "back\\slash.safetensors", "cr\r.safetensors"]
    for at, name in enumerate(names):
        safetensors.torch.save_file({f"w{at}": torch.ones(at + 1)}, folder / name)
    ours = b"".join(subprocess.run(["heft", "digest", "-q", "--files", name], cwd=folder, capture_output=True,
                                   executable=heft_path()).stdout for name in names)
    for form in ([], ["-b"]):
        theirs = subprocess.run(["sha256sum", *form, *names], cwd=folder, capture_output=True).stdout
        if not form:
            suite.equal(ours, theirs, "--files prints what sha256sum prints")
        (folder / "SUMS").write_bytes(theirs)
        for name in names:
            ran = heft("verify", folder / name, "--against", folder / "SUMS")
            suite.check(ran.status == 0 and b"1 digest" in ran.err, f"{name!r} is in the list", ran.line)
    (folder / "SUMS").write_bytes(ours)
    done = subprocess.run(["sha256sum", "-c", "--strict", "SUMS"], cwd=folder, capture_output=True)
    suite.equal(done.returncode, 0, f"sha256sum -c: {done.stderr}")


def heft_path():
    from common import HEFT
    return HEFT


class Hub(http.server.BaseHTTPRequestHandler):
    """Answers as the hub does: large files have an ETag that is their SHA-256, small ones git's SHA-1."""

    files = {}

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        content = self.files.get(self.path.partition("/resolve/")[2].partition("/")[2])
        self.send_response(200 if content is not None else 404)
        self.send_header("X-Repo-Commit", "c0ffee" + 34 * "0")
        content = content or b""
        large = len(content) > 1000
        git = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
        self.send_header("X-Linked-Etag" if large else "ETag", f'"{sha256(content) if large else git}"')
        if large:
            self.send_header("ETag", '"another"')
            self.send_header("X-Linked-Size", str(len(content)))
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        return content

    def do_GET(self):
        self.wfile.write(self.do_HEAD())


def of_hub(suite, folder):
    """A cache made by huggingface_hub, then damaged."""
    import huggingface_hub
    model = folder / "model.safetensors"
    safetensors.torch.save_file({"w": torch.randn(100, 100)}, model)
    Hub.files = {"model.safetensors": model.read_bytes(), "config.json": b'{"a": 1}\n', "sub/more.txt": b"x" * 5000}
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for name in Hub.files:
        path = huggingface_hub.hf_hub_download("a/b", name, cache_dir=folder / "hub", token=False,
                                               endpoint=f"http://127.0.0.1:{server.server_port}")
    server.shutdown()
    repository = folder / "hub" / "models--a--b"
    snapshot = next((repository / "snapshots").iterdir())
    for place, count in ((repository, 3), (snapshot, 3), (snapshot / "model.safetensors", 1)):
        ran = heft("verify", place, "--against", "hub")
        suite.check(ran.status == 0 and f"{count} digest".encode() in ran.err, f"the hub's cache: {place.name}", ran.line)
    for name in Hub.files:
        blob = (snapshot / name).resolve()
        whole = blob.read_bytes()
        blob.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        ran = heft("verify", "-q", snapshot, "--against", "hub")
        suite.check(ran.status == 1 and name.encode() in ran.out, f"a flipped bit of {name}", ran.out)
        blob.write_bytes(whole)
    ran = heft("verify", "-q", snapshot, "--against", "hub")
    suite.equal((ran.status, ran.out), (0, b""), "the cache is whole again")


def run(folder):
    suite = Suite("digests equal hashlib's in every format, and those of sha256sum and the hub")
    for part in (of_numpy, of_torch, of_files, of_hub):
        (folder / part.__name__).mkdir()
        part(suite, folder / part.__name__)
    return suite
