#!/usr/bin/env python3
"""ray_encode.py: encodes a column of texts in Parquet files with Ray Data.

    ray_encode.py [--column text] [--vocab PATH] [--address ray://…] FILE.parquet… OUTPUT/       rows with a column `ids`
    ray_encode.py [--column text] [--vocab PATH] [--address ray://…] FILE.parquet… OUTPUT.bin    one stream of ids
    ray_encode.py --megatron … FILE.parquet… OUTPUT.bin          and OUTPUT.idx, as Megatron reads them

Batches come as tables of pyarrow, and their texts are encoded where they lie, without objects of Python. OUTPUT/ has
Parquet files of the same rows, in another order (write_parquet keeps none), and `ids`, a list of uint32, null where
the text is null. OUTPUT.bin has the ids of all rows in the order of the files, each text followed by the id of
<|endoftext|>, of 2 bytes or 4: what `heft encode --eot id` writes for the same texts; with --megatron a text is a
sequence and a document. The vocabulary must be visible under the same path on all machines, and aiohttp be installed
there: Ray's reader needs it, for files on disks, too.
"""
import argparse
import os
import pathlib
import struct

import heft
import numpy
import pyarrow
import ray


def with_ids(table, encoding, column):
    """A table, with the column `ids`."""
    return table.append_column("ids", encoding.encode_arrow(table[column], num_threads=1))


def to_bytes(table, encoding, column):
    """One row: the ids of all texts of a table as bytes, each text with <|endoftext|> behind it, and their numbers."""
    kind = kind_of(encoding)
    chunks = [ids.drop_null() for ids in encoding.encode_arrow(table[column], num_threads=1).chunks]
    stream = b"".join(end_texts(ids, encoding.eot_token).astype(kind).tobytes() for ids in chunks)
    lengths = b"".join((numpy.diff(ids.offsets.to_numpy()) + 1).astype("<i4").tobytes() for ids in chunks)
    return pyarrow.table({"bytes": pyarrow.array([stream], pyarrow.large_binary()),
                          "lengths": pyarrow.array([lengths], pyarrow.large_binary())})


def kind_of(encoding):
    return numpy.dtype("<u2" if encoding.max_token_value < 1 << 16 else "<u4")


def end_texts(ids, eot):
    """Ids of a list array, with `eot` after each list."""
    offsets = ids.offsets.to_numpy()
    return numpy.insert(ids.values.to_numpy()[offsets[0]:offsets[-1]], offsets[1:] - offsets[0], eot)


def write_file(target, pieces):
    """Writes a file that has its name once it is complete."""
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with open(temporary, "wb") as out:
            for piece in pieces:
                out.write(piece)
            os.fsync(out.fileno())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def stream_of(rows, lengths):
    """The bytes of all rows in order; `lengths` gets those of the texts."""
    for batch in rows.iter_batches(batch_format="pyarrow", batch_size=None):
        lengths += [numpy.frombuffer(row.as_buffer(), "<i4") for row in batch["lengths"]]
        yield from (row.as_buffer() for row in batch["bytes"])


def index_of(lengths, kind):
    """Megatron's index of sequences, each of which is a document."""
    lengths = numpy.concatenate(lengths) if lengths else numpy.zeros(0, "<i4")
    ends = numpy.cumsum(lengths, dtype="<i8") * kind.itemsize
    yield struct.pack("<9sQBQQ", b"MMIDIDX", 1, 8 if kind.itemsize == 2 else 4, len(lengths), len(lengths) + 1)
    yield lengths
    yield ends - lengths.astype("<i8") * kind.itemsize
    yield numpy.arange(len(lengths) + 1, dtype="<i8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--column", default="text")
    parser.add_argument("--vocab")
    parser.add_argument("--address", help="of a running cluster; absent: one is started on this machine")
    parser.add_argument("--megatron", action="store_true", help="write OUTPUT.idx beside OUTPUT.bin")
    parser.add_argument("--cores", type=int, help="of this machine, without --address")
    parser.add_argument("--object-store", type=int, default=512 << 20, metavar="BYTES", help="without --address")
    parser.add_argument("files", nargs="+")
    parser.add_argument("output", type=pathlib.Path)
    options = parser.parse_args()
    if options.address:
        ray.init(address=options.address)
    else:
        ray.init(num_cpus=options.cores, object_store_memory=options.object_store, include_dashboard=False)
    ray.data.DataContext.get_current().execution_options.preserve_order = True
    # An encoding can be pickled: workers get its path and SHA-256, and open it themselves. These are tasks, not
    # actors: an actor holds its CPU, and as many as there are CPUs leave none to the tasks that read, which then wait
    # for ever. A batch is a whole block, so that reading and encoding are one task.
    how = {"encoding": heft.from_file(options.vocab) if options.vocab else heft.get_encoding("gpt2"),
           "column": options.column}
    is_stream = options.output.suffix == ".bin"
    if options.megatron and not is_stream:
        parser.error(f"--megatron: {options.output} does not end with .bin")
    rows = ray.data.read_parquet(options.files, columns=[options.column] if is_stream else None)
    rows = rows.map_batches(to_bytes if is_stream else with_ids, fn_kwargs=how, batch_format="pyarrow",
                            batch_size=None, zero_copy_batch=True, num_cpus=1)
    if is_stream:
        lengths = []
        write_file(options.output, stream_of(rows, lengths))
        if options.megatron:
            write_file(options.output.with_suffix(".idx"), index_of(lengths, kind_of(how["encoding"])))
    else:
        rows.write_parquet(str(options.output.absolute()))


if __name__ == "__main__":
    main()
