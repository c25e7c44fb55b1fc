"""The four executions of a program (CPython, `PythonHooks`, compiled -O0 and -O3) and whether they agree.

CPython is the oracle: same type and value, floats to the bit (any nan equals any nan), or the same builtin exception.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import FunctionType
from typing import Any

import triptych
from tests.differential.program import PYTHON_TYPES, Program, Scalar, loaded
from triptych.hooks import PythonHooks
from triptych.prestage.rewrite import rewrite


@dataclass(frozen=True, slots=True)
class Returned:
    """A call returned this value."""

    value: Any


@dataclass(frozen=True, slots=True)
class Raised:
    """A call raised an error whose nearest builtin class is `kind`."""

    kind: str


@dataclass(frozen=True, slots=True)
class Refused:
    """The program could not be made callable at all: never right, since CPython runs every generated program."""

    kind: str
    message: str


Outcome = Returned | Raised | Refused
Execution = Callable[[Program], tuple[Outcome, ...]]


@dataclass(frozen=True, slots=True)
class Disagreement:
    """One execution differs from CPython on one call."""

    program: Program
    execution: str
    arguments: tuple[Scalar, ...]
    expected: Outcome
    found: Outcome

    def kind(self) -> str:
        """Return what sort of difference it is, the same for every program that shows the same bug."""
        found = self.found.kind if isinstance(self.found, Raised | Refused) else "value"
        expected = self.expected.kind if isinstance(self.expected, Raised) else "value"
        return f"{self.execution}: {type(self.found).__name__} {found} instead of {expected}"

    def __str__(self) -> str:
        call = f"{self.program.name}{self.arguments!r}"
        differs = f"  {ORACLE}: {self.expected}\n  {self.execution}: {self.found}"
        return f"{self.kind()}\n{call}\n{differs}\n{self.program.source}"


def run_cpython(program: Program) -> tuple[Outcome, ...]:
    """Run the program as it stands."""
    with loaded(program, PYTHON_TYPES) as function:
        return _outcomes(function, program)


def run_python_hooks(program: Program) -> tuple[Outcome, ...]:
    """Rewrite every function of the program and run the result as plain Python."""
    with loaded(program, PYTHON_TYPES) as function:
        namespace = function.__globals__
        hooks = PythonHooks()
        originals = {name: value for name, value in namespace.items() if isinstance(value, FunctionType)}
        try:
            namespace.update({name: rewrite(original).bind(hooks) for name, original in originals.items()})
        except Exception as error:
            return _refused(error, program)
        return _outcomes(namespace[program.name], program)


def run_compiled(program: Program, opt_level: int) -> tuple[Outcome, ...]:
    """Compile the program once, for the types of its first arguments, and call the native code."""
    types = {"Int32": triptych.Int32, "Float64": triptych.Float64, "Boolean": triptych.Boolean}
    with loaded(program, types) as function:
        try:
            compiled = triptych.compile(triptych.jit(function), *program.arguments[0], opt_level=opt_level)
        except Exception as error:
            return _refused(error, program)
        return _outcomes(compiled, program)


ORACLE = "CPython"
COMPARED: Mapping[str, Execution] = {
    "PythonHooks": run_python_hooks,
    "compiled -O0": partial(run_compiled, opt_level=0),
    "compiled -O3": partial(run_compiled, opt_level=3),
}


def agree(program: Program) -> Disagreement | None:
    """Run all four executions; return the first difference from CPython, or None."""
    expected = run_cpython(program)
    for name, execution in COMPARED.items():
        for arguments, right, found in zip(program.arguments, expected, execution(program), strict=True):
            if not _same_outcome(right, found):
                return Disagreement(program, name, arguments, right, found)
    return None


def _outcomes(function: Callable[..., Any], program: Program) -> tuple[Outcome, ...]:
    return tuple(_outcome(function, arguments) for arguments in program.arguments)


def _outcome(function: Callable[..., Any], arguments: tuple[Scalar, ...]) -> Outcome:
    try:
        return Returned(function(*arguments))
    except Exception as error:
        return Raised(next(cls.__name__ for cls in type(error).__mro__ if cls.__module__ == "builtins"))


def _refused(error: Exception, program: Program) -> tuple[Outcome, ...]:
    return (Refused(type(error).__name__, str(error)),) * len(program.arguments)


def _same_outcome(left: Outcome, right: Outcome) -> bool:
    if isinstance(left, Returned) and isinstance(right, Returned):
        return same_value(left.value, right.value)
    return left == right and not isinstance(left, Refused)


def same_value(left: object, right: object) -> bool:
    """Compare type and value, floats by their bits."""
    if type(left) is not type(right):
        return False
    if isinstance(left, tuple) and isinstance(right, tuple):
        return len(left) == len(right) and all(map(same_value, left, right))
    if isinstance(left, float) and isinstance(right, float):
        return struct.pack("d", left) == struct.pack("d", right) or (left != left and right != right)
    return left == right
