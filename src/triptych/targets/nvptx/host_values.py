"""What a kernel computes of its arguments alone, found in the kernel and computed by the host before the launch.

Every thread would compute the same. All that is taken over is defined for any numbers: the host computes it even if no
thread would have come to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from triptych.ir import bindings
from triptych.ir.builder import Builder
from triptych.targets.nvptx.launches import arguments, grid, with_arguments

_TOTAL = frozenset(
    f"arith.{name}"
    for name in (
        *("constant", "addi", "subi", "muli", "andi", "ori", "xori", "select", "cmpi"),
        *("minsi", "maxsi", "minui", "maxui", "extsi", "extui", "trunci"),
    )
)
_DIVISIONS = ("arith.divui", "arith.remui", "arith.divsi", "arith.remsi")
"""Defined if the divisor is: a constant above zero."""


@dataclass(frozen=True, slots=True)
class Expression:
    """An operation on expressions, or an argument of the kernel by its place; equal ones are computed once."""

    name: str
    width: int
    number: int = 0
    """The place of an argument, a constant, the predicate of a comparison."""
    operands: tuple[Expression, ...] = ()

    @property
    def is_constant(self) -> bool:
        return self.name == "arith.constant"


ARGUMENT = "argument"


class HostSide:
    """A launch and the kernel that it starts: what the kernel asks for is computed there and becomes an argument."""

    def __init__(self, kernel: Any, launch: Any, extents: Sequence[bool]) -> None:
        self.kernel = kernel
        self._launch = launch
        self._entry = kernel.regions[0].blocks[0]
        self._extents = extents
        self._known: dict[Any, Expression | None] = {}
        self._computed: dict[Expression, Any] = {}
        self._asked: list[Any] = []
        self.builder = Builder(kernel.context)
        self.builder.insertion = bindings.mlir().InsertionPoint(launch)

    @property
    def grid(self) -> list[Any]:
        """The number of blocks along x, y, z, on the host."""
        return grid(self._launch)

    @property
    def location(self) -> Any:
        return self._launch.location

    # what the kernel computes -----------------------------------------------------------------------------------
    def expression(self, value: Any) -> Expression | None:
        """The integer as an expression of arguments; None if a thread adds something of its own."""
        if value not in self._known:
            self._known[value] = self._expression(value)
        return self._known[value]

    def _expression(self, value: Any) -> Expression | None:
        ir = bindings.mlir()
        if not isinstance(value.type, ir.IntegerType):
            return None
        width = value.type.width
        if isinstance(value.owner, ir.Block):
            place = ir.BlockArgument(value).arg_number
            return Expression(ARGUMENT, width, place) if value.owner == self._entry else None
        operation = value.owner.operation
        if operation.name not in _TOTAL and operation.name not in _DIVISIONS:
            return None
        operands = []
        for operand in operation.operands:
            found = self.expression(operand)
            if found is None:
                return None
            operands.append(found)
        if operation.name in _DIVISIONS and not (operands[1].is_constant and operands[1].number > 0):
            return None
        return Expression(operation.name, width, _number(operation.attributes), tuple(operands))

    def is_extent(self, place: int) -> bool:
        """Whether an argument is known not to be negative."""
        return self._extents[place]

    # what the host computes -------------------------------------------------------------------------------------
    def compute(self, expression: Expression) -> Any:
        """The value on the host."""
        if expression not in self._computed:
            self._computed[expression] = self._emitted(expression)
        return self._computed[expression]

    def _emitted(self, expression: Expression) -> Any:
        if expression.name == ARGUMENT:
            return arguments(self._launch)[expression.number]
        kind = f"i{expression.width}"
        operands = [self.compute(operand) for operand in expression.operands]
        attributes = {}
        if expression.is_constant:
            attributes["value"] = self.builder.integer(kind, expression.number)
        elif expression.name == "arith.cmpi":
            attributes["predicate"] = self.builder.integer("i64", expression.number)
        return self.emit(expression.name, operands, kind, attributes)

    def emit(self, name: str, operands: Sequence[Any], kind: str, attributes: Mapping[str, Any] | None = None) -> Any:
        """An operation of the host, in front of the launch."""
        return self.builder.value(name, operands, self.builder.type(kind), self.location, attributes)

    def compare(self, predicate: int, left: Any, right: Any) -> Any:
        """A comparison of the host."""
        return self.emit("arith.cmpi", (left, right), "i1", {"predicate": self.builder.integer("i64", predicate)})

    def constant(self, value: int, kind: str) -> Any:
        return self.emit("arith.constant", (), kind, {"value": self.builder.integer(kind, value)})

    # what the kernel gets ---------------------------------------------------------------------------------------
    def give(self, value: Any) -> int:
        """The place of a new argument that has a value of the host."""
        self._asked.append(value)
        return int(bindings.mlir().BlockArgument(self._entry.add_argument(value.type, self.location)).arg_number)

    def finish(self) -> None:
        """Launch with the new arguments."""
        if not self._asked:
            return
        ir = bindings.mlir()
        types = [argument.type for argument in self._entry.arguments]
        self.kernel.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types, []))
        with_arguments(self._launch, self._asked)


def _number(attributes: Any) -> int:
    named = next((name for name in ("value", "predicate") if name in attributes), None)
    return int(bindings.mlir().IntegerAttr(attributes[named]).value) if named else 0


def bounds(expression: Expression, side: HostSide) -> tuple[int, int]:
    """The smallest and the largest signed number that an expression may be."""
    everything = (-(1 << (expression.width - 1)), (1 << (expression.width - 1)) - 1)
    found = _exact_bounds(expression, side, everything)
    return found if everything[0] <= found[0] and found[1] <= everything[1] else everything


def _exact_bounds(expression: Expression, side: HostSide, everything: tuple[int, int]) -> tuple[int, int]:
    name, number = expression.name, expression.number
    if name == ARGUMENT:
        return (0, everything[1]) if side.is_extent(number) else everything
    if expression.is_constant:
        return number, number
    ranges = [bounds(operand, side) for operand in expression.operands]
    if name in ("arith.extsi", "arith.trunci"):
        return ranges[0]
    if any(low < 0 for low, _ in ranges):
        return everything
    (low, high), (least, most) = ranges[0], ranges[-1]
    match name:
        case "arith.addi":
            return low + least, high + most
        case "arith.muli":
            return low * least, high * most
        case "arith.divui" | "arith.divsi":
            return low // most, high // least
        case "arith.maxui" | "arith.maxsi":
            return max(low, least), max(high, most)
        case "arith.minui" | "arith.minsi":
            return min(low, least), min(high, most)
    return everything
