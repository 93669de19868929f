#!/usr/bin/env python3
"""Lists of digests that `heft verify --against` must refuse: writes the samples beside this script, with
the standard library of Python."""
from hashlib import md5, sha1, sha256
from pathlib import Path

A, B = (sha256(text).hexdigest().encode() for text in (b"a", b"b"))

SAMPLES = {
    "01-empty": b"",
    "02-comment-only": b"# SHA-256\n",
    "03-crlf": A + b"  a.bin\r\n" + B + b"  b.bin\r\n",
    "04-63-digits": A[1:] + b"  a.bin\n",
    "05-65-digits": A + b"0  a.bin\n",
    "06-sha1": sha1(b"a").hexdigest().encode() + b"  a.bin\n",
    "07-md5": A + b"  a.bin\n" + md5(b"b").hexdigest().encode() + b"  b.bin\n",
    "08-bsd": b"SHA256 (a.bin) = " + A + b"\n",
    "09-one-space": A + b" a.bin\n",
    "10-tab": A + b"\ta.bin\n",
    "11-cut-in-the-digest": A + b"  a.bin\n" + B[:39],
    "12-cut-after-the-digest": A + b"  a.bin\n" + B,
    "13-no-name": A + b"  \n",
    "14-parent": A + b"  a/../../b.bin\n",
    "15-root": A + b"  /etc/passwd\n",
    "16-drive": A + b" *C:\\models\\a.bin\n",
    "17-nul": A + b"  a\0.bin\n",
    "18-escaped-nul": b"\\" + A + b"  a\\x00.bin\n",
    "19-twice": A + b"  a.bin\n" + B + b"  ./a.bin\n",
    "20-escape": b"\\" + A + b"  a\\q.bin\n",
    "21-escape-cut": b"\\" + A + b"  a.bin\\",
    "22-empty-line": A + b"  a.bin\n\n" + B + b"  b.bin\n",
    "23-html": b"<!DOCTYPE html>\n<title>404</title>\n",
    "24-parent-escaped": b"\\" + A + b"  \\x2e\\x2e/b.bin\n",
    "30-file-among-tensors": A + b"  w  F32  [2,3]\n" + B + b"  b.bin\n",
    "31-binary-among-tensors": A + b"  w  F32  [2,3]\n" + B + b" *w  F32  [2,3]\n",
    "32-dtype": A + b"  w  F32  [2,3]\n" + B + b"  v  F33  [2,3]\n",
    "33-extent-too-large": A + b"  w  F32  [18446744073709551616]\n",
    "34-extent-empty": A + b"  w  F32  [2,,3]\n",
    "35-extent-leading-zero": A + b"  w  F32  [02]\n",
    "36-tensor-twice": A + b"  w  F32  [2]\n" + A + b"  w  F32  [2]\n",
    "37-rank": A + b"  w  F32  [" + b",".join([b"1"] * 256) + b"]\n",
    "38-blob-without-size": A + b"  data  BLOB  []\n",
    "39-cut-in-the-shape": A + b"  w  F32  [2,3]\n" + B + b"  v  F32  [2,",
    "40-escape-in-tensor": b"\\" + A + b"  w\\xg0  F32  [2]\n",
}

for name, content in SAMPLES.items():
    (Path(__file__).parent / f"{name}.sums").write_bytes(content)
