"""Every cmocka program of tests/unit and tests/fault; each test function counts as a test.

Under ThreadSanitizer only the programs that use threads run, as it makes the others slow without benefit.
"""
import re

from .common import PATIENCE, ROOT, TESTS, Fail, needs_hdf5, run, text_of

TAP_LINE = re.compile(r"^(?P<bad>not )?ok (?P<number>\d+)(?: -)?(?P<rest>.*)$")
THREADED = re.compile(r"pthread|heft_pool|threads")
# The slow ones first, so that no core waits for one of them at the end.
SLOW = ("test_inflate_zlib", "test_inflate", "test_encode_resume")
SKIPPED = "# skipped: "  # tests/support/skip_because.h
TAP_PLAN = re.compile(r"^1\.\.(\d+)", re.M)


def jobs(ctx):
    programs = sorted((path for path in (ctx.build / "tests").glob("test_*") if path.is_file()),
                      key=lambda path: (path.name not in SLOW, path.name))
    if ctx.sanitizers == "thread":
        programs = [program for program in programs if is_threaded(program)]
    if not programs:
        yield "unit tests", no_programs
    for program in programs:
        yield program.name, lambda program=program: run_program(ctx, program)


def is_threaded(program):
    sources = [path for folder in ("unit", "fault") for path in TESTS.glob(f"{folder}/{program.name}.c")]
    return any(THREADED.search(path.read_text(encoding="utf-8")) for path in sources)


def no_programs():
    raise Fail("no test program was built")


def run_program(ctx, program):
    needs_hdf5(ctx, program.name)
    env = dict(ctx.env, CMOCKA_MESSAGE_OUTPUT="TAP", TMPDIR=str(ctx.folder(program.name)))
    done = run(ctx, [program], timeout=PATIENCE * (6 if ctx.emulator else 3 if ctx.instrumented else 1), env=env, cwd=ROOT)
    output = text_of(done.stdout)
    errors = text_of(done.stderr)
    results = parse_tap(program.name, output, errors)
    planned = sum(int(count) for count in TAP_PLAN.findall(output))
    failed = any(status == "fail" for _, status, _ in results)
    if len(results) < planned or not results or (done.returncode != 0 and not failed):
        results.append((program.name, "fail",
                        f"exit {done.returncode} after {len(results)} of {planned} tests\n"
                        + output[-2000:] + errors[-6000:]))
    return results


def parse_tap(program, output, errors):
    results = []
    why = ""
    for line in output.split("\n"):
        if line.startswith(SKIPPED):
            why = line.removeprefix(SKIPPED)
        match = TAP_LINE.match(line)
        if not match:
            continue
        rest = match["rest"].strip()
        name = f"{program}: {rest.replace('# SKIP', '').strip() or match['number']}"
        if "# SKIP" in rest:
            results.append((name, "skip", why))
        elif match["bad"]:
            results.append((name, "fail", output[-2000:] + errors[-3000:]))
        else:
            results.append((name, "pass", ""))
    return results
