"""Inline PTX, lowerings of warp instructions, special registers and clocks."""

from __future__ import annotations

from functools import partial

from triptych.frontends.ptx.code import Code, Lowering
from triptych.frontends.ptx.statements import Instruction, listed
from triptych.ir.handles import Attribute, Value
from triptych.ir.types import type_text
from triptych.kernel_ir.dialects import simt
from triptych.kernel_ir.dialects.tile import TMEM_FENCE, TMEM_WAIT

_KINDS = ("idx", "up", "down", "bfly")
_VOTES = ("any", "all", "uni", "ballot")
_REDUCTIONS = {"add": "us", "min": "us", "max": "us", "and": "b", "or": "b", "xor": "b"}


def _kind(code: Code, word: str) -> dict[str, Attribute]:
    return {"kind": code.trace.builder.attribute(f'"{word}"')}


def lane(code: Code) -> Value:
    """The number of this thread's lane."""
    return code.value("arith.index_cast", (code.value("gpu.lane_id", (), "index"),), "i32")


def shuffle(instruction: Instruction) -> Lowering | None:
    """`shfl.sync.mode.b32 d[|p], a, b, c, members`."""
    marks = instruction.marks
    if len(marks) != 3 or marks[0] != "sync" or marks[1] not in _KINDS or marks[2] != "b32" or not instruction.operands:
        return None
    asks = len(listed(instruction.operands[0])) == 2
    function = partial(_shuffled, mode=marks[1], asks=asks)
    results = ("b32", "pred") if asks else ("b32",)
    return Lowering(results, ("b32",) * 4, function, effect=True)


def _shuffled(
    code: Code, value: Value, offset: Value, clamp: Value, members: Value, *, mode: str, asks: bool
) -> Value | list[Value]:
    found = code.value(simt.SHUFFLE, (members, value, offset, clamp), "i32", _kind(code, mode))
    return [found, _inside(code, offset, clamp, mode)] if asks else found


def _inside(code: Code, offset: Value, clamp: Value, mode: str) -> Value:
    """Whether a lane reads another: the one that it asks for is in its segment and within the bound."""
    low = code.integer(32, 31)
    own, step = lane(code), code.like("arith.andi", offset, low)
    segment = code.like("arith.andi", code.like("arith.shrui", clamp, code.integer(32, 8)), low)
    others = code.like("arith.xori", segment, low)
    first = code.like("arith.andi", own, segment)
    bound = code.like("arith.ori", first, code.like("arith.andi", clamp, others))
    if mode == "up":
        return code.compare("ge", code.like("arith.subi", own, step), bound, signed=True)
    if mode == "idx":
        other = code.like("arith.ori", first, code.like("arith.andi", step, others))
    else:
        other = code.like("arith.addi" if mode == "down" else "arith.xori", own, step)
    return code.compare("le", other, bound, signed=True)


def vote(instruction: Instruction) -> Lowering | None:
    """`vote.sync.any.pred d, p, members` and its relatives."""
    marks = instruction.marks
    if len(marks) != 3 or marks[0] != "sync" or marks[1] not in _VOTES:
        return None
    mode, kind = marks[1:]
    if kind != ("b32" if mode == "ballot" else "pred"):
        return None
    result = "i32" if mode == "ballot" else "i1"

    def function(code: Code, predicate: Value, members: Value) -> Value:
        return code.value(simt.VOTE, (members, predicate), result, _kind(code, mode))

    return Lowering((kind,), ("pred", "b32"), function, effect=True)


def match(instruction: Instruction) -> Lowering | None:
    """`match.any.sync` and `match.all.sync`: the lanes with the same number."""
    marks = instruction.marks
    if len(marks) != 3 or marks[0] not in ("any", "all") or marks[1] != "sync" or marks[2] not in ("b32", "b64"):
        return None
    asks = bool(instruction.operands) and len(listed(instruction.operands[0])) == 2
    if asks and marks[0] == "any":
        return None
    results = ("b32", "pred") if asks else ("b32",)
    return Lowering(results, (marks[2], "b32"), partial(_matched, every=marks[0] == "all", asks=asks), effect=True)


def _matched(code: Code, value: Value, members: Value, *, every: bool, asks: bool) -> Value | list[Value]:
    alike = code.value(simt.MATCH, (members, value), "i32")
    if not every:
        return alike
    same = code.compare("eq", alike, members, signed=False)
    found = code.select(same, members, code.integer(32, 0))
    return [found, same] if asks else found


def reduction(instruction: Instruction) -> Lowering | None:
    """`redux.sync` of integers."""
    marks = instruction.marks
    if len(marks) != 3 or marks[0] != "sync" or marks[2] not in ("u32", "s32", "b32"):
        return None
    operation, kind = marks[1:]
    if kind[0] not in _REDUCTIONS.get(operation, ""):
        return None
    word = f"u{operation}" if operation in ("min", "max") and kind == "u32" else operation

    def function(code: Code, value: Value, members: Value) -> Value:
        return code.value(simt.REDUCE, (value, members), type_text(value.type), _kind(code, word))

    return Lowering((kind,), (kind, "b32"), function, effect=True)


def barrier(instruction: Instruction) -> Lowering | None:
    """`bar.sync`, `bar.arrive`, `bar.warp.sync`; `barrier.sync` is the same for whole warps."""
    marks, count = instruction.marks, len(instruction.operands)
    if instruction.name == "bar" and marks == ("warp", "sync"):
        return Lowering((), ("b32",), lambda code, members: code.effect(simt.SYNC_WARP, (members,)), effect=True)
    if marks[-1:] == ("aligned",):
        marks = marks[:-1]
    marks = marks[1:] if marks[:1] == ("cta",) else marks
    if marks == ("arrive",) and count == 2:
        return Lowering((), ("u32", "u32"), lambda code, *at: code.effect(simt.BARRIER_ARRIVE, at), effect=True)
    if marks != ("sync",) or count not in (1, 2):
        return None
    if instruction.operands == ("0",):
        return Lowering((), ("u32",), lambda code, _: _block_barrier(code), effect=True)
    return Lowering((), ("u32",) * count, lambda code, *at: code.effect(simt.BARRIER, at), effect=True)


def _block_barrier(code: Code) -> None:
    """The barrier that all threads of the block use."""
    code.effect("gpu.barrier", (), {"scope": code.trace.builder.attribute("#gpu.barrier_scope<workgroup>")})


def sleep(instruction: Instruction) -> Lowering | None:
    """`nanosleep`."""
    if instruction.marks != ("u32",):
        return None
    return Lowering((), ("u32",), lambda code, time: code.effect(simt.SLEEP, (time,)), effect=True)


def dependent_grids(instruction: Instruction) -> Lowering | None:
    """`griddepcontrol`."""
    names: dict[tuple[str, ...], str] = {
        ("wait",): simt.AWAIT_PREVIOUS_GRID,
        ("launch_dependents",): simt.LAUNCH_DEPENDENTS,
    }
    name = names.get(instruction.marks)
    return None if name is None else Lowering((), (), lambda code: code.effect(name), effect=True)


_TENSOR_MEMORY = {
    ("fence::before_thread_sync",): (TMEM_FENCE, "before"),
    ("fence::after_thread_sync",): (TMEM_FENCE, "after"),
    ("wait::ld", "sync", "aligned"): (TMEM_WAIT, "load"),
    ("wait::st", "sync", "aligned"): (TMEM_WAIT, "store"),
}


def tensor_memory_order(instruction: Instruction) -> Lowering | None:
    """`tcgen05.fence` and `tcgen05.wait`."""
    if instruction.marks not in _TENSOR_MEMORY:
        return None
    name, kind = _TENSOR_MEMORY[instruction.marks]
    return Lowering((), (), lambda code: code.effect(name, (), {"kind": code.trace.builder.string(kind)}), effect=True)
