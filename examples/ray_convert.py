#!/usr/bin/env python3
"""ray_convert.py: converts a checkpoint on the machines of a Ray cluster.

    ray_convert.py -o model/ [--parts N] [--address ray://…] -- checkpoint.pth --max-shard-size 5GB

What follows `--` are inputs and options of `heft convert`. `heft plan` divides the conversion, each task is a process,
`heft run PLAN --part K/N` on one core, and `heft commit` gives the files their names; they are what one process would
have written, byte for byte. If a task fails, `heft abort` deletes what is temporary. Inputs and output must be visible
under the same paths on all machines, and the command `heft` be installed there (--heft).
"""
import argparse
import os
import pathlib
import subprocess

import ray


def heft(command, words, folder):
    """Runs heft in `folder`. ConnectionError if it was killed, so that Ray runs the task again; RuntimeError with heft's
    own message for what would fail again: a damaged input, one that has changed since the plan."""
    done = subprocess.run([command, *words], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode < 0:
        raise ConnectionError(f"{command} was killed by signal {-done.returncode}")
    if done.returncode > 0:
        raise RuntimeError(done.stderr.strip())
    return done.stdout


# A part that is done is skipped, and two processes may write the same part at the same time: a heft whose worker has
# died does no harm.
@ray.remote(num_cpus=1, max_retries=3, retry_exceptions=[ConnectionError])
def run(command, plan, number, count, folder):
    heft(command, ["run", plan, "--part", f"{number}/{count}", "-q"], folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--parts", type=int, help="default: one for each core")
    parser.add_argument("--address", help="of a running cluster; absent: one is started on this machine")
    parser.add_argument("--cores", type=int, help="of this machine, without --address")
    parser.add_argument("--heft", default="heft", help="the command, on every machine")
    parser.add_argument("--plan", default="convert.plan", type=pathlib.Path, help="path of the plan, a new file")
    parser.add_argument("words", nargs="+", metavar="INPUT", help="inputs and options of heft convert, after --")
    options = parser.parse_args()
    if options.address:
        ray.init(address=options.address)
    else:  # data is not passed through the object store: the smallest one is enough
        ray.init(num_cpus=options.cores, object_store_memory=80 << 20, include_dashboard=False)
    count, folder, plan = options.parts or int(ray.cluster_resources()["CPU"]), os.getcwd(), str(options.plan)
    text = heft(options.heft, ["plan", *options.words, "-o", options.output, "--parts", str(count), "-q"], folder)
    options.plan.write_text(text)
    try:
        ray.get([run.remote(options.heft, plan, number, count, folder) for number in range(1, count + 1)])
        print(heft(options.heft, ["commit", plan, "-q"], folder), end="")
    except BaseException:
        heft(options.heft, ["abort", plan, "-q"], folder)
        raise
    options.plan.unlink()


if __name__ == "__main__":
    main()
