"""Parts of the bench: TensorFlow's bundles and SavedModels."""

import pathlib

import inputs
from copying import GB, QUIET, against_cat, against_cp, source, to_file
from measure import HEFT, ROOT, STORE, Peer, alternate, bytes_of, command, median, text_of


def bundle_of(path, name):
    """Prefix of a bundle of the tensors of a file, in its own directory."""
    def make(part):
        part.mkdir(parents=True, exist_ok=True)
        command(HEFT, "convert", path, "-o", part / "model", "--to", "tf", "-f", *QUIET)
    return inputs.made(STORE / name, make, path.stat().st_blocks * 512) / "model"


def part_bundle(table, quick):
    """convert: TensorFlow bundles to safetensors and back, with all CRC-32Cs computed, against cp; verify"""
    path, size = source(quick)
    prefix = bundle_of(path, f"bundle-{size // 10**6}MB")
    data = pathlib.Path(f"{prefix}.data-00000-of-00001")
    against_cp(table, f"convert a bundle of {size / GB:.1f} GB to safetensors", data,
               lambda: to_file(f"{prefix}.index", "out.safetensors"), quick)
    against_cat(table, f"`verify` a bundle of {size / GB:.1f} GB", data,
                lambda: command(HEFT, "verify", f"{prefix}.index", *QUIET), quick)
    other = STORE / "bundle.safetensors"
    command(HEFT, "convert", f"{prefix}.index", "-o", other, "-f", *QUIET, "--no-sync")
    inputs.drop(prefix.parent)
    against_cp(table, f"convert {size / GB:.1f} GB safetensors to a bundle", other,
               lambda: to_file(other, "out", "--to", "tf"), quick)
    other.unlink()


def part_bundle_index(table, quick):
    """ls: a bundle of 100 000 tensors by its index, against TensorFlow in a running Python"""
    prefix = bundle_of(inputs.many(100_000), "bundle-100000")
    with Peer("tf", "bundle_peer.py") as peer:
        mine, theirs = [], []
        for _ in range(10 if quick else 25):
            mine.append(command(HEFT, "ls", f"{prefix}.index")[0])
            theirs.append(peer.ask("list_bundle", prefix=str(prefix))["seconds"])
    table.faster("list a bundle of 100 000 tensors, whole command", "tf.train.load_checkpoint, in process",
                 median(mine), median(theirs), 15)


def sample():
    """The SavedModel that scripts/samples extracts from a Python package; None if it could not."""
    folder = ROOT / "build" / "samples" / "basic-pitch" / "nmp"
    return folder if (folder / "saved_model.pb").exists() else None


def part_saved_model(table, quick):
    """info: an existing SavedModel; of a graph of 200 MB against Python's protobuf"""
    model = sample()
    if model:
        times = [command(HEFT, "info", model)[0] for _ in range(11)]
        size = (model / "saved_model.pb").stat().st_size
        table.below(f"`info` of a SavedModel of {size / 1e6:.2f} MB", median(times), 0.01, text_of)
    else:
        table.skip("info of an existing SavedModel", "it is not there; scripts/samples basic-pitch")
    size = (20 if quick else 200) * 10**6
    with Peer("tf", "bundle_peer.py") as peer:
        for kind in ("nodes", "constants"):
            path = inputs.graph(peer, kind, size)
            inputs.warm(path)
            mine, theirs = alternate(5, lambda: command(HEFT, "info", path),
                                     lambda: peer.ask("parse", path=str(path))["seconds"])
            work = f"`info` of a `.pb` of {path.stat().st_size / 1e6:.0f} MB, {kind}"
            table.faster(work, "ParseFromString of protobuf", median([run[0] for run in mine]),
                         median(theirs), 3)
            table.below(f"{work}: peak RSS", max(run[1] for run in mine), 1.2 * path.stat().st_size, bytes_of)
