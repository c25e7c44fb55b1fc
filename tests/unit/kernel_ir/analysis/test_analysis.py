"""The lane analysis on kernels: thread numbers, addresses, loads, and what control flow does to them."""

from __future__ import annotations

import pytest

from tests.unit.kernel_ir.kernels import said_last


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("%x = arith.addi %t, %c1 : i32", "warp base + lane*1"),
        ("%x = arith.muli %t, %c16 : i32", "warp base + lane*16"),
        ("%x = arith.muli %b, %c32 : i32", "block uniform"),
        ("%x = arith.divui %t, %c32 : i32", "warp uniform"),
        ("%x = arith.divui %t, %c16 : i32", "warp base + known differences"),
        ("%x = arith.remui %t, %c16 : i32", "block base + known differences"),
        ("%x = arith.muli %t, %t : i32", "varying"),
        ("%x = arith.muli %t, %n : i32", "warp base + rows of run-time length"),
        ("%x = arith.cmpi slt, %t, %n : i32", "varying"),
        ("%x = arith.cmpi slt, %b, %n : i32", "block uniform"),
        ("%x = arith.xori %t, %c1 : i32", "warp base + known differences"),
    ],
)
def test_index_arithmetic(text: str, said: str) -> None:
    assert said_last(text) == said


def test_an_address_counts_bytes() -> None:
    text = """
    %e = arith.extsi %t : i32 to i64
    %a = llvm.getelementptr %p[%e] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    """
    assert said_last(text) == "warp base + lane*4"


def test_a_load_from_one_address_is_the_same_for_the_block() -> None:
    assert said_last("%x = llvm.load %p : !llvm.ptr<1> -> f32") == "block uniform"


def test_thread_numbers_of_a_flat_block() -> None:
    assert said_last("%x = arith.addi %t, %c0 : i32", block=(16, 16, 1)) == "block base + known differences"
    assert said_last("%x = arith.addi %u, %c0 : i32", block=(16, 16, 1)) == "warp base + known differences"
    assert said_last("%x = arith.addi %u, %c0 : i32", block=(32, 8, 1)) == "warp uniform"


def test_without_a_known_block_thread_numbers_vary() -> None:
    assert said_last("%x = arith.addi %t, %c0 : i32", block=None) == "varying"


def test_a_counter_keeps_the_differences_of_its_start() -> None:
    text = """
    scf.for %i = %t to %n step %c32 : i32 {
      %x = arith.addi %i, %c1 : i32
    }
    """
    assert said_last(text) == "warp base + lane*1"


def test_what_a_divergent_loop_leaves_varies() -> None:
    text = """
    %x = scf.for %i = %c0 to %t step %c1 iter_args(%s = %c0) -> (i32) : i32 {
      %y = arith.addi %s, %c1 : i32
      scf.yield %y : i32
    }
    """
    assert said_last(text) == "varying"


def test_what_divergent_branches_leave_varies() -> None:
    text = """
    %q = arith.cmpi slt, %t, %n : i32
    %x = scf.if %q -> (i32) { scf.yield %c0 : i32 } else { scf.yield %c1 : i32 }
    """
    assert said_last(text) == "varying"


def test_long_arithmetic_of_addresses_is_followed_once() -> None:
    rounds = "\n".join(f"%m{i + 1} = arith.muli %m{i}, %m{i} : i64" for i in range(2000))
    text = f"""
    %loaded = llvm.load %p : !llvm.ptr<1> -> i32
    %sum = arith.addi %loaded, %t : i32
    %m0 = arith.extsi %sum : i32 to i64
    {rounds}
    %a = llvm.getelementptr %p[%m2000] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    """
    assert said_last(text) == "varying"
