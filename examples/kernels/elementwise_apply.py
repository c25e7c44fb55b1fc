"""Any elementwise function in one kernel: the function is a `Constexpr` argument, so it is inlined while tracing.

`apply(op, (x, y, z), out)` is one pass over memory, whatever `op` computes: NumPy makes a temporary array for every
operator of the same expression. Each `op` gives its own compiled kernel.
"""

from __future__ import annotations

from math import erf
from typing import Any

import numpy as np

import triptych as tt
from triptych import cute, workbench

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


def gelu_exactly(x: np.ndarray) -> np.ndarray:
    return 0.5 * x * (1 + np.vectorize(erf, otypes=[x.dtype])(x / x.dtype.type(np.sqrt(2))))


FUNCTIONS = {
    "square": (lambda a: a * a, 1, lambda a: a * a),
    "multiply and add": (lambda a, b, c: a * b + c, 3, lambda a, b, c: a * b + c),
    "larger": (lambda a, b: a if a > b else b, 2, np.maximum),
    "polynomial": (polynomial, 3, polynomial),
    "gate": (sigmoid_gate, 2, lambda a, b: a / (1 + np.exp(-b))),
    "gelu": (gelu, 1, gelu_exactly),
}
"""Each with its number of arguments, and as NumPy computes it."""
CASES = {
    **{f"{name}, {n}": {"name": name, "n": n} for name in FUNCTIONS for n in (1, 1000)},
    **{name: {"name": name, "n": 1 << 20, "bench": True} for name in ("polynomial", "gate")},
}


def kernel_fn(name: str, *tensors: np.ndarray) -> np.ndarray:
    out = np.empty_like(tensors[0])
    apply(FUNCTIONS[name][0], tensors, out)
    return out


def reference_fn(name: str, *tensors: np.ndarray) -> np.ndarray:
    return FUNCTIONS[name][2](*tensors)


baseline_fn = reference_fn


def error_bound(name: str, *tensors: np.ndarray) -> float:
    """Relative to the largest result: some of them cancel."""
    wide = [tensor.astype(np.float64) for tensor in tensors]
    return 2e-6 * float(np.max(np.abs(FUNCTIONS[name][2](*wide))))


def get_inputs(name: str = "gate", n: int = 65_537, seed: int = 0) -> list[object]:
    tensors = np.random.default_rng(seed).standard_normal((FUNCTIONS[name][1], n), np.float32)
    return [name, *tensors]


def algorithmic_flops_bytes(name: str, *tensors: np.ndarray) -> tuple[int, int]:
    return 4 * tensors[0].size, (len(tensors) + 1) * tensors[0].nbytes


workbench.main(__name__)
