"""200 random state dicts, split as huggingface_hub splits them; some of them written."""

import itertools
import json

import torch

import generate
import hub
from common import SAFE_DTYPES, Suite, clip, heft, same_safetensors

DICTS, WRITTEN = 200, 60


def limit_of(rng, state):
    """Limits around the decisive sizes: of one tensor, of a few, of all, one byte more and less."""
    sizes = [tensor.untyped_storage().nbytes() for tensor in state.values()]
    some = sum(rng.sample(sizes, rng.randint(1, len(sizes))))
    base = rng.choice([max(sizes), min(sizes), some, some // 2, sum(sizes), sum(sizes) // 3,
                       rng.choice(sizes)])
    return max(1, base + rng.choice([-1, 0, 0, 0, 1]))


def cases(folder):
    """(label, path, state dict as loaded, limit): writes all files first, then runs heft on them."""
    for seed in range(DICTS):
        rng = generate.source(f"split {seed}")
        dtypes = SAFE_DTYPES if seed % 2 else [torch.float32, torch.float16]
        state = generate.flat_dict(rng, dtypes, views=0.35 if seed % 3 else 0.0,
                                   lone=0.04, most=900, tensors=(1, 30))
        path = folder / f"split-{seed}.pt"
        torch.save(state, path)
        state = torch.load(path, weights_only=True)
        yield f"split {seed}", path, state, limit_of(rng, state)


def check_split(suite, label, path, state, limit):
    ran = heft("convert", path, "-o", str(path) + ".d/", "--max-shard-size", limit, "--dry-run",
               "--json")
    if not suite.check(ran.status == 0, f"{label}: dry run", f"limit {limit}: {ran.line}"):
        return
    got = ran.json
    expected, _ = hub.split(state, limit)
    for key, left, right in (
            ("filename_to_tensors", got["filename_to_tensors"], expected.filename_to_tensors),
            ("tensor_to_filename", got["tensor_to_filename"], expected.tensor_to_filename)):
        suite.check(list(left.items()) == list(right.items()), f"{label}: limit {limit}: {key}",
                    first_difference(list(left.items()), list(right.items())))
    suite.equal(got["metadata"]["total_size"], expected.metadata["total_size"],
                f"{label}: limit {limit}: total_size")
    suite.equal(got["is_sharded"], expected.is_sharded, f"{label}: is_sharded")


def first_difference(ours, theirs):
    for left, right in itertools.zip_longest(ours, theirs):
        if left != right:
            return f"heft {clip(left)}, the hub {clip(right)}"
    return ""


def check_files(suite, label, path, state, limit, folder):
    """Compares shards and index byte for byte."""
    ours, theirs = folder / "ours", folder / "theirs"
    for place in (ours, theirs):
        place.mkdir(exist_ok=True)
        for old in place.iterdir():
            old.unlink()
    hub.write(state, theirs, limit)
    ran = heft("convert", path, "-o", f"{ours}/", "--max-shard-size", limit, "--no-sync", "-q")
    if not suite.check(ran.status == 0, f"{label}: convert", f"limit {limit}: {ran.line}"):
        return
    names = sorted(file.name for file in theirs.iterdir())
    if not suite.equal(sorted(file.name for file in ours.iterdir()), names, f"{label}: files"):
        return
    for name in names:
        if name.endswith(".json"):
            good = (ours / name).read_bytes() == (theirs / name).read_bytes()
        else:
            good = same_safetensors(ours / name, theirs / name)
        suite.check(good, f"{label}: limit {limit}: bytes of {name}", difference(ours, theirs, name))


def difference(ours, theirs, name):
    left, right = (ours / name).read_bytes(), (theirs / name).read_bytes()
    if name.endswith(".json") and json.loads(left) != json.loads(right):
        return f"heft {left[:300]!r}, hub {right[:300]!r}"
    at = next((i for i, (a, b) in enumerate(zip(left, right)) if a != b), min(len(left), len(right)))
    return (f"first difference at {at} of {len(left)} and {len(right)}: "
            f"heft {left[max(0, at - 40):at + 40]!r}, hub {right[max(0, at - 40):at + 40]!r}")


def run(folder):
    suite = Suite("sharded as huggingface_hub shards")
    sharded = cloned = 0
    for number, (label, path, loaded, limit) in enumerate(list(cases(folder))):
        state, alone = hub.acceptable(loaded)
        cloned += alone > 0
        sharded += hub.split(state, limit)[0].is_sharded
        check_split(suite, label, path, state, limit)
        if number % (DICTS // WRITTEN) == 0:
            check_files(suite, label, path, state, limit, folder)
        path.unlink()
    # The generator must continue to produce the cases for which the suite exists.
    suite.check(sharded > DICTS // 3, "enough of the dicts need shards", str(sharded))
    suite.check(10 < cloned < DICTS * 3 // 4, "some hold what the hub refuses or loses, some do not",
                str(cloned))
    return suite
