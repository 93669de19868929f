"""Completions of bash, zsh and fish, each asked in its own shell: bash and zsh at a terminal, with the keys of a
user. `scripts/bootstrap dev` installs the shells; a missing one is skipped.
"""
import os
import pty
import re
import shutil
import subprocess
import threading
import time

from .common import Fail, Skip, must_succeed, run, text_of

ONLY_PLAIN = True

PATIENCE = 60  # seconds for one answer on a busy machine
FILES = ("weights.pth", "web page.html", "other.npz")
VERBS = ("info ls tree explain get verify stats digest scan diff convert plan run commit abort encode join decode count "
         "train help completion").split()
# Command line, whose last word is completed; the words that it must become, or None: those of `dtypes`.
CASES = [
    ("heft con", {"convert"}),
    ("heft co", {"commit", "convert", "count", "completion"}),
    ("heft we", {"weights.pth", "web page.html"}),
    ("heft ls we", {"weights.pth", "web page.html"}),
    ("heft ls --s", {"--set", "--sort", "--step"}),
    ("heft --js", {"--json"}),
    ("heft weights.pth --ht", {"--html"}),
    ("heft -q ls --so", {"--sort"}),
    ("heft -q ver", {"verify"}),
    ("heft ls --sort ", {"name", "size", "offset", "file"}),
    ("heft convert --to sa", {"safetensors"}),
    ("heft convert --to=sa", {"--to=safetensors"}),
    ("heft convert --to np", {"npz", "npy"}),
    ("heft ls --from torch-", {"torch-dcp", "torch-export", "torch-legacy", "torch-tar"}),
    ("heft convert weights.pth -o we", {"weights.pth", "web page.html"}),
    ("heft convert --torch-layout ", {"1.6", "2.1", "2.8"}),
    ("heft get weights.pth --cast ", None),
    ("heft get weights.pth --cast BF", {"BF16"}),
    ("heft convert --cast '*=BF", {"*=BF16"}),
    ("heft convert --cast x=BF", {"x=BF16"}),
    ("heft convert --cast=x=BF", {"--cast=x=BF16"}),
    ("heft convert --cast ", set()),
    ("heft ls -g ", set()),
    ("heft ls -j ", set()),
    ("heft info --html we", {"weights.pth", "web page.html"}),
    ("heft verify --against ot", {"other.npz"}),
    ("heft help ver", {"verify"}),
    ("heft completion ", {"bash", "zsh", "fish"}),
]


def jobs(ctx):
    yield "bash", lambda: check_shell(ctx, "bash", Bash)
    yield "zsh", lambda: check_shell(ctx, "zsh", Zsh)
    yield "fish", lambda: check_shell(ctx, "fish", Fish)
    yield "dtypes offered", lambda: check_dtypes(ctx)
    yield "verbs offered", lambda: check_verbs(ctx)


def dtypes_of_library(ctx):
    """Targets of casts, from the error of an unknown one."""
    done = run(ctx, f"'{ctx.heft}' convert \"$GOLDEN/torch/linear.pt\" -o x.safetensors --dry-run --cast '*=none'",
               shell=True)
    return set(re.search(r"there are (.*)", text_of(done.stderr)).group(1).split())


def check_dtypes(ctx):
    script = text_of(must_succeed(ctx, [ctx.heft, "completion", "bash"]).stdout)
    offered = re.search(r"get:--cast\) _heft_choose '([^']*)'", script).group(1).split()
    if set(offered) != dtypes_of_library(ctx):
        raise Fail(f"the completions offer {offered}, casts are to {sorted(dtypes_of_library(ctx))}")


def check_verbs(ctx):
    """Every verb of `heft help` is one that the cases above know."""
    shown = re.findall(r"^  (\w+) ", text_of(must_succeed(ctx, [ctx.heft, "help"]).stdout), re.M)
    if set(VERBS) - set(shown):
        raise Fail(f"heft help does not list {sorted(set(VERBS) - set(shown))}")


def check_shell(ctx, name, kind):
    if not shutil.which(name):
        raise Skip(f"{name} is not installed: scripts/bootstrap dev")
    folder = ctx.folder(name)
    for file in FILES:
        (folder / file).touch()
    script = folder.parent / f"{folder.name}.script"
    script.write_bytes(must_succeed(ctx, [ctx.heft, "completion", name]).stdout)
    dtypes = dtypes_of_library(ctx)
    problems = []
    with kind(ctx, folder, script) as shell:
        for line, wanted in CASES:
            wanted = dtypes if wanted is None else wanted
            found = set(shell.complete(line))
            if found != shell.spelling(line, wanted):
                problems.append(f"{line}: offers {sorted(found)}, expected {sorted(wanted)}")
        verbs = set(shell.complete("heft "))
        if not set(VERBS) <= verbs:
            problems.append(f"heft: offers {sorted(verbs)}, not {sorted(set(VERBS) - verbs)}")
    if problems:
        raise Fail("\n".join(problems))


class Terminal:
    """A shell at a terminal, asked by keys: the text of a line, then the key that inserts all completions,
    then a function of the shell in front of the line, which writes its words to a file."""

    def __init__(self, ctx, folder, script):
        self.folder, self.asked, self.answers = folder, 0, ctx.folder("answers")
        self.script = script
        env = dict(ctx.env, LC_ALL="C.UTF-8", TERM="xterm", HOME=str(folder), ANSWERS=str(self.answers),
                   INPUTRC="/dev/null")
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(self.COMMAND, cwd=folder, env=env, stdin=slave, stdout=slave, stderr=slave,
                                        start_new_session=True)
        os.close(slave)
        self.seen = bytearray()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def __enter__(self):
        self.type(self.setup() + "answer ready\n")
        self.answer()
        return self

    def __exit__(self, *exc):
        self.process.kill()
        self.process.wait()
        self.reader.join(5)
        os.close(self.master)

    def read(self):
        try:
            while data := os.read(self.master, 65536):
                self.seen += data
        except OSError:
            pass  # the shell has ended

    def type(self, keys):
        os.write(self.master, keys.encode())

    def answer(self):
        """Words of the next answer."""
        path, end = self.answers / str(self.asked), time.monotonic() + PATIENCE
        while not path.exists():
            if time.monotonic() > end or self.process.poll() is not None:
                raise Fail("the shell does not answer:\n" + text_of(bytes(self.seen[-2000:])))
            time.sleep(0.01)
        self.asked += 1
        return path.read_text().splitlines()

    def complete(self, line):
        """What the last word of the line becomes."""
        self.type(line + self.ALL + "\x01answer " + "\n")
        kept = len(self.words(line))
        return self.answer()[kept:]

    @staticmethod
    def words(line):
        """The words in front of the one that is completed."""
        return line.split()[:-1] if not line.endswith(" ") else line.split()

    @staticmethod
    def spelling(line, wanted):
        """A word without completions stays as it is."""
        return wanted or {line.split(" ")[-1]} - {""}


ANSWER = """answer() { printf '%s\\n' "$@" >"$ANSWERS/new"; mv "$ANSWERS/new" "$ANSWERS/$((asked++))"; }
"""


class Bash(Terminal):
    COMMAND = ["bash", "--norc", "--noprofile", "-i"]
    ALL = "\x18\x01"

    def setup(self):
        return (f"asked=0; set -f; PS1=; {ANSWER}. '{self.script}'\n"
                "bind '\"\\C-x\\C-a\": insert-completions'; bind 'set bell-style none'\n")


class Zsh(Terminal):
    COMMAND = ["zsh", "-f", "-i"]
    ALL = "\x18\x01"

    def setup(self):
        folder = self.answers / "functions"
        folder.mkdir()
        shutil.copy(self.script, folder / "_heft")
        return (f"asked=0; PS1=; setopt noglob; {ANSWER}fpath=('{folder}' $fpath); autoload -Uz compinit; "
                "compinit -u -d \"$ANSWERS/dump\"; zle -C all complete-word _generic; bindkey '^X^A' all; "
                "bindkey -e '^A' beginning-of-line; "
                "zstyle ':completion:all:*' completer _all_matches _complete; "
                "zstyle ':completion:all:*' insert true\n")


class Fish:
    def __init__(self, ctx, folder, script):
        self.ctx, self.folder, self.script = ctx, folder, script

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        pass

    def complete(self, line):
        env = dict(self.ctx.env, LC_ALL="C.UTF-8", HOME=str(self.folder.parent / "home"), LINE=line)
        done = must_succeed(self.ctx, ["fish", "--no-config", "-c", f"source '{self.script}'; complete -C $LINE"],
                            cwd=self.folder, env=env)
        return [row.split("\t")[0] for row in text_of(done.stdout).splitlines()]

    @staticmethod
    def spelling(line, wanted):
        return wanted
