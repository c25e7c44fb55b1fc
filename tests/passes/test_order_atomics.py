"""`order-atomics`: an update keeps its order and its scope as inline PTX, where LLVM would forget them."""

from __future__ import annotations

from tests.passes.running import checked, kernel
from triptych.targets.nvptx.architectures import ARCHITECTURES
from triptych.targets.nvptx.passes.order_atomics import ordering

run = ordering(ARCHITECTURES["sm_80"])


def test_order_and_scope_of_an_update() -> None:
    checked(
        kernel(
            '%0 = llvm.atomicrmw add %p, %n syncscope("block") acq_rel : !llvm.ptr<1>, i32',
            "%p: !llvm.ptr<1>, %n: i32",
        ),
        run,
        """
        # CHECK-NOT: llvm.atomicrmw
        # CHECK: llvm.inline_asm has_side_effects
        # CHECK: "atom.acq_rel.cta.global.add.u32 $0, [$1], $2;"
        """,
    )


def test_what_llvm_writes_anyway_is_left_to_it() -> None:
    checked(
        kernel(
            '%0 = llvm.atomicrmw add %p, %n syncscope("device") monotonic : !llvm.ptr<1>, i32',
            "%p: !llvm.ptr<1>, %n: i32",
        ),
        run,
        """
        # CHECK: llvm.atomicrmw add
        # CHECK-NOT: inline_asm
        """,
    )


def test_updates_without_an_instruction_are_left_to_llvm() -> None:
    checked(
        kernel("%0 = llvm.atomicrmw nand %p, %n acq_rel : !llvm.ptr<3>, i32", "%p: !llvm.ptr<3>, %n: i32"),
        run,
        """
        # CHECK: llvm.atomicrmw
        """,
    )
