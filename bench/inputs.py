"""Input files of the measurements, created once and kept under build/bench/, as long as there is room."""

import os
import shutil

from measure import STORE

ROOM = 10 * 10**9  # bytes that large inputs may occupy, with the one to be made
LARGE = 10**8
IN_USE = set()  # entries of STORE that the running part uses

SPARSE = STORE / "llama-sparse.pth"


def occupied(entry):
    """Bytes on disk of a file or directory."""
    paths = [entry, *entry.rglob("*")] if entry.is_dir() else [entry]
    return sum(path.lstat().st_blocks * 512 for path in paths)


def make_room(size):
    """Removes large inputs, the least recently used first, until `size` more bytes have room."""
    large = {entry: occupied(entry) for entry in STORE.iterdir()}
    large = {entry: size for entry, size in large.items() if size >= LARGE}
    for entry in sorted(large, key=lambda entry: entry.stat().st_mtime):
        if sum(large.values()) + size <= ROOM:
            return
        if entry not in IN_USE:
            large.pop(entry)
            drop(entry)


def drop(entry):
    """Removes an input that is not needed any more."""
    IN_USE.discard(entry)
    shutil.rmtree(entry) if entry.is_dir() else entry.unlink()


def use(path):
    """Marks an input as used by the running part, and as the one used last."""
    entry = STORE / path.relative_to(STORE).parts[0]
    IN_USE.add(entry)
    os.utime(entry)


def made(path, make, size=0):
    """Path of the file, which is created under another name and renamed. `size` if it is large."""
    STORE.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        print(f"bench: creating {path.name} (once)", flush=True)
        if size:
            make_room(size)
        part = path.with_name("part-" + path.name)
        make(part)
        os.replace(part, path)
    use(path)
    return path


def sparse(peer):
    return made(SPARSE, lambda part: peer.ask("make_sparse", path=str(part)))


def real(peer, size):
    return made(STORE / f"real-{size // 10**6}MB.pth",
                lambda part: peer.ask("make_real", path=str(part), size=size), size)


def arrays(peer, size):
    """An .npz of random bytes in arrays of 64 MB."""
    return made(STORE / f"arrays-{size // 10**6}MB.npz",
                lambda part: peer.ask("make_arrays", path=str(part), size=size), size)


def array(peer, size):
    """One .npy of that many random bytes."""
    return made(STORE / f"array-{size // 10**6}MB.npy",
                lambda part: peer.ask("make_array", path=str(part), size=size), size)


def weights(peer, dtype, size):
    """A safetensors file of normally distributed numbers in tensors of 64 MB."""
    return made(STORE / f"weights-{dtype}-{size // 10**6}MB.safetensors",
                lambda part: peer.ask("make_weights", path=str(part), dtype=dtype, size=size),
                size)


def deflated(peer, kind, count):
    """A deflated .npz of `count` arrays: floats of 16 significant bits, or token ids as int64."""
    return made(STORE / f"deflated-{kind}-{count}.npz",
                lambda part: peer.ask("make_deflated", path=str(part), kind=kind, count=count))


def graph(peer, kind, size):
    """saved_model.pb of a graph of that size, in its own directory."""
    folder = STORE / f"graph-{kind}-{size // 10**6}MB"
    folder.mkdir(parents=True, exist_ok=True)
    return made(folder / "saved_model.pb",
                lambda part: peer.ask("make_graph", path=str(part), kind=kind, size=size), size)


def many(count):
    """A safetensors file of `count` small tensors, with about 93 bytes of header each and holes for
    data."""
    return made(STORE / f"many-{count}.safetensors", lambda part: write_many(part, count))


def dictionary(peer, tensors):
    """A torch.save of `tensors` tensors of one element: almost only opcodes, about 31 each."""
    return made(STORE / f"dictionary-{tensors}.pt",
                lambda part: peer.ask("make_dictionary", path=str(part), tensors=tensors))


def name_of(number):
    return f"layers.{number // 512:04d}.experts.{number % 512:03d}.w.weight"


def write_many(path, count):
    size = 16
    entries = ",".join(
        f'"{name_of(number)}":{{"dtype":"BF16","shape":[8],'
        f'"data_offsets":[{number * size},{(number + 1) * size}]}}' for number in range(count))
    header = ("{" + entries + "}").encode()
    header += b" " * (-len(header) % 8)
    with open(path, "wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        file.truncate(8 + len(header) + count * size)


def warm(path):
    """Reads a file once, so that it is in the page cache."""
    with open(path, "rb", buffering=0) as file:
        buffer = bytearray(1 << 20)
        while file.readinto(buffer):
            pass
