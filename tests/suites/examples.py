"""Builds examples/ against an installation, as a user would, and runs them."""
import json
import os
import shutil
import subprocess

from .common import GOLDEN, ROOT, Fail, golden_inputs, must_succeed, text_of

ONLY_PLAIN = True

EXAMPLES = ("list", "load_tensor", "convert_progress", "split_items", "save_tensors", "tokens",
            "read_ranges", "gpt2")
TINY = ROOT / "tests/examples"
CMAKE_PROJECT = """\
cmake_minimum_required(VERSION 3.25)
project(stranger C)
find_package(heft 0.1 REQUIRED)
foreach(example {examples})
    add_executable(${{example}} {folder}/${{example}}.c)
    target_link_libraries(${{example}} PRIVATE heft::{target} m)
endforeach()
"""

OUTER_PROJECT = """\
cmake_minimum_required(VERSION 3.25)
project(outer C)
add_subdirectory({root} heft)
add_executable(shared {root}/examples/list.c)
target_link_libraries(shared PRIVATE heft::heft)
add_executable(static {root}/examples/list.c)
target_link_libraries(static PRIVATE heft::heft_static)
"""


def jobs(ctx):
    stage = ctx.folder("stage")
    must_install(ctx, stage)
    yield "installed files", lambda: check_installed(stage)
    yield "HDF5 module, installed", lambda: with_module(ctx, stage)
    yield "HDF5 module, relocated", lambda: with_moved_module(ctx, stage)
    yield "HDF5 module, planted by others", lambda: with_planted_modules(ctx, stage)
    yield "HDF5 module, in a world-writable directory", lambda: with_anybodys_module(ctx, stage)
    yield "pkg-config, shared", lambda: with_pkg_config(ctx, stage, static=False)
    yield "pkg-config, static", lambda: with_pkg_config(ctx, stage, static=True)
    yield "find_package, heft::heft", lambda: with_cmake(ctx, stage, "heft")
    yield "find_package, heft::heft_static", lambda: with_cmake(ctx, stage, "heft_static")
    if ctx.long:  # it compiles the whole library
        yield "add_subdirectory", lambda: with_subdirectory(ctx)


def must_install(ctx, stage):
    subprocess.run(["cmake", "--install", ctx.build, "--prefix", stage], check=True, env=ctx.env,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def library_folder(stage):
    return next(stage.rglob("libheft.a")).parent


def check_installed(stage):
    wanted = ["bin/heft", "include/heft/heft.h", "include/heft/load.h",
              "include/heft/inspect.h", "include/heft/types.h", "include/heft/tokens.h", "share/man/man1/heft.1"]
    missing = [path for path in wanted if not (stage / path).exists()]
    for name in ("libheft.so.0.1", "libheft.so", "libheft.a", "pkgconfig/heft.pc",
                 "cmake/heft/heftConfig.cmake"):
        if not (library_folder(stage) / name).exists():
            missing.append(name)
    if missing:
        raise Fail("missing: " + " ".join(missing))


MODULE_INPUT = GOLDEN / "h5/user-block.h5"


def build_list(stage, folder, static=False):
    """examples/list.c linked to the library of an installation."""
    program, libraries = folder / "list", library_folder(stage)
    link = ([libraries / "libheft.a", "-lisal", "-lzstd", "-lm", "-pthread"] if static else
            [f"-L{libraries}", "-lheft", f"-Wl,-rpath,{libraries}"])
    subprocess.run(["gcc", "-std=c17", "-o", program, ROOT / "examples/list.c",
                    f"-I{stage / 'include'}", *link], check=True)
    return program


def with_module(ctx, stage):
    """Lists a file with the command, and with programs linked to the shared and the static library."""
    if not (library_folder(stage) / "heft-0.1/heft_hdf5.so").exists():
        raise Fail("heft-0.1/heft_hdf5.so is missing: was heft built where libhdf5 is?")
    must_succeed(ctx, [stage / "bin/heft", "ls", MODULE_INPUT])
    for static in (False, True):
        program = build_list(stage, ctx.folder(f"module-{static}"), static)
        must_succeed(ctx, [program, MODULE_INPUT])
        must_succeed(ctx, [program, MODULE_INPUT], cwd=library_folder(stage))


def with_moved_module(ctx, stage):
    """A relocated installation: a static program needs the environment variable that its error names."""
    folder = ctx.folder("moved")
    static = build_list(stage, folder, static=True)
    moved = folder / "elsewhere"
    must_install(ctx, folder / "there")
    (folder / "there").rename(moved)
    must_succeed(ctx, [moved / "bin/heft", "ls", MODULE_INPUT])
    shared = folder / "shared"
    shared.mkdir()
    must_succeed(ctx, [build_list(moved, shared), MODULE_INPUT])
    env = dict(ctx.env, HEFT_MODULES=str(library_folder(moved) / "heft-0.1"))
    must_succeed(ctx, [static, MODULE_INPUT], env=env)
    expect_refused(ctx, [static, MODULE_INPUT], dict(ctx.env, HEFT_MODULES=str(folder)),
                   f"is not in {folder}/ (HEFT_MODULES)")
    expect_refused(ctx, [static, MODULE_INPUT], dict(ctx.env, HEFT_MODULES="modules"),
                   "HEFT_MODULES is not the absolute path")


def expect_refused(ctx, command, env, text, cwd=None):
    found = subprocess.run(command, env=env, cwd=cwd, stdin=subprocess.DEVNULL, check=False,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    output = found.stdout.decode(errors="replace")
    if found.returncode == 0 or text not in output:
        raise Fail(f"{command}: exit {found.returncode}, not '{text}':\n{output}")


PLANTED = """\
#include <unistd.h>
__attribute__((constructor)) static void run(void) { write(1, "PLANTED\\n", 8); _exit(0); }
"""


def with_planted_modules(ctx, stage):
    """Shared objects with a module's name beside copies of the command and of the library: none is
    loaded."""
    folder = ctx.folder("planted")
    (folder / "plant.c").write_text(PLANTED)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", folder / "plant.so", folder / "plant.c"],
                   check=True)
    app = folder / "app"
    places = ("modules", "app/modules", "app/heft", "app/heft-0.1", "heft", "heft-0.1", "lib/heft-0.1",
              "app/lib/heft-0.1", "app/../lib/heft-0.1", "cwd", "cwd/modules", "cwd/heft-0.1", "cwd/lib/heft-0.1")
    for place in places:
        (folder / place).mkdir(parents=True, exist_ok=True)
        for name in ("heft_hdf5.so", "heft_snappy.so"):
            shutil.copy(folder / "plant.so", folder / place / name)
    copy = app / "command"
    shutil.copy(stage / "bin/heft", copy)
    shutil.copy(next(library_folder(stage).glob("libheft.so.0.1")).resolve(), app / "libheft.so.0.1")
    program = build_list(stage, app, static=False)
    subprocess.run(["gcc", "-o", app / "static", ROOT / "examples/list.c", f"-I{stage / 'include'}",
                    library_folder(stage) / "libheft.a", "-lisal", "-lzstd", "-lm", "-pthread"],
                   check=True)
    env = dict(ctx.env, LD_LIBRARY_PATH=str(app))
    for command in ([copy, "ls"], [program], [app / "static"]):
        found = subprocess.run([*command, MODULE_INPUT], env=env, cwd=folder / "cwd", check=False,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT)
        if b"PLANTED" in found.stdout:
            raise Fail(f"{command} loads a module from its own directory")


def with_anybodys_module(ctx, stage):
    """An installation in a world-writable directory."""
    folder = ctx.folder("anybody") / "prefix"
    must_install(ctx, folder)
    modules = library_folder(folder) / "heft-0.1"
    modules.chmod(0o777)
    expect_refused(ctx, [folder / "bin/heft", "ls", MODULE_INPUT], ctx.env, "is not loaded")


def with_pkg_config(ctx, stage, static):
    libraries = library_folder(stage)
    env = dict(ctx.env, PKG_CONFIG_PATH=str(libraries / "pkgconfig"))
    query = ["pkg-config", "--cflags", "--libs", *(["--static"] if static else []), "heft"]
    flags = text_of(must_succeed(ctx, query, env=env).stdout).split()
    if static:
        flags = [str(libraries / "libheft.a") if flag == "-lheft" else flag for flag in flags]
    folder = ctx.folder("pkgconfig")
    for example in EXAMPLES:
        must_succeed(ctx, ["gcc", "-std=c17", "-Wall", "-Wextra", "-Werror", "-o", folder / example,
                           ROOT / "examples" / f"{example}.c", *flags, "-lm"])
    run_examples(ctx, folder, libraries)


def with_cmake(ctx, stage, target):
    folder = ctx.folder("cmake")
    (folder / "CMakeLists.txt").write_text(CMAKE_PROJECT.format(
        examples=" ".join(EXAMPLES), folder=ROOT / "examples", target=target))
    must_succeed(ctx, ["cmake", "-S", folder, "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={stage}"])
    must_succeed(ctx, ["cmake", "--build", folder / "build"])
    run_examples(ctx, folder / "build", library_folder(stage))


def with_subdirectory(ctx):
    """heft as a subproject: no tests, no installation, the modules beside the library."""
    folder = ctx.folder("outer")
    (folder / "CMakeLists.txt").write_text(OUTER_PROJECT.format(root=ROOT))
    must_succeed(ctx, ["cmake", "-S", folder, "-B", folder / "build", "-DCMAKE_BUILD_TYPE=Debug",
                       "-DHEFT_SNAPPY=OFF"])
    targets = must_succeed(ctx, ["cmake", "--build", folder / "build", "--target", "help"]).stdout
    if "heft-open" in text_of(targets):
        raise Fail("heft's tests are a part of the other project")
    must_succeed(ctx, ["cmake", "--build", folder / "build", "--target", "shared", "static"])
    must_succeed(ctx, [folder / "build/shared", MODULE_INPUT])
    must_succeed(ctx, [folder / "build/static", choose_input(ctx)[0]])
    if list(folder.rglob("heft_snappy.so")):
        raise Fail("HEFT_SNAPPY=OFF builds the module")


def run_examples(ctx, programs, libraries):
    """Uses the first golden file with named tensors of some shape."""
    env = dict(ctx.env, LD_LIBRARY_PATH=str(libraries))
    path, tensors = choose_input(ctx)
    listed = text_of(must_succeed(ctx, [programs / "list", path], env=env).stdout)
    unlisted = [tensor["name"] for tensor in tensors if tensor["name"] not in listed]
    if unlisted:
        raise Fail(f"list does not show {unlisted[0]}:\n{listed}")
    must_succeed(ctx, [programs / "load_tensor", path, tensors[0]["name"]], env=env)
    ranges = text_of(must_succeed(ctx, [programs / "read_ranges", path], env=env).stdout)
    if not 1 <= ranges.count("bytes=") <= 8 or any(t["name"] not in ranges for t in tensors):
        raise Fail(f"read_ranges says {ranges!r}")
    split = text_of(must_succeed(ctx, [programs / "split_items", path, "1"], env=env).stdout)
    if not split.startswith("model-00001-of-0") or any(t["name"] not in split for t in tensors):
        raise Fail(f"split_items says {split!r}")
    target = ctx.folder("converted") / "model.safetensors"
    must_succeed(ctx, [programs / "convert_progress", path, target], env=env)
    must_succeed(ctx, [ctx.heft, "verify", target])
    for name in ("own.safetensors", "own.pth", "own.npz"):
        saved = target.parent / name
        values = text_of(must_succeed(ctx, [programs / "save_tensors", saved], env=env).stdout)
        if values != "layer.weight: 1 2 3 4 5 6\nlayer.bias: 0 10\n":
            raise Fail(f"save_tensors {name} says {values!r}")
        must_succeed(ctx, [ctx.heft, "verify", saved])
    vocabulary = target.parent / "small.bpe"
    vocabulary.write_text("#version: 0.2\na b\n\u0120 t\nh e\n\u0120t he\n", encoding="utf-8")
    spoken = text_of(must_succeed(ctx, [programs / "tokens", "ab the", vocabulary], env=env).stdout)
    if spoken != "256 259\nab the\n":
        raise Fail(f"tokens says {spoken!r}")
    run_gpt2(ctx, programs / "gpt2", env)


GPT2_COPIES = (("model.npz", ["--cast", "*=F32"]), ("model.h5", ["--cast", "*=F32"]), ("model.pth", []),
               ("shards/", ["--to", "safetensors", "--max-shard-size", "40KB"]))


def run_gpt2(ctx, program, env):
    """The logits that torch computed, from the files that torch wrote and from conversions of one of them."""
    expected = json.loads((TINY / "expected.json").read_text())
    for name, answer in expected.items():
        check_gpt2(ctx, [program, TINY / name], env, answer)
    source, folder = TINY / "tiny-bf16.safetensors", ctx.folder("gpt2")
    for target, options in GPT2_COPIES:
        must_succeed(ctx, [ctx.heft, "convert", source, "-o", f"{folder}/{target}", *options])
        check_gpt2(ctx, [program, folder / target], env, expected[source.name])


def check_gpt2(ctx, command, env, answer):
    text = [str(token) for token in answer["text"]]
    logits = text_of(must_succeed(ctx, [*command, "0", *text], env=env).stdout).split()
    if len(logits) != len(answer["logits"]) or any(
            abs(float(found) - wanted) > 1e-4 for found, wanted in zip(logits, answer["logits"])):
        raise Fail(f"{command}: logits {logits}, torch has {answer['logits']}")
    more = must_succeed(ctx, [*command, str(len(answer["next"])), *text], env=env).stdout
    if [int(token) for token in text_of(more).split()] != answer["next"]:
        raise Fail(f"{command}: continues with {more!r}, torch with {answer['next']}")


def choose_input(ctx):
    for folder, name in golden_inputs():
        path = folder / name
        if not path.is_file() or folder.name != "torch":
            continue
        output = must_succeed(ctx, [ctx.heft, "ls", "--json", path]).stdout
        tensors = [t for t in json.loads(output)["tensors"] if t["dtype"] == "F32" and t["shape"]]
        if len(tensors) > 1:
            return path, tensors
    raise Fail(f"no suitable golden file in {os.path.relpath(GOLDEN, ROOT)}/torch")
