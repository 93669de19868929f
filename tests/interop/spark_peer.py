"""Spark: examples/spark_encode.py, a worker of which is killed in the middle; its table is compared with the ids of
one process.

    spark_peer.py FOLDER"""

import os
import pathlib
import sys

import pyarrow
import pyarrow.parquet

from engine_corpus import EXAMPLES, report, run, texts_of, unpack_package, was_killed


def write_table(path):
    texts = [None if at % 97 == 5 else text for at, text in enumerate(texts_of(25000, 7))]
    table = pyarrow.table({"n": range(len(texts)), "text": texts})
    pyarrow.parquet.write_table(table, path, row_group_size=3000, compression="none")
    return table


def configure(folder):
    """Without Snappy: its Java package takes a machine that has musl, too, for one without glibc."""
    (folder / "conf").mkdir()
    (folder / "conf" / "spark-defaults.conf").write_text("spark.sql.parquet.compression.codec uncompressed\n")
    return {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_DIRS": str(folder),
            "SPARK_CONF_DIR": str(folder / "conf")}


def main(folder):
    if not unpack_package(folder):
        return
    import heft
    table = write_table(folder / "in.parquet")
    mark = folder / "killed"
    ran = run([sys.executable, EXAMPLES / "spark_encode.py", folder / "in.parquet", folder / "out"],
              HEFT_TEST_KILL=str(mark), **configure(folder))
    if not report(ran.returncode == 0, "spark_encode.py", ran.stderr):
        return
    was_killed(mark)
    report((folder / "out" / "_SUCCESS").exists(), "the job has committed its output", os.listdir(folder / "out"))
    parts = [pyarrow.parquet.read_table(path) for path in sorted((folder / "out").glob("*.parquet"))]
    found = pyarrow.concat_tables(parts).sort_by("n")
    report(found.drop_columns("ids") == table, "the other columns")
    expected = heft.get_encoding("gpt2").encode_arrow(table["text"])
    report(found["ids"].to_pylist() == expected.to_pylist(), "the column ids, with its nulls")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
