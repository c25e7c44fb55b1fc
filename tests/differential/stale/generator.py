"""The generator of stale programs: `Choices -> StaleProgram`, a function that reads, and one change of what it reads.

What is read is a nest of kinds around a number. Where the function has it from is the `ROUTE`: a global, a closure, a
default, a module in many ways, an argument's class or static part, another compiled function.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.differential.choices import Choices
from tests.differential.stale.kinds import NESTED, NUMBERS, Kind
from tests.differential.stale.routes import ROUTES

DEEPEST = 3


@dataclass(frozen=True, slots=True)
class StaleProgram:
    """`source` defines `compiled()` and `plain()`, which mean the same, and `change()`, which changes one thing."""

    source: str


ELSEWHERE = "def from_here(): pass\n"
"""The module that programs read from."""

FRAME = """
from kinds import *
import elsewhere
import triptych as tt

jit = tt.jit(opt_level=0)
REBIND = "globals()['ROOT'] = #"
ROOT = None

{route}
if "compiled" not in globals():
    def compiled(): return f(0)

def change():
    {change}
"""


def generate(choices: Choices) -> StaleProgram:
    """Make the program these decisions describe."""
    kinds = [choices.choice(NUMBERS), *(choices.choice(NESTED) for _ in choices.several(DEEPEST, 0.6))]
    before, after = 1 + choices.below(9), 11 + choices.below(9)
    route = choices.choice(ROUTES)
    place = "elsewhere.ROOT" if "elsewhere.ROOT =" in route else "ROOT"
    level = choices.below(len(kinds) + 1)
    while level < len(kinds) and not kinds[level].changes:
        level += 1
    names = {name: _read(kinds, name) for name in ("ROOT", "root")}
    text = route.format(made=_made(kinds, str(before)), elsewhere=_read(kinds, "elsewhere.ROOT"), **names)
    if level == len(kinds):
        change = f"exec(REBIND.replace('#', {_made(kinds, str(after))!r}), globals())"
    else:
        inside = _made(kinds[:level], str(after))
        change = _filled(choices.choice(kinds[level].changes), _read(kinds[level + 1 :], place), inside)
    return StaleProgram(FRAME.format(route=text.strip(), change=change))


def generate_for_processes(choices: Choices, number: str) -> StaleProgram:
    """A program that holds a number which another file has: a process that runs later finds another one there."""
    kinds = [choices.choice(NUMBERS), *(choices.choice(NESTED) for _ in choices.several(DEEPEST, 0.6))]
    names = {name: _read(kinds, name) for name in ("ROOT", "root")}
    route = choices.choice(ROUTES)
    text = route.format(made=_made(kinds, number), elsewhere=_read(kinds, "elsewhere.ROOT"), **names)
    return StaleProgram("import changed" + FRAME.format(route=text.strip(), change="pass"))


def _made(kinds: list[Kind], number: str) -> str:
    """The expression of a nest, the innermost kind first."""
    text = number
    for kind in kinds:
        text = _filled(kind.made, "", text)
    return text


def _read(kinds: list[Kind], root: str) -> str:
    text = root
    for kind in reversed(kinds):
        text = _filled(kind.read, text, "")
    return text


def _filled(text: str, the_object: str, value: str) -> str:
    return text.replace("@", the_object).replace("#", value)
