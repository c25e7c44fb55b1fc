"""The program generator: `Choices -> Program`, helper functions and a typed main function with arguments to call it.

`generate(RandomChoices(seed))` is the program of a seed.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.differential.choices import Choices
from tests.differential.expressions import Allowance
from tests.differential.program import Program, Scalar
from tests.differential.scope import Kind, Names, Scope, Shape, Signature
from tests.differential.statements import Size, Statements

MAIN = "fuzzed"

INT_ARGUMENTS = (0, 1, -1, 2, 3, 5, 7, -7, 12, -13, 100, -255, 999, -1000)
FLOAT_ARGUMENTS = (0.0, 1.0, -1.0, 0.5, -2.75, 0.1, 3.3, -17.9, 1000.0, -0.0, 1e-300, 123456.789)
FLOAT_EXTREMES = (float("inf"), float("-inf"), float("nan"), 1e308, -5e-324)
HAZARD_ARGUMENTS = (1, 2, 0, 3, -1, -3, 5, 12)


@dataclass(frozen=True, slots=True)
class ProgramSize:
    """How large a program becomes; the usual size makes about 10 to 55 lines."""

    main: Size
    helper: Size
    helpers: int
    inlined: int
    """How many statements calls may add to the main function once they are inlined."""
    calls: int


USUAL = ProgramSize(Size(11, 3, 3), Size(3, 2, 2), helpers=2, inlined=60, calls=4)
SMALL = ProgramSize(Size(7, 3, 2), Size(3, 2, 2), helpers=1, inlined=30, calls=3)
"""For Hypothesis, whose every draw costs and whose examples are limited in length."""


def generate(choices: Choices, size: ProgramSize = USUAL) -> Program:
    """Make the program these decisions describe."""
    allowance = Allowance(size.inlined)
    blocks: list[str] = []
    helpers: tuple[Signature, ...] = ()
    for number in choices.several(size.helpers, 0.6):
        text, signature = _helper(choices, f"h{number}", size.helper, allowance, helpers)
        blocks.append(text)
        helpers += (signature,)
    text, arguments = _main(choices, size, allowance, helpers)
    return Program("\n\n".join((*blocks, text)), MAIN, arguments)


def _helper(
    choices: Choices, name: str, size: Size, allowance: Allowance, helpers: tuple[Signature, ...]
) -> tuple[str, Signature]:
    kinds = (choices.choice(tuple(Kind)), *(choices.choice(tuple(Kind)) for _ in choices.several(2, 0.6)))
    names = Names()
    parameters = tuple(names.fresh(kind) for kind in kinds)
    scope = Scope(dict(zip(parameters, kinds, strict=True)), callables=helpers)
    result = _result(choices, scope, 0.2)
    before = allowance.statements
    writer = Statements(choices, names, allowance, size, result)
    writer.body(scope)
    weight = writer.weight + before - allowance.statements
    return _definition(name, list(parameters), writer.lines), Signature(name, parameters, kinds, result, weight)


def _main(
    choices: Choices, size: ProgramSize, allowance: Allowance, helpers: tuple[Signature, ...]
) -> tuple[str, tuple[tuple[Scalar, ...], ...]]:
    names = Names()
    kinds = [Kind.INT, *(choices.choice((Kind.INT, Kind.FLOAT, *Kind)) for _ in choices.several(3, 0.8))]
    parameters = {names.fresh(kind): kind for kind in kinds}
    scope = Scope(callables=helpers)
    if choices.boolean(0.12):
        scope.hazard = names.fresh_with("z")
        scope.frozen = frozenset({scope.hazard})
        parameters[scope.hazard] = Kind.INT
    scope.variables.update(parameters)
    result = _result(choices, scope, 0.5)
    writer = Statements(choices, names, allowance, size.main, result)
    annotated = [f"{name}: {kind.value}" for name, kind in parameters.items()]
    writer.body(scope)
    arguments = tuple(
        tuple(_argument(choices, kind, name == scope.hazard) for name, kind in parameters.items())
        for _ in range(size.calls)
    )
    return _definition(MAIN, annotated, writer.lines), arguments


def _definition(name: str, parameters: list[str], lines: list[str]) -> str:
    return "\n".join((f"def {name}({', '.join(parameters)}):", *lines, ""))


def _result(choices: Choices, scope: Scope, tuples: float) -> Shape:
    if choices.boolean(tuples):
        return tuple(choices.choice(scope.kinds()) for _ in range(choices.integer(2, 3)))
    return choices.choice(scope.kinds())


def _argument(choices: Choices, kind: Kind, hazard: bool) -> Scalar:
    if hazard:
        return choices.choice(HAZARD_ARGUMENTS)
    if kind is Kind.BOOL:
        return choices.boolean(0.5)
    if kind is Kind.INT:
        return choices.integer(-1000, 1000) if choices.boolean(0.3) else choices.choice(INT_ARGUMENTS)
    if choices.boolean(0.03):
        return choices.choice(FLOAT_EXTREMES)
    return choices.integer(-99999, 99999) / 128 if choices.boolean(0.3) else choices.choice(FLOAT_ARGUMENTS)
