"""Containers of a pickle. Each takes the pickle and a number that selects a variant."""
import gzip
import io
import struct
import zipfile
import zlib

DESCRS = ["'O'", "'|O'", "'object'", "'(2,)O'", "'i4,O'", "'|\\x4f'", "'|' 'O'", "('O', (2,))", "[('a', 'O')]",
          "'\\N{LATIN CAPITAL LETTER O}'", "'O'" + " " * 70000]


def bare(data, _):
    return data


def gzip_members(data, variant):
    at = variant % (len(data) + 1)
    return (gzip.compress(data[:at], mtime=0) + bytes(variant % 3) + gzip.compress(b"", mtime=0)
            + gzip.compress(data[at:], mtime=0))


def zlib_streams(data, variant):
    at = variant % (len(data) + 1)
    return zlib.compress(data[:at]) + zlib.compress(data[at:])


def npy(data, variant):
    header = f"{{'descr': {DESCRS[variant % len(DESCRS)]}, 'fortran_order': False, 'shape': (1,), }}\n".encode()
    return b"\x93NUMPY\2\0" + struct.pack("<I", len(header)) + header + data


def record(data, variant):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED if variant % 2 else zipfile.ZIP_STORED) as archive:
        archive.writestr(("a.pkl", "notes", "a/b.txt")[variant % 3], data)
    return out.getvalue()


def encoded(data, variant):
    """In a call of torch.storage._load_from_bytes."""
    codec = ("latin1", "ISO-8859-1", "l1")[variant % 3]
    text = data.decode("latin1").encode()
    return (b"\x80\x02ctorch.storage\n_load_from_bytes\nc_codecs\nencode\nX" + struct.pack("<I", len(text)) + text
            + b"X" + struct.pack("<I", len(codec)) + codec.encode() + b"\x86R\x85R.")


# In the last two, readers of such a file load only the first pickle.
ALL = [bare, gzip_members, zlib_streams, record, npy, encoded]
ONE = (npy, encoded)
