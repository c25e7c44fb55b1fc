"""Host expressions: what a kernel computes of its arguments and its grid alone, which the host can compute.

Every thread would compute the same. All that is taken over is defined for any numbers: the host computes it even if no
thread would have come to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from triptych.ir import bindings
from triptych.ir.builder import Builder
from triptych.ir.handles import Attribute, Attributes, Location, Operation, Value
from triptych.ir.launch import Launch
from triptych.ir.types import word_of
from triptych.kernel_ir.analysis.addresses import fact
from triptych.kernel_ir.dialects.kernel_attributes import FITS
from triptych.kernel_ir.dialects.kernel_operations import defining_op
from triptych.support.dataclass import dataclass

_TOTAL = frozenset(
    f"arith.{name}"
    for name in (
        *("constant", "addi", "subi", "muli", "andi", "ori", "xori", "select", "cmpi"),
        *("minsi", "maxsi", "minui", "maxui", "extsi", "extui", "trunci"),
    )
)
_DIVISIONS = ("arith.divui", "arith.remui", "arith.divsi", "arith.remsi")
"""Defined if the divisor is: a constant above zero."""
_TAKEN = _TOTAL.union(_DIVISIONS)


_GRID_WIDTH = 32
_MOST_LEVELS = 64
"""Deeper expressions stay with the threads: a limit for what goes through them level by level."""


@dataclass(frozen=True, slots=True, eq=False)
class Expression:
    """An operation on expressions, an argument of the kernel by its place, or the number of blocks along a dimension.
    There are no two equal ones."""

    name: str
    width: int
    number: int
    """The place of an argument, a dimension, a constant, the predicate of a comparison; 1 for a number that fits."""
    operands: tuple[Expression, ...]
    bounds: tuple[int, int]
    """The smallest and the largest signed number that it may be."""
    levels: int
    """Of operations upon operations."""

    @property
    def is_constant(self) -> bool:
        return self.name == "arith.constant"


ARGUMENT, GRID = "argument", "grid"
_MOST_BLOCKS = (2**31 - 1, 2**16 - 1, 2**16 - 1)
_DIMENSIONS = "xyz"
_LESS = 2
"""The predicate: signed <."""


class HostSide:
    """A launch and the kernel that it starts: what the kernel asks for is computed there and becomes an argument."""

    def __init__(self, kernel: Operation, launch: Launch, extents: Sequence[bool]) -> None:
        self.kernel = kernel
        self._launch = launch
        self._entry = kernel.regions[0].blocks[0]
        self._extents = extents
        self._known: dict[Value, Expression | None] = {}
        self._made: dict[tuple[str, int, int, tuple[Expression, ...]], Expression] = {}
        self._computed: dict[Expression, Value] = {}
        self._asked: list[Value] = []
        self.builder = Builder(kernel.context)
        self.builder.insertion = self.builder.before(launch.operation)

    @property
    def grid(self) -> tuple[Value, ...]:
        """The number of blocks along x, y, z, on the host."""
        return self._launch.grid

    @property
    def location(self) -> Location:
        return self._launch.operation.location

    # what the kernel computes -----------------------------------------------------------------------------------
    def expression(self, value: Value) -> Expression | None:
        """The integer as an expression of arguments; None if a thread adds something of its own."""
        return fact(value, self._known, _sources, self._expression)

    def _expression(self, value: Value) -> Expression | None:
        """Of a value whose sources are known."""
        ir = bindings.mlir()
        operation = defining_op(value)
        if not isinstance(value.type, ir.IntegerType):
            return None
        if operation is None:
            place = ir.BlockArgument(value).arg_number
            return self._only(ARGUMENT, value.type.width, place, ()) if value.owner == self._entry else None
        if operation.name == "arith.index_cast":
            dimension = _grid_dimension(operation.operands[0])
            return None if dimension is None else self._only(GRID, value.type.width, dimension, ())
        if operation.name not in _TAKEN:
            return None
        operands = [operand for operand in map(self._known.get, operation.operands) if operand is not None]
        if len(operands) < len(operation.operands):
            return None
        if operation.name in _DIVISIONS and not (operands[1].is_constant and operands[1].number > 0):
            return None
        return self._only(operation.name, value.type.width, _number(operation.attributes), tuple(operands))

    def _only(self, name: str, width: int, number: int, operands: tuple[Expression, ...]) -> Expression | None:
        """The one expression of its kind; None if it has too many levels."""
        levels = 1 + max((operand.levels for operand in operands), default=0)
        if levels > _MOST_LEVELS:
            return None
        key = (name, width, number, operands)
        if key not in self._made:
            is_extent = name == ARGUMENT and self._extents[number]
            bounds = _bounds(name, width, number, [operand.bounds for operand in operands], is_extent)
            self._made[key] = Expression(*key, bounds, levels)
        return self._made[key]

    # what the host computes -------------------------------------------------------------------------------------
    def compute(self, expression: Expression) -> Value:
        """The value on the host."""
        if expression not in self._computed:
            self._computed[expression] = self._emitted(expression)
        return self._computed[expression]

    def _emitted(self, expression: Expression) -> Value:
        if expression.name == ARGUMENT:
            return self._launch.arguments[expression.number]
        kind = f"i{expression.width}"
        if expression.name == GRID:
            blocks = self.grid[expression.number]
            return blocks if expression.width <= _GRID_WIDTH else self.emit("arith.extui", (blocks,), kind)
        operands = [self.compute(operand) for operand in expression.operands]
        attributes = {}
        if expression.is_constant:
            attributes["value"] = self.builder.integer(kind, expression.number)
        elif expression.name == "arith.cmpi":
            attributes["predicate"] = self.builder.integer("i64", expression.number)
        return self.emit(expression.name, operands, kind, attributes)

    def emit(
        self, name: str, operands: Sequence[Value], kind: str, attributes: Mapping[str, Attribute] | None = None
    ) -> Value:
        """An operation of the host, in front of the launch."""
        return self.builder.value(name, operands, self.builder.type(kind), attributes, location=self.location)

    def compare(self, predicate: int, left: Value, right: Value) -> Value:
        """A comparison of the host."""
        return self.emit("arith.cmpi", (left, right), "i1", {"predicate": self.builder.integer("i64", predicate)})

    def constant(self, value: int, kind: str) -> Value:
        return self.emit("arith.constant", (), kind, {"value": self.builder.integer(kind, value)})

    # what the kernel gets ---------------------------------------------------------------------------------------
    def give(self, value: Value) -> int:
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
        self._launch.add_arguments(self._asked)


def _grid_dimension(value: Value) -> int | None:
    """Along which dimension it is the number of blocks; None for any other value."""
    operation = defining_op(value)
    if operation is None or operation.name != "gpu.grid_dim":
        return None
    return _DIMENSIONS.index(word_of(operation.attributes["dimension"]))


def _number(attributes: Attributes) -> int:
    if FITS in attributes:
        return 1
    named = next((name for name in ("value", "predicate") if name in attributes), None)
    return int(bindings.mlir().IntegerAttr(attributes[named]).value) if named else 0


def _sources(value: Value) -> list[Value]:
    """What decides whether a value is an expression."""
    operation = defining_op(value)
    return list(operation.operands) if operation is not None and operation.name in _TAKEN else []


def _bounds(
    name: str, width: int, number: int, operands: Sequence[tuple[int, int]], is_extent: bool
) -> tuple[int, int]:
    """The bounds of an operation on numbers within the bounds of its operands; an extent is not negative."""
    everything = (-(1 << (width - 1)), (1 << (width - 1)) - 1)
    if name == ARGUMENT:
        return (0, everything[1]) if is_extent else everything
    if name == GRID:
        return 0, min(_MOST_BLOCKS[number], everything[1])
    if name == "arith.cmpi":
        (low, _), (_, most) = operands
        return (0, 0) if number == _LESS and low >= most else (-1, 0)
    if name == "arith.select":
        condition, then, otherwise = operands
        low, high = otherwise if condition == (0, 0) else (min(then[0], otherwise[0]), max(then[1], otherwise[1]))
    elif name == "arith.trunci" and number:
        low, high = (max(everything[0], min(bound, everything[1])) for bound in operands[0])
    else:
        low, high = (number, number) if name == "arith.constant" else _exact_bounds(name, operands, everything)
    return (low, high) if everything[0] <= low and high <= everything[1] else everything


def _exact_bounds(name: str, operands: Sequence[tuple[int, int]], everything: tuple[int, int]) -> tuple[int, int]:
    """As if numbers had no width."""
    (low, high), (least, most) = operands[0], operands[-1]
    if name in ("arith.extsi", "arith.trunci"):
        return low, high
    if low < 0 or least < 0:
        return everything
    match name:
        case "arith.addi":
            return low + least, high + most
        case "arith.muli":
            return low * least, high * most
        case "arith.divui" | "arith.divsi":
            return low // most, high // least
        case "arith.remui" | "arith.remsi":
            return 0, min(high, most - 1)
        case "arith.maxui" | "arith.maxsi":
            return max(low, least), max(high, most)
        case "arith.minui" | "arith.minsi":
            return min(low, least), min(high, most)
    return everything
