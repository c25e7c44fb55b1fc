"""Formulas of mathematical functions, and the pass `expand-math`: functions of numbers become arithmetic.

Input: `math` operations of `f32`, and of `f16` and `bf16`, which are computed in `f32` and rounded once more. Output:
`arith` operations and those `math` operations that are machine instructions. A formula serves a number and a vector
alike, so targets that use them give the same bits.

Nothing here may be contracted or reassociated later: the formulas count on each rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from triptych.ir.expressions import Expression, element_and_lanes
from triptych.ir.handles import Module, Operation, Value
from triptych.ir.modules import kernels, operations_named
from triptych.ir.passes import Replacement, replace_each
from triptych.ir.types import may_approximate
from triptych.kernel_ir.transforms.mathematics import exponentials, trigonometry
from triptych.kernel_ir.transforms.narrow_floats.rounding import narrow
from triptych.support.dataclass import dataclass
from triptych.support.float_formats import FLOAT_FORMATS

Build = Callable[..., Expression | Sequence[Expression]]
"""From `f32` operands to the result or results."""


@dataclass(frozen=True, slots=True)
class Formula:
    """How one operation is computed, and how exactly."""

    build: Build
    ulps: float
    """Largest error of an `f32` result in units of its last place."""
    fast: Build | None = None
    """Used instead when the operation's flags allow approximate functions."""


FORMULAS = {
    "math.acos": Formula(trigonometry.acos, 1.5),
    "math.acosh": Formula(exponentials.acosh, 2.5),
    "math.asin": Formula(trigonometry.asin, 1.5),
    "math.asinh": Formula(exponentials.asinh, 2.5),
    "math.atan": Formula(trigonometry.atan, 1.5),
    "math.atan2": Formula(trigonometry.atan2, 2.0),
    "math.atanh": Formula(exponentials.atanh, 2.5),
    "math.cbrt": Formula(exponentials.cbrt, 1.0),
    "math.cos": Formula(trigonometry.cos, 1.5, trigonometry.cos_fast),
    "math.cosh": Formula(exponentials.cosh, 2.0),
    "math.erf": Formula(exponentials.erf, 1.5),
    "math.exp": Formula(exponentials.exp, 1.25),
    "math.exp2": Formula(exponentials.exp2, 1.0),
    "math.expm1": Formula(exponentials.expm1, 2.0),
    "math.log": Formula(exponentials.log, 1.0),
    "math.log10": Formula(exponentials.log10, 1.5),
    "math.log1p": Formula(exponentials.log1p, 2.0),
    "math.log2": Formula(exponentials.log2, 1.5),
    "math.powf": Formula(exponentials.power, 0.6, exponentials.power_fast),
    "math.sin": Formula(trigonometry.sin, 1.5, trigonometry.sin_fast),
    "math.sincos": Formula(trigonometry.sincos, 1.5, trigonometry.sincos_fast),
    "math.sinh": Formula(exponentials.sinh, 2.0),
    "math.tan": Formula(trigonometry.tan, 2.0, trigonometry.tan_fast),
    "math.tanh": Formula(exponentials.tanh, 1.5),
}

COMPUTED = frozenset({"f32", "f16", "bf16"})
"""What the formulas are for."""


def computed(op: Replacement, element: str, lanes: int | None) -> list[Value]:
    """The results of an operation on numbers, or on vectors of so many lanes, by its formula."""
    return _computed(op, op.operands, element, lanes)


def _computed(op: Replacement, operands: Sequence[Value], element: str, lanes: int | None) -> list[Value]:
    expressions = [Expression(op.builder, operand, element, lanes) for operand in operands]
    built = _chosen(op.operation)(*(expression.convert("extf", "f32") for expression in expressions))
    results = [built] if isinstance(built, Expression) else built
    return [_narrowed(result, element).value for result in results]


def _chosen(operation: Operation) -> Build:
    formula = FORMULAS[operation.name]
    return formula.fast if formula.fast is not None and may_approximate(operation) else formula.build


def _narrowed(x: Expression, element: str) -> Expression:
    return x if element == x.element else narrow(x, FLOAT_FORMATS[element])


def expand_math(module: Module) -> None:
    """Replace every operation of kernels that has a formula, a vector lane by lane."""
    for kernel in kernels(module):
        replace_each(operations_named(kernel, *FORMULAS), _by_lanes)


def _by_lanes(op: Replacement) -> list[Value] | None:
    kinds = [result.type for result in op.operation.results]
    element, count = element_and_lanes(kinds[0])
    if element not in COMPUTED:
        return None
    if count is None:
        return computed(op, element, None)
    lanes = [
        _computed(op, [op.element(operand, i, element) for operand in op.operands], element, None) for i in range(count)
    ]
    results = zip(*lanes, strict=True)
    return [op.value("vector.from_elements", parts, kind) for parts, kind in zip(results, kinds, strict=True)]
