"""The law of the pre-stage: a rewritten function under `PythonHooks` means what the original means.

Same results, same exceptions, same order of side effects: for a table of programs that cover the language, on many
inputs each, and for generated programs.
"""

from __future__ import annotations

import inspect
import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from types import FunctionType
from typing import Any

import pytest

from tests.differential.choices import RandomChoices
from tests.differential.generator import generate
from tests.differential.oracle import run_cpython, run_python_hooks, same_value
from tests.laws.rewriting import assignments, branches, loops, names
from tests.unit.prestage.sources import module
from triptych.hooks import PythonHooks
from triptych.prestage import splitting
from triptych.prestage.rewrite import rewrite

TABLE: Mapping[str, str] = {
    f"{kind.__name__.rpartition('.')[2]}: {title}": text
    for kind in (branches, loops, names, assignments)
    for title, text in re.findall(r"^### (.+)\n((?:(?!###).*\n)*)", kind.PROGRAMS, flags=re.MULTILINE)
}
INPUTS: Mapping[int, tuple[int, ...]] = {1: tuple(range(-3, 9)), 2: (-2, -1, 0, 1, 2, 3, 5)}
"""Values of each parameter, by how many parameters there are."""

SEEDS = range(5_000, 5_300)
MEMBERS: Mapping[type, Callable[[Any], Any]] = {
    FunctionType: lambda member: rewritten(member),
    staticmethod: lambda member: staticmethod(rewritten(member.__func__)),
    classmethod: lambda member: classmethod(rewritten(member.__func__)),
    property: lambda member: property(rewritten(member.fget)),
}


@pytest.fixture(params=["whole", "cut up"], autouse=True)
def cut_up(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs as they are, and as the parts of programs that are far longer are treated."""
    if request.param == "cut up":
        for name in ("MOST_NESTED", "MOST_TERMS", "MOST_IN_A_SCOPE"):
            monkeypatch.setattr(splitting, name, 1)


def rewritten(function: FunctionType) -> Callable[..., Any]:
    return rewrite(function).bind(PythonHooks())


def rewrite_all(namespace: dict[str, Any]) -> None:
    """Replace the functions of a module, and those of its classes, but not the ones the test put there."""
    own = {
        name: value for name, value in namespace.items() if getattr(value, "__module__", None) == namespace["__name__"]
    }
    for name, value in own.items():
        if isinstance(value, FunctionType):
            namespace[name] = rewritten(value)
        elif isinstance(value, type):
            for member, old in list(vars(value).items()):
                if type(old) in MEMBERS:
                    setattr(value, member, MEMBERS[type(old)](old))


def behaviour(text: str, prepare: Callable[[dict[str, Any]], None]) -> Iterator[tuple[object, object]]:
    """What each call of the program's `f` comes to, and what it said on the way."""
    said: list[object] = []

    def say(value: object) -> object:
        said.append(repr(value) if type(value).__repr__ is not object.__repr__ else type(value).__name__)
        return value

    with module(text, say=say) as namespace:
        prepare(namespace)
        function = namespace["f"]
        arity = len(inspect.signature(function).parameters)
        for arguments in itertools.product(INPUTS[arity], repeat=arity):
            said.clear()
            yield arguments, (outcome(function, arguments), list(said))


def outcome(function: Callable[..., Any], arguments: tuple[int, ...]) -> object:
    try:
        return function(*arguments)
    except Exception as error:
        if isinstance(error, NameError):
            return NameError  # the subclass tells apart only how CPython stores the variable
        return type(error), () if isinstance(error, TypeError) else error.args, type(error.__cause__)


@pytest.mark.parametrize("text", TABLE.values(), ids=TABLE.keys())
def test_rewriting_changes_nothing(text: str) -> None:
    expected = behaviour(text, lambda namespace: None)
    for (arguments, right), (_, found) in zip(expected, behaviour(text, rewrite_all), strict=True):
        assert found == right, arguments
        assert same_value(found, right) or not isinstance(right, tuple), arguments


@pytest.mark.parametrize("seed", SEEDS)
def test_generated_programs_keep_their_meaning(seed: int) -> None:
    program = generate(RandomChoices(seed))
    for arguments, right, found in zip(program.arguments, run_cpython(program), run_python_hooks(program), strict=True):
        assert same_value(vars_of(found), vars_of(right)), (arguments, program.source)


def vars_of(outcome: object) -> tuple[object, ...]:
    """An outcome as plain values, so that they are compared by type and bits."""
    return type(outcome).__name__, *(getattr(outcome, name) for name in getattr(type(outcome), "__slots__", ()))


def test_every_program_has_a_name_of_its_own() -> None:
    count = sum(kind.PROGRAMS.count("\n### ") for kind in (branches, loops, names, assignments))
    assert len(TABLE) == count > 150
