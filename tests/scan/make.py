#!/usr/bin/env python3
"""Writes tests/scan/cases, the rows of expect.tsv, and names.tsv: samples that other scanners detect or miss.

    python tests/scan/make.py           needs torch 2.13 and numpy; rewrites every file

No sample does harm if it is loaded: the programs that they call are `true`, and most calls lack required
arguments. The tests never load any. The cases follow descriptions in public tests and advisories of picklescan,
fickling and modelscan, and pytorch's own tests of weights_only; the bytes are generated here.

Columns: FILE, exit status, the worst danger, WHAT and NAME of one finding (`-`: none, or only allowed names), its
position in the pickle (`*`: any).
"""
import bz2
import collections
import gzip
import io
import lzma
import pickle
import struct
import tarfile
import zipfile
import zlib
from pathlib import Path

import numpy
import torch

HERE = Path(__file__).resolve().parent
CASES = HERE / "cases"
ROWS = []


def case(name, data, status, worst, what="-", finding="-", position="*"):
    (CASES / name).write_bytes(data)
    ROWS.append((name, str(status), worst, what, finding, str(position)))


# ---- pickles by hand ------------------------------------------------------------------------------

def u(text):
    return b"X" + struct.pack("<I", len(text.encode())) + text.encode()


def s4(text):
    return b"\x8c" + bytes([len(text)]) + text.encode()


def glob(path):
    module, name = path.rsplit(":", 1) if ":" in path else path.rsplit(".", 1)
    return f"c{module}\n{name}\n".encode()


def stack_glob(path):
    module, name = path.rsplit(":", 1) if ":" in path else path.rsplit(".", 1)
    return s4(module) + s4(name) + b"\x93"


TRUE = b"\x8c\x04true\x85"
SYSTEM = glob("os.system") + TRUE + b"R"  # one call, no STOP
EVIL = b"\x80\x02" + SYSTEM + b"."
PROTO0 = b"cos\nsystem\n(S'true'\ntR."
NONE = b"\x80\x02N."

NAMES = """os.system posix.system nt.system os.popen os.execv posixpath.join ntpath.join os.path.join
subprocess.Popen subprocess.check_output subprocess.call pty.spawn commands.getoutput popen2.popen2
builtins.eval builtins.exec builtins.compile builtins.open builtins.breakpoint builtins.__import__
__builtin__.eval __builtin__.apply __builtin__.execfile __builtin__.file __builtin__.reduce
runpy.run_path runpy._run_code importlib.import_module imp.load_source _imp.create_dynamic zipimport.zipimporter
pkgutil.resolve_name pip.main pip._internal.main pip._internal.cli.main.main ensurepip._run_pip venv.create
pydoc.pipepager pydoc.locate pydoc.tempfilepager pydoc.ttypager timeit.timeit timeit.main
code:InteractiveInterpreter.runcode codeop.compile_command bdb:Bdb.run pdb.run pdb:Pdb.run cProfile.run cProfile.runctx
profile.run profile:Profile.run trace:Trace.run trace:Trace.runctx doctest.debug_script cgitb.lookup
idlelib.autocomplete:AutoComplete.get_entity idlelib.calltip:Calltip.fetch_tip idlelib.debugobj:ObjectTreeItem.SetText
idlelib.pyshell:ModifiedInterpreter.runcode idlelib.run:Executive.runcode lib2to3.pgen2.grammar:Grammar.loads
lib2to3.pgen2.pgen:ParserGenerator.make_label distutils.file_util.write_file distutils.spawn.spawn
asyncio.unix_events:_UnixSubprocessTransport._start asyncio.subprocess.create_subprocess_shell ctypes.CDLL ctypes.util._findLib_gcc
_osx_support._read_output _aix_support._read_cmd_output _pyrepl.pager.pipe_pager uuid._get_command_stdout uuid._popen
numpy.f2py.crackfortran.getlincoef numpy.f2py.crackfortran:_eval_length numpy.testing._private.utils.runstring numpy.load
torch.load torch.hub.load torch.jit.load torch.serialization.load torch.jit.unsupported_tensor_ops.execWrapper
torch.utils.bottleneck.__main__.run_cprofile torch.utils.bottleneck.__main__.run_autograd_prof torch.utils.collect_env.run
torch._dynamo.guards:GuardBuilder.get torch._inductor.codecache.compile_file torch.utils.cpp_extension.load
torch.fx.experimental.symbolic_shapes:ShapeEnv.evaluate_guards_expression torch.utils._config_module:ConfigModule.load_config
torch.utils.data.datapipes.utils.decoder.basichandlers torch.fx.graph_module.reduce_graph_module
torch.distributed.elastic.rendezvous.api.basichandlers torch.compile
operator.attrgetter _operator.attrgetter operator.methodcaller _operator.itemgetter functools.reduce
types.CodeType types.FunctionType marshal.loads pickle.loads _pickle.loads cPickle.loads dill.loads joblib.load
cloudpickle.cloudpickle._make_function cloudpickle.cloudpickle.subimport shelve.open linecache.getline
shutil.rmtree socket.socket ssl.get_server_certificate http.client.HTTPSConnection httplib.HTTPSConnection
urllib.request.urlopen urllib2.urlopen requests.api.get aiohttp.client.request httpx.get webbrowser.open
smtplib.SMTP ftplib.FTP telnetlib.Telnet imaplib.IMAP4_stream nntplib.NNTP xmlrpc.client.ServerProxy
tempfile.mkstemp glob.glob fileinput.input logging.FileHandler logging.config.listen logging.config.dictConfig
multiprocessing.Process multiprocessing.util.spawnv_passfds threading.Thread _thread.start_new_thread signal.signal atexit.register
test.support.script_helper.assert_python_ok unittest.main sqlite3.connect mmap.mmap io.FileIO _io.FileIO codecs.open
sys.exit sys:modules.get sys.settrace gc.get_objects inspect.getattr_static site.addsitedir platform.popen
copyreg.add_extension weakref.finalize typing.get_type_hints pandas.read_pickle yaml.unsafe_load
torch.distributed.checkpoint.metadata.os mylib:Net.__pyx_unpickle_Net
tarfile.open zipfile.ZipFile compileall.compile_file py_compile.compile mailcap.findmatch socketserver.TCPServer""".split()

UNKNOWN = """mylib.model.Net omegaconf.dictconfig.DictConfig pytorch_lightning.callbacks.model_checkpoint.ModelCheckpoint
argparse.Namespace functools.partial numpy.core.multiarray._reconstruct uuid.UUID pathlib.PurePath datetime.datetime
torch.distributed.checkpoint.metadata.dataclass torch.distributed.checkpoint.filesystem.FileSystemReader
numpy.dtype numpy.ndarray numpy._core.multiarray._reconstruct numpy.random._pickle.__bit_generator_ctor
numpy.random._pickle.__generator_ctor numpy.random._pickle.__randomstate_ctor torch._dynamo.decorators._DimRange
torch._dynamo.eval_frame.OptimizeContext torch._dynamo.convert_frame.ConvertFrame torch._dynamo.hooks.Hooks
numpy.random.bit_generator.__pyx_unpickle_SeedSequence sklearn.tree._tree.__pyx_unpickle_Tree
copyreg._reconstructor typing.Any signal.Signals http.HTTPStatus urllib.parse.ParseResult torch.nn.modules.linear.Linear
mylib.code.Net mylib.trace.Net osmnx.graph.Graph code_utils.Net transformers.training_args.TrainingArguments
torch._dynamo.eval_frame.OptimizedModule logging.Logger io.BytesIO joblib.numpy_pickle.NumpyArrayWrapper""".split()


def names():
    """Writes only the table: the suite builds the pickles."""
    lines = [f"danger\t{path}\n" for path in NAMES] + [f"unknown\t{path}\n" for path in UNKNOWN]
    head = "# What importing MODULE.NAME (or MODULE:NAME.OF.SEVERAL) is judged. Written by make.py\n"
    (HERE / "names.tsv").write_text(head + "".join(lines))


def spellings():
    """The same call in each form that a pickle can express it."""
    ways = {
        "reduce": b"\x80\x02" + SYSTEM + b".",
        "stack-global": b"\x80\x04" + stack_glob("os.system") + TRUE + b"R.",
        "memo": b"\x80\x04" + s4("os") + b"\x940" + s4("system") + b"\x940h\0h\1\x93" + TRUE + b"R.",
        "inst": b"(S'true'\nios\nsystem\n.",
        "obj": b"(" + glob("os.system") + b"S'true'\no.",
        "newobj": b"\x80\x02" + glob("os.system") + TRUE + b"\x81.",
        "newobj-ex": b"\x80\x04" + glob("os.system") + TRUE + b"}\x92.",
        "popped": b"\x80\x02" + SYSTEM + b"0N.",
        "popped-mark": b"\x80\x02(" + SYSTEM + b"1N.",
        "in-dict-key": b"\x80\x02}" + SYSTEM + b"Ns.",
        "in-state": b"\x80\x02" + glob("mylib.A") + b")\x81}X\1\0\0\0a" + SYSTEM + b"sb.",
        "in-persid": b"\x80\x02" + SYSTEM + b"Q.",
        "in-memo-only": b"\x80\x02" + SYSTEM + b"q\5" + b"0N.",
        "py2-strings": b"\x80\x02U\x02osU\x06system\x93U\x04true\x85R.",
        "python2-names": b"c__builtin__\neval\n(S'1'\ntR.",
        "no-proto-binary": SYSTEM + b".",
        "without-stop": b"\x80\x02" + SYSTEM,
        "broken-after": b"\x80\x02" + SYSTEM + b"\xff.",
        "frame": b"\x80\x04\x95" + struct.pack("<Q", 22) + stack_glob("os.system") + TRUE + b"R.",
        "twice-proto": b"\x80\x02\x80\x04" + SYSTEM + b".",
        "left-over": b"\x80\x02" + SYSTEM + b"N.",
        "unused-stack-global": b"\x80\x04" + stack_glob("os.system") + b"0N.",
        "cyclic": b"\x80\x02]q\0h\0a" + SYSTEM + b"a.",
        "second-state": b"\x80\x02" + glob("mylib.A") + b")\x81}b}b" + SYSTEM + b"0.",
        "list-setitem": b"\x80\x02]Na" + b"K\0" + SYSTEM + b"s.",
        "args-computed": b"\x80\x02" + SYSTEM + b"0" + glob("mylib.f") + glob("mylib.args") + b")RR.",
        "readonly": b"\x80\x05C\1a\x98" + b"0" + SYSTEM + b".",
    }
    for way, data in ways.items():
        name = "__builtin__.eval" if way == "python2-names" else "os.system"
        case(f"way-{way}.pkl", data, 1, "danger", "import", name)


def flow():
    """Calls whose danger depends on their arguments."""
    g = glob("builtins.getattr")
    case("getattr-enum.pkl", b"\x80\x04" + stack_glob("builtins.getattr") + stack_glob("mylib.Kind")
         + s4("BLUE") + b"\x86R.", 1, "unknown", "call", "builtins.getattr")
    case("getattr-dunder.pkl", b"\x80\x02" + g + glob("mylib.Kind") + u("__globals__") + b"\x86R.", 1,
         "danger", "call", "builtins.getattr")
    case("getattr-of-os.pkl", b"\x80\x02" + g + glob("mylib.tools") + u("system") + b"\x86R.", 1, "danger",
         "call", "builtins.getattr")
    case("getattr-module.pkl", b"\x80\x02" + g + glob("torch.serialization") + u("load") + b"\x86R.", 1,
         "danger", "call", "builtins.getattr")
    case("getattr-of-import.pkl", b"\x80\x02" + g + glob("builtins.__import__") + u("os") + b"\x85R"
         + u("name") + b"\x86R.", 1, "danger", "call", "builtins.getattr")
    case("getattr-computed.pkl", b"\x80\x02" + g + glob("mylib.Kind") + glob("mylib.name") + b")R\x86R.", 1,
         "danger", "call", "builtins.getattr")
    case("getattr-handed-on.pkl", b"\x80\x02" + glob("functools.partial") + g + b"\x85R.", 1, "danger",
         "import", "builtins.getattr")
    case("getattr-called.pkl", b"\x80\x02" + g + glob("mylib.Kind") + u("__init__") + b"\x86R)R.", 1,
         "danger", "call", "the result of builtins.getattr")
    case("partial-of-danger.pkl", b"\x80\x02" + glob("functools.partial") + glob("os.system") + b"\x85R)R.", 1,
         "danger", "import", "os.system")
    case("map-of-danger.pkl", b"\x80\x02" + glob("builtins.map") + glob("os.system") + b"]\x86R.", 1, "danger",
         "import", "os.system")
    case("computed-module.pkl", b"\x80\x04" + stack_glob("builtins.str") + s4("os") + b"\x85R" + s4("system")
         + b"\x93" + TRUE + b"R.", 1, "danger", "import", "a name computed by the pickle")
    case("computed-name.pkl", b"\x80\x04" + s4("os") + stack_glob("mylib.f") + b")R\x93" + TRUE + b"R.", 1,
         "danger", "import", "a name computed by the pickle")
    case("computed-by-persid.pkl", b"\x80\x04NQ" + s4("system") + b"\x93" + TRUE + b"R.", 1, "danger",
         "import", "a name computed by the pickle")
    case("extension-code.pkl", b"\x80\x02\x82\x07" + TRUE + b"R.", 1, "danger", "import",
         "a name computed by the pickle", 2)
    case("dotted.pkl", b"\x80\x04" + s4("torch.serialization") + s4("os.system") + b"\x93" + TRUE + b"R.", 1,
         "danger", "import", "torch.serialization.os.system")
    case("module-as-attribute.pkl", b"\x80\x04" + s4("mylib") + s4("os") + b"\x93.", 1, "danger", "import",
         "mylib.os")
    case("alias.pkl", b"\x80\x04" + s4("torch") + s4("_utils._rebuild_tensor_v2") + b"\x93.", 1, "danger",
         "import", "torch._utils._rebuild_tensor_v2")
    case("patched-class.pkl", b"\x80\x02" + glob("mylib.Net") + b"}" + u("run") + b"Nsb.", 1, "danger", "patch",
         "mylib.Net", 2)
    case("patched-modules.pkl", b"\x80\x02" + glob("sys.modules") + u("os") + b"Ns.", 1, "danger", "patch",
         "sys.modules")
    case("dunder.pkl", b"\x80\x02" + glob("mylib.__loader__") + b".", 1, "danger", "import", "mylib.__loader__")
    case("laughs.pkl", b"\x80\x02]q\0" + b"".join(b"(h" + bytes([i]) + b"2" * 9 + b"lq" + bytes([i + 1])
                                                   for i in range(40)) + SYSTEM + b"a.", 1, "danger", "import",
         "os.system")
    case("frame-straddled.pkl", b"\x80\x04\x95" + struct.pack("<Q", 3) + stack_glob("os.system") + TRUE
         + b"R." + bytes(4), 1, "danger", "trick", "an opcode that extends beyond its frame")
    case("frame-nested.pkl", b"\x80\x04\x95" + struct.pack("<Q", 30) + b"\x95" + struct.pack("<Q", 8)
         + stack_glob("os.system") + TRUE + b"R." + bytes(16), 1, "danger", "import", "os.system")


def unpicklers():
    """Input that CPython's unpicklers accept and no pickler writes, before a payload; the C unpickler,
    or the one in Python."""
    lines = {"int-blank": "I 1", "int-blank-behind": "I1 ", "int-underscore": "I1_0", "int-plus": "I+1", "int-octal": "I010",
             "int-zeros": "I08", "int-bits": "I0b1", "int-nul": "I1\0x", "int-nothing": "I\0", "int-digits": "I" + "1" * 5000,
             "long-underscore": "L1_0L", "long-blank": "L 1L", "long-zeros": "L0017L", "long-two": "L0x_1fL",
             "float-underscore": "F1_0", "float-blank": "F 1 ", "float-huge": "F1e400", "float-nul": "F1\0x",
             "memo-minus": "Np-0", "memo-blank": "Np 5", "memo-plus": "Np+1_0", "memo-wide": "Np" + "9" * 30,
             "persid-long": "P" + "a" * 5000}
    for name, line in lines.items():
        case(f"laxity-{name}.bin", line.encode() + b"\n0" + PROTO0, 1, "danger", "import", "os.system")
    starts = {
        "memo-names": b"Vos\np 5_0\n0Vsystem\np" + b"1" * 25 + b"\n0g0050\ng+0" + b"1" * 25 + b"\n\x93",
        "memoize-behind": b"Np" + b"1" * 25 + b"\n0Vos\n\x940Vsystem\n\x940h\1h\2\x93",
        "setitems-none": b"N(u0" + glob("os.system"), "appends-none": b"N(e0" + glob("os.system"),
        "second-state": glob("mylib.A") + b")R}b}b0" + glob("os.system"),
        "frame-beyond": b"\x95" + struct.pack("<Q", 1000) + glob("os.system"),
        "buffer": b"\x970" + glob("os.system"),
        "long-name": b"cmylib\n" + b"x" * 3000 + b"\n0" + glob("os.system"),
        "empty-name": b"cmylib\n\n0" + glob("os.system"),
    }
    for name, start in starts.items():
        case(f"laxity-{name}.bin", start + b"(S'true'\ntR.", 1, "danger", "import", "os.system")
    case("laxity-odd-items.bin", glob("os.environ") + b"(VA\nVb\nVC\nu", 1, "danger", "patch", "os.environ")
    case("laxity-inst-no-mark.bin", b"ios\nsystem\n.", 1, "danger", "import", "os.system")
    case("laxity-last-line.bin", b"Ncos\nsystem!", 1, "danger", "import", "os.system")
    case("laxity-last-inst.bin", b"(S'true'\nios\nsystem!", 1, "danger", "call", "os.system")
    case("laxity-attribute-as-name.bin", glob("mylib.__name__") + b"Vsystem\n\x93(S'true'\ntR.", 1, "danger", "import",
         "a name computed by the pickle")
    case("laxity-string-encoding.bin", b"S'o\xe9'\nVsystem\n\x93)R.", 1, "danger", "import",
         "a name computed by the pickle")
    case("laxity-name-too-long.bin", b"cmylib\n" + b"a." * 600 + b"b\n)R.", 1, "danger", "import",
         "a name of more than 1024 bytes")
    case("laxity-control.bin", b"cos\r\nsystem\r\n)R.", 1, "unknown", "import", "os")
    case("laxity-frame-behind-stop.bin", b"\x95" + struct.pack("<Q", 10) + b"N." + b"x" * 8 + PROTO0, 1, "danger",
         "import", "os.system")
    case("unknown-call-broken.bin", b"cmylib\nrun\n(S'true'\ntR\xff", 1, "unknown", "call", "mylib.run")
    case("text-include.txt", b"include(a/__init__)\nos.system\n(tR", 0, "none")
    case("text-words.txt", b"cat\ndog\nhorse\n", 0, "none")
    # its size begins with the byte of PROTO
    header = b'{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}'.ljust(128)
    case("header-128.safetensors", struct.pack("<Q", len(header)) + header + bytes(8), 0, "none")
    case("text-names.txt", b"c lass\nof os\n(tR", 0, "none")


def limits():
    """Limits reached before a payload are findings. The files are small: a pickle of 2.5 million values
    has 2.5 MB."""
    text = gzip.compress(b"]" * 2500000 + PROTO0, mtime=0)
    case("limit-values.gz", text, 1, "unknown", "refused", "EMPTY_LIST at pickle position 2187500: more than 2187500 values")
    case("laxity-long4.gz", gzip.compress(b"\x8b" + struct.pack("<i", 1 << 21) + bytes(1 << 21) + b"0" + PROTO0, mtime=0),
         1, "danger", "import", "os.system")
    case("limit-marks.gz", gzip.compress(b"(" * 1100000 + PROTO0, mtime=0), 1, "unknown", "refused",
         "MARK at pickle position 1000000: more than 1000000 open marks")
    case("limit-row.gz", gzip.compress(b"N." * 10100 + PROTO0, mtime=0), 1, "unknown", "refused",
         "more than 10000 consecutive pickles")


def within():
    """Pickles in bytes."""
    inner = b"B" + struct.pack("<I", len(EVIL)) + EVIL
    case("loads.pkl", b"\x80\x03" + glob("pickle.loads") + inner + b"\x85R.", 1, "danger", "import", "os.system")
    case("loads-proto0.pkl", b"\x80\x03" + glob("pickle.loads") + b"B" + struct.pack("<I", len(PROTO0)) + PROTO0
         + b"\x85R.", 1, "danger", "import", "os.system")
    case("bytes-unloaded.pkl", b"\x80\x03" + glob("mylib.restore") + inner + b"\x85R.", 1, "danger", "import",
         "os.system")
    case("encoded.pkl", b"\x80\x02" + glob("torch.storage._load_from_bytes") + glob("_codecs.encode")
         + u(EVIL.decode("latin1")) + u("latin1") + b"\x86R\x85R.", 1, "danger", "import", "os.system")
    case("encoded-unloaded.pkl", b"\x80\x02" + glob("mylib.restore") + glob("_codecs.encode")
         + u(EVIL.decode("latin1")) + u("latin1") + b"\x86R\x85R.", 1, "danger", "import", "os.system")
    case("load-from-bytes.pkl", b"\x80\x03" + glob("torch.storage._load_from_bytes") + inner + b"\x85R.", 1,
         "danger", "call", "torch.storage._load_from_bytes")
    case("load-from-computed.pkl", b"\x80\x03" + glob("torch.storage._load_from_bytes") + glob("mylib.f")
         + b")R\x85R.", 1, "danger", "call", "torch.storage._load_from_bytes")
    case("load-from-handed-on.pkl", b"\x80\x03" + glob("builtins.map") + glob("torch.storage._load_from_bytes")
         + b"]\x86R.", 1, "danger", "import", "torch.storage._load_from_bytes")
    loader = glob("torch.storage._load_from_bytes")
    # A call of os.system if decoded as UTF-8, only a str if decoded as latin1.
    text = "X\x0e\0\0\0\u0080\u0080\u0080\u0080\u0080\u0080\u0080" + "0" + PROTO0.decode()
    for codec, args in {"utf8": u("utf-8"), "default": b"", "U8": u("U8"), "ascii": u("ASCII")}.items():
        case(f"encoded-{codec}.pkl", b"\x80\2" + loader + glob("_codecs.encode") + b"("
             + u(PROTO0.decode() if codec == "ascii" else text) + args + b"tR\x85R.", 1, "danger", "import", "os.system")
    for codec in ("utf-7", "utf-16", "raw_unicode_escape", "cp037", "rot13"):
        case(f"encoded-{codec}.pkl", b"\x80\2" + loader + glob("_codecs.encode") + u("N.") + u(codec) + b"\x86R\x85R.", 1,
             "danger", "call", "torch.storage._load_from_bytes")
    case("encoded-errors.pkl", b"\x80\2" + loader + glob("_codecs.encode") + u("N.\u0100") + u("latin1") + u("ignore")
         + b"\x87R\x85R.", 1, "danger", "call", "torch.storage._load_from_bytes")
    case("encoded-fine.pkl", b"\x80\2" + loader + glob("_codecs.encode") + u("\x80\2N.") + u("ISO-8859-1") + b"\x86R\x85R.",
         0, "allowed")
    array = b"\x96" + struct.pack("<Q", 4) + b"\x80\x02N."
    changes = {"setitem": b"K\1K\3s", "append": b"K\0a", "appends": b"(K\0K\1e", "setitems": b"(K\1K\3u", "build": b"}b"}
    for name, change in changes.items():
        case(f"bytearray-{name}.pkl", b"\x80\5" + loader + array + change + b"\x85R.", 1, "danger", "call",
             "torch.storage._load_from_bytes")
    case("bytearray-fine.pkl", b"\x80\5" + loader + array + b"\x85R.", 0, "allowed")
    deep = NONE
    for _ in range(4):
        deep = b"\x80\x03B" + struct.pack("<I", len(deep)) + deep + b"."
    case("bytes-deep.pkl", deep, 1, "unknown", "packed", "packed more than three levels deep, not scanned")
    deep = EVIL
    for _ in range(2):
        deep = b"\x80\x03" + glob("pickle.loads") + b"B" + struct.pack("<I", len(deep)) + deep + b"\x85R."
    case("loads-of-loads.pkl", deep, 1, "danger", "import", "os.system")


def rows():
    """Several pickles, and bytes after them."""
    case("behind-stop.pkl", NONE + EVIL, 1, "danger", "import", "os.system")
    case("behind-stop-proto0.pkl", NONE + PROTO0, 1, "danger", "import", "os.system")
    case("behind-proto0.pkl", b"I1\n." + EVIL, 1, "danger", "import", "os.system")
    case("behind-two.pkl", NONE * 2 + EVIL, 1, "danger", "import", "os.system")
    case("behind-stop-numbers.pkl", NONE + bytes(20), 1, "danger", "trick", "20 bytes after the pickle's STOP", 4)
    case("broken-before.pkl", b"\x80\x02" + SYSTEM + b"\x00" + EVIL, 1, "danger", "import", "os.system")
    case("text.txt", b"colour and size\nof what is sold\n", 0, "none")
    case("text-stop.txt", b"N.B. this is a text\n", 0, "none")
    case("code.py", b"class A:\n    pass\n", 0, "none")


# ---- containers -----------------------------------------------------------------------------------

def zipped(records, method=zipfile.ZIP_STORED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in records:
            archive.writestr(zipfile.ZipInfo(name), data, method)
    return bytearray(out.getvalue())


def torch_like(pickled, more=()):
    return zipped([("a/data.pkl", pickled), ("a/version", b"3\n"), *more])


def local_of(data, name):
    return data.index(b"PK\3\4", data.index(name.encode()) - 30)


def central_of(data, name):
    return data.rindex(name.encode()) - 46


def edit(data, at, value):
    data[at:at + len(value)] = value
    return bytes(data)


def npy(array):
    out = io.BytesIO()
    numpy.save(out, array, allow_pickle=True)
    return out.getvalue()


def npy_by_hand(descr):
    header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': (1,), }}\n".encode()
    return b"\x93NUMPY\2\0" + struct.pack("<I", len(header)) + header + PROTO0


class Payload:
    def __reduce__(self):
        import posix
        return posix.system, ("true",)


def containers():
    case("zip-plain.pt", torch_like(EVIL), 1, "danger", "import", "os.system", 2)
    case("zip-deflated.pt", zipped([("a/data.pkl", EVIL), ("a/version", b"3\n")], zipfile.ZIP_DEFLATED), 1,
         "danger", "import", "os.system", 2)
    case("zip-other-extension.pt", torch_like(NONE, [("a/config.p", EVIL)]), 1, "danger", "import", "os.system")
    case("zip-no-extension.pt", torch_like(NONE, [("a/notes", EVIL)]), 1, "danger", "import", "os.system")
    case("zip-proto0-txt.pt", torch_like(NONE, [("a/notes.txt", PROTO0)]), 1, "danger", "import", "os.system")
    case("zip-proto0-pkl.pt", torch_like(PROTO0), 1, "danger", "import", "os.system")
    case("zip-unclaimed-storage.pt", torch_like(NONE, [("a/data/0", EVIL)]), 1, "danger", "import", "os.system")
    case("zip-outside.pt", torch_like(NONE, [("b.pkl", EVIL)]), 1, "danger", "trick",
         "records outside of the archive's directory")
    case("zip-two-roots.pt", torch_like(NONE, [("b/data.pkl", EVIL)]), 1, "danger", "trick",
         "a second data.pkl, in another directory than the first")
    case("zip-behind-stop.pt", torch_like(NONE + EVIL), 1, "danger", "import", "os.system")
    case("zip-in-zip.pt", torch_like(NONE, [("a/inner.bin", bytes(torch_like(EVIL)))]), 1, "danger", "import",
         "os.system")
    case("zip-in-deflated.zip", zipped([("model.pt", bytes(torch_like(EVIL)))], zipfile.ZIP_DEFLATED), 1,
         "danger", "import", "os.system")
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as out:
        member(out, "model.pkl", EVIL)
    case("tar-in-zip.zip", zipped([("x.tar", tar.getvalue())]), 1, "danger", "import", "os.system")
    empty, arrays = b"PK\5\6" + bytes(18), bytes(zipped([("a.npy", npy(numpy.array([None])) + EVIL)]))
    case("zip-behind-empty.gz", gzip.compress(empty + arrays, mtime=0), 1, "danger", "import", "os.system")
    case("zip-behind-empty.zip", zipped([("x", empty + arrays)]), 1, "danger", "import", "os.system")
    package = [("p/.data/extern_modules", b"torch\nos\n"), ("p/.data/version", b"6\n"), ("p/version", b"6\n"),
               ("p/collections.py", b"import os\nos.system('true')\nclass OrderedDict(dict): pass\n"),
               ("p/m/m.pkl", b"\x80\2ccollections\nOrderedDict\n)R.")]
    case("package-own-module.pt", zipped(package), 1, "unknown", "code", "Python module that the importer of torch.package")
    package[0] = ("p/.DATA/Extern_modules", b"torch\nos\n")
    case("package-capitals.pt", zipped(package), 1, "unknown", "code", "Python module that the importer of torch.package")
    case("package-fine.pt", zipped([row for row in package if not row[0].endswith(".py")]), 0, "none")
    case("zip-in-tar.tar", tar_of([("model.pt", bytes(torch_like(EVIL)))]), 1, "danger", "import", "os.system")
    case("zip-script.pt", zipped([("a/constants.pkl", EVIL), ("a/data.pkl", NONE), ("a/version", b"3\n")]), 1,
         "danger", "import", "os.system")
    case("zip-script-attributes.pt", zipped([("a/model.json", b"{}"), ("a/attributes.pkl", EVIL)]), 1, "danger",
         "import", "os.system")
    case("zip-script-names-elsewhere.pt", torch_like(b"\x80\x02" + glob("__torch__.Net") + b")\x81."), 1,
         "unknown", "import", "__torch__.Net")


def tricks():
    def fresh():
        return torch_like(EVIL, [("a/other", b"x")])
    data = fresh()
    case("trick-local-name.pt", edit(data, data.index(b"a/data.pkl"), b"a/date.pkl"), 1, "danger", "trick",
         'its local header names it "a/date.pkl"')
    for bit in (0x1, 0x20, 0x40):
        data = fresh()
        case(f"trick-local-flag-{bit:x}.pt", edit(data, 6, struct.pack("<H", bit)), 1, "danger", "trick",
             f"its local header has flags 0x{bit:04x}")
        case(f"trick-local-flag-{bit:x}-judged.pt", bytes(data), 1, "danger", "import", "os.system")
    data = fresh()
    case("trick-central-flag.pt", edit(data, central_of(data, "a/data.pkl") + 8, b"\1\0"), 1, "danger", "trick",
         "the directory marks it as encrypted or as a patch")
    data = fresh()
    data[14:18] = b"\1\2\3\4"
    case("trick-crc.pt", edit(data, central_of(data, "a/data.pkl") + 16, b"\1\2\3\4"), 1, "danger", "trick",
         "CRC-32 is ")
    data = fresh()
    case("trick-method.pt", edit(data, central_of(data, "a/other") + 10, b"\x0e\0"), 1, "danger", "trick",
         "compression method 14, not scanned")
    data = fresh()
    case("trick-twins.pt", data.replace(b"a/other", b"A/OTHER"), 0 + 1, "danger", "trick", "records outside")
    case("trick-same-name.pt", bytes(zipped([("a/data.pkl", NONE), ("a/other.p", EVIL), ("a/version", b"3\n")])
                                     ).replace(b"a/other.p", b"a/data.pk"), 1, "danger", "import", "os.system")
    data = zipped([("a/data.pkl", NONE), ("a/DATA.pkl", EVIL), ("a/version", b"3\n")])
    case("trick-case.pt", bytes(data), 1, "danger", "trick",
         "another record's name differs only in upper and lower case")
    data = zipped([("a/data.pkl", NONE), ("a/date.pkl", EVIL), ("a/version", b"3\n")])
    case("trick-twice.pt", data.replace(b"a/date.pkl", b"a/data.pkl"), 1, "danger", "trick",
         "another record has the same name")
    case("trick-prefix.pt", b"GIF89a" + bytes(10) + bytes(fresh()), 1, "danger", "trick",
         "a zip after other bytes")
    case("trick-prefix-judged.bin", b"GIF89a" + bytes(10) + bytes(fresh()), 1, "danger", "import", "os.system")
    case("trick-polyglot.pt", EVIL + bytes(torch_like(NONE)), 1, "danger", "import", "os.system", 2)
    case("trick-pickle-then-zip.pt", NONE + bytes(torch_like(EVIL)), 1, "danger", "trick", "a zip after other bytes")
    data = fresh()
    case("trick-overlap.pt", edit(data, central_of(data, "a/other") + 42, struct.pack("<I", 4)), 1, "danger",
         "trick", "no local header at the offset in the directory")
    data = torch_like(NONE, [("a/data.pkm", EVIL)])
    inner = local_of(data, "a/data.pkm")
    case("trick-same-header.pt", edit(data, central_of(data, "a/data.pkl") + 42, struct.pack("<I", inner)), 1,
         "danger", "trick", "it overlaps another record")
    data = fresh()
    at = central_of(data, "a/other")
    data[at + 5] = 3
    case("trick-link.pt", edit(data, at + 38, struct.pack("<I", 0xA1FF << 16)), 1, "danger", "trick",
         "a symbolic link")
    case("trick-dotdot.pt", torch_like(EVIL, [("a/../../x", b"x")]), 1, "danger", "trick",
         "its name points out of the archive")
    case("trick-absolute.pt", torch_like(EVIL, [("/x", b"x")]), 1, "danger", "trick",
         "its name points out of the archive")
    case("trick-backslash.pt", torch_like(EVIL, [("a\\x", b"x")]), 1, "danger", "trick", "a backslash in its name")
    one, two = bytes(torch_like(NONE)), bytes(torch_like(EVIL))
    case("zips-in-a-row.zip", one + two, 1, "danger", "import", "os.system", 2)
    case("zips-in-a-row-first.zip", two + one, 1, "danger", "import", "os.system", 2)
    case("trick-two-ends.pt", one + two + b"x", 1, "danger", "trick", "two directories")
    case("trick-two-ends-judged.zip", one + two + b"x", 1, "danger", "import", "os.system")
    data = fresh()
    case("trick-cut.pt", bytes(data[:-30]), 1, "danger", "import", "os.system")
    case("trick-bytes-between.pt", bytes(data[:local_of(data, "a/other")]) + bytes(7)
         + bytes(data[local_of(data, "a/other"):]), 1, "danger", "import", "os.system")


def member(out, name, data, **more):
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for key, value in more.items():
        setattr(info, key, value)
    out.addfile(info, io.BytesIO(data))


def tar_of(members, layout=tarfile.USTAR_FORMAT):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=layout) as tar:
        for name, data in members:
            member(tar, name, data)
    return out.getvalue()[:-8192]


def old_torch_tar(last=NONE):
    """The layout of torch 0.1: pickles and numbers alternate in two members."""
    def p(value):
        return pickle.dumps(value, 2)
    def with_class(key, where, name):
        return b"\x80\x02(K" + bytes([key]) + where + glob("torch." + name) + b"t."
    storages = (p(1) + with_class(11, u("cpu"), "FloatStorage") + struct.pack("<q6f", 6, *range(6)) + p([]))
    tensors = (p(1) + with_class(101, b"K\x0b", "FloatTensor") + struct.pack("<iI5q", 2, 9, 2, 3, 3, 1, 0))
    return tar_of([("sys_info", p({"protocol_version": 1000})), ("pickle", last), ("tensors", tensors),
                   ("storages", storages)])


def others():
    case("tar-pickle.tar", tar_of([("notes.txt", b"text"), ("model", EVIL)]), 1, "danger", "import", "os.system")
    case("tar-pax.tar", tar_of([("x" * 120 + ".pkl", EVIL)], tarfile.PAX_FORMAT), 1, "danger", "import",
         "os.system")
    case("tar-gnu.tar", tar_of([("x" * 120 + ".pkl", EVIL)], tarfile.GNU_FORMAT), 1, "danger", "import",
         "os.system")
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        member(tar, "pickle", b"", type=tarfile.SYMTYPE, linkname="/etc/passwd")
    case("tar-link.tar", out.getvalue()[:-8192], 1, "danger", "trick", "a link")
    case("tar-dotdot.tar", tar_of([("../x", b"x")]), 1, "danger", "trick", "its name points out of the archive")
    def tar_edited(at, value, checksum=None, members=(("x/y", b""), ("model", EVIL))):
        data = bytearray(tar_of(members))
        data[at:at + len(value)] = value
        head = bytes(data[:148]) + b" " * 8 + bytes(data[156:512])
        data[148:156] = checksum or b"%06o\0 " % sum(head)
        return bytes(data)
    evil = (("model", EVIL),)
    for name, data, finding in (
            ("signed-sum", tar_edited(0, b"\xe9", b"%06o\0 " % (int(tar_of(evil)[148:154], 8) + 0xe9 - 256 - ord("m")),
                                      members=evil), ("import", "os.system")),
            ("odd-sum", tar_edited(0, b"m", b" 0o%4o " % int(tar_of(evil)[148:154], 8), members=evil), ("import", "os.system")),
            ("no-name", tar_edited(0, b"\0" * 5, members=evil), ("import", "os.system")),
            ("sparse", tar_edited(156, b"S", members=evil), ("trick", "a sparse member"))):
        case(f"tar-{name}.tar", data, 1, "danger", *finding)
    hidden = bytearray(tar_of((("folder", b""), ("model", EVIL))))
    hidden[124:136], hidden[156:157] = b"00000001000\0", b"5"
    hidden[148:156] = b" " * 8
    hidden[148:156] = b"%06o\0 " % sum(hidden[:512])
    case("tar-directory-with-size.tar", bytes(hidden), 1, "danger", "import", "os.system")
    def pax(kind, records):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
            member(tar, "h", records, type=kind)
            member(tar, "model", EVIL)
        return out.getvalue()[:-8192]
    case("tar-pax-decoy.tar", pax(b"x", b"24 comment=x size=1536\n\n"), 1, "danger", "import", "os.system")
    case("tar-pax-odd.tar", pax(b"x", b"12 size=1_0\n"), 1, "danger", "trick", "a pax header that readers interpret differently")
    case("tar-pax-all.tar", pax(b"g", b"10 size=1\n"), 1, "danger", "trick",
         "a pax header with a name or size for all members")
    case("tar-pax-sparse.tar", pax(b"x", b"22 GNU.sparse.major=1\n"), 1, "danger", "trick", "a sparse member")
    case("tar-pax-solaris.tar", pax(b"X", b"13 path=a/b\n\n"), 1, "danger", "import", "os.system")
    case("tar-torch.pt", old_torch_tar(), 0, "none")
    case("tar-torch-evil.pt", old_torch_tar(EVIL), 1, "danger", "import", "os.system")
    objects = numpy.array([Payload()], dtype=object)
    case("npy-objects.npy", npy(objects), 1, "danger", "import", "posix.system")
    record = numpy.zeros(1, dtype=[("a", "O"), ("b", "<f4")])
    record["a"][0] = Payload()
    case("npy-record.npy", npy(record), 1, "danger", "import", "posix.system")
    spellings = {"object": "'object'", "object-": "'object_'", "sub-array": "'(2,)O'", "fields": "'i4,O'", "escape": "'|\\x4f'",
                 "pieces": "'|' 'O'", "sized": "'O8'", "tuple": "('O', (2,))", "nested": "[('a', [('b', 'O')])]",
                 "named": "'\\N{LATIN CAPITAL LETTER O}'", "brackets": "(('O'))", "unknown": "'object0'"}
    for name, descr in spellings.items():
        case(f"npy-descr-{name}.npy", npy_by_hand(descr), 1, "danger", "import", "os.system")
    for name, blanks in {"long": 70000, "longer": 2000000}.items():
        case(f"npy-header-{name}.npz", bytes(zipped([("a.npy", npy_by_hand("'O'" + " " * blanks))], zipfile.ZIP_DEFLATED)), 1,
             "danger", "import", "os.system")
    numbers = npy(numpy.arange(3))
    case("npy-second.npy", numbers + npy_by_hand("'O'"), 1, "danger", "import", "os.system")
    case("npy-behind-fields.npy", npy(numpy.zeros(3, [("a", "<i4")])) + npy_by_hand("'O'"), 1, "danger", "import", "os.system")
    case("npy-then-pickle.npy", numbers + PROTO0, 1, "danger", "import", "os.system")
    case("npy-then-zip.npy", numbers + bytes(torch_like(EVIL)), 1, "danger", "import", "os.system")
    case("npy-two-fine.npy", numbers + numbers, 0, "none")
    case("npy-fields-fine.npy", npy(numpy.zeros(30, [("a", "<i4"), ("b", "<f8")])), 0, "none")
    claim = b"\x80\2((" + u("storage") + glob("torch.FloatStorage") + u("0.npy") + u("cpu") + b"K\1tQt."
    case("npz-storage.npz", torch_like(claim, [("a/data/0.npy", npy_by_hand("'O'"))]), 1, "danger", "import", "os.system")
    claim = claim.replace(u("0.npy"), u("0"))
    case("npz-storage-nameless.npz", torch_like(claim, [("a/data/0", npy_by_hand("'O'"))]), 1, "danger", "import", "os.system")
    large = io.BytesIO()
    numpy.savez_compressed(large, a=numpy.zeros(70 << 17))  # more than the limit of decompression
    case("npz-large-fine.npz", large.getvalue(), 0, "none")
    case("npy-numbers.npy", npy(numpy.arange(4)), 0, "none")
    case("npy-numbers-like-pickle.npy", npy(numpy.frombuffer(EVIL + bytes(-len(EVIL) % 8), "<i8")), 0, "none")
    out = io.BytesIO()
    numpy.savez(out, a=numpy.arange(3), b=objects)
    case("npz-objects.npz", out.getvalue(), 1, "danger", "import", "posix.system")
    case("npy-in-torch.pt", torch_like(NONE, [("a/x.npy", npy(objects))]), 1, "danger", "import", "posix.system")
    case("gzip.pkl.gz", gzip.compress(EVIL, mtime=0), 1, "danger", "import", "os.system", 2)
    case("gzip-torch.pt.gz", gzip.compress(bytes(torch_like(EVIL)), mtime=0), 1, "danger", "import", "os.system")
    case("gzip-cut.pkl.gz", gzip.compress(EVIL, mtime=0)[:-12], 1, "danger", "packed", "gzip data that is truncated")
    case("gzip-fine.pkl.gz", gzip.compress(NONE, mtime=0), 0, "none")
    half = gzip.compress(b"N0", mtime=0), gzip.compress(PROTO0, mtime=0)
    case("gzip-members.gz", half[0] + half[1], 1, "danger", "import", "os.system", 2)
    case("gzip-members-padded.gz", half[0] + bytes(700) + half[1], 1, "danger", "import", "os.system", 2)
    case("gzip-empty-member.gz", gzip.compress(b"", mtime=0) + half[1], 1, "danger", "import", "os.system", 0)
    case("gzip-long-name.gz", half[1][:3] + b"\x08" + half[1][4:10] + b"n" * 3000 + b"\0" + half[1][10:], 1, "danger",
         "import", "os.system", 0)
    case("gzip-reserved-flag.gz", half[1][:3] + b"\x80" + half[1][4:], 1, "danger", "import", "os.system", 0)
    case("joblib-old.pkl", b"ZF" + hex(len(PROTO0)).encode().ljust(19) + zlib.compress(PROTO0), 1, "danger", "import",
         "os.system", 0)
    case("joblib-old-python2.pkl", b"ZF" + hex(len(PROTO0)).encode().ljust(20) + zlib.compress(PROTO0), 1, "danger",
         "import", "os.system", 0)
    case("zlib-streams.z", zlib.compress(b"N0") + zlib.compress(PROTO0), 1, "danger", "import", "os.system", 2)
    deep = PROTO0
    for _ in range(4):
        deep = gzip.compress(deep, mtime=0)
    case("gzip-deep.gz", deep, 1, "unknown", "packed", "packed more than three levels deep, not scanned")
    case("mark-like-zlib.bin", b"(\x91\x8b\1\0\0\0v" + PROTO0, 1, "danger", "import", "os.system", 8)
    name = b"N0" + glob("os.system") + b"(S'true'\ntR."
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        member(tar, name.decode(), b"")
    case("tar-name-pickle.tar", out.getvalue()[:1024], 1, "danger", "import", "os.system", 2)
    case("lzma-dictionary.lzma", lzma.compress(EVIL, lzma.FORMAT_ALONE, filters=[
        {"id": lzma.FILTER_LZMA1, "dict_size": 3 << 12, "lc": 0}]), 1, "unknown", "packed", "lzma data, not scanned")
    case("zstd-skippable.zst", b"\x50\x2a\x4d\x18\4\0\0\0abcd", 1, "unknown", "packed", "zstd or lz4 data, not scanned")
    case("integers.bin", struct.pack("<8q", 3, 5, 1 << 20, 7, 0, 0, 0, 0), 0, "none")
    case("zlib.pkl.z", zlib.compress(EVIL), 1, "danger", "import", "os.system", 2)
    case("bzip2.pkl.bz2", bz2.compress(EVIL), 1, "unknown", "packed", "bzip2 data, not scanned")
    case("xz.pkl.xz", lzma.compress(EVIL), 1, "unknown", "packed", "xz data, not scanned")
    case("lzma.pkl.lzma", lzma.compress(EVIL, lzma.FORMAT_ALONE), 1, "unknown", "packed", "lzma data, not scanned")
    case("lz4.pkl.lz4", b"\x04\x22\x4d\x18" + bytes(20), 1, "unknown", "packed", "lz4 data, not scanned")
    case("7z.pt", b"7z\xbc\xaf\x27\x1c" + bytes(26), 1, "unknown", "packed", "7z data, not scanned")
    case("bzip2-in-zip.pt", torch_like(NONE, [("a/x.bz2", bz2.compress(EVIL))]), 1, "unknown", "packed",
         "bzip2 data, not scanned")
    case("safetensors.bin", struct.pack("<Q", 2) + b"{}", 0, "none")
    case("gguf.bin", b"GGUF\3\0\0\0" + bytes(16), 0, "none")
    case("hdf5.bin", b"\x89HDF\r\n\x1a\n" + bytes(24), 1, "unknown", "refused", "the superblock says")
    case("picture.pt", b"\x89PNG\r\n\x1a\n" + bytes(24), 0, "none")


# ---- files of torch -------------------------------------------------------------------------------

def saved(value, **how):
    out = io.BytesIO()
    torch.save(value, out, **how)
    return out.getvalue()


def legacy():
    model = {"w": torch.arange(4.0), "h": torch.arange(3).half()}
    data = saved(model, _use_new_zipfile_serialization=False)
    case("legacy.pt", data, 0, "none")
    case("legacy-proto4.pt", saved(model, _use_new_zipfile_serialization=False, pickle_protocol=4), 0, "none")
    case("legacy-trailing.pt", data + EVIL, 1, "danger", "trick", f"{len(EVIL)} bytes after the last storage")
    case("legacy-trailing-judged.pt", data + EVIL, 1, "danger", "import", "os.system")
    magic = pickle.dumps(0x1950A86A20F9469CFC6C, 2)
    case("legacy-evil.pt", magic + pickle.dumps(1001, 2) + pickle.dumps({}, 2) + EVIL + pickle.dumps([], 2), 1,
         "danger", "import", "os.system")
    bypass = b"\x80\x02" + glob("builtins.eval") + u("0x1950A86A20F9469CFC6C") + b"\x85R."
    case("legacy-magic-by-eval.pt", bypass + pickle.dumps(1001, 2) + pickle.dumps({}, 2) + NONE
         + pickle.dumps([], 2), 1, "danger", "import", "builtins.eval")
    case("legacy-fifth.pt", magic + pickle.dumps(1001, 2) + pickle.dumps({}, 2) + NONE + EVIL, 1, "danger",
         "import", "os.system")


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Linear(2, 2)
        self.n = [1, 2]

    def forward(self, x):
        return self.a(x)


def nameless(archive):
    """Replaces the path of this file, which torch writes into *.debug_pkl."""
    here = __file__.encode()
    with zipfile.ZipFile(archive) as old:
        return bytes(zipped([(name, old.read(name).replace(here, b"x" * len(here))) for name in old.namelist()]))


def benign():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(4, 2)).sum().backward()
    optimizer.step()
    dtypes = {str(d): torch.zeros(2, dtype=d) for d in (
        torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.complex64, torch.complex128, torch.bool,
        torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8, torch.uint16, torch.uint32, torch.uint64,
        torch.float8_e4m3fn, torch.float8_e5m2)}
    values = {
        "state-dict": model.state_dict(), "optimizer": optimizer.state_dict(), "dtypes": dtypes,
        "nested": {"model": model.state_dict(), "step": 3, "lr": [0.1, None, True], "name": "x", "raw": b"\x80\x02N.",
                   "set": {1, 2}, "counter": collections.Counter("aab"), "size": torch.Size([1]), "c": 1j},
        "sparse": torch.eye(2).to_sparse(), "csr": torch.eye(2).to_sparse_csr(),
        "quantized": torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8),
        "meta": torch.empty(2, device="meta"), "parameter": torch.nn.Parameter(torch.ones(1)),
        "jagged": torch.nested.nested_tensor([torch.ones(1), torch.ones(2)]),
    }
    for name, value in values.items():
        data = saved(value)
        torch.load(io.BytesIO(data), weights_only=True)
        case(f"fine-{name}.pt", data, 0, "none")
    case("fine-plain-pickle.pkl", pickle.dumps(model.state_dict(), 2), 0, "none")
    case("fine-plain-pickle4.pkl", pickle.dumps({"w": torch.ones(2)}, 4), 0, "none")
    row = saved(model.state_dict()) + saved({"step": 1}) + saved(torch.ones(2))  # as in a .distcp file
    case("fine-row.distcp", row, 0, "none")
    script = io.BytesIO()
    torch.jit.save(torch.jit.script(Net()), script)
    case("fine-script.pt", nameless(script), 0, "none")
    case("module.pt", saved(torch.nn.Linear(1, 1)), 1, "unknown", "import", "torch.nn.modules.linear.Linear")


def main():
    for path in CASES.glob("*"):
        path.unlink()
    CASES.mkdir(exist_ok=True)
    for part in (names, spellings, flow, unpicklers, limits, within, rows, containers, tricks, others, legacy, benign):
        part()
    head = "# FILE, exit status, worst, WHAT, NAME of a finding (its beginning), position. Written by make.py\n"
    (HERE / "expect.tsv").write_text(head + "".join("\t".join(row) + "\n" for row in ROWS))
    print(len(ROWS), "cases,", sum(p.stat().st_size for p in CASES.iterdir()), "bytes")


main()
