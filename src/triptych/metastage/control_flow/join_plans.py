"""Join plans: how one variable crosses a join, as run-time numbers, as an aggregate of such, or as a static object.

A plan is made from the values that meet (`join`) or from a value that enters a loop (`carry`); it then turns values
into MLIR values on each path and back into one Python value after the join.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from enum import IntEnum
from typing import Any, TypeGuard

from triptych.hooks import DEAD, UNDEFINED
from triptych.ir.handles import Type
from triptych.ir.types import type_text
from triptych.metastage.trace.trace import Trace
from triptych.metastage.values import conversion, promotion
from triptych.metastage.values.aggregates import (
    DynamicExpression,
    Parts,
    as_expression,
    describe,
    is_dynamic_expression,
    may_have_values,
    static_part,
    take_apart,
)
from triptych.metastage.values.promotion import PYTHON_NUMBERS, TYPES, TypeInfo
from triptych.metastage.values.scalars import NUMERIC_CLASSES, Numeric, materialize
from triptych.support.dataclass import dataclass
from triptych.support.source import Span


class MismatchError(Exception):
    """Two values that cannot be one variable: where in the variable, and what each side has."""

    def __init__(self, path: str, left: str, right: str) -> None:
        super().__init__(f"{path}: {left} and {right}")
        self.path = path
        self.left = left
        self.right = right


class Plan(ABC):
    """How one variable crosses a join."""

    @abstractmethod
    def types(self) -> list[str]:
        """MLIR types of the values that cross."""

    def marks(self) -> list[str]:
        """What is to be said of each of them where it is an argument of a kernel: an attribute, or nothing."""
        return [""] * len(self.types())

    @abstractmethod
    def lower(self, value: object, trace: Trace, path: str = "") -> list[Any]:
        """`value` as MLIR values of those types, emitted where the trace is now."""

    @abstractmethod
    def build(self, values: Iterator[Any], trace: Trace) -> Any:
        """The Python value on the other side."""

    @abstractmethod
    def placeholder(self, trace: Trace) -> list[Any]:
        """MLIR values for a path on which the variable is not assigned and never read."""


@dataclass(frozen=True, slots=True)
class Static(Plan):
    """One Python object, the same on every path."""

    value: Any

    def types(self) -> list[str]:
        return []

    def lower(self, value: object, trace: Trace, path: str = "") -> list[Any]:
        if not same(self.value, value):
            raise MismatchError(path, describe(self.value), describe(value))
        return []

    def build(self, values: Iterator[Any], trace: Trace) -> Any:
        return self.value

    def placeholder(self, trace: Trace) -> list[Any]:
        return []


@dataclass(frozen=True, slots=True)
class Scalar(Plan):
    """A run-time number of one type."""

    info: TypeInfo

    def types(self) -> list[str]:
        return [self.info.mlir]

    def lower(self, value: object, trace: Trace, path: str = "") -> list[Any]:
        value = _plain(value)
        if not _widens(value, self.info):
            raise MismatchError(path, self.info.name, describe(value))
        return [materialize(value, self.info, trace)]

    def build(self, values: Iterator[Any], trace: Trace) -> Any:
        return NUMERIC_CLASSES[self.info.name].of(next(values), trace.region)

    def placeholder(self, trace: Trace) -> list[Any]:
        return [conversion.constant(trace, 0, self.info)]


@dataclass(frozen=True, slots=True)
class Aggregate(Plan):
    """A tuple, NamedTuple or dataclass whose parts cross one by one."""

    parts: Parts
    plans: tuple[Plan, ...]

    def types(self) -> list[str]:
        return [text for plan in self.plans for text in plan.types()]

    def marks(self) -> list[str]:
        return [mark for plan in self.plans for mark in plan.marks()]

    def lower(self, value: object, trace: Trace, path: str = "") -> list[Any]:
        parts = take_apart(value)
        if parts is None or parts.key != self.parts.key:
            raise MismatchError(path, self.parts.summary(), describe(value))
        _check_besides(self.parts, parts, path)
        return [
            lowered
            for plan, part, label in zip(self.plans, parts.values, parts.labels, strict=True)
            for lowered in plan.lower(part, trace, path + label)
        ]

    def build(self, values: Iterator[Any], trace: Trace) -> Any:
        return self.parts.rebuild([plan.build(values, trace) for plan in self.plans])

    def placeholder(self, trace: Trace) -> list[Any]:
        return [value for plan in self.plans for value in plan.placeholder(trace)]


@dataclass(frozen=True, slots=True)
class Expression(Plan):
    """A class with the dynamic-expression protocol."""

    like: DynamicExpression
    kinds: tuple[Type, ...]
    classes: tuple[type[Numeric] | None, ...]
    """Numbers that the class extracts come back as numbers; other MLIR values as they are."""

    def types(self) -> list[str]:
        return [type_text(kind) for kind in self.kinds]

    def marks(self) -> list[str]:
        said = getattr(type(self.like), "__argument_marks__", None)
        return Plan.marks(self) if said is None else list(said)

    def lower(self, value: object, trace: Trace, path: str = "") -> list[Any]:
        crossing = as_expression(value)
        if type(crossing) is not type(self.like) or static_part(crossing) != static_part(self.like):
            raise MismatchError(path, describe(self.like), describe(value))
        values = _mlir_values(crossing)
        kinds = [value.type for value in values]
        if kinds != list(self.kinds):
            raise MismatchError(path, ", ".join(self.types()), ", ".join(map(type_text, kinds)))
        return values

    def build(self, values: Iterator[Any], trace: Trace) -> Any:
        received = zip(self.classes, values, strict=False)
        given = [value if cls is None else cls.of(value, trace.region) for cls, value in received]
        with trace.looking_back():  # it may ask what its parts were made of
            return self.like.__new_from_mlir_values__(given)

    def placeholder(self, trace: Trace) -> list[Any]:
        return [_zero(trace, text) for text in self.types()]


def carry(value: object, *, keeps: bool = False) -> Plan:
    """The plan of a value that enters a loop which assigns it: numbers become run-time numbers of their type.

    With `keeps`, objects that keep what changes in memory of the program stay themselves.
    """
    if keeps and getattr(type(value), "__runtime_state__", False):
        return Static(value)
    if isinstance(value, Numeric):
        return Scalar(value.info)
    if type(value) in PYTHON_NUMBERS:
        return Scalar(TYPES[PYTHON_NUMBERS[type(value)]])
    if is_dynamic_expression(value):
        return _expression(value)
    parts = take_apart(value)
    if parts is not None:
        return Aggregate(parts, tuple(carry(part, keeps=keeps) for part in parts.values))
    return Static(value)


def join(left: object, right: object, path: str = "") -> Plan:
    """The plan of a variable that is `left` on one path and `right` on the other; UNDEFINED takes any shape."""
    if left is UNDEFINED or right is UNDEFINED:
        known = right if left is UNDEFINED else left
        return Static(known) if known is UNDEFINED or not has_dynamic(known) else carry(known)
    if same(left, right):
        return Static(left)
    left, right = _plain(left), _plain(right)
    if _is_number(left) and _is_number(right):
        return Scalar(_join_numbers(left, right, path))
    if is_dynamic_expression(left) and type(left) is type(right):
        if static_part(as_expression(left)) != static_part(as_expression(right)):
            raise MismatchError(path, describe(left), describe(right))
        return _expression(left)
    parts, others = take_apart(left), take_apart(right)
    if parts is None or others is None or parts.key != others.key:
        raise MismatchError(path, describe(left), describe(right))
    _check_besides(parts, others, path)
    plans = [
        join(part, other, path + label)
        for part, other, label in zip(parts.values, others.values, parts.labels, strict=True)
    ]
    return Aggregate(parts, tuple(plans))


def _check_besides(parts: Parts, others: Parts, path: str) -> None:
    """What does not cross has to be the same on both sides."""
    left, right = dict(parts.besides), dict(others.besides)
    for name in (*left, *right):
        one, other = left.get(name, UNDEFINED), right.get(name, UNDEFINED)
        if not same(one, other):
            raise MismatchError(f"{path}.{name}", _shown(one), _shown(other))


def _shown(value: object) -> str:
    return "no attribute" if value is UNDEFINED else describe(value)


def same(left: object, right: object) -> bool:
    """Whether two static values are one: the same object, or equal constants of the same type."""
    if left is right:
        return True
    if type(left) is not type(right) or isinstance(left, Numeric):
        return False
    if isinstance(left, bool | int | float | str | bytes | None):
        return repr(left) == repr(right)
    return isinstance(left, frozenset | range | complex) and bool(left == right)


def _plain(value: object) -> object:
    """A member of an enumeration of integers is one where paths have different ones: only its number crosses."""
    return int(value) if isinstance(value, IntEnum) else value


def _is_number(value: object) -> bool:
    return isinstance(value, Numeric) or type(value) in PYTHON_NUMBERS


def has_dynamic(value: object) -> bool:
    """Whether any part of a value is a number that crosses at run time."""
    if isinstance(value, Numeric):
        return True
    if is_dynamic_expression(value):
        return may_have_values(value)
    parts = take_apart(value)
    return parts is not None and any(has_dynamic(part) for part in parts.values)


def _join_numbers(left: object, right: object, path: str) -> TypeInfo:
    """Equal types join, Python constants adapt, value-preserving promotions widen; the rest is a mismatch."""
    for number, constant in ((left, right), (right, left)):
        if isinstance(number, Numeric) and not isinstance(constant, Numeric) and _widens(constant, number.info):
            return number.info
    names = [v.info.name if isinstance(v, Numeric) else PYTHON_NUMBERS[type(v)] for v in (left, right)]
    if not isinstance(left, Numeric) and not isinstance(right, Numeric) and set(names) <= {"Int32", "Float32"}:
        widest = TYPES["Float32" if "Float32" in names else "Int32"]
        if _widens(left, widest) and _widens(right, widest):
            return widest
    joined = promotion.join(*names)
    if joined is None or not all(_widens(v, TYPES[joined]) for v in (left, right)):
        raise MismatchError(path, describe(left), describe(right))
    return TYPES[joined]


def _widens(value: object, info: TypeInfo) -> TypeGuard[Numeric | int | float]:
    """Whether a number becomes `info` without changing its value."""
    if isinstance(value, Numeric):
        return info.name in promotion.wider(value.info.name)
    if info.kind == "bool" or isinstance(value, bool):
        return isinstance(value, bool) and info.kind != "float"
    if isinstance(value, int):
        return info.holds(value) if info.is_integer else abs(value) <= 2**11
    return isinstance(value, float) and info.kind == "float"


def _expression(given: object) -> Expression:
    value = as_expression(given)
    classes = tuple(type(v) if isinstance(v, Numeric) else None for v in value.__extract_mlir_values__())
    return Expression(value, tuple(v.type for v in _mlir_values(value)), classes)


def _mlir_values(value: DynamicExpression) -> list[Any]:
    """What the class extracts, Numerics among them taken as their MLIR values."""
    return [v.ir_value() if isinstance(v, Numeric) else v for v in value.__extract_mlir_values__()]


def _zero(trace: Trace, text: str) -> Any:
    """A value of any MLIR type for a path on which it is never read."""
    if text.startswith("!llvm.ptr"):
        return trace.value("llvm.mlir.zero", (), text)
    element = text.removeprefix("vector<").removesuffix(">").rpartition("x")[2]
    number = "0" if element.startswith("i") else "0.0"
    attribute = f"dense<{number}> : {text}" if text.startswith("vector") else f"{number} : {text}"
    return trace.value("arith.constant", (), text, {"value": trace.builder.attribute(attribute)})


class Partial:
    """A variable that some path leaves unassigned; reading it is an error unless every path to the read assigned it."""

    __slots__ = ("missing", "value")

    def __init__(self, value: object, missing: tuple[str, Span | None]) -> None:
        self.value = value
        self.missing = missing
        """The path without a definition: its description and place."""


class Pending:
    """A variable that is unassigned when a loop starts: its type is known once something in the loop assigns it."""

    __slots__ = ("_materialize", "dead", "value")

    def __init__(self, materialize: Callable[[Plan], Any], dead: bool) -> None:
        self._materialize = materialize
        self.dead = dead
        """Whether no path reads it before assigning it, so that it is never missing."""
        self.value: Any = UNDEFINED
        """The value at the loop's head, once it has a type."""

    def like(self, value: object) -> Any:
        """The value that this variable has at the loop's head, shaped like `value`."""
        return self.shaped(carry(value))

    def shaped(self, plan: Plan) -> Any:
        """The value that this variable has at the loop's head; it crosses by `plan` unless it has a shape already."""
        if self.value is UNDEFINED:
            self.value = self._materialize(plan)
        return self.value


def bare(value: object) -> Any:
    """The value itself, with a placeholder on the paths that leave it unassigned."""
    if value is DEAD:
        return UNDEFINED
    if isinstance(value, Partial):
        return value.value
    return value.value if isinstance(value, Pending) else value


def is_dead(value: object) -> bool:
    """Whether no path reads this variable before assigning it."""
    return value is DEAD or (isinstance(value, Pending) and value.dead)


def settle(one: object, other: object) -> tuple[Any, Any]:
    """Two values about to meet: a pending one takes the shape of the other."""
    for pending, known in ((one, other), (other, one)):
        if isinstance(pending, Pending) and pending is not known and bare(known) is not UNDEFINED:
            pending.like(bare(known))
    return bare(one), bare(other)


def missing_path(*values: object) -> tuple[str, Span | None] | None:
    """The path on which one of the values is unassigned, if any."""
    found = [v.missing for v in values if isinstance(v, Partial)]
    waiting = [v for v in values if isinstance(v, Pending) and not v.dead]
    found += [("when the loop has not assigned it before", None) for _ in waiting]
    return found[0] if found else None
