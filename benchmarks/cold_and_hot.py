"""Vector add, hot and cold, and the measured memory roof beside a plain copy of NumPy on all cores.

triptych bench benchmarks/cold_and_hot.py --sweep n=5462:22372352:*2 --plot cold-and-hot.svg    # 64 KB to 256 MB
python -m benchmarks.cold_and_hot                                                               # the roof
"""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import triptych as tt
from triptych import cute
from triptych.support.processors import processors
from triptych.workbench.measurement.roofs import roofs

THREADS, EACH = 256, 16
OUTPUTS = ("c",)
_SECONDS, _TURNS = 1.5, 3
_BYTES = 128 << 20


@tt.kernel
def add_kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    for i in tt.range_constexpr(EACH):
        at = (block * EACH + i) * THREADS + thread
        if at < c.shape[0]:
            c[at] = a[at] + b[at]


@tt.jit
def add(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor) -> None:
    add_kernel(a, b, c).launch(grid=cute.ceil_div(c.shape[0], THREADS * EACH), block=THREADS)


def kernel_fn(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
    add(a, b, c)


def reference_fn(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
    np.add(a, b, out=c)


def get_inputs(n: int = 1 << 20, seed: int = 0) -> list[np.ndarray]:
    random = np.random.default_rng(seed)
    return [random.random(n, np.float32), random.random(n, np.float32), np.zeros(n, np.float32)]


def algorithmic_flops_bytes(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> tuple[int, int]:
    return a.size, a.nbytes + b.nbytes + c.nbytes


def by_numpy(what: str) -> float:
    """Bytes of a second that NumPy moves on all cores at its best: `copy` reads and writes, `max` only reads."""
    cores = processors()
    parts = [
        (np.ones(_BYTES // 4 // cores, np.float32), np.ones(_BYTES // 4 // cores, np.float32)) for _ in range(cores)
    ]
    run = {"copy": lambda part: np.copyto(part[0], part[1]), "max": lambda part: part[0].max()}[what]
    times = []
    with ThreadPoolExecutor(cores) as pool:
        end = time.perf_counter() + _SECONDS
        while time.perf_counter() < end:
            started = time.perf_counter()
            list(pool.map(run, parts))
            times.append(time.perf_counter() - started)
    return {"copy": 2, "max": 1}[what] * _BYTES / min(times)


def main() -> None:
    """Roofs and NumPy in turns: the bandwidth of a shared machine changes from one second to the next."""
    best = {"copy": 0.0, "max": 0.0}
    for _ in range(_TURNS):
        levels = roofs(refresh=True)["levels"]
        best = {what: max(rate, by_numpy(what)) for what, rate in best.items()}
    print(", ".join(f"{level['name']} {level['bandwidth'] / 1e9:.1f} GB/s" for level in levels))
    roof = levels[-1]["bandwidth"]
    for what, rate in best.items():
        print(f"np.{what} on all cores {rate / 1e9:.1f} GB/s: the roof of memory is {roof / rate:.2f} of it")
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
