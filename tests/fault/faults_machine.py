"""The command with failing calls: a server that forks for each run (tests/tools/fault_server.c)."""
import os
import shutil
import subprocess
from pathlib import Path


class Result:
    """One run: exit status, signal, numbers of calls and allocations, the name of the call that failed, what was not
    released, standard output and error."""

    def __init__(self, machine, line):
        words = line.split()
        (self.status, self.signal, self.calls, self.allocations, struck,
         self.blocks, self.maps, self.files) = map(int, words[:8])
        names = [*machine.names, "malloc"]
        self.struck = names[struck].replace("64", "").strip("_2") if struck >= 0 else None
        trace = [word.split(":") for word in words[8].split(",")[:-1]]
        self.trace = [int(number) for number, _ in trace]
        self.callers = [tuple(pair) for pair in trace]  # the call, and a hash of its callers
        self.allocation_callers = words[9].split(",")[:-1]
        self.out, self.err = machine.read_outputs()


class Machine:
    """Runs of one command in one directory."""

    def __init__(self, build, words, cwd, stdin=None):
        orders, self.orders = os.pipe()
        self.answers, answers = os.pipe()
        self.cwd = Path(cwd)
        self.streams = [os.memfd_create(name) for name in ("out", "err")]
        env = dict(os.environ, HEFT_FAULTS=f"{orders} {answers}", HEFT_MODULES=str(build / "faults"), LC_ALL="C",
                   NO_COLOR="1", TMPDIR=str(cwd), ASAN_OPTIONS="exitcode=99:allocator_may_return_null=1"
                   ":intercept_tls_get_addr=0", UBSAN_OPTIONS="print_stacktrace=1:exitcode=99")
        if stdin:
            env["HEFT_FAULTS_INPUT"] = str(stdin)
        self.process = subprocess.Popen([build / "faults/heft-faults", *map(str, words)], cwd=cwd, env=env,
                                        pass_fds=(orders, answers), stdin=subprocess.DEVNULL,
                                        stdout=self.streams[0], stderr=self.streams[1])
        os.close(orders)
        os.close(answers)
        self.answers = os.fdopen(self.answers)
        table = [word.split("=") for word in self.answers.readline().split()]
        self.names = [name for name, _ in table]
        self.kinds = [int(number.rstrip("wf")) for _, number in table]
        self.short = [set(number) & {"w", "f"} for _, number in table]

    def run(self, mode, at=0, kind=0):
        os.write(self.orders, f"{mode} {at} {kind}\n".encode())
        line = self.answers.readline()
        if not line:
            raise RuntimeError("the server of faults has ended")
        return Result(self, line)

    def load_modules(self):
        """Loads them in the server, if a run loads any: libhdf5 takes 10 ms."""
        os.write(self.orders, b"p\n")

    def read_outputs(self):
        return [os.pread(fd, os.fstat(fd).st_size, 0).decode("utf-8", "backslashreplace") for fd in self.streams]

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        os.close(self.orders)
        self.process.wait()
        self.answers.close()
        for fd in self.streams:
            os.close(fd)


class Folder:
    """The directory of the outputs, which begins each run with the same files. Of `old`, a text is the name of
    another file, to which a hard link is made, and None an empty directory."""

    def __init__(self, path, old):
        self.path = Path(path)
        self.links = {name: data for name, data in old.items() if isinstance(data, str)}
        self.old = {name: old.get(data) if name in self.links else data for name, data in old.items()}
        self.restore()

    def restore(self):
        if self.path.exists() and self.found() == self.old:
            return
        self.path.mkdir(exist_ok=True)
        for entry in os.scandir(self.path):  # the directory itself is the current one of the command
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path)
            else:
                os.unlink(entry.path)
        for name, data in self.old.items():
            place = self.path / name
            place.parent.mkdir(parents=True, exist_ok=True)
            if data is None:
                place.mkdir(exist_ok=True)
            elif name not in self.links:
                place.write_bytes(data)
        for name, other in self.links.items():
            os.link(self.path / other, self.path / name)

    def found(self):
        """Path and contents of each file; None for an empty directory."""
        files = {}
        for folder, folders, names in os.walk(self.path):
            for name in names:
                place = os.path.join(folder, name)
                with open(place, "rb") as file:
                    files[os.path.relpath(place, self.path)] = file.read()
            if not folders and not names and folder != str(self.path):
                files[os.path.relpath(folder, self.path)] = None
        return files


def is_temporary(name):
    return any(part.startswith(".") and ".heft-" in part for part in Path(name).parts)


def without_temporary(files):
    return {name: data for name, data in files.items() if not is_temporary(name)}
