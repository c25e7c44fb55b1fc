"""The generator keeps its promises: every construct occurs, every program is deterministic, ends, and fits 32 bits."""

from __future__ import annotations

import sys
import time
from collections import Counter
from functools import cache
from types import FrameType
from typing import Any

import pytest

from tests.differential.choices import RandomChoices, ReplayedChoices
from tests.differential.constructs import constructs
from tests.differential.generator import SMALL, generate
from tests.differential.program import PYTHON_TYPES, Program, loaded
from tests.differential.scope import INT32_MAX, LIMITS, Kind
from tests.differential.shrink import shrink

SEEDS = range(2000)

WANTED = {
    *("if", "elif", "else", "for", "while", "for/else", "while/else", "while True", "nested loops", "static iteration"),
    *("range of 1", "range of 2", "range of 3", "break", "continue", "return in loop"),
    *("break in nested loops", "continue in nested loops", "return in nested loops"),
    *("And", "Or", "Not", "chained comparison", "call in the middle of a chained comparison", "IfExp", "NamedExpr"),
    *("Add", "Sub", "Mult", "Div", "FloorDiv", "Mod", "BitAnd", "BitOr", "BitXor", "LShift", "RShift"),
    *("USub", "UAdd", "Invert", "FloorDiv by a negative int", "Mod by a negative int"),
    *("FloorDiv by a negative float", "Mod by a negative float"),
    *("augmented Add", "augmented Sub", "augmented Mult", "augmented FloorDiv", "augmented Mod"),
    *("augmented BitAnd", "augmented BitOr", "augmented BitXor"),
    *("tuple assignment", "tuple unpacking", "tuple variable", "tuple from a call", "swap", "starred unpacking"),
    *("chained assignment", "Subscript", "Delete", "Assert", "ListComp", "lambda", "keyword argument"),
    *("function", "helper call", "nested function", "nested function call"),
}


@cache
def program_of(seed: int) -> Program:
    return generate(RandomChoices(seed))


@cache
def usage() -> Counter[str]:
    return Counter(name for seed in SEEDS for name in constructs(program_of(seed).source))


@pytest.mark.parametrize("construct", sorted(WANTED))
def test_each_construct_occurs_in_at_least_one_program_of_a_hundred(construct: str) -> None:
    assert usage()[construct] >= len(SEEDS) // 100


def test_the_program_of_a_seed_is_always_the_same() -> None:
    for seed in SEEDS[:50]:
        choices = RandomChoices(seed)
        program = generate(choices)
        assert repr(program) == repr(program_of(seed))
        assert repr(program) == repr(generate(ReplayedChoices(choices.record)))


def test_programs_differ_and_have_a_readable_size() -> None:
    lines = sorted(program_of(seed).source.count("\n") for seed in SEEDS)
    assert len({program_of(seed).source for seed in SEEDS}) > 0.99 * len(SEEDS)
    assert lines[len(lines) // 10] >= 10
    assert lines[len(lines) * 9 // 10] <= 60


def test_the_simplest_decisions_make_the_simplest_program() -> None:
    assert generate(ReplayedChoices([]), SMALL).source == "def fuzzed(i0: Int32):\n    return i0\n"


def test_every_program_runs_and_ends_soon() -> None:
    raised: Counter[str] = Counter()
    for seed in SEEDS:
        with loaded(program_of(seed), PYTHON_TYPES) as function:
            for arguments in program_of(seed).arguments:
                started = time.process_time()
                try:
                    function(*arguments)
                except (ZeroDivisionError, AssertionError, ValueError) as error:
                    raised[type(error).__name__] += 1
                assert time.process_time() - started < 1.0
    assert set(raised) == {"ZeroDivisionError", "AssertionError", "ValueError"}
    assert raised.total() < 0.05 * sum(len(program_of(seed).arguments) for seed in SEEDS)


def test_calls_of_one_program_give_different_results() -> None:
    """A program that answers the same whatever it is asked would show little."""
    varied = 0
    for seed in SEEDS[:500]:
        with loaded(program_of(seed), PYTHON_TYPES) as function:
            results = {repr(_result(function, arguments)) for arguments in program_of(seed).arguments}
        varied += len(results) > 1
    assert varied > 250


def _result(function: Any, arguments: tuple[Any, ...]) -> object:
    try:
        return function(*arguments)
    except (ZeroDivisionError, AssertionError, ValueError) as error:
        return error


class _Bounded(int):
    """An int that checks every number computed from it, since only the results of operators can overflow."""


def _checked(operator: str) -> Any:
    original = getattr(int, operator)

    def apply(*operands: int) -> Any:
        result = original(*operands)
        if type(result) is not int:
            return result
        assert abs(result) <= INT32_MAX, f"{operator}{operands} = {result}"
        return _Bounded(result)

    return apply


for _name in ("add", "sub", "mul", "floordiv", "mod", "and", "or", "xor", "lshift", "rshift"):
    for _operator in (f"__{_name}__", f"__r{_name}__"):
        setattr(_Bounded, _operator, _checked(_operator))
for _name in ("neg", "pos", "invert", "abs"):
    setattr(_Bounded, f"__{_name}__", _checked(f"__{_name}__"))


def test_no_intermediate_number_leaves_32_bits() -> None:
    for seed in SEEDS[:600]:
        with loaded(program_of(seed), PYTHON_TYPES) as function:
            for arguments in program_of(seed).arguments:
                _result(function, tuple(_Bounded(value) if type(value) is int else value for value in arguments))


def test_variables_keep_their_type_and_their_bound() -> None:
    types = {"i": int, "k": int, "z": int, "fuel": int, "tmp": int, "b": bool, "f": float}

    def check(frame: FrameType, event: str, argument: object) -> Any:
        if not frame.f_code.co_filename.startswith("<fuzz"):
            return None
        for name, value in frame.f_locals.items():
            prefix = name.rstrip("0123456789")
            if prefix in types and name != ".0":
                assert type(value) is types[prefix], f"{name} is {value!r}"
        if event == "return":
            for name, value in frame.f_locals.items():
                assert type(value) is not int or abs(value) <= LIMITS[Kind.INT], f"{name} is {value!r}"
        return check

    for seed in SEEDS[:300]:
        with loaded(program_of(seed), PYTHON_TYPES) as function:
            for arguments in program_of(seed).arguments:
                previous = sys.gettrace()  # the coverage tool's
                sys.settrace(check)
                try:
                    _result(function, arguments)
                finally:
                    sys.settrace(previous)


def test_a_failing_program_shrinks_to_what_makes_it_fail() -> None:
    """Shrinking knows nothing of Python: asked for any property of the text, it leaves little else."""
    choices = RandomChoices(next(seed for seed in SEEDS if "while True" in program_of(seed).source))
    generate(choices)
    smallest = shrink(choices.record, generate, lambda program: "while True" in program.source)
    assert "while True" in smallest.source
    assert smallest.source.count("\n") <= 12
