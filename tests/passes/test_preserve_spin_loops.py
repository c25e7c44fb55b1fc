"""`preserve-spin-loops`: what a waiting loop reads is volatile; all other loads stay as they are."""

from __future__ import annotations

from tests.passes.running import checked, kernel
from triptych.kernel_ir.transforms.loop_passes import LOOPS, preserve_spin_loops

ARGUMENTS = "%p: !llvm.ptr<1>, %n: i32"


def loop(body: str = "", pointer: str = "%p") -> str:
    """It goes on while a word is zero."""
    return f"""
    %zero = arith.constant 0 : i32
    scf.while (%i = %zero) : (i32) -> i32 {{
      %moving = llvm.getelementptr %p[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
      %word = llvm.load {pointer} : !llvm.ptr<1> -> i32
      %more = arith.cmpi eq, %word, %zero : i32
      scf.condition(%more) %i : i32
    }} do {{
    ^bb0(%j: i32):
      {body}
      %k = arith.addi %j, %n : i32
      scf.yield %k : i32
    }}
    """


def test_a_loop_that_waits() -> None:
    checked(
        kernel("%before = llvm.load %p : !llvm.ptr<1> -> i32" + loop(), ARGUMENTS),
        preserve_spin_loops,
        """
        # CHECK: llvm.load %arg0
        # CHECK: scf.while
        # CHECK: llvm.load volatile %arg0
        """,
    )
    assert {"scf.while"} == LOOPS


def test_every_load_of_the_loop() -> None:
    checked(
        kernel(loop("%other = llvm.load %p : !llvm.ptr<1> -> f32"), ARGUMENTS),
        preserve_spin_loops,
        "# CHECK-COUNT-2: llvm.load volatile",
    )


def test_loops_that_do_not_wait() -> None:
    stores = loop("llvm.store %j, %p : i32, !llvm.ptr<1>")
    for program in (stores, loop(pointer="%moving")):
        checked(kernel(program, ARGUMENTS), preserve_spin_loops, "# CHECK: llvm.load\n# CHECK-NOT: volatile")


def test_host_functions_do_not_wait() -> None:
    host = f"func.func @host({ARGUMENTS}) {{ {loop()} return }}"
    checked(kernel("", host=host), preserve_spin_loops, "# CHECK: llvm.load\n# CHECK-NOT: volatile")
