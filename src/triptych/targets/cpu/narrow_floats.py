"""Pass `expand-narrow-floats`: floats that the machine does not compute with become integers and Float32 arithmetic.

Input: a traced module. Output: the same module in which fp8, fp6, fp4 and TF32 values no longer exist, and in which no
operation on BFloat16, none that rounds to Float16 by way of another type, and no packing of elements smaller than bytes
is left to LLVM. Values keep their places: their types change to what stores them, and only operations that compute are
replaced.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from triptych.ir import bindings
from triptych.ir.builder import Builder
from triptych.ir.modules import operations_named
from triptych.support.float_formats import FLOAT_FORMATS, SATURATE
from triptych.targets.cpu.expressions import element_and_lanes, vector_type
from triptych.targets.cpu.float_boundary import convert_signature, widen_boundary
from triptych.targets.cpu.float_operations import RULES, Kind, Task, expand
from triptych.targets.cpu.float_rounding import storage

_MOVES = ("scf.", "cf.", "func.", "gpu.", "vector.", "llvm.", "ub.")
"""Dialects whose operations only move values, where `RULES` does not name them: a new type is all they need."""

_PATTERNS = frozenset({"arith.constant", "arith.bitcast", "vector.bitcast"})
"""What LLVM does right with the bits of 16-bit floats."""

_PACKED = frozenset(f"i{width}" for width in range(2, 8))

_ROUNDS_TWICE = frozenset({"arith.truncf", "arith.sitofp", "arith.uitofp", "math.fma", "vector.fma"})
"""What LLVM may do to a Float16 in two steps, through Float32, each with its own rounding."""


def expand_narrow_floats(module: Any) -> None:
    """Expand every operation of the module."""
    with module.context:
        widen_boundary(module)
        kinds = _Kinds()
        values = _narrow_values(module, kinds)
        if not values:
            return
        builder = Builder(module.context)
        tasks = _tasks(values, kinds, builder)
        _store(module, values, kinds, builder)
        for task in tasks:
            builder.insertion = bindings.mlir().InsertionPoint(task.operation)
            expand(task)


class _Kinds:
    """The kind of every type, worked out once each."""

    def __init__(self) -> None:
        self._kinds: dict[Any, Kind | None] = {}
        self._narrow: dict[Any, bool] = {}

    def of(self, type_: Any) -> Kind | None:
        """The format of a float or of a vector of floats narrower than Float32."""
        self.is_narrow(type_)
        return self._kinds[type_]

    def is_narrow(self, type_: Any) -> bool:
        """Whether it is that, or a vector of integers smaller than bytes."""
        known = self._narrow.get(type_)
        if known is None:
            element, lanes = element_and_lanes(str(type_))
            form = FLOAT_FORMATS.get(element)
            self._kinds[type_] = None if form is None else Kind(form, lanes)
            known = self._narrow[type_] = form is not None or (lanes is not None and element in _PACKED)
        return bool(known)


def _narrow_values(module: Any, kinds: _Kinds) -> list[Any]:
    """Every result and block argument of a narrow type."""
    ir = bindings.mlir()
    found: list[Any] = []

    def visit(operation: Any) -> Any:
        found.extend(operation.results)
        for region in operation.regions:
            for block in region.blocks:
                found.extend(block.arguments)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return [value for value in found if kinds.is_narrow(value.type)]


def _tasks(values: Sequence[Any], kinds: _Kinds, builder: Builder) -> list[Task]:
    """The operations that make or take the values and do more than move them."""
    result = bindings.mlir().OpResult
    touched: dict[Any, None] = {}
    for value in values:
        if isinstance(value, result):
            touched[value.owner.operation] = None
        touched.update((use.owner.operation, None) for use in value.uses)
    return [Task.of(operation, builder, kinds.of) for operation in touched if _computes(operation, kinds)]


def _computes(operation: Any, kinds: _Kinds) -> bool:
    """Whether an operation has to be replaced. Float16 is left to LLVM, except where it would round twice."""
    name = operation.name
    values = (*operation.operands, *operation.results)
    forms = {kind.form.mlir for value in values if (kind := kinds.of(value.type)) is not None}
    if not forms:
        return bool(name == "vector.bitcast")
    if forms == {"f16"}:
        return name in _ROUNDS_TWICE and not _is_plain_half(operation)
    if name == "arith.select" or (forms <= {"f16", "bf16"} and name in _PATTERNS):
        return False
    return name in RULES or not name.startswith(_MOVES)


def _is_plain_half(operation: Any) -> bool:
    """The one conversion to Float16 that is an instruction."""
    if operation.name != "arith.truncf" or SATURATE in operation.attributes:
        return False
    return element_and_lanes(str(operation.operands[0].type))[0] == "f32"


def _store(module: Any, values: Sequence[Any], kinds: _Kinds, builder: Builder) -> None:
    """Give every value and every function the types that store narrow floats."""

    def stored(type_: Any) -> Any:
        kind = kinds.of(type_)
        return type_ if kind is None else builder.type(vector_type(storage(kind.form), kind.lanes))

    for value in values:
        old, new = value.type, stored(value.type)
        if new != old:
            value.set_type(new)
    for name in ("func.func", "gpu.func"):
        for operation in operations_named(module, name):
            convert_signature(operation, stored)
