"""What a generated statement may read, assign and call at its place in the program.

The rules here make the four executions agree by construction: a name has one type for life, a name is read only where
every path has assigned it, and every number has a known bound, so that 32 bits never overflow.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum


class Kind(Enum):
    """A scalar type; the value is its annotation in the program's text."""

    INT = "Int32"
    FLOAT = "Float64"
    BOOL = "Boolean"


Shape = Kind | tuple[Kind, ...]
"""The type of a variable or of a result: a scalar or a flat tuple of scalars."""

PREFIXES = {Kind.INT: "i", Kind.FLOAT: "f", Kind.BOOL: "b"}

LIMITS: dict[Kind, float] = {Kind.INT: 1000, Kind.FLOAT: 1e6, Kind.BOOL: 1}
"""Bound on the magnitude of every variable (floats: unless an argument itself is larger)."""

INT32_MAX = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Expression:
    """Program text that is safe as an operand, with a bound on the magnitude of its value."""

    text: str
    bound: float


@dataclass(frozen=True, slots=True)
class Signature:
    """A function the program defines, with the size of the code that inlining one call of it makes."""

    name: str
    parameters: tuple[str, ...]
    kinds: tuple[Kind, ...]
    result: Shape
    weight: int


class Names:
    """Fresh names of one function (and of those nested in it); the first letter tells the type."""

    def __init__(self) -> None:
        self._count = 0

    def fresh(self, shape: Shape) -> str:
        """Return a name not used before; tuples start with `t`."""
        prefix = PREFIXES[shape] if isinstance(shape, Kind) else "t"
        return self.fresh_with(prefix)

    def fresh_with(self, prefix: str) -> str:
        """Return a name not used before that starts with `prefix`."""
        self._count += 1
        return f"{prefix}{self._count - 1}"


@dataclass(slots=True)
class Scope:
    """The names assigned on every path to here, those of them that must not be assigned, and what can be called."""

    variables: dict[str, Shape] = field(default_factory=dict)
    frozen: frozenset[str] = frozenset()
    callables: tuple[Signature, ...] = ()
    hazard: str | None = None
    """A parameter that is never assigned and may be zero or negative where that raises."""

    def copy(self) -> Scope:
        """Return a scope for one branch or body."""
        return Scope(dict(self.variables), self.frozen, self.callables, self.hazard)

    def with_frozen(self, *names: str) -> Scope:
        """Return a view in which these names must not be assigned."""
        return Scope(self.variables, self.frozen.union(names), self.callables, self.hazard)

    def closed_over(self) -> Scope:
        """Return the scope a nested function starts from: everything readable, nothing assignable."""
        return Scope(dict(self.variables), frozenset(self.variables), self._helpers(), self.hazard)

    def inside_expression(self, **parameters: Kind) -> Scope:
        """Return the scope of a lambda or comprehension, where nothing at all is assignable."""
        variables = {**self.variables, **parameters}
        return Scope(variables, frozenset(variables), self._helpers(), self.hazard)

    def _helpers(self) -> tuple[Signature, ...]:
        """Functions of the module: a nested one, captured, would have to be one function on all run-time paths."""
        return tuple(signature for signature in self.callables if signature.name.startswith("h"))

    def names(self, shape: Shape) -> list[str]:
        """Return the readable names of this type."""
        return [name for name, its in self.variables.items() if its == shape]

    def assignable(self, shape: Shape) -> list[str]:
        """Return the names of this type that may be assigned."""
        return [name for name, its in self.variables.items() if its == shape and name not in self.frozen]

    def tuples(self) -> list[tuple[str, tuple[Kind, ...]]]:
        """Return the readable tuple variables with their element types."""
        return [(name, its) for name, its in self.variables.items() if isinstance(its, tuple)]

    def kinds(self) -> tuple[Kind, ...]:
        """Return the scalar types an expression can have here: a float needs a Float64 variable to start from."""
        return (Kind.INT, Kind.BOOL, Kind.FLOAT) if self.names(Kind.FLOAT) else (Kind.INT, Kind.BOOL)

    def callable_with(self, result: Shape, allowance: int) -> list[Signature]:
        """Return the functions of this result whose arguments can be made here and whose code is not too large."""
        kinds = self.kinds()
        return [
            signature
            for signature in self.callables
            if signature.result == result and signature.weight <= allowance and set(signature.kinds) <= set(kinds)
        ]
