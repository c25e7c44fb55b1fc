"""Integers of 128 bits become floats, floats become them, and they are divided, as Python does it with integers."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import triptych as tt
from tests.laws.floats.elementwise import LANES, elementwise
from tests.laws.floats.oracles import same
from tests.unit.targets.nvptx.tools import needs_assembler
from triptych import cute
from triptych.cute.runtime import make_fake_tensor

HALF = (1 << 64) - 1
SIGNED, UNSIGNED = (-(1 << 127), 1 << 127), (0, 1 << 128)
WIDEN = """
    %h{i} = arith.extui %a{high} : T(i64) to T(i128)
    %l{i} = arith.extui %a{low} : T(i64) to T(i128)
    %c{i} = arith.constant {sixty_four} : T(i128)
    %s{i} = arith.shli %h{i}, %c{i} : T(i128)
    %x{i} = arith.ori %s{i}, %l{i} : T(i128)
"""
SPLIT = """
    %r0 = arith.trunci %y : T(i128) to T(i64)
    %c9 = arith.constant {sixty_four} : T(i128)
    %t9 = arith.shrui %y, %c9 : T(i128)
    %r1 = arith.trunci %t9 : T(i128) to T(i64)
"""
scalar_and_vector = pytest.mark.parametrize("lanes", LANES)
with_and_without_sign = pytest.mark.parametrize("bounds", [SIGNED, UNSIGNED])


def wide(i: int, lanes: int | None) -> str:
    """MLIR of the number %x<i>, made from the halves %a<2i> and %a<2i+1>."""
    return WIDEN.format(i=i, high=2 * i, low=2 * i + 1, sixty_four=_splat(lanes))


def split(lanes: int | None) -> str:
    return SPLIT.format(sixty_four=_splat(lanes))


def _splat(lanes: int | None) -> str:
    return "64" if lanes is None else "dense<64>"


def halves(values: Sequence[int]) -> list[NDArray[Any]]:
    return [np.array([value >> shift & HALF for value in values], np.uint64) for shift in (64, 0)]


def joined(low: NDArray[Any], high: NDArray[Any], bounds: tuple[int, int]) -> list[int]:
    whole = [(int(h) & HALF) << 64 | int(lower) & HALF for h, lower in zip(high, low, strict=True)]
    return [value - (1 << 128) if value >= bounds[1] else value for value in whole]


def integers(bounds: tuple[int, int], significant: int) -> list[int]:
    """Numbers of every length, many of them in the middle of two floats of `significant` bits, or beside it."""
    draw = random.Random(11)
    middles = [(draw.getrandbits(significant) * 2 + 1) << draw.randrange(128 - significant) for _ in range(1500)]
    any_length = [draw.getrandbits(draw.randrange(1, 129)) for _ in range(1500)]
    sizes = [*any_length, *(middle + step for middle in middles for step in (-1, 0, 1))]
    edges = [*range(-40, 40), *(edge + step for edge in (*bounds, 1 << 64, 1 << 63) for step in (-2, -1, 0, 1))]
    return [value for size in (*sizes, *edges) for value in (size, -size) if bounds[0] <= value < bounds[1]]


def as_float32(value: int) -> float:
    """The nearest Float32, in exact arithmetic."""
    step = 1 << max(0, value.bit_length() - 24)
    rounded = round(Fraction(value, step)) * step
    return float(rounded) if abs(rounded) < 1 << 128 else math.copysign(math.inf, rounded)


@pytest.mark.parametrize(("kind", "significant", "nearest"), [("f64", 53, float), ("f32", 24, as_float32)])
@with_and_without_sign
@scalar_and_vector
def test_floats_of_integers_are_the_nearest(
    kind: str, significant: int, nearest: Callable[[int], float], bounds: tuple[int, int], lanes: int | None
) -> None:
    values = integers(bounds, significant)
    name = "uitofp" if bounds is UNSIGNED else "sitofp"
    body = wide(0, lanes) + f"    %r0 = arith.{name} %x0 : T(i128) to T({kind})\n"
    (found,) = elementwise(body, ("i64", "i64"), (kind,), lanes)(*halves(values))
    expected = np.array([nearest(value) for value in values], found.dtype)
    assert same(found, expected).all()


@pytest.mark.parametrize("kind", ["f32", "f64"])
@with_and_without_sign
@scalar_and_vector
def test_integers_of_floats_are_cut_and_saturate(kind: str, bounds: tuple[int, int], lanes: int | None) -> None:
    draw = random.Random(12)
    sizes = [draw.uniform(0.5, 1.0) * 2.0 ** draw.randrange(-3, 132) for _ in range(3000)]
    edges = [0.0, 0.99, 2.0**63, 2.0**64, math.nextafter(2.0**127, 0.0), 2.0**127, 2.0**128, math.inf]
    numbers = np.array([sign * size for size in (*sizes, *edges) for sign in (1, -1)] + [math.nan])
    with np.errstate(over="ignore"):
        values = numbers.astype(np.float32 if kind == "f32" else np.float64)
    prefix, vector = "u" if bounds is UNSIGNED else "s", "" if lanes is None else f"v{lanes}"
    intrinsic = f"llvm.fpto{prefix}i.sat.{vector}i128.{vector}{kind}"
    body = f'    %y = llvm.call_intrinsic "{intrinsic}"(%a0) : (T({kind})) -> T(i128)\n' + split(lanes)
    low, high = elementwise(body, (kind,), ("i64", "i64"), lanes)(values)

    def cut(value: float) -> int:
        if math.isnan(value):
            return 0
        whole = int(value) if math.isfinite(value) else (1 << 200) * int(math.copysign(1, value))
        return min(max(whole, bounds[0]), bounds[1] - 1)

    assert joined(low, high, bounds) == [cut(float(value)) for value in values]


@with_and_without_sign
@scalar_and_vector
def test_quotients_and_remainders(bounds: tuple[int, int], lanes: int | None) -> None:
    draw = random.Random(13)
    numbers = integers(bounds, 60)
    pairs = [(draw.choice(numbers), draw.choice(numbers)) for _ in range(4000)]
    pairs = [(a, b) for a, b in pairs if b and not (a == bounds[0] and b == -1)]
    suffix = "ui" if bounds is UNSIGNED else "si"
    for name, expected in (("div", _quotient), ("rem", lambda a, b: a - b * _quotient(a, b))):
        body = wide(0, lanes) + wide(1, lanes) + f"    %y = arith.{name}{suffix} %x0, %x1 : T(i128)\n" + split(lanes)
        operands = (*halves([a for a, _ in pairs]), *halves([b for _, b in pairs]))
        low, high = elementwise(body, ("i64",) * 4, ("i64", "i64"), lanes)(*_padded(operands))
        assert joined(low, high, bounds)[: len(pairs)] == [expected(a, b) for a, b in pairs]


def _quotient(a: int, b: int) -> int:
    """Toward zero."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _padded(arrays: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
    """Ones at the end: what fills the last vector is divided too."""
    return [np.append(array, np.ones(-len(array) % 16, array.dtype)) for array in arrays]


# in kernels ---------------------------------------------------------------------------------------------------------
@tt.kernel
def ratios_kernel(x: cute.Tensor, y: cute.Tensor, out: cute.Tensor, whole: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    product = x[thread].to(tt.Int128) * y[thread].to(tt.Int128)
    out[thread] = product.to(out.element_type)
    back = out[thread].to(tt.Int128)
    whole[thread] = ((product - back) // x[thread].to(tt.Int128) % 1000).to(tt.Int64)


@tt.jit
def ratios(x: cute.Tensor, y: cute.Tensor, out: cute.Tensor, whole: cute.Tensor) -> None:
    ratios_kernel(x, y, out, whole).launch(grid=1, block=32)


def test_threads_compute_with_wide_integers() -> None:
    draw = np.random.default_rng(3)
    x, y = (draw.integers(-(1 << 63), 1 << 63, 32, dtype=np.int64) | 1 for _ in range(2))
    out, whole = np.zeros(32), np.zeros(32, np.int64)
    ratios(x, y, out, whole)
    products = [int(a) * int(b) for a, b in zip(x, y, strict=True)]
    assert out.tolist() == [float(product) for product in products]
    expected = [(product - int(float(product))) // int(a) % 1000 for product, a in zip(products, x, strict=True)]
    assert whole.tolist() == expected


@needs_assembler
@pytest.mark.parametrize("kind", [tt.Float64, tt.Float32, tt.Float16, tt.BFloat16, tt.Float8E4M3FN])
@pytest.mark.parametrize("architecture", ["sm_80", "sm_90a"])
def test_gpus_compute_with_wide_integers(kind: Any, architecture: str) -> None:
    number, float_ = (make_fake_tensor(dtype, (32,), (1,)) for dtype in (tt.Int64, kind))
    ptx = tt.compile(ratios, number, number, float_, number, target=f"nvptx:{architecture}").__ptx__
    assert "clz.b64" in ptx
