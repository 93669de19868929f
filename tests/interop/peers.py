"""Client of a long-running program in the environment of other libraries (see answer.py)."""

import json
import subprocess


class Peer:
    """Takes the command; close(), or the end of a `with` block, ends the program."""

    def __init__(self, *command, stderr=subprocess.DEVNULL):
        self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=stderr, text=True)

    def ask(self, do, **rest):
        print(json.dumps({"do": do, **rest}), file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{do}: the peer ended")
        answer = json.loads(line)
        if isinstance(answer, dict) and "broke off" in answer:
            raise RuntimeError(f"{do}: {answer['broke off']}")
        return answer

    def close(self):
        self.process.stdin.close()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
