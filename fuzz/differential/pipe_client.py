"""What the comparisons with other implementations share: the client of their program (answer_pipe.h), and the
arguments."""
import argparse
import struct
import subprocess
import time
from pathlib import Path


class PipeClient:
    """One process that answers questions in batches, and is started again if it ends."""

    def __init__(self, command):
        self.command = [command]
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, questions, option=0):
        """The answer of each question, less than the capacity of a pipe in all; None if the program ended."""
        out = b"".join(struct.pack("<II", len(data), option) + data for data in questions)
        try:
            self.process.stdin.write(out + bytes(8))  # an empty question ends the batch
            self.process.stdin.flush()
            return [self.answer() for _ in range(len(questions) + 1)][:-1]
        except (OSError, EOFError):
            self.process.wait()
            self.start()
            return None

    def answer(self):
        head = self.process.stdout.read(4)
        if len(head) < 4:
            raise EOFError
        return self.process.stdout.read(struct.unpack("<I", head)[0])


def parse_arguments(doc):
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 2**32)
    parser.add_argument("--broken", type=Path)
    parser.add_argument("--replay", type=Path, nargs="+")
    return parser.parse_args()


def folder_of_finds(options):
    folder = options.broken or options.build / "broken"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def files_of(places):
    """The files that are named, and those in the directories that are named."""
    for place in places:
        yield from sorted(path for path in place.iterdir() if path.is_file()) if place.is_dir() else [place]
