"""Functions of `cute.math` where only some lanes call them, and conversions, on all values that floats have."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from hypothesis import strategies as st

import triptych as tt
from tests.differential.kernel_suite.arrays import SEEDS, Array, block_sizes, output
from tests.differential.kernel_suite.cases import case
from tests.differential.kernel_suite.comparing import same
from tests.differential.kernel_suite.elementwise import number_of_thread
from triptych import cute

WHOLE = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 1e-45, -1e-40, 3e38, -3e38, 0.5, 2.5, 1e9, -1e5]
ULPS = 4
"""The largest distance to the float64 result, in units in the last place."""

FUNCTIONS: dict[str, Any] = {
    "exp": np.exp,
    "exp2": np.exp2,
    "log": np.log,
    "log2": np.log2,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "floor": np.floor,
}


def floats(seed: int, n: int) -> Array:
    """All sizes of numbers, and the special ones among them."""
    random = np.random.default_rng(seed)
    values = (random.standard_normal(n) * 2.0 ** random.integers(-30, 12, n)).astype(np.float32)
    special = random.random(n) < 0.2
    values[special] = random.choice(np.array(SPECIAL, np.float32), special.sum())
    return values


@tt.kernel
def some_lanes_kernel(x: cute.Tensor, chosen: cute.Tensor, out: cute.Tensor, function: tt.Constexpr[str]) -> None:
    i = number_of_thread()
    if i < cute.size(x):
        if chosen[i]:
            out[i] = getattr(cute.math, function)(x[i])
        else:
            out[i] = x[i] + 1.0


@tt.jit
def some_lanes(
    x: cute.Tensor, chosen: cute.Tensor, out: cute.Tensor, block: tt.Int32, function: tt.Constexpr[str]
) -> None:
    some_lanes_kernel(x, chosen, out, function).launch(grid=cute.ceil_div(cute.size(x), block), block=block)


@case(8, function=st.sampled_from(sorted(FUNCTIONS)), n=st.integers(1, 1500), block=block_sizes(), seed=SEEDS)
def functions_called_by_some_lanes(function: str, n: int, block: int, seed: int) -> None:
    x = floats(seed, n)
    chosen = np.random.default_rng(seed).random(n) < 0.5
    with np.errstate(all="ignore"), output(n, np.float32) as out:
        some_lanes(x, chosen, out, block, function)
        exact = FUNCTIONS[function](x.astype(np.float64))
        rounded = exact.astype(np.float32)
        same(out[~chosen], (x + np.float32(1))[~chosen])
        finite = chosen & np.isfinite(rounded)
        same(out[chosen & ~finite], rounded[chosen & ~finite])
        unit = np.spacing(np.abs(rounded[finite]))
        assert (np.abs(out[finite] - exact[finite]) <= ULPS * unit).all()


@tt.kernel
def convert_kernel(x: cute.Tensor, out: cute.Tensor) -> None:
    i = number_of_thread()
    if i < cute.size(x):
        out[i] = x[i].to(out.element_type)


@tt.jit
def convert(x: cute.Tensor, out: cute.Tensor, block: tt.Int32) -> None:
    convert_kernel(x, out).launch(grid=cute.ceil_div(cute.size(x), block), block=block)


PAIRS = [
    ("float32", "float16"),
    ("float16", "float32"),
    ("float64", "float16"),
    ("float32", "float64"),
    ("float64", "float32"),
    ("int64", "float32"),
    ("uint32", "float32"),
    ("int16", "float16"),
    ("int64", "int8"),
    ("int8", "uint32"),
    ("uint16", "int64"),
]


@case(8, pair=st.sampled_from(PAIRS), n=st.integers(1, 1500), block=block_sizes(), seed=SEEDS)
def conversions(pair: tuple[str, str], n: int, block: int, seed: int) -> None:
    source, target = pair
    if np.dtype(source).kind == "f":
        with np.errstate(over="ignore"):
            x = floats(seed, n).astype(source)
    else:
        limits = np.iinfo(source)
        x = np.random.default_rng(seed).integers(limits.min, limits.max, n, source, endpoint=True)
    with np.errstate(over="ignore"), output(n, target) as out:
        convert(x, out, block)
        same(out, x.astype(target))


@tt.kernel
def narrow_kernel(x: cute.Tensor, out: cute.Tensor, saturate: tt.Constexpr[bool]) -> None:
    i = number_of_thread()
    if i < cute.size(x):
        out[i] = x[i].to(out.element_type, saturate=saturate)


@tt.jit
def narrow(x: cute.Tensor, out: cute.Tensor, block: tt.Int32, saturate: tt.Constexpr[bool]) -> None:
    narrow_kernel(x, out, saturate).launch(grid=cute.ceil_div(cute.size(x), block), block=block)


@case(
    8,
    source=st.sampled_from(["float32", "float16", "bfloat16"]),
    target=st.sampled_from(["float8_e4m3fn", "float8_e5m2", "bfloat16", "float16"]),
    saturate=st.booleans(),
    n=st.integers(1, 1500),
    block=block_sizes(),
    seed=SEEDS,
)
def conversions_to_narrow_floats(source: str, target: str, saturate: bool, n: int, block: int, seed: int) -> None:
    """Rounded once; what is too large becomes infinity or NaN, or the largest number."""
    with np.errstate(all="ignore"), output(n, target) as out:
        x = floats(seed, n).astype(source)
        narrow(x, out, block, saturate)
        expected = x.astype(np.float32)
        if saturate:
            largest = np.float32(ml_dtypes.finfo(target).max)  # type: ignore[no-untyped-call]
            expected = np.clip(expected, -largest, largest)
        same(out.astype(np.float32), expected.astype(target).astype(np.float32))


def nearest(bits: Array, low: Array, high: Array, side: Array) -> Array:
    """Of a pattern and the next one: the side of the middle says which, and in the middle it is the even one."""
    return np.where((side > 0) | ((side == 0) & (bits % 2 == 1)), high, low)


@case(
    8,
    target=st.sampled_from(["float8_e4m3fn", "float8_e5m2", "bfloat16", "float16"]),
    n=st.integers(1, 1500),
    block=block_sizes(),
    seed=SEEDS,
)
def wide_floats_are_rounded_once(target: str, n: int, block: int, seed: int) -> None:
    """Halfway between two numbers of the type, at the next numbers of 64 bits, and between those of Float32 beside."""
    random = np.random.default_rng(seed)
    bits = random.integers(0, 0x7000 >> 16 - 8 * np.dtype(target).itemsize, n, f"u{np.dtype(target).itemsize}")
    low, high = (pattern.view(target).astype(np.float64) for pattern in (bits, bits + 1))
    side, sign = random.integers(-1, 2, n), random.choice([-1.0, 1.0], n)
    halfway = (low + high) / 2
    beside = np.select([side < 0, side > 0], [np.nextafter(halfway, -1), np.nextafter(halfway, np.inf)], halfway)
    x = sign * (beside + side * random.choice([0, 0.7, 1.3], n) * np.spacing(halfway.astype(np.float32)))
    with output(n, target) as out:
        narrow(x, out, block, False)
        same(out.astype(np.float64), sign * nearest(bits, low, high, side))


@case(
    8,
    source=st.sampled_from(WHOLE[4:]),
    n=st.integers(1, 1500),
    block=block_sizes(),
    seed=SEEDS,
)
def wide_integers_are_rounded_once(source: str, n: int, block: int, seed: int) -> None:
    """Halfway between two numbers of BFloat16 that are too far apart for Float32 to have the integers beside."""
    random = np.random.default_rng(seed)
    exponents = (26, 30) if np.dtype(source).itemsize == 4 else (40, 62)
    bits = random.integers(exponents[0] + 127 << 7, exponents[1] + 127 << 7, n, np.uint16)
    low, high = (pattern.view("bfloat16").astype(np.float64).astype(np.int64) for pattern in (bits, bits + 1))
    side = random.integers(-1, 2, n)
    x = (low + (high - low) // 2 + side).astype(source)
    with output(n, "bfloat16") as out:
        convert(x, out, block)
        same(out.astype(np.int64), nearest(bits, low, high, side))


@case(
    8,
    source=st.sampled_from(["float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "bfloat16"]),
    target=st.sampled_from(["float32", "float64"]),
    n=st.integers(1, 1500),
    block=block_sizes(),
    seed=SEEDS,
)
def narrow_floats_of_every_pattern_are_widened(source: str, target: str, n: int, block: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    size = np.dtype(source).itemsize
    x = random.integers(0, 256, n * size, np.uint8).view(source)
    with output(n, target) as out:
        convert(x, out, block)
        same(out, x.astype(target))


@case(
    8,
    source=st.sampled_from(["float64", "float32", "float16", "float8_e5m2"]),
    target=st.sampled_from(WHOLE),
    n=st.integers(1, 1500),
    block=block_sizes(),
    seed=SEEDS,
)
def floats_of_any_size_as_integers(source: str, target: str, n: int, block: int, seed: int) -> None:
    """Toward zero; beyond the range the nearest integer, and zero for what is not a number."""
    with np.errstate(all="ignore"), output(n, target) as out:
        x = floats(seed, n).astype(source)
        convert(x, out, block)
        limits = np.iinfo(target)
        exact = [0 if np.isnan(each) else min(max(each, limits.min), limits.max) for each in x.astype(np.float64)]
        same(out, np.array([int(each) for each in exact], target))


@tt.kernel
def truncate_kernel(x: cute.Tensor, out: cute.Tensor) -> None:
    """Floats that an integer can hold are converted, others left out by a branch."""
    i = number_of_thread()
    if i < cute.size(x):
        out[i] = 0
        if x[i] > -2.0e9 and x[i] < 2.0e9:
            out[i] = x[i].to(tt.Int32)


@tt.jit
def truncate(x: cute.Tensor, out: cute.Tensor, block: tt.Int32) -> None:
    truncate_kernel(x, out).launch(grid=cute.ceil_div(cute.size(x), block), block=block)


@case(8, n=st.integers(1, 1500), block=block_sizes(), seed=SEEDS)
def floats_cut_to_integers(n: int, block: int, seed: int) -> None:
    x = floats(seed, n)
    held = np.abs(x) < 2.0e9
    with output(n, np.int32) as out:
        truncate(x, out, block)
        same(out, np.where(held, np.where(held, x, 0).astype(np.int32), 0))


@tt.kernel
def extremes_kernel(x: cute.Tensor, y: cute.Tensor, out: cute.Tensor) -> None:
    """What comparisons, extremes and arithmetic make of infinities and of what is not a number."""
    i = number_of_thread()
    if i < cute.size(x):
        a, b = x[i], y[i]
        out[0, i] = cute.arch.fmax(a, b)
        out[1, i] = cute.arch.fmin(a, b)
        out[2, i] = a + b
        out[3, i] = a * b
        out[4, i] = a / b
        out[5, i] = 1.0 if a < b else (2.0 if a == b else (3.0 if a > b else 4.0))
        out[6, i] = a if not a >= b else -b


@tt.jit
def extremes(x: cute.Tensor, y: cute.Tensor, out: cute.Tensor, block: tt.Int32) -> None:
    extremes_kernel(x, y, out).launch(grid=cute.ceil_div(cute.size(x), block), block=block)


@case(8, n=st.integers(1, 1500), block=block_sizes(), seed=SEEDS)
def infinities_and_nans(n: int, block: int, seed: int) -> None:
    x, y = floats(seed, n), floats(seed + 1, n)
    with np.errstate(all="ignore"), output((7, n), np.float32) as out:
        extremes(x, y, out, block)
        same(out[0], np.fmax(x, y))
        same(out[1], np.fmin(x, y))
        same(out[2:5], np.stack([x + y, x * y, x / y]))
        same(out[5], np.select([x < y, x == y, x > y], [1, 2, 3], 4))
        same(out[6], np.where(x >= y, -y, x))
