"""Figures of the performance page: each section runs a benchmark in a process of its own and chooses what is drawn."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.all import rows_of
from benchmarks.public_kernels import PEERS

OURS, REFERENCE = "Triptych", "CuTe DSL"
DLPACK = {
    "NumPy, from_dlpack": 6.0,
    "torch, from_dlpack": 10.4,
    "torch, from_dlpack and a mark": 13.0,
}
"""Microseconds of the reference, measured once on a machine of the same kind."""
_COLD_AND_STORED = """
import json
from benchmarks.compile_time import compile_seconds, examples
print(json.dumps({name: compile_seconds(function, *given) for name, function, given in examples()}))
"""
Bars = Mapping[str, Mapping[str, float]]


def values(benchmark: str) -> dict[str, float]:
    """The rows of a benchmark, by their names."""
    return {row.what.partition(": ")[2]: row.value for row in rows_of(benchmark)}


def call_overhead() -> Bars:
    """Warm calls, as multiples of the bare tvm-ffi call of the same symbol."""
    found = values("call_overhead")
    del found["bare tvm-ffi call"]
    return {name: {OURS: value} for name, value in found.items()}


def tensor_arguments() -> Bars:
    """Microseconds of launches with tensors, and of `from_dlpack`."""
    found = values("tensor_call")
    launches = [f"{kind}, {way} launch" for kind in ("NumPy", "torch") for way in ("compiled", "@jit")]
    bars = {name: {OURS: found[name]} for name in launches}
    return bars | {name: {OURS: found[name], REFERENCE: theirs} for name, theirs in DLPACK.items()}


def compile_time() -> Bars:
    """Processor seconds: of processes to their first result, and of compiling examples for the CPU; both twice."""
    words = [sys.executable, "-m", "benchmarks.second_process", "--json"]
    process = json.loads(subprocess.run(words, stdout=subprocess.PIPE, check=True).stdout)
    bare, cold, stored = (process[kind]["processor"] for kind in ("bare", "cold", "warm"))
    bars = {
        "Python and NumPy alone, whole process": {"empty store": bare},
        "saxpy, whole process": {"empty store": cold, "from the store": stored},
    }
    with tempfile.TemporaryDirectory() as store:
        environment = {**os.environ, "TRIPTYCH_CACHE": "1", "TRIPTYCH_CACHE_DIR": store}
        words = [sys.executable, "-c", _COLD_AND_STORED]
        first, second = (
            json.loads(subprocess.run(words, env=environment, stdout=subprocess.PIPE, check=True).stdout)
            for _ in range(2)
        )
    return bars | {f"compile {name}": {"empty store": first[name], "from the store": second[name]} for name in first}


@cache
def public_kernels(folder: Path) -> list[dict[str, Any]]:
    """The rows of `benchmarks.public_kernels`: three minutes, which two sections share."""
    words = [sys.executable, "-m", "benchmarks.public_kernels", str(folder), "--json"]
    rows: list[dict[str, Any]] = json.loads(subprocess.run(words, stdout=subprocess.PIPE, check=False).stdout)
    return rows


def compile_time_gpu(folder: Path) -> Bars:
    """Processor seconds from Python to the cubin, after the first compilation of a process."""
    return _beside("warm", folder)


def sass(folder: Path) -> Bars:
    """Instructions of the same sources."""
    return _beside("instructions", folder)


def _beside(figure: str, folder: Path) -> Bars:
    rows = public_kernels(folder)
    known = [(row["program"], row[figure], getattr(PEERS.get(row["program"]), figure, None)) for row in rows]
    return {name: {OURS: own, REFERENCE: peer} for name, own, peer in known if peer is not None}


def cpu_kernels() -> Bars:
    """Our time to that of NumPy and of the same kernels in OpenCL C, on two threads."""
    return _ratios("kernels")


def matrix_kernels() -> Bars:
    """The same of the matrix examples; NumPy multiplies by its BLAS, in f32."""
    return _ratios("matrix_kernels")


def _ratios(benchmark: str) -> Bars:
    """Of the peer's two forms, with indices of 32 and of 64 bits, the faster one counts."""
    bars: dict[str, dict[str, float]] = {}
    for what, value in values(benchmark).items():
        name, found, other = what.partition(": time / ")
        if found:
            series = f"time / {other.partition(',')[0]}"
            group = bars.setdefault(name, {})
            group[series] = max(value, group.get(series, 0.0))
    return bars


def checkers() -> Bars:
    """Processor time of debug builds, as multiples of the release build's."""
    bars: dict[str, dict[str, float]] = {}
    for what, value in values("checkers").items():
        name, _, build = what.partition(": ")
        if build and not name.startswith(("compile", "memory", "worst")):
            bars.setdefault(name.replace("_", " "), {})[build.replace(",", ", ")] = value
    return bars


SECTIONS: dict[str, Callable[[], Bars]] = {
    "call-overhead": call_overhead,
    "tensor-arguments": tensor_arguments,
    "compile-time": compile_time,
    "cpu-kernels": cpu_kernels,
    "matrix-kernels": matrix_kernels,
    "checkers": checkers,
}
ON_PUBLIC_EXAMPLES: dict[str, Callable[[Path], Bars]] = {"compile-time-gpu": compile_time_gpu, "sass": sass}
"""Sections that need the folder of the public examples, which are not kept here."""
