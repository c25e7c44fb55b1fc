"""Values of MLIR builder calls: numbers are numbers of the language, all else keeps its MLIR type; and control flow.

Branches and loops name their values one by one. Python's own `if` and `while` do the same in traced code, and carry
every variable; these are for programs that were written with builder calls.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from triptych.cute.tracing.device import tracing
from triptych.hooks import DEAD, UNDEFINED, Get, Hooks, Names, Set, Thunk
from triptych.ir import bindings
from triptych.ir.handles import Operation, Type
from triptych.ir.handles import Value as Raw
from triptych.ir.types import is_float, is_integer, type_text
from triptych.metastage.trace.contexts import require_seen
from triptych.metastage.trace.errors import BlockError, OperandTypeError
from triptych.metastage.trace.trace import place
from triptych.metastage.values.coercion import declared_number
from triptych.metastage.values.numeric import leaked
from triptych.metastage.values.scalars import NUMERIC_CLASSES, Boolean, Numeric, numeric_class

_NUMBERS = {cls.info.mlir: cls for cls in NUMERIC_CLASSES.values() if cls.info.kind != "uint"}
"""The class of each MLIR type; its integers have no sign, and count as signed ones here."""


class Value:
    """A value that is no number of the language: a struct, a pointer, a vector. It lives as long as its region."""

    def __init__(self, value: object) -> None:
        self._value = raw(value)
        self._region = tracing().region

    @property
    def type(self) -> Type:
        """Its MLIR type."""
        return self._value.type

    def ir_value(self) -> Raw:
        """The MLIR value."""
        region = self._region
        if not region.is_readable:
            raise leaked(self, region)
        return self._value

    def __str__(self) -> str:
        return f"a value of type {type_text(self._value.type)}"

    __repr__ = __str__

    def __extract_mlir_values__(self) -> list[Any]:
        return [self.ir_value()]

    def __new_from_mlir_values__(self, values: list[Any]) -> Value:
        (value,) = values
        return type(self)(value)


def raw(value: object) -> Raw:
    """The MLIR value of a number, pointer, tensor or value; a value by itself stays."""
    given = getattr(value, "ir_value", None)
    if given is not None:
        found: Raw = given()
        return found
    if not isinstance(value, bindings.mlir().Value):
        raise OperandTypeError(
            f"{type(value).__name__} is no value of the program",
            span=place(),
            found=repr(value),
            expected="a number, a pointer or a result of another builder call",
        )
    plain: Raw = value
    return plain


def class_of(kind: Type) -> type[Numeric] | None:
    """The numbers that are of an MLIR type."""
    return _NUMBERS.get(type_text(kind)) if is_integer(kind) or is_float(kind) else None


def known_integer(value: object) -> int | None:
    """The integer that a value is, if it is a constant."""
    if isinstance(value, int):
        return value
    owner: Any = raw(value).owner  # an operation, or the block of an argument, which has no name
    if getattr(owner, "name", "") != "arith.constant":
        return None
    number: int = owner.attributes["value"].value
    return number


def wrapped(value: Raw) -> Numeric | Value:
    """What a builder call gives the program."""
    number = class_of(value.type)
    return Value(value) if number is None else number.of(value, tracing().region)


__all__ = ["if_generate", "while_generate", "yield_out"]


# Any: numbers of the program, and MLIR values of builder calls.
def if_generate(
    cond: Any,
    then_body: Callable[..., Any],
    else_body: Callable[..., Any] | None = None,
    input_args: Sequence[Any] | None = None,
    return_types: Sequence[Any] | None = None,
    **_: object,
) -> Any:
    """Call one of two functions, which give values of the types; the values of the one that is called."""
    given, kinds = list(input_args or ()), [numeric_class(kind) for kind in return_types or ()]
    results: list[Any] = [UNDEFINED] * len(kinds)

    def side(body: Callable[..., Any] | None) -> None:
        found = () if body is None else body(*given)
        parts = list(found) if isinstance(found, list | tuple) else [] if found is None else [found]
        if len(parts) != len(kinds):
            raise _unlike(len(parts), len(kinds))
        results[:] = [_number(part, kind) for part, kind in zip(parts, kinds, strict=True)]

    def write(values: tuple[Any, ...]) -> None:
        results[:] = values

    names = tuple(f"result {i}" for i in range(len(kinds)))
    test = cond if isinstance(cond, Numeric | bool) else wrapped(raw(cond))
    tracing().hooks.if_(test, lambda: side(then_body), lambda: side(else_body), names, lambda: tuple(results), write)
    return None if not results else results[0] if len(results) == 1 else results


def while_generate(inputs: Sequence[Any], cond: Callable[..., Any], **_: object) -> Repeated:
    """A loop around the `with` block, which gets the values of a round and ends with `yield_out` of the next ones."""
    return Repeated(inputs, cond)


class Repeated:
    """The block of a loop: nothing but what it yields goes from one round to the next, or leaves it."""

    def __init__(self, inputs: Sequence[Any], cond: Callable[..., Any]) -> None:
        self._made: list[Operation] = []
        self._region = _repeated(inputs, cond, self._made)

    @property
    def results(self) -> list[Any]:
        """What the last round left, once the block has ended."""
        return [wrapped(value) for made in self._made for value in made.results]

    def __enter__(self) -> Any:
        require_seen("while_generate(...)", sys._getframe(1))
        return self._region.__enter__()

    def __exit__(self, *error: Any) -> None:
        self._region.__exit__(*error)

    def __within__(self, hooks: Hooks, body: Thunk, names: Names, get: Get, set_: Set) -> None:
        before = get()
        body()
        for name, old, new in zip(names, before, get(), strict=True):
            if new is not old and new is not DEAD:
                raise _carried(name)


@contextmanager
def _repeated(inputs: Sequence[Any], cond: Callable[..., Any], loops: list[Operation]) -> Iterator[tuple[Any, ...]]:
    trace = tracing()
    first = [raw(value) for value in inputs]
    kinds = [value.type for value in first]
    made = trace.operation("scf.while", first, kinds, regions=2)
    loops.append(made)
    head = trace.builder.append_block(made, 0, kinds, trace.location())
    with trace.inside(head, "loop"):
        test = _number(cond(*(_as_bits(wrapped(value)) for value in head.arguments)), Boolean)
        trace.operation("scf.condition", (test.ir_value(), *head.arguments))
    body = trace.builder.append_block(made, 1, kinds, trace.location())
    with trace.inside(body, "loop"):
        yield tuple(map(wrapped, body.arguments))


def _as_bits(value: Numeric | Value) -> Any:
    return _Signless(value) if isinstance(value, Numeric) and value.info.is_integer else value


class _Signless:
    """An integer of MLIR, which has no sign: `x == 0x80008000` compares 32 bits. All else is asked of the number."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, number: Numeric) -> None:
        self._number = number

    def __getattr__(self, name: str) -> Any:
        return getattr(self._number, name)

    def __eq__(self, other: object) -> Any:
        return self._number == self._with_sign(other)

    def __ne__(self, other: object) -> Any:
        return self._number != self._with_sign(other)

    def _with_sign(self, other: object) -> Any:
        width = self._number.info.width
        if type(other) is int and self._number.info.kind == "int" and 1 << (width - 1) <= other < 1 << width:
            return other - (1 << width)
        return other._number if isinstance(other, _Signless) else other


def _delegated(name: str) -> Callable[..., Any]:
    def operate(self: _Signless, *others: object) -> Any:
        plain = (other._number if isinstance(other, _Signless) else other for other in others)
        return getattr(self._number, name)(*plain)

    return operate


for _name in ("add", "sub", "mul", "floordiv", "mod", "and", "or", "xor", "lshift", "rshift"):
    setattr(_Signless, f"__{_name}__", _delegated(f"__{_name}__"))
    setattr(_Signless, f"__r{_name}__", _delegated(f"__r{_name}__"))
for _name in ("lt", "le", "gt", "ge", "neg", "invert", "bool"):
    setattr(_Signless, f"__{_name}__", _delegated(f"__{_name}__"))


def _carried(name: str) -> BlockError:
    is_exit = name.startswith("_tt_")
    return BlockError(
        "a loop that is built by hand is left early" if is_exit else f"a loop that is built by hand assigns `{name}`",
        span=place(),
        found="a `return`, `break` or `continue`" if is_exit else f"`{name}`, which is read after the block",
        expected="values that go from round to round by `yield_out`",
        instead="`while` or `for`, which carry every variable",
    )


def yield_out(args: Sequence[Any] | None = None, **_: object) -> None:
    """The values of the next round of the loop that this ends."""
    tracing().operation("scf.yield", [raw(value) for value in args or ()])


def _number(value: Any, kind: type[Numeric]) -> Numeric:
    """A number of a type, or an MLIR value of it."""
    if isinstance(value, Numeric | bool | int | float):
        return declared_number(value, kind, f"a value of {kind.__name__}")
    return kind.of(raw(value), tracing().region)


def _unlike(found: int, expected: int) -> OperandTypeError:
    return OperandTypeError(
        "a branch gives as many values as types are named",
        span=place(),
        found=f"{found} values",
        expected=f"{expected}, as `return_types` says",
    )
