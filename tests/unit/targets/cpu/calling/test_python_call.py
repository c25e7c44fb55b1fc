"""The entry point in CPython's calling convention agrees with the call path and needs none of its packages."""

from __future__ import annotations

import ctypes
import gc
import math
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from types import BuiltinFunctionType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.targets.build import function, identity, loaded
from triptych.diagnostics.runtime_errors import ArgumentCountError, DivisionByZeroError
from triptych.ir import bindings
from triptych.ir.llvm.loader import load_object
from triptych.targets.cpu.loader import python_symbols

PLAIN = (
    *("Boolean", "Int4", "Int8", "Int16", "Int32", "Int64", "Uint8", "Uint16", "Uint32"),
    *("Float16", "Float32", "Float64"),
)

DIVIDE = """
func.func @f(%a: i32, %b: i32) -> i32 {
  %zero = arith.constant 0 : i32
  %ok = arith.cmpi ne, %b, %zero : i32
  cf.assert %ok, "divided by zero" {triptych.error = "DivisionByZeroError"}
  %q = arith.divsi %a, %b : i32
  return %q : i32
}
"""

COUNT = """
func.func @f(%n: i64) -> i64 {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %sum = scf.for %i = %zero to %n step %one iter_args(%s = %zero) -> (i64) : i64 {
    %odd = arith.xori %s, %i : i64
    %next = arith.addi %odd, %one : i64
    scf.yield %next : i64
  }
  return %sum : i64
}
"""


def through_call_path(dtype: str) -> Callable[..., Any]:
    """The same symbol as `identity(dtype)`, called through tvm-ffi."""
    kind = {"Boolean": "i1", "Int32": "i32", "Float64": "f64"}[dtype]
    compiled = loaded(f"func.func @f(%x: {kind}) -> {kind} {{ return %x : {kind} }}", {"x": dtype}, (dtype,)).compiled
    code = load_object(compiled.artifact, compiled.lowered.entry, python_symbols())
    made: Callable[..., Any] = bindings.tvm_ffi().Function.__from_extern_c__(code.address, keep_alive_object=code)
    return made


def outcome(call: Callable[..., Any], *arguments: Any) -> tuple[str, str]:
    try:
        result = call(*arguments)
    except Exception as error:
        return type(error).__name__, getattr(error, "title", str(error))
    return type(result).__name__, repr(result)


@pytest.mark.parametrize("dtype", PLAIN)
def test_functions_over_plain_numbers_are_builtins(dtype: str) -> None:
    assert isinstance(identity(dtype), BuiltinFunctionType)


def test_other_functions_are_not() -> None:
    assert not isinstance(identity("Uint64"), BuiltinFunctionType)


@given(value=st.one_of(st.integers(), st.floats(), st.booleans(), st.none(), st.text(), st.binary()))
@pytest.mark.parametrize("dtype", ["Boolean", "Int32", "Float64"])
def test_agrees_with_the_call_path(dtype: str, value: Any) -> None:
    assert outcome(identity(dtype), value) == outcome(CALL_PATH[dtype], value)


CALL_PATH = {dtype: through_call_path(dtype) for dtype in ("Boolean", "Int32", "Float64")}


@pytest.mark.parametrize("arguments", [(), (1, 2), (1, 2, 3)])
def test_wrong_number_of_arguments(arguments: tuple[int, ...]) -> None:
    with pytest.raises(ArgumentCountError):
        identity("Int32")(*arguments)


def test_subclasses_of_numbers_are_numbers() -> None:
    class Count(int):
        pass

    assert identity("Int32")(Count(7)) == 7
    assert math.isnan(identity("Float64")(type("Real", (float,), {})("nan")))


def test_no_arguments_and_no_result() -> None:
    call = function("func.func @f() { return }", {})
    before = sys.getrefcount(None)
    assert [call() for _ in range(1000)] == [None] * 1000
    assert abs(sys.getrefcount(None) - before) < 100


def test_results_are_not_leaked() -> None:
    call = identity("Float64")
    value = call(0.1)
    assert sys.getrefcount(value) == 2


def test_an_error_is_raised_by_the_call_itself() -> None:
    call = function(DIVIDE, {"a": "Int32", "b": "Int32"}, ("Int32",))
    assert call(7, 2) == 3
    with pytest.raises(DivisionByZeroError) as caught:
        call(7, 0)
    assert len(traceback.extract_tb(caught.value.__traceback__)) == 1
    assert call(9, 3) == 3


def test_the_code_lives_as_long_as_the_builtin() -> None:
    call = function(DIVIDE, {"a": "Int32", "b": "Int32"}, ("Int32",))
    gc.collect()
    assert [call(n, 3) for n in (3, 6, 9)] == [1, 2, 3]


def test_what_python_reads_when_it_frees_a_builtin_is_not_the_collectors() -> None:
    """In a cycle, the collector frees what it sees before the builtin, whose definition is read after that."""
    call: Any = identity("Int32")
    memory = call.__self__
    definition = ctypes.c_void_p.from_address(id(call) + object.__basicsize__).value or 0
    assert id(memory) <= definition < id(memory) + sys.getsizeof(memory)
    assert not gc.is_tracked(memory)
    assert call.__name__ == "f"


FINALIZERS = """
import gc
import numpy
from triptych import Int32, cute, jit

class Owner:
    def __init__(self, has_tensor):
        self.me, array = self, numpy.zeros(1, numpy.int32)

        @jit
        def plain(n: Int32) -> Int32:
            return n + 1

        @jit
        def store(x: cute.Tensor, n: Int32):
            x[0] = n

        self.call = (lambda n: (store(array, n), int(array[0]))[1]) if has_tensor else plain
        self.call(1)

    def __del__(self):
        print(self.call(4))

for has_tensor in (False, True):
    Owner(has_tensor)
    gc.collect()
"""


def test_finalizers_call_functions_that_are_collected_with_them(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(FINALIZERS, encoding="utf-8")
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "5\n4\n", "")


def test_a_function_with_a_loop_lets_other_threads_run() -> None:
    call = function(COUNT, {"n": "Int64"}, ("Int64",), loops=True)
    running = threading.Thread(target=call, args=(400_000_000,))
    running.start()
    steps = 0
    while running.is_alive():
        steps += 1
    assert steps > 1000


def test_a_first_call_loads_no_call_path() -> None:
    program = """
import sys
from tests.unit.targets.build import identity
assert identity("Int32")(4) == 4
print(sorted({"tvm_ffi", "numpy"} & set(sys.modules)))
"""
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert finished.stdout.strip() == "[]"
