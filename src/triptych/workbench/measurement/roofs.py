"""Rooflines of the host: the bandwidth of each level of memory and the peak of multiply-adds, by our own kernels.

Kept for a day beside the compiled programs; the best of what was measured stays, because a busy machine only lowers it.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from triptych.support.processors import processors
from triptych.workbench.contracts.loading import load_module
from triptych.workbench.measurement.machine import caches, machine, roofs_file

DAY = 86_400.0
_SECONDS, _FEWEST = 0.6, 5
"""A roof is the best of many short measurements: other programs disturb most of them."""
_MEMORY = 4
"""Times the last cache: so much does not stay in it."""
_PARTS = 64
"""Of a stream, for each core."""


def roofs(refresh: bool = False) -> dict[str, Any]:
    """Of this machine: `levels` from the first cache to memory, and `flops` by type; measured at most once a day."""
    file, kept = roofs_file(), None
    if file.is_file():
        kept = json.loads(file.read_text(encoding="utf-8"))
        known = kept.get("model") == machine()["model"]
        if known and not refresh and time.time() - kept["measured"] < DAY:
            return dict(kept)
        kept = kept if known else None
    found = _measured()
    if kept is not None:
        _keep_the_best(found, kept)
    partial = file.with_suffix(f".{os.getpid()}")
    partial.write_text(json.dumps(found), encoding="utf-8")
    partial.replace(file)
    return found


def _kernels() -> Any:
    """Loaded as a user's module: code of this package is not rewritten."""
    return load_module(Path(__file__).with_name("roof_kernels.py"), "triptych_roof_kernels")


def _measured() -> dict[str, Any]:
    cores = processors()
    sizes = [(f"L{level.level}", level.total, level.total // 2) for level in caches()]
    last = sizes[-1][1] if sizes else 32 << 20
    sizes.append(("memory", 1 << 62, _MEMORY * last))
    levels: list[dict[str, Any]] = [
        {"name": name, "bytes": holds, "bandwidth": _bandwidth(used, cores)} for name, holds, used in sizes
    ]
    levels[-1]["bandwidth"] = max(levels[-1]["bandwidth"], _stream(_MEMORY * last, cores))
    for inner, outer in zip(reversed(levels[:-1]), reversed(levels[1:]), strict=True):
        inner["bandwidth"] = max(inner["bandwidth"], outer["bandwidth"])
    flops = {name: _peak(name, cores) for name in ("float32", "float64")}
    return {"model": machine()["model"], "measured": time.time(), "levels": levels, "flops": flops}


def _bandwidth(size: int, cores: int) -> float:
    """Of reading so many bytes, each core a part of them, again and again while they are few."""
    kernels = _kernels()
    step = 4 * kernels.THREADS
    columns = max(step, size // 4 // cores // step * step)
    x, sums = np.ones((cores, columns), np.float32), np.zeros((cores, kernels.THREADS), np.float32)
    repeats = max(1, (8 << 20) // x.nbytes)
    return float(x.nbytes * repeats) / _best(lambda: kernels.read_rows(x, sums, repeats))


def _stream(size: int, cores: int) -> float:
    """Of reading so many bytes once, in many parts: one that is interrupted does not keep the others waiting."""
    kernels = _kernels()
    rows, step = _PARTS * cores, kernels.READERS * kernels.EACH
    columns = max(step, size // 4 // rows // step * step)
    x, sums = np.ones((rows, columns), np.float32), np.zeros((rows, kernels.READERS), np.float32)
    return float(x.nbytes) / _best(lambda: kernels.stream_rows(x, sums))


def _peak(dtype: str, cores: int) -> float:
    kernels = _kernels()
    x = np.full((4 * cores, kernels.THREADS), 1e-3, dtype)
    return float(2 * kernels.CHAINS * kernels.STEPS * x.size / _best(lambda: kernels.multiply_adds(x)))


def _best(call: Callable[[], object]) -> float:
    call()
    times: list[float] = []
    end = time.perf_counter() + _SECONDS
    while len(times) < _FEWEST or time.perf_counter() < end:
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return min(times)


def _keep_the_best(found: dict[str, Any], kept: dict[str, Any]) -> None:
    for new, old in zip(found["levels"], kept["levels"], strict=False):
        new["bandwidth"] = max(new["bandwidth"], old["bandwidth"])
    for name, peak in kept["flops"].items():
        found["flops"][name] = max(found["flops"].get(name, 0.0), peak)
