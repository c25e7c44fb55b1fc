"""Timing and tuning: how often what is called, and which parameters win."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

import triptych as tt
from triptych import cute
from triptych.cute import testing
from triptych.cute.tracing.errors import TensorError
from triptych.cute.tuning.trying import TuningWarning
from triptych.metastage.trace.errors import ArgumentBindingError


def test_mean_is_in_microseconds() -> None:
    taken = testing.benchmark(lambda: time.sleep(0.002), warmup_iterations=0, iterations=5)
    assert 2_000 <= taken < 200_000


def test_calls_are_counted() -> None:
    calls: list[tuple[Any, ...]] = []

    def note(*args: Any, **kwargs: Any) -> None:
        calls.append((args, kwargs))

    testing.benchmark(
        note, warmup_iterations=3, iterations=4, kernel_arguments=testing.JitArguments(1, n=2), use_cuda_graphs=True
    )
    assert calls == [((1,), {"n": 2})] * 7


def test_workspaces_take_turns() -> None:
    made = iter(range(100))
    seen: list[int] = []
    testing.benchmark(
        seen.append,
        workspace_generator=lambda: testing.JitArguments(next(made)),
        workspace_count=3,
        warmup_iterations=1,
        iterations=6,
    )
    assert seen == [0, 1, 2, 0, 1, 2, 0]


def test_fastest_combination_is_chosen() -> None:
    tried: list[tuple[int, str]] = []

    def prepare(base: int, delay: int, mode: str) -> Any:
        tried.append((delay, mode))
        if mode == "broken":
            raise ValueError("this one cannot be")
        return lambda: time.sleep(base * delay / 1e6)

    with pytest.warns(TuningWarning, match="3 of 6 configurations failed: ValueError: this one cannot be") as told:
        best = testing.tune(
            prepare,
            params_dict={"delay": [30_000, 0, 60_000], "mode": ["broken", "works"]},
            kernel_arguments=testing.JitArguments(1),
            warmup_iterations=0,
            iterations=3,
        )
    assert [warning.filename for warning in told] == [__file__]
    assert best == {"delay": 0, "mode": "works"}
    assert len(tried) == 6


def test_reason_is_reported_when_nothing_works() -> None:
    def prepare(n: int) -> Any:
        raise ValueError(f"not {n}")

    with pytest.raises(ValueError, match="not 2") as failed:
        testing.tune(prepare, params_dict={"n": [1, 2]})
    assert any("2 of 2 configurations failed" in note for note in failed.value.__notes__), "nor is any forgotten"


@tt.kernel
def scale_kernel(x: cute.Tensor, each: tt.Constexpr[int]) -> None:
    thread, _, _ = cute.arch.thread_idx()
    for i in tt.range_constexpr(each):
        x[thread * each + i] = 2.0


@testing.autotune_jit(params_dict={"each": [1, 3, 4]}, update_on_change=["n"], warmup_iterations=1, iterations=2)
@tt.jit
def fill(x: cute.Tensor, n: tt.Int32, each: tt.Constexpr[int] = 1) -> None:
    nothing_left = cute.make_rmem_tensor((1,), tt.Float32)
    nothing_left[16 % each] = 0.0
    scale_kernel(x, each).launch(grid=1, block=16 // each)


def test_function_tunes_itself_once_for_each_watched_value() -> None:
    """One of the choices does not compile."""
    assert isinstance(fill, testing.AutotunedFunction)
    x = np.zeros(16, np.float32)
    with pytest.warns(TuningWarning, match="fill: 1 of 3 configurations failed"):
        fill(x, 16)
    np.testing.assert_array_equal(x, 2.0)
    assert list(fill.best) == [(16,)]
    assert [row.state for row in fill.tables[(16,)]] == ["measured", "failed", "measured"]
    assert "'each': 3" in str(fill.tables[(16,)][1].config)
    assert fill.best[(16,)]["each"] in (1, 4)
    fill(x, n=16)
    assert len(fill.best) == 1
    with pytest.warns(TuningWarning):
        fill(x, 8)
    assert len(fill.best) == 2


def test_tuned_function_is_compiled_as_the_function_in_it() -> None:
    x = np.zeros(16, np.float32)
    tt.compile(fill, x, 16, each=4)(x, 16)
    np.testing.assert_array_equal(x, 2.0)


def test_failure_of_all_choices_is_the_users_error() -> None:
    tuned = testing.autotune_jit(params_dict={"each": [3]})(fill.__wrapped__)
    with pytest.raises(TensorError):
        tuned(np.zeros(16, np.float32), 16)


def test_watched_argument_exists() -> None:
    tuned = testing.autotune_jit(update_on_change=["m"])(fill.__wrapped__)
    with pytest.raises(ArgumentBindingError, match="no parameter of fill"):
        tuned(np.zeros(16, np.float32), 16)
