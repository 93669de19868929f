"""Public headers compiled in the strictest modes, and exported symbols of the shared library."""
import re
import shutil

from .common import ROOT, Fail, must_succeed, text_of

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
    yield "SONAME", lambda: check_soname(ctx)


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


def check_soname(ctx):
    output = text_of(must_succeed(ctx, ["readelf", "-d", ctx.build / "libheft.so"]).stdout)
    if "[libheft.so.0.1]" not in output:
        raise Fail("SONAME is not libheft.so.0.1\n" + output)
