"""Epilogues as classes: what happens to a result before it is stored, chosen by inheritance.

A class instance is a `Constexpr`. Which method runs is decided while tracing, so neither the object nor the call is in
the compiled kernel, only the arithmetic of the method. Frozen dataclasses may carry numbers, and other epilogues.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from measure import agree, main, versus_numpy

import triptych as tt
from triptych import cute

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


def check() -> None:
    random = np.random.default_rng(0)
    for n in (1, 256, 1000):
        x, y = random.standard_normal((2, n), np.float32)
        for epilogue, exact in EXACT.items():
            out = np.empty_like(x)
            axpy(0.5, x, y, out, epilogue)
            agree(out, exact(0.5 * x.astype(np.float64) + y), 1e-7)
    compiled = tt.compile(axpy, 0.5, x, y, out, ReLU())
    assert "func.call" not in compiled.mlir, "the epilogue is inlined"
    print(f"epilogues: {', '.join(map(str, EXACT))} agree with float64")


def benchmark() -> None:
    x, y = np.random.default_rng(0).standard_normal((2, 1 << 24), np.float32)
    out = np.empty_like(x)

    def numpys() -> None:
        np.multiply(x, np.float32(0.5), out=out)
        np.add(out, y, out=out)
        np.maximum(out, 0, out=out)

    versus_numpy("axpy with ReLU", lambda: axpy(0.5, x, y, out, ReLU()), numpys, moved=3 * x.nbytes)


if __name__ == "__main__":
    main(check, benchmark)
