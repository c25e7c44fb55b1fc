"""Inline PTX, lowerings of bulk copies, of bytes side by side: `cp.async.bulk` and `cp.reduce.async.bulk`.

The thread that begins one makes it at once: who then waits for an mbarrier, or for a group, does not wait.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from triptych.cute.arch.atomics import ordering
from triptych.cute.memory.address_spaces import AddressSpace
from triptych.cute.memory.shared_window import shared_pointer
from triptych.frontends.ptx.code import ADDRESS, Code, Lowering, mlir_of
from triptych.frontends.ptx.memory import FLOAT_ADD, pointer
from triptych.frontends.ptx.statements import Instruction
from triptych.ir.handles import Value
from triptych.kernel_ir.dialects.simt import MBARRIER_COMPLETE

CHUNK = 16
"""Bytes that addresses and sizes are multiples of."""
_LOAD = ("async", "bulk", "global", "mbarrier::complete_tx::bytes")
_ADD = ("reduce", "async", "bulk", "global", "shared::cta", "bulk_group", "add")


def bulk_copy(instruction: Instruction) -> Lowering | None:
    """`cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [shared], [global], bytes, [barrier]`, and
    `cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [global], [shared], bytes`."""
    *marks, last = instruction.marks
    if tuple(marks) == _ADD and last in ("f32", "u32", "s32"):
        return Lowering((), (ADDRESS, ADDRESS, "u32"), partial(_added, kind=last), effect=True)
    spaces = [mark for mark in instruction.marks if mark in ("shared::cta", "shared::cluster")]
    if len(spaces) == 1 and tuple(mark for mark in instruction.marks if mark not in spaces) == _LOAD:
        return Lowering((), (ADDRESS, ADDRESS, "u32", ADDRESS), _loaded, effect=True)
    return None


def _loaded(code: Code, there: Value, source: Value, count: Value, barrier: Value) -> None:
    attributes = {
        "alignment": code.trace.builder.integer("i64", CHUNK),
        "ordering": code.trace.builder.integer("i64", 0),
    }

    def step(at: Value) -> None:
        here, chunk = (
            code.like("arith.addi", each, at) for each in (code.resized(source, 64), code.resized(there, 64))
        )
        words = code.value("llvm.load", (pointer(code, here, AddressSpace.gmem),), "vector<4xi32>", attributes)
        code.effect("llvm.store", (words, shared_pointer(code.trace, chunk)), attributes)

    _each(code, count, CHUNK, step)
    code.effect(MBARRIER_COMPLETE, (shared_pointer(code.trace, code.resized(barrier, 64)), count))


def _added(code: Code, there: Value, source: Value, count: Value, *, kind: str) -> None:
    integer = code.trace.builder.integer
    loads = {"alignment": integer("i64", 4), "ordering": integer("i64", 0)}
    adds = {
        "bin_op": integer("i64", FLOAT_ADD if kind == "f32" else 1),
        "ordering": integer("i64", ordering("relaxed")),
        "alignment": integer("i64", 4),
    }

    def step(at: Value) -> None:
        total, here = (
            code.like("arith.addi", each, at) for each in (code.resized(there, 64), code.resized(source, 64))
        )
        number = code.value("llvm.load", (shared_pointer(code.trace, here),), mlir_of(kind), loads)
        code.value("llvm.atomicrmw", (pointer(code, total, AddressSpace.gmem), number), mlir_of(kind), adds)

    _each(code, count, 4, step)


def _each(code: Code, count: Value, step: int, body: Callable[[Value], None]) -> None:
    """A loop over the bytes of a copy, in steps."""

    def turn(at: Value, _: list[Value]) -> list[Value]:
        body(at)
        return []

    code.loop((code.integer(64, 0), code.resized(count, 64), code.integer(64, step)), (), turn)
