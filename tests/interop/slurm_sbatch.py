#!/usr/bin/env python3
"""A small sbatch, for the tests: it runs the jobs at once, an array two tasks at a time, and returns when they have
ended. A task that is killed by a signal is queued again once, with --requeue. The states of jobs are in the folder
SBATCH_STATE; a dependency `afterok` on a job that has failed cancels the job, as --kill-on-invalid-dep=yes does.

    sbatch [--parsable] [--array=A-B] [--requeue] [--dependency=afterok:ID] [options…] SCRIPT [ARGUMENT…]
"""
import concurrent.futures
import os
import pathlib
import subprocess
import sys


def run_task(script, number, can_requeue):
    """Whether the task has ended with status 0. Slurm gives each attempt the environment of the submission."""
    names = {} if number is None else {"SLURM_ARRAY_TASK_ID": str(number)}
    ended = subprocess.run(["sh", *script], env={**os.environ, **names}, stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL).returncode
    if can_requeue and (ended < 0 or ended > 128):
        print(f"sbatch: task {number} was killed, and is queued again", file=sys.stderr)
        return run_task(script, number, False)
    return ended == 0


def main(words):
    options = [word for word in words if word.startswith("--")]
    given = dict(word[2:].partition("=")[::2] for word in options)
    script = words[len(options):]
    state = pathlib.Path(os.environ["SBATCH_STATE"])
    state.mkdir(exist_ok=True)
    job = len(list(state.iterdir())) + 1
    before = given.get("dependency", "").removeprefix("afterok:")
    if before and (state / before).read_text() != "COMPLETED":
        print("sbatch: DependencyNeverSatisfied", file=sys.stderr)
        (state / str(job)).write_text("CANCELLED")
    else:
        first, _, last = given.get("array", "").partition("-")
        numbers = range(int(first), int(last) + 1) if first else [None]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            fine = list(pool.map(lambda number: run_task(script, number, "requeue" in given), numbers))
        (state / str(job)).write_text("COMPLETED" if all(fine) else "FAILED")
    print(job)


if __name__ == "__main__":
    main(sys.argv[1:])
