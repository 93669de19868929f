#!/usr/bin/env python3
"""Writes models of cases.py in the formats of the frameworks, into directories beside it.

    python make.py torch        # made with torch 2.13.0
    python make.py tensorflow   # made with TensorFlow 2.21.0, Keras 3.15.1, h5py 3.14.0
"""
import json
import os
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import cases
import numpy as np

HERE = Path(__file__).resolve().parent


def array(tensor):
    return np.array(tensor.values, "f4").reshape(tensor.shape)


def case_of(preset, name=None):
    return next(case for case in cases.CASES if case.preset == preset and name in (None, case.name))


def llama():
    import torch
    folder, case = HERE / "llama-meta", case_of("llama-meta", "2 files, cut by 1")
    folder.mkdir(exist_ok=True)
    for k, file in enumerate(case.inputs):
        torch.save({name: torch.from_numpy(array(t)) for name, t in file.items()}, folder / f"consolidated.{k:02}.pth")
    for name, value in case.files.items():
        (folder / name).write_text(json.dumps(value))


def bundle(preset):
    """By the variables and the Saver of TensorFlow 1."""
    import tensorflow as tf
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        for name, t in case_of(preset).inputs[0].items():
            scope, _, leaf = name.rpartition("/")
            with v1.variable_scope(scope or v1.get_variable_scope(), reuse=v1.AUTO_REUSE):
                v1.get_variable(leaf, initializer=array(t), use_resource=False)
        session.run(v1.global_variables_initializer())
        v1.train.Saver(save_relative_paths=True).save(session, str(HERE / preset / "model.ckpt"), write_meta_graph=False)


def keras_model():
    import keras
    L = keras.layers
    image, text = keras.Input((8, 7, 3)), keras.Input((6,), dtype="int32")
    x = L.BatchNormalization(name="bn")(L.Conv2D(4, (3, 2), name="conv")(image))
    x = L.DepthwiseConv2D((2, 2), depth_multiplier=2, name="depthwise")(x)
    x = L.Conv2DTranspose(5, (3, 2), name="up")(x)
    sep, fc = L.SeparableConv2D(3, (2, 2), name="sep")(x), L.Dense(6, name="fc")(L.GlobalAveragePooling2D()(x))
    table = L.Embedding(10, 6, name="emb")(text)
    y = L.MultiHeadAttention(2, 3, name="mha")(table, table)
    y = L.GRU(4, return_sequences=True, name="gru")(L.LSTM(5, return_sequences=True, name="lstm")(y))
    y = L.SimpleRNN(3, name="rnn")(L.Bidirectional(L.GRU(2, return_sequences=True), name="both")(y))
    return keras.Model([image, text], [sep, fc, y, L.Conv1D(5, 3, name="c1")(table)])


def keras_file():
    values, model = case_of("keras-torch").inputs[0], keras_model()
    assert {w.path for w in model.weights} == set(values), {w.path for w in model.weights} ^ set(values)
    for weight in model.weights:
        weight.assign(array(values[weight.path]))
    (HERE / "keras-torch").mkdir(exist_ok=True)
    model.save(HERE / "keras-torch/model.h5")


if __name__ == "__main__":
    if sys.argv[1] == "torch":
        llama()
    else:
        for preset in ("bert-tf", "gpt2-tf"):
            (HERE / preset).mkdir(exist_ok=True)
            bundle(preset)
        keras_file()
