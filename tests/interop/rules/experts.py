"""mixtral-experts and moe-experts: single experts in transformers' files, stacked ones in its modules. Eleven experts:
as text, 10 comes before 2."""

import torch
from transformers import (DeepseekV3Config, DeepseekV3ForCausalLM, JambaConfig, JambaForCausalLM, MixtralConfig,
                          MixtralForCausalLM, OlmoeConfig, OlmoeForCausalLM, Qwen2MoeConfig, Qwen2MoeForCausalLM,
                          Qwen3MoeConfig, Qwen3MoeForCausalLM)

from .tools import check, convert, randomize, refused, reverse, rows, same, save

SIZES = dict(vocab_size=9, hidden_size=8, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=2,
             max_position_embeddings=16, pad_token_id=0, bos_token_id=1, eos_token_id=2)


def model_of(kind, config, **sizes):
    return randomize(kind(config(**SIZES, **sizes)), 11)


def check_model(scratch, preset, model, what):
    """Files of save_pretrained have single experts; the state_dict has what from_pretrained makes of them."""
    model.save_pretrained(scratch / "in")
    loaded, info = type(model).from_pretrained(scratch / "in", output_loading_info=True)
    check(not info["missing_keys"] and not info["unexpected_keys"], f"{what}: transformers loads its own file", info)
    single, stacked = rows(scratch / "in" / "model.safetensors"), {k: v for k, v in loaded.state_dict().items()}
    check(any(".experts.10." in name for name in single), f"{what}: the file has single experts", sorted(single)[:9])
    if not convert(what, scratch / "in", scratch / "x.safetensors", "--rules", preset):
        return
    found = rows(scratch / "x.safetensors")
    same(found, {name: stacked[name] for name in stacked if name in found or name != "lm_head.weight" or name in single},
         f"{what}: bytes of from_pretrained")
    if reverse(what, scratch / "x.safetensors", scratch / "back.safetensors", preset):
        same(rows(scratch / "back.safetensors"), single, f"{what}, back: bytes of save_pretrained")


def mixtral(folder, scratch):
    model = model_of(MixtralForCausalLM, MixtralConfig, intermediate_size=6, num_local_experts=11)
    check_model(scratch, "mixtral-experts", model, "mixtral")


def qwen2(folder, scratch):
    model = model_of(Qwen2MoeForCausalLM, Qwen2MoeConfig, intermediate_size=6, moe_intermediate_size=5,
                     shared_expert_intermediate_size=7, num_experts=11)
    check_model(scratch, "moe-experts", model, "qwen2_moe")


def qwen3(folder, scratch):
    model = model_of(Qwen3MoeForCausalLM, Qwen3MoeConfig, intermediate_size=6, moe_intermediate_size=5, num_experts=11, head_dim=4)
    check_model(scratch, "moe-experts", model, "qwen3_moe")


def olmoe(folder, scratch):
    check_model(scratch, "moe-experts", model_of(OlmoeForCausalLM, OlmoeConfig, intermediate_size=6, num_experts=11), "olmoe")


def deepseek(folder, scratch):
    """The first layer is dense: gate_proj, up_proj and down_proj without a number pass."""
    model = model_of(DeepseekV3ForCausalLM, DeepseekV3Config, intermediate_size=6, moe_intermediate_size=5, n_routed_experts=12,
                     n_group=2, topk_group=1, num_experts_per_tok=2, first_k_dense_replace=1, q_lora_rank=4, kv_lora_rank=4,
                     qk_rope_head_dim=2, v_head_dim=4, qk_nope_head_dim=2)
    check_model(scratch, "moe-experts", model, "deepseek_v3")


def jamba(folder, scratch):
    """feed_forward instead of mlp."""
    model = model_of(JambaForCausalLM, JambaConfig, intermediate_size=6, num_experts=11, expert_layer_period=1,
                     expert_layer_offset=0, attn_layer_period=2, attn_layer_offset=0, mamba_d_state=2, mamba_d_conv=2,
                     mamba_dt_rank=2, use_mamba_kernels=False)
    check_model(scratch, "moe-experts", model, "jamba")


def faults(folder, scratch):
    """A number that is missing, a part that is missing, other shapes: refused, nothing written."""
    single = {f"m.mlp.experts.{i}.{part}_proj.weight": torch.full((2, 3) if part != "down" else (3, 2), float(i))
              for i in range(11) for part in ("gate", "up", "down")}

    def refuse(what, tensors, word):
        save(tensors, scratch / "bad.safetensors")
        refused(f"moe-experts: {what}", word, scratch / "bad.safetensors", scratch / "out.safetensors", "moe-experts")

    refuse("a gap", {k: v for k, v in single.items() if ".experts.4." not in k}, "experts.")
    refuse("an expert without up_proj", {k: v for k, v in single.items() if k != "m.mlp.experts.7.up_proj.weight"}, "up_proj")
    refuse("another shape", {**single, "m.mlp.experts.3.up_proj.weight": torch.zeros(3, 3)}, "m.mlp.experts.")
    refuse("another dtype", {**single, "m.mlp.experts.3.down_proj.weight": torch.zeros(3, 2).half()}, "m.mlp.experts.")


CASES = [mixtral, qwen2, qwen3, olmoe, deepseek, jamba, faults]
