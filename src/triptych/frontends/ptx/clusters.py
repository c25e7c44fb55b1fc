"""Inline PTX, meanings of what blocks of a cluster do: addresses in each other's memory, stores, a barrier."""

from __future__ import annotations

from triptych.cute.memory.shared_window import RANK_BIT, cluster_pointer
from triptych.frontends.ptx.code import ADDRESS, Code, Meaning
from triptych.frontends.ptx.statements import Instruction
from triptych.ir.handles import Value
from triptych.kernel_ir.dialects.simt import CLUSTER_ARRIVE, CLUSTER_WAIT, STORE_ASYNC

_STORE = ("shared::cluster", "mbarrier::complete_tx::bytes")
_STORED = ("b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64")
_ORDERS = {"arrive": ("release", "relaxed"), "wait": ("acquire",)}


def address(instruction: Instruction) -> Meaning | None:
    """`mapa.shared::cluster.u32 d, address, rank`: the rank is in the highest bits."""
    return Meaning(("u32",), ("u32", "u32"), _mapped) if instruction.marks == ("shared::cluster", "u32") else None


def _mapped(code: Code, place: Value, rank: Value) -> Value:
    within = code.like("arith.andi", place, code.integer(32, (1 << RANK_BIT) - 1))
    return code.like("arith.ori", within, code.like("arith.shli", rank, code.integer(32, RANK_BIT)))


def asynchronous_store(instruction: Instruction) -> Meaning | None:
    """`st.async.shared::cluster.mbarrier::complete_tx::bytes.f32 [address], value, [barrier]`."""
    marks = tuple(mark for mark in instruction.marks if mark != "weak")
    if len(marks) != 4 or marks[0] != "async" or marks[1:3] != _STORE or marks[3] not in _STORED:
        return None
    return Meaning((), (ADDRESS, marks[3], ADDRESS), _stored, effect=True)


def _stored(code: Code, place: Value, value: Value, barrier: Value) -> None:
    there, counting = (cluster_pointer(code.trace, code.resized(each, 64)) for each in (place, barrier))
    code.effect(STORE_ASYNC, (there, value, counting))


def barrier(instruction: Instruction) -> Meaning | None:
    """`barrier.cluster.arrive` and `barrier.cluster.wait`, with their order or without."""
    marks = tuple(mark for mark in instruction.marks if mark != "aligned")
    if instruction.name != "barrier" or len(marks) not in (2, 3) or marks[0] != "cluster" or marks[1] not in _ORDERS:
        return None
    orders = _ORDERS[marks[1]]
    if len(marks) == 3 and marks[2] not in orders:
        return None
    order = marks[2] if len(marks) == 3 else orders[0]

    def function(code: Code) -> None:
        if marks[1] == "wait":
            code.effect(CLUSTER_WAIT, ())
        else:
            code.effect(CLUSTER_ARRIVE, (), {"order": code.word(order)})

    return Meaning((), (), function, effect=True)
