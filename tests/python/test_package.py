"""The package: what importing it costs, its wheel, its types."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

import heft
from heft import _heft

ROOT = pathlib.Path(__file__).resolve().parents[2]
IS_FULL = "HEFT_TEST_FULL" in os.environ


def run(*words):
    return subprocess.run([*map(str, words)], stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd="/")


class Import(unittest.TestCase):
    def test_names(self):
        for name in heft.__all__:
            self.assertIsNotNone(getattr(heft, name), name)
            self.assertIn(name, dir(heft))
        with self.assertRaisesRegex(AttributeError, "nothing"):
            _ = heft.nothing

    def test_imports_nothing_large(self):
        code = "import sys, heft; heft.get_encoding; print(sorted({'torch', 'numpy', 'tqdm'} & set(sys.modules)))"
        self.assertEqual(run(sys.executable, "-c", code).stdout, "[]\n")

    def test_documented(self):
        for name in heft.__all__:
            value = getattr(heft, name)
            if callable(value):
                self.assertTrue(value.__doc__, name)

    def test_version(self):
        header = (ROOT / "include" / "heft" / "types.h").read_text()
        numbers = re.findall(r"#define HEFT_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header)
        self.assertEqual(heft.__version__, ".".join(numbers))

    def test_needs_libc_only(self):
        dynamic = run("readelf", "-d", _heft.__file__).stdout
        self.assertLessEqual(set(re.findall(r"NEEDED.*\[(.*)\]", dynamic)),
                             {"libc.so.6", "libm.so.6", "libpthread.so.0", "ld-linux-x86-64.so.2", "libgcc_s.so.1"})
        symbols = run("readelf", "-Ws", "--dyn-syms", _heft.__file__).stdout
        exported = re.findall(r"GLOBAL DEFAULT +\d+ (\S+)", symbols)
        self.assertEqual(exported, ["PyInit__heft"])


class FreeThreaded(unittest.TestCase):
    """Builds of Python without the GIL. tests/python/run tries a real one, if there is one."""

    def test_import(self):
        ran = run(sys.executable, "-c", "import sys; sys.abiflags = 't'; import heft")
        self.assertIn("ImportError: heft: free-threaded Python is not supported", ran.stderr)

    @unittest.skipUnless(IS_FULL and shutil.which("cmake"), "the sources are built in the environment full, with cmake")
    def test_build(self):
        """CMake is told that the interpreter is such a build."""
        with tempfile.TemporaryDirectory() as folder:
            python = pathlib.Path(folder) / "python3t"
            python.write_text(f'#!/bin/sh\ncase "$*" in *Py_GIL_DISABLED*) echo 1 ;; '
                              f'*) exec "{sys.executable}" "$@" ;; esac\n')
            python.chmod(0o755)
            ran = run("cmake", "-S", ROOT, "-B", pathlib.Path(folder) / "build", "-DHEFT_PYTHON_PACKAGE=ON",
                      "-DHEFT_TESTS=OFF", f"-DPython_EXECUTABLE={python}")
        self.assertNotEqual(ran.returncode, 0)
        self.assertIn("heft: free-threaded Python is not supported", " ".join(ran.stderr.split()))


@unittest.skipUnless(IS_FULL, "the tools are in the environment full")
class Wheel(unittest.TestCase):
    def test_size_and_contents(self):
        path = pathlib.Path(os.environ["HEFT_WHEEL"])
        self.assertIn("cp311-abi3", path.name)
        self.assertLess(path.stat().st_size, 5_000_000)
        with zipfile.ZipFile(path) as wheel:
            names = wheel.namelist()
        for name in ("heft/_heft.abi3.so", "heft/py.typed", "heft/_heft.pyi", "heft/__main__.py"):
            self.assertIn(name, names)
        self.assertTrue(any(name.endswith("licenses/LICENSE") for name in names))

    def test_auditwheel(self):
        ran = run(sys.executable, "-m", "auditwheel", "show", os.environ["HEFT_WHEEL"])
        self.assertEqual(ran.returncode, 0, ran.stderr)
        said = " ".join(ran.stdout.split())
        print("auditwheel:", re.search(r'is consistent with the following platform tag: "(\S+)"', said)[1])
        self.assertRegex(said, r'consistent with the following platform tag: "manylinux_2_\d+_')

    def test_mypy(self):
        ran = run(sys.executable, "-m", "mypy", "--config-file", ROOT / "pyproject.toml", "-p", "heft")
        self.assertEqual(ran.returncode, 0, ran.stdout)
        ran = run(sys.executable, "-m", "mypy", "--strict", ROOT / "tests" / "python" / "typed_use.py")
        self.assertEqual(ran.returncode, 0, ran.stdout)

    def test_stubs_name_what_exists(self):
        """The method __buffer__ exists from Python 3.12 on; before, only the protocol."""
        with tempfile.NamedTemporaryFile("w") as allowed:
            allowed.write(r"heft\._heft\.Tensor\.__buffer__")
            allowed.flush()
            ran = run(sys.executable, "-m", "mypy.stubtest", "heft._heft", "--ignore-disjoint-bases", "--allowlist",
                      allowed.name, "--ignore-unused-allowlist")
        self.assertEqual(ran.returncode, 0, ran.stdout)

    def test_ruff(self):
        ran = run(sys.executable, "-m", "ruff", "check", "--config", ROOT / "pyproject.toml", ROOT / "python",
                  ROOT / "tests" / "python")
        self.assertEqual(ran.returncode, 0, ran.stdout)


if __name__ == "__main__":
    unittest.main()
