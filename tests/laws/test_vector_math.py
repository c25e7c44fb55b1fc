"""Vector mathematics: every function stays within its stated error for every kind of float, in every lane."""

from __future__ import annotations

import platform
import sys
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.support.float_oracles import ORACLES, Array, errors, expected
from tests.support.vector_kernels import ARITIES, Kernel, Operation, compiled
from triptych.ir import bindings
from triptych.ir.bindings import context
from triptych.ir.llvm.object_file import undefined_symbols
from triptych.ir.location import place_of
from triptych.ir.modules import operations_named, symbols
from triptych.ir.passes import verify
from triptych.kernel_ir.transforms.mathematics.formulas import FORMULAS
from triptych.targets.cpu.passes.lower_math import vectorize_math

ULPS = {name.removeprefix("math."): formula.ulps for name, formula in FORMULAS.items()}
BINARY = [name for name, (operands, _) in ARITIES.items() if operands == 2]
UNARY = [name for name in ORACLES if name not in BINARY]
ODD = ("asin", "asinh", "atan", "atanh", "cbrt", "erf", "sin", "sinh", "tan", "tanh")
EVEN = ("cos", "cosh")

INTERVALS: dict[str, list[tuple[float, float]]] = {
    "acos": [(-1, 1)],
    "acosh": [(1, 3)],
    "asin": [(-1, 1)],
    "asinh": [(-3, 3)],
    "atan": [(-5, 5)],
    "atanh": [(-1, 1)],
    "cbrt": [(0.5, 8)],
    "cos": [(-7, 7), (-131_073, 131_073), (131_072, 1e8)],
    "cosh": [(-3, 3), (86, 90)],
    "erf": [(-4, 4)],
    "exp": [(-105, -86), (-1, 1), (86, 90)],
    "exp2": [(-151, -125), (-1, 1), (126, 129)],
    "expm1": [(-19, 1), (-1, 1), (86, 90)],
    "log": [(0.5, 2)],
    "log10": [(0.5, 2)],
    "log1p": [(-1, 1), (1, 100)],
    "log2": [(0.5, 2)],
    "sin": [(-7, 7), (-131_073, 131_073), (131_072, 1e8)],
    "sinh": [(-3, 3), (86, 90)],
    "tan": [(-7, 7), (-131_073, 131_073), (131_072, 1e8)],
    "tanh": [(-1, 1), (-10, 10)],
}
"""Where a formula changes its form, cancels, overflows or underflows."""
POINTS = 20_000
SPECIAL = np.array(
    [0, 0.5, 1, 2, 3, 7, np.inf, np.nan, 1e-45, 1e-38, 3.4e38, 2**24, 2**24 - 1, 2**23 - 0.5, 1 - 2**-24, 1 + 2**-23],
    np.float32,
)
PAIRS = [pair.ravel() for pair in np.meshgrid(*[np.concatenate([SPECIAL, -SPECIAL])] * 2)]
"""Every special value with every other."""


def every_exponent(fractions: int) -> Array:
    """Floats of every sign and exponent: the ends of each binade and random ones inside, in random order."""
    random = np.random.default_rng(7)
    inside = random.integers(0, 1 << 23, fractions, dtype=np.uint32)
    ends = np.array([0, 1, 1 << 22, (1 << 23) - 1], np.uint32)
    patterns = (np.arange(512, dtype=np.uint32)[:, None] << 23) | np.concatenate([ends, inside])
    return random.permutation(patterns.ravel()).view(np.float32)


def points(name: str) -> Array:
    random = np.random.default_rng(11)
    inside = [random.uniform(low, high, POINTS).astype(np.float32) for low, high in INTERVALS[name]]
    return random.permutation(np.concatenate([every_exponent(60), *inside]))


@cache
def kernel(name: str, element: str = "f32", lanes: int = 16, flags: str = "", cpu: str = "host") -> Kernel:
    dtype = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}[element]
    return compiled(Operation.of(name, flags, element=element, lanes=lanes), dtype, cpu=cpu)


def assert_near(name: str, ulps: float, found: Array, *operands: Array) -> None:
    error = errors(found, expected(name, *operands))
    worst = int(np.argmax(error))
    at = ", ".join(repr(operand[worst]) for operand in operands)
    assert error[worst] <= ulps, f"{name}({at}) gave {found[worst]!r}"


def same_bits(left: Array, right: Array) -> bool:
    """NaN is NaN, whatever its sign and payload."""
    return bool(np.all((left.view(np.uint32) == right.view(np.uint32)) | (np.isnan(left) & np.isnan(right))))


def test_every_formula_has_an_oracle() -> None:
    assert set(ULPS) == {*ORACLES, "sincos"}


@pytest.mark.parametrize("name", UNARY)
def test_error_is_within_its_bound(name: str) -> None:
    x = points(name)
    assert_near(name, ULPS[name], kernel(name)(x), x)


@pytest.mark.parametrize("name", BINARY)
def test_error_of_two_operands_is_within_its_bound(name: str) -> None:
    random = np.random.default_rng(3)
    x, y = every_exponent(60), every_exponent(61)[: every_exponent(60).size]
    moderate = np.exp(random.uniform(-5, 5, POINTS)).astype(np.float32)
    exponents = random.uniform(-20, 20, POINTS).astype(np.float32)
    near_one = (1 + random.uniform(-1e-3, 1e-3, POINTS)).astype(np.float32)
    for left, right in [(x, y), (moderate, exponents), (-moderate, np.round(exponents)), (near_one, exponents * 4000)]:
        assert_near(name, ULPS[name], kernel(name)(left, right), left, right)


@pytest.mark.parametrize("name", BINARY)
def test_pairs_of_special_values(name: str) -> None:
    assert_near(name, ULPS[name], kernel(name)(*PAIRS), *PAIRS)


def test_sincos_is_sin_and_cos() -> None:
    x = points("sin")
    sine, cosine = kernel("sincos").results(x)
    assert same_bits(sine, kernel("sin")(x))
    assert same_bits(cosine, kernel("cos")(x))


@pytest.mark.parametrize("name", [*ODD, *EVEN])
def test_symmetry_is_exact(name: str) -> None:
    x = points(name)
    mirrored = kernel(name)(-x)
    assert same_bits(-mirrored if name in ODD else mirrored, kernel(name)(x))


@pytest.mark.parametrize("element", ["f16", "bf16"])
@pytest.mark.parametrize("name", UNARY)
def test_every_float_of_16_bits_is_rounded_well(name: str, element: str) -> None:
    """Half a unit is the error of rounding itself; the function adds thousandths."""
    function = kernel(name, element)
    x = np.arange(1 << 16, dtype=np.uint16).view(function.dtype)
    exact = expected(name, x)
    found = function(x)
    assert np.max(errors_of_16_bits(found, exact)) <= 0.51


def errors_of_16_bits(found: Array, exact: Array) -> Array:
    """NumPy has no spacing for every type, so rounding is compared: the nearest, or as near as the nearest."""
    with np.errstate(all="ignore"):
        nearest = exact.astype(found.dtype)
        same = (found == nearest) | (np.isnan(found) & np.isnan(nearest))
        lower = np.abs(nearest.astype(np.float64) - exact)
        return np.where(same, 0.0, 0.5 * np.abs(found.astype(np.float64) - exact) / lower)


@pytest.mark.parametrize("lanes", [1, 3, 8, 32])
@pytest.mark.parametrize("name", ["exp", "sin", "powf"])
def test_number_of_lanes_does_not_matter(name: str, lanes: int) -> None:
    operands = [every_exponent(20 + i)[: 512 * 24] for i in range(ARITIES.get(name, (1, 1))[0])]
    assert same_bits(kernel(name, lanes=lanes)(*operands), kernel(name)(*operands))


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="names processors of one family")
@pytest.mark.parametrize("name", ["exp", "sin", "powf", "cbrt"])
def test_older_processors_compute_the_same(name: str) -> None:
    operands = [every_exponent(20 + i)[: 512 * 24] for i in range(ARITIES.get(name, (1, 1))[0])]
    assert same_bits(kernel(name, cpu="x86-64-v3")(*operands), kernel(name)(*operands))


@pytest.mark.parametrize("name", [*ORACLES, "sincos"])
def test_no_function_of_a_library_is_called(name: str) -> None:
    assert not undefined_symbols(kernel(name).artifact)


@pytest.mark.skipif(sys.platform != "linux", reason="reads the symbols of ELF files only")
def test_functions_of_a_library_would_be_called() -> None:
    assert "expf" in undefined_symbols(compiled(Operation.of("exp"), vectorised=False).artifact)


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_approximate_functions_are_right_for_moderate_angles(name: str) -> None:
    x = np.random.default_rng(5).uniform(-(2**17), 2**17, POINTS).astype(np.float32)
    assert same_bits(kernel(name, flags="fastmath<afn>")(x), kernel(name)(x))
    assert kernel(name, flags="fastmath<afn>").artifact.count(b"reduce_large_angle") == 0


def test_approximate_power_loses_a_few_places_for_large_exponents() -> None:
    random = np.random.default_rng(5)
    x, y = random.uniform(0.1, 10, POINTS).astype(np.float32), random.uniform(-10, 10, POINTS).astype(np.float32)
    assert_near("powf", 64, kernel("powf", flags="fastmath<afn>")(x, y), x, y)


def vectorised(body: str) -> Any:
    module = bindings.mlir().Module.parse(f"module {{ {body} }}", context=context())
    vectorize_math(module)
    verify(module)
    return module


@pytest.mark.parametrize("kind", ["f32", "vector<8xf64>", "vector<2x8xf32>"])
def test_other_types_are_left_to_the_library(kind: str) -> None:
    module = vectorised(f"func.func @f(%x: {kind}) -> {kind} {{ %y = math.exp %x : {kind} return %y : {kind} }}")
    assert operations_named(module, "math.exp")


def test_rare_part_is_built_once() -> None:
    vector = "vector<16xf32>"
    module = vectorised(
        f"""func.func @f(%x: {vector}) -> {vector} {{
  %a = math.sin %x : {vector}
  %b = math.cos %a : {vector}
  %c = math.tan %b fastmath<nnan> : {vector}
  return %c : {vector}
}}"""
    )
    assert set(symbols(module)) == {"f", "triptych.reduce_large_angle.16"}
    assert len(operations_named(module, "func.call")) == 3


def test_what_is_built_keeps_the_place_of_the_operation() -> None:
    vector = "vector<16xf32>"
    module = vectorised(
        f'func.func @f(%x: {vector}) -> {vector} {{ %y = math.exp %x : {vector} loc("k.py":7:3) return %y : {vector} }}'
    )
    (place,) = {place_of(operation) for operation in operations_named(module, "math.fma")}
    assert place is not None
    assert (place.file, place.line) == ("k.py", 7)
