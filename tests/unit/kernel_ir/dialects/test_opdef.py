"""`OpDef`: a definition is the name of its operation, and carries all that is known of it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from triptych.ir import bindings
from triptych.kernel_ir.dialects import simt, tile
from triptych.kernel_ir.dialects.kernel_operations import DEFINITIONS, reaches_other_blocks
from triptych.kernel_ir.dialects.opdef import COMPUTES, KernelDialect, OpDef, Scope, one_of
from triptych.sanitizer.findings import BOX_STORE


def test_a_definition_is_the_name_of_its_operation() -> None:
    toy = KernelDialect("toy")
    rotate = OpDef(toy, "rotate", operands=("T", "i32"), results=("T",), attributes=("by",), traits=COMPUTES)
    assert rotate == "toy.rotate"
    table: Mapping[str, int] = {rotate: 1}
    assert table["toy.rotate"] == 1
    assert rotate.spec.name == "rotate"
    assert (rotate.traits, rotate.says, rotate.members, rotate.read_only) == (COMPUTES, "", None, ())
    assert toy.operations == [rotate]


def test_an_operation_without_traits_cannot_be_defined() -> None:
    with pytest.raises(TypeError, match="traits"):
        OpDef(KernelDialect("toy"), "rotate")  # type: ignore[call-arg]


def test_mlir_verifies_what_a_definition_says() -> None:
    toy = KernelDialect("opdeftoy")
    OpDef(toy, "turn", operands=("i32",), results=("i32",), attributes=(one_of("to", "left"),), traits=COMPUTES)
    ir = bindings.mlir()
    context = ir.Context()
    toy.load(context)
    line = 'func.func @f(%i: i32) {{ "opdeftoy.turn"(%i) {{to = "{0}"}} : (i32) -> i32\nreturn }}'
    assert ir.Module.parse(line.format("left"), context).operation.verify()
    with pytest.raises(ir.MLIRError):
        ir.Module.parse(line.format("up"), context)


def test_what_members_name_are_masks_of_lanes() -> None:
    named = {each: each.spec.operands[each.members] for each in DEFINITIONS.values() if each.members is not None}
    assert set(named) == {simt.SHUFFLE, simt.VOTE, simt.REDUCE, simt.MATCH, simt.SYNC_WARP}
    assert set(named.values()) == {"i32|i64"}
    assert all(each.traits.is_of_a_warp() for each in named)


def test_reports_have_words_for_what_concerns_a_cluster() -> None:
    """And none for what is ordered by the program's own order: fences of mbarriers, registers and tensor memory."""
    quiet = {each for each in DEFINITIONS.values() if each.traits.scope is Scope.CLUSTER and not each.says}
    assert quiet == {simt.MBARRIER_FENCE, tile.WGMMA_FENCE, tile.TMEM_FENCE}
    assert tile.TMA_STORE.says == BOX_STORE


@pytest.mark.parametrize(
    ("line", "leaves"),
    [
        ('"simt.mbarrier_arrive"(%m, %i) : (!llvm.ptr<3>, i32) -> ()', False),
        ('"simt.mbarrier_arrive"(%m, %i, %i) : (!llvm.ptr<3>, i32, i32) -> ()', True),
        ('"simt.mbarrier_wait"(%m, %i) : (!llvm.ptr<3>, i32) -> ()', False),
        ('"simt.cluster_wait"() : () -> ()', True),
    ],
)
def test_who_reaches_other_blocks(line: str, leaves: bool) -> None:
    ir = bindings.mlir()
    context = ir.Context()
    simt.SIMT.load(context)
    module = ir.Module.parse(f"func.func @f(%m: !llvm.ptr<3>, %i: i32) {{ {line}\nreturn }}", context)
    assert reaches_other_blocks(module.body.operations[0].operation) == leaves
