"""`isinstance` of a run-time number with Python's types: an answer where Python has no number of its own there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import triptych as tt
from tests.unit.cute.launched import run
from triptych import cute
from triptych.metastage.trace.errors import StaticRequiredError

ASKED = [int, float, (int, float), int | float, (bool, int)]


def seen(value: Any, classes: Any) -> Any:
    """As programs normalise what they are given: a number that is known now, or one of the language."""
    if isinstance(value, classes):
        return 100
    return tt.Int32(value)


@tt.kernel
def typed(out: cute.Pointer, x: cute.Pointer, classes: tt.Constexpr[Any]) -> None:
    t, _, _ = cute.arch.thread_idx()
    loaded = (x + t).load()
    found = [
        seen(t, classes),
        seen(loaded, classes),
        seen(loaded.to(tt.Float32) + 1.0, classes),
        seen(tt.Int64(loaded) * 2 - t, classes),
        seen(tt.Float32(3.0), classes),
        seen(cute.arch.shuffle_sync(loaded, 0), classes),
    ]
    for i in tt.range_constexpr(6):
        (out + 6 * t + i).store(found[i])


@pytest.mark.parametrize("classes", ASKED, ids=str)
def test_what_is_loaded_and_computed_is_no_python_number(classes: Any) -> None:
    x, out = np.arange(5, 37, dtype=np.int32), np.zeros((32, 6), np.int32)
    run(typed, [out, x], classes)
    t = np.arange(32)
    expected: list[Any] = [t, x, x + 1, x * 2 - t, np.full(32, 3), np.full(32, x[0])]
    assert np.array_equal(out, np.stack(expected, axis=1))


@tt.kernel
def with_strides(x: cute.Tensor) -> None:
    known = tuple(step if isinstance(step, int) else -1 for step in (*x.stride, *x.shape))
    assert known == (-1, 1, -1, -1)
    x[0, 0] = cute.size(x)


@tt.jit
def host(x: cute.Tensor) -> None:
    strides = tuple(step if isinstance(step, int) else -1 for step in x.stride)
    assert strides == (-1, 1)
    assert not tt.const_expr(isinstance(x.shape[0], int) and x.shape[0] == 4)
    with_strides(x).launch(grid=1, block=1)


def test_extents_and_strides_of_tensors() -> None:
    x = np.zeros((3, 4), np.float32)
    host(cute.runtime.from_dlpack(x).mark_layout_dynamic(leading_dim=1))
    assert x[0, 0] == 12


REFUSED: list[tuple[str, Callable[..., Any]]] = [
    ("an argument", lambda n, x: n),
    ("a sum with it", lambda n, x: n + tt.Int32(x[0])),
    ("what int() gives", lambda n, x: int(x[0])),
    ("what float() gives", lambda n, x: float(x[0])),
    ("what round() gives", lambda n, x: round(x[0])),
    ("a comparison", lambda n, x: x[0] > 1),
    ("the larger of two", lambda n, x: max(x[0], 3)),
]


@pytest.mark.parametrize(("what", "value"), REFUSED, ids=[what for what, _ in REFUSED])
def test_what_python_may_have_itself_is_refused(what: str, value: Callable[..., Any]) -> None:
    @tt.jit
    def asks(n: tt.Int32, x: cute.Tensor) -> Any:
        return 1 if isinstance(value(n, x), (bool, int, float)) else 2

    with pytest.raises(StaticRequiredError, match="`isinstance` of a run-time number"):
        asks(3, np.ones(2, np.float32))


def test_what_a_loop_or_a_branch_chooses_is_refused() -> None:
    @tt.jit
    def counts(x: cute.Tensor) -> Any:
        count = 0
        for i in range(cute.size(x)):
            if x[i] > 0:
                count += 1
        found: Any = count
        return 1 if isinstance(found, int) else 2

    @tt.jit
    def numbers(x: cute.Tensor) -> Any:
        last = 1
        for i in range(cute.size(x)):
            index: Any = i
            last = 1 if isinstance(index, int) else 2
        return last

    for function in (counts, numbers):
        with pytest.raises(StaticRequiredError, match="`isinstance` of a run-time number"):
            function(np.ones(2, np.float32))


def test_an_argument_of_a_kernel_is_that_of_the_host() -> None:
    @tt.kernel
    def asks(out: cute.Pointer, n: tt.Int32) -> None:
        given: Any = n
        out.store(1 if isinstance(given, int) else 2)

    @tt.jit
    def launch(x: cute.Tensor, n: tt.Int32, is_argument: tt.Constexpr[bool]) -> None:
        asks(x.iterator, n if is_argument else tt.Int32(cute.size(x))).launch(grid=1, block=1)

    x = np.zeros(2, np.int32)
    launch(x, 3, False)
    assert x[0] == 2
    with pytest.raises(StaticRequiredError, match="`isinstance` of a run-time number"):
        launch(x, 3, True)
