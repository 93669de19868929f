"""Pickles that come near several limits at once: tensors, values, texts, nodes that no value needs. Each limit alone
is met by a file of a few megabytes, all together by one of 10 to 40."""
import struct

from bounds_runs import SIZE

TENSORS, VALUES, NODES = 300_000, 1_000_000, 2_500_000  # the default limits
WASTE = b"]0"  # a node of two bytes that nothing refers to


def text(word):
    return b"X" + struct.pack("<I", len(word)) + word


# A list at memo 1 of what all tensors share: function, storage, shape, strides, hooks.
SHARED = (b"ctorch._utils\n_rebuild_tensor_v2\nq\0" + b"0(" + text(b"storage") + b"ctorch\nByteStorage\n" + text(b"0")
          + text(b"cpu") + b"K\x20tQq\1" + b"0K\4\x85q\2" + b"0K\1\x85q\3" + b"0ccollections\nOrderedDict\n)Rq\4" + b"0")
TENSOR = b"h\0(h\1K\0h\2h\3\x89h\4tR"


def tensors(n):
    """n entries of a dict, and the number of their nodes."""
    return b"".join(text(b"%x" % i) + TENSOR for i in range(n)), 5 * n


def share(n, each, part=1.0):
    """As many items of `each` bytes as fit into a part of the file, at most n."""
    return min(n, int(SIZE * part) // each)


def pickle(rows, values, waste):
    return (b"\x80\2" + SHARED + WASTE * waste + b"}(" + rows + text(b"values") + b"(" + values + b"lu.")


def mixtures():
    n = share(TENSORS - 1, 37, 0.8)
    rows, nodes = tensors(n)
    yield "tensors-nones", pickle(rows, b"N" * share(min(VALUES, NODES - nodes) - 1000, 1, 0.2), 0)
    n = share(TENSORS // 2, 37, 0.3)
    rows, nodes = tensors(n)
    one = text(b"x" * 33)
    m = share(VALUES // 2, len(one), 0.6)
    yield "tensors-texts", pickle(rows, one * m, share(NODES - nodes - m - 1000, 2, 0.1))
    m = share(VALUES - 1000, len(one), 0.9)
    yield "texts-waste", pickle(b"", one * m, share(NODES - m - 1000, 2, 0.1))
    one = b"G\x3f\xb9\x99\x99\x99\x99\x99\x9a"
    m = share(VALUES - 1000, len(one), 0.75)
    yield "floats-waste", pickle(b"", one * m, share(NODES - m - 1000, 2, 0.25))
    one = b"]"
    m = share(VALUES - 1000, 1)
    yield "lists-waste", pickle(b"", one * m, share(NODES - m - 1000, 2))
    m = share(VALUES // 2 - 1000, 11, 0.8)
    yield "globals-waste", pickle(b"", b"cos\nsystem\n" * m, share(NODES - 2 * m - 1000, 2, 0.2))
    m = share(VALUES // 2 - 1000, 24, 0.8)
    keyed = b"".join(text(b"%018x" % i) + b"K\1" for i in range(m))
    yield "dict-waste", pickle(b"", b"}(" + keyed + b"u", share(NODES - 2 * m - 1000, 2, 0.2))
