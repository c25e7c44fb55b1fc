"""Events as arguments of host functions and of launches: the CPU has done the work when the call returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import triptych as tt
from triptych import cute
from triptych.compat.cuda_bindings import driver, runtime
from triptych.metastage.trace.errors import ArgumentBindingError


class Event:
    """As torch's, as far as a launch asks."""

    __module__ = "torch.cuda.streams"
    cuda_event = 0x4000


@dataclass
class Own:
    """A class of the program's own is what it always was, whatever its fields are called."""

    cuda_event: Any


@cute.kernel
def fill(out: cute.Tensor, value: tt.Int32) -> None:
    out[cute.arch.thread_idx()[0]] = value


@cute.jit
def recorded(out: cute.Tensor, value: tt.Int32, event: Any) -> None:
    fill(out, value).launch(grid=1, block=8, launch_completion_event=event)


@cute.jit
def programmatic(out: cute.Tensor, value: tt.Int32, event: Any) -> None:
    fill(out, value).launch(grid=1, block=8, programmatic_event=event, use_pdl=True)


EVENTS = [runtime.cudaEvent_t(0x2000), driver.CUevent(0x3000), Event(), 0x5000, tt.Int64(0x6000), None]


@pytest.mark.parametrize("launch", [recorded, programmatic])
def test_events_of_every_library(launch: Any) -> None:
    for value, event in enumerate(EVENTS):
        out = np.full(8, -1, np.int32)
        launch(out, value, event)
        assert out.tolist() == [value] * 8


def test_another_event_is_the_same_function() -> None:
    out = np.zeros(8, np.int32)
    keys = {recorded.explain_key(out, 1, driver.CUevent(handle)).digest for handle in (1, 2, 3)}
    assert len(keys) == 1
    compiled = cute.compile(recorded, out, 1, driver.CUevent(1))
    compiled(out, 7, runtime.cudaEvent_t(2))
    assert out.tolist() == [7] * 8


@pytest.mark.parametrize("event", ["an event", 1.5])
def test_what_is_no_event_is_refused_at_the_launch(event: Any) -> None:
    @cute.jit
    def launch(out: cute.Tensor) -> None:
        fill(out, 1).launch(grid=1, block=8, launch_completion_event=event)

    with pytest.raises(ArgumentBindingError, match="launch_completion_event is not an event"):
        launch(np.zeros(8, np.int32))


def test_flags_are_integers() -> None:
    @cute.jit
    def launch(out: cute.Tensor) -> None:
        fill(out, 1).launch(grid=1, block=8, programmatic_event=1, programmatic_event_flags="none")

    with pytest.raises(ArgumentBindingError, match="programmatic_event_flags is not an integer"):
        launch(np.zeros(8, np.int32))


def test_fields_may_be_called_like_an_event() -> None:
    @cute.jit
    def doubled(own: Own) -> Any:
        return own.cuda_event * 2

    assert doubled(Own(21)) == 42
