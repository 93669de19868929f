"""keras-torch: layers of Keras, on torch, saved as .h5; the modules of torch.nn that load the result give the same output."""

import keras
import numpy as np
import torch
from torch import nn

from .tools import convert, load, near, refused, rows

L = keras.layers


def random_weights(model, seed=19):
    random = np.random.default_rng(seed)
    for variable in model.weights:
        if "seed_generator" in variable.path:
            continue
        value = random.normal(0, 0.5, tuple(variable.shape))
        if variable.path.endswith(("variance", "gamma", "scale")):
            value = np.abs(value) + 0.5
        variable.assign(value.astype("float32"))


def check_layers(scratch, what, model, module, inputs, forward, prefix=""):
    """Saves as .h5 and as .keras, converts, loads strictly; `forward` runs the module on torch tensors of the inputs."""
    random_weights(model)
    run = [keras.ops.convert_to_tensor(x) for x in inputs]
    wanted = torch.as_tensor(model(run if len(run) > 1 else run[0], training=False)).detach()
    for suffix, options in ((".h5", ()), (".keras", ("--names", "objects"))):
        path, title = scratch / f"{what.replace(' ', '-')}{suffix}", f"keras-torch, {what}, {suffix}"
        model.save(path)
        # A Sequential puts its own name in front.
        out = path.with_suffix(".pt")
        if not convert(title, path, out, "--rename", f"^{model.name}/=>", "--rules", "keras-torch", *options):
            continue
        found = {k.removeprefix(prefix): v for k, v in rows(out).items()}
        if load(module, found, title):
            with torch.no_grad():
                near(forward(module.eval(), *map(torch.from_numpy, inputs)), wanted, f"{title}: output is Keras'")


def x_of(*shape):
    return np.random.default_rng(20).normal(0, 1, shape).astype("float32")


class Named(nn.Module):
    """Modules by the names of the layers, dots included."""

    def __init__(self, **modules):
        super().__init__()
        for name, module in modules.items():
            self.add_module(name, module)


def last(x):
    return x.movedim(1, -1)


def first(x):
    return x.movedim(-1, 1)


def images(folder, scratch):
    model = keras.Sequential([
        keras.Input((8, 7, 3)), L.Conv2D(4, (3, 2), name="conv"), L.BatchNormalization(name="bn", epsilon=1e-5),
        L.PReLU(shared_axes=[1, 2], name="prelu"), L.DepthwiseConv2D((2, 2), depth_multiplier=2, name="block_1_depthwise"),
        L.SeparableConv2D(6, (2, 2), depth_multiplier=2, name="sep"), L.Conv2DTranspose(5, (3, 2), name="up"),
        L.GroupNormalization(groups=5, epsilon=1e-5, name="gn"), L.GlobalAveragePooling2D(), L.Dense(6, name="fc")])
    sep = nn.Module()
    sep.depthwise, sep.pointwise = nn.Conv2d(8, 16, 2, groups=8, bias=False), nn.Conv2d(16, 6, 1)
    module = Named(conv=nn.Conv2d(3, 4, (3, 2)), bn=nn.BatchNorm2d(4), prelu=nn.PReLU(4),
                   block_1_depthwise=nn.Conv2d(4, 8, 2, groups=4), sep=sep, up=nn.ConvTranspose2d(6, 5, (3, 2)),
                   gn=nn.GroupNorm(5, 5), fc=nn.Linear(5, 6))

    def forward(m, x):
        x = m.block_1_depthwise(m.prelu(m.bn(m.conv(first(x)))))
        x = m.gn(m.up(m.sep.pointwise(m.sep.depthwise(x))))
        return m.fc(x.mean((2, 3)))

    check_layers(scratch, "images", model, module, [x_of(2, 8, 7, 3)], forward)


def lines_and_volumes(folder, scratch):
    model = keras.Sequential([
        keras.Input((9, 4)), L.Conv1D(6, 3, name="conv"), L.DepthwiseConv1D(2, depth_multiplier=2, name="depthwise_conv1d_3"),
        L.SeparableConv1D(5, 2, name="sep"), L.Conv1DTranspose(3, 2, name="up"), L.LayerNormalization(name="ln", epsilon=1e-5),
        L.RMSNormalization(name="rms", epsilon=1e-5), L.Dense(2, name="fc", use_bias=False)])
    sep = nn.Module()
    sep.depthwise, sep.pointwise = nn.Conv1d(12, 12, 2, groups=12, bias=False), nn.Conv1d(12, 5, 1)
    module = Named(conv=nn.Conv1d(4, 6, 3), depthwise_conv1d_3=nn.Conv1d(6, 12, 2, groups=6), sep=sep,
                   up=nn.ConvTranspose1d(5, 3, 2), ln=nn.LayerNorm(3), rms=nn.RMSNorm(3, eps=1e-5), fc=nn.Linear(3, 2, bias=False))

    def forward(m, x):
        x = m.depthwise_conv1d_3(m.conv(first(x)))
        return m.fc(m.rms(m.ln(last(m.up(m.sep.pointwise(m.sep.depthwise(x)))))))

    check_layers(scratch, "lines", model, module, [x_of(2, 9, 4)], forward)
    model = keras.Sequential([keras.Input((4, 5, 6, 2)), L.Conv3D(3, (2, 3, 2), name="conv"),
                              L.Conv3DTranspose(4, (2, 2, 3), name="up")])
    module = Named(conv=nn.Conv3d(2, 3, (2, 3, 2)), up=nn.ConvTranspose3d(3, 4, (2, 2, 3)))
    check_layers(scratch, "volumes", model, module, [x_of(2, 4, 5, 6, 2)], lambda m, x: last(m.up(m.conv(first(x)))))


def recurrent(folder, scratch):
    all_ = {"return_sequences": True}
    model = keras.Sequential([
        keras.Input((6,), dtype="int32"), L.Embedding(10, 4, name="table"), L.LSTM(5, name="lstm", **all_),
        L.GRU(4, name="gru", **all_), L.SimpleRNN(3, name="rnn", **all_), L.Bidirectional(L.LSTM(3, **all_), name="both"),
        L.Bidirectional(L.GRU(2, name="inner", **all_), name="both_gru"), L.LSTM(2, use_bias=False, name="plain", **all_)])
    options = dict(batch_first=True)
    module = Named(table=nn.Embedding(10, 4), lstm=nn.LSTM(4, 5, **options), gru=nn.GRU(5, 4, **options),
                   rnn=nn.RNN(4, 3, **options), both=nn.LSTM(3, 3, bidirectional=True, **options),
                   both_gru=nn.GRU(6, 2, bidirectional=True, **options),
                   plain=nn.LSTM(4, 2, bias=False, **options))

    def forward(m, x):
        x = m.table(x)
        for name in ("lstm", "gru", "rnn", "both", "both_gru", "plain"):
            x = getattr(m, name)(x)[0]
        return x

    check_layers(scratch, "recurrent", model, module, [np.arange(12, dtype="int32").reshape(2, 6) % 10], forward)


def attention(folder, scratch):
    a = keras.Input((5, 6))
    model = keras.Model(a, L.Dense(3, name="query")(L.MultiHeadAttention(2, 3, name="mha")(a, a)))
    module = Named(mha=nn.MultiheadAttention(6, 2, batch_first=True), query=nn.Linear(6, 3))
    check_layers(scratch, "attention", model, module, [x_of(2, 5, 6)], lambda m, x: m.query(m.mha(x, x, x)[0]))
    plain = keras.Model(a, L.MultiHeadAttention(2, 3, use_bias=False, name="mha")(a, a))
    module = Named(mha=nn.MultiheadAttention(6, 2, bias=False, batch_first=True))
    check_layers(scratch, "attention without bias", plain, module, [x_of(2, 5, 6)], lambda m, x: m.mha(x, x, x)[0])
    groups = keras.Model(a, L.GroupQueryAttention(3, 4, 2, name="gqa")(a, a))
    gqa = Named(query=nn.Linear(6, 12), key=nn.Linear(6, 6), value=nn.Linear(6, 6), out_proj=nn.Linear(12, 6))

    def forward(m, x):
        heads = lambda y: y.unflatten(-1, (-1, 3)).transpose(1, 2)
        k, v = (heads(layer(x)).repeat_interleave(2, 1) for layer in (m.key, m.value))
        out = torch.nn.functional.scaled_dot_product_attention(heads(m.query(x)), k, v)
        return m.out_proj(out.transpose(1, 2).flatten(2))

    check_layers(scratch, "grouped attention", groups, gqa, [x_of(2, 5, 6)], forward, "gqa.")
    names = keras.Model(a, L.Dense(4, name="attention_output")(L.Dense(5, name="value")(a)))
    module = Named(value=nn.Linear(6, 5), attention_output=nn.Linear(5, 4))
    check_layers(scratch, "names of attention", names, module, [x_of(2, 5, 6)], lambda m, x: m.attention_output(m.value(x)))


def trained(folder, scratch):
    """States of the optimizer and of dropout do not come along."""
    model = keras.Sequential([keras.Input((4,)), L.Dense(5, name="a"), L.Dropout(0.1), L.Dense(2, name="b")], name="s")
    model.compile("adam", loss="mse")
    model.fit(x_of(8, 4), x_of(8, 2), verbose=0)
    check_layers(scratch, "trained", model, Named(a=nn.Linear(4, 5), b=nn.Linear(5, 2)), [x_of(2, 4)], lambda m, x: m.b(m.a(x)))


def lacking(folder, scratch):
    """What torch cannot hold is refused, not approximated."""
    for what, layer in (("GRU with reset_after=False", L.GRU(4, reset_after=False)), ("ConvLSTM1D", L.ConvLSTM1D(2, 2)),
                        ("PReLU for each place", L.PReLU())):
        shape = (3, 5, 2) if "Conv" in what else (5, 2)
        model = keras.Sequential([keras.Input(shape), layer])
        random_weights(model)
        model.save(scratch / "x.h5")
        refused(f"keras-torch: {what}", "", scratch / "x.h5", scratch / "no.pt", "keras-torch")


CASES = [images, lines_and_volumes, recurrent, attention, trained, lacking]
