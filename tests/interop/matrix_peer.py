"""Reads an HDF5 file with h5py, or a bundle with TensorFlow: {name: [dtype, shape, hex]} as JSON, with
heft's names of dtypes. For suite_matrix, in the environment of TensorFlow."""

import json
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import h5py
import numpy

NAMES = {"bfloat16": "BF16", "float8_e5m2": "F8_E5M2", "float8_e4m3fn": "F8_E4M3",
         "float8_e4m3fnuz": "F8_E4M3FNUZ", "float8_e5m2fnuz": "F8_E5M2FNUZ", "bool": "BOOL"}
KINDS = {"i": "I", "u": "U", "f": "F", "c": "C"}


def row_of(array):
    array = numpy.asarray(array)
    dtype = array.dtype
    name = NAMES.get(dtype.name) or f"{KINDS[dtype.kind]}{dtype.itemsize * 8}"
    return [name, list(array.shape), array.tobytes().hex()]


def of_file(path):
    rows = {}
    with h5py.File(path) as file:
        file.visititems(lambda name, item: rows.update({name: row_of(item[()])})
                        if isinstance(item, h5py.Dataset) else None)
    return rows


def of_bundle(prefix):
    import tensorflow
    reader = tensorflow.train.load_checkpoint(prefix)
    return {name: row_of(reader.get_tensor(name)) for name in reader.get_variable_to_shape_map()}


path = sys.argv[1]
print(json.dumps(of_file(path) if os.path.exists(path) else of_bundle(path)))
