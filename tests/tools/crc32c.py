"""CRC-32C of large data in pure Python: many pieces in parallel, one byte of each per step."""
import functools

LANE = 1024


def make_table():
    table = []
    for i in range(256):
        for _ in range(8):
            i = i >> 1 ^ (0x82F63B78 if i & 1 else 0)
        table.append(i)
    return table


TABLE = make_table()
PLANES = [bytes(entry >> 8 * k & 0xFF for entry in TABLE) for k in range(4)]


def plain(data, crc):
    for byte in data:
        crc = TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc


@functools.lru_cache(maxsize=1)
def lane_tables():
    """Effect of LANE zeros on each value of each byte of a CRC."""
    bits = [plain(bytes(LANE), 1 << i) for i in range(32)]
    tables = []
    for k in range(4):
        table = [0] * 256
        for value in range(1, 256):
            low = value & -value
            table[value] = table[value ^ low] ^ bits[8 * k + low.bit_length() - 1]
        tables.append(table)
    return tables


def lanes(data, count):
    """CRCs, started with 0, of that many pieces of LANE bytes."""
    state = [0, 0, 0, 0]
    for at in range(LANE):
        column = int.from_bytes(data[at:count * LANE:LANE], "little") ^ state[0]
        index = column.to_bytes(count, "little")
        turned = [int.from_bytes(index.translate(plane), "little") for plane in PLANES]
        state = [state[1] ^ turned[0], state[2] ^ turned[1], state[3] ^ turned[2], turned[3]]
    planes = [value.to_bytes(count, "little") for value in state]
    return [a | b << 8 | c << 16 | d << 24 for a, b, c, d in zip(*planes)]


def crc32c(data, crc=0):
    crc ^= 0xFFFFFFFF
    count = len(data) // LANE
    if count:
        t = lane_tables()
        for lane in lanes(data, count):
            crc = t[0][crc & 255] ^ t[1][crc >> 8 & 255] ^ t[2][crc >> 16 & 255] ^ t[3][crc >> 24] ^ lane
    return plain(data[count * LANE:], crc) ^ 0xFFFFFFFF
