"""Parts of the bench: NumPy's files, HDF5 and ExecuTorch's .ptd."""

import inputs
from copying import GB, QUIET, against_cp, convert_size, source, to_file
from measure import HEFT, STORE, Peer, alternate, command, median, text_of


def part_h5(table, quick):
    """convert: 4 GB to HDF5 and back, against cp"""
    with Peer() as peer:
        arrays = inputs.arrays(peer, convert_size(quick))
    path, stored = STORE / "bench.safetensors", STORE / "bench.h5"
    inputs.make_room(2 * arrays.stat().st_size)
    command(HEFT, "convert", arrays, "-o", path, "-f", *QUIET, "--no-sync")
    size = path.stat().st_size / GB
    against_cp(table, f"convert {size:.1f} GB to `.h5`", path, lambda: to_file(path, "out.h5"), quick)
    command(HEFT, "convert", path, "-o", stored, "-f", *QUIET, "--no-sync")
    path.unlink()
    against_cp(table, f"convert {size:.1f} GB from `.h5`", stored,
               lambda: to_file(stored, "out.safetensors"), quick)
    stored.unlink()


def part_numpy(table, quick):
    """convert: 4 GB from .npz, to .npz and from one .npy, with all checksums verified, against cp"""
    with Peer() as peer:
        size = convert_size(quick)
        archive, single = inputs.arrays(peer, size), inputs.array(peer, size)
    for given, name in ((archive, "out.safetensors"), (archive, "out.npz"), (single, "out.safetensors")):
        against_cp(table, f"convert {given.stat().st_size / GB:.1f} GB `{given.suffix}` to "
                   f"`.{name.partition('.')[2]}`", given, lambda: to_file(given, name), quick)


def ptd_of(peer, entries):
    """A .ptd of many small tensors, written by ExecuTorch's serializer; created once and kept."""
    def make(part):
        peer.ask("write", path=str(part), alignment=16, share=False,
                 entries=[{"key": f"model.layers.{number}.weight", "data": number.to_bytes(4, "little").hex(),
                           "layout": [6, [1], [0]]} for number in range(entries)])
    return inputs.made(STORE / f"entries-{entries}.ptd", make)


def part_ptd(table, quick):
    """ls: a .ptd of 20 000 entries, against ExecuTorch's deserializer; 4 GB to .ptd and back, against cp"""
    with Peer("ptd", "../tests/interop/ptd_peer.py") as peer:
        many = ptd_of(peer, 20_000)
        mine, theirs = alternate(5 if quick else 9, lambda: command(HEFT, "ls", many)[0],
                                 lambda: peer.ask("list", path=str(many)))
    work = "list a `.ptd` of 20 000 entries, whole command"
    table.faster(work, "executorch deserialize, in process", median(mine), median(theirs), 50)
    table.below(work, median(mine), 0.02, text_of)
    path, size = source(quick)
    stored = STORE / "bench.ptd"
    inputs.make_room(size)
    command(HEFT, "convert", path, "-o", stored, "-f", *QUIET, "--no-sync")
    for given, name in ((path, "out.ptd"), (stored, "out.safetensors")):
        against_cp(table, f"convert {size / GB:.1f} GB `{given.suffix}` to `.{name.partition('.')[2]}`", given,
                   lambda: to_file(given, name), quick)
    stored.unlink()


def part_inflate(table, quick):
    """verify: inflates deflated .npz of many members, against numpy.load of all, on 1 and on 2 cores"""
    with Peer() as peer:
        for kind in ("floats", "ids"):
            path = inputs.deflated(peer, kind, 4 if quick else 16)
            inputs.warm(path)
            for threads, wanted in ((1, 2), (2, 3.5)):
                mine, theirs = alternate(
                    5 if quick else 9, lambda: command(HEFT, "verify", path, "-j", str(threads), *QUIET)[0],
                    lambda: peer.ask("npz_load", path=str(path))["seconds"])
                table.faster(f"inflate a `.npz` of {kind}, `-j {threads}`", "numpy.load", median(mine),
                             median(theirs), wanted)
