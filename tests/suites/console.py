"""Commands with their expected output, as a terminal shows them.

    $ heft ls missing.pth
    --- stderr
    heft: missing.pth: …
    --- exit 2

The lines after a command are its stdout, until the next command or a --- line. Without `--- stderr`
stderr must be empty, without `--- exit` the status must be 0. `…` matches any text within a line, a
line that is only `…` any number of lines. A line that ends in a backslash continues the command. Blank
lines at the end of an output are ignored. Lines before the first command are comments.
"""
import re
import subprocess
from dataclasses import dataclass, field

from .common import Fail, diff, run, text_of

SECTION = re.compile(r"^--- (stderr|exit (\d+))$")


@dataclass
class Command:
    lines: list  # as written, with its "$ "
    stdout: list = field(default_factory=list)
    stderr: list = field(default_factory=list)
    status: int = 0

    def shell(self):
        words = [line.removesuffix("\\") for line in self.lines]
        words[0] = words[0].removeprefix("$ ")
        return "\n".join(words) if len(words) == 1 else " ".join(word.strip() for word in words)


def parse(lines):
    """Returns (comment lines before the first command, commands)."""
    head, commands, target = [], [], None
    continued = False
    for line in lines:
        section = SECTION.match(line)
        if continued:
            commands[-1].lines.append(line)
            continued = line.endswith("\\")
        elif line.startswith("$ "):
            commands.append(Command([line]))
            target = commands[-1].stdout
            continued = line.endswith("\\")
        elif not commands:
            head.append(line)
        elif section and section[2]:
            commands[-1].status = int(section[2])
        elif section:
            target = commands[-1].stderr
        else:
            target.append(line)
    return head, commands


def unparse(head, commands):
    lines = list(head)
    for command in commands:
        lines += command.lines + command.stdout
        if stripped(command.stderr):
            lines += ["--- stderr"] + command.stderr
        if command.status:
            lines += [f"--- exit {command.status}"]
    return lines


def stripped(lines):
    """Returns the lines without blank lines at the end."""
    end = len(lines)
    while end and not lines[end - 1].strip():
        end -= 1
    return lines[:end]


def output_matches(expected, actual):
    pattern = ""
    for line in stripped(expected):
        if line.strip() == "…":
            pattern += r"(?:[^\n]*\n)*?"
        else:
            pattern += "[^\n]*".join(re.escape(part) for part in line.split("…")) + "\n"
    return re.fullmatch(pattern, "\n".join(stripped(actual.split("\n"))) + "\n"
                        if actual.strip() else "") is not None


def run_commands(ctx, commands, cwd, merged=False):
    """Runs the commands in one directory and compares. `merged`: stdout and stderr together, any exit
    status. Returns the commands with their actual output, and the differences."""
    actual, problems = [], []
    for command in commands:
        done = run(ctx, ["sh", "-c", command.shell()], cwd=cwd,
                   stderr=subprocess.STDOUT if merged else subprocess.PIPE)
        outcome = Command(command.lines, kept_lines(command.stdout, text_of(done.stdout)),
                          kept_lines(command.stderr, text_of(done.stderr)),
                          command.status if merged else done.returncode)
        if done.returncode > 2 and merged:
            problems.append(f"{command.lines[0]}\nexit {done.returncode}")
        if (outcome.stdout, outcome.stderr, outcome.status) != (
                command.stdout, command.stderr, command.status):
            problems.append(diff("\n".join(unparse([], [command])), "\n".join(unparse([], [outcome]))))
        actual.append(outcome)
    return actual, problems


def kept_lines(expected, actual):
    """Returns the expected lines, including their `…`, where they match; otherwise the actual ones."""
    return expected if output_matches(expected, actual) else stripped(actual.split("\n"))


def check(ctx, commands, cwd, merged=False):
    problems = run_commands(ctx, commands, cwd, merged)[1]
    if problems:
        raise Fail("\n".join(problems))
