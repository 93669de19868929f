"""Main part of suite_converters.py, in the environment `rules`: for each distinct converter of transformers' mapping a
small model, converted by transformers' own operations and by heft with the rules of rules/converters.rules; and back.
HEFT is the path of the command."""

import copy
import json
import os
import pathlib
import re
import sys
import traceback
import types

os.environ.setdefault("HF_HUB_OFFLINE", "1")
import torch
from transformers.conversion_mapping import _build_checkpoint_conversion_mapping
from transformers.core_model_loading import WeightConverter, apply_converters, dot_natural_key

from rules.tools import check, convert, reverse, rows, same, save

EXPERTS, HEADS, KV = 12, 4, 2  # 10 experts and more sort otherwise as text than as numbers
# In the mapping, and not to be said in rules: experts 0 … n/2 become one tensor, the others another.
OUT_OF_REACH = {"experts.*.down_proj.weight => text_moe.experts.down_proj, vision_moe.experts.down_proj",
                "experts.*.gate_proj.weight, experts.*.up_proj.weight => text_moe.experts.gate_up_proj, "
                "vision_moe.experts.gate_up_proj"}
CONFIG = {"num_attention_heads": HEADS, "num_key_value_heads": KV, "vision_config": {"num_attention_heads": HEADS},
          "text_config": {"hidden_size": 6, "split_ngram_parts": EXPERTS}}


class Config(types.SimpleNamespace):
    def get_text_config(self):
        return self.text_config


def config():
    parts = {k: types.SimpleNamespace(**v) if isinstance(v, dict) else v for k, v in CONFIG.items()}
    return Config(**parts)


class Model:
    """What operations ask of a model: shapes of its parameters."""

    def __init__(self, shape_of):
        self.shape_of = shape_of

    def get_parameter(self, name):
        return types.SimpleNamespace(shape=torch.Size(self.shape_of(name)))


def operation(op):
    """As the heads of converters.rules write it."""
    kind, state = type(op).__name__, vars(op)
    if kind == "Transpose":
        words = [op.dim0, op.dim1] + ["check_dims"] * op.check_dims
    elif kind == "PermuteForRope":
        words = [op.subconfig_key] * bool(op.subconfig_key) + (op.permute_layer_names or [])
    else:
        words = [value for key, value in state.items() if key != "inverse" and value is not None]
    return f"{kind}({', '.join(map(str, words))})"


def converters():
    """Distinct converters by their text; and how many the mapping's source writes down."""
    found = {}
    for transforms in _build_checkpoint_conversion_mapping().values():
        for item in transforms:
            if isinstance(item, WeightConverter):
                text = f"{', '.join(item.source_patterns)} => {', '.join(item.target_patterns)}"
                found.setdefault(f"{text} : {', '.join(map(operation, item.operations))}", item)
    return found


def sections(path):
    """Rules by their heads."""
    parts = re.split(r"^#: (.*)$", path.read_text(), flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def concrete(pattern, layer):
    """Names that a pattern matches; several if it has a list in it, or no end."""
    text = pattern.replace("\\", "").lstrip("^").lstrip(".")
    names = [text.replace("*", str(i)) for i in range(EXPERTS)] if "*" in text else [text]
    if not re.search(r"(weight|bias|embedding|projs|experts\.\w+_proj|weight_1|weight_scale)$", text):
        names = [f"{name.rstrip('.')}.{leaf}" for name in names for leaf in ("weight", "bias")]
    return [f"model.layers.{layer}.{name}" for name in names]


def shape_of(converter, name):
    """24 rows of 6 divide by all that converters divide by; one dimension for a bias."""
    kinds = [type(op).__name__ for op in converter.operations]
    pattern = converter.source_patterns[0]
    if "moe_statics" in name:
        return 2, 5
    if kinds == ["Transpose"]:
        return (4, 6) if converter.operations[0].dim0 == 0 else (3, 4, 6)
    if kinds[0] == "Interleave":
        return (3, 8, 6) if converter.operations[0].dim == 1 else (8, 6)
    if "conv1d" in pattern:
        return 8, 1, 4
    if kinds == ["Concatenate"] and converter.operations[0].dim == 1:
        return 3, 4, 6
    if "MergeModulelist" in kinds:
        return 4, 6
    return (24,) if name.endswith("bias") else (24, 6)


def inputs(converter, shape=shape_of):
    """Two layers, tensors in the reverse order of their names, and one that no converter touches."""
    tensors = {}
    for layer in (0, 11):
        for pattern in converter.source_patterns:
            for name in concrete(pattern, layer):
                tensors[name] = torch.randn(shape(converter, name)).to(torch.bfloat16 if layer else torch.float32)
    return {**{name: tensors[name] for name in reversed(tensors)}, "model.norm.other": torch.randn(5)}


def transform(converter, tensors, model):
    """As transformers loads a checkpoint: tensors in natural order, collected by target name, converted."""
    collected, out = {}, {}
    for name in sorted(tensors, key=dot_natural_key):
        target, pattern = apply_converters(name, [converter])
        if pattern is None:
            out[name] = tensors[name]
        else:
            collected.setdefault(target, copy.deepcopy(converter)).add_tensor(target, name, pattern, tensors[name])
    for target, one in collected.items():
        for name, value in one.convert(target, model=model, config=config()).items():
            out[name] = value[0] if isinstance(value, list) else value
    return out


def model_for(converter, inner=4):
    """Shapes of the parameters: of Split, heads and kv of 3 rows each; of Transpose with check_dims, a width of 6."""
    def split(name):
        return (3 * (HEADS if "q_proj" in name else KV), 6)

    def checked(name):
        return (3, inner, 6) if "gate_up" in name else (3, 6, inner)
    return Model(split if "Split" in str(converter.operations) else checked)


def compare(folder, what, converter, rules, tensors, inner=4):
    model = model_for(converter, inner)
    (folder / "config.json").write_text(json.dumps(CONFIG))
    (folder / "r.rules").write_text(rules)
    save(tensors, folder / "in.safetensors")
    expected = transform(converter, tensors, model)
    if not convert(what, folder / "in.safetensors", folder / "out.safetensors", "--rules", folder / "r.rules"):
        return
    same(rows(folder / "out.safetensors"), expected, f"{what}: bytes")
    original = transform(converter.reverse_transform(), expected, model)
    if reverse(what, folder / "out.safetensors", folder / "back.safetensors", folder / "r.rules"):
        same(rows(folder / "back.safetensors"), original, f"{what}, back: bytes")
        if "check_dims" not in what:
            same(original, tensors, f"{what}, back: what it was")


def check_converter(folder, text, converter, rules):
    folder.mkdir(parents=True)
    compare(folder, text, converter, rules, inputs(converter))
    if "check_dims" in text:  # both orders, and a square, which stays as it is
        for shape, inner in (((3, 6, 4), 4), ((3, 4, 6), 4), ((3, 6, 6), 6)):
            tensors = inputs(converter, lambda c, name, shape=shape: shape)
            compare(folder, f"{text} {list(shape)}", converter, rules, tensors, inner)


def main(folder):
    found, written = converters(), sections(pathlib.Path(__file__).with_name("rules") / "converters.rules")
    reach = {text: item for text, item in found.items() if text.split(" : ")[0] not in OUT_OF_REACH}
    counts = len(found), len(reach)
    check(counts == (67, 65), "transformers has 67 distinct converters, 65 of them in reach", counts)
    check(set(written) == set(reach), "each converter has its rules", sorted(set(written) ^ set(reach))[:4])
    for number, (text, converter) in enumerate(reach.items()):
        torch.manual_seed(number)
        try:
            check_converter(folder / str(number), text, converter, written.get(text, ""))
        except Exception:
            check(False, text, traceback.format_exc()[-1000:])


main(pathlib.Path(sys.argv[1]))
