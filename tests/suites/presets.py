"""The presets of --rules: the models of tests/presets/cases.py are converted, also as files of the frameworks
(tests/presets/make.py), compared with the formulas, and converted back."""
import json
import sys

from .common import Fail, TESTS, must_succeed, needs_hdf5

FOLDER = TESTS / "presets"
sys.path.insert(0, str(FOLDER))
import cases  # noqa: E402
import tensors  # noqa: E402


def jobs(ctx):
    yield "each preset has a case", lambda: check_presets()
    made = set()
    for case in cases.CASES:
        title = f"{case.preset}{', ' if case.name else ''}{case.name}"
        yield title, lambda case=case: check_case(ctx, case, None)
        folder = FOLDER / case.preset
        if folder.is_dir() and case.preset not in made and is_made(case):
            made.add(case.preset)
            yield f"{title}, in its framework's format", lambda case=case, folder=folder: check_case(ctx, case, folder)


def is_made(case):
    """Whether make.py writes this one of the cases of its preset: the first, and of Llama that of two files."""
    return case.preset != "llama-meta" or case.name == "2 files, cut by 1"


def check_presets():
    presets = {path.stem for path in (TESTS.parent / "src/rules/presets").glob("*.rules")}
    if presets != {case.preset for case in cases.CASES}:
        raise Fail(f"without a case, or without a preset: {sorted(presets ^ {case.preset for case in cases.CASES})}")


def check_case(ctx, case, made):
    scratch = ctx.folder("presets")
    for name, value in case.files.items():
        (scratch / name).write_text(json.dumps(value))
    inputs = [made] if made else write(scratch, case.inputs, "in")
    if case.preset == "keras-torch" and made:
        needs_hdf5(ctx, "h5")
    out = scratch / "out.safetensors"
    must_succeed(ctx, [ctx.heft, "convert", *inputs, "-o", out, "--rules", case.preset, "--verify", "-q", *case.options])
    found, metadata = tensors.load(out)
    compare(found, case.expected)
    ties = {name: kept for name, kept in metadata.items() if name in case.ties}
    if ties != case.ties:
        raise Fail(f"recorded ties {ties}, expected {case.ties}")
    if case.back:
        back = scratch / "back.safetensors"
        must_succeed(ctx, [ctx.heft, "convert", out, "-o", back, "--rules", case.preset, "--reverse", "--verify", "-q",
                           *case.options, *case.back_options])
        compare(tensors.load(back)[0], case.back[0])


def write(scratch, files, name):
    paths = [scratch / f"{name}{i}.safetensors" for i in range(len(files))]
    for path, file in zip(paths, files):
        tensors.save(path, file)
    return paths


def compare(found, expected):
    if set(found) != set(expected):
        raise Fail(f"only found: {sorted(set(found) - set(expected))}, only expected: {sorted(set(expected) - set(found))}")
    for name, tensor in expected.items():
        if found[name].shape != tensor.shape:
            raise Fail(f"{name}: shape {found[name].shape}, expected {tensor.shape}")
        if found[name] != tensor:
            raise Fail(f"{name}: other values than the formula's: {found[name].values[:8]}, expected {tensor.values[:8]}")
