"""Generated files for dtype × pickle protocol × container: heft reads the tensors that torch saved."""

import collections
import pickle
import zipfile

import torch

import generate
from common import DTYPES, HEFT_NAME, Suite, heft, listing, raw

ZIP_PROTOCOLS = [2, 3, 4, 5]
ALL_PROTOCOLS = [0, 1, 2, 3, 4, 5]


def state_of(rng, dtype):
    """A plain tensor, a scalar, one with strides, a tie, a slice."""
    state = collections.OrderedDict()
    plain = generate.random_tensor(rng, dtype, (rng.randint(1, 5), rng.randint(1, 5)))
    state["plain.weight"] = plain
    state["scalar"] = generate.random_tensor(rng, dtype, ())
    state["turned"] = generate.random_tensor(rng, dtype, (3, 4)).t()
    state["tied.weight"] = plain
    state["slice"] = generate.random_tensor(rng, dtype, (7,))[2:5]
    return state


def save_zip(state, path, protocol):
    torch.save(state, path, pickle_protocol=protocol)


def save_legacy(state, path, protocol):
    torch.save(state, path, pickle_protocol=protocol, _use_new_zipfile_serialization=False)


def save_pickle(state, path, protocol):
    with open(path, "wb") as file:
        pickle.dump(state, file, protocol=protocol)


def save_deflated(state, path, protocol):
    """Repacks a checkpoint as an ordinary zip tool does."""
    torch.save(state, path, pickle_protocol=protocol)
    with zipfile.ZipFile(path) as source:
        records = [(info.filename, source.read(info)) for info in source.infolist()]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as target:
        for name, data in records:
            target.writestr(name, data)


def save_aligned(state, path, protocol):
    from torch.utils.serialization import config
    before = config.save.storage_alignment
    config.save.storage_alignment = 4096
    try:
        torch.save(state, path, pickle_protocol=protocol)
    finally:
        config.save.storage_alignment = before


def save_without_crc(state, path, protocol):
    torch.serialization.set_crc32_options(False)
    try:
        torch.save(state, path, pickle_protocol=protocol)
    finally:
        torch.serialization.set_crc32_options(True)


CONTAINERS = [(save_zip, ZIP_PROTOCOLS), (save_legacy, ALL_PROTOCOLS), (save_pickle, ALL_PROTOCOLS),
              (save_deflated, [2]), (save_aligned, [2]), (save_without_crc, [2])]


def expected_of(path, save, state):
    """The tensors that torch itself reads from the file if it can; otherwise those that were saved."""
    try:
        if save is save_pickle:
            with open(path, "rb") as file:
                return pickle.load(file)
        return torch.load(path, weights_only=False)
    except AttributeError:  # torch writes byte storages into legacy streams but cannot read them
        return state


def check(suite, path, what, state):
    rows, ran = listing(path)
    if not suite.check(rows is not None, what, ran.line):
        return
    suite.equal(list(rows), list(state), f"{what}: names")
    for name, tensor in state.items():
        row = rows.get(name)
        shown = (row["dtype"], row["shape"]) if row else None
        got = heft("get", path, name, "-o", "-")
        suite.check(shown == (HEFT_NAME[tensor.dtype], list(tensor.shape)) and got.status == 0
                    and got.out == raw(tensor), f"{what}: {name}",
                    f"{shown}, {got.line if got.status else 'other bytes'}")


def run(folder):
    suite = Suite("generated files: dtype × protocol × container")
    path = folder / "generated.pt"
    files = 0
    for save, protocols in CONTAINERS:
        for protocol in protocols:
            for dtype, name, _ in DTYPES:
                what = f"{save.__name__.removeprefix('save_')} of {name}, protocol {protocol}"
                state = state_of(generate.source(what), dtype)
                try:
                    save(state, path, protocol)
                    state = expected_of(path, save, state)
                except Exception:
                    continue  # torch itself cannot write or read it
                files += 1
                check(suite, path, what, state)
    suite.check(files >= 300, "at least 300 files", f"torch made {files}")
    return suite
