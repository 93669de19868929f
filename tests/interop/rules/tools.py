"""Shared by rules_peer.py and converters_peer.py: checks, the command, tensors and their bytes."""

import os
import subprocess

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

WORDS = {"metadata": {"format": "pt"}}


def mend_torchvision():
    """torchvision built for another torch has no operators, and fails on import, and with it timm and transformers: two
    names are all that it wants. Neither is called here."""
    try:
        import torchvision  # noqa: F401
        return None
    except RuntimeError:
        library = torch.library.Library("torchvision", "DEF")
        for name in ("nms", "qnms"):
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        import torchvision  # noqa: F401
        return library


LIBRARY = mend_torchvision()  # operators live as long as it does


def check(good, what, detail=""):
    line = f"{'pass' if good else 'FAIL'} {what}{'' if good or str(detail) == '' else f': {detail}'}"
    print(line.replace("\n", " | "), flush=True)
    return good


def heft(*words):
    return subprocess.run([os.environ["HEFT"], *map(str, words)], capture_output=True, text=True, stdin=subprocess.DEVNULL)


def convert(what, source, target, *options):
    done = heft("convert", source, "-o", target, "-q", "-f", "--no-sync", *options)
    check(done.returncode == 0, f"{what}: converted", (done.stderr or done.stdout).strip()[-600:])
    return done.returncode == 0


def reverse(what, source, target, preset, *options):
    return convert(f"{what}, back", source, target, "--rules", preset, "--reverse", *options)


def refused(what, word, source, target, preset, *options):
    """An error that names the preset and has the word, exit 2 (1: tensors that must be equal differ), nothing written."""
    done = heft("convert", source, "-o", target, "--rules", preset, *options)
    good = done.returncode in (1, 2) and word in done.stderr and f"{preset}:" in done.stderr and not os.path.exists(target)
    check(good, f"{what} is refused", f"exit {done.returncode}: {done.stderr.strip()}")


def misses_nothing(info, what):
    check(not any(info[key] for key in ("missing_keys", "unexpected_keys", "mismatched_keys")),
          f"{what}: from_pretrained misses nothing", info)


def rows(path):
    """Tensors of a file that torch or safetensors reads, by name."""
    if str(path).endswith(".safetensors"):
        return load_file(path)
    return torch.load(path, weights_only=True)


def save(tensors, path):
    save_file({name: tensor.detach().contiguous().clone() for name, tensor in tensors.items()}, path, **WORDS)


def metadata(path):
    with safe_open(path, "pt") as file:
        return file.metadata() or {}


def data(tensor):
    return tensor.detach().contiguous().flatten().view(torch.uint8).numpy().tobytes()


def same(found, expected, what):
    """The same names, dtypes, shapes and bytes."""
    if set(found) != set(expected):
        return check(False, what, f"only found: {sorted(set(found) - set(expected))[:4]}, "
                                  f"only expected: {sorted(set(expected) - set(found))[:4]}")
    wrong = [name for name, value in expected.items()
             if found[name].dtype != value.dtype or found[name].shape != value.shape or data(found[name]) != data(value)]
    return check(not wrong, what, f"{len(wrong)} of {len(expected)} tensors differ: "
                                  f"{[(name, list(found[name].shape), list(expected[name].shape)) for name in wrong[:3]]}")


def near(found, expected, what, tolerance=2e-5):
    difference = (torch.as_tensor(found).double() - torch.as_tensor(expected).double()).abs().max().item()
    return check(difference <= tolerance, what, f"largest difference {difference:.3g}")


def load(model, tensors, what):
    try:
        model.load_state_dict(tensors, strict=True)
    except RuntimeError as error:
        return check(False, f"{what}: loaded strictly", error)
    return check(True, f"{what}: loaded strictly")


def randomize(model, seed):
    """Random values in all that is saved, also where a fresh model has zeros and ones."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for tensor in model.state_dict().values():
            if tensor.is_floating_point():
                near_one = 1.0 if tensor.ndim == 1 and tensor.min() == 1 else 0.0
                tensor.copy_(near_one + torch.empty(tensor.shape).normal_(0, 0.2, generator=generator))
    return model.eval()
