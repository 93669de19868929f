"""TensorFlow part of suite_rules.py: checkpoints of BERT and GPT-2 as the programs of Google and OpenAI save them
(variable scopes of their modeling.py and model.py, tf.compat.v1.train.Saver), with random weights, and what the
networks compute, by a forward pass on the weights as they are stored. rules_peer.py compares both with transformers."""

import math
import os
import pathlib
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import tensorflow as tf

v1 = tf.compat.v1
WORDS, WIDTH, HEADS, LAYERS, INNER, PLACES = 19, 12, 3, 2, 20, 9
LABELS = 5
IDS = np.array([[3, 1, 17, 4, 0], [2, 2, 18, 9, 11]])
SEGMENTS = np.array([[0, 0, 1, 1, 1], [0, 1, 1, 0, 0]])


class Weights:
    """Random variables of a graph by their names, made when they are asked for."""

    def __init__(self, seed):
        self.random, self.values = np.random.default_rng(seed), {}

    def get(self, name, *shape):
        if name not in self.values:
            near = 1.0 if name.endswith(("gamma", "/g")) else 0.0
            self.values[name] = (near + self.random.normal(0, 0.3, shape)).astype(np.float32)
        return self.values[name].astype(np.float64)

    def save(self, prefix, **more):
        prefix.parent.mkdir(parents=True)
        with tf.Graph().as_default(), v1.Session() as session:
            for name, value in {**self.values, **more}.items():
                scope, _, leaf = name.rpartition("/")
                with v1.variable_scope(scope or v1.get_variable_scope(), reuse=v1.AUTO_REUSE):
                    v1.get_variable(leaf, initializer=tf.constant(value), use_resource=False)
            session.run(v1.global_variables_initializer())
            v1.train.Saver().save(session, str(prefix), write_meta_graph=False)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def norm(x, scale, shift, epsilon):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + epsilon) * scale + shift


def heads_of(x):
    return x.reshape(*x.shape[:2], HEADS, -1).transpose(0, 2, 1, 3)


def attend(q, k, v, mask=None):
    scores = heads_of(q) @ heads_of(k).transpose(0, 1, 3, 2) / math.sqrt(WIDTH // HEADS)
    out = softmax(scores if mask is None else np.where(mask, scores, -1e10)) @ heads_of(v)
    return out.transpose(0, 2, 1, 3).reshape(*q.shape)


class Bert(Weights):
    """The network of Google's modeling.py."""

    @staticmethod
    def gelu(x):
        return x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))

    def dense(self, x, name, width):
        return x @ self.get(name + "/kernel", x.shape[-1], width) + self.get(name + "/bias", width)

    def norm(self, x, name):
        beta, gamma = (self.get(f"{name}/LayerNorm/{leaf}", x.shape[-1]) for leaf in ("beta", "gamma"))
        return norm(x, gamma, beta, 1e-12)

    def body(self):
        words = self.get("bert/embeddings/word_embeddings", WORDS, WIDTH)
        types = self.get("bert/embeddings/token_type_embeddings", 2, WIDTH)
        places = self.get("bert/embeddings/position_embeddings", PLACES, WIDTH)
        x = self.norm(words[IDS] + types[SEGMENTS] + places[:IDS.shape[1]], "bert/embeddings")
        for layer in range(LAYERS):
            at = f"bert/encoder/layer_{layer}"
            q, k, v = (self.dense(x, f"{at}/attention/self/{part}", WIDTH) for part in ("query", "key", "value"))
            x = self.norm(self.dense(attend(q, k, v), f"{at}/attention/output/dense", WIDTH) + x, f"{at}/attention/output")
            inner = self.gelu(self.dense(x, f"{at}/intermediate/dense", INNER))
            x = self.norm(self.dense(inner, f"{at}/output/dense", WIDTH) + x, f"{at}/output")
        return x

    def pooled(self, x):
        return np.tanh(self.dense(x[:, 0], "bert/pooler/dense", WIDTH))

    def head(self, x, scope, n):
        weights, bias = self.get(scope + "output_weights", n, x.shape[-1]), self.get(scope + "output_bias", n)
        return x @ weights.T + bias

    def pretraining(self):
        x = self.body()
        y = self.norm(self.gelu(self.dense(x, "cls/predictions/transform/dense", WIDTH)), "cls/predictions/transform")
        words = y @ self.get("bert/embeddings/word_embeddings").T + self.get("cls/predictions/output_bias", WORDS)
        return {"prediction_logits": words, "seq_relationship_logits": self.head(self.pooled(x), "cls/seq_relationship/", 2)}

    def classifier(self):
        return {"logits": self.head(self.pooled(self.body()), "", LABELS)}

    def squad(self):
        x = self.body()
        self.pooled(x)  # its variables exist, too
        both = self.head(x, "cls/squad/", 2)
        return {"start_logits": both[..., 0], "end_logits": both[..., 1]}


class Gpt2(Weights):
    """The network of OpenAI's model.py."""

    def conv1d(self, x, name, width):
        return x @ self.get(name + "/w", 1, x.shape[-1], width)[0] + self.get(name + "/b", width)

    def norm(self, x, name):
        return norm(x, self.get(name + "/g", WIDTH), self.get(name + "/b", WIDTH), 1e-5)

    def lm(self):
        table = self.get("model/wte", WORDS, WIDTH)
        x = table[IDS] + self.get("model/wpe", PLACES, WIDTH)[:IDS.shape[1]]
        mask = np.tri(IDS.shape[1], dtype=bool)
        for layer in range(LAYERS):
            at = f"model/h{layer}"
            q, k, v = np.split(self.conv1d(self.norm(x, at + "/ln_1"), at + "/attn/c_attn", 3 * WIDTH), 3, -1)
            x = x + self.conv1d(attend(q, k, v, mask), at + "/attn/c_proj", WIDTH)
            y = self.conv1d(self.norm(x, at + "/ln_2"), at + "/mlp/c_fc", 4 * WIDTH)
            y = 0.5 * y * (1 + np.tanh(math.sqrt(2 / math.pi) * (y + 0.044715 * y ** 3)))
            x = x + self.conv1d(y, at + "/mlp/c_proj", WIDTH)
        return {"logits": self.norm(x, "model/ln_f") @ table.T}


def main(folder):
    for name, model, forward in (("bert-pretraining", Bert(1), "pretraining"), ("bert-classifier", Bert(2), "classifier"),
                                 ("bert-squad", Bert(3), "squad"), ("gpt2", Gpt2(4), "lm")):
        outputs = getattr(model, forward)()
        model.save(folder / name / "model.ckpt")
        trained = {"global_step": np.int64(7)}
        for variable, value in model.values.items():
            for slot in (("adam_m", "adam_v") if name.startswith("bert") else ("Adam", "Adam_1")):
                trained[f"{variable}/{slot}"] = np.zeros_like(value)
        model.save(folder / f"{name}-trained" / "model.ckpt-7", **trained)
        np.savez(folder / f"{name}.npz", ids=IDS, segments=SEGMENTS, **outputs)
        reader = tf.train.load_checkpoint(str(folder / name / "model.ckpt"))
        same = {k: np.array_equal(reader.get_tensor(k), v) for k, v in model.values.items()}
        print("pass" if all(same.values()) else "FAIL", f"{name}: written by TensorFlow, {len(same)} variables", flush=True)
    (folder / "tf-ready").touch()


main(pathlib.Path(sys.argv[1]))
