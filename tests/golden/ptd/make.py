#!/usr/bin/env python3
"""Writes the golden files of this directory with ExecuTorch's serializer and exporter.

    python make.py            # made with executorch 1.5.1, torch 2.13.0; old.ptd is by make_old.py
"""
import shutil
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "interop"))
import ptd_peer  # noqa: E402

SIZES = [1, 1, 2, 4, 8, 2, 4, 8, 4, 8, 16, 1, 1, 1, 4, 2, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1, 2, 4, 8]


def ramp(count, first=0):
    return bytes((first + i) % 256 for i in range(count)).hex()


def entry(key, layout, data, alignment=1):
    return {"key": key, "layout": layout, "data": data, "alignment": alignment}


def save(name, entries, alignment=16, share=False):
    ptd_peer.write({"path": str(HERE / (name + ".ptd")), "alignment": alignment, "share": share,
                    "entries": entries})


def plain():
    save("dtypes", [entry(f"type{number:02}", [number, [2], [0]], ramp(2 * size, number))
                    for number, size in enumerate(SIZES)], alignment=1)
    save("empty", [], alignment=128)
    save("shapes", [entry("scalar", [6, [], []], ramp(4)), entry("none", [6, [0], [0]], ""),
                    entry("none.of.3", [6, [0, 3], [0, 1]], ""),
                    entry("rank16", [0, [1] * 15 + [2], list(range(16))], ramp(2))])
    save("names", [entry(name, [0, [1], [0]], ramp(1, i))
                   for i, name in enumerate(("a", "ab", "abc", "abcd", "µ", "漢字", "😀", "with space", "\x1b[31m"))])


def orders():
    save("orders", [entry("last4", [6, [2, 3, 4, 5], [0, 2, 3, 1]], ramp(480)),
                    entry("last5", [0, [2, 3, 2, 2, 2], [0, 2, 3, 4, 1]], ramp(48)),
                    entry("turned", [1, [2, 3], [1, 0]], ramp(6)),
                    entry("of.ones", [0, [1, 3, 1], [2, 1, 0]], ramp(3))], alignment=1)


def shared():
    save("shared", [entry("embed", [6, [2, 2], [0, 1]], ramp(16)), entry("head", [6, [4], [0]], ramp(16)),
                    entry("other", [3, [4], [0]], ramp(16, 1)), entry("none.a", [6, [0], [0]], ""),
                    entry("none.b", [0, [0], [0]], "")], share=True)
    save("blobs", [entry("weight", [6, [2], [0]], ramp(8)),
                   entry("5a" * 32, None, ramp(17, 3), alignment=64), entry("none", None, "")],
         alignment=128)


def mixed():
    """Blobs before, between and after tensors; two with the same bytes."""
    save("mixed", [entry("first", None, ramp(5)), entry("a", [6, [2], [0]], ramp(8)), entry("same", None, ramp(8)),
                   entry("between", None, ramp(300, 7)), entry("b", [0, [3], [0]], ramp(3)), entry("last", None, ramp(1))],
         alignment=128, share=True)


def exported():
    with tempfile.TemporaryDirectory() as folder:
        ptd_peer.export({"folder": folder, "kind": "dense", "seed": 3})
        shutil.copy(Path(folder) / "_default_external_constant.ptd", HERE / "exported.ptd")


def lowered():
    """Weights of a program for XNNPACK, the tensors that they are, and others for the same keys."""
    with tempfile.TemporaryDirectory() as folder:
        ptd_peer.export(folder, "lowered", 3)
        shutil.copy(Path(folder) / "lowered.ptd", HERE / "lowered.ptd")
        for name, source in (("lowered-old", "model"), ("lowered-new", "other")):
            state = ptd_peer.torch.load(Path(folder) / f"{source}.pth")
            ptd_peer.numpy.savez(HERE / f"{name}.npz", **{key: value.numpy() for key, value in state.items()})


def main():
    for part in (plain, orders, shared, mixed, exported, lowered):
        part()


if __name__ == "__main__":
    main()
