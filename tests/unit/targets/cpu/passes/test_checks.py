from __future__ import annotations

import pytest

from tests.unit.targets.build import function, lowered
from triptych.diagnostics.check_errors import CHECK_ERRORS, pack
from triptych.diagnostics.runtime_errors import AssertionFailedError, DivisionByZeroError
from triptych.ir.errors import LoweringError
from triptych.support.source import Span

levels = pytest.mark.parametrize("opt_level", [0, 3])


@levels
@pytest.mark.parametrize("name", CHECK_ERRORS)
def test_a_failed_check_raises_its_class(name: str, opt_level: int) -> None:
    call = function(
        f"""func.func @f(%ok: i1) -> i32 {{
  %c = arith.constant 7 : i32
  cf.assert %ok, "the text\\0A --> here" {{triptych.error = "{name}"}}
  return %c : i32
}}""",
        {"ok": "Boolean"},
        ("Int32",),
        opt_level=opt_level,
    )
    assert call(True) == 7
    with pytest.raises(CHECK_ERRORS[name]) as caught:
        call(False)
    assert str(caught.value) == f"[{CHECK_ERRORS[name].code}] the text\n --> here"
    assert call(True) == 7


def test_facts_of_a_check_are_those_of_the_exception() -> None:
    span = Span("program.py", 3, 4, function="f")
    facts = pack("größer", span=span, found="2", instead="1", related=[("called from", span)])
    text = facts.replace("\\", "\\\\").replace('"', '\\"')
    attributes = f'{{triptych.error = "AssertionFailedError", triptych.facts = "{text}"}}'
    call = function(
        f'func.func @f(%ok: i1) {{ cf.assert %ok, "[TT0605] picture" {attributes} return }}', {"ok": "Boolean"}
    )
    with pytest.raises(AssertionFailedError) as caught:
        call(False)
    expected = AssertionFailedError("größer", span=span, found="2", instead="1", related=[("called from", span)])
    assert caught.value.as_dict() == expected.as_dict()


NESTED = """
func.func @f(%n: i32, %d: i32) -> (i32, i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %ten = arith.constant 10 : i32
  %r = scf.for %i = %zero to %n step %one iter_args(%s = %zero) -> (i32) : i32 {
    %left = arith.subi %d, %i : i32
    %ok = arith.cmpi ne, %left, %zero : i32
    cf.assert %ok, "divided by zero" {triptych.error = "DivisionByZeroError"}
    %q = arith.divsi %ten, %left : i32
    %small = arith.cmpi slt, %q, %ten : i32
    %t = scf.if %small -> (i32) {
      cf.assert %small, "never"
      %u = arith.addi %s, %q : i32
      %fine = arith.cmpi slt, %u, %ten : i32
      cf.assert %fine, "sum below ten"
      scf.yield %u : i32
    } else {
      scf.yield %s : i32
    }
    scf.yield %t : i32
  }
  return %r, %n : i32, i32
}
"""


def model(n: int, d: int) -> tuple[int, int] | type[Exception]:
    total = 0
    for i in range(n):
        if d - i == 0:
            return DivisionByZeroError
        quotient = int(10 / (d - i))
        if quotient < 10:
            total += quotient
            if not total < 10:
                return AssertionFailedError
    return total, n


@levels
def test_checks_anywhere_in_control_flow(opt_level: int) -> None:
    call = function(NESTED, {"n": "Int32", "d": "Int32"}, ("Int32", "Int32"), opt_level=opt_level)
    for n in range(-1, 14):
        for d in range(-12, 13):
            expected = model(n, d)
            if isinstance(expected, tuple):
                assert call(n, d) == (expected[0], n)
            else:
                with pytest.raises(expected):
                    call(n, d)


def test_many_checks_in_one_block_stay_linear() -> None:
    lines = [f'%c{i} = arith.cmpi ne, %x, %k{i} : i32 cf.assert %c{i}, "x is {i}" ' for i in range(1000)]
    constants = "\n".join(f"%k{i} = arith.constant {i} : i32" for i in range(1000))
    text = f"func.func @f(%x: i32) -> i32 {{ {constants}\n" + "\n".join(lines) + "\n return %x : i32 }"
    assert lowered(text, {"x": "Int32"}, ("Int32",)).mlir.count("llvm.cond_br") >= 1000
    call = function(text, {"x": "Int32"}, ("Int32",), opt_level=0)
    assert call(-1) == -1
    with pytest.raises(AssertionFailedError, match="x is 567"):
        call(567)


def test_an_unknown_error_class_is_refused_at_its_line() -> None:
    text = """func.func @f(%ok: i1) {
  cf.assert %ok, "text" {triptych.error = "NoSuchError"} loc("kernel.py":4:9)
  return
}"""
    with pytest.raises(LoweringError, match="NoSuchError") as caught:
        function(text, {"ok": "Boolean"})
    assert str(caught.value.span) == "kernel.py:4:9"


def test_a_check_outside_the_public_function_is_refused() -> None:
    text = """
func.func private @g(%ok: i1) { cf.assert %ok, "text" return }
func.func @f(%ok: i1) { func.call @g(%ok) : (i1) -> () return }
"""
    with pytest.raises(LoweringError, match="not the public one"):
        function(text, {"ok": "Boolean"})
