"""Ray and Slurm: examples/ray_tokens.py, ray_convert.py, ray_encode.py and slurm_array.sh, whose workers are killed in the middle;
their results are compared with those of one process.

    ray_peer.py FOLDER

Ray is that of the environment. Slurm is stood in for by a small sbatch (slurm_sbatch.py), because slurmctld and slurmd
want users, keys and a configuration of the machine."""

import json
import os
import pathlib
import shutil
import sys

import pyarrow
import pyarrow.parquet

from engine_corpus import EXAMPLES, HEFT, equal, heft, report, run, texts_of, unpack_package, was_killed, write_lines

HERE = pathlib.Path(__file__).resolve().parent
CLUSTER = []  # options: the cluster of main

# Runs heft; of part 2 the first attempt is killed as soon as its temporary file exists, or the worker that has started
# it, as the name of the program says. The mark is made by the one attempt that does so.
KILLING_HEFT = r'''#!{python} -IS
import os, pathlib, signal, subprocess, sys, time
words = sys.argv[1:]
part = words[words.index("--part") + 1] if "--part" in words else ""
mark = pathlib.Path(sys.argv[0] + ".killed")
try:
    if not part.startswith("2/"):
        raise FileExistsError
    mark.mkdir()
except FileExistsError:
    os.execv({heft!r}, [{heft!r}, *words])
child = subprocess.Popen([{heft!r}, *words])
if words[0] == "run":  # the output of ray_conversion
    folder, begun, ended = pathlib.Path("parts"), ".*.file-*", ".*.part-2"
else:
    target = pathlib.Path(words[words.index("-o") + 1])
    folder, begun, ended = target.parent, "." + target.name + ".heft-*", target.name
while child.poll() is None and not any(folder.glob(begun)):
    time.sleep(0.0005)
(mark / ("complete" if any(folder.glob(ended)) else "in the middle")).touch()
if "worker" in sys.argv[0]:
    os.kill(os.getppid(), signal.SIGKILL)
else:
    child.kill()
    os.kill(os.getpid(), signal.SIGKILL)
'''


def killing(folder, name):
    path = folder / name
    path.write_text(KILLING_HEFT.format(python=sys.executable, heft=HEFT))
    path.chmod(0o755)
    return path


def killed(path):
    return report((pathlib.Path(f"{path}.killed") / "in the middle").exists(), f"{path.name}: killed in the middle")


def encode_whole(folder, corpus):
    os.chdir(folder)
    for form, eot in ("bin", "id"), ("megatron", "none"):
        heft("encode", corpus, "--sort", "--jsonl", "text", "--eot", eot, "--format", form, "-o", folder / f"{form}.bin",
             "-q")


def ray_tasks(folder, corpus):
    """A worker of Ray is killed, then heft itself."""
    words = ["--", corpus.name, "--jsonl", "text", "--eot"]
    killer = killing(folder, "heft-worker")
    ran = run([sys.executable, EXAMPLES / "ray_tokens.py", "--heft", killer, *CLUSTER, "--parts", 5, "-o", "r/t.bin",
               *words, "id"])
    report(ran.returncode == 0, "ray_tokens.py, a worker killed", ran.stderr)
    killed(killer)
    equal(folder / "r" / "t.bin", folder / "bin.bin", "bin by Ray's tasks")
    report(os.listdir(folder / "r") == ["t.bin"], "nothing is left beside the output", os.listdir(folder / "r"))
    killer = killing(folder, "heft-killed")
    ran = run([sys.executable, EXAMPLES / "ray_tokens.py", "--heft", killer, *CLUSTER, "--parts", 3, "-o", "r/m.bin",
               "--format", "megatron", *words, "none"])
    report(ran.returncode == 0, "ray_tokens.py, heft killed", ran.stderr)
    killed(killer)
    for end in "bin", "idx":
        equal(folder / "r" / f"m.{end}", folder / f"megatron.{end}", f"Megatron's .{end} by Ray's tasks")


def ray_refuses(folder):
    """A task that fails is not repeated, its reason is shown, and no output appears."""
    ran = run([sys.executable, EXAMPLES / "ray_tokens.py", "--heft", HEFT, *CLUSTER, "--parts", 2, "-o", "r/x.bin",
               "--", "bad.jsonl", "--jsonl", "text", "--eot", "id"])
    report(ran.returncode != 0 and "bad.jsonl: offset 0x17: line 2" in ran.stderr, "a bad record is named", ran.stderr)
    report(not (folder / "r" / "x.bin").exists(), "no output of a run that failed")


def write_tensors(path):
    """A safetensors file of 24 MB, without its library."""
    names = [f"layer.{number:02}.weight" for number in range(12)]
    rows = {name: {"dtype": "F32", "shape": [512, 1024], "data_offsets": [at << 21, (at + 1) << 21]}
            for at, name in enumerate(names)}
    header = json.dumps(rows).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + os.urandom(len(names) << 21))


def ray_conversion(folder):
    """A conversion in parts: heft is killed in one of them."""
    write_tensors(folder / "in.safetensors")
    heft("convert", "in.safetensors", "-o", "whole/", "--max-shard-size", "7MB", "-q")
    killer = killing(folder, "heft-run")
    words = ["--", "in.safetensors", "--max-shard-size", "7MB"]
    ran = run([sys.executable, EXAMPLES / "ray_convert.py", "--heft", killer, *CLUSTER, "--parts", 3, "-o", "parts/", *words])
    report(ran.returncode == 0, "ray_convert.py, heft killed", ran.stderr)
    killed(killer)
    names = sorted(os.listdir(folder / "whole"))
    report(sorted(os.listdir(folder / "parts")) == names, "files of a conversion in parts", os.listdir(folder / "parts"))
    for name in names:
        equal(folder / "parts" / name, folder / "whole" / name, f"{name} by Ray's tasks")


def write_tables(folder):
    """Three Parquet files with row groups and nulls; the same texts as JSON lines, for heft."""
    folder.mkdir()
    lines = []
    for number in range(3):
        texts = texts_of(6000, 100 + number)
        table = pyarrow.table({"n": range(number * 6000, number * 6000 + 6000), "text": [None if at % 97 == 5 else text
                                                                for at, text in enumerate(texts)]})
        pyarrow.parquet.write_table(table, folder / f"{number}.parquet", row_group_size=1500)
        lines += [json.dumps({"text": text}) for text in table["text"].to_pylist() if text is not None]
    (folder.parent / "rows.jsonl").write_text("\n".join(lines) + "\n")
    return [folder / f"{number}.parquet" for number in range(3)]


def mark_of(folder):
    """The file that the worker makes which is killed: workers have the environment of the cluster."""
    mark = folder / "killed-worker"
    mark.unlink(missing_ok=True)
    return mark


def ray_stream(folder, tables):
    mark = mark_of(folder)
    ran = run([sys.executable, EXAMPLES / "ray_encode.py", *CLUSTER, "--megatron", *tables, "rows.bin"])
    report(ran.returncode == 0, "ray_encode.py to .bin", ran.stderr)
    was_killed(mark)
    # The package has tiktoken's version of Unicode, the command that of the original.
    heft("encode", "rows.jsonl", "--jsonl", "text", "--eot", "id", "--unicode", "16.0", "--format", "megatron",
         "-o", folder / "whole.bin", "-q")
    for ending in ("bin", "idx"):
        equal(folder / f"rows.{ending}", folder / f"whole.{ending}", f"{ending} of Megatron by Ray Data")


def ray_rows(folder, tables):
    """write_parquet keeps no order of rows."""
    import heft as package
    mark = mark_of(folder)
    ran = run([sys.executable, EXAMPLES / "ray_encode.py", *CLUSTER, *tables, "encoded"])
    if not report(ran.returncode == 0, "ray_encode.py to Parquet", ran.stderr):
        return
    was_killed(mark)
    paths = sorted((folder / "encoded").glob("*.parquet"))
    found = pyarrow.concat_tables([pyarrow.parquet.read_table(path) for path in paths]).sort_by("n")
    rows = pyarrow.concat_tables([pyarrow.parquet.read_table(path) for path in tables])
    report(found.drop_columns("ids") == rows, "the other columns")
    expected = package.get_encoding("gpt2").encode_arrow(rows["text"])
    report(found["ids"].to_pylist() == expected.to_pylist(), "the column ids, with its nulls")


def slurm(folder, corpus):
    """The array: of part 2 the first attempt is killed, and queued again; the join waits for all parts."""
    tools = folder / "slurm"
    tools.mkdir()
    shutil.copy(HERE / "slurm_sbatch.py", tools / "sbatch")
    (tools / "sbatch").chmod(0o755)
    killer = killing(tools, "heft")
    names = {"PATH": f"{tools}:{os.environ['PATH']}", "SBATCH_STATE": str(tools / "state"), "INPUTS":
             f"{corpus.name} --jsonl text --eot id", "PARTS": "4"}
    ran = run(["sh", EXAMPLES / "slurm_array.sh"], OUTPUT="s.bin", **names)
    report(ran.returncode == 0, "slurm_array.sh", ran.stderr)
    killed(killer)
    equal(folder / "s.bin", folder / "bin.bin", "bin by an array of jobs")
    (folder / "bad.jsonl").write_text('{"text": "a"}\n{"text": 1}\n')
    names["INPUTS"] = "bad.jsonl --jsonl text --eot id"
    ran = run(["sh", EXAMPLES / "slurm_array.sh"], OUTPUT="b.bin", **names)
    report(not (folder / "b.bin").exists() and "DependencyNeverSatisfied" in ran.stderr,
           "the join of an array that failed does not run", ran.stderr)


def start_cluster(folder):
    """A cluster of two cores, once for all: each start takes seconds."""
    import ray
    os.environ.update(RAY_USAGE_STATS_ENABLED="0", PYTHONWARNINGS="ignore", HEFT_TEST_KILL=str(mark_of(folder)))
    ray.init(num_cpus=2, object_store_memory=200 << 20, include_dashboard=False, log_to_driver=False,
             _temp_dir=str(folder / "ray"))
    CLUSTER.extend(["--address", ray.get_runtime_context().gcs_address])


def main(folder):
    corpus = folder / "corpus"
    write_lines(corpus, 5, 1200)
    encode_whole(folder, corpus)
    slurm(folder, corpus)
    package = unpack_package(folder)
    start_cluster(folder)
    (folder / "r").mkdir()
    ray_tasks(folder, corpus)
    ray_refuses(folder)
    ray_conversion(folder)
    if package:
        tables = write_tables(folder / "tables")
        ray_stream(folder, tables)
        ray_rows(folder, tables)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
