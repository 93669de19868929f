#!/usr/bin/env python3
"""spark_encode.py: adds a column of tokens to a table of Spark, with mapInArrow.

    spark_encode.py [--column text] [--vocab PATH] [--master local[2,4]] INPUT.parquet… OUTPUT/

Record batches of Arrow come to the Python workers, and their texts are encoded where they lie, without objects of
Python. The column `ids` is array<int>: Spark has no unsigned types, and lists of 2^31 bytes at most. The vocabulary
must be visible under the same path on all machines. `local[2,4]` is two cores of this machine, and up to four
attempts for a task: with `local[2]` the first worker that dies ends the job.
"""
import argparse
import pathlib

import heft
import pyarrow
from pyspark.sql import SparkSession
from pyspark.sql.types import ArrayType, IntegerType, StructField, StructType

IDS = pyarrow.list_(pyarrow.field("element", pyarrow.int32(), nullable=False))


def encoder_of(encoding, column):
    """The function for mapInArrow. `encoding` is pickled as its path and SHA-256, and opened once for each task."""
    def add_ids(batches):
        for batch in batches:
            ids = encoding.encode_arrow(batch.column(column), num_threads=1)
            yield batch.append_column("ids", ids.cast(IDS))
    return add_ids


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--column", default="text")
    parser.add_argument("--vocab")
    parser.add_argument("--master", default="local[2,4]", help="a cluster, or this machine")
    parser.add_argument("files", nargs="+")
    parser.add_argument("output", type=pathlib.Path)
    options = parser.parse_args()
    encoding = heft.from_file(options.vocab) if options.vocab else heft.get_encoding("gpt2")
    spark = SparkSession.builder.master(options.master).config("spark.ui.enabled", "false").getOrCreate()
    rows = spark.read.parquet(*options.files)
    schema = StructType([*rows.schema, StructField("ids", ArrayType(IntegerType(), containsNull=False))])
    rows.mapInArrow(encoder_of(encoding, options.column), schema).write.parquet(str(options.output.absolute()))
    spark.stop()


if __name__ == "__main__":
    main()
