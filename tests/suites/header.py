"""Public headers compiled in the strictest modes, the binary interface, and hardening of what is built."""
import os
import re
import shutil

from .common import GOLDEN, ROOT, Fail, Skip, diff, must_succeed, run, text_of

ONLY_PLAIN = True

INCLUDE = ROOT / "include"
WARNINGS = ["-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wundef", "-Werror"]
C_WARNINGS = ["-Wmissing-prototypes", "-Wstrict-prototypes"]
COMPILERS = [  # command, language, standard, additional warnings
    *(("gcc", "c", standard, C_WARNINGS) for standard in ("c99", "c11", "c17")),
    ("g++", "c++", "c++17", ["-Wold-style-cast"]),
    *(("clang", "c", standard, C_WARNINGS) for standard in ("c99", "c17")),
    ("clang++", "c++", "c++17", ["-Wold-style-cast"]),
]
DECLARATION = re.compile(r"^HEFT_API[^;{]*?\b(heft_\w+)\s*\(", re.M)


def jobs(ctx):
    headers = sorted((INCLUDE / "heft").glob("*.h"))
    for compiler, language, standard, more in COMPILERS:
        if compiler.startswith("clang") and not shutil.which(compiler):
            continue  # `scripts/bootstrap dev` installs it; make lint requires it anyway
        for header in headers:
            yield (f"{compiler} -std={standard} {header.name}",
                   lambda a=(compiler, language, standard, more, header): compile_alone(ctx, *a))
    for compiler, language, standard in INIT_COMPILERS:
        if shutil.which(compiler):
            yield (f"{compiler} -std={standard} HEFT_INIT",
                   lambda a=(compiler, language, standard): compile_init(ctx, *a))
    yield "program of load.h", lambda: check_program(ctx)
    yield "sized_program.c", lambda: compile_sized(ctx)
    yield "structs that begin with their size", lambda: check_sized(headers)
    if ctx.long:  # it compiles the whole library
        yield "a program and a library of different versions", lambda: check_grown(ctx)
    yield "exported symbols are the declared ones", lambda: check_exports(ctx, headers)
    yield "every function is in libheft(3)", lambda: check_manual(headers)
    yield "every function is tested with NULL", lambda: check_nulls(headers)
    yield "SONAME and versions", lambda: check_soname(ctx, headers)
    yield "binary interface", lambda: check_abi(ctx)
    yield "hardening", lambda: check_hardening(ctx)


def compile_alone(ctx, compiler, language, standard, more, header):
    # Included twice: a header must allow that.
    line = f"#include <heft/{header.name}>\n"
    must_succeed(ctx, [compiler, "-x", language, f"-std={standard}", *WARNINGS, *more,
                       f"-I{INCLUDE}", "-fsyntax-only", "-"], stdin=None, input=(line * 2).encode())


# Initialisers in the strictest modes, also in file scope. C89 as gcc has it, with bool and <stdint.h>.
INIT_COMPILERS = [
    *(("gcc", "c", standard) for standard in ("c89", "c99", "c17", "c2x")),
    *(("g++", "c++", standard) for standard in ("c++98", "c++11", "c++20")),
    ("clang", "c", "c99"), ("clang", "c", "c17"), ("clang++", "c++", "c++11"),
]
INIT_PROGRAM = """\
#include <heft/heft.h>
#include <heft/tokens.h>
static struct heft_tensor before = HEFT_INIT(struct heft_tensor);
int main(void)
{
    struct heft_limits limits = HEFT_INIT(struct heft_limits);
    struct heft_encode_options options = HEFT_INIT(struct heft_encode_options);
    struct heft_tensor t = HEFT_INIT(struct heft_tensor);
    return before.size == sizeof t && t.size == sizeof t && !t.name && limits.size == sizeof limits &&
           options.size == sizeof options && !options.written ? 0 : 1;
}
"""


def compile_init(ctx, compiler, language, standard):
    program = ctx.folder("init") / "init"
    must_succeed(ctx, [compiler, "-x", language, f"-std={standard}", "-Wpedantic", "-Wall", "-Wextra", "-Werror",
                       f"-I{INCLUDE}", "-o", program, "-"], stdin=None, input=INIT_PROGRAM.encode())
    must_succeed(ctx, [program])


def check_program(ctx):
    """The program in the manual compiles, and reads a tensor."""
    manual = (INCLUDE / "heft/load.h").read_text(encoding="utf-8")
    lines = re.search(r" \*     #include <heft/heft.h>\n(?: \*(?:     .*)?\n)* \*     \}\n", manual).group(0).splitlines()
    program = ctx.folder("program") / "read"
    must_succeed(ctx, ["gcc", "-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-xc", f"-I{INCLUDE}", "-o",
                       program, "-", f"-L{ctx.build}", "-lheft"], stdin=None,
                 input="".join(line[7:] + "\n" for line in lines).encode())
    env = dict(ctx.env, LD_LIBRARY_PATH=str((ctx.build / "libheft.so").resolve().parent))
    file = GOLDEN / "torch/linear.pt"
    found = text_of(must_succeed(ctx, [program, file, "weight"], env=env).stdout)
    if found != "weight is F32, 24 bytes\n":
        raise Fail("printed: " + found)
    for arguments, text in (([file, "none"], "none: no such tensor"), ([GOLDEN, "x"], "heft: ")):
        refused = run(ctx, [program, *arguments], env=env)
        if refused.returncode == 0 or text not in text_of(refused.stderr):
            raise Fail(f"{arguments}: exit {refused.returncode}: {text_of(refused.stderr)}")


STRUCT = re.compile(r"^struct (heft_\w+) \{\n(.*?)^\};", re.M | re.S)
# Structs without a size, as "Growing structs" of types.h divides them: of the library, which may grow at the
# end, and parts of arrays and other structs, which never change.
OF_LIBRARY = set("""heft_value heft_scan_item heft_scan_result heft_trace_pickle heft_trace_step heft_trace_entry
    heft_trace_tensor heft_index_entry heft_digest heft_tensor_stats heft_diff_item heft_diff_pair heft_diff_value
    heft_word""".split())
UNCHANGING = set("""heft_error heft_range heft_option heft_metadata heft_confine_path heft_diff_side
    heft_diff_counts heft_word_merge""".split())


def check_sized(headers):
    """Every public struct begins with its size and is in the table of sized.h, or is of a kind without size."""
    structs = {name: body for header in headers for name, body in STRUCT.findall(strip_comments(header))}
    table = (ROOT / "src/base/sized.h").read_text(encoding="utf-8")
    table = dict(re.findall(r"X\((heft_\w+), (\w+)\)", table))
    sized = {name for name, body in structs.items() if body.lstrip().startswith("size_t size;")}
    listed = set(re.findall(r"\bheft_\w+", re.search(r"never change:(.*?)\.\s*\*\n", (INCLUDE / "heft/types.h")
                                                    .read_text(encoding="utf-8"), re.S).group(1)))
    problems = [f"struct {name}: begins with its size, but is not in the table of src/base/sized.h"
                for name in sized - set(table)]
    problems += [f"struct {name}: in the table of src/base/sized.h, but does not begin with `size_t size`"
                 for name in set(table) - sized]
    problems += [f"struct {name}: has no member {last}, the last one of 0.1" for name, last in table.items()
                 if not re.search(rf"\b{last}\b", structs.get(name, last))]
    problems += [f"struct {name}: does not begin with `size_t size`, and is of no kind without it (header.py)"
                 for name in set(structs) - sized - OF_LIBRARY - UNCHANGING]
    if listed != UNCHANGING:
        problems.append("types.h lists other structs that never change: " + " ".join(sorted(listed ^ UNCHANGING)))
    if problems:
        raise Fail("\n".join(sorted(problems)))


# ---- programs and libraries of different versions --------------------------------------------------------

SIZED_INPUTS = ["safetensors/sharded", "torch/linear.pt", "torch-dcp/rows", "ptd/blobs.ptd", "saved-model/v1"]


def compile_sized(ctx):
    """The program of check_grown, which only --long runs, follows the headers."""
    must_succeed(ctx, ["gcc", "-std=c17", "-Wall", "-Wextra", "-Werror", f"-I{INCLUDE}", "-fsyntax-only",
                       ROOT / "tests/tools/sized_program.c"])


def check_grown(ctx):
    """Grows every struct that begins with its size, builds the library with it, and runs one program with both
    libraries; and the program of the grown headers with the library of this build."""
    folder = ctx.folder("grown")
    for name in ("CMakeLists.txt", "LICENSE", "NOTICE"):
        shutil.copy(ROOT / name, folder)
    for name in ("src", "cmake", "cli", "modules", "include", "scripts", "man"):
        shutil.copytree(ROOT / name, folder / name)
    for header in (folder / "include/heft").glob("*.h"):
        text = header.read_text(encoding="utf-8")
        header.write_text(STRUCT.sub(grow_struct, text), encoding="utf-8")
    must_succeed(ctx, ["cmake", "-S", folder, "-B", folder / "build", "-DHEFT_TESTS=OFF", "-DCMAKE_BUILD_TYPE=Debug",
                       "-DCMAKE_C_FLAGS_DEBUG=-O0", "-DHEFT_HDF5=OFF", "-DHEFT_NETTLE=OFF", "-DHEFT_SNAPPY=OFF"])
    must_succeed(ctx, ["cmake", "--build", folder / "build", "-j2", "--target", "heft_shared"], timeout=1800)
    grown = next((folder / "build").rglob("libheft.so.0.*")).parent
    ours = next(path for path in ctx.build.rglob("libheft.so.0.*") if path.is_file()).parent
    before = build_sized(ctx, folder / "before", INCLUDE, ours)
    after = build_sized(ctx, folder / "after", folder / "include", grown)
    tail = build_sized(ctx, folder / "tail", folder / "include", grown, "-DTAIL")
    expected = run_sized(ctx, before, ours)
    if expected.count("\n") < 300:
        raise Fail("the program prints too little to compare:\n" + expected)
    for name, program, library in (("a former program, the grown library", before, grown),
                                   ("a grown program, the grown library", after, grown),
                                   ("a grown program, the former library", after, ours)):
        actual = run_sized(ctx, program, library)
        if actual != expected:
            raise Fail(name + "\n" + diff(expected, actual))
    run_sized(ctx, tail, ours)


def grow_struct(match):
    text = match.group(0)
    return text[:-2] + "    uint64_t grown;\n};" if re.match(r"\s*size_t size;", match.group(2)) else text


def build_sized(ctx, program, include, library, *more):
    must_succeed(ctx, ["gcc", "-std=c17", "-Wall", "-Wextra", "-Werror", "-Wno-unused-variable", *more,
                       f"-I{include}", "-o", program, ROOT / "tests/tools/sized_program.c", f"-L{library}",
                       "-l:" + next(library.glob("libheft.so.0.*")).name])
    return program


def run_sized(ctx, program, library):
    inputs = [ROOT / "tests/golden" / name for name in SIZED_INPUTS]
    modules = next(ctx.build.glob("lib*/heft-*"), ctx.build)  # the same for both libraries
    work = ctx.folder("work")
    text = work / "text.txt"
    text.write_text("Hello world, hello words\n" * 9)
    done = must_succeed(ctx, [program, work, text, ROOT / "tests/golden/tokens/small/vocab.bpe", *inputs],
                        env=dict(ctx.env, LD_LIBRARY_PATH=str(library), HEFT_MODULES=str(modules)))
    return text_of(done.stdout)


def declared_in(headers):
    return {name for header in headers for name in DECLARATION.findall(strip_comments(header))}


def check_manual(headers):
    manual = (ROOT / "man" / "libheft.3").read_text(encoding="utf-8")
    missing = sorted(declared_in(headers) - set(re.findall(r"\bheft_\w+", manual)))
    if missing:
        raise Fail("not in man/libheft.3: " + ", ".join(missing))


def check_nulls(headers):
    """The tests that pass NULL call every function with a pointer parameter."""
    tests = "".join((ROOT / "tests/unit" / name).read_text(encoding="utf-8")
                    for name in ("test_heft_null.c", "test_heft.c"))
    missing = {name for name in declared_in(headers) if f"{name}(" not in tests}
    if missing - {"heft_version_number"}:
        raise Fail("neither in test_heft_null.c nor in test_heft.c: " + ", ".join(sorted(missing)))


def check_exports(ctx, headers):
    declared = declared_in(headers)
    output = must_succeed(ctx, ["nm", "-D", "--defined-only", ctx.build / "libheft.so"]).stdout
    exported = {line.split()[-1].split("@")[0] for line in text_of(output).splitlines()}
    problems = [f"{name}: does not begin with heft_" for name in exported
                if not name.startswith("heft_")]
    problems += [f"{name}: exported, but in no header" for name in exported - declared]
    problems += [f"{name}: declared, but not exported" for name in declared - exported]
    if problems:
        raise Fail("\n".join(sorted(problems)))


def strip_comments(header):
    return re.sub(r"/\*.*?\*/", "", header.read_text(encoding="utf-8"), flags=re.S)


def version_of(headers):
    text = next(path for path in headers if path.name == "types.h").read_text(encoding="utf-8")
    return [re.search(rf"#define HEFT_VERSION_{part} (\d+)", text).group(1) for part in ("MAJOR", "MINOR", "PATCH")]


def check_soname(ctx, headers):
    """Until 1.0 a MINOR may change structs: the SONAME contains it, and find_package(heft) accepts no other."""
    major, minor, patch = version_of(headers)
    output = text_of(must_succeed(ctx, ["readelf", "-d", ctx.build / "libheft.so"]).stdout)
    if f"[libheft.so.{major}.{minor}]" not in output:
        raise Fail(f"SONAME is not libheft.so.{major}.{minor}\n" + output)
    for wanted, accepted in ((f"{major}.{minor}", "TRUE"), (f"{major}.{int(minor) + 1}", "FALSE"),
                             (f"{int(major) + 1}.0", "FALSE"), (f"{major}.{minor}.{int(patch) + 1}", "FALSE")):
        found = cmake_accepts(ctx, wanted)
        if found != accepted:
            raise Fail(f"find_package(heft {wanted}) of {major}.{minor}.{patch}: {found}, not {accepted}")
    if int(minor) > 0 and cmake_accepts(ctx, f"{major}.{int(minor) - 1}") != "FALSE":
        raise Fail(f"find_package(heft) accepts {major}.{minor} for the MINOR before it")


def cmake_accepts(ctx, wanted):
    """TRUE if the version file of the CMake package takes heft for that version."""
    parts = wanted.split(".")
    settings = [f"-DPACKAGE_FIND_VERSION={wanted}", f"-DPACKAGE_FIND_VERSION_MAJOR={parts[0]}",
                f"-DPACKAGE_FIND_VERSION_MINOR={parts[1]}", "-DCMAKE_SIZEOF_VOID_P=8"]
    script = ctx.folder("version") / "ask.cmake"
    script.write_text(f'include("{ctx.build}/heftConfigVersion.cmake")\n'
                      'if(PACKAGE_VERSION_COMPATIBLE)\n    message(TRUE)\nelse()\n    message(FALSE)\nendif()\n')
    return text_of(must_succeed(ctx, ["cmake", *settings, "-P", script]).stderr).strip()


def check_abi(ctx):
    if os.uname().machine != "x86_64":
        raise Skip("the record of the binary interface is that of x86-64")
    actual = text_of(must_succeed(ctx, [ROOT / "scripts/abi"]).stdout)
    version = re.search(r"libheft ([\d.]+)", actual).group(1)
    record = ROOT / "abi" / f"heft-{version}.txt"
    expected = record.read_text(encoding="utf-8") if record.exists() else ""
    if expected != actual:
        raise Fail(f"abi/heft-{version}.txt does not describe the headers. If the interface is to change: "
                   "scripts/abi --write, and the rule of HACKING.md\n" + diff(expected, actual))


# Files, and a regular expression that the output of readelf must have for each.
HARDENING = {
    "-hW": {"position-independent": r"Type:\s+DYN"},
    "-dW": {"symbols bound at start": r"BIND_NOW|Flags:.*\bNOW\b"},
    "-lW": {"relocations read-only": r"GNU_RELRO", "stack not executable": r"GNU_STACK\s+\S+ \S+ \S+ \S+ \S+ RW "},
    "-sW": {"stack protector": r"__stack_chk_fail", "FORTIFY_SOURCE": r"__\w+_chk\b(?<!__stack_chk)"},
}


def check_hardening(ctx):
    if "CMAKE_BUILD_TYPE:STRING=Release" not in (ctx.build / "CMakeCache.txt").read_text():
        raise Skip("only release builds are hardened")
    files = [ctx.build / "heft", ctx.build / "libheft.so", *sorted(ctx.build.glob("lib*/**/heft_*.so"))]
    problems = []
    for file in files:
        for option, rules in HARDENING.items():
            output = text_of(must_succeed(ctx, ["readelf", option, file.resolve()]).stdout)
            problems += [f"{file.name}: not {name}" for name, pattern in rules.items()
                         if not re.search(pattern, output) and is_expected(file, name)]
    problems += objects_without_cet(ctx)
    if problems:
        raise Fail("\n".join(problems))


def is_expected(file, name):
    """Modules of a few functions have no arrays on the stack, and copy nothing."""
    return name not in ("stack protector", "FORTIFY_SOURCE") or file.name not in ("heft_nettle.so", "heft_snappy.so")


def objects_without_cet(ctx):
    """The linker marks a program only if the startup files of the C library are marked as well, which those of
    Debian 12 are not: the objects of heft are examined."""
    if os.uname().machine != "x86_64":
        return []
    output = text_of(must_succeed(ctx, ["readelf", "-nW", (ctx.build / "libheft.a").resolve()]).stdout)
    members = re.split(r"^File: .*\((.*)\)$", output, flags=re.M)[1:]
    return [f"libheft.a({name}): not CET" for name, notes in zip(members[::2], members[1::2])
            if "x86 feature: IBT, SHSTK" not in notes]
