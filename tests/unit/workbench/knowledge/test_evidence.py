"""Evidence of a page: what is live at once, what is compiled, what is compared, and how a table says it."""

from __future__ import annotations

import re

import numpy as np
import pytest

import triptych as tt
from triptych.ptxsim.reading import read
from triptych.workbench.knowledge.evidence import compared, compilations, live_registers


def _kernel(body: str) -> str:
    registers = ".reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n.reg .pred %p<9>;\n"
    return f".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{{\n{registers}{body}\nret;\n}}\n"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("mov.u32 %r1, 1;\nadd.s32 %r2, %r1, 1;\nst.global.u32 [%rd1], %r2;", 3),
        ("mov.u32 %r1, 1;\nmov.u32 %r2, 2;\nadd.s32 %r3, %r1, %r2;\nst.global.u32 [%rd1], %r3;", 4),
        ("mov.u32 %r1, 1;\n@%p1 mov.u32 %r1, 2;\nst.global.u32 [%rd1], %r1;", 3),
        ("mov.u32 %r1, 4;\nL:\nmov.u32 %r2, 1;\nst.global.u32 [%rd1], %r2;\nsetp.eq.s32 %p1, %r1, 0;\n@%p1 bra L;", 4),
    ],
)
def test_registers_that_are_live_at_once(body: str, expected: int) -> None:
    """An address has two; the counter of a loop is live while its body runs."""
    assert live_registers(read(_kernel(body)).kernels["k"]) == expected


def test_a_function_is_compiled_once() -> None:
    @tt.jit
    def twice(x: tt.Int32) -> tt.Int32:
        return x * 2

    rows = compilations({"first": lambda: twice(3), "second": lambda: twice(4)})
    assert [row["compilations"] for row in rows] == [1, 0]


def test_a_comparison_has_an_interval_and_a_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("triptych.workbench.knowledge.evidence._SECONDS", 0.05)
    small, large = np.ones(10), np.ones(1_000_000)
    (row,) = compared({"small": small.sum, "large": large.sum})
    assert list(row) == ["version", "time", "time of: small", "ratio", "interval", "verdict"]
    assert re.fullmatch(r"\d+\.\d\d to \d+\.\d\d", str(row["interval"]))
    assert (row["version"], row["verdict"]) == ("large", "slower")
