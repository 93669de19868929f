"""HDF5 files are read by a child process that heft forks: from a program with many threads, and without running
anything of Python in it. Needs the module heft_hdf5.so of a build or an installation."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILE = ROOT / "tests" / "golden" / "h5" / "legacy.h5"
PLACES = [pathlib.Path(place) for place in (os.environ.get("HEFT_MODULES", ""), ROOT / "build/release/lib/heft-0.1",
                                            f"/usr/lib/{os.uname().machine}-linux-gnu/heft-0.1") if place]
MODULES = next((place for place in PLACES if (place / "heft_hdf5.so").is_file()), None)

# Threads that hold the locks of libc again and again: allocations of all sizes, the dynamic linker, the environment,
# streams. A child that inherited one of them locked would wait for ever.
PROGRAM = """
import ctypes, os, sys, threading
import heft

path, marker = sys.argv[1:]
sys.setswitchinterval(1e-4)
os.register_at_fork(after_in_child=lambda: open(marker, "w").close())
stop = threading.Event()
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]

def allocate(seed):
    size = seed
    while not stop.is_set():
        size = (size * 1103515245 + 12345) % (1 << 20) + 1
        libc.free(libc.malloc(size))  # without the GIL
        bytearray(size)

def link(seed):
    while not stop.is_set():
        ctypes.CDLL("libm.so.6")
        os.environ[f"HEFT_TEST_{seed}"] = str(seed)
        libc.fflush(None)

threads = [threading.Thread(target=work, args=(n + 1,)) for n, work in enumerate([allocate] * 3 + [link])]
for thread in threads:
    thread.start()
try:
    wanted = None
    for turn in range(200):
        with heft.open(path) as file:
            found = {name: tensor.tobytes() for name, tensor in file.items()}
        wanted = wanted or found
        assert found == wanted and found, turn
finally:
    stop.set()
    for thread in threads:
        thread.join()
print(len(wanted), threading.active_count(), os.path.exists(marker))
"""


@unittest.skipUnless("HEFT_TEST_FULL" in os.environ, "takes seconds: runs in the environment \"full\" only")
@unittest.skipUnless(MODULES, "there is no heft_hdf5.so: build the release or install libheft")
class Threads(unittest.TestCase):
    def test_200_files_beside_busy_threads(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        done = subprocess.run([sys.executable, "-X", "faulthandler", "-c", PROGRAM, str(FILE), f"{folder}/forked"],
                              env={**os.environ, "HEFT_MODULES": str(MODULES)}, capture_output=True, text=True,
                              timeout=120)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        tensors, threads, forked = done.stdout.split()
        self.assertGreater(int(tensors), 0)
        self.assertEqual((threads, forked), ("1", "False"))


if __name__ == "__main__":
    unittest.main()
