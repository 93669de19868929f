"""Server side of peers.Peer: a program that answers requests, in the environment in which it was
started. Needs only Python, and is used by programs of bench/, too."""

import json
import os
import sys
import traceback


def serve(tasks):
    """Reads one JSON object per line, {"do": NAME, …}, and answers with the result of tasks[NAME] called
    with the rest, or with {"broke off": why}. Output of libraries goes to stderr."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = tasks[request.pop("do")](**request)
        except Exception:
            answer = {"broke off": traceback.format_exc()}
        print(json.dumps(answer), file=answers, flush=True)
