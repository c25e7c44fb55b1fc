"""Kernels that are wrong, or cheat, each with the reason for which it must be refused; and honest ones."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from triptych.workbench.contracts.contract import Contract

Function = Callable[..., Any]
HERE = Path(__file__)
ROWS, COLUMNS = 48, 96


def softmax(x: np.ndarray) -> Any:
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def sums(x: np.ndarray) -> Any:
    return x.sum(axis=1)


def product(a: np.ndarray, b: np.ndarray) -> Any:
    return a @ b


def relu(x: np.ndarray) -> Any:
    return np.maximum(x, 0)


def matrix(seed: int = 0, rows: int = ROWS, columns: int = COLUMNS) -> list[np.ndarray]:
    return [np.random.default_rng(seed).standard_normal((rows, columns), np.float32)]


def large(seed: int = 0) -> list[np.ndarray]:
    return [100 * array for array in matrix(seed)]


def wide(seed: int = 0) -> list[np.ndarray]:
    return [np.random.default_rng(seed).random((4, 16384), np.float32)]


def transposed(seed: int = 0) -> list[np.ndarray]:
    return [matrix(seed)[0].T]


def pair(seed: int = 0) -> list[np.ndarray]:
    random = np.random.default_rng(seed)
    return [random.standard_normal((64, 64), np.float32) for _ in range(2)]


def with_infinities(seed: int = 0) -> list[np.ndarray]:
    x = matrix(seed)[0]
    x[3, 5] = np.inf
    return [x]


def contract(kernel: Function, reference: Function, inputs: Function) -> Contract:
    return Contract(HERE, kernel, reference, inputs)


@dataclass(frozen=True)
class Wrong:
    name: str
    reasons: tuple[str, ...]
    make: Callable[[], Function]
    reference: Function = softmax
    inputs: Function = matrix

    def contract(self) -> Contract:
        return contract(self.make(), self.reference, self.inputs)


class Lazy(np.ndarray):
    """Would compute when asked; here it only could."""


def counted(right: Function, wrong: Function, is_wrong: Callable[[int], bool]) -> Function:
    calls: list[int] = []

    def kernel(*inputs: np.ndarray) -> Any:
        calls.append(0)
        return (wrong if is_wrong(len(calls)) else right)(*inputs)

    return kernel


def by_pointer() -> Function:
    kept: dict[int, np.ndarray] = {}

    def kernel(x: np.ndarray) -> Any:
        if x.ctypes.data not in kept:
            kept[x.ctypes.data] = softmax(x)
        return kept[x.ctypes.data].copy()

    return kernel


def by_shape() -> Function:
    kept: dict[Any, np.ndarray] = {}
    return lambda x: kept.setdefault(x.shape, softmax(x)).copy()


def one_behind() -> Function:
    kept: list[np.ndarray] = []

    def kernel(x: np.ndarray) -> Any:
        kept.append(softmax(x))
        return kept[max(0, len(kept) - 2)]

    return kernel


def changed_input(x: np.ndarray) -> Any:
    x -= x.max(axis=1, keepdims=True)
    return softmax(x)


def later(x: np.ndarray) -> Any:
    result = np.zeros_like(x)

    def work() -> None:
        time.sleep(0.01)
        result[...] = softmax(x)

    threading.Thread(target=work).start()
    return result


def leaves_a_thread(x: np.ndarray) -> Any:
    threading.Thread(target=time.sleep, args=(2,), daemon=True).start()
    return softmax(x)


def leaves_a_process(x: np.ndarray) -> Any:
    LEFT.append(subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(5)"]))
    return softmax(x)


LEFT: list[subprocess.Popen[bytes]] = []


def set_to(array: np.ndarray, index: Any, value: float) -> Any:
    array = array.copy()
    array[index] = value
    return array


def exchanged(x: np.ndarray) -> Any:
    result = softmax(x)
    flat = result.reshape(-1)
    high, low = flat.argmax(), flat.argmin()
    flat[[high, low]] = flat[[low, high]]
    return result


def half_sums(x: np.ndarray) -> Any:
    total = np.zeros(x.shape[0], np.float16)
    for column in x.T:
        total = (total + column.astype(np.float16)).astype(np.float16)
    return total.astype(np.float32)


def in_bfloat(a: np.ndarray, b: np.ndarray) -> Any:
    cut = [(x.view(np.uint32) & 0xFFFF0000).view(np.float32) for x in (a, b)]
    return cut[0] @ cut[1]


def ignores_strides(x: np.ndarray) -> Any:
    return relu(np.ascontiguousarray(x.base if x.base is not None else x.ravel(order="K")).reshape(x.shape))


def pairs_only(x: np.ndarray) -> Any:
    result = np.zeros_like(x)
    even = x.shape[1] // 2 * 2
    result[:, :even] = relu(x[:, :even])
    return result


def no_shift(x: np.ndarray) -> Any:
    with np.errstate(all="ignore"):
        powers = np.exp(x)
        return powers / powers.sum(axis=1, keepdims=True)


def raises(_: np.ndarray) -> Any:
    raise RuntimeError("launch failed")


STALE = ("unwritten", "nan", "numbers", "state")
"""By what the memory held: a result of the reference may lie there, right once and wrong in the next call."""
WRONG = [
    Wrong("zeros", ("numbers",), lambda: np.zeros_like),
    Wrong("the mean", ("numbers",), lambda: lambda x: np.full_like(x, 1 / x.shape[1])),
    Wrong("last tile missing", ("numbers",), lambda: lambda x: set_to(softmax(x), slice(-16, None), 0)),
    Wrong("last column off", ("numbers",), lambda: lambda x: set_to(softmax(x), (slice(None), -1), 0.0005)),
    Wrong("one element", ("numbers",), lambda: lambda x: set_to(softmax(x), (7, 7), 0.0)),
    Wrong("half-precision sums", ("numbers",), lambda: half_sums, sums),
    Wrong("operands cut to bfloat16", ("numbers",), lambda: in_bfloat, product, pair),
    Wrong("fast exponential", ("numbers",), lambda: lambda x: softmax(x) * np.float32(1.0001)),
    Wrong("transposed", ("numbers",), lambda: lambda a, b: (b.T @ a.T).copy(), product, pair),
    Wrong("largest and smallest exchanged", ("numbers",), lambda: exchanged),
    Wrong("strides ignored", ("numbers",), lambda: ignores_strides, relu, transposed),
    Wrong("pairs only", ("numbers",), lambda: pairs_only, relu, lambda seed=0, n=64: matrix(seed, 16, n)),
    Wrong("pointer-keyed cache", ("cached",), by_pointer),
    Wrong("shape-keyed cache", ("cached",), by_shape),
    Wrong("the result before", ("cached", "state", "first call"), one_behind),
    Wrong(
        "answers from the second call on", ("first call",), lambda: counted(softmax, np.zeros_like, lambda n: n == 1)
    ),
    Wrong("answers the first two calls", ("state",), lambda: counted(softmax, np.zeros_like, lambda n: n > 2)),
    Wrong(
        "drifts after five calls", ("state",), lambda: counted(softmax, lambda x: 1.001 * softmax(x), lambda n: n > 5)
    ),
    Wrong("raises at the second call", ("raised",), lambda: counted(softmax, raises, lambda n: n == 2)),
    Wrong("changed input", ("input changed",), lambda: changed_input),
    Wrong("stale memory", STALE, lambda: np.empty_like),
    Wrong("half of it stale", STALE, lambda: half_written),
    Wrong("lazy result", ("type",), lambda: lambda x: softmax(x).view(Lazy)),
    Wrong("work after the return", ("late",), lambda: later),
    Wrong("leaves a thread", ("left behind",), lambda: leaves_a_thread),
    Wrong("leaves a process", ("left behind",), lambda: leaves_a_process),
    Wrong("wrong dtype", ("dtype",), lambda: lambda x: softmax(x).astype(np.float64)),
    Wrong("wrong shape", ("shape",), lambda: lambda x: softmax(x)[:-1]),
    Wrong("broadcast shape", ("shape",), lambda: lambda x: sums(x)[:1], sums),
    Wrong("two results", ("outputs",), lambda: lambda x: (softmax(x), x)),
    Wrong("NaN", ("nan",), lambda: lambda x: set_to(softmax(x), (0, 0), np.nan)),
    Wrong("overflow", ("nan",), lambda: no_shift, softmax, large),
    Wrong("infinity clipped", ("nan",), lambda: lambda x: np.minimum(relu(x), 3e38), relu, with_infinities),
]


def half_written(x: np.ndarray) -> Any:
    result = np.empty_like(x)
    result[: len(x) // 2] = softmax(x[: len(x) // 2])
    return result


# Honest kernels: other orders of summation, other formulas, wider sums ----------------------------------------------
def sum_one_by_one(x: np.ndarray) -> Any:
    return np.cumsum(x, axis=1, dtype=x.dtype)[:, -1]


def sum_by_threads(x: np.ndarray) -> Any:
    """128 threads, each with a part, and a tree of their sums."""
    return sum_in_pairs(np.cumsum(x.reshape(len(x), -1, 128), axis=1, dtype=x.dtype)[:, -1])


def sum_in_pairs(x: np.ndarray) -> Any:
    while x.shape[1] > 1:
        if x.shape[1] % 2:
            x = np.concatenate([x, np.zeros_like(x[:, :1])], axis=1)
        x = x[:, 0::2] + x[:, 1::2]
    return x[:, 0].copy()


def product_one_by_one(a: np.ndarray, b: np.ndarray) -> Any:
    total = np.zeros((a.shape[0], b.shape[1]), np.float32)
    for k in range(a.shape[1]):
        total += a[:, k : k + 1].astype(np.float32) * b[k].astype(np.float32)
    return total.astype(a.dtype)


def softmax_by_powers_of_two(x: np.ndarray) -> Any:
    powers = np.exp2((x - x.max(axis=1, keepdims=True)) * np.float32(np.log2(np.e)))
    return powers * (np.float32(1) / sum_one_by_one(powers)[:, None])


def softmax_by_threads(x: np.ndarray) -> Any:
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    return powers * (np.float32(1) / sum_by_threads(powers)[:, None])


def norm(x: np.ndarray) -> Any:
    centred = x - x.mean(axis=1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(axis=1, keepdims=True) + x.dtype.type(1e-5))


def norm_one_pass(x: np.ndarray) -> Any:
    mean = sum_one_by_one(x)[:, None] / np.float32(x.shape[1])
    variance = sum_one_by_one(x * x)[:, None] / np.float32(x.shape[1]) - mean * mean
    return (x - mean) * (np.float32(1) / np.sqrt(variance + np.float32(1e-5)))


def halves(seed: int = 0) -> list[np.ndarray]:
    random = np.random.default_rng(seed)
    return [random.standard_normal((32, 32)).astype(np.float16) for _ in range(2)]


def wide_product(a: np.ndarray, b: np.ndarray) -> Any:
    return (a.astype(np.float32) @ b.astype(np.float32)).astype(a.dtype) if a.dtype == np.float16 else a @ b


def all_of_it(x: np.ndarray) -> Any:
    return x.sum(keepdims=True)


def all_by_threads(x: np.ndarray) -> Any:
    return sum_in_pairs(sum_one_by_one(x)[None])[None]


def gelu(x: np.ndarray) -> Any:
    half, scale, cubic = (x.dtype.type(number) for number in (0.5, 0.7978845608, 0.044715))
    return half * x * (1 + np.tanh(scale * (x + cubic * x * x * x)))


def gelu_by_exponential(x: np.ndarray) -> Any:
    inner = np.float32(0.7978845608) * (x + np.float32(0.044715) * x * x * x)
    return x / (1 + np.exp(np.float32(-2) * inner))


HONEST: dict[str, tuple[Function, Function, Function]] = {
    "sums one by one": (sum_one_by_one, sums, matrix),
    "sums in pairs": (sum_in_pairs, sums, matrix),
    "sums of 16384": (sum_by_threads, sums, wide),
    "everything in one number": (all_by_threads, all_of_it, matrix),
    "product one by one": (product_one_by_one, product, pair),
    "product of halves": (product_one_by_one, wide_product, halves),
    "softmax by powers of two": (softmax_by_powers_of_two, softmax, matrix),
    "softmax of large numbers": (softmax_by_powers_of_two, softmax, large),
    "softmax of 16384": (softmax_by_threads, softmax, wide),
    "normalisation in one pass": (norm_one_pass, norm, matrix),
    "gelu by an exponential": (gelu_by_exponential, gelu, matrix),
    "relu": (relu, relu, with_infinities),
    "histogram": (
        lambda x: np.bincount((x.ravel() > 0).astype(np.int64), minlength=2),
        lambda x: np.array([(x <= 0).sum(), (x > 0).sum()]),
        matrix,
    ),
}


def plain_check_accepts(wrong: Wrong) -> bool:
    """What `assert_close(kernel_fn(*inputs), reference_fn(*inputs), rtol=1e-3, atol=1e-3)` says."""
    one = wrong.contract()
    inputs = one.inputs(0)
    try:
        result, expected = one.kernel(*inputs), one.reference(*inputs)
        if result.shape != expected.shape or result.dtype != expected.dtype:
            return False
        np.testing.assert_allclose(result, expected, rtol=1e-3, atol=1e-3)
    except (AssertionError, AttributeError, RuntimeError):
        return False
    return True
