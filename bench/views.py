"""Parts of the bench: the Python package: checkpoints as tensors of torch, against safe_open and torch.load."""

import shutil
import zipfile

from inputs import made
from measure import ROOT, STORE, Peer, alternate, environment, median

TENSORS = 300


def package():
    """Directory with the package heft of the wheel that `make python` builds."""
    wheels = list((ROOT / "build" / "python").glob("*.whl"))
    if len(wheels) != 1:
        raise environment.Unavailable("build/python has no wheel: run make python")
    folder = STORE / f"package-{wheels[0].stat().st_mtime_ns}"
    if not folder.exists():
        for old in STORE.glob("package-*"):
            shutil.rmtree(old)
        with zipfile.ZipFile(wheels[0]) as wheel:
            wheel.extractall(folder)
    return folder


def checkpoint(peer, suffix, size):
    """About `size` bytes of bf16 weights in 300 tensors, as torch.save or safetensors writes them."""
    return made(STORE / f"layers-{size // 10**6}MB{suffix}",
                lambda part: peer.ask("make_layers", path=str(part), tensors=TENSORS, size=size), size)


def part_views(table, quick):
    """Python: opens, lists and gets 300 tensors of 1 GB as tensors of torch, untouched and touched"""
    size = 10**8 if quick else 10**9
    with Peer(program="package_peer.py") as peer:
        peer.ask("setup", folder=str(package()))
        for suffix, who, against, wanted in ((".safetensors", "safe_open", "safe_open", 3),
                                             (".pth", "torch_load", "torch.load(mmap, weights_only)", 10)):
            path = str(checkpoint(peer, suffix, size))
            work = f"`heft.open`, list, get {TENSORS} tensors, {size / 1e9:.1f} GB `{suffix}`"
            for touch in (False, True):
                rounds = 10 if quick else 60 if not touch else 30
                mine, theirs = alternate(rounds, lambda: peer.ask("get_all", who="heft", path=path, touch=touch),
                                         lambda: peer.ask("get_all", who=who, path=path, touch=touch))
                if len({tuple(answer["total"]) for answer in (*mine, *theirs)}) != 1:
                    raise RuntimeError(f"{path}: heft and {who} have other tensors")
                mine, theirs = (median([answer["seconds"] for answer in side]) for side in (mine, theirs))
                if touch:
                    table.within(f"{work}, and read every page", against, mine, theirs, 1.05)
                else:
                    table.faster(work, against, mine, theirs, wanted)


def part_load(table, quick):
    """Python: the object of a training checkpoint, nested dicts and ties, against torch.load"""
    with Peer(program="package_peer.py") as peer:
        peer.ask("setup", folder=str(package()))
        path = str(made(STORE / "nested.pth", lambda part: peer.ask("make_nested", path=str(part)), 10**6))
        mine, theirs = alternate(5 if quick else 25, lambda: peer.ask("load_object", who="heft", path=path),
                                 lambda: peer.ask("load_object", who="torch", path=path))
    if not all(answer["same"] for answer in (*mine, *theirs)):
        raise RuntimeError(f"{path}: heft and torch have other objects")
    mine, theirs = (median([answer["seconds"] for answer in side]) for side in (mine, theirs))
    table.faster("`heft.load` of nested dicts with 1280 tensors and ties", "torch.load(mmap, weights_only)", mine,
                 theirs, 3)


def part_save(table, quick):
    """Python: saves 300 tensors of torch as safetensors, against safetensors' save_file"""
    size = 10**8 if quick else 10**9
    out = STORE / "saved.safetensors"
    with Peer(program="package_peer.py") as peer:
        peer.ask("setup", folder=str(package()))

        def save(who):
            return peer.ask("save_layers", who=who, path=str(out), tensors=TENSORS, size=size)
        save("heft")
        mine, theirs = alternate(5 if quick else 15, lambda: save("heft"), lambda: save("safetensors"))
    out.unlink()
    if len({answer["bytes"] for answer in (*mine, *theirs)}) != 1:
        raise RuntimeError("heft and safetensors wrote other sizes")
    mine, theirs = (median([answer["seconds"] for answer in side]) for side in (mine, theirs))
    table.within(f"`heft.save_file` of {TENSORS} tensors, {size / 1e9:.1f} GB", "safetensors.torch.save_file", mine,
                 theirs, 1.05)
