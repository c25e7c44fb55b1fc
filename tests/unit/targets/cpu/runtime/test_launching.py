"""Launches of hand-written kernels: which blocks run, what they are given, and what happens when one fails."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.targets.build import lowered
from tests.unit.targets.launches import (
    COUNT,
    DESCRIPTION,
    HOST,
    PARAMETERS,
    each_block,
    fail_when,
    function,
    launcher,
    module,
)
from triptych.diagnostics.kernel_errors import LaunchShapeError
from triptych.diagnostics.runtime_errors import IndexOutOfRangeError


@cache
def counting() -> Callable[..., Any]:
    return launcher(COUNT)


@cache
def failing() -> Callable[..., Any]:
    """Block `n` fails in thread 37."""
    return launcher(COUNT + fail_when("%bad = arith.cmpi eq, %i, %n : i32", thread=37))


@given(st.integers(0, 3000))
def test_every_block_runs_once(grid: int) -> None:
    counts = np.zeros(grid + 1, np.int32)
    counting()(counts.ctypes.data, 0, grid, 1)
    assert counts.tolist() == [1] * grid + [0]


def test_a_large_grid_runs_every_block_once() -> None:
    counts = np.zeros(1_000_000, np.int32)
    counting()(counts.ctypes.data, 0, len(counts), 1)
    assert (counts == 1).all()


KINDS = {
    "i1": "i8",
    "i8": "i8",
    "i16": "i16",
    "i32": "i32",
    "i64": "i64",
    "f16": "f16",
    "bf16": "bf16",
    "f32": "f32",
    "f64": "f64",
    "vector<4xf32>": "vector<4xf32>",
    "!llvm.ptr<1>": "i64",
    "!llvm.ptr<3>": "i64",
    "!llvm.ptr": "i64",
}
"""Types of kernel parameters, and as what the test stores them."""


def store(i: int, kind: str, stored: str) -> str:
    convert = {"i1": "arith.extui", "i8": ""}.get(kind, "llvm.ptrtoint" if "ptr" in kind else "")
    value = f"%stored{i} = {convert} %v{i} : {kind} to {stored}\n" if convert else ""
    place = f"%place{i} = llvm.getelementptr %out[{i * 16}] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8\n"
    return f"{value}{place}llvm.store {'%stored' if convert else '%v'}{i}, %place{i} : {stored}, !llvm.ptr<1>\n"


def test_arguments_of_every_type_arrive() -> None:
    names = [f"%v{i}: {kind}" for i, kind in enumerate(KINDS)]
    stores = "".join(store(i, kind, stored) for i, (kind, stored) in enumerate(KINDS.items()))
    constants = """
    %v0 = arith.constant true
    %v1 = arith.constant -2 : i8
    %v2 = arith.constant -3 : i16
    %v3 = arith.constant -4 : i32
    %v4 = arith.constant -5 : i64
    %v5 = arith.constant 1.5 : f16
    %v6 = arith.constant 2.5 : bf16
    %v7 = arith.constant 3.5 : f32
    %v8 = arith.constant 4.5 : f64
    %v9 = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : vector<4xf32>
    %v10 = llvm.inttoptr %v4 : i64 to !llvm.ptr<1>
    %v11 = llvm.inttoptr %v4 : i64 to !llvm.ptr<3>
    %v12 = llvm.inttoptr %v4 : i64 to !llvm.ptr
"""
    passed = ", ".join(f"%v{i} : {kind}" for i, kind in enumerate(KINDS))
    host = f"""(%address: i64) {{
    {constants}
    %one = arith.constant 1 : i32
    %out = llvm.inttoptr %address : i64 to !llvm.ptr<1>
    gpu.launch_func @kernels::@k blocks in (%one, %one, %one) threads in (%one, %one, %one) : i32
      args(%out : !llvm.ptr<1>, {passed})
    return
  }}"""
    text = module(stores, host, parameters=", ".join(["%out: !llvm.ptr<1>", *names]))
    out = np.zeros((len(KINDS), 16), np.uint8)
    function(text, {"address": "Int64"})(out.ctypes.data)
    assert out[0, 0] == 1
    assert [out[i].view(f"i{1 << (i - 1)}")[0] for i in range(1, 5)] == [-2, -3, -4, -5]
    assert out[5].view(np.float16)[0] == 1.5
    assert int(out[6].view(np.uint16)[0]) << 16 == int(np.float32(2.5).view(np.uint32))
    assert out[7].view(np.float32)[0] == 3.5
    assert out[8].view(np.float64)[0] == 4.5
    assert out[9].view(np.float32).tolist() == [1.0, 2.0, 3.0, 4.0]
    assert [out[i].view(np.int64)[0] for i in range(10, 13)] == [-5] * 3


def test_the_kernel_is_reported_the_shape_and_the_shared_memory() -> None:
    names = [part.split(":")[0] for part in DESCRIPTION.split(", ")]
    stores = "".join(
        f"%place{i} = llvm.getelementptr %a[{i}] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32\n"
        f"llvm.store {name}, %place{i} : i32, !llvm.ptr<1>\n"
        for i, name in enumerate(names)
    )
    host = """(%address: i64) {
    %a = llvm.inttoptr %address : i64 to !llvm.ptr<1>
    %n2 = arith.constant 2 : i32
    %n3 = arith.constant 3 : i32
    %n4 = arith.constant 4 : i32
    %n5 = arith.constant 5 : i32
    %n6 = arith.constant 6 : i32
    %n7 = arith.constant 7 : i32
    %bytes = arith.constant 4096 : i32
    gpu.launch_func @kernels::@k blocks in (%n2, %n3, %n4) threads in (%n5, %n6, %n7) : i32
      dynamic_shared_memory_size %bytes args(%a : !llvm.ptr<1>, %n2 : i32)
    return
  }"""
    told = np.zeros(7, np.int32)
    function(module(stores, host), {"address": "Int64"})(told.ctypes.data)
    assert told.tolist() == [2, 3, 4, 5, 6, 7, 4096]


def test_a_launch_in_a_loop_and_a_branch_of_the_host() -> None:
    host = """(%address: i64, %n: i32, %times: i32, %block: i32) {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %a = llvm.inttoptr %address : i64 to !llvm.ptr<1>
    scf.for %time = %zero to %times step %one : i32 {
      %odd = arith.andi %time, %one : i32
      %is_odd = arith.cmpi eq, %odd, %one : i32
      scf.if %is_odd {
        gpu.launch_func @kernels::@k blocks in (%one, %one, %one) threads in (%block, %one, %one) : i32
          args(%a : !llvm.ptr<1>, %n : i32)
      }
    }
    return
  }"""
    call = function(module(each_block(COUNT), host), PARAMETERS, opt_level=0)
    counts = np.zeros(1, np.int32)
    # Arguments packed anew on the stack by each of these launches would overflow it.
    call(counts.ctypes.data, 0, 1_000_000, 1)
    assert counts[0] == 500_000


def test_a_fault_raises_its_class_with_the_block_and_the_thread() -> None:
    counts = np.zeros(10, np.int32)
    with pytest.raises(IndexOutOfRangeError) as caught:
        failing()(counts.ctypes.data, 7, 10, 64)
    assert str(caught.value) == (
        f"[{IndexOutOfRangeError.code}] the block is refused\n  = note: in block (7, 0, 0), thread (37, 0, 0)"
    )
    counts[:] = 0
    failing()(counts.ctypes.data, -1, 10, 64)
    assert (counts == 1).all()


def test_the_thread_is_numbered_in_three_dimensions() -> None:
    host = HOST.replace("threads in (%block, %one, %one)", "threads in (%block, %block, %block)")
    text = module(each_block(fail_when("%bad = arith.cmpi eq, %i, %n : i32", thread=37)), host)
    with pytest.raises(IndexOutOfRangeError, match=re.escape("thread (1, 0, 4)")):
        function(text, PARAMETERS)(0, 0, 1, 3)


def test_a_fault_stops_the_launch_and_the_host_function() -> None:
    host = HOST.replace(
        "    return",
        """    %places = llvm.getelementptr %a[%grid] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    llvm.store %one, %places : i32, !llvm.ptr<1>
    return""",
    )
    text = module(each_block(COUNT + fail_when("%bad = arith.cmpi eq, %i, %n : i32")), host)
    call = function(text, PARAMETERS)
    counts = np.zeros(1_000_001, np.int32)
    with pytest.raises(IndexOutOfRangeError):
        call(counts.ctypes.data, 3, len(counts) - 1, 1)
    assert counts[3] == 1
    assert counts[:-1].sum() < len(counts) - 1
    assert counts[-1] == 0
    call(counts.ctypes.data, -1, len(counts) - 1, 1)
    assert counts[-1] == 1


def test_one_of_many_faults_is_reported_whole() -> None:
    call = launcher(fail_when("%bad = arith.cmpi sge, %i, %n : i32"))
    for _ in range(200):
        with pytest.raises(IndexOutOfRangeError, match=r"in block \((1?[5-9]|1\d), 0, 0\), thread \(0, 0, 0\)"):
            call(0, 5, 20, 1)


def test_a_fault_comes_through_the_general_call_path() -> None:
    host = HOST.replace("%block: i32) {", "%block: i32) -> (i32, i32) {").replace(
        "    return", "    return %grid, %block : i32, i32"
    )
    text = module(each_block(COUNT + fail_when("%bad = arith.cmpi eq, %i, %n : i32", thread=1)), host)
    call = function(text, PARAMETERS, ("Int32", "Int32"))
    counts = np.zeros(4, np.int32)
    assert call(counts.ctypes.data, -1, 4, 2) == (4, 2)
    with pytest.raises(IndexOutOfRangeError, match=re.escape("in block (2, 0, 0), thread (1, 0, 0)")):
        call(counts.ctypes.data, 2, 4, 2)


def test_more_blocks_than_can_be_counted() -> None:
    host = HOST.replace("blocks in (%grid, %one, %one)", "blocks in (%grid, %grid, %grid)")
    call = function(module(each_block(COUNT), host), PARAMETERS)
    counts = np.zeros(8, np.int32)
    call(counts.ctypes.data, 0, 2, 1)
    assert (counts == 1).all()
    with pytest.raises(LaunchShapeError, match="too many blocks"):
        call(counts.ctypes.data, 0, 2**31 - 1, 1)


def test_code_without_launches_knows_nothing_of_the_pool() -> None:
    assert "triptych_launch" not in lowered("func.func @f() { return }", {}).llvm
