"""llama-meta and phi3-llama. Meta's network is written here as its reference program has it: complex rotary numbers on
pairs of neighbours, and weights cut for ranks of model-parallel training."""

import json

import torch
import torch.nn.functional as F
from transformers import LlamaConfig, LlamaForCausalLM, Phi3Config, Phi3ForCausalLM
from transformers.core_model_loading import PermuteForRope

from .tools import convert, load, misses_nothing, near, randomize, refused, reverse, rows, same

WORDS, WIDTH, LAYERS, INNER = 48, 32, 2, 40
BY_COLUMNS = ("wo", "w2")


def meta_weights(heads, kv, seed, dtype=torch.float32):
    g, d = torch.Generator().manual_seed(seed), WIDTH // heads
    random = lambda *shape: torch.empty(shape).normal_(0, 0.3, generator=g).to(dtype)
    out = {"tok_embeddings.weight": random(WORDS, WIDTH), "norm.weight": 1 + random(WIDTH),
           "output.weight": random(WORDS, WIDTH)}
    for layer in range(LAYERS):
        at = f"layers.{layer}."
        for name, n in (("wq", heads * d), ("wk", kv * d), ("wv", kv * d), ("wo", WIDTH)):
            out[f"{at}attention.{name}.weight"] = random(n, WIDTH)
        for name, shape in (("w1", (INNER, WIDTH)), ("w2", (WIDTH, INNER)), ("w3", (INNER, WIDTH))):
            out[f"{at}feed_forward.{name}.weight"] = random(*shape)
        out |= {f"{at}{norm}.weight": 1 + random(WIDTH) for norm in ("attention_norm", "ffn_norm")}
    return out


def rms(x, weight):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * weight


def rotate(x, turns):
    """Pairs (0, 1), (2, 3) … as complex numbers."""
    return torch.view_as_real(torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2)) * turns[None, :, None]).flatten(-2)


def meta_forward(w, ids, heads, kv):
    d, n = WIDTH // heads, ids.shape[1]
    angles = torch.outer(torch.arange(n).float(), 10000.0 ** (-torch.arange(0, d, 2).float() / d))
    turns, x = torch.polar(torch.ones_like(angles), angles), w["tok_embeddings.weight"][ids]
    for layer in range(LAYERS):
        at = lambda name: w[f"layers.{layer}.{name}.weight"]
        y = rms(x, at("attention_norm"))
        q, k, v = (F.linear(y, at(f"attention.{name}")).reshape(*ids.shape, -1, d) for name in ("wq", "wk", "wv"))
        q, k = rotate(q, turns).transpose(1, 2), rotate(k, turns).transpose(1, 2)
        k, v = (t.repeat_interleave(heads // kv, 1) for t in (k, v.transpose(1, 2)))
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(*x.shape)
        x = x + F.linear(out, at("attention.wo"))
        y = rms(x, at("ffn_norm"))
        x = x + F.linear(F.silu(F.linear(y, at("feed_forward.w1"))) * F.linear(y, at("feed_forward.w3")), at("feed_forward.w2"))
    return F.linear(rms(x, w["norm.weight"]), w["output.weight"])


def write_shards(weights, folder, n, rows_of_embeddings, params):
    """consolidated.NN.pth as ranks of model-parallel training have them; and params.json."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "params.json").write_text(json.dumps(params))
    for rank in range(n):
        part = {"rope.freqs": torch.ones(4)}
        for name, value in weights.items():
            kind = name.split(".")[-2]
            if "norm" in kind:
                part[name] = value.clone()
            else:
                by_columns = kind in BY_COLUMNS or (kind == "tok_embeddings" and not rows_of_embeddings)
                part[name] = value.chunk(n, 1 if by_columns else 0)[rank].clone()
        torch.save(part, folder / f"consolidated.{rank:02}.pth")


def transformers_weights(weights, heads, kv):
    """The names of transformers, rows reordered by its own operation."""
    out = {"model.embed_tokens.weight": weights["tok_embeddings.weight"], "model.norm.weight": weights["norm.weight"],
           "lm_head.weight": weights["output.weight"]}
    names = {"wq": "self_attn.q_proj", "wk": "self_attn.k_proj", "wv": "self_attn.v_proj", "wo": "self_attn.o_proj",
             "w1": "mlp.gate_proj", "w2": "mlp.down_proj", "w3": "mlp.up_proj", "attention_norm": "input_layernorm",
             "ffn_norm": "post_attention_layernorm"}
    for name, value in weights.items():
        if name.startswith("layers."):
            layer, kind = name.split(".")[1], name.split(".")[-2]
            if kind in ("wq", "wk"):
                config = type("Config", (), {"num_attention_heads": heads if kind == "wq" else kv})
                value = PermuteForRope()._permute_for_rope(value, config)
            out[f"model.layers.{layer}.{names[kind]}.weight"] = value
    return out


def llama_config(heads, kv):
    return LlamaConfig(vocab_size=WORDS, hidden_size=WIDTH, intermediate_size=INNER, num_hidden_layers=LAYERS,
                       num_attention_heads=heads, num_key_value_heads=kv, rms_norm_eps=1e-5, rope_theta=10000.0,
                       max_position_embeddings=64, tie_word_embeddings=False)


def llama_meta(folder, scratch):
    for n, heads, kv, by_rows in ((1, 4, 4, True), (1, 4, 2, True), (2, 4, 2, False), (2, 4, 2, True), (2, 4, 4, False),
                                  (8, 16, 8, False), (8, 16, 8, True), (8, 8, 8, True)):
        what = f"llama-meta, {n} files, {heads} heads, {kv} kv, embeddings by {'rows' if by_rows else 'columns'}"
        at, weights = scratch / what.replace(" ", "-").replace(",", ""), meta_weights(heads, kv, n + heads + kv)
        params = {"dim": WIDTH, "n_layers": LAYERS, "n_heads": heads, "norm_eps": 1e-5, "vocab_size": -1}
        write_shards(weights, at / "in", n, by_rows, params | ({} if kv == heads else {"n_kv_heads": kv}))
        if not convert(what, at / "in", at / "x.safetensors", "--rules", "llama-meta"):
            continue
        found, ids = rows(at / "x.safetensors"), torch.randint(0, WORDS, (2, 11))
        same(found, transformers_weights(weights, heads, kv), f"{what}: bytes as by transformers' PermuteForRope")
        model = LlamaForCausalLM(llama_config(heads, kv)).eval()
        if load(model, found, what):
            with torch.no_grad():
                near(model(ids).logits, meta_forward(weights, ids, heads, kv), f"{what}: logits are Meta's")
        (at / "back").mkdir()
        (at / "params.json").write_text((at / "in" / "params.json").read_text())
        one = at / "back" / "consolidated.00.pth"
        if reverse(what, at / "x.safetensors", one, "llama-meta"):
            same(rows(one), weights, f"{what}, back to one file: bytes")


def llama_bf16(folder, scratch):
    """As released: BF16, from_pretrained on a directory with shards of the hub."""
    weights = meta_weights(4, 2, 3, torch.bfloat16)
    write_shards(weights, scratch / "in", 2, False, {"dim": WIDTH, "n_heads": 4, "n_kv_heads": 2})
    what = "llama-meta, BF16 in shards"
    if convert(what, scratch / "in", f"{scratch}/out/", "--rules", "llama-meta", "--max-shard-size", "9000"):
        llama_config(4, 2).save_pretrained(scratch / "out")
        model, info = LlamaForCausalLM.from_pretrained(scratch / "out", output_loading_info=True, dtype=torch.bfloat16)
        misses_nothing(info, what)
        same(dict(model.state_dict()), transformers_weights(weights, 4, 2), f"{what}: bytes")


def llama_faults(folder, scratch):
    """A norm that differs, a tensor or a file that is missing, heads that do not fit: refused, nothing written."""
    weights, params = meta_weights(4, 2, 4), {"dim": WIDTH, "n_heads": 4, "n_kv_heads": 2}

    def refuse(name, word, spoil, *options, by_rows=False):
        write_shards(weights, scratch / name, 2, by_rows, params)
        second = scratch / name / "consolidated.01.pth"
        part = torch.load(second)
        spoil(part)
        torch.save(part, second)
        if not part:
            second.unlink()
        refused(f"llama-meta: {name}", word, scratch / name, scratch / f"{name}.safetensors", "llama-meta", *options)

    refuse("norm", "layers.1.ffn_norm.weight", lambda part: part["layers.1.ffn_norm.weight"].add_(1))
    refuse("heads", "layers.0.attention.w", lambda part: None, "--set", "heads=5", "--set", "head_dim=8")
    for name in ("layers.0.attention.wq", "layers.1.attention.wo", "layers.1.feed_forward.w1", "layers.0.feed_forward.w2",
                 "output", "tok_embeddings"):
        refuse(f"without-{name}", name.rpartition(".")[0], lambda part, name=name: part.pop(f"{name}.weight"))
    refuse("without-file", "", lambda part: part.clear())
    refuse("without-file-by-rows", "", lambda part: part.clear(), by_rows=True)


def phi3(folder, scratch):
    for heads, kv in ((4, 2), (4, 4)):
        sizes = dict(vocab_size=WORDS, hidden_size=WIDTH, intermediate_size=INNER, num_hidden_layers=LAYERS,
                     num_attention_heads=heads, num_key_value_heads=kv, rms_norm_eps=1e-5, max_position_embeddings=64,
                     pad_token_id=0, bos_token_id=1, eos_token_id=2, tie_word_embeddings=False)
        at, what = scratch / f"{heads}-{kv}", f"phi3-llama, {heads} heads, {kv} kv"
        phi, llama = randomize(Phi3ForCausalLM(Phi3Config(**sizes)), 8), LlamaForCausalLM(LlamaConfig(**sizes)).eval()
        phi.save_pretrained(at / "in")
        convert(what, at / "in", at / "x.safetensors", "--rules", "phi3-llama")
        ids = torch.randint(0, WORDS, (2, 9))
        if load(llama, rows(at / "x.safetensors"), what):
            with torch.no_grad():
                near(llama(ids).logits, phi(ids).logits, f"{what}: logits are Phi-3's")
        llama.save_pretrained(at / "llama")
        for name, source in (("", at / "x.safetensors"), (" of save_pretrained", at / "llama")):
            (at / "config.json").write_text((at / "in" / "config.json").read_text())
            if reverse(f"{what}{name}", source, at / "back.safetensors", "phi3-llama"):
                same(rows(at / "back.safetensors"), rows(at / "in" / "model.safetensors"), f"{what}{name}, back: bytes")


CASES = [llama_meta, llama_bf16, llama_faults, phi3]
