"""Any elementwise function in one kernel: the function is a `Constexpr` argument, so it is inlined while tracing.

`apply(op, (x, y, z), out)` is one pass over memory, whatever `op` computes: NumPy makes a temporary array for every
operator of the same expression. Each `op` gives its own compiled kernel.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from measure import agree, main, versus_numpy

import triptych as tt
from triptych import cute

THREADS = 256


@tt.kernel
def apply_kernel(op: tt.Constexpr, inputs: Any, out: cute.Tensor) -> None:
    """`inputs` is a tuple of tensors: Python iterates over it while tracing, so any number of them will do."""
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    i = block * THREADS + thread
    if i < cute.size(out):
        out[i] = op(*[tensor[i] for tensor in inputs])


@tt.jit
def apply(op: tt.Constexpr, inputs: Any, out: cute.Tensor) -> None:
    apply_kernel(op, inputs, out).launch(grid=cute.ceil_div(cute.size(out), THREADS), block=THREADS)


def gelu(x: Any) -> Any:
    """A named function serves as well as a lambda."""
    return 0.5 * x * (1.0 + cute.math.erf(x * 0.5**0.5))


def sigmoid_gate(x: Any, gate: Any) -> Any:
    return x / (1.0 + cute.math.exp(-gate))


def polynomial(x: Any, y: Any, z: Any) -> Any:
    """The same function for compiled numbers and for whole NumPy arrays."""
    return (x * y + z) * x - y


def check() -> None:
    random = np.random.default_rng(0)
    for n in (1, 255, 1000, 65_537):
        x, y, z = random.standard_normal((3, n), np.float32)
        out = np.empty_like(x)
        exact_x, exact_y, exact_z = (tensor.astype(np.float64) for tensor in (x, y, z))

        apply(lambda a: a * a, (x,), out)
        agree(out, x * x)

        apply(lambda a, b, c: a * b + c, (x, y, z), out)
        agree(out, exact_x * exact_y + exact_z, 1e-7)

        apply(lambda a, b: a if a > b else b, (x, y), out)
        agree(out, np.maximum(x, y))

        apply(polynomial, (x, y, z), out)
        agree(out, polynomial(exact_x, exact_y, exact_z), 1e-6)

        apply(sigmoid_gate, (x, y), out)
        agree(out, exact_x / (1 + np.exp(-exact_y)), 1e-6)
    x = np.array([-2.0, -0.5, 0.0, 0.5, 2.0], np.float32)
    out = np.empty_like(x)
    apply(gelu, (x,), out)
    agree(out, np.array([-0.04550026, -0.15426877, 0.0, 0.34573123, 1.95449974]), 1e-6)
    print("elementwise apply: six functions agree with float64")


def benchmark() -> None:
    x, y, z = np.random.default_rng(0).standard_normal((3, 1 << 22), np.float32)
    out = np.empty_like(x)
    versus_numpy(
        "(x * y + z) * x - y",
        lambda: apply(polynomial, (x, y, z), out),
        lambda: np.copyto(out, polynomial(x, y, z)),
        moved=4 * x.nbytes,
    )
    versus_numpy(
        "x / (1 + exp(-y))",
        lambda: apply(sigmoid_gate, (x, y), out),
        lambda: np.copyto(out, x / (1 + np.exp(-y))),
        moved=3 * x.nbytes,
    )


if __name__ == "__main__":
    main(check, benchmark)
