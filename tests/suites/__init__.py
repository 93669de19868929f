"""The suites by name, in the order in which they run: fast ones and those that find most errors
first."""
from . import (bench, cli, differential, docs, examples, families, fault, fuzz, golden, header, includes, matrix, mutate, page, presets,
               quantized, reject, scan, shells, trace, unit)

SUITES = {
    "includes": includes,
    "header": header,
    "unit": unit,
    "golden": golden,
    "families": families,
    "reject": reject,
    "quantized": quantized,
    "presets": presets,
    "scan": scan,
    "matrix": matrix,
    "cli": cli,
    "trace": trace,
    "docs": docs,
    "examples": examples,
    "shells": shells,
    "page": page,
    "bench": bench,
    "fault": fault,
    "fuzz": fuzz,
    "differential": differential,
    "mutate": mutate,
}
