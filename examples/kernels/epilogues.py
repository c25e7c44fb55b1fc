"""Epilogues as classes: what happens to a result before it is stored, chosen by inheritance.

A class instance is a `Constexpr`. Which method runs is decided while tracing, so neither the object nor the call is in
the compiled kernel, only the arithmetic of the method. Frozen dataclasses may carry numbers, and other epilogues.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import triptych as tt
from triptych import cute, workbench

THREADS = 256


@dataclass(frozen=True)
class Epilogue:
    """Store the result as it is."""

    def __call__(self, value: Any) -> Any:
        return value


@dataclass(frozen=True)
class ReLU(Epilogue):
    """Negative results become zero."""

    def __call__(self, value: Any) -> Any:
        return value if value > 0.0 else 0.0


@dataclass(frozen=True)
class LeakyReLU(Epilogue):
    """Negative results become small."""

    slope: float = 0.01

    def __call__(self, value: Any) -> Any:
        return value if value > 0.0 else value * self.slope


@dataclass(frozen=True)
class Then(Epilogue):
    """One epilogue after the other."""

    first: Epilogue
    second: Epilogue

    def __call__(self, value: Any) -> Any:
        return self.second(self.first(value))


@dataclass(frozen=True)
class Scaled(Epilogue):
    """The result times a number that is part of the program."""

    factor: float

    def __call__(self, value: Any) -> Any:
        return value * self.factor


@tt.kernel
def axpy_kernel(alpha: tt.Float32, x: cute.Tensor, y: cute.Tensor, out: cute.Tensor, epilogue: tt.Constexpr) -> None:
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    i = block * THREADS + thread
    if i < cute.size(out):
        out[i] = epilogue(alpha * x[i] + y[i])


@tt.jit
def axpy(alpha: tt.Float32, x: cute.Tensor, y: cute.Tensor, out: cute.Tensor, epilogue: tt.Constexpr) -> None:
    """out = epilogue(alpha * x + y)."""
    blocks = cute.ceil_div(cute.size(out), THREADS)
    axpy_kernel(alpha, x, y, out, epilogue).launch(grid=blocks, block=THREADS)


EXACT = {
    Epilogue(): lambda v: v,
    ReLU(): lambda v: np.maximum(v, 0),
    LeakyReLU(0.25): lambda v: np.where(v > 0, v, 0.25 * v),
    Then(Scaled(-2.0), ReLU()): lambda v: np.maximum(-2 * v, 0),
}


NAMES = {str(epilogue): epilogue for epilogue in EXACT}
CASES = {
    **{f"{name}, {n}": {"name": name, "n": n} for name in NAMES for n in (1, 256, 1000)},
    "large": {"name": str(ReLU()), "n": 1 << 20, "bench": True},
}


def kernel_fn(x: np.ndarray, y: np.ndarray, name: str) -> np.ndarray:
    out = np.empty_like(x)
    axpy(0.5, x, y, out, NAMES[name])
    return out


def reference_fn(x: np.ndarray, y: np.ndarray, name: str) -> np.ndarray:
    return EXACT[NAMES[name]](x.dtype.type(0.5) * x + y)


baseline_fn = reference_fn


def error_bound(x: np.ndarray, y: np.ndarray, name: str) -> float:
    exact = reference_fn(x.astype(np.float64), y.astype(np.float64), name)
    return 1e-7 * float(np.max(np.abs(exact), initial=1.0))


def get_inputs(n: int = 1000, name: str = next(iter(NAMES)), seed: int = 0) -> list[object]:
    x, y = 1 + np.random.default_rng(seed).standard_normal((2, n), np.float32)
    return [x, y, name]


def algorithmic_flops_bytes(x: np.ndarray, y: np.ndarray, name: str) -> tuple[int, int]:
    return 3 * x.size, 3 * x.nbytes


workbench.main(__name__)
