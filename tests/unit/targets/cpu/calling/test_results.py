from __future__ import annotations

import gc
import sys
import threading

import pytest

from tests.unit.targets.build import function
from triptych.targets.cpu.calling.scalars import SCALARS

ALL = tuple(SCALARS)
SWAP = "func.func @f(%a: i32, %b: f64) -> (f64, i32) { return %b, %a : f64, i32 }"


def test_no_result_is_none() -> None:
    assert function("func.func @f() { return }", {})() is None


@pytest.mark.parametrize("opt_level", [0, 3])
def test_several_results_are_a_tuple(opt_level: int) -> None:
    swap = function(SWAP, {"a": "Int32", "b": "Float64"}, ("Float64", "Int32"), opt_level=opt_level)
    assert swap(7, 2.5) == (2.5, 7)
    assert type(swap(7, 2.5)) is tuple


@pytest.mark.parametrize("opt_level", [0, 3])
@pytest.mark.parametrize("loops", [False, True])
def test_every_scalar_type_in_one_tuple(opt_level: int, loops: bool) -> None:
    types = ", ".join(scalar.traced for scalar in SCALARS.values())
    names = ", ".join(f"%a{i}" for i in range(len(ALL)))
    parameters = ", ".join(f"%a{i}: {scalar.traced}" for i, scalar in enumerate(SCALARS.values()))
    call = function(
        f"func.func @f({parameters}) -> ({types}) {{ return {names} : {types} }}",
        {f"a{i}": name for i, name in enumerate(ALL)},
        ALL,
        opt_level=opt_level,
        loops=loops,
    )
    values = [
        {"boolean": True, "signed": scalar.low, "unsigned": scalar.high, "float": 2.0}[scalar.kind]
        for scalar in SCALARS.values()
    ]
    found = call(*values)
    assert found == tuple(values)
    assert [type(item) for item in found] == [type(value) for value in values]


def test_tuples_are_not_leaked() -> None:
    swap = function(SWAP, {"a": "Int32", "b": "Float64"}, ("Float64", "Int32"))
    found = swap(1_000_000, 0.5)
    assert sys.getrefcount(found) == 2
    gc.collect()
    before = sys.getallocatedblocks()
    for _ in range(5000):
        swap(1_000_000, 0.5)
    assert sys.getallocatedblocks() - before < 100


def test_code_stays_loaded_as_long_as_the_function() -> None:
    calls = [
        function(f"func.func @f() -> i32 {{ %c = arith.constant {n} : i32 return %c : i32 }}", {}, ("Int32",))
        for n in range(5)
    ]
    gc.collect()
    assert [call() for call in calls] == [0, 1, 2, 3, 4]


LOOP = """
func.func @f(%n: i64) -> i64 {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %three = arith.constant 3 : i64
  %sum = scf.for %i = %zero to %n step %one iter_args(%s = %zero) -> (i64) : i64 {
    %x = arith.xori %s, %i : i64
    %y = arith.muli %x, %three : i64
    scf.yield %y : i64
  }
  return %sum : i64
}
"""


def test_a_loop_lets_other_threads_run() -> None:
    call = function(LOOP, {"n": "Int64"}, ("Int64",), loops=True)
    done = threading.Event()
    ticks = 0

    def work() -> None:
        call(300_000_000)
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    while not done.is_set():
        ticks += 1
    thread.join()
    assert ticks > 1000


def test_four_threads_call_and_compile_at_once() -> None:
    expected = function(LOOP, {"n": "Int64"}, ("Int64",), loops=True)(1000)
    found: list[int] = []

    def work() -> None:
        call = function(LOOP, {"n": "Int64"}, ("Int64",), loops=True)
        found.extend(call(1000) for _ in range(1000))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4000
