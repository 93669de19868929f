#!/usr/bin/env python3
"""Writes the tar files of this directory as torch 0.1.0 to 0.1.9 wrote them. No current torch writes them, but all
read them: at the end torch loads each file, which must give the intended tensors.

    make.py [FOLDER]        version.txt contains the releases that read the present files
"""
import io
import pathlib
import pickle
import struct
import subprocess
import sys
import tarfile
import warnings

import torch

warnings.simplefilter("ignore")
HERE = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__)
HERE = HERE if HERE.is_dir() else HERE.parent
OLD = ("/usr/bin/python3", "import sys, torch; print(torch.__version__); torch.load(sys.argv[1])")
JUNK = b"\xde\xad\xbe\xef"  # old writers left this half of a long uninitialised


def P(value):
    return pickle.dumps(value, protocol=2)


def storage(key, cls, numbers, code, location="cpu"):
    return P((key, location, cls)) + struct.pack(f"<q{len(numbers)}{code}", len(numbers), *numbers)


def tensor(key, on, cls, size, stride, first=0):
    n = len(size)
    return P((key, on, cls)) + struct.pack("<i", n) + JUNK + struct.pack(f"<{2 * n + 1}q", *size, *stride, first)


class Pid(str):
    """Pickles as the persistent id that it contains."""


class Ancient(pickle.Pickler):
    classes = ()  # already written

    def persistent_id(self, obj):
        if isinstance(obj, Pid):
            return str(obj)
        if obj is torch.nn.Identity and obj not in self.classes:
            self.classes += (obj,)
            return (obj, "identity.py", "class Identity: pass\n")
        return None


def obj(value, protocol=2):
    out = io.BytesIO()
    Ancient(out, protocol).dump(value)
    return out.getvalue()


def write(name, members, form=tarfile.PAX_FORMAT, headers=None):
    with tarfile.open(HERE / name, "w:", format=form) as tar:
        for member, data in members:
            info = tarfile.TarInfo(member)
            info.size = len(data)
            info.pax_headers = headers or {}
            tar.addfile(info, io.BytesIO(data))


SYS_INFO = P({"protocol_version": 1000, "little_endian": True, "type_sizes": {"short": 2, "int": 4, "long": 8}})
FLOATS = P(1) + storage(11, torch.FloatStorage, range(6), "f")


def linear():
    storages = FLOATS + P([(12, 11, 2, 3)])
    tensors = (P(3) + tensor(101, 11, torch.FloatTensor, (2, 3), (3, 1)) + tensor(102, 11, torch.FloatTensor, (3, 2), (1, 3))
               + tensor(103, 12, torch.FloatTensor, (2,), (1,)))
    value = {"w": Pid(101), "wt": Pid(102), "v": Pid(103), "stor": Pid(11), "n": 3}
    return [("sys_info", SYS_INFO), ("pickle", obj(value)), ("tensors", tensors), ("storages", storages)]


def types():
    """Other classes, views in views of tensors, a model class, wrappers, other protocols."""
    storages = (P(4) + storage(2**47 + 5, torch.DoubleStorage, (0.5, 1.5, 2.5), "d") + storage(2, torch.LongStorage, (7, 8), "q")
                + storage(3, torch.HalfStorage, (1, 2), "e", "cuda:0") + storage(4, torch.ByteStorage, (), "B")
                + P([(20, 2**47 + 5, 1, 2), (21, 2, 1, 1)]))
    tensors = (P(5) + tensor(31, 20, torch.DoubleTensor, (2,), (1,)) + tensor(32, 2, torch.LongTensor, (2, 1), (1, 9))
               + tensor(33, 3, torch.cuda.HalfTensor, (), (), 1) + tensor(34, 4, torch.ByteTensor, (0,), (1,))
               + tensor(35, 21, torch.LongTensor, (3,), (0,)))
    value = {"d": Pid(31), "list": [Pid(32), {"h": Pid(33)}], "empty": Pid(34), "expanded": Pid(35), "view": Pid(20),
             "class": torch.nn.Identity, "parameter": torch.nn.Parameter, "text": "caf\u00e9"}
    return [("sys_info", SYS_INFO), ("pickle", obj(value)), ("tensors", tensors), ("storages", storages)]


class Wrapped:
    def __reduce__(self):
        return torch.nn.Parameter, (Pid(101),)


def main():
    write("linear.tar", linear())
    write("types.tar", types())
    write("pax.tar", linear(), headers={"comment": "x" * 40})
    gnu = [(name, data) for name, data in linear()] + [("notes/" + "long" * 30 + ".txt", b"not torch's\n")]
    write("gnu.tar", gnu, tarfile.GNU_FORMAT)
    tensors = P(1) + tensor(101, 11, torch.FloatTensor, (6,), (1,))
    members = [("storages", FLOATS + P([])), ("tensors", tensors), ("pickle", obj({"p": Wrapped(), "q": [Pid(101)]}, 0))]
    write("protocol0.tar", members, tarfile.USTAR_FORMAT)
    read_back()


def read_back():
    releases = [torch.__version__.split("+")[0]]
    for name in ("linear.tar", "pax.tar", "gnu.tar"):
        got = torch.load(HERE / name, weights_only=False)
        assert got["w"].tolist() == [[0, 1, 2], [3, 4, 5]] and got["wt"].tolist() == [[0, 3], [1, 4], [2, 5]]
        assert got["v"].tolist() == [2, 3] and list(got["stor"]) == [0, 1, 2, 3, 4, 5] and got["n"] == 3
    got = torch.load(HERE / "types.tar", weights_only=False, map_location="cpu")
    assert got["d"].tolist() == [1.5, 2.5] and got["list"][0].tolist() == [[7], [8]] and got["list"][1]["h"].item() == 2
    assert got["empty"].tolist() == [] and got["expanded"].tolist() == [8, 8, 8] and list(got["view"]) == [1.5, 2.5]
    assert got["class"] is torch.nn.Identity and got["empty"].dtype == torch.uint8
    got = torch.load(HERE / "protocol0.tar", weights_only=False)
    assert got["p"].tolist() == got["q"][0].tolist() == [0, 1, 2, 3, 4, 5]
    for name in ("linear.tar", "pax.tar", "gnu.tar", "protocol0.tar"):
        done = subprocess.run([OLD[0], "-c", OLD[1], HERE / name], capture_output=True, text=True)
        if done.returncode == 0 and done.stdout.strip() not in releases:
            releases.append(done.stdout.strip())
        assert done.returncode == 0 or "No module named" in done.stderr, done.stderr
    (HERE / "version.txt").write_text("read back by torch " + " and ".join(releases) + "\n")


if __name__ == "__main__":
    main()
