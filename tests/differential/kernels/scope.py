"""What a generated statement of a kernel may read, assign and touch at its place.

The rules here give every kernel one right answer: a name has one type and one level of agreement for life, threads meet
only where all of them come by, and memory that several threads use changes hands only at barriers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, IntEnum


class Kind(Enum):
    """A scalar type; the value is its name in the program's text."""

    INT32 = "Int32"
    UINT32 = "Uint32"
    INT64 = "Int64"
    INT8 = "Int8"
    FLOAT32 = "Float32"
    FLOAT64 = "Float64"
    FLOAT16 = "Float16"
    BOOL = "Boolean"

    @property
    def is_integer(self) -> bool:
        return self in INTEGERS

    @property
    def is_float(self) -> bool:
        return self in FLOATS


INTEGERS = (Kind.INT32, Kind.UINT32, Kind.INT64, Kind.INT8)
FLOATS = (Kind.FLOAT32, Kind.FLOAT64, Kind.FLOAT16)
NUMBERS = (*INTEGERS, *FLOATS)
WIDTHS = {Kind.INT8: 8, Kind.INT32: 32, Kind.UINT32: 32, Kind.INT64: 64}
PREFIXES = {
    Kind.INT32: "i",
    Kind.UINT32: "u",
    Kind.INT64: "l",
    Kind.INT8: "c",
    Kind.FLOAT32: "f",
    Kind.FLOAT64: "d",
    Kind.FLOAT16: "h",
    Kind.BOOL: "b",
}

LIMITS: dict[Kind, float] = {Kind.FLOAT16: 48, Kind.FLOAT32: 1000, Kind.FLOAT64: 10_000}
"""Bound on the magnitude of every float variable; floats are whole numbers, so that all arithmetic is exact."""

EXACT: dict[Kind, float] = {Kind.FLOAT16: 2**11, Kind.FLOAT32: 2**24, Kind.FLOAT64: 2**53}
"""The whole numbers up to here are exact."""


class Level(IntEnum):
    """How far threads agree, on a value or on being at a place."""

    BLOCK = 0
    WARP = 1
    THREAD = 2


SUFFIXES = {Level.BLOCK: "_b", Level.WARP: "_w", Level.THREAD: ""}


@dataclass(frozen=True, slots=True)
class Variable:
    """A scalar variable: its type and how far threads agree on it."""

    kind: Kind
    level: Level


@dataclass(frozen=True, slots=True)
class Expression:
    """Program text that is safe as an operand, with a bound on its magnitude where it is a float."""

    text: str
    bound: float = 0


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor in the program's text, by name."""

    name: str
    kind: Kind
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Output:
    """A tensor with one cell for each thread of the launch, and the text of a thread's own cell."""

    tensor: Tensor
    cell: str


@dataclass(frozen=True, slots=True)
class Counter:
    """A tensor that is only updated, by one atomic operation whose order does not matter."""

    tensor: Tensor
    operation: str


@dataclass(slots=True)
class Memory:
    """The tensors of a kernel. A shared tensor is read by all (its cell is None) or each thread owns one cell of it."""

    inputs: list[Tensor] = field(default_factory=list)
    outputs: list[Output] = field(default_factory=list)
    counters: list[Counter] = field(default_factory=list)
    registers: list[Tensor] = field(default_factory=list)
    shared: dict[Tensor, str | None] = field(default_factory=dict)

    def readable(self) -> list[Tensor]:
        """The tensors that any thread may read anywhere."""
        return [*self.inputs, *(tensor for tensor, cell in self.shared.items() if cell is None)]


@dataclass(frozen=True, slots=True)
class Helper:
    """A function of the module that the kernel calls."""

    name: str
    kinds: tuple[Kind, ...]
    result: Kind


class Names:
    """Fresh names of one function; they tell type and level."""

    def __init__(self) -> None:
        self._count = 0

    def fresh(self, variable: Variable) -> str:
        return self.fresh_with(PREFIXES[variable.kind]) + SUFFIXES[variable.level]

    def fresh_with(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}{self._count - 1}"


@dataclass(slots=True)
class Scope:
    """The names assigned on every path to here, and those of them that must not be assigned."""

    variables: dict[str, Variable] = field(default_factory=dict)
    frozen: frozenset[str] = frozenset()

    def copy(self) -> Scope:
        """A scope for one branch or body."""
        return Scope(dict(self.variables), self.frozen)

    def freeze(self, **variables: Variable) -> None:
        """Add names that must not be assigned."""
        self.variables.update(variables)
        self.frozen |= variables.keys()

    def names(self, kind: Kind, level: Level) -> list[str]:
        """The names of this type that threads agree on so far."""
        return [name for name, its in self.variables.items() if its.kind is kind and its.level <= level]

    def assignable(self, kind: Kind, level: Level) -> list[str]:
        """The names of this type that may be assigned where threads agree so far."""
        free = (item for item in self.variables.items() if item[0] not in self.frozen)
        return [name for name, its in free if its.kind is kind and its.level >= level]

    def kinds(self, level: Level) -> list[Kind]:
        """The number types of names that threads agree on so far."""
        return [kind for kind in NUMBERS if self.names(kind, level)]
