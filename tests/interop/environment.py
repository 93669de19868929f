"""Pinned virtual environments, created once and kept in the user's cache directory.

    ${XDG_CACHE_HOME:-~/.cache}/heft/interop-main-<hash of the requirements and the Python>/

The packages of requirements-NAME-optional.txt are installed if possible, one at a time.

Run as a program, it creates the environment and prints the path of its interpreter.
"""

import contextlib
import fcntl
import hashlib
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


class Unavailable(Exception):
    """The environment cannot be created here; the text is a one-line reason."""


def cache_folder():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return pathlib.Path(base) / "heft"


def folder_of(name, requirements):
    state = hashlib.sha256(requirements.read_bytes())
    state.update(repr(sys.version_info[:2]).encode())
    return cache_folder() / f"interop-{name}-{state.hexdigest()[:16]}"


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR")]
    return (errors or lines or ["no reason given"])[-1].removeprefix("ERROR: ")


def run(command, what):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        raise Unavailable(f"{what}: {last_line(done.stderr or done.stdout)}")


def install(folder, *words):
    """pip without prompts; retries a registry that does not answer five times, with growing delays."""
    run([str(folder / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "--no-input", "install",
         "--quiet", "--retries", "5", "--timeout", "60", *words], f"pip install {words[-1]}")


def build(folder, requirements):
    print(f"interop: creating {folder} (once)", file=sys.stderr, flush=True)
    run([sys.executable, "-m", "venv", "--clear", str(folder)],
        "python3 -m venv (Debian: python3-venv)")
    install(folder, "--requirement", str(requirements))
    optional = requirements.with_name(requirements.stem + "-optional.txt")
    for package in optional.read_text().split() if optional.exists() else []:
        try:
            install(folder, package)
        except Unavailable as reason:
            print(f"interop: optional package not installed: {reason}", file=sys.stderr, flush=True)
    (folder / "ready").touch()


def interpreter(name="main"):
    """Python of the environment, which is created if it is missing; raises Unavailable if it cannot
    be."""
    requirements = HERE / f"requirements-{name}.txt"
    folder = folder_of(name, requirements)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with open(folder.with_suffix(".lock"), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not is_ready(folder):
                build(folder, requirements)
    except OSError as reason:
        raise Unavailable(str(reason)) from None
    return folder / "bin" / "python"


def is_ready(folder):
    """The environment is complete, and its Python still exists."""
    return (folder / "ready").exists() and os.access(folder / "bin" / "python", os.X_OK)


def has_torch(python):
    done = subprocess.run([python, "-c", "import torch"], stdin=subprocess.DEVNULL,
                          capture_output=True)
    return done.returncode == 0


def apt(*words):
    """apt without prompts; waits for other installations, and retries a mirror."""
    run(["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q", "-o", "DPkg::Lock::Timeout=300", "-o",
         "Acquire::Retries=3", *words], f"apt-get {words[0]}")


def old_torch():
    """The Python for which the distribution packages torch: 1.13 in Debian 12. Installs it if it is
    missing and installation is allowed."""
    python = "/usr/bin/python3"
    if not os.access(python, os.X_OK):
        raise Unavailable(f"{python} does not exist")
    if not has_torch(python):
        if os.geteuid() != 0:
            raise Unavailable("python3-torch is not installed (Debian: apt-get install python3-torch)")
        print("interop: installing python3-torch (once)", file=sys.stderr, flush=True)
        with contextlib.suppress(Unavailable):  # an outdated package list is not an error
            apt("update")
        apt("install", "--yes", "--no-install-recommends", "python3-torch")
    return python


def enter(name, program):
    """Runs `program` again inside the environment, unless it already runs there."""
    if os.environ.get("HEFT_VENV") == name:
        return
    python = str(interpreter(name))
    os.environ["HEFT_VENV"] = name
    sys.stdout.flush()
    os.execv(python, [python, program, *sys.argv[1:]])


if __name__ == "__main__":
    try:
        print(interpreter(*sys.argv[1:]))
    except Unavailable as reason:
        sys.exit(f"interop: {reason}")
