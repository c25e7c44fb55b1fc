from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from tests.unit.targets.build import function

ORACLES: dict[str, Callable[[float], float]] = {
    "absf": abs,
    "acos": math.acos,
    "asin": math.asin,
    "atan": math.atan,
    "atanh": math.atanh,
    "cbrt": math.cbrt,
    "ceil": math.ceil,
    "cos": math.cos,
    "cosh": math.cosh,
    "erf": math.erf,
    "erfc": math.erfc,
    "exp": math.exp,
    "exp2": math.exp2,
    "expm1": math.expm1,
    "floor": math.floor,
    "log": math.log,
    "log10": math.log10,
    "log1p": math.log1p,
    "log2": math.log2,
    "roundeven": round,
    "rsqrt": lambda x: 1 / math.sqrt(x),
    "sin": math.sin,
    "sinh": math.sinh,
    "sqrt": math.sqrt,
    "tan": math.tan,
    "tanh": math.tanh,
    "trunc": math.trunc,
}
TOLERANCES = {"f64": ("Float64", 1e-14), "f32": ("Float32", 1e-6), "f16": ("Float16", 4e-3), "bf16": ("BFloat16", 3e-2)}


@pytest.mark.parametrize("opt_level", [0, 3])
@pytest.mark.parametrize("kind", TOLERANCES)
def test_functions_agree_with_python(kind: str, opt_level: int) -> None:
    """All in one module: every function lowers, loads and is as exact as its type allows."""
    dtype, tolerance = TOLERANCES[kind]
    body = "\n".join(f"%{name} = math.{name} %x : {kind}" for name in ORACLES)
    names = ", ".join(f"%{name}" for name in ORACLES)
    types = ", ".join([kind] * len(ORACLES))
    call = function(
        f"func.func @f(%x: {kind}) -> ({types}) {{ {body}\n return {names} : {types} }}",
        {"x": dtype},
        (dtype,) * len(ORACLES),
        opt_level=opt_level,
    )
    for x in (0.25, 0.5, 0.875):  # exact in every type
        for name, found in zip(ORACLES, call(x), strict=True):
            assert found == pytest.approx(ORACLES[name](x), rel=tolerance), name


@pytest.mark.parametrize("opt_level", [0, 3])
def test_integers_of_128_bits_inside_a_function(opt_level: int) -> None:
    call = function(
        """func.func @f(%a: i64, %b: i64) -> (i64, i64, f64) {
  %x = arith.extsi %a : i64 to i128
  %y = arith.extsi %b : i64 to i128
  %square = arith.muli %x, %x : i128
  %quotient = arith.divsi %square, %y : i128
  %rest = arith.remsi %square, %y : i128
  %float = arith.sitofp %square : i128 to f64
  %q = arith.trunci %quotient : i128 to i64
  %r = arith.trunci %rest : i128 to i64
  return %q, %r, %float : i64, i64, f64
}""",
        {"a": "Int64", "b": "Int64"},
        ("Int64", "Int64", "Float64"),
        opt_level=opt_level,
    )
    a, b = 3_000_000_019, 1_000_003
    assert call(a, b) == (a * a // b, a * a % b, float(a * a))
