"""A small model for each preset: what goes in, and by index formulas what must come out."""
from dataclasses import dataclass, field

from tensors import by_formula, counter


@dataclass
class Case:
    preset: str
    inputs: list  # dicts of tensors, one for each file
    expected: dict
    ties: dict = field(default_factory=dict)  # recorded: name -> name of the stored tensor
    files: dict = field(default_factory=dict)  # JSON beside the input: name -> value
    back: list = None  # inputs that come back; None: there only
    options: list = field(default_factory=list)  # of both ways
    back_options: list = field(default_factory=list)
    name: str = ""


def turned(t):
    return by_formula(t.shape[::-1], lambda i, j: t[j, i])


def rows_of(t, n, row):
    """n rows; row k is row(k) of t, which has one or two dimensions."""
    if len(t.shape) == 1:
        return by_formula((n,), lambda k: t[row(k)])
    return by_formula((n, t.shape[1]), lambda k, i: t[row(k), i])


def part(t, k, n):
    """The k-th of n equal parts by rows."""
    step = t.shape[0] // n
    return rows_of(t, step, lambda row: k * step + row)


class Pair:
    """Fills the tensors of both sides together."""

    def __init__(self):
        self.new, self.left, self.right = counter(), {}, {}

    def move(self, left, right, *shape, turn=False):
        self.left[left] = self.new(*shape)
        self.right[right] = turned(self.left[left]) if turn else self.left[left]


# ---- from TensorFlow -----------------------------------------------------------------------------------------------

def bert(head):
    p, width, inner = Pair(), 4, 6

    def dense(left, right, i, o):
        p.move(f"{left}/kernel", f"{right}.weight", i, o, turn=True)
        p.move(f"{left}/bias", f"{right}.bias", o)

    def norm(left, right):
        p.move(f"{left}/LayerNorm/beta", f"{right}.LayerNorm.bias", width)
        p.move(f"{left}/LayerNorm/gamma", f"{right}.LayerNorm.weight", width)

    for table, n in (("word", 7), ("token_type", 2), ("position", 5)):
        p.move(f"bert/embeddings/{table}_embeddings", f"bert.embeddings.{table}_embeddings.weight", n, width)
    norm("bert/embeddings", "bert.embeddings")
    for layer in (0, 1):
        left, right = f"bert/encoder/layer_{layer}", f"bert.encoder.layer.{layer}"
        for part_ in ("query", "key", "value"):
            dense(f"{left}/attention/self/{part_}", f"{right}.attention.self.{part_}", width, width)
        dense(f"{left}/attention/output/dense", f"{right}.attention.output.dense", width, width)
        norm(f"{left}/attention/output", f"{right}.attention.output")
        dense(f"{left}/intermediate/dense", f"{right}.intermediate.dense", width, inner)
        dense(f"{left}/output/dense", f"{right}.output.dense", inner, width)
        norm(f"{left}/output", f"{right}.output")
    dense("bert/pooler/dense", "bert.pooler.dense", width, width)
    ties = {}
    if head == "pretraining":
        dense("cls/predictions/transform/dense", "cls.predictions.transform.dense", width, width)
        norm("cls/predictions/transform", "cls.predictions.transform")
        p.move("cls/predictions/output_bias", "cls.predictions.bias", 7)
        p.move("cls/seq_relationship/output_weights", "cls.seq_relationship.weight", 2, width)
        p.move("cls/seq_relationship/output_bias", "cls.seq_relationship.bias", 2)
        ties = {"cls.predictions.decoder.weight": "bert.embeddings.word_embeddings.weight",
                "cls.predictions.decoder.bias": "cls.predictions.bias"}
    elif head == "squad":
        p.move("cls/squad/output_weights", "qa_outputs.weight", 2, width)
        p.move("cls/squad/output_bias", "qa_outputs.bias", 2)
    else:
        p.move("output_weights", "classifier.weight", 3, width)
        p.move("output_bias", "classifier.bias", 3)
    slots = {f"{name}/{slot}": p.new(*t.shape) for name, t in list(p.left.items())[:3] for slot in ("adam_m", "adam_v")}
    return Case("bert-tf", [{**p.left, **slots, "global_step": p.new()}], p.right, ties, back=[p.left], name=head)


def gpt2_tf():
    p, width = Pair(), 3
    p.move("model/wte", "transformer.wte.weight", 7, width)
    p.move("model/wpe", "transformer.wpe.weight", 5, width)
    for layer in (0, 1):
        for norm in ("ln_1", "ln_2"):
            p.move(f"model/h{layer}/{norm}/g", f"transformer.h.{layer}.{norm}.weight", width)
            p.move(f"model/h{layer}/{norm}/b", f"transformer.h.{layer}.{norm}.bias", width)
        for name, i, o in (("attn/c_attn", 1, 3), ("attn/c_proj", 1, 1), ("mlp/c_fc", 1, 4), ("mlp/c_proj", 4, 1)):
            left, right = f"model/h{layer}/{name}", f"transformer.h.{layer}.{name.replace('/', '.')}"
            w = p.left[f"{left}/w"] = p.new(1, i * width, o * width)
            p.right[f"{right}.weight"] = by_formula((i * width, o * width), lambda a, b, w=w: w[0, a, b])
            p.move(f"{left}/b", f"{right}.bias", o * width)
    p.move("model/ln_f/g", "transformer.ln_f.weight", width)
    p.move("model/ln_f/b", "transformer.ln_f.bias", width)
    return Case("gpt2-tf", [p.left], p.right, {"lm_head.weight": "transformer.wte.weight"}, back=[p.left])


def gpt2_linear():
    p, width = Pair(), 3
    for layer in (0, 1):
        at = f"transformer.h.{layer}."
        p.move(f"{at}ln_1.weight", f"{at}ln_1.weight", width)

        def divided(name, parts, at=at):
            w = p.left[f"{at}{name}.weight"] = p.new(width, len(parts) * width)
            b = p.left[f"{at}{name}.bias"] = p.new(len(parts) * width)
            for k, out in enumerate(parts):
                p.right[f"{at}{out}.weight"] = by_formula((width, width), lambda o, i, w=w, k=k: w[i, k * width + o])
                p.right[f"{at}{out}.bias"] = part(b, k, len(parts))

        divided("attn.c_attn", [f"attn.{x}_proj" for x in "qkv"])
        divided("crossattention.c_attn", [f"crossattention.{x}_proj" for x in "kv"])
        p.move(f"{at}crossattention.q_attn.weight", f"{at}crossattention.q_proj.weight", width, width, turn=True)
        p.move(f"{at}crossattention.q_attn.bias", f"{at}crossattention.q_proj.bias", width)
        for name, i, o in (("attn.c_proj", 3, 3), ("crossattention.c_proj", 3, 3), ("mlp.c_fc", 3, 12), ("mlp.c_proj", 12, 3)):
            p.move(f"{at}{name}.weight", f"{at}{name}.weight", i, o, turn=True)
            p.move(f"{at}{name}.bias", f"{at}{name}.bias", o)
    return Case("gpt2-linear", [p.left], p.right, back=[p.left])


# ---- Keras ---------------------------------------------------------------------------------------------------------

def gates(t, order, axis):
    """Equal blocks of the last dimension in another order."""
    step = t.shape[-1] // len(order)

    def moved(j):
        return order[j // step] * step + j % step
    if axis == 0:  # and transposed
        return by_formula((t.shape[1], t.shape[0]), lambda j, i: t[i, moved(j)])
    return by_formula((t.shape[-1],), lambda j: t[axis - 1, moved(j)])


def keras():
    new, left, right = counter(), {}, {}

    def layer(name, kernel=None, bias=None):
        if kernel:
            left[f"{name}/kernel"] = new(*kernel)
        if bias:
            left[f"{name}/bias"] = right[f"{name}.bias"] = new(bias)
        return left.get(f"{name}/kernel")

    k = layer("conv", (3, 2, 3, 4), 4)
    right["conv.weight"] = by_formula((4, 3, 3, 2), lambda o, i, a, b: k[a, b, i, o])
    d = layer("depthwise", (2, 2, 4, 2), 8)
    right["depthwise.weight"] = by_formula((8, 1, 2, 2), lambda o, one, a, b: d[a, b, o // 2, o % 2])
    u = layer("up", (3, 2, 5, 8), 5)  # [a, b, out, in]
    right["up.weight"] = by_formula((8, 5, 3, 2), lambda i, o, a, b: u[a, b, o, i])
    c = layer("c1", (3, 6, 5), 5)
    right["c1.weight"] = by_formula((5, 6, 3), lambda o, i, a: c[a, i, o])
    f = layer("fc", (5, 6), 6)
    right["fc.weight"] = turned(f)
    left["sep/depthwise_kernel"], left["sep/pointwise_kernel"] = new(2, 2, 5, 1), new(1, 1, 5, 3)
    left["sep/bias"] = right["sep.pointwise.bias"] = new(3)
    right["sep.depthwise.weight"] = by_formula((5, 1, 2, 2), lambda o, one, a, b: left["sep/depthwise_kernel"][a, b, o, 0])
    right["sep.pointwise.weight"] = by_formula((3, 5, 1, 1), lambda o, i, a, b: left["sep/pointwise_kernel"][a, b, i, o])
    left["emb/embeddings"] = right["emb.weight"] = new(10, 6)
    for old, name in (("gamma", "weight"), ("beta", "bias"), ("moving_mean", "running_mean"), ("moving_variance", "running_var")):
        left[f"bn/{old}"] = right[f"bn.{name}"] = new(4)

    def rnn(path, out, width, units, order, suffix=""):
        n = len(order)
        kernel, recurrent = left[f"{path}/kernel"], left[f"{path}/recurrent_kernel"] = new(width, n * units), new(units, n * units)
        right[f"{out}.weight_ih_l0{suffix}"] = gates(kernel, order, 0)
        right[f"{out}.weight_hh_l0{suffix}"] = gates(recurrent, order, 0)
        if n == 3:
            bias = left[f"{path}/bias"] = new(2, 3 * units)
            right[f"{out}.bias_ih_l0{suffix}"] = gates(bias, order, 1)
            right[f"{out}.bias_hh_l0{suffix}"] = gates(bias, order, 2)
        else:
            left[f"{path}/bias"] = right[f"{out}.bias_ih_l0{suffix}"] = new(n * units)
            right[f"{out}.bias_hh_l0{suffix}"] = by_formula((n * units,), lambda j: 0)

    rnn("lstm/lstm_cell", "lstm", 6, 5, (0, 1, 2, 3))
    rnn("gru/gru_cell", "gru", 5, 4, (1, 0, 2))
    rnn("both/forward_gru/gru_cell", "both", 4, 2, (1, 0, 2))
    rnn("both/backward_gru/gru_cell", "both", 4, 2, (1, 0, 2), "_reverse")
    rnn("rnn/simple_rnn_cell", "rnn", 4, 3, (0,))
    heads, d_, width = 2, 3, 6
    q = [new(width, heads, d_) for _ in "qkv"]
    b = [new(heads, d_) for _ in "qkv"]
    for k_, name in enumerate(("query", "key", "value")):
        left[f"mha/{name}/kernel"], left[f"mha/{name}/bias"] = q[k_], b[k_]
    right["mha.in_proj_weight"] = by_formula((18, width), lambda r, i: q[r // 6][i, r % 6 // d_, r % d_])
    right["mha.in_proj_bias"] = by_formula((18,), lambda r: b[r // 6][r % 6 // d_, r % d_])
    out = left["mha/attention_output/kernel"] = new(heads, d_, width)
    right["mha.out_proj.weight"] = by_formula((width, width), lambda o, r: out[r // d_, r % d_, o])
    left["mha/attention_output/bias"] = right["mha.out_proj.bias"] = new(width)
    return Case("keras-torch", [left], right)


# ---- Llama and Phi-3 -----------------------------------------------------------------------------------------------

def llama(n, embeddings):
    """n files; `embeddings`: the dimension by which their table is cut."""
    p, width, heads, kv, inner, words = Pair(), 16, 4, 2, 6, 8
    half = width // heads // 2
    whole, cuts = {}, {}

    def put(left, right, cut, *shape, rotary=False):
        t = whole[left] = p.new(*shape)
        cuts[left] = cut
        p.right[right] = t if not rotary else rows_of(
            t, shape[0], lambda r: r // (2 * half) * 2 * half + r % half * 2 + r % (2 * half) // half)

    put("tok_embeddings.weight", "model.embed_tokens.weight", embeddings, words, width)
    for layer in (0, 1):
        left, right = f"layers.{layer}.", f"model.layers.{layer}."
        put(f"{left}attention.wq.weight", f"{right}self_attn.q_proj.weight", 0, width, width, rotary=True)
        put(f"{left}attention.wk.weight", f"{right}self_attn.k_proj.weight", 0, kv * 2 * half, width, rotary=True)
        put(f"{left}attention.wv.weight", f"{right}self_attn.v_proj.weight", 0, kv * 2 * half, width)
        put(f"{left}attention.wo.weight", f"{right}self_attn.o_proj.weight", 1, width, width)
        put(f"{left}feed_forward.w1.weight", f"{right}mlp.gate_proj.weight", 0, inner, width)
        put(f"{left}feed_forward.w2.weight", f"{right}mlp.down_proj.weight", 1, width, inner)
        put(f"{left}feed_forward.w3.weight", f"{right}mlp.up_proj.weight", 0, inner, width)
        put(f"{left}attention_norm.weight", f"{right}input_layernorm.weight", None, width)
        put(f"{left}ffn_norm.weight", f"{right}post_attention_layernorm.weight", None, width)
    put("norm.weight", "model.norm.weight", None, width)
    put("output.weight", "lm_head.weight", 0, words, width)

    def shard(name, k):
        t, cut = whole[name], cuts[name]
        if cut == 1:
            step = t.shape[1] // n
            return by_formula((t.shape[0], step), lambda i, j: t[i, k * step + j])
        return t if cut is None else part(t, k, n)

    files = [{**{name: shard(name, k) for name in whole}, "rope.freqs": p.new(half)} for k in range(n)]
    params = {"dim": width, "n_heads": heads, "n_kv_heads": kv, "n_layers": 2, "norm_eps": 1e-05}
    return Case("llama-meta", files, p.right, files={"params.json": params}, back=[whole], name=f"{n} files, cut by {embeddings}")


def phi3():
    p, heads, kv, d, width, inner = Pair(), 4, 2, 2, 8, 5
    for layer in (0, 1):
        at = f"model.layers.{layer}."
        w = p.left[f"{at}self_attn.qkv_proj.weight"] = p.new((heads + 2 * kv) * d, width)
        for name, first, n in (("q", 0, heads), ("k", heads, kv), ("v", heads + kv, kv)):
            p.right[f"{at}self_attn.{name}_proj.weight"] = rows_of(w, n * d, lambda r, first=first: first * d + r)
        p.move(f"{at}self_attn.o_proj.weight", f"{at}self_attn.o_proj.weight", width, width)
        w = p.left[f"{at}mlp.gate_up_proj.weight"] = p.new(2 * inner, width)
        p.right[f"{at}mlp.gate_proj.weight"], p.right[f"{at}mlp.up_proj.weight"] = part(w, 0, 2), part(w, 1, 2)
    config = {"num_attention_heads": heads, "num_key_value_heads": kv}
    return Case("phi3-llama", [p.left], p.right, files={"config.json": config}, back=[p.left])


# ---- experts -------------------------------------------------------------------------------------------------------

def experts(preset, left_at, right_at, single, router):
    """Eleven experts, in the file in the order of their names as text."""
    p, n, width, inner = Pair(), 11, 4, 3
    p.move("model.norm.weight", "model.norm.weight", width)
    for layer in (0, 1):
        left, right = f"model.layers.{layer}.{left_at}", f"model.layers.{layer}.{right_at}"
        for k in sorted(range(n), key=str):
            for name, shape in zip(single, ((inner, width), (inner, width), (width, inner))):
                p.left[f"{left}.experts.{k}.{name}.weight"] = p.new(*shape)
        gate, up, down = ([p.left[f"{left}.experts.{k}.{name}.weight"] for k in range(n)] for name in single)
        p.right[f"{right}.experts.gate_up_proj"] = by_formula(
            (n, 2 * inner, width), lambda e, r, i, g=gate, u=up: g[e][r, i] if r < inner else u[e][r - inner, i])
        p.right[f"{right}.experts.down_proj"] = by_formula((n, width, inner), lambda e, o, i, d=down: d[e][o, i])
        p.move(f"{left}.gate.weight", f"{right}.gate.weight", n, width)
        if router:
            p.move(f"{left}.{router}", f"{right}.{router}", n)
    return Case(preset, [p.left], p.right, back=[p.left], name=left_at)


# ---- query, key and value ------------------------------------------------------------------------------------------

def neox(names):
    p, heads, d, width = Pair(), 3, 2, 6
    at, key = names
    for layer in (0, 1):
        for leaf, shape in (("weight", (heads * 3 * d, width)), ("bias", (heads * 3 * d,))):
            fused = p.left[f"{at.format(layer)}.query_key_value.{leaf}"] = p.new(*shape)
            for k, name in enumerate("qkv"):
                p.right[f"{at.format(layer)}.{name}_proj.{leaf}"] = rows_of(
                    fused, heads * d, lambda r, k=k: r // d * 3 * d + k * d + r % d)
        p.move(f"{at.format(layer)}.dense.weight", f"{at.format(layer)}.dense.weight", width, width)
    return Case("neox-qkv", [p.left], p.right, files={"config.json": {key: heads}}, back=[p.left], name=key)


def falcon(kv, stated, *back_options):
    """kv groups; `stated`: what config.json says."""
    p, heads, d = Pair(), 6, 2
    g, width = heads // kv, heads * d
    at = "transformer.h.{}.self_attention"
    for layer in (0, 1):
        for leaf, shape in (("weight", (kv * (g + 2) * d, width)), ("bias", (kv * (g + 2) * d,))):
            fused = p.left[f"{at.format(layer)}.query_key_value.{leaf}"] = p.new(*shape)
            out = {"q": (g, 0), "k": (1, g), "v": (1, g + 1)}
            for name, (n, first) in out.items():
                p.right[f"{at.format(layer)}.{name}_proj.{leaf}"] = rows_of(
                    fused, kv * n * d, lambda r, n=n, first=first: r // (n * d) * (g + 2) * d + (first + r // d % n) * d + r % d)
        p.move(f"{at.format(layer)}.dense.weight", f"{at.format(layer)}.dense.weight", width, width)
    return Case("falcon-qkv", [p.left], p.right, files={"config.json": stated}, back=[p.left], back_options=list(back_options),
                name=f"{kv} of {stated}")


def mha():
    p, width = Pair(), 4
    for at in ("", "decoder.attn."):
        for leaf, shape in (("weight", (3 * width, width)), ("bias", (3 * width,))):
            fused = p.left[f"{at}in_proj_{leaf}"] = p.new(*shape)
            for k, name in enumerate("qkv"):
                p.right[f"{at}{name}_proj.{leaf}"] = part(fused, k, 3)
        p.move(f"{at}out_proj.weight", f"{at}out_proj.weight", width, width)
    return Case("mha-split", [p.left], p.right, back=[p.left])


def vit():
    p, width = Pair(), 4
    p.move("cls_token", "vit.embeddings.cls_token", 1, 1, width)
    p.move("pos_embed", "vit.embeddings.position_embeddings", 1, 5, width)
    p.move("patch_embed.proj.weight", "vit.embeddings.patch_embeddings.projection.weight", width, 3, 2, 2)
    p.move("patch_embed.proj.bias", "vit.embeddings.patch_embeddings.projection.bias", width)
    for layer in (0, 1):
        left, right = f"blocks.{layer}.", f"vit.encoder.layer.{layer}."
        for leaf, more in (("weight", (width,)), ("bias", ())):
            fused = p.left[f"{left}attn.qkv.{leaf}"] = p.new(3 * width, *more)
            for k, name in enumerate(("query", "key", "value")):
                p.right[f"{right}attention.attention.{name}.{leaf}"] = part(fused, k, 3)
            for old, name, n, i in (("norm1", "layernorm_before", 1, 0), ("attn.proj", "attention.output.dense", 1, 1),
                                    ("norm2", "layernorm_after", 1, 0), ("mlp.fc1", "intermediate.dense", 3, 1),
                                    ("mlp.fc2", "output.dense", 1, 3)):
                p.move(f"{left}{old}.{leaf}", f"{right}{name}.{leaf}", n * width, *([i * width] if more and i else []))
    for old, name, n, i in (("norm", "vit.layernorm", width, 0), ("head", "classifier", 3, width)):
        p.move(f"{old}.weight", f"{name}.weight", n, *([i] if i else []))
        p.move(f"{old}.bias", f"{name}.bias", n)
    return Case("vit-timm", [p.left], p.right, back=[p.left])


def unwrap(text):
    """`text`: names of a layer as wrappers leave them, with {} for the leaf."""
    p = Pair()
    for leaf in ("weight", "bias"):
        p.move(text.format(leaf), f"net.layers.0.{leaf}", 3)
    return Case("unwrap", [p.left], p.right, name=text)


CASES = [
    bert("pretraining"), bert("squad"), bert("classifier"), gpt2_tf(), gpt2_linear(), keras(),
    llama(1, 0), llama(2, 0), llama(2, 1), phi3(),
    experts("mixtral-experts", "block_sparse_moe", "mlp", ("w1", "w3", "w2"), "e_score_correction_bias"),
    experts("moe-experts", "mlp", "mlp", ("gate_proj", "up_proj", "down_proj"), None),
    experts("moe-experts", "feed_forward", "feed_forward", ("gate_proj", "up_proj", "down_proj"), None),
    neox(("gpt_neox.layers.{}.attention", "num_attention_heads")), neox(("h.{}.self_attention", "n_head")),
    falcon(2, {"num_attention_heads": 6, "num_kv_heads": 2}), falcon(6, {"n_head": 6}),
    falcon(1, {"num_attention_heads": 6, "num_kv_heads": 1}),
    falcon(1, {"num_attention_heads": 6, "num_kv_heads": 6, "multi_query": True}, "--set", "kv=1"),
    mha(), vit(),
    unwrap("module.net.layers.0.{}"), unwrap("_orig_mod.module.net.layers.0.{}"), unwrap("module._orig_mod.net.layers.0.{}"),
    unwrap("module.module.net._fsdp_wrapped_module.layers.0._checkpoint_wrapped_module.{}"),
    unwrap("_forward_module.net.layers.0.{}"),
]
