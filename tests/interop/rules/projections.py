"""neox-qkv, falcon-qkv and mha-split: the three projections give what the model itself takes out of the fused one."""

import json

import torch
import torch.nn.functional as F
from transformers import BloomConfig, BloomForCausalLM, FalconConfig, FalconForCausalLM, GPTNeoXConfig, GPTNeoXForCausalLM
from transformers.models.gpt_neox import modeling_gpt_neox

from .tools import check, convert, near, randomize, reverse, rows, same, save

HEADS, WIDTH = 6, 24


def project(found, at, x):
    """q, k, v as [batch, place, head, d]."""
    out = [F.linear(x, found[f"{at}.{part}.weight"], found.get(f"{at}.{part}.bias")) for part in ("q_proj", "k_proj", "v_proj")]
    return [y.unflatten(-1, (-1, WIDTH // HEADS)) for y in out]


def check_projections(scratch, preset, model, what, at, taken, edit=None, settings=()):
    """`taken` makes q, k, v of the layer's fused projection, in the order of project(). `edit` changes config.json."""
    model.save_pretrained(scratch / "in")
    if edit:
        config = json.loads((scratch / "in" / "config.json").read_text())
        edit(config)
        (scratch / "in" / "config.json").write_text(json.dumps(config))
    if not convert(what, scratch / "in", scratch / "x.safetensors", "--rules", preset):
        return
    found, original = rows(scratch / "x.safetensors"), rows(scratch / "in" / "model.safetensors")
    check(not any("query_key_value" in name for name in found), f"{what}: nothing fused is left")
    x = torch.randn(2, 5, WIDTH)
    with torch.no_grad():
        for part, mine, theirs in zip("qkv", project(found, at, x), taken(x)):
            near(mine, theirs, f"{what}: {part}")
    (scratch / "config.json").write_text((scratch / "in" / "config.json").read_text())
    if reverse(what, scratch / "x.safetensors", scratch / "back.safetensors", preset, *settings):
        same(rows(scratch / "back.safetensors"), original, f"{what}, back: bytes")


def neox(folder, scratch):
    config = GPTNeoXConfig(vocab_size=9, hidden_size=WIDTH, num_hidden_layers=2, num_attention_heads=HEADS, intermediate_size=7,
                           max_position_embeddings=16)
    model = randomize(GPTNeoXForCausalLM(config), 12)
    layer = model.gpt_neox.layers[1].attention

    def taken(x):
        """query and key as they reach the rotation; the value from the fused projection, as the module cuts it."""
        seen, rotate = [], modeling_gpt_neox.apply_rotary_pos_emb
        modeling_gpt_neox.apply_rotary_pos_emb = lambda q, k, *rest: (seen.extend((q, k)), rotate(q, k, *rest))[1]
        try:
            places = torch.arange(x.shape[1])[None]
            layer(x, attention_mask=None, position_embeddings=model.gpt_neox.rotary_emb(x, places))
        finally:
            modeling_gpt_neox.apply_rotary_pos_emb = rotate
        value = layer.query_key_value(x).view(*x.shape[:2], HEADS, -1).chunk(3, -1)[2]
        return [y.transpose(1, 2) for y in seen[:2]] + [value]

    check_projections(scratch, "neox-qkv", model, "neox-qkv", "gpt_neox.layers.1.attention", taken)


def bloom(folder, scratch):
    model = randomize(BloomForCausalLM(BloomConfig(vocab_size=9, hidden_size=WIDTH, n_layer=2, n_head=HEADS)), 13)
    layer = model.transformer.h[1].self_attention

    def taken(x):
        return [y.transpose(1, 2) for y in layer._reshape(layer.query_key_value(x))]

    check_projections(scratch, "neox-qkv", model, "neox-qkv, BLOOM", "transformer.h.1.self_attention", taken)


def falcon_model(**options):
    config = FalconConfig(vocab_size=9, hidden_size=WIDTH, num_hidden_layers=2, num_attention_heads=HEADS, bos_token_id=1,
                          eos_token_id=2, **options)
    return randomize(FalconForCausalLM(config), 14)


def falcon(scratch, what, edit=None, settings=(), **options):
    model = falcon_model(**options)
    layer = model.transformer.h[1].self_attention

    def taken(x):
        """New layout: the module repeats each group's key for its queries; one of each is compared."""
        q, k, v = layer._split_heads(layer.query_key_value(x))
        every = max(1, k.shape[2] // layer.num_kv_heads)
        return q, k[:, :, ::every], v[:, :, ::every]

    scratch.mkdir(parents=True, exist_ok=True)
    at = "transformer.h.1.self_attention"
    check_projections(scratch, "falcon-qkv", model, f"falcon-qkv, {what}", at, taken, edit, settings)


def falcon_groups(folder, scratch):
    falcon(scratch / "2", "2 groups of 3", new_decoder_architecture=True, num_kv_heads=2)
    falcon(scratch / "bias", "3 groups of 2, with bias", new_decoder_architecture=True, num_kv_heads=3, bias=True)
    falcon(scratch / "1", "1 group", new_decoder_architecture=True, num_kv_heads=1)


def falcon_one(folder, scratch):
    """multi_query: the configuration states as many keys as heads, nothing, or 1."""
    def old(config):
        del config["num_kv_heads"]
        config["n_head"] = config.pop("num_attention_heads")

    falcon(scratch / "a", "multi_query", settings=("--set", "kv=1"), multi_query=True)
    falcon(scratch / "b", "multi_query with bias", settings=("--set", "kv=1"), multi_query=True, bias=True)
    falcon(scratch / "c", "multi_query, old names in config.json", old, ("--set", "kv=1"), multi_query=True)
    falcon(scratch / "d", "multi_query, 1 in config.json", lambda config: config.update(num_kv_heads=1), multi_query=True)


def falcon_each(folder, scratch):
    def old(config):
        del config["num_kv_heads"]
        config["n_head"] = config.pop("num_attention_heads")

    falcon(scratch / "a", "a key for each query", multi_query=False)
    falcon(scratch / "b", "a key for each query, with bias, old names", old, multi_query=False, bias=True, alibi=True)


def mha(folder, scratch):
    """Queries, keys and values as Linear layers give the output of torch's module; one with widths of its own, too."""
    net = torch.nn.ModuleDict({"a": torch.nn.MultiheadAttention(WIDTH, HEADS, batch_first=True),
                               "b": torch.nn.MultiheadAttention(WIDTH, HEADS, kdim=7, vdim=5, batch_first=True)})
    randomize(net, 15)
    torch.save(net.state_dict(), scratch / "in.pt")
    if not convert("mha-split", scratch / "in.pt", scratch / "x.pt", "--rules", "mha-split"):
        return
    found = rows(scratch / "x.pt")

    def attend(name, x, key, value):
        linear = lambda part, y, bias: F.linear(y, found[f"{name}.{part}_proj.weight"], bias)
        biases = [found[f"{name}.{part}_proj.bias"] for part in "qkv"]
        q, k, v = (linear(part, y, bias).unflatten(-1, (HEADS, -1)).transpose(1, 2)
                   for part, y, bias in zip("qkv", (x, key, value), biases))
        return linear("out", F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2), found[f"{name}.out_proj.bias"])

    x = torch.randn(2, 5, WIDTH)
    with torch.no_grad():
        for name, k_width, v_width in (("a", WIDTH, WIDTH), ("b", 7, 5)):
            key, value = torch.randn(2, 4, k_width), torch.randn(2, 4, v_width)
            near(attend(name, x, key, value), net[name](x, key, value)[0], f"mha-split: {name}")
    alone = {k.removeprefix("a."): v for k, v in net.state_dict().items() if k.startswith("a.")}
    save(alone, scratch / "alone.safetensors")
    convert("mha-split, alone", scratch / "alone.safetensors", scratch / "y.safetensors", "--rules", "mha-split")
    if reverse("mha-split", scratch / "y.safetensors", scratch / "back.safetensors", "mha-split"):
        same(rows(scratch / "back.safetensors"), alone, "mha-split, back: bytes")


CASES = [neox, bloom, falcon_groups, falcon_one, falcon_each, mha]
