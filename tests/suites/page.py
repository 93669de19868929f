"""The page of `info --html`: its data, and what headless Chromium shows of it, also of hostile names.

Skips the browser's part where Chromium is not installed; `scripts/bootstrap dev` installs it.
"""
import html
import json
import re
import shutil
import struct
import subprocess

from .common import Fail, GOLDEN, Skip, run

PATIENCE = 120  # seconds for a start of Chromium on a busy machine
HOSTILE = ['</script><script>document.title="pwned"</script>', '<img src=x onerror="document.title=1">',
           "<!--<script>", "-->", 'quote"\\back', "a.b\u202egnp.exe", "\u2028line", "\x01bell", "x" * 5000, "." * 3000,
           "名前.重み", "", "a/b/../c", "__proto__.x", "constructor.prototype", "toString", "&lt;b&gt;"]
# Appended to a copy of the page: uses it as a reader would, and leaves what it saw in an attribute.
READER = """<script>
const rows = () => [...document.querySelectorAll('#tensors tbody tr')].filter(row => row.children.length);
const head = name => [...document.querySelectorAll('#tensors th button')].find(button => button.textContent === name);
const seen = {title: document.title, boxes: document.querySelectorAll('#tree .box').length, first: rows()[0].textContent,
              scripts: document.scripts.length, images: document.images.length,
              ranges: document.querySelectorAll('#ranges tbody tr').length, rest: document.getElementById('rest').textContent};
head('bytes').click();
seen.largest = rows()[0].children[0].textContent;
const filter = document.getElementById('filter');
filter.value = FILTER;
filter.dispatchEvent(new Event('input'));
seen.shown = document.getElementById('shown').textContent;
const zoom = document.querySelector('#tree button.box');
if (zoom) zoom.click();
seen.crumbs = document.getElementById('crumbs').textContent;
document.documentElement.dataset.seen = JSON.stringify(seen);
</script>"""


def jobs(ctx):
    yield "data of the page", lambda: check_data(ctx)
    yield "options", lambda: check_options(ctx)
    yield "300 tensors", lambda: check_llama(ctx)
    yield "10 000 tensors", lambda: check_many(ctx)
    yield "hostile names", lambda: check_hostile(ctx)
    yield "every golden directory", lambda: check_golden(ctx)


def write_safetensors(path, tensors, metadata=None):
    header, offset = {}, 0
    if metadata:
        header["__metadata__"] = metadata
    for name, dtype, shape, size in tensors:
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header, separators=(",", ":")).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(8 + len(text) + offset)
    return path


def make_page(ctx, path, *options):
    page = path.with_suffix(".html")
    done = run(ctx, [ctx.heft, "info", path, "--html", page, *options])
    if done.returncode or done.stdout or done.stderr:
        raise Fail(f"heft info --html: exit {done.returncode}, {done.stdout!r} {done.stderr!r}")
    return page


def data_of(page):
    text = page.read_text()
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)[1]
    if "<" in data:
        raise Fail("the data contains a <, which may end its script element")
    return json.loads(data)


def check_data(ctx):
    path = write_safetensors(ctx.folder("page") / "a.safetensors",
                             [(name, "F32", [2], 8) for name in HOSTILE], {"</script>": "<b>&amp;"})
    data = data_of(make_page(ctx, path))
    for part, verb in (("info", "info"), ("tensors", "ls"), ("segments", "explain")):
        document = json.loads(run(ctx, [ctx.heft, verb, "--json", path]).stdout)
        if data[part] != (document if part == "info" else document[part]):
            raise Fail(f"{part} differs from heft {verb} --json")
    if [tensor["name"] for tensor in data["tensors"]] != HOSTILE:
        raise Fail("names differ")


def check_options(ctx):
    path = write_safetensors(ctx.folder("page") / "a.safetensors", [("w", "F32", [2], 8), ("v", "F32", [1], 4)])
    page = make_page(ctx, path)
    before = page.read_bytes()
    if run(ctx, [ctx.heft, "info", path, "--html", page]).returncode != 2 or page.read_bytes() != before:
        raise Fail("an existing page was replaced without -f")
    make_page(ctx, path, "-f", "-g", "w")
    if [tensor["name"] for tensor in data_of(page)["tensors"]] != ["w"]:
        raise Fail("-g does not select the tensors of the page")
    for wrong in (["--html", page, "--json"], ["--html", page, "--all", "-f"], ["--html", "-"], ["-f"], ["--no-sync"]):
        if run(ctx, [ctx.heft, "info", path, *wrong]).returncode != 2:
            raise Fail(f"accepted: {wrong}")
    if list(path.parent.iterdir()) not in ([path, page], [page, path]):
        raise Fail(f"files were left: {list(path.parent.iterdir())}")


# ---- in the browser -------------------------------------------------------------------------------

def look(ctx, page, word):
    """What the reader saw."""
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if not browser:
        raise Skip("Chromium is not installed; scripts/bootstrap dev installs it")
    copy = page.with_name("copy-" + page.name)
    copy.write_text(page.read_text().replace("</body>", READER.replace("FILTER", json.dumps(word)) + "</body>"))
    try:
        done = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1280,1000",
                               "--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={ctx.folder('browser')}",
                               "--virtual-time-budget=10000", "--dump-dom", copy.as_uri()],
                              capture_output=True, text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        raise Fail(f"Chromium took more than {PATIENCE} s") from None
    seen = re.search(r'data-seen="([^"]*)"', done.stdout)
    if not seen:
        raise Fail(f"the page failed; Chromium said:\n{done.stderr[-2000:]}")
    return json.loads(html.unescape(seen[1]))


def expect(seen, **wanted):
    for key, value in wanted.items():
        if seen[key] != value:
            raise Fail(f"{key} is {seen[key]!r}, must be {value!r}")


def check_llama(ctx):
    layers = [(f"model.layers.{i}.{name}.weight", "BF16", shape, shape[0] * shape[1] * 2) for i in range(33)
              for name, shape in (("self_attn.q_proj", [64, 64]), ("self_attn.k_proj", [16, 64]),
                                  ("self_attn.v_proj", [16, 64]), ("self_attn.o_proj", [64, 64]),
                                  ("mlp.gate_proj", [224, 64]), ("mlp.up_proj", [224, 64]),
                                  ("mlp.down_proj", [64, 224]), ("norm1", [1, 64]), ("norm2", [1, 64]))]
    tensors = [("model.embed_tokens.weight", "BF16", [2000, 64], 256000), *layers,
               ("model.norm.weight", "F32", [64], 256), ("lm_head.weight", "BF16", [2000, 64], 256000)]
    page = make_page(ctx, write_safetensors(ctx.folder("page") / "llama.safetensors", tensors))
    seen = look(ctx, page, "mlp")
    expect(seen, title="heft: llama.safetensors", largest="model.embed_tokens.weight", images=0,
           shown="99 of 300 tensors")
    if seen["boxes"] < 100 or "model" not in seen["crumbs"]:
        raise Fail(f"{seen['boxes']} boxes, {seen['crumbs']!r}")


def check_many(ctx):
    tensors = [(f"layers.{i // 100:03}.experts.{i % 100:02}.weight", "BF16", [8, 4], 64) for i in range(10_000)]
    page = make_page(ctx, write_safetensors(ctx.folder("page") / "many.safetensors", tensors))
    seen = look(ctx, page, "layers.007.")
    expect(seen, title="heft: many.safetensors", shown="100 of 10\u2009000 tensors")
    if seen["ranges"] > 200 or seen["boxes"] < 100:
        raise Fail(f"{seen['ranges']} rows in the document, {seen['boxes']} boxes")


def check_hostile(ctx):
    tensors = [(name, "F32", [2], 8) for name in HOSTILE]
    path = write_safetensors(ctx.folder("page") / "<b>&.safetensors", tensors, {"</script>": "<b>&amp;"})
    seen = look(ctx, make_page(ctx, path), "\u202e")
    expect(seen, title="heft: <b>&.safetensors", images=0, scripts=3, shown=f"1 of {len(HOSTILE)} tensors")
    if not seen["first"].startswith(HOSTILE[0]) or "<b>&amp;" not in seen["rest"]:
        raise Fail(f"first row {seen['first']!r}, rest {seen['rest']!r}")


def check_golden(ctx):
    """Pages of all formats contain the data of their files."""
    for folder in sorted(GOLDEN.iterdir()):
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            if path.suffix not in (".pt", ".safetensors", ".npz", ".npy", ".ptd", ".index"):
                continue
            page = ctx.folder("page") / "page.html"
            done = run(ctx, [ctx.heft, "info", path, "--html", page, "-q"])
            listed = run(ctx, [ctx.heft, "info", "--json", path, "-q"])
            if done.returncode != listed.returncode:
                raise Fail(f"{path}: exit {done.returncode}, without --html {listed.returncode}: {done.stderr}")
            if done.returncode == 0 and data_of(page)["info"] != json.loads(listed.stdout):
                raise Fail(f"{path}: data differs from heft info --json")
