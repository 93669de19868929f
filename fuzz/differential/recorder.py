"""Records the imports and calls of a real CPython that loads a pickle, with both of its unpicklers.
Their find_class returns a stub, which can be called, built, appended to and assigned items; each action
is recorded and none is executed. An audit hook ends the process if any other action occurs."""
import copyreg
import io
import pickle
import re
import resource
import sys
import _pickle

MEMORY = 2 << 30  # bytes: LONG_BINPUT of 2**32 - 1 makes the C unpickler allocate 64 GiB
PICKLES = 3  # pickles of one file, as a loop around pickle.load reads them
# A module that may exist: others raise, as in reality.
MODULE = re.compile(r"[A-Za-z0-9_.\-\u0080-\U0010ffff]+")
CODES = (1, 2, 300, 70000)  # codes of copyreg's registry
LONG = 1024  # maximum bytes of a module or name in scan's findings
COMPUTED = "computed by a call"


class Log:
    """State of one sample."""

    def __init__(self):
        self.events = set()
        self.index = 0  # index of the pickle in the file
        self.strict = False  # modules that cannot exist are not found
        self.texts = False  # calls return strings
        self.armed = False
        self.broken = None  # an audit event that must not occur


LOG = Log()


def note(what, root):
    LOG.events.add((LOG.index, what, root))


class Inert(type):
    """Stub that records each action on it. `root` is the global from which it was derived; `called` is
    true for the result of a call."""

    def __call__(cls, *_, **__):
        return cls.called_now()

    def called_now(cls):
        note("call", cls.root)
        return COMPUTED if LOG.texts else stub(cls.root, True)

    def touched(cls, *_):
        if not cls.is_result:
            note("patch", cls.root)

    append = extend = add = touched
    __setstate__ = __setitem__ = touched


def stub(root, is_result, known={}):  # pylint: disable=dangerous-default-value
    made = known.get((root, is_result))
    if made is None:
        if len(known) > 5000:
            known.clear()
        made = Inert("Stub", (), {"root": root, "is_result": is_result,
                                  "__new__": lambda cls, *_, **__: cls.called_now()})
        known[(root, is_result)] = made
    return made


def find(module, name):
    if LOG.strict and not MODULE.fullmatch(module):
        raise ModuleNotFoundError(module)
    root = f"{module}.{name}"
    if COMPUTED in (module, name) or module == "extension":
        root = "computed"
    elif any(len(part.encode("utf-8", "surrogatepass")) > LONG for part in (module, name)):
        root = "long"
    note("import", root)
    if LOG.texts and name == "__name__":
        return COMPUTED
    return stub(root, False)


class Fast(_pickle.Unpickler):
    def find_class(self, module, name):
        return find(module, name)

    def persistent_load(self, pid):  # pylint: disable=unused-argument
        return stub(None, True)


class Slow(pickle._Unpickler):  # pylint: disable=protected-access
    def find_class(self, module, name):
        return find(module, name)

    def persistent_load(self, pid):  # pylint: disable=unused-argument
        return stub(None, True)


def audit(event, _):
    if LOG.armed and not event.startswith(("object.", "pickle.", "sys.excepthook")):
        LOG.broken = event
        raise RuntimeError(event)


def prepare():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    sys.setrecursionlimit(2000)
    for code in CODES:
        copyreg.add_extension("extension", f"code{code}", code)
    run(b"cos\nsystem\n(S'a'\nF1.5\nL1L\nVa\\u0041\ntR0I1\n.", "utf-8", False)  # imports modules that decoders need
    run(b"S'\\xe9'\n.", "latin1", False)
    show = sys.excepthook
    # A bytearray at the end of a truncated pickle, which the C unpickler reads through it.
    sys.excepthook = lambda *what: None if LOG.armed else show(*what)
    sys.addaudithook(audit)


def run(data, encoding, texts):
    """Set of the actions of either unpickler: imports (INDEX, "import", NAME), calls, and assignments of
    items or states; INDEX is the number of the pickle in the file."""
    LOG.events = set()
    LOG.texts = texts
    for kind in (Fast, Slow):
        stream = io.BytesIO(data)
        for LOG.index in range(PICKLES):
            LOG.strict = LOG.index > 0 or data[:1] != b"\x80"
            LOG.armed = True
            try:
                kind(stream, encoding=encoding).load()
            except Exception:  # pylint: disable=broad-except
                break
            finally:
                LOG.armed = False
        if LOG.broken:
            raise SystemExit(f"differential: a pickle reached {LOG.broken}: {data!r}")
    return LOG.events
