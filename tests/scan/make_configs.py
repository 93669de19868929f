#!/usr/bin/env python3
"""Writes those of models/ that need only Python: handwritten configurations, and archives without a certain
record. expect-models.tsv contains the findings of scan in each.
"""
import gzip
import io
import json
import struct
import tarfile
import zipfile
import zlib
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
        "question-line": "a:\n  ?\n    _target_\n  : os.system\n",
        "tagged-key": 'a:\n  ? !!str "_targ\\x65t_"\n  : os.system\n',
        "comment": "a:\n  _target_: # why\n    os.system\n",
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


def write_expressions():
    """Text that torch.export.load evaluates."""
    ordinary = ["Mul(Integer(2), Symbol('s77', positive=True, integer=True))",
                "Add(FloorDiv(Add(Symbol('s0', positive=True, integer=True), Integer(-1)), Integer(2)), Integer(1))"]
    guards = ["L['mode'] == 'mean' and L['x.y']['layer-0'].size()[0] != 1", "L['input'].size()[0]*(L['x'].size()[1] // 3) >= 2", "L['x'].size()[1] != max(1, L['x'].size()[1] // 3)",
              "not (L['x'].size()[0] == 1) and (L['args'][0][0].size()[1] % 64) <= 10", "L['n'] >= 0.5e+3"]
    write_json("expression-ordinary.json", {"as_expr": [{"expr_str": e} for e in ordinary], "guards_code": guards})
    for name, text in {"import": "__import__('os').system('true')", "hex": "1.0.hex()", "alias": "(size:=eval)",
                       "within": "Add(\"open('x','w')\")", "module": "os.system('true')", "call": "(print)('x')",
                       "lambda": "Max(lambda: 1, 2)", "lines": "1\nsize = print", "wide": "\uff45val('1')",
                       "string": "'{}'.format(1)", "percent": "Add('print%c1%c'%(40,41))", "sum": "Add('pri' + 'nt')",
                       "long": "1" + " + 1" * 20000, "item": "L['x'](1)"}.items():
        write_json(f"expression-{name}.json", {"as_expr": {"expr_str": text}})
    write_json("expression-guard.json", {"guards_code": ["L['x'].size()[0] >= 2", "exec('1') or True"]})
    write_json("export-target.json", {"nodes": [{"target": "torch.ops.aten.add.Tensor"}, {"target": "torch.sym_max"},
                                                {"target": "_operator.mul"}, {"target": "torch.frombuffer"}]})
    write_json("export-target-danger.json", {"nodes": [{"target": "torch.serialization.os.system"}]})


def layer(name, **config):
    return {"module": "keras.layers", "class_name": name, "registered_name": None, "config": config}


def write_keras():
    for name in ("StringLookup", "IntegerLookup", "TextVectorization"):
        write_json(f"keras-vocabulary-{name}.json", layer(name, vocabulary="/etc/passwd", max_tokens=None))
    write_json("keras-vocabulary-fine.json", [layer("StringLookup", vocabulary=["a", "b"]),
                                              layer("IntegerLookup", vocabulary=None, vocabulary_dtype="int64")])


def write_others():
    write_json("keras-internal.json", layer("x", a=1) | {"module": "keras.src.utils.os", "class_name": "system"})
    write_json("parent-library.json", {"auto_mapping": {"base_model_class": "M", "parent_library": "mylib.model"}})
    write_json("parent-library-usual.json", {"auto_mapping": {"parent_library": "transformers.models.bert.modeling_bert"}})
    write_json("attention.json", {"_attn_implementation": "owner/kernels", "attn_implementation": "flash_attention_2"})
    (OUT / "keras-lambda.yaml").write_text("class_name: Lambda\nconfig:\n  function: [x, null, null]\n"
                                           "  function_type: lambda\n")
    (OUT / "MLmodel").write_text("flavors:\n  python_function:\n    loader_module: mylib.loader\n    code: code\n")
    (OUT / "mlflow.yaml").write_text("flavors:\n  python_function:\n    loader_module: mlflow.sklearn\n")


def write_templates():
    plain = "{% for m in messages %}{{ m['content'] | selectattr('x') }}{% endfor %}"
    evil = "{{ cycler.__init__.__globals__['os'].popen('true').read() }}"
    (OUT / "template-plain.jinja").write_text(plain)
    (OUT / "template-evil.jinja").write_text(evil)
    (OUT / "template-hidden.jinja").write_text("{{ ''|attr('_' ~ '_class_' ~ '_') }}")
    (OUT / "template-parts.jinja").write_text("{{ ''['__cla' ~ 'ss__'] }}")
    write_json("template-plain.json", {"chat_template": plain})
    write_json("template-evil.json", {"chat_template": evil})
    write_json("template-list.json", {"chat_template": [{"name": "default", "template": plain},
                                                        {"name": "tools", "template": evil}]})


def gguf(entries, version=3, order="<", count=None):
    word = order + ("I" if version == 1 else "Q")

    def text(value):
        return struct.pack(word, len(value)) + value

    def value(kind, what):
        if kind == 8:
            return text(what)
        if kind == 9:
            element, members = what
            return struct.pack(order + "I", element) + struct.pack(word, len(members)) + b"".join(
                value(element, member) for member in members)
        return struct.pack(order + {4: "I", 6: "f", 10: "Q"}.get(kind, "B"), what)

    body = b"".join(text(key) + struct.pack(order + "I", kind) + value(kind, what) for key, kind, what in entries)
    head = struct.pack(order + "I", version) + struct.pack(word, 0)
    return b"GGUF" + head + struct.pack(word, len(entries) if count is None else count) + body


def write_gguf():
    evil = b"{{ ''.__class__.__mro__ }}"
    before = [(b"general.architecture", 8, b"llama"), (b"x", 4, 7), (b"f", 6, 0.5), (b"n", 10, 1),
              (b"tokenizer.ggml.tokens", 9, (8, [b"a", b"b" * 300])), (b"nested", 9, (9, [(4, [1, 2]), (8, [b"z"])]))]
    template = (b"tokenizer.chat_template", 8, evil)
    samples = {"plain": gguf(before + [(b"tokenizer.chat_template", 8, b"{% for m in messages %}{{ m }}{% endfor %}")]),
               "evil": gguf(before + [template]), "version-1": gguf(before + [template], 1),
               "big-endian": gguf(before + [template], 3, ">"),
               "named": gguf(before + [(b"tokenizer.chat_template.tools", 8, evil)]),
               "list": gguf([(b"tokenizer.chat_templates", 9, (8, [b"x", evil]))]),
               "cut": gguf(before + [template])[:-5], "many": gguf(before, count=1 << 40),
               "type": gguf([(b"x", 13, 1)]), "deep": gguf([(b"x", 9, (9, [(9, [(9, [(9, [(9, [(9, [(9, [(9, [
                   (9, [(4, [1])])])])])])])])])]))])}
    for name, data in samples.items():
        (OUT / f"gguf-{name}.gguf").write_bytes(data)


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


def write_polyglots():
    """A zip at the end of another file, which zipfile opens as a zip."""
    write_zip("tail.tmp", ("config.json", json.dumps({"class_name": "__lambda__", "config": {"code": "x"}})))
    tail = (OUT / "tail.tmp").read_bytes()
    (OUT / "tail.tmp").unlink()
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }\n"
    array = b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header + bytes(4)
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as out:
        out.addfile(tarfile.TarInfo("x"))
    heads = {"npy": array, "npy-more": array + b"junk", "tar": tar.getvalue(), "gzip": gzip.compress(b"x", mtime=0),
             "zlib": zlib.compress(b"x")}
    for name, head in heads.items():
        (OUT / f"tail-{name}.keras").write_bytes(head + tail)
    write_zip("last.tmp", ("config.json", "{}"))
    with tarfile.open(OUT / "zip-last.tar", "w") as out:
        out.addfile(tarfile.TarInfo("a"))
        info = tarfile.TarInfo("b.zip")
        info.size = (OUT / "last.tmp").stat().st_size
        out.addfile(info, io.BytesIO((OUT / "last.tmp").read_bytes()))
    (OUT / "last.tmp").unlink()


def main():
    write_targets()
    write_keras()
    write_expressions()
    write_others()
    write_templates()
    write_gguf()
    write_archives()
    write_polyglots()


main()
