"""Public headers compiled in the strictest modes, the binary interface, and hardening of what is built."""
import os
import re
import shutil

from .common import ROOT, Fail, Skip, diff, must_succeed, text_of

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
DECLARATION = re.compile(r"HEFT_API[^;{]*?\b(heft_\w+)\s*\(")


def jobs(ctx):
    headers = sorted((INCLUDE / "heft").glob("*.h"))
    for compiler, language, standard, more in COMPILERS:
        if compiler.startswith("clang") and not shutil.which(compiler):
            continue  # `scripts/bootstrap dev` installs it; make lint requires it anyway
        for header in headers:
            yield (f"{compiler} -std={standard} {header.name}",
                   lambda a=(compiler, language, standard, more, header): compile_alone(ctx, *a))
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
