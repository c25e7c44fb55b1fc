"""Special methods of the user's classes are traced as Python would call them: laws against CPython."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable
from typing import Any

import pytest

import triptych as tt

BINARY = ("+", "-", "*", "//", "%", "&", "|", "^", "<<", ">>")
COMPARING = ("<", "<=", ">", ">=", "==", "!=")
FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
NAMES = {
    **dict(zip(BINARY, ("add", "sub", "mul", "floordiv", "mod", "and", "or", "xor", "lshift", "rshift"), strict=True)),
    **dict(zip(COMPARING, ("lt", "le", "gt", "ge", "eq", "ne"), strict=True)),
}


def holder(name: str, base: type, answers: dict[str, int]) -> type:
    """A class whose special methods branch on the value and tell which of them was asked; 0 is NotImplemented."""

    def method(code: int) -> Any:
        def answer(self: Any, other: Any) -> Any:
            if code == 0:
                return NotImplemented
            if self.value > 3:
                return self.value * 100 + code
            return code - self.value

        return answer

    return type(name, (base,), {f"__{spelled}__": method(code) for spelled, code in answers.items()})


class Plain:
    """Holds a number."""

    def __init__(self, value: Any) -> None:
        self.value = value


def cases(op: str) -> list[tuple[type, type]]:
    """Classes for the left and the right operand that differ in what they define and how they are related."""
    own = NAMES[op]
    reflected = {"<": "gt", "<=": "ge", ">": "lt", ">=": "le", "==": "eq", "!=": "ne"}.get(op, f"r{own}")
    found = []
    for left_code, right_code in itertools.product((0, 1, None), (0, 2, None)):
        left_answers = {} if left_code is None else {own: left_code}
        right_answers = {} if right_code is None else {reflected: right_code}
        left = holder("Left", Plain, left_answers)
        found.append((left, holder("Right", Plain, right_answers)))
        found.append((left, holder("Derived", left, right_answers)))
    return found


@pytest.mark.parametrize("op", [*BINARY, *COMPARING])
def test_operators_are_asked_in_python_s_order(op: str) -> None:
    function = FUNCTIONS[op]
    for left, right in cases(op):

        def program(n: tt.Int32, left: tt.Constexpr[type] = left, right: tt.Constexpr[type] = right) -> Any:
            return function(left(n), right(n + 1))

        compiled = tt.jit(program)
        for n in (1, 5):
            assert outcome(compiled, n) == outcome(program, n), (left.__name__, right.__name__, vars(left), vars(right))


def outcome(program: Callable[..., Any], n: int) -> Any:
    try:
        return program(n)
    except TypeError:
        return "TypeError"


class Everything:
    """Control flow on run-time values in every special method."""

    def __init__(self, n: Any) -> None:
        self.n = n if n > 0 else -n

    @property
    def doubled(self) -> Any:
        if self.n > 3:
            return self.n * 2
        return 0

    def __getitem__(self, i: Any) -> Any:
        return i if i > self.n else self.n

    def __call__(self, x: Any) -> Any:
        total = 0
        for i in range(x):
            total += i
        return total

    def __neg__(self) -> Any:
        return -self.n if self.n > 2 else 0

    def __bool__(self) -> Any:
        return self.n > 2

    def __contains__(self, x: Any) -> Any:
        return x == self.n

    def __iter__(self) -> Any:
        return iter((self.n, self.n + 1))

    def __enter__(self) -> Any:
        return self.n + 1 if self.n > 1 else 0

    def __exit__(self, *_: object) -> None:
        return None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self.n + len(name)


def everything(n: tt.Int32) -> Any:
    e = Everything(n)
    total = e.doubled + e[n] + e(n) + (-e) * 10 + e.other
    if e:
        total += 1000
    if not e:
        total += 500
    if n in e:
        total += 2000
    for item in e:
        total += item
    a, b = e
    with e as entered:
        total += entered + a * b
    return total


@pytest.mark.parametrize("n", [-4, -1, 0, 1, 3, 6])
def test_control_flow_in_special_methods_is_the_program_s(n: int) -> None:
    plain: Callable[..., Any] = everything
    assert tt.jit(everything)(n) == plain(n)


def test_an_attribute_without_a_setter_is_no_matter_of_none() -> None:
    """An AttributeError that carries no object has None in its place."""

    class Fixed:
        @property
        def v(self) -> int:
            return 1

    @tt.jit
    def f(x: tt.Int32) -> Any:
        Fixed().v = 2  # type: ignore[misc]
        return x

    with pytest.raises(AttributeError, match="has no setter") as caught:
        f(1)
    assert "None" not in str(caught.value)
