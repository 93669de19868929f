"""Writes the arrays of an .npz as HDF5 with h5py and as a bundle with TensorFlow, and strings as another
bundle. For suite_digest, in the environment of TensorFlow."""

import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import h5py
import numpy
import tensorflow as tf

source, h5, bundle, strings = sys.argv[1:]
with numpy.load(source) as archive:
    arrays = {name: archive[name] for name in archive.files}
with h5py.File(h5, "w") as file:
    for name, array in arrays.items():
        file[name] = array
for prefix, tensors in ((bundle, arrays), (strings, {"words": numpy.array([[b"", b"one\0"], [b"\xff" * 300, b"z"]], object)})):
    tf.raw_ops.SaveV2(prefix=prefix, tensor_names=list(tensors), shape_and_slices=[""] * len(tensors),
                      tensors=[tf.constant(array) for array in tensors.values()])
