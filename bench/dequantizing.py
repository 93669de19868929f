"""Part of the bench: quantized models to BF16, against torch's formulas and cp."""

import resource

from copying import QUIET, fresh
from measure import HEFT, STORE, Peer, alternate, bytes_of, command, median

NAMES = {"fp8": "FP8 in blocks of 128 x 128", "nvfp4": "NVFP4", "mxfp4": "MXFP4 of gpt-oss, transposed"}
RATE = 2.0  # GB/s of BF16 on one core that are required, without the kernel's copies
MEMORY = 64 << 20
FASTER = 3


def processor(*words):
    """(user seconds, seconds of user and kernel, peak bytes) of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    _, peak = command(*words)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    user = after.ru_utime - before.ru_utime
    return user, user + after.ru_stime - before.ru_stime, peak


def compare(table, peer, kind, elements, rounds):
    folder, out = STORE / "quantized" / kind, fresh()
    peer.ask("make", kind=kind, folder=str(folder), elements=elements)
    mine, theirs = out / "heft.safetensors", out / "torch.safetensors"
    words = (HEFT, "convert", "--dequantize", folder / "model.safetensors", "-o", mine, "-f", "-j1", "--no-sync", *QUIET)
    heft, torch = alternate(rounds, lambda: processor(*words),
                            lambda: peer.ask("run", kind=kind, folder=str(folder), out=str(theirs))["seconds"])
    if not peer.ask("same", left=str(mine), right=str(theirs))["same"]:
        raise RuntimeError(f"{kind}: heft and torch have other values")
    size = mine.stat().st_size
    copied = [processor("cp", mine, theirs)[1] for _ in range(3)]
    work = f"{NAMES[kind]} to {bytes_of(size)} of BF16, one thread"
    table.faster(f"{work}, processor time", "torch", median([both for _, both, _ in heft]), median(torch), FASTER)
    rate = size / min(user for user, _, _ in heft) / 1e9
    table.add(f"{work}: computed", "–", f"{rate:.1f} GB/s", "–", "–", f"≥ {RATE} GB/s", rate >= RATE)
    table.told(f"{work}, processor time", "cp of the result", f"{min(both for _, both, _ in heft):.2f} s", f"{min(copied):.2f} s",
               f"{min(both for _, both, _ in heft) / min(copied):.1f}×")
    table.below(f"{work}: memory", max(peak for _, _, peak in heft), MEMORY, bytes_of)


def part_dequantize(table, quick):
    """dequantize: FP8, NVFP4 and MXFP4 to BF16, against torch's formulas and cp"""
    elements, rounds = 2**25 if quick else 2**27, 3 if quick else 9
    with Peer("main", "dequantize_peer.py") as peer:
        for kind in NAMES:
            compare(table, peer, kind, elements, rounds)
