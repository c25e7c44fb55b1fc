"""Passes `vectorize-math`, `call-libm`: mathematical functions become vector arithmetic or calls of the C library."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence

from triptych.ir.builder import Builder
from triptych.ir.expressions import element_and_lanes
from triptych.ir.handles import Module, Operation, Value
from triptych.ir.modules import append_ir, operations_named
from triptych.ir.passes import Replacement, Rule, replace_each
from triptych.kernel_ir.transforms.mathematics.formulas import COMPUTED, FORMULAS, computed

# Pass `vectorize-math`: mathematical functions of vectors become vector arithmetic instead of one call per lane.
#
# Input: `math` operations on rank-1 vectors, after warps have become vectors and before control flow is flattened.
# Output: `arith` operations and those `math` operations that are machine instructions. `f16` and `bf16` lanes are
# computed in `f32` and rounded once more. Expression of `f64` and scalars are left to the C mathematics library.
#
# Nothing here may be contracted or reassociated later: the formulas count on each rounding. A pass that adds such flags
# to the user's operations runs before this one.

_MANY = 8
"""Operations from which on a function for all takes less time to compile than it costs to call."""


def vectorize_math(module: Module) -> None:
    """Replace every operation that has a formula; one that many others are like becomes a function for all."""

    def rule(op: Replacement) -> list[Value] | None:
        element, lanes = element_and_lanes(op.operation.results[0].type)
        if lanes is None or element not in COMPUTED:
            return None
        op.builder.enclosing_module = module
        return computed(op, element, lanes)

    found = [op for op in operations_named(module, *FORMULAS) if element_and_lanes(op.results[0].type)[1] is not None]
    alike: defaultdict[Hashable, list[Operation]] = defaultdict(list)
    for operation in found:
        alike[_key(operation)].append(operation)
    for number, operations in enumerate(alike.values()):
        many = len(operations) >= _MANY
        replace_each([_shared(module, operations, number)] if many else operations, rule)


def _key(operation: Operation) -> Hashable:
    """Equal for operations that compute the same of their operands."""
    attributes = tuple((name, operation.attributes[name]) for name in operation.attributes)
    return (operation.name, operation.operands[0].type, attributes)


def _shared(module: Module, operations: Sequence[Operation], number: int) -> Operation:
    """Calls in the place of operations; gives the one operation in the function that they call."""
    first = operations[0]
    builder = Builder(module.context, first.location)
    arguments, results = [v.type for v in first.operands], [v.type for v in first.results]
    name = f"{first.name}.shared{number}"
    function, entry = builder.function(module, name, arguments, first.location)
    builder.finish_function(function, arguments, results)
    function.attributes["sym_visibility"] = builder.string("private")
    function.attributes["llvm.passthrough"] = builder.attribute('["noinline", "nounwind"]')
    builder.insertion = builder.at_end(entry)
    attributes = {name: first.attributes[name] for name in first.attributes}
    made = builder.operation(first.name, list(entry.arguments), results, attributes)
    builder.operation("func.return", list(made.results))
    callee = {"callee": builder.attribute(f'@"{name}"')}

    def call(op: Replacement) -> list[Value]:
        return list(op.builder.operation("func.call", op.operands, results, callee).results)

    replace_each(operations, call)
    return made


# Pass `call-libm`: functions that upstream lowers to an inexact formula call the C mathematics library instead.
#
# Input: what vector formulas leave, scalars and `f64` lanes. Upstream lowers `expm1(x)` to `exp(x) - 1` and `log1p(x)`
# to `log(1 + x)`, which lose every digit near zero, where these functions are for. Narrow floats are computed in `f32`.

_FUNCTIONS = {"math.expm1": "expm1", "math.log1p": "log1p"}
INEXACT = frozenset(_FUNCTIONS)
"""What upstream has such a formula for."""


def call_libm(module: Module) -> None:
    """Replace every such operation by a call, a vector by one call for each lane."""
    for name, function in _FUNCTIONS.items():
        found = operations_named(module, name)
        if found:
            append_ir(module, _declarations(function))
        replace_each(found, _calling(function))


def _declarations(function: str) -> str:
    return f"func.func private @{function}f(f32) -> f32\nfunc.func private @{function}(f64) -> f64\n"


def _calling(function: str) -> Rule:
    def rule(op: Replacement) -> list[Value]:
        (argument,) = op.operands
        element, count = element_and_lanes(argument.type)
        if count is None:
            return [_call(op, function, argument, element)]
        lanes = [op.element(argument, i, element) for i in range(count)]
        called = [_call(op, function, lane, element) for lane in lanes]
        return [op.value("vector.from_elements", called, argument.type)]

    return rule


def _call(op: Replacement, function: str, argument: Value, element: str) -> Value:
    if element not in ("f32", "f64"):
        wide = _call(op, function, op.value("arith.extf", (argument,), "f32"), "f32")
        return op.value("arith.truncf", (wide,), element)
    callee = op.attribute(f"@{function}{'f' if element == 'f32' else ''}")
    return op.value("func.call", (argument,), element, {"callee": callee})
