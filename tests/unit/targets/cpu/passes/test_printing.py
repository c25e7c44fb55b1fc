from __future__ import annotations

import contextlib
import io
import sys

import pytest

from tests.unit.targets.build import function
from triptych.ir.errors import LoweringError

levels = pytest.mark.parametrize("opt_level", [0, 3])


@levels
@pytest.mark.parametrize("loops", [False, True])
def test_text_goes_through_sys_stdout_in_order(capsys: pytest.CaptureFixture[str], opt_level: int, loops: bool) -> None:
    call = function(
        """func.func @f(%a: i32, %b: i64, %c: f64) {
  gpu.printf "a=%d b=%lld c=%.3f %%\\0A", %a, %b, %c : i32, i64, f64
  gpu.printf "done ✓\\0A"
  return
}""",
        {"a": "Int32", "b": "Int64", "c": "Float64"},
        opt_level=opt_level,
        loops=loops,
    )
    print("before")
    call(-5, 2**40, 2.5)
    print("after")
    assert capsys.readouterr().out == "before\na=-5 b=1099511627776 c=2.500 %\ndone ✓\nafter\n"


def test_redirection_and_a_missing_console_are_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    call = function('func.func @f() { gpu.printf "hello" return }', {})
    with contextlib.redirect_stdout(io.StringIO()) as captured:
        call()
    assert captured.getvalue() == "hello"
    monkeypatch.setattr(sys, "stdout", None)
    assert call() is None


@levels
@pytest.mark.parametrize("width", [10, 4094, 4095, 4096, 4097, 100_000])
def test_long_text_is_not_cut(capsys: pytest.CaptureFixture[str], width: int, opt_level: int) -> None:
    call = function(
        f'func.func @f(%a: i32) {{ gpu.printf "%{width}d", %a : i32 return }}', {"a": "Int32"}, opt_level=opt_level
    )
    call(42)
    assert capsys.readouterr().out == "42".rjust(width)


LOOP = """
func.func @f(%n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  scf.for %i = %zero to %n step %one : i32 {
    gpu.printf "%d\\0A", %i : i32
  }
  return
}
"""


def test_printing_in_a_long_loop_does_not_eat_the_stack(capsys: pytest.CaptureFixture[str]) -> None:
    function(LOOP, {"n": "Int32"}, loops=True)(20_000)
    assert capsys.readouterr().out.splitlines() == [str(i) for i in range(20_000)]


@pytest.mark.parametrize("kind", ["i8", "i16", "f16", "f32", "index"])
def test_types_that_c_would_promote_are_refused(kind: str) -> None:
    text = f"""func.func @f() {{
  %a = arith.constant {"1.0" if kind.startswith("f") else "1"} : {kind}
  gpu.printf "%d", %a : {kind} loc("kernel.py":3:5)
  return
}}"""
    with pytest.raises(LoweringError, match="C formats") as caught:
        function(text, {})
    assert str(caught.value.span) == "kernel.py:3:5"
