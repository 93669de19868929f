"""bert-tf, gpt2-tf and gpt2-linear: TensorFlow's checkpoints of rules_tf_peer.py run in transformers, and come back."""

import json

import numpy as np
import torch
from transformers import (BertConfig, BertForPreTraining, BertForQuestionAnswering, BertForSequenceClassification, GPT2Config,
                          GPT2LMHeadModel)

from .tools import check, convert, heft, load, metadata, misses_nothing, near, randomize, refused, reverse, rows, same, save

BERT = dict(vocab_size=19, hidden_size=12, num_attention_heads=3, num_hidden_layers=2, intermediate_size=20,
            max_position_embeddings=9, hidden_act="gelu", num_labels=5)
GPT2 = dict(vocab_size=19, n_embd=12, n_head=3, n_layer=2, n_positions=9, bos_token_id=0, eos_token_id=0)


def digests(path, *options):
    done = heft("digest", path, *options)
    return sorted(done.stdout.split("\n")) if done.returncode == 0 else done.stderr


def run(model, wanted, what, **extra):
    with torch.no_grad():
        out = model(input_ids=torch.from_numpy(wanted["ids"]), **extra)
    for name in wanted.files:
        if name.endswith("logits"):
            near(out[name], wanted[name], f"{what}: {name} are TensorFlow's")


def check_checkpoint(folder, scratch, name, preset, model, **extra):
    """There, with and without what training adds; run; back, with equal tensors and an equal bundle."""
    if not (folder / "tf-ready").exists():
        return
    original, wanted = folder / name / "model.ckpt", np.load(folder / f"{name}.npz")
    for source in (folder / name, folder / f"{name}-trained"):
        out = scratch / f"{source.name}.pt"
        if convert(source.name, source, out, "--rules", preset) and load(model, rows(out), source.name):
            run(model, wanted, source.name, **extra)
        back = scratch / source.name / "model.ckpt"
        if reverse(source.name, out, back, preset, "--to", "tf"):
            check(digests(back) == digests(original), f"{source.name}, back: digests")
    for suffix in (".index", ".data-00000-of-00001"):
        check((scratch / name / f"model.ckpt{suffix}").read_bytes() == original.with_name("model.ckpt" + suffix).read_bytes(),
              f"{name}, back: {suffix} is TensorFlow's")
    # A file of transformers, with tied names left out, goes back as well.
    saved = scratch / "saved"
    model.save_pretrained(saved)
    if reverse(f"{name}, of save_pretrained", saved, scratch / "again" / "model.ckpt", preset, "--to", "tf"):
        check(digests(scratch / "again" / "model.ckpt") == digests(original), f"{name}, of save_pretrained: digests")


def bert_pretraining(folder, scratch):
    check_checkpoint(folder, scratch, "bert-pretraining", "bert-tf", BertForPreTraining(BertConfig(**BERT)).eval(),
                     token_type_ids=torch.from_numpy(np.load(folder / "bert-pretraining.npz")["segments"]))


def bert_classifier(folder, scratch):
    check_checkpoint(folder, scratch, "bert-classifier", "bert-tf", BertForSequenceClassification(BertConfig(**BERT)).eval(),
                     token_type_ids=torch.from_numpy(np.load(folder / "bert-classifier.npz")["segments"]))


def bert_squad(folder, scratch):
    """The model of transformers has no pooler, which the checkpoint has."""
    model, name = BertForQuestionAnswering(BertConfig(**{**BERT, "num_labels": 2})).eval(), "bert-squad"
    wanted = np.load(folder / f"{name}.npz")
    if convert(name, folder / name, scratch / "x.pt", "--rules", "bert-tf"):
        found = rows(scratch / "x.pt")
        if load(model, {k: v for k, v in found.items() if "pooler" not in k}, name):
            run(model, wanted, name, token_type_ids=torch.from_numpy(wanted["segments"]))
    back = scratch / "back" / "model.ckpt"
    if reverse(name, scratch / "x.pt", back, "bert-tf", "--to", "tf"):
        check(digests(back) == digests(folder / name / "model.ckpt"), f"{name}, back: digests")


def bert_released(folder, scratch):
    """The released archive's files as transformers wants them: bert_config.json is config.json."""
    if not (folder / "tf-ready").exists():
        return
    google = {"attention_probs_dropout_prob": 0.1, "hidden_act": "gelu", "hidden_dropout_prob": 0.1, "hidden_size": 12,
              "initializer_range": 0.02, "intermediate_size": 20, "max_position_embeddings": 9, "num_attention_heads": 3,
              "num_hidden_layers": 2, "type_vocab_size": 2, "vocab_size": 19}
    source, out = folder / "bert-pretraining" / "model.ckpt", scratch / "bert"
    out.mkdir()
    (out / "config.json").write_text(json.dumps(google))
    if convert("released BERT", source, out / "model.safetensors", "--rules", "bert-tf"):
        model, info = BertForPreTraining.from_pretrained(out, output_loading_info=True)
        misses_nothing(info, "released BERT")
        wanted = np.load(folder / "bert-pretraining.npz")
        run(model.eval(), wanted, "released BERT", token_type_ids=torch.from_numpy(wanted["segments"]))


def bert_of_2019(folder, scratch):
    """LayerNorm.gamma and .beta, position_ids, as transformers' files had them."""
    model = randomize(BertForPreTraining(BertConfig(**BERT)), 5)
    model.save_pretrained(scratch / "new")
    new = rows(scratch / "new" / "model.safetensors")
    old = {k.replace("Norm.weight", "Norm.gamma").replace("Norm.bias", "Norm.beta"): v for k, v in new.items()}
    old["bert.embeddings.position_ids"] = torch.arange(9)[None]
    save(old, scratch / "old.safetensors")
    for name, source in (("new", scratch / "new"), ("old", scratch / "old.safetensors")):
        reverse(f"bert, {name} names", source, scratch / name / "model.ckpt", "bert-tf", "--to", "tf")
    check(digests(scratch / "new" / "model.ckpt") == digests(scratch / "old" / "model.ckpt"),
          "bert: old names go back as new ones do")


def gpt2(folder, scratch):
    check_checkpoint(folder, scratch, "gpt2", "gpt2-tf", GPT2LMHeadModel(GPT2Config(**GPT2)).eval())


def gpt2_tie(folder, scratch):
    """The head is recorded in safetensors, not stored; a copy that training has changed is refused."""
    model = randomize(GPT2LMHeadModel(GPT2Config(**GPT2)), 6)
    tensors = dict(model.state_dict())
    save(tensors, scratch / "both.safetensors")
    reverse("gpt2, equal head", scratch / "both.safetensors", scratch / "a" / "model.ckpt", "gpt2-tf", "--to", "tf")
    convert("gpt2", scratch / "a", scratch / "there.safetensors", "--rules", "gpt2-tf")
    recorded = metadata(scratch / "there.safetensors")
    check(recorded.get("lm_head.weight") == "transformer.wte.weight", "gpt2: the head is recorded as a tie", recorded)
    tensors["lm_head.weight"] = tensors["lm_head.weight"] + 1
    save(tensors, scratch / "other.safetensors")
    refused("gpt2: a head that differs", "lm_head.weight", scratch / "other.safetensors", scratch / "b.safetensors", "gpt2-tf",
            "--reverse")


def gpt2_linear(folder, scratch):
    """Each Linear gives what the Conv1D gives, in thirds for c_attn; also without a prefix."""
    model = randomize(GPT2LMHeadModel(GPT2Config(**GPT2, add_cross_attention=True)), 7)
    model.save_pretrained(scratch / "in")
    original = rows(scratch / "in" / "model.safetensors")
    convert("gpt2-linear", scratch / "in", scratch / "out.safetensors", "--rules", "gpt2-linear")
    found = rows(scratch / "out.safetensors")
    apart = {"attn.c_attn": ("attn.q_proj", "attn.k_proj", "attn.v_proj"), "crossattention.q_attn": ("crossattention.q_proj",),
             "crossattention.c_attn": ("crossattention.k_proj", "crossattention.v_proj")}
    for name, module in model.named_modules():
        if type(module).__name__ == "Conv1D":
            head, leaf = name.rsplit(".", 2)[0], ".".join(name.rsplit(".", 2)[1:])
            y = torch.randn(4, module.weight.shape[0])
            parts = [f"{head}.{part}" for part in apart.get(leaf, (leaf,))]
            out = [torch.nn.functional.linear(y, found[f"{part}.weight"], found[f"{part}.bias"]) for part in parts]
            near(torch.cat(out, -1), module(y).detach(), f"gpt2-linear: {name}")
    reverse("gpt2-linear", scratch / "out.safetensors", scratch / "back.safetensors", "gpt2-linear")
    same(rows(scratch / "back.safetensors"), original, "gpt2-linear, back: bytes")
    bare = {k.removeprefix("transformer."): v for k, v in original.items()}
    save(bare, scratch / "bare.safetensors")
    bare_out, bare_found = scratch / "bare-out.safetensors", {k.removeprefix("transformer."): v for k, v in found.items()}
    if convert("gpt2-linear, bare names", scratch / "bare.safetensors", bare_out, "--rules", "gpt2-linear"):
        same(rows(bare_out), bare_found, "gpt2-linear, bare names: bytes")


def chained(folder, scratch):
    """TensorFlow to Linear layers in one conversion, two presets one behind the other; and back."""
    if not (folder / "tf-ready").exists():
        return
    convert("gpt2-tf, gpt2-linear", folder / "gpt2", scratch / "x.safetensors", "--rules", "gpt2-tf", "--rules", "gpt2-linear")
    convert("in two steps, 1", folder / "gpt2", scratch / "1.safetensors", "--rules", "gpt2-tf")
    convert("in two steps, 2", scratch / "1.safetensors", scratch / "2.safetensors", "--rules", "gpt2-linear")
    same(rows(scratch / "x.safetensors"), rows(scratch / "2.safetensors"), "gpt2-tf, gpt2-linear: as in two steps")
    convert("gpt2-tf, gpt2-linear, back", scratch / "x.safetensors", scratch / "model.ckpt", "--to", "tf",
            "--rules", "gpt2-tf", "--rules", "gpt2-linear", "--reverse")
    check(digests(scratch / "model.ckpt") == digests(folder / "gpt2" / "model.ckpt"), "gpt2-tf, gpt2-linear, back: digests")


CASES = [bert_pretraining, bert_classifier, bert_squad, bert_released, bert_of_2019, gpt2, gpt2_tie, gpt2_linear, chained]
