"""Functions under a name of another module, which `functools.wraps` gives them: whose code they are is what counts."""

from __future__ import annotations

import functools
from typing import Any

import triptych as tt
from triptych import cute


@functools.wraps(cute.size)
def limited(value: Any) -> Any:
    if value > 10:  # at run time
        return tt.Int32(10)
    return value


@tt.jit
def call(value: tt.Int32) -> tt.Int32:
    found: tt.Int32 = limited(value) + 1
    return found


def test_a_program_may_wrap_a_function_of_ours() -> None:
    assert limited.__module__.startswith("triptych.")
    assert [call(3), call(30)] == [4, 11]
