"""The pass `expand-narrow-floats`: floats that a machine does not compute with become integers and Float32 arithmetic.

Input: a traced module and what the target says of its machine. Output: the same module in which fp8, fp6, fp4 and TF32
values no longer exist, in which 16-bit floats are left only to operations that the machine does right, and in which no
packing of elements smaller than bytes is left to LLVM. Values keep their places: their types change to what stores
them, and only operations that compute are replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from triptych.ir import bindings
from triptych.ir.builder import Builder
from triptych.ir.expressions import element_and_lanes
from triptych.ir.handles import Module, Operation, Type, Value
from triptych.ir.modules import functions
from triptych.kernel_ir.transforms.narrow_floats.operations import RULES, FloatMachine, Kind, Task, expand
from triptych.kernel_ir.transforms.narrow_floats.storage import stored_type
from triptych.support.float_formats import FLOAT_FORMATS

_MOVES = ("scf.", "cf.", "func.", "gpu.", "vector.", "llvm.", "ub.", "builtin.")
"""Dialects whose operations only move values, where `RULES` does not name them: a new type is all they need."""

_HALVES = frozenset({"f16", "bf16"})
_PACKED = frozenset(f"i{width}" for width in range(2, 8))


def expand_narrow_floats(module: Module, machine: FloatMachine) -> bool:
    """Expand every operation of the module that the machine does not do; whether there is any."""
    with module.context:
        kinds = _Kinds()
        values = _narrow_values(module, kinds)
        if not values:
            return False
        builder = Builder(module.context)
        tasks = _tasks(values, kinds, machine, builder)
        _store(module, values, kinds, builder)
        for task in tasks:
            builder.insertion, builder.location = builder.before(task.operation), task.operation.location
            expand(task)
        return bool(tasks)


def convert_signature(operation: Operation, convert: Callable[[Type], Type]) -> bool:
    """Convert the types that a function declares; whether any has changed."""
    ir = bindings.mlir()
    old = ir.FunctionType(operation.attributes["function_type"].value)
    new = ir.FunctionType.get([convert(type_) for type_ in old.inputs], [convert(type_) for type_ in old.results])
    if new == old:
        return False
    operation.attributes["function_type"] = ir.TypeAttr.get(new)
    return True


class _Kinds:
    """The kind of every type, worked out once each."""

    def __init__(self) -> None:
        self._kinds: dict[Type, Kind | None] = {}
        self._narrow: dict[Type, bool] = {}

    def of(self, type_: Type) -> Kind | None:
        """The format of a float or of a vector of floats narrower than Float32."""
        self.is_narrow(type_)
        return self._kinds[type_]

    def is_narrow(self, type_: Type) -> bool:
        """Whether it is that, or a vector of integers smaller than bytes."""
        known = self._narrow.get(type_)
        if known is None:
            element, lanes = element_and_lanes(type_)
            form = FLOAT_FORMATS.get(element)
            self._kinds[type_] = None if form is None else Kind(form, lanes)
            known = self._narrow[type_] = form is not None or (lanes is not None and element in _PACKED)
        return bool(known)


def _narrow_values(module: Module, kinds: _Kinds) -> list[Value]:
    """Every result and block argument of a narrow type."""
    ir = bindings.mlir()
    found: list[Value] = []

    def visit(operation: Operation) -> object:
        found.extend(operation.results)
        for region in operation.regions:
            for block in region.blocks:
                found.extend(block.arguments)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return [value for value in found if kinds.is_narrow(value.type)]


def _tasks(values: Sequence[Value], kinds: _Kinds, machine: FloatMachine, builder: Builder) -> list[Task]:
    """The operations that make or take the values and do more than move them."""
    result = bindings.mlir().OpResult
    touched: dict[Operation, None] = {}
    for value in values:
        if isinstance(value, result):
            touched[value.owner.operation] = None
        touched.update((use.owner.operation, None) for use in value.uses)
    return [
        Task.of(operation, machine, builder, kinds.of) for operation in touched if _computes(operation, kinds, machine)
    ]


def _computes(operation: Operation, kinds: _Kinds, machine: FloatMachine) -> bool:
    """Whether an operation has to be replaced."""
    name = operation.name
    values = (*operation.operands, *operation.results)
    formats = frozenset(kind.form.mlir for value in values if (kind := kinds.of(value.type)) is not None)
    if not formats:
        return bool(name == "vector.bitcast")
    if name == "arith.select" or (formats <= _HALVES and machine.does(operation, formats)):
        return False
    return name in RULES or not name.startswith(_MOVES)


def _store(module: Module, values: Sequence[Value], kinds: _Kinds, builder: Builder) -> None:
    """Give every value and every function the types that store narrow floats."""

    def stored(type_: Type) -> Type:
        return type_ if kinds.of(type_) is None else builder.type(stored_type(type_))

    for value in values:
        old, new = value.type, stored(value.type)
        if new != old:
            value.set_type(new)
    for function in functions(module, "func.func", "gpu.func"):
        convert_signature(function, stored)
