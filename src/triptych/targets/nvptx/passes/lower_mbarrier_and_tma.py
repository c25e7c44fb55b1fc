"""Pass `lower-mbarrier-and-tma`: mbarriers, TMA copies and clusters become what NVIDIA's GPUs have for them.

Input: kernels of any machine. Output: intrinsics of LLVM, by their names because MLIR knows them from a newer LLVM than
the one that generates code; and inline PTX for copies, whose names differ between the two and whose addresses in shared
memory would be made generic first. A wait is a loop around the instruction that waits for a while: LLVM keeps it, since
nothing is known of what the intrinsic does to memory.
"""

from __future__ import annotations

from collections.abc import Callable

from triptych.ir.errors import LoweringError
from triptych.ir.handles import Module, Value
from triptych.ir.location import place_of
from triptych.ir.modules import operations_named
from triptych.ir.rewriting import Replacement, Rule, replace_each
from triptych.ir.types import CLUSTER_SPACE, pointer_to, type_text
from triptych.kernel_ir.dialects import simt
from triptych.targets.nvptx.description.emitting import inline_ptx, intrinsic
from triptych.targets.nvptx.passes.lower_tma import TMA_RULES

_CLUSTER_POINTER = pointer_to(CLUSTER_SPACE)


def _plain(name: str | Callable[[Replacement], str]) -> Rule:
    """One intrinsic with the operands of the operation."""

    def rule(op: Replacement) -> list[Value]:
        intrinsic(op, name if isinstance(name, str) else name(op), op.operands)
        return []

    return rule


# mbarriers ------------------------------------------------------------------------------------------------------------
def _counting(name: str, *, gives_state: bool) -> Rule:
    """An update of an mbarrier, or of the one at the same place of another block.

    Both are of the scope `cta`: with that of the cluster the assembler orders all memory of the GPU in front of it.
    """

    def rule(op: Replacement) -> list[Value]:
        barrier, number, *rank = op.operands
        if rank:
            there = intrinsic(op, "mapa.shared.cluster", (barrier, *rank), _CLUSTER_POINTER)
            assert there is not None
            intrinsic(op, f"mbarrier.{name}.scope.cta.space.cluster", (there, number))
        else:
            intrinsic(op, f"mbarrier.{name}.scope.cta.space.cta", (barrier, number), "i64" if gives_state else None)
        return []

    return rule


_TRY_WAIT = "mbarrier.try.wait.parity.scope.cta.space.cta"


def _test(op: Replacement) -> list[Value]:
    over = intrinsic(op, _TRY_WAIT, op.operands, "i1")
    assert over is not None
    return [over]


def _wait(op: Replacement) -> list[Value]:
    """`while not try_wait: pass`."""
    loop = op.builder.operation("scf.while", regions=2)
    outside = op.builder.enter(op.builder.append_block(loop, 0))
    over = intrinsic(op, _TRY_WAIT, op.operands, "i1")
    assert over is not None
    true = op.value("arith.constant", (), "i1", {"value": op.attribute("true")})
    op.effect("scf.condition", (op.value("arith.xori", (over, true), "i1"),))
    op.builder.enter(op.builder.append_block(loop, 1))
    op.effect("scf.yield", ())
    op.builder.leave(outside)
    return []


# groups of copies and fences ------------------------------------------------------------------------------------------
def _bulk_wait(op: Replacement) -> list[Value]:
    attributes = op.operation.attributes
    read = ".read" if attributes["kind"].value == "read" else ""
    intrinsic(op, f"cp.async.bulk.wait.group{read}", (op.integer("i32", attributes["groups"].value),))
    return []


_FENCES = {"shared": ".shared_cta", "global": ".global", "all": ""}


# clusters -------------------------------------------------------------------------------------------------------------
_ORDERS = {"release": "", "relaxed": ".relaxed"}


def _cluster_address(op: Replacement) -> list[Value]:
    there = intrinsic(op, "mapa.shared.cluster", op.operands, _CLUSTER_POINTER)
    assert there is not None
    return [there]


_REGISTERS = {"i32": ("b32", "r"), "i64": ("b64", "l"), "f32": ("b32", "f"), "f64": ("b64", "d")}


def _store_async(op: Replacement) -> list[Value]:
    address, value, barrier = op.operands
    kind = type_text(value.type)
    if kind not in _REGISTERS:
        raise LoweringError(
            "a store to another block of the cluster moves one word",
            span=place_of(op.operation),
            found=kind,
            expected=f"one of {', '.join(_REGISTERS)}",
        )
    type_, letter = _REGISTERS[kind]
    text = f"st.async.shared::cluster.mbarrier::complete_tx::bytes.{type_} [$0], $1, [$2];"
    inline_ptx(op, text, f"r,{letter},r", (address, value, barrier))
    return []


# registers ------------------------------------------------------------------------------------------------------------
_CHANGES = {"increase": "inc", "decrease": "dec"}


def _set_registers(op: Replacement) -> list[Value]:
    attributes = op.operation.attributes
    change, count = _CHANGES[attributes["kind"].value], op.integer("i32", attributes["count"].value)
    intrinsic(op, f"setmaxnreg.{change}.sync.aligned.u32", (count,))
    return []


RULES: dict[str, Rule] = {
    simt.MBARRIER_INIT: _plain("mbarrier.init.shared"),
    simt.MBARRIER_ARRIVE: _counting("arrive", gives_state=True),
    simt.MBARRIER_EXPECT: _counting("expect.tx", gives_state=False),
    simt.MBARRIER_ARRIVE_EXPECT: _counting("arrive.expect.tx", gives_state=True),
    simt.MBARRIER_COMPLETE: _counting("complete.tx", gives_state=False),
    simt.MBARRIER_WAIT: _wait,
    simt.MBARRIER_TEST: _test,
    simt.MBARRIER_FENCE: _plain("fence.mbarrier_init.release.cluster"),
    simt.ASYNC_ARRIVE: _plain("cp.async.mbarrier.arrive.noinc.shared"),
    simt.ASYNC_FENCE: _plain(lambda op: f"fence.proxy.async{_FENCES[op.operation.attributes['space'].value]}"),
    **TMA_RULES,
    simt.BULK_COMMIT: _plain("cp.async.bulk.commit.group"),
    simt.BULK_WAIT: _bulk_wait,
    simt.CLUSTER_ARRIVE: _plain(lambda op: "barrier.cluster.arrive" + _ORDERS[op.operation.attributes["order"].value]),
    simt.CLUSTER_WAIT: _plain("barrier.cluster.wait"),
    simt.CLUSTER_ADDRESS: _cluster_address,
    simt.STORE_ASYNC: _store_async,
    simt.SET_REGISTERS: _set_registers,
}


def lower_mbarrier_and_tma(module: Module) -> None:
    """Replace all of them, found in one walk."""
    replace_each(operations_named(module, *RULES), lambda op: RULES[op.operation.name](op))
