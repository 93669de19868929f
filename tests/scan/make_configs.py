#!/usr/bin/env python3
"""Writes those of models/ that need nothing but Python: configurations by hand, and archives that lack a
record. expect-models.tsv says what scan finds in each.
"""
import json
import zipfile
from pathlib import Path

OUT = Path(__file__).parent / "models"


def write_json(name, value):
    (OUT / name).write_text(json.dumps(value), encoding="utf-8")


def write_zip(name, *records):
    with zipfile.ZipFile(OUT / name, "w") as out:
        for record, data in records:
            out.writestr(zipfile.ZipInfo(record, (1980, 1, 1, 0, 0, 0)), data)


def write_targets():
    texts = {
        "plain": "model:\n  _target_: os.system\n  command: 'true'\n",
        "quoted": "a: {'_target_' : \"subprocess.Popen\", b: 1}\n",
        "escaped": 'a:\n  "_targ\\x65t_": os.system\n',
        "broken-line": 'a:\n  "_tar\\\n     get_": os.system\n',
        "next-line": "a:\n  _target_:\n    os.system\n",
        "anchored": "a:\n  _target_: &x !!str os.system\n",
        "through": "a:\n  _target_: mylib.utils.os.system\n",
        "alias": "x: &x os.system\na:\n  _target_: *x\n",
        "alias-key": "x: &x _target_\na:\n  *x : os.system\n",
        "question": "a:\n  ? _target_\n  : os.system\n",
        "value-escaped": 'a:\n  _target_: "os.s\\x79stem"\n',
        "interpolated": "a:\n  _target_: ${x}\n",
        "other-keys": "model:\n  target: os.system\n  params: {command: 'true'}\n",
        "lightning": "model:\n  class_path: subprocess.run\n",
        "framework": "a:\n  _target_: torch.optim.Adam\nb:\n  _target_: transformers.AutoModel.from_pretrained\n"
                     "c:\n  _target_: project.eval.code.Metric\n",
        "eval": "a: ${eval:'1 + 1'}\n",
        "values": "a: !!python/tuple [1, 2]\nb: !!python/complex 1j\nc: !!python/unicode x\n",
        "tuple-and-more": "a: !!python/tuple [1, 2]\nb: !!python/object/apply:os.system [true]\n",
        "other-targets": "# _target_ is said elsewhere\nmodel:\n  target: ldm.models.Diffusion\nmy_target_: 1\nb: '_target_'\n",
    }
    for name, text in texts.items():
        (OUT / f"target-{name}.yaml").write_text(text)
    write_json("target-other-keys.json", {"model": {"target": "os.system", "params": {"command": "true"}}})
    write_json("target-framework.json", {"_target_": "torch.optim.Adam", "lr": 0.1})
    write_json("target-through.json", {"_target_": "torch.nn.os.system", "command": "true"})


def layer(name, **config):
    return {"module": "keras.layers", "class_name": name, "registered_name": None, "config": config}


def write_keras():
    for name in ("StringLookup", "IntegerLookup", "TextVectorization"):
        write_json(f"keras-vocabulary-{name}.json", layer(name, vocabulary="/etc/passwd", max_tokens=None))
    write_json("keras-vocabulary-fine.json", [layer("StringLookup", vocabulary=["a", "b"]),
                                              layer("IntegerLookup", vocabulary=None, vocabulary_dtype="int64")])


def write_templates():
    plain = "{% for m in messages %}{{ m['content'] | selectattr('x') }}{% endfor %}"
    evil = "{{ cycler.__init__.__globals__['os'].popen('true').read() }}"
    (OUT / "template-plain.jinja").write_text(plain)
    (OUT / "template-evil.jinja").write_text(evil)
    (OUT / "template-hidden.jinja").write_text("{{ ''|attr('_' ~ '_class_' ~ '_') }}")
    write_json("template-plain.json", {"chat_template": plain})
    write_json("template-evil.json", {"chat_template": evil})
    write_json("template-list.json", {"chat_template": [{"name": "default", "template": plain},
                                                        {"name": "tools", "template": evil}]})


def write_archives():
    program = ("a/models/model.json", "{}")
    version = ("a/archive_version", "0")
    rest = [("a/data/weights/model_weights_config.json", '{"config": {}}'), ("a/archive_format", "pt2"),
            ("a/.data/version", "6\n")]
    write_zip("export-no-program.pt2", version, *rest)
    write_zip("export-no-version.pt2", program, *rest)
    write_zip("export-whole.pt2", program, version, *rest)
    write_zip("no-config.keras", ("metadata.json", "{}"), ("model.weights.h5", b""))
    write_zip("no-config-no-weights.keras", ("metadata.json", "{}"))
    write_zip("no-config-npz.zip", ("model.weights.npz", b""))


def main():
    write_targets()
    write_keras()
    write_templates()
    write_archives()


main()
