"""`order-atomics`: an update keeps its order and its scope as inline PTX, where LLVM would forget them."""

from __future__ import annotations

import pytest

from tests.passes.running import checked, kernel
from triptych.targets.nvptx.description.architectures import ARCHITECTURES
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


@pytest.mark.parametrize(
    ("update", "kind", "written"),
    [
        ("xchg", "i32", "exch.b32"),
        ("add", "i64", "add.u64"),
        ("_and", "i32", "and.b32"),
        ("_or", "i32", "or.b32"),
        ("_xor", "i32", "xor.b32"),
        ("max", "i32", "max.s32"),
        ("min", "i64", "min.s64"),
        ("umax", "i32", "max.u32"),
        ("umin", "i32", "min.u32"),
        ("fadd", "f32", "add.f32"),
        ("fadd", "f64", "add.f64"),
        ("fadd", "f16", "add.noftz.f16"),
    ],
)
def test_updates(update: str, kind: str, written: str) -> None:
    letter = {"i32": "r", "i64": "l", "f32": "f", "f64": "d", "f16": "h"}[kind]
    checked(
        kernel(f"%0 = llvm.atomicrmw {update} %p, %n acquire : !llvm.ptr<1>, {kind}", f"%p: !llvm.ptr<1>, %n: {kind}"),
        run,
        f'# CHECK: "atom.acquire.sys.global.{written} $0, [$1], $2;", "={letter},l,{letter},~{{memory}}"',
    )


@pytest.mark.parametrize(
    ("order", "scope", "space", "written"),
    [
        ("monotonic", "block", "<1>", "relaxed.cta.global"),
        ("monotonic", "", "<1>", "relaxed.sys.global"),
        ("acquire", "device", "<1>", "acquire.gpu.global"),
        ("release", "device", "<3>", "release.gpu.shared"),
        ("acq_rel", "cluster", "", "acq_rel.cluster"),
        ("release", "cluster", "<7>", "release.cluster.shared::cluster"),
    ],
)
def test_orders_scopes_and_memories(order: str, scope: str, space: str, written: str) -> None:
    said = f'syncscope("{scope}")' if scope else ""
    checked(
        kernel(
            f"%0 = llvm.atomicrmw add %p, %n {said} {order} : !llvm.ptr{space}, i32", f"%p: !llvm.ptr{space}, %n: i32"
        ),
        run,
        f'# CHECK: "atom.{written}.add.u32 $0, [$1], $2;"',
    )


@pytest.mark.parametrize(("architecture", "is_written"), [("sm_89", False), ("sm_90", True), ("sm_100a", True)])
def test_bfloat16_since_sm_90(architecture: str, is_written: bool) -> None:
    program = kernel("%0 = llvm.atomicrmw fadd %p, %n acquire : !llvm.ptr<1>, bf16", "%p: !llvm.ptr<1>, %n: bf16")
    expected = "# CHECK: add.noftz.bf16" if is_written else "# CHECK: llvm.atomicrmw\n# CHECK-NOT: inline_asm"
    checked(program, ordering(ARCHITECTURES[architecture]), expected)


@pytest.mark.parametrize(("update", "kind"), [("fmax", "f16"), ("fmax", "f32"), ("add", "i16"), ("xchg", "f16")])
def test_other_updates_are_loops_of_llvm(update: str, kind: str) -> None:
    program = kernel(
        f"%0 = llvm.atomicrmw {update} %p, %n acquire : !llvm.ptr<1>, {kind}", f"%p: !llvm.ptr<1>, %n: {kind}"
    )
    checked(program, run, "# CHECK: llvm.atomicrmw\n# CHECK-NOT: inline_asm")
