"""An object that is chosen at run time is one of those it was chosen from, as in CPython, or the program is refused."""

from __future__ import annotations

import random
from typing import Any

import pytest

import triptych as tt
from tests.differential.chosen_programs import Chosen, chosen_programs
from tests.differential.program import Program, loaded
from triptych.support.errors import TriptychError

ARGUMENTS = (0, 1, 2, 5)
CHOSEN = tuple(chosen_programs())
FOUND = {
    ("dataclass", "list", "store"),
    ("dataclass", "tuple", "change p"),
    ("tuple of objects", "list", "store"),
    ("dataclass", "conditional", "is p"),
    ("dataclass", "min", "read"),
    ("dataclass", "loop", "vars"),
    ("unequal", "unrolled", "dict of p"),
    ("attribute", "closure", "other attributes"),
    ("named equal", "max", "!= q"),
    ("text", "early", "id"),
    ("known token", "tuple", "== tuple"),
    ("token", "class", "index"),
    ("run-time nan", "list", "== p"),
    ("crossing", "walrus", "new attribute"),
    ("plain", "islice", "read"),
}
"""Programs that gave wrong results, or errors without a line."""


def judged(chosen: Chosen) -> tuple[str, str]:
    """`right`, `refused`, or what is wrong; and what is to be said of it."""
    with loaded(Program(chosen.source, "f", ()), {}) as function:
        expected = [_outcome(function, n) for n in ARGUMENTS]
        try:
            compiled: Any = tt.compile(function, 1)
        except TriptychError as refusal:
            return ("refused", refusal.code) if refusal.span is not None else ("no line", str(refusal))
        except Exception as error:
            # What the program raises for some numbers, it raises for all while it is traced.
            return ("refused" if type(error) in {type(outcome) for outcome in expected} else "bare"), repr(error)
        for n, wanted in zip(ARGUMENTS, expected, strict=True):
            found = _outcome(compiled, n)
            raises = isinstance(wanted, Exception)
            if raises is not isinstance(found, Exception) or (not raises and not _equal(found, wanted)):
                return "wrong", f"f({n}) is {found!r} and not {wanted!r}"
    return "right", ""


def _outcome(function: Any, n: int) -> Any:
    try:
        return function(n)
    except Exception as error:
        return error


def _equal(found: object, wanted: object) -> bool:
    return type(found) is type(wanted) and repr(found) == repr(wanted)


def drawn(count: int, seed: int) -> list[Chosen]:
    """Some of the programs."""
    return random.Random(seed).sample(CHOSEN, min(count, len(CHOSEN)))


def test_chosen_objects_are_as_in_python_or_refused() -> None:
    found = [chosen for chosen in CHOSEN if (chosen.kind, chosen.choice, chosen.use) in FOUND]
    assert len(found) == len(FOUND)
    verdicts = []
    for chosen in (*found, *drawn(90, seed=0)):
        verdict, said = judged(chosen)
        assert verdict in ("right", "refused"), f"{verdict}: {said}\n{chosen}"
        verdicts.append(verdict)
    assert verdicts.count("right") > 10


@pytest.mark.parametrize("choice", ["list", "tuple", "conditional", "if", "min", "early", "twice", "nested", "pair"])
@pytest.mark.parametrize("use", ["read", "is p", "is not q", "if is", "in list"])
def test_what_is_asked_most_is_answered(choice: str, use: str) -> None:
    (chosen,) = (one for one in CHOSEN if (one.kind, one.choice, one.use) == ("unequal", choice, use))
    assert judged(chosen) == ("right", "")
