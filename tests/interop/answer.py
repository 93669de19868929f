"""A program that answers: the other side of peers.Peer, in the environment that it was started in.
Needs nothing but Python: programs of bench/ use it, too."""

import json
import os
import sys
import traceback


def serve(tasks):
    """Reads a JSON object a line, {"do": NAME, …}: answers with what tasks[NAME] makes of the rest, or
    with {"broke off": why}. What libraries print goes to stderr."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = tasks[request.pop("do")](**request)
        except Exception:
            answer = {"broke off": traceback.format_exc()}
        print(json.dumps(answer), file=answers, flush=True)
