"""Random pickles: payloads in sequences of opcodes that no pickler writes, and mutations of other
pickles."""
import struct

NUMBERS = ["1", "0", "00", "01", "1 ", " 1", "\t1", "1_0", "+1", "-1", "+-1", "010", "08", "0x1F", "0b101", "0o17",
           "0_7", "1__0", "_1", "1_", "1L", "L", "", "1\0x", "\0", " \0", "0x", "99999999999999999999", "1\r",
           "1" * 30, "9" * 4200, "9" * 4500, "0x" + "f" * 5000, "\x0b1", "1.5", "1e3", "true", "-0", "--1",
           "0x_1f", "１", "1\xa0", "1 2", "-\0", "0L", "-1L", "1l", "017", "0017L", " 017 L"]
INDEXES = ["0", "1", "2", "7", " 5", "5 ", "1_0", "-0", "-1", "+3", "007", "0x1", "4294967295", "4294967296",
           "18446744073709551615", "18446744073709551616", "1" + "0" * 30, "", "1\0", "\t2", "300", "9" * 4400]
FLOATS = ["1", "1.5", ".5", "5.", "1_0", " 1 ", "1e400", "-1e400", "inf", "-Infinity", "nan", "+nan", "1e-400",
          "1\0x", "0x1p3", "1e", "1.5.2", "\t2.5", "1_0.5_0", "1" * 400, "infinit", "-1", "-1.0", "nan(1)", ""]
QUOTED = ["''", '""', "'a'", "'\\x41'", "'\\x4'", "'\\'", "'\\\\'", "'\\'a'", "'a'b'", "'a", "a'", "'", "'\\400'",
          "'\\q'", "'\\N{DIGIT ONE}'", "'\xe9'", "'\\u0041'", " 'a'", "'a' ", "'\\8'", "'\\0'", "'\t'", "\"a'"]
RAW = ["", "a", "\\u0041", "\\u004", "\\\\u0041", "\\U00000041", "\\U00110000", "\\ud800", "\xe9", "\\", "\\x41",
       "\\N{DIGIT ONE}", "a\\", "\\\\", "\\u", "\0", "\r"]
DANGEROUS = [("os", "system"), ("posix", "system"), ("subprocess", "Popen"), ("builtins", "eval"),
             ("os", "path.os.system"), ("__builtin__", "eval"), ("pickle", "loads")]
OTHERS = [("mylib", "Net"), ("mylib.a.b", "C.d"), ("collections", "OrderedDict"), ("mylib", "__name__"),
          ("torch._utils", "_rebuild_tensor_v2"), ("os", ""), ("", "x"), ("my lib", "x"), ("os\r", "system"),
          ("m\xe9", "x"), ("my-lib", "x"), ("a" * 1500, "b"), ("mylib", "b." * 900 + "c"), ("m\0", "x")]


def line(text):
    return text.encode("latin1", "replace") + b"\n"


def short(text):
    data = text.encode("utf-8", "surrogatepass")
    return b"\x8c" + bytes([len(data)]) + data if len(data) < 256 else b"X" + struct.pack("<I", len(data)) + data


class Maker:
    def __init__(self, rng):
        self.rng = rng
        self.memo = []  # (the opcode's bytes that fetch it)

    def noise(self, n):
        return bytes(self.rng.randrange(256) for _ in range(n))

    # ---- values: each leaves one on the stack ----

    def value(self, deep=0):
        pick = self.rng.random()
        if deep < 3 and pick < 0.25:
            return self.container(deep + 1)
        if pick < 0.32:
            return self.called(deep + 1)
        if pick < 0.36:
            return self.imported()
        return self.plain()

    def plain(self):
        rng = self.rng
        kind = rng.randrange(22)
        if kind < 3:
            return rng.choice([b"I", b"L", b"L"]) + line(rng.choice(NUMBERS))
        if kind == 3:
            return b"F" + line(rng.choice(FLOATS))
        if kind == 4:
            return b"S" + line(rng.choice(QUOTED))
        if kind == 5:
            return b"V" + line(rng.choice(RAW))
        if kind == 6:
            return b"P" + line(rng.choice(["1", "", "a b", "\xe9", "x" * 5000, "\0"]))
        if kind == 7:
            return self.sized()
        if kind == 8:
            n = rng.randrange(0, 12)
            return b"\x8a" + bytes([n]) + self.noise(n)
        if kind == 9:
            n = rng.choice([0, 1, 8, 9, 300])
            return b"\x8b" + struct.pack("<i", n) + self.noise(n)
        if kind == 10:
            return b"G" + self.noise(8)
        if kind == 11:
            return rng.choice([b"\x82\1", b"\x82\7", b"\x83\x2c\1", b"\x84\x70\x11\1\0", b"\x84\xff\xff\xff\xff", b"\x82\0"])
        if kind == 12 and self.memo:
            return rng.choice(self.memo)
        if kind == 13:
            return b"C\3abc\x98"
        return rng.choice([b"N", b"\x88", b"\x89", b"K\1", b"M\1\2", b"J\1\2\3\4", b"]", b")", b"}", b"\x8f", b"U\1a",
                           b"\x8c\1a"])

    def sized(self):
        rng = self.rng
        n = rng.choice([0, 1, 3, 20])
        body = rng.choice([b"a" * n, self.noise(n)])
        form = rng.choice(["<BU", "<BC", "<B\x8c", "<IX", "<IB", "<iT", "<Q\x8d", "<Q\x8e", "<Q\x96"])
        return form[2].encode("latin1") + struct.pack(form[:2], n) + body

    def memoized(self):
        """Stores the top in the memo, and remembers the opcode that fetches it."""
        rng = self.rng
        if rng.random() < 0.3:
            return b"\x94"
        text = rng.choice(INDEXES)
        ways = [(b"p" + line(text), b"g" + line(rng.choice([text, text, "0" + text, " " + text, text + "_0"])))]
        small = rng.randrange(256)
        wide = rng.choice([0, 1, 300, 70000])
        ways += [(b"q" + bytes([small]), b"h" + bytes([small])), (b"q" + bytes([small]), b"g" + line(str(small))),
                 (b"r" + struct.pack("<I", wide), b"j" + struct.pack("<I", wide)),
                 (b"r" + struct.pack("<I", wide), b"g" + line(f" {wide}"))]
        put, get = rng.choice(ways)
        self.memo.append(get)
        return put

    def container(self, deep):
        rng = self.rng
        items = [self.value(deep) for _ in range(rng.randrange(0, 4))]
        body = b"".join(items)
        kind = rng.randrange(16)
        if kind < 3:
            return b"(" + body + rng.choice([b"t", b"l", b"\x91", b"d"])
        if kind < 6 and items:
            return b"".join(self.value(deep) for _ in range(3)) + rng.choice([b"\x87", b"\x860", b"\x85000"])[:1] + b""
        target = rng.choice([b"]", b"]", b"}", b"\x8f", b"\x96" + struct.pack("<Q", 2) + b"ab", b"N", self.imported(),
                             self.called(deep), self.value(deep)])
        if kind < 9:
            return target + b"(" + body + rng.choice([b"e", b"u", b"\x90"])
        if kind == 9:
            return target + self.value(deep) + b"a"
        if kind == 10:
            return target + self.value(deep) + self.value(deep) + b"s"
        if kind == 11:
            state = rng.choice([b"N", b"}", b"NN\x86", b"N}\x86", b")", self.value(deep)])
            return target + state + b"b"
        if kind == 12:
            return target + b"20"
        if kind == 13:
            return self.value(deep) + self.memoized()
        if kind == 14:
            return target + b"(" + rng.choice([b"e", b"u", b"\x90", b"1", b"0"])
        return self.value(deep) + b"Q"

    # ---- names ----

    def name(self):
        return self.rng.choice(DANGEROUS if self.rng.random() < 0.6 else OTHERS)

    def text(self, text):
        """Pushes a str, in one of its encodings."""
        rng = self.rng
        kind = rng.randrange(7)
        if kind == 0 and "\n" not in text:
            escaped = "".join(f"\\u{ord(c):04x}" if rng.random() < 0.5 else c for c in text.replace("\\", "\\u005c"))
            return b"V" + line(escaped)
        if kind == 1 and text.isascii() and "\n" not in text:
            escaped = "".join(f"\\x{ord(c):02x}" if rng.random() < 0.5 or c in "'\\" else c for c in text)
            return b"S'" + escaped.encode("latin1") + b"'\n"
        if kind == 2 and len(text) < 256 and text.isascii():
            return b"U" + bytes([len(text)]) + text.encode()
        if kind == 3:
            got = short(text) + self.memoized()
            return got + (b"0" + self.memo[-1] if got[-1:] != b"\x94" and self.memo and rng.random() < 0.7 else b"")
        if kind == 4:
            data = text.encode("utf-8", "surrogatepass")
            return b"\x8d" + struct.pack("<Q", len(data)) + data
        if kind == 5:
            return b"(" + short(text) + rng.choice([b"2", b""]) + short("x") + b"1" + short(text)
        return short(text)

    def imported(self):
        module, name = self.name()
        rng = self.rng
        if rng.random() < 0.5:
            return b"c" + f"{module}\n{name}\n".encode("utf-8", "surrogatepass")
        return self.text(module) + rng.choice([b"", b"", b"N0", b"(1"]) + self.text(name) + b"\x93"

    def called(self, deep=0):
        rng = self.rng
        module, name = self.name()
        lines = f"{module}\n{name}\n".encode("utf-8", "surrogatepass")
        args = [self.value(deep) if deep < 3 else b"N" for _ in range(rng.randrange(0, 3))]
        body = b"".join(args)
        kind = rng.randrange(8)
        if kind == 0:
            return b"(" + body + b"i" + lines
        if kind == 1:
            return b"(" + self.imported() + body + b"o"
        if kind == 2:
            return self.imported() + b"(" + body + b"t}\x92"
        if kind == 3:
            return self.imported() + b"(" + body + b"t\x81"
        if kind == 4:
            return self.imported() + b"(" + body + b"lR"
        if kind == 5:
            return self.imported() + b"(" + body + b"tR" + rng.choice([b")R", b"}b", b"Na", b"NNs", b"Q)R"])
        return self.imported() + b"(" + body + b"tR"

    # ---- wholes ----

    def statement(self):
        rng = self.rng
        kind = rng.randrange(14)
        if kind < 5:
            return self.value() + b"0"
        if kind == 5:
            return b"(" + b"".join(self.value() for _ in range(rng.randrange(4))) + b"1"
        if kind == 6:
            return self.called() + rng.choice([b"0", b""])
        if kind == 7:
            return b"\x80" + bytes([rng.choice([0, 1, 2, 3, 4, 5, 5, 6, 255])])
        if kind == 8:
            return b"\x95" + struct.pack("<Q", rng.choice([0, 1, 3, 10, 30, 100, 2000, 2**63, 2**64 - 1]))
        if kind == 9:
            return self.value() + self.memoized() + b"0"
        if kind == 10:
            return b"(" + self.value() + b"0" + rng.choice([b"0", b"00", b"1"])
        if kind == 11:
            return b"i" + b"".join(line(part) for part in ("os", "system"))
        return self.value() + b"0"

    def whole(self):
        rng = self.rng
        data = rng.choice([b"", b"", b"\x80\2", b"\x80\4", b"\x80\5\x95" + struct.pack("<Q", rng.randrange(60))])
        data += b"".join(self.statement() for _ in range(rng.randrange(1, 5)))
        data += self.called() + rng.choice([b"", b"0N", b"."])
        end = rng.random()
        if end < 0.7:
            data += b"."
        elif end < 0.8:
            data = data[:rng.randrange(len(data) + 1)]
        elif end < 0.9:
            data += b"." + Maker(rng).whole()
        return data


def mutate(rng, data, other):
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 4])):
        at = rng.randrange(len(data) + 1)
        kind = rng.randrange(7)
        if kind == 0 and at < len(data):
            data[at] = rng.choice(b"(.012}]NIJKLMFGSTUVXBCPQRabcdeghijlopqrstu\x80\x81\x82\x85\x93\x94\x95\x96\x97\x98\n")
        elif kind == 1 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 2:
            del data[at:at + rng.randrange(1, 5)]
        elif kind == 3:
            data[at:at] = Maker(rng).statement()
        elif kind == 4:
            begin = rng.randrange(len(other) + 1)
            data[at:at] = other[begin:begin + rng.randrange(1, 40)]
        elif kind == 5:
            data[at:at] = bytes([rng.choice(b"0N(12.)\n \0_")])
        else:
            del data[at:]
            data += rng.choice([b"", b".", b"R.", b"tR."])
    return bytes(data[:4000])
