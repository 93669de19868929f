"""vit-timm: a model of timm runs in transformers, and comes back."""

from .tools import convert, load, misses_nothing, near, randomize, reverse, rows, same  # first: it mends torchvision

import timm
import torch
from transformers import ViTConfig, ViTForImageClassification, ViTModel


def config(bias=True):
    return ViTConfig(hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=96, image_size=32,
                     num_labels=5, layer_norm_eps=1e-6, qkv_bias=bias)


def make(**options):
    return randomize(timm.create_model("vit_tiny_patch16_224", img_size=32, depth=2, embed_dim=24, num_heads=3, **options), 16)


def classifier(folder, scratch):
    for bias in (True, False):
        what, at = f"vit-timm{'' if bias else ' without bias'}", scratch / str(bias)
        model, x = make(num_classes=5, qkv_bias=bias), torch.randn(2, 3, 32, 32)
        (at / "out").mkdir(parents=True)
        torch.save(model.state_dict(), at / "in.pth")
        if not convert(what, at / "in.pth", at / "out" / "model.safetensors", "--rules", "vit-timm"):
            continue
        config(bias).save_pretrained(at / "out")
        other, info = ViTForImageClassification.from_pretrained(at / "out", output_loading_info=True)
        misses_nothing(info, what)
        with torch.no_grad():
            near(other.eval()(x).logits, model(x), f"{what}: logits are timm's")
        other.save_pretrained(at / "saved")
        for name, source in (("", at / "out"), (" of save_pretrained", at / "saved")):
            if reverse(f"{what}{name}", source, at / "back.pth", "vit-timm"):
                same(rows(at / "back.pth"), model.state_dict(), f"{what}{name}, back: bytes")
                load(make(num_classes=5, qkv_bias=bias), rows(at / "back.pth"), f"{what}{name}, back")


def features(folder, scratch):
    """Without a classifier; ViTModel's names have no prefix."""
    model, x = make(num_classes=0), torch.randn(2, 3, 32, 32)
    torch.save(model.state_dict(), scratch / "in.pth")
    out = f"{scratch}/out/"
    convert("vit-timm, features", scratch / "in.pth", scratch / "x.pth", "--rules", "vit-timm")
    convert("vit-timm, features without prefix", scratch / "x.pth", out, "--rename", r"^vit\.=>", "--to", "safetensors")
    config().save_pretrained(scratch / "out")
    other = ViTModel.from_pretrained(scratch / "out", add_pooling_layer=False).eval()
    with torch.no_grad():
        near(other(x).last_hidden_state, model.forward_features(x), "vit-timm, features: timm's")
    if reverse("vit-timm, features", out, scratch / "back.pth", "vit-timm", "--rename", "^=>vit."):
        same(rows(scratch / "back.pth"), model.state_dict(), "vit-timm, features, back: bytes")


CASES = [classifier, features]
