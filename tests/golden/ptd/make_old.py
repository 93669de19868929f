#!/usr/bin/env python3
"""Writes old.ptd of this directory with the serializer of ExecuTorch 0.6.0, the only release with other tables.

    pip download --no-deps executorch==0.6.0 && python3 -m zipfile -e executorch-0.6.0-*.whl FOLDER
    python make_old.py FOLDER         # made with torch 2.13.0; needs setuptools below 81, for pkg_resources
"""
import os
import sys
from pathlib import Path

FOLDER = Path(sys.argv[1]).resolve()
os.environ["FLATC_EXECUTABLE"] = str(FOLDER / "executorch" / "data" / "bin" / "flatc")
os.chmod(os.environ["FLATC_EXECUTABLE"], 0o755)
sys.path.insert(0, str(FOLDER))

from executorch.exir._serialize.data_serializer import DataPayload, TensorEntry, TensorLayout  # noqa: E402
from executorch.exir.scalar_type import ScalarType  # noqa: E402
from executorch.extension.flat_tensor.serialize.serialize import FlatTensorSerializer  # noqa: E402


def main():
    buffers = [bytes(range(96)), bytes(range(7)), bytes(range(100, 116)), b""]
    entries = [("conv.weight", 0, ScalarType.FLOAT, [1, 2, 3, 4], [0, 2, 3, 1]),
               ("odd", 1, ScalarType.BYTE, [7], [0]), ("embed", 2, ScalarType.FLOAT, [2, 2], [0, 1]),
               ("head", 2, ScalarType.FLOAT, [2, 2], [0, 1]), ("none", 3, ScalarType.LONG, [0], [0]),
               ("µ", 2, ScalarType.INT, [4], [0])]
    payload = DataPayload(buffers, {key: TensorEntry(buffer, TensorLayout(kind, sizes, order))
                                    for key, buffer, kind, sizes, order in entries})
    path = Path(__file__).resolve().with_name("old.ptd")
    path.write_bytes(bytes(FlatTensorSerializer().serialize(payload)))


main()
