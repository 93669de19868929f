#!/usr/bin/env python3
"""encode_parquet.py: copies Parquet files, with the tokens of a column of texts beside it.

    encode_parquet.py [--column text] [--vocab PATH] [--threads N] FILE.parquet… OUTPUT/

Batches of rows are read with pyarrow, and their texts are encoded where they lie, without objects of Python. The new
column `ids` is a list of uint32, null where the text is null. The rows of Ray (map_batches with
batch_format="pyarrow") and of Spark (mapInArrow) are encoded by the same function.
"""
import argparse
import pathlib

import heft
import pyarrow
import pyarrow.parquet

IDS = pyarrow.field("ids", pyarrow.large_list(pyarrow.field("item", pyarrow.uint32(), nullable=False)))


def with_ids(batch, column, encoding, threads=1):
    """A record batch or table, with the column `ids`."""
    ids = encoding.encode_arrow(batch.column(column), num_threads=threads)
    return batch.append_column(IDS.name, ids.cast(IDS.type))


def copy(source, target, column, encoding, threads):
    with pyarrow.parquet.ParquetFile(source) as file:
        schema = file.schema_arrow.append(IDS)
        with pyarrow.parquet.ParquetWriter(target, schema) as out:
            for batch in file.iter_batches():
                out.write_batch(with_ids(batch, column, encoding, threads).cast(schema))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--column", default="text")
    parser.add_argument("--vocab")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    parser.add_argument("output", type=pathlib.Path)
    options = parser.parse_args()
    encoding = heft.from_file(options.vocab) if options.vocab else heft.get_encoding("gpt2")
    options.output.mkdir(exist_ok=True)
    for path in options.files:
        copy(path, options.output / path.name, options.column, encoding, options.threads)


if __name__ == "__main__":
    main()
