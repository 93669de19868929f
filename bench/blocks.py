"""Part of the bench: GGML's block types to floats, and floats to them, against gguf-py."""

from measure import LIBRARY, Peer, alternate, median

BITS = {"BF16": 16, "F32": 32, "Q8_0": 34 / 32 * 8, "Q4_0": 18 / 32 * 8}  # of an element as written
BLOCKS = ("Q4_K", "Q8_0", "MXFP4", "NVFP4", "Q6_K")
RATE = 2.0  # GB/s of BF16 on one core that are required
FASTER = 6


def compare(table, peer, of, to, elements, rounds):
    """Rows of one conversion, by the processor time of both sides."""
    size = int(elements * BITS[to] / 8)
    heft, gguf = alternate(rounds, lambda: peer.ask("heft", of=of, to=to, elements=elements, size=size),
                           lambda: peer.ask("gguf", of=of, to=to))
    if not all(answer["ok"] for answer in heft) or not peer.ask("same")["same"]:
        raise RuntimeError(f"{of} to {to}: heft and gguf-py have other results")
    heft, gguf = (median([answer["seconds"] for answer in side]) for side in (heft, gguf))
    work = f"{of} to {to}, {elements / 1e6:.0f} million elements, in process, one thread"
    against = "gguf-py, to F32" if to == "BF16" else "gguf-py"
    table.faster(work, against, heft, gguf, FASTER)
    rate = size / heft / 1e9
    if to == "BF16":
        table.add(f"{work}: written", "–", f"{rate:.1f} GB/s", "–", "–", f"≥ {RATE} GB/s", rate >= RATE)


def part_blocks(table, quick):
    """blocks: Q4_K, Q8_0, MXFP4, NVFP4 and Q6_K to BF16 and F32, F32 to Q8_0 and Q4_0, against gguf-py"""
    elements, rounds = 2**22 if quick else 2**24, 5 if quick else 15
    with Peer("blocks", "block_peer.py") as peer:
        peer.ask("setup", library=str(LIBRARY / "libheft.so"))
        for kind in BLOCKS:
            peer.ask("make_blocks", kind=kind, elements=elements)
            for to in ("BF16", "F32"):
                compare(table, peer, kind, to, elements, rounds)
        peer.ask("make_floats", elements=elements)
        for to in ("Q8_0", "Q4_0"):
            compare(table, peer, "F32", to, elements, rounds)
