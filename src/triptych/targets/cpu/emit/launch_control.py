"""Cluster launch control on a CPU: a cluster takes another one from the counter that the threads of the pool take from.

A response is four words: the index of the first block of the cluster, and whether there is one. So reading it is loads,
for which pass `lower-launch-responses` comes before all that knows loads.
"""

from __future__ import annotations

from collections.abc import Callable

from triptych.ir.handles import Module, Operation, Value
from triptych.ir.modules import operations_named
from triptych.ir.passes import Replacement, replace_each
from triptych.kernel_ir.dialects.tile import CLC_QUERY, CLC_TRY_CANCEL
from triptych.targets.cpu.abi.abi import TAKE_CLUSTER
from triptych.targets.cpu.emit.async_queue import LOADS, defer
from triptych.targets.cpu.emit.barrier_state import LAUNCH_RECORD, State
from triptych.targets.cpu.emit.launch_frame import first_block
from triptych.targets.cpu.emit.mbarriers import complete
from triptych.targets.cpu.emit.tma import each_lane
from triptych.targets.cpu.emit.warp import Warp

_WORD, _WORDS = 4, 4
RESPONSES = frozenset({CLC_QUERY})


def lower_launch_responses(module: Module) -> None:
    """Reading a response is four loads."""
    replace_each(operations_named(module, CLC_QUERY), _read)


def _read(op: Replacement) -> list[Value]:
    (response,) = op.operands
    kind = str(response.type)

    def word(number: int) -> Value:
        place = {"rawConstantIndices": op.attribute(f"array<i32: {_WORD * number}>"), "elem_type": op.attribute("i8")}
        at = op.value("llvm.getelementptr", (response,), kind, place) if number else response
        alignment = op.builder.integer("i64", _WORD * _WORDS if number == 0 else _WORD)
        return op.value("llvm.load", (at,), "i32", {"alignment": alignment})

    *where, given = (word(number) for number in range(_WORDS))
    zero = op.value("arith.constant", (), "i32", {"value": op.builder.integer("i32", 0)})
    return [op.value("arith.cmpi", (given, zero), "i1", {"predicate": op.builder.integer("i64", 1)}), *where]


def try_cancel(warp: Warp, operation: Operation) -> None:
    """Take a cluster, and write which in every block of this one."""
    code, cluster, state = warp.code, warp.arrays.cluster, warp.arrays.state
    assert state is not None, "kernels with mbarriers have warps that wait"

    def written(later: State | None, values: list[Value]) -> None:
        target, counter, *words = values
        for number, word in enumerate(words):
            code.store(word, code.offset(target, number, "i32"), _WORD)
        complete(code, later, counter, code.constant(_WORD * _WORDS, "i64"))

    def once(given: list[Value], lane: Value) -> None:
        launch = code.load(state.place(LAUNCH_RECORD), "!llvm.ptr", 8)
        number = code.call(TAKE_CLUSTER, (launch,), ["i64"]).result
        extents = (1, 1, 1) if cluster is None else cluster.extents
        first = first_block(code, number, warp.position.grid, extents)
        words = [*first, code.resized(code.compare("sge", number, code.constant(0, "i64")), "i32")]
        warp.arrays.observer.asks(warp, operation, lane, given[1], words[-1])
        for rank in range(1 if cluster is None else cluster.blocks):
            target, counter = given
            if cluster is not None:
                block = code.constant(rank, "i32")
                target, counter = (warp.arrays.of_rank(warp, operation, place, block) for place in given)
            warp.arrays.observer.begins(warp, operation, lane, target, _WORD * _WORDS, counter)
            defer(warp, LOADS, [target, counter, *words], written)

    each_lane(warp, operation, once)


HANDLERS: dict[str, Callable[[Warp, Operation], None]] = {CLC_TRY_CANCEL: try_cancel}
