"""The tables of likely mistakes: what they recommend exists, and what they name is refused with it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np
import pytest

import triptych as tt
from triptych import cute
from triptych.cute.runtime import from_dlpack
from triptych.diagnostics import likely_mistakes
from triptych.diagnostics.likely_mistakes import (
    MATHEMATICS,
    MODULES,
    NUMBERS,
    TENSOR_VALUES,
    TENSORS,
    MissingAttributeError,
)
from triptych.metastage.trace.errors import ForeignFunctionError, StaticRequiredError
from triptych.support.errors import TriptychError

ALL_TABLES = {"TENSORS", "TENSOR_VALUES", "NUMBERS", "MATHEMATICS", "NAMES", "MODULES"}
ADVICE = sorted({text for name in ALL_TABLES for text in getattr(likely_mistakes, name).values()})
ROOTS = {"cute": cute, "tt": tt, "math": math}


@pytest.mark.parametrize("advice", ADVICE)
def test_what_is_recommended_exists(advice: str) -> None:
    for path in re.findall(r"\b(?:cute|tt|math)(?:\.\w+)+", advice):
        found: Any = ROOTS[path.partition(".")[0]]
        for part in path.split(".")[1:]:
            found = getattr(found, part)


def refused(use: Callable[[Any], Any], value: Any) -> TriptychError | None:
    """What a use of a traced value raises."""
    try:
        use(value)
    except TriptychError as error:
        return error
    return None


def errors_of(uses: Mapping[str, Callable[[Any], Any]], argument: Any, prepare: Callable[[Any], Any]) -> dict[str, Any]:
    """What each use of an argument raises while a function is traced."""
    found: dict[str, Any] = {}

    def look(value: Any) -> None:
        for name, use in uses.items():
            found[name] = refused(use, prepare(value))

    @tt.jit
    def f(x: Any) -> None:
        look(x)

    f(argument)
    return found


@pytest.mark.parametrize(
    ("table", "argument", "prepare"),
    [
        (TENSORS, np.zeros((2, 4), np.float32), lambda x: x),
        (TENSOR_VALUES, from_dlpack(np.zeros((2, 4), np.float32)), lambda x: x.load()),
        (NUMBERS, 1.5, lambda x: x),
    ],
    ids=["tensors", "values", "numbers"],
)
def test_attributes_are_refused_with_their_advice(
    table: dict[str, str], argument: Any, prepare: Callable[[Any], Any]
) -> None:
    for name, error in errors_of({name: attrgetter(name) for name in table}, argument, prepare).items():
        assert type(error) is MissingAttributeError, name
        assert error.instead == table[name]
        assert error.span is not None


def test_misspelt_attribute_has_a_guess_and_protocols_are_answered_plainly() -> None:
    uses: dict[str, Callable[[Any], Any]] = {
        "shpe": lambda x: x.shpe,
        "asked": lambda x: hasattr(x, "__array_interface__"),
    }
    found = errors_of(uses, np.zeros(4, np.float32), lambda x: x)
    assert found["shpe"].instead == "did you mean `shape`?"
    assert found["asked"] is None


MATH_FUNCTIONS = {name: function for name, function in vars(math).items() if callable(function)}


def call_of(function: Any) -> Callable[[Any], Any]:
    """A call as traced code makes it: by its hook."""

    def call(x: Any) -> Any:
        return x._region.trace.hooks.call(function, x)

    return call


def test_functions_of_math_are_refused_with_what_is_compiled() -> None:
    found = errors_of({name: call_of(function) for name, function in MATH_FUNCTIONS.items()}, 1.5, lambda x: x)
    for name, error in found.items():
        assert type(error) is ForeignFunctionError, name
        assert error.instead == MATHEMATICS[name]


UFUNCS = {name: ufunc for name, ufunc in vars(np).items() if isinstance(ufunc, np.ufunc) and ufunc.nin == 1}
OPERATORS = {"negative", "positive", "absolute", "abs", "invert", "bitwise_not", "bitwise_invert"}


def test_every_ufunc_of_numpy_is_an_operator_or_refused() -> None:
    for argument, prepare in ((1.5, lambda x: x), (from_dlpack(np.ones(4, np.float32)), lambda x: x.load())):
        found = errors_of(UFUNCS | {"sum": np.sum, "where": np.where}, argument, prepare)
        assert {name for name, error in found.items() if type(error) is not ForeignFunctionError} <= OPERATORS
    assert found["exp"].instead == "`cute.math.exp`"


def test_arrays_of_numpy_still_compute_with_numbers_by_operators() -> None:
    @tt.jit
    def f(x: tt.Float32) -> Any:
        scaled = np.array([1.0, 2.0]) * x
        return scaled[1] + np.float64(2.0) * x + np.int64(3) * x - np.float32(0.5) * x

    assert f(1.5) == 3.0 + 3.0 + 4.5 - 0.75


def test_array_of_numpy_with_a_run_time_index_is_refused() -> None:
    table = np.arange(10)

    @tt.jit
    def f(i: tt.Int32) -> Any:
        return table[i]

    with pytest.raises(StaticRequiredError, match="an array of NumPy is indexed"):
        f(3)


def test_functions_of_torch_are_refused() -> None:
    torch = pytest.importorskip("torch")
    found = errors_of({"relu": torch.relu, "exp": torch.exp}, 1.5, lambda x: x)
    assert found["relu"].instead == "`max(x, 0.0)`"
    assert found["exp"].instead == "`cute.math.exp`"


@pytest.mark.parametrize("module", [tt, cute])
def test_modules_know_what_people_look_for(module: Any) -> None:
    missing = [name for name in MODULES if name not in dir(module)]
    assert missing
    for name in missing:
        with pytest.raises(MissingAttributeError) as caught:
            getattr(module, name)
        assert caught.value.instead == MODULES[name]
        assert caught.value.span is not None
        assert caught.value.span.file == __file__
    assert not hasattr(module, "__no_such_protocol__")


@dataclass
class Point:
    x: tt.Int32
    y: tt.Int32


def test_a_method_without_source_is_reported_where_it_is_called() -> None:
    @tt.jit
    def same(p: Point, q: Point) -> Any:
        return 1 if p == q else 0

    with pytest.raises(StaticRequiredError) as caught:
        same(Point(tt.Int32(1), tt.Int32(2)), Point(tt.Int32(1), tt.Int32(3)))
    assert caught.value.span is not None
    assert caught.value.span.file == __file__
    assert "p == q" in caught.value.span.text()
