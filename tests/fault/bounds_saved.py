"""Hostile SavedModels and graphs, just under 64 MiB: (name, {path in the directory: bytes}), or (name,
bytes) for a single file."""

from bounds_runs import SIZE
from bounds_tf import message, number, shape  # tests/golden/tf-bundle/table.py
from tf_bytes import record, varint  # tests/tools

NOOP = message(1, message(1, b"n") + message(2, b"NoOp"))


NAME = b"??????"


def times(piece, size=SIZE):
    return piece * (size // len(piece))


def numbered(piece, size=SIZE):
    """Copies with other names in place of NAME, as many as fit."""
    form = piece.replace(b"%", b"%%").replace(NAME, b"%06x")
    names = piece.count(NAME)
    return b"".join(form % ((i,) * names) for i in range(size // len(piece)))


def folder(*parts, tags=message(4, b"serve"), graph=NOOP):
    meta = message(1, tags) + message(2, graph) + b"".join(parts)
    return {"saved_model.pb": number(1, 1) + message(2, meta)}


def attr(key, value):
    return message(5, message(1, key) + message(2, value))


def const(name, tensor):
    return message(1, message(1, name) + message(2, b"Const") + attr(b"value", message(8, tensor)))


def tensor(kind, dims, values):
    return number(1, kind) + message(2, shape(dims)) + values


def function(name, calls):
    node = message(1, b"c") + message(2, b"PartitionedCall") + attr(b"f", message(10, message(1, calls)))
    return message(1, message(1, message(1, name)) + message(3, node))


def nested(piece, size):
    """Nested messages, each of which contains the length of the next."""
    parts, total = [], 0
    while total < size:
        head = piece(total)
        parts.append(head)
        total += len(head)
    return b"".join(reversed(parts))


def graphs():
    yield "nodes", folder(graph=times(NOOP))
    yield "nodes-of-many-ops", folder(graph=numbered(message(1, message(1, NAME) + message(2, NAME))))
    yield "inputs", folder(graph=message(1, message(1, b"n") + message(2, b"NoOp") + times(b"\x1a\1x")))
    yield "attrs", folder(graph=message(1, message(1, b"n") + message(2, b"NoOp") + numbered(attr(NAME, b"\x18\1"))))
    yield "long-list", folder(graph=message(1, message(1, b"n") + message(2, b"NoOp")
                                            + attr(b"l", message(1, message(3, times(b"\1"))))))
    yield "long-name", folder(graph=message(1, message(1, b"n" * SIZE) + message(2, b"NoOp")))
    yield "long-op", folder(graph=message(1, message(1, b"n") + message(2, b"\n" * SIZE)))
    one = function(NAME, b"!" * 6).replace(b"%", b"%%").replace(NAME, b"%06x").replace(b"!" * 6, b"%06x")
    chain = b"".join(one % (i, i + 1) for i in range(SIZE // 61))
    yield "functions-chain", folder(graph=NOOP + message(2, chain))
    one = b"".join(function(b"%04d" % i, b"%04d" % ((i * 7 + 1) % 3000)) for i in range(3000))
    nodes = b"".join(message(3, message(1, b"c") + message(2, b"%04d" % (i % 3000))) for i in range(3000))
    yield "functions-all-of-all", folder(graph=NOOP + message(2, one + b"".join(
        message(1, message(1, message(1, b"%04d" % i)) + nodes) for i in range(1000))))
    one = message(1, message(1, NAME) + message(2, b"Identity") + message(3, b"!" * 6) + message(4, b"d" * 24))
    one = one.replace(NAME, b"%06x").replace(b"!" * 6, b"%06x")
    chain = b"".join(one % (i, i - 1) for i in range(1, SIZE // 54))
    end = message(1, message(1, b"all") + message(2, b"NoOp") + message(3, b"^%06x" % (SIZE // 54 - 1)))
    yield "restored-in-a-chain", folder(message(3, message(1, b"f:0") + message(3, b"all")), graph=chain + end)
    yield "functions-of-one-node", folder(graph=NOOP + message(2, numbered(message(1, message(1, message(
        1, NAME)) + message(3, message(1, b"n") + message(2, b"NoOp"))))))
    yield "nodes-unusual-at-the-end", folder(graph=times(message(1, message(1, b"n") + message(2, b"NoOp")
                                                                 + message(5, message(1, b"k")) * 1000 + b"\x40\1")))
    yield "functions-of-one-name", folder(graph=NOOP + message(2, times(function(b"f", b"f"))))
    yield "any-fields", folder(times(b"\x78\1"))
    yield "groups", folder(times(b"\x7b"))
    yield "infos", folder(times(b"\x0a\0"))
    yield "versions", folder(tags=times(b"\x2a\1x"))
    yield "tags", folder(tags=times(b"\x22\1x"))
    yield "metagraphs", {"saved_model.pb": times(b"\x12\0")}


def maps():
    dims = message(1, message(1, b"x") + message(2, number(2, 1) + message(3, shape([1] * 254))))
    yield "signatures", folder(numbered(message(5, message(1, NAME) + message(2, b"\x1a\1m"))))
    yield "signature-of-many", folder(message(5, message(1, b"s") + message(2, numbered(
        message(1, message(1, NAME) + message(2, b"\x10\1"))))))
    yield "signatures-of-rank-254", folder(times(message(5, message(1, b"s") + message(2, dims))))
    yield "dimensions", folder(times(message(5, message(1, b"s") + message(2, dims * 100))))
    yield "composites", folder(message(5, message(1, b"s") + message(2, message(1, message(1, b"x") + message(2, message(
        5, times(b"\x12\0")))))))
    yield "collections", folder(numbered(message(4, message(1, NAME) + message(2, b"\x0a\3\x0a\1v"))))
    yield "collection", folder(message(4, message(1, b"c") + message(2, message(1, times(b"\x0a\0")))))
    yield "assets", folder(numbered(message(6, message(2, NAME))))
    yield "functions-of-an-alias", folder(tags=times(message(8, b"\x0a\1a\x12\1b")))


def objects():
    def of(nodes, more=b""):
        return folder(message(7, nodes + more))
    yield "objects-empty", of(times(b"\x0a\0"))
    yield "objects-children", of(message(1, times(message(1, b"\x12\1x"))))
    yield "objects-chain", of(b"".join(message(1, message(1, number(1, i + 1) + message(2, b"x")) + b"\x22\0")
                                       for i in range(500000)))
    yield "concretes", of(b"\x0a\0", numbered(message(2, message(1, NAME) + message(2, b"\x10\1"))))
    call = message(1, message(1, number(1, 1) + message(2, b"call")))
    yield "callables", of(call + message(1, message(6, times(message(1, b"f")))),
                          message(2, message(1, b"f") + message(2, b"")))
    roots = b"".join(message(1, number(1, 1) + message(2, b"%x" % i)) for i in range(400000))
    yield "callables-of-one", of(message(1, roots) + message(1, message(6, message(1, b"f") * 100)),
                                 message(2, message(1, b"f") + message(2, b"")))
    deep = nested(lambda n: b"\x9a\3" + varint(n + 1 + len(varint(n))) + b"\x0a" + varint(n), 6 << 20)
    yield "arguments-deep", of(call + message(1, message(6, message(1, b"f"))),
                               message(2, message(1, b"f") + message(2, message(3, deep))))
    wide = message(3, message(52, times(message(1, message(52, message(1, b"\x0a\0") * 4)))))
    yield "arguments-wide", of(call + message(1, message(6, message(1, b"f"))), message(2, message(1, b"f") + message(2, wide)))


def constants():
    """Read with --constants, or as a single graph."""
    huge = tensor(3, [2**32], number(7, 1))
    most = tensor(1, [8 << 20], b"\x2d\0\0\x80\x3f")
    for name, graph in {
            "huge": const(b"c", huge), "most": const(b"c", most),
            "many-huge": numbered(const(NAME, huge)),
            "many-most": numbered(const(NAME, most)),
            "many-small": numbered(const(NAME, tensor(1, [], b"\x22\4\0\0\0\0"))),
            "many-fit": numbered(const(NAME, tensor(1, [1], b"\x22\4\0\0\0\0")), 9 << 20),
            "packed": const(b"c", tensor(10, [SIZE], message(11, times(b"\1")))),
            "singles": const(b"c", tensor(3, [SIZE // 2], times(b"\x38\1"))),
            "strings": const(b"c", tensor(7, [SIZE // 2], times(b"\x42\0"))),
            "few-strings": const(b"c", tensor(7, [2**31], b"\x42\1x")),
            "content-repeated": const(b"c", tensor(1, [1], times(b"\x22\4\0\0\0\0")))}.items():
        yield f"graph-{name}.pb", graph
        if name in ("many-most", "strings"):
            yield f"constants-{name}", folder(graph=graph)


def texts():
    begin, end = b"saved_model_schema_version: 1\nmeta_graphs {\n", b"\n}\n"

    def text(name, *parts):
        return name, {"saved_model.pbtxt": begin + b"".join(parts) + end}
    yield text("text-nodes", b"graph_def {", times(b"node { name: 'n' op: 'NoOp' }\n"), b"}")
    yield text("text-nodes-short", b"graph_def {", times(b"node{name:'n'op:'o'}"), b"}")
    yield text("text-infos", times(b"meta_info_def{}"))
    yield text("text-long-token", b"graph_def { node { name: '", b"n" * SIZE, b"' op: 'NoOp' } }")
    yield text("text-escapes", b"graph_def { node { name: '", times(b"\\001"), b"' op: 'NoOp' } }")
    yield text("text-strings", b"graph_def { node { op: 'NoOp' name: ", times(b"'n' "), b" } }")
    yield text("text-empty-strings", b"graph_def { node { op: 'NoOp' name: 'n' ", times(b"''"), b" } }")
    yield text("text-deep", times(b"x{"))
    yield text("text-deep-lists", b"x: ", times(b"["))
    yield text("text-list", b"graph_def { node { name: 'n' op: 'NoOp' input: [", b",".join([b"'x'"] * (SIZE // 4)), b"] } }")
    yield text("text-unknown", times(b"x:1 "))
    yield text("text-digits", b"saver_def { max_to_keep: ", b"1" * SIZE, b"}")
    yield text("text-identifier", b"x" * SIZE)
    yield text("text-comments", times(b"#\n"))
    yield text("text-tags", b"meta_info_def {", times(b"tags:'x'"), b"}")
    yield text("text-constants", b"graph_def { node { name: 'c' op: 'Const' attr { key: 'value' value { tensor { "
               b"dtype: DT_INT32 tensor_shape { dim { size: 10000000 } } ", times(b"int_val: 1 "), b"} } } } }")
    yield "graph-text.pbtxt", times(b"node{name:'n'op:'o'}")


def warmups():
    def warm(name, data):
        return name, folder() | {"assets.extra/tf_serving_warmup_requests": data}
    yield warm("warmup-records", times(record(b"")))
    yield warm("warmup-logs", times(record(message(6, message(1, message(1, b"\x0a\1m"))))))
    yield warm("warmup-inputs", record(message(6, message(1, numbered(
        message(2, message(1, NAME) + message(2, b"\x08\1")))))))
    yield warm("warmup-one", record(times(b"\x78\1")))
    yield warm("warmup-streamed", record(message(7, times(b"\x0a\0"))))
