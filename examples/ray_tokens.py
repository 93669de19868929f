#!/usr/bin/env python3
"""ray_tokens.py: encodes a corpus to one file of tokens on the machines of a Ray cluster.

    ray_tokens.py -o train.bin [--format megatron] [--parts N] [--address ray://…] -- corpus/ --jsonl text --eot id

What follows `--` are inputs and options of `heft encode`. Each task is a process, `heft encode --part K/N` on one
core; at the end `heft join` makes the file that one process would have written, byte for byte. The folder of the
corpus and that of the output must be visible under the same paths on all machines, and the command `heft` be
installed there (--heft).
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys

import ray


def heft(command, words, folder):
    """Runs heft in `folder`. ConnectionError if it was killed, so that Ray runs the task again, on another machine if
    need be; RuntimeError with heft's own message for what would fail again: bad options, a damaged input."""
    done = subprocess.run([command, *words], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode < 0:
        raise ConnectionError(f"{command} was killed by signal {-done.returncode}")
    if done.returncode > 0:
        raise RuntimeError(done.stderr.strip())


# A worker that dies takes its task with it, but not the heft that it has started: the task runs again beside that
# one. Both write the same bytes to temporary files of their own, and -f lets the second replace the file of the first.
@ray.remote(num_cpus=1, max_retries=3, retry_exceptions=[ConnectionError])
def encode(command, words, number, count, path, folder):
    heft(command, ["encode", *words, "--part", f"{number}/{count}", "-o", path, "--sort", "-j", "1", "-f", "-q"], folder)
    return number


def encode_parts(options, words, paths, folder):
    """Starts all tasks; a progress line for each that ends. The first error ends the others."""
    left = [encode.remote(options.heft, words, number, len(paths), path, folder)
            for number, path in enumerate(paths, 1)]
    while left:
        done, left = ray.wait(left)
        print(f"part {ray.get(done[0])}/{len(paths)} is done", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", required=True, type=pathlib.Path)
    parser.add_argument("--format", help="of the tokens; by the extension of the output if absent")
    parser.add_argument("--parts", type=int, help="default: four for each core, as parts take different times")
    parser.add_argument("--address", help="of a running cluster; absent: one is started on this machine")
    parser.add_argument("--cores", type=int, help="of this machine, without --address")
    parser.add_argument("--heft", default="heft", help="the command, on every machine")
    parser.add_argument("words", nargs="+", metavar="INPUT", help="inputs and options of heft encode, after --")
    options = parser.parse_args()
    if options.address:
        ray.init(address=options.address)
    else:  # data is not passed through the object store: the smallest one is enough
        ray.init(num_cpus=options.cores, object_store_memory=80 << 20, include_dashboard=False)
    count = options.parts or 4 * int(ray.cluster_resources()["CPU"])
    of_format = ["--format", options.format] if options.format else []
    output = options.output.absolute()
    parts = output.with_name(f"{output.name}.parts")
    parts.mkdir(exist_ok=True)
    paths = [str(parts / f"{number:06}{output.suffix or '.bin'}") for number in range(1, count + 1)]
    encode_parts(options, options.words + of_format, paths, os.getcwd())
    heft(options.heft, ["join", *paths, *of_format, "-o", str(output), "-q"], os.getcwd())
    shutil.rmtree(parts)


if __name__ == "__main__":
    main()
