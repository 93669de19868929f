"""For the peers of schedulers: a corpus, the package of the wheel with an encoder that kills its process once, the
programs of examples/, and lines of the result for peer_suite."""

import json
import os
import pathlib
import random
import subprocess
import sys
import zipfile

ROOT = pathlib.Path(os.environ["HEFT_ROOT"])
HEFT = os.environ["HEFT"]
EXAMPLES = ROOT / "examples"
WORDS = "the of tokenizer checkpoint 2026 don't caf\u00e9 \u4e2d\u6587 \U0001f600 (x) = y; return".split()

# The first call in all processes kills its own once it has encoded: what a machine does that dies in the middle.
KILLED_ONCE = '''

import signal as _signal
_encode_arrow = Encoding.encode_arrow
def _killed_once(self, array, **how):
    made = _encode_arrow(self, array, **how)
    try:
        os.close(os.open(os.environ["HEFT_TEST_KILL"], os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return made
    os.kill(os.getpid(), _signal.SIGKILL)
if "HEFT_TEST_KILL" in os.environ:
    Encoding.encode_arrow = _killed_once
'''


def report(good, what, detail=""):
    print(("pass " if good else "FAIL ") + what + ("" if good else ": " + " ".join(str(detail).split())[-1200:]), flush=True)
    return good


def equal(left, right, what):
    """Whether two files have the same bytes."""
    missing = [str(path) for path in (left, right) if not path.exists()]
    return report(not missing and left.read_bytes() == right.read_bytes(), what, f"missing: {missing}")


def run(words, **environment):
    return subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=300, env={**os.environ, **environment})


def heft(*words):
    ran = run([HEFT, *words])
    return report(ran.returncode == 0, f"heft {words[0]}", ran.stderr)


def texts_of(count, seed):
    rng = random.Random(seed)
    return [" ".join(rng.choices(WORDS, k=rng.choice((0, 3, 40, 200)))) for _ in range(count)]


def write_lines(folder, files, rows):
    """JSON lines in files of different sizes, some of them in a folder below."""
    (folder / "below").mkdir(parents=True)
    for number in range(files):
        path = folder / ("below" if number % 3 == 2 else "") / f"{number:02}.jsonl"
        texts = texts_of(rows * (number + 1), number)
        path.write_text("".join(json.dumps({"text": text, "n": at}) + "\n" for at, text in enumerate(texts)))


def unpack_package(folder):
    """The package of build/python's wheel, for PYTHONPATH; None if it has not been built."""
    wheels = list((ROOT / "build" / "python").glob("*.whl"))
    if len(wheels) != 1:
        report(False, "build/python has one wheel", "run make python")
        return None
    place = folder / "package"
    with zipfile.ZipFile(wheels[0]) as wheel:
        wheel.extractall(place)
    with open(place / "heft" / "encoding.py", "a", encoding="utf-8") as source:
        source.write(KILLED_ONCE)
    sys.path.insert(0, str(place))
    os.environ["PYTHONPATH"] = str(place)
    return place


def was_killed(mark):
    """Whether the encoder has killed its process."""
    return report(mark.exists(), "a worker was killed")
